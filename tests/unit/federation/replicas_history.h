/* SPDX-License-Identifier: Apache-2.0 */
/* What etcd has of the publications of a bed's nodes, read from the history of its model key by
 * key, and what that means: a lock of a committed set counts in the place of its record. */
#ifndef UDPAI_TESTS_REPLICAS_HISTORY_H
#define UDPAI_TESTS_REPLICAS_HISTORY_H

#include "tests/unit/federation/replicas_bed.h"

#include <stdio.h>

#include "base/proto.h"
#include "replica/record.h"
#include "store/store.h"

#define PUBLISHERS 3
#define FEW 6
#define NAMES 46 /* all of them are published by large publications alone */
/* A contribution of a publisher to a name, or, behind those, what it has removed. */
#define FLOORS (PUBLISHERS * NAMES)
#define SLOTS (2 * FLOORS)
#define SETS_MAX 256

/* What has become of a slot. */
typedef struct event {
    unsigned by; /* the number of the value; 0: it is not there */
    uint64_t generation;
    int64_t revision;
    uint64_t ms;
} event;

typedef struct slot {
    UDPAI_VECTOR(event) events; /* that count: the lock of a committed set, or the record */
    event record, lock;
    size_t locked_by; /* a set; 0: none */
} slot;

typedef struct set {
    char id[40];
    bool is_committed;
} set;

static slot slots[SLOTS];
static set sets[SETS_MAX]; /* the first one is none */
static size_t n_sets, n_history;
static udpai_record_reader reader;
static unsigned n_large; /* sets that were committed */

/* ---- names and numbers ---- */

static inline size_t
name_at(udpai_str name)
{
    const char *digits = name.data + name.len - 2;
    size_t at = (size_t)(10 * (digits[0] - '0') + digits[1] - '0');
    assert_true(at < NAMES);
    return at;
}

static inline const char *
name_text(size_t at)
{
    static char text[32];
    (void)snprintf(text, sizeof(text), "com.acme/x%02zu", at);
    return text;
}

static inline unsigned
number_of(const udpa_resource *resource)
{
    udpai_str text = udpai_resource_value(resource);
    unsigned number = 0;
    for (size_t i = 0; i < text.len; i++)
        number = 10 * number + (unsigned)(text.data[i] - '0');
    return number;
}

static inline bool
ends_with(udpai_str text, udpai_str end)
{
    return text.len >= end.len &&
           udpai_str_eq((udpai_str){text.data + text.len - end.len, end.len}, end);
}

/* The keys of both end with who has published. */
static inline size_t
slot_at(udpai_str origin, udpai_str name)
{
    size_t publisher = 0;
    while (publisher < PUBLISHERS && !ends_with(origin, udpai_str_from(publisher_name(publisher))))
        publisher++;
    assert_true(publisher < PUBLISHERS);
    return (udpai_store_is_removal_key(origin) ? FLOORS : 0) + publisher * NAMES + name_at(name);
}

/* ---- what etcd has ---- */

static inline size_t
set_at(udpai_str id)
{
    size_t i = 1;
    while (i < n_sets && !udpai_str_eq(udpai_str_from(sets[i].id), id))
        i++;
    if (i < n_sets)
        return i;
    assert_true(n_sets < SETS_MAX && id.len < sizeof(sets[i].id));
    sets[n_sets] = (set){0};
    memcpy(sets[n_sets].id, id.data, id.len);
    return n_sets++;
}

static inline event
read_record(udpai_str key, const udpai_str *value, size_t *ret_at)
{
    udpai_durable_op op;
    event read = {0};
    assert_ok(udpai_record_read(&reader, key, value, &op, NULL));
    *ret_at = slot_at(udpai_bytes_view(op.origin),
                      op.resource ? udpai_resource_name(op.resource) : udpai_bytes_view(op.name));
    if (op.resource) {
        read.by = *ret_at < FLOORS ? number_of(op.resource) : 1;
        read.generation = udpa_resource_generation(op.resource);
    }
    udpai_durable_op_done(&op);
    return read;
}

static inline void
read_lock(udpai_str record, const etcd_model_event *written)
{
    udpai_proto_reader fields = udpai_proto_read(written->value);
    udpai_proto_field field;
    udpai_str value = {0}, id = {0};
    size_t at;
    while (udpai_proto_next(&fields, &field))
        *(field.number == 1 ? &id : &value) = field.bytes;
    event lock = read_record(record, value.len ? &value : NULL, &at);
    slots[at].lock = lock;
    slots[at].locked_by = written->is_delete ? 0 : set_at(id);
}

static inline void
read_event(const etcd_model_event *written)
{
    udpai_str prefix = UDPAI_STR(PREFIX);
    const udpai_str key = {written->key + prefix.len, strlen(written->key) - prefix.len};
    const udpai_str behind = {key.data + 2, key.len - 2};
    size_t at;
    if (udpai_record_is_key(key)) {
        event record = read_record(key, written->is_delete ? NULL : &written->value, &at);
        slots[at].record = record;
    } else if (udpai_str_starts(key, UDPAI_STR("p/"))) {
        read_lock(behind, written);
    } else if (udpai_str_starts(key, UDPAI_STR("x/"))) {
        sets[set_at(behind)].is_committed = !written->is_delete;
        n_large += !written->is_delete;
    }
}

/* Whole revisions. */
static inline void
read_history(void)
{
    while (n_history < model.history.n) {
        int64_t revision = model.history.items[n_history].revision;
        while (n_history < model.history.n && model.history.items[n_history].revision == revision)
            read_event(&model.history.items[n_history++]);
        for (size_t at = 0; at < SLOTS; at++) {
            slot *self = &slots[at];
            const event *last = self->events.n ? &self->events.items[self->events.n - 1] : NULL;
            event now = sets[self->locked_by].is_committed ? self->lock : self->record;
            if (now.by == (last ? last->by : 0) && (!last || now.generation == last->generation))
                continue;
            now.revision = revision;
            now.ms = wheel.now_ms;
            assert_true(udpai_vector_push(&self->events, now));
        }
    }
}

static inline event
find(size_t at, int64_t revision)
{
    for (size_t i = slots[at].events.n; i-- > 0;)
        if (slots[at].events.items[i].revision <= revision)
            return slots[at].events.items[i];
    return (event){0};
}

/* What nodes hold by it. */
static inline unsigned
expected(size_t at, int64_t revision)
{
    event held = find(at, revision), floor = find(FLOORS + at, revision);
    return floor.by && floor.generation > held.generation ? 0 : held.by;
}

/* Was it so at some time from one revision to the other? */
static inline bool
has_had(size_t at, unsigned by, int64_t from, int64_t until)
{
    for (int64_t revision = from; revision <= until; revision++)
        if (expected(at, revision) == by)
            return true;
    return false;
}

/* ---- its life ---- */

static inline void
history_begin(void)
{
    udpai_record_reader_init(&reader, NULL);
    n_sets = 1;
    n_history = 0;
    memset(sets, 0, sizeof(sets));
    memset(slots, 0, sizeof(slots));
}

static inline void
history_end(void)
{
    udpai_record_reader_done(&reader);
    for (size_t at = 0; at < SLOTS; at++)
        udpai_vector_done(&slots[at].events);
}

#endif
