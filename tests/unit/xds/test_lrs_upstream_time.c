/* SPDX-License-Identifier: Apache-2.0 */
/* A server of LRS that is reported to: when it is told, and what time that covers. */
#include "lrs_upstream_test.h"

/* ---- when ---- */

static void
expect_interval(udpai_str interval, uint64_t ms)
{
    pass(1000);
    receive(W_JOIN(W_TEXT(1, "a"), interval));
    while (told())
        ;
    pass(ms - 1);
    expect_told(NULL);
    pass(1);
    expect_told("");
    pass(ms - 1);
    expect_told(NULL);
    pass(1);
    expect_told("");
}

static void
absurd_intervals_are_bounded(void **state)
{
    (void)state;
    begin();
    expect_interval(INTERVAL(3), 3000);
    expect_interval(W_NOTHING, 10000);
    expect_interval(W_MESSAGE(2, W_VARINT(2, 1)), 1000);
    expect_interval(INTERVAL(UINT64_MAX), 10000); /* -1 */
    expect_interval(INTERVAL(INT64_MAX), UDPAI_LRS_INTERVAL_MAX_MS);
    expect_interval(W_MESSAGE(2, W_VARINT(1, 2), W_VARINT(2, 1000000000)), 10000);
    expect_interval(W_MESSAGE(2, W_VARINT(1, 2), W_VARINT(2, 500000000)), 2500);
}

static void
who_changes_his_mind_often_is_read_late(void **state)
{
    (void)state;
    begin();
    receive(W_TEXT(1, "a"));
    assert_true(stream.is_paused);
    fake_hub_advance(&hub, 499);
    assert_true(stream.is_paused);
    fake_hub_advance(&hub, 1);
    assert_false(stream.is_paused);
}

/* ---- of what time ---- */

/* In seconds; of the only cluster of the next message. */
static uint64_t
told_time(void)
{
    Envoy__Service__LoadStats__V3__LoadStatsRequest *request = take_request();
    assert_non_null(request);
    assert_int_equal(request->n_cluster_stats, 1);
    uint64_t seconds = (uint64_t)request->cluster_stats[0]->load_report_interval->seconds;
    envoy__service__load_stats__v3__load_stats_request__free_unpacked(request, NULL);
    return seconds;
}

/* Clients report each ten seconds, and the server asks each two. */
static void
what_is_told_has_the_time_that_it_covers(void **state)
{
    (void)state;
    uint64_t epoch = epoch_at(1);
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(2)));
    more_s = interval_s = 10;
    for (uint64_t n = 1; n < 5; n++) {
        aggregate_is("com.acme/a", epoch, 100 * n, 0);
        pass(2000);
        assert_int_equal(told_time(), 10);
        for (int i = 0; i < 4; i++) {
            pass(2000);
            expect_told("");
        }
    }
}

/* Of two clients, one has reported. */
static void
all_clients_are_waited_for(void **state)
{
    (void)state;
    uint64_t epoch = epoch_at(1);
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(2)));
    interval_s = 10;
    aggregate_is("com.acme/a", epoch, 100, 0);
    pass(2000);
    expect_told("");
    aggregate_is("com.acme/a", epoch, 130, 0);
    pass(2000);
    assert_int_equal(told_time(), 10);
    aggregate_is("com.acme/a", epoch, 200, 0);
    for (int i = 0; i < 29; i++) {
        pass(2000);
        expect_told("");
    }
    pass(2000); /* but not for ever */
    assert_int_equal(told_time(), 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, done)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(absurd_intervals_are_bounded),
        TEST(who_changes_his_mind_often_is_read_late),
        TEST(what_is_told_has_the_time_that_it_covers),
        TEST(all_clients_are_waited_for),
    };
    return cmocka_run_group_tests_name("xds lrs_upstream_time", tests, NULL, NULL);
}
