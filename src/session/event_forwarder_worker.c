/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's end: what is streamed to it is handed up; what all of the node have comes back while
 * somebody reads it here. */
#include "base/bytes.h"
#include "base/log.h"
#include "events/batch.h"
#include "session/event_forwarder.h"

/* NULL: it has none. */
static udpai_topic *
copy_of(const udpai_event_forwarder *forwarder, uint64_t kind)
{
    return udpai_event_forwarder_topic(forwarder, kind)
               ? udpai_hub_settings(forwarder->hub)->topics->copies[kind]
               : NULL;
}

static void
write_batch(void *userdata, udpai_event_batch *batch)
{
    udpai_event_forwarder *forwarder = userdata;
    udpai_topic *topic = batch->topic, *copy = copy_of(forwarder, udpai_topic_kind(topic));
    udpai_topic_facts facts, read = {0};
    udpai_topic_facts_get(topic, &facts);
    if (copy)
        udpai_topic_facts_get(copy, &read);
    const udpai_event_figures figures = {
        .n_clients = facts.n_clients,
        .n_dropped = facts.n_dropped,
        .n_refused = facts.n_refused,
        .n_missed = read.n_missed,
    };
    if (!udpai_event_forwarder_report(forwarder, UDPAI_REPORT_EVENTS, udpai_topic_kind(topic),
                                      udpai_event_batch_encode(batch, &figures)))
        udpai_topic_written(topic, 0, batch->n);
    udpai_event_batch_free(batch);
}

/* ---- reading ---- */

static void
on_demand(void *userdata, udpai_topic *topic, bool subscribed)
{
    udpai_event_forwarder *forwarder = userdata;
    udpai_report *report = udpai_report_new(UDPAI_REPORT_EVENTS_DEMAND);
    udpai_topic_set_current(topic, false, 0);
    if (!report) {
        udpai_log(UDPA_LOG_ERROR, "sinks", "out of memory: events cannot be read");
        return;
    }
    report->ticket = udpai_topic_kind(topic);
    report->subscribed = subscribed;
    udpai_hub_report(forwarder->hub, report);
}

void
udpai_event_forwarder_put_copy(udpai_event_forwarder *forwarder, const udpai_order *order)
{
    udpai_topic *topic = copy_of(forwarder, order->ticket);
    UDPA_AUTO(udpai_event_batch_free) udpai_event_batch *batch = NULL;
    udpai_event_figures figures;
    udpa_err err = topic
                       ? udpai_event_batch_decode(udpai_bytes_view(order->events), &batch, &figures)
                       : UDPA_ERR_NOT_FOUND;
    if (err == UDPA_OK)
        udpai_topic_expect(topic, figures.first);
    for (size_t i = 0; err == UDPA_OK && i < batch->n; i++)
        (void)udpai_topic_put(topic, batch->events[i]); /* without memory it is missing */
    if (err == UDPA_OK)
        udpai_topic_set_current(topic, figures.is_all || udpai_topic_is_current(topic),
                                figures.begun_us);
    else
        udpai_log(UDPA_LOG_ERROR, "sinks", "events cannot be shown: %s", udpa_err_text(err));
    (void)udpai_event_forwarder_report(forwarder, UDPAI_REPORT_EVENTS_TAKEN, order->ticket, NULL);
}

/* ---- life ---- */

void
udpai_event_forwarder_init_worker(udpai_event_forwarder *forwarder)
{
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++) {
        if (udpai_event_forwarder_topic(forwarder, i))
            udpai_topic_set_writer(udpai_event_forwarder_topic(forwarder, i), write_batch,
                                   forwarder);
        if (copy_of(forwarder, i))
            udpai_topic_make_copy(copy_of(forwarder, i), on_demand, forwarder);
    }
}

void
udpai_event_forwarder_done_worker(udpai_event_forwarder *forwarder)
{
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++) {
        if (udpai_event_forwarder_topic(forwarder, i))
            udpai_topic_stop(udpai_event_forwarder_topic(forwarder, i));
        if (copy_of(forwarder, i))
            udpai_topic_end_copy(copy_of(forwarder, i));
    }
}
