/* SPDX-License-Identifier: Apache-2.0 */
/* The first subscription to a name or wildcard, and the end of the last, are reported to the owner
 * of the fan-out. */
#include "fanout/fanout_internal.h"

static void
report_interest(const udpai_item *item, const udpai_interest_of *what)
{
    const udpai_fanout *fanout = item->topic->fanout;
    udpai_interest_of of = *what;
    of.type_url = udpai_topic_url(item->topic);
    of.name = udpai_item_name(item);
    if (fanout->interest)
        fanout->interest(fanout->interest_userdata, &of);
}

void
udpai_interest_name(const udpai_subscription *subscription, udpai_item *item, bool subscribed)
{
    const bool by_nodes = subscription->is_of_node;
    size_t *n = by_nodes ? &item->more->n_nodes : &item->more->n_interested;
    if (subscription->is_uncounted)
        return;
    *n += subscribed ? 1 : (size_t)-1;
    if (*n == (subscribed ? 1 : 0))
        report_interest(item, &(udpai_interest_of){.subscribed = subscribed, .by_nodes = by_nodes});
}

/* A node asks for what others have asked for, or it itself: so may this one have to. */
void
udpai_interest_again(const udpai_subscription *subscription, udpai_item *item)
{
    if (subscription->is_of_node && !subscription->is_uncounted && !item->resource)
        report_interest(
            item, &(udpai_interest_of){.subscribed = true, .by_nodes = true, .is_again = true});
}

static udpai_wildcard_use *
find_use(udpai_topic *topic, udpai_str prefix)
{
    for (size_t i = 0; i < topic->wildcards.n; i++)
        if (udpai_str_eq(udpai_bytes_view(topic->wildcards.items[i].prefix), prefix))
            return &topic->wildcards.items[i];
    return NULL;
}

/* Without memory for a use that is not counted yet, the subscription is not passed on; what is here
 * is served all the same. */
void
udpai_interest_wildcard(const udpai_subscription *subscription, udpai_str prefix, bool subscribed)
{
    udpai_topic *topic = subscription->topic;
    udpai_fanout *fanout = topic->fanout;
    if (subscription->is_uncounted)
        return;
    udpai_wildcard_use *use = find_use(topic, prefix), fresh = {0};
    if (!use && subscribed && udpa_bytes_new(&fresh.prefix, prefix.data, prefix.len) == UDPA_OK) {
        if (udpai_vector_push(&topic->wildcards, fresh))
            use = &topic->wildcards.items[topic->wildcards.n - 1];
        else
            udpa_bytes_unref(fresh.prefix);
    }
    if (!use)
        return;
    use->n += subscribed ? 1 : (size_t)-1;
    bool is_edge = subscribed ? use->n == 1 : use->n == 0;
    const udpai_interest_of of = {udpai_topic_url(topic), {0}, prefix, subscribed, false, false};
    if (is_edge && fanout->interest)
        fanout->interest(fanout->interest_userdata, &of);
    if (use->n == 0) {
        udpa_bytes_unref(use->prefix);
        udpai_vector_remove_unordered(&topic->wildcards, (size_t)(use - topic->wildcards.items));
    }
}
