/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the clients of a node. */
#include "ctl/clients_view.h"

#include "tests/harness/resources.h"
#include "udpa/status/v1/status.pb-c.h"

#define STATUS "type.googleapis.com/udpa.status.v1."
#define NOW_US INT64_C(1000000000000)

typedef Udpa__Status__V1__SessionStatus session_status;
typedef Udpa__Status__V1__SubscriptionStatus subscription_status;

static udpai_cli_layout plain;

static udpa_resource *
packed(const session_status *session)
{
    uint8_t room[1024];
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    assert_true(protobuf_c_message_get_packed_size(&session->base) <= sizeof(room));
    spec.name = "udpa.node/n/x";
    spec.type_url = STATUS "SessionStatus";
    spec.payload = room;
    spec.payload_size = protobuf_c_message_pack(&session->base, room);
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    return resource;
}

static char *
text(const char *literal)
{
    return (char *)(uintptr_t)literal;
}

/* A session with one subscription, all that was sent acknowledged. */
static udpa_resource *
session(const char *protocol, const char *id, const char *type_url, const char *refusal)
{
    Google__Protobuf__Timestamp time = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    Udpa__Status__V1__RefusedResource bad = UDPA__STATUS__V1__REFUSED_RESOURCE__INIT,
                                      *refused[] = {&bad};
    subscription_status subscription = UDPA__STATUS__V1__SUBSCRIPTION_STATUS__INIT,
                        *subscriptions[] = {&subscription};
    session_status status = UDPA__STATUS__V1__SESSION_STATUS__INIT;
    time.seconds = NOW_US / 1000000 - 5;
    subscription.type_url = text(type_url);
    subscription.n_resources_sent = 3;
    subscription.in_sync = 1;
    bad.in_doubt = refusal && strcmp(refusal, "in doubt") == 0;
    if (refusal) {
        subscription.last_error = text(refusal);
        subscription.refused = &time;
        subscription.refused_resources = refused;
        subscription.n_refused_resources = 1;
    }
    status.protocol = text(protocol);
    status.peer_node_id = text(id);
    status.subscriptions = subscriptions;
    status.n_subscriptions = 1;
    return packed(&status);
}

static void
expect(udpa_resource **resources, size_t n, const char *wanted)
{
    udpai_strbuf out = {0};
    udpai_strbuf_puts(&out, "");
    udpai_ctl_put_clients(&out, &plain, resources, n, false, NOW_US);
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
    for (size_t i = 0; i < n; i++)
        udpa_resource_unref(resources[i]);
}

static void
streams_of_one_client_are_one_row(void **state)
{
    (void)state;
    udpa_resource *resources[] = {
        session("xds-delta", "envoy-10", TEST_CDS, NULL),
        session("xds-sotw", "envoy-2", TEST_CDS, NULL),
        session("xds-sotw", "envoy-2", TEST_LDS, "no\nfilter"),
    };
    expect(
        resources, UDPAI_ARRAY_LEN(resources),
        "CLIENT     ADDRESS   PROTOCOL    AGE   TYPES               SENT   SYNCED         LAST "
        "NACK\n"
        "envoy-2    -         xds-sotw    -     cluster, listener      6   no: rejected   5 s ago: "
        "no filter\n"
        "envoy-10   -         xds-delta   -     cluster                3   yes            -\n");
}

static void
what_came_with_a_refusal_is_in_doubt(void **state)
{
    (void)state;
    udpa_resource *resources[] = {session("xds-delta", "envoy-2", TEST_CDS, "in doubt")};
    expect(resources, UDPAI_ARRAY_LEN(resources),
           "CLIENT    ADDRESS   PROTOCOL    AGE   TYPES     SENT   SYNCED         LAST NACK\n"
           "envoy-2   -         xds-delta   -     cluster      3   no: in doubt   5 s ago: in "
           "doubt\n");
}

static void
a_long_refusal_is_shown_by_its_ends_unless_it_is_wide(void **state)
{
    (void)state;
    char words[301];
    memset(words, 'x', sizeof(words) - 1);
    memcpy(words, "begin", 5);
    memcpy(words + sizeof(words) - 4, "end", 4);
    udpa_resource *resource = session("xds-sotw", "e", TEST_CDS, words);
    udpai_strbuf out = {0};
    udpai_ctl_put_clients(&out, &plain, &resource, 1, false, NOW_US);
    assert_non_null(strstr(out.data, "ago: beginxxx"));
    assert_non_null(strstr(out.data, "xxx … xxx"));
    assert_non_null(strstr(out.data, "xxxend\n"));
    assert_true(out.len < 450);
    udpai_strbuf_done(&out);
    udpai_cli_layout wide = {.is_wide = true};
    out = (udpai_strbuf){0};
    udpai_ctl_put_clients(&out, &wide, &resource, 1, false, NOW_US);
    assert_non_null(strstr(out.data, words));
    udpai_strbuf_done(&out);
    udpa_resource_unref(resource);
}

