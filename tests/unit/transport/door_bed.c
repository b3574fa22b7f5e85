/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/transport/door_bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "loop/clock.h"
#include "transport/door/door_internal.h"

#define STILL_MAX                                                                                  \
    100 /* turns in which nothing of what waits can be sent: it is read in small pieces */
#define TURNS_MAX 100000  /* until all that they had sent was read */
#define PATIENCE_MS 20000 /* for what another thread does */
#define TURN_MS 4

typedef struct bed_stream {
    udpai_door_stream base;
    door_bed *bed;
    udpa_bytes *echo; /* to be written when the last one was */
    bool is_writing;
} bed_stream;

/* ---- the owner of streams ---- */

static void
write_echo(bed_stream *stream)
{
    udpa_bytes *echo = UDPAI_TAKE(stream->echo);
    const udpai_outgoing message = {.parts = &echo, .n_parts = 1};
    if (!echo)
        return;
    stream->is_writing = true;
    udpai_door_stream_write(&stream->base, &message);
    udpa_bytes_unref(echo);
}

/* "key" in the head, "key-bin" in the trailers, and how often that has not succeeded. */
static void
echo_metadata(door_bed *bed, udpai_door_stream *base)
{
    udpai_str value;
    if (udpai_door_stream_metadata(base, UDPAI_STR("key"), &value))
        bed->n_not_sent += udpai_door_stream_add_metadata(base, UDPAI_DOOR_INITIAL,
                                                          UDPAI_STR("key"), value) != UDPA_OK;
    if (udpai_door_stream_metadata(base, UDPAI_STR("key-bin"), &value))
        bed->n_not_sent += udpai_door_stream_add_metadata(base, UDPAI_DOOR_TRAILING,
                                                          UDPAI_STR("key-bin"), value) != UDPA_OK;
}

static void
on_opened(udpai_door_stream *base, void *userdata, udpai_str path)
{
    bed_stream *stream = (bed_stream *)base;
    door_bed *bed = stream->bed = userdata;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    bed->n_opened++;
    bed->n_open++;
    bed->last = base;
    size_t len = udpai_min_size(path.len, sizeof(bed->path) - 1);
    memcpy(bed->path, path.data, len);
    bed->path[len] = '\0';
    const udpai_door_peer *peer = udpai_door_stream_peer(base);
    udpai_str address = udpai_bytes_view(peer->address);
    udpai_str identity = udpai_identity_name(peer->identity);
    bed->is_secure = peer->is_secure;
    snprintf(bed->identity, sizeof(bed->identity), "%.*s", (int)identity.len,
             identity.len ? identity.data : "");
    snprintf(bed->address, sizeof(bed->address), "%.*s", (int)address.len, address.data);
    if (bed->holds)
        udpai_door_stream_set_reading(base, false);
    echo_metadata(bed, base);
    if (udpai_str_eq(path, UDPAI_STR("/refused"))) {
        (void)udpai_fail(&error, UDPA_ERR_DENIED, " not you: 100 %% ");
        udpai_door_stream_refuse(base, error);
        udpai_door_stream_hurry(base, 60000);
    }
}

static void
on_receive(udpai_door_stream *base, udpai_str message)
{
    bed_stream *stream = (bed_stream *)base;
    door_bed *bed = stream->bed;
    if (atomic_load(&bed->woken_ns) == 0)
        abort();
    bed->n_messages++;
    bed->message_len = message.len;
    memcpy(bed->message, message.data, udpai_min_size(message.len, sizeof(bed->message)));
    if (udpai_str_eq(message, UDPAI_STR("end"))) {
        udpai_door_stream_finish(base, NULL);
        udpai_door_stream_hurry(base, 60000);
        return;
    }
    udpa_bytes_unref(stream->echo);
    stream->echo = NULL;
    if (udpa_bytes_new(&stream->echo, message.data, message.len) == UDPA_OK && !stream->is_writing)
        write_echo(stream);
}

static void
on_written(udpai_door_stream *base)
{
    bed_stream *stream = (bed_stream *)base;
    stream->is_writing = false;
    write_echo(stream);
}

