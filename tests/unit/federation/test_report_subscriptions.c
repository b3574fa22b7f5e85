/* SPDX-License-Identifier: Apache-2.0 */
/* Wishes for what clients report, over several nodes: they reach everybody, and they end, also
 * where nodes have dialled each other in a ring. */
#include <stdio.h>

#include "base/alloc.h"
#include "federation/node_internal.h"
#include "federation/reports.h"
#include "tests/harness/node_bed.h"
#include "tests/harness/resources.h"

#define LOAD "type.googleapis.com/udpa.load.v1.ClientLoad"
#define LINGER_MS 1000
#define NODES 18
/* Node i has dialled node j on this session of both of them: i passes on there what j wants. */
#define SESSION(i, j) ((uint64_t)(1 + (i)*NODES + (j)))

typedef struct bed bed;

typedef struct member {
    bed *bed;
    int index;
    udpai_node *node;
    bool is_wanted;
} member;

/* Something that one node has said to another, and that has not come there yet. */
typedef struct wire {
    int to;
    udpai_report *report;
} wire;

struct bed {
    udpai_wheel wheel;
    member members[NODES];
    int n;
    bool is_up[NODES][NODES]; /* the first has dialled the second */
    udpai_str text;           /* what is asked for */
    bool is_plain;            /* all nodes but the first know nothing of distances */
    UDPAI_VECTOR(wire) wires;
    size_t n_waiting;
};

/* ---- what nodes order ---- */

/* To whoever has dialled the node on that session. */
static void
on_order(void *userdata, udpai_order *order)
{
    const member *self = userdata;
    bed *all = self->bed;
    bool is_ask = order->kind == UDPAI_ORDER_SUBSCRIBE || order->kind == UDPAI_ORDER_UNSUBSCRIBE;
    int from = (int)((order->session - 1) / NODES);
    if (is_ask && all->is_up[from][self->index]) {
        udpai_report *report = udpai_report_new(UDPAI_REPORT_PASSED_ON);
        assert_non_null(report);
        report->session = order->session;
        report->subscribed = order->kind == UDPAI_ORDER_SUBSCRIBE;
        report->subscription = UDPAI_TAKE(order->subscription);
        assert_true(udpai_vector_push(&all->wires, ((wire){from, report})));
        all->n_waiting++;
    }
    udpai_order_free(order);
}

static void
on_wanted(void *userdata, udpai_str type_url, udpai_str text, bool wanted)
{
    member *self = userdata;
    assert_true(udpai_str_eq(text, self->bed->text));
    assert_true(udpai_str_eq(type_url, UDPAI_STR(LOAD)));
    assert_true(self->is_wanted != wanted);
    self->is_wanted = wanted;
}

static int64_t
wall_us(void *userdata)
{
    (void)userdata;
    return 1;
}

/* ---- the bed ---- */

static void
add_member(bed *self, int index)
{
    member *one = &self->members[index];
    char id[16];
    snprintf(id, sizeof(id), "n%d", index);
    const udpai_node_config config = node_bed_config(id, LINGER_MS);
    const udpai_node_env env = {.order = on_order,
                                .wall_us = wall_us,
                                .random = node_bed_no_chance,
                                .demand_changed = on_wanted,
                                .userdata = one};
    one->bed = self;
    one->index = index;
    assert_ok(udpai_node_new(&one->node, &self->wheel, &config, &env, NULL));
    udpai_node_start(one->node);
}

static void
make(bed *self, int n)
{
    self->n = n;
    for (int i = 0; i < n; i++)
        add_member(self, i);
}

static int
begin(void **state)
{
    bed *self = udpai_alloc(sizeof(*self));
    udpai_wheel_init(&self->wheel, 0);
    self->text = UDPAI_STR("*com.acme");
    *state = self;
    return 0;
}

static int
end(void **state)
{
    bed *self = *state;
    for (int i = 0; i < self->n; i++)
        udpai_node_free(self->members[i].node);
    for (size_t i = 0; i < self->wires.n; i++)
        udpai_report_free(self->wires.items[i].report);
    udpai_vector_done(&self->wires);
    udpai_free(self);
    return 0;
}

