/* SPDX-License-Identifier: Apache-2.0 */
/* How often what is reported, by rules of prefixes. */
#include "reports/load_policy.h"

#include <stdio.h>

#include "tests/harness/oom.h"
#include "tests/harness/resources.h"
#include "tests/harness/wire.h"

static udpai_load_policy policy;

static int
setup(void **state)
{
    (void)state;
    udpai_load_policy_init(&policy, (udpai_load_setting){10000, false});
    return 0;
}

static int
done(void **state)
{
    (void)state;
    udpai_load_policy_done(&policy);
    wire_free_all();
    return 0;
}

static udpa_resource *
make_rule(const char *name, udpai_str value)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_LOAD_REPORTING), value);
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
    udpa_resource *resource = NULL;
    assert_ok(udpai_resource_make(&resource, &parts));
    return resource;
}

static udpa_err
set(const char *name, udpai_str value, udpa_error **ret_error)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make_rule(name, value);
    udpa_err checked = udpai_load_rule_check(&policy, resource, NULL);
    udpa_err err = udpai_load_policy_set(&policy, resource, ret_error);
    assert_true(checked == err || err == UDPA_ERR_LIMIT);
    return err;
}

#define RULE(prefix, seconds, ...)                                                                 \
    W_JOIN(W_TEXT(1, prefix), W_MESSAGE(2, W_VARINT(1, seconds)), __VA_ARGS__)
#define SINGLY W_VARINT(3, 1)

static void
expect(udpai_load_setting found, uint64_t interval_ms, bool per_endpoint)
{
    assert_int_equal(found.interval_ms, interval_ms);
    assert_int_equal(found.per_endpoint, per_endpoint);
}

static udpai_load_setting
find(const char *name)
{
    return udpai_load_policy_find(&policy, udpai_str_from(name));
}

static udpai_load_setting
finest(const char *prefix)
{
    return udpai_load_policy_finest(&policy, udpai_str_from(prefix));
}

static void
the_most_specific_prefix_counts(void **state)
{
    (void)state;
    assert_ok(set("com.acme/all", RULE("com.acme", 30, SINGLY), NULL));
    assert_ok(set("com.acme/some", RULE("com.acme/a", 5), NULL));
    expect(find("com.acme/b"), 30000, true);
    expect(find("com.acme.foo/b"), 30000, true);
    expect(find("com.acme/a"), 5000, false);
    expect(find("com.acme/a/b"), 5000, false);
    expect(find("com.acme/ab"), 30000, true);
    expect(find("net/a"), 10000, false);
    udpai_load_policy_remove(&policy, UDPAI_STR("com.acme/some"));
    udpai_load_policy_remove(&policy, UDPAI_STR("com.acme/some"));
    expect(find("com.acme/a"), 30000, true);
    assert_ok(set("com.acme/all", RULE("com.acme", 20), NULL));
    expect(find("com.acme/a"), 20000, false);
    udpai_load_policy_clear(&policy);
    expect(find("com.acme/a"), 10000, false);
}

static void
of_two_alike_the_lower_name_counts(void **state)
{
    (void)state;
    assert_ok(set("com.acme/2", RULE("com.acme", 2), NULL));
    assert_ok(set("com.acme/1", RULE("com.acme", 1), NULL));
    assert_ok(set("com.acme/3", RULE("com.acme", 3), NULL));
    expect(find("com.acme/a"), 1000, false);
}

static void
the_finest_is_that_of_all_that_may_be_there(void **state)
{
    (void)state;
    assert_ok(set("com.acme/all", RULE("com.acme", 30), NULL));
    assert_ok(set("com.acme/some", RULE("com.acme/a", 5), NULL));
    assert_ok(set("com.acme/b", RULE("com.acme/b", 60, SINGLY), NULL));
    expect(finest("com.acme"), 5000, true);
    expect(finest("com.acme/a"), 5000, false);
    expect(finest("com.acme/b"), 60000, true);
    expect(finest("com.acme/c"), 30000, false);
    expect(finest(""), 5000, true);
    expect(finest("net"), 10000, false);
}

