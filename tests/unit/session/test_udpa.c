/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a session: who speaks first, what is made of the Node, how it ends. */
#include "one_peer.h"

#include <stdio.h>

#include "model/name.h"
#include "session/udpa_internal.h"

static udpai_identity *
make_identity(void)
{
    udpai_identity *identity = NULL;
    const udpai_identity_parts parts = {.common_name = UDPAI_STR("cn"), .authenticated = true};
    assert_ok(udpai_identity_new(&identity, &parts));
    return identity;
}

/* ---- opening ---- */

static void
our_node_goes_out_first_on_either_side(void **state)
{
    (void)state;
    const udpai_stream_info dialled = {.link = 3, .is_source = true};
    peer_open_silent(&peer, &hub, PEER_ENDPOINT, NULL);
    peer_expect(&peer, "node{node}");
    peer_close(&peer);
    peer_open_silent(&peer, &hub, PEER_ENDPOINT, &dialled);
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "", "''");
    peer_expect(&peer, "node{node} subscribe{C ''}");
    peer_close(&peer);
}

static void
opening_is_reported_with_what_the_transport_knows(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_identity_unref) udpai_identity *identity = make_identity();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *address = NULL;
    assert_ok(udpa_bytes_new(&address, "127.0.0.1:1", 11));
    const udpai_stream_info info = {.identity = identity, .address = address, .link = 9};
    peer_open_silent(&peer, &hub, PEER_ENDPOINT, &info);
    udpai_report *report = session_take(&hub, UDPAI_REPORT_OPENED);
    assert_int_equal(report->session, peer_session(&peer));
    assert_int_equal(report->link, 9);
    assert_str(udpai_identity_name(report->identity), "cn");
    assert_str(udpai_bytes_view(report->address), "127.0.0.1:1");
    udpai_report_free(report);
    peer_expect(&peer, "node{node}");
    session_expect_no(&hub, UDPAI_REPORT_ALIVE);
    peer_close(&peer);
}

static void
ids_of_sessions_do_not_come_again(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (int i = 0; i < 5; i++) {
        peer_open(&peer, &hub, PEER_ENDPOINT);
        assert_true(peer_session(&peer) > last);
        last = peer_session(&peer);
        peer_close(&peer);
    }
}

/* ---- the peer's Node ---- */

static void
the_node_is_reported(void **state)
{
    (void)state;
    peer_open_silent(&peer, &hub, PEER_NODE, NULL);
    peer_expect(&peer, "node{node}");
    peer_send_node(&peer, "edge-1");
    udpai_report *report = session_take(&hub, UDPAI_REPORT_NODE);
    assert_int_equal(report->session, peer_session(&peer));
    assert_str(udpai_node_info_parts(report->info)->id, "edge-1");
    assert_true(udpai_node_info_has_feature(report->info, UDPAI_FEATURE_NODE));
    assert_true(report->is_extended);
    udpai_report_free(report);
    udpai_report_free(session_take(&hub, UDPAI_REPORT_ALIVE));
    peer_expect(&peer, "");
    peer_close(&peer);
}

static void
a_peer_without_the_feature_is_not_extended(void **state)
{
    (void)state;
    peer_open_silent(&peer, &hub, PEER_PAPER, NULL);
    peer_expect(&peer, "node{node}");
    peer_send_node(&peer, "edge-1");
    udpai_report *report = session_take(&hub, UDPAI_REPORT_NODE);
    assert_false(report->is_extended);
    udpai_report_free(report);
    peer_close(&peer);
}

static void
we_are_not_extended_if_we_do_not_say_so(void **state)
{
    (void)state;
    fake_hub plain;
    udpai_hub_options options = fake_hub_options();
    fake_hub_init(&plain, &options);
    peer_open_silent(&peer, &plain, PEER_ENDPOINT, NULL);
    peer_send_node(&peer, "edge-1");
    udpai_report *report = session_take(&plain, UDPAI_REPORT_NODE);
    assert_false(report->is_extended);
    udpai_report_free(report);
    fake_stream_close(&peer.stream);
    fake_hub_done(&plain);
}

