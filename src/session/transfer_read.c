/* SPDX-License-Identifier: Apache-2.0 */
/* Taking the simplest pieces of a message: numbers, bytes, texts, counts. Here every length meets
 * what is really there. */
#include "base/utf8.h"
#include "session/transfer_internal.h"

void
udpai_transfer_fail(udpai_transfer_reader *reader, udpa_err err, const char *why)
{
    if (reader->err != UDPA_OK)
        return;
    reader->err = err;
    reader->why = why;
    reader->bytes.failed = true; /* and nothing is read any more */
}

void
udpai_transfer_fail_because(udpai_transfer_reader *reader, udpa_error *cause, const char *why)
{
    if (reader->err != UDPA_OK) {
        udpa_error_unref(cause);
        return;
    }
    reader->cause = cause;
    udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, why);
}

void
udpai_transfer_out_of_memory(udpai_transfer_reader *reader)
{
    udpai_transfer_fail(reader, UDPA_ERR_NOMEM, udpa_err_text(UDPA_ERR_NOMEM));
}

static size_t
left(const udpai_transfer_reader *reader)
{
    return (size_t)(reader->bytes.end - reader->bytes.at);
}

uint64_t
udpai_transfer_take_number(udpai_transfer_reader *reader, uint64_t max)
{
    uint64_t value = 0;
    if (!udpai_proto_take_number(&reader->bytes, &value))
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "it ends within a number");
    else if (value > max)
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "a number is larger than it may be");
    return reader->err == UDPA_OK ? value : 0;
}

bool
udpai_transfer_take_flag(udpai_transfer_reader *reader)
{
    return udpai_transfer_take_number(reader, 1) != 0;
}

udpai_str
udpai_transfer_take_bytes(udpai_transfer_reader *reader)
{
    udpai_str bytes = {0};
    if (!udpai_proto_take_bytes(&reader->bytes, &bytes))
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "it ends within a text");
    return bytes;
}

udpai_str
udpai_transfer_take_text(udpai_transfer_reader *reader)
{
    udpai_str text = udpai_transfer_take_bytes(reader);
    if (!udpai_utf8_valid(text)) {
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "a text is not UTF-8 without zero bytes");
        return (udpai_str){0};
    }
    return text;
}

size_t
udpai_transfer_take_count(udpai_transfer_reader *reader, size_t least_size)
{
    uint64_t n = udpai_transfer_take_number(reader, UINT64_MAX);
    if (n <= left(reader) / least_size)
        return (size_t)n;
    udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "it counts more than it has");
    return 0;
}

void *
udpai_transfer_room(udpai_transfer_reader *reader, size_t n, size_t item_size)
{
    size_t size;
    void *room = __builtin_mul_overflow(n, item_size, &size)
                     ? NULL
                     : udpai_arena_alloc(&reader->transfer->decoder.arena, size);
    if (!room)
        udpai_transfer_out_of_memory(reader);
    return room;
}

const udpai_str *
udpai_transfer_take_texts(udpai_transfer_reader *reader, size_t *ret_n)
{
    size_t n = udpai_transfer_take_count(reader, 1);
    udpai_str *texts = udpai_transfer_room(reader, n, sizeof(*texts));
    *ret_n = texts ? n : 0;
    for (size_t i = 0; i < *ret_n; i++)
        texts[i] = udpai_transfer_take_text(reader);
    return texts;
}

static udpa_bytes *
own_bytes(udpai_transfer_reader *reader, udpai_str text)
{
    udpa_bytes *bytes = NULL;
    if (reader->err == UDPA_OK && udpa_bytes_new(&bytes, text.data, text.len) != UDPA_OK)
        udpai_transfer_out_of_memory(reader);
    return bytes;
}

udpa_bytes *
udpai_transfer_take_own_bytes(udpai_transfer_reader *reader)
{
    return own_bytes(reader, udpai_transfer_take_bytes(reader));
}

/* ---- texts that are shared ---- */

/* Type URLs, and ids of nodes, differ at their end. */
static size_t
place_of(udpai_str text, size_t n_places)
{
    uint32_t hash = (uint32_t)text.len;
    for (size_t i = text.len - udpai_min_size(text.len, 32); i < text.len; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * 16777619u;
    return (hash ^ hash >> 16) % n_places;
}

static bool
is_text(const udpa_bytes *bytes, udpai_str text, size_t extra)
{
    return bytes && udpa_bytes_size(bytes) == text.len + extra &&
           (text.len == 0 || memcmp(udpa_bytes_data(bytes), text.data, text.len) == 0);
}

udpa_bytes *
udpai_transfer_share_type(udpai_transfer_reader *reader, udpai_str type_url)
{
    udpa_bytes **place =
        &reader->transfer->types[place_of(type_url, UDPAI_ARRAY_LEN(reader->transfer->types))];
    if (is_text(*place, type_url, 1))
        return *place;
    if (!udpai_utf8_valid(type_url))
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "a type URL is not UTF-8");
    if (reader->err != UDPA_OK || type_url.len > UDPAI_TYPE_URL_MAX)
        return NULL;
    udpa_bytes *type = udpai_bytes_cstring(type_url);
    if (!type) {
        udpai_transfer_out_of_memory(reader);
        return NULL;
    }
    udpa_bytes_unref(*place);
    return *place = type;
}

udpa_bytes *
udpai_transfer_share_node(udpai_transfer_reader *reader, udpai_str node_id)
{
    udpa_bytes **place =
        &reader->transfer->nodes[place_of(node_id, UDPAI_ARRAY_LEN(reader->transfer->nodes))];
    if (is_text(*place, node_id, 0))
        return udpa_bytes_ref(*place);
    udpa_bytes *made = own_bytes(reader, node_id);
    if (made && node_id.len <= UDPAI_AUTHORITY_MAX) {
        udpa_bytes_unref(*place);
        *place = udpa_bytes_ref(made);
    }
    return made;
}
