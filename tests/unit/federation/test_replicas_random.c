/* SPDX-License-Identifier: Apache-2.0 */
/* Whole nodes that are replicas of one, whatever is lost on the way, and whoever is killed. */
#include "tests/unit/federation/replicas_history.h"

/* By what
 * etcd has, which is read here key by key, must be true:
 *
 * R1  What has a receipt was in etcd, or was gone from it, at some time from when it was asked
 * until the receipt. R2  Nothing comes but what was published, and was not answered with an error;
 * nothing goes but what was removed, left out of a state of its publisher's world, or over. R3  A
 * node has what etcd had at one revision: each change set as a whole, and what follows from its
 * removals. What it has is what its stream side was sent, once all is sent. At a quiet time that is
 * the same on all nodes, with versions, generations and authorities. R4  What was committed when a
 * barrier was asked for was sent before it is answered; and that is in time, whether etcd is there
 * or not. Publications have their answer in time, too. R5  Where that was not so, nothing negative
 * is sent of what is not there. */
#define PUBLICATIONS_MAX 512
#define STEPS 60
#define SEEDS 70
#define ANSWER_MS 60000
#define ENDING_MS 20000                 /* another janitor takes ten seconds */
#define BARRIER_MS (PATIENCE_MS + 1500) /* with what comes later in a process */

typedef enum answer {
    ANSWER_NONE,
    ANSWER_GIVEN,
    ANSWER_UNKNOWN, /* its stream has ended */
} answer;

typedef struct publication {
    size_t replica, publisher;
    uint64_t session, asked_ms, ttl_ms;
    unsigned value;      /* its own number, or that of an earlier one */
    int64_t asked, done; /* revisions */
    bool puts[NAMES], removes[NAMES], is_refused[NAMES];
    bool is_state;
    answer answer;
} publication;

/* What counts of a name. */
typedef struct effect {
    unsigned by;
    uint64_t generation;
    char authority[16], version[16];
} effect;

static publication publications[PUBLICATIONS_MAX]; /* the first one is none */
static unsigned n_publications;
static size_t last_publisher;
static unsigned shown[NODES][NAMES]; /* to the stream side */
static udpai_settled *sent[NODES];   /* the same */
static unsigned n_receipts, n_refused, n_unknown, n_strict, n_behind, n_unknown_absences;

/* By the clock of the node. */
static uint64_t
put_ms(const event *put)
{
    return put->generation / 1000 - (uint64_t)1700000000 * 1000;
}

/* ---- R3: what a node has ---- */

typedef struct holding {
    unsigned by[FLOORS];
    effect effects[NAMES];
} holding;

static void
copy_text(char *to, size_t size, udpai_str text)
{
    (void)snprintf(to, size, "%.*s", UDPAI_SHOWN(text));
}

static bool
take_held(void *userdata, const udpai_contribution *held)
{
    holding *all = userdata;
    udpai_str key = udpai_origin_key(held->origin), name = udpai_resource_name(held->resource);
    if (!udpai_str_starts(key, UDPAI_STR("publisher:")))
        return true;
    all->by[slot_at(key, name)] = number_of(held->resource);
    if (!held->effective)
        return true;
    effect *of = &all->effects[name_at(name)];
    assert_int_equal(of->by, 0);
    of->by = number_of(held->resource);
    of->generation = udpa_resource_generation(held->resource);
    copy_text(of->authority, sizeof(of->authority), udpai_resource_authority(held->resource));
    copy_text(of->version, sizeof(of->version), udpai_resource_version(held->resource));
    return true;
}

static holding
get_holding(replica *self)
{
    holding all = {0};
    udpai_store_visit_all(udpai_node_store(self->node), take_held, &all);
    return all;
}

static void
look_at(replica *self)
{
    holding all = get_holding(self);
    int64_t revision = udpai_node_position(self->node).revision;
    bool is_sent = !udpai_store_has_changes(udpai_node_store(self->node));
    read_history();
    for (size_t at = 0; at < FLOORS; at++)
        assert_int_equal(all.by[at], expected(at, revision));
    for (size_t at = 0; at < NAMES && is_sent; at++)
        assert_int_equal(shown[self->index][at], all.effects[at].by);
}

/* For longer than it takes to end it. */
static bool
is_over(size_t at)
{
    const event held = find(at, model.revision);
    uint64_t ttl_ms = publications[held.by].ttl_ms;
    return ttl_ms && wheel.now_ms > put_ms(&held) + ttl_ms + ENDING_MS;
}

