/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are asked for each group of clients by itself. */
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

#define HERE "com.acme/clients"
#define ONE HERE "/one"
#define TWO HERE "/two"

static void
start(fed_bed *bed)
{
    fed_ask_per_clients(bed, 'a');
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', HERE, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
}

static void
start_with_two(fed_bed *bed)
{
    fed_ask_per_clients(bed, 'a');
    fed_ask_per_clients(bed, 'b');
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', HERE, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', HERE, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
}

static void
connect(fed_bed *bed, char source)
{
    fed_connect_as(bed, source, &(fed_peer){.is_xds = true});
    fed_speak(bed, source);
}

/* The source has one cluster, which is all. */
static void
serve(fed_bed *bed, char source, const char *name_space, const char *value)
{
    char words[300];
    snprintf(words, sizeof(words), "%s/x=%s !%s", name_space, value, name_space);
    assert_string_equal(fed_publish(bed, source, "CDS", words), "");
}

static void
each_group_has_a_stream(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_orders(bed, "");
    fed_come(bed, ONE, "n1");
    assert_orders(bed, "reach com.acme/clients/one as n1, dial d");
    fed_come(bed, TWO, "n2");
    assert_orders(bed, "reach com.acme/clients/two as n2, dial e");
    connect(bed, 'd');
    assert_orders(bed, "sub d CDS com.acme/clients/one:*");
    connect(bed, 'e');
    assert_orders(bed, "sub e CDS com.acme/clients/two:*");
    serve(bed, 'd', ONE, "1");
    serve(bed, 'e', TWO, "2");
    assert_value(bed, "CDS", ONE "/x", "1");
    assert_value(bed, "CDS", TWO "/x", "2");
}

/* The stream of one is not believed about the other. */
static void
a_stream_speaks_for_its_group(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_come(bed, ONE, "n1");
    fed_come(bed, TWO, "n2");
    connect(bed, 'd');
    assert_string_not_equal(fed_publish(bed, 'd', "CDS", TWO "/x=1"), "");
    assert_value(bed, "CDS", TWO "/x", "");
}

static void
of_a_group_nothing_is_known_before_it_is_asked_for(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_false(fed_settled(bed, "CDS", ONE));
    assert_false(fed_name_settled(bed, "CDS", ONE "/x"));
    assert_true(fed_settled(bed, "CDS", "com.acme/other"));
    fed_come(bed, ONE, "n1");
    assert_false(fed_settled(bed, "CDS", ONE));
    assert_false(fed_settled(bed, "CDS", "com.acme"));
    connect(bed, 'd');
    assert_false(fed_name_settled(bed, "CDS", ONE "/x"));
    serve(bed, 'd', ONE, "1");
    assert_true(fed_settled(bed, "CDS", ONE));
    assert_true(fed_name_settled(bed, "CDS", ONE "/y"));
    assert_false(fed_settled(bed, "CDS", TWO));
    assert_false(fed_name_settled(bed, "CDS", TWO "/x"));
    assert_true(fed_settled(bed, "CDS", "com.acme")); /* of all groups that there are */
    fed_come(bed, TWO, "n2");
    assert_false(fed_settled(bed, "CDS", "com.acme"));
}

static void
others_name_spaces_are_nobodys_matter(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_come(bed, "com.acme/groups/one", "n1");
    assert_orders(bed, "");
    fed_go(bed, "com.acme/groups/one");
    fed_go(bed, ONE);
    assert_orders(bed, "");
}

static void
one_stream_that_ends_is_one_groups_matter(void **state)
{
    fed_bed *bed = *state;
    start_with_two(bed);
    fed_come(bed, ONE, "n1");
    assert_orders(bed, "reach com.acme/clients/one as n1, reach com.acme/clients/one as n1, "
                       "dial d");
    fed_come(bed, TWO, "n2");
    (void)fed_orders(bed);
    connect(bed, 'd');
    connect(bed, 'f');
    serve(bed, 'd', ONE, "1");
    serve(bed, 'f', TWO, "2");
    (void)fed_orders(bed);
    fed_close(bed, 'd');
    assert_orders(bed, "dial e"); /* b, for the first group */
    assert_value(bed, "CDS", ONE "/x", "1");
    connect(bed, 'e');
    serve(bed, 'e', ONE, "3");
    assert_value(bed, "CDS", ONE "/x", "3");
    assert_value(bed, "CDS", TWO "/x", "2");
    assert_true(fed_settled(bed, "CDS", ONE));
    fed_advance(bed, 125);
    assert_orders(bed, "sub e CDS com.acme/clients/one:*, dial d");
}

