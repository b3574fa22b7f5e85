/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a runtime of the library: what values mean, snapshots that stay, and threads that read
 * while others come. */
#include <udpa/runtime.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "pair.h"

struct world {
    test_pair pair;
    udpa_runtime *runtime;
};

static const udpa_runtime_setting values[] = {
    {"integer", "7"},       {"large", "18446744073709551615"},
    {"number", "2.75"},     {"truth", "true"},
    {"text", "some words"}, {"empty", ""},
    {"negative", "-1"},     {"share", "{\"numerator\": 5, \"denominator\": \"TEN_THOUSAND\"}"},
};

static void
begin(struct world *world)
{
    udpa_runtime_options options = UDPA_RUNTIME_OPTIONS_INIT;
    udpa_runtime_layer layers[2] = {UDPA_RUNTIME_LAYER_INIT, UDPA_RUNTIME_LAYER_INIT};
    memset(world, 0, sizeof(*world));
    pair_begin(&world->pair);
    layers[0].name = "static";
    layers[0].settings = values;
    layers[0].n_settings = UDPAI_ARRAY_LEN(values);
    layers[1].name = "admin";
    layers[1].kind = UDPA_RUNTIME_ADMIN;
    options.layers = layers;
    options.n_layers = 2;
    assert_ok(udpa_runtime_new(&world->runtime, &world->pair.loop, &options, NULL));
}

static void
end(struct world *world)
{
    udpa_runtime_close(world->runtime, pair_count_closed, &world->pair);
    pair_run_until(&world->pair, &world->pair.n_closed, 1);
    pair_end(&world->pair);
}

static void
set(struct world *world, const char *key, const char *value)
{
    const udpa_runtime_setting setting = {key, value};
    assert_ok(udpa_runtime_modify(world->runtime, &setting, 1, NULL));
}

/* ---- without memory ---- */

/* A thread that there is no memory for reads all the same, but borrows nothing. To be the first
 * test: later there is what threads that have ended had. */
static void
a_thread_without_memory(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    udpai_alloc_fail_after(0);
    const udpa_runtime_snapshot *borrowed = udpa_runtime_peek(world.runtime);
    uint64_t integer = udpa_runtime_uint64(world.runtime, "integer", 0);
    double number = udpa_runtime_double(world.runtime, "number", 0);
    bool truth = udpa_runtime_bool(world.runtime, "truth", false);
    bool is_enabled = udpa_runtime_feature_enabled(world.runtime, "integer", 0, 6);
    const char *text = udpa_runtime_string(world.runtime, "text", "nothing");
    udpa_runtime_snapshot *taken = udpa_runtime_take(world.runtime);
    udpai_alloc_fail_after(-1);
    assert_null(borrowed);
    assert_int_equal(integer, 7);
    assert_true(number == 2.75 && truth && is_enabled);
    assert_string_equal(text, "nothing");
    assert_int_equal(udpa_runtime_snapshot_uint64(taken, "integer", 0), 7);
    assert_int_equal(udpa_runtime_snapshot_uint64(NULL, "integer", 3), 3);
    udpa_runtime_snapshot_unref(taken);
    end(&world);
}

static bool
never(void *userdata, const char *key, const char *value)
{
    (void)userdata;
    fail_msg("it has told %s, which is %s", key, value);
    return true;
}

static void
all_keys_without_memory(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    const udpa_runtime_snapshot *now = udpa_runtime_peek(world.runtime);
    udpai_alloc_fail_after(0);
    udpa_err err = udpa_runtime_snapshot_each(now, never, NULL);
    udpai_alloc_fail_after(-1);
    assert_int_equal(err, UDPA_ERR_NOMEM);
    assert_ok(udpa_runtime_snapshot_each(NULL, never, NULL));
    end(&world);
}

/* ---- values ---- */

static void
what_values_mean(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    udpa_runtime *runtime = world.runtime;
    assert_int_equal(udpa_runtime_uint64(runtime, "integer", 1), 7);
    assert_true(udpa_runtime_uint64(runtime, "large", 1) == UINT64_MAX);
    assert_int_equal(udpa_runtime_uint64(runtime, "number", 1), 2);
    assert_int_equal(udpa_runtime_uint64(runtime, "negative", 1), 1);
    assert_int_equal(udpa_runtime_uint64(runtime, "text", 1), 1);
    assert_int_equal(udpa_runtime_uint64(runtime, "nowhere", 1), 1);
    assert_true(udpa_runtime_double(runtime, "number", 1) == 2.75);
    assert_true(udpa_runtime_double(runtime, "negative", 1) == -1);
    assert_true(udpa_runtime_double(runtime, "truth", 0.5) == 0.5);
    assert_true(udpa_runtime_bool(runtime, "truth", false));
    assert_true(udpa_runtime_bool(runtime, "integer", false));
    assert_true(udpa_runtime_bool(runtime, "text", true));
    assert_false(udpa_runtime_bool(runtime, "text", false));
    assert_string_equal(udpa_runtime_string(runtime, "text", NULL), "some words");
    assert_string_equal(udpa_runtime_string(runtime, "integer", NULL), "7");
    assert_string_equal(udpa_runtime_string(runtime, "empty", "default"), "default");
    assert_null(udpa_runtime_string(runtime, "nowhere", NULL));
    end(&world);
}