static void
look_at_all(void)
{
    holding first = get_holding(&replicas[0]);
    for (size_t at = 0; at < FLOORS; at++)
        assert_false(first.by[at] && is_over(at));
    for (size_t i = 0; i < NODES; i++) {
        holding all = get_holding(&replicas[i]);
        for (size_t at = 0; at < FLOORS; at++)
            assert_int_equal(all.by[at], expected(at, model.revision));
        for (size_t at = 0; at < NAMES; at++) {
            const effect *one = &first.effects[at], *other = &all.effects[at];
            assert_int_equal(one->by, other->by);
            assert_true(one->generation == other->generation);
            assert_string_equal(one->authority, other->authority);
            assert_string_equal(one->version, other->version);
        }
    }
}

/* ---- orders ---- */

/* Has it at this revision what there was at that one? */
static bool
has_what_was(int64_t asked, int64_t revision)
{
    bool has = true;
    read_history();
    for (size_t at = 0; at < SLOTS; at++)
        has &= revision >= asked || find(at, asked).revision == find(at, revision).revision;
    return has;
}

/* R5: who may be at a replica that has not all that there was is sent nothing negative. */
static void
check_absence(const replica *self, int64_t asked, int64_t revision)
{
    bool knows = udpai_settled_knows_absence(sent[self->index], UDPAI_STR(TEST_CDS),
                                             udpai_str_from(name_text(0)));
    bool has = has_what_was(asked, revision);
    n_unknown_absences += !knows;
    n_behind += !has;
    assert_true(has || !knows);
}

/* R4 */
static void
on_barrier_passed(replica *self, uint64_t number)
{
    barrier *passed = &self->barriers[number];
    int64_t revision = udpai_node_position(self->node).revision;
    assert_false(passed->is_answered);
    assert_true(wheel.now_ms - passed->asked_ms <= BARRIER_MS);
    passed->is_answered = true;
    check_absence(self, passed->asked, revision);
    holding all = get_holding(self);
    for (size_t at = 0; at < NAMES; at++)
        assert_int_equal(shown[self->index][at], all.effects[at].by);
    if (passed->is_loose)
        return;
    n_strict++;
    assert_true(has_what_was(passed->asked, revision));
}

/* R1 */
static void
check_receipt(const publication *self)
{
    read_history();
    for (size_t name = 0; name < NAMES; name++) {
        size_t at = self->publisher * NAMES + name;
        if (self->is_refused[name])
            continue;
        if (self->puts[name])
            assert_true(has_had(at, self->value, self->asked, self->done));
        else if (self->removes[name] || self->is_state)
            assert_true(has_had(at, 0, self->asked, self->done));
    }
}

static void
on_answer(const replica *by, const udpai_order *order)
{
    const udpai_publication *done = order->publication;
    publication *self = &publications[strtoul(done->nonce.data, NULL, 10)];
    const stream *on = &by->streams[order->session - 1];
    assert_true(self->replica == by->index && self->session == order->session);
    if (!on->is_open || self->answer == ANSWER_UNKNOWN) /* nobody hears it */
        return;
    assert_int_equal(self->answer, ANSWER_NONE);
    assert_true(wheel.now_ms - self->asked_ms <= ANSWER_MS);
    self->answer = ANSWER_GIVEN;
    self->done = model.revision;
    bool is_any = false;
    for (size_t i = 0; i < done->entries.n; i++)
        is_any |= self->is_refused[name_at(udpai_resource_name(done->entries.items[i].resource))] =
            done->entries.items[i].error != NULL;
    for (size_t i = 0; i < done->removals.n; i++)
        is_any |= self->is_refused[name_at(done->removals.items[i].name)] =
            done->removals.items[i].error != NULL;
    for (size_t name = 0; name < NAMES && self->is_state && is_any; name++)
        self->is_refused[name] = true;
    n_refused += is_any;
    n_receipts += !is_any;
    check_receipt(self);
}

static void
end_stream(replica *self, uint64_t session)
{
    if (!self->streams[session - 1].is_open)
        return;
    close_stream(self, session);
    for (unsigned i = 1; i < n_publications; i++)
        if (publications[i].replica == self->index && publications[i].session == session &&
            publications[i].answer == ANSWER_NONE) {
            publications[i].answer = ANSWER_UNKNOWN;
            n_unknown++;
        }
}

static void
show(replica *self, const udpai_change_set *changes)
{
    for (size_t i = 0; i < udpai_change_set_size(changes); i++) {
        const udpai_change *change = udpai_change_set_at(changes, i);
        bool is_there = change->kind != UDPAI_CHANGE_REMOVE;
        shown[self->index][name_at(udpai_resource_name(change->resource))] =
            is_there ? number_of(change->resource) : 0;
    }
}

/* Borrows it. */
static void
note_settled(const replica *self, udpai_settled *settled)
{
    udpai_settled_unref(sent[self->index]);
    sent[self->index] = udpai_settled_ref(settled);
}

