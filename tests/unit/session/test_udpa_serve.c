/* SPDX-License-Identifier: Apache-2.0 */
/* The peer as a subscriber: what it may ask for, what it is answered, what becomes of its receipts.
 */
#include "one_peer.h"

#include <stdio.h>

#include "base/alloc.h"
#include "model/links.h"
#include "model/name.h"
#include "session/udpa_internal.h"

/* ---- subscribing ---- */

static void
the_wildcard_brings_all_then_complete(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1 +C:com.acme/b=1 +E:com.acme/a=1");
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C C:com.acme/a=1 C:com.acme/b=1 ?} publish{C !}");
    session_change(&hub, "+C:com.acme/b=2 -C:com.acme/a");
    peer_expect(&peer, "publish{C C:com.acme/b=2 ?} publish{C -com.acme/a ?}");
}

static void
a_star_is_the_wildcard(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, "C", "", "*");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C !}");
    peer_unsubscribe(&peer, "C", "", "*");
    session_change(&hub, "+C:com.acme/a=2");
    peer_expect(&peer, "");
}

static void
a_namespace_bounds_the_wildcard(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1 +C:com.acmecorp/a=1 +C:com.acme.foo/a=1");
    peer_subscribe(&peer, "C", "com.acme", "''");
    peer_expect(&peer, "publish{C C:com.acme/a=1 C:com.acme.foo/a=1 ?} publish{C@com.acme !}");
    session_change(&hub, "+C:com.acmecorp/a=2");
    peer_expect(&peer, "");
}

static void
a_name_is_answered_by_name(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1 +C:com.acme/b=1");
    peer_subscribe(&peer, "C", "com.acme", "com.acme/a");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C@com.acme !}");
    peer_subscribe(&peer, "C", "", "com.acme/a"); /* again: sent again */
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C !}");
    session_change(&hub, "+C:com.acme/b=2");
    peer_expect(&peer, "");
}

static void
a_missing_name_is_told_and_kept(void **state)
{
    (void)state;
    peer_subscribe(&peer, "C", "", "com.acme/a");
    peer_expect(&peer, "publish{C -com.acme/a ?} publish{C !}");
    session_change(&hub, "+C:com.acme/a=1");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?}");
}

static void
nothing_negative_is_said_of_what_is_not_known(void **state)
{
    (void)state;
    session_settle_except(&hub, "com.acme", false);
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, "C", "", "com.acme/a com.acme/b org.other/c");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C -org.other/c ?}");
    fake_hub_advance(&hub, 3600000); /* time alone makes nothing certain */
    peer_expect(&peer, "");
    session_settle(&hub);
    peer_expect(&peer, "publish{C -com.acme/b ?} publish{C !}");
}

static void
a_subscribe_without_names_changes_nothing(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, "C", "", "");
    peer_expect(&peer, "publish{C !}");
    session_change(&hub, "+C:com.acme/a=2");
    peer_expect(&peer, "");
}

static void
subscriptions_add_up(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1 +C:org.other/b=1 +C:net/c=1");
    peer_subscribe(&peer, "C", "com.acme", "''");
    peer_subscribe(&peer, "C", "", "net/c");
    peer_subscribe(&peer, "C", "org.other", "''");
    peer_expect(&peer, "publish{C C:com.acme/a=1 C:org.other/b=1 ?} publish{C C:net/c=1 ?} "
                       "publish{C@com.acme !} publish{C !} publish{C@org.other !}");
}

static void
unsubscribing_takes_away_what_it_names(void **state)
{
    (void)state;
    peer_subscribe(&peer, "C", "com.acme", "''");
    peer_subscribe(&peer, "C", "org.other", "''");
    peer_subscribe(&peer, "C", "", "net/c net/d");
    peer_expect(&peer, "publish{C -net/c -net/d ?} publish{C@com.acme !} publish{C@org.other !} "
                       "publish{C !}");
    peer_unsubscribe(&peer, "C", "com.acme", "'' net/c");
    peer_unsubscribe(&peer, "C", "", "never/asked");
    peer_unsubscribe(&peer, "E", "", "'' never/asked");
    session_change(&hub, "+C:com.acme/a=1 +C:org.other/b=1 +C:net/c=1 +C:net/d=1");
    peer_expect(&peer, "publish{C C:org.other/b=1 ?} publish{C C:net/d=1 ?}");
    peer_unsubscribe(&peer, "C", "", "''"); /* without a namespace: of all */
    session_change(&hub, "+C:org.other/b=2");
    peer_expect(&peer, "");
}

