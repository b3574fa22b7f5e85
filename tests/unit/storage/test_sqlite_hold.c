/* SPDX-License-Identifier: Apache-2.0 */
/* The engine whose directory another process takes over, and gives back. */
#include <poll.h>

#include "tests/unit/storage/sql_test.h"

static void
wait_until_away(const struct fixture *fixture)
{
    while (!udpai_sqlite_is_away(fixture->engine))
        (void)poll(NULL, 0, 1);
}

static void
put(struct fixture *fixture, const char *name)
{
    commit_put(fixture, TYPE_CLUSTER, name, "payload");
}

static int64_t
count_rows(const struct fixture *fixture)
{
    return run_sql(fixture, "SELECT count(*) FROM contribution");
}

/* As the other process does. */
static void
open_and_close(struct fixture *fixture)
{
    udpai_durable_engine *own = UDPAI_TAKE(fixture->engine);
    open_engine(fixture);
    close_engine(fixture);
    fixture->engine = own;
}

static void
what_was_committed_is_written_before_it_goes(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    set_hold(fixture, true);
    put(fixture, "com.acme/first");
    wait_for(fixture, 1);
    for (int i = 0; i < 20; i++)
        put(fixture, i % 2 ? "com.acme/a" : "com.acme/b");
    udpai_sqlite_set_hold(fixture->engine, UDPAI_SQLITE_AWAY);
    assert_false(udpai_sqlite_is_away(fixture->engine));
    assert_open_fails(fixture, UDPA_ERR_PRECONDITION, "in use");
    set_hold(fixture, false);
    wait_until_away(fixture);
    wait_for(fixture, 21);
    for (size_t i = 0; i < 21; i++)
        assert_int_equal(fixture->reports.results[i], UDPA_OK);
    open_and_close(fixture);
    assert_int_equal(count_rows(fixture), 3);
}

static void
what_comes_meanwhile_waits_until_it_is_back(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    put(fixture, "com.acme/a");
    wait_for(fixture, 1);
    udpai_sqlite_set_hold(fixture->engine, UDPAI_SQLITE_AWAY);
    wait_until_away(fixture);
    put(fixture, "com.acme/b");
    open_and_close(fixture); /* the lock is free, and nothing is written */
    assert_int_equal(count_rows(fixture), 1);
    assert_int_equal(udpai_sqlite_stats_of(fixture->engine).n_queued, 1);
    udpai_sqlite_set_hold(fixture->engine, UDPAI_SQLITE_WRITES);
    wait_for(fixture, 2);
    assert_int_equal(fixture->reports.results[1], UDPA_OK);
    assert_int_equal(count_rows(fixture), 2);
    assert_int_equal(run_sql(fixture, "SELECT number FROM epoch"), 2);
    assert_open_fails(fixture, UDPA_ERR_PRECONDITION, "in use");
}

/* It is tried again: the process that has it ends before long. */
static void
it_comes_back_when_the_other_process_has_ended(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    udpai_sqlite_set_hold(fixture->engine, UDPAI_SQLITE_AWAY);
    wait_until_away(fixture);
    udpai_durable_engine *own = UDPAI_TAKE(fixture->engine);
    open_engine(fixture);
    udpai_durable_engine *other = UDPAI_TAKE(fixture->engine);
    fixture->engine = own;
    udpai_sqlite_set_hold(own, UDPAI_SQLITE_WRITES);
    put(fixture, "com.acme/a");
    assert_true(udpai_sqlite_is_away(own));
    other->ops->close(other);
    wait_for(fixture, 1);
    assert_int_equal(fixture->reports.results[0], UDPA_OK);
}

static void
once_it_is_gone_nothing_is_kept(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    udpai_sqlite_set_hold(fixture->engine, UDPAI_SQLITE_AWAY);
    wait_until_away(fixture);
    put(fixture, "com.acme/a");
    udpai_sqlite_set_hold(fixture->engine, UDPAI_SQLITE_GONE);
    put(fixture, "com.acme/b");
    wait_for(fixture, 2);
    assert_int_equal(fixture->reports.results[0], UDPA_ERR_CLOSED);
    assert_int_equal(fixture->reports.results[1], UDPA_ERR_CLOSED);
    udpai_sqlite_set_hold(fixture->engine, UDPAI_SQLITE_WRITES); /* there is no way back */
    put(fixture, "com.acme/c");
    wait_for(fixture, 3);
    assert_int_equal(fixture->reports.results[2], UDPA_ERR_CLOSED);
    open_and_close(fixture);
    assert_int_equal(count_rows(fixture), 0);
}

static void
a_process_that_gives_up_has_written_nothing(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    udpai_sqlite_set_hold(fixture->engine, UDPAI_SQLITE_WAITS);
    put(fixture, "com.acme/a");
    close_engine(fixture);
    assert_int_equal(fixture->reports.n, 1);
    assert_int_equal(fixture->reports.results[0], UDPA_ERR_CLOSED);
    open_engine(fixture);
    assert_int_equal(count_rows(fixture), 0);
    udpai_sqlite_set_hold(fixture->engine, UDPAI_SQLITE_WAITS);
    put(fixture, "com.acme/b");
    udpai_sqlite_set_hold(fixture->engine, UDPAI_SQLITE_WRITES);
    wait_for(fixture, 2);
    assert_int_equal(count_rows(fixture), 1);
}

static void
another_format_may_be_left_as_it_is(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    close_engine(fixture);
    (void)run_sql(fixture, "DROP TABLE audit; DELETE FROM setting WHERE name = 'audit';"
                           "PRAGMA user_version = 3");
    fixture->options.keeps_format = true;
    assert_open_fails(fixture, UDPA_ERR_PRECONDITION, "is of format 3");
    assert_int_equal(run_sql(fixture, "PRAGMA user_version"), 3);
    fixture->options.keeps_format = false;
    open_engine(fixture);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_was_committed_is_written_before_it_goes),
        CASE(what_comes_meanwhile_waits_until_it_is_back),
        CASE(it_comes_back_when_the_other_process_has_ended),
        CASE(once_it_is_gone_nothing_is_kept),
        CASE(a_process_that_gives_up_has_written_nothing),
        CASE(another_format_may_be_left_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
