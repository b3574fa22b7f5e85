/* SPDX-License-Identifier: Apache-2.0 */
/* What streams announce of this node's store. */
#include "one_peer.h"

static udpai_order *
epoch_order(const char *epoch, uint64_t commit)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_EPOCH);
    assert_non_null(order);
    assert_ok(udpa_bytes_new(&order->announced, epoch, strlen(epoch)));
    order->commit = commit;
    return order;
}

/* Does this node say so of itself now? */
static bool
introduction_has(const char *epoch, const char *commit)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *message = udpai_hub_introduce(hub.hub, false);
    assert_non_null(message);
    const void *data = udpa_bytes_data(message);
    size_t size = udpa_bytes_size(message);
    return memmem(data, size, epoch, strlen(epoch)) && memmem(data, size, commit, strlen(commit));
}

/* A stream that was there before it was known, too, unless its peer knows the paper alone. */
static void
the_epoch_of_the_store_is_announced(void **state)
{
    (void)state;
    test_peer paper = {0};
    peer_open(&peer, &hub, PEER_NODE);
    peer_open(&paper, &hub, PEER_PAPER);
    assert_false(introduction_has("udpa.epoch", ""));
    udpai_hub_order(hub.hub, epoch_order("e-p-o-c-h", 4711));
    peer_expect(&peer, "node{node}");
    peer_expect(&paper, "");
    assert_true(introduction_has("udpa.epoch", "udpa.commit"));
    assert_true(introduction_has("e-p-o-c-h", "4711"));
    udpai_order *later = udpai_order_new(UDPAI_ORDER_FORGET);
    assert_non_null(later);
    later->commit = 4712;
    udpai_hub_order(hub.hub, later);
    assert_true(introduction_has("e-p-o-c-h", "4712"));
    peer_expect(&peer, "");
    assert_false(introduction_has("udpa.whole", "true"));
    udpai_order *whole = epoch_order("accepted", 4713);
    whole->is_set = true;
    udpai_hub_order(hub.hub, whole);
    peer_expect(&peer, "node{node}");
    assert_true(introduction_has("udpa.whole", "true"));
    peer_close(&paper);
    peer_close(&peer);
}

static void
order_commit(uint64_t commit)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_COMMIT);
    assert_non_null(order);
    order->commit = commit;
    udpai_hub_order(hub.hub, order);
}

/* Whoever is sent something learns how far the store has come that it is of; once, if it does not
 * read meanwhile. */
static void
subscribers_are_told_how_far_the_store_has_come(void **state)
{
    (void)state;
    test_peer paper = {0}, idle = {0};
    peer_open(&peer, &hub, PEER_NODE);
    peer_open(&idle, &hub, PEER_NODE);
    peer_open(&paper, &hub, PEER_PAPER);
    udpai_hub_order(hub.hub, epoch_order("e-p-o-c-h", 4711));
    peer_subscribe(&peer, "C", "", "''");
    peer_subscribe(&paper, "C", "", "''");
    peer_expect(&paper, "");
    peer_expect(&peer, "node{node} publish{C !}");
    peer_expect(&idle, "node{node}");
    order_commit(4712);
    order_commit(4713);
    peer_expect(&peer, "publish{ #4713}");
    peer_expect(&paper, "");
    peer_expect(&idle, "");
    peer_close(&idle);
    peer_close(&paper);
    peer_close(&peer);
}

/* ---- nodes that have one id ---- */

static void
order_twins(const char *text)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_TWINS);
    assert_non_null(order);
    if (text)
        assert_ok(udpa_bytes_new(&order->announced, text, strlen(text)));
    udpai_hub_order(hub.hub, order);
}

static bool
source_is_told(const char *text, bool is_source)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *message = udpai_hub_introduce(hub.hub, is_source);
    assert_non_null(message);
    return memmem(udpa_bytes_data(message), udpa_bytes_size(message), text, strlen(text));
}

/* Those above; those below would have it go round. */
static void
sources_alone_are_told_of_twins(void **state)
{
    (void)state;
    test_peer source = {0}, paper = {0};
    peer_open(&peer, &hub, PEER_NODE);
    peer_open_dialled(&source, &hub, PEER_NODE, true);
    peer_open_dialled(&paper, &hub, PEER_PAPER, true);
    order_twins("a 1 2 0\n");
    peer_expect(&source, "node{node}");
    peer_expect(&peer, "");
    peer_expect(&paper, "");
    assert_true(source_is_told("udpa.twins", true) && source_is_told("a 1 2 0\n", true));
    assert_false(source_is_told("udpa.twins", false));
    order_twins(NULL);
    peer_expect(&source, "node{node}");
    assert_false(source_is_told("udpa.twins", true));
    peer_close(&paper);
    peer_close(&source);
    peer_close(&peer);
}

/* A source that has dialled us is told once it is known as one. */
static void
who_turns_out_to_be_a_source_is_told_of_twins(void **state)
{
    (void)state;
    test_peer other = {0};
    order_twins("a 1 2 0\n");
    peer_open(&peer, &hub, PEER_NODE);
    peer_open(&other, &hub, PEER_NODE);
    for (int is_source = 0; is_source < 2; is_source++) {
        test_peer *who = is_source ? &peer : &other;
        udpai_order *order = udpai_order_new(UDPAI_ORDER_ATTACH);
        assert_non_null(order);
        order->session = peer_session(who);
        order->link = 5 + (uint64_t)is_source;
        order->is_source = is_source;
        udpai_hub_order(hub.hub, order);
        peer_expect(who, is_source ? "node{node}" : "");
    }
    peer_close(&other);
    peer_close(&peer);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_epoch_of_the_store_is_announced, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(sources_alone_are_told_of_twins, begin_alone, end_anyhow),
        cmocka_unit_test_setup_teardown(who_turns_out_to_be_a_source_is_told_of_twins, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(subscribers_are_told_how_far_the_store_has_come,
                                        begin_alone, end_anyhow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
