/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the contributions of a name is effective. A function of the contributions and of what is
 * effective now; time plays no part, so that every replica comes to the same result. */
#include "store/store_internal.h"

static int
compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Of one name. */
static int
compare_ranks(const udpai_stored *a, const udpai_stored *b)
{
    int order = compare_numbers(a->origin->rank, b->origin->rank);
    return order ? order
                 : compare_numbers(udpai_store_order(a->entry, a->origin),
                                   udpai_store_order(b->entry, b->origin));
}

bool
udpai_origin_is_before(const udpai_origin *origin, const udpai_origin *other)
{
    int order = compare_numbers(origin->rank, other->rank);
    return order < 0 || (order == 0 && origin->order < other->order);
}

static int
compare_by_origin(const udpai_stored *a, const udpai_stored *b)
{
    int order = compare_ranks(a, b);
    return order ? order : udpai_str_cmp(udpai_origin_key(a->origin), udpai_origin_key(b->origin));
}

static int
compare_generations(const udpai_stored *a, const udpai_stored *b)
{
    return compare_numbers(udpa_resource_generation(b->resource),
                           udpa_resource_generation(a->resource));
}

typedef int (*compare_fn)(const udpai_stored *a, const udpai_stored *b);

/* Two contributions of one authority whose generations compare, and the name has no others. */
static int
compare_by_path(const udpai_stored *a, const udpai_stored *b)
{
    int order = compare_generations(a, b);
    if (order == 0)
        order =
            compare_numbers(udpa_resource_n_hops(a->resource), udpa_resource_n_hops(b->resource));
    return order ? order : compare_by_origin(a, b);
}

/* The same, but it has others. Then what is taken is what the authority ranks by. A nearer one
 * might be nearer for the source of that, too. That source would take it from here, and by split
 * horizon no longer offer what the authority ranks by. So the nodes would change for ever. */
static int
compare_by_rank(const udpai_stored *a, const udpai_stored *b)
{
    int order = compare_generations(a, b);
    return order ? order : compare_by_origin(a, b);
}

bool
udpai_store_outlives(const udpai_store_entry *entry, const udpa_resource *resource)
{
    for (size_t i = 0; i < udpai_store_n_floors(entry); i++)
        if (udpai_floor_outlives(entry->more->floors.items[i], resource))
            return true;
    return false;
}

bool
udpai_store_is_superseded(const udpai_stored *stored)
{
    return udpai_store_outlives(stored->entry, stored->resource);
}

/* Is there a contribution of the node's own whose place the resource can take? */
static bool
has_own_contribution(const udpai_store_entry *entry, const udpa_resource *resource)
{
    size_t at = 0;
    const udpai_stored *own;
    while ((own = udpai_store_next(entry, &at)))
        if (own->origin->rank <= UDPAI_ORIGIN_PUBLISHER &&
            udpai_store_comparable(own->resource, resource))
            return true;
    return false;
}

bool
udpai_store_is_spent(const udpai_stored *stored)
{
    const udpai_store_entry *entry = stored->entry;
    size_t at = 0;
    const udpai_stored *own;
    while ((own = udpai_store_next(entry, &at)))
        if (own->origin->rank <= UDPAI_ORIGIN_PUBLISHER &&
            udpai_store_comparable(own->resource, stored->resource) &&
            udpa_resource_generation(own->resource) > udpa_resource_generation(stored->resource))
            return true;
    return !has_own_contribution(entry, stored->resource);
}

bool
udpai_store_would_count(const udpai_store_entry *entry,
                        const udpai_origin *origin,
                        const udpa_resource *resource)
{
    return udpai_store_counts(entry, origin) &&
           (origin->rank != UDPAI_ORIGIN_ADOPTED || has_own_contribution(entry, resource)) &&
           !udpai_store_outlives(entry, resource);
}

static bool
is_eligible(const udpai_stored *stored)
{
    return udpai_store_would_count(stored->entry, stored->origin, stored->resource);
}

bool
udpai_store_has_any(const udpai_store_entry *entry)
{
    size_t at = 0;
    const udpai_stored *stored;
    while ((stored = udpai_store_next(entry, &at)))
        if (is_eligible(stored))
            return true;
    return false;
}

