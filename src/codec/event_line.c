/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/event_line.h"

#include <time.h>

#include "base/alloc.h"
#include "base/proto.h"
#include "codec/convert.h"
#include "codec/json_text.h"
#include "model/type_url.h"

typedef struct line_writer {
    udpai_strbuf *out;
    const udpai_schema *schema;
    const udpai_event_view *event;
    const udpai_line_consumer *consumer;
    size_t n;
} line_writer;

static void
put_time(udpai_strbuf *out, int64_t time_us)
{
    int64_t micros = time_us % 1000000;
    time_t seconds = (time_t)(time_us / 1000000) - (micros < 0);
    struct tm utc;
    char text[32] = "";
    if (gmtime_r(&seconds, &utc))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    udpai_strbuf_printf(out, "\"%s.%06dZ\"", text, (int)(micros < 0 ? micros + 1000000 : micros));
}

static void
put_text(udpai_strbuf *out, const char *key, udpai_str text)
{
    if (text.len == 0)
        return;
    udpai_strbuf_printf(out, ",\"%s\":", key);
    udpai_json_put_string(out, text);
}

static void
put_kind(udpai_strbuf *out, udpai_event_kind kind)
{
    udpai_strbuf_printf(out, "{\"kind\":\"%s\"", udpai_event_facts_of(kind)->word);
}

static void
put_line(line_writer *self, const char *type, udpai_str entry)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    UDPAI_AUTO_FREE char *json = NULL;
    udpai_strbuf *out = self->out;
    put_kind(out, self->event->kind);
    udpai_strbuf_puts(out, ",\"time\":");
    put_time(out, self->event->time_us);
    put_text(out, "node", self->event->node_id);
    put_text(out, "identity", self->event->identity);
    put_text(out, "name", self->event->name);
    put_text(out, "type", udpai_type_url_name(udpai_str_from(type)));
    udpa_err err = udpai_convert_from_binary(self->schema, udpai_str_from(type), entry,
                                             UDPAI_FORMAT_JSON, &json, &error);
    if (err == UDPA_OK) {
        udpai_strbuf_puts(out, ",\"entry\":");
        udpai_strbuf_puts(out, json);
    } else {
        udpai_strbuf_puts(out, ",\"base64\":");
        udpai_json_put_base64(out, entry);
        put_text(out, "error",
                 udpai_str_from(error ? udpa_error_message(error) : udpa_err_text(err)));
    }
    udpai_strbuf_puts(out, "}\n");
    self->n++;
    if (out->len > UDPAI_LINES_MAX || udpai_strbuf_failed(out))
        self->consumer->take(self->consumer->userdata, out);
}

/* Each of one repeated field, or the message itself. */
static void
put_entries(line_writer *self, const udpai_event_entries *of, udpai_str message)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    if (of->inner == 0) {
        put_line(self, of->type, message);
        return;
    }
    while (udpai_proto_next(&reader, &field))
        if (field.number == of->inner && field.type == UDPAI_WIRE_BYTES)
            put_line(self, of->type, field.bytes);
    if (reader.failed) /* what is behind this place cannot be distinguished */
        put_line(self, of->type,
                 (udpai_str){(const char *)reader.at, (size_t)(reader.end - reader.at)});
}

static const udpai_event_entries *
entries_in(const udpai_event_facts *facts, const udpai_proto_field *field)
{
    for (size_t i = 0; i < UDPAI_EVENT_ENTRIES_MAX; i++)
        if (facts->entries[i].field == field->number && field->type == UDPAI_WIRE_BYTES)
            return &facts->entries[i];
    return NULL;
}

size_t
udpai_event_lines_put(udpai_strbuf *out,
                      const udpai_schema *schema,
                      const udpai_event_view *event,
                      const udpai_line_consumer *consumer)
{
    const udpai_event_facts *facts = udpai_event_facts_of(event->kind);
    line_writer self = {out, schema, event, consumer, 0};
    if (facts->entries[0].field == 0) {
        put_line(&self, facts->type_url, event->message);
        return self.n;
    }
    udpai_proto_reader reader = udpai_proto_read(event->message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        const udpai_event_entries *entries = entries_in(facts, &field);
        if (entries)
            put_entries(&self, entries, field.bytes);
    }
    return self.n;
}

void
udpai_event_gap_put(udpai_strbuf *out, udpai_event_kind kind, uint64_t n_lost)
{
    put_kind(out, kind);
    udpai_strbuf_printf(out, ",\"lost\":%llu}\n", (unsigned long long)n_lost);
}