static void
take_order(replica *self, udpai_order *order)
{
    if (order->kind == UDPAI_ORDER_CHANGES)
        show(self, order->changes);
    else if (order->kind == UDPAI_ORDER_SETTLED)
        note_settled(self, order->settled);
    else if (order->kind == UDPAI_ORDER_BARRIER)
        on_barrier_passed(self, order->ticket);
    else if (order->kind == UDPAI_ORDER_PUBLICATION_DONE)
        on_answer(self, order);
    else if (order->kind == UDPAI_ORDER_HANG_UP)
        end_stream(self, order->session);
    udpai_order_free(order);
}

/* ---- publishing ---- */

static void
add_entry(udpai_publication *message, publication *self, size_t name)
{
    char text[16];
    if (self->puts[name])
        return;
    (void)snprintf(text, sizeof(text), "%u", self->value);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource =
        RESOURCE(name_text(name), .type = TEST_CDS, .value = text, .version = text,
                 .authority = "acme", .ttl_ms = self->ttl_ms);
    self->puts[name] = true;
    assert_ok(udpai_publication_add(message, resource, false));
}

static void
remove_entry(udpai_publication *message, publication *self, size_t name)
{
    if (self->puts[name] || self->removes[name])
        return;
    self->removes[name] = true;
    assert_ok(udpai_publication_remove(message, udpai_str_from(name_text(name))));
}

/* The same once more. */
static bool
repeat(udpai_publication *message, publication *self)
{
    unsigned earlier = 1 + (unsigned)below(n_publications - 1);
    const publication *other = &publications[earlier];
    if (n_publications - earlier > 30 || other->publisher != self->publisher)
        return false;
    self->value = other->value;
    self->ttl_ms = other->ttl_ms;
    self->is_state = message->state_of_the_world = other->is_state;
    for (size_t name = 0; name < NAMES; name++)
        if (other->puts[name])
            add_entry(message, self, name);
    return message->entries.n != 0;
}

static void
fill(udpai_publication *message, publication *self)
{
    size_t kind = below(20);
    if (kind == 0) { /* more than a transaction holds */
        for (size_t name = FEW; name < NAMES; name++)
            add_entry(message, self, name);
        return;
    }
    if (kind < 6 && n_publications > 2 && repeat(message, self))
        return;
    self->is_state = message->state_of_the_world = kind == 6;
    self->ttl_ms = kind == 7 || kind == 8 ? 10000 + below(10000) : 0;
    for (size_t n = 1 + below(3); n; n--)
        add_entry(message, self, below(FEW));
    if (kind >= 14)
        remove_entry(message, self, below(FEW));
    if (kind >= 18)
        remove_entry(message, self, below(NAMES));
}

static void
publish(replica *by, const stream *on)
{
    char nonce[16];
    assert_true(n_publications < PUBLICATIONS_MAX);
    publication *self = &publications[n_publications];
    udpai_publication *message = udpai_publication_new();
    assert_non_null(message);
    *self = (publication){
        .replica = by->index,
        .publisher = on->publisher,
        .session = on->session,
        .asked_ms = wheel.now_ms,
        .value = n_publications,
        .asked = model.revision,
    };
    (void)snprintf(nonce, sizeof(nonce), "%u", n_publications);
    assert_ok(udpai_publication_set(&message->nonce, udpai_str_from(nonce)));
    assert_ok(udpai_publication_set(&message->type_url, UDPAI_STR(TEST_CDS)));
    assert_ok(udpai_publication_set(&message->name_space, UDPAI_STR("com.acme")));
    message->receipt_required = true;
    fill(message, self);
    n_publications++;
    udpai_report *report = new_report(UDPAI_REPORT_PUBLICATION, on->session);
    report->publication = message;
    udpai_node_report(by->node, report);
    flush(by);
}

static void
publish_somewhere(void)
{
    replica *by = &replicas[below(NODES)];
    last_publisher = below(3) ? below(PUBLISHERS) : last_publisher; /* as one that has moved */
    size_t at = by->n_streams;
    if (!by->is_started)
        return;
    while (at > 0 &&
           (!by->streams[at - 1].is_open || by->streams[at - 1].publisher != last_publisher))
        at--;
    publish(by, at ? &by->streams[at - 1] : open_stream(by, last_publisher));
}

/* ---- what must be true at the end ---- */

static bool
may_have_done(const publication *self, size_t name, int64_t revision)
{
    return self->asked < revision &&
           (self->answer == ANSWER_UNKNOWN || (!self->is_refused[name] && self->done >= revision));
}

static bool
was_put(size_t at, const event *one)
{
    for (unsigned i = 1; i < n_publications; i++)
        if (publications[i].value == one->by && publications[i].publisher == at / NAMES &&
            publications[i].puts[at % NAMES] &&
            may_have_done(&publications[i], at % NAMES, one->revision))
            return true;
    return false;
}