static void
on_ended(udpai_door_stream *base)
{
    ((bed_stream *)base)->bed->n_ended++;
    udpai_door_stream_finish(base, NULL);
    udpai_door_stream_hurry(base, 60000);
}

static void
on_failed(udpai_door_stream *base, const udpa_error *why, bool is_greedy)
{
    door_bed *bed = ((bed_stream *)base)->bed;
    bed->n_failed++;
    bed->n_greedy += is_greedy;
    udpai_door_stream_finish(base, why);
    udpai_door_stream_hurry(base, 60000);
}

static udpai_reservation
on_reserve(udpai_door_stream *base, size_t bytes)
{
    door_bed *bed = ((bed_stream *)base)->bed;
    if (bytes > bed->room)
        return UDPAI_NO_ROOM;
    bed->room -= bytes;
    return UDPAI_RESERVED;
}

static void
on_release(udpai_door_stream *base, size_t bytes)
{
    ((bed_stream *)base)->bed->room += bytes;
}

static void
on_closed(udpai_door_stream *base, const udpa_error *why)
{
    bed_stream *stream = (bed_stream *)base;
    stream->bed->n_open--;
    stream->bed->why = why ? udpa_error_code(why) : UDPA_OK;
    if (stream->bed->last == base)
        stream->bed->last = NULL;
    udpa_bytes_unref(stream->echo);
}

static bool
is_calm(const udpai_door_stream *base)
{
    (void)base;
    return true;
}

static bool
is_open_to_all(void *userdata)
{
    return ((const door_bed *)userdata)->is_open_to_all;
}

static udpa_err
on_admit(udpai_door_stream *base, void *userdata, udpa_error **ret_error)
{
    door_bed *bed = ((bed_stream *)base)->bed = userdata;
    if (bed->may_not_visit)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "too many visit");
    bed->n_admitted++;
    return UDPA_OK;
}

static void
on_dismiss(udpai_door_stream *base)
{
    ((bed_stream *)base)->bed->n_dismissed++;
}

