/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of checkers merged into an assignment of endpoints. */
#include "health_test.h"
#include "tests/harness/oom.h"

static udpai_health_verdict verdict;
static udpa_bytes *applied;

static int
teardown(void **state)
{
    (void)state;
    udpai_health_verdict_done(&verdict);
    applied = udpa_bytes_unref(applied);
    wire_free_all();
    return 0;
}

/* One checker, who says of "bad:1" that it is unhealthy, of "good:1" that it is healthy, … */
static void
judge(void)
{
    const udpai_health_opinion opinion = {
        W_MESSAGE(2, health_checked(4, "bad:1", UDPAI_HEALTH_UNHEALTHY),
                  health_checked(4, "good:1", UDPAI_HEALTH_HEALTHY),
                  health_checked(4, "slow:1", UDPAI_HEALTH_DEGRADED),
                  health_checked(4, "/run/bad", UDPAI_HEALTH_UNHEALTHY)),
        0,
    };
    size_t n_malformed;
    udpai_health_verdict_done(&verdict);
    assert_ok(udpai_health_merge(&opinion, 1, 0, UDPAI_HEALTH_ANY, &verdict, &n_malformed));
}

static void
apply(udpai_str assignment)
{
    applied = udpa_bytes_unref(applied);
    assert_ok(udpai_health_apply(assignment, &verdict, &applied, NULL));
}

static void
expect(udpai_str assignment)
{
    assert_non_null(applied);
    assert_true(udpai_str_eq(udpai_bytes_view(applied), assignment));
}

#define EXTRA W_TEXT(3, "metadata"), W_FIXED32(99, 7)

static void
only_the_status_of_judged_endpoints_changes(void **state)
{
    (void)state;
    judge();
    udpai_str name = W_TEXT(1, "backend"), policy = W_MESSAGE(4, W_VARINT(3, 140)),
              locality = W_MESSAGE(1, W_TEXT(1, "here")), priority = W_VARINT(5, 1);
    udpai_str other = W_MESSAGE(2, health_endpoint(1, "other:1"), EXTRA);
    apply(W_JOIN(name,
                 W_MESSAGE(2, locality, W_MESSAGE(2, health_endpoint(1, "bad:1"), EXTRA), other,
                           W_MESSAGE(2, health_endpoint(1, "good:1")), priority),
                 W_MESSAGE(2, other), W_MESSAGE(2, W_MESSAGE(2, health_endpoint(1, "/run/bad"))),
                 policy));
    expect(W_JOIN(
        name,
        W_MESSAGE(2, locality, W_MESSAGE(2, health_endpoint(1, "bad:1"), EXTRA, W_VARINT(2, 2)),
                  other, W_MESSAGE(2, health_endpoint(1, "good:1"), W_VARINT(2, 1)), priority),
        W_MESSAGE(2, other),
        W_MESSAGE(2, W_MESSAGE(2, health_endpoint(1, "/run/bad"), W_VARINT(2, 2))), policy));
}

static void
a_status_is_replaced_in_its_place(void **state)
{
    (void)state;
    judge();
    apply(W_MESSAGE(
        2, W_MESSAGE(2, W_VARINT(2, 5), health_endpoint(1, "bad:1"), W_VARINT(2, 1), EXTRA)));
    expect(W_MESSAGE(2, W_MESSAGE(2, W_VARINT(2, 2), health_endpoint(1, "bad:1"), EXTRA)));
}

/* A locality's endpoints are messages. */
static void
what_only_looks_like_an_endpoint_stays(void **state)
{
    (void)state;
    judge();
    udpai_str number = W_VARINT(2, 7);
    apply(W_MESSAGE(2, number, W_MESSAGE(2, health_endpoint(1, "bad:1")), number));
    expect(W_MESSAGE(2, number, W_MESSAGE(2, health_endpoint(1, "bad:1"), W_VARINT(2, 2)), number));
}

static void
nothing_is_made_better_than_it_is_configured(void **state)
{
    (void)state;

    static const struct {
        const char *endpoint;
        uint64_t configured, wanted;
    } cases[] = {
        {"good:1", 2, 2}, {"good:1", 3, 3}, {"good:1", 4, 4}, {"good:1", 5, 5}, {"good:1", 1, 1},
        {"good:1", 0, 1}, {"slow:1", 1, 5}, {"slow:1", 3, 3}, {"slow:1", 0, 5}, {"bad:1", 3, 2},
        {"bad:1", 4, 4},  {"bad:1", 2, 2},  {"bad:1", 6, 6},
    };

    judge();
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_str endpoint = health_endpoint(1, cases[i].endpoint);
        apply(W_MESSAGE(2, W_MESSAGE(2, endpoint, W_VARINT(2, cases[i].configured))));
        if (cases[i].wanted == cases[i].configured)
            assert_null(applied);
        else
            expect(W_MESSAGE(2, W_MESSAGE(2, endpoint, W_VARINT(2, cases[i].wanted))));
    }
}

