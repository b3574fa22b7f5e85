/* SPDX-License-Identifier: Apache-2.0 */
/* A subscription that changes what it selects: nothing is lost, nothing is repeated without need.
 */
#include "tests/unit/fanout/fanout_test.h"

static fanout_reader one, two;

static void
test_a_namespace_is_added(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS//org/x=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1 b=1]");
    fanout_wildcard(&one, "CDS", "org");
    assert_all(&one, "CDS[/org/x=1]");
    fanout_change(bed, "+CDS/a=2 +CDS//org/x=2");
    assert_all(&one, "CDS[a=2 /org/x=2]");
    fanout_close(&one);
}

/* What it drops, it has dropped itself: nothing is told. */
static void
test_a_namespace_is_dropped(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1 +CDS//org/x=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_wildcard(&one, "CDS", "org");
    (void)fanout_all(&one);
    fanout_drop_wildcard(&one, "CDS", "org");
    assert_all(&one, "");
    fanout_change(bed, "+CDS//org/x=2 +CDS/a=2");
    assert_all(&one, "CDS[a=2]");
    assert_ok(udpai_unsubscribe_all_wildcards(fanout_of(&one, "CDS")));
    assert_false(udpai_subscription_has_wildcard(fanout_of(&one, "CDS")));
    fanout_change(bed, "+CDS/a=3");
    assert_all(&one, "");
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=3]");
    fanout_close(&one);
}

static void
test_a_prefix_is_dropped_below_a_wider_one(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/t/a=1 +CDS/b=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[t/a=1 b=1]");
    fanout_wildcard(&one, "CDS", "com.acme/t"); /* in effect, asked for again */
    assert_all(&one, "CDS[t/a=1]");
    fanout_drop_wildcard(&one, "CDS", "com.acme/t");
    fanout_change(bed, "+CDS/t/a=2 +CDS/b=2");
    assert_all(&one, "CDS[t/a=2 b=2]");
    fanout_wildcard(&one, "CDS", "com.acme/t");
    assert_all(&one, "CDS[t/a=2]");
    fanout_drop_wildcard(&one, "CDS", "com.acme");
    fanout_change(bed, "+CDS/t/a=3 +CDS/b=3");
    assert_all(&one, "CDS[t/a=3]");
    fanout_close(&one);
}

static void
test_asked_for_again_it_is_sent_again(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1 +CDS//org/x=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1]");
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1]");
    fanout_wildcard(&one, "CDS", "org");
    assert_all(&one, "CDS[/org/x=1]");
    fanout_wildcard(&one, "CDS", "org");
    assert_all(&one, "CDS[/org/x=1]");
    fanout_close(&one);
}

/* Mid-way through the pages of the old view. */
static void
test_a_namespace_is_added_mid_way(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 2);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1 +CDS/d=1 +CDS/e=1 +CDS//org/x=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_next(&one, "CDS[a=1 b=1]");
    assert_next(&one, "CDS[e=1 d=1]");
    fanout_wildcard(&one, "CDS", "org");
    assert_all(&one, "CDS[c=1] CDS[/org/x=1]");
    assert_int_equal(one.n_held, 6);
    fanout_close(&one);
}

/* A removal that was not sent yet does not go with the view that it stood in. */
static void
test_a_removal_survives_a_namespace_that_is_added(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1 b=1]");
    fanout_change(bed, "-CDS/a");
    fanout_wildcard(&one, "CDS", "org");
    assert_all(&one, "CDS[-a]");
    fanout_close(&one);
}

static void
test_a_removal_survives_a_namespace_that_is_dropped(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1 +CDS//org/x=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_wildcard(&one, "CDS", "org");
    (void)fanout_all(&one);
    fanout_change(bed, "-CDS/a -CDS//org/x");
    fanout_drop_wildcard(&one, "CDS", "org");
    assert_all(&one, "CDS[-a]");
    fanout_close(&one);
}

