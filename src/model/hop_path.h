/* SPDX-License-Identifier: Apache-2.0 */
/* The authority of a resource and the nodes that it has passed, as far as that is the same for
 * many: a value that the resources of one publisher share. When it passed them is its own. */
#ifndef UDPAI_HOP_PATH_H
#define UDPAI_HOP_PATH_H

#include "base/util.h"

typedef struct udpai_hop {
    udpai_str node_id;
    udpai_str authority; /* of the peer that the node took it from; empty for a file */
    int64_t time_us;     /* since 1970 */
    udpai_str instance;  /* which of those with this id it is; empty: the id suffices */
} udpai_hop;

/* Is it this node? */
static inline bool
udpai_hop_is_of(const udpai_hop *hop, udpai_str node_id, udpai_str instance)
{
    return hop->instance.len ? udpai_str_eq(hop->instance, instance)
                             : udpai_str_eq(hop->node_id, node_id);
}

typedef struct udpai_hop_path udpai_hop_path;

/* A new reference: to `likely` (NULL: none) if that is the same, else to a new one. NULL without
 * memory. At most 255 hops. */
udpai_hop_path *udpai_hop_path_of(udpai_hop_path *likely,
                                  udpai_str authority,
                                  const udpai_hop *hops,
                                  size_t n_hops);
udpai_hop_path *udpai_hop_path_ref(udpai_hop_path *path);
/* NULL does nothing. Returns NULL. */
udpai_hop_path *udpai_hop_path_unref(udpai_hop_path *path);

/* Every text ends with a NUL. */
udpai_str udpai_hop_path_authority(const udpai_hop_path *path);
/* Without the time. */
udpai_hop udpai_hop_path_hop(const udpai_hop_path *path, size_t index);
size_t udpai_hop_path_n_hops(const udpai_hop_path *path);
/* Bytes of memory. */
size_t udpai_hop_path_size(const udpai_hop_path *path);

#endif
