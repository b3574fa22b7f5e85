/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas of one set on a model of etcd; what they report is one text. */
#ifndef UDPAI_TESTS_REPLICATOR_BED_H
#define UDPAI_TESTS_REPLICATOR_BED_H

#include "replica/replicator.h"

#include <stdio.h>

#include "model/removal.h"
#include "store/store.h"
#include "tests/harness/etcd_model.h"
#include "tests/harness/resources.h"
#include "tests/unit/replica/letter_seals.h"

#define PREFIX "/u/"
#define TEXT 100000
#define X "com.acme/x"
#define Y "com.acme/y"

typedef struct replica {
    const char *name;
    udpai_replicator *replicator;
    udpai_durable_position has;
    bool is_first;    /* of the members */
    const char *keys; /* a letter each, the first one seals; NULL: nothing is sealed */
    udpai_reseal_progress resealing;
    const char *state;             /* that was reported last; NULL: none */
    bool is_uncertain;             /* the same */
    unsigned n_passed, n_given_up; /* barriers */
    char text[TEXT];               /* what was reported and not looked at yet */
} replica;

static udpai_wheel wheel;
static etcd_model model;
static replica a, b, c; /* the last one is not opened */
static uint64_t chance, last_ticket;

static inline uint64_t
on_random(void *userdata)
{
    assert_true(userdata == &a || userdata == &b || userdata == &c);
    return test_random(&chance);
}

static inline void
run_ms(uint64_t ms)
{
    uint64_t end = wheel.now_ms + ms;
    while (wheel.now_ms < end)
        udpai_wheel_advance(&wheel, wheel.now_ms + 1);
}

/* ---- what is reported, as "all: +a/x=1, ~a/z=2, -b/y", "1: committed", "current"; ~: it was
 * reported before as it is ---- */

static inline void
note(replica *self, const char *between, const char *text)
{
    size_t len = strlen(self->text);
    assert_true(len + strlen(between) + strlen(text) < TEXT);
    (void)snprintf(self->text + len, TEXT - len, "%s%s", len ? between : "", text);
}

static inline void
note_op(replica *self, const char *between, const udpai_durable_op *op)
{
    char text[600];
    if (op->kind == UDPAI_DURABLE_AUDIT) {
        (void)snprintf(text, sizeof(text), "audit %u", (unsigned)op->number);
        note(self, between, text);
        return;
    }
    udpai_str key = udpai_bytes_view(op->origin), value = {"", 0};
    udpai_str name = op->resource ? udpai_resource_name(op->resource) : udpai_bytes_view(op->name);
    bool is_removal = udpai_store_is_removal_key(key);
    if (op->kind == UDPAI_DURABLE_PUT)
        value = udpai_resource_value(op->resource);
    (void)snprintf(text, sizeof(text), "%s%.*s/%.*s%s%.*s",
                   op->kind != UDPAI_DURABLE_PUT ? "-"
                   : op->is_known                ? "~"
                                                 : "+",
                   is_removal ? 1 : (int)key.len, is_removal ? "!" : key.data, (int)(name.len - 9),
                   name.data + 9, value.len ? "=" : "", (int)udpai_min_size(value.len, 20),
                   value.data);
    note(self, between, text);
}

static inline void
note_change(replica *self, const udpai_replicated *change)
{
    note(self, "; ", change->is_all ? "all:" : ":");
    for (size_t i = 0; i < change->batch->ops.n; i++)
        note_op(self, i ? ", " : " ", &change->batch->ops.items[i]);
    self->has = change->batch->position;
}

static inline void
note_outcome(replica *self, const udpai_replicated *outcome)
{
    static const char *const names[] = {"committed", "lost", "rejected", "not done", "unknown"};
    char text[1200];
    (void)snprintf(text, sizeof(text), "%d: %s%s%s", (int)outcome->ticket, names[outcome->outcome],
                   outcome->error ? ", " : "",
                   outcome->error ? udpa_error_message(outcome->error) : "");
    note(self, "; ", text);
}

static inline void
note_rebalance(replica *self, const udpai_replicated *event)
{
    char text[40];
    (void)snprintf(text, sizeof(text), "rebalance in %u ms", (unsigned)event->over_ms);
    note(self, "; ", text);
}

