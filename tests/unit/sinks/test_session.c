/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of clients that stream events, and their slowing down. */
#include "session_bed.h"

#include "tests/harness/oom.h"
#include "udpa/status/v1/status.pb-c.h"

/* ---- what comes ---- */

static void
assert_next(udpai_topic_follower *follower, const char *node, const char *name, udpai_str message)
{
    uint64_t n_lost;
    const udpai_event *event =
        udpai_topic_next(sinks.topics[UDPAI_EVENT_ACCESS_LOG], follower, &n_lost);
    assert_non_null(event);
    assert_str(event->source->node_id, node);
    assert_str(event->source->name, name);
    assert_true(udpai_str_eq(udpai_bytes_view(event->message), message));
    assert_int_equal(event->time_us, hub.wall_us);
}

static void
who_sends_is_said_once(void **state)
{
    udpai_topic_follower follower = {0};
    (void)state;
    open_stream("192.0.2.1:1");
    receive(&stream, W_JOIN(who("edge-1", "ingress"), entry("a")));
    receive(&stream, entry("b"));
    receive(&stream, W_JOIN(who("other", "other"), entry("c"))); /* which counts for nothing */
    assert_ok(udpai_topic_follow(sinks.topics[UDPAI_EVENT_ACCESS_LOG], &follower));
    assert_next(&follower, "edge-1", "ingress", entry("a"));
    assert_next(&follower, "edge-1", "ingress", entry("b"));
    assert_next(&follower, "edge-1", "ingress", entry("c"));
    udpai_topic_unfollow(sinks.topics[UDPAI_EVENT_ACCESS_LOG], &follower);
    assert_int_equal(facts().n_accepted, 3);
    assert_int_equal(facts().n_clients, 1);
    assert_false(stream.is_finished);
}

static void
a_message_without_events_is_none(void **state)
{
    (void)state;
    open_stream("192.0.2.1:1");
    receive(&stream, who("edge-1", "ingress"));
    assert_int_equal(facts().n_accepted, 0);
    assert_false(stream.is_finished);
}

static void
the_first_message_must_say_who_sends(void **state)
{
    (void)state;
    open_stream("192.0.2.1:1");
    receive(&stream, entry("a"));
    expect_end(&stream, UDPA_ERR_INVAL, "must have an identifier");
    assert_int_equal(facts().n_refused, 1);
}

static void
bad_messages_end_the_stream(void **state)
{
    char id[UDPAI_AUTHORITY_MAX + 2];
    (void)state;
    open_stream("192.0.2.1:1");
    receive(&stream, UDPAI_STR("\x0a\x7f"));
    expect_end(&stream, UDPA_ERR_MALFORMED, "malformed");
    fake_stream_close(&stream);
    open_stream("192.0.2.1:1");
    receive(&stream, W_MESSAGE(1, W_BYTES(1, "\x0a\x02\xff\xff")));
    expect_end(&stream, UDPA_ERR_MALFORMED, "UTF-8");
    fake_stream_close(&stream);
    memset(id, 'x', sizeof(id));
    id[sizeof(id) - 1] = '\0';
    open_stream("192.0.2.1:1");
    receive(&stream, who(id, ""));
    expect_end(&stream, UDPA_ERR_INVAL, "id of the Node");
    fake_stream_close(&stream);
    char large[10001];
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    open_stream("192.0.2.1:1");
    receive(&stream, W_JOIN(who("edge", ""), entry(large)));
    expect_end(&stream, UDPA_ERR_LIMIT, "larger than all");
    assert_int_equal(facts().n_refused, 4);
    assert_int_equal(facts().n_accepted, 0);
}

static void
who_floods_is_not_read(void **state)
{
    (void)state;
    open_stream("192.0.2.1:1");
    receive(&stream, who("edge-1", ""));
    for (size_t i = 0; i < 5; i++)
        receive(&stream, entry("a"));
    assert_false(stream.is_paused);
    receive(&stream, entry("a"));
    assert_true(stream.is_paused);
    fake_hub_advance(&hub, UDPAI_TOPIC_TURN_MS);
    assert_false(stream.is_paused);
}

/* ---- the end ---- */

static void
who_has_sent_all_is_answered(void **state)
{
    (void)state;
    open_stream("192.0.2.1:1");
    receive(&stream, W_JOIN(who("edge-1", ""), entry("a")));
    fake_stream_run(&stream, &hub);
    assert_null(fake_stream_take(&stream));
    udpai_session_ended(stream.session);
    fake_stream_run(&stream, &hub);
    udpa_bytes *answer = fake_stream_take(&stream);
    assert_non_null(answer);
    assert_int_equal(udpa_bytes_size(answer), 0);
    udpa_bytes_unref(answer);
    assert_true(stream.is_finished);
    assert_null(stream.status);
    fake_stream_close(&stream);
    assert_int_equal(facts().n_clients, 0);
    assert_int_equal(facts().n_held, 1); /* what it has sent stays */
}

