/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over two levels: clients report to edges, edges to the top, and whatever streams end, edges
 * restart and clients move, nothing is counted twice; and nothing is lost where nobody has lost
 * what he had counted. */
#include "load_aggregates_test.h"

/* ---- tests ---- */

static void
nothing_is_asked_before_somebody_wants_it(void **state)
{
    world *self = *state;
    for (int i = 1; i <= EDGES; i++)
        link_up(&self->members[i]);
    come(self, &self->clients[0], 1);
    assert_false(self->members[1].is_asked);
    assert_false(self->members[1].asks);
    want(&self->members[0], true);
    assert_true(self->members[1].is_asked);
    pass(self, 0);
    assert_true(self->members[1].asks);
    want(&self->members[0], false);
    for (int i = 0; i < 4; i++) /* each level lingers, and what it has asked for in turn */
        pass(self, LINGER_MS);
    assert_false(self->members[1].is_asked);
    assert_false(self->members[1].asks);
}

/* By its name alone it has what nodes below count, too. Of another node there is no aggregate. */
static void
one_aggregate_is_whole_by_its_name(void **state)
{
    world *self = *state;
    member *top = &self->members[0];
    for (int i = 1; i <= EDGES; i++)
        link_up(&self->members[i]);
    come(self, &self->clients[0], 1);
    want_aggregate(top, CLUSTER "/edge1", true);
    assert_true(self->members[1].is_asked);
    want_aggregate(top, CLUSTER "/edge1", false);
    for (int i = 0; i < 4; i++)
        pass(self, LINGER_MS);
    assert_false(self->members[1].is_asked);
    want_aggregate(top, CLUSTER "/top", true);
    want_aggregate(top, CLUSTER "/top", true);
    pass(self, 0);
    assert_true(self->members[1].is_asked);
    assert_true(self->members[1].asks);
    want_aggregate(top, CLUSTER "/top", false);
    want_aggregate(top, CLUSTER "/top", false);
    for (int i = 0; i < 4; i++)
        pass(self, LINGER_MS);
    assert_false(self->members[1].is_asked);
    assert_false(self->members[1].asks);
}

static void
the_top_has_the_aggregate_of_all(void **state)
{
    world *self = *state;
    begin_all(self);
    for (uint64_t i = 0; i < CLIENTS; i++)
        send_requests(self, &self->clients[i], 10 + i);
    expect_at_top(self, 75, CLIENTS);
    send_requests(self, &self->clients[3], 5);
    expect_at_top(self, 80, CLIENTS);
}

static void
a_stream_that_ends_and_comes_again_counts_on(void **state)
{
    world *self = *state;
    begin_all(self);
    send_requests(self, &self->clients[0], 10);
    expect_at_top(self, 10, 1);
    link_down(&self->members[1]);
    link_up(&self->members[1]);
    send_requests(self, &self->clients[0], 7);
    expect_at_top(self, 17, 1);
    come(self, &self->clients[0], 1);
    send_requests(self, &self->clients[0], 3);
    expect_at_top(self, 20, 1);
}

static void
a_client_that_moves_counts_once(void **state)
{
    world *self = *state;
    begin_all(self);
    send_requests(self, &self->clients[0], 10);
    expect_at_top(self, 10, 1);
    come(self, &self->clients[0], 2);
    send_requests(self, &self->clients[0], 4);
    settle(self);
    uint64_t n_clients;
    assert_int_equal(aggregate_of(self->members[0].load, &n_clients), 14);
}

/* It comes with counts that another node was told, so they count from there on. */
static void
who_has_told_others_counts_from_where_he_is(void **state)
{
    world *self = *state;
    begin_all(self);
    client *who = &self->clients[0];
    pass(self, 60000);
    come(self, who, 1);
    who->n_issued = 1000;
    who->began_ms = 0; /* long before its stream */
    send_requests(self, who, 1);
    expect_at_top(self, 0, 1);
    send_requests(self, who, 2);
    expect_at_top(self, 2, 1);
}

/* It was said long before it came here: in the meantime others may have heard it. */
static void
what_has_lain_is_as_old_as_it_is(void **state)
{
    world *self = *state;
    begin_all(self);
    client *who = &self->clients[0];
    come(self, who, 1);
    pass(self, 1000);
    who->lain_ms = 5000;
    send_requests(self, who, 7);
    expect_at_top(self, 0, 1);
    who->lain_ms = 0;
    send_requests(self, who, 2);
    expect_at_top(self, 2, 1);
}

/* So many have come in this turn that it takes longer than who comes first has counted. */
static void
who_has_to_wait_for_others_counts_all_the_same(void **state)
{
    world *self = *state;
    begin_all(self);
    client *who = &self->clients[0];
    come(self, who, 1);
    pass(self, 1000);
    self->turn_ms = 5000;
    send_requests(self, who, 7);
    self->turn_ms = 0;
    expect_at_top(self, 7, 1);
}

static void
an_edge_that_restarts_counts_nothing_again(void **state)
{
    world *self = *state;
    begin_all(self);
    send_requests(self, &self->clients[0], 10);
    expect_at_top(self, 10, 1);
    link_down(&self->members[1]);
    stop(&self->members[1]);
    self->clients[0].edge = -1;
    self->clients[3].edge = -1;
    start(&self->members[1]);
    link_up(&self->members[1]);
    come(self, &self->clients[0], 1);
    send_requests(self, &self->clients[0], 5);
    expect_at_top(self, 15, 1);
}