/* What is effective stays, though its origin no longer counts, as long as what counts for the same
 * authority is only older: a generation never goes back. */
static bool
may_stay(const udpai_stored *current, const udpai_stored *candidate)
{
    return udpai_store_comparable(current->resource, candidate->resource) &&
           udpa_resource_generation(current->resource) >
               udpa_resource_generation(candidate->resource) &&
           !udpai_store_is_superseded(current);
}

/* Nor does it go, though what they have has been outlived by what was seen before. */
static bool
is_backed(const udpai_store_entry *entry, const udpai_stored *current)
{
    udpai_str type_url = udpai_store_type_url(entry->type);
    size_t at = 0;
    const udpai_stored *other;
    while ((other = udpai_store_next(entry, &at)))
        if (udpai_origin_is_eligible(other->origin, type_url) && may_stay(current, other))
            return true;
    return false;
}

typedef bool (*belongs_fn)(const udpa_resource *a, const udpa_resource *b);

static bool
same_authority(const udpa_resource *a, const udpa_resource *b)
{
    return udpai_str_eq(udpai_resource_authority(a), udpai_resource_authority(b));
}

/* Is any eligible contribution not comparable with this one? */
static bool
has_others(const udpai_store_entry *entry, const udpai_stored *member)
{
    size_t at = 0;
    const udpai_stored *other;
    while ((other = udpai_store_next(entry, &at)))
        if (other != member && !udpai_store_comparable(member->resource, other->resource) &&
            is_eligible(other))
            return true;
    return false;
}

/* The same for every class of a name. */
static compare_fn
order_within_class(const udpai_store_entry *entry, const udpai_stored *member)
{
    return has_others(entry, member) ? compare_by_rank : compare_by_path;
}

/* The best of the eligible contributions that belong with this one, by an order. */
static udpai_stored *
best_of(const udpai_store_entry *entry,
        udpai_stored *member,
        belongs_fn belongs,
        compare_fn compare)
{
    udpai_stored *best = member;
    size_t at = 0;
    udpai_stored *other;
    while ((other = udpai_store_next(entry, &at)))
        if (belongs(member->resource, other->resource) && is_eligible(other) &&
            compare(other, best) < 0)
            best = other;
    return best;
}

/* An authority ranks as the best of the contributions for it does, whichever has the newest; so
 * does a class of generations that compare, within its authority. */
static int
compare_classes(const udpai_store_entry *entry, udpai_stored *a, udpai_stored *b)
{
    if (same_authority(a->resource, b->resource))
        return compare_by_origin(best_of(entry, a, udpai_store_comparable, compare_by_origin),
                                 best_of(entry, b, udpai_store_comparable, compare_by_origin));
    int order = compare_ranks(best_of(entry, a, same_authority, compare_by_origin),
                              best_of(entry, b, same_authority, compare_by_origin));
    return order ? order
                 : udpai_str_cmp(udpai_resource_authority(a->resource),
                                 udpai_resource_authority(b->resource));
}

/* Generations decide within a class, then classes and authorities are compared as a whole, so that
 * the result does not depend on the order in which contributions are looked at. */
udpai_stored *
udpai_store_select(const udpai_store_entry *entry)
{
    udpai_stored *best = NULL, *member;
    compare_fn compare = NULL;
    size_t at = 0;
    while ((member = udpai_store_next(entry, &at))) {
        if (!is_eligible(member))
            continue;
        if (!compare)
            compare = order_within_class(entry, member);
        udpai_stored *candidate = best_of(entry, member, udpai_store_comparable, compare);
        if (!best || (candidate != best && compare_classes(entry, candidate, best) < 0))
            best = candidate;
    }
    udpai_stored *current = udpai_store_effective(entry);
    if (!best)
        return current && is_backed(entry, current) ? current : NULL;
    return best && current && current != best && may_stay(current, best) ? current : best;
}

int
udpai_store_compare(const udpai_stored *a, const udpai_stored *b)
{
    if (udpai_store_comparable(a->resource, b->resource))
        return order_within_class(a->entry, a)(a, b);
    return compare_classes(a->entry, (udpai_stored *)(uintptr_t)a, (udpai_stored *)(uintptr_t)b);
}
