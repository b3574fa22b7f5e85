/* SPDX-License-Identifier: Apache-2.0 */
/* The peer as a publisher: what we ask it for, what we take from it, how much of it; and what we
 * publish unasked. */
#include "one_peer.h"

#include <stdio.h>

#include "session/udpa_internal.h"

static int
begin_source(void **state)
{
    (void)state;
    session_hub_init(&hub);
    peer_open_dialled(&peer, &hub, PEER_ENDPOINT, true);
    return 0;
}

/* The entries of the oldest publication, as codes of gRPC, with an i if ignored; it is judged as it
 * is. */
static void
expect_entries(const char *codes)
{
    char text[256] = "";
    udpai_report *report = session_take(&hub, UDPAI_REPORT_PUBLICATION);
    const udpai_publication *publication = report->publication;
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpai_publication_entry *entry = &publication->entries.items[i];
        size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, "%s%d%s", i ? " " : "",
                 udpa_err_to_grpc(udpa_error_code(entry->error)), entry->is_ignored ? "i" : "");
    }
    assert_string_equal(text, codes);
    udpai_report_free(report);
}

/* ---- asking ---- */

static void
subscriptions_go_out_as_ordered(void **state)
{
    (void)state;
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "com.acme", "''");
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "E", "", "com.acme/a com.acme/b");
    session_ask(&peer, UDPAI_ORDER_UNSUBSCRIBE, "E", "", "com.acme/a");
    peer_expect(&peer, "subscribe{C@com.acme ''} subscribe{E com.acme/a com.acme/b} "
                       "unsubscribe{E com.acme/a}");
}

static void
what_a_source_was_not_asked_for_is_refused(void **state)
{
    (void)state;
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "com.acme", "''");
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "E", "", "net/a");
    peer_expect(&peer, "subscribe{C@com.acme ''} subscribe{E net/a}");
    peer_publish(&peer, "", "n1",
                 "C:com.acme/a=1 C:com.acme.foo/a=1 C:com.acmecorp/a=1 E:net/a=1 E:net/b=1 "
                 "E:com.acme/a=1 R:com.acme/a=1 ?");
    session_judge(&peer, "0");
    peer_expect(&peer, "receipt{n1 0 0 7'not subscribed: 'com.acmecorp/a' of type "
                       "'" TEST_CDS "'' 0 7'not subscribed: 'net/b' of type '" TEST_EDS
                       "'' 7'not subscribed: 'com.acme/a' of type '" TEST_EDS
                       "'' 7'not subscribed: 'com.acme/a' of type '" TEST_RDS "''}");
}

/* The peer may have sent it before it read of the end: that is no error of anybody. */
static void
what_is_not_asked_for_any_more_is_ignored(void **state)
{
    (void)state;
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "com.acme", "'' com.acme/a");
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "net", "''");
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "net", "''"); /* twice is once */
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "", "com.acme/a");
    session_ask(&peer, UDPAI_ORDER_UNSUBSCRIBE, "C", "com.acme", "''");
    peer_publish(&peer, "C", "n", "C:com.acme/a=1 C:com.acme/b=1 C:net/a=1 C:org/a=1 E:net/a=1");
    expect_entries("0 0i 0 7 7");
    session_ask(&peer, UDPAI_ORDER_UNSUBSCRIBE, "C", "", "com.acme/a");
    session_ask(&peer, UDPAI_ORDER_UNSUBSCRIBE, "C", "net", "''");
    peer_publish(&peer, "C", "n", "C:com.acme/a=1 C:com.acme/b=1 C:net/a=1 C:org/a=1");
    expect_entries("0i 0i 0i 7");
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "", "com.acme/a");
    peer_publish(&peer, "C", "n", "C:com.acme/a=1 C:net/a=1");
    expect_entries("0 0i");
}

static void
an_ignored_one_has_no_error_in_the_receipt(void **state)
{
    (void)state;
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "E", "", "net/a net/b");
    session_ask(&peer, UDPAI_ORDER_UNSUBSCRIBE, "E", "", "net/b");
    peer_expect(&peer, "subscribe{E net/a net/b} unsubscribe{E net/b}");
    peer_publish(&peer, "", "n1", "E:net/b=1 E:net/a=1 ?");
    session_judge(&peer, "0");
    peer_expect(&peer, "receipt{n1}");
}

