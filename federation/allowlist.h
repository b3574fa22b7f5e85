/* SPDX-License-Identifier: Apache-2.0 */
/* Which resources may configure this node itself: of which authorities, and for names below which
 * prefixes. */
#ifndef UDPAI_ALLOWLIST_H
#define UDPAI_ALLOWLIST_H

#include "base/util.h"
#include "udpa/error.h"

typedef struct udpai_allowlist {
    udpai_str *authorities, *prefixes; /* then their text */
    size_t n_authorities, n_prefixes;
} udpai_allowlist;

/* Copies patterns of authorities, and prefixes of names (none: all). To be followed by
 * udpai_allowlist_done() in any case. */
udpa_err udpai_allowlist_init(udpai_allowlist *allowlist,
                              const udpai_str *authorities,
                              size_t n_authorities,
                              const udpai_str *prefixes,
                              size_t n_prefixes);
void udpai_allowlist_done(udpai_allowlist *allowlist);
/* Does a pattern match the authority? */
bool udpai_allowlist_has(const udpai_allowlist *allowlist, udpai_str authority);
/* Does the name lie below a prefix? */
bool udpai_allowlist_covers(const udpai_allowlist *allowlist, udpai_str name);

#endif
