/* SPDX-License-Identifier: Apache-2.0 */
/* Names that have sources of their own, and whether those have completed: the part of a snapshot of
 * what is settled that counts for such a name in the place of what is settled of its type. A value,
 * counted atomically. */
#ifndef UDPAI_SETTLED_NAMES_H
#define UDPAI_SETTLED_NAMES_H

#include "base/util.h"

/* One of its sources that is missing; or, of a name with sources that have all answered, nothing
 * but the name. */
typedef struct udpai_settled_name {
    udpai_str type_url, name;
    bool is_missing;
    /* As in udpai_unsettled. */
    udpai_str source, peer_node;
    bool may_wait_for_us;
    uint64_t since_ms;
    udpai_str waits;
} udpai_settled_name;

typedef struct udpai_settled_names udpai_settled_names;

/* Copies everything; NULL without memory. */
udpai_settled_names *udpai_settled_names_new(const udpai_settled_name *items, size_t n);
udpai_settled_names *udpai_settled_names_ref(udpai_settled_names *names);
udpai_settled_names *udpai_settled_names_unref(udpai_settled_names *names);
UDPA_DEFINE_CLEANUP(udpai_settled_names, udpai_settled_names_unref)
/* Those of this name, one behind the other; 0: it has no sources of its own. NULL: no names. */
size_t udpai_settled_names_find(const udpai_settled_names *names,
                                udpai_str type_url,
                                udpai_str name,
                                const udpai_settled_name **ret_first);
/* All; sorted by name, then type. */
size_t udpai_settled_names_all(const udpai_settled_names *names,
                               const udpai_settled_name **ret_first);
/* Is a source of any of them missing? */
bool udpai_settled_names_miss(const udpai_settled_names *names);

#endif
