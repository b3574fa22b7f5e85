/* SPDX-License-Identifier: Apache-2.0 */
/* A session, described as udpa.status.v1.SessionStatus. */
#include "session/udpa_internal.h"

#include "session/status.h"

static void
count_unanswered(const udpai_udpa *udpa,
                 const udpai_subscription *subscription,
                 udpai_subscription_facts *facts)
{
    UDPAI_LIST_FOREACH (node, &udpa->in_flight) {
        const udpai_in_flight *flight = UDPAI_LIST_ENTRY(node, udpai_in_flight, node);
        if (flight->subscription != subscription)
            continue;
        if (facts->n_unanswered++ == 0)
            facts->unanswered_us = flight->sent_us;
    }
}

static void
put_subscriptions(udpai_proto_writer *writer, const udpai_udpa *udpa)
{
    for (size_t i = 0; i < udpa->subscriber.subscriptions.n; i++) {
        udpai_subscription *subscription = udpa->subscriber.subscriptions.items[i];
        const udpai_sent *sent = udpai_subscription_userdata(subscription);
        static const udpai_sent none;
        if (!sent)
            sent = &none;
        udpai_subscription_facts facts = {
            .n_resources = sent->n_resources,
            .n_removals = sent->n_removals,
            .n_acknowledged = sent->n_acknowledged,
            .n_refused = sent->n_refused,
            .last_error = sent->last_error,
            .refusals = &sent->refusals,
            .acknowledged_us = sent->acknowledged_us,
            .refused_us = sent->refused_us,
        };
        count_unanswered(udpa, subscription, &facts);
        udpai_status_put_subscription(writer, subscription, &facts);
    }
}

static void
put(udpai_proto_writer *writer, const void *what)
{
    const udpai_udpa *udpa = what;
    udpai_status_put_session(writer, &udpa->session, udpa->peer, udpa->n_received);
    udpai_proto_put_varint_opt(writer, 10, udpa->n_unknown_receipts);
    put_subscriptions(writer, udpa);
}

const udpai_node_info *
udpai_udpa_peer(const udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, const udpai_udpa, session)->peer;
}

const udpai_subscriber *
udpai_udpa_subscriber(const udpai_session *session)
{
    return &UDPAI_CONTAINER_OF(session, const udpai_udpa, session)->subscriber;
}

bool
udpai_udpa_call(const udpai_session *session,
                const udpai_resource_ack *ack,
                udpai_str full_name,
                char room[UDPAI_SESSION_CALLED_MAX],
                udpai_str *ret_name)
{
    (void)session, (void)ack, (void)room;
    *ret_name = full_name;
    return true;
}

udpa_bytes *
udpai_udpa_describe(const udpai_session *session)
{
    return udpai_proto_encode(put, UDPAI_CONTAINER_OF(session, const udpai_udpa, session));
}