static const udpai_door_events events = {
    .stream_bytes = sizeof(bed_stream),
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

/* ---- those who serve visits ---- */

void
door_bed_answer(udpai_visit *visit, unsigned status, const char *text)
{
    snprintf(visit->status, sizeof(visit->status), "%u", status);
    visit->fields[visit->n_fields].name = "content-type";
    visit->fields[visit->n_fields++].value = "text/plain";
    if (text && udpa_bytes_new(&visit->text, text, strlen(text)) != UDPA_OK)
        snprintf(visit->status, sizeof(visit->status), "503");
    visit->answered(visit);
}

static bool
on_visit(void *userdata, udpai_visit *visit)
{
    door_bed *bed = userdata;
    char text[64 + 256 + 4];
    if (bed->visits_are_over)
        return false;
    bed->n_visits++;
    bed->visit_wrong = visit->head->wrong;
    snprintf(bed->visit_path, sizeof(bed->visit_path), "%.60s", visit->head->path);
    snprintf(bed->visit_body, sizeof(bed->visit_body), "%.*s",
             (int)udpai_min_size(visit->body.len, 250), visit->body.len ? visit->body.data : "");
    udpai_visit_ref(visit);
    if (strcmp(bed->visit_path, "/hold") == 0 && !bed->held) {
        bed->held = udpai_visit_ref(visit);
        return true;
    }
    if (strcmp(bed->visit_path, "/held") == 0 && bed->n_held_too < DOOR_BED_HELD) {
        bed->held_too[bed->n_held_too++] = udpai_visit_ref(visit);
        return true;
    }
    snprintf(text, sizeof(text), "%s %s", bed->visit_path, bed->visit_body);
    unsigned status = strcmp(bed->visit_path, "/none") == 0 ? 404 : 200;
    door_bed_answer(visit, visit->head->wrong ? visit->head->wrong : status,
                    visit->head->is_head ? NULL : text);
    return true;
}

static void
on_over(udpai_visit *visit, bool is_answered)
{
    door_bed *bed = visit->visits->userdata;
    bed->n_over++;
    bed->n_taken += is_answered;
    udpai_visit_unref(visit);
}

static void
on_take(void *userdata, udpai_handed *handed)
{
    door_bed *bed = userdata;
    bed->n_handed++;
    snprintf(bed->early, sizeof(bed->early), "%.*s", (int)udpai_min_size(handed->early.len, 250),
             handed->early.len ? handed->early.data : "");
    udpai_handed_done(handed);
}

/* ---- the bed ---- */

static void
on_woken(void *userdata)
{
    (void)userdata;
}

static void
on_listener_closed(void *userdata)
{
    ((door_bed *)userdata)->listener = NULL;
}

static udpai_door_listen_options
options_for(door_bed *bed)
{
    return (udpai_door_listen_options){
        .socket = -1,
        .events = &events,
        .userdata = bed,
        .max_message_bytes = 64 << 20,
        .keeps_metadata = true,
        .limits = {.max_streams = 5000,
                   .handshake_timeout_ms = 60000,
                   .keepalive_ms = 60000,
                   .keepalive_timeout_ms = 60000,
                   .idle_ms = 60000},
        .closed = on_listener_closed,
    };
}

static udpa_err
make_listener(door_bed *bed)
{
    udpai_door_listener *listener = udpai_alloc(sizeof(*listener));
    if (!listener)
        return UDPA_ERR_NOMEM;
    listener->door = bed->door;
    listener->options = options_for(bed);
    udpai_list_init(&listener->node);
    udpai_list_init(&listener->connections);
    bed->listener = listener;
    return udpai_door_http2_prepare(listener);
}

static udpa_err
make_door(door_bed *bed)
{
    *bed = (door_bed){.room = (size_t)1 << 40};
    udpai_wheel_init(&bed->wheel, udpai_monotonic_ms());
    const udpai_door_options options = {
        .wheel = &bed->wheel,
        .woken = on_woken,
        .userdata = bed,
        .max_unfinished_bytes = 8 << 20,
        .max_connections = 100,
        .max_connections_per_address = 50,
    };
    return udpai_door_new(&bed->door, &options);
}

udpa_err
door_bed_open(door_bed *bed)
{
    udpa_err err = make_door(bed);
    return err == UDPA_OK ? make_listener(bed) : err;
}

udpa_err
door_bed_open_serving(door_bed *bed)
{
    udpa_err err = door_bed_open(bed);
    bed->visits = (udpai_visits){
        .bytes = sizeof(udpai_visit),
        .visit = on_visit,
        .over = on_over,
        .take = on_take,
        .userdata = bed,
        .max_body_bytes = DOOR_BED_BODY,
        .max_visits = DOOR_BED_VISITS,
        .max_waiting = DOOR_BED_WAITING,
        .max_bodies = 2,
        .body_ms = 20000,
        .stall_ms = 20000,
        .answer_ms = 60000,
    };
    if (err == UDPA_OK)
        bed->listener->options.visits = &bed->visits;
    return err;
}

udpa_err
door_bed_open_listening(door_bed *bed, const udpai_door_listen_options *with)
{
    udpai_door_listen_options options = options_for(bed);
    options.socket = with->socket;
    options.proxies = with->proxies;
    options.n_proxies = with->n_proxies;
    if (with->limits.handshake_timeout_ms)
        options.limits.handshake_timeout_ms = with->limits.handshake_timeout_ms;
    udpa_err err = make_door(bed);
    return err == UDPA_OK ? udpai_door_listen(bed->door, &options, &bed->listener, NULL) : err;
}

void
door_bed_close(door_bed *bed)
{
    if (bed->listener)
        udpai_door_listener_close(bed->listener);
    for (unsigned i = 0; bed->door && bed->listener && i < TURNS_MAX; i++) { /* peers have gone */
        udpai_door_wait(bed->door, 0, NULL);
        udpai_door_flush(bed->door);
    }
    if (bed->listener)
        abort();
    bed->door = udpai_door_free(bed->door);
}

udpa_err
door_bed_connect(door_bed *bed, door_peer *peer, const char *address)
{
    int pair[2];
    size_t n;
    *peer = (door_peer){.socket = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
        abort();
    peer->socket = pair[0];
    udpai_door_connection *connection = udpai_door_connection_new(bed->listener, pair[1]);
    if (!connection)
        return UDPA_ERR_NOMEM;
    udpai_str text = udpai_str_from(address);
    udpa_err err = udpa_bytes_new(&connection->peer.address, text.data, text.len);
    if (err == UDPA_OK)
        err = udpai_addresses_enter(&bed->door->addresses, &(udpai_client){.address = text},
                                    udpai_monotonic_ms(), &connection->address, &n, NULL);
    if (err != UDPA_OK) {
        udpai_door_connection_free(connection);
        return err;
    }
    udpai_door_connection_enter(connection);
    return UDPA_OK;
}

void
door_peer_open(door_peer *peer, int socket)
{
    *peer = (door_peer){.socket = socket};
}

void
door_peer_close(door_peer *peer)
{
    if (peer->socket >= 0)
        close(peer->socket);
    udpai_strbuf_done(&peer->to);
    udpai_strbuf_done(&peer->from);
    *peer = (door_peer){.socket = -1};
}

/* ---- talking ---- */

static bool
send_some(door_peer *peer)
{
    if (!peer->to.len)
        return false;
    ssize_t n = send(peer->socket, peer->to.data, peer->to.len, MSG_NOSIGNAL);
    if (n <= 0)
        return false;
    memmove(peer->to.data, peer->to.data + n, peer->to.len - (size_t)n);
    peer->to.len -= (size_t)n;
    return true;
}

static bool
receive_some(door_peer *peer)
{
    char room[65536];
    ssize_t n = recv(peer->socket, room, sizeof(room), 0);
    peer->is_over |= n == 0;
    if (n > 0)
        udpai_strbuf_append(&peer->from, room, (size_t)n);
    return n > 0;
}

void
door_bed_run(door_bed *bed, door_peer *peer)
{
    for (int still = 0; still < (peer->to.len ? STILL_MAX : 3); still++) {
        if (send_some(peer))
            still = 0;
        atomic_store(&bed->woken_ns, 0);
        udpai_door_wait(bed->door, 0, &bed->woken_ns);
        udpai_door_flush(bed->door);
        if (receive_some(peer))
            still = 0;
    }
}

void
door_bed_run_for(door_bed *bed, door_peer *peer, unsigned ms)
{
    uint64_t until_ms = udpai_monotonic_ms() + ms;
    do {
        door_bed_run(bed, peer);
        (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    } while (udpai_monotonic_ms() < until_ms);
}

bool
door_bed_run_until_opened(door_bed *bed, door_peer *peer, size_t n)
{
    for (int i = 0; i < PATIENCE_MS / TURN_MS && bed->n_opened < n && !peer->is_over; i++)
        door_bed_run_for(bed, peer, TURN_MS);
    return bed->n_opened >= n;
}

bool
door_bed_run_until_over(door_bed *bed, door_peer *peer)
{
    for (int i = 0; i < PATIENCE_MS / TURN_MS && !peer->is_over; i++)
        door_bed_run_for(bed, peer, TURN_MS);
    return peer->is_over;
}

void
door_peer_call(door_peer *peer, uint32_t id, const char *path, const udpai_strbuf *more)
{
    udpai_strbuf head = {0};
    udpai_strbuf_puts(&head, "\x83\x86"); /* ":method: POST", ":scheme: http" */
    frames_put_field(&head, ":path", path);
    frames_put_field(&head, ":authority", "x");
    frames_put_field(&head, "content-type", "application/grpc");
    if (more)
        udpai_strbuf_append(&head, more->data, more->len);
    frames_put(&peer->to, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, id, udpai_strbuf_view(&head));
    udpai_strbuf_done(&head);
}

void
door_peer_request(door_peer *peer, uint32_t id, const char *method, const char *path, bool ends)
{
    udpai_strbuf head = {0};
    frames_put_field(&head, ":method", method);
    frames_put_field(&head, ":scheme", "http");
    frames_put_field(&head, ":path", path);
    frames_put_field(&head, ":authority", "x");
    frames_put(&peer->to, NGHTTP2_HEADERS,
               NGHTTP2_FLAG_END_HEADERS | (ends ? NGHTTP2_FLAG_END_STREAM : 0), id,
               udpai_strbuf_view(&head));
    udpai_strbuf_done(&head);
}
