/* SPDX-License-Identifier: Apache-2.0 */
/* What the answers of a node mean together, and without some of them. */
#include "cli/explanation.h"

#include "model/types.h"
#include "session/access_question.h"
#include "session/acknowledgement.h"
#include "session/origins_question.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"

#define T(text) ((char *)(uintptr_t)(text))
#define ROOM 1024

static udpa_resource *
resource_of(const char *name, const char *type_url, const ProtobufCMessage *message)
{
    uint8_t room[ROOM];
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    assert_true(protobuf_c_message_get_packed_size(message) <= ROOM);
    spec.name = name;
    spec.type_url = type_url;
    spec.payload = room;
    spec.payload_size = protobuf_c_message_pack(message, room);
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    return resource;
}

/* ---- answers ---- */

enum {
    ORIGINS,
    ACKNOWLEDGEMENTS,
    NODE,
    SOURCE,
    ACCESS,
    OTHER,
    NAMESAKE,
    SESSION,
    REPLICA,
    ANSWERS
};

static udpa_resource *answers[ANSWERS];

static const udpai_cli_explanation asked = {
    .type_url = TEST_CDS,
    .name = "com.acme/a",
    .client = "edge-1",
    .acknowledgements = {.token = "t"},
};

static void
make_origins(void)
{
    Udpa__Status__V1__OriginsStatus origins = UDPA__STATUS__V1__ORIGINS_STATUS__INIT;
    Udpa__Status__V1__Contribution one = UDPA__STATUS__V1__CONTRIBUTION__INIT, *all[] = {&one};
    char *path[] = {T("core"), T("here")};
    one.origin = T("source:core");
    one.version = T("v1");
    one.generation = 7;
    one.eligible = one.is_signed = true;
    one.way = path;
    one.n_way = 2;
    one.size_bytes = 9;
    origins.contributions = all;
    origins.n_contributions = 1;
    origins.frozen = T("by \"ops\"");
    answers[ORIGINS] = resource_of("udpa.node/origins/t/x", UDPAI_ORIGINS_TYPE, &origins.base);
}

static void
make_acknowledgements(void)
{
    Udpa__Status__V1__AcknowledgementStatus status = UDPA__STATUS__V1__ACKNOWLEDGEMENT_STATUS__INIT;
    Udpa__Status__V1__SessionAcknowledgement one = UDPA__STATUS__V1__SESSION_ACKNOWLEDGEMENT__INIT,
                                             *all[] = {&one};
    one.id = T("3");
    one.peer_node_id = T("edge-1");
    one.peer_identity = T("edge.acme");
    one.state = UDPA__STATUS__V1__SESSION_ACKNOWLEDGEMENT__STATE__REFUSED;
    one.message = T("no");
    status.name = T("com.acme/a");
    status.sessions = all;
    status.n_sessions = 1;
    status.n_subscribed = status.n_refused = 1;
    answers[ACKNOWLEDGEMENTS] = resource_of("udpa.node/acknowledgement/t/" TEST_CDS "/com.acme/a",
                                            UDPAI_ACKNOWLEDGEMENT_TYPE, &status.base);
}

static void
make_status(void)
{
    Udpa__Status__V1__NodeStatus node = UDPA__STATUS__V1__NODE_STATUS__INIT;
    Udpa__Status__V1__TypeStatus type = UDPA__STATUS__V1__TYPE_STATUS__INIT, *types[] = {&type};
    Udpa__Status__V1__SourceStatus source = UDPA__STATUS__V1__SOURCE_STATUS__INIT;
    char *missing[] = {T("cloud")};
    type.type_url = T(TEST_CDS);
    type.unsettled = missing;
    type.n_unsettled = 1;
    node.types = types;
    node.n_types = 1;
    source.name = T("core");
    source.n_refused = 2;
    answers[NODE] = resource_of("udpa.node/n/node", UDPAI_TYPE_NODE_STATUS, &node.base);
    answers[SOURCE] =
        resource_of("udpa.node/n/source/core", UDPAI_TYPE_SOURCE_STATUS, &source.base);
    answers[OTHER] = resource_of("com.acme/a", TEST_CDS, &node.base);
}

