/* SPDX-License-Identifier: Apache-2.0 */
#include "load/cutter.h"

#include "base/proto.h"

enum {
    TAG,
    NUMBER,
    LENGTH,
    VALUE
};

#define FIELD_MAX 15
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
    while (cutter->state == TAG && cutter->depth > 0 && cutter->left[cutter->depth] == 0)
        run->events->left(run->userdata, cutter->paths[cutter->depth--]);
}

/* False: it is not whole yet, or broken. */
static bool
take_varint(struct run *run, uint64_t *ret_number)
{
    udpai_cutter *cutter = run->cutter;
    while (run->rest.len && cutter->left[cutter->depth]) {
        uint8_t byte = (uint8_t)*run->rest.data;
        use(run, 1);
        cutter->number |= (uint64_t)(byte & 127) << cutter->shift;
        cutter->shift += 7;
        if (byte < 128) {
            *ret_number = cutter->number;
            cutter->number = cutter->shift = 0;
            return true;
        }
        if (cutter->shift > 63)
            return fail(run);
    }
    return run->rest.len ? fail(run) : false;
}

static void
begin_value(struct run *run, uint32_t size)
{
    run->cutter->value_left = size;
    run->cutter->n_kept = 0;
    run->cutter->state = VALUE;
}

static void
take_tag(struct run *run)
{
    udpai_cutter *cutter = run->cutter;
    uint64_t tag;
    if (!take_varint(run, &tag))
        return;
    uint64_t field = tag >> 3;
    bool is_near = field <= FIELD_MAX && cutter->depth + 1 < UDPAI_CUTTER_DEPTH;
    cutter->wire_type = tag & 7;
    cutter->path = cutter->paths[cutter->depth] << PATH_MAX_BITS | (uint32_t)(field & FIELD_MAX);
    cutter->wish = is_near ? (uint8_t)run->events->begin(run->userdata, cutter->path)
                           : (uint8_t)UDPAI_CUTTER_SKIP;
    if (cutter->wire_type == UDPAI_WIRE_VARINT)
        cutter->state = NUMBER;
    else if (cutter->wire_type == UDPAI_WIRE_BYTES)
        cutter->state = LENGTH;
    else if (cutter->wire_type == UDPAI_WIRE_FIXED64)
        begin_value(run, 8);
    else if (cutter->wire_type == UDPAI_WIRE_FIXED32)
        begin_value(run, 4);
    else
        cutter->is_broken = true;
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
take_length(struct run *run)
{
    udpai_cutter *cutter = run->cutter;
    uint64_t size;
    if (!take_varint(run, &size))
        return;
    if (size > cutter->left[cutter->depth]) {
        cutter->is_broken = true;
        return;
    }
    begin_value(run, (uint32_t)size);
    if (cutter->wish != UDPAI_CUTTER_ENTER)
        return;
    cutter->state = TAG;
    cutter->left[++cutter->depth] = (uint32_t)size;
    cutter->paths[cutter->depth] = cutter->path;
}

static void
take_value(struct run *run)
{
    udpai_cutter *cutter = run->cutter;
    size_t n = udpai_min_size(run->rest.len, cutter->value_left);
    size_t kept = udpai_min_size(n, UDPAI_CUTTER_ROOM - cutter->n_kept);
    if (cutter->wish == UDPAI_CUTTER_KEEP) {
        memcpy(cutter->kept + cutter->n_kept, run->rest.data, kept);
        cutter->n_kept += (uint8_t)kept;
    }
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
    return !cutter->is_broken && (!is_over || (cutter->depth == 0 && cutter->state == TAG));
}
