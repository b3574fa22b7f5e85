/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/message_parser.h"

enum {
    TAG,
    NUMBER,
    LENGTH,
    VALUE
};

#define FIELD_MAX 15
#define FIELD_NUMBER_MAX ((UINT32_C(1) << 29) - 1) /* of protobuf */
#define LAST_SHIFT 63                              /* of a varint: one bit of 64 is left */
#define PATH_MAX_BITS 4

struct run {
    udpai_parser *parser;
    udpai_str rest;
    const udpai_parser_events *events;
    void *userdata;
};

void
udpai_parser_begin(udpai_parser *parser, uint32_t size)
{
    *parser = (udpai_parser){.left = {size}};
}

static void
use(struct run *run, size_t n)
{
    run->rest.data += n;
    run->rest.len -= n;
    for (size_t i = 0; i <= run->parser->depth; i++)
        run->parser->left[i] -= (uint32_t)n;
}

static bool
fail(struct run *run)
{
    run->parser->is_broken = true;
    return false;
}

/* Messages with their last byte here. */
static void
leave(struct run *run)
{
    udpai_parser *parser = run->parser;
    while (!parser->is_broken && parser->state == TAG && parser->depth > 0 &&
           parser->left[parser->depth] == 0)
        run->events->left(run->userdata, parser->paths[parser->depth--]);
}

/* False: it is not whole yet, or broken: it does not end where its message does, however the bytes
 * are cut. */
static bool
take_varint(struct run *run, uint64_t *ret_number)
{
    udpai_parser *parser = run->parser;
    while (run->rest.len && parser->left[parser->depth]) {
        uint8_t byte = (uint8_t)*run->rest.data;
        use(run, 1);
        if (parser->shift == LAST_SHIFT && byte > 1)
            return fail(run);
        parser->number |= (uint64_t)(byte & 127) << parser->shift;
        parser->shift += 7;
        if (byte < 128) {
            *ret_number = parser->number;
            parser->number = parser->shift = 0;
            return true;
        }
    }
    return parser->left[parser->depth] ? false : fail(run);
}

static void
begin_value(struct run *run, uint64_t size)
{
    udpai_parser *parser = run->parser;
    if (size > parser->left[parser->depth]) {
        parser->is_broken = true;
        return;
    }
    parser->value_left = (uint32_t)size;
    parser->n_kept = 0;
    parser->state = VALUE;
}

/* Groups are as little known here as in the rest of this project. */
static void
begin_field(struct run *run)
{
    udpai_parser *parser = run->parser;
    switch ((udpai_wire_type)parser->wire_type) {
    case UDPAI_WIRE_VARINT:
        parser->state = NUMBER;
        return;
    case UDPAI_WIRE_BYTES:
        parser->state = LENGTH;
        return;
    case UDPAI_WIRE_FIXED64:
        begin_value(run, 8);
        return;
    case UDPAI_WIRE_FIXED32:
        begin_value(run, 4);
        return;
    case UDPAI_WIRE_GROUP_START:
    case UDPAI_WIRE_GROUP_END:
        break;
    }
    parser->is_broken = true;
}

static void
take_tag(struct run *run)
{
    udpai_parser *parser = run->parser;
    uint64_t tag;
    if (!take_varint(run, &tag))
        return;
    uint64_t field = tag >> 3;
    parser->wire_type = tag & 7;
    parser->path = parser->paths[parser->depth] << PATH_MAX_BITS | (uint32_t)(field & FIELD_MAX);
    parser->action = UDPAI_PARSER_SKIP;
    parser->is_broken = field == 0 || field > FIELD_NUMBER_MAX;
    if (!parser->is_broken)
        begin_field(run);
    if (!parser->is_broken && field <= FIELD_MAX)
        parser->action = (uint8_t)run->events->begin(run->userdata, parser->path,
                                                     (udpai_wire_type)parser->wire_type);
}

static void
take_number(struct run *run)
{
    udpai_parser *parser = run->parser;
    uint64_t number;
    if (!take_varint(run, &number))
        return;
    parser->state = TAG;
    if (parser->action == UDPAI_PARSER_KEEP)
        run->events->kept(run->userdata, parser->path, (udpai_str){NULL, 0}, number);
}

static void
enter(udpai_parser *parser)
{
    if (parser->depth + 1 == UDPAI_PARSER_DEPTH) {
        parser->is_broken = true;
        return;
    }
    parser->state = TAG;
    parser->left[++parser->depth] = parser->value_left;
    parser->paths[parser->depth] = parser->path;
}

static void
take_length(struct run *run)
{
    uint64_t size;
    if (!take_varint(run, &size))
        return;
    begin_value(run, size);
    if (!run->parser->is_broken && run->parser->action == UDPAI_PARSER_ENTER)
        enter(run->parser);
}

static void
take_value(struct run *run)
{
    udpai_parser *parser = run->parser;
    size_t n = udpai_min_size(run->rest.len, parser->value_left);
    size_t kept = udpai_min_size(n, UDPAI_PARSER_ROOM - parser->n_kept);
    if (parser->action == UDPAI_PARSER_KEEP && kept) {
        memcpy(parser->kept + parser->n_kept, run->rest.data, kept);
        parser->n_kept += (uint8_t)kept;
    }
    if (n)
        use(run, n);
    parser->value_left -= (uint32_t)n;
    if (parser->value_left)
        return;
    parser->state = TAG;
    if (parser->action == UDPAI_PARSER_KEEP)
        run->events->kept(run->userdata, parser->path, (udpai_str){parser->kept, parser->n_kept},
                          0);
}

/* There are bytes, or a value without bytes is to be reported. */
static bool
goes_on(const struct run *run)
{
    const udpai_parser *parser = run->parser;
    return !parser->is_broken &&
           (run->rest.len || (parser->state == VALUE && parser->value_left == 0));
}

bool
udpai_parser_read(udpai_parser *parser,
                  udpai_str bytes,
                  const udpai_parser_events *events,
                  void *userdata)
{
    static void (*const takes[])(struct run *) = {take_tag, take_number, take_length, take_value};
    struct run run = {parser, bytes, events, userdata};
    if (bytes.len > parser->left[0])
        return fail(&run);
    while (goes_on(&run)) {
        takes[parser->state](&run);
        leave(&run);
    }
    bool is_over = parser->left[0] == 0;
    parser->is_broken |= is_over && (parser->depth > 0 || parser->state != TAG);
    return !parser->is_broken;
}
