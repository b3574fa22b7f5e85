/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata of calls: that of a request, where a listener keeps it, and what its owner adds to a
 * response. Values of names that end in "-bin" are bytes, which travel in base64: padded or not as
 * they come, without padding as they go. */
#include "base/alloc.h"
#include "transport/door/door_internal.h"

#define PER_GROUP 4 /* characters of base64, of three bytes */

struct udpai_door_field {
    udpai_door_field *next;
    udpai_door_metadata when;
    size_t name_len, len;
    char *value; /* behind the name, NUL-terminated */
    char name[];
};

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static bool
is_binary(udpai_str name)
{
    return name.len > 4 && memcmp(name.data + name.len - 4, "-bin", 4) == 0;
}

/* The others are those of HTTP/2 and of gRPC itself. */
static bool
is_metadata(udpai_str name)
{
    return name.len && name.data[0] != ':' && !udpai_str_starts(name, UDPAI_STR("grpc-")) &&
           !udpai_str_eq(name, UDPAI_STR("te")) && !udpai_str_eq(name, UDPAI_STR("content-type"));
}

/* Uninitialised. */
static udpai_door_field *
add(udpai_door_stream *stream, udpai_door_metadata when, udpai_str name, size_t len)
{
    udpai_door_field **at = &stream->fields;
    udpai_door_field *field = udpai_alloc(sizeof(*field) + name.len + 1 + len + 1);
    if (!field)
        return NULL;
    field->when = when;
    field->name_len = name.len;
    field->len = len;
    memcpy(field->name, name.data, name.len);
    field->value = field->name + name.len + 1;
    while (*at)
        at = &(*at)->next;
    *at = field;
    return field;
}

void
udpai_door_metadata_drop(udpai_door_stream *stream)
{
    udpai_door_field *field;
    while ((field = stream->fields)) {
        stream->fields = field->next;
        udpai_free(field);
    }
}

/* ---- what comes ---- */

/* SIZE_MAX: these are no digits of base64. */
static size_t
decode(udpai_str text, char *room)
{
    uint32_t bits = 0;
    unsigned n_bits = 0;
    char *const begin = room;
    if (text.len % PER_GROUP == 0)
        for (int i = 0; i < 2 && text.len && text.data[text.len - 1] == '='; i++)
            text.len--;
    if (text.len % PER_GROUP == 1)
        return SIZE_MAX;
    for (size_t i = 0; i < text.len; i++) {
        const char *digit = text.data[i] ? strchr(digits, text.data[i]) : NULL;
        if (!digit)
            return SIZE_MAX;
        bits = bits << 6 | (uint32_t)(digit - digits);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            *room++ = (char)(bits >> n_bits);
        }
    }
    return (size_t)(room - begin);
}

/* A field of bytes may have several values, with commas between them: the first one counts. */
static udpai_str
first_value(udpai_str text)
{
    udpai_str rest = text, first = text;
    (void)udpai_str_cut(&rest, ',', &first);
    while (first.len && first.data[first.len - 1] == ' ')
        first.len--;
    return first;
}

bool
udpai_door_metadata_take(udpai_door_stream *stream, udpai_str name, udpai_str value)
{
    if (!is_metadata(name))
        return true;
    udpai_door_field *field = add(stream, UDPAI_DOOR_OF_REQUEST, name, value.len);
    if (!field)
        return false;
    if (!is_binary(name)) {
        memcpy(field->value, value.data, value.len);
        return true;
    }
    field->len = decode(first_value(value), field->value);
    stream->has_bad_metadata |= field->len == SIZE_MAX;
    return true;
}

bool
udpai_door_stream_metadata(const udpai_door_stream *stream, udpai_str name, udpai_str *ret_value)
{
    for (const udpai_door_field *field = stream->fields; field; field = field->next)
        if (field->when == UDPAI_DOOR_OF_REQUEST &&
            udpai_str_eq((udpai_str){field->name, field->name_len}, name)) {
            *ret_value = (udpai_str){field->value, field->len};
            return true;
        }
    return false;
}

/* ---- what goes ---- */

static bool
is_good_name(udpai_str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.", name.data[i]) || !name.data[i])
            return false;
    return is_metadata(name);
}

/* What RFC 9113 (8.2.1) and gRPC both let pass. */
static bool
is_good_text(udpai_str value)
{
    for (size_t i = 0; i < value.len; i++)
        if (value.data[i] < ' ' || value.data[i] > '~')
            return false;
    return !value.len || (value.data[0] != ' ' && value.data[value.len - 1] != ' ');
}

static size_t
encoded_size(size_t len)
{
    return (PER_GROUP * len + 2) / 3;
}

static void
encode(udpai_str bytes, char *room)
{
    uint32_t bits = 0;
    unsigned n_bits = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        bits = bits << 8 | (uint8_t)bytes.data[i];
        for (n_bits += 8; n_bits >= 6; n_bits -= 6)
            *room++ = digits[bits >> (n_bits - 6) & 63];
    }
    if (n_bits)
        *room = digits[bits << (6 - n_bits) & 63];
}

static size_t
count(const udpai_door_stream *stream, udpai_door_metadata when)
{
    size_t n = 0;
    for (const udpai_door_field *field = stream->fields; field; field = field->next)
        n += field->when == when;
    return n;
}

bool
udpai_door_metadata_has(const udpai_door_stream *stream, udpai_door_metadata when)
{
    return count(stream, when) != 0;
}

udpa_err
udpai_door_stream_add_metadata(udpai_door_stream *stream,
                               udpai_door_metadata when,
                               udpai_str name,
                               udpai_str value)
{
    bool is_bytes = is_binary(name);
    if (!is_good_name(name) || (!is_bytes && !is_good_text(value)))
        return UDPA_ERR_INVAL;
    if (stream->is_finishing || (when == UDPAI_DOOR_INITIAL && stream->has_head))
        return UDPA_ERR_PRECONDITION;
    if (count(stream, when) == UDPAI_DOOR_METADATA_MAX)
        return UDPA_ERR_LIMIT;
    udpai_door_field *field =
        add(stream, when, name, is_bytes ? encoded_size(value.len) : value.len);
    if (!field)
        return UDPA_ERR_NOMEM;
    if (is_bytes)
        encode(value, field->value);
    else if (value.len)
        memcpy(field->value, value.data, value.len);
    return UDPA_OK;
}

size_t
udpai_door_metadata_put(const udpai_door_stream *stream,
                        udpai_door_metadata when,
                        nghttp2_nv *fields,
                        size_t n)
{
    for (udpai_door_field *field = stream->fields; field; field = field->next)
        if (field->when == when)
            fields[n++] = (nghttp2_nv){(uint8_t *)field->name, (uint8_t *)field->value,
                                       field->name_len, field->len, NGHTTP2_NV_FLAG_NONE};
    return n;
}
