/* SPDX-License-Identifier: Apache-2.0 */
#include "store/settled_names.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"

struct udpai_settled_names {
    atomic_uint refs;
    size_t n, n_missing;
    udpai_settled_name items[]; /* then the text */
};

static udpai_str
put_text(char **at, udpai_str text)
{
    const udpai_str copy = {*at, text.len};
    if (text.len)
        memcpy(*at, text.data, text.len);
    *at += text.len;
    return copy;
}

static int
compare_keys(const udpai_settled_name *a, const udpai_settled_name *b)
{
    int order = udpai_str_cmp(a->name, b->name);
    return order ? order : udpai_str_cmp(a->type_url, b->type_url);
}

static int
compare(const void *one, const void *other)
{
    const udpai_settled_name *a = one, *b = other;
    int order = compare_keys(a, b);
    return order ? order : udpai_str_cmp(a->source, b->source);
}

udpai_settled_names *
udpai_settled_names_new(const udpai_settled_name *items, size_t n)
{
    size_t size = sizeof(udpai_settled_names) + n * sizeof(*items);
    for (size_t i = 0; i < n; i++)
        size += items[i].type_url.len + items[i].name.len + items[i].source.len +
                items[i].peer_node.len + items[i].waits.len;
    udpai_settled_names *names = udpai_alloc(size);
    if (!names)
        return NULL;
    atomic_init(&names->refs, 1);
    names->n = n;
    char *text = (char *)(names->items + n);
    for (size_t i = 0; i < n; i++) {
        udpai_settled_name *item = &names->items[i];
        *item = items[i];
        item->type_url = put_text(&text, items[i].type_url);
        item->name = put_text(&text, items[i].name);
        item->source = put_text(&text, items[i].source);
        item->peer_node = put_text(&text, items[i].peer_node);
        item->waits = put_text(&text, items[i].waits);
        names->n_missing += item->is_missing;
    }
    if (n > 1)
        qsort(names->items, n, sizeof(*items), compare);
    return names;
}

udpai_settled_names *
udpai_settled_names_ref(udpai_settled_names *names)
{
    if (names)
        atomic_fetch_add_explicit(&names->refs, 1, memory_order_relaxed);
    return names;
}

udpai_settled_names *
udpai_settled_names_unref(udpai_settled_names *names)
{
    if (names && atomic_fetch_sub_explicit(&names->refs, 1, memory_order_acq_rel) == 1)
        udpai_free(names);
    return NULL;
}

size_t
udpai_settled_names_find(const udpai_settled_names *names,
                         udpai_str type_url,
                         udpai_str name,
                         const udpai_settled_name **ret_first)
{
    const udpai_settled_name key = {.type_url = type_url, .name = name};
    size_t low = 0, high = names ? names->n : 0, n = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_keys(&names->items[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (names && low + n < names->n && compare_keys(&names->items[low + n], &key) == 0)
        n++;
    if (n)
        *ret_first = &names->items[low];
    return n;
}

size_t
udpai_settled_names_all(const udpai_settled_names *names, const udpai_settled_name **ret_first)
{
    *ret_first = names ? names->items : NULL;
    return names ? names->n : 0;
}

bool
udpai_settled_names_miss(const udpai_settled_names *names)
{
    return names && names->n_missing;
}
