/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of several checkers combined by each policy. */
#include <stdio.h>

#include "health_test.h"
#include "tests/harness/oom.h"

#define NOW_MS 1000
#define OPINIONS_MAX 8

static udpai_health_verdict verdict;
static size_t n_malformed;

static int
teardown(void **state)
{
    (void)state;
    udpai_health_verdict_done(&verdict);
    wire_free_all();
    return 0;
}

/* One letter a checker: what it says of "a:1". */
static udpai_health_status
merged(const char *words, udpai_health_policy policy)
{
    static const char letters[] = "?hudtg"; /* by value */
    udpai_health_opinion opinions[OPINIONS_MAX];
    size_t n = strlen(words);
    for (size_t i = 0; i < n; i++) {
        size_t status = (size_t)(strchr(letters, words[i]) - letters);
        opinions[i] = (udpai_health_opinion){
            .payload = W_MESSAGE(2, health_checked(4, "a:1", status)),
        };
    }
    udpai_health_verdict_done(&verdict);
    assert_ok(udpai_health_merge(opinions, n, NOW_MS, policy, &verdict, &n_malformed));
    assert_int_equal(n_malformed, 0);
    udpai_health_address key = health_key("a:1");
    return udpai_health_verdict_find(&verdict, &key);
}

static void
more_than_half_decide(void **state)
{
    (void)state;

    static const struct {
        const char *said;
        udpai_health_status status;
    } cases[] = {
        {"", UDPAI_HEALTH_UNKNOWN},      {"?", UDPAI_HEALTH_UNKNOWN},
        {"h", UDPAI_HEALTH_HEALTHY},     {"u", UDPAI_HEALTH_UNHEALTHY},
        {"t", UDPAI_HEALTH_UNHEALTHY},   {"hu", UDPAI_HEALTH_HEALTHY},
        {"huu", UDPAI_HEALTH_UNHEALTHY}, {"hut", UDPAI_HEALTH_UNHEALTHY},
        {"hhu", UDPAI_HEALTH_HEALTHY},   {"?u?", UDPAI_HEALTH_UNHEALTHY},
        {"hgu", UDPAI_HEALTH_DEGRADED},  {"hgdu", UDPAI_HEALTH_DEGRADED},
        {"dd", UDPAI_HEALTH_DRAINING},   {"duh", UDPAI_HEALTH_DRAINING},
        {"gguh", UDPAI_HEALTH_DEGRADED}, {"uuhh", UDPAI_HEALTH_HEALTHY},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++)
        if (merged(cases[i].said, UDPAI_HEALTH_MAJORITY) != cases[i].status)
            fail_msg("%s", cases[i].said);
}

static void
one_alone_is_enough_if_anybody_decides(void **state)
{
    (void)state;
    assert_int_equal(merged("hhhhu", UDPAI_HEALTH_ANY), UDPAI_HEALTH_UNHEALTHY);
    assert_int_equal(merged("hhg", UDPAI_HEALTH_ANY), UDPAI_HEALTH_DEGRADED);
    assert_int_equal(merged("h?", UDPAI_HEALTH_ANY), UDPAI_HEALTH_HEALTHY);
    assert_int_equal(merged("??", UDPAI_HEALTH_ANY), UDPAI_HEALTH_UNKNOWN);
}

static void
nobody_decides_under_no_policy(void **state)
{
    (void)state;
    assert_int_equal(merged("uuu", UDPAI_HEALTH_NONE), UDPAI_HEALTH_UNKNOWN);
    assert_int_equal(verdict.endpoints.n, 0);
}

static void
merge(const udpai_health_opinion *opinions, size_t n)
{
    udpai_health_verdict_done(&verdict);
    assert_ok(
        udpai_health_merge(opinions, n, NOW_MS, UDPAI_HEALTH_MAJORITY, &verdict, &n_malformed));
}

static udpai_health_status
status_of(const char *endpoint)
{
    udpai_health_address key = health_key(endpoint);
    return udpai_health_verdict_find(&verdict, &key);
}

