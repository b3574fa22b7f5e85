/* SPDX-License-Identifier: Apache-2.0 */
/* Reporting, over real streams: who gets it, and how long it stands. */
#include "listener.h"

#include <stdio.h>

#include "base/alloc.h"
#include "model/client_type.h"

static void
begin(test_pair *pair)
{
    pair_begin(pair);
    pair->interest_linger_ms = 20;
    pair_serve_node(pair);
    pair_dial(pair, pair->port, NULL);
}

static udpa_report_options
options_of(const char *about, const char *text)
{
    udpa_report_options options = UDPA_REPORT_OPTIONS_INIT;
    options.type_url = "udpa.health.v1.EndpointHealth";
    options.about = about;
    options.payload = text;
    options.payload_size = strlen(text);
    options.ttl_ms = 60000;
    return options;
}

static void
report(udpa_endpoint *endpoint, const char *about, const char *text)
{
    const udpa_report_options options = options_of(about, text);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpa_report(endpoint, &options, &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
}

/* Whatever an endpoint reports, a node that was told of the type asks for it. */
static void
test_further_types(void **state)
{
    const udpai_str type = UDPAI_STR("type.googleapis.com/com.acme.Temperature");
    (void)state;
    test_pair pair;
    test_listener listener = {0};
    assert_ok(udpai_client_types_set(&type, 1));
    begin(&pair);
    udpa_report_options options = options_of("com.acme/oven", "hot");
    options.type_url = "com.acme.Temperature";
    assert_ok(udpa_report(pair.client, &options, NULL));
    listener_open(&listener, pair.server, type.data, "com.acme", NULL);
    pair_run_until(&pair, &listener.n_reports, 1);
    assert_string_equal(listener.name, "com.acme/oven/client");
    assert_str(listener_payload(&listener), "hot");
    listener_done(&listener);
    pair_end(&pair);
    assert_ok(udpai_client_types_set(NULL, 0));
}

static void
test_told_replaced_and_withdrawn(void **state)
{
    (void)state;
    test_pair pair;
    test_listener listener = {0}, late = {0}, other = {0};
    begin(&pair);
    report(pair.client, "com.acme/a", "one"); /* before anybody wants it */
    listener_open(&other, pair.server, TEST_HEALTH, "org.other", NULL);
    listener_open(&listener, pair.server, TEST_HEALTH, "com.acme", NULL);
    pair_run_until(&pair, &listener.n_reports, 1);
    assert_string_equal(listener.name, "com.acme/a/client");
    assert_str(listener_payload(&listener), "one");
    assert_true(listener.ttl_ms > 0 && listener.ttl_ms <= 60000);
    report(pair.client, "com.acme/a", "two");
    pair_run_until(&pair, &listener.n_reports, 2);
    assert_str(listener_payload(&listener), "two");
    listener_open(&late, pair.server, TEST_HEALTH, NULL, "com.acme/a/client");
    pair_run_until(&pair, &late.n_reports, 1);
    udpa_report_withdraw(pair.client, TEST_HEALTH, "com.acme/a");
    pair_run_until(&pair, &listener.n_removals, 1);
    pair_run_until(&pair, &late.n_removals, 1);
    assert_string_equal(late.name, "com.acme/a/client");
    assert_int_equal(other.n_reports + other.n_removals, 0);
    report(pair.client, "com.acme/a", "three");
    pair_run_until(&pair, &late.n_reports, 2);
    udpa_report_withdraw(pair.client, "udpa.health.v1.EndpointHealth", "com.acme/a");
    pair_run_until(&pair, &late.n_removals, 2);
    listener_done(&listener);
    listener_done(&late);
    pair_end(&pair);
}

static void
test_withdrawing_what_was_not_reported(void **state)
{
    (void)state;
    static char long_name[2000];
    test_pair pair;
    test_listener listener = {0};
    begin(&pair);
    report(pair.client, "com.acme/a", "one");
    memset(long_name, 'x', sizeof(long_name) - 1);
    udpa_report_withdraw(pair.client, TEST_HEALTH, "com.acme/b");
    udpa_report_withdraw(pair.client, TEST_LOAD, "com.acme/a");
    udpa_report_withdraw(pair.client, TEST_HEALTH, long_name);
    udpa_report_withdraw(pair.client, long_name, "com.acme/a");
    listener_open(&listener, pair.server, TEST_HEALTH, "com.acme", NULL);
    pair_run_until(&pair, &listener.n_reports, 1);
    listener_done(&listener);
    pair_end(&pair);
}

/* What a client's id holds does not divide the name. */
static void
test_the_id_is_one_segment(void **state)
{
    (void)state;
    test_pair pair;
    test_listener listener = {0};
    udpa_source source = UDPA_SOURCE_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    char address[32];
    pair_begin(&pair);
    pair_serve_node(&pair);
    snprintf(address, sizeof(address), "127.0.0.1:%d", pair.port);
    source.name = "node";
    source.address = address;
    options.node_id = "sidecar~10.0.0.1/a b%\xc3\xa9";
    options.sources = &source;
    options.n_sources = 1;
    assert_ok(udpa_endpoint_new(&pair.client, &pair.loop, &options, NULL));
    report(pair.client, "com.acme/a", "one");
    listener_open(&listener, pair.server, TEST_HEALTH, "com.acme/a", NULL);
    pair_run_until(&pair, &listener.n_reports, 1);
    assert_string_equal(listener.name, "com.acme/a/sidecar~10.0.0.1%2Fa%20b%25%C3%A9");
    assert_true(udpa_has_demand(pair.client, TEST_HEALTH, "com.acme/a"));
    listener_done(&listener);
    pair_end(&pair);
}

/* Endpoints are told what others report, by the node that both have. */
static void
test_another_endpoint_hears_it(void **state)
{
    (void)state;
    test_pair pair;
    test_listener listener = {0};
    udpa_source source = UDPA_SOURCE_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    udpa_endpoint *other = NULL;
    char address[32];
    begin(&pair);
    snprintf(address, sizeof(address), "127.0.0.1:%d", pair.port);
    source.name = "node";
    source.address = address;
    options.node_id = "other";
    options.sources = &source;
    options.n_sources = 1;
    assert_ok(udpa_endpoint_new(&other, &pair.loop, &options, NULL));
    listener_open(&listener, other, TEST_HEALTH, "com.acme", NULL);
    report(pair.client, "com.acme/a", "one");
    pair_run_until(&pair, &listener.n_reports, 1);
    assert_string_equal(listener.name, "com.acme/a/client");
    report(pair.client, "com.acme/a", "two");
    pair_run_until(&pair, &listener.n_reports, 2);
    udpa_report_withdraw(pair.client, TEST_HEALTH, "com.acme/a");
    pair_run_until(&pair, &listener.n_removals, 1);
    pair_close(&pair, &other);
    listener_done(&listener);
    pair_end(&pair);
}

/* ---- time ---- */

static void
count_up(uv_timer_t *timer)
{
    ++*(unsigned *)timer->data;
}

/* Lets the loop run for a while: what is looked for is that nothing happens in it. */
static void
run_for(test_pair *pair, uint64_t ms)
{
    unsigned n = 0;
    uv_timer_t timer;
    assert_ok(uv_timer_init(&pair->loop, &timer));
    timer.data = &n;
    uv_timer_start(&timer, count_up, ms, 0);
    pair_run_until(pair, &n, 1);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&pair->loop, UV_RUN_NOWAIT);
}

