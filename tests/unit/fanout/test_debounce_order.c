/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing overtakes changes that wait so that others can join them, and nothing starves behind
 * them. */
#include <stdio.h>

#include "base/alloc.h"
#include "tests/unit/fanout/debounce_test.h"

static const udpai_debounce_rule endpoints[] = {{UDPAI_STR(TEST_EDS), QUIET_MS, MAX_MS}};
static const udpai_debounce_rule clusters[] = {{UDPAI_STR(TEST_CDS), QUIET_MS, MAX_MS}};
static const udpai_debounce_rule routes[] = {{UDPAI_STR(TEST_RDS), QUIET_MS, MAX_MS}};
static const udpai_debounce_rule all_but_listeners[] = {{UDPAI_STR(TEST_LDS), 0, 0},
                                                        {UDPAI_STR(""), QUIET_MS, MAX_MS}};

/* A listener does not overtake the cluster that it names, however often either is looked at. */
static void
what_comes_behind_waits_too(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, clusters, 1);
    fanout_change(bed, "+LDS/l=d +EDS/d=1 +CDS/d=1");
    for (unsigned i = 0; i < 20; i++)
        assert_all(&client, "");
    at(bed, 50);
    fanout_change(bed, "+RDS/r=1");
    assert_all(&client, "");
    at(bed, QUIET_MS);
    assert_all(&client, "CDS[d=1] EDS[d=1] LDS[l=d] RDS[r=1]");
    fanout_close(&client);
}

/* Its change was before those that wait. */
static void
what_is_before_them_goes(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    fanout_change(bed, "+RDS/r=1");
    fanout_change(bed, "+EDS/e=1");
    fanout_change(bed, "+LDS/l=1");
    assert_all(&client, "RDS[r=1]");
    fanout_change(bed, "+RDS/r=2");
    assert_all(&client, "");
    at(bed, QUIET_MS);
    assert_all(&client, "EDS[e=1] LDS[l=1] RDS[r=2]");
    fanout_close(&client);
}

static void
no_removal_overtakes(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, routes, 1);
    fanout_change(bed, "+CDS/d=1 +RDS/r=d -CDS/c");
    for (unsigned i = 0; i < 20; i++)
        assert_all(&client, i ? "" : "CDS[d=1]");
    at(bed, QUIET_MS);
    assert_all(&client, "RDS[r=d] CDS[-c]");
    at(bed, 2 * QUIET_MS);
    fanout_change(bed, "-RDS/r -CDS/d");
    for (unsigned i = 0; i < 20; i++)
        assert_all(&client, "");
    at(bed, 3 * QUIET_MS);
    assert_all(&client, "RDS[-r] CDS[-d]");
    fanout_close(&client);
}

/* Nor by a state, which would bring what waits. */
static void
a_state_does_not_bring_what_waits(void **state)
{
    fanout_bed *bed = *state;
    set_rules(bed, endpoints, 1);
    fanout_change(bed, "+EDS/e=0 +LDS/l=0 +LDS/m=0");
    open_client(&client, bed);
    fanout_wildcard(&client, "EDS", "");
    (void)fanout_in_mode(&client, "LDS", UDPAI_MODE_STATE);
    fanout_wildcard(&client, "LDS", "");
    assert_all(&client, "EDS[e=0] LDS*[l=0 m=0]");
    fanout_bed_at(bed, START_MS);
    fanout_change(bed, "-LDS/m");
    fanout_change(bed, "+EDS/e=1 +LDS/l=1");
    assert_all(&client, "");
    at(bed, QUIET_MS);
    assert_all(&client, "EDS[e=1] LDS*[l=1 m=0] LDS*[l=1]");
    fanout_close(&client);
}

/* All that a change set has waits, in the order of the set or not; what was removed before it
 * goes. */
static void
a_change_set_waits_from_its_begin(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    fanout_change(bed, "-CDS/c");
    fanout_change(bed, "+RDS/r=1 +LDS/l=1 +EDS/e=1 -RDS/r");
    assert_all(&client, "CDS[-c]");
    at(bed, QUIET_MS);
    assert_all(&client, "EDS[e=1] LDS[l=1] RDS[-r]");
    fanout_close(&client);
}

static void
removals_before_them_go(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/d=0");
    begin_with(bed, routes, 1, "CDS[d=0 c=0] EDS[e=0] LDS[l=0] RDS[r=0]");
    fanout_change(bed, "-CDS/c");
    fanout_change(bed, "-RDS/r -CDS/d");
    assert_all(&client, "CDS[-c]");
    at(bed, QUIET_MS);
    assert_all(&client, "RDS[-r] CDS[-d]");
    fanout_close(&client);
}

