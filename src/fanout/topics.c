/* SPDX-License-Identifier: Apache-2.0 */
/* The table of topics. */
#include "fanout/fanout_internal.h"

#include "model/types.h"

static udpai_str
item_key(const void *item)
{
    return udpai_item_name(item);
}

static udpai_str
alias_key(const void *item)
{
    const udpai_alias *alias = item;
    return (udpai_str){alias->name, alias->name_len};
}

static udpai_str
prefix_key(const void *item)
{
    const udpai_view_prefix *prefix = item;
    return (udpai_str){prefix->text, prefix->len};
}

udpai_str
udpai_topic_url(const udpai_topic *topic)
{
    return (udpai_str){udpa_bytes_data(topic->url), udpa_bytes_size(topic->url) - 1};
}

udpai_topic *
udpai_topic_find(const udpai_fanout *fanout, udpai_str type_url)
{
    return udpai_map_get(&fanout->topics, type_url);
}

udpai_topic *
udpai_topic_get(udpai_fanout *fanout, udpai_str type_url)
{
    udpai_topic *topic = udpai_topic_find(fanout, type_url);
    if (topic)
        return topic;
    topic = udpai_alloc_in(&fanout->memory, sizeof(*topic));
    if (!topic)
        return NULL;
    topic->fanout = fanout;
    topic->numbers.memory = topic->sorted.memory = &fanout->memory;
    topic->url = udpai_bytes_cstring(type_url);
    topic->rank = udpai_type_rank(type_url);
    if (fanout->meters)
        topic->coalesced = udpai_meters_get(fanout->meters, UDPAI_METRIC_COALESCED, type_url);
    udpai_map_init_in(&topic->items, item_key, &fanout->memory);
    udpai_map_init_in(&topic->aliases, alias_key, &fanout->memory);
    udpai_map_init_in(&topic->prefixes, prefix_key, &fanout->memory);
    udpai_families_init(topic);
    udpai_list_init(&topic->indirect);
    udpai_list_init(&topic->views);
    if (topic->url && udpai_map_add(&fanout->topics, topic)) {
        udpai_debounce_init(topic, type_url);
        return topic;
    }
    udpa_bytes_unref(topic->url);
    udpai_free_in(&fanout->memory, topic, sizeof(*topic));
    return NULL;
}

static void
free_aliases(udpai_topic *topic)
{
    size_t at = 0;
    udpai_alias *alias;
    while ((alias = udpai_map_next(&topic->aliases, &at))) {
        udpai_alias_free(topic, alias);
    }
    udpai_map_done(&topic->aliases);
}

void
udpai_topic_release(udpai_topic *topic)
{
    if (topic->items.n || topic->n_subscriptions || topic->kept_removals.n ||
        !udpai_list_empty(&topic->views))
        return;
    udpai_map_remove(&topic->fanout->topics, udpai_topic_url(topic));
    udpai_debounce_done(topic);
    free_aliases(topic);
    udpai_map_done(&topic->items);
    udpai_numbers_done(&topic->numbers);
    udpai_sorted_done(&topic->sorted);
    udpai_map_done(&topic->kept_removals);
    udpai_map_done(&topic->prefixes);
    udpai_families_done(topic);
    udpai_vector_done(&topic->wildcards);
    udpa_bytes_unref(topic->url);
    udpai_free_in(udpai_topic_memory(topic), topic, sizeof(*topic));
}