static void
test_renewed_as_long_as_it_stands(void **state)
{
    (void)state;
    test_pair pair;
    test_listener listener = {0};
    udpa_report_options options = options_of("com.acme/a", "one");
    options.ttl_ms = 1000;
    begin(&pair);
    assert_ok(udpa_report(pair.client, &options, NULL));
    listener_open(&listener, pair.server, TEST_HEALTH, "com.acme", NULL);
    pair_run_until(&pair, &listener.n_reports, 1);
    run_for(&pair, 2600);
    assert_int_equal(listener.n_removals, 0);
    assert_int_equal(listener.n_reports, 1); /* a refresh is no news */
    pair_close(&pair, &pair.client);
    pair_run_until(&pair, &listener.n_removals, 1); /* it is not heard of any more */
    listener_done(&listener);
    pair_end(&pair);
}

/* ---- receipts ---- */

static bool
looks_at_all(void *userdata, const udpa_resource *resource)
{
    (void)userdata;
    (void)resource;
    return true;
}

static udpa_err
refuse_the_bad(void *userdata,
               const udpa_resource *resource,
               udpai_str from,
               udpa_error **ret_error)
{
    (void)userdata;
    return udpai_str_eq(udpai_resource_value(resource), UDPAI_STR("bad"))
               ? udpai_fail(ret_error, UDPA_ERR_INVAL, "that is no health")
               : UDPA_OK;
}

