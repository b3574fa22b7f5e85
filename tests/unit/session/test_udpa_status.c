/* SPDX-License-Identifier: Apache-2.0 */
/* What a session says of itself, read by an independent decoder. */
#include "one_peer.h"

#include <stdio.h>

#include "session/udpa_internal.h"
#include "udpa/status/v1/status.pb-c.h"

typedef Udpa__Status__V1__SessionStatus session_status;

/* Asks the hub; checks that there is one session. */
static session_status *
describe(void)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_STATUS);
    assert_non_null(order);
    order->ticket = 77;
    udpai_hub_order(hub.hub, order);
    udpai_report *report = session_take(&hub, UDPAI_REPORT_STATUS);
    assert_int_equal(report->ticket, 77);
    assert_int_equal(report->statuses.n, 1);
    const udpa_bytes *bytes = report->statuses.items[0];
    session_status *status = udpa__status__v1__session_status__unpack(NULL, udpa_bytes_size(bytes),
                                                                      udpa_bytes_data(bytes));
    assert_non_null(status);
    assert_int_equal(status->base.n_unknown_fields, 0);
    udpai_report_free(report);
    return status;
}

static void
free_status(session_status *status)
{
    udpa__status__v1__session_status__free_unpacked(status, NULL);
}

static void
a_silent_session_is_described(void **state)
{
    (void)state;
    peer_open_silent(&peer, &hub, PEER_ENDPOINT, NULL);
    peer_expect(&peer, "node{node}");
    session_status *status = describe();
    assert_string_equal(status->protocol, "udpa");
    assert_int_equal(strtoull(status->id, NULL, 10), peer_session(&peer));
    assert_string_equal(status->peer_node_id, "");
    assert_string_equal(status->peer_address, "");
    assert_int_equal(status->since->seconds, 1700000000);
    assert_int_equal(status->n_subscriptions, 0);
    assert_null(status->tls);
    free_status(status);
}

static void
the_peer_is_named(void **state)
{
    (void)state;
    udpai_identity *identity = NULL;
    const udpai_identity_parts parts = {.common_name = UDPAI_STR("cn")};
    assert_ok(udpai_identity_new(&identity, &parts));
    udpa_bytes *address = NULL;
    assert_ok(udpa_bytes_new(&address, "[::1]:9", 7));
    peer_open_silent(&peer, &hub, PEER_ENDPOINT,
                     &(udpai_stream_info){.identity = identity,
                                          .address = address,
                                          .tls = {"TLSv1.3", "X25519", "TLS_AES_256_GCM_SHA384"}});
    udpai_identity_unref(identity);
    udpa_bytes_unref(address);
    peer_expect(&peer, "node{node}");
    peer_send_node(&peer, "edge-7");
    peer_publish(&peer, "C", "n", "C:com.acme/a=1 C:com.acme/b=1 -com.acme/c");
    session_status *status = describe();
    assert_string_equal(status->peer_identity, "cn");
    assert_string_equal(status->peer_address, "[::1]:9");
    assert_string_equal(status->peer_node_id, "edge-7");
    assert_string_equal(status->tls->version, "TLSv1.3");
    assert_string_equal(status->tls->group, "X25519");
    assert_string_equal(status->tls->cipher, "TLS_AES_256_GCM_SHA384");
    assert_int_equal(status->n_resources_received, 2);
    free_status(status);
}

