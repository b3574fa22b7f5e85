/* SPDX-License-Identifier: Apache-2.0 */
/* What the topics of clients have counted, as fields of udpa.status.v1.NodeStatus. */
#include "session/status.h"
#include "sinks/forward.h"
#include "sinks/sinks.h"

#define SINKS 8 /* field number in NodeStatus */

typedef struct looked_at {
    const udpai_topic *topic[UDPAI_EVENT_SINKS]; /* NULL: it is not configured */
    udpai_topic_facts facts[UDPAI_EVENT_SINKS];
    const udpai_forward *forward[UDPAI_EVENT_SINKS]; /* NULL: none */
    udpai_forward_facts forwarded[UDPAI_EVENT_SINKS];
} looked_at;

static void
put_sink(udpai_proto_writer *writer, size_t kind, const looked_at *at)
{
    const udpai_topic_facts *facts = &at->facts[kind];
    const udpai_forward_facts *forwarded = &at->forwarded[kind];
    const uint64_t counters[] = {
        facts->n_clients, facts->n_accepted, facts->n_bytes,    facts->n_dropped,
        facts->n_refused, facts->n_held,     facts->held_bytes, facts->n_written,
        facts->n_failed,  facts->n_readers,  facts->n_missed,
    };
    udpai_proto_put_bytes(writer, 1,
                          udpai_str_from(udpai_event_facts_of((udpai_event_kind)kind)->word));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(counters); i++)
        udpai_proto_put_varint_opt(writer, (uint32_t)i + 2, counters[i]);
    if (!at->forward[kind])
        return;
    udpai_proto_put_bytes(writer, 13, udpai_forward_to(at->forward[kind]));
    udpai_proto_put_varint_opt(writer, 14, forwarded->n_streams);
    udpai_proto_put_varint_opt(writer, 15, forwarded->n_sent);
    udpai_proto_put_varint_opt(writer, 16, forwarded->n_missed);
}

static void
put(udpai_proto_writer *writer, const void *what)
{
    const looked_at *at = what;
    for (size_t i = 0; i < UDPAI_EVENT_SINKS; i++) {
        udpai_proto_writer size = {0};
        if (!at->topic[i])
            continue;
        put_sink(&size, i, at);
        udpai_proto_put_head(writer, SINKS, size.size);
        put_sink(writer, i, at);
    }
}

/* Each counter is looked at once: the size of what is written depends on it. */
udpa_bytes *
udpai_sinks_describe(const udpai_topics *sinks)
{
    looked_at at = {0};
    for (size_t i = 0; i < UDPAI_EVENT_SINKS; i++) {
        at.topic[i] = sinks->topics[i];
        if (sinks->topics[i])
            udpai_topic_facts_get(sinks->topics[i], &at.facts[i]);
        at.forward[i] = sinks->forwards[i];
        if (sinks->forwards[i])
            udpai_forward_facts_get(sinks->forwards[i], &at.forwarded[i]);
    }
    return udpai_proto_encode(put, &at);
}