static void
a_name_dropped_under_the_wildcard_stays_by_it(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, "C", "", "'' com.acme/a");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C !}");
    peer_unsubscribe(&peer, "C", "", "com.acme/a");
    peer_expect(&peer, "");
    session_change(&hub, "+C:com.acme/a=2");
    peer_expect(&peer, "publish{C C:com.acme/a=2 ?}");
}

/* ---- what cannot be asked for ---- */

static void
a_bad_name_is_refused_alone(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, "C", "com.acme", "no-slash com.acme/a org.other/b");
    fake_stream_run(&peer.stream, &hub);
    udpa_bytes *first = fake_stream_take(&peer.stream), *second = fake_stream_take(&peer.stream);
    static const char outside[] = "outside the Subscribe's namespace 'com.acme'";
    assert_non_null(memmem(udpa_bytes_data(first), udpa_bytes_size(first), "no-slash", 8));
    assert_non_null(
        memmem(udpa_bytes_data(second), udpa_bytes_size(second), outside, sizeof(outside) - 1));
    udpa_bytes_unref(first);
    udpa_bytes_unref(second);
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C@com.acme !}");
}

static void
expect_refused_whole(const char *type, const char *name_space, const char *begin_of_error)
{
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, type, name_space, "com.acme/a ''");
    fake_stream_run(&peer.stream, &hub);
    udpa_bytes *bytes = peer_take_raw(&peer);
    assert_non_null(memmem(udpa_bytes_data(bytes), udpa_bytes_size(bytes), begin_of_error,
                           strlen(begin_of_error)));
    assert_int_equal(*(const uint8_t *)udpa_bytes_data(bytes), 5 << 3 | 2);
    udpa_bytes_unref(bytes);
    peer_expect(&peer, ""); /* nothing of it is served */
    assert_false(peer.stream.is_finished);
}

static void
a_bad_scope_is_refused_whole(void **state)
{
    (void)state;
    char type[UDPAI_TYPE_URL_MAX + 2];
    memset(type, 'x', sizeof(type));
    type[sizeof(type) - 1] = '\0';
    expect_refused_whole("", "", "needs a type URL");
    expect_refused_whole(type, "", "needs a type URL");
    expect_refused_whole("C", "Not A Namespace", "Not A Namespace");
    peer_subscribe(&peer, "C", "", "com.acme/a");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C !}");
}

static void
names_are_bounded(void **state)
{
    (void)state;
    fake_hub small;
    test_peer other;
    udpai_hub_options options = fake_hub_options();
    options.fanout.max_names = 2;
    session_hub_init_with(&small, &options);
    peer_open(&other, &small, PEER_ENDPOINT);
    peer_subscribe(&other, "C", "", "com.acme/a com.acme/b com.acme/c");
    peer_expect(&other, "error{C com.acme/c 8'this stream has asked for 2 names, which is as "
                        "many as one may (limits.max_names_per_stream); 'com.acme/c' is one more'} "
                        "publish{C -com.acme/a -com.acme/b ?} publish{C !}");
    peer_unsubscribe(&other, "C", "", "com.acme/a");
    peer_subscribe(&other, "C", "", "com.acme/c");
    peer_expect(&other, "publish{C -com.acme/c ?} publish{C !}");
    peer_close(&other);
    fake_hub_done(&small);
}

static size_t
count_errors(test_peer *from)
{
    size_t n = 0;
    udpa_bytes *bytes;
    fake_stream_run(&from->stream, from->hub);
    while ((bytes = fake_stream_take(&from->stream))) {
        n += *(const uint8_t *)udpa_bytes_data(bytes) == (5 << 3 | 2);
        udpa_bytes_unref(bytes);
    }
    return n;
}

