/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/events_page.h"

#include "base/alloc.h"
#include "codec/event_line.h"
#include "codec/json_text.h"
#include "sinks/sinks.h"
#include "udpa/service/events/v1/events.pb-c.h"

typedef Udpa__Service__Events__V1__FollowResponse response_message;
typedef Udpa__Service__Events__V1__Event event_message;

struct udpai_events_stream {
    udpai_schema *schema;
    udpai_event_query query;
};

/* ---- what the client is sent ---- */

static udpai_event_kind
kind_at(const udpai_events_stream *self, size_t index)
{
    size_t kind = 0;
    while (!self->query.has[kind] || index--)
        kind++;
    return (udpai_event_kind)kind;
}

/* Each line of the text is a line of data. */
static void
put_data(udpai_strbuf *out, udpai_str lines)
{
    while (lines.len) {
        const char *end = memchr(lines.data, '\n', lines.len);
        size_t n = end ? (size_t)(end - lines.data) : lines.len;
        udpai_strbuf_puts(out, "data: ");
        udpai_strbuf_append(out, lines.data, n);
        udpai_strbuf_putc(out, '\n');
        n += end != NULL;
        lines = (udpai_str){lines.data + n, lines.len - n};
    }
}

static void
put_event_name(udpai_strbuf *out, udpai_event_kind kind)
{
    udpai_strbuf_printf(out, "event: %s\n", udpai_event_facts_of(kind)->word);
}

static void
put_lost(udpai_strbuf *out, udpai_event_kind kind, uint64_t n_lost)
{
    udpai_strbuf line = {0};
    udpai_event_gap_put(&line, kind, n_lost);
    put_event_name(out, kind);
    put_data(out, udpai_strbuf_view(&line));
    udpai_strbuf_putc(out, '\n');
    out->failed |= line.failed;
    udpai_strbuf_done(&line);
}

/* Of a message with very many entries: its lines so far. */
static void
take_lines(void *userdata, udpai_strbuf *lines)
{
    udpai_strbuf *out = userdata;
    put_data(out, udpai_strbuf_view(lines));
    out->failed |= lines->failed;
    udpai_strbuf_done(lines);
}

static void
put_event(udpai_events_stream *self,
          udpai_event_kind kind,
          const event_message *event,
          udpai_strbuf *out)
{
    udpai_strbuf lines = {0};
    const udpai_line_consumer consumer = {take_lines, out};
    const udpai_event_view view = {
        .kind = kind,
        .time_us = event->time ? event->time->seconds * 1000000 + event->time->nanos / 1000 : 0,
        .node_id = udpai_str_from(event->node_id),
        .identity = udpai_str_from(event->identity),
        .name = udpai_str_from(event->name),
        .message = {(const char *)event->message.data, event->message.len},
    };
    (void)udpai_event_version_read(udpai_str_from(event->version), &self->query.last[kind]);
    udpai_strbuf_puts(out, "id: ");
    udpai_event_query_put_id(&self->query, out);
    udpai_strbuf_putc(out, '\n');
    put_event_name(out, kind);
    udpai_event_lines_put(&lines, self->schema, &view, &consumer);
    take_lines(out, &lines);
    udpai_strbuf_putc(out, '\n');
}

void
udpai_events_stream_put(void *stream, size_t index, udpai_str message, udpai_strbuf *out)
{
    udpai_events_stream *self = stream;
    udpai_event_kind kind = kind_at(self, index);
    response_message *response = udpa__service__events__v1__follow_response__unpack(
        NULL, message.len, (const uint8_t *)message.data);
    if (!response) {
        out->failed = true; /* it is this node's own, so there is no memory */
        return;
    }
    if (response->n_lost)
        put_lost(out, kind, response->n_lost);
    if (response->event)
        put_event(self, kind, response->event, out);
    udpa__service__events__v1__follow_response__free_unpacked(response, NULL);
}

void
udpai_events_stream_put_error(void *stream, const udpa_error *error, udpai_strbuf *out)
{
    (void)stream;
    udpai_strbuf_puts(out, "event: error\ndata: {\"error\":");
    udpai_json_put_string(out, udpai_str_from(udpa_error_message(error)));
    udpai_strbuf_puts(out, "}\n\n");
}

/* ---- what is asked ---- */

typedef struct follow {
    const char *word;
    udpai_str after;
} follow;

static void
put_request(udpai_proto_writer *writer, const void *what)
{
    const follow *request = what;
    udpai_proto_put_bytes(writer, 1, udpai_str_from(request->word));
    udpai_proto_put_varint(writer, 2, true);
    udpai_proto_put_bytes_opt(writer, 4, request->after);
}

udpa_bytes *
udpai_events_stream_request(const udpai_events_stream *self, size_t index)
{
    char room[UDPAI_EVENT_VERSION_ROOM];
    udpai_event_kind kind = kind_at(self, index);
    const udpai_event_place *last = &self->query.last[kind];
    const follow request = {
        .word = udpai_event_facts_of(kind)->word,
        .after = last->begun_us ? udpai_event_version(*last, room) : (udpai_str){0},
    };
    return udpai_proto_encode(put_request, &request);
}

udpai_events_stream *
udpai_events_stream_new(const udpai_event_query *query, udpai_schema *schema)
{
    udpai_events_stream *self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    self->query = *query;
    self->schema = udpai_schema_ref(schema);
    return self;
}

void
udpai_events_stream_free(void *stream)
{
    udpai_events_stream *self = stream;
    udpai_schema_unref(self->schema);
    udpai_free(self);
}

/* ---- the page ---- */

static udpa_err
answer(const udpai_plan *plan, udpai_events_stream *stream, udpai_http_reading *reading)
{
    udpai_http_streaming streaming = {
        .method = {.open = udpai_events_admitted_session_new,
                   .context = (void *)(uintptr_t)&plan->sinks.all},
        .type = "text/event-stream",
        .heartbeat = ":\n\n",
        .put = udpai_events_stream_put,
        .put_error = udpai_events_stream_put_error,
        .free = udpai_events_stream_free,
        .userdata = stream,
    };
    for (; streaming.n_requests < stream->query.n; streaming.n_requests++) {
        udpa_bytes *request = udpai_events_stream_request(stream, streaming.n_requests);
        if (!request)
            break;
        streaming.requests[streaming.n_requests] = request;
    }
    if (streaming.n_requests == stream->query.n) {
        udpai_http_page_stream(reading, &streaming);
        return UDPA_OK;
    }
    while (streaming.n_requests)
        udpa_bytes_unref(streaming.requests[--streaming.n_requests]);
    udpai_events_stream_free(stream);
    return UDPA_ERR_NOMEM;
}

udpa_err
udpai_events_page(const udpai_plan *plan,
                  udpai_schema *schema,
                  udpai_http_reading *reading,
                  udpa_error **ret_error)
{
    _Static_assert(UDPAI_EVENT_KINDS <= UDPAI_HTTP_FEEDS_MAX, "each kind has a session");
    udpai_event_query query;
    udpa_err err = udpai_event_query_read(&query, &plan->sinks.all, reading->query, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_event_query_go_on(&query, reading->last_event_id);
    udpai_events_stream *stream = udpai_events_stream_new(&query, schema);
    err = stream ? answer(plan, stream, reading) : UDPA_ERR_NOMEM;
    return udpai_fail_code(ret_error, err);
}
