/* SPDX-License-Identifier: Apache-2.0 */
/* A replica that may not have all that etcd has does not know of a name that it is not there. */
#include "tests/unit/federation/replicated_bed.h"

#define URL UDPAI_STR(TEST_CDS)

static bool
knows(fed_bed *bed, const char *name)
{
    flush(bed);
    return udpai_settled_knows_absence(udpai_node_settled(bed->node), URL, udpai_str_from(name));
}

/* It is current, and a barrier was not passed in time, or one was again. */
static void
tell_late(fed_bed *bed, bool is_late)
{
    udpai_replicated *event = new_event(UDPAI_REPLICATED_STATE);
    event->state = UDPAI_REPLICATION_CURRENT;
    event->is_uncertain = is_late;
    udpai_node_replicated(bed->node, event);
}

/* All that it has can be sent as all. */
static bool
is_served(fed_bed *bed)
{
    return fed_settled(bed, "CDS", "com.acme") && fed_name_settled(bed, "CDS", "x");
}

static void
while_it_is_not_current_absence_is_not_known(void **state)
{
    static const udpai_replication_state others[] = {
        UDPAI_REPLICATION_BEHIND,
        UDPAI_REPLICATION_HELD,
        UDPAI_REPLICATION_STARTING,
    };
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    others_put(bed, ALICE, "com.acme/x", "1", 1);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++) {
        tell_state(bed, UDPAI_REPLICATION_CURRENT);
        assert_true(knows(bed, "com.acme/y") && is_served(bed));
        tell_state(bed, others[i]);
        assert_false(knows(bed, "com.acme/y"));
        assert_true(is_served(bed));
        assert_true(knows(bed, "udpa.node/y")); /* that is its own */
    }
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    assert_true(knows(bed, "com.acme/y"));
}

static void
one_that_starts_with_its_copy_does_not_know_it(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    others_put(bed, ALICE, "com.acme/x", "1", 1);
    restart(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_false(knows(bed, "com.acme/y"));
    assert_true(is_served(bed));
    tell_change(bed, new_batch(), true);
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    assert_true(knows(bed, "com.acme/y"));
}

static void
while_no_barrier_passes_it_is_not_known(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    tell_late(bed, true);
    assert_false(knows(bed, "com.acme/y"));
    assert_true(is_served(bed));
    tell_late(bed, false);
    assert_true(knows(bed, "com.acme/y"));
}

/* ---- in which order the stream side is sent that ---- */

static char sent[16]; /* k: absence is known, u: it is not, b: a barrier has passed */
static udpai_report *unanswered;

static void
take_order(void *userdata, udpai_order *order)
{
    size_t len = strlen(sent);
    (void)userdata;
    assert_true(len + 1 < sizeof(sent));
    if (order->kind == UDPAI_ORDER_SETTLED) {
        bool is_known = udpai_settled_knows_absence(order->settled, URL, UDPAI_STR("com.acme/y"));
        assert_null(unanswered);
        unanswered = UDPAI_TAKE(order->answer);
        sent[len] = is_known ? 'k' : 'u';
    } else if (order->kind == UDPAI_ORDER_BARRIER) {
        sent[len] = 'b';
    }
    udpai_order_free(order);
}

static void
answer(fed_bed *bed)
{
    udpai_node_report(bed->node, UDPAI_TAKE(unanswered));
    udpai_node_flush(bed->node);
}

static void
ask_barrier(fed_bed *bed)
{
    udpai_report *report = udpai_report_new(UDPAI_REPORT_BARRIER);
    assert_non_null(report);
    udpai_node_report(bed->node, report);
    udpai_node_flush(bed->node);
}

/* Also while the stream side is busy with what was known before. */
static void
what_is_not_known_is_sent_before_a_barrier_passes(void **state)
{
    fed_bed *bed = *state;
    const udpai_node_env env = {
        .order = take_order,
        .commit = on_commit,
        .propose = on_propose, /* without barriers: each passes at once */
        .wall_us = wall_us,
        .random = on_random,
        .userdata = bed,
    };
    sent[0] = '\0';
    bed->config.set_id = UDPAI_STR("the-set");
    assert_ok(udpai_node_new(&bed->node, &bed->wheel, &bed->config, &env, NULL));
    udpai_node_start(bed->node);
    udpai_node_flush(bed->node);
    answer(bed);
    ask_barrier(bed);
    assert_string_equal(sent, "ub");
    tell_change(bed, new_batch(), true);
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    ask_barrier(bed);
    assert_string_equal(sent, "ubkb");
    tell_state(bed, UDPAI_REPLICATION_BEHIND);
    ask_barrier(bed);
    assert_string_equal(sent, "ubkb");
    answer(bed);
    assert_string_equal(sent, "ubkbub");
    answer(bed);
}

static void
barriers_that_are_given_up_are_counted(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    for (int i = 0; i < 3; i++) {
        udpai_replicated *event = new_event(UDPAI_REPLICATED_BARRIER);
        event->ticket = (uint64_t)i + 1;
        event->is_current = i == 1;
        udpai_node_replicated(bed->node, event);
    }
    flush(bed);
    assert_int_equal(udpai_node_replica_status(bed->node)->n_given_up, 2);
}

static void
a_single_node_knows_it(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    assert_true(
        udpai_settled_knows_absence(udpai_node_settled(bed->node), URL, UDPAI_STR("com.acme/y")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        replicated_test(while_it_is_not_current_absence_is_not_known),
        replicated_test(one_that_starts_with_its_copy_does_not_know_it),
        replicated_test(while_no_barrier_passes_it_is_not_known),
        replicated_test(what_is_not_known_is_sent_before_a_barrier_passes),
        replicated_test(barriers_that_are_given_up_are_counted),
        fed_test(a_single_node_knows_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
