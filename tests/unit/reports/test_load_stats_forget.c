/* SPDX-License-Identifier: Apache-2.0 */
/* Who has gone is remembered for a while, so that nothing of it counts twice when it returns. */
#include <stdio.h>

#include "aggregate_test.h"

static void
those_forgotten_are_not_counted_twice(void **state)
{
    (void)state;
    const udpai_load_aggregate_options options = {
        .cluster = UDPAI_STR("com.acme/a"), .max_reporters = 3, .max_left = 2};
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = NULL;
    assert_ok(udpai_load_aggregate_new(&aggregate, &options));
    char name[2] = "a";
    for (uint64_t i = 0; i < 4; i++, name[0]++) {
        take(aggregate, name, says(10 + i, 5, 0));
        leave(aggregate, name);
    }
    expect(aggregate, 20, 0, 0);
    take(aggregate, "b", says(11, 6, 0)); /* the last that was forgotten */
    expect(aggregate, 20, 0, 1);
    leave(aggregate, "b");
    take(aggregate, "c", says(12, 6, 0)); /* remembered */
    expect(aggregate, 21, 0, 1);
    take(aggregate, "a", says(10, 6, 0)); /* forgotten */
    expect(aggregate, 21, 0, 2);
    take(aggregate, "a", says(10, 8, 0));
    expect(aggregate, 23, 0, 2);
    take(aggregate, "e", says(20, 1, 0));
    refuse(aggregate, "f", says(20, 1, 0), UDPA_ERR_LIMIT, "more than 3 report of one cluster");
    leave(aggregate, "e");
    take(aggregate, "f", says(20, 1, 0));
    expect(aggregate, 25, 0, 3);
}

/* Who came last goes on where he was, who came first from where he is. */
static void
many_may_go_at_once(void **state)
{
    (void)state;

    enum {
        N = 1000,
        REMEMBERED = 64
    };

    const udpai_load_aggregate_options options = {
        .cluster = UDPAI_STR("com.acme/a"), .max_reporters = N, .max_left = REMEMBERED};
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = NULL;
    assert_ok(udpai_load_aggregate_new(&aggregate, &options));
    char name[16];
    for (unsigned i = 0; i < N; i++) {
        snprintf(name, sizeof(name), "%u", i);
        take(aggregate, name, says(1 + i, 5, 1));
    }
    for (unsigned i = 0; i < N; i++) { /* in another order than they have come */
        snprintf(name, sizeof(name), "%u", i * 7 % N);
        leave(aggregate, name);
    }
    expect(aggregate, 5 * N, 0, 0);
    unsigned n_remembered = 0;
    for (unsigned i = 0; i < N; i++) {
        snprintf(name, sizeof(name), "%u", i);
        n_remembered += udpai_load_aggregate_knows(aggregate, udpai_str_from(name), 1 + i);
    }
    assert_in_range(n_remembered, REMEMBERED - REMEMBERED / 8, REMEMBERED);
    take(aggregate, "999", says(N, 6, 1));
    expect(aggregate, 5 * N + 1, 1, 1);
    take(aggregate, "0", says(1, 7, 1));
    expect(aggregate, 5 * N + 1, 2, 2);
    take(aggregate, "0", says(1, 8, 1));
    expect(aggregate, 5 * N + 2, 2, 2);
}

/* Nobody is heard for a while, and then all of them again, however many; but who does not come back
 * until the next time is one of those that have gone. */
static void
all_that_rest_are_remembered(void **state)
{
    (void)state;
    const udpai_load_aggregate_options options = {.cluster = UDPAI_STR("com.acme/a"),
                                                  .max_left = 8};
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = NULL;
    assert_ok(udpai_load_aggregate_new(&aggregate, &options));
    unsigned n_remembered = 0;
    char name[16];
    for (unsigned n = 100; n; n /= 2) { /* 100, 50, … */
        for (unsigned i = 0; i < n; i++) {
            snprintf(name, sizeof(name), "%u", i);
            take(aggregate, name, says(1 + i, 200 - n, 1));
        }
        udpai_load_aggregate_rest(aggregate);
        expect(aggregate, 100 * 100 + (n < 100) * 50 * 50 + (n < 50) * 25 * 25, 0, 0);
        if (n == 25)
            break;
    }
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "%u", i);
        n_remembered += udpai_load_aggregate_knows(aggregate, udpai_str_from(name), 1 + i);
    }
    assert_in_range(n_remembered, 25 + 7, 25 + 8);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_forgotten_are_not_counted_twice),
        cmocka_unit_test(many_may_go_at_once),
        cmocka_unit_test(all_that_rest_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