static void
test_a_receipt_says_why(void **state)
{
    (void)state;
    test_pair pair;
    test_receipt good = {0}, bad = {0};
    udpa_report_options options = options_of("com.acme/a", "good");
    pair_begin(&pair);
    pair.inspector = (udpai_inspector){looks_at_all, refuse_the_bad, NULL, NULL};
    pair_serve_node(&pair);
    pair_dial(&pair, pair.port, NULL);
    options.receipt = receipt_fn;
    options.userdata = &good;
    assert_ok(udpa_report(pair.client, &options, NULL)); /* that nobody wants */
    assert_int_equal(good.n_receipts, 0);
    pair_run_until(&pair, &good.n_receipts, 1);
    assert_int_equal(good.code, UDPA_OK);
    assert_int_equal(good.n_refused, 0);
    assert_string_equal(good.name, "com.acme/a/client");
    options = options_of("com.acme/a", "bad");
    options.receipt = receipt_fn;
    options.receipt_source = "the server";
    options.userdata = &bad;
    assert_ok(udpa_report(pair.client, &options, NULL));
    pair_run_until(&pair, &bad.n_receipts, 1);
    assert_int_equal(bad.n_refused, 1);
    assert_non_null(strstr(bad.refusal, "that is no health"));
    pair_end(&pair);
}

/* Of two calls that belong together the second one fails: nothing has happened. */
static void
test_a_source_that_is_not_there(void **state)
{
    (void)state;
    test_pair pair;
    test_listener listener = {0}, none = {0};
    test_receipt receipt = {0};
    begin(&pair);
    report(pair.client, "com.acme/a", "one");
    const char *const abouts[] = {"com.acme/a", "com.acme/none"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(abouts); i++) {
        udpa_report_options options = options_of(abouts[i], "two");
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        options.receipt = receipt_fn;
        options.userdata = &receipt;
        options.receipt_source = "nobody";
        assert_int_equal(udpa_report(pair.client, &options, &error), UDPA_ERR_INVAL);
        assert_non_null(strstr(udpa_error_message(error), "no source 'nobody'"));
    }
    listener_open(&none, pair.server, TEST_HEALTH, "com.acme/none", NULL);
    listener_open(&listener, pair.server, TEST_HEALTH, "com.acme/a", NULL);
    pair_run_until(&pair, &listener.n_reports, 1);
    assert_str(listener_payload(&listener), "one");
    assert_int_equal(receipt.n_receipts, 0);
    assert_int_equal(none.n_reports, 0);
    listener_done(&listener);
    pair_end(&pair);
}

/* ---- several sources ---- */

#define CONFIG "type.googleapis.com/test.Config"

typedef struct two_nodes {
    test_pair pair;
    udpa_endpoint *nodes[2];
    test_listener listeners[2];
    test_ear ear;
} two_nodes;

/* A node that has a resource of its own. */
static void
serve(two_nodes *self, int which, const char *name)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = RESOURCE(name, .type = CONFIG, .value = "1", .version = "1");
    const udpai_directory directory = {
        .root = UDPAI_STR("files"), .resources = &resource, .n_resources = 1};
    self->pair.port = 0;
    pair_serve_node(&self->pair);
    self->nodes[which] = UDPAI_TAKE(self->pair.server);
    assert_ok(udpai_node_set_files(udpai_endpoint_node(self->nodes[which]), &directory, NULL));
    udpai_endpoint_touch(self->nodes[which]);
}

/* The client has a and b side by side, and has been sent com.acme/x by a, com.acme/y by b. */
static void
begin_two(two_nodes *self, udpa_source sources[2])
{
    udpa_descriptor descriptors[2] = {UDPA_DESCRIPTOR_INIT, UDPA_DESCRIPTOR_INIT};
    udpa_provider provider = UDPA_PROVIDER_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    udpa_subscribe_options subscribe = UDPA_SUBSCRIBE_OPTIONS_INIT;
    static const char *const names[] = {"a", "b"}, *const resources[] = {"com.acme/x",
                                                                         "com.acme/y"};
    char addresses[2][32];
    *self = (two_nodes){0};
    pair_begin(&self->pair);
    for (int i = 0; i < 2; i++) {
        serve(self, i, resources[i]);
        snprintf(addresses[i], sizeof(addresses[i]), "127.0.0.1:%d", self->pair.port);
        sources[i].name = descriptors[i].source = names[i];
        sources[i].address = addresses[i];
        descriptors[i].continuation = UDPA_CONTINUE;
    }
    provider.descriptors = descriptors;
    provider.n_descriptors = 2;
    options.node_id = "client";
    options.sources = sources;
    options.n_sources = 2;
    options.providers = &provider;
    options.n_providers = 1;
    assert_ok(udpa_endpoint_new(&self->pair.client, &self->pair.loop, &options, NULL));
    subscribe.type_url = CONFIG;
    subscribe.name_space = "com.acme";
    subscribe.update = ear_fn;
    subscribe.userdata = &self->ear;
    assert_ok(udpa_subscribe(&self->ear.subscription, self->pair.client, &subscribe, NULL));
    pair_run_until(&self->pair, &self->ear.n_additions, 2);
    for (int i = 0; i < 2; i++)
        listener_open(&self->listeners[i], self->nodes[i], TEST_HEALTH, "com.acme", NULL);
}

