/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout/kept_removals.h"

#include <assert.h>

static udpai_str
topic_key(const void *item)
{
    return udpai_topic_url(item);
}

udpa_err
udpai_fanout_new(udpai_fanout **ret_fanout, udpai_wheel *wheel, const udpai_fanout_options *options)
{
    udpai_fanout *fanout = udpai_alloc(sizeof(*fanout));
    if (!fanout)
        return UDPA_ERR_NOMEM;
    fanout->wheel = wheel;
    fanout->options = *options;
    udpai_map_init_in(&fanout->topics, topic_key, &fanout->memory);
    udpai_list_init(&fanout->dirty_views);
    udpai_list_init(&fanout->idle_views);
    udpai_map_init_in(&fanout->owners, udpai_owner_key, &fanout->memory);
    udpai_list_init(&fanout->waiting);
    udpai_list_init(&fanout->recent_bodies);
    udpai_list_init(&fanout->kept_removals);
    *ret_fanout = fanout;
    return UDPA_OK;
}

void
udpai_fanout_set_options(udpai_fanout *fanout, const udpai_fanout_options *options)
{
    fanout->options = *options;
}

void
udpai_fanout_own_resources(udpai_fanout *fanout)
{
    fanout->owns_resources = true;
}

void
udpai_fanout_set_meters(udpai_fanout *fanout, udpai_meters *meters)
{
    fanout->meters = meters;
}

void
udpai_fanout_set_debounce(udpai_fanout *fanout, udpai_debounce_rules *rules)
{
    size_t at = 0;
    udpai_topic *topic;
    udpai_debounce_rules_ref(rules);
    udpai_debounce_rules_unref(fanout->debounce_rules);
    fanout->debounce_rules = rules;
    while ((topic = udpai_map_next(&fanout->topics, &at)))
        udpai_debounce_take_rules(topic, udpai_topic_url(topic));
}

void
udpai_fanout_set_interest(udpai_fanout *fanout, udpai_interest_fn interest, void *userdata)
{
    fanout->interest = interest;
    fanout->interest_userdata = userdata;
}

void
udpai_fanout_set_may_see(udpai_fanout *fanout, udpai_may_see_fn may_see, void *userdata)
{
    fanout->may_see = may_see;
    fanout->may_see_userdata = userdata;
}

void
udpai_fanout_set_settled(udpai_fanout *fanout, udpai_settled *settled)
{
    udpai_settled_unref(fanout->settled);
    fanout->settled = settled;
    fanout->settled_nr++;
    udpai_list waiting;
    udpai_list_init(&waiting);
    udpai_list_splice(&waiting, &fanout->waiting);
    udpai_list *node;
    while ((node = udpai_list_pop(&waiting)))
        udpai_subscription_recheck(UDPAI_LIST_ENTRY(node, udpai_subscription, in_waiting));
}

size_t
udpai_fanout_n_resources(const udpai_fanout *fanout)
{
    return fanout->n_resources;
}

uint64_t
udpai_fanout_place(const udpai_fanout *fanout)
{
    return fanout->seq;
}

udpai_fanout_memory
udpai_fanout_memory_of(const udpai_fanout *fanout)
{
    return (udpai_fanout_memory){fanout->memory.bytes, fanout->responses.bytes};
}

size_t
udpai_fanout_n_views(const udpai_fanout *fanout)
{
    return fanout->n_views;
}

/* Takes a topic's items away, then the topic, which nobody subscribes to any more. */
static void
free_topic(udpai_topic *topic)
{
    topic->n_subscriptions++;
    UDPAI_LIST_FOREACH_SAFE (node, &topic->views)
        udpai_view_free(UDPAI_LIST_ENTRY(node, udpai_view, in_topic));
    size_t at = 0;
    udpai_item *item;
    while ((item = udpai_map_next(&topic->items, &at)))
        udpai_item_free(item);
    udpai_map_done(&topic->items);
    topic->n_subscriptions--;
    udpai_topic_release(topic);
}

udpai_fanout *
udpai_fanout_free(udpai_fanout *fanout)
{
    if (!fanout)
        return NULL;
    udpai_kept_removals_forget_all(fanout);
    size_t at;
    udpai_topic *topic;
    while ((at = 0, topic = udpai_map_next(&fanout->topics, &at)))
        free_topic(topic);
    udpai_map_done(&fanout->topics);
    udpai_map_done(&fanout->owners);
    udpai_vector_done(&fanout->touched);
    udpai_settled_unref(fanout->settled);
    udpai_debounce_rules_unref(fanout->debounce_rules);
    assert(fanout->memory.bytes == 0 && fanout->responses.bytes == 0);
    udpai_free(fanout);
    return NULL;
}
