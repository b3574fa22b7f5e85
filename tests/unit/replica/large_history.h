/* SPDX-License-Identifier: Apache-2.0 */
/* What etcd has of a set of replicas, read from the history of its model key by key, and what that
 * means: a lock of a committed set counts in the place of its record. */
#ifndef UDPAI_TESTS_LARGE_HISTORY_H
#define UDPAI_TESTS_LARGE_HISTORY_H

#include "replica/record.h"

#include <stdio.h>

#include "base/proto.h"
#include "model/removal.h"
#include "store/store.h"
#include "tests/harness/etcd_model.h"
#include "tests/harness/resources.h"

#define PREFIX "/u/"
#define NAMES 70
#define ORIGINS 2
/* A contribution of an origin to a name, or, behind those, the removal of a name. */
#define FLOORS (ORIGINS * NAMES)
#define SLOTS (FLOORS + NAMES)
#define SETS_MAX 128

/* What has become of a slot. */
typedef struct event {
    unsigned by; /* 0: it is not there */
    int64_t revision;
} event;

typedef UDPAI_VECTOR(event) event_vector;

typedef struct set {
    char id[40];
    bool is_committed;
    unsigned by; /* 0: it has only deletions so far */
} set;

/* What etcd has. */
typedef struct slot {
    event_vector counts; /* what replicas must report: the lock of a committed set, or the record */
    event_vector records; /* the record alone */
    event_vector locks;   /* `by`: what would be put; of a deletion, or without one, 0 */
    unsigned record, lock_puts;
    size_t locked_by; /* a set; 0: none */
} slot;

static etcd_model model;
static set sets[SETS_MAX];       /* the first one is none */
static size_t n_sets, n_history; /* so much of the model's history was read */
static slot slots[SLOTS];
static char names[NAMES][16];
static udpai_record_reader reader;
static unsigned n_committed_sets;

/* ---- slots ---- */

static inline const char *
origin_text(size_t at)
{
    return at / NAMES ? "publisher:b/2" : "publisher:a/1";
}

static inline udpa_resource *
make_resource(size_t at, unsigned number)
{
    char value[16];
    (void)snprintf(value, sizeof(value), "%u", number);
    udpa_resource *plain = RESOURCE(names[at % NAMES], .value = value, .version = value,
                                    .authority = "acme", .generation = number);
    assert_non_null(plain);
    if (at < FLOORS)
        return plain;
    udpa_resource *removal = udpai_removal_of(plain, number);
    assert_non_null(removal);
    udpa_resource_unref(plain);
    return removal;
}

static inline udpa_bytes *
origin_of(size_t at)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make_resource(at, 1);
    udpa_bytes *origin = NULL;
    if (at >= FLOORS)
        return udpai_store_removal_key(resource);
    assert_ok(udpa_bytes_new(&origin, origin_text(at), strlen(origin_text(at))));
    return origin;
}

static inline size_t
slot_of(const udpai_durable_op *op)
{
    udpai_str key = udpai_bytes_view(op->origin);
    udpai_str name = op->resource ? udpai_resource_name(op->resource) : udpai_bytes_view(op->name);
    size_t first = udpai_store_is_removal_key(key) ? FLOORS : 0;
    while (first < FLOORS && !udpai_str_eq(key, udpai_str_from(origin_text(first))))
        first += NAMES;
    const char *digits = name.data + name.len - 2;
    size_t at = (size_t)(10 * (digits[0] - '0') + digits[1] - '0');
    assert_true(at < NAMES && first < SLOTS);
    return first + at;
}

/* ---- what etcd has ---- */

static inline void
add(event_vector *to, unsigned by, int64_t revision)
{
    if (to->n && to->items[to->n - 1].revision == revision)
        to->items[to->n - 1].by = by;
    else
        assert_true(udpai_vector_push(to, ((event){by, revision})));
}

static inline size_t
set_of(udpai_str id)
{
    size_t i = 1;
    while (i < n_sets && !udpai_str_eq(udpai_str_from(sets[i].id), id))
        i++;
    if (i < n_sets)
        return i;
    assert_true(n_sets < SETS_MAX && id.len < sizeof(sets[i].id));
    sets[n_sets] = (set){{0}, false, 0};
    memcpy(sets[n_sets].id, id.data, id.len);
    return n_sets++;
}

static inline unsigned
read_record(udpai_str key, const udpai_str *value, size_t *ret_at)
{
    udpai_durable_op op;
    assert_ok(udpai_record_read(&reader, key, value, &op, NULL));
    *ret_at = slot_of(&op);
    unsigned by = value ? (unsigned)udpa_resource_generation(op.resource) : 0;
    udpai_durable_op_done(&op);
    return by;
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
    unsigned by = read_record(record, value.len ? &value : NULL, &at);
    slot *self = &slots[at];
    self->locked_by = written->is_delete ? 0 : set_of(id);
    self->lock_puts = by;
    add(&self->locks, by, written->revision);
    if (!by || !self->locked_by)
        return;
    set *its = &sets[self->locked_by];
    assert_true(its->by == 0 || its->by == by);
    its->by = by;
}

static inline unsigned
count(const slot *self)
{
    return sets[self->locked_by].is_committed ? self->lock_puts : self->record;
}

static inline void
read_event(const etcd_model_event *written)
{
    udpai_str prefix = UDPAI_STR(PREFIX);
    const udpai_str key = {written->key + prefix.len, strlen(written->key) - prefix.len};
    const udpai_str behind = {key.data + 2, key.len - 2};
    size_t at;
    if (udpai_record_is_key(key)) {
        unsigned by = read_record(key, written->is_delete ? NULL : &written->value, &at);
        slots[at].record = by;
        add(&slots[at].records, by, written->revision);
    } else if (key.data[0] == 'p' && key.data[1] == '/') {
        read_lock(behind, written);
    } else if (key.data[0] == 'x' && key.data[1] == '/') {
        sets[set_of(behind)].is_committed = !written->is_delete;
        n_committed_sets += !written->is_delete;
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
            event_vector *counts = &slots[at].counts;
            unsigned before = counts->n ? counts->items[counts->n - 1].by : 0;
            if (count(&slots[at]) != before)
                add(counts, count(&slots[at]), revision);
        }
    }
}

/* The last one up to a revision; NULL: none. */
static inline const event *
find(const event_vector *in, int64_t revision)
{
    for (size_t i = in->n; i-- > 0;)
        if (in->items[i].revision <= revision)
            return &in->items[i];
    return NULL;
}

static inline unsigned
by_at(const event_vector *in, int64_t revision)
{
    const event *last = find(in, revision);
    return last ? last->by : 0;
}

/* Has it changed after the one revision, and up to the other? */
static inline bool
has_changed(const event_vector *in, int64_t after, int64_t until)
{
    const event *last = find(in, until);
    return last && last->revision > after;
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
    for (int i = 0; i < NAMES; i++)
        (void)snprintf(names[i], sizeof(names[i]), "com.acme/x%02d", i);
}

static inline void
history_end(void)
{
    udpai_record_reader_done(&reader);
    for (size_t at = 0; at < SLOTS; at++) {
        udpai_vector_done(&slots[at].counts);
        udpai_vector_done(&slots[at].records);
        udpai_vector_done(&slots[at].locks);
    }
}

#endif
