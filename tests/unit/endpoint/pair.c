/* SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/proto.h"
#include "endpoint/endpoint.h"
#include "transport/grpc/listener.h"

/* ---- the loop ---- */

static void
on_patience(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("it has not happened within %d ms", PAIR_PATIENCE_MS);
}

void
pair_begin(test_pair *pair)
{
    memset(pair, 0, sizeof(*pair));
    assert_ok(uv_loop_init(&pair->loop));
    assert_ok(uv_timer_init(&pair->loop, &pair->patience));
    assert_ok(uv_prepare_init(&pair->loop, &pair->look));
    pair->look.data = pair;
}

/* Before the loop waits for anything: what is waited for may have come with the last timer. */
static void
on_look(uv_prepare_t *look)
{
    const test_pair *pair = look->data;
    if (*pair->counter >= pair->wanted)
        uv_stop(look->loop);
}

void
pair_run_until(test_pair *pair, const unsigned *counter, unsigned n)
{
    pair->counter = counter;
    pair->wanted = n;
    uv_timer_start(&pair->patience, on_patience, PAIR_PATIENCE_MS, 0);
    uv_prepare_start(&pair->look, on_look);
    while (*counter < n) /* others may stop it, too */
        uv_run(&pair->loop, UV_RUN_DEFAULT);
    uv_prepare_stop(&pair->look);
    uv_timer_stop(&pair->patience);
}

void
pair_count_closed(void *userdata)
{
    ((test_pair *)userdata)->n_closed++;
}

void
pair_close(test_pair *pair, udpa_endpoint **endpoint)
{
    unsigned n = pair->n_closed;
    udpa_endpoint_close(*endpoint, pair_count_closed, pair);
    *endpoint = NULL;
    pair_run_until(pair, &pair->n_closed, n + 1);
}

void
pair_end(test_pair *pair)
{
    if (pair->client)
        pair_close(pair, &pair->client);
    if (pair->server)
        pair_close(pair, &pair->server);
    uv_close((uv_handle_t *)&pair->patience, NULL);
    uv_close((uv_handle_t *)&pair->look, NULL);
    uv_run(&pair->loop, UV_RUN_DEFAULT);
    assert_ok(uv_loop_close(&pair->loop)); /* nothing was left on it */
}

/* ---- endpoints ---- */

