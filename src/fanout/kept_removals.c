/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout/kept_removals.h"

typedef struct kept_removal {
    udpai_list in_fanout; /* the oldest first */
    udpai_topic *topic;
    udpa_resource *removal;
    uint64_t since_ms;
} kept_removal;

static udpai_str
kept_key(const void *item)
{
    return udpai_resource_name(((const kept_removal *)item)->removal);
}

static void
forget(kept_removal *self)
{
    udpai_topic *topic = self->topic;
    udpai_map_remove(&topic->kept_removals, kept_key(self));
    udpai_list_remove(&self->in_fanout);
    topic->fanout->n_kept_removals--;
    udpa_resource_unref(self->removal);
    udpai_free_in(udpai_topic_memory(topic), self, sizeof(*self));
    udpai_topic_release(topic);
}

static void
forget_old(udpai_fanout *fanout)
{
    while (!udpai_list_empty(&fanout->kept_removals)) {
        kept_removal *oldest =
            UDPAI_LIST_ENTRY(fanout->kept_removals.next, kept_removal, in_fanout);
        if (fanout->n_kept_removals <= UDPAI_KEPT_REMOVALS_MAX &&
            fanout->wheel->now_ms < oldest->since_ms + UDPAI_KEPT_REMOVALS_MS)
            return;
        forget(oldest);
    }
}

void
udpai_kept_removals_forget_all(udpai_fanout *fanout)
{
    while (!udpai_list_empty(&fanout->kept_removals))
        forget(UDPAI_LIST_ENTRY(fanout->kept_removals.next, kept_removal, in_fanout));
}

static udpa_err
add(udpai_topic *topic, udpa_resource *removal)
{
    if (topic->kept_removals.n == 0)
        udpai_map_init_in(&topic->kept_removals, kept_key, udpai_topic_memory(topic));
    kept_removal *self = udpai_alloc_in(udpai_topic_memory(topic), sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->topic = topic;
    self->removal = removal;
    self->since_ms = topic->fanout->wheel->now_ms;
    udpai_list_init(&self->in_fanout);
    if (!udpai_map_add(&topic->kept_removals, self)) {
        udpai_free_in(udpai_topic_memory(topic), self, sizeof(*self));
        return UDPA_ERR_NOMEM;
    }
    udpa_resource_ref(removal);
    udpai_list_append(&topic->fanout->kept_removals, &self->in_fanout);
    topic->fanout->n_kept_removals++;
    return UDPA_OK;
}

udpa_err
udpai_kept_removals_note(udpai_fanout *fanout, const udpai_change *change)
{
    udpai_str type_url = udpai_resource_type_url(change->resource);
    udpai_topic *topic =
        change->removal ? udpai_topic_get(fanout, type_url) : udpai_topic_find(fanout, type_url);
    if (!topic)
        return change->removal ? UDPA_ERR_NOMEM : UDPA_OK;
    kept_removal *before =
        topic->kept_removals.n
            ? udpai_map_get(&topic->kept_removals, udpai_resource_name(change->resource))
            : NULL;
    if (before && before->removal == change->removal)
        return UDPA_OK;
    udpa_err err = UDPA_OK;
    topic->n_subscriptions++; /* it must not go while we are at it */
    if (before)
        forget(before);
    if (change->removal)
        err = add(topic, change->removal);
    topic->n_subscriptions--;
    forget_old(fanout);
    udpai_topic_release(topic);
    return err;
}

udpa_resource *
udpai_kept_removals_find(const udpai_topic *topic, udpai_str name)
{
    const kept_removal *self =
        topic->kept_removals.n ? udpai_map_get(&topic->kept_removals, name) : NULL;
    return self ? self->removal : NULL;
}

const udpa_resource *
udpai_kept_removals_next(const udpai_topic *topic, size_t *at)
{
    const kept_removal *self =
        topic->kept_removals.n ? udpai_map_next(&topic->kept_removals, at) : NULL;
    return self ? self->removal : NULL;
}

udpa_resource *
udpai_subscription_removal(const udpai_subscription *subscription, udpai_str name)
{
    return udpai_kept_removals_find(subscription->topic, name);
}
