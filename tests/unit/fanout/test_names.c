/* SPDX-License-Identifier: Apache-2.0 */
/* Subscriptions by name: what is there, what is not, and what is not known yet. */
#include "fanout/name_sub.h"
#include "tests/unit/fanout/fanout_test.h"

static fanout_reader one, two;

static void
drop_name(fanout_reader *reader, const char *type, const char *name, bool tell)
{
    udpai_unsubscribe_name(fanout_of(reader, type), udpai_str_from(name), tell);
}

static void
test_names_are_sent_and_followed(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    fanout_open(&one, bed);
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[a=1]");
    fanout_change(bed, "+CDS/b=2");
    assert_all(&one, "");
    fanout_change(bed, "+CDS/a=2");
    fanout_change(bed, "+CDS/a=3");
    assert_all(&one, "CDS[a=3]");
    fanout_change(bed, "~CDS/a=3:2");
    assert_all(&one, "CDS[~a=3]");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "CDS[-a]");
    fanout_change(bed, "+CDS/a=4");
    assert_all(&one, "CDS[a=4]");
    drop_name(&one, "CDS", "com.acme/a", true);
    fanout_change(bed, "+CDS/a=5");
    assert_all(&one, "");
    fanout_close(&one);
}

static void
test_asked_for_again_it_is_sent_again(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1");
    fanout_open(&one, bed);
    fanout_ask(&one, "CDS", "a none");
    assert_all(&one, "CDS[a=1] CDS[-none]");
    fanout_ask(&one, "CDS", "a none");
    assert_all(&one, "CDS[a=1] CDS[-none]");
    fanout_change(bed, "~CDS/a=1:4");
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[a=1]");
    udpai_subscription_resend(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/a"));
    assert_all(&one, "CDS[a=1]");
    /* What is missing is not sent again unasked. */
    udpai_subscription_resend(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/none"));
    assert_all(&one, "");
    assert_int_equal(udpai_subscription_n_names(fanout_of(&one, "CDS")), 2);
    fanout_close(&one);
}

static void
test_a_name_that_came_back_before_it_was_told(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1");
    fanout_open(&one, bed);
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[a=1]");
    fanout_change(bed, "-CDS/a");
    fanout_change(bed, "+CDS/a=1");
    assert_all(&one, "CDS[a=1]");
    fanout_change(bed, "+CDS/a=2");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "CDS[-a]");
    fanout_close(&one);
}

/* ---- not there, or not known yet ---- */

static void
test_a_missing_name_waits_until_that_is_certain(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    fanout_ask(&one, "CDS", "a b");
    assert_all(&one, "");
    one.n_wakes = 0;
    fanout_change(bed, "+CDS/b=1");
    assert_all(&one, "CDS[b=1]");
    fanout_settle_except(bed, &(udpai_unsettled){.prefix = UDPAI_STR("com.acme/a")});
    assert_all(&one, "");
    fanout_settle(bed);
    assert_true(one.n_wakes > 1);
    assert_all(&one, "CDS[-a]");
    fanout_settle(bed);
    assert_all(&one, "");
    fanout_change(bed, "+CDS/a=1");
    assert_all(&one, "CDS[a=1]");
    fanout_close(&one);
}

/* What has gone while that is not certain is not told either. */
static void
test_a_removal_waits_until_it_is_certain(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1");
    fanout_open(&one, bed);
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[a=1]");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "");
    fanout_settle(bed);
    assert_all(&one, "CDS[-a]");
    fanout_close(&one);
}

static void
test_who_asks_is_not_waited_for(void **state)
{
    fanout_bed *bed = *state;
    const udpai_unsettled missing = {.peer_node = UDPAI_STR("n1")};
    fanout_settle_except(bed, &missing);
    fanout_open(&one, bed);
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[-a]");
    fanout_open(&two, bed);
    fanout_ask(&two, "CDS", "a");
    assert_all(&two, "");
    fanout_close(&one);
    fanout_close(&two);
}

/* A ring of nodes that wait for each other is waited out, from when all of it is there. */
static void
test_a_ring_is_waited_out(void **state)
{
    fanout_bed *bed = *state;
    const udpai_unsettled ring = {.may_wait_for_us = true, .since_ms = 5000};
    fanout_settle_except(bed, &ring);
    fanout_open(&one, bed);
    fanout_ask(&one, "CDS", "a");
    fanout_bed_at(bed, 24999);
    assert_all(&one, "");
    fanout_bed_at(bed, 25000);
    assert_all(&one, "CDS[-a]");
    /* Asked for later: as long again. */
    fanout_open(&two, bed);
    fanout_ask(&two, "CDS", "a");
    fanout_bed_at(bed, 44999);
    assert_all(&two, "");
    fanout_bed_at(bed, 45000);
    assert_all(&two, "CDS[-a]");
    fanout_close(&one);
    fanout_close(&two);
}

/* A resource that is there, but may not be shown, will not come of something unsettled. */
static void
test_what_is_hidden_is_certainly_missing(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1@n1");
    fanout_open(&one, bed);
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[-a]");
    fanout_change(bed, "~CDS/a=1@n2");
    assert_all(&one, "CDS[a=1]");
    fanout_close(&one);
}

/* ---- beside a wildcard ---- */

static void
test_a_name_under_a_wildcard_comes_once(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[-a]");
    fanout_change(bed, "+CDS/a=1");
    assert_all(&one, "CDS[a=1]");
    fanout_change(bed, "+CDS/a=2");
    assert_all(&one, "CDS[a=2]");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "CDS[-a]");
    /* From lazy to eager and back: by name, then by both, once. */
    fanout_change(bed, "+CDS/a=3$");
    assert_all(&one, "CDS[a=3]");
    fanout_change(bed, "+CDS/a=4");
    assert_all(&one, "CDS[a=4]");
    fanout_change(bed, "+CDS/a=5$");
    assert_all(&one, "CDS[a=5]");
    fanout_close(&one);
}

