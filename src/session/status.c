/* SPDX-License-Identifier: Apache-2.0 */
#include "session/status.h"

#include <stdio.h>

#include "session/client_state.h"
#include "wire/entry.h"

static void
put_tls(udpai_proto_writer *writer, const udpai_tls_agreed *tls)
{
    udpai_proto_put_bytes_opt(writer, 1, udpai_str_from(tls->version));
    udpai_proto_put_bytes_opt(writer, 2, udpai_str_from(tls->group));
    udpai_proto_put_bytes_opt(writer, 3, udpai_str_from(tls->cipher));
}

void
udpai_status_put_session(udpai_proto_writer *writer,
                         const udpai_session *session,
                         const udpai_node_info *peer,
                         uint64_t n_received)
{
    char id[24];
    snprintf(id, sizeof(id), "%llu", (unsigned long long)session->id);
    udpai_proto_put_bytes(writer, 1, udpai_str_from(id));
    udpai_proto_put_bytes(writer, 2, udpai_str_from(session->ops->name));
    if (session->info.address)
        udpai_proto_put_bytes_opt(writer, 3, udpai_bytes_view(session->info.address));
    udpai_proto_put_bytes_opt(writer, 4, udpai_identity_name(session->info.identity));
    if (peer)
        udpai_proto_put_bytes_opt(writer, 5, udpai_node_info_parts(peer)->id);
    udpai_timestamp_put(writer, 7, session->since_us);
    udpai_proto_put_varint_opt(writer, 9, n_received);
    udpai_proto_put_varint_opt(writer, 12, session->n_denied);
    if (session->info.tls.version) {
        udpai_proto_writer size = {0};
        put_tls(&size, &session->info.tls);
        udpai_proto_put_head(writer, 15, size.size);
        put_tls(writer, &session->info.tls);
    }
}

static void
put_time(udpai_proto_writer *writer, uint32_t number, int64_t time_us)
{
    if (time_us)
        udpai_timestamp_put(writer, number, time_us);
}

static void
put_refused(udpai_proto_writer *writer, const udpai_refused *refused)
{
    udpai_proto_put_bytes_opt(writer, 1, refused->name);
    udpai_proto_put_bytes_opt(writer, 2, refused->version);
    udpai_proto_put_varint_opt(writer, 3,
                               (uint64_t)udpa_err_to_grpc(udpa_error_code(refused->error)));
    udpai_proto_put_bytes_opt(writer, 4, udpai_str_from(udpa_error_message(refused->error)));
    put_time(writer, 5, refused->at_us);
    udpai_proto_put_varint_opt(writer, 6, !refused->is_certain);
}

static void
put_fields(udpai_proto_writer *writer,
           const udpai_subscription *subscription,
           const udpai_subscription_facts *facts,
           const udpai_client_rejected *rejected)
{
    udpai_proto_put_bytes(writer, 1, udpai_subscription_type_url(subscription));
    udpai_str glob = udpai_subscription_glob(subscription);
    for (size_t i = 0; i < udpai_subscription_n_prefixes(subscription); i++)
        udpai_proto_put_bytes(writer, 2,
                              glob.len ? glob : udpai_subscription_prefix(subscription, i));
    udpai_proto_put_varint_opt(writer, 3, udpai_subscription_n_names(subscription));
    udpai_proto_put_varint_opt(writer, 4, facts->n_resources);
    udpai_proto_put_varint_opt(writer, 5, facts->n_removals);
    udpai_proto_put_varint_opt(writer, 6, facts->n_acknowledged);
    udpai_proto_put_varint_opt(writer, 7, facts->n_refused);
    udpai_proto_put_bytes_opt(writer, 8, facts->version_sent);
    udpai_proto_put_bytes_opt(writer, 9, facts->version_acknowledged);
    if (facts->last_error)
        udpai_proto_put_bytes(writer, 10, udpai_str_from(udpa_error_message(facts->last_error)));
    for (size_t i = 0; i < rejected->n; i++) {
        udpai_proto_writer size = {0};
        put_refused(&size, &rejected->items[i]);
        udpai_proto_put_head(writer, 11, size.size);
        put_refused(writer, &rejected->items[i]);
    }
    udpai_proto_put_varint_opt(
        writer, 12, udpai_subscriber_in_sync(udpai_subscription_subscriber(subscription)));
    udpai_proto_put_varint_opt(writer, 13, facts->n_hidden);
    udpai_proto_put_varint_opt(writer, 14, facts->n_unanswered);
    put_time(writer, 15, facts->unanswered_us);
    put_time(writer, 16, facts->acknowledged_us);
    put_time(writer, 17, facts->refused_us);
    if (facts->held)
        udpai_proto_put_bytes(writer, 18, udpai_str_from(udpa_error_message(facts->held)));
    udpai_str source, why;
    if (udpai_subscription_waits_for(subscription, &source, &why)) {
        udpai_proto_put_bytes_opt(writer, 19, source);
        udpai_proto_put_bytes_opt(writer, 20, why);
    }
}

void
udpai_status_put_subscription(udpai_proto_writer *writer,
                              udpai_subscription *subscription,
                              const udpai_subscription_facts *facts)
{
    udpai_proto_writer size = {0};
    udpai_client_rejected rejected;
    udpai_client_state_rejected(subscription, facts->refusals, &rejected);
    put_fields(&size, subscription, facts, &rejected);
    udpai_proto_put_head(writer, 8, size.size);
    put_fields(writer, subscription, facts, &rejected);
}