static void
what_nobody_judges_is_not_made_anew(void **state)
{
    (void)state;
    judge();
    apply(W_JOIN(W_TEXT(1, "backend"), W_MESSAGE(2, W_MESSAGE(2, health_endpoint(1, "other:1")))));
    assert_null(applied);
    apply(W_NOTHING);
    assert_null(applied);
    udpai_health_verdict_done(&verdict);
    apply(W_MESSAGE(2, W_MESSAGE(2, health_endpoint(1, "bad:1"))));
    assert_null(applied);
}

/* Not even a length that somebody has written in a longer form. */
static void
what_stays_stays_byte_for_byte(void **state)
{
    (void)state;
    judge();
    udpai_str lengthy = UDPAI_STR("\x12\x88\x00\x0a\x85\x00\x0a\x03\x61\x62\x63"),
              bad = W_MESSAGE(2, W_MESSAGE(2, health_endpoint(1, "bad:1")));
    apply(W_JOIN(lengthy, bad, lengthy));
    expect(W_JOIN(lengthy, W_MESSAGE(2, W_MESSAGE(2, health_endpoint(1, "bad:1"), W_VARINT(2, 2))),
                  lengthy));
}

static void
what_is_malformed_is_refused(void **state)
{
    (void)state;
    judge();
    udpai_str malformed[] = {
        UDPAI_STR("\x12"),
        W_MESSAGE(2, UDPAI_STR("\x12\x05")),
        W_MESSAGE(2, W_MESSAGE(2, UDPAI_STR("\x0a\x05"))),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(malformed); i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_equal(udpai_health_apply(malformed[i], &verdict, &applied, &error),
                         UDPA_ERR_MALFORMED);
        assert_non_null(error);
        assert_null(applied);
    }
}

static void
applied_twice_it_is_the_same(void **state)
{
    (void)state;
    static const char *const names[] = {"bad:1", "good:1", "slow:1", "/run/bad", "other:1"};
    uint64_t seed = 42;
    judge();
    for (int round = 0; round < 2000; round++) {
        udpai_str assignment = W_TEXT(1, "c");
        size_t n_localities = test_random_below(&seed, 4);
        for (size_t i = 0; i < n_localities; i++) {
            udpai_str locality = W_VARINT(5, i);
            size_t n = test_random_below(&seed, 4);
            for (size_t k = 0; k < n; k++) {
                const char *name = names[test_random_below(&seed, UDPAI_ARRAY_LEN(names))];
                udpai_str status = test_random_below(&seed, 2)
                                       ? W_VARINT(2, test_random_below(&seed, 7))
                                       : W_NOTHING;
                locality = W_JOIN(locality, W_MESSAGE(2, health_endpoint(1, name), status, EXTRA));
            }
            assignment = W_JOIN(assignment, wire_bytes(2, locality));
        }
        apply(assignment);
        if (applied) {
            udpa_bytes *once = udpa_bytes_ref(applied);
            apply(udpai_bytes_view(once));
            assert_null(applied);
            udpa_bytes_unref(once);
        }
        wire_free_all();
        judge();
    }
}

static udpa_err
apply_without_memory(void *context)
{
    udpa_bytes *result = NULL;
    udpa_err err = udpai_health_apply(*(udpai_str *)context, &verdict, &result, NULL);
    udpa_bytes_unref(result);
    return err;
}

static void
without_memory_nothing_leaks(void **state)
{
    (void)state;
    judge();
    udpai_str assignment = W_MESSAGE(2, W_MESSAGE(2, health_endpoint(1, "bad:1")));
    oom_torture(apply_without_memory, &assignment);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(only_the_status_of_judged_endpoints_changes, teardown),
        cmocka_unit_test_teardown(a_status_is_replaced_in_its_place, teardown),
        cmocka_unit_test_teardown(what_only_looks_like_an_endpoint_stays, teardown),
        cmocka_unit_test_teardown(nothing_is_made_better_than_it_is_configured, teardown),
        cmocka_unit_test_teardown(what_nobody_judges_is_not_made_anew, teardown),
        cmocka_unit_test_teardown(what_stays_stays_byte_for_byte, teardown),
        cmocka_unit_test_teardown(what_is_malformed_is_refused, teardown),
        cmocka_unit_test_teardown(applied_twice_it_is_the_same, teardown),
        cmocka_unit_test_teardown(without_memory_nothing_leaks, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