/* A node that asks for far more names than it may, as many at once as ours do, is refused what is
 * too much, and served the rest: a stream that ends would begin anew with the same names. */
static void
a_surplus_of_names_does_not_end_the_stream(void **state)
{
    (void)state;
    fake_hub small;
    test_peer other;
    char name[32];
    udpai_hub_options options = fake_hub_options();
    options.fanout.max_names = 2;
    session_hub_init_with(&small, &options);
    peer_open(&other, &small, PEER_NODE);
    session_change(&small, "+C:com.acme/0=1");
    char *room = wire_room(8000 * sizeof(name));
    udpai_proto_writer names = {(uint8_t *)room, 0};
    for (int i = 0; i < 8000; i++) {
        snprintf(name, sizeof(name), "com.acme/%d", i);
        udpai_proto_put_bytes(&names, 2, udpai_str_from(name));
    }
    peer_send(&other, W_MESSAGE(1, W_TEXT(1, TEST_CDS), (udpai_str){room, names.size}));
    assert_false(other.stream.is_finished);
    assert_int_equal(count_errors(&other),
                     (8000 - 2 + UDPAI_ECHOED_NAMES - 1) / UDPAI_ECHOED_NAMES);
    session_change(&small, "+C:com.acme/0=2");
    peer_expect(&other, "publish{C C:com.acme/0=2}");
    peer_close(&other);
    fake_hub_done(&small);
}

static void
types_are_bounded(void **state)
{
    (void)state;
    char type[32];
    for (int i = 0; i < 1024; i++) {
        snprintf(type, sizeof(type), "t/%d", i);
        peer_unsubscribe(&peer, type, "", "''");
        peer_subscribe(&peer, type, "", "");
    }
    fake_stream_run(&peer.stream, &hub);
    for (int i = 0; i < 1024; i++)
        udpa_bytes_unref(peer_take_raw(&peer));
    peer_subscribe(&peer, "t/one-more", "", "''");
    peer_expect(&peer, "error{t/one-more 8'a stream has at most 1024 types'}");
    peer_subscribe(&peer, "t/7", "", "");
    peer_expect(&peer, "publish{t/7 !}");
}

/* A stream may ask for many namespaces, not for any number. */
static void
wildcards_are_bounded(void **state)
{
    (void)state;
    char name_space[32];
    size_t n = 0;
    peer_subscribe(&peer, "C", "", "''");
    for (; n < 5000; n++) {
        snprintf(name_space, sizeof(name_space), "ns-%zu", n);
        peer_subscribe(&peer, "C", name_space, "''");
        fake_stream_run(&peer.stream, &hub);
        udpa_bytes *last = NULL, *bytes;
        bool refused = false;
        while ((bytes = fake_stream_take(&peer.stream))) {
            udpa_bytes_unref(last);
            last = bytes;
            refused |= *(const uint8_t *)udpa_bytes_data(bytes) == (5 << 3 | 2);
        }
        udpa_bytes_unref(last);
        if (refused)
            break;
    }
    assert_in_range(n, 100, 4999);
    assert_false(peer.stream.is_finished);
}

/* Who asks again and again for what is not known, costs no more than so much. */
static void
unanswered_subscribes_are_bounded(void **state)
{
    (void)state;
    session_settle_except(&hub, "", false);
    unsigned long before = udpai_alloc_live();
    for (int i = 0; i < 1000000 && !peer.stream.is_finished; i++)
        peer_subscribe(&peer, "C", "", "com.acme/a com.acme/b com.acme/c com.acme/d");
    peer_expect_end(&peer, UDPA_ERR_LIMIT, "limit");
    assert_true(udpai_alloc_live() - before < 1000000);
}

