/* SPDX-License-Identifier: Apache-2.0 */
#include "floor/log.h"

#include "base/alloc.h"
#include "peers/program.h"

#define PREFIX_SIZE 5

/* ---- messages ---- */

floor_message *
floor_message_ref(floor_message *message)
{
    message->refs++;
    return message;
}

/* Whole chains go at once: no recursion. */
void
floor_message_unref(floor_message *message)
{
    while (message && --message->refs == 0) {
        floor_message *next = message->next;
        udpai_free(message);
        message = next;
    }
}

static floor_message *
message_new(size_t size)
{
    floor_message *message = udpai_alloc(sizeof(*message) + size);
    if (!message)
        peer_fail("no memory for a message of %zu bytes", size);
    message->refs = 1;
    message->size = size;
    return message;
}

/* Of n resources, as they are. */
static floor_message *
make_message(floor_log *log, size_t begin, size_t n)
{
    size_t size = log->fleet.head_size + n * log->fleet.entry_size;
    floor_message *message = message_new(PREFIX_SIZE + size);
    uint8_t *at = message->bytes;
    *at++ = 0; /* not compressed */
    for (unsigned shift = 32; shift > 0; shift -= 8)
        *at++ = (uint8_t)(size >> (shift - 8));
    at = peer_put_head(at, &log->fleet, ++log->nonce);
    peer_put_entries(at, &log->fleet, begin, n);
    return message;
}

/* ---- the log ---- */

static void
append(floor_log *log, floor_message *message)
{
    message->end = log->last->end + message->size;
    log->last->next = floor_message_ref(message);
    floor_message_unref(log->last);
    log->last = message;
}

void
floor_log_change(void *userdata, size_t index, uint64_t serial)
{
    floor_log *log = userdata;
    log->fleet.serials[index] = serial;
    append(log, make_message(log, index, 1));
    floor_message_unref(UDPAI_TAKE(log->image));
}

/* Its last message leads to what will come next: an empty one in the log. */
static void
make_image(floor_log *log)
{
    size_t most = peer_fleet_most(&log->fleet);
    floor_message **place = &log->image;
    append(log, message_new(0));
    for (size_t at = 0; at < log->fleet.n; at += most) {
        *place = make_message(log, at, udpai_min_size(most, log->fleet.n - at));
        (*place)->end = log->last->end;
        place = &(*place)->next;
    }
    *place = floor_message_ref(log->last);
}

floor_message *
floor_log_image(floor_log *log)
{
    if (!log->image)
        make_image(log);
    return log->image;
}

void
floor_log_init(floor_log *log, size_t n_resources, size_t size_bytes)
{
    *log = (floor_log){.last = message_new(0)};
    peer_fleet_init(&log->fleet, n_resources, size_bytes);
}

void
floor_log_done(floor_log *log)
{
    floor_message_unref(log->image);
    floor_message_unref(log->last);
    peer_fleet_done(&log->fleet);
}
