/* SPDX-License-Identifier: Apache-2.0 */
#include "events/node_event.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/proto.h"
#include "base/utf8.h"
#include "model/identity.h"

enum { /* field numbers of NodeEvent */
    KIND = 1,
    SEVERITY = 2,
    TEXT = 3,
    FIRST_FIELD = 4, /* then in the order of udpai_log_key */
    N_SUPPRESSED = 12,
};

/* ---- texts ---- */

typedef struct safe_text {
    size_t len;
    char data[UDPAI_NOTE_TEXT_MAX];
} safe_text;

/* False: there is no room for all of it. */
static bool
append(safe_text *to, const char *data, size_t len)
{
    if (len > sizeof(to->data) - to->len)
        return false;
    memcpy(to->data + to->len, data, len);
    to->len += len;
    return true;
}

/* What a terminal obeys is written as in JSON. */
static void
make_safe(safe_text *to, udpai_str text)
{
    bool has_room = true;
    to->len = 0;
    while (text.len && has_room) {
        char escape[16];
        uint32_t point = 0;
        size_t len = udpai_utf8_decode(text, &point);
        if (len == 0)
            has_room = append(to, "?", 1);
        else if (udpai_utf8_is_hidden(point))
            has_room = append(to, escape,
                              (size_t)snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)point));
        else
            has_room = append(to, text.data, len);
        len += len == 0;
        text = (udpai_str){text.data + len, text.len - len};
    }
}

static void
put_text(udpai_proto_writer *writer, uint32_t number, udpai_str text)
{
    safe_text safe;
    make_safe(&safe, text);
    udpai_proto_put_bytes_opt(writer, number, (udpai_str){safe.data, safe.len});
}

/* ---- the message ---- */

/* Empty: it is not known. */
static udpai_str
value_of(const udpai_node_event *event, udpai_log_key key)
{
    for (size_t i = 0; i < event->n_about; i++)
        if (event->about[i].key == key && event->about[i].value.len)
            return event->about[i].value;
    return (udpai_str){0};
}

static void
put(udpai_proto_writer *writer, const void *what)
{
    const udpai_node_event *event = what;
    udpai_proto_put_varint(writer, KIND, event->kind);
    udpai_proto_put_varint(writer, SEVERITY,
                           event->level >= UDPA_LOG_ERROR     ? 3
                           : event->level >= UDPA_LOG_WARNING ? 2
                                                              : 1);
    put_text(writer, TEXT, udpai_str_from(event->text));
    for (size_t key = 0; key < UDPAI_LOG_KEYS; key++)
        put_text(writer, FIRST_FIELD + (uint32_t)key, value_of(event, (udpai_log_key)key));
}

udpa_bytes *
udpai_node_event_encode(const udpai_node_event *event)
{
    return udpai_proto_encode(put, event);
}

typedef struct suppressed {
    udpai_str event;
    uint64_t n;
} suppressed;

static void
put_with_suppressed(udpai_proto_writer *writer, const void *what)
{
    const suppressed *self = what;
    udpai_proto_put_raw(writer, self->event);
    udpai_proto_put_varint_opt(writer, N_SUPPRESSED, self->n);
}

udpa_bytes *
udpai_node_event_add_suppressed(const udpa_bytes *event, uint64_t n_suppressed)
{
    const suppressed both = {udpai_bytes_view(event), n_suppressed};
    return udpai_proto_encode(put_with_suppressed, &both);
}

/* ---- the subject ---- */

static udpai_str
host_of(udpai_str address)
{
    return udpai_peer_counts_as(NULL, address);
}

uint64_t
udpai_node_event_subject(const udpai_node_event *event)
{
    udpai_str source = value_of(event, UDPAI_LOG_SOURCE);
    udpai_str peer = value_of(event, UDPAI_LOG_PEER);
    udpai_str identity = value_of(event, UDPAI_LOG_IDENTITY);
    udpai_str host = host_of(value_of(event, UDPAI_LOG_ADDRESS));
    if (source.len)
        return udpai_hash(source);
    if (peer.len || identity.len || host.len)
        return udpai_hash(peer) * 31 + udpai_hash(identity) * 17 + udpai_hash(host);
    return udpai_hash(value_of(event, UDPAI_LOG_NAME));
}