/* Nor with the longest names. */
static void
unanswered_names_are_bounded(void **state)
{
    (void)state;
    char name[UDPAI_NAME_MAX + 1];
    memset(name, 'x', UDPAI_NAME_MAX);
    memcpy(name, "com.acme/", 9);
    name[UDPAI_NAME_MAX] = '\0';
    session_settle_except(&hub, "", false);
    int n = 0;
    for (; n < 100 && !peer.stream.is_finished; n++) {
        udpai_str names = W_TEXT(2, name);
        for (int i = 0; i < 10; i++)
            names = W_JOIN(names, names);
        peer_send(&peer, W_MESSAGE(1, W_TEXT(1, TEST_CDS), names));
        udpai_hub_run(hub.hub);
    }
    assert_in_range(n, 10, 80);
    peer_expect_end(&peer, UDPA_ERR_LIMIT, "limit");
}

/* ---- complete ---- */

static void
completes_come_in_order(void **state)
{
    (void)state;
    session_settle_except(&hub, "com.acme", false);
    peer_subscribe(&peer, "C", "com.acme", "''");
    peer_subscribe(&peer, "C", "org.other", "''");
    peer_subscribe(&peer, "E", "org.other", "''");
    peer_expect(&peer, "publish{E@org.other !}"); /* of its type, the first comes first */
    session_settle(&hub);
    peer_expect(&peer, "publish{C@com.acme !} publish{C@org.other !}");
}

static void
complete_of_names_does_not_wait_for_others(void **state)
{
    (void)state;
    session_settle_except(&hub, "com.acme/slow", false);
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, "C", "", "com.acme/a");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C !}");
    peer_subscribe(&peer, "C", "", "com.acme/slow/x");
    peer_expect(&peer, "");
    session_settle(&hub);
    peer_expect(&peer, "publish{C -com.acme/slow/x ?} publish{C !}");
}

static void
complete_does_not_wait_for_what_was_refused(void **state)
{
    (void)state;
    session_settle_except(&hub, "com.acme", false);
    peer_subscribe(&peer, "C", "org.other", "com.acme/a");
    peer_expect(&peer, "error{C@org.other com.acme/a 3'name 'com.acme/a' lies outside the "
                       "Subscribe's namespace 'org.other''} publish{C@org.other !}");
}

static void
a_ring_is_waited_out(void **state)
{
    (void)state;
    session_settle_except(&hub, "", true);
    peer_subscribe(&peer, "C", "", "com.acme/a");
    peer_expect(&peer, "");
    fake_hub_advance(&hub, 19999);
    peer_expect(&peer, "");
    fake_hub_advance(&hub, 2);
    peer_expect(&peer, "publish{C -com.acme/a ?} publish{C !}");
}

static void
complete_comes_behind_what_there_was(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1 +E:com.acme/a=1 -C:com.acme/gone");
    peer_subscribe(&peer, "E", "", "''");
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{E E:com.acme/a=1 ?} publish{C !} "
                       "publish{E !}");
}

/* ---- receipts ---- */

static udpai_sent *
sent_of(const char *type)
{
    udpai_udpa *udpa = udpai_udpa_of(peer.stream.session);
    udpai_subscription *subscription =
        udpai_subscriber_find(&udpa->subscriber, udpai_str_from(session_type_url(type)));
    assert_non_null(subscription);
    return udpai_subscription_userdata(subscription);
}

static void
what_is_accepted_and_refused_is_counted(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1 +C:com.acme/b=1 +C:com.acme/c=1");
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C C:com.acme/a=1 C:com.acme/b=1 C:com.acme/c=1 ?} publish{C !}");
    snprintf(peer.nonce, sizeof(peer.nonce), "000000000001");
    peer_receipt(&peer, "0 3 0");
    udpai_sent *sent = sent_of("C");
    assert_int_equal(sent->n_resources, 3);
    assert_int_equal(sent->n_acknowledged, 2);
    assert_int_equal(sent->n_refused, 1);
    assert_int_equal(sent->refusals.last.n, 1);
    assert_str(sent->refusals.last.items[0]->name, "com.acme/b");
    assert_string_equal(udpa_error_message(sent->last_error), "bad");
    peer_expect(&peer, ""); /* it is not sent again until it changes */
    session_change(&hub, "+C:com.acme/b=2");
    peer_expect(&peer, "publish{C C:com.acme/b=2 ?}");
    peer_receipt(&peer, "");
    assert_int_equal(sent->n_acknowledged, 3);
    peer_receipt(&peer, ""); /* it was receipted: the second one is of nothing */
    assert_int_equal(sent->n_acknowledged, 3);
}

