/* SPDX-License-Identifier: Apache-2.0 */
/* Change sets of any size among small ones, whatever is lost on the way, and whoever goes in the
 * middle of one. */
#include "replica/replicator.h"

#include "tests/unit/replica/large_history.h"

/* What etcd has is read here by itself, key by key; by that must be true:
 *
 * L1  What a replica has reported is what etcd had at that revision: a set as a whole, or nothing.
 * L2  What was committed is there as a whole, at one revision and once; what was lost, rejected or
 *     not done never is; of what is not known, all or nothing.
 * L3  Nothing is written over what had not been seen when it was decided.
 * L4  After a time of quiet no lock and no mark is left, and everything has its outcome.
 * L5  An outcome comes in time, whatever waits for what. */
#define REPLICAS 3
#define BATCHES_MAX 64
#define STEPS 30
#define SEEDS 24
#define IN_TIME_MS 40000

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

typedef struct batch {
    const replica *by;
    unsigned number;           /* also the generation of what it puts, which tells it apart */
    int64_t decided, proposed; /* at which revision it was, and where the replicator was then */
    uint64_t proposed_ms;
    bool puts[SLOTS], deletes[SLOTS];
    bool was_there[SLOTS]; /* of what it deletes, as far as was reported */
    size_t n_puts, n_deletes;
    bool is_over, is_abandoned; /* it has an outcome; it gets none */
    udpai_replicated_outcome outcome;
    int64_t known; /* where etcd was when the outcome came */
} batch;

static udpai_wheel wheel;
static replica replicas[REPLICAS];
static batch batches[BATCHES_MAX]; /* the first one is none */
static unsigned n_batches;
static uint64_t chance;
static unsigned n_taken_over; /* large sets, with the end of a replica in the middle */

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

/* ---- what is reported ---- */

/* What is there twice says the same. */
static void
apply(table *to, const udpai_replicated *change)
{
    bool is_seen[SLOTS] = {false};
    if (change->is_all)
        memset(to->of, 0, sizeof(to->of));
    for (size_t i = 0; i < change->batch->ops.n; i++) {
        const udpai_durable_op *op = &change->batch->ops.items[i];
        size_t at = slot_of(op);
        bool is_put = op->kind == UDPAI_DURABLE_PUT;
        unsigned by = is_put ? (unsigned)udpa_resource_generation(op->resource) : 0;
        assert_true(is_put || op->kind == UDPAI_DURABLE_DELETE);
        assert_true(!is_seen[at] || to->of[at] == by);
        is_seen[at] = true;
        to->of[at] = by;
    }
    to->position = change->batch->position;
}

/* L1 */
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
    read_history();
    for (size_t at = 0; at < SLOTS; at++)
        assert_int_equal(self->reported.of[at], by_at(&slots[at].counts, now.revision));
}