/* The side that dials says who it is before anything else. */
static void
anything_before_the_node_ends_an_accepted_stream(void **state)
{
    (void)state;
    const udpai_str early[] = {
        W_NOTHING,
        W_MESSAGE(1, W_TEXT(1, TEST_CDS), W_TEXT(2, "")),
        W_MESSAGE(2, W_TEXT(1, TEST_CDS), W_TEXT(2, "")),
        W_MESSAGE(3, W_MESSAGE(2, W_TEXT(2, "com.acme/a"))),
        W_MESSAGE(4, W_TEXT(1, "000000000001")),
        W_MESSAGE(5, W_TEXT(1, TEST_CDS)),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(early); i++) {
        peer_open_silent(&peer, &hub, PEER_ENDPOINT, NULL);
        fake_stream_receive(&peer.stream, early[i].data, early[i].len);
        peer_expect_end(&peer, UDPA_ERR_PRECONDITION, "Node");
        session_expect_no(&hub, UDPAI_REPORT_ALIVE);
        session_expect_no(&hub, UDPAI_REPORT_PUBLICATION);
        fake_stream_close(&peer.stream);
    }
}

static void
whom_we_dialled_need_not_say_who_it_is(void **state)
{
    (void)state;
    const udpai_stream_info info = {.link = 3};
    peer_open_silent(&peer, &hub, PEER_PAPER, &info);
    peer_expect(&peer, "node{node}");
    session_expect_no(&hub, UDPAI_REPORT_ALIVE);
    peer_publish(&peer, "", "n1", "T:com.acme/a=1");
    assert_false(peer.stream.is_finished);
    udpai_report *report = session_take(&hub, UDPAI_REPORT_ALIVE);
    assert_int_equal(report->link, 3);
    udpai_report_free(report);
    session_expect_no(&hub, UDPAI_REPORT_NODE);
    udpai_report_free(session_take(&hub, UDPAI_REPORT_PUBLICATION));
    peer_send_node(&peer, "late");
    udpai_report_free(session_take(&hub, UDPAI_REPORT_NODE));
    session_expect_no(&hub, UDPAI_REPORT_ALIVE); /* once */
    peer_close(&peer);
}

static void
a_node_needs_an_id_of_a_sane_length(void **state)
{
    (void)state;
    char id[UDPAI_AUTHORITY_MAX + 2];
    memset(id, 'x', sizeof(id));
    id[sizeof(id) - 1] = '\0';
    const char *bad[] = {"", id};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        peer_open_silent(&peer, &hub, PEER_ENDPOINT, NULL);
        peer_send_node(&peer, bad[i]);
        peer_expect_end(&peer, UDPA_ERR_INVAL, "no id");
        session_expect_no(&hub, UDPAI_REPORT_NODE);
        fake_stream_close(&peer.stream);
    }
    id[UDPAI_AUTHORITY_MAX] = '\0';
    peer_open_silent(&peer, &hub, PEER_ENDPOINT, NULL);
    peer_send_node(&peer, id);
    assert_false(peer.stream.is_finished);
    peer_expect(&peer, "node{node}");
    peer_close(&peer);
}

static void
a_malformed_node_ends_the_stream(void **state)
{
    (void)state;
    udpai_str any = W_JOIN(W_TEXT(1, UDPAI_TYPE_NODE), W_BYTES(2, "\x0a\x7f"));
    udpai_str message =
        W_MESSAGE(3, W_MESSAGE(2, W_MESSAGE(1, W_TEXT(1, "x"), wire_bytes(3, any))));
    peer_open_silent(&peer, &hub, PEER_ENDPOINT, NULL);
    fake_stream_receive(&peer.stream, message.data, message.len);
    peer_expect_end(&peer, UDPA_ERR_MALFORMED, "");
}

/* A Node among other resources is a resource like any other, and a bad first message. */
static void
a_node_comes_alone(void **state)
{
    (void)state;
    udpai_str any = W_JOIN(W_TEXT(1, UDPAI_TYPE_NODE), W_MESSAGE(2, W_TEXT(1, "x"))),
              resource = W_MESSAGE(1, W_TEXT(1, "x"), wire_bytes(3, any)),
              message = W_MESSAGE(3, W_MESSAGE(2, resource, resource));
    peer_open_silent(&peer, &hub, PEER_ENDPOINT, NULL);
    fake_stream_receive(&peer.stream, message.data, message.len);
    peer_expect_end(&peer, UDPA_ERR_PRECONDITION, "Node");
}