/* One that is called alike comes before that of the client. */
static void
make_sessions(void)
{
    Udpa__Status__V1__SessionStatus session = UDPA__STATUS__V1__SESSION_STATUS__INIT;
    char *namespaces[] = {T("com.shop"), T("com.common")};
    session.id = T("2");
    session.peer_node_id = T("edge-1");
    session.audience = T("banks");
    session.namespaces = namespaces;
    session.n_namespaces = 1;
    answers[NAMESAKE] =
        resource_of("udpa.node/n/session/2", UDPAI_TYPE_SESSION_STATUS, &session.base);
    session.id = T("3");
    session.audience = T("shops");
    session.n_namespaces = 2;
    answers[SESSION] =
        resource_of("udpa.node/n/session/3", UDPAI_TYPE_SESSION_STATUS, &session.base);
}

static void
make_replica(void)
{
    Udpa__Status__V1__ReplicaStatus replica = UDPA__STATUS__V1__REPLICA_STATUS__INIT;
    replica.is_own = true;
    replica.state = UDPA__STATUS__V1__REPLICA_STATUS__STATE__HELD;
    replica.reason = T("etcd lacks 3 of its resources");
    answers[REPLICA] =
        resource_of("udpa.node/n/replica/a", UDPAI_TYPE_REPLICA_STATUS, &replica.base);
}

static int
make_answers(void **state)
{
    (void)state;
    Udpa__Status__V1__AccessStatus access = UDPA__STATUS__V1__ACCESS_STATUS__INIT;
    access.has_rules = true;
    access.reason = T("no rule is for it");
    answers[ACCESS] = resource_of("udpa.node/access/x", UDPAI_ACCESS_TYPE, &access.base);
    make_origins();
    make_acknowledgements();
    make_status();
    make_sessions();
    make_replica();
    return 0;
}

static int
drop_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ANSWERS; i++)
        udpa_resource_unref(answers[i]);
    return 0;
}

/* ---- tests ---- */

static udpa_err
take_all(udpai_cli_explanation *self)
{
    udpa_err err = udpai_cli_explanation_begin(self, NULL);
    for (size_t i = 0; i < ANSWERS && err == UDPA_OK; i++)
        err = udpai_cli_explanation_take(self, answers[i]);
    return err;
}

static void
answers_are_put_together(void **state)
{
    (void)state;
    udpai_cli_explanation self = asked;
    udpai_strbuf out = {0};
    assert_ok(take_all(&self));
    udpai_cli_put_explanation_json(&out, &self);
    assert_str(
        udpai_strbuf_view(&out),
        "\"typeUrl\":\"" TEST_CDS "\",\"name\":\"com.acme/a\",\"isServed\":false,\"fact\":\"is not "
        "served: none of its contributions can be used; the node still waits for cloud, which may "
        "have it; the node has rejected resources of core (2): its log says which, and why; a "
        "change waits: by \\\"ops\\\"; this replica is held, and accepts no change: etcd lacks 3 "
        "of its "
        "resources; see 'udpactl store status'\",\"waitsFor\":\"cloud\",\"rejectedOf\":\"core "
        "(2)\","
        "\"frozen\":\"by \\\"ops\\\"\",\"replicaHeld\":\"etcd lacks 3 of its "
        "resources\",\"client\":"
        "\"edge-1\",\"clientFact\":\"rejected: no; its client group 'shops' does not see this "
        "namespace, but com.shop, com.common; it may not see it: no rule is for it\","
        "\"clientSession\":\"3\",\"clientGroup\":{\"name\":\"shops\",\"namespaces\":[\"com.shop\","
        "\"com.common\"],\"isVisible\":false},\"access\":{\"peer\":"
        "\"edge.acme\",\"hasRules\":true,\"rule\":\"\",\"reason\":\"no rule is for it\","
        "\"isDryRun\":false,\"isAllowed\":false},\"contributions\":[{\"origin\":\"source:core\","
        "\"authority\":\"\",\"version\":\"v1\",\"generation\":\"7\",\"path\":\"core\",\"because\":"
        "\"it waits: the name is frozen\",\"isEligible\":true,\"isSuperseded\":false,\"isSigned\":"
        "true,\"isHeld\":false,\"heldBecause\":\"\",\"sizeBytes\":9,\"isEffective\":false}],"
        "\"acknowledgements\":[{\"typeUrl\":"
        "\"" TEST_CDS
        "\",\"name\":\"com.acme/a\",\"exists\":false,\"subscribed\":1,\"acknowledged\":0,"
        "\"refused\":1,\"sentToNodes\":0,\"untold\":0,\"sessions\":[{\"session\":\"3\","
        "\"protocol\":\"\",\"address\":\"\",\"identity\":\"edge.acme\",\"nodeId\":\"edge-1\","
        "\"code\":0,\"reason\":\"no\",\"state\":\"refused\"}],\"left\":[],\"result\":\"waiting\"}]"
        "\n");
    udpai_strbuf_done(&out);
    udpai_cli_explanation_done(&self);
}