/* ---- what happens ---- */

static void
tell(const bed *self, int index, uint64_t session, udpai_report *report)
{
    node_bed_tell(self->members[index].node, session, report);
}

static void
introduce(const bed *self, int index, int peer, bool has_reports, uint64_t session)
{
    static const udpai_str features[] = {UDPAI_STR(UDPAI_FEATURE_NODE),
                                         UDPAI_STR(UDPAI_FEATURE_CLIENT)};
    char id[16];
    snprintf(id, sizeof(id), "n%d", peer);
    const udpai_node_parts parts = {
        .id = udpai_str_from(id), .features = features, .n_features = has_reports ? 2 : 1};
    tell(self, index, session, node_bed_report(UDPAI_REPORT_OPENED));
    udpai_report *report = node_bed_report(UDPAI_REPORT_NODE);
    assert_ok(udpai_node_info_new(&report->info, &parts));
    report->is_extended = !self->is_plain;
    tell(self, index, session, report);
}

static void
dial(bed *self, int from, int to)
{
    self->is_up[from][to] = true;
    introduce(self, from, to, false, SESSION(from, to));
    introduce(self, to, from, true, SESSION(from, to));
}

/* What is under way on it is lost. */
static void
cut(bed *self, int from, int to)
{
    self->is_up[from][to] = false;
    for (size_t i = 0; i < self->wires.n; i++)
        if (self->wires.items[i].report->session == SESSION(from, to))
            self->wires.items[i].report->session = 0;
    tell(self, from, SESSION(from, to), node_bed_report(UDPAI_REPORT_CLOSED));
    tell(self, to, SESSION(from, to), node_bed_report(UDPAI_REPORT_CLOSED));
}

/* Each dials the next one, the last one the first. */
static void
make_ring(bed *self, int n)
{
    make(self, n);
    for (int i = 0; i < n; i++)
        dial(self, i, (i + 1) % n);
}

/* Everything comes where it is to. */
static void
settle(bed *self)
{
    for (size_t at = 0; at < self->wires.n; at++) {
        assert_true(at < 1000); /* or it would never end */
        wire one = self->wires.items[at];
        self->wires.items[at].report = NULL;
        udpai_node_report(self->members[one.to].node, one.report);
        udpai_node_flush(self->members[one.to].node);
    }
    self->wires.n = 0;
}

static void
pass(bed *self, uint64_t ms)
{
    settle(self);
    udpai_wheel_advance(&self->wheel, self->wheel.now_ms + ms);
    for (int i = 0; i < self->n; i++)
        udpai_node_flush(self->members[i].node);
    settle(self);
}

static void
want(bed *self, int index, bool wanted)
{
    tell(self, index, 0, node_bed_interest(LOAD, "com.acme", "", wanted));
    settle(self);
}

static void
assert_wanted(const bed *self, int first, int n, bool wanted)
{
    for (int i = first; i < first + n; i++)
        if (self->members[i].is_wanted != wanted)
            fail_msg("node %d is %s", i, wanted ? "not asked" : "asked still");
}

/* ---- tests ---- */

static void
it_goes_down_a_chain_and_ends_with_one_linger(void **state)
{
    bed *self = *state;
    make(self, 5);
    for (int i = 1; i < 5; i++)
        dial(self, i, i - 1);
    want(self, 0, true);
    assert_wanted(self, 0, 5, true);
    want(self, 0, false);
    pass(self, LINGER_MS - 1);
    assert_wanted(self, 0, 5, true);
    pass(self, 1);
    assert_wanted(self, 0, 5, false);
    assert_int_equal(self->n_waiting, 8); /* one Subscribe and one Unsubscribe each */
}

static void
it_ends_in_a_ring(bed *self, int n)
{
    make_ring(self, n);
    for (int who = 0; who < n; who++) {
        want(self, who, true);
        assert_wanted(self, 0, n, true);
        pass(self, 10 * LINGER_MS);
        assert_wanted(self, 0, n, true);
        want(self, who, false);
        pass(self, LINGER_MS);
        assert_wanted(self, 0, n, false);
    }
}

