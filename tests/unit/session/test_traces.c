/* SPDX-License-Identifier: Apache-2.0 */
/* The trace of a change: from a peer that has proven who it is, and to the next one. */
#include "one_peer.h"

#include "session/recent_traces.h"
#include "udpa/service/discovery/v1/discovery.pb-c.h"

#define TRACE "00-0102030405060708090a0b0c0d0e0f10-1112131415161718-01"

static uint64_t last_mark;

/* Changes it by a trace. */
static void
change(const char *what)
{
    hub.mark = ++last_mark;
    assert_true(udpai_trace_read(UDPAI_STR(TRACE), &hub.trace));
    session_change(&hub, what);
    session_drop(&hub, UDPAI_REPORT_MARK);
}

static void
open_node(test_peer *node)
{
    peer_open(node, &hub, PEER_NODE);
    peer_subscribe(node, "C", "", "''");
    peer_expect(node, "publish{C !}");
}

static void
what_a_trace_has_changed_carries_it(void **state)
{
    (void)state;
    test_peer node, later;
    open_node(&node);
    change("+C:com.acme/b=1 +C:com.acme/a=1");
    peer_expect(&node, "publish{C C:com.acme/b=1 C:com.acme/a=1 ^00-01}");
    session_change(&hub, "+C:com.acme/a=2");
    peer_expect(&node, "publish{C C:com.acme/a=2}"); /* another change of it */
    change("-C:com.acme/a");
    peer_expect(&node, "publish{C -com.acme/a ^00-01}");
    session_change(&hub, "+C:com.acme/a=3 -C:com.acme/b");
    peer_expect(&node, "publish{C C:com.acme/a=3} publish{C -com.acme/b}");
    change("+C:com.acme/a=4");
    peer_expect(&node, "publish{C C:com.acme/a=4 ^00-01}");
    fake_hub_advance(&hub, UDPAI_RECENT_TRACES_MS + 1);
    peer_open(&later, &hub, PEER_NODE);
    peer_subscribe(&later, "C", "", "com.acme/a");
    peer_expect(&later, "publish{C C:com.acme/a=4} publish{C !}");
    peer_close(&later);
    peer_close(&node);
}

static void
a_peer_without_extensions_gets_none(void **state)
{
    (void)state;
    test_peer plain;
    peer_open(&plain, &hub, PEER_PAPER);
    peer_subscribe(&plain, "C", "", "''");
    peer_expect(&plain, "");
    change("+C:com.acme/a=1");
    peer_expect(&plain, "publish{ C:com.acme/a=1 ?}");
    peer_close(&plain);
}

/* ---- from peers ---- */

static udpai_trace
trace_from(const udpai_identity *identity, const char *trace)
{
    test_peer from;
    const udpai_stream_info info = {.identity = (udpai_identity *)(uintptr_t)identity};
    peer_open_silent(&from, &hub, PEER_NODE, &info);
    peer_expect(&from, "node{node}");
    peer_send_node(&from, "edge-1");
    Udpa__Service__Discovery__V1__DeltaPublish delta =
        UDPA__SERVICE__DISCOVERY__V1__DELTA_PUBLISH__INIT;
    char *removed[] = {(char *)(uintptr_t) "com.acme/a"};
    delta.trace = (char *)(uintptr_t)trace;
    delta.removed_resources = removed;
    delta.n_removed_resources = 1;
    Udpa__Service__Discovery__V1__Publish publish = UDPA__SERVICE__DISCOVERY__V1__PUBLISH__INIT;
    publish.kind_case = UDPA__SERVICE__DISCOVERY__V1__PUBLISH__KIND_DELTA;
    publish.delta = &delta;
    Udpa__Service__Discovery__V1__UdpaMessage message =
        UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__INIT;
    message.message_case = UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__MESSAGE_PUBLISH;
    message.publish = &publish;
    uint8_t room[512];
    size_t size = udpa__service__discovery__v1__udpa_message__pack(&message, room);
    peer_send(&from, (udpai_str){(const char *)room, size});
    udpai_report *report = session_take(&hub, UDPAI_REPORT_PUBLICATION);
    udpai_trace got = report->publication->trace;
    udpai_report_free(report);
    session_drop(&hub, UDPAI_REPORT_NODE);
    session_drop(&hub, UDPAI_REPORT_ALIVE);
    fake_stream_close(&from.stream);
    session_drop(&hub, UDPAI_REPORT_OPENED);
    session_drop(&hub, UDPAI_REPORT_CLOSED);
    return got;
}

static void
it_is_read_of_peers_with_a_certificate(void **state)
{
    (void)state;
    udpai_identity *proven = NULL, *claimed = NULL;
    const udpai_identity_parts parts = {.common_name = UDPAI_STR("cn"), .authenticated = true},
                               claim = {.common_name = UDPAI_STR("cn")};
    assert_ok(udpai_identity_new(&proven, &parts));
    assert_ok(udpai_identity_new(&claimed, &claim));
    udpai_trace trace = trace_from(proven, TRACE);
    assert_int_equal(trace.id[15], 0x10);
    assert_true(trace.is_sampled);
    trace = trace_from(claimed, TRACE);
    assert_false(udpai_trace_is_set(&trace));
    trace = trace_from(NULL, TRACE);
    assert_false(udpai_trace_is_set(&trace));
    trace = trace_from(proven, TRACE "0");
    assert_false(udpai_trace_is_set(&trace));
    udpai_identity_unref(proven);
    udpai_identity_unref(claimed);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_trace_has_changed_carries_it, begin, end),
        cmocka_unit_test_setup_teardown(a_peer_without_extensions_gets_none, begin, end),
        cmocka_unit_test_setup_teardown(it_is_read_of_peers_with_a_certificate, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
