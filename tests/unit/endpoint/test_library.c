/* SPDX-License-Identifier: Apache-2.0 */
/* Making endpoints: options that may not be, listening, TLS, and what is known of a source. */
#include "pair.h"

#include <stdio.h>

#include "tests/unit/transport/certificates.h"

/* ---- mistakes ---- */

typedef struct trial {
    udpa_endpoint_options options;
    udpa_source sources[2];
    udpa_tls tls;
    udpa_err code;
    const char *words;
} trial;

static trial
trial_new(udpa_err code, const char *words)
{
    trial self = {
        .options = UDPA_ENDPOINT_OPTIONS_INIT,
        .sources = {UDPA_SOURCE_INIT, UDPA_SOURCE_INIT},
        .tls = UDPA_TLS_INIT,
        .code = code,
        .words = words,
    };
    self.options.node_id = "me";
    self.sources[0].name = "a";
    self.sources[0].address = "127.0.0.1:1";
    self.sources[1].name = "b";
    self.sources[1].address = "127.0.0.1:1";
    return self;
}

static void
try(test_pair *pair, trial *self)
{
    udpa_endpoint *endpoint = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (!self->options.sources && self->options.n_sources)
        self->options.sources = self->sources;
    assert_int_equal(udpa_endpoint_new(&endpoint, &pair->loop, &self->options, &error), self->code);
    assert_null(endpoint);
    if (!strstr(udpa_error_message(error), self->words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), self->words);
}

static void
test_who_it_is(void **state)
{
    (void)state;
    test_pair pair;
    char longer[600] = {0};
    memset(longer, 'x', sizeof(longer) - 1);
    pair_begin(&pair);
    trial none = trial_new(UDPA_ERR_INVAL, "node_id is required");
    none.options.node_id = NULL;
    try(&pair, &none);
    trial empty = trial_new(UDPA_ERR_INVAL, "node_id is required");
    empty.options.node_id = "";
    try(&pair, &empty);
    trial too_long = trial_new(UDPA_ERR_INVAL, "zone is longer");
    too_long.options.zone = longer;
    try(&pair, &too_long);
    trial no_text = trial_new(UDPA_ERR_INVAL, "cluster is longer");
    no_text.options.cluster = "\xc0\x80";
    try(&pair, &no_text);
    trial old = trial_new(UDPA_ERR_INVAL, "UDPA_ENDPOINT_OPTIONS_INIT");
    old.options.struct_size = 0;
    try(&pair, &old);
    pair_end(&pair);
}

static void
test_sources(void **state)
{
    (void)state;
    test_pair pair;
    pair_begin(&pair);
    trial many = trial_new(UDPA_ERR_LIMIT, "65 sources");
    many.options.n_sources = 65;
    try(&pair, &many);
    trial nameless = trial_new(UDPA_ERR_INVAL, "a source's name is required");
    nameless.options.n_sources = 1;
    nameless.sources[0].name = NULL;
    try(&pair, &nameless);
    trial twice = trial_new(UDPA_ERR_INVAL, "two sources are called 'a'");
    twice.options.n_sources = 2;
    twice.sources[1].name = "a";
    try(&pair, &twice);
    trial neither = trial_new(UDPA_ERR_INVAL, "source 'b' needs either");
    neither.options.n_sources = 2;
    neither.sources[1].address = NULL;
    try(&pair, &neither);
    trial both = trial_new(UDPA_ERR_INVAL, "source 'a' needs either");
    both.options.n_sources = 1;
    both.sources[0].peer = "x";
    try(&pair, &both);
    trial deaf = trial_new(UDPA_ERR_INVAL, "there is no listen_address");
    deaf.options.n_sources = 1;
    deaf.sources[0].address = NULL;
    deaf.sources[0].peer = "x";
    try(&pair, &deaf);
    trial old = trial_new(UDPA_ERR_INVAL, "UDPA_SOURCE_INIT");
    old.options.n_sources = 1;
    old.sources[0].struct_size = 1;
    try(&pair, &old);
    pair_end(&pair);
}

