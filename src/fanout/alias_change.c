/* SPDX-License-Identifier: Apache-2.0 */
/* Other names of resources, as these change: the index of them, and the subscriptions by one. */
#include "fanout/variant.h"

#include "model/name.h"

static udpai_str
alias_text(const udpai_alias *alias)
{
    return (udpai_str){alias->name, alias->name_len};
}

static udpai_alias *
get_alias(udpai_topic *topic, udpai_str name)
{
    udpai_alias *alias = udpai_map_get(&topic->aliases, name);
    if (alias)
        return alias;
    alias = udpai_alloc_in(udpai_topic_memory(topic), sizeof(*alias) + name.len);
    if (!alias)
        return NULL;
    alias->name_len = (uint32_t)name.len;
    memcpy(alias->name, name.data, name.len);
    if (!udpai_map_add(&topic->aliases, alias)) {
        udpai_alias_free(topic, alias);
        return NULL;
    }
    if (udpai_alias_is_pattern(name))
        topic->n_patterns++;
    return alias;
}

static void
drop_if_unused(udpai_topic *topic, udpai_alias *alias)
{
    if (alias->items.n)
        return;
    udpai_map_remove(&topic->aliases, alias_text(alias));
    if (udpai_alias_is_pattern(alias_text(alias)))
        topic->n_patterns--;
    udpai_alias_free(topic, alias);
}

static bool
has_alias(const udpa_resource *resource, udpai_str name)
{
    for (size_t i = 0; resource && i < udpa_resource_n_aliases(resource); i++)
        if (udpai_str_eq(udpai_resource_alias(resource, i), name))
            return true;
    return false;
}

static void
recheck_indirect(const udpai_list *name_subs)
{
    UDPAI_LIST_FOREACH_SAFE (node, name_subs) {
        udpai_name_sub *sub = udpai_name_sub_of(node);
        if (sub->leads != UDPAI_LEADS_HERE)
            udpai_name_sub_update(sub, false);
    }
}

static void
recheck_pattern(udpai_topic *topic, udpai_str pattern)
{
    UDPAI_LIST_FOREACH_SAFE (node, &topic->indirect) {
        const udpai_item_more *more = UDPAI_LIST_ENTRY(node, udpai_item_more, in_indirect);
        if (udpai_alias_matches(pattern, (udpai_str){more->name, more->name_len}))
            recheck_indirect(&more->name_subs);
    }
}

static udpa_err
reserve_subs(const udpai_list *name_subs)
{
    UDPAI_LIST_FOREACH (node, name_subs)
        if (!udpai_name_sub_more(udpai_name_sub_of(node)))
            return UDPA_ERR_NOMEM;
    return UDPA_OK;
}

static udpa_err
reserve_pattern(const udpai_topic *topic, udpai_str pattern)
{
    udpa_err err = UDPA_OK;
    UDPAI_LIST_FOREACH (node, &topic->indirect) {
        const udpai_item_more *more = UDPAI_LIST_ENTRY(node, udpai_item_more, in_indirect);
        if (err == UDPA_OK && udpai_alias_matches(pattern, (udpai_str){more->name, more->name_len}))
            err = reserve_subs(&more->name_subs);
    }
    return err;
}

static udpa_err
reserve_subs_of_alias(const udpai_topic *topic, udpai_str alias)
{
    if (udpai_alias_is_pattern(alias))
        return reserve_pattern(topic, alias);
    const udpai_item *asked = udpai_item_find(topic, alias);
    return asked ? reserve_subs(udpai_item_name_subs(asked)) : UDPA_OK;
}

/* A subscription to the item itself may be led elsewhere when the item is not visible any more. */
static bool
may_lead_elsewhere(const udpai_item *item)
{
    const udpai_topic *topic = item->topic;
    return topic->n_patterns || udpai_map_get(&topic->aliases, udpai_item_name(item));
}