/* ---- other modes ---- */

static void
test_removals_cannot_be_said_in_groups(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+EDS/a=1 +EDS/b=1");
    fanout_open(&one, bed);
    udpai_subscription *subscription = fanout_in_mode(&one, "EDS", UDPAI_MODE_GROUPED);
    fanout_ask(&one, "EDS", "a b none");
    assert_all(&one, "EDS[a=1 b=1]");
    fanout_change(bed, "-EDS/a +EDS/none=1");
    assert_all(&one, "EDS[none=1]");
    fanout_change(bed, "+EDS/a=1");
    assert_all(&one, "EDS[a=1]");
    assert_int_equal(udpai_subscription_mode(subscription), UDPAI_MODE_GROUPED);
    fanout_close(&one);
}

/* ---- limits, looking ---- */

static void
test_a_subscriber_has_so_many_names(void **state)
{
    fanout_bed *bed = *state;
    bed->options.max_names = 3;
    fanout_bed_restart(bed);
    fanout_open(&one, bed);
    fanout_ask(&one, "CDS", "a b");
    fanout_ask(&one, "EDS", "a");
    udpai_subscription *eds = fanout_of(&one, "EDS");
    assert_int_equal(udpai_subscribe_name(eds, UDPAI_STR("com.acme/b"), NULL), UDPA_ERR_LIMIT);
    assert_false(udpai_subscription_has_name(eds, UDPAI_STR("com.acme/b")));
    assert_ok(udpai_subscribe_name(eds, UDPAI_STR("com.acme/a"), NULL));
    drop_name(&one, "CDS", "com.acme/a", false);
    assert_ok(udpai_subscribe_name(eds, UDPAI_STR("com.acme/b"), NULL));
    assert_int_equal(one.subscriber.n_names, 3);
    fanout_close(&one);
}

static void
count_name(void *userdata, const udpai_locator *locator)
{
    assert_true(udpai_str_starts(locator->name, UDPAI_STR("com.acme/")));
    assert_int_equal(locator->parameters.len, 0);
    ++*(size_t *)userdata;
}

static void
test_names_are_shown(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1%5000");
    fanout_open(&one, bed);
    fanout_ask(&one, "CDS", "a b c");
    size_t n = 0;
    udpai_subscription *subscription = fanout_of(&one, "CDS");
    udpai_subscription_visit_names(subscription, count_name, &n);
    assert_int_equal(n, 3);
    udpai_send_item item;
    assert_true(udpai_subscription_shows(subscription, UDPAI_STR("com.acme/a"), &item));
    assert_int_equal(item.ttl_ms, 4000);
    assert_false(udpai_subscription_shows(subscription, UDPAI_STR("com.acme/b"), &item));
    assert_false(udpai_subscription_shows(fanout_of(&one, "EDS"), UDPAI_STR("com.acme/a"), &item));
    fanout_close(&one);
}

/* A hundred thousand names of a client, and many such clients: what a name costs each counts. */
static void
test_a_name_is_small(void **state)
{
    (void)state;
    assert_true(sizeof(udpai_name_sub) <= 88);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(test_names_are_sent_and_followed),
        fanout_test(test_asked_for_again_it_is_sent_again),
        fanout_test(test_a_name_that_came_back_before_it_was_told),
        fanout_test(test_a_missing_name_waits_until_that_is_certain),
        fanout_test(test_a_removal_waits_until_it_is_certain),
        fanout_test(test_who_asks_is_not_waited_for),
        fanout_test(test_a_ring_is_waited_out),
        fanout_test(test_what_is_hidden_is_certainly_missing),
        fanout_test(test_a_name_under_a_wildcard_comes_once),
        fanout_test(test_removals_cannot_be_said_in_groups),
        fanout_test(test_a_subscriber_has_so_many_names),
        fanout_test(test_names_are_shown),
        cmocka_unit_test(test_a_name_is_small),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
