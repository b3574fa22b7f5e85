/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that wait so that others can join them: when they are sent, and what does not wait. */
#include <stdio.h>

#include "model/secret_type.h"
#include "tests/harness/oom.h"
#include "tests/unit/fanout/debounce_test.h"

static fanout_reader other, node;

static const udpai_debounce_rule endpoints[] = {{UDPAI_STR(TEST_EDS), QUIET_MS, MAX_MS}};
static const udpai_debounce_rule clusters[] = {{UDPAI_STR(TEST_CDS), QUIET_MS, MAX_MS}};
static const udpai_debounce_rule all_but_listeners[] = {{UDPAI_STR(TEST_LDS), 0, 0},
                                                        {UDPAI_STR(""), QUIET_MS, MAX_MS}};

/* ---- when ---- */

static void
a_change_waits_until_it_is_quiet(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    fanout_change(bed, "+EDS/e=1");
    at(bed, 60);
    fanout_change(bed, "+EDS/f=1");
    at(bed, QUIET_MS + 59);
    assert_int_equal(client.n_wakes, 0);
    assert_all(&client, "");
    at(bed, QUIET_MS + 60);
    assert_int_equal(client.n_wakes, 1);
    assert_all(&client, "EDS[e=1 f=1]");
    fanout_close(&client);
}

/* A thousand changes a second, of the same resource. */
static void
the_first_change_waits_no_longer_than_max(void **state)
{
    fanout_bed *bed = *state;
    char text[32], last[32];
    size_t n_sent = 0;
    begin(bed, endpoints, 1);
    for (unsigned ms = 0; ms <= 5 * MAX_MS + QUIET_MS; ms++) {
        at(bed, ms);
        const char *sent = fanout_all(&client);
        (void)snprintf(last, sizeof(last), "EDS[e=%u]", ms);
        n_sent += *sent != '\0';
        if (*sent)
            assert_string_equal(sent, last);
        (void)snprintf(text, sizeof(text), "+EDS/e=%u", ms + 1);
        fanout_change(bed, text);
    }
    assert_int_equal(n_sent, 5);
    at(bed, 6 * MAX_MS + QUIET_MS);
    (void)snprintf(last, sizeof(last), "EDS[e=%u]", 5 * MAX_MS + QUIET_MS + 1);
    assert_all(&client, last);
    fanout_close(&client);
}

/* It is never idle when a wait ends. */
static void
a_slow_client_is_sent_what_was_due(void **state)
{
    fanout_bed *bed = *state;
    char text[32];
    begin(bed, endpoints, 1);
    for (unsigned ms = 0; ms <= MAX_MS + 50; ms++) {
        at(bed, ms);
        (void)snprintf(text, sizeof(text), "+EDS/e=%u", ms);
        fanout_change(bed, text);
    }
    assert_all(&client, "EDS[e=1050]");
    fanout_change(bed, "+EDS/e=x");
    assert_all(&client, "");
    fanout_close(&client);
}

static void
pages_of_what_was_due_do_not_wait(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 1);
    fanout_settle(bed);
    begin(bed, endpoints, 1);
    fanout_change(bed, "+EDS/a=1 +EDS/b=1 +EDS/c=1");
    at(bed, QUIET_MS);
    assert_next(&client, "EDS[a=1]");
    fanout_change(bed, "+EDS/d=1");
    assert_next(&client, "EDS[d=1]");
    fanout_change(bed, "+EDS/f=1");
    assert_next(&client, "EDS[b=1]");
    assert_next(&client, "EDS[f=1]");
    assert_next(&client, "EDS[c=1]");
    fanout_change(bed, "+EDS/g=1");
    assert_next(&client, "");
    fanout_close(&client);
}

static void
removals_wait_too(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    fanout_change(bed, "-EDS/e");
    assert_all(&client, "");
    at(bed, 50);
    fanout_change(bed, "+EDS/e=2");
    at(bed, QUIET_MS + 50);
    assert_all(&client, "EDS[e=2]");
    fanout_change(bed, "-EDS/e");
    at(bed, 2 * QUIET_MS + 50);
    assert_all(&client, "EDS[-e]");
    fanout_close(&client);
}

