/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout/client_versions.h"

#include "fanout/fanout_internal.h"

#define FIRST_CAPACITY 16

/* By the name, so that the order does not depend on where things lie in memory. */
static size_t
home_of(const udpai_item *item, size_t mask)
{
    return (size_t)udpai_hash(udpai_item_name(item)) & mask;
}

/* The slot that has the item, or the free one where it would go. */
static size_t
find_slot(const udpai_client_versions *versions, const udpai_item *item)
{
    size_t mask = versions->capacity - 1;
    size_t at = home_of(item, mask);
    while (versions->slots[at] && versions->slots[at] != item)
        at = (at + 1) & mask;
    return at;
}

bool
udpai_client_versions_has(const udpai_client_versions *versions, const udpai_item *item)
{
    return versions->n && versions->slots[find_slot(versions, item)];
}

/* In large steps: a subscriber that holds anything mostly holds much. */
static bool
grow(udpai_client_versions *versions)
{
    udpai_client_versions bigger = *versions;
    bigger.capacity = versions->capacity ? versions->capacity * 4 : FIRST_CAPACITY;
    bigger.slots = udpai_alloc_array(bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < versions->capacity; i++)
        if (versions->slots[i])
            bigger.slots[find_slot(&bigger, versions->slots[i])] = versions->slots[i];
    udpai_free(versions->slots);
    *versions = bigger;
    return true;
}

bool
udpai_client_versions_add(udpai_client_versions *versions, udpai_item *item, bool *ret_added)
{
    if ((versions->n + 1) * 4 > versions->capacity * 3 && !grow(versions))
        return false;
    udpai_item **slot = &versions->slots[find_slot(versions, item)];
    *ret_added = !*slot;
    versions->n += !*slot;
    *slot = item;
    return true;
}

/* Moves later ones of the same run back, as in udpai_map. */
static void
close_gap(udpai_client_versions *versions, size_t hole)
{
    size_t mask = versions->capacity - 1;
    for (size_t at = (hole + 1) & mask; versions->slots[at]; at = (at + 1) & mask) {
        size_t home = home_of(versions->slots[at], mask);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            versions->slots[hole] = versions->slots[at];
            hole = at;
        }
    }
    versions->slots[hole] = NULL;
}

bool
udpai_client_versions_remove(udpai_client_versions *versions, const udpai_item *item)
{
    if (versions->n == 0)
        return false;
    size_t at = find_slot(versions, item);
    if (!versions->slots[at])
        return false;
    if (--versions->n == 0)
        udpai_client_versions_done(versions);
    else
        close_gap(versions, at);
    return true;
}

udpai_item *
udpai_client_versions_next(const udpai_client_versions *versions, size_t *position)
{
    while (*position < versions->capacity) {
        udpai_item *item = versions->slots[(*position)++];
        if (item)
            return item;
    }
    return NULL;
}

void
udpai_client_versions_done(udpai_client_versions *versions)
{
    udpai_free(versions->slots);
    versions->slots = NULL;
    versions->capacity = versions->n = 0;
}
