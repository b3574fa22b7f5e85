/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of udpactl status. */
#include "ctl/status_view.h"

#include "tests/harness/resources.h"
#include "udpa/status/v1/status.pb-c.h"

#define STATUS "type.googleapis.com/udpa.status.v1."
#define NOW_US INT64_C(1000000000000)

/* A resource of packed bytes, in what RESOURCE() takes as a text. */
static udpa_resource *
packed(const char *type_url, const ProtobufCMessage *message)
{
    uint8_t room[1024];
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    assert_true(protobuf_c_message_get_packed_size(message) <= sizeof(room));
    spec.name = "udpa.node/n/x";
    spec.type_url = type_url;
    spec.payload = room;
    spec.payload_size = protobuf_c_message_pack(message, room);
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    return resource;
}

static udpai_cli_layout plain;

typedef void (*put_fn)(udpai_strbuf *out,
                       udpai_cli_layout *layout,
                       udpa_resource *const *resources,
                       size_t n,
                       int64_t now_us);

/* No session is hidden. */
static void
put_nodes(udpai_strbuf *out,
          udpai_cli_layout *layout,
          udpa_resource *const *resources,
          size_t n,
          int64_t now_us)
{
    udpai_ctl_put_nodes(out, layout, resources, n, 0, now_us);
}

static void
put_nodes_with_one_hidden(udpai_strbuf *out,
                          udpai_cli_layout *layout,
                          udpa_resource *const *resources,
                          size_t n,
                          int64_t now_us)
{
    udpai_ctl_put_nodes(out, layout, resources, n, 1, now_us);
}

/* Gives the resource up. */
static void
expect(put_fn put, udpa_resource *resource, const char *wanted)
{
    udpai_strbuf out = {0};
    udpai_strbuf_puts(&out, "");
    put(&out, &plain, &resource, 1, NOW_US);
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
    udpa_resource_unref(resource);
}

static void
test_ages(void **state)
{
    (void)state;

    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {0, "0 s"},          {59, "59 s"},  {60, "1 min"},       {3599, "59 min 59 s"},
        {3600, "1 h"},       {3605, "1 h"}, {7260, "2 h 1 min"}, {86400 * 3 + 7200, "3 d 2 h"},
        {86400 + 60, "1 d"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_strbuf out = {0};
        udpai_ctl_put_age(&out, cases[i].seconds);
        assert_str(udpai_strbuf_view(&out), cases[i].text);
        udpai_strbuf_done(&out);
    }
}

static void
test_node(void **state)
{
    (void)state;
    Google__Protobuf__Timestamp started = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    Udpa__Status__V1__TypeStatus type = UDPA__STATUS__V1__TYPE_STATUS__INIT, others = type,
                                 *types[] = {&type, &others};
    Udpa__Status__V1__NodeStatus node = UDPA__STATUS__V1__NODE_STATUS__INIT;
    char *unsettled[] = {(char *)(uintptr_t) "core", (char *)(uintptr_t) "cloud"};
    started.seconds = NOW_US / 1000000 - 65;
    type.type_url = (char *)(uintptr_t)TEST_CDS;
    type.n_resources = 7;
    type.unsettled = unsettled;
    type.n_unsettled = 2;
    others.unsettled = unsettled;
    others.n_unsettled = 1;
    node.node_id = (char *)(uintptr_t) "edge-1";
    node.version = (char *)(uintptr_t) "0.1.0";
    node.started = &started;
    node.n_sessions = 2;
    node.types = types;
    node.n_types = 2;
    expect(put_nodes, packed(STATUS "NodeStatus", &node.base),
           "NODE     VERSION   UPTIME      SESSIONS\n"
           "edge-1   0.1.0     1 min 5 s          2\n"
           "\n"
           "RESOURCES\n"
           "TYPE       RESOURCES   PENDING\n"
           "cluster            7   core, cloud\n"
           "(others)           0   core\n");
}

