/* SPDX-License-Identifier: Apache-2.0 */
/* What an endpoint says of itself: copied whole, kept as long as somebody holds it. */
#include "model/node_info.h"

#include "tests/harness/oom.h"
#include "tests/harness/test.h"

static const udpai_str features[] = {UDPAI_STR(UDPAI_FEATURE_EXTENSIONS), UDPAI_STR("x")};

static udpai_node_parts
full_parts(void)
{
    return (udpai_node_parts){
        .id = UDPAI_STR("node-1"),
        .cluster = UDPAI_STR("edge"),
        .region = UDPAI_STR("eu"),
        .zone = UDPAI_STR("eu-1"),
        .sub_zone = UDPAI_STR("rack 7"),
        .user_agent_name = UDPAI_STR("agent"),
        .user_agent_version = UDPAI_STR("1.2"),
        .features = features,
        .n_features = 2,
        .metadata = UDPAI_STR("\x0a\0\x01"),
    };
}

static void
everything_comes_out(void **state)
{
    (void)state;
    const udpai_node_parts given = full_parts();
    udpai_node_info *info = NULL;
    assert_ok(udpai_node_info_new(&info, &given));
    const udpai_node_parts *parts = udpai_node_info_parts(info);
    assert_ptr_not_equal(parts->id.data, given.id.data);
    assert_str(parts->id, "node-1");
    assert_str(parts->cluster, "edge");
    assert_str(parts->region, "eu");
    assert_str(parts->zone, "eu-1");
    assert_str(parts->sub_zone, "rack 7");
    assert_str(parts->user_agent_name, "agent");
    assert_str(parts->user_agent_version, "1.2");
    assert_true(udpai_str_eq(parts->metadata, UDPAI_STR("\x0a\0\x01")));
    assert_int_equal(parts->n_features, 2);
    assert_str(parts->features[1], "x");
    assert_string_equal(parts->id.data, "node-1"); /* a NUL behind each text */
    udpai_node_info_unref(info);
}

static void
nothing_said_is_empty(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
    assert_ok(udpai_node_info_new(&info, &(udpai_node_parts){.n_features = 0}));
    assert_int_equal(udpai_node_info_parts(info)->id.len, 0);
    assert_string_equal(udpai_node_info_parts(info)->id.data, "");
    assert_false(udpai_node_info_has_feature(info, UDPAI_FEATURE_NODE));
}

static void
two_are_compared(void **state)
{
    (void)state;
    static const udpai_str other_features[] = {UDPAI_STR(UDPAI_FEATURE_EXTENSIONS), UDPAI_STR("y")};
    udpai_node_parts same = full_parts(), less = same, parameters = same, features_differ = same,
                     fewer = same;
    less.cluster = (udpai_str){0};
    parameters.parameters = UDPAI_STR("p");
    features_differ.features = other_features;
    fewer.n_features = 0;

    const struct {
        const udpai_node_parts *parts;
        bool is_equal, is_as_full;
    } cases[] = {
        {&same, true, true},        {&less, false, false},
        {&parameters, false, true}, {&features_differ, false, true},
        {&fewer, false, false},
    };

    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
    assert_ok(udpai_node_info_new(&info, &same));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        UDPA_AUTO(udpai_node_info_unref) udpai_node_info *other = NULL;
        assert_ok(udpai_node_info_new(&other, cases[i].parts));
        assert_int_equal(udpai_node_info_equal(info, other), cases[i].is_equal);
        assert_int_equal(udpai_node_info_equal(other, info), cases[i].is_equal);
        assert_int_equal(udpai_node_info_is_as_full(other, info), cases[i].is_as_full);
        assert_true(udpai_node_info_is_as_full(info, other)); /* parameters may go */
    }
}

static void
features_are_found_whole(void **state)
{
    (void)state;
    const udpai_node_parts given = full_parts();
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
    assert_ok(udpai_node_info_new(&info, &given));
    assert_true(udpai_node_info_has_feature(info, UDPAI_FEATURE_EXTENSIONS));
    assert_true(udpai_node_info_has_feature(info, "x"));
    assert_false(udpai_node_info_has_feature(info, UDPAI_FEATURE_NODE));
    assert_false(udpai_node_info_has_feature(info, "udpa.ext"));
    assert_false(udpai_node_info_has_feature(info, ""));
}

static void
references_keep_it_alive(void **state)
{
    (void)state;
    const udpai_node_parts given = full_parts();
    udpai_node_info *info = NULL;
    assert_ok(udpai_node_info_new(&info, &given));
    udpai_node_info *second = udpai_node_info_ref(info);
    assert_ptr_equal(second, info);
    assert_null(udpai_node_info_unref(info));
    assert_str(udpai_node_info_parts(second)->cluster, "edge");
    assert_null(udpai_node_info_unref(second));
    assert_null(udpai_node_info_ref(NULL));
    assert_null(udpai_node_info_unref(NULL));
}

/* ---- what is said in the metadata ---- */

#define KEY "udpa.instance"

