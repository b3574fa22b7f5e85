/* SPDX-License-Identifier: Apache-2.0 */
/* Items, as such: finding and making them, and what few of them need. How they change is the
 * topic's matter. */
#include "fanout/fanout_internal.h"

const udpai_list udpai_no_subs = {(udpai_list *)&udpai_no_subs, (udpai_list *)&udpai_no_subs};

udpai_item *
udpai_item_find(const udpai_topic *topic, udpai_str name)
{
    return udpai_map_get(&topic->items, name);
}

bool
udpai_topic_has(const udpai_topic *topic, udpai_str name)
{
    const udpai_item *item = udpai_item_find(topic, name);
    return item && item->resource;
}

static udpai_memory *
memory_of(const udpai_item *item)
{
    return udpai_topic_memory(item->topic);
}

static udpai_item_more *
new_more(udpai_item *item, udpai_str name)
{
    udpai_item_more *more = udpai_alloc_in(memory_of(item), sizeof(*more) + name.len);
    if (!more)
        return NULL;
    more->item = item;
    more->name_len = (uint32_t)name.len;
    if (name.len)
        memcpy(more->name, name.data, name.len);
    udpai_list_init(&more->name_subs);
    udpai_list_init(&more->alias_subs);
    udpai_list_init(&more->in_family);
    udpai_list_init(&more->in_indirect);
    return more;
}

static void
free_more(const udpai_item *item, udpai_item_more *more)
{
    udpai_memory *memory = memory_of(item);
    if (!more)
        return;
    udpai_list_remove(&more->in_indirect);
    udpa_resource_unref(more->last);
    udpa_bytes_unref(more->visible_to);
    udpai_free_in(memory, more->memberships,
                  more->memberships_capacity * sizeof(*more->memberships));
    udpai_free_in(memory, more, sizeof(*more) + more->name_len);
}

udpai_item *
udpai_item_get(udpai_topic *topic, udpai_str name)
{
    udpai_item *item = udpai_item_find(topic, name);
    if (item)
        return item;
    item = udpai_alloc_in(udpai_topic_memory(topic), sizeof(*item));
    if (!item)
        return NULL;
    if (!udpai_numbers_give(&topic->numbers, item, &item->number)) {
        udpai_free_in(udpai_topic_memory(topic), item, sizeof(*item));
        return NULL;
    }
    item->topic = topic;
    item->more = new_more(item, name);
    if (item->more && udpai_family_join(item) && udpai_sorted_add(&topic->sorted, item)) {
        if (udpai_map_add(&topic->items, item))
            return item;
        udpai_sorted_remove(&topic->sorted, item);
    }
    udpai_item_free(item);
    return NULL;
}

udpai_item_more *
udpai_item_more_of(udpai_item *item)
{
    if (!item->more)
        item->more = new_more(item, udpai_item_name(item));
    return item->more;
}

static void
free_former(udpai_item *item)
{
    udpai_former *former = UDPAI_TAKE(item->former);
    if (former)
        udpai_free_in(memory_of(item), former, sizeof(*former) + former->version_len);
}

void
udpai_item_set_resource(udpai_item *item, udpa_resource *resource)
{
    const udpa_resource *before = item->resource;
    if (item->topic->fanout->owns_resources)
        udpai_memory_change(memory_of(item), before ? udpai_resource_footprint(before) : 0,
                            resource ? udpai_resource_footprint(resource) : 0);
    item->resource = resource;
}

void
udpai_item_free(udpai_item *item)
{
    udpai_numbers_take_back(&item->topic->numbers, item->number);
    udpai_family_leave(item);
    free_more(item, item->more);
    free_former(item);
    udpa_resource *resource = item->resource;
    udpai_item_set_resource(item, NULL);
    udpa_resource_unref(resource);
    udpa_bytes_unref(item->from_node);
    udpai_free_in(memory_of(item), item, sizeof(*item));
}

void
udpai_item_drop_idle_more(udpai_item *item)
{
    udpai_item_more *more = item->more;
    if (!more || !item->resource || more->last || more->visible_to || more->deadline_ms ||
        more->family || item->n_memberships > 1 || udpa_resource_n_aliases(item->resource) ||
        !udpai_list_empty(&more->name_subs) || !udpai_list_empty(&more->alias_subs))
        return;
    if (more->memberships)
        item->own = more->memberships[0];
    free_more(item, more);
    item->more = NULL;
}

void
udpai_item_release(udpai_item *item)
{
    if (item->resource || item->n_memberships || item->n_pins ||
        !udpai_list_empty(udpai_item_name_subs(item)) ||
        !udpai_list_empty(udpai_item_alias_subs(item)))
        return;
    udpai_topic *topic = item->topic;
    udpai_map_remove(&topic->items, udpai_item_name(item));
    udpai_sorted_remove(&topic->sorted, item);
    udpai_item_free(item);
    udpai_topic_release(topic);
}

static bool
is_hash_of(udpai_str version, udpai_content_hash hash)
{
    char hex[UDPAI_CONTENT_HASH_HEX];
    udpai_content_hash_hex(hash, hex);
    return udpai_str_eq(version, (udpai_str){hex, sizeof(hex)});
}

void
udpai_item_note_former(udpai_item *item, uint64_t seq, bool is_removed)
{
    free_former(item);
    if (is_removed || !item->resource)
        return;
    udpai_content_hash hash = udpai_resource_content_hash(item->resource);
    udpai_str version = udpai_resource_version(item->resource);
    if (is_hash_of(version, hash))
        version.len = 0;
    udpai_former *former = udpai_alloc_in(memory_of(item), sizeof(*former) + version.len);
    if (!former)
        return;
    former->content_seq = item->content_seq;
    former->payload_seq = item->payload_seq;
    former->until = seq;
    former->hash = hash;
    former->version_len = (uint32_t)version.len;
    if (version.len)
        memcpy(former->version, version.data, version.len);
    item->former = former;
}

udpai_set_hash
udpai_item_alone(const udpai_item *item)
{
    udpai_set_hash alone = {0};
    if (item->resource)
        udpai_set_hash_add(&alone, udpai_item_name(item),
                           udpai_resource_content_hash(item->resource));
    return alone;
}