static inline void
note_etcd(replica *self, const udpai_replicated *event)
{
    char text[600];
    if (!event->size_bytes) /* where nothing is told of it */
        return;
    (void)snprintf(text, sizeof(text), "etcd has %d of %d%s%s", (int)event->size_bytes,
                   (int)event->quota_bytes, event->error ? ": " : "",
                   event->error ? udpa_error_message(event->error) : "");
    note(self, "; ", text);
}

static inline void
note_state(replica *self, const udpai_replicated *state)
{
    static const char *const names[] = {"starting", "current", "behind", "held"};
    bool is_known = self->state == names[state->state];
    self->state = names[state->state];
    self->is_uncertain = state->is_uncertain;
    if (state->state != UDPAI_REPLICATION_CURRENT || !is_known)
        note(self, "; ", self->state);
    assert_int_equal(state->error != NULL, state->state >= UDPAI_REPLICATION_BEHIND);
}

/* If it is given up, whoever is reported to must know that something may be missing. */
static inline void
note_barrier(replica *self, const udpai_replicated *event)
{
    bool may_lack = self->is_uncertain || !self->state || strcmp(self->state, "current") != 0;
    assert_true(event->is_current || may_lack);
    self->n_passed++;
    self->n_given_up += !event->is_current;
}

static inline void
note_locked(replica *self, const udpai_replicated *keys)
{
    note(self, "; ", keys->error ? "locked" : "unlocked");
    for (size_t i = 0; i < keys->batch->ops.n; i++)
        note_op(self, " ", &keys->batch->ops.items[i]);
}

static inline void
on_resealing(void *userdata, const udpai_reseal_progress *progress)
{
    ((replica *)userdata)->resealing = *progress;
}

static inline void
on_report(void *userdata, udpai_replicated *event)
{
    replica *self = userdata;
    if (event->kind == UDPAI_REPLICATED_MEMBERS) /* test_members.c looks at them */
        self->is_first = event->n_members && event->members[0].is_own;
    if (event->kind == UDPAI_REPLICATED_MEMBERS || event->kind == UDPAI_REPLICATED_HOLD) {
        udpai_replicated_free(event);
        return;
    }
    if (event->kind == UDPAI_REPLICATED_CHANGE)
        note_change(self, event);
    else if (event->kind == UDPAI_REPLICATED_OUTCOME)
        note_outcome(self, event);
    else if (event->kind == UDPAI_REPLICATED_ETCD)
        note_etcd(self, event);
    else if (event->kind == UDPAI_REPLICATED_REBALANCE)
        note_rebalance(self, event);
    else if (event->kind == UDPAI_REPLICATED_KEYS)
        note_locked(self, event);
    else if (event->kind == UDPAI_REPLICATED_BARRIER)
        note_barrier(self, event);
    else
        note_state(self, event);
    udpai_replicated_free(event);
}

/* Since the last call. */
static inline const char *
reported(replica *self)
{
    static char text[TEXT];
    memcpy(text, self->text, sizeof(text));
    self->text[0] = '\0';
    return text;
}

#define assert_reported(self, expected) assert_string_equal(reported(self), (expected))

/* ---- replicas ---- */

static inline udpa_err
try_to_open(replica *self)
{
    const udpai_replicator_env env = {
        .etcd = &model.own.etcd,
        .wheel = &wheel,
        .random = on_random,
        .report = on_report,
        .resealing = on_resealing,
        .userdata = self,
    };
    udpai_replicator_config config = {
        .prefix = UDPAI_STR(PREFIX),
        .own.id = udpai_str_from(self->name),
        .seals.is_secret = is_secret,
        .has = self->has,
    };
    if (self->keys)
        config.seals = letter_seals(&self->keys);
    return udpai_replicator_new(&self->replicator, &env, &config);
}

static inline void
open_replica(replica *self, const char *name)
{
    *self = (replica){.name = name, .has = self->has, .keys = self->keys};
    assert_ok(try_to_open(self));
}

