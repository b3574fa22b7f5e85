/* SPDX-License-Identifier: Apache-2.0 */
/* What a node says of who has acknowledged something, and when waiting for it is over. */
#include "ctl/awaited_view.h"

#include "base/strbuf.h"
#include "session/acknowledgement.h"
#include "tests/harness/resources.h"

static udpai_cli_layout plain;

#define NOW_US INT64_C(1000000000000)
#define S(name) UDPA__STATUS__V1__SESSION_ACKNOWLEDGEMENT__STATE__##name

typedef Udpa__Status__V1__AcknowledgementStatus status_message;
typedef Udpa__Status__V1__SessionAcknowledgement session_message;

static udpai_cli_awaited_list list;

static int
setup(void **state)
{
    (void)state;
    list = (udpai_cli_awaited_list){.token = "t", .node_id = "udpactl"};
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    udpai_cli_awaited_done(&list);
    return 0;
}

static char *
text(const char *constant)
{
    return (char *)(uintptr_t)constant;
}

/* Hands over what the node says of the item: its version (NULL: it is gone), and of each session
 * its peer and state, "edge:REFUSED". */
struct said {
    const char *version;

    struct {
        const char *peer;
        int state;
    } sessions[4];

    size_t n_more; /* that are not listed, and have it */
};

static void
count(status_message *status, int session_state)
{
    status->n_subscribed++;
    status->n_acknowledged += session_state == S(ACKNOWLEDGED);
    status->n_sent += session_state == S(SENT);
    status->n_refused += session_state == S(REFUSED);
    status->n_untold += session_state == S(UNTOLD);
}

static void
take(size_t index, const struct said *said)
{
    session_message sessions[4], *pointers[4];
    status_message status = UDPA__STATUS__V1__ACKNOWLEDGEMENT_STATUS__INIT;
    Google__Protobuf__Timestamp since = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    since.seconds = NOW_US / 1000000 - 65;
    status.type_url = list.items.items[index].type_url;
    status.name = list.items.items[index].name;
    status.exists = said->version != NULL;
    status.version = status.content_version = text(said->version ? said->version : "");
    status.sessions = pointers;
    for (size_t i = 0; i < 4 && said->sessions[i].peer; i++) {
        udpa__status__v1__session_acknowledgement__init(&sessions[i]);
        sessions[i].id = text("7");
        sessions[i].peer_node_id = text(said->sessions[i].peer);
        sessions[i].protocol = text("xds-delta");
        sessions[i].state =
            (Udpa__Status__V1__SessionAcknowledgement__State)said->sessions[i].state;
        sessions[i].since = &since;
        sessions[i].message = text(said->sessions[i].state == S(REFUSED) ? "bad \"thing\"" : "");
        pointers[status.n_sessions++] = &sessions[i];
        count(&status, said->sessions[i].state);
    }
    status.n_subscribed += said->n_more;
    status.n_acknowledged += said->n_more;
    uint8_t room[2048];
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    spec.name = list.items.items[index].question;
    spec.type_url = UDPAI_ACKNOWLEDGEMENT_TYPE;
    spec.payload = room;
    spec.payload_size = udpa__status__v1__acknowledgement_status__pack(&status, room);
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    assert_ok(udpai_cli_awaited_take(&list, resource));
    udpa_resource_unref(resource);
}

#define TAKE(index, ...) take((index), &(struct said){__VA_ARGS__})

static void
add(const char *name, const char *version)
{
    assert_ok(udpai_cli_awaited_add(&list, TEST_CDS, name, version, NULL));
}

static void
expect(udpai_cli_progress progress)
{
    assert_int_equal(udpai_cli_awaited_overall(&list), progress);
}