static void
test_xds_servers(void **state)
{
    (void)state;
    test_pair pair;
    udpa_xds_server server = UDPA_XDS_SERVER_INIT;
    pair_begin(&pair);
    trial anybody = trial_new(UDPA_ERR_INVAL, "authority is required");
    anybody.options.n_sources = 1;
    anybody.sources[0].xds = &server;
    try(&pair, &anybody);
    server.authority = "mesh";
    server.name_space = "Com/";
    trial nowhere = trial_new(UDPA_ERR_INVAL, "'Com/'");
    nowhere.options.n_sources = 1;
    nowhere.sources[0].xds = &server;
    try(&pair, &nowhere);
    trial dials = trial_new(UDPA_ERR_INVAL, "xDS servers are dialled");
    dials.options.n_sources = 1;
    dials.options.listen_address = "127.0.0.1:0";
    dials.sources[0].xds = &server;
    dials.sources[0].address = NULL;
    dials.sources[0].peer = "x";
    try(&pair, &dials);
    trial old = trial_new(UDPA_ERR_INVAL, "UDPA_XDS_SERVER_INIT");
    old.options.n_sources = 1;
    old.sources[0].xds = &server;
    server.struct_size = 1;
    try(&pair, &old);
    pair_end(&pair);
}

static void
ignore_receipt(void *userdata, const udpa_receipt *receipt)
{
    (void)userdata;
    (void)receipt;
}

/* Nothing would ever say what became of it. */
static void
test_nothing_is_published_to_an_xds_server(void **state)
{
    (void)state;
    test_pair pair;
    pair_begin(&pair);
    udpa_xds_server server = UDPA_XDS_SERVER_INIT;
    udpa_source source = UDPA_SOURCE_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    server.authority = "mesh";
    server.name_space = "com.acme";
    source.name = "mesh";
    source.address = "127.0.0.1:1";
    source.xds = &server;
    options.node_id = "me";
    options.sources = &source;
    options.n_sources = 1;
    assert_ok(udpa_endpoint_new(&pair.client, &pair.loop, &options, NULL));
    udpa_publish_options publish = UDPA_PUBLISH_OPTIONS_INIT;
    static const char *const gone[] = {"com.acme/gone"};
    publish.removed_names = gone;
    publish.n_removed_names = 1;
    publish.removed_type_url = "type.googleapis.com/x.Y";
    publish.receipt = ignore_receipt;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpa_publish(pair.client, &publish, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "there is no source 'mesh' to publish to"));
    pair_end(&pair);
}

static void
test_tls_options(void **state)
{
    (void)state;
    test_pair pair;
    pair_begin(&pair);
    trial old = trial_new(UDPA_ERR_INVAL, "UDPA_TLS_INIT");
    old.options.n_sources = 1;
    old.sources[0].tls = &old.tls;
    old.tls.struct_size = 0;
    try(&pair, &old);
    trial nobody = trial_new(UDPA_ERR_INVAL, "ca_file");
    nobody.options.n_sources = 1;
    nobody.sources[0].tls = &nobody.tls;
    try(&pair, &nobody);
    trial missing = trial_new(UDPA_ERR_IO, "does-not-exist.pem");
    missing.options.n_sources = 1;
    missing.sources[0].tls = &missing.tls;
    missing.tls.ca_file = "does-not-exist.pem";
    try(&pair, &missing);
    trial listening = trial_new(UDPA_ERR_INVAL, "certificate_file");
    listening.options.listen_address = "127.0.0.1:0";
    listening.options.listen_tls = &listening.tls;
    try(&pair, &listening);
    pair_end(&pair);
}

static void
test_listening(void **state)
{
    (void)state;
    test_pair pair;
    char taken[32];
    pair_begin(&pair);
    trial exposed = trial_new(UDPA_ERR_INVAL, "beyond loopback");
    exposed.options.listen_address = "0.0.0.0:0";
    try(&pair, &exposed);
    trial nowhere = trial_new(UDPA_ERR_INVAL, "127.0.0.1:http");
    nowhere.options.listen_address = "127.0.0.1:http";
    try(&pair, &nowhere);
    pair_serve(&pair, NULL);
    snprintf(taken, sizeof(taken), "127.0.0.1:%d", pair.port);
    trial in_use = trial_new(UDPA_ERR_IO, taken);
    in_use.options.listen_address = taken;
    try(&pair, &in_use);
    pair_end(&pair); /* what had begun to be made has gone too */
}

