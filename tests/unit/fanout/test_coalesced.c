/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that a newer one has replaced before the slowest subscriber was sent them. */
#include "tests/harness/metered.h"
#include "tests/unit/fanout/fanout_test.h"

static fanout_reader slow, fast;

static udpai_meters *meters;

static int
set_up(void **state)
{
    (void)fanout_bed_setup(state);
    fanout_bed *bed = *state;
    assert_int_equal(udpai_meters_new(&meters), UDPA_OK);
    udpai_fanout_set_meters(bed->fanout, meters);
    fanout_settle(bed);
    return 0;
}

static int
tear_down(void **state)
{
    (void)fanout_bed_teardown(state);
    meters = udpai_meters_free(meters);
    return 0;
}

static int64_t
coalesced(const char *type)
{
    char room[128];
    return metered(meters, UDPAI_METRIC_COALESCED, fanout_type(type, room));
}

/* A reader that has had its first response. */
static void
begin(fanout_reader *reader, fanout_bed *bed)
{
    fanout_open(reader, bed);
    fanout_wildcard(reader, "CDS", "");
    (void)fanout_all(reader);
}

static void
begin_all(fanout_bed *bed)
{
    fanout_change(bed, "+CDS/a=0 +CDS/b=0");
    begin(&slow, bed);
    begin(&fast, bed);
}

static void
end_all(void)
{
    fanout_close(&slow);
    fanout_close(&fast);
}

static void
what_all_were_sent_is_not_counted(void **state)
{
    fanout_bed *bed = *state;
    begin_all(bed);
    for (int i = 0; i < 10; i++) {
        fanout_change(bed, i % 2 ? "+CDS/a=1 +CDS/b=1" : "+CDS/a=2 -CDS/b");
        (void)fanout_all(&slow);
        (void)fanout_all(&fast);
    }
    assert_int_equal(coalesced("CDS"), 0);
    end_all();
}

static void
each_change_that_the_slowest_was_not_sent_counts_once(void **state)
{
    fanout_bed *bed = *state;
    begin_all(bed);
    fanout_change(bed, "+CDS/a=1");
    (void)fanout_all(&fast);
    assert_int_equal(coalesced("CDS"), 0);
    fanout_change(bed, "+CDS/a=2 +CDS/b=2");
    (void)fanout_all(&fast);
    assert_int_equal(coalesced("CDS"), 1);
    fanout_change(bed, "+CDS/a=3");
    fanout_change(bed, "-CDS/b");
    assert_int_equal(coalesced("CDS"), 3);
    assert_all(&slow, "CDS[a=3] CDS[-b]");
    assert_all(&fast, "CDS[a=3] CDS[-b]");
    fanout_change(bed, "+CDS/a=4 +CDS/b=4");
    assert_int_equal(coalesced("CDS"), 3);
    end_all();
}

static void
a_change_in_two_views_counts_once(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=0");
    begin(&slow, bed);
    fanout_open(&fast, bed);
    fanout_wildcard(&fast, "CDS", "com.acme");
    assert_all(&fast, "CDS[a=0]");
    fanout_change(bed, "+CDS/a=1");
    fanout_change(bed, "+CDS/a=2");
    assert_int_equal(coalesced("CDS"), 1);
    assert_all(&fast, "CDS[a=2]");
    fanout_change(bed, "+CDS/a=3");
    assert_int_equal(coalesced("CDS"), 2);
    end_all();
}

static void
names_count_as_wildcards_do(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+EDS/a=0 +EDS/b=0^x");
    fanout_open(&slow, bed);
    fanout_ask(&slow, "EDS", "a x");
    (void)fanout_all(&slow);
    fanout_change(bed, "+EDS/a=1");
    assert_all(&slow, "EDS[a=1]");
    fanout_change(bed, "+EDS/a=2");
    assert_int_equal(coalesced("EDS"), 0);
    fanout_change(bed, "+EDS/a=3");
    assert_int_equal(coalesced("EDS"), 1);
    fanout_change(bed, "+EDS/b=1^x");
    assert_int_equal(coalesced("EDS"), 1);
    fanout_change(bed, "+EDS/b=2^x");
    assert_int_equal(coalesced("EDS"), 2);
    (void)fanout_all(&slow);
    fanout_change(bed, "+EDS/a=4 +EDS/b=4^x");
    assert_int_equal(coalesced("EDS"), 2);
    fanout_close(&slow);
}

