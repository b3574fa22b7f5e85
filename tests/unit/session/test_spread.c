/* SPDX-License-Identifier: Apache-2.0 */
/* Shares, and what a stream side does for them. */
#include "session/spread.h"

#include "tests/harness/test.h"

static udpai_spread_side side;

static void
a_share_is_rounded_up(void **state)
{
    (void)state;
    assert_int_equal(udpai_spread_share(0, 3), 0);
    assert_int_equal(udpai_spread_share(300, 3), 100);
    assert_int_equal(udpai_spread_share(301, 3), 101);
    assert_int_equal(udpai_spread_share(302, 3), 101);
    assert_int_equal(udpai_spread_share(2, 3), 1);
    assert_int_equal(udpai_spread_share(5, 0), 0);
}

static void
the_limit_is_a_fifth_above_the_share_and_fifty(void **state)
{
    (void)state;
    assert_int_equal(udpai_spread_limit(0), 50);
    assert_int_equal(udpai_spread_limit(10), 60);
    assert_int_equal(udpai_spread_limit(250), 300);
    assert_int_equal(udpai_spread_limit(255), 306);
    assert_int_equal(udpai_spread_limit(10000), 12000);
}

static void
a_tenth_or_twenty_are_news(void **state)
{
    (void)state;
    assert_false(udpai_spread_is_news(0, 0));
    assert_true(udpai_spread_is_news(0, 1));
    assert_false(udpai_spread_is_news(100, 110));
    assert_true(udpai_spread_is_news(100, 111));
    assert_false(udpai_spread_is_news(100, 90));
    assert_true(udpai_spread_is_news(100, 89));
    assert_false(udpai_spread_is_news(10000, 10019));
    assert_true(udpai_spread_is_news(10000, 10020));
    assert_true(udpai_spread_is_news(10000, 9980));
}

static void
ages_differ_by_a_tenth(void **state)
{
    (void)state;
    uint64_t chance = 1, least = UINT64_MAX, most = 0;
    for (int i = 0; i < 10000; i++) {
        uint64_t age = udpai_spread_jitter(2000, test_random(&chance));
        least = age < least ? age : least;
        most = age > most ? age : most;
    }
    assert_int_equal(least, 1800);
    assert_int_equal(most, 2200);
    assert_int_equal(udpai_spread_jitter(5, 12345), 5);
}

static void
an_order_is_read_as_it_was_written(void **state)
{
    (void)state;
    const udpai_spread_order order = {300, 100, 150, 10000, UDPAI_SPREAD_OVER_MAX_MS};
    udpai_spread_order read = {0};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_spread_encode(&order);
    udpai_str text = udpai_bytes_view(bytes);
    assert_ok(udpai_spread_decode(text, &read));
    assert_memory_equal(&read, &order, sizeof(order));
    for (size_t len = 0; len < text.len; len++)
        assert_int_equal(udpai_spread_decode((udpai_str){text.data, len}, &read),
                         UDPA_ERR_MALFORMED);
    assert_int_equal(udpai_spread_decode(UDPAI_STR("\1\1\1\1\1\1"), &read), UDPA_ERR_MALFORMED);
    assert_int_equal(udpai_spread_decode(UDPAI_STR("\xff\xff\xff\xff\xff\x01\1\1\1\1"), &read),
                     UDPA_ERR_MALFORMED);
}

/* ---- rejecting ---- */

static void
begin(udpai_spread_order order, uint64_t n)
{
    udpai_spread_begin(&side, &order, 1000, n);
}

static void
without_an_order_none_is_rejected_or_ended(void **state)
{
    (void)state;
    side = (udpai_spread_side){0};
    assert_false(udpai_spread_rejects(&side, 1000, 100000, 7));
    assert_int_equal(udpai_spread_take_due(&side, 1000, 100000), 0);
    assert_false(udpai_spread_is_busy(&side, 1000));
}

static void
new_ones_are_rejected_while_there_are_too_many(void **state)
{
    (void)state;
    begin((udpai_spread_order){.n_streams = 200, .share = 100, .above = 150, .reject_ms = 10000},
          200);
    assert_false(udpai_spread_rejects(&side, 1000, 149, 1 << 10));
    assert_true(udpai_spread_rejects(&side, 1000, 150, 2 << 10));
    assert_true(udpai_spread_rejects(&side, 10999, 200, 3 << 10));
    assert_true(udpai_spread_is_busy(&side, 10999));
    assert_false(udpai_spread_rejects(&side, 11000, 200, 4 << 10));
    assert_false(udpai_spread_is_busy(&side, 11000));
}

