/* SPDX-License-Identifier: Apache-2.0 */
/* Collections by glob: which items each holds. A name is in one collection at most, which follows
 * from it, so the items of a topic fall into families. They are made when a subscription first asks
 * for a collection of the topic, and kept up from then on: asking for a collection costs its
 * members, and a change one look-up, however many collections there are. */
#include "fanout/fanout_internal.h"

#include "model/xdstp.h"

static udpai_str
family_key(const void *item)
{
    const udpai_family *family = item;
    return (udpai_str){family->glob, family->len};
}

static udpai_str
views_key(const void *item)
{
    const udpai_view_prefix *prefix = item;
    return (udpai_str){prefix->text, prefix->len};
}

void
udpai_families_init(udpai_topic *topic)
{
    udpai_map_init_in(&topic->globs, views_key, udpai_topic_memory(topic));
    udpai_map_init_in(&topic->families, family_key, udpai_topic_memory(topic));
}

/* The items were freed, and so are the families. */
void
udpai_families_done(udpai_topic *topic)
{
    udpai_map_done(&topic->globs);
    udpai_map_done(&topic->families);
}

static void
free_family(const udpai_topic *topic, udpai_family *family)
{
    udpai_free_in(udpai_topic_memory(topic), family, sizeof(*family) + family->len);
}

static udpai_family *
get_family(udpai_topic *topic, udpai_str glob)
{
    udpai_family *family = udpai_map_get(&topic->families, glob);
    if (family)
        return family;
    family = udpai_alloc_in(udpai_topic_memory(topic), sizeof(*family) + glob.len);
    if (!family)
        return NULL;
    udpai_list_init(&family->items);
    family->len = (uint32_t)glob.len;
    memcpy(family->glob, glob.data, glob.len);
    if (udpai_map_add(&topic->families, family))
        return family;
    free_family(topic, family);
    return NULL;
}

static bool
join(udpai_item *item)
{
    char room[UDPAI_GLOB_MAX];
    udpai_str glob;
    if (!udpai_glob_of_name(udpai_item_name(item), room, &glob))
        return true;
    udpai_family *family = udpai_item_more_of(item) ? get_family(item->topic, glob) : NULL;
    if (!family)
        return false;
    item->more->family = family;
    udpai_list_append(&family->items, &item->more->in_family);
    return true;
}

bool
udpai_family_join(udpai_item *item)
{
    return !item->topic->has_families || join(item);
}

static udpai_family *
family_of(const udpai_item *item)
{
    return item->more ? item->more->family : NULL;
}

void
udpai_family_leave(udpai_item *item)
{
    udpai_family *family = family_of(item);
    if (!family)
        return;
    item->more->family = NULL;
    udpai_list_remove(&item->more->in_family);
    if (!udpai_list_empty(&family->items))
        return;
    udpai_map_remove(&item->topic->families, family_key(family));
    free_family(item->topic, family);
}

static void
undo(udpai_topic *topic)
{
    size_t at = 0;
    udpai_item *item;
    while ((item = udpai_map_next(&topic->items, &at)))
        udpai_family_leave(item);
}

udpa_err
udpai_families_make(udpai_topic *topic)
{
    size_t at = 0;
    udpai_item *item;
    if (topic->has_families)
        return UDPA_OK;
    while ((item = udpai_map_next(&topic->items, &at))) {
        if (join(item))
            continue;
        undo(topic);
        return UDPA_ERR_NOMEM;
    }
    topic->has_families = true;
    return UDPA_OK;
}

bool
udpai_glob_covers(const udpai_view *view, udpai_str name)
{
    char room[UDPAI_GLOB_MAX];
    udpai_str glob;
    return udpai_glob_of_name(name, room, &glob) &&
           udpai_str_eq(glob, udpai_bytes_view(view->glob));
}

udpai_view_prefix *
udpai_glob_views_of(const udpai_item *item)
{
    const udpai_family *family = family_of(item);
    return family ? udpai_map_get(&item->topic->globs, family_key(family)) : NULL;
}
