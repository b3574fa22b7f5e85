/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the sessions of a node is udpactl's own. */
#include "ctl/own_session.h"

#include "tests/harness/resources.h"
#include "udpa/status/v1/status.pb-c.h"

#define STATUS "type.googleapis.com/udpa.status.v1."

typedef Udpa__Status__V1__SessionStatus session_status;
typedef Udpa__Status__V1__SubscriptionStatus subscription_status;

typedef struct session {
    const char *name, *node_id, *source;
    int64_t since_s;
    const char *types[3];
} session;

static char *
text(const char *literal)
{
    return (char *)(uintptr_t)(literal ? literal : "");
}

static void
put(udpai_cli_found *found, const session *one)
{
    uint8_t room[1024];
    bool replaced;
    Google__Protobuf__Timestamp since = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    subscription_status subscriptions[3], *list[3];
    session_status status = UDPA__STATUS__V1__SESSION_STATUS__INIT;
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    since.seconds = one->since_s;
    status.since = &since;
    status.protocol = text("udpa");
    status.peer_node_id = text(one->node_id);
    status.source = text(one->source);
    status.subscriptions = list;
    for (size_t i = 0; i < 3 && one->types[i]; i++) {
        subscriptions[i] = (subscription_status)UDPA__STATUS__V1__SUBSCRIPTION_STATUS__INIT;
        subscriptions[i].type_url = text(one->types[i]);
        list[status.n_subscriptions++] = &subscriptions[i];
    }
    spec.name = one->name;
    spec.type_url = STATUS "SessionStatus";
    spec.payload = room;
    spec.payload_size = udpa__status__v1__session_status__pack(&status, room);
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    assert_ok(udpai_cli_found_put(found, resource, &replaced));
    udpa_resource_unref(resource);
}

/* The names that are left, with a blank behind each. */
static void
expect_left(const session *sessions, size_t n, bool is_hidden, const char *wanted)
{
    udpai_cli_found found;
    udpai_cli_requests asked = {0};
    udpai_strbuf left = {0};
    udpai_cli_found_begin(&found);
    assert_non_null(udpai_cli_requests_of_type(&asked, STATUS "SessionStatus"));
    for (size_t i = 0; i < n; i++)
        put(&found, &sessions[i]);
    assert_int_equal(udpai_ctl_hide_own_session(&found, "udpactl", &asked, 6000000), is_hidden);
    UDPAI_AUTO_FREE udpa_resource **sorted = udpai_cli_found_sorted(&found);
    udpai_strbuf_puts(&left, "");
    for (size_t i = 0; i < udpai_cli_found_size(&found); i++)
        udpai_strbuf_printf(&left, "%s ", strrchr(udpa_resource_name(sorted[i]), '/') + 1);
    assert_str(udpai_strbuf_view(&left), wanted);
    udpai_strbuf_done(&left);
    udpai_cli_requests_done(&asked);
    udpai_cli_found_done(&found);
}

static void
the_youngest_that_asks_the_same_is_ours(void **state)
{
    (void)state;
    const session sessions[] = {
        {"udpa.node/n/asks-before", "udpactl", NULL, 5, {STATUS "SessionStatus"}},
        {"udpa.node/n/asks-now", "udpactl", NULL, 9, {STATUS "NodeStatus", STATUS "SessionStatus"}},
        {"udpa.node/n/other-id", "edge", NULL, 10, {STATUS "SessionStatus"}},
        {"udpa.node/n/watches", "udpactl", NULL, 10, {STATUS "SessionStatus", TEST_CDS}},
        {"udpa.node/n/waits", "udpactl", NULL, 10, {STATUS "AcknowledgementStatus"}},
        {"udpa.node/n/source", "udpactl", "core", 10, {STATUS "SessionStatus"}},
    };
    expect_left(sessions, UDPAI_ARRAY_LEN(sessions), true,
                "asks-before other-id source waits watches ");
}

static void
what_has_not_said_who_it_is_may_be_ours(void **state)
{
    (void)state;
    const session sessions[] = {
        {"udpa.node/n/new", "", NULL, 9, {NULL}},
        {"udpa.node/n/silent", "", NULL, 3, {NULL}},
    };
    expect_left(sessions, UDPAI_ARRAY_LEN(sessions), true, "silent ");
}

static void
without_ours_all_stay(void **state)
{
    (void)state;
    const session sessions[] = {
        {"udpa.node/n/a", "edge", NULL, 5, {STATUS "SessionStatus"}},
        {"udpa.node/n/b", "udpactl", NULL, 5, {TEST_CDS}},
        {"udpa.node/n/c", "udpactl", NULL, 1, {STATUS "SessionStatus"}}, /* older than we are */
    };
    expect_left(sessions, UDPAI_ARRAY_LEN(sessions), false, "a b c ");
    expect_left(NULL, 0, false, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_youngest_that_asks_the_same_is_ours),
        cmocka_unit_test(what_has_not_said_who_it_is_may_be_ours),
        cmocka_unit_test(without_ours_all_stay),
    };
    return cmocka_run_group_tests_name("ctl own_session", tests, NULL, NULL);
}
