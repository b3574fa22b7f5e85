/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of HTTP/2 that are no calls of gRPC, where a listener serves them: a head and a body are
 * taken in, within limits, and go as a visit to those who serve it, in the order in which they are
 * complete; their answer comes back by the door's inbox. Those that are more than are served at a
 * time wait here. A request that exceeds a limit goes there without its body, for the words that it
 * is answered with. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "transport/door/door_internal.h"

/* Larger bodies need room that is reserved. */
#define SMALL_BYTES ((size_t)64 << 10)
#define CLOSING_MS 3000 /* that a listener which closes gives each of them */

static const udpai_visits *
visits_of(const udpai_door_connection *connection)
{
    return connection->listener->options.visits;
}

static const udpai_door_events *
events_of(const udpai_door_stream *stream)
{
    return stream->connection->listener->options.events;
}

/* ---- heads ---- */

bool
udpai_door_visit_begin_head(udpai_door_connection *connection)
{
    if (!visits_of(connection))
        return true;
    udpai_visit_head_free(connection->head);
    connection->head = udpai_alloc(sizeof(*connection->head));
    if (connection->head)
        connection->head->is_second = true;
    return connection->head;
}

void
udpai_door_visit_field(udpai_door_connection *connection, udpai_str name, udpai_str value)
{
    if (connection->head)
        udpai_http_head_second(connection->head, name, value);
}

void
udpai_door_visit_drop_head(udpai_door_connection *connection)
{
    connection->head = udpai_visit_head_free(connection->head);
}

/* ---- sending it on ---- */

/* What was set aside for what comes is given back: those who serve it count by themselves. */
static void
end_coming(udpai_door_stream *stream)
{
    udpai_timer_cancel(&stream->deadline);
    udpai_door_unfinished_over(stream);
    if (stream->is_admitted)
        events_of(stream)->dismiss(stream);
    stream->is_admitted = false;
}

static void
count_refused(udpai_door_stream *stream)
{
    if (!udpai_door_allow_request(stream->connection))
        udpai_door_connection_go(stream->connection);
}

/* It may be tried again, here or elsewhere. */
static void
turn_away(udpai_door_stream *stream)
{
    udpai_door_stream_cut(stream);
    count_refused(stream);
}

static void
serve(udpai_door_stream *stream)
{
    udpai_visit *visit = stream->visit;
    end_coming(stream);
    visit->is_sent = true;
    stream->connection->n_visits++;
    if (!visit->visits->visit(visit->visits->userdata, visit)) {
        visit->is_sent = false;
        stream->connection->n_visits--;
        turn_away(stream);
    }
}

/* Like a stream it counts, and lasts until it is served. Only room for a large body is not held for
 * longer than one may take to come. */
static void
await_place(udpai_door_stream *stream)
{
    udpai_door_connection *connection = stream->connection;
    stream->visit->is_waiting = true;
    udpai_list_append(&connection->waiting_visits, &stream->visit->node);
    connection->address->n_waiting_visits++;
    if (!stream->reserved)
        udpai_timer_cancel(&stream->deadline);
}

static void
stop_waiting(udpai_door_stream *stream)
{
    if (!stream->visit->is_waiting)
        return;
    stream->visit->is_waiting = false;
    udpai_list_remove(&stream->visit->node);
    stream->connection->address->n_waiting_visits--;
}

static void
send_on(udpai_door_stream *stream)
{
    const udpai_door_connection *connection = stream->connection;
    const udpai_visits *visits = stream->visit->visits;
    if (connection->n_visits < visits->max_visits)
        serve(stream);
    else if (stream->is_admitted && connection->address->n_waiting_visits < visits->max_waiting)
        await_place(stream);
    else
        turn_away(stream);
}

/* There is a place: who waits longest has it. */
static void
let_in(udpai_door_connection *connection)
{
    while (!connection->is_broken && !udpai_list_empty(&connection->waiting_visits) &&
           connection->n_visits < visits_of(connection)->max_visits) {
        udpai_visit *visit = UDPAI_LIST_ENTRY(connection->waiting_visits.next, udpai_visit, node);
        stop_waiting(visit->stream);
        serve(visit->stream);
    }
}

/* Its answer is to be an error with this status and the words that follow. */
#define FAIL(stream, status, ...)                                                                  \
    do {                                                                                           \
        udpai_http_head_fail((stream)->visit->head, status, __VA_ARGS__);                          \
        send_without_body(stream);                                                                 \
    } while (0)