static void
a_nonce_that_is_not_known_is_ignored(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C !}");
    static const char *const nonces[] = {"", "x", "00000000000A", "ffffffffffff", "000000000002"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(nonces); i++) {
        snprintf(peer.nonce, sizeof(peer.nonce), "%s", nonces[i]);
        peer_receipt(&peer, "3");
        assert_int_equal(sent_of("C")->n_refused, 0);
        assert_false(peer.stream.is_finished);
    }
    assert_int_equal(udpai_udpa_of(peer.stream.session)->n_in_flight, 1);
}

/* A peer that never receipts what it should. */
static void
what_is_in_flight_is_bounded(void **state)
{
    (void)state;
    char change[64];
    peer_subscribe(&peer, "C", "", "''");
    for (int i = 0; i < UDPAI_IN_FLIGHT_MAX + 50; i++) {
        snprintf(change, sizeof(change), "+C:com.acme/a=%d", i);
        session_change(&hub, change);
        udpa_bytes_unref(peer_take_raw(&peer));
        udpa_bytes *bytes;
        while ((bytes = fake_stream_take(&peer.stream)))
            udpa_bytes_unref(bytes);
    }
    assert_int_equal(udpai_udpa_of(peer.stream.session)->n_in_flight, UDPAI_IN_FLIGHT_MAX);
}

static void
change_and_ignore(int from, int to)
{
    for (int i = from; i < to; i++) {
        char change[64], expected[64];
        snprintf(change, sizeof(change), "+C:com.acme/a=%d +C:com.acme/b=%d", i, i);
        snprintf(expected, sizeof(expected), "publish{C C:com.acme/a=%d C:com.acme/b=%d ?}", i, i);
        session_change(&hub, change);
        peer_expect(&peer, expected);
        fake_hub_drop_reports(&hub);
    }
}

/* Names and versions are kept for the receipt, not what was sent: neither its bytes nor the
 * resources. The first ones are kept anyway, for others who want the same. */
static void
what_is_in_flight_is_kept_without_its_bytes(void **state)
{
    (void)state;
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C !}");
    change_and_ignore(0, 100);
    unsigned long before = udpai_alloc_live();
    change_and_ignore(100, 200);
    assert_int_equal(udpai_alloc_live() - before, 100 * 2);
    snprintf(peer.nonce, sizeof(peer.nonce), "%012x", 200); /* one of the last */
    peer_receipt(&peer, "0 9");
    assert_int_equal(sent_of("C")->n_acknowledged, 1);
    assert_int_equal(sent_of("C")->n_refused, 1);
}

/* However much is said of it. */
static void
a_refusal_is_kept_in_short(void **state)
{
    (void)state;
    static char text[100000];
    memset(text, 't', sizeof(text) - 1);
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, "C", "", "com.acme/a");
    peer_expect_one(&peer, "publish{C C:com.acme/a=1 ?}");
    peer_send(&peer,
              W_MESSAGE(4, W_TEXT(1, peer.nonce), W_MESSAGE(2, W_VARINT(1, 3), W_TEXT(2, text))));
    assert_int_equal(strlen(udpa_error_message(sent_of("C")->last_error)), 1024);
    fake_stream_complete(&peer.stream);
    peer_expect(&peer, "publish{C !}");
}