static void
two_that_have_dialled_each_other_let_go(void **state)
{
    it_ends_in_a_ring(*state, 2);
}

static void
so_do_three_in_a_ring(void **state)
{
    it_ends_in_a_ring(*state, 3);
}

static void
and_four(void **state)
{
    it_ends_in_a_ring(*state, 4);
}

/* All have dialled all. */
static void
a_mesh_lets_go_with_few_words(void **state)
{
    bed *self = *state;
    make(self, 5);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 5; k++)
            if (i != k)
                dial(self, i, k);
    want(self, 2, true);
    assert_wanted(self, 0, 5, true);
    want(self, 2, false);
    pass(self, LINGER_MS);
    assert_wanted(self, 0, 5, false);
    /* Each of 20 streams is told each distance once at most. */
    assert_true(self->n_waiting <= 20 * 18);
}

static void
while_another_wants_it_the_ring_does(void **state)
{
    bed *self = *state;
    make_ring(self, 4);
    want(self, 0, true);
    want(self, 2, true);
    want(self, 0, false);
    pass(self, 10 * LINGER_MS);
    assert_wanted(self, 0, 4, true);
    want(self, 2, false);
    want(self, 1, true); /* in time */
    pass(self, 10 * LINGER_MS);
    assert_wanted(self, 0, 4, true);
    want(self, 1, false);
    pass(self, LINGER_MS);
    assert_wanted(self, 0, 4, false);
}

static void
who_comes_again_in_time_is_not_missed(void **state)
{
    bed *self = *state;
    make(self, 3);
    dial(self, 1, 0);
    dial(self, 2, 1);
    want(self, 0, true);
    size_t n_waiting = self->n_waiting;
    cut(self, 1, 0);
    pass(self, LINGER_MS - 1);
    dial(self, 1, 0);
    pass(self, 10 * LINGER_MS);
    assert_wanted(self, 0, 3, true);
    assert_int_equal(self->n_waiting, n_waiting + 1); /* the third has heard of nothing */
    cut(self, 1, 0);
    pass(self, LINGER_MS);
    assert_wanted(self, 1, 2, false);
    assert_wanted(self, 0, 1, true);
}

/* Half of the ring is cut off with who wanted it: the rest holds nothing for itself. */
static void
a_part_without_anybody_lets_go(void **state)
{
    bed *self = *state;
    make_ring(self, 4);
    dial(self, 2, 1);
    dial(self, 3, 2);
    dial(self, 1, 3);
    want(self, 0, true);
    assert_wanted(self, 0, 4, true);
    cut(self, 0, 1);
    cut(self, 3, 0);
    pass(self, 4 * LINGER_MS);
    assert_wanted(self, 1, 3, false);
    assert_wanted(self, 0, 1, true);
}

/* What is reported could not come back over more nodes. */
static void
it_goes_no_farther_than_reports_come(void **state)
{
    bed *self = *state;
    make(self, NODES);
    for (int i = 1; i < NODES; i++)
        dial(self, i, i - 1);
    want(self, 0, true);
    assert_wanted(self, 0, 16, true);
    assert_wanted(self, 16, NODES - 16, false);
    want(self, 1, true);
    assert_wanted(self, 0, 17, true);
    want(self, 1, false);
    pass(self, LINGER_MS);
    assert_wanted(self, 0, 16, true);
    assert_wanted(self, 16, NODES - 16, false);
}

/* A Subscribe makes them send all of it again: they get one. */
static void
who_knows_no_distances_is_asked_once(void **state)
{
    bed *self = *state;
    self->is_plain = true;
    make(self, 4);
    dial(self, 1, 0);
    dial(self, 2, 1);
    dial(self, 3, 2);
    want(self, 0, true);
    want(self, 1, true);
    want(self, 1, false);
    want(self, 0, false);
    pass(self, LINGER_MS);
    assert_wanted(self, 0, 4, false);
    assert_int_equal(self->n_waiting, 6);
}