static void
send_without_body(udpai_door_stream *stream)
{
    udpai_strbuf_done(&stream->visit->body);
    stream->visit->body = (udpai_strbuf){0};
    send_on(stream);
}

static void
on_late(udpai_timer *timer)
{
    udpai_door_stream *stream = UDPAI_CONTAINER_OF(timer, udpai_door_stream, deadline);
    if (stream->visit->is_sent || stream->is_cut) {
        udpai_door_stream_cut(stream);
    } else if (stream->visit->is_waiting) {
        stop_waiting(stream);
        turn_away(stream);
    } else {
        FAIL(stream, 408, "the body did not come within %u s",
             (unsigned)(stream->visit->visits->body_ms / 1000));
    }
}

/* All that is wanted of it has come. */
static bool
has_come(const udpai_door_stream *stream)
{
    return stream->visit->is_sent || stream->visit->is_waiting || stream->is_cut;
}

/* ---- what comes ---- */

static void
on_answered(udpai_visit *visit)
{
    udpai_door *door = visit->home;
    udpai_visit_ref(visit);
    if (!udpai_inbox_push(&door->answers, &visit->node))
        udpai_visit_unref(visit);
}

static udpai_visitor
visitor_of(const udpai_door_connection *connection)
{
    const udpai_door_peer *peer = &connection->peer;
    udpai_trust *trust = connection->listener->options.trust;
    return (udpai_visitor){
        .address = udpa_bytes_ref(peer->address),
        .chain = peer->chain ? udpai_chain_ref(peer->chain) : NULL,
        .trust = trust ? udpai_trust_ref(trust) : NULL,
        .identity = peer->identity ? udpai_identity_ref(peer->identity) : NULL,
        .error = udpa_error_ref(peer->error),
        .tls = peer->tls,
        .is_secure = peer->is_secure,
    };
}

static bool
make(udpai_door_stream *stream)
{
    udpai_door_connection *connection = stream->connection;
    udpai_visit *visit = udpai_visit_new(visits_of(connection), UDPAI_TAKE(connection->head));
    if (!visit)
        return false;
    udpai_http_head_finish(visit->head);
    visit->visitor = visitor_of(connection);
    visit->stream = stream;
    visit->home = connection->listener->door;
    visit->answered = on_answered;
    udpai_list_init(&visit->node);
    stream->visit = visit;
    udpai_timer_cancel(&stream->deadline);
    udpai_timer_init(&stream->deadline, on_late);
    return true;
}

static int
confirm(const udpai_door_stream *stream)
{
    static const nghttp2_nv status = {(uint8_t *)":status", (uint8_t *)"100", 7, 3,
                                      NGHTTP2_NV_FLAG_NONE};
    return nghttp2_submit_headers(stream->connection->session, NGHTTP2_FLAG_NONE, stream->id, NULL,
                                  &status, 1, NULL);
}

/* A body that is announced as too large need not come. */
static bool
is_wrong(const udpai_http_head *head, size_t max_body_bytes)
{
    return head->wrong || (head->framing == UDPAI_HTTP_LENGTH && head->length > max_body_bytes);
}

void
udpai_door_visit_open(udpai_door_stream *stream, bool has_body)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_door_connection *connection = stream->connection;
    const udpai_visits *visits = visits_of(connection);
    if (!make(stream)) {
        udpai_door_stream_cut(stream);
        return;
    }
    udpai_http_head *head = stream->visit->head;
    if (is_wrong(head, visits->max_body_bytes))
        send_on(stream);
    else if (events_of(stream)->admit(stream, connection->listener->options.userdata, &error) !=
             UDPA_OK)
        FAIL(stream, 429, "%s", error ? udpa_error_message(error) : "out of memory");
    else
        stream->is_admitted = true;
    if (!stream->is_admitted || has_come(stream) || !has_body)
        return;
    udpai_door_stream_hurry(stream, visits->body_ms);
    if (head->continues && confirm(stream) < 0)
        udpai_door_stream_cut(stream);
}

/* Small ones are always kept; of others there is a bounded number, in all and of each client. */
static bool
has_room(udpai_door_stream *stream)
{
    const udpai_http_head *head = stream->visit->head;
    size_t most = head->framing == UDPAI_HTTP_LENGTH ? (size_t)head->length
                                                     : stream->visit->visits->max_body_bytes;
    if (stream->visit->n_body <= SMALL_BYTES || stream->reserved)
        return true;
    if (events_of(stream)->reserve(stream, most) != UDPAI_RESERVED)
        return false;
    stream->reserved = most;
    return true;
}