static void
change_many(fanout_bed *bed, char sign, unsigned first, unsigned n)
{
    char text[FANOUT_TEST_TEXT] = "";
    for (unsigned i = first; i < first + n; i++) {
        size_t len = strlen(text);
        (void)snprintf(text + len, sizeof(text) - len, "%cEDS/n%u%s ", sign, i,
                       sign == '+' ? "=0" : "");
    }
    fanout_change(bed, text);
}

/* However many others there are meanwhile, a client that waits is not too far behind. */
static void
removals_are_kept_as_long_as_clients_wait(void **state)
{
    static const udpai_debounce_rule slowly[] = {{UDPAI_STR(TEST_EDS), 3000, 5000}};
    fanout_bed *bed = *state;
    set_rules(bed, slowly, 1);
    for (unsigned i = 0; i < 4; i++)
        change_many(bed, '+', 100 * i, 100);
    open_client(&client, bed);
    fanout_wildcard(&client, "EDS", "");
    (void)fanout_all(&client);
    fanout_bed_at(bed, 10000);
    for (unsigned i = 0; i < 4; i++) {
        change_many(bed, '-', 100 * i, 100);
        fanout_bed_at(bed, 11000 + 1000 * i);
        assert_all(&client, "");
    }
    fanout_bed_at(bed, 15000);
    (void)fanout_all(&client);
    assert_int_equal(client.n_held, 0);
    fanout_close(&client);
}

static void
states_wait_whole(void **state)
{
    fanout_bed *bed = *state;
    set_rules(bed, clusters, 1);
    fanout_change(bed, "+CDS/c=0");
    open_client(&client, bed);
    (void)fanout_in_mode(&client, "CDS", UDPAI_MODE_STATE);
    fanout_wildcard(&client, "CDS", "");
    assert_all(&client, "CDS*[c=0]");
    fanout_bed_at(bed, START_MS);
    fanout_change(bed, "+CDS/d=1 -CDS/c");
    at(bed, QUIET_MS - 1);
    assert_all(&client, "");
    at(bed, QUIET_MS);
    assert_all(&client, "CDS*[d=1 c=0] CDS*[d=1]");
    fanout_change(bed, "-CDS/d");
    assert_all(&client, "");
    at(bed, 2 * QUIET_MS);
    assert_all(&client, "CDS*[]");
    fanout_close(&client);
}

static void
names_wait_too(void **state)
{
    fanout_bed *bed = *state;
    set_rules(bed, endpoints, 1);
    fanout_change(bed, "+EDS/e=0");
    open_client(&client, bed);
    (void)fanout_in_mode(&client, "EDS", UDPAI_MODE_GROUPED);
    fanout_ask(&client, "EDS", "e");
    assert_all(&client, "EDS[e=0]");
    fanout_bed_at(bed, START_MS);
    client.n_wakes = 0;
    fanout_change(bed, "+EDS/e=1");
    assert_all(&client, "");
    assert_int_equal(client.n_wakes, 0);
    at(bed, QUIET_MS);
    assert_all(&client, "EDS[e=1]");
    fanout_close(&client);
}

/* ---- what does not wait ---- */

static void
other_types_and_nodes_do_not_wait(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    fanout_open(&node, bed);
    fanout_wildcard(&node, "EDS", "");
    assert_all(&node, "EDS[e=0]");
    fanout_change(bed, "+CDS/c=1 +EDS/e=1");
    assert_all(&node, "EDS[e=1]");
    assert_all(&client, "CDS[c=1]");
    fanout_change(bed, "+CDS/c=2");
    assert_all(&client, "CDS[c=2]");
    fanout_close(&node);
    fanout_close(&client);
}