static inline void
close_replica(replica *self)
{
    self->replicator = udpai_replicator_free(self->replicator);
}

static inline int
setup(void **state)
{
    (void)state;
    udpai_wheel_init(&wheel, 1000);
    etcd_model_init(&model, &wheel, 1);
    chance = 1;
    last_ticket = 0;
    a = b = c = (replica){0};
    open_replica(&a, "a");
    open_replica(&b, "b");
    run_ms(100);
    assert_reported(&a, "all:; current");
    assert_reported(&b, "all:; current");
    return 0;
}

static inline int
teardown(void **state)
{
    (void)state;
    close_replica(&a);
    close_replica(&b);
    close_replica(&c);
    run_ms(20000);
    etcd_model_done(&model);
    return 0;
}

/* ---- batches ---- */

static inline udpai_durable_batch *
new_batch(const replica *by)
{
    udpai_durable_batch *batch = udpai_durable_batch_new();
    assert_non_null(batch);
    batch->position = by->has;
    return batch;
}

static inline udpa_bytes *
bytes_of(const char *text)
{
    udpa_bytes *bytes = NULL;
    assert_ok(udpa_bytes_new(&bytes, text, strlen(text)));
    return bytes;
}

static inline void
add_resource(udpai_durable_batch *batch, udpa_bytes *origin, udpa_resource *resource)
{
    assert_true(origin && resource);
    assert_ok(udpai_durable_batch_add(
        batch, &(udpai_durable_op){UDPAI_DURABLE_PUT, origin, .resource = resource}));
    udpa_bytes_unref(origin);
    udpa_resource_unref(resource);
}

static inline void
add_put(udpai_durable_batch *batch, const char *origin, const char *name, const char *value)
{
    udpa_resource *resource =
        RESOURCE(name, .value = value, .version = "1", .authority = "acme", .generation = 5);
    add_resource(batch, bytes_of(origin), resource);
}

static inline void
add_delete(udpai_durable_batch *batch, const char *origin, const char *name)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = bytes_of(origin), *text = bytes_of(name);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *type = udpai_bytes_cstring(UDPAI_STR(TEST_TYPE));
    assert_ok(udpai_durable_batch_add(
        batch, &(udpai_durable_op){UDPAI_DURABLE_DELETE, key, .type = type, .name = text}));
}

static inline void
add_removal(udpai_durable_batch *batch, const char *name)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *held =
        RESOURCE(name, .value = "1", .version = "1", .authority = "acme", .generation = 5);
    udpa_resource *removal = udpai_removal_of(held, 6);
    assert_non_null(removal);
    add_resource(batch, udpai_store_removal_key(removal), removal);
}

static inline void
wait_for_barrier(replica *self)
{
    udpai_replicated *event = udpai_replicated_new(UDPAI_REPLICATED_BARRIER);
    assert_non_null(event);
    udpai_replicator_barrier(self->replicator, event);
}

static inline void
propose(replica *by, udpai_durable_batch *batch)
{
    udpai_replicated *outcome = udpai_replicated_new(UDPAI_REPLICATED_OUTCOME);
    assert_non_null(outcome);
    outcome->ticket = ++last_ticket;
    udpai_replicator_propose(by->replicator, batch, outcome);
}

static inline void
put(replica *by, const char *origin, const char *name, const char *value)
{
    udpai_durable_batch *batch = new_batch(by);
    add_put(batch, origin, name, value);
    propose(by, batch);
}

static inline void
take_away(replica *by, const char *origin, const char *name)
{
    udpai_durable_batch *batch = new_batch(by);
    add_delete(batch, origin, name);
    propose(by, batch);
}

static inline size_t
n_records(void)
{
    return etcd_model_count(&model, UDPAI_STR(PREFIX "c/"), model.revision) +
           etcd_model_count(&model, UDPAI_STR(PREFIX "f/"), model.revision);
}

/* @p format: as it is encoded. */
static inline void
write_set(const char *format)
{
    char value[64];
    (void)snprintf(value, sizeof(value), "%s\x12\x20%s\x1a\x01n", format,
                   "0123456789abcdef0123456789abcdef");
    etcd_model_put(&model, PREFIX "set", value);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
