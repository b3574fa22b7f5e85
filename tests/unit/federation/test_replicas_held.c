/* SPDX-License-Identifier: Apache-2.0 */
/* An older etcd gets back what it lacks, or is accepted. */
#include "tests/unit/federation/replicas_held_bed.h"

/* ---- written back ---- */

typedef enum restored {
    OLDER,
    ANOTHER,
    BUMPED
} restored;

static void
check_written_back(int64_t snapshot, restored how)
{
    char *expected = go_on();
    uint64_t before = replicas[0].node->context.n_commits;
    if (how == BUMPED)
        restore_bumped(snapshot);
    else
        restore(snapshot, how == ANOTHER);
    n_changes = 0;
    run_ms(5000);
    assert_all(UDPAI_REPLICATION_HELD);
    for (size_t i = 0; i < NODES; i++) {
        const udpai_hold_difference *difference = &hold_of(&replicas[i])->difference;
        assert_true(hold_of(&replicas[i])->is_listed);
        assert_true(difference->n_missing >= 2 && difference->n_returned == 0);
        assert_true(hold_of(&replicas[i])->n_names >= 2);
    }
    publish(&replicas[0], &(const char *){"refused"}, 1, "1");
    run_ms(3000);
    assert_int_equal(n_refused, 1);
    assert_all_have(expected);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_all_have(expected);
    assert_int_equal(n_changes, 0); /* clients have had it all */
    assert_true(replicas[0].node->context.n_commits > before);
    assert_true(etcd_has_record("kept") && !etcd_has_record("removed"));
    for (size_t i = 0; i < NODES; i++)
        assert_null(udpai_node_replica_status(replicas[i].node)->hold);
    put(&replicas[1], "after", "3");
    for (size_t i = 0; i < NODES; i++)
        assert_true(has_name(&replicas[i], "after"));
    assert_int_equal(n_records(), 4);
    free(expected);
}

static void
a_restored_snapshot_gets_back_what_it_lacks(void **state)
{
    (void)state;
    check_written_back(model.revision, OLDER);
}

static void
so_does_one_that_is_another_cluster(void **state)
{
    (void)state;
    check_written_back(model.revision, ANOTHER);
}

static void
so_does_an_etcd_that_is_empty(void **state)
{
    (void)state;
    check_written_back(0, ANOTHER);
}

static void
so_does_one_with_a_higher_revision(void **state)
{
    (void)state;
    check_written_back(model.revision, BUMPED);
}

static void
it_is_written_back_again_after_another_restore(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    check_written_back(snapshot, OLDER);
    char *expected = has(&replicas[0]);
    uint64_t before = replicas[0].node->context.n_commits;
    restore(snapshot, false);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_all_have(expected);
    assert_true(replicas[0].node->context.n_commits > before);
    free(expected);
}

/* Each of them is killed, and reads its disk again. */
static void
check_restarted(restored how)
{
    int64_t snapshot = model.revision;
    char *expected = go_on();
    uint64_t before = replicas[0].node->context.n_commits;
    for (size_t i = 0; i < NODES; i++)
        take_down(&replicas[i]);
    if (how == BUMPED)
        restore_bumped(snapshot);
    else
        restore(snapshot, false);
    for (size_t i = 0; i < NODES; i++)
        bring_up(&replicas[i]);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_all_have(expected);
    assert_true(replicas[0].node->context.n_commits > before);
    free(expected);
}

static void
so_it_is_when_all_were_restarted(void **state)
{
    (void)state;
    check_restarted(OLDER);
}

static void
so_it_is_with_a_higher_revision_when_all_were_restarted(void **state)
{
    (void)state;
    check_restarted(BUMPED);
}

static void
many_records_take_several_transactions(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    put_many(&replicas[0], 300, "1");
    char *expected = has(&replicas[0]);
    restore(snapshot, true);
    n_changes = 0;
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_all_have(expected);
    assert_int_equal(n_changes, 0);
    assert_int_equal(n_records(), 303);
    free(expected);
}

/* In the middle of a large change set: what was locked then is as it was after it. */
static void
what_a_snapshot_has_of_a_large_change_set_goes(void **state)
{
    (void)state;
    put_many(&replicas[0], 300, "1");
    char *expected = has(&replicas[0]);
    int64_t in_the_middle = 0;
    for (int64_t revision = 1; revision <= model.revision; revision++)
        if (etcd_model_count(&model, UDPAI_STR(PREFIX "p/"), revision) > 100)
            in_the_middle = revision;
    assert_true(in_the_middle > 0);
    restore(in_the_middle, false);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_all_have(expected);
    assert_int_equal(etcd_model_count(&model, UDPAI_STR(PREFIX "p/"), model.revision), 0);
    assert_int_equal(etcd_model_count(&model, UDPAI_STR(PREFIX "i/"), model.revision), 0);
    assert_int_equal(etcd_model_count(&model, UDPAI_STR(PREFIX "x/"), model.revision), 0);
    free(expected);
}