static void
who_has_changed_is_asked_for_anew(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_come(bed, ONE, "n1");
    connect(bed, 'd');
    serve(bed, 'd', ONE, "1");
    (void)fed_orders(bed);
    fed_come(bed, ONE, "n1");
    assert_orders(bed, ""); /* nothing new */
    fed_come(bed, ONE, "n1b");
    assert_orders(bed, "reach com.acme/clients/one as n1b, hangup d");
    fed_close(bed, 'd');
    fed_advance(bed, 125);
    assert_orders(bed, "dial d");
    assert_value(bed, "CDS", ONE "/x", "1");
    fed_come(bed, ONE, NULL); /* one who does not say */
    assert_orders(bed, "");
}

static void
who_does_not_say_who_he_is_is_asked_for_too(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_come(bed, ONE, NULL);
    assert_orders(bed, "reach com.acme/clients/one as nobody, dial d");
}

static void
what_was_for_a_group_goes_a_while_after_it(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_come(bed, ONE, "n1");
    connect(bed, 'd');
    serve(bed, 'd', ONE, "1");
    fed_go(bed, ONE);
    fed_advance(bed, 29999);
    fed_come(bed, ONE, "n1"); /* just in time */
    (void)fed_orders(bed);
    fed_advance(bed, 60000);
    assert_orders(bed, "");
    fed_go(bed, ONE);
    fed_advance(bed, 29999);
    assert_value(bed, "CDS", ONE "/x", "1");
    fed_advance(bed, 1);
    assert_non_null(strstr(fed_orders(bed), "hangup d"));
    assert_value(bed, "CDS", ONE "/x", "");
    assert_false(fed_settled(bed, "CDS", ONE));
    assert_int_equal(bed->kept.n, 0);
    fed_close(bed, 'd'); /* of what is forgotten */
    fed_come(bed, ONE, "n1");
    assert_orders(bed, "reach com.acme/clients/one as n1, dial e");
}

/* It is on its way when the group ends, and nobody's then. */
static void
what_comes_too_late_is_not_taken(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_come(bed, ONE, "n1");
    connect(bed, 'd');
    fed_go(bed, ONE);
    fed_advance(bed, 30000);
    (void)fed_publish(bed, 'd', "CDS", ONE "/x=1");
    assert_value(bed, "CDS", ONE "/x", "");
    fed_come(bed, TWO, "n2");
    fed_go(bed, TWO);
    fed_advance(bed, 30000);
    connect(bed, 'e'); /* its stream was open already */
    (void)fed_publish(bed, 'e', "CDS", TWO "/x=1");
    assert_value(bed, "CDS", TWO "/x", "");
}

static void
after_a_restart_it_is_there_for_who_comes_back(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_come(bed, ONE, "n1");
    fed_come(bed, TWO, "n2");
    connect(bed, 'd');
    connect(bed, 'e');
    serve(bed, 'd', ONE, "1");
    serve(bed, 'e', TWO, "2");
    fed_restart(bed);
    assert_orders(bed, ""); /* who they are is not known */
    assert_value(bed, "CDS", ONE "/x", "1");
    assert_true(fed_settled(bed, "CDS", ONE));
    fed_come(bed, ONE, "n1");
    assert_non_null(strstr(fed_orders(bed), "reach com.acme/clients/one as n1, dial "));
    fed_advance(bed, 299999);
    assert_value(bed, "CDS", TWO "/x", "2");
    fed_advance(bed, 1);
    assert_value(bed, "CDS", TWO "/x", "");
    assert_value(bed, "CDS", ONE "/x", "1");
}