/* What is there by name as well comes by the wildcard. */
static void
a_name_beside_a_wildcard_makes_no_difference(void **state)
{
    fanout_bed *bed = *state;
    begin_all(bed);
    fanout_ask(&fast, "CDS", "a");
    (void)fanout_all(&fast);
    for (int i = 0; i < 3; i++) {
        fanout_change(bed, i % 2 ? "+CDS/a=1" : "+CDS/a=2");
        (void)fanout_all(&slow);
        (void)fanout_all(&fast);
    }
    assert_int_equal(coalesced("CDS"), 0);
    end_all();
}

static void
states_count_as_changes_do(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=0");
    fanout_open(&slow, bed);
    (void)fanout_in_mode(&slow, "CDS", UDPAI_MODE_STATE);
    fanout_wildcard(&slow, "CDS", "");
    assert_all(&slow, "CDS*[a=0]");
    fanout_change(bed, "+CDS/a=1");
    assert_all(&slow, "CDS*[a=1]");
    fanout_change(bed, "+CDS/a=2");
    assert_int_equal(coalesced("CDS"), 0);
    fanout_change(bed, "+CDS/a=3");
    assert_int_equal(coalesced("CDS"), 1);
    fanout_close(&slow);
}

static void
who_waits_for_a_first_response_has_missed_nothing(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=0");
    fanout_open(&slow, bed);
    fanout_wildcard(&slow, "CDS", "");
    fanout_open(&fast, bed);
    fanout_ask(&fast, "CDS", "a");
    fanout_change(bed, "+CDS/a=1");
    fanout_change(bed, "+CDS/a=2");
    assert_int_equal(coalesced("CDS"), 0);
    assert_all(&slow, "CDS[a=2]");
    end_all();
}

static void
without_subscribers_there_is_nothing_to_count(void **state)
{
    fanout_bed *bed = *state;
    begin(&slow, bed);
    fanout_close(&slow);
    fanout_change(bed, "+CDS/a=1");
    fanout_change(bed, "+CDS/a=2");
    assert_int_equal(coalesced("CDS"), 0);
}

/* The same content again, with another ttl, replaces nothing that would have been sent. */
static void
a_refresh_replaces_nothing(void **state)
{
    fanout_bed *bed = *state;
    begin_all(bed);
    fanout_change(bed, "+CDS/a=1%3000");
    fanout_change(bed, "~CDS/a=1%4000");
    assert_int_equal(coalesced("CDS"), 0);
    fanout_change(bed, "+CDS/a=2");
    assert_int_equal(coalesced("CDS"), 1);
    end_all();
}

/* And what only a refresh has followed was sent. */
static void
a_name_that_was_sent_before_a_refresh_was_sent(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=0");
    fanout_open(&slow, bed);
    fanout_ask(&slow, "CDS", "a");
    assert_all(&slow, "CDS[a=0]");
    fanout_change(bed, "~CDS/a=0%3000");
    fanout_change(bed, "+CDS/a=1");
    assert_int_equal(coalesced("CDS"), 0);
    fanout_close(&slow);
}

static void
whoever_is_slowest_now_decides(void **state)
{
    fanout_bed *bed = *state;
    begin_all(bed);
    fanout_change(bed, "+CDS/a=1");
    (void)fanout_all(&fast);
    fanout_change(bed, "+CDS/a=2");
    assert_int_equal(coalesced("CDS"), 1);
    (void)fanout_all(&slow);
    fanout_change(bed, "+CDS/a=3");
    assert_int_equal(coalesced("CDS"), 2); /* the other one was not sent it */
    fanout_close(&slow);
    (void)fanout_all(&fast);
    fanout_change(bed, "+CDS/a=4");
    assert_int_equal(coalesced("CDS"), 2);
    fanout_change(bed, "+CDS/a=5");
    assert_int_equal(coalesced("CDS"), 3);
    fanout_close(&fast);
}

/* A lazy resource comes by no wildcard. */
static void
what_the_wildcard_has_lost_is_not_counted(void **state)
{
    fanout_bed *bed = *state;
    begin_all(bed);
    fanout_change(bed, "+CDS/a=1$");
    assert_all(&slow, "CDS[-a]");
    assert_all(&fast, "CDS[-a]");
    fanout_change(bed, "+CDS/a=2$");
    fanout_change(bed, "+CDS/a=3$");
    assert_int_equal(coalesced("CDS"), 0);
    end_all();
}

