/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/otlp/message.h"

#include "base/proto.h"

/* Numbers of fields in opentelemetry.proto. */
enum {
    REQUEST_RESOURCE_SPANS = 1,
    RESOURCE_SPANS_RESOURCE = 1,
    RESOURCE_SPANS_SCOPE_SPANS = 2,
    RESOURCE_ATTRIBUTES = 1,
    SCOPE_SPANS_SCOPE = 1,
    SCOPE_SPANS_SPANS = 2,
    SCOPE_NAME = 1,
    SCOPE_VERSION = 2,
    SPAN_TRACE_ID = 1,
    SPAN_SPAN_ID = 2,
    SPAN_PARENT = 4,
    SPAN_NAME = 5,
    SPAN_KIND = 6,
    SPAN_START = 7,
    SPAN_END = 8,
    SPAN_ATTRIBUTES = 9,
    SPAN_EVENTS = 11,
    SPAN_LINKS = 13,
    SPAN_STATUS = 15,
    EVENT_TIME = 1,
    EVENT_NAME = 2,
    LINK_TRACE_ID = 1,
    LINK_SPAN_ID = 2,
    STATUS_MESSAGE = 2,
    STATUS_CODE = 3,
    KEY = 1,
    VALUE = 2,
    VALUE_STRING = 1,
    VALUE_INT = 3,
    RESPONSE_PARTIAL = 1,
    PARTIAL_REJECTED = 1,
};

#define KIND_INTERNAL 1
#define CODE_OK 1
#define CODE_ERROR 2

/* ---- attributes ---- */

static void
put_text(udpai_proto_writer *writer, uint32_t field, const char *key, udpai_str text)
{
    udpai_str name = udpai_str_from(key);
    size_t value = udpai_proto_bytes_size(VALUE_STRING, text.len);
    if (text.len == 0)
        return;
    udpai_proto_put_head(writer, field,
                         udpai_proto_bytes_size(KEY, name.len) +
                             udpai_proto_bytes_size(VALUE, value));
    udpai_proto_put_bytes(writer, KEY, name);
    udpai_proto_put_head(writer, VALUE, value);
    udpai_proto_put_bytes(writer, VALUE_STRING, text);
}

static void
put_number(udpai_proto_writer *writer, uint32_t field, const char *key, uint64_t number)
{
    udpai_str name = udpai_str_from(key);
    udpai_proto_writer value = {0};
    udpai_proto_put_varint(&value, VALUE_INT, number);
    udpai_proto_put_head(writer, field,
                         udpai_proto_bytes_size(KEY, name.len) +
                             udpai_proto_bytes_size(VALUE, value.size));
    udpai_proto_put_bytes(writer, KEY, name);
    udpai_proto_put_head(writer, VALUE, value.size);
    udpai_proto_put_varint(writer, VALUE_INT, number);
}

/* ---- a span ---- */

static udpai_str
view_of(const uint8_t *bytes, size_t n)
{
    return (udpai_str){(const char *)bytes, n};
}

static udpai_str
bytes_or_none(const udpa_bytes *bytes)
{
    return bytes ? udpai_bytes_view(bytes) : (udpai_str){0};
}

static uint64_t
nanoseconds(int64_t time_us)
{
    return time_us > 0 ? (uint64_t)time_us * 1000 : 0;
}

static udpai_str
type_of(const udpai_span *span)
{
    udpai_str type = bytes_or_none(span->type);
    return (udpai_str){type.data, type.len ? type.len - 1 : 0};
}

static void
put_effective(udpai_proto_writer *writer, const udpai_span *span)
{
    udpai_proto_put_fixed64(writer, EVENT_TIME, nanoseconds(span->effective_us));
    udpai_proto_put_bytes(writer, EVENT_NAME, UDPAI_STR("effective"));
}

static void
put_link(udpai_proto_writer *writer, const udpai_trace *link)
{
    udpai_proto_put_bytes(writer, LINK_TRACE_ID, view_of(link->id, UDPAI_TRACE_ID));
    udpai_proto_put_bytes(writer, LINK_SPAN_ID, view_of(link->span, UDPAI_SPAN_ID));
}

/* A change that a client rejects, or that has no effect, is what one looks for. */
static bool
is_failure(const udpai_span *span)
{
    static const char *const failures[] = {"nacked", "open", "ineffective"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(failures); i++)
        if (strcmp(span->outcome, failures[i]) == 0)
            return true;
    return false;
}

static void
put_status(udpai_proto_writer *writer, const udpai_span *span)
{
    bool is_failed = is_failure(span);
    if (is_failed)
        udpai_proto_put_bytes(writer, STATUS_MESSAGE, udpai_str_from(span->outcome));
    udpai_proto_put_varint(writer, STATUS_CODE, is_failed ? CODE_ERROR : CODE_OK);
}

