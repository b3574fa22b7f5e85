/* SPDX-License-Identifier: Apache-2.0 */
/* "Complete": one for each time it was asked for, in order, behind all that was there. */
#include "tests/unit/fanout/fanout_test.h"

static fanout_reader one, two;

static void
await(fanout_reader *reader, const char *type, const char *prefix)
{
    assert_ok(udpai_subscription_await_complete(fanout_of(reader, type), udpai_str_from(prefix),
                                                NULL, 0));
}

static void
test_it_comes_behind_all_there_is(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 2);
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    await(&one, "CDS", "com.acme");
    assert_next(&one, "CDS[a=1 b=1]");
    assert_next(&one, "CDS[c=1]");
    assert_next(&one, "CDS!com.acme");
    assert_next(&one, "");
    fanout_close(&one);
}

/* The next to be sent is "complete" when this change comes; @p rest is what there is then. */
static void
check_change_before_complete(fanout_bed *bed, const char *change, const char *rest)
{
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_wildcard(&one, "RDS", "com.acme");
    (void)fanout_all(&one);
    fanout_change(bed, "-CDS/a");
    assert_next(&one, "CDS[-a]"); /* of all types it is the last to have removals */
    fanout_change(bed, change);
    await(&one, "CDS", "com.acme");
    assert_all(&one, rest);
    fanout_close(&one);
}

static void
test_it_comes_behind_all_that_is_held_back(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    check_change_before_complete(bed, "+CDS/c=1", "CDS[c=1] CDS!com.acme");
    check_change_before_complete(bed, "+RDS/r=1 -CDS/b", "RDS[r=1] CDS[-b] CDS!com.acme");
    check_change_before_complete(bed, "-CDS/b +RDS/r=2", "RDS[r=2] CDS[-b] CDS!com.acme");
}

/* All that there is was sent, and that is certain; of a name that is not there nothing is. */
static void
test_it_does_not_wait_for_what_is_elsewhere(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle_except(bed, &(udpai_unsettled){.only_absence = true});
    fanout_change(bed, "+CDS/a=1 +CDS/b=1^c");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    await(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1 b=1] CDS!com.acme");
    fanout_close(&one);
    const udpai_str names[] = {UDPAI_STR("com.acme/a"), UDPAI_STR("com.acme/c"),
                               UDPAI_STR("com.acme/none")};
    for (size_t n = 2; n <= 3; n++) {
        fanout_open(&two, bed);
        fanout_ask(&two, "CDS", n == 2 ? "a c" : "a c none");
        assert_ok(
            udpai_subscription_await_complete(fanout_of(&two, "CDS"), (udpai_str){0}, names, n));
        assert_all(&two, n == 2 ? "CDS[a=1 b=1] CDS!" : "CDS[a=1 b=1]");
        if (n == 3) {
            fanout_settle(bed);
            assert_all(&two, "CDS[-none] CDS!");
        }
        fanout_close(&two);
    }
}

static void
test_it_comes_though_there_is_nothing(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    await(&one, "CDS", "com.acme");
    assert_all(&one, "CDS!com.acme");
    fanout_close(&one);
}

static void
test_each_is_answered_in_order(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS//org/x=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "org");
    await(&one, "CDS", "org");
    fanout_wildcard(&one, "CDS", "com.acme");
    await(&one, "CDS", "com.acme");
    await(&one, "CDS", "org");
    assert_all(&one, "CDS[a=1 /org/x=1] CDS!org CDS!com.acme CDS!org");
    fanout_close(&one);
}

/* One that is not settled holds up those behind it, and nothing else. */
static void
test_it_waits_until_its_scope_is_settled(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1");
    fanout_settle_except(bed, &(udpai_unsettled){.prefix = UDPAI_STR("com.acme/t")});
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_wildcard(&one, "EDS", "org");
    await(&one, "CDS", "com.acme");
    await(&one, "CDS", "org");
    await(&one, "EDS", "org");
    assert_all(&one, "CDS[a=1] EDS!org");
    fanout_change(bed, "+CDS/a=2");
    assert_all(&one, "CDS[a=2]");
    fanout_change(bed, "+CDS/a=3 -CDS/gone +CDS/t/x=1");
    fanout_settle(bed);
    assert_all(&one, "CDS[a=3 t/x=1] CDS!com.acme CDS!org");
    fanout_close(&one);
}

