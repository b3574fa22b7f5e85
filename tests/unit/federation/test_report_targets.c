/* SPDX-License-Identifier: Apache-2.0 */
/* Which ConfigSources are shown what clients report: those that have delivered what it speaks of.
 */
#include "federation/reporting.h"
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

#include "base/proto.h"

#define ACME "com.acme"
#define LOAD "type.googleapis.com/udpa.load.v1.ClientLoad"
#define HEALTH "type.googleapis.com/udpa.health.v1.EndpointHealth"
#define STATE "type.googleapis.com/udpa.status.v1.ResourceState"
#define CLIENT_STATUS "type.googleapis.com/udpa.status.v1.ClientStatus"

static const udpai_str load_type = {LOAD, sizeof(LOAD) - 1};

/* ---- what happens ---- */

/* a and b, side by side. */
static void
start_both(fed_bed *bed)
{
    fed_type(bed, "CDS");
    fed_type(bed, "EDS");
    fed_type(bed, "LDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false}, {'b', ACME, UDPAI_CONTINUE, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
}

/* a, and b when a fails; which is connected all the same. */
static void
start_fail_over(fed_bed *bed)
{
    bed->sources[1].stays_connected = true;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 !com.acme");
}

/* The node says it itself, or again. */
static void
report_as(fed_bed *bed, const char *type, const char *name, const char *value)
{
    char full[300];
    snprintf(full, sizeof(full), "com.acme/%s", name);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource =
        RESOURCE(full, .type = type, .value = value, .version = value, .ttl_ms = 600000);
    udpa_error *error = NULL;
    if (udpai_node_report_own(bed->node, resource, &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
}

static void
report_load(fed_bed *bed, const char *name)
{
    report_as(bed, LOAD, name, "1");
}

/* A client that has dialled this node says it. */
static void
say(fed_bed *bed, uint64_t session, const char *name)
{
    assert_string_equal(
        fed_put(bed, session, RESOURCE(name, .type = LOAD, .value = "1", .ttl_ms = 600000), false),
        "");
}

/* ---- who ---- */

static void
it_is_for_who_has_delivered_what_it_speaks_of(void **state)
{
    fed_bed *bed = *state;
    start_both(bed);
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    (void)fed_publish(bed, 'b', "CDS", "y=1 !com.acme");
    report_load(bed, "x/node");
    report_as(bed, HEALTH, "y/node", "1");
    assert_reports(bed, "x/node>a y/node>b");
    report_as(bed, LOAD, "x/node", "2");
    assert_reports(bed, "x/node>a");
    udpai_node_withdraw_own_report(bed->node, load_type, UDPAI_STR("com.acme/x/node"));
    assert_reports(bed, "-x/node");
}

static void
so_is_what_clients_below_report(void **state)
{
    fed_bed *bed = *state;
    start_both(bed);
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    (void)fed_publish(bed, 'b', "CDS", "y=1 !com.acme");
    uint64_t client = fed_arrive(bed, &(fed_peer){.id = "client"});
    say(bed, client, "com.acme/x/client");
    say(bed, client, "com.acme/y/client");
    assert_reports(bed, "x/client>a y/client>b");
    (void)fed_publish(bed, 'a', "CDS", "-x");
    assert_reports(bed, "~x/client>ab"); /* for the moment it is nobody's */
    (void)fed_publish(bed, 'b', "CDS", "x=1");
    assert_reports(bed, "~x/client>b");
}

static void
a_cluster_and_its_endpoints_may_come_from_two(void **state)
{
    fed_bed *bed = *state;
    start_both(bed);
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    (void)fed_publish(bed, 'b', "EDS", "x=1 !com.acme");
    report_load(bed, "x/node");
    assert_reports(bed, "x/node>ab");
    (void)fed_publish(bed, 'b', "EDS", "-x");
    (void)fed_publish(bed, 'a', "EDS", "x=1 !com.acme");
    assert_reports(bed, "~x/node>a");
}

/* Of types that are no cluster's too, as the state says. */
static void
a_state_says_of_which_types_it_is(void **state)
{
    fed_bed *bed = *state;
    start_both(bed);
    (void)fed_publish(bed, 'a', "LDS", "x=1 !com.acme");
    (void)fed_publish(bed, 'b', "CDS", "x=1 !com.acme");
    uint8_t room[256], inner[128];
    udpai_proto_writer version = {inner, 0}, writer = {room, 0};
    udpai_proto_put_bytes(&version, 1, UDPAI_STR(TEST_LDS));
    udpai_proto_put_bytes(&version, 2, UDPAI_STR("v1"));
    udpai_proto_put_bytes(&writer, 1, UDPAI_STR("com.acme/x"));
    udpai_proto_put_bytes(&writer, 2, (udpai_str){(const char *)inner, version.size});
    room[writer.size] = '\0';
    report_as(bed, STATE, "x/node", (const char *)room);
    assert_reports(bed, "x/node>a");
    /* What is malformed is of no type: it is for those who are active. */
    report_as(bed, STATE, "x/node", "\x12\x7f");
    assert_reports(bed, "x/node>*");
}

static void
what_nobody_has_delivered_is_for_the_active(void **state)
{
    fed_bed *bed = *state;
    start_fail_over(bed);
    report_load(bed, "none/node");
    assert_reports(bed, "none/node>a");
    (void)fed_put(bed, fed_arrive(bed, &(fed_peer){.id = "p"}),
                  RESOURCE("com.acme/own", .type = TEST_CDS, .value = "1"), false);
    report_load(bed, "own/node"); /* a publisher has delivered it, who asks as any peer does */
    assert_reports(bed, "own/node>a");
    fed_close(bed, 'a');
    (void)fed_publish(bed, 'b', "CDS", "!com.acme");
    assert_reports(bed, "~none/node>b ~own/node>b");
}

/* Outside what any source may speak for, or of a type of which nobody knows what it speaks of. */
static void
what_is_nobodys_is_for_all(void **state)
{
    fed_bed *bed = *state;
    start_fail_over(bed);
    report_as(bed, CLIENT_STATUS, "x/node", "1");
    uint64_t client = fed_arrive(bed, &(fed_peer){.id = "client"});
    say(bed, client, "org.other/x/client");
    assert_reports(bed, "x/node>* org.other/x/client>*");
}

static void
who_cannot_ask_is_no_addressee(void **state)
{
    fed_bed *bed = *state;
    bed->sources[2].kind = UDPAI_SOURCE_XDS;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'c', ACME, UDPAI_CONTINUE, false}, {'a', ACME, UDPAI_CONTINUE, false},
                 {'b', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_connect_as(bed, 'c', &(fed_peer){.is_xds = true});
    (void)fed_publish(bed, 'c', "CDS", "x=1 !com.acme");
    report_load(bed, "x/node");
    assert_reports(bed, "x/node>a");
}

static void
one_source_is_told_all(void **state)
{
    fed_bed *bed = *state;
    bed->config.n_sources = 1;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    report_load(bed, "x/node");
    report_load(bed, "y/node");
    assert_reports(bed, "x/node>* y/node>*");
}

static bool
says_listener(void *userdata,
              const udpa_resource *report,
              udpai_str *ret_type_url,
              udpai_str *ret_name)
{
    (void)userdata;
    if (!udpai_str_eq(udpai_resource_type_url(report), UDPAI_STR("test/Custom")))
        return false;
    *ret_type_url = UDPAI_STR(TEST_LDS);
    *ret_name = UDPAI_STR("com.acme/front");
    return true;
}

static void
who_reports_may_say_what_it_speaks_of(void **state)
{
    fed_bed *bed = *state;
    bed->subject_of = says_listener;
    bed->config.is_endpoint = true;
    start_both(bed);
    fed_want(bed, "LDS", "com.acme/front");
    (void)fed_publish(bed, 'b', "LDS", "front=1 !com.acme");
    report_as(bed, "test/Custom", "thing/node", "1");
    assert_reports(bed, "thing/node>b");
    report_as(bed, "test/Other", "front/node", "1");
    assert_reports(bed, "front/node>*");
}

static const char *spoken_of;

static bool
says_what_is_spoken_of(void *userdata,
                       const udpa_resource *report,
                       udpai_str *ret_type_url,
                       udpai_str *ret_name)
{
    (void)userdata;
    (void)report;
    *ret_type_url = UDPAI_STR(TEST_CDS);
    *ret_name = udpai_str_from(spoken_of);
    return true;
}

/* In the same millisecond, with the same words: nothing but that is new. */
static void
what_speaks_of_something_else_now_is_for_others(void **state)
{
    fed_bed *bed = *state;
    bed->subject_of = says_what_is_spoken_of;
    bed->config.is_endpoint = true;
    start_both(bed);
    fed_want(bed, "CDS", "*com.acme");
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    (void)fed_publish(bed, 'b', "CDS", "y=1 !com.acme");
    spoken_of = "com.acme/y";
    report_as(bed, "test/Custom", "thing/node", "1");
    assert_reports(bed, "thing/node>b");
    spoken_of = "com.acme/x";
    report_as(bed, "test/Custom", "thing/node", "1");
    assert_reports(bed, "~thing/node>a");
    report_as(bed, "test/Custom", "thing/node", "1");
    assert_reports(bed, "");
    (void)fed_publish(bed, 'b', "CDS", "x=1"); /* and it goes with that from now on */
    (void)fed_publish(bed, 'a', "CDS", "-x");
    assert_reports(bed, "~thing/node>b");
    spoken_of = "com.acme/y";
    report_as(bed, "test/Custom", "thing/node", "2");
    assert_reports(bed, "thing/node>b");
}

static void
a_name_with_sources_of_its_own(void **state)
{
    fed_bed *bed = *state;
    const udpai_descriptor_config of_b = {
        .source = UDPAI_STR("b"), .prefix = UDPAI_STR("com.acme/x"), .on_demand = true};
    const udpai_named_config named = {UDPAI_STR(TEST_CDS), UDPAI_STR("com.acme/x"), &of_b, 1, true};
    bed->config.named = &named;
    bed->config.n_named = 1;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false});
    fed_start(bed);
    fed_want(bed, "CDS", "com.acme/x");
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a y=1 !com.acme");
    report_load(bed, "x/node"); /* b has not said anything yet */
    report_load(bed, "y/node");
    assert_reports(bed, "x/node>b y/node>a");
    (void)fed_publish(bed, 'b', "CDS", "x=of-b !com.acme");
    assert_value(bed, "CDS", "x", "of-b");
    report_as(bed, LOAD, "x/node", "2");
    assert_reports(bed, "x/node>b");
}

/* ---- when it changes ---- */

static void
it_follows_a_fail_over_and_back(void **state)
{
    fed_bed *bed = *state;
    start_fail_over(bed);
    report_load(bed, "x/node");
    assert_reports(bed, "x/node>a");
    fed_close(bed, 'a');
    fed_advance(bed, 100);
    assert_reports(bed, ""); /* what counts is still what a has said */
    (void)fed_publish(bed, 'b', "CDS", "x=2");
    assert_reports(bed, "");
    (void)fed_publish(bed, 'b', "CDS", "!com.acme");
    assert_value(bed, "CDS", "x", "2");
    assert_reports(bed, "~x/node>b");
    fed_advance(bed, 250);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=3");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_reports(bed, "");
    fed_advance(bed, 5000);
    assert_value(bed, "CDS", "x", "3");
    assert_reports(bed, "~x/node>a");
}

/* The standby says the very same, so that the store has nothing to tell of it. */
static void
the_same_by_another_is_another_deliverer(void **state)
{
    fed_bed *bed = *state;
    bed->sources[1].stays_connected = true;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect_as(bed, 'a', &(fed_peer){.is_plain = true, .id = "plane"});
    fed_connect_as(bed, 'b', &(fed_peer){.is_plain = true, .id = "plane"});
    (void)fed_publish(bed, 'a', "CDS", "x=1 **");
    report_load(bed, "x/node");
    assert_reports(bed, "x/node>a");
    fed_close(bed, 'a');
    fed_advance(bed, 10);
    (void)fed_publish(bed, 'b', "CDS", "x=1");
    fed_advance(bed, 10000); /* after so much silence it has said all */
    assert_reports(bed, "~x/node>b");
}

/* b has an older generation of the same authority: a's word stays effective, and is dead. */
static void
who_does_not_count_any_more_is_not_told(void **state)
{
    fed_bed *bed = *state;
    start_fail_over(bed);
    (void)fed_put(bed, bed->sessions[0],
                  RESOURCE("com.acme/x", .type = TEST_CDS, .value = "new", .authority = "top",
                           .generation = 9, .hops = {{"top", "top"}}),
                  false);
    report_load(bed, "x/node");
    assert_reports(bed, "x/node>a");
    fed_close(bed, 'a');
    (void)fed_put(bed, bed->sessions[1],
                  RESOURCE("com.acme/x", .type = TEST_CDS, .value = "old", .authority = "top",
                           .generation = 8, .hops = {{"top", "top"}}),
                  false);
    (void)fed_publish(bed, 'b', "CDS", "!com.acme");
    assert_value(bed, "CDS", "x", "new");
    assert_reports(bed, "~x/node>b");
}

static void
what_was_reported_first_finds_its_deliverer(void **state)
{
    fed_bed *bed = *state;
    start_both(bed);
    report_load(bed, "x/node");
    assert_reports(bed, "x/node>ab");
    (void)fed_publish(bed, 'b', "CDS", "x=1 y=1 !com.acme");
    assert_reports(bed, "~x/node>b");
    (void)fed_publish(bed, 'b', "CDS", "-x");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_reports(bed, "~x/node>ab");
}

static void
what_is_gone_is_not_told_again(void **state)
{
    fed_bed *bed = *state;
    start_fail_over(bed);
    report_load(bed, "x/node");
    report_load(bed, "y/node");
    assert_reports(bed, "x/node>a y/node>a");
    udpai_node_withdraw_own_report(bed->node, load_type, UDPAI_STR("com.acme/x/node"));
    fed_close(bed, 'a');
    (void)fed_publish(bed, 'b', "CDS", "x=1 y=1 !com.acme");
    assert_reports(bed, "-x/node ~y/node>b");
    fed_advance(bed, 600000);
    assert_reports(bed, "-y/node");
}

/* ---- warm ---- */

static void
who_stands_by_is_told_too(void **state)
{
    fed_bed *bed = *state;
    bed->sources[1].standby = &load_type;
    bed->sources[1].n_standby = 1;
    start_fail_over(bed);
    report_load(bed, "x/node");
    report_as(bed, HEALTH, "x/node", "1");
    assert_reports(bed, "x/node>ab x/node>a");
    fed_close(bed, 'a');
    (void)fed_publish(bed, 'b', "CDS", "x=1 !com.acme");
    assert_reports(bed, "~x/node>b ~x/node>b");
}

/* ---- sources that come ---- */

static void
a_second_source_comes_by_a_restart(void **state)
{
    fed_bed *bed = *state;
    start_both(bed);
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    (void)fed_publish(bed, 'b', "CDS", "y=1 !com.acme");
    fed_restart(bed); /* with what it knew of who has delivered what */
    report_load(bed, "x/node");
    report_load(bed, "y/node");
    assert_reports(bed, "x/node>a y/node>b");
}

/* ---- without memory ---- */

static const char *
last_of(const char *reports, const char *name)
{
    const char *at = reports, *found = "";
    while ((at = strstr(at, name)))
        found = at++;
    return found;
}

/* Whatever fails for want of memory, it ends as if there had been enough. */
static void
want_of_memory_changes_nothing(void **state)
{
    fed_bed *bed = *state;
    bed->config.is_durable = false;
    start_fail_over(bed);
    for (long n = 0; n < 120; n++) {
        bed->node = udpai_node_free(bed->node);
        bed->answer = udpai_report_free(bed->answer);
        fed_start(bed);
        fed_connect(bed, 'a');
        fed_connect(bed, 'b');
        (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 !com.acme");
        uint64_t client = fed_arrive(bed, &(fed_peer){.id = "client"});
        fed_short(bed, n, true);
        (void)fed_put(bed, client,
                      RESOURCE("com.acme/x/client", .type = LOAD, .value = "1", .ttl_ms = 600000),
                      false);
        say(bed, client, "com.acme/x/client");
        assert_string_equal(last_of(fed_reports(bed), "x/client"), "x/client>a");
        fed_close(bed, 'a');
        (void)fed_publish(bed, 'b', "CDS", "x=2");
        (void)fed_orders(bed);
        fed_short(bed, n, true);
        (void)fed_publish(bed, 'b', "CDS", "!com.acme");
        if (strstr(fed_orders(bed), "hangup b")) { /* it was not even heard */
            fed_close(bed, 'b');
            fed_connect(bed, 'b');
            (void)fed_publish(bed, 'b', "CDS", "x=2 !com.acme");
        }
        fed_advance(bed, 100);
        assert_string_equal(last_of(fed_reports(bed), "x/client"), "x/client>b");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(it_is_for_who_has_delivered_what_it_speaks_of),
        fed_test(so_is_what_clients_below_report),
        fed_test(a_cluster_and_its_endpoints_may_come_from_two),
        fed_test(a_state_says_of_which_types_it_is),
        fed_test(what_nobody_has_delivered_is_for_the_active),
        fed_test(what_is_nobodys_is_for_all),
        fed_test(who_cannot_ask_is_no_addressee),
        fed_test(one_source_is_told_all),
        fed_test(who_reports_may_say_what_it_speaks_of),
        fed_test(what_speaks_of_something_else_now_is_for_others),
        fed_test(a_name_with_sources_of_its_own),
        fed_test(it_follows_a_fail_over_and_back),
        fed_test(the_same_by_another_is_another_deliverer),
        fed_test(who_does_not_count_any_more_is_not_told),
        fed_test(what_was_reported_first_finds_its_deliverer),
        fed_test(what_is_gone_is_not_told_again),
        fed_test(who_stands_by_is_told_too),
        fed_test(a_second_source_comes_by_a_restart),
        fed_test(want_of_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
