/* SPDX-License-Identifier: Apache-2.0 */
/* A server of LRS that is reported to, and a node that begins anew: what was kept before each
 * report has the next life tell each request once; what was kept, and not told any more, tells
 * less. */
#include "lrs_upstream_test.h"
#include "tests/harness/oom.h"

/* What a file would have. */
static udpa_bytes *records[64];
static size_t n_records;
static bool is_lost;

static void
forget_records(void)
{
    while (n_records)
        udpa_bytes_unref(records[--n_records]);
}

static void
keep(void *userdata, udpa_bytes *record)
{
    (void)userdata;
    if (!record) {
        forget_records();
        is_lost = true;
        return;
    }
    assert_in_range(n_records, 0, UDPAI_ARRAY_LEN(records) - 1);
    records[n_records++] = udpa_bytes_ref(record);
}

static const udpai_lrs_keeper keeper = {keep, NULL};

static int
setup_kept(void **state)
{
    (void)setup(state);
    is_lost = false;
    udpai_lrs_upstream_keep(upstream, &keeper);
    return 0;
}

static int
done_kept(void **state)
{
    forget_records();
    return done(state);
}

static udpai_lrs_upstream *
make_upstream(void)
{
    const udpai_lrs_upstream_options of = {
        .source = UDPAI_STR("legacy"),
        .name_space = UDPAI_STR("com.acme"),
        .node = UDPAI_STR("\x0a\x04" NODE_ID),
    };
    udpai_lrs_upstream *made = NULL;
    assert_ok(udpai_lrs_upstream_new(&made, &of));
    return made;
}

/* The node is killed, with the first @p n records written, and is there again a while later. */
static void
restart_with(size_t n)
{
    fake_stream_close(&stream);
    fake_hub_drop_reports(&hub);
    udpai_lrs_upstream_drop(upstream);
    upstream = make_upstream();
    for (size_t i = 0; i < n; i++) {
        udpai_str source;
        assert_ok(udpai_lrs_upstream_source(udpai_bytes_view(records[i]), &source));
        assert_str(source, "legacy");
        assert_ok(udpai_lrs_upstream_restore(upstream, udpai_bytes_view(records[i])));
    }
    udpai_lrs_upstream_keep(upstream, &keeper);
    pass(30000);
    hub.wall_us += 1000000;
    begin();
}

static void
restart(void)
{
    restart_with(n_records);
}

static void
each_request_is_told_once(void **state)
{
    (void)state;
    uint64_t epoch = epoch_at(1);
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 10, 0);
    pass(5000);
    expect_told("a=10/0");
    aggregate_is("com.acme/a", epoch, 15, 0); /* not told yet */
    restart();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    expect_wanted("com.acme/a");
    aggregate_is("com.acme/a", epoch, 22, 2);
    pass(5000);
    expect_told("a=12/2");
    restart();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 22, 0);
    pass(5000);
    expect_told("");
}

/* It has died between the two. */
static void
what_was_kept_and_not_told_is_not_told(void **state)
{
    (void)state;
    uint64_t epoch = epoch_at(1);
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 10, 0);
    size_t n_before = n_records;
    pass(5000);
    assert_int_equal(n_records, n_before + 1);
    expect_told("a=10/0"); /* say that this has not gone */
    restart();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 11, 0);
    pass(5000);
    expect_told("a=1/0");
}

/* What came before the server was told for the first time. */
static void
what_was_not_told_yet_is_told(void **state)
{
    (void)state;
    uint64_t epoch = epoch_at(1);
    begin();
    receive(W_JOIN(ALL, INTERVAL(5)));
    restart(); /* before there was any */
    receive(W_JOIN(ALL, INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 7, 0);
    restart();
    receive(W_JOIN(ALL, INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 9, 0);
    pass(5000);
    expect_told("a=9/0");
}

static void
what_ended_aggregates_have_left_is_told(void **state)
{
    (void)state;
    uint64_t epoch = epoch_at(1), next_epoch = epoch_at(1000);
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 10, 0);
    aggregate_ends("com.acme/a/" NODE_ID);
    restart();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    aggregate_is("com.acme/a", next_epoch, 5, 0);
    pass(5000);
    expect_told("a=15/0");
    restart();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    aggregate_is("com.acme/a", next_epoch, 6, 0);
    pass(5000);
    expect_told("a=1/0");
}

static void
what_was_not_wanted_begins_anew(void **state)
{
    (void)state;
    uint64_t epoch = epoch_at(1);
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), W_TEXT(1, "b"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 10, 0);
    pass(5000);
    expect_told("a=10/0");
    receive(W_JOIN(W_TEXT(1, "b"), INTERVAL(5)));
    restart();
    receive(W_JOIN(W_TEXT(1, "a"), W_TEXT(1, "b"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 50, 0);
    aggregate_is("com.acme/a", epoch, 51, 0);
    pass(5000);
    expect_told("a=1/0");
}

/* The machine has lost its power, and of the aggregates more than of what was told. */
static void
an_aggregate_that_is_behind_is_told_from_where_it_was(void **state)
{
    (void)state;
    uint64_t epoch = epoch_at(1);
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 10, 0);
    pass(5000);
    expect_told("a=10/0");
    restart();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 8, 0);
    pass(5000);
    expect_told("");
    aggregate_is("com.acme/a", epoch, 13, 0);
    pass(5000);
    expect_told("a=3/0");
    expect_refused(0, "");
}