/* Nor when there was no memory for the second half at first. */
static void
half_a_change_set_does_not_go(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    udpai_change_set *changes = fanout_changes("+LDS/m=1 +EDS/f=1");
    assert_non_null(changes);
    size_t place = 0, n_tries = 0;
    for (long n = 0; place < 3; n++, n_tries++) { /* up to behind the first one */
        udpai_alloc_fail_after(n);
        (void)udpai_fanout_apply(bed->fanout, changes, &place);
        udpai_alloc_fail_after(-1);
    }
    assert_true(n_tries > 1);
    assert_ok(udpai_fanout_apply(bed->fanout, changes, &place));
    udpai_change_set_unref(changes);
    assert_all(&client, "");
    at(bed, QUIET_MS);
    assert_all(&client, "EDS[f=1] LDS[m=1]");
    fanout_close(&client);
}

/* Types have patience with each other, and what waits does not cost any. */
static void
nothing_overtakes_afterwards(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    fanout_change(bed, "+EDS/e=1 +LDS/l=1");
    for (unsigned i = 0; i < 20; i++)
        assert_all(&client, "");
    at(bed, QUIET_MS);
    assert_next(&client, "EDS[e=1]");
    fanout_change(bed, "+CDS/d=1 +LDS/l=d");
    assert_next(&client, "CDS[d=1]");
    assert_next(&client, "LDS[l=d]");
    fanout_close(&client);
}

/* ---- beside what a session puts off ---- */

static uint64_t routes_up_to;

static uint64_t
may_add(udpai_subscriber *subscriber, udpai_subscription *subscription)
{
    (void)subscriber;
    bool is_routes = udpai_str_eq(udpai_subscription_type_url(subscription), UDPAI_STR(TEST_RDS));
    return is_routes ? routes_up_to : UINT64_MAX;
}

/* While it waits for what waits a removal does not lose patience with it, and what its session puts
 * off afterwards does not keep others from waiting. */
static void
what_is_put_off_afterwards_is_no_reason(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    udpai_subscriber_ops ops = *client.subscriber.ops;
    ops.may_add = may_add;
    client.subscriber.ops = &ops;
    routes_up_to = udpai_fanout_place(bed->fanout);
    fanout_change(bed, "+EDS/e=1 +RDS/r=1 -CDS/c");
    for (unsigned i = 0; i < 20; i++)
        assert_all(&client, "");
    fanout_change(bed, "+RDS/r=2");
    at(bed, QUIET_MS);
    assert_next(&client, "EDS[e=1]");
    assert_next(&client, "");
    fanout_change(bed, "+EDS/e=2");
    assert_next(&client, "");
    routes_up_to = UINT64_MAX;
    at(bed, 2 * QUIET_MS);
    assert_all(&client, "EDS[e=2] RDS[r=2] CDS[-c]");
    fanout_close(&client);
}

/* Both change all the time, and only one of them waits: the other waits for it, within max. */
static void
what_comes_behind_does_not_starve(void **state)
{
    fanout_bed *bed = *state;
    char text[64];
    unsigned last_ms = 0, longest_ms = 0, n_endpoints = 0;
    begin(bed, endpoints, 1);
    for (unsigned ms = 0; ms < 5 * MAX_MS; ms++) {
        at(bed, ms);
        const char *sent = fanout_next(&client); /* one takes a millisecond */
        n_endpoints += strstr(sent, "EDS") != NULL;
        if (strstr(sent, "LDS")) {
            longest_ms = ms - last_ms > longest_ms ? ms - last_ms : longest_ms;
            last_ms = ms;
        }
        (void)snprintf(text, sizeof(text), "+LDS/l=%u +EDS/e=%u", ms, ms);
        fanout_change(bed, text);
    }
    assert_in_range(last_ms, 4 * MAX_MS, 5 * MAX_MS);
    assert_in_range(longest_ms, 1, MAX_MS + 20);
    assert_in_range(n_endpoints, 4, 50);
    fanout_close(&client);
}

/* A client takes one turn for all of its types. */
static void
all_types_of_a_client_go_together(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, all_but_listeners, 2);
    fanout_change(bed, "+RDS/r=1");
    at(bed, 50);
    fanout_change(bed, "+CDS/c=1");
    at(bed, QUIET_MS);
    assert_all(&client, "CDS[c=1] RDS[r=1]");
    at(bed, QUIET_MS + 50);
    assert_all(&client, "");
    fanout_close(&client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_comes_behind_waits_too),
        CASE(what_is_before_them_goes),
        CASE(no_removal_overtakes),
        CASE(a_state_does_not_bring_what_waits),
        CASE(a_change_set_waits_from_its_begin),
        CASE(removals_before_them_go),
        CASE(half_a_change_set_does_not_go),
        CASE(nothing_overtakes_afterwards),
        CASE(what_is_put_off_afterwards_is_no_reason),
        CASE(what_comes_behind_does_not_starve),
        CASE(all_types_of_a_client_go_together),
    };
    return cmocka_run_group_tests_name("debounce_order", tests, NULL, NULL);
}
