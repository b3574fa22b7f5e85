/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/front/front.h"

#include <fcntl.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "session/access.h"
#include "transport/door/door.h"
#include "transport/front/listening.h"
#include "transport/grpc/grpc_internal.h"
#include "transport/socket_address.h"
#include "transport/socket_list.h"

/* Of connections, beyond as many as there may be streams: some have none for a moment. */
#define MORE_CONNECTIONS(n) ((n) + (n) / 20 + 16)

typedef struct front {
    udpai_listener listener;
    udpai_listening listening; /* its socket becomes the door's */
    udpai_door_listener *door; /* NULL: not started, or over */
    udpai_keepalive keepalive;
    const udpai_network *proxies;
    size_t n_proxies;
    const udpai_visits *visits;
} front;

typedef struct front_stream {
    udpai_door_stream base; /* first */
    udpai_stream stream;
} front_stream;

static front *
front_of(udpai_listener *listener)
{
    return UDPAI_CONTAINER_OF(listener, front, listener);
}

static front_stream *
of(udpai_stream *stream)
{
    return UDPAI_CONTAINER_OF(stream, front_stream, stream);
}

static const front_stream *
of_const(const udpai_stream *stream)
{
    return UDPAI_CONTAINER_OF(stream, const front_stream, stream);
}

static udpai_stream *
stream_of(udpai_door_stream *base)
{
    return &((front_stream *)base)->stream;
}

/* ---- what is asked of a stream ---- */

static void
front_begin(udpai_stream *stream)
{
    (void)stream; /* it is read from the beginning */
}

static void
front_write(udpai_stream *stream, const udpai_outgoing *message)
{
    udpai_door_stream_write(&of(stream)->base, message);
}

static void
front_set_reading(udpai_stream *stream, bool reading)
{
    udpai_door_stream_set_reading(&of(stream)->base, reading);
}

static void
front_finish(udpai_stream *stream, const udpa_error *status)
{
    udpai_door_stream *base = &of(stream)->base;
    udpai_spread_leave(stream);
    udpai_timer_cancel(&stream->deadline);
    base->pushback_ms = stream->pushback_ms;
    if (stream->is_refusal)
        udpai_door_stream_refuse(base, status);
    else
        udpai_door_stream_finish(base, status);
    udpai_door_stream_hurry(base, stream->thread->timing.finish_timeout_ms);
}

static void
front_hurry(udpai_stream *stream, uint64_t ms)
{
    udpai_door_stream_hurry(&of(stream)->base, ms);
}

static void
front_cut(udpai_stream *stream)
{
    udpai_door_stream_cut(&of(stream)->base);
}

static bool
front_is_alone(const udpai_stream *stream)
{
    return udpai_door_stream_is_alone(&of_const(stream)->base);
}

static bool
front_is_beside(const udpai_stream *stream, const udpai_stream *other)
{
    return udpai_door_stream_is_beside(&of_const(stream)->base, &of_const(other)->base);
}

static void
front_close_after(udpai_stream *stream, bool closes)
{
    udpai_door_stream_close_after(&of(stream)->base, closes);
}

static const udpai_carrier carrier = {
    .begin = front_begin,
    .write = front_write,
    .set_reading = front_set_reading,
    .finish = front_finish,
    .hurry = front_hurry,
    .cut = front_cut,
    .is_alone = front_is_alone,
    .is_beside = front_is_beside,
    .close_after = front_close_after,
};

/* ---- what comes ---- */

static void
on_age(udpai_timer *timer)
{
    udpai_stream_end_old(UDPAI_CONTAINER_OF(timer, udpai_stream, deadline));
}