static void
on_outcome(const replica *self, const udpai_replicated *outcome)
{
    batch *of = &batches[outcome->ticket];
    assert_true(outcome->ticket && outcome->ticket < n_batches);
    assert_ptr_equal(of->by, self);
    assert_false(of->is_over || of->is_abandoned);
    assert_true(wheel.now_ms - of->proposed_ms < IN_TIME_MS); /* L5 */
    of->is_over = true;
    of->outcome = outcome->outcome;
    of->known = model.revision;
    bool is_clear =
        of->outcome == UDPAI_REPLICATED_COMMITTED || of->outcome == UDPAI_REPLICATED_LOST;
    assert_int_equal(outcome->error == NULL, is_clear);
    for (size_t at = 0; at < SLOTS && of->outcome == UDPAI_REPLICATED_COMMITTED; at++)
        assert_true(!of->puts[at] || self->reported.of[at] == of->number ||
                    has_changed(&slots[at].counts, of->proposed, of->known));
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

static bool
has_marks(void)
{
    return etcd_model_count(&model, UDPAI_STR(PREFIX "i/"), model.revision) ||
           etcd_model_count(&model, UDPAI_STR(PREFIX "x/"), model.revision);
}

static void
close_replica(replica *self)
{
    if (!self->replicator)
        return;
    n_taken_over += has_marks();
    self->replicator = udpai_replicator_free(self->replicator);
    node_takes(self, true);
    for (unsigned i = 1; i < n_batches; i++)
        batches[i].is_abandoned |= batches[i].by == self && !batches[i].is_over;
}

static void
begin(uint64_t seed)
{
    static const char *const ids[REPLICAS] = {"a", "b", "c"};
    udpai_wheel_init(&wheel, 1000);
    etcd_model_init(&model, &wheel, seed);
    history_begin();
    chance = seed;
    n_batches = 1;
    memset(batches, 0, sizeof(batches));
    memset(replicas, 0, sizeof(replicas));
    for (int i = 0; i < REPLICAS; i++) {
        replicas[i].name = ids[i];
        udpai_list_init(&replicas[i].events);
        if (i != 2 || seed % 2) /* two, or three */
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
    history_end();
}

/* ---- proposing ---- */

static void
add_op(batch *self, size_t at, bool is_delete)
{
    if (self->puts[at] || self->deletes[at])
        return;
    self->puts[at] = !is_delete;
    self->deletes[at] = is_delete;
    self->n_puts += !is_delete;
    self->n_deletes += is_delete;
    self->was_there[at] = self->by->reported.of[at] != 0;
}

/* What the node has of the name goes, and is not to come back. */
static void
remove_name(batch *self, size_t name)
{
    add_op(self, FLOORS + name, false);
    for (size_t at = name; at < FLOORS; at += NAMES)
        if (self->by->node.of[at])
            add_op(self, at, true);
}

static void
decide(batch *self, bool is_large)
{
    size_t kind = below(8), n = 1 + below(is_large ? 200 : 4);
    for (size_t i = 0; i < n; i++) {
        size_t at = below(FLOORS);
        if (kind < 2 && below(4) == 0)
            remove_name(self, at % NAMES);
        else if (kind == 2 && below(4) == 0)
            add_op(self, FLOORS + at % NAMES, true); /* it is not remembered any more */
        else
            add_op(self, at, below(3) == 0 && (self->by->node.of[at] || below(4) == 0));
    }
}

static udpai_durable_batch *
make_batch(const batch *self)
{
    udpai_durable_batch *made = udpai_durable_batch_new();
    assert_non_null(made);
    for (size_t at = 0; at < SLOTS; at++) {
        if (!self->puts[at] && !self->deletes[at])
            continue;
        UDPA_AUTO(udpa_resource_unref)
        udpa_resource *resource = make_resource(at, self->number);
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = origin_of(at), *name = NULL;
        udpai_str text = udpai_resource_name(resource);
        assert_ok(udpa_bytes_new(&name, text.data, text.len));
        const udpai_durable_op put = {UDPAI_DURABLE_PUT, origin, .resource = resource};
        const udpai_durable_op deletion = {UDPAI_DURABLE_DELETE, origin,
                                           .type = udpai_resource_type(resource), .name = name};
        assert_ok(udpai_durable_batch_add(made, self->deletes[at] ? &deletion : &put));
    }
    made->position = self->by->node.position;
    return made;
}

static void
propose(replica *by)
{
    assert_true(n_batches < BATCHES_MAX);
    batch *self = &batches[n_batches];
    bool is_large = below(3) == 0;
    if (is_large && below(5))
        node_takes(by, false);
    self->by = by;
    self->number = n_batches++;
    self->decided = by->node.position.revision;
    self->proposed = by->reported.position.revision;
    self->proposed_ms = wheel.now_ms;
    decide(self, is_large);
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

/* How often it was put there. */
static unsigned
n_put(const batch *self, size_t at, int64_t *ret_revision)
{
    unsigned n = 0;
    const event_vector *counts = &slots[at].counts;
    for (size_t i = 0; i < counts->n; i++)
        if (counts->items[i].by == self->number) {
            n++;
            *ret_revision = counts->items[i].revision;
        }
    return n;
}

/* When the lock for this was written; else that revision itself. */
static int64_t
locked_at(const batch *self, size_t at, int64_t revision)
{
    const event_vector *locks = &slots[at].locks;
    for (size_t i = 0; i < locks->n; i++)
        if (locks->items[i].by == self->number)
            return locks->items[i].revision;
    return revision;
}

/* What was there before had been seen when it was decided. What was not there when it was proposed
 * may have come and gone. */
static bool
was_seen(const batch *self, const event_vector *in, int64_t revision)
{
    const event *before = find(in, revision - 1);
    const event *known = find(in, self->proposed);
    if (before && before->by)
        return before->revision <= self->decided;
    return !known || known->by == 0 || known->revision > self->decided || !before ||
           before->revision > known->revision;
}

/* L3. Of a removal of the same name, as it was when the lock was written: what comes between is
 * found out by whoever applies it. */
static void
check_seen(const batch *self, size_t at, int64_t revision)
{
    const slot *floor = &slots[FLOORS + at % NAMES];
    int64_t locked = locked_at(self, at, revision);
    assert_true(was_seen(self, &slots[at].counts, revision));
    if (at >= FLOORS || !self->puts[at])
        return;
    const event *before = find(&floor->records, locked - 1);
    assert_true(!before || !before->by || before->revision <= self->decided);
    before = find(&floor->counts, locked - 1);
    if (locked == revision) /* a small one, which does not overlook locks either */
        assert_true(!before || !before->by || before->revision <= self->decided);
}

/* What it deletes was not there, at some time since it was proposed: others may have put it. */
static bool
was_away(const batch *self, size_t at, int64_t revision)
{
    const event_vector *counts = &slots[at].counts;
    for (size_t i = 0; i < counts->n; i++)
        if (counts->items[i].by == 0 && counts->items[i].revision > self->proposed &&
            counts->items[i].revision <= revision)
            return true;
    return by_at(counts, self->proposed) == 0;
}

/* One that puts nothing: was all of it away at some revision? */
static bool
has_deleted(const batch *self)
{
    for (int64_t at = self->decided; at <= self->known; at++) {
        bool is_it = true;
        for (size_t i = 0; i < SLOTS && is_it; i++)
            is_it = !self->deletes[i] || by_at(&slots[i].counts, at) == 0;
        if (is_it)
            return true;
    }
    return false;
}

static bool
shares_with(const batch *self, unsigned other)
{
    for (size_t at = 0; at < SLOTS; at++)
        if ((self->puts[at] || self->deletes[at]) &&
            (batches[other].puts[at] || batches[other].deletes[at]))
            return true;
    return false;
}

/* Something that it is about was written since it was decided, or locked. */
static bool
has_lost_rightly(const batch *self)
{
    for (size_t at = 0; at < SLOTS; at++) {
        const slot *own = &slots[at], *floor = &slots[FLOORS + at % NAMES];
        if (!self->puts[at] && !self->deletes[at])
            continue;
        if (has_changed(&own->records, self->decided, self->known) ||
            (self->puts[at] && at < FLOORS &&
             (has_changed(&floor->records, self->decided, self->known) ||
              has_changed(&floor->locks, self->decided, self->known))))
            return true;
        for (size_t i = 0; i < own->locks.n; i++)
            if (own->locks.items[i].revision > self->decided &&
                own->locks.items[i].revision <= self->known && own->locks.items[i].by &&
                own->locks.items[i].by != self->number)
                return true;
    }
    for (unsigned i = 1; i < n_batches; i++) /* its locks may be deletions, which say nothing */
        if (i != self->number && batches[i].n_deletes && shares_with(self, i) &&
            (batches[i].is_abandoned || batches[i].known > self->decided))
            return true;
    return false;
}

/* L2, L3 */
static void
check_batch(const batch *self)
{
    int64_t revision = 0;
    size_t n_done = 0;
    assert_true(self->is_over != self->is_abandoned); /* L4 */
    for (size_t at = 0; at < SLOTS; at++) {
        int64_t put_at = 0;
        unsigned n = self->puts[at] ? n_put(self, at, &put_at) : 0;
        assert_true(n <= 1);
        assert_true(n == 0 || revision == 0 || revision == put_at);
        revision = n ? put_at : revision;
        n_done += n;
    }
    assert_true(n_done == 0 || n_done == self->n_puts);
    assert_true(n_done == 0 || may_be_done(self));
    for (size_t at = 0; at < SLOTS && n_done; at++) {
        if (self->puts[at])
            check_seen(self, at, revision);
        if (self->deletes[at]) {
            const event *last = find(&slots[at].counts, revision);
            assert_true(was_away(self, at, revision));
            if (last && last->revision == revision)
                check_seen(self, at, revision);
        }
    }
    if (self->is_abandoned)
        return;
    if (self->outcome == UDPAI_REPLICATED_LOST)
        assert_true(has_lost_rightly(self) || (self->n_puts == 0 && has_deleted(self)));
    if (self->outcome != UDPAI_REPLICATED_COMMITTED)
        return;
    assert_int_equal(n_done, self->n_puts);
    assert_true(revision <= self->known);
    if (self->n_puts == 0)
        assert_true(has_deleted(self));
}

/* Somebody must have wanted it, and have seen what was there. */
static void
check_deletion(size_t at, int64_t revision)
{
    const event *before = find(&slots[at].counts, revision - 1);
    assert_true(before && before->by);
    for (unsigned i = 1; i < n_batches; i++)
        if (batches[i].deletes[at] && may_be_done(&batches[i]) &&
            before->revision <= batches[i].decided)
            return;
    fail_msg("nobody has deleted slot %zu at revision %lld", at, (long long)revision);
}

static void
check_all(unsigned *n_outcomes)
{
    read_history();
    assert_false(has_marks()); /* L4 */
    assert_int_equal(etcd_model_count(&model, UDPAI_STR(PREFIX "p/"), model.revision), 0);
    for (unsigned i = 1; i < n_batches; i++) {
        check_batch(&batches[i]);
        if (batches[i].is_over)
            n_outcomes[batches[i].outcome]++;
    }
    for (size_t at = 0; at < SLOTS; at++)
        for (size_t i = 0; i < slots[at].counts.n; i++)
            if (slots[at].counts.items[i].by == 0)
                check_deletion(at, slots[at].counts.items[i].revision);
    for (int i = 0; i < REPLICAS; i++)
        for (size_t at = 0; at < SLOTS && replicas[i].replicator; at++) {
            assert_int_equal(replicas[i].reported.of[at], by_at(&slots[at].counts, model.revision));
            assert_int_equal(slots[at].record, by_at(&slots[at].counts, model.revision));
        }
}

/* ---- all of it at once ---- */

static void
disturb(void)
{
    size_t newer = (size_t)(model.revision - model.compacted + 1);
    replica *one = &replicas[below(REPLICAS)];
    if (below(model.is_away ? 4 : 40) == 0)
        etcd_model_away(&model, !model.is_away);
    if (below(model.faults.refused == 1000 ? 4 : 40) == 0)
        model.faults.refused = below(3) ? 100 : 1000;
    if (below(15) == 0)
        etcd_model_compact(&model, model.compacted + (int64_t)below(newer));
    if (below(one->replicator && has_marks() ? 5 : 20) == 0 && one->replicator) {
        close_replica(one);
        if (below(4)) /* else it is away until the end */
            open_replica(one);
    }
}

static void
do_something(void)
{
    replica *one = &replicas[below(REPLICAS)];
    disturb();
    if (one->replicator)
        propose(one);
    for (int k = 0; k < REPLICAS; k++)
        if (below(3))
            node_takes(&replicas[k], false);
    run_ms(below(4) ? below(300) : below(1500));
}

static void
play(uint64_t seed, unsigned *n_outcomes)
{
    begin(seed);
    model.faults = (etcd_faults){
        .lost_requests = (unsigned)below(60),
        .lost_responses = (unsigned)below(60),
        .late_requests = (unsigned)below(60),
        .refused = (unsigned)below(100),
        .filling = (unsigned)below(30),
        .cut_watches = (unsigned)below(50),
        .repeated = (unsigned)below(300),
        .parts = (unsigned)below(900),
        .old_members = (unsigned)below(200),
        .silent_watches = (unsigned)below(10),
        .latency_ms = 1 + below(40),
    };
    if (seed % 4 == 0)
        model.faults = (etcd_faults){.latency_ms = 1 + below(10)};
    run_ms(500);
    for (int i = 0; i < STEPS; i++)
        do_something();
    model.faults = (etcd_faults){.latency_ms = 3};
    etcd_model_away(&model, false);
    if (!replicas[0].replicator) /* somebody must be there to end what is left */
        open_replica(&replicas[0]);
    run_ms(30000);
    check_all(n_outcomes);
    end();
}

static void
whatever_is_lost_large_sets_are_whole(void **state)
{
    (void)state;
    unsigned n_outcomes[5] = {0};
    n_committed_sets = n_taken_over = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play(seed, n_outcomes);
    assert_true(n_outcomes[UDPAI_REPLICATED_COMMITTED] > 100);
    assert_true(n_outcomes[UDPAI_REPLICATED_LOST] > 50);
    assert_true(n_outcomes[UDPAI_REPLICATED_NOT_DONE] > 20);
    assert_true(n_committed_sets > 20 && n_taken_over > 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_lost_large_sets_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
