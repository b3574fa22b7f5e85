/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are asked for each group of clients by itself. */
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

#include "base/alloc.h"

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
    fed_advance(bed, 250);
    fed_come(bed, ONE, "n1");
    assert_orders(bed, ""); /* nothing new */
    fed_come(bed, ONE, "n1b");
    assert_orders(bed, "reach com.acme/clients/one as n1b, hangup d");
    fed_close(bed, 'd');
    assert_orders(bed, "dial d"); /* at once: nothing has failed */
    assert_value(bed, "CDS", ONE "/x", "1");
    fed_come(bed, ONE, NULL); /* one who does not say */
    assert_orders(bed, "");
}

static size_t
count_words(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++)
        n++;
    return n;
}

/* With every second another Node, or two that have one name space and say it in turn. */
static void
who_changes_for_ever_is_no_storm(void **state)
{
    fed_bed *bed = *state;
    char id[20] = "";
    size_t n_dials = 0;
    start(bed);
    fed_come(bed, ONE, "n");
    connect(bed, 'd');
    serve(bed, 'd', ONE, "1");
    (void)fed_orders(bed);
    for (int second = 0; second < 600; second++) {
        snprintf(id, sizeof(id), "n%d", second % 7);
        fed_come(bed, ONE, id);
        fed_advance(bed, 1000);
        const char *orders = fed_orders(bed);
        if (!strstr(orders, "hangup d"))
            continue;
        assert_int_equal(count_words(orders, "reach"), 1);
        fed_close(bed, 'd');
        n_dials += count_words(fed_orders(bed), "dial d");
        connect(bed, 'd');
        (void)fed_orders(bed);
    }
    assert_in_range(n_dials, 40, 50); /* every 15 s, after the first few */
    fed_come(bed, ONE, "last");
    fed_advance(bed, 15000);
    assert_int_equal(count_words(fed_orders(bed), "as last"), 1);
}

/* Nothing takes over from it: it has not failed. */
static void
who_changes_keeps_his_source(void **state)
{
    fed_bed *bed = *state;
    start_with_two(bed);
    fed_come(bed, ONE, "n1");
    connect(bed, 'd');
    serve(bed, 'd', ONE, "1");
    fed_advance(bed, 1000);
    (void)fed_orders(bed);
    fed_come(bed, ONE, "n2");
    fed_close(bed, 'd');
    assert_int_equal(count_words(fed_orders(bed), "dial e"), 0);
    fed_advance(bed, 1999);
    assert_orders(bed, "");
    fed_advance(bed, 1); /* as for any source that does not come */
    assert_orders(bed, "dial e");
}

