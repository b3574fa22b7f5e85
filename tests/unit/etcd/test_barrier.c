/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever has passed, and is told that the mirror is current, finds in it all that was committed
 * before the wait. */
#include "etcd/barrier.h"

#include "tests/harness/etcd_model.h"
#include "tests/harness/test.h"

#define WAITERS_MAX 5000

typedef struct client {
    udpai_barrier_waiter waiter;
    int64_t committed; /* when it came */
    bool has_passed, is_current;
    uint64_t passed_ms;
} client;

static udpai_wheel wheel;
static etcd_model model;
static udpai_mirror *mirror;
static udpai_barrier *barrier;
static client clients[WAITERS_MAX];
static size_t n_clients;
static uint64_t chance;
static bool is_late;

static uint64_t
on_random(void *userdata)
{
    (void)userdata;
    return test_random(&chance);
}

static udpa_err
on_changed(void *userdata, const udpai_mirror_change *change)
{
    (void)userdata;
    (void)change;
    return UDPA_OK;
}

static void
on_state(void *userdata, udpai_mirror_state state, const udpa_error *error)
{
    (void)userdata;
    (void)state;
    (void)error;
}

static void
on_late(void *userdata, bool is)
{
    assert_ptr_equal(userdata, &is_late);
    assert_true(is != is_late);
    is_late = is;
}

static void
run_ms(uint64_t ms)
{
    uint64_t end = wheel.now_ms + ms;
    while (wheel.now_ms < end)
        udpai_wheel_advance(&wheel, wheel.now_ms + 1);
}

static void
begin(uint64_t seed)
{
    udpai_wheel_init(&wheel, 1000);
    etcd_model_init(&model, &wheel, seed);
    chance = seed;
    n_clients = 0;
    is_late = false;
    memset(clients, 0, sizeof(clients));
    const udpai_mirror_env env = {
        .etcd = &model.own.etcd,
        .wheel = &wheel,
        .random = on_random,
        .changed = on_changed,
        .state_changed = on_state,
    };
    assert_ok(udpai_mirror_new(&mirror, &env, UDPAI_STR("/u/"), (udpai_mirror_position){0}));
    run_ms(100);
    const udpai_barrier_env barrier_env = {
        .etcd = &model.own.etcd,
        .wheel = &wheel,
        .mirror = mirror,
        .late_changed = on_late,
        .userdata = &is_late,
    };
    assert_ok(udpai_barrier_new(&barrier, &barrier_env, UDPAI_STR("/u/tick/a")));
}

static void
end(void)
{
    barrier = udpai_barrier_free(barrier);
    mirror = udpai_mirror_free(mirror);
    run_ms(10000);
    etcd_model_done(&model);
}

static int
setup(void **state)
{
    (void)state;
    begin(1);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    end();
    return 0;
}

static void
on_passed(udpai_barrier_waiter *waiter, bool is_current)
{
    client *self = UDPAI_CONTAINER_OF(waiter, client, waiter);
    assert_false(self->has_passed);
    self->has_passed = true;
    self->is_current = is_current;
    self->passed_ms = wheel.now_ms;
    if (is_current)
        assert_true(udpai_mirror_get_position(mirror).revision >= self->committed);
    /* Whoever has waited in vain, or does not wait, was announced. */
    assert_true(is_current != is_late || udpai_mirror_get_state(mirror) == UDPAI_MIRROR_HELD);
    assert_true(wheel.now_ms - waiter->since_ms <= UDPAI_BARRIER_PATIENCE_MS + 1);
}

static client *
come(void)
{
    assert_true(n_clients < WAITERS_MAX);
    client *self = &clients[n_clients++];
    self->waiter.passed = on_passed;
    self->committed = model.revision;
    udpai_barrier_wait(barrier, &self->waiter);
    return self;
}

static void
what_was_committed_before_is_waited_for(void **state)
{
    (void)state;
    etcd_model_put(&model, "/u/a", "new");
    const client *one = come();
    assert_false(one->has_passed);
    run_ms(30);
    assert_true(one->has_passed && one->is_current);
    assert_true(one->passed_ms - one->waiter.since_ms < 20);
}

/* 5,000 of them: one write for those that come at once, and one each 50 ms after that. */
static void
many_share_few_writes(void **state)
{
    (void)state;
    run_ms(100);
    unsigned before = model.n_txns;
    for (int i = 0; i < 2500; i++)
        come();
    for (int ms = 0; ms < 250; ms++) {
        for (int i = 0; i < 10; i++)
            come();
        run_ms(1);
    }
    run_ms(100);
    for (size_t i = 0; i < n_clients; i++)
        assert_true(clients[i].has_passed && clients[i].is_current);
    assert_in_range(model.n_txns - before, 5, 7);
}

