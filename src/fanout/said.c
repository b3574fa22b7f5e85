/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout/said.h"

typedef struct said {
    udpai_list in_fanout; /* the oldest first */
    udpai_topic *topic;
    udpa_resource *removal;
    uint64_t since_ms;
} said;

static udpai_str
said_key(const void *item)
{
    return udpai_resource_name(((const said *)item)->removal);
}

static void
forget(said *self)
{
    udpai_topic *topic = self->topic;
    udpai_map_remove(&topic->said, said_key(self));
    udpai_list_remove(&self->in_fanout);
    topic->fanout->n_said--;
    udpa_resource_unref(self->removal);
    udpai_free(self);
    udpai_topic_release(topic);
}

static void
forget_old(udpai_fanout *fanout)
{
    while (!udpai_list_empty(&fanout->said)) {
        said *oldest = UDPAI_LIST_ENTRY(fanout->said.next, said, in_fanout);
        if (fanout->n_said <= UDPAI_SAID_MAX &&
            fanout->wheel->now_ms < oldest->since_ms + UDPAI_SAID_MS)
            return;
        forget(oldest);
    }
}

void
udpai_said_forget_all(udpai_fanout *fanout)
{
    while (!udpai_list_empty(&fanout->said))
        forget(UDPAI_LIST_ENTRY(fanout->said.next, said, in_fanout));
}

static udpa_err
add(udpai_topic *topic, udpa_resource *removal)
{
    if (topic->said.n == 0)
        udpai_map_init(&topic->said, said_key);
    said *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->topic = topic;
    self->removal = removal;
    self->since_ms = topic->fanout->wheel->now_ms;
    udpai_list_init(&self->in_fanout);
    if (!udpai_map_add(&topic->said, self)) {
        udpai_free(self);
        return UDPA_ERR_NOMEM;
    }
    udpa_resource_ref(removal);
    udpai_list_append(&topic->fanout->said, &self->in_fanout);
    topic->fanout->n_said++;
    return UDPA_OK;
}

udpa_err
udpai_said_note(udpai_fanout *fanout, const udpai_change *change)
{
    udpai_str type_url = udpai_resource_type_url(change->resource);
    udpai_topic *topic =
        change->removal ? udpai_topic_get(fanout, type_url) : udpai_topic_find(fanout, type_url);
    if (!topic)
        return change->removal ? UDPA_ERR_NOMEM : UDPA_OK;
    said *before =
        topic->said.n ? udpai_map_get(&topic->said, udpai_resource_name(change->resource)) : NULL;
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
udpai_said_find(const udpai_topic *topic, udpai_str name)
{
    const said *self = topic->said.n ? udpai_map_get(&topic->said, name) : NULL;
    return self ? self->removal : NULL;
}

const udpa_resource *
udpai_said_next(const udpai_topic *topic, size_t *at)
{
    const said *self = topic->said.n ? udpai_map_next(&topic->said, at) : NULL;
    return self ? self->removal : NULL;
}

udpa_resource *
udpai_subscription_said(const udpai_subscription *subscription, udpai_str name)
{
    return udpai_said_find(subscription->topic, name);
}
