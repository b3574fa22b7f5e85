/* SPDX-License-Identifier: Apache-2.0 */
/* Layers, and what several of them are together. */
#include <stdio.h>

#include "runtime/snapshot.h"
#include "tests/harness/oom.h"

static udpa_err
put(udpai_runtime_layer *layer, const char *key, const char *text, udpa_error **ret_error)
{
    udpai_runtime_value value = udpai_runtime_value_read(udpai_str_from(text));
    return udpai_runtime_layer_put(layer, udpai_str_from(key), &value, ret_error);
}

static void
expect_refused(udpai_runtime_layer *layer, const char *key, const char *text, const char *words)
{
    udpa_error *error = NULL;
    assert_int_not_equal(put(layer, key, text, &error), UDPA_OK);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
    udpa_error_unref(error);
}

static void
test_what_may_not_be(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_runtime_layer_unref)
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("one"));
    char long_key[UDPAI_RUNTIME_KEY_MAX + 2];
    memset(long_key, 'k', sizeof(long_key) - 1);
    long_key[sizeof(long_key) - 1] = '\0';
    expect_refused(layer, "", "1", "empty");
    expect_refused(layer, "numerator", "1", "reserved");
    expect_refused(layer, "a.denominator", "1", "reserved");
    expect_refused(layer, "a.numerator.b", "1", "reserved");
    expect_refused(layer, "\xff", "1", "UTF-8");
    expect_refused(layer, "a", "\xff", "UTF-8");
    expect_refused(layer, long_key, "1", "1024");
    assert_int_equal(udpai_runtime_layer_entries(layer)->n, 0);
    assert_ok(put(layer, "numerators", "1", NULL));
    assert_ok(put(layer, long_key + 1, "1", NULL));
}

static void
test_bounded(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_runtime_layer_unref)
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("one"));
    char *large = udpai_alloc(UDPAI_RUNTIME_VALUE_MAX + 2);
    memset(large, 'v', UDPAI_RUNTIME_VALUE_MAX + 1);
    expect_refused(layer, "a", large, "more than 1048576 bytes");
    large[UDPAI_RUNTIME_VALUE_MAX - 16] = '\0';
    for (int i = 0; i < 64; i++) {
        char key[16];
        snprintf(key, sizeof(key), "k%d", i);
        assert_ok(put(layer, key, large, NULL));
        assert_ok(put(layer, key, large, NULL)); /* in its place */
    }
    expect_refused(layer, "more", large, "together");
    assert_true(udpai_runtime_layer_remove(layer, UDPAI_STR("k0")));
    assert_false(udpai_runtime_layer_remove(layer, UDPAI_STR("k0")));
    assert_ok(put(layer, "more", large, NULL));
    udpai_free(large);
}

static udpai_runtime_snapshot *
snapshot_of(udpai_runtime_layer *const *layers, size_t n)
{
    udpai_runtime_snapshot *snapshot = udpai_runtime_snapshot_new(layers, n);
    assert_non_null(snapshot);
    return snapshot;
}

/* d0, d1, … of each. */
static udpai_runtime_layer *
make_many(char first, int n)
{
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("many"));
    for (int i = 0; i < n && layer; i++) {
        char key[16];
        snprintf(key, sizeof(key), "%c%d", first, i);
        if (put(layer, key, "1", NULL) != UDPA_OK)
            layer = udpai_runtime_layer_unref(layer);
    }
    return layer;
}

static void
test_merged(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *to = make_many('a', 60000);
    UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *from = make_many('b', 40001);
    udpa_error *error = NULL;
    assert_int_equal(udpai_runtime_layer_merge(to, from, &error), UDPA_ERR_LIMIT);
    assert_string_equal(udpa_error_message(error), "there are more than 100000 keys");
    udpa_error_unref(error);
    assert_int_equal(udpai_runtime_layer_entries(to)->n, 60000);
    assert_int_equal(udpai_runtime_layer_entries(from)->n, 40001);
    assert_true(udpai_runtime_layer_remove(from, UDPAI_STR("b7")));
    assert_ok(udpai_runtime_layer_merge(to, from, NULL));
    assert_int_equal(udpai_runtime_layer_entries(to)->n, 100000);
    assert_int_equal(udpai_runtime_layer_entries(from)->n, 0);
    assert_non_null(udpai_map_get(udpai_runtime_layer_entries(to), UDPAI_STR("b40000")));
    assert_non_null(udpai_map_get(udpai_runtime_layer_entries(to), UDPAI_STR("a59999")));
    expect_refused(to, "c", "1", "more than 100000 keys");
}

