/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors: pages, refreshes, the newest and the oldest in turn, tombstones and their horizon. */
#include "tests/unit/fanout/fanout_test.h"

#include <stdio.h>

static fanout_reader one, two;

/* ---- what is sent of a change ---- */

static void
test_changes_follow_in_order(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1");
    fanout_change(bed, "+CDS/a=2");
    assert_false(udpai_subscriber_in_sync(&one.subscriber));
    assert_all(&one, "CDS[b=1 c=1 a=2]");
    assert_true(udpai_subscriber_in_sync(&one.subscriber));
    fanout_change(bed, "+CDS/d=1 -CDS/b +CDS/c=2");
    assert_all(&one, "CDS[d=1 c=2] CDS[-b]");
    fanout_change(bed, "-CDS/never-there");
    assert_all(&one, "");
    fanout_close(&one);
}

static void
test_wake_comes_once(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    (void)fanout_all(&one);
    one.n_wakes = 0;
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    fanout_change(bed, "+CDS/a=2");
    assert_int_equal(one.n_wakes, 1);
    assert_next(&one, "CDS[b=1 a=2]");
    fanout_change(bed, "+CDS/a=3");
    assert_int_equal(one.n_wakes, 1);
    assert_all(&one, "CDS[a=3]");
    fanout_change(bed, "+EDS/a=3 +CDS//org/a=1");
    assert_int_equal(one.n_wakes, 2);
    (void)fanout_all(&one);
    fanout_change(bed, "+EDS/a=4");
    assert_int_equal(one.n_wakes, 2);
    fanout_close(&one);
}

static void
test_who_holds_the_payload_gets_a_refresh(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    assert_all(&one, "CDS[a=1]");
    fanout_change(bed, "~CDS/a=1:2");
    assert_all(&one, "CDS[~a=1]");
    fanout_open(&two, bed);
    fanout_wildcard(&two, "CDS", "");
    assert_all(&two, "CDS[a=1]");
    fanout_change(bed, "+CDS/a=2");
    fanout_change(bed, "~CDS/a=2:3");
    assert_all(&one, "CDS[a=2]");
    assert_all(&two, "CDS[a=2]");
    fanout_change(bed, "-CDS/a");
    fanout_change(bed, "+CDS/a=2");
    fanout_change(bed, "~CDS/a=2:4");
    assert_all(&one, "CDS[a=2]");
    fanout_close(&one);
    fanout_close(&two);
}

static void
test_what_is_left_of_a_ttl_is_sent(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1%1500 +CDS/b=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_bed_at(bed, 1200);
    assert_all(&one, "CDS[a=1%300 b=1]");
    fanout_open(&two, bed);
    fanout_wildcard(&two, "CDS", "");
    fanout_bed_at(bed, 1450);
    assert_all(&two, "CDS[a=1%50 b=1]");
    fanout_change(bed, "~CDS/a=1%2000");
    assert_all(&one, "CDS[~a=1%550]");
    /* Whose end has come, but was not told yet. */
    fanout_bed_at(bed, 2500);
    assert_all(&two, "CDS[~a=1%1]");
    fanout_close(&one);
    fanout_close(&two);
}

static fanout_renderer
content_only(fanout_bed *bed)
{
    fanout_renderer renderer = bed->renderer;
    renderer.base.shows_content_only = true;
    return renderer;
}

static void
test_who_is_shown_content_only_sees_no_other_change(void **state)
{
    fanout_bed *bed = *state;
    const fanout_renderer renderer = content_only(bed);
    fanout_open_with(&one, bed, &renderer);
    fanout_wildcard(&one, "CDS", "");
    fanout_change(bed, "+CDS/a=1 +CDS/b=1%3000");
    assert_all(&one, "CDS[a=1 b=1%2000]");
    fanout_change(bed, "~CDS/a=1:2");
    assert_all(&one, "");
    fanout_change(bed, "~CDS/b=1%4000");
    assert_all(&one, "CDS[~b=1%3000]");
    /* Set, for others, with the same content; without a ttl it is news; with an alias, too. */
    fanout_change(bed, "+CDS/a=1");
    assert_all(&one, "");
    fanout_change(bed, "+CDS/b=1");
    assert_all(&one, "CDS[b=1]");
    fanout_change(bed, "+CDS/a=1^x");
    assert_all(&one, "CDS[a=1]");
    fanout_close(&one);
}

/* ---- pages ---- */

