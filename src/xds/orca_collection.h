/* SPDX-License-Identifier: Apache-2.0 */
/* What a resource of udpa.load.v1.OrcaCollection has: which backends of a cluster are asked. */
#ifndef UDPAI_ORCA_COLLECTION_H
#define UDPAI_ORCA_COLLECTION_H

#include "model/resource.h"
#include "xds/orca.h"

#define UDPAI_TYPE_ORCA_COLLECTION "type.googleapis.com/udpa.load.v1.OrcaCollection"
#define UDPAI_ORCA_BACKENDS_MAX 1000 /* of one */

typedef struct udpai_orca_collection {
    udpai_str credential; /* empty: none */
    udpai_orca_backend *backends;
    size_t n_backends;
} udpai_orca_collection;

/* Everything in it lives until the arena is reset, or the resource is freed. */
udpa_err udpai_orca_collection_read(udpai_arena *arena,
                                    const udpa_resource *resource,
                                    udpai_orca_collection *ret_collection,
                                    udpa_error **ret_error);

#endif
