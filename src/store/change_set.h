/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of effective resources that belong together; applied whole. A value: made by the store,
 * never changed again, counted atomically, handed to the stream side. */
#ifndef UDPAI_CHANGE_SET_H
#define UDPAI_CHANGE_SET_H

#include "base/vector.h"
#include "model/resource.h"

typedef enum udpai_change_kind {
    UDPAI_CHANGE_SET,     /* new, or another payload: all who see it need all of it */
    UDPAI_CHANGE_REFRESH, /* same payload; another ttl or path: a holder of it needs no payload */
    UDPAI_CHANGE_REMOVE,
} udpai_change_kind;

typedef struct udpai_change {
    udpai_change_kind kind;
    udpa_resource *resource; /* of a removal: what it was last */
    udpa_resource *before; /* of something else: what it was, if it had another alias; else NULL */
    /* By which the authority removes the name (model/removal.h); NULL: there is none.
     * With something that is there: it is another authority's. */
    udpa_resource *removal;
    uint64_t deadline_ms;   /* when it expires by the node's clock; 0: never */
    udpa_bytes *from_node;  /* instance of the node it came from; NULL: from no node */
    udpa_bytes *visible_to; /* the links (model/links.h) of the ConfigSources to which it is
                             * visible; NULL: to all. To others it is visible in any case. */
} udpai_change;

typedef struct udpai_change_set udpai_change_set;

/* Empty; the maker alone may add. NULL without memory. */
udpai_change_set *udpai_change_set_new(void);
/* Takes references of its own. */
udpa_err udpai_change_set_add(udpai_change_set *set, const udpai_change *change);
udpai_change_set *udpai_change_set_ref(udpai_change_set *set);
udpai_change_set *udpai_change_set_unref(udpai_change_set *set);
UDPA_DEFINE_CLEANUP(udpai_change_set, udpai_change_set_unref)
size_t udpai_change_set_size(const udpai_change_set *set);
const udpai_change *udpai_change_set_at(const udpai_change_set *set, size_t index);

#endif