static void
it_is_over_when_all_have_it(void **state)
{
    (void)state;
    add("local/a", NULL);
    assert_string_equal(list.items.items[0].question,
                        "udpa.node/acknowledgement/t/" TEST_CDS "/local/a");
    expect(UDPAI_CLI_UNKNOWN);
    TAKE(0, .version = "1", .sessions = {{"edge", S(BEHIND)}});
    expect(UDPAI_CLI_WAITING);
    TAKE(0, .version = "1", .sessions = {{"edge", S(UNANSWERED)}, {"two", S(ACKNOWLEDGED)}});
    expect(UDPAI_CLI_WAITING);
    TAKE(0, .version = "1", .sessions = {{"edge", S(DOUBTFUL)}});
    expect(UDPAI_CLI_WAITING);
    TAKE(0, .version = "1", .sessions = {{"edge", S(ACKNOWLEDGED)}, {"two", S(ACKNOWLEDGED)}});
    expect(UDPAI_CLI_ACKNOWLEDGED);
    TAKE(0, .version = "2", .sessions = {{"edge", S(BEHIND)}}); /* whichever version is there */
    expect(UDPAI_CLI_WAITING);
    TAKE(0, .version = NULL);
    expect(UDPAI_CLI_WAITING);
}

static void
a_refusal_stands_until_it_is_taken_back(void **state)
{
    (void)state;
    add("local/a", NULL);
    TAKE(0, .version = "1", .sessions = {{"edge", S(REFUSED)}, {"two", S(UNANSWERED)}});
    expect(UDPAI_CLI_REFUSED_BY);
    TAKE(0, .version = "2", .sessions = {{"edge", S(ACKNOWLEDGED)}, {"two", S(ACKNOWLEDGED)}});
    expect(UDPAI_CLI_ACKNOWLEDGED);
}

static void
a_version_may_be_replaced(void **state)
{
    (void)state;
    add("local/a", "2");
    TAKE(0, .version = "1", .sessions = {{"edge", S(ACKNOWLEDGED)}});
    expect(UDPAI_CLI_WAITING); /* it may come yet */
    TAKE(0, .version = NULL);
    expect(UDPAI_CLI_WAITING);
    TAKE(0, .version = "2", .sessions = {{"edge", S(BEHIND)}});
    expect(UDPAI_CLI_WAITING);
    TAKE(0, .version = "3", .sessions = {{"edge", S(ACKNOWLEDGED)}});
    expect(UDPAI_CLI_REPLACED);
}

static void
a_removal_is_waited_for(void **state)
{
    (void)state;
    add("local/a", NULL);
    list.items.items[0].is_removal = true;
    TAKE(0, .version = "1", .sessions = {{"edge", S(ACKNOWLEDGED)}});
    expect(UDPAI_CLI_WAITING);
    TAKE(0, .version = NULL, .sessions = {{"edge", S(UNANSWERED)}, {"two", S(UNTOLD)}});
    expect(UDPAI_CLI_WAITING);
    TAKE(0, .version = NULL, .sessions = {{"edge", S(ACKNOWLEDGED)}, {"two", S(UNTOLD)}});
    expect(UDPAI_CLI_ACKNOWLEDGED);
    TAKE(0, .version = "1", .sessions = {{"edge", S(ACKNOWLEDGED)}});
    expect(UDPAI_CLI_REPLACED);
}

static void
so_many_must_have_it(void **state)
{
    (void)state;
    add("local/a", NULL);
    TAKE(0, .version = "1");
    expect(UDPAI_CLI_ACKNOWLEDGED); /* nobody need be there */
    list.at_least = 2;
    expect(UDPAI_CLI_WAITING);
    TAKE(0, .version = "1", .sessions = {{"edge", S(ACKNOWLEDGED)}, {"node", S(SENT)}});
    expect(UDPAI_CLI_WAITING); /* a node acknowledges nothing */
    TAKE(0, .version = "1", .sessions = {{"edge", S(ACKNOWLEDGED)}}, .n_more = 1);
    expect(UDPAI_CLI_ACKNOWLEDGED);
}