static void
test_names_are_waited_for_as_such(void **state)
{
    fanout_bed *bed = *state;
    const udpai_str names[] = {UDPAI_STR("com.acme/a"), UDPAI_STR("com.acme/b")};
    const udpai_str answered[] = {names[0]};
    udpai_unsettled missing = {
        .prefix = UDPAI_STR("com.acme"), .answered = answered, .n_answered = 1};
    fanout_settle_except(bed, &missing);
    fanout_open(&one, bed);
    fanout_ask(&one, "CDS", "a b");
    udpai_subscription *subscription = fanout_of(&one, "CDS");
    assert_ok(udpai_subscription_await_complete(subscription, (udpai_str){0}, names, 1));
    assert_ok(udpai_subscription_await_complete(subscription, (udpai_str){0}, names, 2));
    assert_all(&one, "CDS[-a] CDS!");
    fanout_settle(bed);
    assert_all(&one, "CDS[-b] CDS!");
    fanout_close(&one);
}

static void
settle_except_ring(fanout_bed *bed, uint64_t since_ms)
{
    const udpai_unsettled missing = {
        .peer_node = UDPAI_STR("b"), .may_wait_for_us = true, .since_ms = since_ms};
    udpai_settled *settled = udpai_settled_new(
        &(udpai_settled_facts){.missing = &missing, .n_missing = 1, .self = UDPAI_STR("a")});
    assert_non_null(settled);
    udpai_fanout_set_settled(bed->fanout, settled);
}

/* Behind all that there is, once; and again when that is another thing. */
static void
test_a_node_is_told_who_is_waited_for(void **state)
{
    fanout_bed *bed = *state;
    settle_except_ring(bed, 0);
    fanout_change(bed, "+CDS/a=1");
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    one.subscriber.receives_waits = true;
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_wildcard(&two, "CDS", "com.acme");
    await(&one, "CDS", "org");
    await(&one, "CDS", "com.acme");
    await(&one, "CDS", "org");
    await(&two, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1] CDS!waits 0 CDS!waits 0 CDS!waits 1");
    assert_all(&two, "CDS[a=1]");
    settle_except_ring(bed, 7);
    fanout_change(bed, "+CDS/a=2");
    assert_all(&one, "CDS[a=2]"); /* it is the same */
    fanout_settle(bed);
    assert_all(&one, "CDS!org CDS!com.acme CDS!org");
    fanout_close(&one);
    fanout_close(&two);
}

/* Most are answered before: so it is told a moment later. */
static void
test_of_names_it_is_told_a_moment_later(void **state)
{
    fanout_bed *bed = *state;
    const udpai_str name = UDPAI_STR("com.acme/a");
    settle_except_ring(bed, 0);
    fanout_open(&one, bed);
    one.subscriber.receives_waits = true;
    fanout_ask(&one, "CDS", "a");
    udpai_subscription *subscription = fanout_of(&one, "CDS");
    for (int i = 0; i < 2; i++)
        assert_ok(udpai_subscription_await_complete(subscription, (udpai_str){0}, &name, 1));
    assert_all(&one, "");
    fanout_bed_at(bed, 1049);
    assert_all(&one, "");
    one.n_wakes = 0;
    fanout_bed_at(bed, 1050);
    assert_int_equal(one.n_wakes, 1);
    assert_all(&one, "CDS!waits 0 CDS!waits 1");
    fanout_settle(bed);
    assert_all(&one, "CDS[-a] CDS! CDS!");
    fanout_close(&one);
}