static void
first_answers_do_not_wait(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    fanout_change(bed, "+EDS/e=1");
    open_client(&other, bed);
    fanout_wildcard(&other, "EDS", "");
    fanout_change(bed, "+EDS/e=2"); /* before it was served */
    assert_all(&other, "EDS[e=2]");
    fanout_change(bed, "+EDS/e=3");
    assert_all(&other, "");
    at(bed, QUIET_MS);
    assert_all(&other, "EDS[e=3]");
    assert_all(&client, "EDS[e=3]");
    fanout_close(&other);
    fanout_close(&client);
}

/* Neither when it is there, nor when it comes later. */
static void
what_a_client_has_just_asked_for_does_not_wait(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    open_client(&other, bed);
    fanout_ask(&other, "EDS", "f");
    assert_all(&other, "EDS[-f]");
    fanout_change(bed, "+EDS/e=1");
    assert_all(&other, "");
    fanout_ask(&other, "EDS", "e");
    assert_all(&other, "EDS[e=1]");
    fanout_change(bed, "+EDS/e=2 +EDS/f=1");
    assert_all(&other, "");
    fanout_ask(&client, "EDS", "e"); /* which its wildcard has */
    assert_all(&client, "EDS[e=2 f=1]");
    at(bed, QUIET_MS);
    assert_all(&other, "EDS[e=2 f=1]");
    fanout_close(&other);
    fanout_close(&client);
}

static void
a_name_that_was_never_there_does_not_wait(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    open_client(&other, bed);
    (void)fanout_in_mode(&other, "EDS", UDPAI_MODE_GROUPED);
    fanout_ask(&other, "EDS", "f g");
    assert_all(&other, "");
    fanout_change(bed, "+EDS/g=1");
    assert_all(&other, "EDS[g=1]");
    fanout_change(bed, "+EDS/g=2");
    assert_all(&other, "");
    fanout_change(bed, "+EDS/f=1");
    assert_all(&other, "EDS[g=2 f=1]");
    fanout_close(&other);
    fanout_close(&client);
}

/* A cluster that warms again needs its endpoints now. */
static void
what_is_sent_again_does_not_wait(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    fanout_ask(&client, "EDS", "e");
    assert_all(&client, "EDS[e=0]");
    fanout_change(bed, "+EDS/e=1");
    assert_all(&client, "");
    udpai_subscription_resend(fanout_of(&client, "EDS"), UDPAI_STR("com.acme/e"));
    assert_all(&client, "EDS[e=1]");
    fanout_close(&client);
}

static void
a_refresh_begins_no_wait(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    fanout_change(bed, "~EDS/e=0");
    assert_all(&client, "EDS[~e=0]");
    fanout_close(&client);
}

static void
secrets_wait_only_by_name(void **state)
{
    static const udpai_str secret = UDPAI_STR("test.Hidden");
    static const udpai_debounce_rule rules[] = {
        {UDPAI_STR(""), QUIET_MS, MAX_MS},
        {UDPAI_STR("type.googleapis.com/test.Hidden"), 2 * QUIET_MS, MAX_MS}};
    fanout_bed *bed = *state;
    assert_ok(udpai_secret_types_set(&secret, 1));
    for (size_t n = 1; n <= 2; n++) {
        begin(bed, rules, n);
        fanout_wildcard(&client, "Hidden", "");
        assert_all(&client, "");
        fanout_change(bed, "+Hidden/h=1 +Other/o=1");
        assert_all(&client, n == 1 ? "Hidden[h=1]" : "");
        at(bed, n * 2 * QUIET_MS);
        assert_all(&client, n == 1 ? "" : "Hidden[h=1]");
        fanout_close(&client);
        fanout_bed_restart(bed);
        fanout_settle(bed);
    }
    assert_ok(udpai_secret_types_set(NULL, 0));
}

static void
a_type_can_be_left_out(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, all_but_listeners, 2);
    fanout_change(bed, "+LDS/l=1");
    assert_all(&client, "LDS[l=1]");
    fanout_change(bed, "+RDS/r=1");
    assert_all(&client, "");
    fanout_close(&client);
}

/* ---- beside ---- */