static udpai_node_info *
saying(const udpai_node_metadata *said, size_t n)
{
    const udpai_node_parts given = {.id = UDPAI_STR("node-1"), .cluster = UDPAI_STR("edge")};
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *bare = NULL;
    udpai_node_info *info = NULL;
    assert_ok(udpai_node_info_new(&bare, &given));
    assert_str(udpai_node_info_metadata(bare, KEY), "");
    assert_ok(udpai_node_info_with_metadata(&info, bare, said, n));
    return info;
}

static void
what_is_said_is_found_by_its_key(void **state)
{
    (void)state;
    const udpai_node_metadata said[] = {{KEY, UDPAI_STR("7f")}, {"udpa.epoch", UDPAI_STR("12")}};
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = saying(said, 2);
    assert_str(udpai_node_info_metadata(info, KEY), "7f");
    assert_str(udpai_node_info_metadata(info, "udpa.epoch"), "12");
    assert_str(udpai_node_info_metadata(info, "udpa.inst"), "");
    assert_str(udpai_node_info_parts(info)->cluster, "edge");
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *again = NULL;
    assert_ok(udpai_node_info_with_metadata(&again, info,
                                            &(udpai_node_metadata){KEY, UDPAI_STR("8a")}, 1));
    assert_str(udpai_node_info_metadata(again, KEY), "8a");
    assert_str(udpai_node_info_metadata(again, "udpa.epoch"), "12");
}

/* Of a peer's metadata only a string is one, and what is malformed is not there. */
static void
what_is_no_string_is_not_said(void **state)
{
    (void)state;
    static const udpai_str wrong[] = {
        UDPAI_STR("\x0a\x13\x0a\x0dudpa.instance\x12\x02\x20\x01"), /* a bool */
        UDPAI_STR("\x0a\x0f\x0a\x0dudpa.instance"),                 /* no value */
        UDPAI_STR("\x0a\x7f\x0a\x0dudpa.instance"),                 /* cut off */
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrong); i++) {
        const udpai_node_parts given = {.id = UDPAI_STR("n"), .metadata = wrong[i]};
        UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
        assert_ok(udpai_node_info_new(&info, &given));
        assert_str(udpai_node_info_metadata(info, KEY), "");
    }
}

static udpa_err
say_and_drop(void *context)
{
    udpai_node_info *info = NULL;
    udpa_err err = udpai_node_info_with_metadata(&info, context,
                                                 &(udpai_node_metadata){KEY, UDPAI_STR("7f")}, 1);
    udpai_node_info_unref(info);
    return err;
}

static void
an_epoch_is_read_whole_or_not_at_all(void **state)
{
    (void)state;
    char long_epoch[UDPAI_EPOCH_MAX + 2];
    memset(long_epoch, 'e', sizeof(long_epoch) - 1);
    long_epoch[sizeof(long_epoch) - 1] = '\0';

    const struct {
        const char *epoch, *commit;
        bool is_said;
        uint64_t number;
    } cases[] = {
        {"e", "0", true, 0},
        {long_epoch + 1, "18446744073709551615", true, UINT64_MAX},
        {long_epoch, "1", false, 0},
        {"", "1", false, 0},
        {"e", "", false, 0},
        {"e", "18446744073709551616", false, 0},
        {"e", "99999999999999999999999", false, 0},
        {"e", "-1", false, 0},
        {"e", " 1", false, 0},
        {"e", "1x", false, 0},
    };

    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *plain = NULL;
    assert_ok(udpai_node_info_new(&plain, &(udpai_node_parts){.n_features = 0}));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        const udpai_node_metadata said[] = {
            {UDPAI_NODE_KEY_EPOCH, udpai_str_from(cases[i].epoch)},
            {UDPAI_NODE_KEY_COMMIT, udpai_str_from(cases[i].commit)},
        };
        UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
        udpai_str epoch = {0};
        uint64_t number = 0;
        assert_ok(udpai_node_info_with_metadata(&info, plain, said, UDPAI_ARRAY_LEN(said)));
        assert_int_equal(udpai_node_info_epoch(info, &epoch, &number), cases[i].is_said);
        assert_int_equal(number, cases[i].number);
        assert_int_equal(epoch.len, cases[i].is_said ? strlen(cases[i].epoch) : 0);
    }
}

static udpa_err
new_and_drop(void *context)
{
    udpai_node_info *info = NULL;
    udpa_err err = udpai_node_info_new(&info, context);
    udpai_node_info_unref(info);
    return err;
}

static void
lack_of_memory_is_reported(void **state)
{
    (void)state;
    udpai_node_parts parts = full_parts();
    assert_int_equal(oom_torture(new_and_drop, &parts), 1);
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
    assert_ok(udpai_node_info_new(&info, &parts));
    assert_int_equal(oom_torture(say_and_drop, info), 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_out),
        cmocka_unit_test(nothing_said_is_empty),
        cmocka_unit_test(two_are_compared),
        cmocka_unit_test(features_are_found_whole),
        cmocka_unit_test(references_keep_it_alive),
        cmocka_unit_test(lack_of_memory_is_reported),
        cmocka_unit_test(what_is_said_is_found_by_its_key),
        cmocka_unit_test(what_is_no_string_is_not_said),
        cmocka_unit_test(an_epoch_is_read_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