static udpa_err
open_stream(udpai_stream *stream, udpai_str path, udpa_error **ret_error)
{
    const udpai_door_peer *peer = udpai_door_stream_peer(&of(stream)->base);
    const udpai_server_tls *tls = stream->listener->tls;
    const udpai_presented presented = {tls ? udpai_server_tls_trust(tls) : NULL, peer->chain,
                                       false};
    const udpai_caller caller = {peer->identity, peer->address, peer->tls};
    stream->is_secure = peer->is_secure;
    if (stream->listener->is_closing || stream->thread->is_stopping)
        return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE,
                          "this node does not listen here any more");
    if (peer->error)
        return udpai_fail(ret_error, UDPA_ERR_UNAUTHENTICATED, "%s",
                          udpa_error_message(peer->error));
    udpa_err err = peer->chain ? udpai_stream_present(stream, &presented, ret_error) : UDPA_OK;
    return err == UDPA_OK ? udpai_service_open(stream, path, &caller, ret_error) : err;
}

static void
on_opened(udpai_door_stream *base, void *userdata, udpai_str path)
{
    front *self = userdata;
    udpai_stream *stream = stream_of(base);
    udpa_error *error = NULL;
    udpai_timer_init(&stream->deadline, on_age);
    udpai_stream_enter(stream, self->listener.thread, &carrier, &self->listener);
    udpa_err err = open_stream(stream, path, &error);
    if (err != UDPA_OK)
        udpai_service_refuse(stream, err, error);
}

static void
on_receive(udpai_door_stream *base, udpai_str message)
{
    udpai_stream *stream = stream_of(base);
    if (stream->handler)
        stream->handler->receive(stream, message);
}

static void
on_written(udpai_door_stream *base)
{
    udpai_stream *stream = stream_of(base);
    if (stream->handler && stream->handler->written)
        stream->handler->written(stream);
}

static void
on_ended(udpai_door_stream *base)
{
    udpai_stream *stream = stream_of(base);
    if (stream->handler)
        stream->handler->ended(stream);
}

static void
on_failed(udpai_door_stream *base, const udpa_error *why, bool is_greedy)
{
    udpai_stream *stream = stream_of(base);
    udpa_error *error = udpa_error_ref((udpa_error *)(uintptr_t)why);
    if (is_greedy)
        udpai_stream_end_greedy(stream, udpai_bytes_view(udpai_door_stream_peer(base)->address),
                                error);
    else
        udpai_stream_end(stream, error);
}

static bool
is_calm(const udpai_door_stream *base)
{
    const udpai_session *session = udpai_session_of_stream(&((const front_stream *)base)->stream);
    return session && session->is_calm;
}

static udpai_reservation
on_reserve(udpai_door_stream *base, size_t bytes)
{
    udpai_stream *stream = stream_of(base);
    udpai_admission *admission = &stream->thread->admission;
    if (!stream->admitted)
        return UDPAI_NO_ROOM;
    udpai_reservation answer = udpai_admission_reserve(admission, stream->admitted, bytes);
    if (answer != UDPAI_RESERVED && !base->is_waiting) /* it is asked for again and again */
        atomic_fetch_add_explicit(&stream->thread->stat_waited, 1, memory_order_relaxed);
    if (admission->reserved > atomic_load(&stream->thread->stat_reserved))
        atomic_store(&stream->thread->stat_reserved, admission->reserved);
    return answer;
}

static void
on_release(udpai_door_stream *base, size_t bytes)
{
    udpai_stream *stream = stream_of(base);
    udpai_admission_release(&stream->thread->admission, stream->admitted, bytes);
}

static void
on_closed(udpai_door_stream *base, const udpa_error *why)
{
    udpai_stream *stream = stream_of(base);
    if (stream->handler)
        stream->handler->closed(stream, why);
    udpai_stream_leave(stream);
}

/* It counts as a stream while it comes; behind that, what is bridged of it does. */
static udpa_err
on_admit(udpai_door_stream *base, void *userdata, udpa_error **ret_error)
{
    const front *self = userdata;
    udpai_stream *stream = stream_of(base);
    const udpai_door_peer *peer = udpai_door_stream_peer(base);
    const udpai_client client = {.identity = peer->identity,
                                 .address = udpai_bytes_view(peer->address)};
    stream->thread = self->listener.thread;
    return udpai_admission_enter(&stream->thread->admission, &client, &stream->admitted, ret_error);
}