/* ---- sources that cannot be reached ---- */

static void
on_look(uv_timer_t *timer)
{
    const test_pair *pair = timer->data;
    if (udpa_endpoint_source_error(pair->client, "the server"))
        uv_stop(timer->loop);
}

static void
test_source_error(void **state)
{
    (void)state;
    test_pair pair;
    uv_timer_t look;
    char where[32];
    pair_begin(&pair);
    pair_serve(&pair, NULL);
    int port = pair.port;
    pair_close(&pair, &pair.server);
    pair_dial(&pair, port, NULL);
    assert_null(udpa_endpoint_source_error(pair.client, "the server"));
    uv_timer_init(&pair.loop, &look);
    look.data = &pair;
    uv_timer_start(&look, on_look, 1, 1);
    uv_run(&pair.loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&look, NULL);
    snprintf(where, sizeof(where), "127.0.0.1:%d", port);
    const udpa_error *error = udpa_endpoint_source_error(pair.client, "the server");
    assert_non_null(strstr(udpa_error_message(error), where));
    assert_null(udpa_endpoint_source_error(pair.client, "nobody"));
    pair_end(&pair);
}

static void
test_without_sources(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {0};
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    pair_begin(&pair);
    options.node_id = "alone";
    assert_ok(udpa_endpoint_new(&pair.client, &pair.loop, &options, NULL));
    ear_open(&ear, &pair, pair.client, NULL);
    pair_run_until(&pair, &ear.n_complete, 1); /* nobody could have anything */
    assert_int_equal(ear.n_updates, 0);
    pair_end(&pair);
}

/* The first source in the list is not there: the second one counts. */
static void
test_second_source(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {0};
    test_receipt receipt = {0};
    udpa_endpoint *other = NULL;
    udpa_source sources[2] = {UDPA_SOURCE_INIT, UDPA_SOURCE_INIT};
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    char dead[32], alive[32];
    pair_begin(&pair);
    pair_serve(&pair, NULL);
    snprintf(dead, sizeof(dead), "127.0.0.1:%d", pair.port);
    pair_close(&pair, &pair.server);
    pair.port = 0;
    pair_serve_node(&pair);
    snprintf(alive, sizeof(alive), "127.0.0.1:%d", pair.port);
    sources[0].name = "dead";
    sources[0].address = dead;
    sources[1].name = "alive";
    sources[1].address = alive;
    sources[1].only_when_needed = true;
    options.node_id = "client";
    options.sources = sources;
    options.n_sources = 2;
    assert_ok(udpa_endpoint_new(&pair.client, &pair.loop, &options, NULL));
    ear_open(&ear, &pair, pair.client, NULL);
    pair_run_until(&pair, &ear.n_complete, 1);
    options.node_id = "other";
    sources[1].only_when_needed = false; /* nothing is asked of it */
    options.sources = &sources[1];
    options.n_sources = 1;
    assert_ok(udpa_endpoint_new(&other, &pair.loop, &options, NULL));
    publish_one(&receipt, &pair, other, RESOURCE("com.acme/a", .value = "1"));
    pair_run_until(&pair, &ear.n_additions, 1);
    assert_string_equal(ear.last_payload, "1");
    pair_close(&pair, &other);
    pair_end(&pair);
}

/* The first server of the list is not there, and the second one ends: the third one is the same
 * source. */
