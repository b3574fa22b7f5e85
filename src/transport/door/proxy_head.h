/* SPDX-License-Identifier: Apache-2.0 */
/* The head of the PROXY protocol, version 2: what a proxy sends ahead of its client's bytes, and
 * who that client is. Pure; no socket in it. Whatever the bytes are, the work is bounded by a size.
 *
 * Source: https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt, 2.2 */
#ifndef UDPAI_DOOR_PROXY_HEAD_H
#define UDPAI_DOOR_PROXY_HEAD_H

#include <sys/socket.h>

#include "base/error.h"
#include "base/util.h"

#define UDPAI_PROXY_HEAD_START 16 /* bytes, of which the last two are the length of the rest */
#define UDPAI_PROXY_HEAD_MAX 4096 /* with what it may have behind the addresses */

typedef struct udpai_proxy_head {
    bool has_client; /* false: the connection is the proxy's own, or its client has no address */
    struct sockaddr_storage client; /* of IPv4 or IPv6 */
} udpai_proxy_head;

/* How many bytes it has in all, by those that have come so far: UDPAI_PROXY_HEAD_START until that
 * many have come. UDPA_ERR_MALFORMED: it is none, which the first wrong byte shows.
 * UDPA_ERR_UNIMPLEMENTED: it is one of version 1. UDPA_ERR_LIMIT: it is too long. */
udpa_err udpai_proxy_head_size(udpai_str begun, size_t *ret_size, udpa_error **ret_error);
/* All of it, and nothing behind it. */
udpa_err udpai_proxy_head_read(udpai_str head, udpai_proxy_head *ret_head, udpa_error **ret_error);

#endif
