/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the node itself: where they come from, they come into its topic. */
#include "session/own_events.h"

#include "base/bytes.h"
#include "events/batch.h"
#include "tests/harness/fake_stream.h"
#include "tests/harness/metered.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"
#include "udpa/event/v1/event.pb-c.h"

typedef Udpa__Event__V1__NodeEvent message;

static fake_hub hub;
static udpai_topics topics;
static udpai_topic_follower reader;

static void
on_wake(udpai_topic_follower *follower)
{
    (void)follower;
}

static int
begin(void **state)
{
    const udpai_topic_options options = {UDPAI_EVENT_NODE, 100, 0, 77};
    udpai_hub_options hub_options = fake_hub_options();
    (void)state;
    topics = (udpai_topics){.node_id = UDPAI_STR("core")};
    assert_ok(udpai_topic_new(&topics.topics[UDPAI_EVENT_NODE], &options));
    hub_options.topics = &topics;
    fake_hub_init(&hub, &hub_options);
    reader = (udpai_topic_follower){.wake = on_wake};
    assert_ok(udpai_topic_follow(topics.topics[UDPAI_EVENT_NODE], &reader));
    return 0;
}

static int
end(void **state)
{
    (void)state;
    udpai_topic_unfollow(topics.topics[UDPAI_EVENT_NODE], &reader);
    fake_hub_drop_reports(&hub);
    fake_hub_done(&hub);
    topics.topics[UDPAI_EVENT_NODE] = udpai_topic_free(topics.topics[UDPAI_EVENT_NODE]);
    return 0;
}

/* To be freed; NULL: there is none. */
static message *
next(const udpai_event **ret_event)
{
    uint64_t n_lost;
    const udpai_event *event = udpai_topic_next(topics.topics[UDPAI_EVENT_NODE], &reader, &n_lost);
    if (ret_event)
        *ret_event = event;
    return event ? udpa__event__v1__node_event__unpack(NULL, udpa_bytes_size(event->message),
                                                       udpa_bytes_data(event->message))
                 : NULL;
}

static void
expect(const char *text)
{
    message *found = next(NULL);
    assert_non_null(found);
    assert_string_equal(found->text, text);
    udpa__event__v1__node_event__free_unpacked(found, NULL);
}

static void
what_the_stream_thread_notes_is_in_the_topic(void **state)
{
    const udpai_event *event;
    (void)state;
    hub.wall_us = 123456;
    udpai_hub_note(hub.hub, UDPAI_NOTE_NACK, UDPA_LOG_WARNING,
                   UDPAI_ABOUT({UDPAI_LOG_PEER, UDPAI_STR("envoy")}), "no %s", "filter");
    message *found = next(&event);
    assert_non_null(found);
    assert_string_equal(found->text, "no filter");
    assert_string_equal(found->peer, "envoy");
    assert_int_equal(event->time_us, 123456);
    assert_true(udpai_str_eq(event->source->node_id, UDPAI_STR("core")));
    udpa__event__v1__node_event__free_unpacked(found, NULL);
    assert_null(next(NULL));
}

static void
a_flood_is_bounded(void **state)
{
    size_t n = 0;
    message *found;
    (void)state;
    for (size_t i = 0; i < 10000; i++)
        udpai_hub_note(hub.hub, UDPAI_NOTE_NACK, UDPA_LOG_WARNING,
                       UDPAI_ABOUT({UDPAI_LOG_PEER, UDPAI_STR("envoy")}), "again");
    fake_hub_advance(&hub, UDPAI_NOTE_WINDOW_MS);
    for (; (found = next(NULL)); n++) {
        assert_int_equal(found->n_suppressed, n ? 9998 : 0);
        udpa__event__v1__node_event__free_unpacked(found, NULL);
    }
    assert_int_equal(n, 2);
}

/* ---- those of the loop ---- */

static udpa_bytes *
bytes_of(const char *text)
{
    return udpai_node_event_encode(
        &(udpai_node_event){.kind = UDPAI_NOTE_RELOADED, .level = UDPA_LOG_INFO, .text = text});
}

static void
what_the_loop_notes_keeps_its_time(void **state)
{
    const udpai_event *event;
    (void)state;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = bytes_of("reloaded");
    udpai_hub_order(hub.hub, udpai_own_event_order(bytes, 4711));
    message *found = next(&event);
    assert_non_null(found);
    assert_string_equal(found->text, "reloaded");
    assert_int_equal(event->time_us, 4711);
    assert_int_equal(event->sequence, 1);
    udpa__event__v1__node_event__free_unpacked(found, NULL);
    udpai_hub_order(hub.hub, udpai_own_event_order(bytes, 4712));
    expect("reloaded");
    assert_null(fake_hub_take_report(&hub, UDPAI_REPORT_EVENTS_TAKEN)); /* it is not answered */
}