/* However many names come and go on a stream, so many are remembered. */
static void
the_oldest_that_ended_are_forgotten(void **state)
{
    (void)state;
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "com.acme", "''");
    session_ask(&peer, UDPAI_ORDER_UNSUBSCRIBE, "C", "com.acme", "''");
    peer_expect(&peer, "subscribe{C@com.acme ''} unsubscribe{C@com.acme ''}");
    for (int i = 1; i <= 2 * UDPAI_ASKED_ENDED_MAX; i++) {
        char name[32], messages[96];
        snprintf(name, sizeof(name), "net/%d", i);
        snprintf(messages, sizeof(messages), "subscribe{C %s} unsubscribe{C %s}", name, name);
        session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "", name);
        session_ask(&peer, UDPAI_ORDER_UNSUBSCRIBE, "C", "", name);
        peer_expect(&peer, messages);
        if (i == UDPAI_ASKED_ENDED_MAX) {
            peer_publish(&peer, "C", "n", "C:com.acme/a=1 C:net/1=1");
            expect_entries("0i 0i");
        }
    }
    peer_publish(&peer, "C", "n", "C:com.acme/a=1 C:net/1=1 C:net/1024=1 C:net/2048=1");
    expect_entries("7 7 0i 0i");
}

static void
without_a_namespace_all_wildcards_are_dropped(void **state)
{
    (void)state;
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "com.acme", "''");
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "net", "''");
    session_ask(&peer, UDPAI_ORDER_UNSUBSCRIBE, "C", "", "*");
    peer_publish(&peer, "C", "n", "C:com.acme/a=1 C:net/a=1");
    expect_entries("0i 0i");
}

static void
an_answer_to_an_alias_was_asked_for(void **state)
{
    (void)state;
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "T", "", "com.acme/x.bar com.acme/alias");
    static const char *const names[] = {"com.acme/a", "com.acme/b", "com.acme/c"};
    static const char *const aliases[] = {"com.acme/alias", "com.acme/*.bar", "com.acme/*.foo"};
    udpai_str any = W_JOIN(W_TEXT(1, TEST_TYPE), W_TEXT(2, "v")), all = W_NOTHING;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        all = W_JOIN(all, W_MESSAGE(1, W_TEXT(1, names[i]), W_TEXT(2, "1"), wire_bytes(3, any),
                                    W_TEXT(6, aliases[i])));
    udpai_str message = W_MESSAGE(3, wire_bytes(2, all));
    fake_stream_receive(&peer.stream, message.data, message.len);
    expect_entries("0 0 7");
}

/* It goes by the name of what the alias leads to, which is not asked for. */
static void
what_came_by_an_alias_is_renewed(void **state)
{
    (void)state;
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "", "com.acme/alias");
    peer_publish(&peer, "C", "n", "com.acme/a=1");
    expect_entries("0");
    peer_publish(&peer, "E", "n", "com.acme/a=1");
    expect_entries("7");
    session_ask(&peer, UDPAI_ORDER_UNSUBSCRIBE, "C", "", "com.acme/alias");
    peer_publish(&peer, "C", "n", "com.acme/a=1");
    expect_entries("0i");
}

static void
refreshes_are_taken_as_they_say(void **state)
{
    (void)state;
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "C", "com.acme", "''");
    peer_publish(&peer, "C", "n", "com.acme/a=1 net/a=1");
    expect_entries("0 7");
    peer_publish(&peer, "", "n", "net/a=1"); /* without a type it can match only what was taken */
    expect_entries("0");
}

static void
any_other_peer_need_not_be_asked(void **state)
{
    (void)state;
    peer_publish(&peer, "", "n", "C:com.acme/a=1 R:net/a=1");
    expect_entries("0 0");
}

static void
an_accepted_peer_can_become_a_source(void **state)
{
    (void)state;
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ATTACH);
    order->session = peer_session(&peer);
    order->link = 5;
    order->is_source = true;
    udpai_hub_order(hub.hub, order);
    peer_publish(&peer, "", "n", "C:com.acme/a=1");
    udpai_report *report = session_take(&hub, UDPAI_REPORT_PUBLICATION);
    assert_int_equal(report->link, 5);
    assert_int_equal(udpa_error_code(report->publication->entries.items[0].error), UDPA_ERR_DENIED);
    udpai_report_free(report);
}

/* ---- receipts of ours ---- */