/* ---- of several ---- */

static void
the_newest_of_several_writes_and_others_receive_the_difference(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    put(&replicas[0], "changed", "2");
    take_down(&replicas[2]);
    put(&replicas[0], "new", "2");
    put(&replicas[0], "kept", "2");
    char *expected = has(&replicas[0]);
    restore(snapshot, false);
    bring_up(&replicas[2]);
    run_ms(5000);
    assert_all(UDPAI_REPLICATION_HELD);
    assert_false(has_name(&replicas[2], "new"));
    assert_non_null(strstr(next_of(&replicas[2]), "has the newest state"));
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_all_have(expected);
    free(expected);
}

/* One that was away all the while has nothing that others lack. */
static void
one_that_comes_later_takes_what_was_written_back(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    put(&replicas[0], "new", "2");
    take_down(&replicas[2]);
    restore(snapshot, true);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    put(&replicas[0], "newer", "3");
    bring_up(&replicas[2]);
    run_ms(10000);
    assert_int_equal(state_of(&replicas[2]), UDPAI_REPLICATION_CURRENT);
    assert_true(has_name(&replicas[2], "new") && has_name(&replicas[2], "newer"));
}

/* What the others do not know is not lost by itself. */
static void
one_that_has_more_than_was_written_back_holds_on(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    take_down(&replicas[0]);
    take_down(&replicas[1]);
    run_ms(15000);
    put(&replicas[2], "alone", "2");
    take_down(&replicas[2]);
    restore(snapshot, true);
    bring_up(&replicas[0]);
    bring_up(&replicas[1]);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    bring_up(&replicas[2]);
    run_ms(SETTLE_MS);
    assert_int_equal(state_of(&replicas[2]), UDPAI_REPLICATION_HELD);
    assert_true(has_name(&replicas[2], "alone"));
    assert_non_null(strstr(next_of(&replicas[2]), "serves what that etcd has"));
    assert_non_null(strstr(next_of(&replicas[2]), "udpactl store push"));
    udpai_replicator_answer_hold(replicas[2].replicator, UDPAI_HOLD_PUSH);
    run_ms(5000);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_true(has_name(&replicas[0], "alone") && has_name(&replicas[1], "alone"));
}

/* Behind the back of the others. */
static void
change_alone(replica *self, const char *value)
{
    udpai_store *store = udpai_node_store(self->node);
    udpai_origin *origin = udpai_store_find_origin(store, UDPAI_STR("publisher:alice/alice"));
    assert_non_null(origin);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource =
        RESOURCE("com.acme/kept", .type = TEST_CDS, .value = value, .version = value,
                 .authority = "acme", .generation = UINT64_C(1) << 62);
    assert_ok(udpai_store_put_replicated(store, origin, resource, 0));
    flush(self);
}

static void
those_that_disagree_write_nothing(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    free(go_on());
    change_alone(&replicas[1], "other");
    char *expected = has(&replicas[1]);
    restore(snapshot, false);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_HELD);
    assert_false(etcd_has(UDPAI_BACK_KEY));
    for (size_t i = 0; i < NODES; i++)
        assert_non_null(strstr(next_of(&replicas[i]), "has other resources"));
    udpai_replicator_answer_hold(replicas[1].replicator, UDPAI_HOLD_PUSH);
    run_ms(5000);
    assert_int_equal(state_of(&replicas[1]), UDPAI_REPLICATION_CURRENT);
    assert_has(&replicas[1], expected);
    assert_int_equal(state_of(&replicas[0]), UDPAI_REPLICATION_HELD);
    udpai_replicator_answer_hold(replicas[0].replicator, UDPAI_HOLD_ACCEPT);
    udpai_replicator_answer_hold(replicas[2].replicator, UDPAI_HOLD_ACCEPT);
    run_ms(5000);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_all_have(expected);
    free(expected);
}

static void
one_that_serves_from_it_already_is_asked_about(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    free(go_on());
    char *expected = has(&replicas[0]);
    take_down(&replicas[2]);
    fed_disk_done(&replicas[2].disk);
    restore(snapshot, true);
    bring_up(&replicas[2]);
    run_ms(SETTLE_MS);
    assert_int_equal(state_of(&replicas[2]), UDPAI_REPLICATION_CURRENT);
    assert_int_equal(state_of(&replicas[0]), UDPAI_REPLICATION_HELD);
    put(&replicas[2], "there", "3");
    assert_false(etcd_has(UDPAI_BACK_KEY));
    assert_non_null(strstr(next_of(&replicas[0]), "replica three serves"));
    udpai_replicator_answer_hold(replicas[0].replicator, UDPAI_HOLD_PUSH);
    run_ms(10000);
    assert_all(UDPAI_REPLICATION_CURRENT);
    for (size_t i = 0; i < NODES; i++) {
        char *text = has(&replicas[i]);
        assert_true(has_name(&replicas[i], "there")); /* what is new there stays */
        assert_true(has_name(&replicas[i], "new") && !has_name(&replicas[i], "removed"));
        free(text);
    }
    free(expected);
}