static void
put_attributes(udpai_proto_writer *writer, const udpai_span *span)
{
    put_text(writer, SPAN_ATTRIBUTES, "udpa.from", bytes_or_none(span->from));
    put_text(writer, SPAN_ATTRIBUTES, "udpa.type", type_of(span));
    put_text(writer, SPAN_ATTRIBUTES, "udpa.name", bytes_or_none(span->name));
    put_number(writer, SPAN_ATTRIBUTES, "udpa.changed", span->n_changed);
    put_text(writer, SPAN_ATTRIBUTES, "udpa.outcome", udpai_str_from(span->outcome));
    put_text(writer, SPAN_ATTRIBUTES, "udpa.last_client", bytes_or_none(span->last));
}

static void
put_span(udpai_proto_writer *writer, const void *what)
{
    static const uint8_t none[UDPAI_SPAN_ID];
    const udpai_span *span = what;
    udpai_proto_put_bytes(writer, SPAN_TRACE_ID, view_of(span->trace.id, UDPAI_TRACE_ID));
    udpai_proto_put_bytes(writer, SPAN_SPAN_ID, view_of(span->trace.span, UDPAI_SPAN_ID));
    if (memcmp(span->parent, none, UDPAI_SPAN_ID) != 0)
        udpai_proto_put_bytes(writer, SPAN_PARENT, view_of(span->parent, UDPAI_SPAN_ID));
    udpai_proto_put_bytes(writer, SPAN_NAME, UDPAI_STR("change"));
    udpai_proto_put_varint(writer, SPAN_KIND, KIND_INTERNAL);
    udpai_proto_put_fixed64(writer, SPAN_START, nanoseconds(span->begin_us));
    udpai_proto_put_fixed64(writer, SPAN_END, nanoseconds(span->end_us));
    put_attributes(writer, span);
    udpai_proto_writer size = {0};
    put_effective(&size, span);
    if (span->effective_us) {
        udpai_proto_put_head(writer, SPAN_EVENTS, size.size);
        put_effective(writer, span);
    }
    for (size_t i = 0; i < span->links.n; i++) {
        size = (udpai_proto_writer){0};
        put_link(&size, &span->links.items[i]);
        udpai_proto_put_head(writer, SPAN_LINKS, size.size);
        put_link(writer, &span->links.items[i]);
    }
    size = (udpai_proto_writer){0};
    put_status(&size, span);
    udpai_proto_put_head(writer, SPAN_STATUS, size.size);
    put_status(writer, span);
}

udpa_bytes *
udpai_otlp_span(const udpai_span *span)
{
    return udpai_proto_encode(put_span, span);
}

/* ---- a request ---- */

typedef struct request {
    const udpai_otlp_sender *sender;
    udpa_bytes *const *spans;
    size_t n_spans;
} request;

static void
put_resource(udpai_proto_writer *writer, const udpai_otlp_sender *sender)
{
    put_text(writer, RESOURCE_ATTRIBUTES, "service.name", UDPAI_STR("udpad"));
    put_text(writer, RESOURCE_ATTRIBUTES, "service.version", sender->version);
    put_text(writer, RESOURCE_ATTRIBUTES, "service.instance.id", sender->node_id);
}

static void
put_scope(udpai_proto_writer *writer, const udpai_otlp_sender *sender)
{
    udpai_proto_put_bytes(writer, SCOPE_NAME, UDPAI_STR("udpa"));
    udpai_proto_put_bytes_opt(writer, SCOPE_VERSION, sender->version);
}

static void
put_scope_spans(udpai_proto_writer *writer, const request *asked)
{
    udpai_proto_writer size = {0};
    put_scope(&size, asked->sender);
    udpai_proto_put_head(writer, SCOPE_SPANS_SCOPE, size.size);
    put_scope(writer, asked->sender);
    for (size_t i = 0; i < asked->n_spans; i++)
        udpai_proto_put_bytes(writer, SCOPE_SPANS_SPANS, udpai_bytes_view(asked->spans[i]));
}

static void
put_resource_spans(udpai_proto_writer *writer, const request *asked)
{
    udpai_proto_writer size = {0};
    put_resource(&size, asked->sender);
    udpai_proto_put_head(writer, RESOURCE_SPANS_RESOURCE, size.size);
    put_resource(writer, asked->sender);
    size = (udpai_proto_writer){0};
    put_scope_spans(&size, asked);
    udpai_proto_put_head(writer, RESOURCE_SPANS_SCOPE_SPANS, size.size);
    put_scope_spans(writer, asked);
}

static void
put_request(udpai_proto_writer *writer, const void *what)
{
    udpai_proto_writer size = {0};
    put_resource_spans(&size, what);
    udpai_proto_put_head(writer, REQUEST_RESOURCE_SPANS, size.size);
    put_resource_spans(writer, what);
}

udpa_bytes *
udpai_otlp_request(const udpai_otlp_sender *sender, udpa_bytes *const *spans, size_t n_spans)
{
    const request asked = {sender, spans, n_spans};
    return udpai_proto_encode(put_request, &asked);
}

uint64_t
udpai_otlp_n_rejected(udpai_str response)
{
    uint64_t n = 0;
    udpai_proto_field field;
    udpai_proto_reader reader =
        udpai_proto_read(udpai_proto_last_bytes(response, RESPONSE_PARTIAL));
    while (udpai_proto_next(&reader, &field))
        if (field.number == PARTIAL_REJECTED)
            n = field.value;
    return n;
}
