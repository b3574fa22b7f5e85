/* SPDX-License-Identifier: Apache-2.0 */
/* A load recorder that is reported: only what is wanted, and as long as it is. */
#include <udpa/load.h>

#include "listener.h"
#include "reports/load_policy.h"
#include "tests/harness/wire.h"
#include "tests/unit/recorder/recording.h"

struct load_test {
    test_pair pair;
    udpa_load_recorder *recorder;
    udpa_load_target *a, *b; /* com.acme/a and com.acme/b */
};

static void
begin(struct load_test *test, uint64_t interval_ms, bool per_endpoint)
{
    udpa_load_report_options options = UDPA_LOAD_REPORT_OPTIONS_INIT;
    memset(test, 0, sizeof(*test));
    pair_begin(&test->pair);
    test->pair.interest_linger_ms = 20;
    test->pair.load_interval_ms = 100;
    pair_serve_node(&test->pair);
    pair_dial(&test->pair, test->pair.port, NULL);
    test->recorder = new_recorder(0, 0);
    test->a = get_target(test->recorder, "com.acme/a", "192.0.2.1");
    test->b = get_target(test->recorder, "com.acme/b", "192.0.2.1");
    options.interval_ms = interval_ms;
    options.per_endpoint = per_endpoint;
    assert_ok(udpa_load_report_begin(test->pair.client, test->recorder, &options, NULL));
}

static void
end(struct load_test *test)
{
    udpa_load_target_unref(test->a);
    udpa_load_target_unref(test->b);
    udpa_load_recorder_unref(test->recorder);
    pair_end(&test->pair);
    wire_free_all();
}

/* Until what it says at this path is so much. */
static udpai_str
await_number(struct load_test *test, test_listener *listener, const char *path, uint64_t n)
{
    while (listener->n_reports == 0 || number_at(listener_payload(listener), path) < n)
        pair_run_until(&test->pair, &listener->n_reports, listener->n_reports + 1);
    return listener_payload(listener);
}

static void
test_reported_while_it_is_wanted(void **state)
{
    (void)state;
    struct load_test test;
    test_listener listener = {0};
    begin(&test, 100, false);
    count_requests(test.a, 3, 1); /* before anybody wants it */
    count_requests(test.b, 1, 0);
    listener_open(&listener, test.pair.server, TEST_LOAD, "com.acme/a", NULL);
    pair_run_until(&test.pair, &listener.n_reports, 1);
    assert_string_equal(listener.name, "com.acme/a/client");
    assert_true(listener.ttl_ms > 9000 && listener.ttl_ms <= 10300);
    udpai_str load = listener_payload(&listener);
    uint64_t epoch = number_at(load, "3");
    assert_str(text_at(load, "1"), "com.acme/a");
    assert_int_equal(number_at(load, "5.5.3"), 0);
    count_requests(test.a, 4, 2);
    load = await_number(&test, &listener, "5.5.3", 6);
    assert_string_equal(listener.name, "com.acme/a/client");
    assert_int_equal(number_at(load, "3"), epoch);
    assert_int_equal(number_at(load, "5.5.1"), 4);
    assert_int_equal(number_at(load, "5.5.2"), 2);
    assert_int_equal(text_at(load, "5.8").len, 0);
    assert_true(number_at(load, "4.2") > 0 || number_at(load, "4.1") > 0);
    listener_done(&listener);
    end(&test);
}

static void
test_single_endpoints(void **state)
{
    (void)state;
    struct load_test test;
    test_listener listener = {0};
    begin(&test, 100, true);
    listener_open(&listener, test.pair.server, TEST_LOAD, NULL, "com.acme/a/client");
    pair_run_until(&test.pair, &listener.n_reports, 1);
    count_requests(test.a, 3, 1);
    udpai_str load = await_number(&test, &listener, "5.8.3.3", 4);
    assert_str(text_at(load, "5.8.1"), "192.0.2.1");
    assert_int_equal(number_at(load, "5.8.3.1"), 3);
    listener_done(&listener);
    end(&test);
}

static void
test_at_once(void **state)
{
    (void)state;
    struct load_test test;
    test_listener listener = {0};
    begin(&test, 3600000, true);
    listener_open(&listener, test.pair.server, TEST_LOAD, "com.acme/b", NULL);
    pair_run_until(&test.pair, &listener.n_reports, 1);
    listener_done(&listener);
    end(&test);
}

