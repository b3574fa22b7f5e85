/* SPDX-License-Identifier: Apache-2.0 */
/* Which sources are asked, whose word counts, and when it is certain that something is not there.
 */
#include "tests/unit/federation/federation_test.h"
#include "udpa/status/v1/status.pb-c.h"

#define ACME "com.acme"

/* a, and b when a fails. */
static void
start_fail_over(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
}

/* a has said all, was lost, and b takes over. */
static void
fail_over(fed_bed *bed)
{
    start_fail_over(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a y=of-a !com.acme");
    fed_close(bed, 'a');
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "x=of-b !com.acme");
}

/* ---- the walk ---- */

static void
only_the_first_is_asked_while_it_is_undecided(void **state)
{
    fed_bed *bed = *state;
    start_fail_over(bed);
    assert_orders(bed, "dial a");
    fed_advance(bed, 1999);
    assert_orders(bed, "");
    fed_advance(bed, 1);
    assert_orders(bed, "dial b");
}

static void
the_next_is_left_alone_while_the_first_is_active(void **state)
{
    fed_bed *bed = *state;
    start_fail_over(bed);
    fed_connect(bed, 'a');
    assert_orders(bed, "dial a, sub a CDS com.acme:*");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_advance(bed, 60000);
    assert_orders(bed, "");
}

static void
a_lost_one_is_dialled_again_and_the_next_is_asked(void **state)
{
    fed_bed *bed = *state;
    start_fail_over(bed);
    fed_connect(bed, 'a');
    (void)fed_orders(bed);
    fed_close(bed, 'a');
    assert_orders(bed, "dial b");
    fed_advance(bed, 125); /* half of 250 ms at least */
    assert_orders(bed, "dial a");
}

/* All who had the first one have lost it together. */
static void
those_who_lose_one_do_not_come_to_the_next_together(void **state)
{
    fed_bed *bed = *state;
    bed->config.timing.fail_over_spread_ms = 500;
    bed->chance = 300;
    start_fail_over(bed);
    assert_orders(bed, "dial a"); /* in the beginning there is no crowd */
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a !com.acme");
    (void)fed_orders(bed);
    fed_close(bed, 'a');
    fed_advance(bed, 199); /* and the first one is tried again meanwhile, by the same chance */
    assert_orders(bed, "dial a");
    fed_advance(bed, 100);
    assert_orders(bed, "");
    fed_advance(bed, 1);
    assert_orders(bed, "dial b");
    assert_value(bed, "CDS", "x", "of-a");
}

static void
one_that_does_not_say_all_in_time_does_not_count(void **state)
{
    fed_bed *bed = *state;
    start_fail_over(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a");
    (void)fed_orders(bed);
    fed_advance(bed, 14999);
    assert_orders(bed, "");
    fed_advance(bed, 1);
    assert_orders(bed, "dial b");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_orders(bed, "hangup b");
}

static void
stop_on_failure_chains(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_FAILURE, false},
                 {'b', "com.other", UDPAI_STOP_ON_FAILURE, false});
    fed_start(bed);
    fed_advance(bed, 3000);
    assert_orders(bed, "dial a");
    fed_connect(bed, 'a');
    assert_orders(bed, "dial b, sub a CDS com.acme:*");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "com.other/x=of-b !com.other");
    (void)fed_orders(bed);
    fed_close(bed, 'a'); /* b is cut off, and what it has sent stays */
    assert_orders(bed, "hangup b, unsub b CDS com.other:*");
    fed_close(bed, 'b');
    assert_value(bed, "CDS", "com.other/x", "of-b");
}

static void
continue_goes_on_whatever_the_state(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false}, {'b', ACME, UDPAI_CONTINUE, false});
    fed_start(bed);
    assert_orders(bed, "dial a, dial b"); /* in whatever order */
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "x=of-b z=of-b !com.acme");
    assert_false(fed_settled(bed, "CDS", ACME));
    (void)fed_publish(bed, 'a', "CDS", "x=of-a !com.acme");
    assert_true(fed_settled(bed, "CDS", ACME));
    assert_value(bed, "CDS", "x", "of-a");
    assert_value(bed, "CDS", "z", "of-b");
}

/* One that others only follow leaves nothing to be replaced: they need not be complete. */
static void
who_follows_one_that_continues_counts_at_once(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false}, {'b', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'c', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a !com.acme");
    fed_close(bed, 'a');
    fed_advance(bed, 2000); /* b does not come */
    fed_connect(bed, 'c');
    (void)fed_publish(bed, 'c', "CDS", "x=of-c z=of-c");
    assert_value(bed, "CDS", "z", "of-c");
    assert_value(bed, "CDS", "x", "of-a");
}

/* Nor does one that was lost and has said other names. */
static void
who_says_other_names_than_a_lost_one_counts_at_once(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', "com.other", UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a !com.acme");
    fed_close(bed, 'a');
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "com.other/z=of-b");
    assert_value(bed, "CDS", "com.other/z", "of-b");
    (void)fed_publish(bed, 'b', "CDS", "!com.other");
    assert_value(bed, "CDS", "x", "of-a"); /* which has no standby */
}