/* It was lost, and another is in use: that is not given up for a Node that changes. */
static void
a_client_that_changes_keeps_its_standby(void **state)
{
    fed_bed *bed = *state;
    start_with_two(bed);
    fed_come(bed, ONE, "n1");
    connect(bed, 'd');
    fed_close(bed, 'd');
    connect(bed, 'e');
    serve(bed, 'e', ONE, "2");
    fed_advance(bed, 1000);
    (void)fed_orders(bed);
    fed_come(bed, ONE, "n2");
    assert_int_equal(count_words(fed_orders(bed), "unsub"), 0);
    fed_close(bed, 'e');
    connect(bed, 'e');
    fed_advance(bed, 5000);
    assert_value(bed, "CDS", ONE "/x", "2");
    assert_true(fed_settled(bed, "CDS", ONE));
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
    fed_advance(bed, 30000);
    assert_value(bed, "CDS", ONE "/x", "1");
    assert_false(fed_settled(bed, "CDS", ONE)); /* which is told first */
    fed_advance(bed, 1000);
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
    fed_advance(bed, 31000);
    (void)fed_publish(bed, 'd', "CDS", ONE "/x=1");
    assert_value(bed, "CDS", ONE "/x", "");
    fed_come(bed, TWO, "n2");
    fed_go(bed, TWO);
    fed_advance(bed, 31000);
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
    fed_advance(bed, 300000);
    assert_value(bed, "CDS", TWO "/x", "2");
    fed_advance(bed, 1000);
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

/* However deep it lies, by name or by wildcards of it, of more and of less; and not what is wanted
 * no more, or elsewhere. */
static void
what_was_wanted_before_a_group_came_is_asked_for(void **state)
{
    fed_bed *bed = *state;
    fed_ask_per_clients(bed, 'a');
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', HERE, UDPAI_STOP_ON_SUCCESS, true});
    fed_start(bed);
    fed_want(bed, "CDS", ONE "/1/2/3/4/5/6/7/8/9/x");
    fed_want(bed, "CDS", ONE "/gone");
    fed_want_no_more(bed, "CDS", ONE "/gone");
    fed_want(bed, "CDS", TWO "/x");
    fed_come(bed, ONE, "n1");
    connect(bed, 'd');
    assert_non_null(strstr(fed_orders(bed), "sub d CDS com.acme/clients/one:"
                                            "clients/one/1/2/3/4/5/6/7/8/9/x"));
    fed_come(bed, ONE "/1/2/3/4/5/6/7/8/9", "n2");
    connect(bed, 'e');
    assert_non_null(strstr(fed_orders(bed), "/9:clients/one/1/2/3/4/5/6/7/8/9/x"));
    fed_want(bed, "EDS", "*com.acme"); /* of no type of theirs */
    fed_want(bed, "CDS", "*" TWO);
    fed_come(bed, TWO, "n3");
    connect(bed, 'f');
    const char *orders = fed_orders(bed);
    assert_non_null(strstr(orders, "sub f CDS com.acme/clients/two:*"));
    assert_non_null(strstr(orders, "sub f CDS com.acme/clients/two:clients/two/x"));
}

/* Whoever comes under ever other names, and goes. */
static void
those_that_have_gone_make_room(void **state)
{
    fed_bed *bed = *state;
    char name_space[60];
    bed->config.max_clients = 4;
    start(bed);
    fed_come(bed, ONE, "n1");
    for (int i = 0; i < 50; i++) {
        snprintf(name_space, sizeof(name_space), "%s/%d", HERE, i);
        fed_come(bed, name_space, "n2");
        fed_go(bed, name_space);
    }
    assert_int_equal(count_words(fed_orders(bed), "dial"), 4);
    fed_come(bed, TWO, "n2"); /* and stays */
    assert_orders(bed, "");
    fed_advance(bed, 3000);
    assert_int_equal(count_words(fed_orders(bed), "reach com.acme/clients/two as n2"), 1);
    fed_advance(bed, 60000);
    fed_come(bed, ONE, "n3"); /* it was none of those that went */
    assert_int_equal(count_words(fed_orders(bed), "reach com.acme/clients/one as n3"), 1);
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
    assert_non_null(strstr(udpa_error_message(error), "the provider must name the types"));
    udpa_error_unref(error);
}

/* The source that was dialled last. */
static char
dialled(fed_bed *bed)
{
    const char *orders = fed_orders(bed), *at = NULL;
    for (const char *next = orders; (next = strstr(next, "dial ")); next++)
        at = next;
    assert_non_null(at);
    return at[strlen("dial ")];
}

/* However much memory there is when a group comes, changes and goes: it is asked for, as who it is
 * now, and nothing is left of it. */
static void
without_memory_it_takes_longer(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    for (long n = 0; n < 200; n++) {
        fed_short(bed, n / 2, n % 2);
        fed_come(bed, ONE, "n1");
        fed_advance(bed, 16000);
        char source = dialled(bed);
        connect(bed, source);
        assert_false(fed_settled(bed, "CDS", ONE));
        serve(bed, source, ONE, "1");
        assert_true(fed_settled(bed, "CDS", ONE));
        (void)fed_orders(bed);
        fed_short(bed, n / 2, n % 2);
        fed_come(bed, ONE, "n2");
        fed_advance(bed, 2000);
        assert_non_null(strstr(fed_orders(bed), "reach com.acme/clients/one as n2"));
        fed_close(bed, source);
        assert_int_equal(dialled(bed), source);
        connect(bed, source);
        serve(bed, source, ONE, "2");
        fed_short(bed, n / 2, n % 2);
        fed_go(bed, ONE);
        fed_advance(bed, 33000);
        assert_value(bed, "CDS", ONE "/x", "");
        assert_false(fed_settled(bed, "CDS", ONE));
        assert_int_equal(bed->kept.n, 0);
        fed_restart(bed); /* links are numbered anew */
    }
}

/* What there is no memory for when a group ends. */
static void
without_memory_it_ends_later(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    for (long n = 0; n < 100; n++) {
        fed_come(bed, ONE, "n1");
        connect(bed, 'd');
        serve(bed, 'd', ONE, "1");
        fed_go(bed, ONE);
        fed_advance(bed, 29999);
        (void)fed_orders(bed);
        for (int second = 0; second < 2; second++) { /* both steps of the end */
            udpai_alloc_fail_after(n);
            udpai_wheel_advance(&bed->wheel, bed->wheel.now_ms + (second ? 1000 : 1));
            udpai_node_flush(bed->node);
            udpai_alloc_fail_after(-1);
            fed_advance(bed, second ? 5000 : 0);
        }
        assert_non_null(strstr(fed_orders(bed), "hangup d"));
        assert_value(bed, "CDS", ONE "/x", "");
        assert_false(fed_settled(bed, "CDS", ONE));
        assert_int_equal(bed->kept.n, 0);
        fed_restart(bed);
    }
}

/* So many resources of somebody's expire when the group ends, and fill what is to be kept. */
static void
end_short_of_memory(fed_bed *bed, int n_others, long n_allocations)
{
    char name[40];
    uint64_t publisher = fed_arrive(bed, &(fed_peer){.id = "p"});
    fed_go(bed, ONE);
    for (int i = 0; i < n_others; i++) {
        snprintf(name, sizeof(name), "com.other/%d", i);
        (void)fed_put(bed, publisher,
                      RESOURCE(name, .type = TEST_EDS, .value = "1", .ttl_ms = 30999), false);
    }
    fed_advance(bed, 30000);
    (void)fed_orders(bed);
    udpai_alloc_fail_after(n_allocations);
    udpai_wheel_advance(&bed->wheel, bed->wheel.now_ms + 1000);
    udpai_alloc_fail_after(-1);
}

/* It comes back while its end waits for memory: what it is told then is kept. */
static void
one_that_ends_by_halves_may_come_back(void **state)
{
    fed_bed *bed = *state;
    start_with_two(bed);
    for (long n = 0; n < 200; n++) {
        fed_come(bed, ONE, "n1");
        connect(bed, 'd');
        serve(bed, 'd', ONE, "1");
        end_short_of_memory(bed, (int)(n / 20), n % 20);
        fed_come(bed, ONE, "n1");
        const char *orders = fed_orders(bed);
        char source = strstr(orders, "dial f") ? 'f' : 'd'; /* it had ended */
        if (source == 'f' || strstr(orders, "hangup")) {
            fed_close(bed, 'd');
            fed_advance(bed, source == 'f' ? 0 : 1000);
            connect(bed, source);
        }
        serve(bed, source, ONE, "2");
        fed_restart(bed);
        assert_value(bed, "CDS", ONE "/x", "2");
        fed_advance(bed, 302000);
        fed_restart(bed);
    }
}

static void
drop_order(void *userdata, udpai_order *order)
{
    (void)userdata;
    udpai_order_free(order);
}

/* Nothing of it is forgotten for want of memory. */
static void
without_memory_nothing_is_restored_by_halves(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_come(bed, ONE, "n1");
    connect(bed, 'd');
    serve(bed, 'd', ONE, "1");
    size_t n_kept = bed->kept.n;
    udpa_err err = UDPA_ERR_NOMEM;
    for (long n = 0; err != UDPA_OK; n++) {
        const udpai_node_env env = {.wall_us = no_time, .order = drop_order};
        assert_true(n < 1000);
        bed->node = udpai_node_free(bed->node);
        assert_ok(udpai_node_new(&bed->node, &bed->wheel, &bed->config, &env, NULL));
        err = UDPA_OK;
        udpai_alloc_fail_after(n);
        for (size_t i = 0; i < n_kept && err == UDPA_OK; i++)
            err = udpai_node_restore(bed->node, &bed->kept.items[i]);
        udpai_alloc_fail_after(-1);
        if (err == UDPA_OK)
            assert_value(bed, "CDS", ONE "/x", "1");
        else
            assert_int_equal(err, UDPA_ERR_NOMEM);
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
        fed_test(who_changes_for_ever_is_no_storm),
        fed_test(who_changes_keeps_his_source),
        fed_test(a_client_that_changes_keeps_its_standby),
        fed_test(who_does_not_say_who_he_is_is_asked_for_too),
        fed_test(what_was_for_a_group_goes_a_while_after_it),
        fed_test(what_comes_too_late_is_not_taken),
        fed_test(after_a_restart_it_is_there_for_who_comes_back),
        fed_test(what_no_source_asks_for_any_more_is_forgotten),
        fed_test(on_demand_it_is_what_the_group_wants),
        fed_test(what_was_wanted_before_a_group_came_is_asked_for),
        fed_test(those_that_have_gone_make_room),
        fed_test(a_provider_must_say_its_types),
        fed_test(without_memory_it_takes_longer),
        fed_test(without_memory_it_ends_later),
        fed_test(one_that_ends_by_halves_may_come_back),
        fed_test(without_memory_nothing_is_restored_by_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
