/* SPDX-License-Identifier: Apache-2.0 */
#include "events/batch.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/proto.h"
#include "base/utf8.h"

/* ---- putting ---- */

static void
put_source(udpai_proto_writer *writer, const udpai_event_source *source)
{
    udpai_proto_put_bare_bytes(writer, source->node_id);
    udpai_proto_put_bare_bytes(writer, source->identity);
    udpai_proto_put_bare_bytes(writer, source->name);
    udpai_proto_put_bare_number(writer, source->identifier != NULL);
    if (source->identifier)
        udpai_proto_put_bare_bytes(writer, udpai_bytes_view(source->identifier));
}

/* A source occurs once before the events that follow each other. */
static void
put(udpai_proto_writer *writer, const udpai_event_batch *batch, const udpai_event_figures *figures)
{
    const udpai_event_source *last = NULL;
    udpai_proto_put_bare_number(writer, figures->n_clients);
    udpai_proto_put_bare_number(writer, figures->n_dropped);
    udpai_proto_put_bare_number(writer, figures->n_refused);
    udpai_proto_put_bare_number(writer, figures->n_missed);
    udpai_proto_put_bare_number(writer, figures->first);
    udpai_proto_put_bare_number(writer, figures->begun_us);
    udpai_proto_put_bare_number(writer, figures->is_all);
    udpai_proto_put_bare_number(writer, batch->n);
    for (size_t i = 0; i < batch->n; i++) {
        const udpai_event *event = batch->events[i];
        udpai_proto_put_bare_number(writer, event->source != last);
        if (event->source != last)
            put_source(writer, event->source);
        last = event->source;
        udpai_proto_put_bare_number(writer, event->sequence);
        udpai_proto_put_bare_number(writer, (uint64_t)event->time_us);
        udpai_proto_put_bare_bytes(writer, udpai_bytes_view(event->message));
    }
}

udpa_bytes *
udpai_event_batch_encode(const udpai_event_batch *batch, const udpai_event_figures *figures)
{
    udpai_proto_writer writer = {0};
    uint8_t *room;
    put(&writer, batch, figures);
    udpa_bytes *bytes = udpai_bytes_make(writer.size, &room);
    writer = (udpai_proto_writer){room, 0};
    if (bytes)
        put(&writer, batch, figures);
    return bytes;
}

/* ---- taking ---- */

/* Texts go into files and to subscribers as they are. */
static udpa_err
take_source(udpai_proto_reader *reader, udpai_event_source **ret_source)
{
    udpai_str node_id, identity, name, identifier = {0};
    uint64_t has_identifier;
    if (!udpai_proto_take_bytes(reader, &node_id) || !udpai_proto_take_bytes(reader, &identity) ||
        !udpai_proto_take_bytes(reader, &name) ||
        !udpai_proto_take_number(reader, &has_identifier) || has_identifier > 1 ||
        (has_identifier && !udpai_proto_take_bytes(reader, &identifier)) ||
        !udpai_utf8_valid(node_id) || !udpai_utf8_valid(identity) || !udpai_utf8_valid(name))
        return UDPA_ERR_MALFORMED;
    UDPA_AUTO(udpai_event_source_unref)
    udpai_event_source *source = udpai_event_source_new(node_id, identity, name);
    if (!source)
        return UDPA_ERR_NOMEM;
    if (has_identifier &&
        udpa_bytes_new(&source->identifier, identifier.data, identifier.len) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    *ret_source = UDPAI_TAKE(source);
    return UDPA_OK;
}

static udpa_err
take_event(udpai_proto_reader *reader, udpai_event_source *source, udpai_event **ret_event)
{
    uint64_t sequence, time_us;
    udpai_str message;
    if (!udpai_proto_take_number(reader, &sequence) || !udpai_proto_take_number(reader, &time_us) ||
        time_us > INT64_MAX || !udpai_proto_take_bytes(reader, &message))
        return UDPA_ERR_MALFORMED;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    udpa_err err = udpa_bytes_new(&bytes, message.data, message.len);
    udpai_event *event = err == UDPA_OK ? udpai_event_new(source, bytes) : NULL;
    if (!event)
        return UDPA_ERR_NOMEM;
    event->sequence = sequence;
    event->time_us = (int64_t)time_us;
    *ret_event = event;
    return UDPA_OK;
}

static udpa_err
take_events(udpai_proto_reader *reader, udpai_event_batch *batch, size_t n)
{
    UDPA_AUTO(udpai_event_source_unref) udpai_event_source *source = NULL;
    udpa_err err = UDPA_OK;
    while (batch->n < n && err == UDPA_OK) {
        uint64_t is_new;
        if (!udpai_proto_take_number(reader, &is_new) || is_new > 1 || (!is_new && !source))
            return UDPA_ERR_MALFORMED;
        if (is_new) {
            source = udpai_event_source_unref(source);
            err = take_source(reader, &source);
        }
        if (err == UDPA_OK)
            err = take_event(reader, source, &batch->events[batch->n]);
        batch->n += err == UDPA_OK;
    }
    return err;
}

udpa_err
udpai_event_batch_decode(udpai_str bytes,
                         udpai_event_batch **ret_batch,
                         udpai_event_figures *ret_figures)
{
    udpai_proto_reader reader = udpai_proto_read(bytes);
    udpai_event_figures figures;
    uint64_t n;
    if (!udpai_proto_take_number(&reader, &figures.n_clients) ||
        !udpai_proto_take_number(&reader, &figures.n_dropped) ||
        !udpai_proto_take_number(&reader, &figures.n_refused) ||
        !udpai_proto_take_number(&reader, &figures.n_missed) ||
        !udpai_proto_take_number(&reader, &figures.first) ||
        !udpai_proto_take_number(&reader, &figures.begun_us) ||
        !udpai_proto_take_number(&reader, &figures.is_all) || figures.is_all > 1 ||
        !udpai_proto_take_number(&reader, &n) || n > UDPAI_TOPIC_BATCH_EVENTS)
        return UDPA_ERR_MALFORMED;
    UDPA_AUTO(udpai_event_batch_free)
    udpai_event_batch *batch = udpai_alloc(sizeof(*batch) + n * sizeof(batch->events[0]));
    if (!batch)
        return UDPA_ERR_NOMEM;
    udpai_list_init(&batch->node);
    udpa_err err = take_events(&reader, batch, n);
    if (err == UDPA_OK && reader.at != reader.end)
        err = UDPA_ERR_MALFORMED;
    if (err != UDPA_OK)
        return err;
    *ret_batch = UDPAI_TAKE(batch);
    *ret_figures = figures;
    return UDPA_OK;
}
