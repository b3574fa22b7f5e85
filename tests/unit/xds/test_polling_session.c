/* SPDX-License-Identifier: Apache-2.0 */
/* A polled server, and the session that it is a stream for. */
#include "tests/harness/test.h"
#include "tests/harness/wire.h"
#include "tests/unit/xds/polling_test.h"
#include "tests/unit/xds/upstream_test.h"

typedef struct pair {
    upstream_bed *session;
    polling_bed *server;
} pair;

static int
setup_pair(void **state)
{
    pair *self = calloc(1, sizeof(*self));
    assert_ok(upstream_setup_rest((void **)&self->session));
    assert_ok(polling_setup((void **)&self->server));
    self->server->stream = &self->session->stream;
    *state = self;
    return 0;
}

static int
teardown_pair(void **state)
{
    pair *self = *state;
    void *server = self->server, *session = self->session;
    assert_ok(polling_teardown(&server));
    assert_ok(upstream_teardown(&session));
    free(self);
    return 0;
}

static void
exchange(pair *self)
{
    while (upstream_next_request(self->session))
        assert_ok(
            udpai_polling_send(self->server->polling, udpai_bytes_view(self->session->bytes)));
    polling_pass(self->server, UDPAI_POLLING_GAP_MS);
}

static void
answer_with(pair *self, const char *type_url, const char *version, udpai_str resources)
{
    const udpai_polling_response what = {
        .outcome = UDPAI_POLLING_NEW,
        .message = W_JOIN(W_TEXT(1, version), W_TEXT(4, type_url), resources),
    };
    polling_respond(self->server, type_url, &what);
}

static void
clusters_bring_their_endpoints_and_take_them_away(void **state)
{
    pair *self = *state;
    upstream_ask_all(self->session, CLUSTER);
    upstream_ask_all(self->session, ENDPOINTS);
    exchange(self);
    polling_expect(self->server, CLUSTER, ":");
    answer_with(
        self, CLUSTER, "v1",
        W_JOIN(wire_bytes(2, upstream_cluster("a", 1)), wire_bytes(2, upstream_cluster("b", 1))));
    upstream_expect(self->session, "+com.acme/a +com.acme/b ");
    upstream_expect(self->session, "complete");
    exchange(self);
    polling_expect(self->server, ENDPOINTS, ": a b");
    answer_with(self, ENDPOINTS, "e1",
                W_JOIN(wire_bytes(2, upstream_endpoints("a", 1)),
                       wire_bytes(2, upstream_endpoints("b", 1))));
    upstream_expect(self->session, "+com.acme/a +com.acme/b ");
    upstream_expect(self->session, "complete");
    exchange(self);
    polling_pass(self->server, POLLING_REFRESH);
    polling_expect(self->server, CLUSTER, "v1:");
    polling_expect(self->server, ENDPOINTS, "e1: a b");

    answer_with(self, CLUSTER, "v2", wire_bytes(2, upstream_cluster("b", 1)));
    upstream_expect(self->session, "-com.acme/a ");
    upstream_expect(self->session, "-com.acme/a ");
    exchange(self);
    assert_true(self->server->asked[polling_index(ENDPOINTS)].is_cancelled);
    polling_respond(self->server, ENDPOINTS,
                    &(udpai_polling_response){.outcome = UDPAI_POLLING_FAILED});
    polling_pass(self->server, 0);
    polling_expect(self->server, ENDPOINTS, ": b");
}

static void
what_the_session_refuses_is_asked_for_with_the_version_before(void **state)
{
    pair *self = *state;
    upstream_ask_all(self->session, CLUSTER);
    exchange(self);
    answer_with(self, CLUSTER, "v1", wire_bytes(2, upstream_cluster("a", 1)));
    upstream_expect(self->session, "+com.acme/a ");
    upstream_expect(self->session, "complete");
    exchange(self);
    polling_pass(self->server, POLLING_REFRESH);
    answer_with(self, CLUSTER, "v2", wire_bytes(2, upstream_cluster("a", 2)));
    upstream_judge(self->session, "+com.acme/a ",
                   udpa_error_new(UDPA_ERR_DENIED, NULL, "not that"));
    exchange(self);
    polling_pass(self->server, POLLING_REFRESH);
    polling_expect(self->server, CLUSTER, "v1:");
    answer_with(self, CLUSTER, "v3", wire_bytes(2, upstream_cluster("a", 3)));
    upstream_expect(self->session, "+com.acme/a ");
    exchange(self);
    polling_pass(self->server, POLLING_REFRESH);
    polling_expect(self->server, CLUSTER, "v3:");
}

static void
type_without_a_path_is_refused(void **state)
{
    pair *self = *state;
    upstream_ask_all(self->session, UDPAI_TYPE_VIRTUAL_HOST);
    udpai_report *refused =
        fake_hub_take_report(&self->session->hub, UDPAI_REPORT_SUBSCRIPTION_ERROR);
    assert_non_null(refused);
    assert_str(refused->subscription->type_url, UDPAI_TYPE_VIRTUAL_HOST);
    assert_str(refused->subscription->status_text,
               "REST has no path for this type: name a ConfigSource of kind xds");
    udpai_report_free(refused);
    exchange(self);
    assert_int_equal(self->server->n_asked, 0);
    assert_string_equal(self->session->stream.session->ops->name, "rest-upstream");
}

static const udpai_trace traced = {{1, 2}, {3}, true};

/* Clusters of this version belong to a trace; does what is handed up? */
static bool
is_traced(pair *self, const char *version, uint64_t number)
{
    const udpai_polling_response what = {
        .outcome = UDPAI_POLLING_NEW,
        .message = W_JOIN(W_TEXT(1, version), W_TEXT(4, CLUSTER),
                          wire_bytes(2, upstream_cluster("a", number))),
        .trace = traced,
    };
    polling_respond(self->server, CLUSTER, &what);
    upstream_expect(self->session, "+com.acme/a ");
    return memcmp(&self->session->trace, &traced, sizeof(traced)) == 0;
}

static void
what_a_server_with_a_certificate_sends_belongs_to_its_trace(void **state)
{
    pair *self = *state;
    const udpai_identity_parts parts = {.common_name = UDPAI_STR("core"), .authenticated = true};
    upstream_ask_all(self->session, CLUSTER);
    exchange(self);
    assert_false(is_traced(self, "v1", 1)); /* it has none */
    upstream_expect(self->session, "complete");

    assert_ok(udpai_identity_new(&self->session->identity, &parts));
    upstream_disconnect(self->session);
    upstream_connect(self->session);
    udpai_identity_unref(self->session->identity);
    udpai_polling_free(self->server->polling);
    polling_open(self->server);
    upstream_ask_all(self->session, CLUSTER);
    exchange(self);
    polling_pass(self->server, UDPAI_POLLING_RECONNECT_MS);
    assert_true(is_traced(self, "v2", 2));
    upstream_expect(self->session, "complete");
    exchange(self);
    polling_pass(self->server, POLLING_REFRESH);
    answer_with(self, CLUSTER, "v3", wire_bytes(2, upstream_cluster("a", 3)));
    upstream_expect(self->session, "+com.acme/a ");
    assert_false(udpai_trace_is_set(&self->session->trace));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_pair, teardown_pair)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(clusters_bring_their_endpoints_and_take_them_away),
        TEST(type_without_a_path_is_refused),
        TEST(what_a_server_with_a_certificate_sends_belongs_to_its_trace),
        TEST(what_the_session_refuses_is_asked_for_with_the_version_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
