/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout/holdings.h"

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
find_slot(const udpai_holdings *holdings, const udpai_item *item)
{
    size_t mask = holdings->capacity - 1;
    size_t at = home_of(item, mask);
    while (holdings->slots[at] && holdings->slots[at] != item)
        at = (at + 1) & mask;
    return at;
}

bool
udpai_holdings_has(const udpai_holdings *holdings, const udpai_item *item)
{
    return holdings->n && holdings->slots[find_slot(holdings, item)];
}

/* In large steps: who holds anything at all mostly holds much. */
static bool
grow(udpai_holdings *holdings)
{
    udpai_holdings bigger = *holdings;
    bigger.capacity = holdings->capacity ? holdings->capacity * 4 : FIRST_CAPACITY;
    bigger.slots = udpai_alloc_array(bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < holdings->capacity; i++)
        if (holdings->slots[i])
            bigger.slots[find_slot(&bigger, holdings->slots[i])] = holdings->slots[i];
    udpai_free(holdings->slots);
    *holdings = bigger;
    return true;
}

bool
udpai_holdings_add(udpai_holdings *holdings, udpai_item *item, bool *ret_added)
{
    if ((holdings->n + 1) * 4 > holdings->capacity * 3 && !grow(holdings))
        return false;
    udpai_item **slot = &holdings->slots[find_slot(holdings, item)];
    *ret_added = !*slot;
    holdings->n += !*slot;
    *slot = item;
    return true;
}

/* Moves later ones of the same run back, as in udpai_map. */
static void
close_gap(udpai_holdings *holdings, size_t hole)
{
    size_t mask = holdings->capacity - 1;
    for (size_t at = (hole + 1) & mask; holdings->slots[at]; at = (at + 1) & mask) {
        size_t home = home_of(holdings->slots[at], mask);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            holdings->slots[hole] = holdings->slots[at];
            hole = at;
        }
    }
    holdings->slots[hole] = NULL;
}

bool
udpai_holdings_remove(udpai_holdings *holdings, const udpai_item *item)
{
    if (holdings->n == 0)
        return false;
    size_t at = find_slot(holdings, item);
    if (!holdings->slots[at])
        return false;
    if (--holdings->n == 0)
        udpai_holdings_done(holdings);
    else
        close_gap(holdings, at);
    return true;
}

udpai_item *
udpai_holdings_next(const udpai_holdings *holdings, size_t *position)
{
    while (*position < holdings->capacity) {
        udpai_item *item = holdings->slots[(*position)++];
        if (item)
            return item;
    }
    return NULL;
}

void
udpai_holdings_done(udpai_holdings *holdings)
{
    udpai_free(holdings->slots);
    holdings->slots = NULL;
    holdings->capacity = holdings->n = 0;
}
