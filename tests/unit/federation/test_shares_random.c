/* SPDX-License-Identifier: Apache-2.0 */
/* A directory that one replica reads for all, whatever is lost on the way, whoever is killed, and
 * whatever each of them reads. At any time a node has what some replica has read at some time, as a
 * whole, and the generation of a name does not go down. At a quiet time all have the same, which is
 * what the elected one has read last. */
#include <stdio.h>

#include "federation/node_internal.h"
#include "federation/replica.h"
#include "tests/unit/federation/replicas_bed.h"

#define ROOT "/files"
#define ORIGIN "path:" ROOT
#define NAMES 48 /* more than a transaction of etcd has room for */
#define READINGS_MAX 2048
#define STEPS 60
#define SEEDS 60

/* A value of each name; 0: it is not there. */
typedef struct reading {
    unsigned values[NAMES];
} reading;

typedef struct holding {
    reading what;
    uint64_t generations[NAMES];
} holding;

static reading readings[READINGS_MAX]; /* the first one is nothing */
static size_t n_readings, last[NODES]; /* of each replica */
static bool has_read[NODES];           /* in this life */
static holding before[NODES];
static unsigned n_changes, n_elected[NODES];

/* ---- what a node has ---- */

/* No zero byte ends it. */
static unsigned
number_in(udpai_str digits)
{
    unsigned number = 0;
    for (size_t i = 0; i < digits.len; i++)
        number = 10 * number + (unsigned)(digits.data[i] - '0');
    return number;
}

static bool
take_held(void *userdata, const udpai_contribution *held)
{
    holding *all = userdata;
    udpai_str name = udpai_resource_name(held->resource);
    size_t at = strtoul(name.data + strlen("com.acme/"), NULL, 10);
    assert_true(at < NAMES);
    all->what.values[at] = number_in(udpai_resource_value(held->resource));
    all->generations[at] = udpa_resource_generation(held->resource);
    return true;
}

static holding
get_holding(const replica *self)
{
    holding all = {0};
    const udpai_store *store = self->node->context.store;
    const udpai_origin *origin =
        udpai_store_find_origin(self->node->context.store, UDPAI_STR(ORIGIN));
    if (origin)
        udpai_store_visit_origin(store, origin, (udpai_str){0}, take_held, &all);
    return all;
}

static bool
was_read(const reading *what)
{
    for (size_t i = 0; i < n_readings; i++)
        if (memcmp(&readings[i], what, sizeof(*what)) == 0)
            return true;
    return false;
}

static void
look_at(replica *self)
{
    holding all = get_holding(self), *was = &before[self->index];
    assert_true(was_read(&all.what));
    for (size_t i = 0; i < NAMES; i++)
        assert_true(!all.generations[i] || all.generations[i] >= was->generations[i]);
    n_changes += memcmp(&all.what, &was->what, sizeof(all.what)) != 0;
    *was = all;
}

static void
take_order(replica *self, udpai_order *order)
{
    (void)self;
    udpai_order_free(order);
}

/* ---- what is read ---- */

static void
share_root(replica *self)
{
    assert_ok(udpai_node_expect_files(self->node, UDPAI_STR(ROOT)));
    assert_ok(udpai_node_share_files(self->node, UDPAI_STR(ROOT), (udpai_str){0}));
    has_read[self->index] = false;
    memset(&before[self->index], 0, sizeof(before[0]));
}

static udpa_resource *
file(size_t name, unsigned number)
{
    char text[32], value[16];
    (void)snprintf(text, sizeof(text), "com.acme/%zu", name);
    (void)snprintf(value, sizeof(value), "%u", number);
    return RESOURCE(text, .type = TEST_CDS, .value = value, .version = value);
}

static void
read_files(replica *self)
{
    udpa_resource *resources[NAMES];
    const reading *what = &readings[last[self->index]];
    udpai_directory directory = {
        .root = UDPAI_STR(ROOT), .resources = resources, .max_withdrawal = 100};
    for (size_t i = 0; i < NAMES; i++)
        if (what->values[i])
            resources[directory.n_resources++] = file(i, what->values[i]);
    has_read[self->index] = true;
    assert_ok(udpai_node_set_files(self->node, &directory, NULL));
    for (size_t i = 0; i < directory.n_resources; i++)
        udpa_resource_unref(resources[i]);
    flush(self);
}

/* Something of what it had, or of what another one has, and sometimes all. */
static void
check_out(size_t by)
{
    assert_true(n_readings < READINGS_MAX);
    reading next = readings[last[below(2) ? by : below(NODES)]];
    size_t n = below(8) == 0 ? NAMES : below(4);
    for (size_t i = 0; i < n; i++)
        next.values[n == NAMES ? i : below(NAMES)] = below(4) ? (unsigned)n_readings : 0;
    last[by] = n_readings;
    readings[n_readings++] = next;
}

/* ---- all of it at once ---- */

static void
read_again(void)
{
    for (size_t i = 0; i < NODES; i++)
        if (replicas[i].is_started && !has_read[i])
            read_files(&replicas[i]);
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
    if (one->node && below(30) == 0) {
        take_down(one);
        if (below(4) == 0)
            fed_disk_done(&one->disk);
    } else if (!one->node && below(8) == 0) {
        bring_up(one);
    }
    one = &replicas[below(NODES)];
    if (below(2)) {
        check_out(one->index);
        has_read[one->index] = false;
    }
    read_again();
}

static void
look_at_all(void)
{
    size_t elected = NODES;
    for (size_t i = 0; i < NODES; i++)
        if (udpai_replica_is_janitor(replicas[i].node->replica)) {
            assert_int_equal(elected, NODES);
            elected = i;
        }
    assert_true(elected < NODES);
    n_elected[elected]++;
    const holding first = get_holding(&replicas[elected]);
    assert_memory_equal(&first.what, &readings[last[elected]], sizeof(first.what));
    for (size_t i = 0; i < NODES; i++) {
        const holding all = get_holding(&replicas[i]);
        assert_memory_equal(&all, &first, sizeof(all));
    }
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
    run_ms(15000);
    read_again();
    run_ms(30000);
    look_at_all();
    model.faults = faults;
}

static void
begin(uint64_t seed)
{
    bed_begin(seed);
    memset(readings, 0, sizeof(readings));
    memset(last, 0, sizeof(last));
    n_readings = 1;
    on_made = share_root;
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
play(uint64_t seed)
{
    begin(seed);
    run_ms(1000);
    for (int i = 1; i <= STEPS; i++) {
        disturb();
        run_ms(below(4) ? below(150) : below(4000));
        if (i % 30 == 0)
            rest();
    }
    bed_end();
}

static void
whatever_is_lost_all_have_what_one_has_read(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play(seed);
    assert_true(n_changes > 1000);
    for (size_t i = 0; i < NODES; i++)
        assert_true(n_elected[i] > 5);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_lost_all_have_what_one_has_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