/* What a management node sent, it is not offered again; when it says another id, that counts. */
static void
a_management_node_is_not_offered_its_own(void **state)
{
    (void)state;
    session_set(&hub, UDPAI_CHANGE_SET, RESOURCE("com.acme/a", .value = "1", .version = "1"),
                "peer");
    session_set(&hub, UDPAI_CHANGE_SET, RESOURCE("com.acme/b", .value = "1", .version = "1"),
                "other");
    peer_open(&peer, &hub, PEER_NODE);
    peer_subscribe(&peer, "T", "", "''");
    peer_expect(&peer, "publish{T T:com.acme/b=1} publish{T !}");
    peer_send_node(&peer, "other");
    peer_expect(&peer, "publish{T T:com.acme/a=1} publish{T -com.acme/b}");
    peer_close(&peer);
    peer_open(&peer, &hub, PEER_ENDPOINT); /* its own are offered to anybody else */
    peer_subscribe(&peer, "T", "", "''");
    peer_expect(&peer, "publish{T T:com.acme/a=1 T:com.acme/b=1 ?} publish{T !}");
    peer_close(&peer);
}

/* ---- messages ---- */

static void
an_unknown_kind_is_ignored(void **state)
{
    (void)state;
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_send(&peer, W_NOTHING);
    peer_send(&peer, W_MESSAGE(100, W_TEXT(1, "new")));
    peer_send(&peer, W_EMPTY(3));
    peer_send(&peer, W_TEXT(6, "somebody"));
    assert_false(peer.stream.is_finished);
    session_expect_no(&hub, UDPAI_REPORT_PUBLICATION);
    peer_expect(&peer, "");
    peer_close(&peer);
}

static void
what_is_malformed_ends_the_stream(void **state)
{
    (void)state;
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_send(&peer, W_BYTES(1, "\x0a\xff"));
    peer_expect_end(&peer, UDPA_ERR_MALFORMED, "");
    peer_subscribe(&peer, "T", "", "''"); /* what was under way comes too late */
    session_change(&hub, "+T:com.acme/a=1");
    peer_expect(&peer, "");
    peer_close(&peer);
}

static void
a_subscription_error_is_reported(void **state)
{
    (void)state;
    peer_open_dialled(&peer, &hub, PEER_ENDPOINT, true);
    peer_send(&peer, W_MESSAGE(5, W_TEXT(1, TEST_CDS), W_TEXT(2, "com.acme"),
                               W_TEXT(3, "com.acme/a"), W_TEXT(3, "com.acme/b"),
                               W_MESSAGE(4, W_VARINT(1, 7), W_TEXT(2, "not for you"))));
    udpai_report *report = session_take(&hub, UDPAI_REPORT_SUBSCRIPTION_ERROR);
    assert_int_equal(report->session, peer_session(&peer));
    assert_int_equal(report->link, 7);
    assert_str(report->subscription->type_url, TEST_CDS);
    assert_str(report->subscription->name_space, "com.acme");
    assert_int_equal(report->subscription->n_names, 2);
    assert_str(report->subscription->names[1], "com.acme/b");
    assert_int_equal(report->subscription->status_code, 7);
    assert_str(report->subscription->status_text, "not for you");
    udpai_report_free(report);
    peer_close(&peer);
}

/* ---- writing and ending ---- */

static void
one_message_is_under_way_at_a_time(void **state)
{
    (void)state;
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C !}");
    session_change(&hub, "+C:com.acme/a=1");
    peer_expect_one(&peer, "publish{C C:com.acme/a=1 ?}");
    session_change(&hub, "+C:com.acme/a=2");
    session_change(&hub, "+C:com.acme/a=3"); /* what changes meanwhile is sent once */
    peer_expect_one(&peer, "");
    fake_stream_complete(&peer.stream);
    peer_expect_one(&peer, "publish{C C:com.acme/a=3 ?}");
    fake_stream_complete(&peer.stream);
    peer_expect_one(&peer, "");
    peer_close(&peer);
}

static void
control_messages_overtake_resources(void **state)
{
    (void)state;
    peer_open(&peer, &hub, PEER_ENDPOINT);
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, "C", "", "''");
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "T", "", "''");
    session_ask(&peer, UDPAI_ORDER_UNSUBSCRIBE, "T", "", "''");
    peer_expect(&peer,
                "subscribe{T ''} unsubscribe{T ''} publish{C C:com.acme/a=1 ?} publish{C !}");
    peer_close(&peer);
}