static void
without_answers_nothing_is_known(void **state)
{
    (void)state;
    udpai_cli_explanation self = asked;
    udpai_strbuf out = {0};
    assert_ok(udpai_cli_explanation_begin(&self, NULL));
    assert_false(udpai_cli_explanation_is_served(&self));
    assert_null(udpai_cli_explanation_session(&self));
    udpai_cli_put_explanation_fact(&out, &self);
    assert_str(udpai_strbuf_view(&out), "is not known yet: the node has not answered");
    udpai_strbuf_done(&out);
    udpai_cli_put_explanation_json(&out, &self);
    assert_null(strstr(out.data, "access"));
    udpai_strbuf_done(&out);
    udpai_cli_explanation_done(&self);
}

static void
questions_are_about_the_peer_once_it_is_known(void **state)
{
    (void)state;
    udpai_cli_explanation self = asked;
    UDPAI_AUTO_FREE char *origins = NULL, *before = NULL, *after = NULL;
    assert_ok(udpai_cli_explanation_begin(&self, NULL));
    assert_ok(udpai_cli_explanation_ask_origins(&self, &origins, NULL));
    assert_string_equal(origins, "udpa.node/origins/t/envoy.config.cluster.v3.Cluster/com.acme/a");
    assert_ok(udpai_cli_explanation_ask_access(&self, &before, NULL));
    assert_string_equal(before,
                        "udpa.node/access/subscribe/envoy.config.cluster.v3.Cluster/edge-1//"
                        "com.acme/a");
    assert_ok(udpai_cli_explanation_take(&self, answers[ACKNOWLEDGEMENTS]));
    assert_ok(udpai_cli_explanation_ask_access(&self, &after, NULL));
    assert_non_null(strstr(after, "/edge.acme//"));
    udpai_cli_explanation_done(&self);
}

static void
what_is_too_long_cannot_be_asked(void **state)
{
    (void)state;
    char name[UDPAI_NAME_MAX];
    udpai_cli_explanation self = asked;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    char *question = NULL;
    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    self.client = name;
    assert_int_equal(udpai_cli_explanation_ask_access(&self, &question, &error), UDPA_ERR_LIMIT);
    assert_string_equal(udpa_error_message(error), "that is too long for one question");
    self.name = name;
    assert_int_equal(udpai_cli_explanation_ask_origins(&self, &question, NULL), UDPA_ERR_LIMIT);
    assert_int_equal(udpai_cli_explanation_begin(&self, NULL), UDPA_ERR_INVAL);
    assert_null(question);
    udpai_cli_explanation_done(&self);
}

static void
malformed_answers_are_errors(void **state)
{
    static const char *const types[] = {UDPAI_ORIGINS_TYPE, UDPAI_ACCESS_TYPE,
                                        UDPAI_TYPE_SOURCE_STATUS, UDPAI_TYPE_REPLICA_STATUS};
    (void)state;
    udpai_cli_explanation self = asked;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++) {
        udpa_resource *bad = RESOURCE("udpa.node/x", .type = types[i], .value = "\xff\xff");
        assert_int_equal(udpai_cli_explanation_take(&self, bad), UDPA_ERR_MALFORMED);
        udpa_resource_unref(bad);
    }
    udpai_cli_explanation_done(&self);
}

/* ---- groups ---- */

/* What is reported of the client and this name, once this session of the node is known. */
static void
expect_of_session(const Udpa__Status__V1__SessionStatus *session,
                  const char *name,
                  const char *fact)
{
    udpai_cli_explanation self = asked;
    udpai_strbuf out = {0};
    udpa_resource *status =
        resource_of("udpa.node/n/session/9", UDPAI_TYPE_SESSION_STATUS, &session->base);
    self.name = name;
    assert_ok(udpai_cli_explanation_begin(&self, NULL));
    assert_ok(udpai_cli_explanation_take(&self, status));
    udpai_cli_put_explanation_client(&out, &self);
    assert_str(udpai_strbuf_view(&out), fact);
    udpai_strbuf_done(&out);
    udpa_resource_unref(status);
    udpai_cli_explanation_done(&self);
}