static void
what_snapshots_mean(void **state)
{
    (void)state;
    struct world world;
    static const udpa_runtime_fraction none = {0, 100};
    begin(&world);
    const udpa_runtime_snapshot *now = udpa_runtime_peek(world.runtime);
    assert_int_equal(udpa_runtime_snapshot_uint64(now, "integer", 1), 7);
    assert_true(udpa_runtime_snapshot_double(now, "number", 1) == 2.75);
    assert_true(udpa_runtime_snapshot_bool(now, "truth", false));
    assert_string_equal(udpa_runtime_snapshot_string(now, "text", NULL), "some words");
    assert_string_equal(udpa_runtime_snapshot_string(now, "empty", "default"), "default");
    assert_true(udpa_runtime_snapshot_fraction_enabled(now, "share", none, 4));
    assert_false(udpa_runtime_snapshot_fraction_enabled(now, "share", none, 5));
    assert_false(udpa_runtime_snapshot_bool(NULL, "truth", false));
    assert_true(udpa_runtime_snapshot_double(NULL, "number", 1) == 1);
    assert_null(udpa_runtime_snapshot_string(NULL, "text", NULL));
    assert_false(udpa_runtime_snapshot_fraction_enabled(NULL, "share", none, 4));
    end(&world);
}

/* How many of so many draws, one behind the other, are in. */
static unsigned
count_enabled(udpa_runtime *runtime, const char *key, udpa_runtime_fraction otherwise, unsigned n)
{
    unsigned n_enabled = 0;
    for (unsigned i = 0; i < n; i++)
        n_enabled += udpa_runtime_fraction_enabled(runtime, key, otherwise, i);
    return n_enabled;
}

static void
features_are_on_for_a_share(void **state)
{
    (void)state;
    struct world world;
    static const udpa_runtime_fraction quarter = {25, 100}, mistake = {1, 0}, most = {200, 100},
                                       few = {3, 1000000};
    begin(&world);
    assert_int_equal(count_enabled(world.runtime, "share", quarter, 20000), 10);
    assert_int_equal(count_enabled(world.runtime, "integer", quarter, 200), 14);
    assert_int_equal(count_enabled(world.runtime, "large", quarter, 200), 200);
    assert_int_equal(count_enabled(world.runtime, "text", quarter, 200), 50);
    assert_int_equal(count_enabled(world.runtime, "nowhere", quarter, 200), 50);
    assert_int_equal(count_enabled(world.runtime, "nowhere", most, 200), 200);
    assert_int_equal(count_enabled(world.runtime, "nowhere", few, 200), 3);
    assert_int_equal(count_enabled(world.runtime, "nowhere", mistake, 200), 0);
    assert_int_equal(count_enabled(world.runtime, "integer", mistake, 200), 14);
    assert_false(udpa_runtime_feature_enabled(world.runtime, "nowhere", 30,
                                              UINT64_C(7) << 40)); /* % 100 is 32 */
    assert_true(udpa_runtime_feature_enabled(world.runtime, "nowhere", 30, 129));
    assert_false(udpa_runtime_feature_enabled(world.runtime, "nowhere", 30, 130));
    end(&world);
}

/* ---- snapshots ---- */

static void
snapshots_stay(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    set(&world, "integer", "8");
    udpa_runtime_snapshot *old = udpa_runtime_take(world.runtime);
    set(&world, "integer", "9");
    const udpa_runtime_snapshot *now = udpa_runtime_peek(world.runtime);
    assert_int_equal(udpa_runtime_snapshot_uint64(now, "integer", 0), 9);
    assert_ptr_equal(udpa_runtime_peek(world.runtime), now);
    end(&world);
    assert_int_equal(udpa_runtime_snapshot_uint64(old, "integer", 0), 8);
    UDPA_AUTO(udpa_runtime_snapshot_unref)
    udpa_runtime_snapshot *again = udpa_runtime_snapshot_ref(old);
    assert_ptr_equal(again, old);
    assert_null(udpa_runtime_snapshot_unref(old));
    assert_null(udpa_runtime_snapshot_ref(NULL));
    assert_null(udpa_runtime_snapshot_unref(NULL));
}

/* What a page would show. */
struct page {
    char text[1024];
    unsigned n, wanted;
};

static bool
put(void *userdata, const char *key, const char *value)
{
    struct page *page = userdata;
    size_t len = strlen(page->text);
    snprintf(page->text + len, sizeof(page->text) - len, "%s=%s;", key, value);
    return ++page->n < page->wanted;
}

