/* SPDX-License-Identifier: Apache-2.0 */
/* A connection as all of this folder's files know it: what it is made of, and that it has something
 * to send, or is to end. */
#include <unistd.h>

#include "base/alloc.h"
#include "loop/clock.h"
#include "transport/door/door_internal.h"

udpai_door_connection *
udpai_door_connection_new(udpai_door_listener *listener, int socket)
{
    udpai_door_connection *connection = udpai_alloc(sizeof(*connection));
    if (!connection) {
        close(socket);
        return NULL;
    }
    connection->listener = listener;
    connection->socket = socket;
    udpai_list_init(&connection->node);
    udpai_list_init(&connection->in_dirty);
    udpai_list_init(&connection->in_parked);
    udpai_list_init(&connection->streams);
    udpai_list_init(&connection->due);
    udpai_list_init(&connection->taken);
    udpai_list_init(&connection->waiting_visits);
    udpai_timer_init(&connection->timer, NULL);
    return connection;
}

udpai_door_connection *
udpai_door_connection_free(udpai_door_connection *connection)
{
    udpai_addresses_leave(connection->address, udpai_monotonic_ms());
    udpai_addresses_leave(connection->named, udpai_monotonic_ms());
    nghttp2_session_del(connection->session);
    udpai_visit_head_free(connection->head);
    udpai_tls_session_free(connection->tls);
    if (connection->socket >= 0)
        close(connection->socket);
    udpai_strbuf_done(&connection->early);
    udpai_strbuf_done(&connection->unsent);
    udpa_bytes_unref(connection->peer.address);
    udpai_chain_unref(connection->peer.chain);
    udpai_identity_unref(connection->peer.identity);
    udpa_error_unref(connection->peer.error);
    udpai_free(connection);
    return NULL;
}

void
udpai_door_connection_dirty(udpai_door_connection *connection)
{
    if (!connection->is_broken && !udpai_list_linked(&connection->in_dirty))
        udpai_list_append(&connection->listener->door->dirty, &connection->in_dirty);
}

void
udpai_door_connection_break(udpai_door_connection *connection)
{
    if (connection->is_broken)
        return;
    connection->is_broken = true;
    udpai_list_remove(&connection->in_dirty);
    udpai_list_append(&connection->listener->door->broken, &connection->in_dirty);
}

void
udpai_door_connection_go(udpai_door_connection *connection)
{
    if (connection->is_going || connection->is_broken || connection->is_lingering)
        return;
    connection->is_going = true;
    if (!connection->session) {
        udpai_door_connection_break(connection);
        return;
    }
    int32_t last = nghttp2_session_get_last_proc_stream_id(connection->session);
    if (nghttp2_submit_goaway(connection->session, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL,
                              0) != 0)
        udpai_door_connection_break(connection);
    udpai_door_connection_dirty(connection);
}

static void
leave_place(void *place)
{
    udpai_addresses_leave(place, udpai_monotonic_ms());
}

void
udpai_door_connection_hand_over(udpai_door_connection *connection, udpai_str early)
{
    const udpai_door_listen_options *options = &connection->listener->options;
    udpai_door_peer *peer = &connection->peer;
    udpai_handed handed = {
        .socket = connection->socket,
        .tls = UDPAI_TAKE(connection->tls),
        .unsent = connection->unsent,
        .visitor =
            {
                .address = UDPAI_TAKE(peer->address),
                .chain = UDPAI_TAKE(peer->chain),
                .trust = options->trust ? udpai_trust_ref(options->trust) : NULL,
                .identity = UDPAI_TAKE(peer->identity),
                .error = UDPAI_TAKE(peer->error),
                .tls = peer->tls,
                .is_secure = peer->is_secure,
            },
        .places = {UDPAI_TAKE(connection->address), UDPAI_TAKE(connection->named)},
        .leave = leave_place,
    };
    connection->socket = -1;
    connection->unsent = (udpai_strbuf){0};
    udpai_strbuf_str(&handed.early, early);
    options->visits->take(options->visits->userdata, &handed);
}