static void
a_client_that_comes_again_and_again_is_served(void **state)
{
    (void)state;
    begin((udpai_spread_order){.n_streams = 200, .share = 100, .above = 150, .reject_ms = 10000},
          200);
    for (int i = 0; i < 3; i++) {
        for (int n = 0; n < UDPAI_SPREAD_REJECTIONS; n++)
            assert_true(udpai_spread_rejects(&side, 2000, 200, 0xabcdef));
        assert_false(udpai_spread_rejects(&side, 2000, 200, 0xabcdef));
    }
}

/* More than fit into the memory. */
static void
each_of_many_clients_is_served(void **state)
{
    (void)state;
    static uint64_t clients[3 * UDPAI_SPREAD_MEMORY];
    static unsigned n_rejected[UDPAI_ARRAY_LEN(clients)];
    uint64_t chance = 3;
    size_t n_once = 0;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(clients); i++)
        clients[i] = test_random(&chance);
    begin((udpai_spread_order){.n_streams = 200, .share = 100, .above = 150, .reject_ms = 10000},
          200);
    for (size_t n = 0; n < 20 * UDPAI_ARRAY_LEN(clients); n++) {
        size_t i = test_random_below(&chance, UDPAI_ARRAY_LEN(clients));
        bool is = udpai_spread_rejects(&side, 2000, 200, clients[i]);
        n_rejected[i] = is ? n_rejected[i] + 1 : 0;
        n_once += is;
        assert_true(n_rejected[i] <= UDPAI_SPREAD_REJECTIONS);
    }
    assert_true(n_once > UDPAI_SPREAD_MEMORY);
}

/* ---- ending ---- */

static void
what_is_too_much_is_ended_in_time(void **state)
{
    (void)state;
    uint64_t n = 150, n_ended = 0;
    begin((udpai_spread_order){150, 100, 100, 15000, 10000}, n);
    for (uint64_t now = 1000; now < 20000; now += 100) {
        uint64_t due = udpai_spread_take_due(&side, now, n);
        assert_true(due <= 1); /* 50 in 100 steps */
        n -= due;
        n_ended += due;
        if (now == 6000)
            assert_in_range(n, 124, 126);
    }
    assert_int_equal(n, 100);
    assert_int_equal(n_ended, 50);
}

/* Whatever comes back, there is an end. */
static void
those_that_come_back_are_ended_so_often(void **state)
{
    (void)state;
    uint64_t n_ended = 0;
    begin((udpai_spread_order){150, 100, 100, 15000, 10000}, 150);
    for (uint64_t now = 1000; now < 60000; now += 100)
        n_ended += udpai_spread_take_due(&side, now, 150);
    assert_int_equal(n_ended, 150);
}

static void
nothing_is_ended_after_its_time(void **state)
{
    (void)state;
    begin((udpai_spread_order){150, 100, 100, 15000, 10000}, 150);
    assert_int_equal(udpai_spread_take_due(&side, 15999, 150), 50);
    assert_int_equal(udpai_spread_take_due(&side, 16000, 150), 0);
}

static void
one_that_has_its_share_ends_none(void **state)
{
    (void)state;
    begin((udpai_spread_order){100, 100, 100, 15000, 10000}, 100);
    assert_int_equal(udpai_spread_take_due(&side, 12000, 100), 0);
    assert_int_equal(udpai_spread_take_due(&side, 12000, 140), 0);
}

/* As of several workers. */
static void
a_side_does_its_part(void **state)
{
    (void)state;
    begin((udpai_spread_order){150, 100, 120, 15000, 10000}, 50);
    assert_int_equal(side.share, 34);
    assert_int_equal(side.above, 40);
    assert_int_equal(udpai_spread_take_due(&side, 11000, 50), 16);
    begin((udpai_spread_order){150, 100, 120, 15000, 10000}, 0);
    assert_int_equal(udpai_spread_take_due(&side, 11000, 0), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_is_rounded_up),
        cmocka_unit_test(the_limit_is_a_fifth_above_the_share_and_fifty),
        cmocka_unit_test(a_tenth_or_twenty_are_news),
        cmocka_unit_test(ages_differ_by_a_tenth),
        cmocka_unit_test(an_order_is_read_as_it_was_written),
        cmocka_unit_test(without_an_order_none_is_rejected_or_ended),
        cmocka_unit_test(new_ones_are_rejected_while_there_are_too_many),
        cmocka_unit_test(a_client_that_comes_again_and_again_is_served),
        cmocka_unit_test(each_of_many_clients_is_served),
        cmocka_unit_test(what_is_too_much_is_ended_in_time),
        cmocka_unit_test(those_that_come_back_are_ended_so_often),
        cmocka_unit_test(nothing_is_ended_after_its_time),
        cmocka_unit_test(one_that_has_its_share_ends_none),
        cmocka_unit_test(a_side_does_its_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