static void
the_end_is_reported(void **state)
{
    (void)state;
    peer_open_dialled(&peer, &hub, PEER_ENDPOINT, true);
    uint64_t id = peer_session(&peer);
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, "C", "", "'' com.acme/b");
    peer_publish(&peer, "T", "n", "T:com.acme/x=1 ?");
    udpai_hub_run(hub.hub); /* in the middle of a write */
    fake_stream_close(&peer.stream);
    udpai_report *report = session_take(&hub, UDPAI_REPORT_CLOSED);
    assert_int_equal(report->session, id);
    assert_int_equal(report->link, 7);
    udpai_report_free(report);
    assert_int_equal(udpai_hub_n_sessions(hub.hub), 0);
}

/* A peer that makes us answer and never reads costs a bounded number of answers. */
static void
the_queue_of_answers_is_bounded(void **state)
{
    (void)state;
    peer_open(&peer, &hub, PEER_ENDPOINT);
    int n = 0;
    for (; n < UDPAI_CONTROLS_MAX + 10 && !peer.stream.is_finished; n++) {
        udpai_hub_run(hub.hub);
        peer_subscribe(&peer, "T", "", "no-slash");
    }
    peer_expect_end(&peer, UDPA_ERR_LIMIT, "limit");
    assert_int_equal(n, UDPAI_CONTROLS_MAX + 2); /* one is being written, and one too many */
}

/* As large answers as there are: refusals that name what they refuse. */
static void
provoke(void)
{
    char name[UDPAI_NAME_MAX + 1];
    memset(name, 'N', UDPAI_NAME_MAX);
    name[UDPAI_NAME_MAX] = '\0';
    udpai_str names = W_NOTHING;
    for (int i = 0; i < 5; i++)
        names = W_JOIN(names, W_TEXT(2, name));
    peer_send(&peer, W_MESSAGE(1, W_TEXT(1, TEST_TYPE), names));
}

static void
provoke_until_paused(void)
{
    peer_open(&peer, &hub, PEER_ENDPOINT);
    for (int i = 0; i < 1000 && !peer.stream.is_paused; i++)
        provoke();
    assert_true(peer.stream.is_paused);
    assert_in_range(udpai_udpa_of(peer.stream.session)->answer_bytes, UDPAI_ANSWERS_PAUSE_BYTES,
                    UDPAI_ANSWERS_PAUSE_BYTES + 20000);
}

static void
write_all(void)
{
    udpa_bytes *bytes;
    fake_stream_run(&peer.stream, &hub);
    while ((bytes = fake_stream_take(&peer.stream)))
        udpa_bytes_unref(bytes);
}

static void
who_does_not_read_is_not_read(void **state)
{
    (void)state;
    provoke_until_paused();
    write_all();
    assert_false(peer.stream.is_paused);
    assert_int_equal(udpai_udpa_of(peer.stream.session)->answer_bytes, 0);
    fake_hub_advance(&hub, 2 * UDPAI_ANSWERS_PATIENCE_MS);
    assert_false(peer.stream.is_finished);
    peer_close(&peer);
}

/* It would be complete, and wait for nothing for ever. */
static void
a_subscribe_for_no_type_url_is_answered_in_words(void **state)
{
    (void)state;
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_send(&peer, W_MESSAGE(1, W_TEXT(1, "acme.Cluster"), W_TEXT(2, "")));
    peer_expect(&peer, "error{acme.Cluster 3'no resource has type URL 'acme.Cluster': it must be "
                       "<prefix>/<message type>, such as "
                       "type.googleapis.com/envoy.config.cluster.v3.Cluster'}");
    peer_send(&peer, W_MESSAGE(1, W_TEXT(1, "type.googleapis.com/"), W_TEXT(2, "")));
    peer_send(&peer, W_MESSAGE(1, W_TEXT(2, "")));
    assert_false(peer.stream.is_finished);
    peer_close(&peer);
}