/* ---- make before break ---- */

static void
a_lost_one_counts_until_its_standby_is_complete(void **state)
{
    fed_bed *bed = *state;
    start_fail_over(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a y=of-a !com.acme");
    fed_close(bed, 'a');
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "x=of-b");
    assert_value(bed, "CDS", "x", "of-a");
    (void)fed_publish(bed, 'b', "CDS", "!com.acme");
    assert_value(bed, "CDS", "x", "of-b");
    assert_value(bed, "CDS", "y", "");
}

/* Of the contributions to x: where the provider stops before each, the best one first. */
static void
assert_stops(fed_bed *bed, const char *expected)
{
    udpa_bytes *status = udpai_node_describe_origins(
        bed->node, UDPAI_STR("envoy.config.cluster.v3.Cluster"), UDPAI_STR("com.acme/x"));
    assert_non_null(status);
    udpai_str bytes = udpai_bytes_view(status);
    Udpa__Status__V1__OriginsStatus *origins =
        udpa__status__v1__origins_status__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    assert_non_null(origins);
    udpai_strbuf found = {0};
    for (size_t i = 0; i < origins->n_contributions; i++) {
        const Udpa__Status__V1__Contribution *one = origins->contributions[i];
        udpai_strbuf_printf(&found, "%s%s:%s %s", i ? ", " : "", one->origin, one->stopped_at,
                            one->continuation);
    }
    assert_str(udpai_strbuf_view(&found), expected);
    udpai_strbuf_done(&found);
    udpa__status__v1__origins_status__free_unpacked(origins, NULL);
    udpa_bytes_unref(status);
}

static void
where_it_stops_is_reported(void **state)
{
    fed_bed *bed = *state;
    fail_over(bed);
    assert_stops(bed, "source:b: , source:a: "); /* both are reached, and a was lost */
    fed_advance(bed, 250);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=again !com.acme");
    fed_advance(bed, 5000);
    assert_value(bed, "CDS", "x", "again");
    assert_stops(bed, "source:a: , source:b:a STOP_ON_SUCCESS");
}

static void
it_does_not_stop_at_one_that_continues(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false}, {'b', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'c', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "x=of-b !com.acme");
    fed_close(bed, 'b');
    fed_connect(bed, 'c');
    (void)fed_publish(bed, 'c', "CDS", "x=of-c !com.acme");
    fed_advance(bed, 250);
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "x=again !com.acme");
    fed_advance(bed, 5000);
    assert_stops(bed, "source:b: , source:c:b STOP_ON_SUCCESS");
}

static void
one_that_returns_must_be_complete_and_stay(void **state)
{
    fed_bed *bed = *state;
    fail_over(bed);
    fed_advance(bed, 250);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=again");
    assert_value(bed, "CDS", "x", "of-b");
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_advance(bed, 4999);
    assert_orders(bed, "");
    fed_advance(bed, 1);
    assert_orders(bed, "hangup b, unsub b CDS com.acme:*");
    assert_value(bed, "CDS", "x", "again");
}

/* What the lost one has of other types does not keep the standby waiting. */
static void
what_was_lost_is_looked_at_by_type(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "LDS");
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "LDS", "l=of-a !com.acme");
    fed_close(bed, 'a');
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "x=of-b");
    assert_value(bed, "CDS", "x", "of-b");
    (void)fed_publish(bed, 'b', "LDS", "l=of-b");
    assert_value(bed, "LDS", "l", "of-a");
}

static void
a_type_that_hangs_fails_alone(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    fed_type(bed, "EDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a !com.acme");
    fed_advance(bed, 15000);
    (void)fed_orders(bed);
    fed_connect(bed, 'b');
    assert_orders(bed, "sub b EDS com.acme:*");
}

/* ---- settled ---- */

static void
nothing_is_certain_while_a_source_is_dead(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_advance(bed, 600000);
    assert_false(fed_settled(bed, "CDS", ACME));
    assert_true(fed_settled(bed, "CDS", "org"));
    fed_connect(bed, 'a');
    assert_false(fed_settled(bed, "CDS", ACME));
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_true(fed_settled(bed, "CDS", ACME));
}

static void
a_complete_standby_rules_out_the_lost_one(void **state)
{
    fed_bed *bed = *state;
    start_fail_over(bed);
    fed_advance(bed, 2000);
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "x=of-b");
    assert_false(fed_settled(bed, "CDS", ACME));
    (void)fed_publish(bed, 'b', "CDS", "!com.acme");
    assert_true(fed_settled(bed, "CDS", ACME));
}

/* Two that both count complete each other. */
static void
nothing_takes_over_from_one_that_goes_on(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false}, {'b', ACME, UDPAI_CONTINUE, false});
    fed_start(bed);
    fed_advance(bed, 60000);
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "x=of-b !com.acme");
    assert_value(bed, "CDS", "x", "of-b");
    assert_false(fed_settled(bed, "CDS", ACME));
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_true(fed_settled(bed, "CDS", ACME));
}

/* ---- over a restart ---- */