static void
who_leaves_without_it_is_missed(void **state)
{
    (void)state;
    add("local/a", NULL);
    TAKE(0, .version = "1",
         .sessions = {{"edge", S(UNANSWERED)}, {"two", S(ACKNOWLEDGED)}, {"udpactl", S(BEHIND)}});
    TAKE(0, .version = "1", .sessions = {{"two", S(ACKNOWLEDGED)}});
    expect(UDPAI_CLI_WAITING);
    TAKE(0, .version = "1", .sessions = {{"two", S(ACKNOWLEDGED)}},
         .n_more = 1); /* it may be among those */
    expect(UDPAI_CLI_ACKNOWLEDGED);
    TAKE(0, .version = "1", .sessions = {{"two", S(ACKNOWLEDGED)}});
    expect(UDPAI_CLI_WAITING);
    TAKE(0, .version = "1", .sessions = {{"edge", S(ACKNOWLEDGED)}, {"two", S(ACKNOWLEDGED)}});
    expect(UDPAI_CLI_ACKNOWLEDGED);
}

static void
all_are_waited_for(void **state)
{
    (void)state;
    add("local/a", NULL);
    add("local/b", NULL);
    TAKE(0, .version = "1", .sessions = {{"edge", S(ACKNOWLEDGED)}});
    expect(UDPAI_CLI_UNKNOWN);
    TAKE(1, .version = "1", .sessions = {{"edge", S(UNANSWERED)}});
    expect(UDPAI_CLI_WAITING);
    TAKE(1, .version = "1", .sessions = {{"edge", S(REFUSED)}});
    expect(UDPAI_CLI_REFUSED_BY);
    TAKE(1, .version = "2", .sessions = {{"edge", S(ACKNOWLEDGED)}});
    expect(UDPAI_CLI_ACKNOWLEDGED);
}

/* "route/host" is that name, or if there is none, local/route/host. */
static void
of_two_readings_one_is_meant(void **state)
{
    (void)state;
    add("route/host", NULL);
    add("local/route/host", NULL);
    list.items.items[1].is_second = true;
    TAKE(0, .version = NULL);
    expect(UDPAI_CLI_UNKNOWN);
    TAKE(1, .version = NULL);
    expect(UDPAI_CLI_WAITING);
    assert_true(udpai_cli_awaited_is_meant(&list, 0));
    assert_false(udpai_cli_awaited_is_meant(&list, 1));
    TAKE(1, .version = "1", .sessions = {{"edge", S(ACKNOWLEDGED)}});
    expect(UDPAI_CLI_ACKNOWLEDGED);
    assert_false(udpai_cli_awaited_is_meant(&list, 0));
    TAKE(0, .version = "1", .sessions = {{"edge", S(UNANSWERED)}});
    expect(UDPAI_CLI_WAITING);
    assert_true(udpai_cli_awaited_is_meant(&list, 0));
}

static void
what_cannot_be_asked_is_refused(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    char name[1100];
    memset(name, 'n', sizeof(name));
    memcpy(name, "local/", 6);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(udpai_cli_awaited_add(&list, TEST_CDS, name, NULL, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "too long"));
    static const char *const types[] = {"", "a.B", "/a.B", "x/y/a.B"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++)
        assert_int_equal(udpai_cli_awaited_add(&list, types[i], "local/a", NULL, NULL),
                         UDPA_ERR_INVAL);
    assert_int_equal(list.items.n, 0);
}

static void
what_is_no_answer_is_left_alone(void **state)
{
    (void)state;
    add("local/a", NULL);
    udpa_resource *other = RESOURCE("udpa.node/acknowledgement/u/x/y/z", .value = "\x0a"),
                  *broken = RESOURCE(list.items.items[0].question, .value = "\x0a");
    assert_ok(udpai_cli_awaited_take(&list, other));
    assert_int_equal(udpai_cli_awaited_take(&list, broken), UDPA_ERR_MALFORMED);
    expect(UDPAI_CLI_UNKNOWN);
    udpa_resource_unref(other);
    udpa_resource_unref(broken);
}

