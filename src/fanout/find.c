/* SPDX-License-Identifier: Apache-2.0 */
/* What a new view selects, found by what it costs to have it, and not by what there is. */
#include "fanout/fanout_internal.h"

#include <stdlib.h>

#include "model/name.h"

static int
compare_seq(const void *a, const void *b)
{
    const udpai_found *x = a, *y = b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static bool
add_found(const udpai_view *view, udpai_found_vector *found, udpai_item *item)
{
    return !udpai_view_selects(view, item) ||
           udpai_vector_push(found, ((udpai_found){item->seq, item}));
}

static bool
find_all(const udpai_view *view, udpai_found_vector *found)
{
    size_t at = 0;
    udpai_item *item;
    bool made = true;
    while (made && (item = udpai_numbers_next(&view->topic->numbers, &at)))
        made = add_found(view, found, item);
    return made;
}

/* What a prefix covers but the name that it is begins with it and '.' or '/', which are neighbours
 * in the order of names; one that ends in '/' has that already. */
static bool
find_by_prefix(const udpai_view *view, udpai_str prefix, udpai_found_vector *found)
{
    char first[UDPAI_NAME_MAX + 1];
    size_t len = prefix.len;
    udpai_item *item = NULL;
    if (len > UDPAI_NAME_MAX)
        return true;
    memcpy(first, prefix.data, len);
    if (first[len - 1] != '/') {
        item = udpai_item_find(view->topic, prefix);
        first[len++] = '.';
    }
    bool made = !item || add_found(view, found, item);
    udpai_sorted_place place = udpai_sorted_find(&view->topic->sorted, (udpai_str){first, len});
    while (made && (item = udpai_sorted_next(&view->topic->sorted, &place))) {
        udpai_str name = udpai_item_name(item);
        if (name.len < len || memcmp(name.data, prefix.data, prefix.len) != 0 ||
            (uint8_t)name.data[len - 1] > '/')
            break;
        if (udpai_prefix_covers(prefix, name))
            made = add_found(view, found, item);
    }
    return made;
}

/* To put all names in order takes as long as to look at each about so often. */
#define LOOKS_OF_AN_ORDER 8

/* Mostly all that there is lies in what is asked for: then an order would be made for nothing. */
static bool
order_pays(const udpai_topic *topic)
{
    return topic->sorted.is_made || topic->n_in_vain / LOOKS_OF_AN_ORDER >= topic->items.n;
}

static bool
find_by_looking(const udpai_view *view, udpai_found_vector *found)
{
    size_t at = 0, n_covered = 0;
    udpai_item *item;
    bool made = true;
    while (made && (item = udpai_numbers_next(&view->topic->numbers, &at))) {
        if (!udpai_view_covers(view, udpai_item_name(item)))
            continue;
        n_covered++;
        made = add_found(view, found, item);
    }
    view->topic->n_in_vain += view->topic->items.n - n_covered;
    return made;
}

/* Prefixes are a minimal cover: nothing is found twice. */
static bool
find_by_prefixes(const udpai_view *view, udpai_found_vector *found)
{
    const udpai_view_prefix *first = view->prefixes.items[0];
    if (first->len == 0)
        return find_all(view, found);
    if (!order_pays(view->topic))
        return find_by_looking(view, found);
    bool made = udpai_sorted_make(&view->topic->sorted, &view->topic->items) == UDPA_OK;
    for (size_t i = 0; made && i < view->prefixes.n; i++) {
        const udpai_view_prefix *prefix = view->prefixes.items[i];
        made = find_by_prefix(view, (udpai_str){prefix->text, prefix->len}, found);
    }
    return made;
}

static bool
find_by_glob(const udpai_view *view, udpai_found_vector *found)
{
    const udpai_family *family =
        udpai_map_get(&view->topic->families, udpai_bytes_view(view->glob));
    if (!family)
        return true;
    bool made = true;
    UDPAI_LIST_FOREACH (node, &family->items) {
        udpai_item *item = UDPAI_LIST_ENTRY(node, udpai_item_more, in_family)->item;
        made = made && add_found(view, found, item);
    }
    return made;
}

static bool
is_in_order(const udpai_found_vector *found)
{
    for (size_t i = 1; i < found->n; i++)
        if (compare_seq(&found->items[i - 1], &found->items[i]) > 0)
            return false;
    return true;
}

bool
udpai_view_find(const udpai_view *view, udpai_found_vector *found)
{
    bool made = view->glob ? find_by_glob(view, found) : find_by_prefixes(view, found);
    if (!is_in_order(found))
        qsort(found->items, found->n, sizeof(*found->items), compare_seq);
    return made;
}