/* The removal itself, too, and what is of before that. */
static bool
was_removed(size_t at, const event *one)
{
    size_t name = at % NAMES;
    const event before = find(at, one->revision - 1);
    const event floor = find(FLOORS + at % FLOORS, one->revision);
    uint64_t ttl_ms = at < FLOORS ? publications[before.by].ttl_ms : 0;
    if (at < FLOORS && floor.by && floor.generation > before.generation)
        return true;
    if (ttl_ms && one->ms >= put_ms(&before) + ttl_ms)
        return true;
    for (unsigned i = 1; i < n_publications; i++) {
        const publication *by = &publications[i];
        bool is_left_out = by->is_state && !by->puts[name];
        if ((is_left_out || by->removes[name]) && by->publisher == at % FLOORS / NAMES &&
            may_have_done(by, name, one->revision))
            return true;
    }
    return false;
}

/* R2 */
static void
check_history(void)
{
    for (size_t at = 0; at < SLOTS; at++)
        for (size_t i = 0; i < slots[at].events.n; i++) {
            const event *one = &slots[at].events.items[i];
            if (at < FLOORS && one->by)
                assert_true(was_put(at, one));
            else if (at < FLOORS || one->by)
                assert_true(was_removed(at, one));
        }
}

/* R4 */
static void
check_answers(void)
{
    for (unsigned i = 1; i < n_publications; i++)
        assert_true(publications[i].answer != ANSWER_NONE);
    for (size_t i = 0; i < NODES; i++)
        for (uint64_t k = 1; k <= replicas[i].n_barriers; k++)
            assert_true(replicas[i].barriers[k].is_answered);
}

/* ---- all of it at once ---- */

static void
kill_one(replica *self)
{
    for (size_t i = 0; i < self->n_streams; i++)
        if (self->streams[i].is_open)
            end_stream(self, self->streams[i].session);
    take_down(self);
    memset(shown[self->index], 0, sizeof(shown[0]));
    sent[self->index] = udpai_settled_unref(sent[self->index]);
    if (below(4) == 0)
        fed_disk_done(&self->disk);
}

static void
disturb(void)
{
    size_t newer = (size_t)(model.revision - model.compacted + 1);
    replica *one = &replicas[below(NODES)];
    if (below(model.is_away ? 5 : 40) == 0)
        etcd_model_away(&model, !model.is_away);
    if (below(20) == 0)
        etcd_model_compact(&model, model.compacted + (int64_t)below(newer));
    if (below(20) == 0)
        one->is_slow = !one->is_slow;
    if (one->node && below(40) == 0)
        kill_one(one);
    else if (!one->node && below(8) == 0)
        bring_up(one);
    if (one->node && one->n_streams && below(10) == 0)
        end_stream(one, one->streams[below(one->n_streams)].session);
    if (one->is_started && below(3) == 0)
        ask_barrier(one);
}

/* Then all are the same. */
static void
rest(void)
{
    const etcd_faults faults = model.faults;
    model.faults = (etcd_faults){.latency_ms = 20};
    etcd_model_away(&model, false);
    for (size_t i = 0; i < NODES; i++) {
        replicas[i].is_slow = false;
        if (!replicas[i].node)
            bring_up(&replicas[i]);
    }
    run_ms(30000);
    check_answers();
    look_at_all();
    model.faults = faults;
}

static void
begin(uint64_t seed)
{
    bed_begin(seed);
    history_begin();
    n_publications = 1;
    last_publisher = 0;
    memset(shown, 0, sizeof(shown));
    for (size_t i = 0; i < NODES; i++)
        bring_up(&replicas[i]);
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
    if (seed % 3 == 0)
        model.faults = (etcd_faults){.latency_ms = 1 + below(10)};
}

static void
end(void)
{
    bed_end();
    for (size_t i = 0; i < NODES; i++)
        sent[i] = udpai_settled_unref(sent[i]);
    history_end();
}

static void
play(uint64_t seed)
{
    begin(seed);
    run_ms(1000);
    for (int i = 1; i <= STEPS; i++) {
        disturb();
        publish_somewhere();
        run_ms(below(4) ? below(150) : below(2000));
        if (i % 30 == 0)
            rest();
    }
    read_history();
    check_history();
    end();
}

static void
whatever_is_lost_nodes_are_the_same(void **state)
{
    (void)state;
    n_receipts = n_refused = n_unknown = n_strict = n_large = n_behind = n_unknown_absences = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play(seed);
    assert_true(n_receipts > 1000 && n_refused > 10 && n_unknown > 20);
    assert_true(n_strict > 300 && n_large > 50);
    assert_true(n_behind > 30 && n_strict > n_unknown_absences);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_lost_nodes_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
