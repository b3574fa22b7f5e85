/* SPDX-License-Identifier: Apache-2.0 */
/* Specifiers of health checks, reduced to what a checker can do. */
#include "health_test.h"
#include "reports/health_table.h"
#include "tests/harness/oom.h"

#define ALL (UDPAI_HEALTH_HTTP | UDPAI_HEALTH_TCP | UDPAI_HEALTH_REDIS)

static udpa_bytes *limited;
static size_t n_left_out;

static int
teardown(void **state)
{
    (void)state;
    limited = udpa_bytes_unref(limited);
    wire_free_all();
    return 0;
}

static void
limit(udpai_str specifier, unsigned capability)
{
    limited = udpa_bytes_unref(limited);
    assert_ok(udpai_health_specifier_limit(specifier, capability, &limited, &n_left_out, NULL));
}

static void
expect(udpai_str specifier, size_t n)
{
    assert_true(udpai_str_eq(udpai_bytes_view(limited), specifier));
    assert_int_equal(n_left_out, n);
}

static udpai_str
http(void)
{
    return W_MESSAGE(2, W_MESSAGE(2, W_VARINT(1, 1)), W_MESSAGE(8, W_TEXT(2, "/healthz")));
}

static udpai_str
tcp(void)
{
    return W_MESSAGE(2, W_EMPTY(9), W_MESSAGE(21, W_TEXT(1, "h2")));
}

static udpai_str
custom(const char *name)
{
    return W_MESSAGE(2, W_MESSAGE(13, W_TEXT(1, name), W_MESSAGE(3, W_TEXT(1, "a/b"))));
}

#define REST W_MESSAGE(3, health_endpoint(2, "10.0.0.1:80")), W_MESSAGE(4, W_TEXT(1, "match"))

static void
capabilities_are_packed_or_not(void **state)
{
    (void)state;
    assert_int_equal(udpai_health_capability_read(W_NOTHING), 0);
    assert_int_equal(udpai_health_capability_read(W_VARINT(1, 0)), UDPAI_HEALTH_HTTP);
    assert_int_equal(udpai_health_capability_read(W_JOIN(W_VARINT(1, 0), W_VARINT(1, 2))),
                     UDPAI_HEALTH_HTTP | UDPAI_HEALTH_REDIS);
    assert_int_equal(udpai_health_capability_read(W_BYTES(1, "\x00\x01\x02")), ALL);
    assert_int_equal(udpai_health_capability_read(W_BYTES(1, "\x01\x03\x7f")), UDPAI_HEALTH_TCP);
    assert_int_equal(udpai_health_capability_read(W_BYTES(1, "\x01\xff")), UDPAI_HEALTH_TCP);
}

static void
who_can_do_all_is_sent_it_as_it_is(void **state)
{
    (void)state;
    udpai_str specifier =
        W_JOIN(W_MESSAGE(1, W_TEXT(1, "a"), http(), tcp(), REST),
               W_MESSAGE(1, W_TEXT(1, "b"), custom("envoy.health_checkers.redis"), REST),
               W_MESSAGE(2, W_VARINT(1, 5)), W_TEXT(77, "unknown"));
    limit(specifier, ALL);
    expect(specifier, 0);
    limit(W_NOTHING, ALL);
    expect(W_NOTHING, 0);
}

static void
checks_beyond_it_are_left_out(void **state)
{
    (void)state;
    udpai_str interval = W_MESSAGE(2, W_VARINT(1, 5));
    limit(W_JOIN(interval, W_MESSAGE(1, W_TEXT(1, "a"), http(), tcp(), REST),
                 W_MESSAGE(1, W_TEXT(1, "b"), tcp(), REST)),
          UDPAI_HEALTH_TCP);
    expect(W_JOIN(interval, W_MESSAGE(1, W_TEXT(1, "a"), tcp(), REST),
                  W_MESSAGE(1, W_TEXT(1, "b"), tcp(), REST)),
           1);
}