static void
an_order_of_another_kind_is_ignored(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = bytes_of("x");
    for (uint64_t kind = 0; kind <= UDPAI_EVENT_KINDS; kind++) {
        if (kind == UDPAI_EVENT_NODE)
            continue;
        udpai_order *order = udpai_own_event_order(bytes, 1);
        order->ticket = kind;
        udpai_hub_order(hub.hub, order);
    }
    udpai_order *order = udpai_own_event_order(bytes, 1);
    udpa_bytes_unref(order->events);
    assert_ok(udpa_bytes_new(&order->events, "\xff", 1));
    udpai_hub_order(hub.hub, order);
    assert_null(next(NULL));
}

static void
without_a_topic_nothing_is_noted(void **state)
{
    fake_hub other;
    udpai_hub_options options = fake_hub_options();
    (void)state;
    fake_hub_init(&other, &options);
    udpai_hub_note(other.hub, UDPAI_NOTE_NACK, UDPA_LOG_WARNING, NULL, 0, "x");
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = bytes_of("x");
    udpai_hub_order(other.hub, udpai_own_event_order(bytes, 1));
    fake_hub_done(&other);
}

static udpa_err
make_order(void *context)
{
    UDPA_AUTO(udpai_order_free) udpai_order *order = udpai_own_event_order(context, 1);
    return order ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
an_order_without_memory_is_none(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = bytes_of("x");
    assert_true(oom_torture(make_order, bytes) > 2);
}

/* ---- how streams end ---- */

static udpa_err
receive(udpai_session *session, udpai_str received, udpa_error **ret_error)
{
    (void)session;
    return udpai_fail(ret_error, UDPA_ERR_LIMIT, "%.*s is too much", UDPAI_SHOWN(received));
}

static void
free_session(udpai_session *session)
{
    udpai_free(session);
}

static const udpai_session_ops ops = {.name = "limited", .receive = receive, .free = free_session};

static udpa_err
new_session(udpai_session **ret_session, udpai_hub *of, const udpai_stream_info *info)
{
    *ret_session = udpai_alloc(sizeof(**ret_session));
    return udpai_session_init(*ret_session, of, &ops, info);
}

static void
a_stream_that_ends_for_a_limit_is_noted(void **state)
{
    fake_stream stream;
    (void)state;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *address = NULL;
    assert_ok(udpa_bytes_new(&address, "10.0.0.1:5", 10));
    fake_stream_open(&stream, &hub, new_session, &(udpai_stream_info){.address = address});
    fake_stream_receive(&stream, "this", 4);
    message *found = next(NULL);
    assert_non_null(found);
    assert_int_equal(found->kind, UDPA__EVENT__V1__NODE_EVENT__KIND__LIMIT_REACHED);
    assert_string_equal(found->code, "RESOURCE_EXHAUSTED");
    assert_string_equal(found->address, "10.0.0.1:5");
    assert_non_null(strstr(found->text, "this is too much"));
    assert_int_equal(metered(udpai_hub_meters(hub.hub), UDPAI_METRIC_STREAMS_LIMITED, ""), 1);
    udpa__event__v1__node_event__free_unpacked(found, NULL);
    fake_stream_close(&stream);
}

static void
a_stream_that_is_cut_off_is_noted(void **state)
{
    fake_stream stream;
    (void)state;
    fake_stream_open(&stream, &hub, new_session, NULL);
    stream.session->is_cut_off = true;
    udpai_session_finish(stream.session,
                         udpa_error_new(UDPA_ERR_UNAUTHENTICATED, NULL, "it was revoked"));
    message *found = next(NULL);
    assert_non_null(found);
    assert_int_equal(found->kind, UDPA__EVENT__V1__NODE_EVENT__KIND__REVOKED);
    assert_non_null(strstr(found->text, "it was revoked"));
    udpa__event__v1__node_event__free_unpacked(found, NULL);
    fake_stream_close(&stream);
}

static void
a_stream_that_ends_in_peace_is_not_noted(void **state)
{
    fake_stream stream;
    (void)state;
    fake_stream_open(&stream, &hub, new_session, NULL);
    udpai_session_finish(stream.session, NULL);
    fake_stream_close(&stream);
    assert_null(next(NULL));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_the_stream_thread_notes_is_in_the_topic),
        TEST(a_flood_is_bounded),
        TEST(what_the_loop_notes_keeps_its_time),
        TEST(an_order_of_another_kind_is_ignored),
        TEST(without_a_topic_nothing_is_noted),
        TEST(an_order_without_memory_is_none),
        TEST(a_stream_that_ends_for_a_limit_is_noted),
        TEST(a_stream_that_is_cut_off_is_noted),
        TEST(a_stream_that_ends_in_peace_is_not_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