/* A write that began before somebody came says nothing about what was committed between. */
static void
who_comes_during_a_write_waits_for_the_next(void **state)
{
    (void)state;
    run_ms(100);
    unsigned before = model.n_txns;
    const client *one = come();
    run_ms(1);
    assert_int_equal(model.n_txns - before, 1);
    const client *other = come();
    run_ms(30);
    assert_true(one->has_passed);
    assert_false(other->has_passed);
    run_ms(60);
    assert_true(other->has_passed && other->is_current);
    assert_int_equal(model.n_txns - before, 2);
}

static void
without_etcd_only_the_first_ones_wait(void **state)
{
    (void)state;
    etcd_model_away(&model, true);
    const client *first = come();
    run_ms(500);
    const client *second = come();
    assert_false(first->has_passed || second->has_passed);
    run_ms(501);
    assert_true(first->has_passed && !first->is_current);
    assert_true(second->has_passed && !second->is_current);
    const client *third = come();
    assert_true(third->has_passed && !third->is_current);
    run_ms(10000);
    const client *fourth = come();
    assert_true(fourth->has_passed && !fourth->is_current);
    etcd_model_away(&model, false);
    run_ms(10000);
    const client *fifth = come();
    assert_false(fifth->has_passed);
    run_ms(100);
    assert_true(fifth->has_passed && fifth->is_current && !is_late);
}

static void
a_lost_write_is_made_again(void **state)
{
    (void)state;
    model.faults.refused = 1000;
    const client *one = come();
    run_ms(200);
    model.faults.refused = 0;
    run_ms(100);
    assert_true(one->has_passed && one->is_current);
}

/* Between the write and its answer etcd is restored: what it has done is no proof of anything. */
static void
an_older_etcd_lets_nobody_pass(void **state)
{
    (void)state;
    run_ms(200);
    for (int i = 0; i < 10; i++)
        etcd_model_put(&model, "/u/a", "new");
    run_ms(100);
    etcd_model_put(&model, "/u/a", "newest");
    int64_t revision = model.revision;
    const client *one = come();
    etcd_model_restore(&model, revision - 5); /* before the mirror knows that */
    run_ms(2000);
    assert_true(one->has_passed && !one->is_current);
    run_ms(60000); /* nor does it grow by writes until it is as new as the mirror */
    assert_true(model.revision < revision);
    assert_int_equal(udpai_mirror_get_state(mirror), UDPAI_MIRROR_HELD);
}

static void
who_does_not_wait_any_more_is_not_called(void **state)
{
    (void)state;
    client *one = come();
    udpai_barrier_wait_end(&one->waiter);
    client never = {0};
    udpai_barrier_wait_end(&never.waiter);
    run_ms(2000);
    assert_false(one->has_passed);
    come(); /* and who still does, at the end, neither */
}

static void
without_memory_it_is_written_later(void **state)
{
    (void)state;
    etcd_model_put(&model, "/u/a", "new");
    const client *one = come();
    udpai_alloc_fail_after(0);
    run_ms(1);
    udpai_alloc_fail_after(-1);
    run_ms(200);
    assert_true(one->has_passed && one->is_current);
}

static void
play(uint64_t seed, unsigned *n_current, unsigned *n_not)
{
    begin(seed);
    model.faults = (etcd_faults){
        .lost_requests = (unsigned)test_random_below(&chance, 100),
        .lost_responses = (unsigned)test_random_below(&chance, 100),
        .refused = (unsigned)test_random_below(&chance, 300),
        .cut_watches = (unsigned)test_random_below(&chance, 50),
        .parts = (unsigned)test_random_below(&chance, 900),
        .latency_ms = 1 + test_random_below(&chance, 50),
    };
    for (unsigned i = 0; i < 300; i++) {
        if (test_random_below(&chance, 60) == 0)
            etcd_model_away(&model, !model.is_away);
        etcd_model_put(&model, "/u/a", "new");
        come();
        run_ms(test_random_below(&chance, 100));
    }
    run_ms(5000);
    for (size_t i = 0; i < n_clients; i++) {
        assert_true(clients[i].has_passed);
        *(clients[i].is_current ? n_current : n_not) += 1;
    }
    end();
}

static void
whatever_happens_nobody_waits_long_and_current_is_true(void **state)
{
    (void)state;
    unsigned n_current = 0, n_not = 0;
    end();
    for (uint64_t seed = 1; seed <= 50; seed++)
        play(seed, &n_current, &n_not);
    begin(1);
    assert_true(n_current > 1000 && n_not > 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_committed_before_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(many_share_few_writes, setup, teardown),
        cmocka_unit_test_setup_teardown(who_comes_during_a_write_waits_for_the_next, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_etcd_only_the_first_ones_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_write_is_made_again, setup, teardown),
        cmocka_unit_test_setup_teardown(an_older_etcd_lets_nobody_pass, setup, teardown),
        cmocka_unit_test_setup_teardown(who_does_not_wait_any_more_is_not_called, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_it_is_written_later, setup, teardown),
        cmocka_unit_test_setup_teardown(whatever_happens_nobody_waits_long_and_current_is_true,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
