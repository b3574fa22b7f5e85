/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/found.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "cli/names.h"
#include "cli/order.h"
#include "model/name.h"

struct item {
    udpa_resource *resource;
    size_t len;
    char key[]; /* type URL, a zero byte, name */
};

static udpai_str
item_key(const void *item)
{
    const struct item *self = item;
    return (udpai_str){self->key, self->len};
}

static udpai_str
type_of(const udpa_resource *resource)
{
    return udpai_str_from(udpa_resource_type_url(resource));
}

static udpai_str
name_of(const udpa_resource *resource)
{
    return udpai_str_from(udpa_resource_name(resource));
}

static struct item *
make_item(udpai_str type_url, udpai_str name)
{
    struct item *item = udpai_alloc(sizeof(*item) + type_url.len + 1 + name.len);
    if (!item)
        return NULL;
    memcpy(item->key, type_url.data, type_url.len);
    memcpy(item->key + type_url.len + 1, name.data, name.len);
    item->len = type_url.len + 1 + name.len;
    return item;
}

static void
free_item(struct item *item)
{
    udpa_resource_unref(item->resource);
    udpai_free(item);
}

void
udpai_cli_found_begin(udpai_cli_found *found)
{
    udpai_map_init(&found->items, item_key);
}

void
udpai_cli_found_done(udpai_cli_found *found)
{
    size_t at = 0;
    struct item *item;
    while ((item = udpai_map_next(&found->items, &at)))
        free_item(item);
    udpai_map_done(&found->items);
}

udpa_err
udpai_cli_found_put(udpai_cli_found *found, udpa_resource *resource, bool *ret_replaced)
{
    struct item *item = make_item(type_of(resource), name_of(resource));
    if (!item)
        return UDPA_ERR_NOMEM;
    struct item *old = udpai_map_get(&found->items, item_key(item));
    *ret_replaced = old != NULL;
    if (old) {
        udpa_resource_unref(old->resource);
        old->resource = udpa_resource_ref(resource);
        free_item(item);
        return UDPA_OK;
    }
    item->resource = udpa_resource_ref(resource);
    if (udpai_map_add(&found->items, item))
        return UDPA_OK;
    free_item(item);
    return UDPA_ERR_NOMEM;
}

bool
udpai_cli_found_drop(udpai_cli_found *found, const udpa_resource *resource)
{
    struct item *item = make_item(type_of(resource), name_of(resource));
    struct item *old = item ? udpai_map_remove(&found->items, item_key(item)) : NULL;
    udpai_free(item);
    if (old)
        free_item(old);
    return old != NULL;
}

size_t
udpai_cli_found_size(const udpai_cli_found *found)
{
    return found->items.n;
}

static bool
has_alias(const udpa_resource *resource, udpai_str name)
{
    for (size_t i = 0; i < udpa_resource_n_aliases(resource); i++) {
        udpai_str alias = udpai_str_from(udpa_resource_alias(resource, i));
        if (udpai_str_eq(alias, name) || udpai_alias_matches(alias, name))
            return true;
    }
    return false;
}

udpa_resource *
udpai_cli_found_get(const udpai_cli_found *found, udpai_str type_url, udpai_str name)
{
    struct item *key = make_item(type_url, name);
    const struct item *item = key ? udpai_map_get(&found->items, item_key(key)) : NULL;
    udpai_free(key);
    if (item)
        return item->resource;
    size_t at = 0;
    while ((item = udpai_map_next(&found->items, &at)))
        if (udpai_str_eq(type_of(item->resource), type_url) && has_alias(item->resource, name))
            return item->resource;
    return NULL;
}

static int
compare(const void *a, const void *b)
{
    const udpa_resource *x = *(udpa_resource *const *)a, *y = *(udpa_resource *const *)b;
    int order = udpai_str_cmp(udpai_cli_type_short(type_of(x)), udpai_cli_type_short(type_of(y)));
    if (order == 0)
        order = udpai_str_cmp(type_of(x), type_of(y));
    return order ? order : udpai_cli_compare_names(name_of(x), name_of(y));
}

udpa_resource **
udpai_cli_found_sorted(const udpai_cli_found *found)
{
    udpa_resource **sorted = udpai_alloc_array(found->items.n, sizeof(udpa_resource *));
    size_t n = 0, at = 0;
    const struct item *item;
    while (sorted && (item = udpai_map_next(&found->items, &at)))
        sorted[n++] = item->resource;
    if (n)
        qsort(sorted, n, sizeof(udpa_resource *), compare);
    return sorted;
}

bool
udpai_cli_has_id(const udpa_resource *resource, udpai_str id)
{
    udpai_str name_space, rest = name_of(resource);
    return udpai_str_cut(&rest, '/', &name_space) && udpai_str_eq(rest, id);
}