/* What has come from another counts, too. */
static void
test_merged_bytes(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *to = make_many('a', 0);
    char *large = udpai_alloc(UDPAI_RUNTIME_VALUE_MAX + 1);
    memset(large, 'v', UDPAI_RUNTIME_VALUE_MAX);
    for (int i = 0; i < 64; i++) {
        UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *from = make_many('b', 0);
        char key[16];
        snprintf(key, sizeof(key), "k%d", i);
        assert_ok(put(from, key, large, NULL));
        assert_int_equal(udpai_runtime_layer_merge(to, from, NULL),
                         i < 63 ? UDPA_OK : UDPA_ERR_LIMIT);
    }
    udpai_free(large);
}

static udpa_err
merge_once(void *context)
{
    (void)context;
    UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *to = make_many('a', 6);
    UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *from = make_many('b', 6);
    if (!to || !from)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_runtime_layer_merge(to, from, NULL);
    assert_int_equal(udpai_runtime_layer_entries(to)->n, err ? 6 : 12);
    assert_int_equal(udpai_runtime_layer_entries(from)->n, err ? 6 : 0);
    return err;
}

static void
test_later_layers_count(void **state)
{
    (void)state;
    udpai_runtime_layer *layers[] = {udpai_runtime_layer_new(UDPAI_STR("one")),
                                     udpai_runtime_layer_new(UDPAI_STR("two"))};
    assert_ok(put(layers[0], "low", "1", NULL));
    assert_ok(put(layers[0], "both", "1", NULL));
    assert_ok(put(layers[0], "kept", "1", NULL));
    assert_ok(put(layers[1], "both", "2.5", NULL));
    assert_ok(put(layers[1], "kept", "", NULL)); /* nothing but a place */
    assert_ok(put(layers[1], "high", "true", NULL));
    assert_ok(put(layers[1], "share", "{\"numerator\": 1}", NULL));
    UDPA_AUTO(udpai_runtime_snapshot_unref)
    udpai_runtime_snapshot *snapshot = snapshot_of(layers, 2);
    udpai_runtime_layer_unref(layers[0]);
    udpai_runtime_layer_unref(layers[1]);
    assert_int_equal(udpai_runtime_snapshot_n_keys(snapshot), 5);
    assert_int_equal(udpai_runtime_integer(snapshot, UDPAI_STR("low"), 9), 1);
    assert_int_equal(udpai_runtime_integer(snapshot, UDPAI_STR("both"), 9), 2);
    assert_int_equal(udpai_runtime_integer(snapshot, UDPAI_STR("kept"), 9), 1);
    assert_int_equal(udpai_runtime_integer(snapshot, UDPAI_STR("high"), 9), 9);
    assert_int_equal(udpai_runtime_integer(snapshot, UDPAI_STR("none"), 9), 9);
    assert_true(udpai_runtime_number(snapshot, UDPAI_STR("both"), 9) == 2.5);
    assert_true(udpai_runtime_truth(snapshot, UDPAI_STR("high"), false));
    assert_true(udpai_runtime_truth(snapshot, UDPAI_STR("both"), true));
    udpai_runtime_share all = {100, 100}, share;
    share = udpai_runtime_share_of(snapshot, UDPAI_STR("share"), all);
    assert_int_equal(share.numerator, 1);
    share = udpai_runtime_share_of(snapshot, UDPAI_STR("both"), all);
    assert_int_equal(share.numerator, 2);
    share = udpai_runtime_share_of(snapshot, UDPAI_STR("high"), all);
    assert_int_equal(share.numerator, 100);
}

#define KEYS 12

/* One of these keys, "a" and so on. */
static udpai_str
key_at(size_t index)
{
    return (udpai_str){&"abcdefghijkl"[index], 1};
}

/* A layer with so many of the keys as the share says, some of them without a text. What counts so
 * far, by the definition, is written down: the last text that is one. */
