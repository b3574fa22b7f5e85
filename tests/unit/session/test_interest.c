/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody asks for is reported once, for all who do; of nodes by itself. */
#include "one_peer.h"

static void
interest_is_reported_while_somebody_has_it(void **state)
{
    (void)state;
    test_peer a, b, node;
    peer_open(&a, &hub, PEER_ENDPOINT);
    peer_open(&b, &hub, PEER_ENDPOINT);
    peer_subscribe(&a, "C", "com.acme", "com.acme/x");
    udpai_report *report = session_take(&hub, UDPAI_REPORT_INTEREST);
    assert_true(report->subscribed);
    assert_str(report->subscription->type_url, TEST_CDS);
    assert_int_equal(report->subscription->n_names, 1);
    assert_str(report->subscription->names[0], "com.acme/x");
    udpai_report_free(report);
    peer_subscribe(&b, "C", "", "com.acme/x");
    session_expect_no(&hub, UDPAI_REPORT_INTEREST);
    peer_unsubscribe(&a, "C", "", "com.acme/x");
    session_expect_no(&hub, UDPAI_REPORT_INTEREST);
    fake_stream_close(&b.stream);
    report = session_take(&hub, UDPAI_REPORT_INTEREST);
    assert_false(report->subscribed);
    udpai_report_free(report);
    peer_open(&node, &hub, PEER_NODE);
    peer_subscribe(&node, "C", "", "com.acme/x"); /* a node's are counted by themselves */
    report = session_take(&hub, UDPAI_REPORT_INTEREST);
    assert_true(report->subscribed && report->subscription->distance == 1);
    udpai_report_free(report);
    peer_subscribe(&a, "C", "", "com.acme/x");
    report = session_take(&hub, UDPAI_REPORT_INTEREST);
    assert_true(report->subscribed && report->subscription->distance == 0);
    udpai_report_free(report);
    for (int i = 0; i < 2; i++) {
        fake_stream_close(i ? &node.stream : &a.stream);
        report = session_take(&hub, UDPAI_REPORT_INTEREST);
        assert_true(!report->subscribed && report->subscription->distance == (unsigned)i);
        udpai_report_free(report);
    }
    peer_open(&a, &hub, PEER_ENDPOINT);
    peer_subscribe(&a, "E", "com.acme", "''");
    report = session_take(&hub, UDPAI_REPORT_INTEREST);
    assert_true(report->subscribed);
    assert_str(report->subscription->names[0], "");
    assert_str(report->subscription->name_space, "com.acme");
    udpai_report_free(report);
    fake_stream_close(&a.stream);
}

#define LOAD "type.googleapis.com/udpa.load.v1.ClientLoad"

static void
subscribe_from(test_peer *from, uint64_t distance, const char *name)
{
    peer_send(from, W_MESSAGE(1, W_TEXT(1, LOAD), W_TEXT(2, name), W_TEXT(4, "com.acme"),
                              W_VARINT(7, distance)));
}

static void
expect_passed_on(const test_peer *from, const char *name, uint32_t distance, bool subscribed)
{
    udpai_report *report = session_take(&hub, UDPAI_REPORT_PASSED_ON);
    assert_int_equal(report->session, peer_session(from));
    assert_int_equal(report->subscribed, subscribed);
    assert_int_equal(report->subscription->distance, distance);
    assert_int_equal(report->subscription->n_names, 1);
    assert_str(report->subscription->names[0], name);
    assert_str(report->subscription->name_space, *name ? "" : "com.acme");
    udpai_report_free(report);
    session_expect_no(&hub, UDPAI_REPORT_PASSED_ON);
    session_expect_no(&hub, UDPAI_REPORT_INTEREST);
}

/* Of what clients report, what a node wants is not what somebody here wants. */
static void
what_a_node_passes_on_is_told_apart(void **state)
{
    (void)state;
    test_peer node, endpoint;
    peer_open(&node, &hub, PEER_NODE);
    peer_open(&endpoint, &hub, PEER_ENDPOINT);
    session_change(&hub, "+" LOAD ":com.acme/x=1");
    subscribe_from(&node, 2, "com.acme/x");
    expect_passed_on(&node, "com.acme/x", 2, true);
    peer_expect(&node, "publish{" LOAD " " LOAD ":com.acme/x=1} publish{" LOAD "@com.acme !}");
    subscribe_from(&node, 5, "com.acme/x"); /* sent again is nothing */
    expect_passed_on(&node, "com.acme/x", 5, true);
    peer_expect(&node, "publish{" LOAD "@com.acme !}");
    subscribe_from(&node, 1, "");
    expect_passed_on(&node, "", 1, true);
    peer_subscribe(&endpoint, LOAD, "com.acme", "com.acme/x");
    session_expect_no(&hub, UDPAI_REPORT_PASSED_ON);
    udpai_report_free(session_take(&hub, UDPAI_REPORT_INTEREST));
    peer_unsubscribe(&node, LOAD, "", "com.acme/x");
    expect_passed_on(&node, "com.acme/x", 0, false);
    peer_unsubscribe(&node, LOAD, "com.acme", "''");
    expect_passed_on(&node, "", 0, false);
    peer_unsubscribe(&endpoint, LOAD, "", "com.acme/x");
    udpai_report *report = session_take(&hub, UDPAI_REPORT_INTEREST);
    assert_false(report->subscribed);
    udpai_report_free(report);
    peer_subscribe(&node, "C", "com.acme", "com.acme/x");
    session_expect_no(&hub, UDPAI_REPORT_PASSED_ON);
    udpai_report_free(session_take(&hub, UDPAI_REPORT_INTEREST));
    fake_stream_close(&node.stream);
    fake_stream_close(&endpoint.stream);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(interest_is_reported_while_somebody_has_it, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(what_a_node_passes_on_is_told_apart, begin_alone,
                                        end_anyhow),
    };
    return cmocka_run_group_tests_name("session interest", tests, NULL, NULL);
}