/* Nobody asks clients meanwhile, and some count on. */
static void
whoever_wants_aggregates_again_has_what_came_meanwhile(void **state)
{
    world *self = *state;
    begin_all(self);
    send_requests(self, &self->clients[0], 10);
    send_requests(self, &self->clients[1], 10);
    expect_at_top(self, 20, 2);
    want(&self->members[0], false);
    settle(self);
    settle(self);
    assert_null(self->members[0].load);
    assert_false(self->members[1].asks);
    leave(self, &self->clients[1]);
    pass(self, 3000000);
    self->clients[0].n_issued += 5; /* which it says to nobody */
    self->n_issued += 5;
    want(&self->members[0], true);
    settle(self);
    send_requests(self, &self->clients[0], 7);
    expect_at_top(self, 32, 1);
}

static void
aggregates_that_nobody_wants_for_an_hour_begin_anew(void **state)
{
    world *self = *state;
    begin_all(self);
    send_requests(self, &self->clients[0], 10);
    expect_at_top(self, 10, 1);
    want(&self->members[0], false);
    settle(self);
    assert_null(self->members[0].load);
    pass(self, 3600000);
    settle(self);
    want(&self->members[0], true);
    link_down(&self->members[1]); /* its aggregate has an epoch from before */
    link_up(&self->members[1]);
    send_requests(self, &self->clients[0], 3);
    settle(self);
    uint64_t n_clients;
    assert_true(aggregate_of(self->members[0].load, &n_clients) <= 3);
}

/* What has lain here since before an aggregate of this node has ended, which had it. */
static void
a_clock_that_is_set_back_makes_nothing_younger(void **state)
{
    world *self = *state;
    self->sleep_ms = 1;
    for (int i = 0; i <= EDGES; i++) {
        stop(&self->members[i]);
        start(&self->members[i]);
    }
    begin_all(self);
    send_requests(self, &self->clients[0], 10);
    expect_at_top(self, 10, 1);
    want(&self->members[0], false);
    settle(self);
    settle(self);
    assert_false(self->members[1].asks);
    self->back_ms = 60000;
    settle(self);
    want(&self->members[0], true);
    expect_at_top(self, 0, 1);
}

/* ---- whatever happens ---- */

static size_t
below(world *self, size_t bound)
{
    return test_random_below(&self->random, bound);
}

static void
do_something(world *self)
{
    client *who = &self->clients[below(self, CLIENTS)];
    member *edge = &self->members[1 + below(self, EDGES)];
    switch (below(self, 12)) {
    case 0:
        link_down(edge);
        break;
    case 1:
        link_up(edge);
        break;
    case 2:
        come(self, who, edge->index);
        break;
    case 3:
        leave(self, who);
        break;
    case 4:
        if (below(self, 4) > 0)
            break;
        link_down(edge);
        stop(edge);
        for (int i = 0; i < CLIENTS; i++)
            if (self->clients[i].edge == edge->index)
                self->clients[i].edge = -1;
        start(edge);
        break;
    case 5:
        pass(self, below(self, 50000));
        break;
    default:
        send_requests(self, who, below(self, 100));
        break;
    }
    pass(self, below(self, 1500));
}

static void
nothing_is_ever_counted_twice(void **state)
{
    for (unsigned seed = 1; seed <= 60; seed++) {
        world *self = *state;
        self->random = seed;
        begin_all(self);
        uint64_t n_clients;
        for (int i = 0; i < 300; i++) {
            do_something(self);
            uint64_t aggregate = aggregate_of(self->members[0].load, &n_clients);
            if (aggregate > self->n_issued)
                fail_msg("seed %u: %llu were sent, and %llu counted", seed,
                         (unsigned long long)self->n_issued, (unsigned long long)aggregate);
        }
        end(state);
        begin(state);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_asked_before_somebody_wants_it, begin, end),
        cmocka_unit_test_setup_teardown(one_aggregate_is_whole_by_its_name, begin, end),
        cmocka_unit_test_setup_teardown(the_top_has_the_aggregate_of_all, begin, end),
        cmocka_unit_test_setup_teardown(a_stream_that_ends_and_comes_again_counts_on, begin, end),
        cmocka_unit_test_setup_teardown(a_client_that_moves_counts_once, begin, end),
        cmocka_unit_test_setup_teardown(who_has_told_others_counts_from_where_he_is, begin, end),
        cmocka_unit_test_setup_teardown(what_has_lain_is_as_old_as_it_is, begin, end),
        cmocka_unit_test_setup_teardown(who_has_to_wait_for_others_counts_all_the_same, begin, end),
        cmocka_unit_test_setup_teardown(an_edge_that_restarts_counts_nothing_again, begin, end),
        cmocka_unit_test_setup_teardown(whoever_wants_aggregates_again_has_what_came_meanwhile,
                                        begin, end),
        cmocka_unit_test_setup_teardown(aggregates_that_nobody_wants_for_an_hour_begin_anew, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_clock_that_is_set_back_makes_nothing_younger, begin, end),
        cmocka_unit_test_setup_teardown(nothing_is_ever_counted_twice, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
