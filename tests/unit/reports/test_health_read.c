/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of checkers as they are read, and invalid ones. */
#include "health_test.h"
#include "tests/harness/oom.h"

static udpai_health_answer answer;

static udpa_err
take_in(udpai_str message, udpa_error **ret_error)
{
    return udpai_health_answer_read(message, &answer, ret_error);
}

static void
expect_said(size_t index, const char *cluster, const char *endpoint, udpai_health_status status)
{
    const udpai_health_result *said = &answer.results.items[index];
    udpai_health_address key = health_key(endpoint);
    assert_str(said->cluster, cluster);
    assert_int_equal(udpai_health_address_cmp(&said->address, &key), 0);
    assert_int_equal(said->status, status);
}

static int
teardown(void **state)
{
    (void)state;
    udpai_health_answer_done(&answer);
    wire_free_all();
    return 0;
}

static udpai_str
cluster(const char *name, udpai_str localities)
{
    return W_MESSAGE(2, W_TEXT(1, name), localities);
}

static void
what_is_said_by_cluster_counts(void **state)
{
    (void)state;
    udpai_str message = W_JOIN(health_said(1, "9.9.9.9:9", 2),
                               cluster("a", W_JOIN(W_MESSAGE(2, W_MESSAGE(1, W_TEXT(1, "here")),
                                                             health_said(2, "10.0.0.1:80", 1),
                                                             health_said(2, "/run/a", 4)),
                                                   W_MESSAGE(2, health_said(2, "::1:443", 2)))),
                               cluster("b", W_MESSAGE(2, health_said(2, "10.0.0.1:80", 5))),
                               cluster("c", W_NOTHING));
    assert_ok(take_in(message, NULL));
    assert_int_equal(answer.results.n, 4);
    expect_said(0, "a", "10.0.0.1:80", UDPAI_HEALTH_HEALTHY);
    expect_said(1, "a", "/run/a", UDPAI_HEALTH_TIMEOUT);
    expect_said(2, "a", "::1:443", UDPAI_HEALTH_UNHEALTHY);
    expect_said(3, "b", "10.0.0.1:80", UDPAI_HEALTH_DEGRADED);
    assert_int_equal(answer.n_strange, 0);
}

static void
the_old_list_counts_if_there_is_nothing_else(void **state)
{
    (void)state;
    assert_ok(
        take_in(W_JOIN(health_said(1, "10.0.0.1:80", 1), health_said(1, "10.0.0.2:80", 3)), NULL));
    assert_int_equal(answer.results.n, 2);
    expect_said(0, "", "10.0.0.1:80", UDPAI_HEALTH_HEALTHY);
    expect_said(1, "", "10.0.0.2:80", UDPAI_HEALTH_DRAINING);
}

static void
what_has_no_address_is_counted(void **state)
{
    (void)state;
    udpai_str strange[] = {
        W_MESSAGE(1, W_VARINT(2, 1)),
        W_MESSAGE(1, W_EMPTY(1)),
        W_MESSAGE(1, W_MESSAGE(1, W_MESSAGE(1, W_MESSAGE(3, W_TEXT(1, "internal"))))),
        W_MESSAGE(1, W_MESSAGE(1, W_MESSAGE(1, W_EMPTY(1)))),
        W_MESSAGE(1, W_MESSAGE(1, W_MESSAGE(1, W_MESSAGE(1, W_TEXT(2, "a"), W_TEXT(4, "http"))))),
        health_said(1, "10.0.0.1:0", 1),
        health_said(1, "10.0.0.1:65536", 1),
        health_said(1, ":80", 1),
        health_said(1, "", 1),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(strange); i++) {
        assert_ok(take_in(W_JOIN(strange[i], health_said(1, "10.0.0.1:80", 1)), NULL));
        assert_int_equal(answer.n_strange, 1);
        assert_int_equal(answer.results.n, 1);
        udpai_health_answer_done(&answer);
    }
}

static void
a_status_that_is_not_known_says_nothing(void **state)
{
    (void)state;
    assert_ok(take_in(W_JOIN(health_said(1, "a:1", 6), health_said(1, "a:2", UINT64_MAX)), NULL));
    expect_said(0, "", "a:1", UDPAI_HEALTH_UNKNOWN);
    expect_said(1, "", "a:2", UDPAI_HEALTH_UNKNOWN);
}

static void
what_is_malformed_is_refused(void **state)
{
    (void)state;
    udpai_str malformed[] = {
        UDPAI_STR("\x0a"),
        UDPAI_STR("\x0a\x05\x01"),
        W_MESSAGE(2, W_BYTES(1, "\xff")),
        W_MESSAGE(1, W_MESSAGE(1, W_MESSAGE(1, W_MESSAGE(1, W_BYTES(2, "a\0b"))))),
        W_MESSAGE(1, W_EMPTY(1), W_EMPTY(1)),
        W_VARINT(1, 5),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(malformed); i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_equal(take_in(malformed[i], &error), UDPA_ERR_MALFORMED);
        assert_non_null(error);
        udpai_health_answer_done(&answer);
    }
}

static void
a_cluster_needs_a_name(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(take_in(W_MESSAGE(2, W_MESSAGE(2, health_said(2, "a:1", 1))), &error),
                     UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "cluster_name"));
}

static void
an_answer_has_a_bound(void **state)
{
    (void)state;
    udpai_str one = health_said(1, "a:1", 1);
    size_t n = UDPAI_HEALTH_ENDPOINTS_MAX;
    char *many = malloc((n + 1) * one.len);
    for (size_t i = 0; i <= n; i++)
        memcpy(many + i * one.len, one.data, one.len);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    /* The scan has a bound of its own, which may be met first. */
    assert_int_not_equal(take_in((udpai_str){many, (n + 1) * one.len}, &error), UDPA_OK);
    assert_non_null(error);
    assert_true(answer.results.n <= n);
    udpai_health_answer_done(&answer);
    free(many);
}

static udpa_err
read_without_memory(void *context)
{
    udpa_err err = udpai_health_answer_read(*(udpai_str *)context, &answer, NULL);
    udpai_health_answer_done(&answer);
    return err;
}

static void
without_memory_nothing_leaks(void **state)
{
    (void)state;
    udpai_str message = W_NOTHING;
    for (int i = 0; i < 20; i++)
        message = W_JOIN(message, health_said(1, "10.0.0.1:80", 1));
    oom_torture(read_without_memory, &message);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_is_said_by_cluster_counts, teardown),
        cmocka_unit_test_teardown(the_old_list_counts_if_there_is_nothing_else, teardown),
        cmocka_unit_test_teardown(what_has_no_address_is_counted, teardown),
        cmocka_unit_test_teardown(a_status_that_is_not_known_says_nothing, teardown),
        cmocka_unit_test_teardown(what_is_malformed_is_refused, teardown),
        cmocka_unit_test_teardown(a_cluster_needs_a_name, teardown),
        cmocka_unit_test_teardown(an_answer_has_a_bound, teardown),
        cmocka_unit_test_teardown(without_memory_nothing_leaks, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