static void
subscriptions_are_described(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1 +C:com.acme/b=2 +C:net/x=1 +E:com.acme/a=1");
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_subscribe(&peer, "E", "", "com.acme/a");
    peer_subscribe(&peer, "C", "com.acme", "''");
    peer_subscribe(&peer, "C", "", "net/x net/y");
    session_status *status = describe();
    assert_int_equal(status->n_subscriptions, 2);
    assert_false(status->subscriptions[0]->in_sync);
    assert_int_equal(status->subscriptions[0]->n_resources_sent, 0);
    free_status(status);
    peer_expect(&peer, "publish{C C:com.acme/a=1 C:com.acme/b=2 ?} publish{C C:net/x=1 ?} "
                       "publish{E E:com.acme/a=1 ?} publish{C -net/y ?} publish{C@com.acme !} "
                       "publish{C !} publish{E !}");
    status = describe();
    const Udpa__Status__V1__SubscriptionStatus *clusters = status->subscriptions[0];
    assert_string_equal(clusters->type_url, TEST_CDS); /* by rank */
    assert_int_equal(clusters->n_namespaces, 1);
    assert_string_equal(clusters->namespaces[0], "com.acme");
    assert_int_equal(clusters->n_names, 2);
    assert_int_equal(clusters->n_resources_sent, 3);
    assert_int_equal(clusters->n_removals_sent, 1);
    assert_int_equal(clusters->n_acknowledged, 0);
    assert_true(clusters->in_sync);
    assert_string_equal(status->subscriptions[1]->type_url, TEST_EDS);
    assert_int_equal(status->subscriptions[1]->n_names, 1);
    free_status(status);
}

static void
refusals_are_described(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1 +C:com.acme/b=2");
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C C:com.acme/a=1 C:com.acme/b=2 ?} publish{C !}");
    peer.nonce[UDPAI_NONCE_LEN - 1] = '1';
    peer_receipt(&peer, "0 9");
    session_status *status = describe();
    const Udpa__Status__V1__SubscriptionStatus *clusters = status->subscriptions[0];
    assert_int_equal(clusters->n_acknowledged, 1);
    assert_int_equal(clusters->n_refused, 1);
    assert_string_equal(clusters->last_error, "bad");
    assert_int_equal(clusters->n_refused_resources, 1);
    assert_string_equal(clusters->refused_resources[0]->name, "com.acme/b");
    assert_string_equal(clusters->refused_resources[0]->version, "2");
    assert_int_equal(clusters->refused_resources[0]->code, 9);
    assert_string_equal(clusters->refused_resources[0]->message, "bad");
    free_status(status);
}

/* Malformed, repeated, never sent: each is counted, none does harm. */
static void
receipts_that_nobody_waits_for_are_counted(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1");
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C !}");
    peer_receipt(&peer, ""); /* of the last, which wants none */
    peer.nonce[UDPAI_NONCE_LEN - 1] = '1';
    peer_receipt(&peer, "");
    session_status *status = describe();
    assert_int_equal(status->n_unknown_receipts, 1);
    assert_int_equal(status->subscriptions[0]->n_acknowledged, 1);
    free_status(status);
    peer_receipt(&peer, ""); /* again */
    peer.nonce[0] = 'f';
    peer_receipt(&peer, "");
    snprintf(peer.nonce, sizeof(peer.nonce), "no nonce");
    peer_receipt(&peer, "");
    assert_false(peer.stream.is_finished);
    status = describe();
    assert_int_equal(status->n_unknown_receipts, 4);
    assert_int_equal(status->subscriptions[0]->n_acknowledged, 1);
    free_status(status);
}

static void
all_sessions_are_described(void **state)
{
    (void)state;
    test_peer peers[5];
    bool seen[5] = {false};
    for (size_t i = 0; i < 5; i++)
        peer_open(&peers[i], &hub, PEER_ENDPOINT);
    udpai_hub_order(hub.hub, udpai_order_new(UDPAI_ORDER_STATUS));
    udpai_report *report = session_take(&hub, UDPAI_REPORT_STATUS);
    assert_int_equal(report->statuses.n, 5);
    for (size_t i = 0; i < 5; i++) {
        const udpa_bytes *bytes = report->statuses.items[i];
        session_status *status = udpa__status__v1__session_status__unpack(
            NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
        for (size_t k = 0; k < 5; k++)
            seen[k] |= strtoull(status->id, NULL, 10) == peer_session(&peers[k]);
        free_status(status);
    }
    udpai_report_free(report);
    for (size_t i = 0; i < 5; i++) {
        assert_true(seen[i]);
        peer_close(&peers[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_silent_session_is_described, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(the_peer_is_named, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(subscriptions_are_described, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(refusals_are_described, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(receipts_that_nobody_waits_for_are_counted, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(all_sessions_are_described, begin_alone, end_anyhow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
