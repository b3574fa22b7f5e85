/* SPDX-License-Identifier: Apache-2.0 */
/* Other names of resources: exact ones, and patterns with one '*'. */
#include "fanout/fanout_internal.h"

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
    alias = udpai_alloc(sizeof(*alias) + name.len);
    if (!alias)
        return NULL;
    alias->name_len = (uint32_t)name.len;
    memcpy(alias->name, name.data, name.len);
    if (!udpai_map_add(&topic->aliases, alias)) {
        udpai_free(alias);
        return NULL;
    }
    if (udpai_alias_is_pattern(name))
        topic->n_patterns++;
    return alias;
}

static void
free_alias(udpai_alias *alias)
{
    udpai_vector_done(&alias->items);
    udpai_free(alias);
}

static void
drop_if_unused(udpai_topic *topic, udpai_alias *alias)
{
    if (alias->items.n)
        return;
    udpai_map_remove(&topic->aliases, alias_text(alias));
    if (udpai_alias_is_pattern(alias_text(alias)))
        topic->n_patterns--;
    free_alias(alias);
}

void
udpai_alias_free_all(udpai_topic *topic)
{
    size_t at = 0;
    udpai_alias *alias;
    while ((alias = udpai_map_next(&topic->aliases, &at)))
        free_alias(alias);
    udpai_map_done(&topic->aliases);
}

static bool
has_alias(const udpa_resource *resource, udpai_str name)
{
    for (size_t i = 0; resource && i < udpa_resource_n_aliases(resource); i++)
        if (udpai_str_eq(udpai_resource_alias(resource, i), name))
            return true;
    return false;
}

/* Those whose own name has no resource may now be led elsewhere by this alias. */
static void
recheck_subs(udpai_topic *topic, udpai_str alias)
{
    bool is_pattern = udpai_alias_is_pattern(alias);
    UDPAI_LIST_FOREACH_SAFE (node, &topic->indirect) {
        udpai_name_sub *sub = UDPAI_LIST_ENTRY(node, udpai_name_sub, in_indirect);
        udpai_str name = udpai_item_name(sub->asked);
        if (is_pattern ? udpai_alias_matches(alias, name) : udpai_str_eq(alias, name))
            udpai_name_sub_update(sub, false);
    }
}

static void
remove_alias(udpai_item *item, udpai_str name)
{
    udpai_alias *alias = udpai_map_get(&item->topic->aliases, name);
    for (size_t i = 0; alias && i < alias->items.n; i++) {
        if (alias->items.items[i] == item) {
            udpai_vector_remove_unordered(&alias->items, i);
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
    for (size_t i = 0; i < alias->items.n; i++)
        if (alias->items.items[i] == item)
            return;
    alias->items.items[alias->items.n++] = item;
}

static udpa_err
reserve_alias(udpai_topic *topic, udpai_str name)
{
    udpai_alias *alias = get_alias(topic, name);
    return alias && udpai_vector_reserve(&alias->items, 1) ? UDPA_OK : UDPA_ERR_NOMEM;
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

void
udpai_alias_update(udpai_item *item, const udpa_resource *before, const udpa_resource *now)
{
    for (size_t i = 0; before && i < udpa_resource_n_aliases(before); i++) {
        udpai_str name = udpai_resource_alias(before, i);
        if (has_alias(now, name))
            continue;
        remove_alias(item, name);
        recheck_subs(item->topic, name);
    }
    for (size_t i = 0; now && i < udpa_resource_n_aliases(now); i++) {
        udpai_str name = udpai_resource_alias(now, i);
        if (has_alias(before, name))
            continue;
        add_alias(item, name);
        recheck_subs(item->topic, name);
    }
}

/* Of several resources with one alias, that of the lowest name: the same on every replica. */
static udpai_item *
best_item(const udpai_topic *topic, const udpai_subscriber *subscriber, udpai_str name)
{
    const udpai_alias *alias = udpai_map_get(&topic->aliases, name);
    udpai_item *best = NULL;
    for (size_t i = 0; alias && i < alias->items.n; i++) {
        udpai_item *item = alias->items.items[i];
        if (udpai_shown(item, subscriber->except_node, subscriber->visibility) &&
            (!best || udpai_str_cmp(udpai_item_name(item), udpai_item_name(best)) < 0))
            best = item;
    }
    return best;
}

/* Every pattern that could match has the '*' in place of the beginning of one path segment; the
 * shortest beginning is tried first, because it leaves the most specific pattern. */
static udpai_item *
resolve_pattern(const udpai_topic *topic, const udpai_subscriber *subscriber, udpai_str name)
{
    char candidate[UDPAI_NAME_MAX + 1];
    const char *slash = memchr(name.data, '/', name.len);
    for (; slash; slash = memchr(slash + 1, '/', name.len - (size_t)(slash + 1 - name.data))) {
        size_t start = (size_t)(slash - name.data) + 1;
        memcpy(candidate, name.data, start);
        candidate[start] = '*';
        for (size_t skip = 1; start + skip <= name.len && name.data[start + skip - 1] != '/';
             skip++) {
            size_t rest = name.len - start - skip;
            memcpy(candidate + start + 1, name.data + start + skip, rest);
            udpai_item *item =
                best_item(topic, subscriber, (udpai_str){candidate, start + 1 + rest});
            if (item)
                return item;
        }
    }
    return NULL;
}

udpai_item *
udpai_alias_resolve(const udpai_topic *topic, const udpai_subscriber *subscriber, udpai_str name)
{
    if (topic->aliases.n == 0)
        return NULL;
    udpai_item *item = best_item(topic, subscriber, name);
    if (!item && topic->n_patterns && name.len <= UDPAI_NAME_MAX)
        item = resolve_pattern(topic, subscriber, name);
    return item;
}
