/* SPDX-License-Identifier: Apache-2.0 */
/* Names with sources of their own: what is known of them does not follow from their type. */
#include "store/settled.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"

#define TYPE UDPAI_STR(TEST_TYPE)

/* a is known; b is not, by two sources; c by one that may wait for us; b of another type is known.
 */
static const udpai_settled_name items[] = {
    {UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/c"), true, UDPAI_STR("y"), UDPAI_STR("n"), true, 70,
     UDPAI_STR("said")},
    {UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/b"), true, UDPAI_STR("z"), {0}, false, 0, {0}},
    {UDPAI_STR(TEST_TYPE),
     UDPAI_STR("com.acme/b"),
     true,
     UDPAI_STR("y"),
     UDPAI_STR("n"),
     true,
     90,
     {0}},
    {UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/a"), false, {0}, {0}, false, 0, {0}},
    {UDPAI_STR(TEST_CDS), UDPAI_STR("com.acme/b"), false, {0}, {0}, false, 0, {0}},
};

static udpai_settled_names *
make(void)
{
    udpai_settled_names *names = udpai_settled_names_new(items, UDPAI_ARRAY_LEN(items));
    assert_non_null(names);
    return names;
}

static udpai_settled *
snapshot(const udpai_unsettled *missing)
{
    UDPA_AUTO(udpai_settled_names_unref) udpai_settled_names *names = make();
    udpai_settled *settled = udpai_settled_new(
        &(udpai_settled_facts){.missing = missing, .n_missing = 1, .names = names});
    assert_non_null(settled);
    return settled;
}

static udpai_settled_state
query_name(const udpai_settled *settled, const char *name, const char *except)
{
    return udpai_settled_query_name(settled, TYPE, udpai_str_from(name), udpai_str_from(except));
}

static udpai_settled_state
query(const udpai_settled *settled, const char *prefix, const char *except)
{
    return udpai_settled_query(settled, TYPE, udpai_str_from(prefix), udpai_str_from(except));
}

static void
test_they_are_found(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_settled_names_unref) udpai_settled_names *names = make();
    const udpai_settled_name *first;
    assert_int_equal(udpai_settled_names_find(names, TYPE, UDPAI_STR("com.acme/b"), &first), 2);
    assert_true(udpai_str_eq(first->source, UDPAI_STR("y")));
    assert_int_equal(udpai_settled_names_find(names, TYPE, UDPAI_STR("com.acme/a"), &first), 1);
    assert_int_equal(udpai_settled_names_find(names, TYPE, UDPAI_STR("com.acme"), &first), 0);
    assert_int_equal(udpai_settled_names_find(NULL, TYPE, UDPAI_STR("com.acme/a"), &first), 0);
    assert_int_equal(udpai_settled_names_all(names, &first), UDPAI_ARRAY_LEN(items));
    assert_int_equal(udpai_settled_names_all(NULL, &first), 0);
    assert_true(udpai_settled_names_miss(names));
    assert_false(udpai_settled_names_miss(NULL));
}

static void
test_what_its_type_misses_is_nothing_to_a_name(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = snapshot(&(udpai_unsettled){.prefix = UDPAI_STR("com.acme")});
    assert_int_equal(query_name(settled, "com.acme/a", ""), UDPAI_SETTLED);
    assert_int_equal(query_name(settled, "com.acme/d", ""), UDPAI_UNSETTLED);
}

static void
test_its_own_sources_count(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = snapshot(&(udpai_unsettled){.prefix = UDPAI_STR("org")});
    assert_int_equal(query_name(settled, "com.acme/b", ""), UDPAI_UNSETTLED);
    assert_int_equal(query_name(settled, "com.acme/c", ""), UDPAI_SETTLED_AFTER_WAIT);
    assert_int_equal(query_name(settled, "com.acme/c", "n"), UDPAI_SETTLED);
    udpai_str none = {0};
    assert_int_equal(udpai_settled_since(settled, TYPE, UDPAI_STR("com.acme/c"), none), 70);
    assert_int_equal(
        udpai_settled_query_name(settled, UDPAI_STR(TEST_CDS), UDPAI_STR("com.acme/b"), none),
        UDPAI_SETTLED);
}

static void
test_a_wildcard_waits_for_those_below(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = snapshot(&(udpai_unsettled){.prefix = UDPAI_STR("org")});
    assert_int_equal(query(settled, "com.acme", ""), UDPAI_UNSETTLED);
    assert_int_equal(query(settled, "com.acme/c", ""), UDPAI_SETTLED_AFTER_WAIT);
    assert_int_equal(udpai_settled_since(settled, TYPE, UDPAI_STR("com"), (udpai_str){0}), 90);
    assert_int_equal(query(settled, "com.other", ""), UDPAI_SETTLED);
}

static void
test_what_is_missing_is_awaited(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = snapshot(&(udpai_unsettled){.prefix = UDPAI_STR("com.acme")});
    UDPA_AUTO(udpa_resource_unref) udpa_resource *known = RESOURCE("com.acme/a");
    UDPA_AUTO(udpa_resource_unref) udpa_resource *unknown = RESOURCE("com.acme/b");
    assert_false(udpai_settled_is_awaited(settled, known));
    assert_true(udpai_settled_is_awaited(settled, unknown));
}

static udpa_err
make_one(void *userdata)
{
    (void)userdata;
    udpai_settled_names *names = udpai_settled_names_new(items, UDPAI_ARRAY_LEN(items));
    udpai_settled_names_unref(names);
    return names ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
test_lack_of_memory(void **state)
{
    (void)state;
    assert_int_equal(oom_torture(make_one, NULL), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_they_are_found),
        cmocka_unit_test(test_what_its_type_misses_is_nothing_to_a_name),
        cmocka_unit_test(test_its_own_sources_count),
        cmocka_unit_test(test_a_wildcard_waits_for_those_below),
        cmocka_unit_test(test_what_is_missing_is_awaited),
        cmocka_unit_test(test_lack_of_memory),
    };
    return cmocka_run_group_tests_name("settled names", tests, NULL, NULL);
}