static void
make(test_pair *pair, udpa_endpoint **ret_endpoint, const udpa_endpoint_options *options)
{
    udpa_error *error = NULL;
    if (udpa_endpoint_new(ret_endpoint, &pair->loop, options, &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
}

void
pair_serve(test_pair *pair, const udpa_tls *tls)
{
    udpa_source source = UDPA_SOURCE_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    char address[32];
    snprintf(address, sizeof(address), "127.0.0.1:%d", pair->port);
    source.name = "the client";
    source.peer = "client";
    options.node_id = "server";
    options.sources = &source;
    options.n_sources = 1;
    options.listen_address = address;
    options.listen_tls = tls;
    make(pair, &pair->server, &options);
    pair->port = udpa_endpoint_port(pair->server);
    assert_true(pair->port > 0);
}

static udpa_bytes *
describe_more(const void *problem)
{
    udpai_str text = udpai_str_from(problem);
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(udpai_proto_bytes_size(7, text.len), &room);
    udpai_proto_writer writer = {room, 0};
    assert_non_null(bytes);
    udpai_proto_put_bytes(&writer, 7, text);
    return bytes;
}

void
pair_serve_node(test_pair *pair)
{
    udpai_endpoint_settings settings;
    udpai_listener *listener = NULL;
    static const udpai_str features[] = {
        {UDPAI_FEATURE_EXTENSIONS, sizeof(UDPAI_FEATURE_EXTENSIONS) - 1},
        {UDPAI_FEATURE_NODE, sizeof(UDPAI_FEATURE_NODE) - 1},
        {UDPAI_FEATURE_TRIAL, sizeof(UDPAI_FEATURE_TRIAL) - 1}};
    const udpai_node_parts parts = {
        .id = UDPAI_STR("server"), .features = features, .n_features = 3};
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
    assert_ok(udpai_node_info_new(&info, &parts));
    udpai_endpoint_settings_init(&settings);
    settings.node.id = settings.node.authority = UDPAI_STR("server");
    settings.info = info;
    settings.serves_status = true;
    settings.describe_more = describe_more;
    settings.describe_userdata = PAIR_PROBLEM;
    settings.version = "1.2.3";
    settings.inspector = pair->inspector;
    settings.load_interval_ms = pair->load_interval_ms;
    if (pair->interest_linger_ms)
        settings.node.timing.interest_linger_ms = pair->interest_linger_ms;
    assert_ok(udpai_endpoint_new(&pair->server, &pair->loop, &settings, NULL));
    assert_ok(udpai_stream_thread_listen(udpai_endpoint_streams(pair->server),
                                         &(udpai_listen_options){.address = "127.0.0.1:0"},
                                         &listener, NULL));
    pair->port = udpai_listener_port(listener);
    if (!pair->starts_later)
        udpai_endpoint_start(pair->server);
}

void
pair_dial(test_pair *pair, int port, const udpa_tls *tls)
{
    udpa_source source = UDPA_SOURCE_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    char address[32];
    snprintf(address, sizeof(address), "127.0.0.1:%d", port);
    source.name = "the server";
    source.address = address;
    source.tls = tls;
    options.node_id = "client";
    options.cluster = "tests";
    options.region = "here";
    options.zone = "there";
    options.sub_zone = "nowhere";
    options.sources = &source;
    options.n_sources = 1;
    make(pair, &pair->client, &options);
    assert_int_equal(udpa_endpoint_port(pair->client), 0);
}

void
pair_both(test_pair *pair, const udpa_tls *server_tls, const udpa_tls *client_tls)
{
    pair_serve(pair, server_tls);
    pair_dial(pair, pair->port, client_tls);
}

/* ---- subscribing ---- */

static void
note(test_ear *ear, udpa_update *update, size_t index)
{
    const udpa_resource *resource = udpa_update_resource(update, index);
    size_t size;
    const char *payload = udpa_resource_payload(resource, &size);
    snprintf(ear->last_name, sizeof(ear->last_name), "%s", udpa_resource_name(resource));
    snprintf(ear->last_payload, sizeof(ear->last_payload), "%.*s", (int)size, payload);
    if (udpa_update_is_removal(update, index))
        ear->n_removals++;
    else
        ear->n_additions++;
}

void
ear_fn(void *userdata, udpa_update *update)
{
    test_ear *ear = userdata;
    size_t n = udpa_update_size(update);
    assert_true(n > 0);
    assert_null(udpa_update_resource(update, n));
    assert_int_equal(udpa_update_is_removal(update, n), 0);
    for (size_t i = 0; i < n; i++) {
        note(ear, update, i);
        if (ear->refusal)
            udpa_update_refuse(update, i, UDPA_ERR_INVAL, ear->refusal);
    }
    ear->n_updates++;
    if (ear->defers) {
        udpa_update_defer(update);
        ear->deferred = update;
    }
    if (ear->also)
        ear->also(ear);
}

static void
on_complete(void *userdata)
{
    ((test_ear *)userdata)->n_complete++;
}

void
ear_open(test_ear *ear, test_pair *pair, udpa_endpoint *endpoint, const char *name)
{
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    udpa_error *error = NULL;
    ear->pair = pair;
    options.type_url = "test.Thing"; /* completed to TEST_TYPE */
    options.name_space = name ? NULL : "com.acme";
    options.names = &name;
    options.n_names = name ? 1 : 0;
    options.update = ear_fn;
    options.complete = on_complete;
    options.userdata = ear;
    if (udpa_subscribe(&ear->subscription, endpoint, &options, &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
}

/* ---- publishing ---- */

void
receipt_fn(void *userdata, const udpa_receipt *receipt)
{
    test_receipt *self = userdata;
    const udpa_error *error = udpa_receipt_error(receipt);
    self->code = udpa_error_code(error);
    if (error)
        snprintf(self->error, sizeof(self->error), "%s", udpa_error_message(error));
    self->size = udpa_receipt_size(receipt);
    assert_null(udpa_receipt_name(receipt, self->size));
    assert_null(udpa_receipt_refusal(receipt, self->size));
    assert_int_equal(udpa_receipt_effect(receipt, self->size), UDPA_EFFECT_NOTHING);
    assert_null(udpa_receipt_effective(receipt, self->size));
    assert_true(self->size < sizeof(self->effects) || !self->tries);
    for (size_t i = 0; i < self->size; i++) {
        const udpa_error *refusal = udpa_receipt_refusal(receipt, i);
        const char *effective = udpa_receipt_effective(receipt, i);
        snprintf(self->name, sizeof(self->name), "%s", udpa_receipt_name(receipt, i));
        if (self->tries)
            self->effects[i] = ".+~-b"[udpa_receipt_effect(receipt, i)];
        if (effective)
            snprintf(self->effective, sizeof(self->effective), "%s", effective);
        if (!refusal)
            continue;
        self->n_refused++;
        snprintf(self->refusal, sizeof(self->refusal), "%s", udpa_error_message(refusal));
    }
    self->n_receipts++;
    if (self->also)
        self->also(self);
}

static void
publish(test_receipt *receipt, test_pair *pair, udpa_endpoint *from, udpa_publish_options *options)
{
    udpa_error *error = NULL;
    receipt->pair = pair;
    receipt->from = from;
    options->timeout_ms = receipt->timeout_ms;
    options->is_trial = receipt->tries;
    options->receipt = receipt_fn;
    options->userdata = receipt;
    if (udpa_publish(from, options, &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
}

void
publish_one(test_receipt *receipt, test_pair *pair, udpa_endpoint *from, udpa_resource *resource)
{
    udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
    assert_non_null(resource);
    options.resources = &resource;
    options.n_resources = 1;
    publish(receipt, pair, from, &options);
    udpa_resource_unref(resource);
}

void
publish_removal(
    test_receipt *receipt, test_pair *pair, udpa_endpoint *from, const char *const *names, size_t n)
{
    udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
    options.removed_names = names;
    options.n_removed_names = n;
    options.removed_type_url = TEST_TYPE;
    publish(receipt, pair, from, &options);
}
