/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of each thread by itself. */
#include "recorder/counters.h"

#include <pthread.h>

#include "base/alloc.h"
#include "tests/harness/test.h"

static uint64_t
sum(const udpai_counters_account *account, unsigned counter)
{
    uint64_t n = 0;
    udpai_counters_read(account, counter, 1, &n);
    return n;
}

static void
test_counts(void **state)
{
    (void)state;
    udpai_counters_account one = {0}, other = {0};
    assert_true(udpai_counters_open(&one));
    assert_true(udpai_counters_open(&other));
    assert_int_not_equal(one.slot, other.slot);
    for (unsigned i = 0; i < UDPAI_COUNTERS_PER_BLOCK; i++)
        for (unsigned j = 0; j <= i; j++)
            udpai_counters_count(&one, i);
    for (unsigned i = 0; i < UDPAI_COUNTERS_PER_BLOCK; i++) {
        assert_int_equal(sum(&one, i), i + 1);
        assert_int_equal(sum(&other, i), 0);
    }
    udpai_counters_add(&other, 3, 0.5);
    udpai_counters_add(&other, 3, -2);
    assert_true(udpai_counters_read_sum(&other, 3) == -1.5);
    udpai_counters_close(&one);
    udpai_counters_close(&other);
}

static void
test_a_slot_begins_at_zero(void **state)
{
    (void)state;
    udpai_counters_account account = {0}, again = {0};
    assert_true(udpai_counters_open(&account));
    udpai_counters_count(&account, 0);
    udpai_counters_add(&account, 7, 1);
    udpai_counters_close(&account);
    assert_true(udpai_counters_open(&again));
    assert_int_equal(again.slot, account.slot);
    assert_int_equal(sum(&again, 0), 0);
    assert_true(udpai_counters_read_sum(&again, 7) == 0);
    udpai_counters_close(&again);
}

static void
test_slots_are_bounded(void **state)
{
    (void)state;
    static udpai_counters_account accounts[UDPAI_COUNTERS_SLOTS + 1];
    for (size_t i = 0; i < UDPAI_COUNTERS_SLOTS; i++)
        assert_true(udpai_counters_open(&accounts[i]));
    assert_false(udpai_counters_open(&accounts[UDPAI_COUNTERS_SLOTS]));
    udpai_counters_count(&accounts[UDPAI_COUNTERS_SLOTS - 1], 2);
    assert_int_equal(sum(&accounts[UDPAI_COUNTERS_SLOTS - 1], 2), 1);
    udpai_counters_close(&accounts[7]);
    assert_true(udpai_counters_open(&accounts[UDPAI_COUNTERS_SLOTS]));
    assert_int_equal(accounts[UDPAI_COUNTERS_SLOTS].slot, accounts[7].slot);
    for (size_t i = 0; i <= UDPAI_COUNTERS_SLOTS; i++)
        if (i != 7)
            udpai_counters_close(&accounts[i]);
}

/* ---- threads ---- */

static void *
count_once(void *account)
{
    udpai_counters_count(account, 0);
    return udpai_counters_own;
}

static void *
in_a_thread(void *(*run)(void *), void *with)
{
    pthread_t thread;
    void *result = NULL;
    assert_ok(pthread_create(&thread, NULL, run, with));
    assert_ok(pthread_join(thread, &result));
    return result;
}

static void
test_threads_leave_their_counts(void **state)
{
    (void)state;
    udpai_counters_account account = {0};
    assert_true(udpai_counters_open(&account));
    const void *first = in_a_thread(count_once, &account);
    assert_non_null(first);
    assert_int_equal(sum(&account, 0), 1);
    for (unsigned i = 0; i < 100; i++) /* who comes later takes the set over */
        assert_ptr_equal(in_a_thread(count_once, &account), first);
    assert_int_equal(sum(&account, 0), 101);
    udpai_counters_close(&account);
}

static pthread_key_t late_key;

static void
count_late(void *account)
{
    udpai_counters_count(account, 1);
}

static void *
count_when_it_ends(void *account)
{
    udpai_counters_count(account, 0);
    pthread_setspecific(late_key, account);
    return NULL;
}

/* What the thread's own memory is released with may come after the set was left. */
static void
test_counting_while_the_thread_ends(void **state)
{
    (void)state;
    udpai_counters_account account = {0};
    assert_true(udpai_counters_open(&account));
    (void)in_a_thread(count_once, &account); /* the key of the registry is there before this one */
    assert_ok(pthread_key_create(&late_key, count_late));
    const void *set = in_a_thread(count_once, &account);
    (void)in_a_thread(count_when_it_ends, &account);
    assert_ptr_equal(in_a_thread(count_once, &account), set); /* it was left again */
    assert_int_equal(sum(&account, 0), 4);
    assert_int_equal(sum(&account, 1), 1);
    assert_ok(pthread_key_delete(late_key));
    udpai_counters_close(&account);
}

struct blocker {
    udpai_counters_account *account;
    pthread_barrier_t *barrier;
};

/* Has a set as long as others have theirs. */
static void *
count_together(void *userdata)
{
    const struct blocker *blocker = userdata;
    udpai_counters_count(blocker->account, 0);
    pthread_barrier_wait(blocker->barrier);
    return NULL;
}

/* Takes every set that is free, and then one more without memory. */
static void *
count_without_memory(void *userdata)
{
    const struct blocker *blocker = userdata;
    for (unsigned i = 0; i < 3; i++) {
        udpai_counters_count(blocker->account, 0);
        udpai_counters_add(blocker->account, 1, 0.25);
    }
    return udpai_counters_own;
}

static void
test_without_memory(void **state)
{
    (void)state;

    enum {
        THREADS = 8
    };

    udpai_counters_account account = {0};
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    struct blocker blocker = {&account, &barrier};
    assert_true(udpai_counters_open(&account));
    assert_ok(pthread_barrier_init(&barrier, NULL, THREADS + 1));
    for (size_t i = 0; i < THREADS; i++)
        assert_ok(pthread_create(&threads[i], NULL, count_together, &blocker));
    while (sum(&account, 0) < THREADS)
        sched_yield();
    udpai_alloc_fail_after(0);
    const void *set = in_a_thread(count_without_memory, &blocker);
    udpai_alloc_fail_after(-1);
    assert_null(set);
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < THREADS; i++)
        assert_ok(pthread_join(threads[i], NULL));
    pthread_barrier_destroy(&barrier);
    assert_int_equal(sum(&account, 0), THREADS + 3);
    assert_true(udpai_counters_read_sum(&account, 1) == 0.75);
    udpai_counters_close(&account);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_a_slot_begins_at_zero),
        cmocka_unit_test(test_slots_are_bounded),
        cmocka_unit_test(test_threads_leave_their_counts),
        cmocka_unit_test(test_counting_while_the_thread_ends),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("recorder counters", tests, NULL, NULL);
}