static void
on_dismiss(udpai_door_stream *base)
{
    udpai_stream *stream = stream_of(base);
    udpai_admission_leave(&stream->thread->admission, UDPAI_TAKE(stream->admitted));
}

/* Clients need not prove who they are, or rules allow all of them something; by the rules that are
 * in effect. */
static bool
is_open_to_all(void *userdata)
{
    const front *self = userdata;
    const udpai_acl *acl = udpai_hub_access(self->listener.thread->hub)->acl;
    bool knows_clients =
        self->listening.is_local || udpai_server_tls_knows_clients(self->listener.tls);
    return !knows_clients || !acl || udpai_acl_settings(acl)->is_dry_run ||
           udpai_acl_knows_all(acl);
}

static const udpai_door_events events = {
    .stream_bytes = sizeof(front_stream),
    .opened = on_opened,
    .receive = on_receive,
    .written = on_written,
    .ended = on_ended,
    .failed = on_failed,
    .reserve = on_reserve,
    .release = on_release,
    .closed = on_closed,
    .admit = on_admit,
    .dismiss = on_dismiss,
    .is_calm = is_calm,
    .is_open_to_all = is_open_to_all,
};

/* ---- listening ---- */

static SSL_CTX *
context_of(void *userdata)
{
    return udpai_server_tls_context(((front *)userdata)->listener.tls);
}

/* Once the one that has it now is closed, this is the one to be handed to another process. */
static udpa_err
copy_socket(udpai_listening *ret_listening,
            const udpai_listen_options *options,
            udpa_error **ret_error)
{
    int copy = fcntl(*options->socket, F_DUPFD_CLOEXEC, 0);
    *ret_listening = (udpai_listening){.socket = -1};
    if (copy < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot listen: there are too many files");
    udpa_err err = udpai_listening_take(ret_listening, copy, ret_error);
    if (err == UDPA_OK)
        udpai_socket_list_note(UDPAI_LISTENING_USE, options->address, copy);
    return err;
}

static udpa_err
open_socket(udpai_listener *listener, const udpai_listen_options *options, udpa_error **ret_error)
{
    front *self = front_of(listener);
    udpa_err err = options->socket
                       ? copy_socket(&self->listening, options, ret_error)
                       : udpai_listening_open(&self->listening, options->address, false, ret_error);
    if (err != UDPA_OK)
        return err;
    if (listener->tls && self->listening.is_local)
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL,
            "cannot listen on the unix socket %s with TLS: the kernel proves who connects",
            options->address);
    self->keepalive = options->keepalive;
    self->proxies = options->proxies;
    self->n_proxies = options->n_proxies;
    self->visits = options->visits;
    if (listener->tls && self->visits)
        udpai_server_tls_offer_first(listener->tls);
    SSL_CTX *context = listener->tls ? udpai_server_tls_context(listener->tls) : NULL;
    if (listener->tls && !context)
        return udpai_fail(ret_error, UDPA_ERR_IO,
                          "cannot listen on %s: is something wrong with the certificate?",
                          options->address);
    SSL_CTX_free(context);
    listener->port = udpai_socket_port(self->listening.socket);
    listener->socket = self->listening.socket;
    return UDPA_OK;
}

/* Its file stays until this one closes. */
static void
inherit(udpai_listener *listener, udpai_listener *former)
{
    front_of(listener)->listening.file = front_of(former)->listening.file;
    front_of(former)->listening.file = (udpai_local_file){0};
}

static uint64_t
or_default(uint64_t value, uint64_t otherwise)
{
    return value ? value : otherwise;
}

static void
on_door_closed(void *userdata)
{
    front *self = userdata;
    self->door = NULL;
    udpai_listener_check_end(&self->listener);
}

