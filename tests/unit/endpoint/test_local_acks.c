/* SPDX-License-Identifier: Apache-2.0 */
/* What a public endpoint answers to those who ask it by CSDS: what it has of what it subscribes to.
 */
#include "base/alloc.h"
#include <stdio.h>

#include "base/strbuf.h"
#include "envoy/service/status/v3/csds.pb-c.h"
#include "pair.h"
#include "tests/unit/transport/raw.h"

#define FETCH "/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus"
#define STREAM "/envoy.service.status.v3.ClientStatusDiscoveryService/StreamClientStatus"

typedef Envoy__Service__Status__V3__ClientStatusResponse response_message;
typedef Envoy__Service__Status__V3__ClientConfig__GenericXdsConfig entry_message;

/* A question that is asked by another thread, while the loop runs. */
typedef struct question {
    uv_work_t work;
    const char *path;
    udpai_str request;
    int port;
    bool is_refused; /* it will be: nothing need be sent, or could be */
    unsigned n_answered;
    grpc_status_code code;
    udpai_strbuf said; /* "NAME STATE VERSION; …", in the order of the alphabet */
    char words[2048];  /* of the status */
} question;

/* ---- an endpoint that dials the node, and listens ---- */

static void
begin(test_pair *pair)
{
    udpa_source source = UDPA_SOURCE_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    char address[32];
    pair_begin(pair);
    pair_serve_node(pair);
    snprintf(address, sizeof(address), "127.0.0.1:%d", pair->port);
    source.name = "the server";
    source.address = address;
    options.node_id = "client";
    options.sources = &source;
    options.n_sources = 1;
    options.listen_address = "127.0.0.1:0";
    options.answers_client_status = true;
    assert_ok(udpa_endpoint_new(&pair->client, &pair->loop, &options, NULL));
}

/* ---- asking ---- */

static int
compare(const void *a, const void *b)
{
    return strcmp((*(entry_message *const *)a)->name, (*(entry_message *const *)b)->name);
}

static void
show_entry(udpai_strbuf *out, const entry_message *entry)
{
    static const char *const states[] = {"UNKNOWN", "REQUESTED", "DOES_NOT_EXIST", "ACKED",
                                         "NACKED"};
    assert_string_equal(entry->type_url, TEST_TYPE);
    udpai_strbuf_printf(out, "%s%s %s", out->len ? "; " : "", entry->name,
                        states[entry->client_status]);
    if (*entry->version_info)
        udpai_strbuf_printf(out, " %s", entry->version_info);
    if (entry->xds_config)
        udpai_strbuf_printf(out, " +%.*s", (int)entry->xds_config->value.len,
                            (const char *)entry->xds_config->value.data);
    if (entry->error_state)
        udpai_strbuf_printf(out, " !%s'%s'%s", entry->error_state->version_info,
                            entry->error_state->details,
                            entry->error_state->failed_configuration ? "+" : "");
    assert_int_equal(entry->last_updated != NULL, *entry->version_info != '\0');
}

static void
show(question *self, const raw_call *call)
{
    response_message *response = envoy__service__status__v3__client_status_response__unpack(
        NULL, call->len, (const uint8_t *)call->data);
    assert_non_null(response);
    for (size_t i = 0; i < response->n_config; i++) {
        Envoy__Service__Status__V3__ClientConfig *config = response->config[i];
        assert_string_equal(config->node->id, "client");
        if (config->n_generic_xds_configs)
            qsort(config->generic_xds_configs, config->n_generic_xds_configs,
                  sizeof(entry_message *), compare);
        for (size_t k = 0; k < config->n_generic_xds_configs; k++)
            show_entry(&self->said, config->generic_xds_configs[k]);
    }
    envoy__service__status__v3__client_status_response__free_unpacked(response, NULL);
}

static void
work(uv_work_t *request)
{
    question *self = UDPAI_CONTAINER_OF(request, question, work);
    raw_client client;
    raw_call call;
    raw_connect(&client, self->port, NULL, NULL);
    raw_begin(&client, &call, self->path);
    if (!self->is_refused) {
        assert_true(raw_send(&call, self->request.data, self->request.len));
        raw_half_close(&call);
    }
    while (raw_receive(&call))
        show(self, &call);
    self->code = raw_status(&call);
    snprintf(self->words, sizeof(self->words), "%s", call.text);
    raw_end(&call);
    raw_disconnect(&client);
}

static void
after(uv_work_t *request, int status)
{
    assert_int_equal(status, 0);
    UDPAI_CONTAINER_OF(request, question, work)->n_answered++;
}

/* exclude_resource_contents: true */
#define NO_BODIES UDPAI_STR("\x18\x01")

static const char *
ask(test_pair *pair, const char *path, udpai_str request)
{
    static char said[2000];
    question self = {.path = path, .request = request, .port = udpa_endpoint_port(pair->client)};
    uv_queue_work(&pair->loop, &self.work, work, after);
    pair_run_until(pair, &self.n_answered, 1);
    if (self.code != GRPC_STATUS_OK)
        fail_msg("%s", self.words);
    snprintf(said, sizeof(said), "%s", self.said.len ? self.said.data : "");
    udpai_strbuf_done(&self.said);
    return said;
}

