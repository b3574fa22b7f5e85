/* SPDX-License-Identifier: Apache-2.0 */
/* A list of resources, of a reading or of the node itself, becomes the contributions of an origin:
 * at once, or staged for what one replica reads for all. */
#ifndef UDPAI_FEDERATION_LISTING_H
#define UDPAI_FEDERATION_LISTING_H

#include "federation/node.h"
#include "federation/sources.h"

typedef struct udpai_listed {
    udpa_resource *const *resources;
    size_t n;
    bool is_partial;         /* there may be more */
    bool is_bounded;         /* else as many may go at once as there are */
    unsigned max_withdrawal; /* percent that may; 0: none */
} udpai_listed;

/* NULL: it is of no source. */
udpai_listed udpai_listed_of(const udpai_directory *directory, const udpai_source *source);
/* Has it a resource of this name and type? It must be sorted. */
bool udpai_listed_has(const udpai_listed *listed, const udpa_resource *resource);
void udpai_listed_order(udpa_resource **resources, size_t n);
/* The same in an array of its own, to be freed. NULL: there is no memory. */
udpa_resource **udpai_listed_sort(udpa_resource *const *resources, size_t n);

/* How what is listed becomes contributions. */
typedef struct udpai_listing {
    udpai_node *node;
    udpai_origin *origin;
    const udpai_directory *directory; /* NULL: the node itself */
    udpai_str authority;              /* of what has none */
    struct udpai_staging *staging;    /* NULL: at once */
    bool is_anew;                     /* what is held already is staged, too */
    udpai_listed rejected;            /* sorted; goes without being counted */
} udpai_listing;

/* At once. */
udpai_listing
udpai_listing_of(udpai_node *node, udpai_origin *origin, const udpai_directory *directory);
/* Makes the origin hold these, and, if they are all there is, nothing else of the type (empty:
 * any). The first error. */
udpa_err udpai_listing_set(const udpai_listing *setting,
                           udpai_str type_url,
                           const udpai_listed *list,
                           udpa_error **ret_error);

#endif