static void
test_responses_are_closed_at_their_size(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 2);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1");
    fanout_change(bed, "+CDS/d=a-value-that-is-larger-than-a-page +CDS/e=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    assert_next(&one, "CDS[a=1 b=1]");
    assert_true(one.last_size <= bed->options.response_bytes);
    (void)fanout_all(&one);
    assert_int_equal(one.n_held, 5);
    fanout_change(bed, "-CDS/a -CDS/b -CDS/c -CDS/d -CDS/e");
    /* A removal takes as much as the whole name. */
    assert_all(&one, "CDS[-a] CDS[-b] CDS[-c] CDS[-d] CDS[-e]");
    fanout_close(&one);
}

static void
test_one_that_is_too_large_goes_alone(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 2);
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_change(bed, "+CDS/d=a-value-that-is-larger-than-a-page");
    assert_next(&one, "CDS[d=a-value-that-is-larger-than-a-page]");
    assert_all(&one, "");
    fanout_close(&one);
}

/* One resource changes before every response: others come, and it comes, too. */
static void
test_nobody_starves(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 2);
    char change[64];
    for (char name = 'a'; name <= 'p'; name++) {
        (void)snprintf(change, sizeof(change), "+CDS/%c=0", name);
        fanout_change(bed, change);
    }
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    unsigned seen = 0;
    for (unsigned i = 1; i <= 24; i++) {
        char value[8];
        (void)snprintf(change, sizeof(change), "+CDS/z=%u", i % 10);
        fanout_change(bed, change);
        (void)fanout_next(&one);
        (void)snprintf(value, sizeof(value), "%u", i % 10);
        seen += strcmp(fanout_holds(&one, "CDS", "z"), value) == 0;
    }
    assert_int_equal(one.n_held, 17);
    assert_true(seen >= 10);
    (void)fanout_all(&one);
    fanout_close(&one);
}

/* The same, of all that is at the old end. */
static void
test_the_old_end_comes_though_the_new_one_grows(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 2);
    fanout_change(bed, "+CDS/old=0");
    char change[64];
    for (unsigned i = 0; i < 60; i++) {
        (void)snprintf(change, sizeof(change), "+CDS/n%u=0", i);
        fanout_change(bed, change);
    }
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    for (unsigned i = 60; i < 160; i++) {
        (void)snprintf(change, sizeof(change), "+CDS/n%u=0", i);
        fanout_change(bed, change);
        (void)fanout_next(&one);
    }
    assert_string_equal(fanout_holds(&one, "CDS", "old"), "0");
    (void)fanout_all(&one);
    assert_int_equal(one.n_held, 161);
    fanout_close(&one);
}

/* Refreshed before it was sent at all, it is no refresh for him who comes later, page by page. */
static void
test_what_was_refreshed_before_it_was_sent_is_sent_whole(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 1);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1 +CDS/d=1 +CDS/e=1 +CDS/f=1");
    fanout_change(bed, "~CDS/a=1:2");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    assert_null(strchr(fanout_all(&one), '~'));
    assert_int_equal(one.n_held, 6);
    fanout_change(bed, "~CDS/b=1:2");
    assert_all(&one, "CDS[~b=1]");
    fanout_close(&one);
}

/* ---- tombstones ---- */

/* What comes within a second goes together. */
static void
change_later(fanout_bed *bed, const char *changes)
{
    fanout_bed_at(bed, bed->wheel.now_ms + 1000);
    fanout_change(bed, changes);
}

