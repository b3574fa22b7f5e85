/* SPDX-License-Identifier: Apache-2.0 */
/* What one replica reads for all: when it is known that etcd has all of it, also for those that
 * have read it by themselves until now, and those that go on doing so. */
#include "federation/shares.h"

#include "federation/agreement.h"
#include "federation/janitor.h"
#include "tests/unit/federation/shares_bed.h"

/* ---- marks ---- */

static void
without_its_mark_nothing_is_missing(void **state)
{
    fed_bed *bed = *state;
    begin_as(bed, "cc", 1, share_root);
    udpai_durable_batch *batch = new_batch();
    add_shared(batch, "com.acme/x", "1", 7);
    tell_change(bed, batch, false);
    flush(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_false(fed_settled(bed, "CDS", "com.acme"));
    tell_change(bed, new_batch(), true);
    flush(bed);
    assert_value(bed, "CDS", "x", "1");
    batch = new_batch();
    add_mark(batch, MARK, "whole");
    tell_change(bed, batch, false);
    flush(bed);
    assert_int_equal(n_lists, 1); /* what etcd has not is seen by that */
    batch = new_batch();
    add_mark(batch, MARK, "whole");
    tell_change(bed, batch, true);
    flush(bed);
    assert_value(bed, "CDS", "x", "");
    assert_true(fed_settled(bed, "CDS", "com.acme"));
    assert_int_equal(n_lists, 1);
}

static void
a_reading_in_part_has_no_mark(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_files(bed, &(udpai_directory){.is_partial = true}, "x=1");
    assert_next("+x=1");
    commit_all(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_false(fed_settled(bed, "CDS", "com.acme"));
    read_all(bed, "x=1");
    assert_next("+x=1 whole");
}

static void
a_mark_that_has_gone_is_written_again(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_all(bed, "x=1");
    commit_all(bed);
    udpai_durable_batch *batch = new_batch();
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *key = bytes_of(MARK), *name = bytes_of("udpa.node/read");
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *type = udpai_bytes_cstring(UDPAI_STR(MARK_TYPE));
    assert_ok(udpai_durable_batch_add(
        batch, &(udpai_durable_op){
                   .kind = UDPAI_DURABLE_DELETE, .origin = key, .type = type, .name = name}));
    tell_change(bed, batch, false);
    flush(bed);
    assert_next("+x=1 whole");
}

/* ---- from LOCAL, and back ---- */

static void
what_was_read_by_itself_stays_what_it_was(void **state)
{
    fed_bed *bed = *state;
    begin_as(bed, "c", 0, do_not_share_root);
    read_all(bed, "x=1 y=1");
    commit_all(bed); /* stamps */
    assert_value(bed, "CDS", "x", "1");
    uint64_t before = generation_of(bed, "x");
    on_made = share_root;
    restart(bed);
    assert_value(bed, "CDS", "x", "1");
    tell_change(bed, new_batch(), true);
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    tell_members(bed, "c", 0);
    flush(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "1");
    read_all(bed, "x=1 y=2");
    assert_next("+x=1 +y=2 whole");
    commit_all(bed);
    assert_int_equal(generation_of(bed, "x"), before);
    assert_value(bed, "CDS", "y", "2");
}

/* The elected one holds what it misses: the others have that only if etcd has. */
static void
what_is_held_goes_to_etcd_as_well(void **state)
{
    fed_bed *bed = *state;
    begin_as(bed, "c", 0, do_not_share_root);
    read_all(bed, TWELVE);
    commit_all(bed);
    on_made = share_root;
    restart(bed);
    tell_change(bed, new_batch(), true);
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    tell_members(bed, "c", 0);
    read_all(bed, "a=2");
    assert_int_equal(proposals[0].batch->ops.n, 13);
    commit_all(bed);
    assert_value(bed, "CDS", "a", "2");
    assert_value(bed, "CDS", "l", "1");
}

static void
a_record_of_what_is_not_shared_here_is_ignored(void **state)
{
    fed_bed *bed = *state;
    begin_as(bed, "ab", 0, do_not_share_root);
    read_all(bed, "x=1");
    commit_all(bed);
    udpai_durable_batch *batch = new_batch();
    add_shared(batch, "com.acme/x", "2", UINT64_MAX / 2);
    add_shared(batch, "com.acme/y", "2", UINT64_MAX / 2);
    add_mark(batch, MARK, "whole");
    tell_change(bed, batch, false);
    flush(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "");
    assert_int_equal(udpai_node_replica_status(bed->node)->n_hidden, 3);
    batch = new_batch();
    add_delete(batch, ORIGIN, "com.acme/x");
    tell_change(bed, batch, false);
    flush(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(udpai_node_replica_status(bed->node)->n_hidden, 2);
    fed_advance(bed, UDPAI_JANITOR_GRACE_MS);
    assert_nothing_proposed(bed); /* another one has another configuration */
    tell_members(bed, "aa", 0);
    fed_advance(bed, UDPAI_JANITOR_GRACE_MS);
    flush(bed);
    assert_int_equal(n_proposals, 1);
    assert_int_equal(proposals[0].batch->ops.n, 2);
    commit_all(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(udpai_node_replica_status(bed->node)->n_hidden, 0);
}

static void
a_record_of_an_origin_that_is_no_publisher_is_ignored(void **state)
{
    fed_bed *bed = *state;
    const char *const origins[] = {"node", "source:a", "path:/other", "whatever", "adopted"};
    begin(bed);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(origins); i++)
        others_put(bed, origins[i], "com.acme/x", "2", 7);
    assert_value(bed, "CDS", "x", "");
    assert_int_equal(udpai_node_replica_status(bed->node)->n_hidden, UDPAI_ARRAY_LEN(origins));
}

static void
a_restart_without_etcd_serves_what_there_was(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_all(bed, "x=1");
    commit_all(bed);
    restart(bed);
    read_all(bed, "x=2");
    assert_nothing_proposed(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_true(fed_settled(bed, "CDS", "com.acme"));
}

/* ---- most must have read it ---- */

static void
what_most_have_not_read_is_never_proposed(void **state)
{
    fed_bed *bed = *state;
    begin_as(bed, "cc", 0, share_root);
    read_files(bed, &(udpai_directory){.must_agree = true}, "x=1");
    fed_advance(bed, 2 * UDPAI_AGREEMENT_MAX_MS);
    assert_nothing_proposed(bed);
    tell_members(bed, "c", 0);
    flush(bed);
    assert_next("+x=1 whole");
}

/* ---- a source ---- */

static void
begin_with_source(fed_bed *bed, const char *members, size_t own)
{
    bed->sources[0].kind = UDPAI_SOURCE_PATH;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "", UDPAI_STOP_ON_SUCCESS, false},
                 {'b', "", UDPAI_STOP_ON_SUCCESS, false});
    begin_as(bed, members, own, share_source);
    (void)fed_orders(bed);
}

static void
read_source(fed_bed *bed, bool has_errors, const char *words)
{
    read_files(bed, &(udpai_directory){.source = UDPAI_STR("a"), .has_errors = has_errors}, words);
}

static void
a_source_is_read_when_etcd_has_its_mark(void **state)
{
    fed_bed *bed = *state;
    begin_with_source(bed, "c", 0);
    read_source(bed, false, "x=1");
    assert_next("+x=1 whole");
    assert_false(fed_settled(bed, "CDS", "com.acme"));
    commit_all(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_true(fed_settled(bed, "CDS", "com.acme"));
    assert_orders(bed, "");
}

static void
errors_of_the_elected_one_are_those_of_all(void **state)
{
    fed_bed *bed = *state;
    begin_with_source(bed, "c", 0);
    read_source(bed, false, "x=1");
    commit_all(bed);
    (void)fed_orders(bed);
    read_source(bed, true, "x=1");
    assert_next("failing");
    assert_orders(bed, "");
    commit_all(bed);
    assert_orders(bed, "dial b");
    assert_value(bed, "CDS", "x", "1");
    read_source(bed, false, "x=2");
    assert_next("+x=2 whole");
    commit_all(bed);
    assert_value(bed, "CDS", "x", "2");
}

static void
a_source_that_counted_counts_without_etcd(void **state)
{
    fed_bed *bed = *state;
    begin_with_source(bed, "c", 0);
    read_source(bed, false, "x=1");
    commit_all(bed);
    flush(bed);
    restart(bed);
    (void)fed_orders(bed);
    fed_advance(bed, 60000);
    flush(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_orders(bed, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        replicated_test(without_its_mark_nothing_is_missing),
        replicated_test(a_reading_in_part_has_no_mark),
        replicated_test(a_mark_that_has_gone_is_written_again),
        replicated_test(what_was_read_by_itself_stays_what_it_was),
        replicated_test(what_is_held_goes_to_etcd_as_well),
        replicated_test(a_record_of_what_is_not_shared_here_is_ignored),
        replicated_test(a_record_of_an_origin_that_is_no_publisher_is_ignored),
        replicated_test(a_restart_without_etcd_serves_what_there_was),
        replicated_test(what_most_have_not_read_is_never_proposed),
        replicated_test(a_source_is_read_when_etcd_has_its_mark),
        replicated_test(errors_of_the_elected_one_are_those_of_all),
        replicated_test(a_source_that_counted_counts_without_etcd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