static void
test_a_list_of_servers(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {0};
    test_receipt receipt = {0};
    udpa_source source = UDPA_SOURCE_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    char list[100], second[32], third[32];
    pair_begin(&pair);
    pair_serve(&pair, NULL);
    int dead = pair.port;
    pair_close(&pair, &pair.server);
    pair_serve_node(&pair);
    udpa_endpoint *ends = pair.server;
    snprintf(second, sizeof(second), "127.0.0.1:%d", pair.port);
    pair_serve_node(&pair);
    snprintf(third, sizeof(third), "127.0.0.1:%d", pair.port);
    snprintf(list, sizeof(list), "127.0.0.1:%d, %s,%s", dead, second, third);
    source.name = "replicas";
    source.address = list;
    options.node_id = "client";
    options.sources = &source;
    options.n_sources = 1;
    assert_ok(udpa_endpoint_new(&pair.client, &pair.loop, &options, NULL));
    assert_null(udpa_endpoint_source_server(pair.client, "replicas"));
    ear_open(&ear, &pair, pair.client, NULL);
    pair_run_until(&pair, &ear.n_complete, 1);
    assert_string_equal(udpa_endpoint_source_server(pair.client, "replicas"), second);
    assert_null(udpa_endpoint_source_error(pair.client, "replicas")); /* not of the source */
    pair_close(&pair, &ends);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a", .value = "1"));
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.code, UDPA_OK);
    assert_string_equal(udpa_endpoint_source_server(pair.client, "replicas"), third);
    assert_null(udpa_endpoint_source_server(pair.client, "nobody"));
    pair_end(&pair);
}

static void
count_complete(void *userdata)
{
    ((test_ear *)userdata)->n_complete++;
}

/* As a simple DPLB: a server for each type, and no connection to one that only stands in. */
static void
test_another_source_for_another_type(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {0}, other = {0};
    udpa_source sources[2] = {UDPA_SOURCE_INIT, UDPA_SOURCE_INIT};
    udpa_descriptor descriptors[2] = {UDPA_DESCRIPTOR_INIT, UDPA_DESCRIPTOR_INIT};
    udpa_provider provider = UDPA_PROVIDER_INIT;
    const char *const things[] = {"test.Thing"};
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    udpa_subscribe_options subscribe = UDPA_SUBSCRIBE_OPTIONS_INIT;
    char address[32];
    pair_begin(&pair);
    pair_serve_node(&pair);
    snprintf(address, sizeof(address), "127.0.0.1:%d", pair.port);
    for (int i = 0; i < 2; i++) {
        sources[i].address = address;
        sources[i].only_when_needed = true;
    }
    sources[0].name = descriptors[1].source = "stand-in";
    sources[1].name = descriptors[0].source = "things";
    provider.types = things;
    provider.n_types = 1;
    provider.descriptors = descriptors;
    provider.n_descriptors = 2;
    options.node_id = "client";
    options.sources = sources;
    options.n_sources = 2;
    options.providers = &provider;
    options.n_providers = 1;
    assert_ok(udpa_endpoint_new(&pair.client, &pair.loop, &options, NULL));
    const udpai_node *node = udpai_endpoint_node(pair.client);
    ear_open(&ear, &pair, pair.client, NULL);
    pair_run_until(&pair, &ear.n_complete, 1);
    assert_true(udpai_node_may_publish_to(node, UDPAI_STR("things")));
    assert_false(udpai_node_may_publish_to(node, UDPAI_STR("stand-in")));
    subscribe.type_url = "test.Other"; /* which comes from nowhere */
    subscribe.update = ear_fn;
    subscribe.complete = count_complete;
    subscribe.userdata = &other;
    assert_ok(udpa_subscribe(&other.subscription, pair.client, &subscribe, NULL));
    pair_run_until(&pair, &other.n_complete, 1);
    pair_end(&pair);
}

/* ---- TLS ---- */

struct world {
    char *directory;
    char files[9][300];
};

static udpa_tls
tls_of(struct world *world, int at, const char *name)
{
    udpa_tls tls = UDPA_TLS_INIT;
    snprintf(world->files[at], 300, "%s/ca/%s.crt", world->directory, name);
    snprintf(world->files[at + 1], 300, "%s/ca/%s.key", world->directory, name);
    snprintf(world->files[at + 2], 300, "%s/ca/ca.crt", world->directory);
    tls.certificate_file = world->files[at];
    tls.private_key_file = world->files[at + 1];
    tls.ca_file = world->files[at + 2];
    return tls;
}

