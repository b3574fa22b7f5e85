/* SPDX-License-Identifier: Apache-2.0 */
/* Who is told what is wanted, and when. */
#include "listener.h"

static void
begin(test_pair *pair)
{
    pair_begin(pair);
    pair->interest_linger_ms = 20;
    pair_serve_node(pair);
    pair_dial(pair, pair->port, NULL);
}

static void
test_a_namespace_and_a_name(void **state)
{
    (void)state;
    test_pair pair;
    test_listener all = {0}, one = {0};
    test_watch watch = {0};
    begin(&pair);
    assert_int_equal(udpa_demand_watch_new(&watch.watch, pair.client, NULL, NULL), UDPA_ERR_INVAL);
    watch_open(&watch, &pair);
    assert_false(udpa_has_demand(pair.client, TEST_HEALTH, "com.acme/a"));
    listener_open(&all, pair.server, TEST_HEALTH, "com.acme", NULL);
    pair_run_until(&pair, &watch.n_wanted, 1);
    assert_string_equal(watch.type_url, TEST_HEALTH);
    assert_string_equal(watch.text, "*com.acme");
    assert_true(udpa_has_demand(pair.client, TEST_HEALTH, "com.acme/a"));
    assert_true(udpa_has_demand(pair.client, "udpa.health.v1.EndpointHealth", "com.acme.foo/a"));
    assert_false(udpa_has_demand(pair.client, TEST_HEALTH, "com.acmecorp/a"));
    assert_false(udpa_has_demand(pair.client, TEST_LOAD, "com.acme/a"));
    listener_open(&one, pair.server, TEST_LOAD, NULL, "org.other/a/client");
    pair_run_until(&pair, &watch.n_wanted, 2);
    assert_string_equal(watch.text, "org.other/a/client");
    assert_true(udpa_has_demand(pair.client, TEST_LOAD, "org.other/a"));
    assert_false(udpa_has_demand(pair.client, TEST_LOAD, "org.other/b"));
    assert_int_equal(watch.n_unwanted, 0);
    pair_end(&pair);
}

static void
test_not_wanted_any_more(void **state)
{
    (void)state;
    test_pair pair;
    test_listener first = {0}, second = {0};
    test_watch watch = {0};
    begin(&pair);
    watch_open(&watch, &pair);
    listener_open(&first, pair.server, TEST_HEALTH, "com.acme", NULL);
    listener_open(&second, pair.server, TEST_HEALTH, "com.acme", NULL);
    pair_run_until(&pair, &watch.n_wanted, 1);
    udpa_unsubscribe(first.subscription);
    listener_open(&first, pair.server, TEST_LOAD, "", NULL);
    pair_run_until(&pair, &watch.n_wanted, 2);
    assert_string_equal(watch.text, "*");
    assert_int_equal(watch.n_unwanted, 0); /* there is the second one */
    udpa_unsubscribe(second.subscription);
    pair_run_until(&pair, &watch.n_unwanted, 1);
    assert_string_equal(watch.text, "*com.acme");
    assert_false(udpa_has_demand(pair.client, TEST_HEALTH, "com.acme/a"));
    assert_true(udpa_has_demand(pair.client, TEST_LOAD, "com.acme/a"));
    pair_end(&pair);
}

static void
test_who_has_gone_wants_nothing(void **state)
{
    (void)state;
    test_pair pair;
    test_listener listener = {0};
    test_watch watch = {0};
    begin(&pair);
    watch_open(&watch, &pair);
    listener_open(&listener, pair.server, TEST_HEALTH, "com.acme", NULL);
    pair_run_until(&pair, &watch.n_wanted, 1);
    pair_close(&pair, &pair.server);
    pair_run_until(&pair, &watch.n_unwanted, 1);
    assert_false(udpa_has_demand(pair.client, TEST_HEALTH, "com.acme/a"));
    pair_end(&pair);
}

/* Who comes later is told of what there is, and who has ended is told nothing. */
static void
test_watches_come_and_go(void **state)
{
    (void)state;
    test_pair pair;
    test_listener listener = {0}, more = {0};
    test_watch first = {0}, second = {0}, ended = {0};
    begin(&pair);
    watch_open(&first, &pair);
    listener_open(&listener, pair.server, TEST_HEALTH, "com.acme", NULL);
    pair_run_until(&pair, &first.n_wanted, 1);
    watch_open(&ended, &pair);
    watch_open(&second, &pair);
    udpa_demand_watch_end(ended.watch);
    udpa_demand_watch_end(NULL);
    assert_int_equal(second.n_wanted, 0); /* nothing is called back before it returns */
    pair_run_until(&pair, &second.n_wanted, 1);
    assert_string_equal(second.text, "*com.acme");
    udpa_demand_watch_end(first.watch);
    listener_open(&more, pair.server, TEST_LOAD, "com.acme", NULL);
    pair_run_until(&pair, &second.n_wanted, 2);
    assert_int_equal(first.n_wanted, 1);
    assert_int_equal(ended.n_wanted, 0);
    pair_end(&pair);
}

static test_watch ending[2];

static void
end_both(test_watch *watch)
{
    (void)watch;
    udpa_demand_watch_end(ending[0].watch);
    udpa_demand_watch_end(ending[1].watch);
}

/* In a callback watches may end, the others and their own. */
static void
test_ending_inside_a_callback(void **state)
{
    (void)state;
    test_pair pair;
    test_listener listener = {0}, more = {0};
    test_watch lasting = {0};
    ending[0].also = ending[1].also = end_both;
    begin(&pair);
    watch_open(&ending[0], &pair);
    watch_open(&ending[1], &pair);
    watch_open(&lasting, &pair);
    listener_open(&listener, pair.server, TEST_HEALTH, "com.acme", NULL);
    pair_run_until(&pair, &lasting.n_wanted, 1);
    assert_int_equal(ending[0].n_wanted, 1);
    assert_int_equal(ending[1].n_wanted, 0);
    listener_open(&more, pair.server, TEST_LOAD, "com.acme", NULL);
    pair_run_until(&pair, &lasting.n_wanted, 2);
    assert_int_equal(ending[0].n_wanted + ending[1].n_wanted, 1);
    pair_end(&pair);
}

static void
close_the_client(test_watch *watch)
{
    udpa_demand_watch *none = NULL;
    udpa_endpoint *client = watch->pair->client;
    watch->pair->client = NULL;
    udpa_endpoint_close(client, pair_count_closed, watch->pair);
    assert_int_equal(udpa_demand_watch_new(&none, client, NULL, NULL), UDPA_ERR_CLOSED);
    assert_null(none);
}

static void
test_closing_inside_a_callback(void **state)
{
    (void)state;
    test_pair pair;
    test_listener listener = {0};
    test_watch closing = {.also = close_the_client}, other = {0};
    begin(&pair);
    watch_open(&closing, &pair);
    watch_open(&other, &pair);
    listener_open(&listener, pair.server, TEST_HEALTH, "com.acme", NULL);
    pair_run_until(&pair, &pair.n_closed, 1);
    assert_int_equal(closing.n_wanted, 1);
    assert_int_equal(other.n_wanted, 0);
    pair_end(&pair);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_namespace_and_a_name),
        cmocka_unit_test(test_not_wanted_any_more),
        cmocka_unit_test(test_who_has_gone_wants_nothing),
        cmocka_unit_test(test_watches_come_and_go),
        cmocka_unit_test(test_ending_inside_a_callback),
        cmocka_unit_test(test_closing_inside_a_callback),
    };
    return cmocka_run_group_tests_name("endpoint wanted", tests, NULL, NULL);
}