static void
test_hidden_sessions_are_not_counted(void **state)
{
    (void)state;
    Udpa__Status__V1__NodeStatus node = UDPA__STATUS__V1__NODE_STATUS__INIT;
    node.node_id = (char *)(uintptr_t) "n";
    node.n_sessions = 2;
    expect(put_nodes_with_one_hidden, packed(STATUS "NodeStatus", &node.base),
           "NODE   VERSION   UPTIME   SESSIONS\nn      -         -               1\n");
    node.n_sessions = 0; /* described before */
    expect(put_nodes_with_one_hidden, packed(STATUS "NodeStatus", &node.base),
           "NODE   VERSION   UPTIME   SESSIONS\nn      -         -               0\n");
}

static void
test_sinks(void **state)
{
    (void)state;
    Udpa__Status__V1__SinkStatus sink = UDPA__STATUS__V1__SINK_STATUS__INIT, *sinks[] = {&sink};
    Udpa__Status__V1__NodeStatus node = UDPA__STATUS__V1__NODE_STATUS__INIT;
    node.node_id = (char *)(uintptr_t) "edge-1";
    node.version = (char *)(uintptr_t) "0.1.0";
    node.sinks = sinks;
    node.n_sinks = 1;
    sink.kind = (char *)(uintptr_t) "access-log";
    sink.n_clients = 2;
    sink.n_accepted = 30;
    sink.n_bytes = 4000;
    sink.n_dropped = 5;
    sink.n_refused = 6;
    sink.n_held = 7;
    sink.n_written = 8;
    sink.n_failed = 9;
    sink.n_readers = 10;
    sink.n_missed = 11;
    sink.forwarded_to = (char *)(uintptr_t) "core.test:18000";
    sink.n_forward_streams = 12;
    sink.n_forwarded = 13;
    sink.n_not_forwarded = 14;
    expect(put_nodes, packed(STATUS "NodeStatus", &node.base),
           "NODE     VERSION   UPTIME   SESSIONS\n"
           "edge-1   0.1.0     -               0\n"
           "\n"
           "SINKS\n"
           "SINK         CLIENTS   ACCEPTED   BYTES   DROPPED   REJECTED   HELD   WRITTEN   LOST   "
           "READERS   MISSED\n"
           "access-log         2         30    4000         5          6      7         8      9   "
           "     10       11\n"
           "\n"
           "FORWARDED\n"
           "SINK         TO                STREAMS   SENT   NOT SENT\n"
           "access-log   core.test:18000        12     13         14\n");
}

static void
test_source(void **state)
{
    (void)state;
    Udpa__Status__V1__SourceType type = UDPA__STATUS__V1__SOURCE_TYPE__INIT, *types[] = {&type};
    Udpa__Status__V1__SourceStatus source = UDPA__STATUS__V1__SOURCE_STATUS__INIT;
    source.name = (char *)(uintptr_t) "core";
    source.kind = (char *)(uintptr_t) "rest";
    source.address = (char *)(uintptr_t) "core.test:18000";
    source.state = UDPA__STATUS__V1__SOURCE_STATUS__STATE__WAITING;
    source.last_error = (char *)(uintptr_t) "Connection\nrefused";
    source.types = types;
    source.n_types = 1;
    source.n_refused = 3;
    expect(udpai_ctl_put_sources, packed(STATUS "SourceStatus", &source.base),
           "SOURCES\n"
           "NAME   KIND   ADDRESS           STATE     AGE   PEER   SYNCED   RECEIVED   REJECTED   "
           "LAST ERROR\n"
           "core   rest   core.test:18000   waiting   -     -      0 of 1          0          3   "
           "Connection?refused\n");
}

static void
fill_subscription(Udpa__Status__V1__SubscriptionStatus *subscription,
                  Udpa__Status__V1__RefusedResource **refused)
{
    subscription->type_url = (char *)(uintptr_t)TEST_LDS;
    subscription->n_names = 2;
    subscription->n_resources_sent = 5;
    subscription->n_refused = 1;
    subscription->last_error = (char *)(uintptr_t) "no filter";
    subscription->refused_resources = refused;
    subscription->n_refused_resources = 1;
    refused[0]->name = (char *)(uintptr_t) "com.acme/l";
    refused[0]->version = (char *)(uintptr_t) "v2";
    refused[0]->message = (char *)(uintptr_t) "no filter";
}