static void
exactly_one_receipt_where_one_is_wished(void **state)
{
    (void)state;
    peer_publish(&peer, "C", "n1", "C:com.acme/a=1 C:com.acme/b=1 ?");
    peer_publish(&peer, "C", "n2", "C:com.acme/c=1");
    peer_publish(&peer, "C", "n3", "C:com.acme/d=1 C:com.acme/e=1 C:com.acme/f=1 ?");
    peer_publish(&peer, "C", "", "?");
    peer_expect(&peer, ""); /* not before it is judged */
    session_judge(&peer, "0");
    session_judge(&peer, "0");
    session_judge(&peer, "0 7 5");
    session_judge(&peer, "");
    peer_expect(&peer, "receipt{n1} receipt{n3 0 7'no' 5'no'} receipt{}");
}

static void
a_refused_removal_has_a_status_of_its_own(void **state)
{
    (void)state;
    peer_publish(&peer, "C", "n1", "C:com.acme/a=1 -com.acme/b -com.acme/c -com.acme/d ?");
    udpai_report *report = session_take(&hub, UDPAI_REPORT_PUBLICATION);
    udpai_publication_refuse(&report->publication->removals.items[1].error,
                             udpa_error_new(UDPA_ERR_DENIED, NULL, "com.acme/c is not yours"));
    udpai_order *order = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
    order->session = peer_session(&peer);
    order->publication = UDPAI_TAKE(report->publication);
    udpai_report_free(report);
    udpai_hub_order(hub.hub, order);
    peer_expect(&peer, "receipt{n1 0 7'com.acme/c is not yours'}");
}

static void
a_bad_resource_is_refused_alone(void **state)
{
    (void)state;
    peer_publish(&peer, "C", "n1", "C:com.acme/a=1 C:bad=1 C:com.acme/b=1 ?");
    udpai_report *report = session_take(&hub, UDPAI_REPORT_PUBLICATION);
    assert_int_equal(report->publication->entries.n, 3);
    assert_null(report->publication->entries.items[0].error);
    assert_int_equal(udpa_error_code(report->publication->entries.items[1].error), UDPA_ERR_INVAL);
    assert_null(report->publication->entries.items[2].error);
    udpai_report_free(report);
}

static void
a_publication_comes_up_whole(void **state)
{
    (void)state;
    peer_publish(&peer, "C", "n1", "C:com.acme/a=1%1500 com.acme/b=2 -com.acme/c ! ?");
    udpai_report *report = session_take(&hub, UDPAI_REPORT_PUBLICATION);
    const udpai_publication *publication = report->publication;
    assert_str(publication->nonce, "n1");
    assert_str(publication->type_url, TEST_CDS);
    assert_true(publication->complete);
    assert_true(publication->receipt_required);
    assert_false(publication->state_of_the_world);
    assert_int_equal(publication->entries.n, 2);
    assert_int_equal(udpa_resource_ttl_ms(publication->entries.items[0].resource), 1500);
    assert_false(publication->entries.items[0].is_refresh);
    assert_true(publication->entries.items[1].is_refresh);
    assert_int_equal(publication->removals.n, 1);
    assert_str(publication->removals.items[0].name, "com.acme/c");
    assert_true(publication->size_bytes > 50);
    udpai_report_free(report);
}

/* ---- backpressure ---- */

static void
reading_pauses_at_so_many_publications(void **state)
{
    (void)state;
    for (int i = 0; i < 63; i++)
        peer_publish(&peer, "C", "n", "C:com.acme/a=1");
    assert_false(peer.stream.is_paused);
    peer_publish(&peer, "C", "n", "C:com.acme/a=1");
    assert_true(peer.stream.is_paused);
    peer_publish(&peer, "C", "n", "C:com.acme/a=1"); /* was read before */
    peer_subscribe(&peer, "C", "", "''");
    session_judge(&peer, "0");
    assert_true(peer.stream.is_paused);
    session_judge(&peer, "0");
    assert_false(peer.stream.is_paused);
    for (int i = 0; i < 63; i++)
        session_judge(&peer, "0");
    assert_int_equal(udpai_udpa_of(peer.stream.session)->n_pending, 0);
    assert_int_equal(udpai_udpa_of(peer.stream.session)->pending_bytes, 0);
    peer_expect(&peer, "publish{C !}");
}

