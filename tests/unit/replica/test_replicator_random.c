/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas of one set on one model of etcd, whatever is lost on the way: what each reports is what
 * etcd has, and what it says of a proposal is true. */
#include "replica/replicator.h"

#include <stdio.h>

#include "model/removal.h"
#include "store/store.h"
#include "tests/harness/etcd_model.h"
#include "tests/harness/resources.h"

#define PREFIX "/u/"
#define REPLICAS 3
#define NAMES 6
#define ORIGINS 3
/* A contribution of an origin to a name, or, behind those, the removal of a name. */
#define FLOORS (ORIGINS * NAMES)
#define SLOTS (FLOORS + NAMES)
#define OPS_MAX 8
#define BATCHES_MAX 400
#define EVENTS_MAX 16384
#define SEEDS 120

/* By slot, the batch that has written it; 0: nothing. */
typedef struct table {
    udpai_durable_position position;
    unsigned of[SLOTS];
} table;

typedef struct replica {
    const char *name;
    udpai_replicator *replicator;
    table reported, node; /* the node is behind what was reported to it … */
    udpai_list events;    /* … by these */
    bool has_all;
} replica;

typedef struct batch_op {
    size_t slot;
    bool is_delete, was_there; /* as far as was reported when it was proposed */
} batch_op;

typedef struct batch {
    const replica *by;
    unsigned number;           /* also the generation of what it puts, which tells it apart */
    int64_t decided, proposed; /* at which revision it was, and where the replicator was then */
    batch_op ops[OPS_MAX];
    size_t n_ops;
    bool is_over, is_abandoned; /* it has an outcome; it gets none */
    udpai_replicated_outcome outcome;
    int64_t known; /* what was reported before the outcome */
} batch;

/* What etcd has done to a slot. */
typedef struct event {
    size_t slot;
    unsigned by; /* 0: it was deleted */
    int64_t revision;
} event;

static const char *const origins[ORIGINS] = {"publisher:a/1", "publisher:b/2", "publisher:c/3"};
static udpai_wheel wheel;
static etcd_model model;
static replica replicas[REPLICAS];
static batch batches[BATCHES_MAX]; /* the first one is none */
static unsigned n_batches;
static event events[EVENTS_MAX];
static size_t n_events, n_history; /* so much of the model's history was read */
static udpai_record_reader reader;
static uint64_t chance;

static size_t
below(size_t bound)
{
    return test_random_below(&chance, bound);
}

static uint64_t
on_random(void *userdata)
{
    (void)userdata;
    return test_random(&chance);
}

static bool
is_secret(void *userdata, udpai_str type_url)
{
    (void)userdata;
    (void)type_url;
    return false;
}

static void
run_ms(uint64_t ms)
{
    uint64_t end = wheel.now_ms + ms;
    while (wheel.now_ms < end)
        udpai_wheel_advance(&wheel, wheel.now_ms + 1);
}

/* ---- slots ---- */

static const char *
name_of(size_t slot)
{
    static const char *const names[NAMES] = {"com.acme/x0", "com.acme/x1", "com.acme/x2",
                                             "com.acme/x3", "com.acme/x4", "com.acme/x5"};
    return names[slot % NAMES];
}

static udpa_resource *
make_resource(size_t slot, unsigned number)
{
    char value[16];
    (void)snprintf(value, sizeof(value), "%u", number);
    udpa_resource *plain = RESOURCE(name_of(slot), .value = value, .version = value,
                                    .authority = "acme", .generation = number);
    assert_non_null(plain);
    if (slot < FLOORS)
        return plain;
    udpa_resource *removal = udpai_removal_of(plain, number);
    assert_non_null(removal);
    udpa_resource_unref(plain);
    return removal;
}

static udpa_bytes *
origin_of(size_t slot)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make_resource(slot, 1);
    udpa_bytes *origin = NULL;
    if (slot >= FLOORS)
        return udpai_store_removal_key(resource);
    assert_ok(udpa_bytes_new(&origin, origins[slot / NAMES], strlen(origins[slot / NAMES])));
    return origin;
}

