/* SPDX-License-Identifier: Apache-2.0 */
/* Generations of one name: which of them compare, and what a floor keeps out or ends. */
#include "store/store_internal.h"

/* Was it taken from its own authority by the first node on its way? Then that node's stamps are the
 * only ones this authority's resources get there, and may be compared wherever they arrive. */
static bool
is_first_hand(const udpa_resource *resource)
{
    if (udpa_resource_n_hops(resource) == 0)
        return false;
    udpai_str taken_from = udpai_resource_hop(resource, 0).authority;
    return taken_from.len && udpai_str_eq(taken_from, udpai_resource_authority(resource));
}

/* Were both stamped by one node, as they came to it from one place? Stamps of what came from two
 * places only show which arrived later, which decides nothing. */
static bool
same_stamps(const udpa_resource *a, const udpa_resource *b)
{
    if (udpa_resource_n_hops(a) == 0 || udpa_resource_n_hops(b) == 0)
        return udpa_resource_n_hops(a) == udpa_resource_n_hops(b);
    udpai_hop x = udpai_resource_hop(a, 0), y = udpai_resource_hop(b, 0);
    return udpai_str_eq(x.node_id, y.node_id) && udpai_str_eq(x.authority, y.authority);
}

static bool
compares_everywhere(const udpa_resource *resource)
{
    return udpai_resource_signature(resource) != NULL || is_first_hand(resource);
}

bool
udpai_store_comparable(const udpa_resource *a, const udpa_resource *b)
{
    if (!udpai_str_eq(udpai_resource_authority(a), udpai_resource_authority(b)))
        return false;
    if (compares_everywhere(a) != compares_everywhere(b))
        return false;
    return compares_everywhere(a) || same_stamps(a, b);
}

bool
udpai_floor_outlives(const udpai_floor *floor, const udpa_resource *resource)
{
    return floor->generation > udpa_resource_generation(resource) &&
           udpai_store_comparable(floor->seen, resource);
}

bool
udpai_floor_ends(const udpai_floor *floor, const udpa_resource *resource)
{
    return floor->is_removal &&
           udpa_resource_generation(floor->seen) > udpa_resource_generation(resource) &&
           udpai_store_comparable(floor->seen, resource);
}

/* A node that came back without its memory, or receives it by a longer way, does not make the newer
 * one untrue. */
bool
udpai_store_is_outdated(const udpai_stored *stored, const udpa_resource *resource)
{
    return udpai_store_comparable(stored->resource, resource) &&
           udpa_resource_generation(resource) < udpa_resource_generation(stored->resource);
}