static void
reading_pauses_at_so_many_bytes(void **state)
{
    (void)state;
    static char value[(size_t)400 << 10];
    memset(value, 'x', sizeof(value) - 1);
    for (int i = 0; i < 3; i++) {
        assert_false(peer.stream.is_paused);
        udpai_str any = W_JOIN(W_TEXT(1, TEST_CDS), W_TEXT(2, value)),
                  message = W_MESSAGE(
                      3, W_MESSAGE(2, W_MESSAGE(1, W_TEXT(1, "com.acme/a"), wire_bytes(3, any))));
        fake_stream_receive(&peer.stream, message.data, message.len);
    }
    assert_true(peer.stream.is_paused);
    session_judge(&peer, "0");
    assert_false(peer.stream.is_paused);
}

static void
what_is_judged_after_the_end_is_dropped(void **state)
{
    (void)state;
    peer_publish(&peer, "C", "n", "C:com.acme/a=1 ?");
    peer_send(&peer, W_BYTES(1, "\xff"));
    assert_true(peer.stream.is_finished);
    session_judge(&peer, "0");
    udpai_hub_run(hub.hub);
    assert_int_equal(peer.stream.written.n, 0);
}

/* ---- what we publish unasked ---- */

static void
order_publish(uint64_t ticket, bool receipt_required)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_PUBLISH);
    order->session = peer_session(&peer);
    order->ticket = ticket;
    order->publication = udpai_publication_new();
    assert_non_null(order->publication);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *a = RESOURCE("com.acme/a", .value = "1", .version = "1");
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *b = RESOURCE("com.acme/b", .value = "2", .version = "2", .ttl_ms = 3000);
    assert_ok(udpai_publication_add(order->publication, a, false));
    assert_ok(udpai_publication_add(order->publication, b, true));
    assert_ok(udpai_publication_remove(order->publication, UDPAI_STR("com.acme/c")));
    assert_ok(udpai_publication_remove(order->publication, UDPAI_STR("com.acme/cd")));
    assert_ok(udpai_publication_remove(order->publication, UDPAI_STR("com.acme/e")));
    assert_ok(udpai_publication_set(&order->publication->type_url, UDPAI_STR(TEST_TYPE)));
    order->publication->receipt_required = receipt_required;
    udpai_hub_order(hub.hub, order);
}

#define PUBLISHED "T:com.acme/a=1 ~com.acme/b=2%3000 -com.acme/c -com.acme/cd -com.acme/e"

static void
what_is_ordered_is_published(void **state)
{
    (void)state;
    order_publish(1, false);
    peer_expect(&peer, "publish{T " PUBLISHED "}");
    peer_receipt(&peer, "");
    session_expect_no(&hub, UDPAI_REPORT_RECEIPT);
}

static void
the_receipt_comes_back_with_the_ticket(void **state)
{
    (void)state;
    order_publish(41, true);
    peer_expect(&peer, "publish{T " PUBLISHED " ?}");
    peer_receipt(&peer, "0 3");
    peer_receipt(&peer, "3");
    udpai_report *report = session_take(&hub, UDPAI_REPORT_RECEIPT);
    assert_int_equal(report->session, peer_session(&peer));
    assert_int_equal(report->ticket, 41);
    assert_null(report->publication->entries.items[0].error);
    assert_int_equal(udpa_error_code(report->publication->entries.items[1].error), UDPA_ERR_INVAL);
    for (size_t i = 0; i < 3; i++)
        assert_null(report->publication->removals.items[i].error);
    udpai_report_free(report);
    session_expect_no(&hub, UDPAI_REPORT_RECEIPT);
}

/* Only refused removals have a status; which one it is says its text. */
static void
refused_removals_are_known_by_their_names(void **state)
{
    (void)state;
    order_publish(41, true);
    peer_expect(&peer, "publish{T " PUBLISHED " ?}");
    peer_send(&peer, W_MESSAGE(4, W_TEXT(1, peer.nonce), W_EMPTY(2), W_EMPTY(2),
                               W_MESSAGE(2, W_VARINT(1, 7), W_TEXT(2, "'com.acme/cd': no")),
                               W_MESSAGE(2, W_VARINT(1, 9), W_TEXT(2, "com.acme/e"))));
    udpai_report *report = session_take(&hub, UDPAI_REPORT_RECEIPT);
    const udpai_publication *publication = report->publication;
    assert_null(publication->entries.items[0].error);
    assert_null(publication->entries.items[1].error);
    assert_null(publication->removals.items[0].error);
    assert_int_equal(udpa_error_code(publication->removals.items[1].error), UDPA_ERR_DENIED);
    assert_int_equal(udpa_error_code(publication->removals.items[2].error), UDPA_ERR_PRECONDITION);
    udpai_report_free(report);
}