static void
who_looks_on_or_serves_is_no_client(void **state)
{
    (void)state;
    udpa_resource *resources[] = {
        session("udpa", "udpactl", STATUS "SessionStatus", NULL),
        session("xds-upstream", "istiod", TEST_CDS, NULL),
        session("csds", "asker", TEST_CDS, NULL),
    };
    expect(resources, UDPAI_ARRAY_LEN(resources), "");
}

static void
of_all_clients_who_looks_on_is_one(void **state)
{
    (void)state;
    udpai_strbuf out = {0};
    udpa_resource *resource = session("udpa", "udpactl", STATUS "SessionStatus", NULL);
    udpai_ctl_put_clients(&out, &plain, &resource, 1, true, NOW_US);
    assert_non_null(strstr(out.data, "\nudpactl "));
    udpai_strbuf_done(&out);
    udpa_resource_unref(resource);
}

/* ---- of all nodes ---- */

typedef Envoy__Service__Status__V3__ClientConfig__GenericXdsConfig entry_message;

/* With three resources, of which one was refused with these words, if there are any. */
static udpa_resource *
told(const char *name, const char *id, const char *refusal)
{
    uint8_t room[1024];
    Google__Protobuf__Timestamp time = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    Envoy__Admin__V3__UpdateFailureState failure = ENVOY__ADMIN__V3__UPDATE_FAILURE_STATE__INIT;
    entry_message entry = ENVOY__SERVICE__STATUS__V3__CLIENT_CONFIG__GENERIC_XDS_CONFIG__INIT;
    entry_message *entries[] = {&entry};
    Envoy__Service__Status__V3__ClientConfig config =
        ENVOY__SERVICE__STATUS__V3__CLIENT_CONFIG__INIT;
    Udpa__Status__V1__ClientStatus status = UDPA__STATUS__V1__CLIENT_STATUS__INIT;
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    time.seconds = NOW_US / 1000000 - 5;
    failure.details = text(refusal ? refusal : "");
    failure.last_update_attempt = &time;
    entry.error_state = &failure;
    entry.config_status = ENVOY__SERVICE__STATUS__V3__CONFIG_STATUS__ERROR;
    config.generic_xds_configs = entries;
    config.n_generic_xds_configs = refusal != NULL;
    status.client_id = text(id);
    status.protocol = text("xds-delta");
    status.config = &config;
    status.n_resources = 3;
    status.n_errors = refusal != NULL;
    status.n_synced = 3 - status.n_errors;
    spec.name = name;
    spec.type_url = STATUS "ClientStatus";
    spec.payload = room;
    spec.payload_size = udpa__status__v1__client_status__pack(&status, room);
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    return resource;
}

static void
clients_of_all_nodes_are_rows(void **state)
{
    (void)state;
    udpa_resource *resources[] = {
        told("udpa.clients/edge/edge", "", NULL),
        told("udpa.clients/edge/one/1/edge", "one", NULL),
        told("udpa.clients/top/two/7/top", "two", "no\nfilter"),
    };
    udpai_strbuf out = {0};
    udpai_ctl_put_client_tree(&out, &plain, resources, UDPAI_ARRAY_LEN(resources), NOW_US);
    assert_str(udpai_strbuf_view(&out),
               "CLIENT   NODE   ADDRESS   PROTOCOL    AGE   RESOURCES   SYNCED           LAST "
               "NACK\n"
               "one      edge   -         xds-delta   -             3   yes              -\n"
               "two      top    -         xds-delta   -             3   no: rejected 1   5 s ago: "
               "no filter\n");
    udpai_strbuf_done(&out);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(resources); i++)
        udpa_resource_unref(resources[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_of_one_client_are_one_row),
        cmocka_unit_test(what_came_with_a_refusal_is_in_doubt),
        cmocka_unit_test(a_long_refusal_is_shown_by_its_ends_unless_it_is_wide),
        cmocka_unit_test(who_looks_on_or_serves_is_no_client),
        cmocka_unit_test(of_all_clients_who_looks_on_is_one),
        cmocka_unit_test(clients_of_all_nodes_are_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
