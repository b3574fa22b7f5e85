/* SPDX-License-Identifier: Apache-2.0 */
/* When a replica rejects new streams for its share, and what it does when it is to rebalance. */
#include "session/spread_plan.h"

#include "tests/harness/test.h"

typedef struct set {
    udpai_spread_replica replicas[3];
    udpai_spread_view view;
    udpai_spread_plan plan;
    udpai_spread_order order;
} set;

static set self;

/* This one has 1,000 streams, the others n each. */
static int
begin(uint64_t n)
{
    self = (set){
        .replicas = {{1000, 10, true}, {n, 11, false}, {n, 12, false}},
        .view = {self.replicas, 3, 1000, true},
    };
    return 0;
}

static bool
tick(uint64_t now_ms)
{
    return udpai_spread_plan_tick(&self.plan, now_ms, &self.view, &self.order);
}

static void
the_share_counts_its_own_streams_as_they_are_now(void **state)
{
    (void)state;
    begin(100);
    self.view.n_own = 401;
    assert_int_equal(udpai_spread_facts_of(&self.view).share, 201);
    assert_int_equal(udpai_spread_facts_of(&self.view).n_replicas, 3);
    self.view.is_current = false;
    assert_int_equal(udpai_spread_facts_of(&self.view).n_replicas, 0);
    self.view.is_current = true;
    self.replicas[0].is_own = false;
    assert_int_equal(udpai_spread_facts_of(&self.view).n_replicas, 0);
}

static void
nothing_is_rejected_near_the_share(void **state)
{
    (void)state;
    begin(801); /* share 868, limit 1041 */
    self.view.n_own = 1041;
    for (uint64_t now = 1000; now < 100000; now += 500) {
        self.replicas[1].written++;
        assert_false(tick(now));
    }
}

static void
new_ones_are_rejected_once_another_with_room_has_written(void **state)
{
    (void)state;
    begin(0);
    assert_false(tick(1000));
    assert_false(tick(1500));
    self.replicas[1].written = 12; /* before there were too many */
    assert_false(tick(2000));
    self.replicas[1].written = 13;
    assert_false(tick(3999)); /* others may have as many, and not have written that yet */
    assert_true(tick(4000));
    assert_int_equal(self.order.reject_ms, UDPAI_SPREAD_REJECT_MS - 3000);
    assert_int_equal(self.order.above, 334 + 66);
    assert_int_equal(self.order.share, 334);
    assert_int_equal(self.order.over_ms, 0);
    assert_false(tick(4500));
}

/* Its record is there until its lease ends. */
static void
a_dead_one_has_no_room(void **state)
{
    (void)state;
    begin(0);
    for (uint64_t now = 1000; now < 60000; now += 500)
        assert_false(tick(now));
}

static void
one_that_has_no_room_does_not_help(void **state)
{
    (void)state;
    begin(0);
    self.replicas[1].n_streams = 500; /* its share, or more */
    assert_false(tick(1000));
    self.replicas[1].written = 99;
    assert_false(tick(4000));
    self.replicas[2].written = 100;
    assert_true(tick(4500));
}

static void
no_longer_than_ten_seconds_and_not_soon_again(void **state)
{
    (void)state;
    uint64_t now = 4000;
    begin(0);
    assert_false(tick(1000));
    self.replicas[1].written = 99;
    assert_true(tick(now));
    for (; now < 11000; now += 500)
        assert_false(tick(now));
    assert_true(tick(now)); /* no more */
    assert_int_equal(self.order.reject_ms, 0);
    for (; now < 600000; now += 500) { /* as long as there are too many */
        self.replicas[1].written++;
        assert_false(tick(now));
    }
    self.view.n_own = 10;
    assert_false(tick(now));
    self.view.n_own = 1000;
    assert_false(tick(now + 500));
    self.replicas[1].written++;
    assert_true(tick(now + 3500));
}

static void
none_is_rejected_once_there_are_few_enough(void **state)
{
    (void)state;
    begin(0);
    assert_false(tick(1000));
    self.replicas[1].written = 99;
    assert_true(tick(4000));
    self.replicas[1].n_streams = self.replicas[2].n_streams = 900;
    assert_true(tick(4500)); /* no more */
    assert_int_equal(self.order.reject_ms, 0);
}

static void
not_twice_within_a_minute(void **state)
{
    (void)state;
    begin(0);
    assert_false(tick(1000));
    self.replicas[1].written = 99;
    assert_true(tick(4000));
    assert_true(tick(11000));
    for (uint64_t now = 11500; now < 61000; now += 500) {
        self.view.n_own = now / 500 % 2 ? 1000 : 10;
        self.replicas[1].written++;
        assert_false(tick(now));
    }
}

static void
never_below_two_replicas(void **state)
{
    (void)state;
    begin(0);
    self.view.n_replicas = 1;
    assert_false(tick(1000));
    self.view.n_replicas = 3;
    assert_false(tick(1500));
    self.replicas[1].written = 99;
    assert_true(tick(4500));
    self.view.n_replicas = 1;
    assert_true(tick(5000)); /* no more */
    assert_int_equal(self.order.reject_ms, 0);
    begin(0);
    assert_false(tick(1000));
    self.replicas[1].written = 99;
    assert_true(tick(4000));
    self.view.is_current = false;
    assert_true(tick(4500));
    assert_int_equal(self.order.reject_ms, 0);
}

static void
a_rebalance_ends_what_is_above_the_share(void **state)
{
    (void)state;
    begin(100);
    assert_true(udpai_spread_plan_rebalance(&self.plan, 1000, &self.view, 20000, &self.order));
    assert_int_equal(self.order.n_streams, 1000);
    assert_int_equal(self.order.share, 400);
    assert_int_equal(self.order.above, 400);
    assert_int_equal(self.order.over_ms, 20000);
    assert_int_equal(self.order.reject_ms, 25000);
    for (uint64_t now = 1500; now < 80000; now += 500) {
        self.replicas[1].written++;
        assert_false(tick(now)); /* which would replace it */
    }
}

static void
nobody_else_takes_part_in_a_rebalance(void **state)
{
    (void)state;
    begin(1000);
    assert_false(udpai_spread_plan_rebalance(&self.plan, 1000, &self.view, 20000, &self.order));
    begin(100);
    self.view.n_replicas = 1;
    assert_false(udpai_spread_plan_rebalance(&self.plan, 1000, &self.view, 20000, &self.order));
    begin(100);
    self.view.is_current = false;
    assert_false(udpai_spread_plan_rebalance(&self.plan, 1000, &self.view, 20000, &self.order));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_share_counts_its_own_streams_as_they_are_now),
        cmocka_unit_test(nothing_is_rejected_near_the_share),
        cmocka_unit_test(new_ones_are_rejected_once_another_with_room_has_written),
        cmocka_unit_test(a_dead_one_has_no_room),
        cmocka_unit_test(one_that_has_no_room_does_not_help),
        cmocka_unit_test(no_longer_than_ten_seconds_and_not_soon_again),
        cmocka_unit_test(none_is_rejected_once_there_are_few_enough),
        cmocka_unit_test(not_twice_within_a_minute),
        cmocka_unit_test(never_below_two_replicas),
        cmocka_unit_test(a_rebalance_ends_what_is_above_the_share),
        cmocka_unit_test(nobody_else_takes_part_in_a_rebalance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