/* More statuses than there is anything for, texts that name nothing, codes that do not exist. */
static void
a_strange_receipt_does_no_harm(void **state)
{
    (void)state;
    order_publish(41, true);
    peer_expect(&peer, "publish{T " PUBLISHED " ?}");
    peer_receipt(&peer, "0 0 99 7 7 7 7 7 7 7");
    udpai_report *report = session_take(&hub, UDPAI_REPORT_RECEIPT);
    for (size_t i = 0; i < 3; i++)
        assert_non_null(report->publication->removals.items[i].error);
    assert_int_equal(udpa_error_code(report->publication->removals.items[0].error),
                     UDPA_ERR_UNKNOWN);
    udpai_report_free(report);
    peer_send(&peer, W_MESSAGE(4, W_TEXT(1, "00000000002a"), W_EMPTY(2)));
    assert_false(peer.stream.is_finished);
}

/* However much else is sent in between, and never receipted. */
static void
the_receipt_of_what_was_published_is_not_forgotten(void **state)
{
    (void)state;
    char change[64];
    order_publish(8, true);
    peer_expect(&peer, "publish{T " PUBLISHED " ?}");
    char nonce[32];
    snprintf(nonce, sizeof(nonce), "%s", peer.nonce);
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C !}");
    for (int i = 0; i < UDPAI_IN_FLIGHT_MAX + 10; i++) {
        snprintf(change, sizeof(change), "+C:com.acme/a=%d", i);
        session_change(&hub, change);
        udpa_bytes_unref(peer_take_raw(&peer));
    }
    snprintf(peer.nonce, sizeof(peer.nonce), "%s", nonce);
    peer_receipt(&peer, "");
    udpai_report *report = session_take(&hub, UDPAI_REPORT_RECEIPT);
    assert_int_equal(report->ticket, 8);
    udpai_report_free(report);
}

/* ---- what nobody waits for any more ---- */

static void
order_forget(uint64_t ticket)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_FORGET);
    assert_non_null(order);
    order->ticket = ticket;
    udpai_hub_order(hub.hub, order);
}

static void
expect_forgotten(uint64_t ticket)
{
    udpai_report *report = session_take(&hub, UDPAI_REPORT_RECEIPT);
    assert_int_equal(report->session, peer_session(&peer));
    assert_int_equal(report->ticket, ticket);
    assert_null(report->publication);
    udpai_report_free(report);
    session_expect_no(&hub, UDPAI_REPORT_RECEIPT);
}

static void
what_is_forgotten_is_not_kept_and_its_receipt_is_counted(void **state)
{
    (void)state;
    const udpai_udpa *udpa = udpai_udpa_of(peer.stream.session);
    order_publish(41, true);
    peer_expect(&peer, "publish{T " PUBLISHED " ?}");
    order_forget(40); /* nobody's */
    assert_int_equal(udpa->n_in_flight, 1);
    order_forget(41);
    expect_forgotten(41);
    assert_int_equal(udpa->n_in_flight, 0);
    order_forget(41);
    assert_int_equal(udpa->n_unknown_receipts, 0);
    peer_receipt(&peer, "0 3");
    assert_int_equal(udpa->n_unknown_receipts, 1);
    session_expect_no(&hub, UDPAI_REPORT_RECEIPT);
}

static void
what_is_forgotten_before_it_was_written_is_not_written(void **state)
{
    (void)state;
    order_publish(1, true);
    order_publish(2, true);
    order_publish(3, true);
    peer_expect_one(&peer, "publish{T " PUBLISHED " ?}"); /* is under way */
    order_forget(1);
    expect_forgotten(1);
    order_forget(2);
    expect_forgotten(2);
    assert_int_equal(udpai_udpa_of(peer.stream.session)->n_controls, 1);
    peer_expect(&peer, "publish{T " PUBLISHED " ?}");
    peer_receipt(&peer, "");
    udpai_report *report = session_take(&hub, UDPAI_REPORT_RECEIPT);
    assert_int_equal(report->ticket, 3);
    assert_non_null(report->publication);
    udpai_report_free(report);
}