static void
after_a_restart_the_same_source_counts(void **state)
{
    fed_bed *bed = *state;
    fail_over(bed);
    fed_restart(bed);
    assert_value(bed, "CDS", "x", "of-b");
    assert_value(bed, "CDS", "y", "");
    assert_true(fed_settled(bed, "CDS", ACME));
    fed_advance(bed, 600000); /* neither of them comes */
    assert_value(bed, "CDS", "x", "of-b");
    fed_connect(bed, 'a');
    assert_value(bed, "CDS", "x", "of-b");
    (void)fed_publish(bed, 'a', "CDS", "x=of-a y=of-a !com.acme");
    fed_advance(bed, 5000);
    assert_value(bed, "CDS", "y", "of-a");
}

/* While the standby is not complete, before the one that returns has stayed, and after it has. */
static void
restarts_on_the_way_change_nothing(void **state)
{
    fed_bed *bed = *state;
    start_fail_over(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a y=of-a !com.acme");
    fed_close(bed, 'a');
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "x=of-b");
    fed_restart(bed);
    fed_advance(bed, 2000);
    fed_connect(bed, 'b');
    assert_value(bed, "CDS", "x", "of-a");
    (void)fed_publish(bed, 'b', "CDS", "!com.acme");
    assert_value(bed, "CDS", "x", "of-b");
    assert_value(bed, "CDS", "y", "");
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_advance(bed, 4999);
    fed_restart(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_advance(bed, 4999);
    assert_value(bed, "CDS", "x", "of-b");
    fed_advance(bed, 1);
    assert_value(bed, "CDS", "x", "of-a");
    fed_restart(bed);
    assert_value(bed, "CDS", "y", "of-a");
    assert_true(fed_settled(bed, "CDS", ACME));
}

static void
a_standby_on_demand_takes_over_after_a_restart(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', ACME, UDPAI_STOP_ON_SUCCESS, true});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a y=of-a !com.acme");
    fed_want(bed, "CDS", "x");
    fed_close(bed, 'a');
    fed_connect(bed, 'b');
    assert_value(bed, "CDS", "x", "of-a");
    (void)fed_publish(bed, 'b', "CDS", "x=of-b !com.acme");
    assert_value(bed, "CDS", "x", "of-b");
    fed_restart(bed);
    fed_advance(bed, 2000);
    fed_connect(bed, 'b');
    assert_value(bed, "CDS", "x", "of-b");
    fed_want(bed, "CDS", "y");
    assert_false(fed_name_settled(bed, "CDS", "y"));
    (void)fed_publish(bed, 'b', "CDS", "!com.acme");
    assert_true(fed_name_settled(bed, "CDS", "y"));
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_advance(bed, 5000);
    assert_value(bed, "CDS", "x", "of-a");
    assert_value(bed, "CDS", "y", "of-a");
}

static void
half_of_what_a_lost_one_had_is_not_all(void **state)
{
    fed_bed *bed = *state;
    start_fail_over(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a"); /* and more was to come */
    fed_restart(bed);
    fed_advance(bed, 10000);
    assert_value(bed, "CDS", "x", "of-a");
    assert_false(fed_settled(bed, "CDS", ACME));
}

static void
what_was_all_before_a_restart_is_all_after_it(void **state)
{
    fed_bed *bed = *state;
    start_fail_over(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a !com.acme");
    fed_restart(bed);
    assert_true(fed_settled(bed, "CDS", ACME));
    assert_value(bed, "CDS", "x", "of-a");
    fed_connect(bed, 'a');
    assert_orders(bed, "dial a, sub a CDS com.acme:*+1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(only_the_first_is_asked_while_it_is_undecided),
        fed_test(the_next_is_left_alone_while_the_first_is_active),
        fed_test(a_lost_one_is_dialled_again_and_the_next_is_asked),
        fed_test(those_who_lose_one_do_not_come_to_the_next_together),
        fed_test(one_that_does_not_say_all_in_time_does_not_count),
        fed_test(stop_on_failure_chains),
        fed_test(continue_goes_on_whatever_the_state),
        fed_test(who_follows_one_that_continues_counts_at_once),
        fed_test(who_says_other_names_than_a_lost_one_counts_at_once),
        fed_test(a_lost_one_counts_until_its_standby_is_complete),
        fed_test(where_it_stops_is_reported),
        fed_test(it_does_not_stop_at_one_that_continues),
        fed_test(one_that_returns_must_be_complete_and_stay),
        fed_test(what_was_lost_is_looked_at_by_type),
        fed_test(a_type_that_hangs_fails_alone),
        fed_test(nothing_is_certain_while_a_source_is_dead),
        fed_test(a_complete_standby_rules_out_the_lost_one),
        fed_test(nothing_takes_over_from_one_that_goes_on),
        fed_test(after_a_restart_the_same_source_counts),
        fed_test(restarts_on_the_way_change_nothing),
        fed_test(a_standby_on_demand_takes_over_after_a_restart),
        fed_test(half_of_what_a_lost_one_had_is_not_all),
        fed_test(what_was_all_before_a_restart_is_all_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
