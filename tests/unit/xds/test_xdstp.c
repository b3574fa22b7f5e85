/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the form xdstp://…, and collections, in both protocols. */
#include <stdio.h>

#include "xds_test.h"

#define CLUSTERS "xdstp://com.acme/envoy.config.cluster.v3.Cluster/"
#define ENDPOINTS "xdstp://com.acme/envoy.config.endpoint.v3.ClusterLoadAssignment/"
#define MEMBERS "xdstp://com.acme/envoy.config.endpoint.v3.LbEndpoint/"
#define LISTS "xdstp://com.acme/envoy.config.listener.v3.ListenerCollection/"
#define ROUTES "xdstp://com.acme/envoy.config.route.v3.RouteConfiguration/"

/* ---- names ---- */

static void
a_name_is_answered_as_it_was_spelled(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/com.acme/a?j{2;k{1=1");
    xds_subscribe(&self->client, "CDS", CLUSTERS "%61?k=1&j=%32");
    xds_expect(&self->client, "CDS[" CLUSTERS "%61?k=1&j=%32]");
    xds_change(&self->world, "+CDS/com.acme/a?j{2;k{1=2");
    xds_expect(&self->client, "CDS[" CLUSTERS "%61?k=1&j=%32]");
    xds_change(&self->world, "-CDS/com.acme/a?j{2;k{1");
    xds_expect(&self->client, "CDS[-" CLUSTERS "%61?k=1&j=%32]");
}

static void
another_spelling_is_the_same_subscription(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/com.acme/a=1");
    xds_subscribe(&self->client, "CDS", CLUSTERS "a");
    xds_expect(&self->client, "CDS[" CLUSTERS "a]");
    xds_subscribe(&self->client, "CDS", CLUSTERS "%61");
    xds_expect(&self->client, "CDS[" CLUSTERS "%61]");
    xds_unsubscribe(&self->client, "CDS", CLUSTERS "a?");
    xds_change(&self->world, "+CDS/com.acme/a=2");
    xds_expect(&self->client, "");
}

static void
all_parameters_count(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+RDS/com.acme/a?k{1=1!" ROUTES "a?k{1 +RDS/com.acme/a=1");
    xds_pair_ask(self, "RDS", ROUTES "a?k=1&j=2");
    xds_pair_expect(self, "RDS[-" ROUTES "a?k=1&j=2]", "");
}

static void
names_stand_beside_plain_ones_and_wildcards(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/com.acme/a=1 +CDS/b=1");
    xds_subscribe(&self->client, "CDS", "* com.acme/a " CLUSTERS "a b");
    xds_expect(&self->client, "CDS[b com.acme/a] CDS[" CLUSTERS "a]");
    xds_unsubscribe(&self->client, "CDS", "*");
    xds_change(&self->world, "+CDS/com.acme/a=2");
    xds_expect(&self->client, "CDS[com.acme/a] CDS[" CLUSTERS "a]");
    xds_unsubscribe(&self->client, "CDS", "com.acme/a");
    xds_change(&self->world, "-CDS/com.acme/a");
    xds_expect(&self->client, "CDS[-" CLUSTERS "a]");
}

static void
what_is_no_name_is_missing(void **state)
{
    xds_one *self = *state;
    static const char *const bad[] = {
        CLUSTERS "a#entry=x", CLUSTERS "a?k=1&k=2",  CLUSTERS "a?_k=1", CLUSTERS "100%", CLUSTERS,
        ENDPOINTS "a",        "xdstp://org.other/a", "xdstp://",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        char expected[256];
        xds_subscribe(&self->client, "CDS", bad[i]);
        snprintf(expected, sizeof(expected), "CDS[-%s]", bad[i]);
        xds_expect(&self->client, expected);
    }
    xds_change(&self->world, "+CDS/org.other/a=1");
    xds_subscribe(&self->client, "CDS", "xdstp://org.other/envoy.config.cluster.v3.Cluster/a");
    xds_expect(&self->client, "CDS[-xdstp://org.other/envoy.config.cluster.v3.Cluster/a]");
}

static void
a_missing_name_waits_until_that_is_certain(void **state)
{
    xds_one *self = *state;
    xds_settle_except(&self->world, "com.acme");
    xds_subscribe(&self->client, "CDS", CLUSTERS "a");
    xds_expect(&self->client, "");
    xds_settle(&self->world);
    xds_expect(&self->client, "CDS[-" CLUSTERS "a]");
    xds_change(&self->world, "+CDS/com.acme/a=1");
    xds_expect(&self->client, "CDS[" CLUSTERS "a]");
}

static void
an_alias_is_answered_by_the_name_that_was_asked_for(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/com.acme/a=1^com.acme/other +CDS/com.acme/b=1^com.acme/*.b");
    xds_subscribe(&self->client, "CDS", CLUSTERS "other " CLUSTERS "x.b");
    xds_expect(&self->client, "CDS[" CLUSTERS "other " CLUSTERS "x.b]");
}

static void
who_resumes_is_sent_what_has_changed(void **state)
{
    xds_one *self = *state;
    char a[UDPAI_CONTENT_HASH_HEX + 1], held[512];
    snprintf(held, sizeof(held),
             CLUSTERS "a=%s " CLUSTERS "b=old " CLUSTERS "gone=old " CLUSTERS "m/x=%s " CLUSTERS
                      "m/gone=old",
             xds_hash("CDS/com.acme/a=1", a), a);
    xds_change(&self->world, "+CDS/com.acme/a=1 +CDS/com.acme/b=1 +CDS/com.acme/m/x=1");
    XDS_SEND(&self->client, "CDS",
             .names = CLUSTERS "a " CLUSTERS "b " CLUSTERS "gone " CLUSTERS "m/*", .held = held);
    xds_expect(&self->client, "CDS[" CLUSTERS "b] CDS[" CLUSTERS "m/x] CDS[-" CLUSTERS
                              "m/gone] CDS[-" CLUSTERS "gone]");
}

/* ---- state of the world ---- */

static void
sotw_serves_what_says_its_own_name(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+RDS/com.acme/a?j{2;k{1=1!" ROUTES "a?k{1;j{2 +RDS/com.acme/b=1 "
                             "+RDS/com.acme/c=1!" ROUTES "other +RDS/d=1!" ROUTES "a");
    xds_ask_for(&self->client, "RDS", ROUTES "a?j=2&k=1 " ROUTES "b " ROUTES "c d");
    xds_expect(&self->client, "RDS[com.acme/b " ROUTES "a?k=1&j=2]");
    xds_change(&self->world, "+RDS/com.acme/a?j{2;k{1=2!" ROUTES "a?k{1;j{2");
    xds_expect(&self->client, "RDS[" ROUTES "a?k=1&j=2]");
    xds_ask_for(&self->client, "RDS", "d");
    xds_change(&self->world, "+RDS/com.acme/a?j{2;k{1=3!" ROUTES "a?k{1;j{2");
    xds_expect(&self->client, "");
}

static void
a_state_has_names_of_both_kinds(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/com.acme/a=1!" CLUSTERS "a +CDS/b=1");
    xds_ask_for(&self->client, "CDS", CLUSTERS "a b " CLUSTERS "none");
    xds_expect(&self->client, "CDS[b " CLUSTERS "a]");
    xds_ack(&self->client, "CDS");
    xds_ask_for(&self->client, "CDS", CLUSTERS "%61 b " CLUSTERS "none");
    xds_expect(&self->client, ""); /* nothing is new */
    xds_change(&self->world, "-CDS/com.acme/a");
    xds_expect(&self->client, "CDS[b]");
}

static void
a_fetch_is_by_name_like_the_rest(void **state)
{
    xds_one *self = *state;
    xds_client_call(&self->client, &self->world, "RDS", UDPAI_XDS_FETCH);
    xds_change(&self->world, "+RDS/com.acme/a=1!" ROUTES "a");
    xds_ask_for(&self->client, "RDS", ROUTES "a " ROUTES "m/*");
    xds_expect(&self->client, "RDS[" ROUTES "a]");
}

/* ---- collections by glob ---- */

static void
members_come_and_go_one_by_one(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+LEDS/com.acme/foo/a?k{v=1 +LEDS/com.acme/foo/b=1 "
                             "+LEDS/com.acme/foo/c/d?k{v=1 +LEDS/com.acme/foo?k{v=1");
    xds_subscribe(&self->client, "LEDS", MEMBERS "f%6Fo/*?k=v");
    xds_expect(&self->client, "LEDS[" MEMBERS "f%6Fo/a?k=v]");
    xds_change(&self->world, "+LEDS/com.acme/foo/x?k{v=1 +LEDS/com.acme/foo/x?k{w=1");
    xds_expect(&self->client, "LEDS[" MEMBERS "f%6Fo/x?k=v]");
    xds_change(&self->world, "+LEDS/com.acme/foo/x?k{v=2 -LEDS/com.acme/foo/a?k{v");
    xds_expect(&self->client, "LEDS[" MEMBERS "f%6Fo/x?k=v] LEDS[-" MEMBERS "f%6Fo/a?k=v]");
    xds_change(&self->world, "-LEDS/com.acme/foo/x?k{v");
    xds_expect(&self->client, "LEDS[-" MEMBERS "f%6Fo/x?k=v]");
}

static void
an_empty_collection_is_said_to_be_missing_once_certain(void **state)
{
    xds_one *self = *state;
    xds_settle_except(&self->world, "com.acme");
    xds_subscribe(&self->client, "LEDS", MEMBERS "foo/*");
    xds_expect(&self->client, "");
    xds_settle(&self->world);
    xds_expect(&self->client, "LEDS[-" MEMBERS "foo/*]");
    xds_subscribe(&self->client, "LEDS", MEMBERS "foo/*");
    xds_expect(&self->client, "LEDS[-" MEMBERS "foo/*]");
    xds_change(&self->world, "+LEDS/com.acme/foo/a=1");
    xds_expect(&self->client, "LEDS[" MEMBERS "foo/a]");
    xds_subscribe(&self->client, "LEDS", MEMBERS "foo/*");
    xds_expect(&self->client, "LEDS[" MEMBERS "foo/a]");
}

static void
several_globs_beside_names_and_wildcards(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/com.acme/m/a=1 +CDS/com.acme/n/b=1 +CDS/c=1");
    xds_subscribe(&self->client, "CDS", "* " CLUSTERS "m/* " CLUSTERS "n/* " CLUSTERS "m/a");
    xds_expect(&self->client, "CDS[c com.acme/m/a com.acme/n/b] CDS[" CLUSTERS "m/a] "
                              "CDS[" CLUSTERS "n/b] CDS[" CLUSTERS "m/a]");
    xds_unsubscribe(&self->client, "CDS", CLUSTERS "n/* *");
    xds_change(&self->world, "+CDS/com.acme/n/b=2 +CDS/com.acme/m/c=1");
    xds_expect(&self->client, "CDS[" CLUSTERS "m/c]");
    /* The glob holds the name still, so its state is told. */
    xds_unsubscribe(&self->client, "CDS", CLUSTERS "m/a");
    xds_expect(&self->client, "CDS[" CLUSTERS "m/a]");
    xds_unsubscribe(&self->client, "CDS", CLUSTERS "m/* " CLUSTERS "never/*");
    xds_change(&self->world, "+CDS/com.acme/m/c=2 -CDS/com.acme/m/a");
    xds_expect(&self->client, "");
}

static void
a_glob_in_another_spelling_takes_the_place_of_the_first(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/com.acme/m/a?j{1;k{2=1");
    xds_subscribe(&self->client, "CDS", CLUSTERS "m/*?k=2&j=1");
    xds_expect(&self->client, "CDS[" CLUSTERS "m/a?k=2&j=1]");
    xds_subscribe(&self->client, "CDS", CLUSTERS "m/*?j=1&k=2");
    xds_expect(&self->client, "CDS[" CLUSTERS "m/a?j=1&k=2]");
    xds_unsubscribe(&self->client, "CDS", CLUSTERS "%6d/*?k=2&j=1");
    xds_change(&self->world, "+CDS/com.acme/m/a?j{1;k{2=2");
    xds_expect(&self->client, "");
}

/* Who compares names part by part takes the one for the other. */
static void
what_went_before_a_new_spelling_is_told_in_that(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/com.acme/m/a=1 +CDS/com.acme/m/b=1");
    xds_subscribe(&self->client, "CDS", CLUSTERS "m/*");
    xds_expect(&self->client, "CDS[" CLUSTERS "m/a " CLUSTERS "m/b]");
    xds_change(&self->world, "-CDS/com.acme/m/a");
    xds_subscribe(&self->client, "CDS", CLUSTERS "%6D/*");
    xds_expect(&self->client, "CDS[" CLUSTERS "%6D/b] CDS[-" CLUSTERS "%6D/a]");
}

/* It has gone, and the client has not been told, when the name is given back. */
static void
the_end_of_a_name_that_a_glob_holds_is_told(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/com.acme/m/a=1");
    xds_subscribe(&self->client, "CDS", CLUSTERS "m/a");
    xds_expect(&self->client, "CDS[" CLUSTERS "m/a]");
    xds_change(&self->world, "-CDS/com.acme/m/a +CDS/com.acme/m/b=1");
    xds_subscribe(&self->client, "CDS", CLUSTERS "m/*");
    xds_unsubscribe(&self->client, "CDS", CLUSTERS "m/a");
    xds_expect(&self->client, "CDS[" CLUSTERS "m/b] CDS[-" CLUSTERS "m/a]");
}

static void
only_delta_has_globs(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/com.acme/m/a=1!" CLUSTERS "m/a");
    xds_ask_for(&self->client, "RDS", ROUTES "m/*");
    xds_ask_for(&self->client, "CDS", CLUSTERS "m/* " CLUSTERS "m/a");
    xds_expect(&self->client, "CDS[" CLUSTERS "m/a]");
}

/* An empty first request asks for all; one with a glob alone does not. */
static void
who_asks_for_a_glob_alone_is_sent_nothing_else(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/com.acme/m/a=1");
    xds_subscribe(&self->client, "CDS", CLUSTERS "m/*");
    xds_expect(&self->client, "CDS[" CLUSTERS "m/a]");
    xds_subscribe(&self->client, "CDS", "*");
    xds_expect(&self->client, "CDS[a com.acme/m/a]");
    xds_unsubscribe(&self->client, "CDS", "*");
    xds_change(&self->world, "+CDS/a=2 -CDS/com.acme/m/a");
    xds_expect(&self->client, "CDS[-" CLUSTERS "m/a]");
}

/* The empty answer of a wildcard does not take what parts bring for its own. */
static void
a_wildcard_that_holds_nothing_is_answered_beside_a_glob(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/com.acme/m/a=1$");
    xds_subscribe(&self->client, "CDS", "* " CLUSTERS "m/a");
    xds_expect(&self->client, "CDS[" CLUSTERS "m/a] CDS[]");
}

static void
globs_are_bounded(void **state)
{
    xds_one *self = *state;
    char name[128];
    for (int i = 0; i < UDPAI_XDS_GLOBS_MAX; i++) {
        snprintf(name, sizeof(name), CLUSTERS "m%d/*", i);
        xds_subscribe(&self->client, "CDS", name);
    }
    assert_false(self->client.stream.is_finished);
    xds_unsubscribe(&self->client, "CDS", CLUSTERS "m7/*");
    xds_subscribe(&self->client, "CDS", CLUSTERS "x/*");
    assert_false(self->client.stream.is_finished);
    xds_subscribe(&self->client, "CDS", CLUSTERS "y/*");
    xds_expect_end(&self->client, UDPA_ERR_LIMIT, "4096 collections");
}

static void
what_a_changed_cluster_waits_for_comes_again(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world,
               "+CDS/com.acme/a=1@" ENDPOINTS "e?k{v +EDS/com.acme/e?k{v=1!" ENDPOINTS "e?k{v");
    xds_subscribe(&self->client, "CDS", "*");
    xds_subscribe(&self->client, "EDS", ENDPOINTS "e?k=v");
    xds_expect(&self->client, "CDS[com.acme/a] EDS[" ENDPOINTS "e?k=v]");
    xds_change(&self->world, "+CDS/com.acme/a=2@" ENDPOINTS "e?k{v");
    xds_expect(&self->client, "CDS[com.acme/a] EDS[" ENDPOINTS "e?k=v]");
}

static void
what_changed_endpoints_wait_for_comes_again(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/com.acme/a=1@" ENDPOINTS "e +EDS/com.acme/e=1!" ENDPOINTS
                             "e@" MEMBERS "m/* +LEDS/com.acme/m/x=1");
    xds_subscribe(&self->client, "CDS", "*");
    xds_subscribe(&self->client, "EDS", ENDPOINTS "e");
    xds_subscribe(&self->client, "LEDS", MEMBERS "m/*");
    xds_expect(&self->client, "CDS[com.acme/a] EDS[" ENDPOINTS "e] LEDS[" MEMBERS "m/x]");
    xds_change(&self->world, "+CDS/com.acme/a=2@" ENDPOINTS "e");
    xds_expect(&self->client, "CDS[com.acme/a] EDS[" ENDPOINTS "e] LEDS[" MEMBERS "m/x]");
    xds_change(&self->world, "+LEDS/com.acme/m/y=1");
    xds_expect(&self->client, "LEDS[" MEMBERS "m/y]");
}

/* ---- collections by list ---- */

static void
lists_are_resources_of_their_own(void **state)
{
    xds_pair *self = *state;
    xds_change(&self->world, "+LISTS/com.acme/all=1 +LISTS/com.acme/other=1 +LISTS/plain=1");
    xds_subscribe(&self->delta, "LISTS", LISTS "all plain");
    xds_ask_for(&self->sotw, "LISTS", LISTS "all");
    xds_pair_expect(self, "LISTS[plain] LISTS[" LISTS "all]", "LISTS[?]");
    xds_change(&self->world, "+LISTS/com.acme/all=2 +LISTS/com.acme/other=2");
    xds_pair_expect(self, "LISTS[" LISTS "all]", "LISTS[?]");
}

/* The payload of a list has no name: who can read a Resource is told it by that. */
static void
lists_are_wrapped_for_who_takes_that(void **state)
{
    xds_one *self = *state;
    self->client.features[0] = "xds.config.resource-in-sotw";
    xds_change(&self->world, "+LISTS/com.acme/all=1 +LISTS/com.acme/some=1");
    xds_ask_for(&self->client, "LISTS", LISTS "%61ll " LISTS "some");
    xds_expect(&self->client, "LISTS[" LISTS "%61ll= " LISTS "some=]");
}

#define DELTA(test) cmocka_unit_test_setup_teardown(test, xds_one_setup_delta, xds_one_teardown)
#define SOTW(test) cmocka_unit_test_setup_teardown(test, xds_one_setup_sotw, xds_one_teardown)
#define ONE(test) cmocka_unit_test_setup_teardown(test, xds_one_setup, xds_one_teardown)
#define PAIR(test) cmocka_unit_test_setup_teardown(test, xds_pair_setup, xds_pair_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DELTA(a_name_is_answered_as_it_was_spelled),
        DELTA(another_spelling_is_the_same_subscription),
        PAIR(all_parameters_count),
        DELTA(names_stand_beside_plain_ones_and_wildcards),
        DELTA(what_is_no_name_is_missing),
        DELTA(a_missing_name_waits_until_that_is_certain),
        DELTA(an_alias_is_answered_by_the_name_that_was_asked_for),
        DELTA(who_resumes_is_sent_what_has_changed),
        SOTW(sotw_serves_what_says_its_own_name),
        SOTW(a_state_has_names_of_both_kinds),
        ONE(a_fetch_is_by_name_like_the_rest),
        DELTA(members_come_and_go_one_by_one),
        DELTA(an_empty_collection_is_said_to_be_missing_once_certain),
        DELTA(several_globs_beside_names_and_wildcards),
        DELTA(a_glob_in_another_spelling_takes_the_place_of_the_first),
        DELTA(what_went_before_a_new_spelling_is_told_in_that),
        DELTA(the_end_of_a_name_that_a_glob_holds_is_told),
        SOTW(only_delta_has_globs),
        DELTA(who_asks_for_a_glob_alone_is_sent_nothing_else),
        DELTA(a_wildcard_that_holds_nothing_is_answered_beside_a_glob),
        DELTA(globs_are_bounded),
        DELTA(what_a_changed_cluster_waits_for_comes_again),
        DELTA(what_changed_endpoints_wait_for_comes_again),
        PAIR(lists_are_resources_of_their_own),
        SOTW(lists_are_wrapped_for_who_takes_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