/* Each reason to pause holds by itself. */
static void
pauses_compose(void **state)
{
    (void)state;
    provoke_until_paused();
    for (int i = 0; i < 64; i++) /* were read before */
        peer_publish(&peer, "C", "n", "C:com.acme/a=1 ?");
    write_all();
    assert_true(peer.stream.is_paused);
    session_judge(&peer, "0");
    assert_false(peer.stream.is_paused);
    while (!peer.stream.is_paused)
        provoke();
    while (udpai_udpa_of(peer.stream.session)->n_pending) {
        session_judge(&peer, "0");
        assert_true(peer.stream.is_paused);
    }
    write_all();
    assert_false(peer.stream.is_paused);
    peer_close(&peer);
}

static void
answers_are_bounded_in_bytes(void **state)
{
    (void)state;
    provoke_until_paused();
    int n = 0;
    for (; n < 1000 && !peer.stream.is_finished; n++)
        provoke();
    peer_expect_end(&peer, UDPA_ERR_LIMIT, "the peer does not read");
    assert_true(udpai_udpa_of(peer.stream.session)->answer_bytes <= UDPAI_ANSWERS_MAX_BYTES);
    assert_in_range(n, 500, 900);
}

/* Judges the oldest publication: the app has much to say against every resource. */
static void
refuse_at_length(void)
{
    static char text[4000];
    memset(text, 'x', sizeof(text) - 1);
    udpai_report *report = session_take(&hub, UDPAI_REPORT_PUBLICATION);
    udpai_order *order = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
    order->session = report->session;
    order->publication = UDPAI_TAKE(report->publication);
    for (size_t i = 0; i < order->publication->entries.n; i++)
        order->publication->entries.items[i].error =
            udpa_error_new(UDPA_ERR_INVAL, NULL, "%s", text);
    udpai_report_free(report);
    udpai_hub_order(hub.hub, order);
}

/* What may wait to be judged is judged at once: who reads is not ended for it. */
static void
judgements_at_once_are_no_fault_of_who_reads(void **state)
{
    (void)state;
    char what[64 * 20 + 2] = "";
    for (int i = 0; i < 64; i++)
        snprintf(what + strlen(what), sizeof(what) - strlen(what), "C:com.acme/%d=1 ", i);
    what[strlen(what)] = '?';
    peer_open(&peer, &hub, PEER_ENDPOINT);
    for (int i = 0; i < 64; i++)
        peer_publish(&peer, "C", "n", what);
    for (int i = 0; i < 64; i++)
        refuse_at_length();
    assert_false(peer.stream.is_finished);
    write_all();
    assert_false(peer.stream.is_paused);
    peer_close(&peer);
}

/* Two that do not read on because the other one does not would wait for ever. */
static void
patience_with_who_does_not_read_ends(void **state)
{
    (void)state;
    provoke_until_paused();
    for (int i = 0; i < 3; i++) {
        provoke();
        udpai_hub_run(hub.hub);
        fake_hub_advance(&hub, UDPAI_ANSWERS_PATIENCE_MS - 1000);
        fake_stream_complete(&peer.stream);
    }
    assert_false(peer.stream.is_finished); /* it is slow */
    provoke();
    udpai_hub_run(hub.hub);
    fake_hub_advance(&hub, UDPAI_ANSWERS_PATIENCE_MS + 1000);
    peer_expect_end(&peer, UDPA_ERR_LIMIT, "the peer does not read");
}

/* What we ask for is as large as what we hold, and no fault of the peer's. */
static void
what_we_ask_for_pauses_nothing(void **state)
{
    (void)state;
    char name[UDPAI_NAME_MAX];
    memset(name, 'x', sizeof(name));
    const udpai_str names[] = {{name, sizeof(name)}};
    const udpai_subscription_message message = {
        .type_url = UDPAI_STR(TEST_TYPE), .names = names, .n_names = 1};
    peer_open(&peer, &hub, PEER_ENDPOINT);
    for (int i = 0; i < 2000; i++) {
        udpai_order *order = udpai_order_new(UDPAI_ORDER_SUBSCRIBE);
        order->session = peer_session(&peer);
        order->subscription = udpai_subscription_message_copy(&message);
        udpai_hub_order(hub.hub, order);
    }
    provoke();
    assert_false(peer.stream.is_paused);
}