/* ---- as text ---- */

static void
expect_text(bool is_json, const char *wanted)
{
    udpai_strbuf out = {0};
    if (is_json)
        udpai_cli_put_awaited_json(&out, &list);
    else
        udpai_ctl_put_awaited(&out, &plain, &list, NOW_US);
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
}

static void
expect_progress(const char *wanted)
{
    udpai_strbuf out = {0};
    udpai_ctl_put_awaited_progress(&out, &list);
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
}

static void
progress_of_one_resource(void **state)
{
    (void)state;
    add("local/a", "1");
    expect_progress("the node has not answered");
    TAKE(0, .version = NULL);
    expect_progress("cluster local/a is not there");
    TAKE(0, .version = "2");
    expect_progress("cluster local/a is not there in this version");
    TAKE(0, .version = "1", .sessions = {{"a", S(UNANSWERED)}, {"b", S(BEHIND)}}, .n_more = 3);
    expect_progress("3 of 5 clients acknowledge, waiting for: a, b");
    TAKE(0, .version = "1", .sessions = {{"a", S(ACKNOWLEDGED)}, {"b", S(SENT)}, {"u", S(UNTOLD)}});
    expect_progress("1 of 1 clients acknowledge");
    list.at_least = 2;
    expect_progress("1 of at least 2 clients acknowledge");
}

static void
progress_of_several_resources(void **state)
{
    (void)state;
    add("local/a", NULL);
    add("local/b", NULL);
    add("local/c", NULL);
    TAKE(0, .version = "1", .sessions = {{"x", S(UNANSWERED)}, {"y", S(REFUSED)}}, .n_more = 2);
    TAKE(1, .version = "1", .sessions = {{"x", S(UNANSWERED)}, {"z", S(UNANSWERED)}});
    expect_progress("0 of 3 resources acknowledged, by 2 of 6 subscriptions, waiting for: x, y, z");
    TAKE(0, .version = "1", .sessions = {{"x", S(ACKNOWLEDGED)}});
    TAKE(2, .version = NULL);
    expect_progress("0 of 3 resources acknowledged, by 1 of 4 subscriptions, waiting for: y, x, z; "
                    "cluster local/c is not there");
}

static void
progress_of_a_removal(void **state)
{
    (void)state;
    add("local/a", NULL);
    list.items.items[0].is_removal = true;
    TAKE(0, .version = "1");
    expect_progress("cluster local/a is still there");
    TAKE(0, .version = NULL, .sessions = {{"x", S(UNANSWERED)}, {"y", S(ACKNOWLEDGED)}});
    expect_progress("1 of 2 clients acknowledge, waiting for: x");
}

static void
the_table_tells_who_has_not(void **state)
{
    (void)state;
    add("local/a", NULL);
    expect_text(false, "cluster local/a: the node has not answered\n");
    TAKE(0, .version = "1");
    expect_text(false, "cluster local/a: no subscribers, version 1\n");
    TAKE(0, .version = "1", .sessions = {{"edge", S(ACKNOWLEDGED)}, {"core", S(SENT)}});
    expect_text(false,
                "cluster local/a: 1 of 2 have version 1 (1 are other nodes, which were sent "
                "it: ask them)\n"
                "\n"
                "RESOURCE          SESSION   PEER   ADDRESS   PROTOCOL    STATE       AGE"
                "         REASON\n"
                "cluster local/a   7         core   -         xds-delta   is a node   1 min 5 s"
                "   -\n");
    TAKE(0, .version = "1", .sessions = {{"edge", S(REFUSED)}});
    expect_text(false,
                "cluster local/a: 0 of 1 have version 1\n"
                "\n"
                "RESOURCE          SESSION   PEER   ADDRESS   PROTOCOL    STATE      AGE"
                "         REASON\n"
                "cluster local/a   7         edge   -         xds-delta   rejected   1 min 5 s"
                "   bad \"thing\"\n");
    TAKE(0, .version = "1", .sessions = {{"two", S(ACKNOWLEDGED)}});
    expect_text(false, "cluster local/a: 1 of 1 have version 1\n"
                       "\n"
                       "RESOURCE          SESSION   PEER   ADDRESS   PROTOCOL   STATE      AGE   "
                       "REASON\n"
                       "cluster local/a   -         edge   -         -          has left   -     "
                       "its stream has ended before it had acknowledged it\n");
    TAKE(0, .version = NULL);
    expect_text(false, "cluster local/a: is not there any more\n");
}