static void
the_last_refusals_are_kept(void **state)
{
    (void)state;
    char change[64], expected[128];
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C !}");
    for (int i = 0; i < UDPAI_REFUSED_KEPT + 5; i++) {
        snprintf(change, sizeof(change), "+C:com.acme/x=%d", i);
        snprintf(expected, sizeof(expected), "publish{C C:com.acme/x=%d ?}", i);
        session_change(&hub, change);
        peer_expect(&peer, expected);
        peer_receipt(&peer, "9");
    }
    const udpai_sent *sent = sent_of("C");
    assert_int_equal(sent->n_refused, UDPAI_REFUSED_KEPT + 5);
    assert_int_equal(sent->refusals.last.n, UDPAI_REFUSED_KEPT);
    assert_str(sent->refusals.last.items[0]->version, "5");
    assert_int_equal(udpa_error_code(sent->refusals.last.items[0]->error), UDPA_ERR_PRECONDITION);
}

static void
management_nodes_are_asked_for_no_receipts(void **state)
{
    (void)state;
    test_peer node;
    peer_open(&node, &hub, PEER_NODE);
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&node, "C", "", "''");
    peer_expect(&node, "publish{C C:com.acme/a=1} publish{C !}");
    assert_int_equal(udpai_udpa_of(node.stream.session)->n_in_flight, 0);
    peer_close(&node);
}

/* ---- what is for some sources ---- */

static void
change_for(uint64_t link, udpai_change_kind kind, const char *name)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource =
        RESOURCE(name, .type = session_type_url("C"), .value = "1", .version = "1");
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *links = udpai_links_new(&link, 1);
    const udpai_change change = {.kind = kind, .resource = resource, .visible_to = links};
    udpai_change_set *set = udpai_change_set_new();
    assert_non_null(links);
    assert_ok(udpai_change_set_add(set, &change));
    fake_hub_apply(&hub, set);
}

static void
a_source_is_shown_what_is_for_it(void **state)
{
    (void)state;
    test_peer source, served; /* by link 7: one of them is no source, but served by dialling it */
    peer_open_dialled(&source, &hub, PEER_ENDPOINT, true);
    peer_open_dialled(&served, &hub, PEER_ENDPOINT, false);
    peer_subscribe(&source, "C", "", "''");
    peer_subscribe(&served, "C", "", "''");
    peer_expect(&source, "publish{C !}");
    peer_expect(&served, "publish{C !}");
    change_for(7, UDPAI_CHANGE_SET, "com.acme/a");
    change_for(8, UDPAI_CHANGE_SET, "com.acme/b");
    peer_expect(&source, "publish{C C:com.acme/a=1 ?}");
    peer_expect(&served, "publish{C C:com.acme/a=1 C:com.acme/b=1 ?}");
    change_for(8, UDPAI_CHANGE_REFRESH, "com.acme/a");
    change_for(7, UDPAI_CHANGE_REFRESH, "com.acme/b");
    peer_expect(&source, "publish{C C:com.acme/b=1 ?} publish{C -com.acme/a ?}");
    peer_expect(&served, "publish{C ~com.acme/a=1 ~com.acme/b=1 ?}");
    peer_close(&source);
    peer_close(&served);
}

static void
one_that_turns_out_to_be_a_source_is_shown_less(void **state)
{
    (void)state;
    peer_subscribe(&peer, "C", "", "''");
    change_for(5, UDPAI_CHANGE_SET, "com.acme/a");
    change_for(8, UDPAI_CHANGE_SET, "com.acme/b");
    peer_expect(&peer, "publish{C C:com.acme/a=1 C:com.acme/b=1 ?} publish{C !}");
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ATTACH);
    assert_non_null(order);
    order->session = peer_session(&peer);
    order->link = 5;
    order->is_source = true;
    udpai_hub_order(hub.hub, order);
    peer_expect(&peer, "publish{C -com.acme/b ?}");
}

static void
without_memory_for_that_its_stream_ends(void **state)
{
    (void)state;
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C !}");
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ATTACH);
    assert_non_null(order);
    order->session = peer_session(&peer);
    order->link = 5;
    order->is_source = true;
    udpai_alloc_fail_after(0);
    udpai_hub_order(hub.hub, order);
    udpai_alloc_fail_after(-1);
    peer_expect_end(&peer, UDPA_ERR_NOMEM, "out of memory");
}

/* ---- too far behind ---- */