static void
all_of_it_is_one_record(void **state)
{
    (void)state;
    uint64_t epoch = epoch_at(1);
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), W_TEXT(1, "b"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 10, 0);
    aggregate_is("com.acme/b", epoch, 20, 0);
    pass(5000);
    (void)told();
    forget_records();
    records[n_records++] = udpai_lrs_upstream_state(upstream);
    restart();
    receive(W_JOIN(W_TEXT(1, "a"), W_TEXT(1, "b"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 11, 0);
    aggregate_is("com.acme/b", epoch, 20, 0);
    pass(5000);
    expect_told("a=1/0");
}

/* Whatever is cut off or changed: no crash, and nothing is known then. */
static void
what_cannot_be_read_is_forgotten(void **state)
{
    (void)state;
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch_at(1), 10, 0);
    pass(5000);
    (void)told();
    udpai_lrs_upstream *other = make_upstream();
    udpai_str whole = udpai_bytes_view(records[n_records - 1]);
    for (size_t len = 0; len < whole.len; len++) {
        assert_int_equal(udpai_lrs_upstream_restore(other, (udpai_str){whole.data, len}),
                         UDPA_ERR_MALFORMED);
        assert_int_equal(other->accounts.n, 0);
        assert_false(other->subscribes_all);
    }
    assert_ok(udpai_lrs_upstream_restore(other, whole));
    assert_int_equal(other->accounts.n, 1);
    udpai_lrs_upstream_drop(other);
}

static udpa_err
restore_with_little_memory(void *context)
{
    const udpai_lrs_upstream_options of = {
        .source = UDPAI_STR("s"), .name_space = UDPAI_STR("com.acme"), .node = UDPAI_STR("n")};
    udpai_lrs_upstream *other = NULL;
    udpa_err err = udpai_lrs_upstream_new(&other, &of);
    if (err == UDPA_OK)
        err = udpai_lrs_upstream_restore(other, udpai_bytes_view(context));
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *all = err == UDPA_OK ? udpai_lrs_upstream_state(other) : NULL;
    if (err == UDPA_OK && !all)
        err = UDPA_ERR_NOMEM;
    udpai_lrs_upstream_drop(other);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    (void)state;
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch_at(1), 10, 0);
    aggregate_ends("com.acme/a/" NODE_ID);
    oom_torture(restore_with_little_memory, records[n_records - 1]);
}

/* It is told, and the keeper is told that what it has is worth nothing. */
static void
what_cannot_be_kept_forgets_what_was(void **state)
{
    (void)state;
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch_at(1), 10, 0);
    const udpai_lrs_kept none = {.cluster = UDPAI_STR("com.acme/a")};
    for (long n = 0; n < 100 && !is_lost; n++) {
        udpai_alloc_fail_after(n);
        udpai_lrs_keep(upstream, &none, 1);
        udpai_alloc_fail_after(-1);
    }
    assert_true(is_lost);
    assert_int_equal(n_records, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_kept, done_kept)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_request_is_told_once),
        TEST(what_was_kept_and_not_told_is_not_told),
        TEST(what_was_not_told_yet_is_told),
        TEST(what_ended_aggregates_have_left_is_told),
        TEST(what_was_not_wanted_begins_anew),
        TEST(an_aggregate_that_is_behind_is_told_from_where_it_was),
        TEST(all_of_it_is_one_record),
        TEST(what_cannot_be_read_is_forgotten),
        TEST(without_memory_nothing_is_left),
        TEST(what_cannot_be_kept_forgets_what_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