static void
parts_that_wait_can_go(void **state)
{
    fanout_bed *bed = *state;
    const udpai_part part = {UDPAI_STR(TEST_CDS), UDPAI_STR("label"), {0}};
    set_rules(bed, clusters, 1);
    fanout_change(bed, "+CDS/c=0 +LDS/l=0");
    open_client(&client, bed);
    fanout_wildcard(&client, "LDS", "");
    udpai_subscription *subscription =
        udpai_subscriber_add_part(&client.subscriber, &part, UDPAI_MODE_DELTA);
    assert_ok(udpai_subscribe_wildcard(subscription, UDPAI_STR(""), NULL));
    assert_all(&client, "CDS[c=0] LDS[l=0]");
    fanout_bed_at(bed, START_MS);
    fanout_change(bed, "+CDS/c=1 +LDS/l=1");
    assert_all(&client, "");
    client.n_wakes = 0;
    udpai_subscriber_drop_part(subscription);
    assert_int_equal(client.n_wakes, 1);
    assert_all(&client, "LDS[l=1]");
    fanout_close(&client);
}

static void
a_client_that_waits_can_go(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    fanout_change(bed, "+EDS/e=1");
    fanout_close(&client);
    at(bed, QUIET_MS);
}

/* It was answered by an earlier stream. */
static void
a_name_that_is_held_waits(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    udpai_send_item item;
    assert_true(
        udpai_subscription_shows(fanout_of(&client, "EDS"), UDPAI_STR("com.acme/e"), &item));
    open_client(&other, bed);
    assert_ok(udpai_subscription_hold_version(fanout_of(&other, "EDS"), UDPAI_STR("com.acme/e"),
                                              udpai_resource_version(item.resource)));
    fanout_ask(&other, "EDS", "e");
    assert_all(&other, "");
    fanout_change(bed, "+EDS/e=1");
    assert_all(&other, "");
    at(bed, QUIET_MS);
    assert_all(&other, "EDS[e=1]");
    fanout_close(&other);
    fanout_close(&client);
}

static void
a_client_that_had_a_state_before_waits_with_others(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    fanout_change(bed, "+EDS/f=1");
    open_client(&other, bed);
    udpai_subscription *subscription = fanout_in_mode(&other, "EDS", UDPAI_MODE_STATE);
    fanout_wildcard(&other, "EDS", "");
    udpai_subscription_wait_with_others(subscription);
    assert_all(&other, "");
    at(bed, QUIET_MS);
    assert_all(&other, "EDS*[e=0 f=1]");
    fanout_close(&other);
    open_client(&other, bed);
    subscription = fanout_in_mode(&other, "EDS", UDPAI_MODE_STATE);
    fanout_wildcard(&other, "EDS", "");
    udpai_subscription_wait_with_others(subscription); /* for nothing: nothing has changed */
    assert_all(&other, "EDS*[e=0 f=1]");
    fanout_close(&other);
    fanout_close(&client);
}

static void
look_at_time(void *userdata, const udpai_reading *reading)
{
    if (reading->metric == UDPAI_METRIC_PUSH_HELD_TIME)
        *(uint64_t *)userdata = reading->values[UDPAI_METRIC_BUCKETS + 1];
}

/* The sum. */
static uint64_t
waited_us(void)
{
    uint64_t us = 0;
    udpai_meters_read(meters, look_at_time, &us);
    return us;
}

static void
waits_are_counted(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    const char *type = TEST_EDS;
    assert_int_equal(metered(meters, UDPAI_METRIC_PUSH_HELD_CHANGES, type), 0);
    fanout_change(bed, "+EDS/e=1");
    fanout_change(bed, "+EDS/e=2");
    at(bed, 30);
    fanout_change(bed, "+EDS/e=3 +EDS/f=3");
    at(bed, QUIET_MS + 30);
    assert_int_equal(metered(meters, UDPAI_METRIC_PUSH_HELD_CHANGES, type), 4);
    assert_int_equal(metered(meters, UDPAI_METRIC_COALESCED, type), 2);
    assert_int_equal(waited_us(), (QUIET_MS + 30) * 1000);
    assert_all(&client, "EDS[e=3 f=3]");
    fanout_close(&client);
    fanout_change(bed, "+EDS/e=4"); /* for nobody */
    at(bed, 3 * QUIET_MS);
    assert_int_equal(metered(meters, UDPAI_METRIC_PUSH_HELD_CHANGES, type), 4);
}