static size_t
slot_of(const udpai_durable_op *op)
{
    udpai_str key = udpai_bytes_view(op->origin);
    udpai_str name = op->resource ? udpai_resource_name(op->resource) : udpai_bytes_view(op->name);
    size_t slot = udpai_store_is_removal_key(key) ? FLOORS : 0;
    while (slot < FLOORS && !udpai_str_eq(key, udpai_str_from(origins[slot / NAMES])))
        slot += NAMES;
    size_t end = slot + NAMES;
    while (slot < end && !udpai_str_eq(name, udpai_str_from(name_of(slot))))
        slot++;
    assert_true(slot < end);
    return slot;
}

/* ---- what etcd has ---- */

static void
read_history(void)
{
    udpai_str prefix = UDPAI_STR(PREFIX);
    for (; n_history < model.history.n; n_history++) {
        const etcd_model_event *written = &model.history.items[n_history];
        const udpai_str key = {written->key + prefix.len, strlen(written->key) - prefix.len};
        udpai_durable_op op;
        if (!udpai_record_is_key(key))
            continue;
        assert_ok(udpai_record_read(&reader, key, written->is_delete ? NULL : &written->value, &op,
                                    NULL));
        assert_true(n_events < EVENTS_MAX);
        events[n_events++] = (event){
            slot_of(&op),
            written->is_delete ? 0 : (unsigned)udpa_resource_generation(op.resource),
            written->revision,
        };
        udpai_durable_op_done(&op);
    }
}

/* The last one up to a revision; NULL: none. */
static const event *
find_event(size_t slot, int64_t revision)
{
    read_history();
    for (size_t i = n_events; i-- > 0;)
        if (events[i].slot == slot && events[i].revision <= revision)
            return &events[i];
    return NULL;
}

/* How often the batch was written there. */
static unsigned
n_written(const batch *self, size_t slot, int64_t *ret_revision)
{
    unsigned n = 0;
    read_history();
    for (size_t i = 0; i < n_events; i++)
        if (events[i].slot == slot && events[i].by == self->number) {
            n++;
            *ret_revision = events[i].revision;
        }
    return n;
}

static bool
is_deleted_at(size_t slot, int64_t revision)
{
    const event *last = find_event(slot, revision);
    return last && last->by == 0 && last->revision == revision;
}

/* ---- what is reported ---- */

static void
apply(table *to, const udpai_replicated *change)
{
    bool is_seen[SLOTS] = {false};
    if (change->is_all)
        memset(to->of, 0, sizeof(to->of));
    for (size_t i = 0; i < change->batch->ops.n; i++) {
        const udpai_durable_op *op = &change->batch->ops.items[i];
        size_t slot = slot_of(op);
        bool is_put = op->kind == UDPAI_DURABLE_PUT;
        assert_true(is_put || op->kind == UDPAI_DURABLE_DELETE);
        assert_false(is_seen[slot]);
        is_seen[slot] = true;
        to->of[slot] = is_put ? (unsigned)udpa_resource_generation(op->resource) : 0;
    }
    to->position = change->batch->position;
}

static void
on_change(replica *self, const udpai_replicated *change)
{
    const udpai_durable_position now = change->batch->position;
    assert_true(now.cluster_id == model.cluster_id);
    assert_int_equal(change->is_all, !self->has_all);
    assert_true(now.revision > self->reported.position.revision || change->is_all);
    assert_true(now.revision >= self->reported.position.revision);
    apply(&self->reported, change);
    self->has_all = true;
    for (size_t slot = 0; slot < SLOTS; slot++) {
        const event *last = find_event(slot, now.revision);
        assert_int_equal(self->reported.of[slot], last ? last->by : 0);
    }
}

/* Something that it is about has changed since it was decided, and was reported. */
static bool
has_lost_rightly(const batch *self)
{
    for (size_t i = 0; i < self->n_ops; i++) {
        const batch_op *op = &self->ops[i];
        const event *last = find_event(op->slot, self->known);
        const event *floor = find_event(FLOORS + op->slot % NAMES, self->known);
        if ((last && last->revision > self->decided) ||
            (!op->is_delete && floor && floor->revision > self->decided))
            return true;
    }
    return false;
}

