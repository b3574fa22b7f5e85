/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/talk.h"

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
    return type == (meaning == UDPAI_MEANS_RECEIPT_WANTED ? UDPAI_WIRE_VARINT : UDPAI_WIRE_BYTES);
}

static bool
awaits_node(const udpai_load_talk *talk)
{
    return talk->protocol == UDPAI_LOAD_UDPA && !talk->has_node;
}

/* Nothing is looked at that need not be: most of what comes is resources. */
static udpai_cutter_wish
begin_resource(udpai_load_talk *talk)
{
    talk->n_resources++;
    talk->resource = SIZE_MAX;
    talk->resource_version.len = 0;
    return talk->learned || awaits_node(talk) ? UDPAI_CUTTER_ENTER : UDPAI_CUTTER_SKIP;
}

static void
take_type(udpai_load_talk *talk, udpai_str type)
{
    if (!awaits_node(talk) || !udpai_str_eq(type, UDPAI_STR(UDPAI_LOAD_NODE_TYPE)))
        return;
    talk->has_node = true;
    talk->n_resources--;
    talk->resource = SIZE_MAX;
}

static udpai_cutter_wish
on_begin(void *userdata, uint32_t path, udpai_wire_type type)
{
    udpai_load_talk *talk = userdata;
    udpai_load_meaning meaning = udpai_load_meaning_of(talk->protocol, path);
    if (meaning == UDPAI_MEANS_NOTHING || !has_type(meaning, type))
        return UDPAI_CUTTER_SKIP;
    switch (meaning) {
    case UDPAI_MEANS_RESOURCE:
        return begin_resource(talk);
    case UDPAI_MEANS_RESOURCE_ANY:
        return awaits_node(talk) ? UDPAI_CUTTER_ENTER : UDPAI_CUTTER_SKIP;
    case UDPAI_MEANS_RECEIPT:
        talk->is_receipt = true;
        return UDPAI_CUTTER_ENTER;
    case UDPAI_MEANS_RECEIPT_ERROR:
    case UDPAI_MEANS_REFUSAL:
        talk->is_refused = true;
        return UDPAI_CUTTER_ENTER;
    case UDPAI_MEANS_MORE:
        return UDPAI_CUTTER_ENTER;
    default:
        return UDPAI_CUTTER_KEEP;
    }
}

/* What is sent back must be whole. */
static void
copy_whole(udpai_load_talk *talk, udpai_load_text *to, udpai_str from)
{
    talk->is_broken |= from.len == UDPAI_CUTTER_ROOM;
    copy(to, from);
}

static void
on_kept(void *userdata, uint32_t path, udpai_str bytes, uint64_t number)
{
    udpai_load_talk *talk = userdata;
    switch (udpai_load_meaning_of(talk->protocol, path)) {
    case UDPAI_MEANS_NONCE:
        copy_whole(talk, &talk->nonce, bytes);
        break;
    case UDPAI_MEANS_VERSION:
        copy_whole(talk, &talk->version, bytes);
        break;
    case UDPAI_MEANS_REASON:
        if (talk->reason.len == 0)
            copy(&talk->reason, bytes);
        break;
    case UDPAI_MEANS_RESOURCE_NAME:
        talk->resource = udpai_contents_index(bytes);
        break;
    case UDPAI_MEANS_RESOURCE_VERSION:
        copy(&talk->resource_version, bytes);
        break;
    case UDPAI_MEANS_RESOURCE_TYPE:
        take_type(talk, bytes);
        break;
    case UDPAI_MEANS_RECEIPT_WANTED:
        talk->wants_receipt = number != 0;
        break;
    default:
        break;
    }
}

static void
on_left(void *userdata, uint32_t path)
{
    udpai_load_talk *talk = userdata;
    bool is_resource = udpai_load_meaning_of(talk->protocol, path) == UDPAI_MEANS_RESOURCE;
    if (!is_resource || !talk->learned || talk->resource >= talk->n_learned)
        return;
    udpai_load_version *to = &talk->learned[talk->resource];
    talk->is_broken |= talk->resource_version.len > sizeof(to->text);
    if (talk->is_broken)
        return;
    to->len = talk->resource_version.len;
    memcpy(to->text, talk->resource_version.text, to->len);
}

/* ---- messages ---- */

static bool
begin_message(udpai_load_talk *talk)
{
    uint32_t size = 0;
    for (size_t i = 1; i < sizeof(talk->prefix); i++)
        size = size << 8 | talk->prefix[i];
    talk->n_prefix = 0;
    talk->is_inside = true;
    talk->n_resources = 0;
    talk->is_receipt = talk->is_refused = talk->wants_receipt = false;
    talk->nonce.len = talk->version.len = talk->reason.len = 0;
    udpai_cutter_begin(&talk->cutter, size);
    return talk->prefix[0] == 0;
}

static bool
take_inside(udpai_load_talk *talk, udpai_str *rest)
{
    static const udpai_cutter_events events = {on_begin, on_kept, on_left};
    size_t n = udpai_min_size(rest->len, talk->cutter.left[0]);
    if (!udpai_cutter_take(&talk->cutter, (udpai_str){rest->data, n}, &events, talk))
        return false;
    *rest = (udpai_str){rest->data + n, rest->len - n};
    if (talk->cutter.left[0] == 0 && !talk->is_broken) {
        talk->is_inside = false;
        talk->message(talk->userdata, talk);
    }
    return !talk->is_broken;
}

static bool
take_prefix(udpai_load_talk *talk, udpai_str *rest)
{
    talk->prefix[talk->n_prefix++] = (uint8_t)*rest->data;
    *rest = (udpai_str){rest->data + 1, rest->len - 1};
    return talk->n_prefix < sizeof(talk->prefix) || begin_message(talk);
}

bool
udpai_load_talk_take(udpai_load_talk *talk, udpai_str bytes)
{
    while (!talk->is_broken && (bytes.len || (talk->is_inside && talk->cutter.left[0] == 0)))
        talk->is_broken |=
            !(talk->is_inside ? take_inside(talk, &bytes) : take_prefix(talk, &bytes));
    return !talk->is_broken;
}