/* ---- other rules ---- */

static const udpai_debounce_rule hurried[] = {{UDPAI_STR(TEST_EDS), QUIET_MS / 2, MAX_MS}};

static void
what_waits_does_so_by_the_present_rules(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    fanout_change(bed, "+EDS/e=1");
    set_rules(bed, hurried, 1);
    at(bed, QUIET_MS / 2 - 1);
    assert_all(&client, "");
    at(bed, QUIET_MS / 2);
    assert_all(&client, "EDS[e=1]");
    set_rules(bed, endpoints, 1);
    fanout_change(bed, "+EDS/e=2");
    at(bed, QUIET_MS / 2 + QUIET_MS - 1);
    assert_all(&client, "");
    at(bed, QUIET_MS / 2 + QUIET_MS);
    assert_all(&client, "EDS[e=2]");
    fanout_close(&client);
}

static void
without_rules_nothing_waits(void **state)
{
    fanout_bed *bed = *state;
    begin(bed, endpoints, 1);
    fanout_change(bed, "+EDS/e=1");
    at(bed, 10);
    udpai_fanout_set_debounce(bed->fanout, NULL);
    at(bed, 11);
    assert_all(&client, "EDS[e=1]");
    fanout_change(bed, "+EDS/e=2");
    assert_all(&client, "EDS[e=2]");
    set_rules(bed, endpoints, 1);
    fanout_change(bed, "+EDS/e=3");
    assert_all(&client, "");
    at(bed, 11 + QUIET_MS);
    assert_all(&client, "EDS[e=3]");
    fanout_close(&client);
}

static udpa_err
make_rules(void *context)
{
    (void)context;
    UDPA_AUTO(udpai_debounce_rules_unref) udpai_debounce_rules *rules = NULL;
    return udpai_debounce_rules_new(&rules, endpoints, 1);
}

static void
rules_are_a_value(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_debounce_rules_unref)
    udpai_debounce_rules *one = NULL, *same = NULL, *another = NULL;
    assert_ok(udpai_debounce_rules_new(&one, endpoints, 1));
    assert_ok(udpai_debounce_rules_new(&same, endpoints, 1));
    assert_ok(udpai_debounce_rules_new(&another, hurried, 1));
    assert_true(udpai_debounce_rules_equal(one, same));
    assert_false(udpai_debounce_rules_equal(one, another));
    assert_false(udpai_debounce_rules_equal(one, NULL));
    assert_true(udpai_debounce_rules_equal(NULL, NULL));
    oom_torture(make_rules, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_waits_does_so_by_the_present_rules),
        CASE(without_rules_nothing_waits),
        CASE(rules_are_a_value),
        CASE(a_change_waits_until_it_is_quiet),
        CASE(the_first_change_waits_no_longer_than_max),
        CASE(a_slow_client_is_sent_what_was_due),
        CASE(pages_of_what_was_due_do_not_wait),
        CASE(removals_wait_too),
        CASE(removals_are_kept_as_long_as_clients_wait),
        CASE(states_wait_whole),
        CASE(names_wait_too),
        CASE(other_types_and_nodes_do_not_wait),
        CASE(first_answers_do_not_wait),
        CASE(what_a_client_has_just_asked_for_does_not_wait),
        CASE(a_name_that_was_never_there_does_not_wait),
        CASE(what_is_sent_again_does_not_wait),
        CASE(a_refresh_begins_no_wait),
        CASE(secrets_wait_only_by_name),
        CASE(a_type_can_be_left_out),
        CASE(parts_that_wait_can_go),
        CASE(a_client_that_waits_can_go),
        CASE(a_name_that_is_held_waits),
        CASE(a_client_that_had_a_state_before_waits_with_others),
        CASE(waits_are_counted),
    };
    return cmocka_run_group_tests_name("debounce", tests, NULL, NULL);
}