static void
test_tombstones_have_a_horizon(void **state)
{
    fanout_bed *bed = *state;
    bed->options.tombstones_min = 3;
    fanout_bed_restart(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1 +CDS/d=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_open(&two, bed);
    fanout_wildcard(&two, "CDS", "");
    (void)fanout_all(&one);
    (void)fanout_all(&two);
    change_later(bed, "-CDS/a");
    change_later(bed, "-CDS/b");
    change_later(bed, "-CDS/c");
    assert_all(&one, "CDS[-a -b -c]");
    change_later(bed, "-CDS/d");
    assert_all(&one, "CDS[-d]");
    assert_next(&two, "ABORTED");
    fanout_close(&two);
    /* Who begins anew is not behind. */
    fanout_open(&two, bed);
    fanout_wildcard(&two, "CDS", "");
    assert_all(&two, "");
    fanout_change(bed, "+CDS/e=1");
    assert_all(&two, "CDS[e=1]");
    fanout_close(&one);
    fanout_close(&two);
}

/* As many as there are live ones are kept in any case. */
static void
test_a_large_view_keeps_more_tombstones(void **state)
{
    fanout_bed *bed = *state;
    bed->options.tombstones_min = 1;
    fanout_bed_restart(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1 +CDS/d=1 +CDS/e=1 +CDS/f=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    (void)fanout_all(&one);
    fanout_change(bed, "-CDS/a -CDS/b -CDS/c");
    assert_all(&one, "CDS[-a -b -c]");
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1");
    (void)fanout_all(&one);
    change_later(bed, "-CDS/a");
    change_later(bed, "-CDS/b");
    change_later(bed, "-CDS/c");
    change_later(bed, "-CDS/d");
    assert_next(&one, "ABORTED");
    fanout_close(&one);
}

/* ---- sets larger than what is kept in any case ---- */

static void
change_some(fanout_bed *bed, char kind, const char *names)
{
    char text[128] = "";
    for (size_t i = 0; names[i]; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof(text) - used, kind == '-' ? "-CDS/%c " : "+CDS/%c=1 ",
                       names[i]);
    }
    text[strlen(text) - 1] = '\0';
    fanout_change(bed, text);
}

/* Two that are in sync with nine resources, where three removals are kept in any case. */
static void
open_in_sync(fanout_bed *bed)
{
    bed->options.tombstones_min = 3;
    fanout_bed_restart(bed);
    change_some(bed, '+', "abcdefghi");
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_wildcard(&two, "CDS", "");
    (void)fanout_all(&one);
    (void)fanout_all(&two);
}

static void
test_who_is_in_sync_is_never_too_far_behind(void **state)
{
    fanout_bed *bed = *state;
    open_in_sync(bed);
    change_some(bed, '-', "abcdefghi");
    assert_all(&one, "CDS[-a -b -c -d -e -f -g -h -i]");
    /* Nor who has not come to it when the next one comes. */
    change_some(bed, '+', "klmnopqrs");
    (void)fanout_all(&one);
    change_some(bed, '-', "klmnopqrs");
    assert_all(&one, "CDS[-k -l -m -n -o -p -q -r -s]");
    assert_all(&two, "CDS[-a -b -c -d -e -f -g -h -i -k -l -m -n -o -p -q -r -s]");
    fanout_close(&one);
    fanout_close(&two);
}

/* A node above sends a large one as several messages. */
static void
test_sets_that_come_together_are_one(void **state)
{
    fanout_bed *bed = *state;
    open_in_sync(bed);
    change_some(bed, '-', "abc");
    change_some(bed, '-', "def");
    fanout_bed_at(bed, bed->wheel.now_ms + 999);
    change_some(bed, '-', "ghi");
    assert_all(&one, "CDS[-a -b -c -d -e -f -g -h -i]");
    assert_all(&two, "CDS[-a -b -c -d -e -f -g -h -i]");
    fanout_close(&one);
    fanout_close(&two);
}

static void
test_removals_are_kept_of_two_sets_at_most(void **state)
{
    fanout_bed *bed = *state;
    open_in_sync(bed);
    change_some(bed, '-', "abcdefghi");
    for (const char *more = "klmnopqrs"; more; more = *more == 'k' ? "tuvwxyzAB" : NULL) {
        (void)fanout_all(&one);
        change_some(bed, '+', more);
        (void)fanout_all(&one);
        fanout_bed_at(bed, bed->wheel.now_ms + 1000);
        change_some(bed, '-', more);
    }
    assert_all(&one, "CDS[-t -u -v -w -x -y -z -A -B]");
    assert_next(&two, "ABORTED");
    fanout_close(&one);
    fanout_close(&two);
}

/* Half a minute after a set began to be kept what is older goes, and so on until as many are left
 * as are kept in any case. */
static void
test_who_has_not_moved_for_long_is_too_far_behind(void **state)
{
    fanout_bed *bed = *state;
    open_in_sync(bed);
    change_some(bed, '-', "abcdefghi");
    fanout_bed_at(bed, 30999);
    assert_true(udpai_subscriber_in_sync(&one.subscriber) == false);
    assert_all(&one, "CDS[-a -b -c -d -e -f -g -h -i]");
    fanout_bed_at(bed, 31000);
    assert_next(&two, "ABORTED");
    fanout_close(&two);
    /* That is over, and the next set is kept just so. */
    fanout_open(&two, bed);
    fanout_wildcard(&two, "CDS", "");
    change_some(bed, '+', "abcdefghi");
    (void)fanout_all(&two);
    fanout_bed_at(bed, 200000);
    change_some(bed, '-', "abcdefghi");
    fanout_bed_at(bed, 229999);
    assert_all(&two, "CDS[-a -b -c -d -e -f -g -h -i]");
    fanout_close(&one);
    fanout_close(&two);
}

/* Nor does one who is sent it bit by bit lose the rest. */
static void
test_who_moves_on_is_not_too_far_behind(void **state)
{
    fanout_bed *bed = *state;
    open_in_sync(bed);
    change_some(bed, '-', "abcdefghi");
    bed->options.response_bytes = 1;
    udpai_fanout_set_options(bed->fanout, &bed->options);
    static const char *const each[] = {"CDS[-a]", "CDS[-b]", "CDS[-c]", "CDS[-d]", "CDS[-e]",
                                       "CDS[-f]", "CDS[-g]", "CDS[-h]", "CDS[-i]"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(each); i++) {
        fanout_bed_at(bed, 1000 + i * 29000);
        assert_next(&one, each[i]);
    }
    assert_next(&two, "ABORTED");
    fanout_close(&one);
    fanout_close(&two);
}

static void
test_a_horizon_concerns_only_who_needs_removals(void **state)
{
    fanout_bed *bed = *state;
    bed->options.tombstones_min = 1;
    fanout_bed_restart(bed);
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1");
    fanout_open(&one, bed);
    assert_ok(udpai_subscribe_wildcard(fanout_in_mode(&one, "CDS", UDPAI_MODE_GROUPED),
                                       (udpai_str){0}, NULL));
    fanout_open(&two, bed);
    assert_ok(udpai_subscribe_wildcard(fanout_in_mode(&two, "CDS", UDPAI_MODE_STATE),
                                       (udpai_str){0}, NULL));
    assert_all(&one, "CDS[a=1 b=1 c=1]");
    assert_all(&two, "CDS*[a=1 b=1 c=1]");
    fanout_change(bed, "-CDS/a -CDS/b -CDS/c");
    fanout_change(bed, "+CDS/d=1");
    assert_all(&one, "CDS[d=1]");
    (void)fanout_all(&two);
    assert_int_equal(two.n_held, 1);
    assert_string_equal(fanout_holds(&two, "CDS", "d"), "1");
    fanout_close(&one);
    fanout_close(&two);
}

/* What came and went before it was sent costs a removal at most, and what came back is not
 * removed. */
static void
test_what_came_back_is_not_removed(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_change(bed, "+CDS/a=1");
    assert_all(&one, "CDS[a=1]");
    fanout_change(bed, "-CDS/a");
    fanout_change(bed, "+CDS/a=1");
    assert_all(&one, "CDS[a=1]");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "CDS[-a]");
    assert_all(&one, "");
    fanout_close(&one);
}