/* Nothing had come yet by the old view, but it had by the one before. */
static void
test_what_is_sent_again_is_still_removed(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1@n1 +CDS/b=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    assert_all(&one, "CDS[a=1 b=1]");
    udpai_subscription_resend_all(fanout_of(&one, "CDS"));
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
    (void)fanout_all(&one);
    assert_string_equal(fanout_holds(&one, "CDS", "a"), "");
    assert_string_equal(fanout_holds(&one, "CDS", "b"), "1");
    fanout_close(&one);
}

/* ---- what may no longer be seen ---- */

static void
test_what_is_not_offered_any_more_is_removed(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1@n1 +CDS/b=1 +EDS/a=1@n1 +EDS/b=1@n1$");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_ask(&one, "EDS", "a");
    assert_all(&one, "CDS[a=1 b=1] EDS[a=1]");
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
    assert_all(&one, "EDS[-a] CDS[-a]");
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n2")));
    assert_all(&one, "CDS[a=1] EDS[a=1]");
    fanout_close(&one);
}

static void
test_what_was_not_sent_yet_need_not_be_removed(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 1);
    fanout_change(bed, "+CDS/a=1@n1 +CDS/b=1@n1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    assert_next(&one, "CDS[a=1]");
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
    assert_all(&one, "CDS[-a]");
    fanout_close(&one);
}

/* It has what the resource was before the change that was not sent. */
static void
test_what_was_sent_before_it_changed_is_removed(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1@n1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    assert_all(&one, "CDS[a=1]");
    fanout_change(bed, "+CDS/a=2@n1");
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
    assert_all(&one, "CDS[-a]");
    fanout_close(&one);
}

/* What is pending for a wildcard ends once the wildcard does not hold it. */
static void
test_what_is_pending_goes_with_the_wildcard(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1 +CDS//org/x=1 +CDS//org/y=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1]");
    fanout_wildcard(&one, "CDS", "org");
    fanout_change(bed, "+CDS//org/x=2$");
    assert_all(&one, "CDS[/org/y=1] CDS[-/org/x]");
    fanout_wildcard(&one, "CDS", "org");
    fanout_drop_wildcard(&one, "CDS", "org");
    assert_all(&one, "");
    fanout_close(&one);
}

/* The view that it comes to knew the removal before; it did not. */
static void
test_a_removal_is_told_by_the_name_when_the_view_changes(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    fanout_open(&two, bed);
    assert_ok(udpai_subscriber_set_except(&two.subscriber, UDPAI_STR("n1")));
    fanout_wildcard(&two, "CDS", "");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[a=1 b=1]");
    fanout_change(bed, "-CDS/a");
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
    assert_all(&one, "CDS[-a]");
    fanout_close(&one);
    fanout_close(&two);
}

/* A pending removal does not turn the clock of the others back. */
static void
test_a_pending_removal_leaves_the_cursor_where_it_is(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 1);
    fanout_change(bed, "+EDS/x=1@n1 +EDS/y=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_wildcard(&one, "EDS", "");
    (void)fanout_all(&one);
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
    fanout_change(bed, "+CDS/c=1");
    assert_next(&one, "CDS[c=1]");
    fanout_change(bed, "+CDS/c=2");
    fanout_wildcard(&one, "EDS", "org");
    fanout_drop_wildcard(&one, "EDS", "");
    assert_next(&one, "EDS[-x]");
    assert_all(&one, "CDS[c=2]");
    fanout_close(&one);
}

/* ---- names beside wildcards ---- */

static void
test_a_name_outlives_the_wildcard(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[a=1 b=1]");
    assert_ok(udpai_unsubscribe_all_wildcards(fanout_of(&one, "CDS")));
    assert_all(&one, "");
    fanout_change(bed, "+CDS/a=2 +CDS/b=2");
    assert_all(&one, "CDS[a=2]");
    fanout_change(bed, "~CDS/a=2:5");
    assert_all(&one, "CDS[~a=2]");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "CDS[-a]");
    fanout_close(&one);
}

