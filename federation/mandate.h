/* SPDX-License-Identifier: Apache-2.0 */
/* Whose resources say something to this node itself, and about what. */
#ifndef UDPAI_MANDATE_H
#define UDPAI_MANDATE_H

#include "base/util.h"
#include "udpa/error.h"

typedef struct udpai_mandate {
    udpai_str *authorities, *prefixes; /* then their text */
    size_t n_authorities, n_prefixes;
} udpai_mandate;

/* Copies patterns of authorities, and prefixes of names (none: all). To be followed by
 * udpai_mandate_done() in any case. */
udpa_err udpai_mandate_init(udpai_mandate *mandate,
                            const udpai_str *authorities,
                            size_t n_authorities,
                            const udpai_str *prefixes,
                            size_t n_prefixes);
void udpai_mandate_done(udpai_mandate *mandate);
bool udpai_mandate_has(const udpai_mandate *mandate, udpai_str authority);
bool udpai_mandate_covers(const udpai_mandate *mandate, udpai_str name);

#endif
