/* SPDX-License-Identifier: Apache-2.0 */
/* What the log says about UDPA peers that dial; and about any of them without memory. */
#include "one_peer.h"

#include "base/alloc.h"
#include "session/client_log.h"
#include "session/udpa_internal.h"
#include "tests/harness/log_lines.h"

static log_lines lines;

static int
begin_logged(void **state)
{
    log_lines_begin(&lines, UDPA_LOG_INFO, "client");
    return begin_alone(state);
}

static int
end_logged(void **state)
{
    end_anyhow(state);
    log_lines_end();
    return 0;
}

static void
a_peer_comes_rejects_and_goes(void **state)
{
    (void)state;
    udpai_identity *identity = NULL;
    const udpai_identity_parts parts = {.common_name = UDPAI_STR("cn")};
    assert_ok(udpai_identity_new(&identity, &parts));
    udpa_bytes *address = udpai_bytes_cstring(UDPAI_STR("[::1]:7"));
    const udpai_stream_info info = {.identity = identity, .address = address};
    peer_open_silent(&peer, &hub, PEER_ENDPOINT, &info);
    udpai_identity_unref(identity);
    udpa_bytes_unref(address);
    log_lines_expect(&lines, "");
    peer_send_node(&peer, "one");
    log_lines_expect(&lines, "connected: node 'one', peer [::1]:7, identity 'cn', protocol udpa\n");
    session_change(&hub, "+C:com.acme/a=1 +C:com.acme/b=1 +C:com.acme/c=1");
    peer_subscribe(&peer, "C", "com.acme", "''");
    fake_hub_advance(&hub, 1000);
    peer_expect(&peer, "node{node} publish{C C:com.acme/a=1 C:com.acme/b=1 C:com.acme/c=1 "
                       "?} publish{C@com.acme !}");
    log_lines_expect_fields(&lines, "peer=one identity=cn address=[::1]:7");
    peer.nonce[UDPAI_NONCE_LEN - 1] = '1';
    peer_receipt(&peer, "0 3 3");
    log_lines_expect_fields(&lines, "peer=one identity=cn address=[::1]:7 "
                                    "type=type.googleapis.com/envoy.config.cluster.v3.Cluster "
                                    "name=com.acme/b version=1 code=INVALID_ARGUMENT");
    log_lines_expect(&lines,
                     "NACK: node 'one', peer [::1]:7, identity 'cn': type "
                     "type.googleapis.com/envoy.config.cluster.v3.Cluster, name "
                     "'com.acme/b' and 1 more, version '1', nonce 000000000001: invalid argument: "
                     "bad\n");
    fake_hub_advance(&hub, 2500);
    fake_stream_close(&peer.stream);
    log_lines_expect(&lines, "disconnected: node 'one', peer [::1]:7, identity 'cn', after 3 s: "
                             "its streams have ended\n");
}

/* Whom we dial is no client. */
static void
a_source_is_no_client(void **state)
{
    (void)state;
    peer_open_dialled(&peer, &hub, PEER_NODE, true);
    fake_stream_close(&peer.stream);
    log_lines_expect(&lines, "");
}

static void
acknowledging_is_not_logged(void **state)
{
    (void)state;
    peer_open(&peer, &hub, PEER_ENDPOINT);
    lines.text[0] = '\0';
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, "C", "com.acme", "''");
    fake_hub_advance(&hub, 1000);
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C@com.acme !}");
    peer.nonce[UDPAI_NONCE_LEN - 1] = '1';
    peer_receipt(&peer, "0");
    log_lines_expect(&lines, "");
}

/* A line is lost then, and nothing else. */
static void
without_memory_a_line_is_left_out(void **state)
{
    (void)state;
    peer_open(&peer, &hub, PEER_ENDPOINT);
    udpai_session *session = peer.stream.session;
    const udpai_node_info *node = session->ops->peer(session);
    const udpai_client_nack nack = {.type_url = UDPAI_STR("t"), .nonce = 1};
    udpai_client_log_closed(session, NULL);
    for (int n = 0; n < 12; n++) {
        fake_hub_advance(&hub, 5000); /* all that waited was written, and who it was forgotten */
        udpai_alloc_fail_after(n);
        udpai_client_log_node(session, node);
        udpai_client_log_nack(session, node, &nack);
        udpai_client_log_nack(session, node, &nack);
        udpai_client_log_closed(session, NULL);
        udpai_alloc_fail_after(-1);
    }
    assert_null(session->logged);
    fake_hub_advance(&hub, 1000);
    fake_hub_advance(&hub, 1000);
    assert_non_null(strstr(lines.text, "disconnected: node"));
    assert_non_null(strstr(lines.text, "(1 more about it not shown)"));
    lines.text[0] = '\0';
    fake_hub_advance(&hub, 5000);
    log_lines_expect(&lines, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_peer_comes_rejects_and_goes, begin_logged, end_logged),
        cmocka_unit_test_setup_teardown(a_source_is_no_client, begin_logged, end_logged),
        cmocka_unit_test_setup_teardown(without_memory_a_line_is_left_out, begin_logged,
                                        end_logged),
        cmocka_unit_test_setup_teardown(acknowledging_is_not_logged, begin_logged, end_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
