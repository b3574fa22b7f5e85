/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the world, whole each time; and how removals wait in it for what replaces them. */
#include "tests/unit/fanout/fanout_test.h"

static fanout_reader one;
static fanout_renderer xds;

/* The renderer lives as long as the bodies that are kept. */
static void
open_state(fanout_bed *bed, const fanout_renderer *renderer)
{
    xds = bed->renderer;
    xds.base.shows_content_only = true;
    fanout_open_with(&one, bed, renderer);
    (void)fanout_in_mode(&one, "CDS", UDPAI_MODE_STATE);
    (void)fanout_in_mode(&one, "LDS", UDPAI_MODE_STATE);
}

static void
test_everything_is_sent_each_time(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    open_state(bed, &bed->renderer);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS*[a=1 b=1]");
    fanout_change(bed, "+CDS/c=1");
    assert_all(&one, "CDS*[a=1 b=1 c=1]");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "CDS*[b=1 c=1]");
    fanout_change(bed, "+CDS//org/x=1");
    assert_all(&one, "");
    fanout_close(&one);
}

static void
test_nothing_is_sent_before_it_is_certain(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1");
    open_state(bed, &bed->renderer);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "");
    const udpai_unsettled missing = {.prefix = UDPAI_STR("com.acme/t")};
    fanout_settle_except(bed, &missing);
    assert_all(&one, "");
    fanout_settle(bed);
    assert_all(&one, "CDS*[a=1]");
    fanout_close(&one);
}

/* Who held nothing when it came holds what it was sent. What is certain to be gone goes from that;
 * all else waits. */
static void
test_what_was_said_goes_before_all_is_certain(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle_except(bed, &(udpai_unsettled){.prefix = UDPAI_STR("com.acme/t")});
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1");
    open_state(bed, &bed->renderer);
    udpai_subscription_take_unsettled(fanout_of(&one, "CDS"));
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS*[a=1 b=1 c=1]");
    fanout_change(bed, "-CDS/a:7");
    assert_all(&one, "CDS*[b=1 c=1]");
    fanout_change(bed, "-CDS/b");
    assert_all(&one, "");
    fanout_change(bed, "+CDS/d=1");
    assert_all(&one, "CDS*[c=1 d=1 b=1]");
    fanout_settle(bed);
    assert_all(&one, "CDS*[c=1 d=1]");
    fanout_close(&one);
}

/* It has no word for what is not known, and clients are served all the same. */
static void
test_a_state_does_not_wait_for_what_is_elsewhere(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle_except(bed, &(udpai_unsettled){.only_absence = true});
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +LDS/l=1");
    open_state(bed, &bed->renderer);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_ask(&one, "LDS", "l none");
    assert_all(&one, "CDS*[a=1 b=1] LDS*[l=1]");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "CDS*[b=1]");
    fanout_close(&one);
}

static void
test_an_empty_state_is_one(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    open_state(bed, &bed->renderer);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS*[]");
    fanout_change(bed, "+CDS/a=1");
    assert_all(&one, "CDS*[a=1]");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "CDS*[]");
    assert_ok(udpai_unsubscribe_all_wildcards(fanout_of(&one, "CDS")));
    assert_all(&one, "");
    fanout_close(&one);
}

/* What goes stays in the state until what replaces it has arrived, in every type. */
static void
test_removals_wait_for_other_types(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/c1=1 +LDS/l=c1");
    open_state(bed, &bed->renderer);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_wildcard(&one, "LDS", "com.acme");
    assert_all(&one, "CDS*[c1=1] LDS*[l=c1]");
    fanout_change(bed, "+CDS/c2=1 +LDS/l=c2 -CDS/c1");
    assert_next(&one, "CDS*[c2=1 c1=1]");
    assert_next(&one, "LDS*[l=c2]");
    assert_next(&one, "CDS*[c2=1]");
    assert_next(&one, "");
    fanout_close(&one);
}

/* It may have had it long ago, at another replica, and its removal, too. */
static void
test_what_went_before_the_first_state_is_not_in_it(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    open_state(bed, &bed->renderer);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "CDS*[b=1]");
    fanout_change(bed, "-CDS/b +CDS/c=1");
    assert_all(&one, "CDS*[c=1 b=1] CDS*[c=1]");
    fanout_close(&one);
}

