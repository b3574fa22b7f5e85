/* SPDX-License-Identifier: Apache-2.0 */
/* One writer that puts snapshot after snapshot, and readers that never see half of one. */
#include "runtime/current.h"

#include <pthread.h>
#include <stdio.h>

#include "tests/harness/oom.h"

#define READERS 4
#define ROUNDS 2000
#define KEYS 8

/* All its keys have this value. */
static udpai_runtime_snapshot *
make(unsigned value)
{
    char text[16], key[8];
    snprintf(text, sizeof(text), "%u", value);
    udpai_runtime_value parsed = udpai_runtime_value_read(udpai_str_from(text));
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("one"));
    for (unsigned i = 0; i < KEYS && layer; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        assert_ok(udpai_runtime_layer_put(layer, udpai_str_from(key), &parsed, NULL));
    }
    udpai_runtime_snapshot *snapshot = udpai_runtime_snapshot_new(&layer, 1);
    udpai_runtime_layer_unref(layer);
    return snapshot;
}

struct world {
    udpai_runtime_current current;
    atomic_bool is_over;
    atomic_uint n_torn, n_back;
};

static void *
read_all_the_time(void *context)
{
    struct world *world = context;
    uint64_t newest = 0;
    while (!atomic_load(&world->is_over)) {
        const udpai_runtime_snapshot *now = udpai_runtime_current_peek(&world->current);
        uint64_t first = udpai_runtime_integer(now, UDPAI_STR("k0"), UINT64_MAX);
        for (unsigned i = 1; i < KEYS; i++) {
            char key[8];
            snprintf(key, sizeof(key), "k%u", i);
            if (udpai_runtime_integer(now, udpai_str_from(key), UINT64_MAX) != first)
                atomic_fetch_add(&world->n_torn, 1);
        }
        if (first < newest)
            atomic_fetch_add(&world->n_back, 1);
        newest = first;
    }
    return NULL;
}

static void
test_readers_and_a_writer(void **state)
{
    (void)state;
    static struct world world;
    pthread_t threads[READERS];
    udpai_runtime_current_init(&world.current, make(0));
    for (size_t i = 0; i < READERS; i++)
        assert_ok(pthread_create(&threads[i], NULL, read_all_the_time, &world));
    for (unsigned i = 1; i <= ROUNDS; i++)
        assert_true(udpai_runtime_current_set(&world.current, make(i)));
    atomic_store(&world.is_over, true);
    for (size_t i = 0; i < READERS; i++)
        assert_ok(pthread_join(threads[i], NULL));
    assert_int_equal(atomic_load(&world.n_torn), 0);
    assert_int_equal(atomic_load(&world.n_back), 0);
    assert_int_equal(
        udpai_runtime_integer(udpai_runtime_current_peek(&world.current), UDPAI_STR("k0"), 0),
        ROUNDS);
    assert_true(udpai_runtime_current_set(&world.current, make(0)));
    assert_int_equal(world.current.retired.n, 0);
    udpai_runtime_current_done(&world.current);
}

/* Each thread finds that of the runtime it asks for, also of more than it keeps. */
static void
test_many(void **state)
{
    (void)state;
    static udpai_runtime_current many[9];
    for (unsigned i = 0; i < UDPAI_ARRAY_LEN(many); i++)
        udpai_runtime_current_init(&many[i], make(i));
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < UDPAI_ARRAY_LEN(many); i++) {
            assert_int_equal(
                udpai_runtime_integer(udpai_runtime_current_peek(&many[i]), UDPAI_STR("k3"), 100),
                i + round * 10);
            assert_true(udpai_runtime_current_set(&many[i], make(i + round * 10 + 10)));
        }
    }
    for (unsigned i = 0; i < UDPAI_ARRAY_LEN(many); i++)
        udpai_runtime_current_done(&many[i]);
}

/* What a thread has kept outlives the runtime; so does what it has taken. */
static void
test_taken(void **state)
{
    (void)state;
    udpai_runtime_current current;
    udpai_runtime_current_init(&current, make(1));
    udpai_runtime_snapshot *taken = udpai_runtime_current_take(&current);
    assert_true(udpai_runtime_current_set(&current, make(2)));
    udpai_runtime_current_done(&current);
    assert_int_equal(udpai_runtime_integer(taken, UDPAI_STR("k7"), 0), 1);
    udpai_runtime_snapshot_unref(taken);
}

/* A thread that there is no memory for reads all the same. To be the first test: later there are
 * readers of threads that have ended. */
static void
test_without_memory(void **state)
{
    (void)state;
    udpai_runtime_current current;
    udpai_runtime_current_init(&current, make(5));
    udpai_alloc_fail_after(0);
    const udpai_runtime_snapshot *peeked = udpai_runtime_current_peek(&current);
    udpai_runtime_snapshot *taken = udpai_runtime_current_take(&current);
    bool is_set = udpai_runtime_current_set(&current, taken);
    udpai_alloc_fail_after(-1);
    assert_null(peeked);
    assert_false(is_set);
    assert_int_equal(udpai_runtime_integer(taken, UDPAI_STR("k0"), 0), 5);
    udpai_runtime_snapshot_unref(taken);
    udpai_runtime_current_done(&current);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_readers_and_a_writer),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