/* Of what is answered later the receipt comes later, too. */
static void
publish(test_pair *pair, test_ear *ear, const char *name, const char *version)
{
    static test_receipt receipt, late[16];
    static size_t n_late;
    unsigned n = ear->n_additions;
    receipt = (test_receipt){0};
    assert_true(n_late < UDPAI_ARRAY_LEN(late));
    publish_one(ear->defers ? &late[n_late++] : &receipt, pair, pair->client,
                RESOURCE(name, .value = version, .version = version));
    pair_run_until(pair, &ear->n_additions, n + 1);
    if (!ear->defers)
        pair_run_until(pair, &receipt.n_receipts, 1);
}

static void
test_states_of_what_is_subscribed_to(void **state)
{
    (void)state;
    test_pair pair;
    test_ear all = {0}, one = {0};
    begin(&pair);
    assert_string_equal(ask(&pair, FETCH, NO_BODIES), "");
    ear_open(&all, &pair, pair.client, NULL);
    ear_open(&one, &pair, pair.client, "com.acme/not-there");
    pair_run_until(&pair, &one.n_complete, 1);
    assert_string_equal(ask(&pair, FETCH, NO_BODIES), "com.acme/not-there DOES_NOT_EXIST");
    publish(&pair, &all, "com.acme/a", "1");
    publish(&pair, &all, "com.acme/b", "1");
    all.refusal = "not to my taste";
    publish(&pair, &all, "com.acme/b", "2");
    publish(&pair, &all, "com.acme/c", "1");
    assert_string_equal(ask(&pair, FETCH, NO_BODIES),
                        "com.acme/a ACKED 1; com.acme/b NACKED 1 !2'not to my taste'; "
                        "com.acme/c NACKED !1'not to my taste'; "
                        "com.acme/not-there DOES_NOT_EXIST");
    assert_string_equal(ask(&pair, STREAM, (udpai_str){"", 0}),
                        "com.acme/a ACKED 1 +1; com.acme/b NACKED 1 +1 !2'not to my taste'+; "
                        "com.acme/c NACKED !1'not to my taste'+; "
                        "com.acme/not-there DOES_NOT_EXIST");
    all.refusal = NULL;
    publish(&pair, &all, "com.acme/b", "3");
    udpa_unsubscribe(one.subscription);
    assert_string_equal(ask(&pair, FETCH, NO_BODIES), "com.acme/a ACKED 1; com.acme/b ACKED 3; "
                                                      "com.acme/c NACKED !1'not to my taste'");
    /* node_matchers { node_id { exact: "x" } } */
    assert_string_equal(ask(&pair, FETCH, UDPAI_STR("\x0a\x05\x0a\x03\x0a\x01x")), "");
    pair_end(&pair);
}

static void
test_answers_that_take_their_time(void **state)
{
    (void)state;
    test_pair pair;
    test_ear all = {.defers = true};
    begin(&pair);
    ear_open(&all, &pair, pair.client, NULL);
    publish(&pair, &all, "com.acme/a", "1");
    udpa_update *first = all.deferred;
    assert_string_equal(ask(&pair, FETCH, NO_BODIES), "com.acme/a REQUESTED");
    publish(&pair, &all, "com.acme/a", "2");
    udpa_update *second = all.deferred;
    udpa_update_done(first);
    assert_string_equal(ask(&pair, FETCH, NO_BODIES), "com.acme/a REQUESTED 1");
    udpa_update_refuse(second, 0, UDPA_ERR_INVAL, "no");
    udpa_update_done(second);
    assert_string_equal(ask(&pair, FETCH, NO_BODIES), "com.acme/a NACKED 1 !2'no'");
    publish(&pair, &all, "com.acme/a", "3");
    udpa_unsubscribe(all.subscription); /* before it is answered */
    assert_string_equal(ask(&pair, FETCH, NO_BODIES), "");
    udpa_update_done(all.deferred);
    pair_end(&pair);
}

static void
test_what_is_never_answered_is_freed(void **state)
{
    (void)state;
    test_pair pair;
    test_ear all = {.defers = true};
    unsigned long before = udpai_alloc_live();
    begin(&pair);
    ear_open(&all, &pair, pair.client, NULL);
    publish(&pair, &all, "com.acme/a", "1");
    pair_end(&pair);
    assert_int_equal(udpai_alloc_live(), before);
}

static void
test_who_does_not_listen_cannot_answer(void **state)
{
    (void)state;
    test_pair pair;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    udpa_error *error = NULL;
    udpa_endpoint *endpoint;
    pair_begin(&pair);
    options.node_id = "x";
    options.answers_client_status = true;
    assert_int_equal(udpa_endpoint_new(&endpoint, &pair.loop, &options, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "listen_address"));
    udpa_error_unref(error);
    pair_end(&pair);
}

static void
test_it_is_off_unless_it_is_asked_for(void **state)
{
    (void)state;
    test_pair pair;
    question self = {.path = FETCH, .is_refused = true};
    pair_begin(&pair);
    pair_serve(&pair, NULL);
    self.port = pair.port;
    uv_queue_work(&pair.loop, &self.work, work, after);
    pair_run_until(&pair, &self.n_answered, 1);
    assert_int_equal(self.code, GRPC_STATUS_UNIMPLEMENTED);
    pair_end(&pair);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states_of_what_is_subscribed_to),
        cmocka_unit_test(test_answers_that_take_their_time),
        cmocka_unit_test(test_what_is_never_answered_is_freed),
        cmocka_unit_test(test_who_does_not_listen_cannot_answer),
        cmocka_unit_test(test_it_is_off_unless_it_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