static void
no_interval_is_the_default(void **state)
{
    (void)state;
    assert_ok(set("com.acme/x", W_JOIN(W_TEXT(1, "com.acme"), SINGLY), NULL));
    expect(find("com.acme/a"), 10000, true);
}

static void
expect_refused(const char *name, udpai_str value, udpa_err code, const char *words)
{
    udpa_error *error = NULL;
    assert_int_equal(set(name, value, &error), code);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' is not in '%s'", words, udpa_error_message(error));
    udpa_error_unref(error);
}

#define NANOS(seconds, nanos)                                                                      \
    W_JOIN(W_TEXT(1, "com.acme"), W_MESSAGE(2, W_VARINT(1, seconds), W_VARINT(2, nanos)))

static void
what_is_wrong_changes_nothing(void **state)
{
    (void)state;
    const char *name = "com.acme/x";
    assert_ok(set(name, RULE("com.acme", 7), NULL));
    expect_refused(name, RULE("com.acme", 3601), UDPA_ERR_INVAL, "100 ms to an hour");
    expect_refused(name, RULE("com.acme", UINT64_MAX), UDPA_ERR_INVAL, "its interval is -1 s");
    expect_refused(name, RULE("com.acme", 0), UDPA_ERR_INVAL, "100 ms");
    expect_refused(name, NANOS(0, 99999999), UDPA_ERR_INVAL, "100 ms");
    expect_refused(name, NANOS(1, 1000000000), UDPA_ERR_INVAL, "100 ms");
    expect_refused(name, RULE("net", 7), UDPA_ERR_DENIED, "lies outside 'com.acme'");
    expect_refused(name, RULE("", 7), UDPA_ERR_DENIED, "lies outside");
    expect_refused(name, RULE("com", 7), UDPA_ERR_DENIED, "lies outside");
    expect_refused(name, RULE("Com Acme", 7), UDPA_ERR_INVAL, "");
    expect_refused(name, UDPAI_STR("\x0a\x05x"), UDPA_ERR_MALFORMED, "");
    expect(find("com.acme/a"), 7000, false);
    assert_ok(set(name, NANOS(0, 100000000), NULL));
    expect(find("com.acme/a"), 100, false);
}

static void
there_are_only_so_many(void **state)
{
    (void)state;
    for (int i = 0; i < UDPAI_LOAD_RULES_MAX; i++) {
        char name[32];
        snprintf(name, sizeof(name), "com.acme/%d", i);
        assert_ok(set(name, RULE(name, 7), NULL));
    }
    expect_refused("com.acme/one-more", RULE("com.acme", 7), UDPA_ERR_LIMIT, "one more than");
    assert_ok(set("com.acme/7", RULE("com.acme", 3), NULL)); /* in the place of one */
    expect(find("com.acme/x"), 3000, false);
}

static udpa_err
set_with_little_memory(void *context)
{
    udpai_load_policy small;
    udpai_load_policy_init(&small, (udpai_load_setting){10000, false});
    udpa_err err = udpai_load_policy_set(&small, context, NULL);
    udpai_load_policy_done(&small);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    (void)state;
    udpa_resource *rule = make_rule("com.acme/x", RULE("com.acme", 7));
    oom_torture(set_with_little_memory, rule);
    udpa_resource_unref(rule);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, done)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_most_specific_prefix_counts),
        TEST(of_two_alike_the_lower_name_counts),
        TEST(the_finest_is_that_of_all_that_may_be_there),
        TEST(no_interval_is_the_default),
        TEST(what_is_wrong_changes_nothing),
        TEST(there_are_only_so_many),
        TEST(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests_name("reports load_policy", tests, NULL, NULL);
}