/* Another process is configured otherwise. */
static void
what_no_source_asks_for_any_more_is_forgotten(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_come(bed, ONE, "n1");
    connect(bed, 'd');
    serve(bed, 'd', ONE, "1");
    assert_int_not_equal(bed->kept.n, 0);
    bed->sources[0].target_for = NULL;
    fed_restart(bed);
    assert_value(bed, "CDS", ONE "/x", "");
    for (size_t i = 0; i < bed->kept.n; i++)
        assert_memory_not_equal(udpa_bytes_data(bed->kept.items[i].origin), "source:a/", 9);
}

static void
on_demand_it_is_what_the_group_wants(void **state)
{
    fed_bed *bed = *state;
    fed_ask_per_clients(bed, 'a');
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', HERE, UDPAI_STOP_ON_SUCCESS, true});
    fed_start(bed);
    fed_want(bed, "CDS", ONE "/early");
    fed_come(bed, ONE, "n1");
    connect(bed, 'd');
    assert_non_null(strstr(fed_orders(bed), "sub d CDS com.acme/clients/one:clients/one/early"));
    fed_want(bed, "CDS", ONE "/x");
    assert_orders(bed, "sub d CDS com.acme/clients/one:clients/one/x");
    assert_false(fed_name_settled(bed, "CDS", ONE "/x"));
    (void)fed_publish(bed, 'd', "CDS", "!" ONE); /* of the first question */
    assert_true(fed_name_settled(bed, "CDS", ONE "/early"));
    (void)fed_publish(bed, 'd', "CDS", "!" ONE);
    assert_true(fed_name_settled(bed, "CDS", ONE "/x"));
    fed_want(bed, "CDS", "*com.acme"); /* of all groups */
    assert_orders(bed, "sub d CDS com.acme/clients/one:*");
    fed_want_no_more(bed, "CDS", ONE "/x");
    fed_advance(bed, 30000);
    assert_orders(bed, "unsub d CDS com.acme/clients/one:clients/one/x");
}

static int64_t
no_time(void *userdata)
{
    (void)userdata;
    return 0;
}

static void
a_provider_must_say_its_types(void **state)
{
    fed_bed *bed = *state;
    fed_ask_per_clients(bed, 'a');
    FED_PROVIDER(bed, {'a', HERE, UDPAI_STOP_ON_SUCCESS, false});
    const udpai_node_env env = {.wall_us = no_time};
    udpa_error *error = NULL;
    bed->config.n_sources = 1;
    assert_int_not_equal(udpai_node_new(&bed->node, &bed->wheel, &bed->config, &env, &error),
                         UDPA_OK);
    assert_non_null(strstr(udpa_error_message(error), "the provider must say of which types"));
    udpa_error_unref(error);
}

static void
without_memory_nothing_is_left_over(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    for (long n = 0; n < 60; n++) {
        bed->is_short = true;
        bed->n_allocations = n;
        fed_come(bed, ONE, "n1");
        fed_come(bed, ONE, "n1"); /* another stream of it */
        const char *link = strstr(fed_orders(bed), "dial ");
        assert_non_null(link);
        fed_go(bed, ONE);
        fed_advance(bed, 30000);
        (void)fed_orders(bed);
        fed_restart(bed); /* links are numbered anew */
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(each_group_has_a_stream),
        fed_test(a_stream_speaks_for_its_group),
        fed_test(of_a_group_nothing_is_known_before_it_is_asked_for),
        fed_test(others_name_spaces_are_nobodys_matter),
        fed_test(one_stream_that_ends_is_one_groups_matter),
        fed_test(who_has_changed_is_asked_for_anew),
        fed_test(who_does_not_say_who_he_is_is_asked_for_too),
        fed_test(what_was_for_a_group_goes_a_while_after_it),
        fed_test(what_comes_too_late_is_not_taken),
        fed_test(after_a_restart_it_is_there_for_who_comes_back),
        fed_test(what_no_source_asks_for_any_more_is_forgotten),
        fed_test(on_demand_it_is_what_the_group_wants),
        fed_test(a_provider_must_say_its_types),
        fed_test(without_memory_nothing_is_left_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