static void
refuse(const bed *self, int by, int asker, const char *prefix, size_t n_names)
{
    const udpai_str everything = {"", 0};
    const udpai_subscription_message error = {
        .type_url = UDPAI_STR(LOAD),
        .name_space = udpai_str_from(prefix),
        .names = &everything,
        .n_names = n_names,
        .status_code = 7,
        .status_text = UDPAI_STR("not for you"),
    };
    udpai_report *report = node_bed_report(UDPAI_REPORT_SUBSCRIPTION_ERROR);
    report->subscription = udpai_subscription_message_copy(&error);
    tell(self, asker, SESSION(by, asker), report);
}

/* Its rules may be others by then. */
static void
who_refuses_is_asked_again_after_a_while(void **state)
{
    bed *self = *state;
    make(self, 3);
    dial(self, 1, 0);
    dial(self, 2, 0);
    want(self, 0, true);
    for (size_t n_names = 0; n_names < 2; n_names++) {
        self->n_waiting = 0;
        refuse(self, 1, 0, "com.acme", n_names);
        refuse(self, 1, 0, "com.acme", n_names);
        refuse(self, 1, 0, "org.blah", n_names); /* never asked for */
        pass(self, 29999);
        assert_int_equal(self->n_waiting, 0);
        pass(self, 1);
        assert_int_equal(self->n_waiting, 1);
        pass(self, 60000);
        assert_int_equal(self->n_waiting, 1); /* it was taken */
    }
}

static void
who_refuses_what_is_wanted_no_more_is_left_alone(void **state)
{
    bed *self = *state;
    make(self, 3);
    dial(self, 1, 0);
    dial(self, 2, 0);
    want(self, 0, true);
    refuse(self, 1, 0, "com.acme", 1);
    refuse(self, 2, 0, "com.acme", 1);
    cut(self, 2, 0);
    self->n_waiting = 0;
    pass(self, 20000);
    want(self, 0, false);
    pass(self, LINGER_MS);
    assert_int_equal(self->n_waiting, 1); /* the Unsubscribe */
    pass(self, 60000);
    assert_int_equal(self->n_waiting, 1);
}

static void
the_longest_name_can_be_asked_for(void **state)
{
    static char text[1 + UDPA_NAME_MAX + 1];
    bed *self = *state;
    make(self, 1);
    memset(text, 'x', sizeof(text));
    memcpy(text, "*a/", 3);
    self->text = (udpai_str){text, 1 + UDPA_NAME_MAX + 1};
    udpai_reports_subscribe(self->members[0].node->parts.interest, UDPAI_STR(LOAD), self->text,
                            true);
    assert_false(self->members[0].is_wanted);
    self->text.len = 1 + UDPA_NAME_MAX; /* a wildcard of so many bytes */
    udpai_reports_subscribe(self->members[0].node->parts.interest, UDPAI_STR(LOAD), self->text,
                            true);
    assert_true(self->members[0].is_wanted);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_goes_down_a_chain_and_ends_with_one_linger, begin, end),
        cmocka_unit_test_setup_teardown(the_longest_name_can_be_asked_for, begin, end),
        cmocka_unit_test_setup_teardown(two_that_have_dialled_each_other_let_go, begin, end),
        cmocka_unit_test_setup_teardown(so_do_three_in_a_ring, begin, end),
        cmocka_unit_test_setup_teardown(and_four, begin, end),
        cmocka_unit_test_setup_teardown(a_mesh_lets_go_with_few_words, begin, end),
        cmocka_unit_test_setup_teardown(while_another_wants_it_the_ring_does, begin, end),
        cmocka_unit_test_setup_teardown(who_comes_again_in_time_is_not_missed, begin, end),
        cmocka_unit_test_setup_teardown(a_part_without_anybody_lets_go, begin, end),
        cmocka_unit_test_setup_teardown(it_goes_no_farther_than_reports_come, begin, end),
        cmocka_unit_test_setup_teardown(who_knows_no_distances_is_asked_once, begin, end),
        cmocka_unit_test_setup_teardown(who_refuses_is_asked_again_after_a_while, begin, end),
        cmocka_unit_test_setup_teardown(who_refuses_what_is_wanted_no_more_is_left_alone, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
