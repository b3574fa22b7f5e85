/* SPDX-License-Identifier: Apache-2.0 */
/* Every combination of the keys, by the table that Envoy's answers were written down in. */
#include "runtime/deprecated.h"

#include "tests/harness/test.h"

#define NAME "envoy.config.Foo.bar"

/* NULL: the key is not there. */
static bool
ask(const char *own, const char *all, const char *none, bool is_disallowed)
{
    const struct {
        const char *key, *text;
    } entries[] = {
        {UDPAI_RUNTIME_DEPRECATED NAME, own},
        {UDPAI_RUNTIME_DEPRECATED_ALL, all},
        {UDPAI_RUNTIME_DEPRECATED_NONE, none},
    };

    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("x"));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(entries); i++) {
        if (!entries[i].text)
            continue;
        udpai_runtime_value value = udpai_runtime_value_read(udpai_str_from(entries[i].text));
        assert_ok(udpai_runtime_layer_put(layer, udpai_str_from(entries[i].key), &value, NULL));
    }
    udpai_runtime_snapshot *snapshot = udpai_runtime_snapshot_new(&layer, 1);
    assert_non_null(snapshot);
    bool allows = udpai_runtime_allows_deprecated(snapshot, UDPAI_STR(NAME), is_disallowed);
    udpai_runtime_snapshot_unref(snapshot);
    udpai_runtime_layer_unref(layer);
    return allows;
}

/* As Envoy 1.40 answers. */
static void
keys_count_in_this_order(void **state)
{
    (void)state;
    static const char *const words[] = {NULL, "false", "true"};
    for (size_t own = 0; own < 3; own++)
        for (size_t all = 0; all < 3; all++)
            for (size_t none = 0; none < 3; none++)
                for (int is_disallowed = 0; is_disallowed < 2; is_disallowed++) {
                    bool wanted = own ? own == 2 : all ? all == 2 : none != 2 && !is_disallowed;
                    assert_int_equal(ask(words[own], words[all], words[none], is_disallowed),
                                     wanted);
                }
}

static void
truths_are_those_of_a_runtime(void **state)
{
    (void)state;
    assert_true(ask("1", NULL, NULL, true));
    assert_false(ask("0", NULL, NULL, false));
    assert_false(ask("perhaps", NULL, NULL, true));
    assert_true(ask("perhaps", NULL, NULL, false));
}

static bool
ask_one(const char *key, const char *text, const char *more_key, const char *more_text)
{
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("x"));
    udpai_runtime_value value = udpai_runtime_value_read(udpai_str_from(text));
    udpai_runtime_value more = udpai_runtime_value_read(udpai_str_from(more_text));
    assert_ok(udpai_runtime_layer_put(layer, udpai_str_from(key), &value, NULL));
    assert_ok(udpai_runtime_layer_put(layer, udpai_str_from(more_key), &more, NULL));
    udpai_runtime_snapshot *snapshot = udpai_runtime_snapshot_new(&layer, 1);
    bool allows = udpai_runtime_allows_deprecated(snapshot, UDPAI_STR(NAME), true);
    udpai_runtime_snapshot_unref(snapshot);
    udpai_runtime_layer_unref(layer);
    return allows;
}

static void
the_singular_is_understood(void **state)
{
    (void)state;
    assert_true(ask_one("envoy.deprecated_feature:" NAME, "true", "x", "1"));
    assert_true(ask_one("envoy.features.enable_all_deprecated_feature", "true", "x", "1"));
    assert_false(ask_one("envoy.deprecated_feature:" NAME, "true",
                         "envoy.deprecated_features:" NAME, "false"));
    assert_false(ask_one("envoy.features.enable_all_deprecated_feature", "true",
                         "envoy.features.enable_all_deprecated_features", "false"));
    assert_false(ask_one("envoy.deprecated_features:" NAME "x", "true",
                         "envoy.deprecated_features:envoy.config.Foo", "true"));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_count_in_this_order),
        cmocka_unit_test(truths_are_those_of_a_runtime),
        cmocka_unit_test(the_singular_is_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