static void
end_two(two_nodes *self)
{
    for (int i = 0; i < 2; i++) {
        listener_done(&self->listeners[i]);
        pair_close(&self->pair, &self->nodes[i]);
    }
    pair_end(&self->pair);
}

static void
report_of(two_nodes *self, const char *about, const char *subject, const char *text)
{
    udpa_report_options options = options_of(about, text);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    options.subject_type_url = "test.Config";
    options.subject_name = subject;
    if (udpa_report(self->pair.client, &options, &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
}

static void
test_each_source_is_told_of_what_it_has_delivered(void **state)
{
    (void)state;
    two_nodes self;
    udpa_source sources[2] = {UDPA_SOURCE_INIT, UDPA_SOURCE_INIT};
    begin_two(&self, sources);
    report_of(&self, "com.acme/x", NULL, "one");
    report_of(&self, "com.acme/thing", "com.acme/y", "two");
    pair_run_until(&self.pair, &self.listeners[0].n_reports, 1);
    pair_run_until(&self.pair, &self.listeners[1].n_reports, 1);
    assert_string_equal(self.listeners[0].name, "com.acme/x/client");
    assert_string_equal(self.listeners[1].name, "com.acme/thing/client");
    /* It speaks of something else now. */
    report_of(&self, "com.acme/thing", "com.acme/x", "two");
    pair_run_until(&self.pair, &self.listeners[1].n_removals, 1);
    pair_run_until(&self.pair, &self.listeners[0].n_reports, 2);
    assert_string_equal(self.listeners[0].name, "com.acme/thing/client");
    report(self.pair.client, "com.acme/thing", "three"); /* or of who knows what */
    pair_run_until(&self.pair, &self.listeners[0].n_reports, 3);
    pair_run_until(&self.pair, &self.listeners[1].n_reports, 2);
    assert_str(listener_payload(&self.listeners[1]), "three");
    end_two(&self);
}

static void
test_who_stands_by_is_told_all_of_a_type(void **state)
{
    (void)state;
    two_nodes self;
    const char *const types[] = {"udpa.health.v1.EndpointHealth"};
    udpa_source sources[2] = {UDPA_SOURCE_INIT, UDPA_SOURCE_INIT};
    sources[1].standby = types;
    sources[1].n_standby = 1;
    begin_two(&self, sources);
    report_of(&self, "com.acme/x", NULL, "one");
    pair_run_until(&self.pair, &self.listeners[0].n_reports, 1);
    pair_run_until(&self.pair, &self.listeners[1].n_reports, 1);
    end_two(&self);
}

/* Who is not named, is whom the report is for. */
static void
test_the_deliverer_says_the_receipt(void **state)
{
    (void)state;
    two_nodes self;
    test_receipt receipt = {0};
    udpa_source sources[2] = {UDPA_SOURCE_INIT, UDPA_SOURCE_INIT};
    begin_two(&self, sources);
    udpa_report_options options = options_of("com.acme/y", "one");
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    options.receipt = receipt_fn;
    options.userdata = &receipt;
    assert_int_equal(udpa_report(self.pair.client, &options, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "name the one"));
    options.subject_type_url = CONFIG;
    assert_ok(udpa_report(self.pair.client, &options, NULL));
    pair_run_until(&self.pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.code, UDPA_OK);
    assert_int_equal(receipt.n_refused, 0);
    pair_run_until(&self.pair, &self.listeners[1].n_reports, 1);
    assert_int_equal(self.listeners[0].n_reports, 0);
    end_two(&self);
}

/* ---- mistakes ---- */

static void
test_mistakes(void **state)
{
    (void)state;
    test_pair pair;
    static char large[4 << 20];
    udpa_report_options mistakes[11];

    const struct {
        udpa_err code;
        const char *words;
    } expected[UDPAI_ARRAY_LEN(mistakes)] = {
        {UDPA_ERR_INVAL, "struct_size"},   {UDPA_ERR_INVAL, "type_url"},
        {UDPA_ERR_INVAL, "about"},         {UDPA_ERR_INVAL, "no-namespace"},
        {UDPA_ERR_INVAL, "ttl_ms"},        {UDPA_ERR_INVAL, "ttl_ms"},
        {UDPA_ERR_LIMIT, "bytes"},         {UDPA_ERR_DENIED, "reserved"},
        {UDPA_ERR_INVAL, "of which type"}, {UDPA_ERR_INVAL, "subject_type_url"},
        {UDPA_ERR_INVAL, "'x'"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(mistakes); i++)
        mistakes[i] = options_of("com.acme/a", "one");
    mistakes[0].struct_size--;
    mistakes[1].type_url = "";
    mistakes[2].about = NULL;
    mistakes[3].about = "no-namespace";
    mistakes[4].ttl_ms = 0;
    mistakes[5].ttl_ms = 999;
    mistakes[6].payload = large, mistakes[6].payload_size = sizeof(large);
    mistakes[7].about = "udpa.node/x";
    mistakes[8].subject_name = "com.acme/x";
    mistakes[9].subject_type_url = "";
    mistakes[10].subject_type_url = CONFIG;
    mistakes[10].subject_name = "x";
    pair_begin(&pair);
    pair_dial(&pair, 1, NULL);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(mistakes); i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_equal(udpa_report(pair.client, &mistakes[i], &error), expected[i].code);
        if (!strstr(udpa_error_message(error), expected[i].words))
            fail_msg("'%s' does not say '%s'", udpa_error_message(error), expected[i].words);
    }
    udpa_endpoint *client = pair.client;
    const udpa_report_options good = options_of("com.acme/a", "one");
    pair.client = NULL;
    udpa_endpoint_close(client, pair_count_closed, &pair);
    assert_int_equal(udpa_report(client, &good, NULL), UDPA_ERR_CLOSED);
    udpa_report_withdraw(client, TEST_HEALTH, "com.acme/a");
    pair_run_until(&pair, &pair.n_closed, 1);
    pair_end(&pair);
}

static void
test_reports_are_bounded(void **state)
{
    (void)state;
    test_pair pair;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    char about[32];
    pair_begin(&pair);
    pair_dial(&pair, 1, NULL);
    for (unsigned i = 0; i < 65536; i++) {
        snprintf(about, sizeof(about), "com.acme/%u", i);
        report(pair.client, about, "one");
    }
    const udpa_report_options more = options_of("com.acme/more", "one");
    assert_int_equal(udpa_report(pair.client, &more, &error), UDPA_ERR_LIMIT);
    report(pair.client, "com.acme/7", "two");
    udpa_report_withdraw(pair.client, TEST_HEALTH, "com.acme/7");
    assert_ok(udpa_report(pair.client, &more, NULL));
    pair_end(&pair);
}

/* The other threads rest: nobody is dialled. */
static void
test_without_memory(void **state)
{
    (void)state;
    test_pair pair;
    udpa_endpoint_options alone = UDPA_ENDPOINT_OPTIONS_INIT;
    alone.node_id = "client";
    udpa_report_options options = options_of("com.acme/a", "one");
    options.subject_type_url = "test.Config";
    udpa_err err = UDPA_ERR_NOMEM;
    long n = 0;
    pair_begin(&pair);
    assert_ok(udpa_endpoint_new(&pair.client, &pair.loop, &alone, NULL));
    for (; err == UDPA_ERR_NOMEM && n < 1000; n++) {
        udpai_alloc_fail_after(n);
        err = udpa_report(pair.client, &options, NULL);
        udpai_alloc_fail_after(-1);
    }
    assert_ok(err);
    assert_true(n > 3);
    udpai_alloc_fail_after(0);
    udpa_report_withdraw(pair.client, TEST_HEALTH, "com.acme/a");
    udpai_alloc_fail_after(-1);
    pair_end(&pair);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told_replaced_and_withdrawn),
        cmocka_unit_test(test_further_types),
        cmocka_unit_test(test_withdrawing_what_was_not_reported),
        cmocka_unit_test(test_the_id_is_one_segment),
        cmocka_unit_test(test_another_endpoint_hears_it),
        cmocka_unit_test(test_renewed_as_long_as_it_stands),
        cmocka_unit_test(test_each_source_is_told_of_what_it_has_delivered),
        cmocka_unit_test(test_who_stands_by_is_told_all_of_a_type),
        cmocka_unit_test(test_the_deliverer_says_the_receipt),
        cmocka_unit_test(test_a_receipt_says_why),
        cmocka_unit_test(test_a_source_that_is_not_there),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_reports_are_bounded),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("endpoint report", tests, NULL, NULL);
}
