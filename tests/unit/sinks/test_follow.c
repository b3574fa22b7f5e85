/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the events of a node by udpa.service.events.v1. */
#include "session_bed.h"

#include "udpa/service/events/v1/events.pb-c.h"

typedef Udpa__Service__Events__V1__FollowResponse response_message;

static void
open_reader(void)
{
    const udpai_stream_info info = {.context = &sinks};
    fake_stream_open(&reader, &hub, udpai_events_session_new, &info);
}

static udpai_str
ask(const char *kind, bool follow, const char *node_id)
{
    return W_JOIN(W_TEXT(1, kind), W_VARINT(2, follow), W_TEXT(3, node_id));
}

static void
send_some(size_t n)
{
    if (!stream.session) {
        open_stream("192.0.2.1:1");
        receive(&stream, who("edge-1", "ingress"));
    }
    for (size_t i = 0; i < n; i++) {
        receive(&stream, entry("a"));
        fake_hub_advance(&hub, UDPAI_TOPIC_TURN_MS);
    }
}

static void
expect_event(uint64_t sequence, uint64_t n_lost)
{
    fake_stream_run(&reader, &hub);
    udpa_bytes *bytes = fake_stream_take(&reader);
    assert_non_null(bytes);
    response_message *response = udpa__service__events__v1__follow_response__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(response);
    assert_int_equal(response->n_lost, n_lost);
    assert_non_null(response->event);
    const Udpa__Service__Events__V1__Event *event = response->event;
    assert_int_equal(event->sequence, sequence);
    assert_string_equal(event->node_id, "edge-1");
    assert_string_equal(event->name, "ingress");
    assert_string_equal(event->type_url,
                        "type.googleapis.com/envoy.service.accesslog.v3.StreamAccessLogsMessage");
    assert_true(event->time && event->time->seconds > 0);
    udpai_str message = {(const char *)event->message.data, event->message.len};
    assert_true(udpai_str_eq(message, entry("a")));
    udpa__service__events__v1__follow_response__free_unpacked(response, NULL);
    udpa_bytes_unref(bytes);
}

static void
expect_no_event(void)
{
    fake_stream_run(&reader, &hub);
    assert_null(fake_stream_take(&reader));
}

static void
what_is_held_is_sent_and_then_it_ends(void **state)
{
    (void)state;
    send_some(2);
    open_reader();
    receive(&reader, ask("access-log", false, "me"));
    udpai_session_ended(reader.session);
    expect_event(1, 0);
    expect_event(2, 0);
    expect_no_event();
    assert_true(reader.is_finished);
    assert_null(reader.status);
}

static void
with_follow_it_goes_on(void **state)
{
    (void)state;
    open_reader();
    receive(&reader, ask("access-log", true, "me"));
    udpai_session_ended(reader.session);
    expect_no_event();
    assert_false(reader.is_finished);
    send_some(1);
    expect_event(1, 0);
    expect_no_event();
    send_some(25); /* of which the ring keeps ten */
    assert_false(reader.is_finished);
    expect_event(17, 15);
    for (uint64_t i = 18; i <= 26; i++)
        expect_event(i, 0);
    expect_no_event();
}

static void
a_reader_that_does_not_read_costs_one_message(void **state)
{
    (void)state;
    open_reader();
    receive(&reader, ask("access-log", true, "me"));
    send_some(1);
    udpai_hub_run(hub.hub); /* and the write is never done */
    send_some(30);
    assert_int_equal(facts().n_held, 10);
    assert_int_equal(reader.written.n, 1);
}

static void
wrong_requests_are_refused(void **state)
{
    (void)state;
    open_reader();
    receive(&reader, ask("tap", false, "me"));
    expect_end(&reader, UDPA_ERR_NOT_FOUND, "has access-log");
    fake_stream_close(&reader);
    open_reader();
    receive(&reader, ask("", false, "me"));
    expect_end(&reader, UDPA_ERR_NOT_FOUND, "no sink of kind ''");
    fake_stream_close(&reader);
    open_reader();
    receive(&reader, W_BYTES(1, "\xff"));
    expect_end(&reader, UDPA_ERR_MALFORMED, "UTF-8");
    fake_stream_close(&reader);
    open_reader();
    udpai_session_ended(reader.session);
    expect_end(&reader, UDPA_ERR_INVAL, "needs a FollowRequest");
    fake_stream_close(&reader);
    open_reader();
    receive(&reader, ask("access-log", true, "me"));
    receive(&reader, ask("access-log", true, "me"));
    expect_end(&reader, UDPA_ERR_INVAL, "one request");
    fake_stream_close(&reader);
    open_reader();
    char long_id[5000];
    memset(long_id, 'x', sizeof(long_id) - 1);
    long_id[sizeof(long_id) - 1] = '\0';
    receive(&reader, ask("access-log", true, long_id));
    expect_end(&reader, UDPA_ERR_LIMIT, "at most");
}

static void
only_who_may_see_what_nodes_say_may_read(void **state)
{
    udpai_acl *acl = session_bed_acl(false);
    (void)state;
    session_bed_init(acl, 10);
    udpai_acl_unref(acl);
    open_reader();
    receive(&reader, ask("access-log", true, "edge-1"));
    expect_end(&reader, UDPA_ERR_DENIED, "'udpa.node/node/events/access-log'");
    fake_stream_close(&reader);
    open_reader();
    receive(&reader, ask("access-log", true, "admin"));
    assert_false(reader.is_finished);
    const udpai_acl_options none = {.trusts_node_ids = true};
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACL);
    assert_ok(udpai_acl_new(&order->acl, &none));
    udpai_hub_order(hub.hub, order);
    expect_end(&reader, UDPA_ERR_DENIED, "no rule");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, session_bed_setup, session_bed_done)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_held_is_sent_and_then_it_ends),
        CASE(with_follow_it_goes_on),
        CASE(a_reader_that_does_not_read_costs_one_message),
        CASE(wrong_requests_are_refused),
        cmocka_unit_test_teardown(only_who_may_see_what_nodes_say_may_read, session_bed_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