static void
who_has_expired_has_no_vote(void **state)
{
    (void)state;
    udpai_str bad = W_MESSAGE(2, health_checked(4, "a:1", UDPAI_HEALTH_UNHEALTHY)),
              good = W_MESSAGE(2, health_checked(4, "a:1", UDPAI_HEALTH_HEALTHY));
    const udpai_health_opinion opinions[] = {{bad, NOW_MS}, {bad, 1}, {good, NOW_MS + 1}};
    merge(opinions, 3);
    assert_int_equal(status_of("a:1"), UDPAI_HEALTH_HEALTHY);
    merge(opinions, 2);
    assert_int_equal(status_of("a:1"), UDPAI_HEALTH_UNKNOWN);
}

static void
a_checker_has_one_vote(void **state)
{
    (void)state;
    const udpai_health_opinion opinions[] = {
        {W_JOIN(W_MESSAGE(2, health_checked(4, "a:1", 1), health_checked(4, "a:1", 2)),
                W_MESSAGE(2, health_checked(4, "a:1", 1), health_checked(4, "a:1", 5))),
         0},
        {W_MESSAGE(2, health_checked(4, "a:1", 1)), 0},
        {W_MESSAGE(2, health_checked(4, "a:1", 1)), 0},
    };
    merge(opinions, 3);
    assert_int_equal(status_of("a:1"), UDPAI_HEALTH_HEALTHY);
    merge(opinions, 1);
    assert_int_equal(status_of("a:1"), UDPAI_HEALTH_UNHEALTHY);
}

static void
endpoints_are_told_apart_by_address_and_port(void **state)
{
    (void)state;
    const udpai_health_opinion opinion = {
        W_MESSAGE(2, health_checked(4, "a:1", 1), health_checked(4, "a:2", 2),
                  health_checked(4, "b:1", 3), health_checked(4, "/run/x", 2)),
        0,
    };
    merge(&opinion, 1);
    assert_int_equal(verdict.endpoints.n, 4);
    assert_int_equal(status_of("a:1"), UDPAI_HEALTH_HEALTHY);
    assert_int_equal(status_of("a:2"), UDPAI_HEALTH_UNHEALTHY);
    assert_int_equal(status_of("b:1"), UDPAI_HEALTH_DRAINING);
    assert_int_equal(status_of("/run/x"), UDPAI_HEALTH_UNHEALTHY);
    assert_int_equal(status_of("b:2"), UDPAI_HEALTH_UNKNOWN);
}

static void
what_is_malformed_is_left_out_and_counted(void **state)
{
    (void)state;
    const udpai_health_opinion opinions[] = {
        {UDPAI_STR("\x12\x05"), 0},
        {W_MESSAGE(2, health_checked(4, "a:1", 2)), 0},
        {W_MESSAGE(2, W_MESSAGE(4, W_BYTES(1, "\xff"), W_VARINT(3, 1))), 0},
        {W_MESSAGE(2, health_checked(4, "b:70000", 2), health_checked(4, ":1", 2),
                   health_checked(4, "b:1", 9)),
         0},
    };
    merge(opinions, 4);
    assert_int_equal(n_malformed, 2);
    assert_int_equal(verdict.endpoints.n, 1);
    assert_int_equal(status_of("a:1"), UDPAI_HEALTH_UNHEALTHY);
}

/* The definition, told plainly: statuses from best to worst, and how many say it or something
 * worse.
 */