static void
test_session(void **state)
{
    (void)state;
    Udpa__Status__V1__RefusedResource refusal = UDPA__STATUS__V1__REFUSED_RESOURCE__INIT,
                                      *refused[] = {&refusal};
    Udpa__Status__V1__SubscriptionStatus subscription = UDPA__STATUS__V1__SUBSCRIPTION_STATUS__INIT,
                                         *subscriptions[] = {&subscription};
    Udpa__Status__V1__SessionStatus session = UDPA__STATUS__V1__SESSION_STATUS__INIT;
    Google__Protobuf__Timestamp since = GOOGLE__PROTOBUF__TIMESTAMP__INIT, time = since;
    fill_subscription(&subscription, refused);
    since.seconds = NOW_US / 1000000 - 65;
    subscription.n_unanswered = 2;
    subscription.unanswered_since = &since;
    time.seconds = NOW_US / 1000000 - 5;
    refusal.time = &time;
    session.id = (char *)(uintptr_t) "4";
    session.protocol = (char *)(uintptr_t) "xds-delta";
    session.peer_node_id = (char *)(uintptr_t) "envoy-7";
    session.audience = (char *)(uintptr_t) "shops";
    session.subscriptions = subscriptions;
    session.n_subscriptions = 1;
    expect(udpai_ctl_put_sessions, packed(STATUS "SessionStatus", &session.base),
           "SESSIONS\n"
           "SESSION   PEER      ADDRESS   PROTOCOL    AUDIENCE   AGE   SOURCE   RECEIVED\n"
           "4         envoy-7   -         xds-delta   shops      -     -               0\n"
           "\n"
           "SUBSCRIPTIONS\n"
           "SESSION   TYPE       SUBSCRIBED   SENT   REMOVED   ACKNOWLEDGED   REJECTED   "
           "UNANSWERED        SYNCED   LAST ERROR\n"
           "4         listener   2 names         5         0              0          1   "
           "2 for 1 min 5 s   no       no filter\n"
           "\n"
           "REJECTED\n"
           "SESSION   TYPE       NAME         VERSION   AGE   REASON\n"
           "4         listener   com.acme/l   v2        5 s   no filter\n");
}

static void
test_unknown_receipts(void **state)
{
    (void)state;
    Udpa__Status__V1__SessionStatus session = UDPA__STATUS__V1__SESSION_STATUS__INIT;
    session.id = (char *)(uintptr_t) "4";
    session.protocol = (char *)(uintptr_t) "udpa";
    session.n_unknown_receipts = 12;
    expect(udpai_ctl_put_sessions, packed(STATUS "SessionStatus", &session.base),
           "SESSIONS\n"
           "SESSION   PEER   ADDRESS   PROTOCOL   AUDIENCE   AGE   SOURCE   RECEIVED\n"
           "4         -      -         udpa       -          -     -               0\n"
           "\n"
           "UNKNOWN RECEIPTS\n"
           "SESSION   RECEIPTS\n"
           "4               12\n");
}

/* A node of a later version, or none of ours, may say anything. */
static void
test_what_cannot_be_read(void **state)
{
    (void)state;
    expect(put_nodes, RESOURCE("udpa.node/n/x", .type = STATUS "NodeStatus", .value = "\x0a"), "");
    expect(udpai_ctl_put_sources, RESOURCE("udpa.node/n/x", .type = STATUS "NodeStatus"), "");
    expect(udpai_ctl_put_sessions, RESOURCE("udpa.node/n/x"), "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ages),
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_hidden_sessions_are_not_counted),
        cmocka_unit_test(test_sinks),
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_session),
        cmocka_unit_test(test_unknown_receipts),
        cmocka_unit_test(test_what_cannot_be_read),
    };
    return cmocka_run_group_tests_name("ctl status_view", tests, NULL, NULL);
}
