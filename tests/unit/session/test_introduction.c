/* SPDX-License-Identifier: Apache-2.0 */
/* What streams announce of this node's store. */
#include "one_peer.h"

static udpai_order *
epoch_order(const char *epoch, uint64_t commit)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_EPOCH);
    assert_non_null(order);
    assert_ok(udpa_bytes_new(&order->epoch, epoch, strlen(epoch)));
    order->commit = commit;
    return order;
}

/* Does this node say so of itself now? */
static bool
introduction_has(const char *epoch, const char *commit)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *message = udpai_hub_introduce(hub.hub);
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
    whole->is_wanted = true;
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_epoch_of_the_store_is_announced, begin_alone,
                                        end_anyhow),
        cmocka_unit_test_setup_teardown(subscribers_are_told_how_far_the_store_has_come,
                                        begin_alone, end_anyhow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
