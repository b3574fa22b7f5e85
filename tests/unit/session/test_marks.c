/* SPDX-License-Identifier: Apache-2.0 */
/* When a change counts as acknowledged by all: of peers that speak UDPA. That of each client is
 * tested by xds/test_ack_status_model.c. */
#include "session/marks.h"

#include <stdio.h>

#include "one_peer.h"

static uint64_t last_mark;

/* Changes it, with a mark, whose number is returned. */
static uint64_t
change(const char *what)
{
    hub.mark = ++last_mark;
    session_change(&hub, what);
    return last_mark;
}

/* Asserts that the oldest report is of this mark. */
static udpai_mark_outcome
outcome_of(uint64_t number, uint64_t *ret_took_ms)
{
    udpai_report *report = session_take(&hub, UDPAI_REPORT_MARK);
    assert_int_equal(report->ticket, number);
    udpai_mark_outcome outcome = report->outcome;
    *ret_took_ms = report->took_ms;
    udpai_report_free(report);
    return outcome;
}

static void
expect_none(uint64_t ms)
{
    fake_hub_advance(&hub, ms);
    session_expect_no(&hub, UDPAI_REPORT_MARK);
}

static void
expect(uint64_t number, udpai_mark_outcome outcome, uint64_t took_ms)
{
    uint64_t took;
    assert_int_equal(outcome_of(number, &took), outcome);
    assert_int_equal(took, took_ms);
}

static void
subscribe(test_peer *to, const char *names)
{
    peer_subscribe(to, "C", "", names);
    peer_expect(to, "publish{C !}");
}

static void
nobody_is_waited_for_who_does_not_subscribe(void **state)
{
    (void)state;
    peer_subscribe(&peer, "E", "", "''");
    peer_expect(&peer, "publish{E !}");
    expect(change("+C:com.acme/a=1"), UDPAI_MARK_UNSUBSCRIBED, 0);
}

/* It is seen when it is looked at. */
static void
one_is_waited_for(void **state)
{
    (void)state;
    subscribe(&peer, "''");
    uint64_t mark = change("+C:com.acme/a=1");
    expect_none(1);
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?}");
    expect_none(1);
    peer_receipt(&peer, "");
    session_expect_no(&hub, UDPAI_REPORT_MARK);
    fake_hub_advance(&hub, 3);
    expect(mark, UDPAI_MARK_ACKNOWLEDGED, 5);
    expect_none(UDPAI_MARK_PATIENCE_MS);
}

static void
the_last_one_counts(void **state)
{
    (void)state;
    test_peer other;
    peer_open(&other, &hub, PEER_ENDPOINT);
    subscribe(&peer, "''");
    peer_subscribe(&other, "C", "", "com.acme/a");
    peer_expect(&other, "publish{C -com.acme/a ?} publish{C !}");
    uint64_t mark = change("+C:com.acme/a=1");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?}");
    peer_expect(&other, "publish{C C:com.acme/a=1 ?}");
    peer_receipt(&peer, "");
    expect_none(50);
    peer_receipt(&other, "");
    fake_hub_advance(&hub, 50);
    expect(mark, UDPAI_MARK_ACKNOWLEDGED, 100);
    peer_close(&other);
}

/* Of a trace, it has the name of that one. */
static void
the_last_one_is_named(void **state)
{
    (void)state;
    test_peer other;
    peer_open_silent(&other, &hub, PEER_ENDPOINT, NULL);
    peer_expect(&other, "node{node}");
    peer_send_node(&other, "slow");
    session_drop(&hub, UDPAI_REPORT_NODE);
    subscribe(&peer, "''");
    subscribe(&other, "''");
    hub.trace = (udpai_trace){{1}, {1}, true};
    (void)change("+C:com.acme/a=1");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ^00-01 ?}");
    peer_expect(&other, "publish{C C:com.acme/a=1 ^00-01 ?}");
    peer_receipt(&peer, "");
    expect_none(50);
    peer_receipt(&other, "");
    fake_hub_advance(&hub, 50);
    udpai_report *report = session_take(&hub, UDPAI_REPORT_MARK);
    assert_str(udpai_bytes_view(report->address), "slow");
    udpai_report_free(report);
    hub.trace = (udpai_trace){{1}, {1}, true};
    (void)change("+C:com.acme/a=2");
    peer_expect(&peer, "publish{C C:com.acme/a=2 ^00-01 ?}");
    peer_expect(&other, "publish{C C:com.acme/a=2 ^00-01 ?}");
    peer_receipt(&peer, "");
    expect_none(7000);
    peer_receipt(&other, "");
    fake_hub_advance(&hub, 250); /* what is only counted is looked at after 15 s */
    report = session_take(&hub, UDPAI_REPORT_MARK);
    assert_true(report->took_ms >= 7000 && report->took_ms <= 7250);
    udpai_report_free(report);
    peer_close(&other);
}

/* It is sent all as it comes, and need not wait for the change. */
static void
who_comes_later_has_no_say(void **state)
{
    (void)state;
    test_peer late;
    subscribe(&peer, "''");
    uint64_t mark = change("+C:com.acme/a=1");
    peer_open(&late, &hub, PEER_ENDPOINT);
    peer_subscribe(&late, "C", "", "''");
    peer_expect(&late, "publish{C C:com.acme/a=1 ?} publish{C !}");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?}");
    peer_receipt(&peer, "");
    fake_hub_advance(&hub, 1);
    expect(mark, UDPAI_MARK_ACKNOWLEDGED, 1);
    peer_close(&late);
}