static udpai_health_status
plain(const udpai_health_status *said, size_t n, udpai_health_policy policy)
{
    static const udpai_health_status from_worst[] = {
        UDPAI_HEALTH_UNHEALTHY,
        UDPAI_HEALTH_DRAINING,
        UDPAI_HEALTH_DEGRADED,
        UDPAI_HEALTH_HEALTHY,
    };
    size_t n_votes = 0, n_as_bad = 0;
    for (size_t i = 0; i < n; i++)
        n_votes += said[i] != UDPAI_HEALTH_UNKNOWN;
    for (size_t k = 0; k < UDPAI_ARRAY_LEN(from_worst); k++) {
        for (size_t i = 0; i < n; i++)
            n_as_bad += (said[i] == UDPAI_HEALTH_TIMEOUT ? UDPAI_HEALTH_UNHEALTHY : said[i]) ==
                        from_worst[k];
        if (policy == UDPAI_HEALTH_ANY ? n_as_bad > 0 : 2 * n_as_bad > n_votes)
            return from_worst[k];
    }
    return UDPAI_HEALTH_UNKNOWN;
}

static void
any_mixture_is_what_the_definition_says(void **state)
{
    (void)state;
    static const char *const names[] = {"a:1", "a:2", "b:1", "/c"};
    uint64_t seed = 20260705;
    for (int round = 0; round < 3000; round++) {
        udpai_health_status said[UDPAI_ARRAY_LEN(names)][OPINIONS_MAX];
        udpai_health_opinion opinions[OPINIONS_MAX];
        size_t n = test_random_below(&seed, OPINIONS_MAX + 1);
        udpai_health_policy policy =
            test_random_below(&seed, 2) ? UDPAI_HEALTH_ANY : UDPAI_HEALTH_MAJORITY;
        for (size_t i = 0; i < n; i++) {
            udpai_str endpoints = W_NOTHING;
            bool is_over = test_random_below(&seed, 4) == 0;
            for (size_t k = 0; k < UDPAI_ARRAY_LEN(names); k++) {
                size_t status = test_random_below(&seed, UDPAI_HEALTH_STATUSES);
                bool is_there = test_random_below(&seed, 3) > 0;
                said[k][i] =
                    is_there && !is_over ? (udpai_health_status)status : UDPAI_HEALTH_UNKNOWN;
                if (is_there)
                    endpoints = W_JOIN(endpoints, health_checked(4, names[k], status));
            }
            opinions[i] = (udpai_health_opinion){W_MESSAGE(2, endpoints), is_over ? NOW_MS : 0};
        }
        udpai_health_verdict_done(&verdict);
        assert_ok(udpai_health_merge(opinions, n, NOW_MS, policy, &verdict, &n_malformed));
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(names); k++)
            assert_int_equal(status_of(names[k]), plain(said[k], n, policy));
        wire_free_all();
    }
}

static udpa_err
merge_without_memory(void *context)
{
    udpa_err err =
        udpai_health_merge(context, 2, NOW_MS, UDPAI_HEALTH_MAJORITY, &verdict, &n_malformed);
    assert_int_equal(n_malformed, 0);
    udpai_health_verdict_done(&verdict);
    return err;
}

static void
without_memory_nothing_leaks(void **state)
{
    (void)state;
    udpai_str many = W_NOTHING;
    for (int i = 1; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof(name), "a:%d", i);
        many = W_JOIN(many, health_checked(4, name, 1));
    }
    udpai_health_opinion opinions[] = {{W_MESSAGE(2, many), 0}, {W_MESSAGE(2, many), 0}};
    oom_torture(merge_without_memory, opinions);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(more_than_half_decide, teardown),
        cmocka_unit_test_teardown(one_alone_is_enough_if_anybody_decides, teardown),
        cmocka_unit_test_teardown(nobody_decides_under_no_policy, teardown),
        cmocka_unit_test_teardown(who_has_expired_has_no_vote, teardown),
        cmocka_unit_test_teardown(a_checker_has_one_vote, teardown),
        cmocka_unit_test_teardown(endpoints_are_told_apart_by_address_and_port, teardown),
        cmocka_unit_test_teardown(what_is_malformed_is_left_out_and_counted, teardown),
        cmocka_unit_test_teardown(any_mixture_is_what_the_definition_says, teardown),
        cmocka_unit_test_teardown(without_memory_nothing_leaks, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