static void
issue_for(const struct world *world, const char *name, const char *kind, const char *host)
{
    const char *const options[] = {kind, host, NULL};
    udpai_tls_files files = {0};
    certificates_issue(&files, world->directory, "ca", name, options);
    udpai_tls_files_done(&files);
}

static void
issue(const struct world *world, const char *name)
{
    issue_for(world, name, "--dns", "server.test");
}

static void
test_tls(void **state)
{
    (void)state;
    struct world world = {.directory = certificates_begin()};
    test_pair pair;
    test_ear ear = {0};
    test_receipt receipt = {0};
    if (!world.directory)
        skip();
    issue(&world, "server");
    issue(&world, "client"); /* whose name is that of the server's source */
    udpa_tls server = tls_of(&world, 0, "server"), client = tls_of(&world, 3, "client");
    client.server_name = "server.test";
    pair_begin(&pair);
    pair_both(&pair, &server, &client);
    ear_open(&ear, &pair, pair.server, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a", .value = "sealed"));
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.code, UDPA_OK);
    assert_int_equal(receipt.n_refused, 0);
    assert_string_equal(ear.last_payload, "sealed");
    pair_end(&pair);
    certificates_end(world.directory);
}

static void
test_tls_of_another_name(void **state)
{
    (void)state;
    struct world world = {.directory = certificates_begin()};
    test_pair pair;
    test_receipt receipt = {.timeout_ms = 1000};
    if (!world.directory)
        skip();
    issue(&world, "server");
    issue(&world, "client");
    udpa_tls server = tls_of(&world, 0, "server"), client = tls_of(&world, 3, "client");
    client.server_name = "somebody.else";
    pair_begin(&pair);
    pair_both(&pair, &server, &client);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.code, UDPA_ERR_DEADLINE);
    assert_non_null(strstr(receipt.error, "somebody.else"));
    pair_end(&pair);
    certificates_end(world.directory);
}

/* The certificate of the first one is for another host. */
static void
test_tls_of_a_list(void **state)
{
    (void)state;
    struct world world = {.directory = certificates_begin()};
    test_pair pair;
    test_receipt receipt = {0};
    udpa_source source = UDPA_SOURCE_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    char list[64], right[32];
    if (!world.directory)
        skip();
    issue_for(&world, "wrong", "--ip", "127.0.0.9");
    issue_for(&world, "right", "--ip", "127.0.0.1");
    issue(&world, "client");
    udpa_tls first = tls_of(&world, 0, "wrong"), second = tls_of(&world, 3, "right"),
             client = tls_of(&world, 6, "client");
    pair_begin(&pair);
    pair_serve(&pair, &first);
    udpa_endpoint *wrong = pair.server;
    int port = pair.port;
    pair.port = 0;
    pair_serve(&pair, &second);
    snprintf(right, sizeof(right), "127.0.0.1:%d", pair.port);
    snprintf(list, sizeof(list), "127.0.0.1:%d,%s", port, right);
    source.name = "the server";
    source.address = list;
    source.tls = &client;
    options.node_id = "client";
    options.sources = &source;
    options.n_sources = 1;
    assert_ok(udpa_endpoint_new(&pair.client, &pair.loop, &options, NULL));
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.code, UDPA_OK);
    assert_string_equal(udpa_endpoint_source_server(pair.client, "the server"), right);
    pair_close(&pair, &wrong);
    pair_end(&pair);
    certificates_end(world.directory);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_it_is),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_xds_servers),
        cmocka_unit_test(test_nothing_is_published_to_an_xds_server),
        cmocka_unit_test(test_tls_options),
        cmocka_unit_test(test_listening),
        cmocka_unit_test(test_source_error),
        cmocka_unit_test(test_without_sources),
        cmocka_unit_test(test_second_source),
        cmocka_unit_test(test_a_list_of_servers),
        cmocka_unit_test(test_another_source_for_another_type),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_tls_of_another_name),
        cmocka_unit_test(test_tls_of_a_list),
    };
    certificates_script = argc > 1 ? argv[1] : "make-development-ca";
    return cmocka_run_group_tests_name("endpoint library", tests, NULL, NULL);
}