static void
who_may_send_more_is_not_answered(void **state)
{
    (void)state;
    open_stream("192.0.2.1:1");
    receive(&stream, W_JOIN(who("edge-1", ""), entry("a")));
    udpai_session_ready(stream.session);
    fake_stream_run(&stream, &hub);
    assert_null(fake_stream_take(&stream));
    assert_false(stream.is_finished);
}

/* ---- rules ---- */

static void
order_rules(udpai_acl *acl)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACL);
    assert_non_null(order);
    order->acl = acl;
    udpai_hub_order(hub.hub, order);
}

static int
setup_rules(void **state)
{
    (void)state;
    udpai_acl *acl = session_bed_acl(false);
    session_bed_init(acl, 10);
    udpai_acl_unref(acl);
    return 0;
}

static void
only_who_may_publish_its_type_may_send(void **state)
{
    (void)state;
    open_stream("192.0.2.1:1");
    receive(&stream, W_JOIN(who("admin", ""), entry("a")));
    expect_end(&stream, UDPA_ERR_DENIED, "rule 'admins', the nearest, is for other actions");
    fake_stream_close(&stream);
    assert_int_equal(facts().n_accepted, 0);
    assert_int_equal(facts().n_refused, 1);
    open_stream("192.0.2.1:1");
    receive(&stream, W_JOIN(who("edge-1", ""), entry("a")));
    assert_false(stream.is_finished);
    assert_int_equal(facts().n_accepted, 1);
}

static void
other_rules_end_who_may_not_any_more(void **state)
{
    const udpai_acl_options none = {.trusts_node_ids = true};
    udpai_acl *acl = NULL;
    (void)state;
    open_stream("192.0.2.1:1");
    receive(&stream, W_JOIN(who("edge-1", ""), entry("a")));
    order_rules(session_bed_acl(false));
    assert_false(stream.is_finished);
    assert_ok(udpai_acl_new(&acl, &none));
    order_rules(acl);
    expect_end(&stream, UDPA_ERR_DENIED, "no rule");
}

static void
a_dry_run_only_counts(void **state)
{
    udpai_acl *acl = session_bed_acl(true);
    (void)state;
    session_bed_init(acl, 10);
    udpai_acl_unref(acl);
    open_stream("192.0.2.1:1");
    receive(&stream, W_JOIN(who("mallory", ""), entry("a")));
    assert_false(stream.is_finished);
    assert_int_equal(stream.session->n_denied, 1);
}

/* ---- status and memory ---- */

static void
a_session_is_described(void **state)
{
    (void)state;
    open_stream("192.0.2.1:1");
    receive(&stream, W_JOIN(who("edge-1", ""), entry("a")));
    udpa_bytes *bytes = stream.session->ops->describe(stream.session);
    assert_non_null(bytes);
    Udpa__Status__V1__SessionStatus *status = udpa__status__v1__session_status__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(status);
    assert_string_equal(status->protocol, "access-log");
    assert_string_equal(status->peer_node_id, "edge-1");
    assert_int_equal(status->n_resources_received, 1);
    udpa__status__v1__session_status__free_unpacked(status, NULL);
    udpa_bytes_unref(bytes);
}

typedef struct oom_bed {
    udpai_str message;
    fake_stream stream;
} oom_bed;

static udpa_err
send_one(void *context)
{
    oom_bed *self = context;
    udpai_session *session = NULL;
    const udpai_stream_info info = {
        .stream = (udpai_stream *)(void *)&self->stream,
        .ops = stream.session->info.ops,
        .context = sinks.topics[UDPAI_EVENT_ACCESS_LOG],
    };
    self->stream = (fake_stream){0};
    udpa_err err = udpai_sink_session_new(&session, hub.hub, &info);
    if (err != UDPA_OK)
        return err;
    self->stream.session = session;
    if (!self->stream.is_finished)
        udpai_session_receive(session, self->message);
    err = self->stream.is_finished ? udpa_error_code(self->stream.status) : UDPA_OK;
    udpa_error_unref(self->stream.status);
    udpai_session_closed(session, NULL);
    return err;
}

static void
without_memory_a_stream_ends(void **state)
{
    static oom_bed self;
    (void)state;
    open_stream("192.0.2.1:1"); /* of which the operations are borrowed */
    self.message = W_JOIN(who("edge-1", "ingress"), entry("a"));
    oom_torture(send_one, &self);
    assert_int_equal(facts().n_accepted, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, session_bed_setup, session_bed_done)
#define CASE_OF_RULES(name) cmocka_unit_test_setup_teardown(name, setup_rules, session_bed_done)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(who_sends_is_said_once),
        CASE(a_message_without_events_is_none),
        CASE(the_first_message_must_say_who_sends),
        CASE(bad_messages_end_the_stream),
        CASE(who_floods_is_not_read),
        CASE(who_has_sent_all_is_answered),
        CASE(who_may_send_more_is_not_answered),
        CASE_OF_RULES(only_who_may_publish_its_type_may_send),
        CASE_OF_RULES(other_rules_end_who_may_not_any_more),
        cmocka_unit_test_teardown(a_dry_run_only_counts, session_bed_done),
        CASE(a_session_is_described),
        CASE(without_memory_a_stream_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