/* What has come to be visible lies in the log of a filter, too. */
static void
a_filter_adds_nothing(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=0@edge +CDS/b=0");
    fanout_open(&slow, bed);
    assert_int_equal(udpai_subscriber_set_except(&slow.subscriber, UDPAI_STR("edge")), UDPA_OK);
    fanout_wildcard(&slow, "CDS", "");
    assert_all(&slow, "CDS[b=0]");
    fanout_change(bed, "~CDS/a=0@core");
    assert_all(&slow, "CDS[a=0]");
    fanout_change(bed, "+CDS/a=1@core");
    (void)fanout_all(&slow);
    assert_int_equal(coalesced("CDS"), 0);
    fanout_change(bed, "+CDS/a=2@core");
    fanout_change(bed, "+CDS/a=3@core");
    assert_int_equal(coalesced("CDS"), 1);
    fanout_close(&slow);
}

static void
a_name_that_is_not_shown_is_not_counted(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=0@edge +CDS/b=0");
    fanout_open(&slow, bed);
    assert_int_equal(udpai_subscriber_set_except(&slow.subscriber, UDPAI_STR("edge")), UDPA_OK);
    fanout_ask(&slow, "CDS", "a b");
    (void)fanout_all(&slow);
    fanout_change(bed, "+CDS/a=1@edge");
    fanout_change(bed, "+CDS/a=2@edge");
    assert_int_equal(coalesced("CDS"), 0);
    fanout_close(&slow);
}

/* It is not offered what came from its own node. */
static void
what_the_slowest_does_not_see_is_not_counted(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=0@edge +CDS/b=0");
    fanout_open(&slow, bed);
    assert_int_equal(udpai_subscriber_set_except(&slow.subscriber, UDPAI_STR("edge")), UDPA_OK);
    fanout_wildcard(&slow, "CDS", "");
    assert_all(&slow, "CDS[b=0]");
    fanout_change(bed, "+CDS/a=1@edge");
    fanout_change(bed, "+CDS/a=2@edge");
    assert_int_equal(coalesced("CDS"), 0);
    fanout_change(bed, "+CDS/b=1");
    fanout_change(bed, "+CDS/b=2");
    assert_int_equal(coalesced("CDS"), 1);
    fanout_close(&slow);
}

/* The newest page may have been sent before what is older. */
static void
what_was_sent_ahead_was_sent(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 1);
    udpai_fanout_set_meters(bed->fanout, meters);
    fanout_change(bed, "+CDS/a=0 +CDS/b=0 +CDS/c=0");
    begin(&slow, bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1");
    assert_next(&slow, "CDS[a=1]");
    assert_next(&slow, "CDS[c=1]");
    fanout_change(bed, "+CDS/c=2");
    assert_int_equal(coalesced("CDS"), 0);
    fanout_change(bed, "+CDS/b=2");
    assert_int_equal(coalesced("CDS"), 1);
    fanout_close(&slow);
}

#define coalesced_test(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        coalesced_test(what_all_were_sent_is_not_counted),
        coalesced_test(each_change_that_the_slowest_was_not_sent_counts_once),
        coalesced_test(a_change_in_two_views_counts_once),
        coalesced_test(names_count_as_wildcards_do),
        coalesced_test(a_name_beside_a_wildcard_makes_no_difference),
        coalesced_test(states_count_as_changes_do),
        coalesced_test(who_waits_for_a_first_response_has_missed_nothing),
        coalesced_test(without_subscribers_there_is_nothing_to_count),
        coalesced_test(a_refresh_replaces_nothing),
        coalesced_test(a_name_that_was_sent_before_a_refresh_was_sent),
        coalesced_test(whoever_is_slowest_now_decides),
        coalesced_test(what_the_wildcard_has_lost_is_not_counted),
        coalesced_test(a_filter_adds_nothing),
        coalesced_test(a_name_that_is_not_shown_is_not_counted),
        coalesced_test(what_the_slowest_does_not_see_is_not_counted),
        coalesced_test(what_was_sent_ahead_was_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
