/* SPDX-License-Identifier: Apache-2.0 */
/* Found resources: the newest of each, by name, alias and id, in order. */
#include "cli/found.h"

#include "tests/harness/oom.h"
#include "tests/harness/resources.h"

/* Gives the resource up. */
static bool
put(udpai_cli_found *found, udpa_resource *resource)
{
    bool replaced;
    assert_ok(udpai_cli_found_put(found, resource, &replaced));
    udpa_resource_unref(resource);
    return replaced;
}

static const char *
version_of(const udpai_cli_found *found, const char *type, const char *name)
{
    const udpa_resource *resource =
        udpai_cli_found_get(found, udpai_str_from(type), udpai_str_from(name));
    return resource ? udpa_resource_version(resource) : NULL;
}

static void
test_the_newest(void **state)
{
    (void)state;
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    assert_false(put(&found, RESOURCE("com.acme/a", .version = "1")));
    assert_true(put(&found, RESOURCE("com.acme/a", .version = "2")));
    assert_false(put(&found, RESOURCE("com.acme/a", .version = "3", .type = TEST_CDS)));
    assert_int_equal(udpai_cli_found_size(&found), 2);
    assert_string_equal(version_of(&found, TEST_TYPE, "com.acme/a"), "2");
    assert_string_equal(version_of(&found, TEST_CDS, "com.acme/a"), "3");
    assert_null(version_of(&found, TEST_EDS, "com.acme/a"));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *gone = RESOURCE("com.acme/a");
    assert_true(udpai_cli_found_drop(&found, gone));
    assert_false(udpai_cli_found_drop(&found, gone));
    assert_null(version_of(&found, TEST_TYPE, "com.acme/a"));
    assert_int_equal(udpai_cli_found_size(&found), 1);
    udpai_cli_found_done(&found);
}

static void
test_aliases(void **state)
{
    (void)state;
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    put(&found, RESOURCE("com.acme/a", .version = "1", .aliases = {"com.acme/b", "com.acme/x/*"}));
    assert_string_equal(version_of(&found, TEST_TYPE, "com.acme/b"), "1");
    assert_string_equal(version_of(&found, TEST_TYPE, "com.acme/x/any"), "1");
    assert_null(version_of(&found, TEST_TYPE, "com.acme/x"));
    assert_null(version_of(&found, TEST_CDS, "com.acme/b"));
    udpai_cli_found_done(&found);
}

static void
test_order(void **state)
{
    (void)state;
    static const char *const wanted[] = {"com.acme/z", "com.acme/b2", "com.acme/b10", "com.acme/c"};
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    put(&found, RESOURCE("com.acme/c"));
    put(&found, RESOURCE("com.acme/b10", .type = TEST_LDS));
    put(&found, RESOURCE("com.acme/b2", .type = TEST_LDS));
    put(&found, RESOURCE("com.acme/z", .type = TEST_CDS));
    UDPAI_AUTO_FREE udpa_resource **sorted = udpai_cli_found_sorted(&found);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wanted); i++)
        assert_string_equal(udpa_resource_name(sorted[i]), wanted[i]);
    udpai_cli_found_done(&found);
}

static udpa_err
fill(void *context)
{
    udpai_cli_found found;
    bool replaced;
    udpai_cli_found_begin(&found);
    udpa_err err = udpai_cli_found_put(&found, context, &replaced);
    UDPAI_AUTO_FREE udpa_resource **sorted = udpai_cli_found_sorted(&found);
    if (err == UDPA_OK && !sorted)
        err = UDPA_ERR_NOMEM;
    udpai_cli_found_done(&found);
    return err;
}

static void
test_ids(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = RESOURCE("com.acme/a/b");
    assert_true(udpai_cli_has_id(resource, UDPAI_STR("a/b")));
    assert_false(udpai_cli_has_id(resource, UDPAI_STR("b")));
    assert_false(udpai_cli_has_id(resource, UDPAI_STR("com.acme/a/b")));
    assert_false(udpai_cli_has_id(resource, UDPAI_STR("")));
}

static void
test_without_memory(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = RESOURCE("com.acme/a");
    oom_torture(fill, resource);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_newest),     cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_order),          cmocka_unit_test(test_ids),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("cli found", tests, NULL, NULL);
}
