/* SPDX-License-Identifier: Apache-2.0 */
#include "sinks/message.h"

#include "base/bytes.h"
#include "base/proto.h"
#include "base/utf8.h"
#include "wire/scan.h"

static udpa_err
fail(udpai_event_kind kind, const char *what, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "a message of '%s' %s",
                      udpai_event_facts_of(kind)->word, what);
}

static udpa_err
check_name(udpai_event_kind kind, udpai_str name, udpa_error **ret_error)
{
    if (name.len > UDPAI_STREAM_NAME_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "the name in the identifier is longer than %d bytes",
                          UDPAI_STREAM_NAME_MAX);
    return udpai_utf8_valid(name)
               ? UDPA_OK
               : fail(kind, "has a name that is not UTF-8 text without zero bytes", ret_error);
}

static udpa_err
read_identifier(udpai_event_kind kind,
                udpai_str bytes,
                udpai_event_identifier *ret,
                udpa_error **ret_error)
{
    uint32_t name_field = udpai_event_facts_of(kind)->name_field;
    udpai_proto_reader reader = udpai_proto_read(bytes);
    udpai_proto_field field;
    bool has_node = false;
    while (udpai_proto_next(&reader, &field)) {
        bool is_node = field.number == UDPAI_EVENT_IDENTIFIER_NODE;
        if (!is_node && (name_field == 0 || field.number != name_field))
            continue;
        if (field.type != UDPAI_WIRE_BYTES || (is_node && has_node))
            return fail(kind, "has a malformed identifier", ret_error);
        has_node |= is_node;
        *(is_node ? &ret->node : &ret->name) = field.bytes;
    }
    if (reader.failed)
        return fail(kind, "has a malformed identifier", ret_error);
    return check_name(kind, ret->name, ret_error);
}

typedef struct scan {
    udpai_event_kind kind;
    size_t n_left; /* fields */
    udpa_error **ret_error;
} scan;

static udpa_err
count_field(scan *self)
{
    if (self->n_left-- == 0)
        return udpai_fail(self->ret_error, UDPA_ERR_LIMIT, "too many fields in one message");
    return UDPA_OK;
}

/* Of entries the rest is read where they are printed. */
static udpa_err
check_entries(scan *self, const udpai_event_entries *entries, udpai_str message)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field)) {
        err = count_field(self);
        if (err == UDPA_OK && field.number == entries->inner && field.type != UDPAI_WIRE_BYTES)
            err = fail(self->kind, "has a field of another type than it should", self->ret_error);
    }
    return err == UDPA_OK && reader.failed ? fail(self->kind, "is malformed", self->ret_error)
                                           : err;
}

static udpa_err
check_field(scan *self, const udpai_proto_field *field)
{
    const udpai_event_entries *entries = udpai_event_facts_of(self->kind)->entries;
    for (size_t i = 0; i < UDPAI_EVENT_ENTRIES_MAX; i++) {
        if (entries[i].field != field->number)
            continue;
        if (field->type != UDPAI_WIRE_BYTES)
            return fail(self->kind, "has a field of another type than it should", self->ret_error);
        return entries[i].inner ? check_entries(self, &entries[i], field->bytes) : UDPA_OK;
    }
    return UDPA_OK;
}

static udpa_err
take_identifier(scan *self, const udpai_proto_field *field, udpai_event_identifier *ret)
{
    if (field->type != UDPAI_WIRE_BYTES || ret->is_there)
        return fail(self->kind, "has a malformed identifier", self->ret_error);
    ret->is_there = true;
    ret->whole = field->bytes;
    return read_identifier(self->kind, field->bytes, ret, self->ret_error);
}

udpa_err
udpai_event_message_read(udpai_event_kind kind,
                         udpai_str message,
                         udpai_event_identifier *ret_identifier,
                         udpa_error **ret_error)
{
    scan self = {kind, udpai_scan_fields_max(message), ret_error};
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    udpa_err err = UDPA_OK;
    *ret_identifier = (udpai_event_identifier){0};
    while (err == UDPA_OK && udpai_proto_next(&reader, &field)) {
        err = count_field(&self);
        if (err == UDPA_OK)
            err = field.number == UDPAI_EVENT_IDENTIFIER
                      ? take_identifier(&self, &field, ret_identifier)
                      : check_field(&self, &field);
    }
    return err == UDPA_OK && reader.failed ? fail(kind, "is malformed", ret_error) : err;
}

/* The stretches before, between and behind what is left out. */
static size_t
put_rest(udpai_str message, uint8_t *room)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    const uint8_t *from = reader.at;
    size_t size = 0;
    while (udpai_proto_next(&reader, &field)) {
        size_t len = (size_t)(reader.at - from);
        if (field.number != UDPAI_EVENT_IDENTIFIER) {
            if (room)
                memcpy(room + size, from, len);
            size += len;
        }
        from = reader.at;
    }
    return size;
}

udpa_bytes *
udpai_event_message_copy(udpai_str message)
{
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(put_rest(message, NULL), &room);
    if (bytes)
        put_rest(message, room);
    return bytes;
}
