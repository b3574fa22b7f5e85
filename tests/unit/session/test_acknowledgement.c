/* SPDX-License-Identifier: Apache-2.0 */
/* Who has acknowledged a resource, of peers that speak UDPA, and how the hub is asked. */
#include "session/acknowledgement.h"

#include "acknowledgement_test.h"
#include "one_peer.h"
#include "session/udpa_internal.h"

static void
expect(const char *type, const char *name, const char *expected)
{
    assert_string_equal(acknowledgement_of(hub.hub, session_type_url(type), name), expected);
}

/* The receipt of an earlier publish than the last. */
static void
receipt_of(char nonce, const char *codes)
{
    char kept[sizeof(peer.nonce)];
    memcpy(kept, peer.nonce, sizeof(kept));
    peer.nonce[UDPAI_NONCE_LEN - 1] = nonce;
    peer_receipt(&peer, codes);
    memcpy(peer.nonce, kept, sizeof(kept));
}

static void
a_receipt_speaks_of_each_resource(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1 +C:com.acme/b=2");
    peer_subscribe(&peer, "C", "", "''");
    expect("C", "com.acme/a", "0 of 1; udpa#1 behind");
    peer_expect(&peer, "publish{C C:com.acme/a=1 C:com.acme/b=2 ?} publish{C !}");
    expect("C", "com.acme/a", "0 of 1; udpa#1 unanswered");
    receipt_of('1', "0 9");
    expect("C", "com.acme/a", "1 of 1");
    expect("C", "com.acme/b", "0 of 1; udpa#1 refused 'bad'");
    session_change(&hub, "+C:com.acme/b=3");
    expect("C", "com.acme/b", "0 of 1; udpa#1 behind");
    peer_expect(&peer, "publish{C C:com.acme/b=3 ?}");
    peer_receipt(&peer, "");
    expect("C", "com.acme/b", "1 of 1");
}

/* Receipts need not come in order. */
static void
each_publish_waits_for_its_own_receipt(void **state)
{
    (void)state;
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C !}");
    session_change(&hub, "+C:com.acme/a=1");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?}");
    session_change(&hub, "+C:com.acme/b=1");
    peer_expect(&peer, "publish{C C:com.acme/b=1 ?}");
    receipt_of('3', "");
    expect("C", "com.acme/a", "0 of 1; udpa#1 unanswered");
    receipt_of('2', "");
    expect("C", "com.acme/a", "1 of 1");
    expect("C", "com.acme/b", "1 of 1");
}

/* Beyond the bound a delivery is forgotten, and not taken for acknowledged. */
static void
what_is_forgotten_unanswered_stays_unanswered(void **state)
{
    (void)state;
    char change[64], expected[64];
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C !}");
    for (int i = 0; i < UDPAI_IN_FLIGHT_MAX + 3; i++) {
        snprintf(change, sizeof(change), "+C:com.acme/n%d=1", i);
        snprintf(expected, sizeof(expected), "publish{C C:com.acme/n%d=1 ?}", i);
        session_change(&hub, change);
        peer_expect(&peer, expected);
        fake_hub_drop_reports(&hub);
    }
    UDPAI_LIST_FOREACH (node, &udpai_udpa_of(peer.stream.session)->in_flight)
        assert_true(UDPAI_LIST_ENTRY(node, udpai_in_flight, node)->nonce > 3);
    expect("C", "com.acme/n0", "0 of 1; udpa#1 unanswered");
    expect("C", "com.acme/n2", "0 of 1; udpa#1 unanswered");
    peer_receipt(&peer, ""); /* of the last: it has what was sent before */
    expect("C", "com.acme/n0", "1 of 1");
    expect("C", "com.acme/n3", "0 of 1; udpa#1 unanswered");
}

static void
a_removal_has_its_receipt(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1 +C:com.acme/b=1");
    peer_subscribe(&peer, "C", "", "'' com.acme/a");
    peer_expect(&peer, "publish{C C:com.acme/a=1 C:com.acme/b=1 ?} publish{C !}");
    receipt_of('1', "");
    session_change(&hub, "-C:com.acme/a -C:com.acme/b");
    expect("C", "com.acme/a", "gone: 0 of 1; udpa#1 behind");
    expect("C", "com.acme/b", "gone: 0 of 1; udpa#1 behind");
    peer_expect(&peer, "publish{C -com.acme/a -com.acme/b ?}");
    expect("C", "com.acme/a", "gone: 0 of 1; udpa#1 unanswered");
    expect("C", "com.acme/b", "gone: 0 of 1; udpa#1 unanswered");
    peer_receipt(&peer, "9");
    expect("C", "com.acme/b", "gone: 0 of 1; udpa#1 in doubt 'bad'");
}

static void
nodes_acknowledge_nothing(void **state)
{
    (void)state;
    test_peer node;
    session_change(&hub, "+C:com.acme/a=1");
    peer_open(&node, &hub, PEER_NODE);
    peer_subscribe(&node, "C", "", "''");
    expect("C", "com.acme/a", "0 of 1; udpa#2 behind");
    peer_expect(&node, "publish{C C:com.acme/a=1} publish{C !}");
    expect("C", "com.acme/a", "0 of 1; udpa#2 sent");
    peer_close(&node);
}