udpa_err
udpai_alias_reserve_subs(const udpai_item *item, const udpa_resource *now)
{
    udpa_err err = may_lead_elsewhere(item) ? reserve_subs(udpai_item_name_subs(item)) : UDPA_OK;
    for (size_t i = 0; now && i < udpa_resource_n_aliases(now) && err == UDPA_OK; i++)
        err = reserve_subs_of_alias(item->topic, udpai_resource_alias(now, i));
    return err;
}

/* Subscriptions to it may now be led elsewhere by this alias. */
static void
recheck_subs(udpai_topic *topic, udpai_str alias)
{
    if (udpai_alias_is_pattern(alias)) {
        recheck_pattern(topic, alias);
        return;
    }
    udpai_item *asked = udpai_item_find(topic, alias);
    if (!asked)
        return;
    asked->n_pins++; /* it must not go while we are at it */
    UDPAI_LIST_FOREACH_SAFE (node, udpai_item_name_subs(asked))
        udpai_name_sub_update(udpai_name_sub_of(node), false);
    asked->n_pins--;
}

static void
remove_alias(udpai_item *item, udpai_str name)
{
    udpai_alias *alias = udpai_map_get(&item->topic->aliases, name);
    for (size_t i = 0; alias && i < alias->items.n; i++) {
        if (alias->items.items[i] == item) {
            alias->items.n--;
            memmove(alias->items.items + i, alias->items.items + i + 1,
                    (alias->items.n - i) * sizeof(*alias->items.items));
            drop_if_unused(item->topic, alias);
            break;
        }
    }
}

/* A resource may name one twice. Room was reserved. */
static void
add_alias(udpai_item *item, udpai_str name)
{
    udpai_alias *alias = udpai_map_get(&item->topic->aliases, name);
    udpai_item **items = alias->items.items;
    size_t low = 0, high = alias->items.n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (udpai_str_cmp(udpai_item_name(items[middle]), udpai_item_name(item)) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < alias->items.n && items[low] == item)
        return;
    memmove(items + low + 1, items + low, (alias->items.n - low) * sizeof(*items));
    items[low] = item;
    alias->items.n++;
}

static udpa_err
reserve_alias(udpai_topic *topic, udpai_str name)
{
    udpai_alias *alias = get_alias(topic, name);
    return alias && udpai_vector_reserve_in(udpai_topic_memory(topic), &alias->items, 1)
               ? UDPA_OK
               : UDPA_ERR_NOMEM;
}

udpa_err
udpai_alias_reserve(udpai_topic *topic, const udpa_resource *before, const udpa_resource *now)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; now && i < udpa_resource_n_aliases(now) && err == UDPA_OK; i++) {
        udpai_str name = udpai_resource_alias(now, i);
        if (!has_alias(before, name))
            err = reserve_alias(topic, name);
    }
    for (size_t i = 0; err != UDPA_OK && i < udpa_resource_n_aliases(now); i++) {
        udpai_alias *alias = udpai_map_get(&topic->aliases, udpai_resource_alias(now, i));
        if (alias)
            drop_if_unused(topic, alias);
    }
    return err;
}

static udpai_str
constraints_of(const udpa_resource *resource)
{
    return resource ? udpai_resource_constraints(resource) : (udpai_str){0};
}

void
udpai_alias_update(udpai_item *item, const udpa_resource *before, const udpa_resource *now)
{
    udpai_str were = constraints_of(before), are = constraints_of(now);
    item->topic->n_variants += (size_t)(are.len > 0) - (size_t)(were.len > 0);
    for (size_t i = 0; before && i < udpa_resource_n_aliases(before); i++) {
        udpai_str name = udpai_resource_alias(before, i);
        if (has_alias(now, name))
            continue;
        remove_alias(item, name);
        recheck_subs(item->topic, name);
    }
    for (size_t i = 0; now && i < udpa_resource_n_aliases(now); i++) {
        udpai_str name = udpai_resource_alias(now, i);
        bool is_new = !has_alias(before, name);
        if (is_new)
            add_alias(item, name);
        if (is_new || !udpai_str_eq(were, are))
            recheck_subs(item->topic, name);
    }
}
