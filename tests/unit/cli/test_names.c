/* SPDX-License-Identifier: Apache-2.0 */
/* Short names of types and resources, and their full ones. */
#include "cli/names.h"

#include "base/alloc.h"
#include "tests/harness/oom.h"

#define CLUSTER "type.googleapis.com/envoy.config.cluster.v3.Cluster"

static void
test_types(void **state)
{
    (void)state;

    static const struct {
        const char *given, *url;
    } cases[] = {
        {"cluster", CLUSTER},
        {"Clusters", CLUSTER},
        {"cds", CLUSTER},
        {"envoy.config.cluster.v3.Cluster", CLUSTER},
        {CLUSTER, CLUSTER},
        {"example.org/a.B", "example.org/a.B"},
        {"a.B", "type.googleapis.com/a.B"},
        {"sessions", "type.googleapis.com/udpa.status.v1.SessionStatus"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        UDPAI_AUTO_FREE char *url = NULL;
        assert_ok(udpai_cli_type_url(cases[i].given, &url, NULL));
        assert_string_equal(url, cases[i].url);
    }
}

static void
test_no_types(void **state)
{
    (void)state;
    static const char *const wrong[] = {"clustr", "", "clusterss", "xds"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrong); i++) {
        char *url = NULL;
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_equal(udpai_cli_type_url(wrong[i], &url, &error), UDPA_ERR_INVAL);
        assert_null(url);
        assert_non_null(strstr(udpa_error_message(error), "is no type"));
        if (i == 0)
            assert_non_null(strstr(udpa_error_message(error), "did you mean 'cluster'?"));
    }
}

static void
visit(void *userdata, const char *name, const char *also, const char *full)
{
    UDPAI_AUTO_FREE char *by_name = NULL, *by_also = NULL;
    assert_ok(udpai_cli_type_url(name, &by_name, NULL));
    assert_non_null(strstr(by_name, full));
    if (*also) {
        assert_ok(udpai_cli_type_url(also, &by_also, NULL));
        assert_string_equal(by_also, by_name);
    }
    assert_str(udpai_cli_type_short(udpai_str_from(by_name)), name);
    ++*(unsigned *)userdata;
}

static void
test_short_and_back(void **state)
{
    (void)state;
    unsigned n = 0;
    udpai_cli_visit_types(visit, &n);
    assert_true(n >= 6);
    assert_str(udpai_cli_type_short(UDPAI_STR("type.googleapis.com/a.B")), "a.B");
    assert_str(udpai_cli_type_short(UDPAI_STR("a.B")), "a.B");
    assert_str(udpai_cli_type_short(UDPAI_STR("")), "");
}

static void
test_full_names(void **state)
{
    (void)state;

    static const struct {
        const char *name, *name_space, *full;
    } cases[] = {
        {"hello", "local", "local/hello"},
        {"local/hello", "local", "local/hello"},
        {"other/hello", "local", "other/hello"}, /* as it is printed */
        {"Other/hello", "local", "local/Other/hello"},
        {"com.acme/hello", "local", "com.acme/hello"},
        {"com.acme/a/b", "com.acme", "com.acme/a/b"},
        {"/hello", "local", "local//hello"},
        {"xdstp://com.acme/a.B/hello?y=2&x=1", "local", "com.acme/hello?x=1&y=2"},
        {"xdstp:///a.B/hello", "com.acme", "com.acme/hello"},
        {"xdstp://Acme/a.B/hello", "local", "local/xdstp://Acme/a.B/hello"}, /* nobody is that */
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        UDPAI_AUTO_FREE char *full = udpai_cli_full_name(cases[i].name, cases[i].name_space);
        assert_string_equal(full, cases[i].full);
    }
}

static void
test_names_that_may_be_ids(void **state)
{
    (void)state;
    assert_true(udpai_cli_may_be_id("route/host", "local"));
    assert_true(udpai_cli_may_be_id("local/host", "com.acme"));
    assert_false(udpai_cli_may_be_id("local/host", "local"));
    assert_false(udpai_cli_may_be_id("com.acme/host", "local"));
    assert_false(udpai_cli_may_be_id("Route/host", "local")); /* is one */
    assert_false(udpai_cli_may_be_id("host", "local"));
}

static void
test_secrets(void **state)
{
    (void)state;
    assert_true(udpai_cli_is_secret(
        UDPAI_STR("type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret")));
    assert_true(udpai_cli_is_secret(UDPAI_STR("a/com.acme.GenericSecret")));
    assert_false(udpai_cli_is_secret(UDPAI_STR(CLUSTER)));
    assert_false(udpai_cli_is_secret(UDPAI_STR("ecret")));
    assert_false(udpai_cli_is_secret(UDPAI_STR("")));
}

static udpa_err
make_names(void *context)
{
    UDPAI_AUTO_FREE char *url = NULL, *full = NULL;
    (void)context;
    udpa_err err = udpai_cli_type_url("cluster", &url, NULL);
    full = udpai_cli_full_name("a", "local");
    return err == UDPA_OK && !full ? UDPA_ERR_NOMEM : err;
}

static void
test_without_memory(void **state)
{
    (void)state;
    oom_torture(make_names, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_no_types),
        cmocka_unit_test(test_short_and_back),
        cmocka_unit_test(test_full_names),
        cmocka_unit_test(test_names_that_may_be_ids),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("cli names", tests, NULL, NULL);
}