/* It is to be decided again when all is there. */
static bool
changes_nothing(const batch *self)
{
    for (size_t i = 0; i < self->n_ops; i++) {
        const event *last = find_event(self->ops[i].slot, self->proposed);
        if (!self->ops[i].is_delete || (last && last->by))
            return false;
    }
    return true;
}

static void
on_outcome(const replica *self, const udpai_replicated *outcome)
{
    batch *of = &batches[outcome->ticket];
    assert_true(outcome->ticket && outcome->ticket < n_batches);
    assert_ptr_equal(of->by, self);
    assert_false(of->is_over || of->is_abandoned);
    of->is_over = true;
    of->outcome = outcome->outcome;
    of->known = self->reported.position.revision;
    bool is_clear =
        of->outcome == UDPAI_REPLICATED_COMMITTED || of->outcome == UDPAI_REPLICATED_LOST;
    assert_int_equal(outcome->error == NULL, is_clear);
    if (of->outcome == UDPAI_REPLICATED_LOST)
        assert_true(has_lost_rightly(of) || changes_nothing(of));
}

static void
on_report(void *userdata, udpai_replicated *reported)
{
    replica *self = userdata;
    if (reported->kind == UDPAI_REPLICATED_CHANGE)
        on_change(self, reported);
    else if (reported->kind == UDPAI_REPLICATED_OUTCOME)
        on_outcome(self, reported);
    udpai_list_append(&self->events, &reported->node);
}

/* ---- replicas ---- */

static void
node_takes(replica *self, bool is_lost)
{
    udpai_list *at;
    while ((at = udpai_list_pop(&self->events))) {
        udpai_replicated *one = UDPAI_LIST_ENTRY(at, udpai_replicated, node);
        if (one->kind == UDPAI_REPLICATED_CHANGE && !is_lost)
            apply(&self->node, one);
        udpai_replicated_free(one);
    }
}

/* From what its node has kept. */
static void
open_replica(replica *self)
{
    const udpai_replicator_env env = {
        .etcd = &model.own.etcd,
        .wheel = &wheel,
        .random = on_random,
        .report = on_report,
        .userdata = self,
    };
    const udpai_replicator_config config = {
        .prefix = UDPAI_STR(PREFIX),
        .own.id = udpai_str_from(self->name),
        .seals.is_secret = is_secret,
        .has = self->node.position,
    };
    self->reported = self->node;
    self->has_all = false;
    assert_ok(udpai_replicator_new(&self->replicator, &env, &config));
}

static void
close_replica(replica *self)
{
    self->replicator = udpai_replicator_free(self->replicator);
    node_takes(self, true);
    for (unsigned i = 1; i < n_batches; i++)
        batches[i].is_abandoned |= batches[i].by == self && !batches[i].is_over;
}

static void
begin(uint64_t seed)
{
    static const char *const names[REPLICAS] = {"a", "b", "c"};
    udpai_wheel_init(&wheel, 1000);
    etcd_model_init(&model, &wheel, seed);
    udpai_record_reader_init(&reader, NULL);
    chance = seed;
    n_batches = 1;
    n_events = n_history = 0;
    memset(batches, 0, sizeof(batches));
    memset(replicas, 0, sizeof(replicas));
    for (int i = 0; i < REPLICAS; i++) {
        replicas[i].name = names[i];
        udpai_list_init(&replicas[i].events);
        open_replica(&replicas[i]);
    }
}

static void
end(void)
{
    for (int i = 0; i < REPLICAS; i++)
        close_replica(&replicas[i]);
    run_ms(10000);
    etcd_model_done(&model);
    udpai_record_reader_done(&reader);
}

/* ---- proposing ---- */

static void
add_op(batch *self, size_t slot, bool is_delete)
{
    for (size_t i = 0; i < self->n_ops; i++)
        if (self->ops[i].slot == slot)
            return;
    if (self->n_ops < OPS_MAX)
        self->ops[self->n_ops++] = (batch_op){slot, is_delete, self->by->reported.of[slot] != 0};
}

/* What the node has of the name goes, and is not to come back. */
static void
remove_name(batch *self, size_t name)
{
    add_op(self, FLOORS + name, false);
    for (size_t slot = name; slot < FLOORS; slot += NAMES)
        if (self->by->node.of[slot])
            add_op(self, slot, true);
}

