/* SPDX-License-Identifier: Apache-2.0 */
/* Split horizon and links: of one view each peer is offered what did not come from it, and is for
 * its link; what all of them are sent is composed once, and nobody is sent too much or too little
 * because others are. */
#include "fanout/fanout_internal.h"
#include "tests/unit/fanout/fanout_test.h"

#include <stdio.h>

static fanout_reader all, n1, n2;

/* One who is offered everything, and two nodes; they have read what there is. */
static void
open_three(fanout_bed *bed)
{
    fanout_open(&all, bed);
    fanout_open(&n1, bed);
    fanout_open(&n2, bed);
    assert_ok(udpai_subscriber_set_except(&n1.subscriber, UDPAI_STR("n1")));
    assert_ok(udpai_subscriber_set_except(&n2.subscriber, UDPAI_STR("n2")));
    fanout_wildcard(&all, "CDS", "");
    fanout_wildcard(&n1, "CDS", "");
    fanout_wildcard(&n2, "CDS", "");
    (void)fanout_all(&all);
    (void)fanout_all(&n1);
    (void)fanout_all(&n2);
    bed->n_composed = 0;
}

static void
close_three(void)
{
    fanout_close(&all);
    fanout_close(&n1);
    fanout_close(&n2);
}

static size_t
n_places(const fanout_bed *bed, const char *name)
{
    char room[128];
    const udpai_topic *topic =
        udpai_topic_find(bed->fanout, udpai_str_from(fanout_type("CDS", room)));
    const udpai_item *item = topic ? udpai_item_find(topic, udpai_str_from(name)) : NULL;
    return item ? item->n_memberships : 0;
}

/* ---- what is sent ---- */