/* Nobody wants it: it is withdrawn where it was reported, and not read any more. */
static void
test_not_wanted_any_more(void **state)
{
    (void)state;
    struct load_test test;
    test_listener a = {0}, b = {0}, again = {0};
    test_watch watch = {0};
    begin(&test, 100, false);
    watch_open(&watch, &test.pair);
    listener_open(&a, test.pair.server, TEST_LOAD, "com.acme/a", NULL);
    listener_open(&b, test.pair.server, TEST_LOAD, "com.acme/b", NULL);
    pair_run_until(&test.pair, &a.n_reports, 1);
    pair_run_until(&test.pair, &b.n_reports, 1);
    udpa_unsubscribe(a.subscription);
    pair_run_until(&test.pair, &watch.n_unwanted, 1);
    unsigned n = a.n_reports;
    count_requests(test.a, 5, 0);
    unsigned n_of_b = b.n_reports;
    pair_run_until(&test.pair, &b.n_reports, n_of_b + 3);
    assert_int_equal(a.n_reports, n);
    listener_open(&again, test.pair.server, TEST_LOAD, "com.acme/a", NULL);
    (void)await_number(&test, &again, "5.5.1", 5);
    udpa_load_report_end(test.pair.client);
    pair_run_until(&test.pair, &again.n_removals, 1);
    pair_run_until(&test.pair, &b.n_removals, 1);
    udpa_load_report_end(test.pair.client); /* there is none */
    listener_done(&a);
    listener_done(&b);
    listener_done(&again);
    end(&test);
}

static void
test_a_forgotten_cluster_is_withdrawn(void **state)
{
    (void)state;
    struct load_test test;
    test_listener listener = {0};
    begin(&test, 100, false);
    udpa_load_report_end(test.pair.client);
    udpa_load_recorder *small = new_recorder(1, 0);
    udpa_load_report_options options = UDPA_LOAD_REPORT_OPTIONS_INIT;
    options.interval_ms = 100;
    assert_ok(udpa_load_report_begin(test.pair.client, small, &options, NULL));
    udpa_load_target_unref(get_target(small, "com.acme/old", NULL));
    listener_open(&listener, test.pair.server, TEST_LOAD, "com.acme", NULL);
    pair_run_until(&test.pair, &listener.n_reports, 1);
    assert_string_equal(listener.name, "com.acme/old/client");
    udpa_load_target_unref(get_target(small, "com.acme/new", NULL));
    pair_run_until(&test.pair, &listener.n_removals, 1);
    udpa_load_recorder_unref(small);
    listener_done(&listener);
    end(&test);
}

/* The node's aggregate is what was counted, to the request. */
static void
test_a_node_adds_it_up(void **state)
{
    (void)state;
    struct load_test test;
    test_listener listener = {0};
    begin(&test, 100, true);
    listener_open(&listener, test.pair.server, "udpa.load.v1.ClusterLoad", "com.acme/a", NULL);
    pair_run_until(&test.pair, &listener.n_reports, 1);
    uint64_t n = 0;
    for (unsigned i = 1; i <= 5; i++) {
        count_requests(test.a, i * 100, i);
        n += i * 101;
        udpai_str aggregate = await_number(&test, &listener, "5.5.3", n);
        assert_string_equal(listener.name, "com.acme/a/server");
        assert_int_equal(number_at(aggregate, "5.5.3"), n);
        assert_int_equal(number_at(aggregate, "5.5.1") + number_at(aggregate, "5.5.2"), n);
        assert_int_equal(number_at(aggregate, "9"), 1); /* client */
    }
    listener_done(&listener);
    end(&test);
}

/* What files of the server's node say; 0 ms: nothing. */
static void
rule(struct load_test *test, const char *prefix, uint32_t ms, bool per_endpoint)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any =
        udpai_any_make(UDPAI_STR(UDPAI_TYPE_LOAD_REPORTING),
                       W_JOIN(W_TEXT(1, prefix), W_MESSAGE(2, W_VARINT(2, (uint64_t)ms * 1000000)),
                              W_VARINT(3, (uint64_t)per_endpoint)));
    const udpai_resource_parts parts = {.name = UDPAI_STR("com.acme/rule"), .any = any};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    assert_ok(udpai_resource_make(&resource, &parts));
    const udpai_directory directory = {
        .root = UDPAI_STR("r"), .resources = &resource, .n_resources = ms != 0};
    assert_ok(udpai_node_set_files(udpai_endpoint_node(test->pair.server), &directory, NULL));
    udpai_endpoint_touch(test->pair.server);
}