static void
a_subscriber_too_far_behind_begins_anew(void **state)
{
    (void)state;
    char change[64];
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C !}");
    session_change(&hub, "+C:com.acme/a=2");
    peer_expect_one(&peer, "publish{C C:com.acme/a=2 ?}"); /* and does not read */
    for (int i = 0; i < 200; i++) {
        snprintf(change, sizeof(change), "+C:com.acme/x%d=1", i);
        session_change(&hub, change);
        *change = '-';
        fake_hub_advance(&hub, 1000); /* what comes within a second goes together */
        session_change(&hub, change);
    }
    fake_stream_complete(&peer.stream);
    peer_expect_one(&peer, "");
    peer_expect_end(&peer, UDPA_ERR_ABORTED, "too far behind");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_wildcard_brings_all_then_complete, begin, end),
        cmocka_unit_test_setup_teardown(a_star_is_the_wildcard, begin, end),
        cmocka_unit_test_setup_teardown(a_namespace_bounds_the_wildcard, begin, end),
        cmocka_unit_test_setup_teardown(a_name_is_answered_by_name, begin, end),
        cmocka_unit_test_setup_teardown(a_missing_name_is_told_and_kept, begin, end),
        cmocka_unit_test_setup_teardown(nothing_negative_is_said_of_what_is_not_known, begin, end),
        cmocka_unit_test_setup_teardown(a_subscribe_without_names_changes_nothing, begin, end),
        cmocka_unit_test_setup_teardown(subscriptions_add_up, begin, end),
        cmocka_unit_test_setup_teardown(unsubscribing_takes_away_what_it_names, begin, end),
        cmocka_unit_test_setup_teardown(a_name_dropped_under_the_wildcard_stays_by_it, begin, end),
        cmocka_unit_test_setup_teardown(a_bad_name_is_refused_alone, begin, end),
        cmocka_unit_test_setup_teardown(a_bad_scope_is_refused_whole, begin, end),
        cmocka_unit_test_setup_teardown(names_are_bounded, begin, end),
        cmocka_unit_test_setup_teardown(a_surplus_of_names_does_not_end_the_stream, begin, end),
        cmocka_unit_test_setup_teardown(types_are_bounded, begin, end),
        cmocka_unit_test_setup_teardown(wildcards_are_bounded, begin, end),
        cmocka_unit_test_setup_teardown(unanswered_subscribes_are_bounded, begin, end),
        cmocka_unit_test_setup_teardown(unanswered_names_are_bounded, begin, end),
        cmocka_unit_test_setup_teardown(complete_does_not_wait_for_what_was_refused, begin, end),
        cmocka_unit_test_setup_teardown(completes_come_in_order, begin, end),
        cmocka_unit_test_setup_teardown(complete_of_names_does_not_wait_for_others, begin, end),
        cmocka_unit_test_setup_teardown(a_ring_is_waited_out, begin, end),
        cmocka_unit_test_setup_teardown(complete_comes_behind_what_there_was, begin, end),
        cmocka_unit_test_setup_teardown(what_is_accepted_and_refused_is_counted, begin, end),
        cmocka_unit_test_setup_teardown(a_nonce_that_is_not_known_is_ignored, begin, end),
        cmocka_unit_test_setup_teardown(what_is_in_flight_is_bounded, begin, end),
        cmocka_unit_test_setup_teardown(a_refusal_is_kept_in_short, begin, end),
        cmocka_unit_test_setup_teardown(what_is_in_flight_is_kept_without_its_bytes, begin, end),
        cmocka_unit_test_setup_teardown(the_last_refusals_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(management_nodes_are_asked_for_no_receipts, begin, end),
        cmocka_unit_test_setup_teardown(a_source_is_shown_what_is_for_it, begin, end),
        cmocka_unit_test_setup_teardown(one_that_turns_out_to_be_a_source_is_shown_less, begin,
                                        end),
        cmocka_unit_test_setup_teardown(without_memory_for_that_its_stream_ends, begin, end),
        cmocka_unit_test_setup_teardown(a_subscriber_too_far_behind_begins_anew, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