static void
what_is_receipted_cannot_be_forgotten(void **state)
{
    (void)state;
    order_publish(1, true);
    peer_expect(&peer, "publish{T " PUBLISHED " ?}");
    peer_receipt(&peer, "");
    session_drop(&hub, UDPAI_REPORT_RECEIPT);
    order_forget(1);
    session_expect_no(&hub, UDPAI_REPORT_RECEIPT);
}

static void
a_public_peer_is_published_to_in_its_own_words(void **state)
{
    (void)state;
    fake_stream_close(&peer.stream);
    peer_open(&peer, &hub, PEER_PAPER);
    order_publish(1, true);
    peer_expect(&peer, "publish{ T:com.acme/a=1 ~T:com.acme/b=2%3000 -com.acme/c -com.acme/cd "
                       "-com.acme/e ?}");
}

/* What the name space of an Unsubscribe is, it does not know: that is the end of all wildcards. */
static void
a_public_peer_is_told_the_end_of_all_wildcards(void **state)
{
    (void)state;
    fake_stream_close(&peer.stream);
    peer_open(&peer, &hub, PEER_PAPER);
    session_ask(&peer, UDPAI_ORDER_SUBSCRIBE, "T", "com.acme", "''");
    session_ask(&peer, UDPAI_ORDER_UNSUBSCRIBE, "T", "com.acme", "''");
    peer_expect(&peer, "subscribe{T@com.acme ''} unsubscribe{T ''}");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(subscriptions_go_out_as_ordered, begin_source, end_anyhow),
        cmocka_unit_test_setup_teardown(what_a_source_was_not_asked_for_is_refused, begin_source,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(what_is_not_asked_for_any_more_is_ignored, begin_source,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(an_ignored_one_has_no_error_in_the_receipt, begin_source,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(the_oldest_that_ended_are_forgotten, begin_source,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(without_a_namespace_all_wildcards_are_dropped, begin_source,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(what_came_by_an_alias_is_renewed, begin_source, end_anyhow),
        cmocka_unit_test_setup_teardown(an_answer_to_an_alias_was_asked_for, begin_source,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(refreshes_are_taken_as_they_say, begin_source, end_anyhow),
        cmocka_unit_test_setup_teardown(any_other_peer_need_not_be_asked, begin, end_anyhow),
        cmocka_unit_test_setup_teardown(an_accepted_peer_can_become_a_source, begin, end_anyhow),
        cmocka_unit_test_setup_teardown(exactly_one_receipt_where_one_is_wished, begin, end_anyhow),
        cmocka_unit_test_setup_teardown(a_refused_removal_has_a_status_of_its_own, begin,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(a_bad_resource_is_refused_alone, begin, end_anyhow),
        cmocka_unit_test_setup_teardown(a_publication_comes_up_whole, begin, end_anyhow),
        cmocka_unit_test_setup_teardown(reading_pauses_at_so_many_publications, begin, end_anyhow),
        cmocka_unit_test_setup_teardown(reading_pauses_at_so_many_bytes, begin, end_anyhow),
        cmocka_unit_test_setup_teardown(what_is_judged_after_the_end_is_dropped, begin, end_anyhow),
        cmocka_unit_test_setup_teardown(what_is_ordered_is_published, begin, end_anyhow),
        cmocka_unit_test_setup_teardown(the_receipt_comes_back_with_the_ticket, begin, end_anyhow),
        cmocka_unit_test_setup_teardown(refused_removals_are_known_by_their_names, begin,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(a_strange_receipt_does_no_harm, begin, end_anyhow),
        cmocka_unit_test_setup_teardown(the_receipt_of_what_was_published_is_not_forgotten, begin,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(what_is_forgotten_is_not_kept_and_its_receipt_is_counted,
                                        begin, end_anyhow),
        cmocka_unit_test_setup_teardown(what_is_forgotten_before_it_was_written_is_not_written,
                                        begin, end_anyhow),
        cmocka_unit_test_setup_teardown(what_is_receipted_cannot_be_forgotten, begin, end_anyhow),
        cmocka_unit_test_setup_teardown(a_public_peer_is_published_to_in_its_own_words, begin,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(a_public_peer_is_told_the_end_of_all_wildcards, begin,
                                        end_anyhow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