static void
a_client_is_in_a_group(void **state)
{
    (void)state;
    Udpa__Status__V1__SessionStatus session = UDPA__STATUS__V1__SESSION_STATUS__INIT;
    char *namespaces[] = {T("com.shop"), T("com.acme")};
    session.peer_identity = T("edge-1");
    session.audience = T("shops");
    session.namespaces = namespaces;
    session.n_namespaces = 2;
    expect_of_session(&session, "com.acme/a",
                      "does not subscribe to it; its client group 'shops' sees it");
    expect_of_session(&session, "com.acme2/a",
                      "does not subscribe to it; its client group 'shops' does not see this "
                      "namespace, but com.shop, com.acme");
    session.peer_identity = T("");
    session.peer_address = T("edge-1");
    session.audience = T("");
    expect_of_session(&session, "com.acme/a", "does not subscribe to it");
    expect_of_session(&session, "com.acme2/a",
                      "does not subscribe to it; it does not see this namespace, but com.shop, "
                      "com.acme");
}

static void
others_have_no_group(void **state)
{
    (void)state;
    Udpa__Status__V1__SessionStatus session = UDPA__STATUS__V1__SESSION_STATUS__INIT;
    char *namespaces[] = {T("com.shop")};
    session.peer_node_id = T("edge-1");
    expect_of_session(&session, "com.acme/a", "does not subscribe to it");
    session.namespaces = namespaces;
    session.n_namespaces = 1;
    session.source = T("core");
    expect_of_session(&session, "com.acme/a", "does not subscribe to it");
    session.source = T("");
    session.peer_node_id = T("edge-11");
    expect_of_session(&session, "com.acme/a", "does not subscribe to it");
}

static void
only_the_own_replica_is_held(void **state)
{
    (void)state;
    Udpa__Status__V1__ReplicaStatus replica = UDPA__STATUS__V1__REPLICA_STATUS__INIT;
    udpai_cli_explanation self = asked;
    for (unsigned i = 0; i < 3; i++) {
        replica.is_own = i > 0;
        replica.state = i == 1 ? UDPA__STATUS__V1__REPLICA_STATUS__STATE__BEHIND
                               : UDPA__STATUS__V1__REPLICA_STATUS__STATE__HELD;
        udpa_resource *status =
            resource_of("udpa.node/n/replica/b", UDPAI_TYPE_REPLICA_STATUS, &replica.base);
        assert_ok(udpai_cli_explanation_take(&self, status));
        assert_int_equal(self.replica != NULL, i == 2);
        udpa_resource_unref(status);
    }
    udpai_cli_explanation_forget_status(&self);
    assert_null(self.replica);
}

static udpa_err
explain(void *context)
{
    (void)context;
    udpai_cli_explanation self = asked;
    udpai_strbuf out = {0};
    UDPAI_AUTO_FREE char *origins = NULL, *access = NULL;
    udpa_err err = take_all(&self);
    if (err == UDPA_OK)
        err = udpai_cli_explanation_ask_origins(&self, &origins, NULL);
    if (err == UDPA_OK)
        err = udpai_cli_explanation_ask_access(&self, &access, NULL);
    if (err == UDPA_OK)
        udpai_cli_put_explanation_json(&out, &self);
    if (err == UDPA_OK && udpai_strbuf_failed(&out))
        err = UDPA_ERR_NOMEM;
    if (err == UDPA_OK && !(strstr(out.data, "cloud") && strstr(out.data, "core (2)")))
        err = UDPA_ERR_MALFORMED; /* something is left out, and nobody is told */
    udpai_strbuf_done(&out);
    udpai_cli_explanation_done(&self);
    return err;
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    oom_torture(explain, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_put_together),
        cmocka_unit_test(without_answers_nothing_is_known),
        cmocka_unit_test(questions_are_about_the_peer_once_it_is_known),
        cmocka_unit_test(what_is_too_long_cannot_be_asked),
        cmocka_unit_test(malformed_answers_are_errors),
        cmocka_unit_test(a_client_is_in_a_group),
        cmocka_unit_test(others_have_no_group),
        cmocka_unit_test(only_the_own_replica_is_held),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("cli/explanation", tests, make_answers, drop_answers);
}