/* The wildcard had not brought it yet; the name must. */
static void
test_a_name_takes_over_what_was_pending(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_ask(&one, "CDS", "a b");
    assert_all(&one, "CDS[a=1 b=1]");
    fanout_change(bed, "+CDS/a=2 -CDS/b");
    assert_ok(udpai_unsubscribe_all_wildcards(fanout_of(&one, "CDS")));
    assert_all(&one, "CDS[a=2] CDS[-b]");
    fanout_close(&one);
}

static void
test_a_wildcard_outlives_the_name(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[a=1]");
    udpai_unsubscribe_name(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/a"), false);
    assert_all(&one, "");
    fanout_change(bed, "+CDS/a=2");
    assert_all(&one, "CDS[a=2]");
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[a=2]");
    udpai_unsubscribe_name(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/a"), true);
    assert_all(&one, "CDS[a=2]");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "CDS[-a]");
    fanout_close(&one);
}

/* With the name goes what the wildcard does not hold: a lazy one, or none at all. */
static void
test_a_name_that_goes_tells_what_the_wildcard_holds(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1$");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_ask(&one, "CDS", "a none");
    assert_all(&one, "CDS[a=1] CDS[-none]");
    udpai_unsubscribe_name(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/a"), true);
    udpai_unsubscribe_name(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/none"), true);
    udpai_unsubscribe_name(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/never"), true);
    assert_all(&one, "CDS[-a -none]");
    fanout_close(&one);
}

/* ---- looking ---- */

static void
test_prefixes_are_shown(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&two, bed);
    fanout_wildcard(&two, "CDS", "com.acme");
    fanout_wildcard(&two, "CDS", "com.acme/t");
    udpai_subscription *subscription = fanout_of(&two, "CDS");
    assert_int_equal(udpai_subscription_n_prefixes(subscription), 2);
    assert_str(udpai_subscription_prefix(subscription, 1), "com.acme/t");
    assert_str(udpai_subscription_type_url(subscription), TEST_CDS);
    assert_ptr_equal(udpai_subscription_subscriber(subscription), &two.subscriber);
    assert_int_equal(udpai_subscription_mode(subscription), UDPAI_MODE_DELTA);
    udpai_subscription_set_userdata(subscription, bed);
    assert_ptr_equal(udpai_subscription_userdata(subscription), bed);
    assert_null(udpai_subscriber_find(&two.subscriber, UDPAI_STR(TEST_EDS)));
    fanout_close(&two);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(test_a_namespace_is_added),
        fanout_test(test_a_namespace_is_dropped),
        fanout_test(test_a_prefix_is_dropped_below_a_wider_one),
        fanout_test(test_asked_for_again_it_is_sent_again),
        fanout_test(test_a_namespace_is_added_mid_way),
        fanout_test(test_a_removal_survives_a_namespace_that_is_added),
        fanout_test(test_a_removal_survives_a_namespace_that_is_dropped),
        fanout_test(test_what_is_sent_again_is_still_removed),
        fanout_test(test_what_is_not_offered_any_more_is_removed),
        fanout_test(test_what_was_not_sent_yet_need_not_be_removed),
        fanout_test(test_what_was_sent_before_it_changed_is_removed),
        fanout_test(test_what_is_pending_goes_with_the_wildcard),
        fanout_test(test_a_removal_is_told_by_the_name_when_the_view_changes),
        fanout_test(test_a_pending_removal_leaves_the_cursor_where_it_is),
        fanout_test(test_a_name_outlives_the_wildcard),
        fanout_test(test_a_name_takes_over_what_was_pending),
        fanout_test(test_a_wildcard_outlives_the_name),
        fanout_test(test_a_name_that_goes_tells_what_the_wildcard_holds),
        fanout_test(test_prefixes_are_shown),
    };
    return cmocka_run_group_tests_name("wildcard", tests, NULL, NULL);
}
