/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over restarts of the nodes that make them. */
#include "load_aggregates_test.h"

static void
begin_kept(world *self)
{
    snprintf(self->kept_in, sizeof(self->kept_in), "/tmp/udpa-load-XXXXXX");
    assert_non_null(mkdtemp(self->kept_in));
    for (int i = 0; i <= EDGES; i++) {
        stop(&self->members[i]);
        start(&self->members[i]);
    }
    begin_all(self);
}

/* Nothing that it would write at its end is written. */
static void
crash(member *self)
{
    char path[64];
    struct stat file;
    assert_int_equal(stat(kept_at(self, path), &file), 0);
    stop(self);
    assert_int_equal(truncate(path, file.st_size), 0);
}

/* Whatever its clients, or nodes below, have counted meanwhile. */
static void
whoever_is_killed_goes_on_where_it_was(void **state)
{
    world *self = *state;
    member *top = &self->members[0];
    begin_kept(self);
    send_requests(self, &self->clients[0], 10);
    send_requests(self, &self->clients[1], 20);
    expect_at_top(self, 30, 2);
    for (uint64_t n = 31, round = 0; round < 3; n += 3, round++) {
        for (int i = 1; i <= EDGES; i++)
            link_down(&self->members[i]);
        crash(top);
        send_requests(self, &self->clients[0], 1);
        start(top);
        want(top, true);
        pass(self, LINGER_MS / 2); /* who wants something is lost for less than that */
        link_up(&self->members[1]);
        link_up(&self->members[2]);
        expect_at_top(self, n, 2);
        send_requests(self, &self->clients[1], 2);
        expect_at_top(self, n + 2, 2);
    }
    link_down(&self->members[1]);
    crash(&self->members[1]);
    self->clients[0].edge = self->clients[3].edge = -1;
    start(&self->members[1]);
    link_up(&self->members[1]);
    come(self, &self->clients[0], 1);
    send_requests(self, &self->clients[0], 5);
    expect_at_top(self, 44, 2);
}

/* Sums that nobody wants are not there for ever, and what they had is not counted again. */
static void
what_nobody_wants_again_is_forgotten(void **state)
{
    world *self = *state;
    member *top = &self->members[0];
    begin_kept(self);
    send_requests(self, &self->clients[0], 10);
    expect_at_top(self, 10, 1);
    for (int i = 1; i <= EDGES; i++)
        link_down(&self->members[i]);
    crash(top);
    start(top);
    pass(self, 3600000);
    want(top, true);
    link_up(&self->members[1]);
    settle(self);
    uint64_t n_clients;
    assert_int_equal(aggregate_of(top->load, &n_clients), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whoever_is_killed_goes_on_where_it_was, begin, end),
        cmocka_unit_test_setup_teardown(what_nobody_wants_again_is_forgotten, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