static void
nodes_have_no_say(void **state)
{
    (void)state;
    test_peer node;
    peer_open(&node, &hub, PEER_NODE);
    peer_subscribe(&node, "C", "", "''");
    peer_expect(&node, "publish{C !}");
    expect(change("+C:com.acme/a=1"), UDPAI_MARK_UNSUBSCRIBED, 0);
    peer_expect(&node, "publish{C C:com.acme/a=1}");
    peer_close(&node);
}

static void
a_rejection_ends_the_wait(void **state)
{
    (void)state;
    subscribe(&peer, "''");
    uint64_t mark = change("+C:com.acme/a=1");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?}");
    peer_receipt(&peer, "9");
    fake_hub_advance(&hub, 1);
    expect(mark, UDPAI_MARK_NACKED, 1);
}

static void
who_goes_is_not_waited_for(void **state)
{
    (void)state;
    test_peer other;
    peer_open(&other, &hub, PEER_ENDPOINT);
    subscribe(&other, "''");
    uint64_t mark = change("+C:com.acme/a=1");
    peer_expect(&other, "publish{C C:com.acme/a=1 ?}");
    peer_close(&other);
    fake_hub_advance(&hub, 1);
    expect(mark, UDPAI_MARK_GONE, 1);
    peer_subscribe(&peer, "C", "", "com.acme/b");
    peer_expect(&peer, "publish{C -com.acme/b ?} publish{C !}");
    mark = change("+C:com.acme/b=1");
    peer_expect(&peer, "publish{C C:com.acme/b=1 ?}");
    peer_unsubscribe(&peer, "C", "", "com.acme/b");
    fake_hub_advance(&hub, 1);
    expect(mark, UDPAI_MARK_GONE, 1);
}

static void
patience_has_an_end(void **state)
{
    (void)state;
    subscribe(&peer, "''");
    uint64_t mark = change("+C:com.acme/a=1");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?}");
    expect_none(UDPAI_MARK_PATIENCE_MS - 1);
    fake_hub_advance(&hub, 1);
    expect(mark, UDPAI_MARK_OPEN, UDPAI_MARK_PATIENCE_MS);
    expect_none(UDPAI_MARK_PATIENCE_MS);
}

static void
a_removal_is_a_change(void **state)
{
    (void)state;
    session_change(&hub, "+C:com.acme/a=1");
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{C !}");
    uint64_t mark = change("-C:com.acme/a");
    expect_none(10);
    peer_expect(&peer, "publish{C -com.acme/a ?}");
    expect_none(15);
    peer_receipt(&peer, "");
    fake_hub_advance(&hub, 25);
    expect(mark, UDPAI_MARK_ACKNOWLEDGED, 50);
}

static void
answer(test_peer *to, const char *nonce)
{
    char last[sizeof(to->nonce)];
    memcpy(last, to->nonce, sizeof(last));
    memcpy(to->nonce, nonce, sizeof(last));
    peer_receipt(to, "");
    memcpy(to->nonce, last, sizeof(last));
}

/* Something newer does, however often it changes: no moment comes at which all is answered. */
static void
expect_though_it_changes(const char *names, const char *first)
{
    char text[64], before[sizeof(peer.nonce)];
    uint64_t mark = 0;
    peer_subscribe(&peer, "C", "", names);
    peer_expect(&peer, first);
    for (int i = 1; i < 20; i++) {
        snprintf(text, sizeof(text), "+C:com.acme/a=%d", i);
        if (i == 10)
            mark = change(text);
        else
            session_change(&hub, text);
        memcpy(before, peer.nonce, sizeof(before));
        snprintf(text, sizeof(text), "publish{C C:com.acme/a=%d ?}", i);
        peer_expect(&peer, text);
        if (i > 1)
            answer(&peer, before);
        fake_hub_advance(&hub, 1);
        if (i == 10)
            session_expect_no(&hub, UDPAI_REPORT_MARK);
    }
    expect(mark, UDPAI_MARK_ACKNOWLEDGED, 2);
}

static void
what_changes_all_the_time_is_acknowledged(void **state)
{
    (void)state;
    expect_though_it_changes("''", "publish{C !}");
}

static void
so_is_what_is_asked_for_by_name(void **state)
{
    (void)state;
    expect_though_it_changes("com.acme/a", "publish{C -com.acme/a ?} publish{C !}");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end_anyhow)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nobody_is_waited_for_who_does_not_subscribe),
        TEST(one_is_waited_for),
        TEST(the_last_one_counts),
        TEST(the_last_one_is_named),
        TEST(who_comes_later_has_no_say),
        TEST(nodes_have_no_say),
        TEST(a_rejection_ends_the_wait),
        TEST(who_goes_is_not_waited_for),
        TEST(patience_has_an_end),
        TEST(a_removal_is_a_change),
        TEST(what_changes_all_the_time_is_acknowledged),
        TEST(so_is_what_is_asked_for_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