static void
start(udpai_listener *listener)
{
    front *self = front_of(listener);
    const udpai_stream_thread *thread = listener->thread;
    const udpai_stream_timing *timing = &thread->timing;
    const udpai_door_listen_options options = {
        .socket = self->listening.socket,
        .events = &events,
        .userdata = self,
        .context = listener->tls ? context_of : NULL,
        .max_message_bytes = listener->max_message_bytes,
        .proxies = self->proxies,
        .n_proxies = self->n_proxies,
        .visits = self->visits,
        .trust = listener->tls ? udpai_server_tls_trust(listener->tls) : NULL,
        .limits =
            {
                .max_streams = thread->limits.max_streams_per_identity,
                .handshake_timeout_ms = timing->handshake_timeout_ms,
                .keepalive_ms = or_default(self->keepalive.interval_ms, timing->keepalive_ms),
                .keepalive_timeout_ms =
                    or_default(self->keepalive.timeout_ms, timing->keepalive_timeout_ms),
                .idle_ms = timing->connection_idle_ms,
                .age_ms = udpai_listener_connection_age_ms(timing),
            },
        .closed = on_door_closed,
    };
    self->listening.socket = -1;
    if (udpai_door_listen(thread->accepting, &options, &self->door, NULL) != UDPA_OK)
        udpai_log(
            UDPA_LOG_ERROR, UDPAI_LOG_GRPC,
            "port %d: no connection is taken: there is no memory, or there are too many files",
            listener->port);
}

static void
close_front(udpai_listener *listener)
{
    front *self = front_of(listener);
    udpai_listening_close(&self->listening);
    if (self->door)
        udpai_door_listener_close(self->door);
    else
        udpai_listener_check_end(listener);
}

static bool
is_over(udpai_listener *listener)
{
    return front_of(listener)->door == NULL;
}

/* It was not started. */
static void
release(udpai_listener *listener)
{
    udpai_listening_close(&front_of(listener)->listening);
}

static void
listener_changed(udpai_listener *listener)
{
    const front *self = front_of(listener);
    if (self->door)
        udpai_door_listener_set_limits(self->door, listener->max_message_bytes,
                                       udpai_listener_connection_age_ms(&listener->thread->timing));
}

static const udpai_listener_kind kind = {
    .bytes = sizeof(front),
    .open = open_socket,
    .start = start,
    .close = close_front,
    .is_over = is_over,
    .release = release,
    .inherit = inherit,
    .changed = listener_changed,
};

/* ---- for the stream thread ---- */

static void
on_woken(void *userdata)
{
    udpai_thread_woken(userdata);
}

static udpa_err
begin(void **ret_self, udpai_stream_thread *thread)
{
    const udpai_stream_limits *limits = &thread->limits;
    const udpai_door_options options = {
        .wheel = &thread->wheel,
        .woken = on_woken,
        .userdata = thread,
        .max_unfinished_bytes = limits->max_unfinished_bytes,
        .max_connections = MORE_CONNECTIONS(limits->max_streams),
        .max_connections_per_address = MORE_CONNECTIONS(limits->max_streams_per_identity),
    };
    udpai_door *door = NULL;
    udpa_err err = udpai_door_new(&door, &options);
    *ret_self = door;
    return err;
}

static void
end(void *self)
{
    udpai_door_free(self);
}

static void
wait_for(void *self, uint64_t due_ms, atomic_uint_fast64_t *ret_woken_ns)
{
    udpai_door_wait(self, due_ms, ret_woken_ns);
}

static void
flush(void *self)
{
    udpai_door_flush(self);
}

static void
changed(void *self, const udpai_stream_limits *limits)
{
    udpai_door_set_max(self, MORE_CONNECTIONS(limits->max_streams),
                       MORE_CONNECTIONS(limits->max_streams_per_identity));
}

static void
count(void *self, udpai_stream_thread_stats *stats)
{
    const udpai_door_counts counts = udpai_door_count(self);
    stats->n_connections_refused = counts.n_refused;
    stats->n_handshakes_failed = counts.n_failed;
    stats->n_floods = counts.n_floods;
}

static const udpai_meters *
meters(void *self)
{
    return udpai_door_meters(self);
}

const udpai_acceptance udpai_front_acceptance = {
    .listeners = &kind,
    .begin = begin,
    .end = end,
    .wake = udpai_door_wake,
    .wait = wait_for,
    .meters = meters,
    .flush = flush,
    .count = count,
    .changed = changed,
};
