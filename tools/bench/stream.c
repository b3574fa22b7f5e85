/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/stream.h"

static void
copy(udpai_load_text *to, udpai_str from)
{
    to->len = (uint8_t)udpai_min_size(from.len, sizeof(to->text));
    memcpy(to->text, from.len ? from.data : "", to->len);
}

/* ---- fields ---- */

static bool
has_type(udpai_load_meaning meaning, udpai_wire_type type)
{
    return type ==
           (meaning == UDPAI_MEANS_RECEIPT_REQUESTED ? UDPAI_WIRE_VARINT : UDPAI_WIRE_BYTES);
}

static bool
awaits_node(const udpai_load_stream *stream)
{
    return stream->protocol == UDPAI_LOAD_UDPA && !stream->has_node;
}

/* Nothing is looked at that need not be: most of what comes is resources. */
static udpai_parser_action
begin_resource(udpai_load_stream *stream)
{
    stream->n_resources++;
    stream->resource = SIZE_MAX;
    stream->resource_version.len = 0;
    return stream->learned || awaits_node(stream) ? UDPAI_PARSER_ENTER : UDPAI_PARSER_SKIP;
}

static void
take_type(udpai_load_stream *stream, udpai_str type)
{
    if (!awaits_node(stream) || !udpai_str_eq(type, UDPAI_STR(UDPAI_LOAD_NODE_TYPE)))
        return;
    stream->has_node = true;
    stream->n_resources--;
    stream->resource = SIZE_MAX;
}

static udpai_parser_action
on_begin(void *userdata, uint32_t path, udpai_wire_type type)
{
    udpai_load_stream *stream = userdata;
    udpai_load_meaning meaning = udpai_load_meaning_of(stream->protocol, path);
    if (meaning == UDPAI_MEANS_NOTHING || !has_type(meaning, type))
        return UDPAI_PARSER_SKIP;
    switch (meaning) {
    case UDPAI_MEANS_RESOURCE:
        return begin_resource(stream);
    case UDPAI_MEANS_RESOURCE_ANY:
        return awaits_node(stream) ? UDPAI_PARSER_ENTER : UDPAI_PARSER_SKIP;
    case UDPAI_MEANS_RECEIPT:
        stream->is_receipt = true;
        return UDPAI_PARSER_ENTER;
    case UDPAI_MEANS_RECEIPT_ERROR:
    case UDPAI_MEANS_REJECTION:
        stream->is_rejected = true;
        return UDPAI_PARSER_ENTER;
    case UDPAI_MEANS_MORE:
        return UDPAI_PARSER_ENTER;
    default:
        return UDPAI_PARSER_KEEP;
    }
}

/* What is sent back must be whole. */
static void
copy_whole(udpai_load_stream *stream, udpai_load_text *to, udpai_str from)
{
    stream->is_broken |= from.len == UDPAI_PARSER_ROOM;
    copy(to, from);
}

static void
on_kept(void *userdata, uint32_t path, udpai_str bytes, uint64_t number)
{
    udpai_load_stream *stream = userdata;
    switch (udpai_load_meaning_of(stream->protocol, path)) {
    case UDPAI_MEANS_NONCE:
        copy_whole(stream, &stream->nonce, bytes);
        break;
    case UDPAI_MEANS_TYPE:
        copy_whole(stream, &stream->type_url, bytes);
        break;
    case UDPAI_MEANS_VERSION:
        copy_whole(stream, &stream->version, bytes);
        break;
    case UDPAI_MEANS_REASON:
        if (stream->reason.len == 0)
            copy(&stream->reason, bytes);
        break;
    case UDPAI_MEANS_RESOURCE_NAME:
        stream->resource = udpai_contents_index(bytes);
        break;
    case UDPAI_MEANS_RESOURCE_VERSION:
        copy(&stream->resource_version, bytes);
        break;
    case UDPAI_MEANS_RESOURCE_TYPE:
        take_type(stream, bytes);
        break;
    case UDPAI_MEANS_RECEIPT_REQUESTED:
        stream->wants_receipt = number != 0;
        break;
    default:
        break;
    }
}

static void
on_left(void *userdata, uint32_t path)
{
    udpai_load_stream *stream = userdata;
    bool is_resource = udpai_load_meaning_of(stream->protocol, path) == UDPAI_MEANS_RESOURCE;
    if (!is_resource || !stream->learned || stream->resource >= stream->n_learned)
        return;
    udpai_load_version *to = &stream->learned[stream->resource];
    stream->is_broken |= stream->resource_version.len > sizeof(to->text);
    if (stream->is_broken)
        return;
    to->len = stream->resource_version.len;
    memcpy(to->text, stream->resource_version.text, to->len);
}

/* ---- messages ---- */

static bool
begin_message(udpai_load_stream *stream)
{
    uint32_t size = 0;
    for (size_t i = 1; i < sizeof(stream->prefix); i++)
        size = size << 8 | stream->prefix[i];
    stream->n_prefix = 0;
    stream->is_inside = true;
    stream->n_resources = 0;
    stream->is_receipt = stream->is_rejected = stream->wants_receipt = false;
    stream->nonce.len = stream->version.len = stream->type_url.len = stream->reason.len = 0;
    udpai_parser_begin(&stream->parser, size);
    return stream->prefix[0] == 0;
}

static bool
take_inside(udpai_load_stream *stream, udpai_str *rest)
{
    static const udpai_parser_events events = {on_begin, on_kept, on_left};
    size_t n = udpai_min_size(rest->len, stream->parser.left[0]);
    if (!udpai_parser_read(&stream->parser, (udpai_str){rest->data, n}, &events, stream))
        return false;
    *rest = (udpai_str){rest->data + n, rest->len - n};
    if (stream->parser.left[0] == 0 && !stream->is_broken) {
        stream->is_inside = false;
        stream->message(stream->userdata, stream);
    }
    return !stream->is_broken;
}

static bool
take_prefix(udpai_load_stream *stream, udpai_str *rest)
{
    stream->prefix[stream->n_prefix++] = (uint8_t)*rest->data;
    *rest = (udpai_str){rest->data + 1, rest->len - 1};
    return stream->n_prefix < sizeof(stream->prefix) || begin_message(stream);
}

bool
udpai_load_stream_read(udpai_load_stream *stream, udpai_str bytes)
{
    while (!stream->is_broken && (bytes.len || (stream->is_inside && stream->parser.left[0] == 0)))
        stream->is_broken |=
            !(stream->is_inside ? take_inside(stream, &bytes) : take_prefix(stream, &bytes));
    return !stream->is_broken;
}