/* The application's own settings are those of an hour, and of no single endpoints. */
static void
test_resources_say_how_often(void **state)
{
    (void)state;
    struct load_test test;
    test_listener a = {0}, b = {0};
    begin(&test, 3600000, false);
    rule(&test, "com.acme/a", 150, true);
    listener_open(&a, test.pair.server, TEST_LOAD, "com.acme/a", NULL);
    listener_open(&b, test.pair.server, TEST_LOAD, "com.acme/b", NULL);
    pair_run_until(&test.pair, &b.n_reports, 1);
    while (a.n_reports == 0 || a.ttl_ms > 20000)
        pair_run_until(&test.pair, &a.n_reports, a.n_reports + 1);
    unsigned n_of_b = 0;
    for (unsigned i = 1; i <= 3; i++) {
        count_requests(test.a, 3, 1);
        count_requests(test.b, 3, 1);
        udpai_str load = await_number(&test, &a, "5.8.3.3", 4 * i);
        assert_int_equal(number_at(load, "5.5.3"), 4 * i);
        n_of_b = i == 1 ? b.n_reports : n_of_b;
    }
    assert_int_equal(b.n_reports, n_of_b); /* it is not due */
    uint64_t epoch = number_at(listener_payload(&a), "3");
    rule(&test, "com.acme/a", 200, false);
    while (number_at(listener_payload(&a), "3") == epoch) /* endpoints begin and end with one */
        pair_run_until(&test.pair, &a.n_reports, a.n_reports + 1);
    assert_int_equal(text_at(listener_payload(&a), "5.8").len, 0);
    count_requests(test.a, 3, 1); /* so that it is no mere refresh */
    rule(&test, "", 0, false);
    while (a.ttl_ms < 20000)
        pair_run_until(&test.pair, &a.n_reports, a.n_reports + 1);
    listener_done(&a);
    listener_done(&b);
    end(&test);
}

static void
test_rules_that_cannot_be_followed_are_refused(void **state)
{
    (void)state;
    struct load_test test;
    test_receipt receipt = {0}, second = {0};
    begin(&test, 100, false);
    udpa_resource *wrong =
        RESOURCE("com.acme/rule", .type = UDPAI_TYPE_LOAD_REPORTING, .value = "\x0a\x03net");
    publish_one(&receipt, &test.pair, test.pair.client, wrong);
    pair_run_until(&test.pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.n_refused, 1);
    assert_non_null(strstr(receipt.refusal, "lies outside 'com.acme'"));
    udpa_resource *right = RESOURCE("com.acme/rule", .type = UDPAI_TYPE_LOAD_REPORTING,
                                    .value = "\x0a\x08"
                                             "com.acme");
    publish_one(&second, &test.pair, test.pair.client, right);
    pair_run_until(&test.pair, &second.n_receipts, 1);
    assert_int_equal(second.n_refused, 0);
    end(&test);
}

static void
test_mistakes(void **state)
{
    (void)state;
    struct load_test test;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_load_report_options options = UDPA_LOAD_REPORT_OPTIONS_INIT;
    begin(&test, 0, false);
    assert_int_equal(udpa_load_report_begin(test.pair.client, test.recorder, NULL, &error),
                     UDPA_ERR_EXISTS);
    assert_non_null(strstr(udpa_error_message(error), "already"));
    udpa_load_report_end(test.pair.client);
    options.struct_size--;
    assert_int_equal(udpa_load_report_begin(test.pair.client, test.recorder, &options, NULL),
                     UDPA_ERR_INVAL);
    options.struct_size++;
    options.interval_ms = 99;
    assert_int_equal(udpa_load_report_begin(test.pair.client, test.recorder, &options, NULL),
                     UDPA_ERR_INVAL);
    options.interval_ms = (uint64_t)48 * 3600 * 1000;
    assert_int_equal(udpa_load_report_begin(test.pair.client, test.recorder, &options, NULL),
                     UDPA_ERR_INVAL);
    assert_ok(udpa_load_report_begin(test.pair.client, test.recorder, NULL, NULL));
    udpa_endpoint *client = test.pair.client;
    test.pair.client = NULL;
    udpa_endpoint_close(client, pair_count_closed, &test.pair);
    assert_int_equal(udpa_load_report_begin(client, test.recorder, NULL, NULL), UDPA_ERR_CLOSED);
    udpa_load_report_end(client);
    pair_run_until(&test.pair, &test.pair.n_closed, 1);
    end(&test);
}

