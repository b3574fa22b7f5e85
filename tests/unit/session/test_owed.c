/* SPDX-License-Identifier: Apache-2.0 */
/* How many streams have not answered, and for how long. */
#include "session/owed.h"

#include "one_peer.h"

static uint64_t
value_of(udpai_metric metric)
{
    return udpai_meters_get(udpai_hub_meters(hub.hub), metric, (udpai_str){0})->values[0];
}

static void
expect(uint64_t n_streams, uint64_t oldest_s)
{
    assert_int_equal(value_of(UDPAI_METRIC_UNANSWERED_STREAMS), n_streams);
    assert_int_equal(value_of(UDPAI_METRIC_OLDEST_UNANSWERED), oldest_s);
}

static void
change(test_peer *to, const char *change, const char *sent)
{
    session_change(&hub, change);
    peer_expect(to, sent);
}

static void
a_stream_counts_while_it_owes_an_answer(void **state)
{
    (void)state;
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C !}");
    expect(0, 0);
    change(&peer, "+C:com.acme/a=1", "publish{C C:com.acme/a=1 ?}");
    expect(1, 0);
    fake_hub_advance(&hub, 1000);
    expect(1, 1);
    for (int i = 0; i < 4; i++)
        fake_hub_advance(&hub, 1000);
    expect(1, 5);
    peer_receipt(&peer, "");
    assert_int_equal(value_of(UDPAI_METRIC_UNANSWERED_STREAMS), 0);
    fake_hub_advance(&hub, 1000);
    expect(0, 0);
    assert_int_equal(udpai_wheel_next(&hub.wheel), UDPAI_WHEEL_NEVER); /* nothing is woken for it */
}

/* One that always owes something, and answers it soon, is not slow. */
static void
each_answer_has_its_own_time(void **state)
{
    (void)state;
    char before[sizeof(peer.nonce)], last[sizeof(peer.nonce)];
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C !}");
    change(&peer, "+C:com.acme/a=1", "publish{C C:com.acme/a=1 ?}");
    memcpy(before, peer.nonce, sizeof(before));
    fake_hub_advance(&hub, 1000);
    change(&peer, "+C:com.acme/a=2", "publish{C C:com.acme/a=2 ?}");
    fake_hub_advance(&hub, 1000);
    expect(1, 2);
    memcpy(last, peer.nonce, sizeof(last));
    memcpy(peer.nonce, before, sizeof(before));
    peer_receipt(&peer, "");
    memcpy(peer.nonce, last, sizeof(last));
    fake_hub_advance(&hub, 1000);
    expect(1, 2);             /* the second one waits since then */
    peer_receipt(&peer, "9"); /* a rejection is an answer */
    fake_hub_advance(&hub, 1000);
    expect(0, 0);
}

static void
who_has_gone_owes_nothing(void **state)
{
    (void)state;
    test_peer other;
    peer_open(&other, &hub, PEER_ENDPOINT);
    peer_subscribe(&other, "C", "", "''");
    peer_expect(&other, "publish{C !}");
    change(&other, "+C:com.acme/a=1", "publish{C C:com.acme/a=1 ?}");
    expect(1, 0);
    peer_close(&other);
    fake_hub_advance(&hub, 1000);
    expect(0, 0);
}

static void
nodes_owe_nothing(void **state)
{
    (void)state;
    test_peer node;
    peer_open(&node, &hub, PEER_NODE);
    peer_subscribe(&node, "C", "", "''");
    peer_expect(&node, "publish{C !}");
    change(&node, "+C:com.acme/a=1", "publish{C C:com.acme/a=1}");
    expect(0, 0);
    peer_close(&node);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end_anyhow)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stream_counts_while_it_owes_an_answer),
        TEST(each_answer_has_its_own_time),
        TEST(who_has_gone_owes_nothing),
        TEST(nodes_owe_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