static void
all_keys_in_their_order(void **state)
{
    (void)state;
    struct world world;
    struct page page = {.wanted = 100}, first = {.wanted = 2};
    begin(&world);
    set(&world, "integer", "8");
    const udpa_runtime_snapshot *now = udpa_runtime_peek(world.runtime);
    assert_ok(udpa_runtime_snapshot_each(now, put, &page));
    assert_string_equal(page.text, "empty=;integer=8;large=18446744073709551615;negative=-1;"
                                   "number=2.75;share={\"numerator\": 5, \"denominator\": "
                                   "\"TEN_THOUSAND\"};text=some words;truth=true;");
    assert_ok(udpa_runtime_snapshot_each(now, put, &first));
    assert_string_equal(first.text, "empty=;integer=8;");
    end(&world);
}

static void
what_each_layer_has(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    set(&world, "integer", "8");
    const udpa_runtime_snapshot *now = udpa_runtime_peek(world.runtime);
    assert_int_equal(udpa_runtime_snapshot_n_layers(now), 2);
    assert_string_equal(udpa_runtime_snapshot_layer(now, 0, NULL), "static");
    assert_string_equal(udpa_runtime_snapshot_layer(now, 1, NULL), "admin");
    assert_string_equal(udpa_runtime_snapshot_layer(now, 0, "integer"), "7");
    assert_string_equal(udpa_runtime_snapshot_layer(now, 1, "integer"), "8");
    assert_string_equal(udpa_runtime_snapshot_layer(now, 0, "empty"), "");
    assert_null(udpa_runtime_snapshot_layer(now, 1, "text"));
    assert_null(udpa_runtime_snapshot_layer(now, 2, NULL));
    assert_int_equal(udpa_runtime_snapshot_n_layers(NULL), 0);
    assert_null(udpa_runtime_snapshot_layer(NULL, 0, NULL));
    end(&world);
}

/* ---- threads ---- */

#define READERS 4
#define ROUNDS 1000

struct shared {
    udpa_runtime *runtime;
    atomic_bool is_over;
    atomic_uint n_ready, n_wrong;
};

static void
read_once(struct shared *shared, uint64_t *newest)
{
    const udpa_runtime_snapshot *now = udpa_runtime_peek(shared->runtime);
    uint64_t a = udpa_runtime_snapshot_uint64(now, "a", 0);
    uint64_t b = udpa_runtime_snapshot_uint64(now, "b", 0);
    bool is_torn =
        a != b || (a && strtoull(udpa_runtime_snapshot_string(now, "a", "0"), NULL, 10) != a);
    udpa_runtime_snapshot *taken = udpa_runtime_take(shared->runtime);
    uint64_t later = udpa_runtime_snapshot_uint64(taken, "b", 0);
    uint64_t last = udpa_runtime_uint64(shared->runtime, "b", 0);
    if (is_torn || a < *newest || later < a || last < later)
        atomic_fetch_add(&shared->n_wrong, 1);
    udpa_runtime_snapshot_unref(taken);
    *newest = last;
}

static void *
read_all_the_time(void *context)
{
    struct shared *shared = context;
    uint64_t newest = 0;
    read_once(shared, &newest);
    atomic_fetch_add(&shared->n_ready, 1);
    while (!atomic_load(&shared->is_over))
        read_once(shared, &newest);
    return NULL;
}

/* Nobody sees half of a change, and nobody goes back. */
static void
threads_read_while_it_changes(void **state)
{
    (void)state;
    struct world world;
    pthread_t threads[READERS];
    begin(&world);
    struct shared shared = {.runtime = world.runtime};
    for (size_t i = 0; i < READERS; i++)
        assert_ok(pthread_create(&threads[i], NULL, read_all_the_time, &shared));
    while (atomic_load(&shared.n_ready) < READERS)
        ; /* so that they do read while it changes */
    for (unsigned i = 1; i <= ROUNDS; i++) {
        char text[16];
        snprintf(text, sizeof(text), "%u", i);
        const udpa_runtime_setting both[] = {{"a", text}, {"b", text}};
        assert_ok(udpa_runtime_modify(world.runtime, both, 2, NULL));
    }
    atomic_store(&shared.is_over, true);
    for (size_t i = 0; i < READERS; i++)
        assert_ok(pthread_join(threads[i], NULL));
    assert_int_equal(atomic_load(&shared.n_wrong), 0);
    assert_int_equal(udpa_runtime_uint64(world.runtime, "a", 0), ROUNDS);
    end(&world);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_without_memory),
        cmocka_unit_test(all_keys_without_memory),
        cmocka_unit_test(what_values_mean),
        cmocka_unit_test(what_snapshots_mean),
        cmocka_unit_test(features_are_on_for_a_share),
        cmocka_unit_test(snapshots_stay),
        cmocka_unit_test(all_keys_in_their_order),
        cmocka_unit_test(what_each_layer_has),
        cmocka_unit_test(threads_read_while_it_changes),
    };
    return cmocka_run_group_tests_name("endpoint runtime_values", tests, NULL, NULL);
}