/* Asked for again mid-way: all of it, whole. */
static void
test_all_is_sent_again(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 2);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1 +CDS/d=1 +CDS/e=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    assert_next(&one, "CDS[a=1 b=1]");
    udpai_subscription_resend_all(fanout_of(&one, "CDS"));
    assert_next(&one, "CDS[e=1 d=1]");
    assert_next(&one, "CDS[a=1 b=1]");
    assert_next(&one, "CDS[c=1]");
    assert_next(&one, "");
    fanout_change(bed, "~CDS/a=1:2");
    udpai_subscription_resend_all(fanout_of(&one, "CDS"));
    udpai_subscription_resend(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/b"));
    (void)fanout_all(&one);
    udpai_subscription_resend(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/a"));
    udpai_subscription_resend(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/none"));
    assert_all(&one, "CDS[a=1]");
    fanout_close(&one);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(test_changes_follow_in_order),
        fanout_test(test_wake_comes_once),
        fanout_test(test_who_holds_the_payload_gets_a_refresh),
        fanout_test(test_what_is_left_of_a_ttl_is_sent),
        fanout_test(test_who_is_shown_content_only_sees_no_other_change),
        fanout_test(test_responses_are_closed_at_their_size),
        fanout_test(test_one_that_is_too_large_goes_alone),
        fanout_test(test_nobody_starves),
        fanout_test(test_the_old_end_comes_though_the_new_one_grows),
        fanout_test(test_what_was_refreshed_before_it_was_sent_is_sent_whole),
        fanout_test(test_tombstones_have_a_horizon),
        fanout_test(test_a_large_view_keeps_more_tombstones),
        fanout_test(test_who_is_in_sync_is_never_too_far_behind),
        fanout_test(test_sets_that_come_together_are_one),
        fanout_test(test_removals_are_kept_of_two_sets_at_most),
        fanout_test(test_who_has_not_moved_for_long_is_too_far_behind),
        fanout_test(test_who_moves_on_is_not_too_far_behind),
        fanout_test(test_a_horizon_concerns_only_who_needs_removals),
        fanout_test(test_what_came_back_is_not_removed),
        fanout_test(test_all_is_sent_again),
    };
    return cmocka_run_group_tests_name("cursor", tests, NULL, NULL);
}