static void
what_is_there_instead_is_told(void **state)
{
    (void)state;
    add("local/a", "2");
    TAKE(0, .version = NULL);
    expect_text(false, "cluster local/a: is not there\n");
    TAKE(0, .version = "1");
    expect_text(false, "cluster local/a: is not there in this version: the node has version 1\n");
    TAKE(0, .version = "2");
    TAKE(0, .version = "3");
    expect_text(false, "cluster local/a: has been replaced: the node has version 3\n");
    list.items.items[0].is_removal = true;
    list.items.items[0].was_there = false;
    expect_text(false, "cluster local/a: is still there: the node has version 3\n");
    TAKE(0, .version = NULL, .sessions = {{"edge", S(ACKNOWLEDGED)}});
    expect_text(false, "cluster local/a: 1 of 1 have acknowledged its removal\n");
    TAKE(0, .version = "4");
    expect_text(false, "cluster local/a: is there again: the node has version 4\n");
}

static void
json_has_all_that_is_known(void **state)
{
    (void)state;
    add("local/a", "1");
    add("local/b", NULL);
    TAKE(0, .version = "1", .sessions = {{"edge", S(REFUSED)}, {"gone", S(BEHIND)}});
    TAKE(0, .version = "1", .sessions = {{"edge", S(REFUSED)}});
    expect_text(
        true,
        "[{\"typeUrl\":\"" TEST_CDS "\",\"name\":\"local/a\",\"awaitedVersion\":\"1\","
        "\"exists\":true,\"version\":\"1\",\"contentVersion\":\"1\",\"subscribed\":1,"
        "\"acknowledged\":0,\"refused\":1,\"sentToNodes\":0,\"untold\":0,\"sessions\":[{"
        "\"session\":"
        "\"7\",\"protocol\":\"xds-delta\",\"address\":\"\",\"identity\":\"\",\"nodeId\":\"edge\","
        "\"since\":\"1970-01-12T13:45:35Z\",\"code\":0,\"reason\":\"bad \\\"thing\\\"\","
        "\"state\":\"refused\"}],\"left\":[\"gone\"],\"result\":\"refused\"},\n"
        "{\"typeUrl\":\"" TEST_CDS "\",\"name\":\"local/b\",\"result\":\"unknown\"}]\n");
}

#define awaited_test(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        awaited_test(it_is_over_when_all_have_it),
        awaited_test(a_refusal_stands_until_it_is_taken_back),
        awaited_test(a_version_may_be_replaced),
        awaited_test(a_removal_is_waited_for),
        awaited_test(so_many_must_have_it),
        awaited_test(who_leaves_without_it_is_missed),
        awaited_test(all_are_waited_for),
        awaited_test(of_two_readings_one_is_meant),
        awaited_test(what_cannot_be_asked_is_refused),
        awaited_test(what_is_no_answer_is_left_alone),
        awaited_test(progress_of_one_resource),
        awaited_test(progress_of_several_resources),
        awaited_test(progress_of_a_removal),
        awaited_test(the_table_tells_who_has_not),
        awaited_test(what_is_there_instead_is_told),
        awaited_test(json_has_all_that_is_known),
    };
    return cmocka_run_group_tests_name("ctl awaited", tests, NULL, NULL);
}