static udpai_runtime_layer *
random_layer(uint64_t *seed, udpai_str counts[KEYS])
{
    size_t share = 1 + test_random_below(seed, 4); /* so that any may be the largest */
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("one"));
    for (size_t i = 0; i < KEYS; i++) {
        if (test_random_below(seed, share))
            continue;
        size_t text = test_random_below(seed, 12);
        udpai_runtime_value value =
            udpai_runtime_value_read(text < 6 ? UDPAI_STR("") : key_at(text));
        assert_ok(udpai_runtime_layer_put(layer, key_at(i), &value, NULL));
        if (!counts[i].data || value.text.len)
            counts[i] = value.text;
    }
    return layer;
}

static void
expect_sorted(const udpai_runtime_snapshot *snapshot, size_t n)
{
    size_t n_sorted = 0;
    const udpai_runtime_entry **all =
        udpai_runtime_snapshot_sorted(snapshot, UDPAI_STR(""), &n_sorted);
    assert_int_equal(n_sorted, n);
    assert_int_equal(udpai_runtime_snapshot_n_keys(snapshot), n);
    for (size_t i = 0; i < n; i++) {
        udpai_str key = udpai_runtime_entry_key(all[i]);
        assert_ptr_equal(udpai_runtime_snapshot_find(snapshot, key), &all[i]->value);
        assert_true(i == 0 || udpai_str_cmp(udpai_runtime_entry_key(all[i - 1]), key) < 0);
    }
    udpai_free(all);
}

static void
test_any_layers(void **state)
{
    (void)state;
    uint64_t seed = 20261122;
    for (unsigned round = 0; round < 500; round++) {
        udpai_runtime_layer *layers[5];
        udpai_str counts[KEYS] = {{0}};
        size_t n = 1 + test_random_below(&seed, 5), n_keys = 0;
        for (size_t i = 0; i < n; i++)
            layers[i] = random_layer(&seed, counts);
        udpai_runtime_snapshot *snapshot = snapshot_of(layers, n);
        for (size_t i = 0; i < KEYS; i++) {
            const udpai_runtime_value *value = udpai_runtime_snapshot_find(snapshot, key_at(i));
            assert_int_equal(value != NULL, counts[i].data != NULL);
            n_keys += value != NULL;
            assert_true(!value || udpai_str_eq(value->text, counts[i]));
        }
        expect_sorted(snapshot, n_keys);
        udpai_runtime_snapshot_unref(snapshot);
        for (size_t i = 0; i < n; i++)
            udpai_runtime_layer_unref(layers[i]);
    }
}

static void
test_sorted(void **state)
{
    (void)state;
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("one"));
    for (int i = 50; i-- > 0;) {
        char key[8];
        snprintf(key, sizeof(key), "k%02d", i * 7 % 50);
        assert_ok(put(layer, key, "1", NULL));
    }
    UDPA_AUTO(udpai_runtime_snapshot_unref)
    udpai_runtime_snapshot *snapshot = snapshot_of(&layer, 1);
    udpai_runtime_layer_unref(layer);
    size_t n = 0;
    const udpai_runtime_entry **all = udpai_runtime_snapshot_sorted(snapshot, UDPAI_STR("k3"), &n);
    assert_int_equal(n, 10);
    for (size_t i = 0; i < 10; i++) {
        char key[8];
        snprintf(key, sizeof(key), "k%02zu", 30 + i);
        assert_memory_equal(all[i]->key, key, 3);
    }
    udpai_free(all);
}

static udpa_err
make_and_copy(void *context)
{
    (void)context;
    UDPA_AUTO(udpai_runtime_layer_unref)
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("one"));
    UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *copy = NULL;
    UDPA_AUTO(udpai_runtime_snapshot_unref) udpai_runtime_snapshot *snapshot = NULL;
    udpa_err err = layer ? UDPA_OK : UDPA_ERR_NOMEM;
    for (int i = 0; i < 20 && !err; i++) {
        char key[8];
        snprintf(key, sizeof(key), "k%d", i);
        err = put(layer, key, "1", NULL);
    }
    copy = err ? NULL : udpai_runtime_layer_copy(layer);
    snapshot = copy ? udpai_runtime_snapshot_new(&copy, 1) : NULL;
    return snapshot ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
test_without_memory(void **state)
{
    (void)state;
    oom_torture(make_and_copy, NULL);
    oom_torture(merge_once, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_may_not_be),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_merged_bytes),
        cmocka_unit_test(test_later_layers_count),
        cmocka_unit_test(test_any_layers),
        cmocka_unit_test(test_sorted),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
