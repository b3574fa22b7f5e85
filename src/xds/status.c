/* SPDX-License-Identifier: Apache-2.0 */
/* A session, described as udpa.status.v1.SessionStatus. */
#include "session/status.h"
#include "xds/xds_internal.h"

static udpai_str
version_of(bool is_there, const char version[UDPAI_CONTENT_HASH_HEX])
{
    return is_there ? (udpai_str){version, UDPAI_CONTENT_HASH_HEX} : (udpai_str){0};
}

static int64_t
unanswered_us(const udpai_xds_type *type)
{
    if (type->n_in_flight == 0)
        return 0;
    return UDPAI_LIST_ENTRY(type->in_flight.next, const udpai_xds_in_flight, node)->sent_us;
}

static void
put_subscription(udpai_proto_writer *writer, udpai_subscription *subscription)
{
    static const udpai_xds_type counted_with_its_type;
    const udpai_xds_type *type = udpai_subscription_label(subscription).len
                                     ? &counted_with_its_type
                                     : udpai_xds_type_of(subscription);
    const udpai_subscription_facts facts = {
        .n_resources = type->n_resources,
        .n_removals = type->n_removals,
        .n_acknowledged = type->n_acknowledged,
        .n_refused = type->n_refused,
        .n_hidden = type->n_hidden,
        .version_sent = version_of(type->has_sent, type->version_sent),
        .version_acknowledged = version_of(type->has_acknowledged, type->version_acknowledged),
        .last_error = type->last_error,
        .refusals = &udpai_xds_type_of(subscription)->refusals,
        .n_unanswered = type->n_in_flight,
        .unanswered_us = unanswered_us(type),
        .acknowledged_us = type->acknowledged_us,
        .refused_us = type->refused_us,
        .held = udpai_xds_held(subscription),
    };
    udpai_status_put_subscription(writer, subscription, &facts);
}

static void
put(udpai_proto_writer *writer, const void *what)
{
    const udpai_xds *xds = what;
    udpai_status_put_session(writer, &xds->session, xds->peer, 0);
    if (xds->audience)
        udpai_xds_audience_put(writer, xds->audience);
    for (size_t i = 0; i < xds->subscriber.subscriptions.n; i++)
        put_subscription(writer, xds->subscriber.subscriptions.items[i]);
}

const udpai_node_info *
udpai_xds_peer(const udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, const udpai_xds, session)->peer;
}

const udpai_subscriber *
udpai_xds_subscriber(const udpai_session *session)
{
    return &UDPAI_CONTAINER_OF(session, const udpai_xds, session)->subscriber;
}

bool
udpai_xds_call(const udpai_session *session,
               const udpai_resource_ack *ack,
               udpai_str full_name,
               char room[UDPAI_SESSION_CALLED_MAX],
               udpai_str *ret_name)
{
    const udpai_xds *xds = UDPAI_CONTAINER_OF(session, const udpai_xds, session);
    return xds->audience && udpai_xds_name_of_client(xds->audience, ack->subscription,
                                                     ack->resource, full_name, room, ret_name);
}

udpa_bytes *
udpai_xds_describe(const udpai_session *session)
{
    return udpai_proto_encode(put, UDPAI_CONTAINER_OF(session, const udpai_xds, session));
}
