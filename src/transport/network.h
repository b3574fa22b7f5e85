/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of IPv4 and IPv6 (CIDR), and the addresses in them. Pure. */
#ifndef UDPAI_NETWORK_H
#define UDPAI_NETWORK_H

#include "base/error.h"
#include "base/util.h"

struct sockaddr;

typedef struct udpai_network {
    uint8_t address[16]; /* of IPv4: as IPv6 has it (::ffff:0:0/96) */
    unsigned n_bits;     /* of all 128, that are the network's */
} udpai_network;

/* ADDRESS/BITS, or an address alone. */
udpa_err udpai_network_parse(const char *text, udpai_network *ret_network, udpa_error **ret_error);
/* Is the address, of IPv4 or IPv6, in one of them? An IPv4 address within IPv6 counts as the
 * former, and is in no network of the latter. */
bool udpai_networks_have(const udpai_network *networks, size_t n, const struct sockaddr *address);

#endif