/* Who looks on is none of those that are looked at. */
static void
who_asks_does_not_count(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, "C", "", "com.acme/a");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C !}");
    expect("C", "com.acme/a", "0 of 1; udpa#1 unanswered");
    peer_subscribe(&peer, UDPAI_ACKNOWLEDGEMENT_TYPE, "", UDPAI_ACKNOWLEDGEMENT_PREFIX "t/x/y/z");
    expect("C", "com.acme/a", "0 of 0");
    peer_expect(&peer, "publish{" UDPAI_ACKNOWLEDGEMENT_TYPE " -" UDPAI_ACKNOWLEDGEMENT_PREFIX
                       "t/x/y/z ?} publish{" UDPAI_ACKNOWLEDGEMENT_TYPE " !}");
}

/* Beyond what is listed, the number tells; refusals are listed first. */
static void
of_many_the_first_are_listed(void **state)
{
    (void)state;

    enum {
        MANY = 300
    };

    static test_peer peers[MANY];
    char question[256];
    session_change(&hub, "+C:com.acme/a=1");
    for (size_t i = 0; i < MANY; i++) {
        peer_open(&peers[i], &hub, PEER_ENDPOINT);
        peer_subscribe(&peers[i], "C", "", "''");
        peer_expect(&peers[i], "publish{C C:com.acme/a=1 ?} publish{C !}");
    }
    peers[MANY - 1].nonce[UDPAI_NONCE_LEN - 1] = '1';
    peer_receipt(&peers[MANY - 1], "9");
    snprintf(question, sizeof(question), UDPAI_ACKNOWLEDGEMENT_PREFIX "t/%s/com.acme/a", TEST_CDS);
    udpa_bytes *bytes = udpai_acknowledgement_describe(hub.hub, udpai_str_from(question));
    Udpa__Status__V1__AcknowledgementStatus *status =
        udpa__status__v1__acknowledgement_status__unpack(NULL, udpa_bytes_size(bytes),
                                                         udpa_bytes_data(bytes));
    assert_int_equal(status->n_subscribed, MANY);
    assert_int_equal(status->n_refused, 1);
    assert_int_equal(status->n_sessions, 256);
    assert_int_equal(strtoull(status->sessions[0]->id, NULL, 10), peer_session(&peers[MANY - 1]));
    assert_int_equal(strtoull(status->sessions[1]->id, NULL, 10), peer_session(&peers[0]));
    udpa__status__v1__acknowledgement_status__free_unpacked(status, NULL);
    udpa_bytes_unref(bytes);
    for (size_t i = 0; i < MANY; i++)
        peer_close(&peers[i]);
}

/* ---- the question ---- */

static void
a_question_names_type_and_resource(void **state)
{
    (void)state;
    udpai_str type, name;
    assert_true(udpai_acknowledgement_parse(
        UDPAI_STR(UDPAI_ACKNOWLEDGEMENT_PREFIX "t0/type.googleapis.com/a.B/local/route/host"),
        &type, &name));
    assert_str(type, "type.googleapis.com/a.B");
    assert_str(name, "local/route/host");
    static const char *const bad[] = {
        "",
        "udpa.node/x",
        "com.acme/acknowledgement/t/x/y/z",
        UDPAI_ACKNOWLEDGEMENT_PREFIX,
        UDPAI_ACKNOWLEDGEMENT_PREFIX "t",
        UDPAI_ACKNOWLEDGEMENT_PREFIX "t/",
        UDPAI_ACKNOWLEDGEMENT_PREFIX "t/x",
        UDPAI_ACKNOWLEDGEMENT_PREFIX "t/x/y",
        UDPAI_ACKNOWLEDGEMENT_PREFIX "t/x/y/",
        UDPAI_ACKNOWLEDGEMENT_PREFIX "/x/y/z",
        UDPAI_ACKNOWLEDGEMENT_PREFIX "t//y/z",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        if (udpai_acknowledgement_parse(udpai_str_from(bad[i]), &type, &name))
            fail_msg("'%s' is taken for a question", bad[i]);
        assert_null(udpai_acknowledgement_describe(hub.hub, udpai_str_from(bad[i])));
    }
}

static void
answers_stand_beside_their_questions(void **state)
{
    (void)state;
    const udpai_str names[] = {UDPAI_STR("no question"),
                               UDPAI_STR(UDPAI_ACKNOWLEDGEMENT_PREFIX "t/x/y/z")};
    const udpai_subscription_message questions = {.names = names, .n_names = 2};
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACKNOWLEDGEMENTS);
    order->subscription = udpai_subscription_message_copy(&questions);
    udpai_hub_order(hub.hub, order);
    udpai_report *report = session_take(&hub, UDPAI_REPORT_ACKNOWLEDGEMENTS);
    assert_int_equal(report->statuses.n, 2);
    assert_null(report->statuses.items[0]);
    assert_non_null(report->statuses.items[1]);
    assert_int_equal(report->subscription->n_names, 2);
    assert_str(report->subscription->names[1], UDPAI_ACKNOWLEDGEMENT_PREFIX "t/x/y/z");
    udpai_report_free(report);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_receipt_speaks_of_each_resource, begin, end),
        cmocka_unit_test_setup_teardown(each_publish_waits_for_its_own_receipt, begin, end),
        cmocka_unit_test_setup_teardown(what_is_forgotten_unanswered_stays_unanswered, begin, end),
        cmocka_unit_test_setup_teardown(a_removal_has_its_receipt, begin, end),
        cmocka_unit_test_setup_teardown(nodes_acknowledge_nothing, begin, end),
        cmocka_unit_test_setup_teardown(who_asks_does_not_count, begin, end),
        cmocka_unit_test_setup_teardown(of_many_the_first_are_listed, begin, end),
        cmocka_unit_test_setup_teardown(a_question_names_type_and_resource, begin, end),
        cmocka_unit_test_setup_teardown(answers_stand_beside_their_questions, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