/* Its endpoints would count as healthy, and nobody had looked. */
static void
a_cluster_without_checks_is_left_out(void **state)
{
    (void)state;
    udpai_str whole = W_MESSAGE(1, W_TEXT(1, "a"), http(), REST);
    limit(W_JOIN(whole, W_MESSAGE(1, W_TEXT(1, "b"), tcp(), tcp(), REST),
                 W_MESSAGE(1, W_TEXT(1, "c"), REST)),
          UDPAI_HEALTH_HTTP);
    expect(whole, 2);
    limit(whole, 0);
    expect(W_NOTHING, 1);
}

static void
kinds_that_have_no_name_as_capability(void **state)
{
    (void)state;
    udpai_str grpc = W_MESSAGE(1, W_TEXT(1, "g"), W_MESSAGE(2, W_EMPTY(11)), REST),
              redis = W_MESSAGE(1, W_TEXT(1, "r"), custom("envoy.health_checkers.redis"), REST),
              thrift = W_MESSAGE(1, W_TEXT(1, "t"), custom("envoy.health_checkers.thrift"), REST),
              none = W_MESSAGE(1, W_TEXT(1, "n"), W_MESSAGE(2, W_VARINT(4, 1)), REST),
              broken = W_MESSAGE(1, W_TEXT(1, "x"), W_BYTES(2, "\x42\x05"), REST);
    udpai_str all = W_JOIN(grpc, redis, thrift, none, broken);
    limit(all, UDPAI_HEALTH_HTTP);
    expect(grpc, 4);
    limit(all, UDPAI_HEALTH_REDIS);
    expect(redis, 4);
    limit(all, ALL);
    expect(W_JOIN(grpc, redis), 3);
}

static void
of_a_oneof_the_last_counts(void **state)
{
    (void)state;
    udpai_str specifier = W_MESSAGE(1, W_TEXT(1, "a"), W_MESSAGE(2, W_EMPTY(8), W_EMPTY(9)), REST);
    limit(specifier, UDPAI_HEALTH_TCP);
    expect(specifier, 0);
    limit(specifier, UDPAI_HEALTH_HTTP);
    expect(W_NOTHING, 1);
}

static void
what_is_malformed_is_refused(void **state)
{
    (void)state;
    udpai_str malformed[] = {
        UDPAI_STR("\x0a\x09"),
        W_MESSAGE(1, W_BYTES(1, "\xff")),
        W_MESSAGE(1, W_MESSAGE(3, W_TEXT(2, "\x0a\x05"))),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(malformed); i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_equal(
            udpai_health_specifier_limit(malformed[i], ALL, &limited, &n_left_out, &error),
            UDPA_ERR_MALFORMED);
        assert_non_null(error);
        assert_null(limited);
    }
}

static udpa_err
limit_without_memory(void *context)
{
    udpa_bytes *result = NULL;
    size_t n;
    udpa_err err = udpai_health_specifier_limit(*(udpai_str *)context, ALL, &result, &n, NULL);
    udpa_bytes_unref(result);
    return err;
}

static void
without_memory_nothing_leaks(void **state)
{
    (void)state;
    udpai_str specifier = W_MESSAGE(1, W_TEXT(1, "a"), http(), REST);
    oom_torture(limit_without_memory, &specifier);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(capabilities_are_packed_or_not, teardown),
        cmocka_unit_test_teardown(who_can_do_all_is_sent_it_as_it_is, teardown),
        cmocka_unit_test_teardown(checks_beyond_it_are_left_out, teardown),
        cmocka_unit_test_teardown(a_cluster_without_checks_is_left_out, teardown),
        cmocka_unit_test_teardown(kinds_that_have_no_name_as_capability, teardown),
        cmocka_unit_test_teardown(of_a_oneof_the_last_counts, teardown),
        cmocka_unit_test_teardown(what_is_malformed_is_refused, teardown),
        cmocka_unit_test_teardown(without_memory_nothing_leaks, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