static void
decide(batch *self)
{
    size_t kind = below(8), n = 1 + below(5);
    if (kind < 2)
        remove_name(self, below(NAMES));
    else if (kind == 2)
        add_op(self, FLOORS + below(NAMES), true); /* it is not remembered any more */
    for (size_t i = 0; i < n && kind; i++) {
        size_t slot = below(FLOORS);
        add_op(self, slot, below(3) == 0 && (self->by->node.of[slot] || below(4) == 0));
    }
}

static udpai_durable_batch *
make_batch(const batch *self)
{
    udpai_durable_batch *made = udpai_durable_batch_new();
    assert_non_null(made);
    for (size_t i = 0; i < self->n_ops; i++) {
        const batch_op *op = &self->ops[i];
        UDPA_AUTO(udpa_resource_unref)
        udpa_resource *resource = make_resource(op->slot, self->number);
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = origin_of(op->slot), *name = NULL;
        udpai_str text = udpai_resource_name(resource);
        assert_ok(udpa_bytes_new(&name, text.data, text.len));
        const udpai_durable_op put = {UDPAI_DURABLE_PUT, origin, .resource = resource};
        const udpai_durable_op deletion = {UDPAI_DURABLE_DELETE, origin,
                                           .type = udpai_resource_type(resource), .name = name};
        assert_ok(udpai_durable_batch_add(made, op->is_delete ? &deletion : &put));
    }
    made->position = self->by->node.position;
    return made;
}

static void
propose(replica *by)
{
    assert_true(n_batches < BATCHES_MAX);
    batch *self = &batches[n_batches];
    self->by = by;
    self->number = n_batches++;
    self->decided = by->node.position.revision;
    self->proposed = by->reported.position.revision;
    decide(self);
    udpai_replicated *outcome = udpai_replicated_new(UDPAI_REPLICATED_OUTCOME);
    assert_non_null(outcome);
    outcome->ticket = self->number;
    udpai_replicator_propose(by->replicator, make_batch(self), outcome);
}

/* ---- what must be true at the end ---- */

static bool
may_be_done(const batch *self)
{
    return self->is_abandoned || self->outcome == UDPAI_REPLICATED_COMMITTED ||
           self->outcome == UDPAI_REPLICATED_UNKNOWN;
}

/* What was there before had been seen when it was decided. What was not there when it was proposed
 * may have come and gone. */
static bool
was_seen(const batch *self, size_t slot, int64_t revision)
{
    const event *before = find_event(slot, revision - 1);
    const event *known = find_event(slot, self->proposed);
    if (before && before->by)
        return before->revision <= self->decided;
    return !known || known->by == 0;
}

static void
check_deletes(const batch *self, int64_t revision)
{
    for (size_t i = 0; i < self->n_ops; i++)
        if (self->ops[i].is_delete && self->ops[i].was_there) {
            assert_true(is_deleted_at(self->ops[i].slot, revision));
            assert_true(was_seen(self, self->ops[i].slot, revision));
        }
}

/* One that puts nothing: was all of it deleted at some revision? */
static void
check_deleted(const batch *self)
{
    size_t n_there = 0;
    for (size_t i = 0; i < self->n_ops; i++)
        n_there += self->ops[i].was_there;
    for (int64_t at = self->decided + 1; n_there && at <= self->known; at++) {
        bool is_it = true;
        for (size_t i = 0; i < self->n_ops; i++)
            is_it &= !self->ops[i].was_there || is_deleted_at(self->ops[i].slot, at);
        if (is_it)
            return;
    }
    assert_int_equal(n_there, 0);
}

