/* SPDX-License-Identifier: Apache-2.0 */
/* The status of sinks. */
#include "session_bed.h"

#include "udpa/status/v1/status.pb-c.h"

static void
each_sink_that_is_configured_is_described(void **state)
{
    const udpai_topic_options tap = {.kind = UDPAI_EVENT_TAP};
    (void)state;
    assert_ok(udpai_topic_new(&sinks.topics[UDPAI_EVENT_TAP], &tap));
    open_stream("192.0.2.1:1");
    receive(&stream, W_JOIN(who("edge-1", ""), entry("abc")));
    udpai_topic_refused(sinks.topics[UDPAI_EVENT_ACCESS_LOG]);
    udpai_topic_written(sinks.topics[UDPAI_EVENT_ACCESS_LOG], 200, 3);
    udpa_bytes *bytes = udpai_sinks_describe(&sinks);
    assert_non_null(bytes);
    Udpa__Status__V1__NodeStatus *status =
        udpa__status__v1__node_status__unpack(NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(status);
    assert_int_equal(status->n_sinks, 2);
    const Udpa__Status__V1__SinkStatus *sink = status->sinks[0];
    assert_string_equal(sink->kind, "access-log");
    assert_int_equal(sink->n_clients, 1);
    assert_int_equal(sink->n_accepted, 1);
    assert_int_equal(sink->n_bytes, 7);
    assert_int_equal(sink->n_dropped, 0);
    assert_int_equal(sink->n_refused, 1);
    assert_int_equal(sink->n_held, 1);
    assert_int_equal(sink->held_bytes, 7);
    assert_int_equal(sink->n_written, 200);
    assert_int_equal(sink->n_failed, 3);
    assert_string_equal(status->sinks[1]->kind, "tap");
    udpa__status__v1__node_status__free_unpacked(status, NULL);
    udpa_bytes_unref(bytes);
}

static void
without_sinks_nothing_is_said(void **state)
{
    const udpai_topics none = {0};
    (void)state;
    udpa_bytes *bytes = udpai_sinks_describe(&none);
    assert_non_null(bytes);
    assert_int_equal(udpa_bytes_size(bytes), 0);
    udpa_bytes_unref(bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_sink_that_is_configured_is_described,
                                        session_bed_setup, session_bed_done),
        cmocka_unit_test(without_sinks_nothing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