static void
test_what_came_and_went_is_no_news(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1");
    open_state(bed, &bed->renderer);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS*[a=1]");
    fanout_change(bed, "+CDS/b=1");
    fanout_change(bed, "+CDS/a=2");
    fanout_change(bed, "+CDS/a=1");
    fanout_change(bed, "-CDS/b");
    (void)fanout_all(&one);
    assert_string_equal(fanout_holds(&one, "CDS", "b"), "");
    assert_string_equal(fanout_holds(&one, "CDS", "a"), "1");
    fanout_close(&one);
}

static void
test_it_is_sent_again_when_asked_for(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1");
    open_state(bed, &bed->renderer);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS*[a=1]");
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS*[a=1]");
    udpai_subscription_resend_state(fanout_of(&one, "CDS"));
    assert_all(&one, "CDS*[a=1]");
    udpai_subscription_resend_all(fanout_of(&one, "CDS"));
    assert_all(&one, "CDS*[a=1]");
    fanout_close(&one);
}

/* ---- names ---- */

static void
test_names_make_a_state(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    open_state(bed, &bed->renderer);
    fanout_ask(&one, "CDS", "a none");
    assert_all(&one, "CDS*[a=1]");
    fanout_change(bed, "+CDS/b=2");
    assert_all(&one, "");
    fanout_change(bed, "+CDS/none=1");
    (void)fanout_all(&one);
    assert_int_equal(one.n_held, 2);
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "CDS*[none=1]");
    fanout_change(bed, "-CDS/none");
    assert_all(&one, "CDS*[]");
    fanout_close(&one);
}

static void
test_an_unanswered_name_holds_the_state_up(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1");
    open_state(bed, &bed->renderer);
    fanout_ask(&one, "CDS", "a b");
    assert_all(&one, "");
    fanout_settle(bed);
    assert_all(&one, "CDS*[a=1]");
    fanout_close(&one);
}

/* ---- refreshes ---- */

static void
test_who_is_shown_content_only_gets_no_refresh(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1");
    open_state(bed, &xds);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS*[a=1]");
    fanout_change(bed, "~CDS/a=1:5");
    fanout_change(bed, "+CDS/a=1:6");
    assert_all(&one, "");
    fanout_close(&one);
}

static void
test_a_ttl_is_refreshed_by_the_whole_state(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1%5000 +CDS/b=1");
    open_state(bed, &xds);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS*[a=1%4000 b=1]");
    fanout_change(bed, "~CDS/a=1%6000");
    assert_all(&one, "CDS*[b=1 a=1%5000]");
    fanout_change(bed, "+CDS/a=1"); /* the ttl goes: that is news */
    assert_all(&one, "CDS*[b=1 a=1]");
    fanout_close(&one);
}

/* The same for names. */
static void
test_a_ttl_of_a_name_is_refreshed(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1%5000");
    open_state(bed, &xds);
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS*[a=1%4000]");
    fanout_change(bed, "+CDS/a=1%6000");
    (void)fanout_all(&one);
    udpai_subscription_resend_state(fanout_of(&one, "CDS"));
    assert_all(&one, "CDS*[a=1%5000]");
    fanout_change(bed, "~CDS/a=1%7000");
    assert_all(&one, "CDS*[a=1%6000]");
    fanout_close(&one);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(test_everything_is_sent_each_time),
        fanout_test(test_nothing_is_sent_before_it_is_certain),
        fanout_test(test_what_was_said_goes_before_all_is_certain),
        fanout_test(test_a_state_does_not_wait_for_what_is_elsewhere),
        fanout_test(test_an_empty_state_is_one),
        fanout_test(test_removals_wait_for_other_types),
        fanout_test(test_what_went_before_the_first_state_is_not_in_it),
        fanout_test(test_what_came_and_went_is_no_news),
        fanout_test(test_it_is_sent_again_when_asked_for),
        fanout_test(test_names_make_a_state),
        fanout_test(test_an_unanswered_name_holds_the_state_up),
        fanout_test(test_who_is_shown_content_only_gets_no_refresh),
        fanout_test(test_a_ttl_is_refreshed_by_the_whole_state),
        fanout_test(test_a_ttl_of_a_name_is_refreshed),
    };
    return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