static void
test_what_nothing_is_left_out_of_is_shared(void **state)
{
    fanout_bed *bed = *state;
    open_three(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1@n3");
    assert_all(&n1, "CDS[a=1 b=1]");
    assert_all(&n2, "CDS[a=1 b=1]");
    assert_all(&all, "CDS[a=1 b=1]");
    assert_int_equal(bed->n_composed, 1);
    fanout_change(bed, "+CDS/a=2 +CDS/c=1@n1");
    assert_all(&n1, "CDS[a=2]");
    assert_all(&n2, "CDS[a=2 c=1]");
    assert_all(&all, "CDS[a=2 c=1]");
    assert_int_equal(bed->n_composed, 3);
    /* They are at the same place again. */
    fanout_change(bed, "+CDS/a=3");
    assert_all(&all, "CDS[a=3]");
    assert_all(&n1, "CDS[a=3]");
    assert_all(&n2, "CDS[a=3]");
    assert_int_equal(bed->n_composed, 4);
    close_three();
}

/* Nor is the own page of one given to another who comes to the same place. */
static void
test_what_something_is_left_out_of_is_not_shared(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1@n1 +CDS/b=1@n2 +CDS/c=1@n3>1");
    fanout_open(&n1, bed);
    fanout_open(&n2, bed);
    fanout_open(&all, bed);
    assert_ok(udpai_subscriber_set_except(&n1.subscriber, UDPAI_STR("n1")));
    assert_ok(udpai_subscriber_set_except(&n2.subscriber, UDPAI_STR("n2")));
    assert_ok(udpai_subscriber_set_link(&n2.subscriber, 2));
    fanout_wildcard(&n1, "CDS", "");
    fanout_wildcard(&n2, "CDS", "");
    fanout_wildcard(&all, "CDS", "");
    assert_all(&n1, "CDS[b=1 c=1]");
    assert_all(&all, "CDS[a=1 b=1 c=1]");
    assert_all(&n2, "CDS[a=1]");
    close_three();
}

/* What was shown again is brought with its payload to him alone. */
static void
test_who_is_shown_it_again_is_sent_the_payload(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1@n1 +CDS/b=1");
    open_three(bed);
    fanout_change(bed, "~CDS/a=1@n2");
    assert_all(&all, "CDS[~a=1]");
    assert_all(&n1, "CDS[a=1]");
    assert_all(&n2, "CDS[-a]");
    fanout_change(bed, "~CDS/a=1 ~CDS/b=1");
    assert_all(&all, "CDS[~a=1 ~b=1]");
    assert_all(&n1, "CDS[~a=1 ~b=1]");
    assert_all(&n2, "CDS[a=1 ~b=1]");
    close_three();
}

/* ---- removals ---- */

static void
test_what_was_left_out_is_not_removed(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1@n1 +CDS/b=1@n2 +CDS/c=1");
    open_three(bed);
    fanout_change(bed, "-CDS/a -CDS/c");
    assert_all(&all, "CDS[-a -c]");
    assert_all(&n2, "CDS[-a -c]");
    assert_all(&n1, "CDS[-c]");
    assert_int_equal(bed->n_composed, 2);
    fanout_change(bed, "-CDS/b");
    assert_all(&n1, "CDS[-b]");
    assert_all(&n2, "");
    assert_all(&all, "CDS[-b]");
    assert_int_equal(bed->n_composed, 3);
    close_three();
}

/* A removal for one, beside one for all. */
static void
test_what_moves_to_ones_own_word_is_removed_for_him(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1 +CDS/d=1");
    open_three(bed);
    fanout_change(bed, "~CDS/a=1@n1 -CDS/b");
    assert_all(&all, "CDS[~a=1] CDS[-b]");
    assert_all(&n2, "CDS[~a=1] CDS[-b]");
    assert_all(&n1, "CDS[-a -b]");
    /* And what is removed then was told already. */
    fanout_change(bed, "-CDS/a -CDS/c");
    assert_all(&all, "CDS[-a -c]");
    assert_all(&n2, "CDS[-a -c]");
    assert_all(&n1, "CDS[-c]");
    close_three();
}

/* He had not been told when it came back by his own word. */
static void
test_a_removal_outlives_what_comes_back(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1");
    open_three(bed);
    fanout_change(bed, "-CDS/a");
    fanout_change(bed, "+CDS/a=2@n1");
    assert_all(&all, "CDS[a=2]");
    assert_all(&n1, "CDS[-a]");
    /* Now he had. */
    fanout_change(bed, "+CDS/a=3");
    assert_all(&n1, "CDS[a=3]");
    fanout_change(bed, "-CDS/a");
    assert_all(&n1, "CDS[-a]");
    fanout_change(bed, "+CDS/a=4@n1");
    assert_all(&n1, "");
    fanout_change(bed, "-CDS/a");
    assert_all(&n1, "");
    (void)fanout_all(&all);
    (void)fanout_all(&n2);
    close_three();
}

/* ---- what it costs ---- */

/* What a peer says for the first time, and says again, is nothing that is remembered for it. */
static void
test_ones_own_word_costs_nothing(void **state)
{
    fanout_bed *bed = *state;
    open_three(bed);
    fanout_change(bed, "+CDS/a=1@n1");
    fanout_change(bed, "+CDS/a=2@n1");
    fanout_change(bed, "~CDS/a=2@n1");
    assert_int_equal(n_places(bed, "com.acme/a"), 1);
    assert_all(&n1, "");
    fanout_change(bed, "-CDS/a");
    assert_int_equal(n_places(bed, "com.acme/a"), 2);
    fanout_change(bed, "+CDS/a=3@n1");
    assert_int_equal(n_places(bed, "com.acme/a"), 1);
    (void)fanout_all(&all);
    (void)fanout_all(&n2);
    close_three();
}

static void
test_what_is_remembered_goes_with_the_peer(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1 +CDS/b=1@n1 +CDS/c=1@n1");
    open_three(bed);
    fanout_change(bed, "~CDS/a=1@n1 ~CDS/b=1 -CDS/c");
    assert_int_equal(n_places(bed, "com.acme/a"), 2);
    assert_int_equal(n_places(bed, "com.acme/b"), 2);
    assert_int_equal(n_places(bed, "com.acme/c"), 2);
    fanout_close(&n1);
    assert_int_equal(n_places(bed, "com.acme/a"), 1);
    assert_int_equal(n_places(bed, "com.acme/b"), 1);
    assert_int_equal(n_places(bed, "com.acme/c"), 1);
    fanout_close(&all);
    fanout_close(&n2);
}

/* Removals are forgotten in the end: those of all, and with them that one is not told of them, and
 * those of one. */
static void
test_removals_are_forgotten(void **state)
{
    fanout_bed *bed = *state;
    bed->options.tombstones_min = 1;
    fanout_bed_restart(bed);
    fanout_change(bed, "+CDS/a=1@n1 +CDS/b=1 +CDS/c=1");
    open_three(bed);
    fanout_change(bed, "-CDS/a");
    (void)fanout_all(&all);
    (void)fanout_all(&n1);
    (void)fanout_all(&n2);
    fanout_change(bed, "-CDS/b");
    fanout_change(bed, "-CDS/c");
    fanout_bed_at(bed, 40000);
    assert_int_equal(n_places(bed, "com.acme/a"), 0);
    assert_int_equal(n_places(bed, "com.acme/b"), 0);
    close_three();
}

/* A removal that was told to one is not told again because it is forgotten before that of all. */
static void
test_a_removal_is_told_once(void **state)
{
    fanout_bed *bed = *state;
    bed->options.tombstones_min = 1;
    fanout_bed_restart(bed);
    fanout_change(bed, "+CDS/a=1");
    open_three(bed);
    fanout_change(bed, "~CDS/a=1@n1");
    assert_all(&n1, "CDS[-a]");
    fanout_change(bed, "-CDS/a");
    fanout_change(bed, "+CDS/b=1");
    fanout_change(bed, "~CDS/b=1@n1");
    fanout_change(bed, "+CDS/c=1");
    fanout_change(bed, "~CDS/c=1@n1");
    fanout_bed_at(bed, 40000);
    assert_all(&n1, "CDS[-b -c]");
    (void)fanout_all(&all);
    (void)fanout_all(&n2);
    close_three();
}

/* Who stands still is ended, as for removals of all. */
static void
test_who_is_too_far_behind_is_ended(void **state)
{
    fanout_bed *bed = *state;
    char text[64];
    udpai_delivery delivery;
    bed->options.tombstones_min = 1;
    fanout_bed_restart(bed);
    open_three(bed);
    fanout_bed_at(bed, 40000);
    for (int i = 0; i < 8; i++) {
        (void)snprintf(text, sizeof(text), "+CDS/x%d=1$ +CDS/y%d=1", i, i);
        fanout_change(bed, text);
    }
    for (int i = 0; i < 8; i++) { /* not together */
        (void)snprintf(text, sizeof(text), "~CDS/y%d=1@n1", i);
        fanout_bed_at(bed, 41000 + 1000 * (uint64_t)i);
        fanout_change(bed, text);
    }
    fanout_change(bed, "-CDS/y0 -CDS/y1 -CDS/y2 -CDS/y3 -CDS/y4 -CDS/y5 -CDS/y6 -CDS/y7");
    fanout_bed_at(bed, 49000);
    fanout_change(bed, "+CDS/z=1");
    fanout_change(bed, "~CDS/z=1@n1");
    assert_int_equal(udpai_subscriber_next(&n1.subscriber, &delivery), UDPA_ERR_ABORTED);
    close_three();
}

/* ---- who asks ---- */

static void
test_who_is_not_offered_it_does_not_take_it(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1@n1");
    open_three(bed);
    assert_true(udpai_subscription_is_empty(fanout_of(&n1, "CDS")));
    assert_false(udpai_subscription_is_empty(fanout_of(&n2, "CDS")));
    fanout_change(bed, "+CDS/b=1");
    assert_false(udpai_subscription_is_empty(fanout_of(&n1, "CDS")));
    (void)fanout_all(&n1);
    udpai_set_hash less = udpai_subscription_set_hash(fanout_of(&n1, "CDS"));
    fanout_change(bed, "-CDS/a");
    udpai_set_hash same = udpai_subscription_set_hash(fanout_of(&all, "CDS"));
    assert_memory_equal(&less, &same, sizeof(less));
    (void)fanout_all(&all);
    (void)fanout_all(&n2);
    close_three();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(test_what_nothing_is_left_out_of_is_shared),
        fanout_test(test_what_something_is_left_out_of_is_not_shared),
        fanout_test(test_who_is_shown_it_again_is_sent_the_payload),
        fanout_test(test_what_was_left_out_is_not_removed),
        fanout_test(test_what_moves_to_ones_own_word_is_removed_for_him),
        fanout_test(test_a_removal_outlives_what_comes_back),
        fanout_test(test_ones_own_word_costs_nothing),
        fanout_test(test_what_is_remembered_goes_with_the_peer),
        fanout_test(test_removals_are_forgotten),
        fanout_test(test_a_removal_is_told_once),
        fanout_test(test_who_is_too_far_behind_is_ended),
        fanout_test(test_who_is_not_offered_it_does_not_take_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
