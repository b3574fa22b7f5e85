/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/cutter.h"

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
    udpai_cutter *cutter;
    udpai_str rest;
    const udpai_cutter_events *events;
    void *userdata;
};

void
udpai_cutter_begin(udpai_cutter *cutter, uint32_t size)
{
    *cutter = (udpai_cutter){.left = {size}};
}

static void
use(struct run *run, size_t n)
{
    run->rest.data += n;
    run->rest.len -= n;
    for (size_t i = 0; i <= run->cutter->depth; i++)
        run->cutter->left[i] -= (uint32_t)n;
}

static bool
fail(struct run *run)
{
    run->cutter->is_broken = true;
    return false;
}

/* Messages whose last byte has come. */
static void
leave(struct run *run)
{
    udpai_cutter *cutter = run->cutter;
    while (!cutter->is_broken && cutter->state == TAG && cutter->depth > 0 &&
           cutter->left[cutter->depth] == 0)
        run->events->left(run->userdata, cutter->paths[cutter->depth--]);
}

/* False: it is not whole yet, or broken: it does not end where its message does, however the bytes
 * are cut. */
static bool
take_varint(struct run *run, uint64_t *ret_number)
{
    udpai_cutter *cutter = run->cutter;
    while (run->rest.len && cutter->left[cutter->depth]) {
        uint8_t byte = (uint8_t)*run->rest.data;
        use(run, 1);
        if (cutter->shift == LAST_SHIFT && byte > 1)
            return fail(run);
        cutter->number |= (uint64_t)(byte & 127) << cutter->shift;
        cutter->shift += 7;
        if (byte < 128) {
            *ret_number = cutter->number;
            cutter->number = cutter->shift = 0;
            return true;
        }
    }
    return cutter->left[cutter->depth] ? false : fail(run);
}

static void
begin_value(struct run *run, uint64_t size)
{
    udpai_cutter *cutter = run->cutter;
    if (size > cutter->left[cutter->depth]) {
        cutter->is_broken = true;
        return;
    }
    cutter->value_left = (uint32_t)size;
    cutter->n_kept = 0;
    cutter->state = VALUE;
}

/* Groups are as little known here as in the rest of this project. */
static void
begin_field(struct run *run)
{
    udpai_cutter *cutter = run->cutter;
    switch ((udpai_wire_type)cutter->wire_type) {
    case UDPAI_WIRE_VARINT:
        cutter->state = NUMBER;
        return;
    case UDPAI_WIRE_BYTES:
        cutter->state = LENGTH;
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
    cutter->is_broken = true;
}

static void
take_tag(struct run *run)
{
    udpai_cutter *cutter = run->cutter;
    uint64_t tag;
    if (!take_varint(run, &tag))
        return;
    uint64_t field = tag >> 3;
    cutter->wire_type = tag & 7;
    cutter->path = cutter->paths[cutter->depth] << PATH_MAX_BITS | (uint32_t)(field & FIELD_MAX);
    cutter->wish = UDPAI_CUTTER_SKIP;
    cutter->is_broken = field == 0 || field > FIELD_NUMBER_MAX;
    if (!cutter->is_broken)
        begin_field(run);
    if (!cutter->is_broken && field <= FIELD_MAX)
        cutter->wish = (uint8_t)run->events->begin(run->userdata, cutter->path,
                                                   (udpai_wire_type)cutter->wire_type);
}

static void
take_number(struct run *run)
{
    udpai_cutter *cutter = run->cutter;
    uint64_t number;
    if (!take_varint(run, &number))
        return;
    cutter->state = TAG;
    if (cutter->wish == UDPAI_CUTTER_KEEP)
        run->events->kept(run->userdata, cutter->path, (udpai_str){NULL, 0}, number);
}

static void
enter(udpai_cutter *cutter)
{
    if (cutter->depth + 1 == UDPAI_CUTTER_DEPTH) {
        cutter->is_broken = true;
        return;
    }
    cutter->state = TAG;
    cutter->left[++cutter->depth] = cutter->value_left;
    cutter->paths[cutter->depth] = cutter->path;
}

static void
take_length(struct run *run)
{
    uint64_t size;
    if (!take_varint(run, &size))
        return;
    begin_value(run, size);
    if (!run->cutter->is_broken && run->cutter->wish == UDPAI_CUTTER_ENTER)
        enter(run->cutter);
}

static void
take_value(struct run *run)
{
    udpai_cutter *cutter = run->cutter;
    size_t n = udpai_min_size(run->rest.len, cutter->value_left);
    size_t kept = udpai_min_size(n, UDPAI_CUTTER_ROOM - cutter->n_kept);
    if (cutter->wish == UDPAI_CUTTER_KEEP && kept) {
        memcpy(cutter->kept + cutter->n_kept, run->rest.data, kept);
        cutter->n_kept += (uint8_t)kept;
    }
    if (n)
        use(run, n);
    cutter->value_left -= (uint32_t)n;
    if (cutter->value_left)
        return;
    cutter->state = TAG;
    if (cutter->wish == UDPAI_CUTTER_KEEP)
        run->events->kept(run->userdata, cutter->path, (udpai_str){cutter->kept, cutter->n_kept},
                          0);
}

/* Something is there, or a value without bytes is to be told. */
static bool
goes_on(const struct run *run)
{
    const udpai_cutter *cutter = run->cutter;
    return !cutter->is_broken &&
           (run->rest.len || (cutter->state == VALUE && cutter->value_left == 0));
}

bool
udpai_cutter_take(udpai_cutter *cutter,
                  udpai_str bytes,
                  const udpai_cutter_events *events,
                  void *userdata)
{
    static void (*const takes[])(struct run *) = {take_tag, take_number, take_length, take_value};
    struct run run = {cutter, bytes, events, userdata};
    if (bytes.len > cutter->left[0])
        return fail(&run);
    while (goes_on(&run)) {
        takes[cutter->state](&run);
        leave(&run);
    }
    bool is_over = cutter->left[0] == 0;
    cutter->is_broken |= is_over && (cutter->depth > 0 || cutter->state != TAG);
    return !cutter->is_broken;
}