/* It speaks for what was there, and for the removals: those of a resume, too. */
static void
test_it_comes_behind_the_removals(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1");
    fanout_open(&one, bed);
    udpai_subscription *subscription = fanout_of(&one, "CDS");
    assert_ok(udpai_subscription_hold_digest(subscription, UDPAI_STR("com.acme/x"), 1));
    fanout_wildcard(&one, "CDS", "com.acme");
    await(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1] CDS[-x] CDS!com.acme");
    fanout_change(bed, "-CDS/a");
    await(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[-a] CDS!com.acme");
    fanout_close(&one);
}

static void
test_who_asks_is_not_waited_for(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle_except(bed, &(udpai_unsettled){.peer_node = UDPAI_STR("n1")});
    fanout_open(&one, bed);
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
    fanout_open(&two, bed);
    await(&one, "CDS", "com.acme");
    await(&two, "CDS", "com.acme");
    assert_all(&one, "CDS!com.acme");
    assert_all(&two, "");
    fanout_close(&one);
    fanout_close(&two);
}

static void
test_a_ring_is_waited_out(void **state)
{
    fanout_bed *bed = *state;
    udpai_unsettled missing = {.may_wait_for_us = true, .since_ms = 500};
    fanout_settle_except(bed, &missing);
    fanout_open(&one, bed);
    fanout_bed_at(bed, 3000);
    await(&one, "CDS", "com.acme");
    assert_all(&one, "");
    fanout_bed_at(bed, 22999);
    assert_all(&one, "");
    one.n_wakes = 0;
    fanout_bed_at(bed, 23000);
    assert_int_equal(one.n_wakes, 1);
    assert_all(&one, "CDS!com.acme");
    /* A source that is not there is never waited out. */
    missing.may_wait_for_us = false;
    fanout_settle_except(bed, &missing);
    await(&one, "CDS", "com.acme");
    fanout_bed_at(bed, 1000000);
    assert_all(&one, "");
    fanout_close(&one);
}

/* The wait begins anew when the last of the ring came back. */
static void
test_a_ring_is_waited_out_since_it_is_whole(void **state)
{
    fanout_bed *bed = *state;
    udpai_unsettled missing = {.may_wait_for_us = true, .since_ms = 1000};
    fanout_settle_except(bed, &missing);
    fanout_open(&one, bed);
    await(&one, "CDS", "com.acme");
    assert_all(&one, "");
    fanout_bed_at(bed, 15000);
    missing.since_ms = 15000;
    fanout_settle_except(bed, &missing);
    assert_all(&one, "");
    fanout_bed_at(bed, 34999);
    assert_all(&one, "");
    fanout_bed_at(bed, 35000);
    assert_all(&one, "CDS!com.acme");
    fanout_close(&one);
}

/* A state is there already when everything is settled; it is certain before it goes out. */
static void
test_states_wait_as_well(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1");
    fanout_open(&one, bed);
    (void)fanout_in_mode(&one, "CDS", UDPAI_MODE_STATE);
    fanout_wildcard(&one, "CDS", "com.acme");
    await(&one, "CDS", "com.acme");
    assert_all(&one, "");
    fanout_settle(bed);
    assert_all(&one, "CDS*[a=1] CDS!com.acme");
    fanout_close(&one);
}

/* Names that were refused are answered: they take no room from those that are waited for. */
static void
test_what_was_refused_does_not_count(void **state)
{
    fanout_bed *bed = *state;
    static udpai_str names[5000];
    bed->options.max_names = 1;
    fanout_bed_restart(bed);
    fanout_settle(bed);
    fanout_open(&one, bed);
    udpai_subscription *subscription = fanout_of(&one, "CDS");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        names[i] = UDPAI_STR("com.acme/refused");
    assert_ok(udpai_subscription_await_complete(subscription, UDPAI_STR("com.acme"), names,
                                                UDPAI_ARRAY_LEN(names)));
    assert_all(&one, "CDS!com.acme");
    fanout_ask(&one, "CDS", "refused"); /* now it is not */
    assert_int_equal(udpai_subscription_await_complete(subscription, UDPAI_STR("com.acme"), names,
                                                       UDPAI_ARRAY_LEN(names)),
                     UDPA_ERR_LIMIT);
    fanout_close(&one);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(test_it_comes_behind_all_there_is),
        fanout_test(test_it_comes_behind_all_that_is_held_back),
        fanout_test(test_it_does_not_wait_for_what_is_elsewhere),
        fanout_test(test_it_comes_though_there_is_nothing),
        fanout_test(test_each_is_answered_in_order),
        fanout_test(test_it_waits_until_its_scope_is_settled),
        fanout_test(test_names_are_waited_for_as_such),
        fanout_test(test_a_node_is_told_who_is_waited_for),
        fanout_test(test_of_names_it_is_told_a_moment_later),
        fanout_test(test_it_comes_behind_the_removals),
        fanout_test(test_who_asks_is_not_waited_for),
        fanout_test(test_a_ring_is_waited_out),
        fanout_test(test_a_ring_is_waited_out_since_it_is_whole),
        fanout_test(test_states_wait_as_well),
        fanout_test(test_what_was_refused_does_not_count),
    };
    return cmocka_run_group_tests_name("complete", tests, NULL, NULL);
}
