/* SPDX-License-Identifier: Apache-2.0 */
/* Which types are client resources, further ones too, and their names. */
#include "model/client_type.h"

#include "tests/harness/oom.h"

static void
types_of_clients(void **state)
{
    static const struct {
        const char *type_url;
        bool is_client, names_client;
    } cases[] = {
        {"type.googleapis.com/udpa.load.v1.ClientLoad", true, true},
        {"type.googleapis.com/udpa.load.v1.ClusterLoad", true, true},
        {"type.googleapis.com/udpa.load.v1.SharedClientLoad", true, true},
        {"any/udpa.load.v1.OrcaReport", true, false},
        {"type.googleapis.com/udpa.health.v1.EndpointHealth", true, true},
        {"type.googleapis.com/udpa.health.v1.Checker", true, true},
        {"type.googleapis.com/udpa.status.v1.ResourceState", true, true},
        {"type.googleapis.com/udpa.status.v1.ClientStatus", true, true},
        {"type.googleapis.com/udpa.load.v1.OrcaCollection", false, false},
        {"type.googleapis.com/udpa.status.v1.NodeStatus", false, false},
        {"type.googleapis.com/envoy.config.cluster.v3.Cluster", false, false},
        {"", false, false},
    };

    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_str type_url = udpai_str_from(cases[i].type_url);
        assert_int_equal(udpai_type_is_client(type_url), cases[i].is_client);
        assert_int_equal(udpai_type_names_client(type_url), cases[i].names_client);
    }
}

static void
further_types_are_said(void **state)
{
    const udpai_str further[] = {UDPAI_STR("type.googleapis.com/com.acme.Temperature"),
                                 UDPAI_STR("com.acme.Pressure")};
    (void)state;
    assert_ok(udpai_client_types_set(further, 2));
    assert_true(udpai_type_is_client(UDPAI_STR("any/com.acme.Temperature")));
    assert_true(udpai_type_names_client(UDPAI_STR("any/com.acme.Pressure")));
    assert_true(udpai_type_is_client(UDPAI_STR("any/udpa.load.v1.ClientLoad")));
    assert_false(udpai_type_is_client(UDPAI_STR("any/com.acme.Temp")));
    assert_ok(udpai_client_types_set(further + 1, 1)); /* in their place */
    assert_false(udpai_type_is_client(UDPAI_STR("any/com.acme.Temperature")));
    assert_true(udpai_type_is_client(UDPAI_STR("any/com.acme.Pressure")));
    udpai_str many[UDPAI_CLIENT_TYPES_MAX + 1];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(many); i++)
        many[i] = further[0];
    assert_int_equal(udpai_client_types_set(many, UDPAI_ARRAY_LEN(many)), UDPA_ERR_LIMIT);
    assert_ok(udpai_client_types_set(NULL, 0));
    assert_false(udpai_type_is_client(UDPAI_STR("any/com.acme.Pressure")));
}

static udpa_err
set_with_little_memory(void *context)
{
    udpa_err err = udpai_client_types_set(context, 2);
    if (err == UDPA_OK)
        err = udpai_client_types_set(NULL, 0);
    return err;
}

static void
without_memory_there_are_none(void **state)
{
    udpai_str further[] = {UDPAI_STR("com.acme.A"), UDPAI_STR("com.acme.B")};
    (void)state;
    oom_torture(set_with_little_memory, further);
    assert_false(udpai_type_is_client(further[0]));
}

static void
names_end_with_the_client(void **state)
{
    (void)state;
    assert_ok(udpai_client_name_check(UDPAI_STR("com.acme/a/edge-1"), UDPAI_STR("edge-1"), NULL));
    assert_ok(udpai_client_name_check(UDPAI_STR("com.acme/a/x%2Fy"), UDPAI_STR("x/y"), NULL));
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(
        udpai_client_name_check(UDPAI_STR("com.acme/a/edge-1"), UDPAI_STR("edge-2"), &error),
        UDPA_ERR_DENIED);
    assert_non_null(strstr(udpa_error_message(error), "is the name of another client"));
    assert_int_equal(udpai_client_name_check(UDPAI_STR("edge-1"), UDPAI_STR("edge-1"), NULL),
                     UDPA_ERR_DENIED);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_of_clients),
        cmocka_unit_test(further_types_are_said),
        cmocka_unit_test(without_memory_there_are_none),
        cmocka_unit_test(names_end_with_the_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