/* ---- several sources ---- */

#define SHARED "type.googleapis.com/udpa.load.v1.SharedClientLoad"

/* A client of two servers, of which it counts for both what nobody has delivered. */
static udpa_endpoint *
begin_with_two(struct load_test *test)
{
    static const char *const standby[] = {TEST_LOAD};
    char addresses[2][32];
    udpa_source sources[2] = {UDPA_SOURCE_INIT, UDPA_SOURCE_INIT};
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    udpa_load_report_options load = UDPA_LOAD_REPORT_OPTIONS_INIT;
    memset(test, 0, sizeof(*test));
    pair_begin(&test->pair);
    test->pair.interest_linger_ms = 20;
    test->pair.load_interval_ms = 100;
    pair_serve_node(&test->pair);
    udpa_endpoint *first = test->pair.server;
    snprintf(addresses[0], sizeof(addresses[0]), "127.0.0.1:%d", test->pair.port);
    pair_serve_node(&test->pair);
    snprintf(addresses[1], sizeof(addresses[1]), "127.0.0.1:%d", test->pair.port);
    for (int i = 0; i < 2; i++) {
        sources[i].name = i ? "second" : "first";
        sources[i].address = addresses[i];
        sources[i].standby = standby;
        sources[i].n_standby = 1;
    }
    options.node_id = "client";
    options.sources = sources;
    options.n_sources = 2;
    assert_ok(udpa_endpoint_new(&test->pair.client, &test->pair.loop, &options, NULL));
    test->recorder = new_recorder(0, 0);
    test->a = get_target(test->recorder, "com.acme/a", "192.0.2.1");
    test->b = get_target(test->recorder, "com.acme/b", "192.0.2.1");
    load.interval_ms = 100;
    assert_ok(udpa_load_report_begin(test->pair.client, test->recorder, &load, NULL));
    return first;
}

static void
test_shared_by_two_sources(void **state)
{
    (void)state;
    struct load_test test;
    test_listener load = {0}, shared = {0};
    udpa_endpoint *first = begin_with_two(&test);
    listener_open(&load, first, TEST_LOAD, "com.acme/a", NULL);
    listener_open(&shared, test.pair.server, SHARED, "com.acme/a", NULL);
    pair_run_until(&test.pair, &shared.n_reports, 1);
    pair_run_until(&test.pair, &load.n_reports, 1);
    count_requests(test.a, 4, 0);
    (void)await_number(&test, &load, "5.5.1", 4);
    udpai_str said = await_number(&test, &shared, "5.5.1", 4);
    assert_string_equal(shared.name, "com.acme/a/client");
    assert_int_equal(number_at(said, "8"), 1);
    assert_int_equal(number_at(said, "9.1"), 10);
    assert_int_equal(number_at(said, "9.2"), 300000000);
    uint64_t epoch = number_at(said, "3");
    udpai_str same = listener_payload(&load);
    assert_int_equal(number_at(same, "3"), epoch);
    assert_int_equal(number_at(same, "8"), 1);
    /* One of them dies; the other is told on, of the same epoch, and of a type it wants no more. */
    udpa_unsubscribe(load.subscription);
    pair_close(&test.pair, &first);
    count_requests(test.a, 3, 0);
    said = await_number(&test, &shared, "5.5.1", 7);
    assert_int_equal(number_at(said, "3"), epoch);
    udpa_load_report_end(test.pair.client);
    pair_run_until(&test.pair, &shared.n_removals, 1);
    listener_done(&shared);
    listener_done(&load);
    end(&test);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reported_while_it_is_wanted),
        cmocka_unit_test(test_single_endpoints),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_not_wanted_any_more),
        cmocka_unit_test(test_a_forgotten_cluster_is_withdrawn),
        cmocka_unit_test(test_a_node_adds_it_up),
        cmocka_unit_test(test_resources_say_how_often),
        cmocka_unit_test(test_rules_that_cannot_be_followed_are_refused),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_shared_by_two_sources),
    };
    return cmocka_run_group_tests_name("endpoint load_report", tests, NULL, NULL);
}