/* Whatever the peer sends in one message, it is answered in one that it can take. */
static void
a_refusal_does_not_echo_all_of_it(void **state)
{
    (void)state;
    peer_open(&peer, &hub, PEER_ENDPOINT);
    size_t len = (size_t)4 << 20;
    char *name = malloc(len);
    memset(name, 'x', len - 1);
    name[len - 1] = '\0';
    peer_send(&peer, W_MESSAGE(1, W_TEXT(1, TEST_TYPE), W_TEXT(2, name)));
    peer_send(&peer, W_MESSAGE(1, W_TEXT(1, name), W_TEXT(2, "")));
    peer_send(&peer, W_MESSAGE(1, W_TEXT(1, TEST_TYPE), W_TEXT(4, name)));
    assert_in_range(udpai_udpa_of(peer.stream.session)->answer_bytes, 1024, 10000);
    peer_send(&peer, W_MESSAGE(5, W_TEXT(1, TEST_TYPE), W_MESSAGE(4, W_TEXT(2, name))));
    udpai_report *report = session_take(&hub, UDPAI_REPORT_SUBSCRIPTION_ERROR);
    assert_int_equal(report->subscription->status_text.len, 4096);
    udpai_report_free(report);
    free(name);
    write_all();
    peer_close(&peer);
}

/* The most entries that 4 MiB may hold, none of them a resource. */
static void
a_receipt_of_nothing_but_refusals_can_be_taken(void **state)
{
    (void)state;
    size_t n = 327000, size = (size_t)4 << 20;
    char *entries = malloc(2 * n), *filler = calloc(1, size);
    for (size_t i = 0; i < n; i++)
        memcpy(entries + 2 * i, "\x0a", 2);
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_send(&peer,
              W_MESSAGE(3, W_MESSAGE(2, (udpai_str){entries, 2 * n}, W_VARINT(4, 1), W_TEXT(3, "n"),
                                     wire_bytes(100, (udpai_str){filler, size - 2 * n}))));
    free(entries);
    free(filler);
    assert_false(peer.stream.is_finished);
    session_judge(&peer, "3");
    udpa_bytes *receipt = peer_take_raw(&peer);
    assert_in_range(udpa_bytes_size(receipt), 4 * n, (size_t)4 << 20);
    udpa_bytes_unref(receipt);
    peer_close(&peer);
}

static void
a_nonce_that_cannot_go_back_ends_the_stream(void **state)
{
    (void)state;
    static char nonce[UDPAI_NONCE_MAX + 2];
    memset(nonce, 'n', UDPAI_NONCE_MAX);
    peer_open(&peer, &hub, PEER_ENDPOINT);
    peer_publish(&peer, "C", nonce, "C:com.acme/a=1 ?");
    session_judge(&peer, "0");
    udpa_bytes_unref(peer_take_raw(&peer));
    assert_false(peer.stream.is_finished);
    nonce[UDPAI_NONCE_MAX] = 'n';
    peer_publish(&peer, "C", nonce, "C:com.acme/a=1 ?");
    peer_expect_end(&peer, UDPA_ERR_INVAL, "nonce of 1025 bytes");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(our_node_goes_out_first_on_either_side, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(opening_is_reported_with_what_the_transport_knows,
                                        begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(ids_of_sessions_do_not_come_again, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(the_node_is_reported, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(a_peer_without_the_feature_is_not_extended, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(we_are_not_extended_if_we_do_not_say_so, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(anything_before_the_node_ends_an_accepted_stream,
                                        begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(whom_we_dialled_need_not_say_who_it_is, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(a_node_needs_an_id_of_a_sane_length, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(a_malformed_node_ends_the_stream, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(a_node_comes_alone, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(a_management_node_is_not_offered_its_own, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(an_unknown_kind_is_ignored, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(a_subscribe_for_no_type_url_is_answered_in_words,
                                        begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(what_is_malformed_ends_the_stream, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(a_subscription_error_is_reported, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(one_message_is_under_way_at_a_time, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(control_messages_overtake_resources, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(the_end_is_reported, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(the_queue_of_answers_is_bounded, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(who_does_not_read_is_not_read, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(pauses_compose, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(answers_are_bounded_in_bytes, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(judgements_at_once_are_no_fault_of_who_reads, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(patience_with_who_does_not_read_ends, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(what_we_ask_for_pauses_nothing, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(a_refusal_does_not_echo_all_of_it, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(a_receipt_of_nothing_but_refusals_can_be_taken, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(a_nonce_that_cannot_go_back_ends_the_stream, begin_alone,
                                        end_anyhow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
