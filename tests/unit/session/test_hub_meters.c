/* SPDX-License-Identifier: Apache-2.0 */
/* What a hub counts of its sessions, for metrics. */
#include "one_peer.h"

#include "tests/harness/metered.h"

static int64_t
counted(udpai_metric metric, const char *label)
{
    return metered(udpai_hub_meters(hub.hub), metric, label);
}

static const char *
clusters(void)
{
    return session_type_url("C");
}

static void
open_sessions_are_counted_by_protocol(void **state)
{
    test_peer other;
    (void)state;
    assert_int_equal(counted(UDPAI_METRIC_SESSIONS, "udpa"), 1);
    peer_open(&other, &hub, PEER_NODE);
    assert_int_equal(counted(UDPAI_METRIC_SESSIONS, "udpa"), 2);
    peer_close(&other);
    assert_int_equal(counted(UDPAI_METRIC_SESSIONS, "udpa"), 1);
    assert_int_equal(counted(UDPAI_METRIC_SESSIONS_OPENED, "udpa"), 2);
}

static void
a_receipt_is_an_ack_or_a_nack(void **state)
{
    (void)state;
    assert_int_equal(counted(UDPAI_METRIC_DELIVERIES, clusters()), -1);
    peer_subscribe(&peer, "C", "com.acme", "''");
    peer_expect(&peer, "publish{C@com.acme !}"); /* which is none */
    assert_int_equal(counted(UDPAI_METRIC_DELIVERIES, clusters()), 0);
    session_change(&hub, "+C:com.acme/a=1 +C:com.acme/b=1");
    peer_expect(&peer, "publish{C C:com.acme/a=1 C:com.acme/b=1 ?}");
    assert_int_equal(counted(UDPAI_METRIC_DELIVERIES, clusters()), 1);
    int64_t n_bytes = counted(UDPAI_METRIC_DELIVERY_BYTES, clusters());
    assert_true(n_bytes > 20);
    assert_int_equal(counted(UDPAI_METRIC_ACKS, clusters()), 0);
    peer_receipt(&peer, "0 0");
    assert_int_equal(counted(UDPAI_METRIC_ACKS, clusters()), 1);
    session_change(&hub, "+C:com.acme/b=2");
    peer_expect(&peer, "publish{C C:com.acme/b=2 ?}");
    peer_receipt(&peer, "3");
    assert_int_equal(counted(UDPAI_METRIC_DELIVERIES, clusters()), 2);
    assert_true(counted(UDPAI_METRIC_DELIVERY_BYTES, clusters()) > n_bytes);
    assert_int_equal(counted(UDPAI_METRIC_ACKS, clusters()), 1);
    assert_int_equal(counted(UDPAI_METRIC_NACKS, clusters()), 1);
}

static void
receipts_are_counted_by_their_first_error(void **state)
{
    (void)state;
    peer_publish(&peer, "C", "1", "C:com.acme/a=1 ?");
    session_judge(&peer, "0");
    peer_expect(&peer, "receipt{1}");
    assert_int_equal(counted(UDPAI_METRIC_RECEIPTS, "ok"), 1);
    peer_publish(&peer, "C", "2", "C:com.acme/a=1 C:com.acme/b=1 C:com.acme/c=1 ?");
    session_judge(&peer, "0 7 3");
    assert_int_equal(counted(UDPAI_METRIC_RECEIPTS, "permission_denied"), 1);
    assert_int_equal(counted(UDPAI_METRIC_RECEIPTS, "invalid_argument"), -1);
    peer_publish(&peer, "C", "3", "C:com.acme/a=1"); /* asks for none */
    session_judge(&peer, "3");
    assert_int_equal(counted(UDPAI_METRIC_RECEIPTS, "ok"), 1);
    assert_int_equal(counted(UDPAI_METRIC_RECEIPTS, "invalid_argument"), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(open_sessions_are_counted_by_protocol, begin, end),
        cmocka_unit_test_setup_teardown(a_receipt_is_an_ack_or_a_nack, begin, end),
        cmocka_unit_test_setup_teardown(receipts_are_counted_by_their_first_error, begin,
                                        end_anyhow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