static void
check_batch(const batch *self)
{
    int64_t revision = 0;
    size_t n_puts = 0, n_done = 0;
    assert_true(self->is_over != self->is_abandoned);
    for (size_t i = 0; i < self->n_ops; i++) {
        const batch_op *op = &self->ops[i];
        int64_t at = 0;
        if (op->is_delete)
            continue;
        unsigned n = n_written(self, op->slot, &at);
        assert_true(n <= 1);
        assert_true(n == 0 || revision == 0 || revision == at); /* at one revision */
        revision = n ? at : revision;
        n_puts++;
        n_done += n;
        if (n)
            assert_true(was_seen(self, op->slot, at));
        if (n && op->slot < FLOORS)
            assert_true(was_seen(self, FLOORS + op->slot % NAMES, at));
    }
    assert_true(n_done == 0 || n_done == n_puts);
    assert_true(n_done == 0 || may_be_done(self));
    if (n_done)
        check_deletes(self, revision);
    if (self->is_abandoned || self->outcome != UDPAI_REPLICATED_COMMITTED)
        return;
    assert_int_equal(n_done, n_puts);
    assert_true(revision <= self->known);
    if (n_puts == 0)
        check_deleted(self);
}

/* Somebody must have wanted it. */
static void
check_deletion(const event *one)
{
    const event *before = find_event(one->slot, one->revision - 1);
    assert_non_null(before);
    for (unsigned i = 1; i < n_batches; i++)
        for (size_t k = 0; k < batches[i].n_ops; k++)
            if (batches[i].ops[k].slot == one->slot && batches[i].ops[k].is_delete &&
                may_be_done(&batches[i]) && before->revision <= batches[i].decided)
                return;
    fail_msg("nobody has deleted slot %zu at revision %lld", one->slot, (long long)one->revision);
}

static void
check_all(unsigned *n_outcomes)
{
    for (unsigned i = 1; i < n_batches; i++) {
        check_batch(&batches[i]);
        if (batches[i].is_over)
            n_outcomes[batches[i].outcome]++;
    }
    for (size_t i = 0; i < n_events; i++)
        if (events[i].by == 0)
            check_deletion(&events[i]);
    for (int i = 0; i < REPLICAS; i++)
        for (size_t slot = 0; slot < SLOTS; slot++) {
            const event *last = find_event(slot, model.revision);
            assert_int_equal(replicas[i].reported.of[slot], last ? last->by : 0);
        }
}

/* ---- all of it at once ---- */

static void
disturb(void)
{
    if (below(model.is_away ? 14 : 60) == 0)
        etcd_model_away(&model, !model.is_away);
    if (below(model.faults.refused == 1000 ? 6 : 60) == 0)
        model.faults.refused = below(3) ? 100 : 1000;
    if (below(15) == 0)
        etcd_model_compact(&model, model.compacted + (int64_t)below((size_t)(model.revision -
                                                                             model.compacted + 1)));
    if (below(30) == 0) {
        replica *one = &replicas[below(REPLICAS)];
        close_replica(one);
        open_replica(one);
    }
}

static void
play(uint64_t seed, unsigned *n_outcomes)
{
    begin(seed);
    model.faults = (etcd_faults){
        .lost_requests = (unsigned)below(150),
        .lost_responses = (unsigned)below(150),
        .late_requests = (unsigned)below(150),
        .refused = (unsigned)below(200),
        .filling = (unsigned)below(50),
        .cut_watches = (unsigned)below(100),
        .repeated = (unsigned)below(300),
        .parts = (unsigned)below(900),
        .old_members = (unsigned)below(200),
        .silent_watches = (unsigned)below(20),
        .latency_ms = 1 + below(50),
    };
    for (int i = 0; i < 120; i++) {
        disturb();
        propose(&replicas[below(REPLICAS)]);
        for (int k = 0; k < REPLICAS; k++)
            if (below(3))
                node_takes(&replicas[k], false);
        run_ms(below(4) ? below(150) : below(600));
    }
    model.faults = (etcd_faults){.latency_ms = 3};
    etcd_model_away(&model, false);
    run_ms(30000);
    check_all(n_outcomes);
    end();
}

static void
whatever_is_lost_replicas_are_the_same(void **state)
{
    (void)state;
    unsigned n_outcomes[5] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play(seed, n_outcomes);
    assert_true(n_outcomes[UDPAI_REPLICATED_COMMITTED] > 1000);
    assert_true(n_outcomes[UDPAI_REPLICATED_LOST] > 500);
    assert_true(n_outcomes[UDPAI_REPLICATED_NOT_DONE] > 100);
    assert_true(n_outcomes[UDPAI_REPLICATED_UNKNOWN] > 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_lost_replicas_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