static void
keep(udpai_door_stream *stream, udpai_str bytes)
{
    udpai_visit *visit = stream->visit;
    udpai_door_connection *connection = stream->connection;
    const udpai_visits *visits = visit->visits;
    visit->n_body += bytes.len;
    connection->visit_bytes += bytes.len;
    udpai_strbuf_append(&visit->body, bytes.data, bytes.len);
    if (visit->n_body > visits->max_body_bytes)
        FAIL(stream, 413,
             "the body is larger than %zu bytes, which is the limit of this node "
             "(http.max_body_bytes)",
             visits->max_body_bytes);
    else if (connection->visit_bytes > visits->max_bodies * visits->max_body_bytes)
        FAIL(stream, 429,
             "the requests of this connection together are larger than %zu bytes, %zu times the "
             "limit of one (http.max_body_bytes)",
             visits->max_bodies * visits->max_body_bytes, visits->max_bodies);
    else if (!has_room(stream) || udpai_strbuf_failed(&visit->body))
        FAIL(stream, 429, "too much is sent to this node at once: try again");
}

void
udpai_door_visit_take(udpai_door_stream *stream, udpai_str bytes)
{
    if (!has_come(stream))
        keep(stream, bytes);
    (void)nghttp2_session_consume_stream(stream->connection->session, stream->id, bytes.len);
}

void
udpai_door_visit_ended(udpai_door_stream *stream)
{
    stream->peer_has_ended = true;
    if (!has_come(stream))
        send_on(stream);
}

/* ---- its answer ---- */

/* A peer that takes none of it, or takes it too slowly, is cut. */
void
udpai_door_visit_progress(udpai_door_stream *stream)
{
    const udpai_visits *visits = stream->visit->visits;
    uint64_t now_ms = stream->connection->listener->door->wheel->now_ms;
    uint64_t left_ms =
        stream->visit->answer_until_ms > now_ms ? stream->visit->answer_until_ms - now_ms : 0;
    if (!stream->connection->listener->is_closing)
        udpai_door_stream_hurry(stream, left_ms < visits->stall_ms ? left_ms : visits->stall_ms);
}

static void
answer(udpai_door_stream *stream)
{
    udpai_visit *visit = stream->visit;
    udpai_door_message *out = &stream->out;
    if (stream->is_finishing || stream->is_cut)
        return;
    stream->is_finishing = visit->is_answered = true;
    visit->answer_until_ms =
        stream->connection->listener->door->wheel->now_ms + visit->visits->answer_ms;
    if (visit->text) { /* as a message without what is before and behind */
        out->parts = out->few;
        out->few[0] = udpa_bytes_ref(visit->text);
        out->n_parts = out->part = 1;
        out->left = udpa_bytes_size(visit->text);
        out->offset = out->tail_len = 0;
    }
    udpai_door_visit_progress(stream);
    udpai_door_stream_due(stream);
    if (visit->status[0] == '4')
        count_refused(stream);
}

void
udpai_door_visits_answer(udpai_door *door)
{
    udpai_list answers, *at;
    udpai_list_init(&answers);
    udpai_inbox_take(&door->answers, &answers);
    while ((at = udpai_list_pop(&answers))) {
        udpai_visit *visit = UDPAI_LIST_ENTRY(at, udpai_visit, node);
        if (visit->stream)
            answer(visit->stream);
        udpai_visit_unref(visit);
    }
}

/* ---- the end ---- */

void
udpai_door_visit_leave(udpai_door_stream *stream)
{
    udpai_visit *visit = stream->visit;
    udpai_door_connection *connection = stream->connection;
    if (!visit)
        return;
    stop_waiting(stream);
    end_coming(stream);
    stream->visit = NULL;
    visit->stream = NULL;
    connection->visit_bytes -= visit->n_body;
    if (visit->is_sent) {
        connection->n_visits--;
        visit->visits->over(visit, visit->is_answered && stream->has_head && !stream->out.left);
    }
    udpai_visit_unref(visit);
    let_in(connection);
}

void
udpai_door_visits_hurry(udpai_door_connection *connection)
{
    UDPAI_LIST_FOREACH (at, &connection->streams) {
        udpai_door_stream *stream = UDPAI_LIST_ENTRY(at, udpai_door_stream, node);
        if (stream->visit)
            udpai_door_stream_hurry(stream, CLOSING_MS);
    }
}