/* It has committed a large change set, and is killed before it has written the records. */
static void
what_a_server_has_committed_is_finished(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    free(go_on());
    take_down(&replicas[2]);
    fed_disk_done(&replicas[2].disk);
    restore(snapshot, true);
    bring_up(&replicas[2]);
    run_ms(SETTLE_MS);
    assert_int_equal(state_of(&replicas[0]), UDPAI_REPLICATION_HELD);
    publish_many(&replicas[2], 300, "1");
    for (int i = 0; i < 5000 && !is_under_way(); i++)
        run_ms(1);
    assert_true(is_under_way());
    take_down(&replicas[2]);
    udpai_replicator_answer_hold(replicas[0].replicator, UDPAI_HOLD_PUSH);
    run_ms(SETTLE_MS);
    bring_up(&replicas[2]);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_false(is_under_way());
    for (size_t i = 0; i < NODES; i++)
        assert_true(has_name(&replicas[i], "m000") && has_name(&replicas[i], "m299"));
    assert_int_equal(n_records(), 303); /* with kept, changed and new */
}

/* ---- who is right ---- */

static void
what_is_accepted_is_lost(void **state)
{
    (void)state;
    char *expected = has(&replicas[0]);
    int64_t snapshot = model.revision;
    free(go_on());
    restore(snapshot, true);
    run_ms(5000);
    assert_all(UDPAI_REPLICATION_HELD);
    for (size_t i = 0; i < NODES; i++)
        udpai_replicator_answer_hold(replicas[i].replicator, UDPAI_HOLD_ACCEPT);
    run_ms(5000);
    assert_all(UDPAI_REPLICATION_CURRENT);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_all_have(expected);
    assert_int_equal(n_records(), 3);
    put(&replicas[0], "after", "3");
    assert_true(has_name(&replicas[1], "after"));
    free(expected);
}

/* One that accepts within the grace keeps the others from writing. */
static void
one_that_accepts_stops_the_others(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    free(go_on());
    restore(snapshot, true);
    run_ms(5000);
    udpai_replicator_answer_hold(replicas[1].replicator, UDPAI_HOLD_ACCEPT);
    run_ms(SETTLE_MS);
    assert_int_equal(state_of(&replicas[1]), UDPAI_REPLICATION_CURRENT);
    assert_int_equal(state_of(&replicas[0]), UDPAI_REPLICATION_HELD);
    assert_false(etcd_has(UDPAI_BACK_KEY));
}

static void
nothing_is_written_into_what_is_of_another_set(void **state)
{
    (void)state;
    free(go_on());
    restore(0, true);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *set =
        udpai_set_value(UDPAI_STR("fedcba9876543210fedcba9876543210"), UDPAI_STR("node"));
    etcd_model_write(&model, PREFIX "set", udpai_bytes_view(set));
    int64_t revision = model.revision;
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_HELD);
    for (size_t i = 0; i < NODES; i++)
        udpai_replicator_answer_hold(replicas[i].replicator, UDPAI_HOLD_PUSH);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_HELD);
    assert_int_equal(model.revision, revision);
    assert_non_null(strstr(next_of(&replicas[0]), "of another replica set"));
}

static void
a_history_that_is_back_ends_the_hold(void **state)
{
    (void)state;
    put(&replicas[0], "new", "2");
    model.cluster_id++;
    etcd_model_restore(&model, model.revision); /* watches are cut */
    run_ms(3000);
    assert_all(UDPAI_REPLICATION_HELD);
    model.cluster_id--;
    run_ms(5000);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_false(etcd_has(UDPAI_BACK_KEY));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_restored_snapshot_gets_back_what_it_lacks),
        TEST(so_does_one_that_is_another_cluster),
        TEST(so_does_an_etcd_that_is_empty),
        TEST(so_does_one_with_a_higher_revision),
        TEST(it_is_written_back_again_after_another_restore),
        TEST(so_it_is_when_all_were_restarted),
        TEST(so_it_is_with_a_higher_revision_when_all_were_restarted),
        TEST(many_records_take_several_transactions),
        TEST(what_a_snapshot_has_of_a_large_change_set_goes),
        TEST(the_newest_of_several_writes_and_others_receive_the_difference),
        TEST(one_that_comes_later_takes_what_was_written_back),
        TEST(one_that_has_more_than_was_written_back_holds_on),
        TEST(those_that_disagree_write_nothing),
        TEST(one_that_serves_from_it_already_is_asked_about),
        TEST(what_a_server_has_committed_is_finished),
        TEST(what_is_accepted_is_lost),
        TEST(one_that_accepts_stops_the_others),
        TEST(nothing_is_written_into_what_is_of_another_set),
        TEST(a_history_that_is_back_ends_the_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
