/* SPDX-License-Identifier: Apache-2.0 */
/* What replicas have committed is what a node has, in the order in which they have, and after a
 * restart; nothing of it ends before they say so. */
#include "tests/unit/federation/replicated_bed.h"

/* ---- what others commit ---- */

static void
what_others_commit_is_there(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    others_put(bed, CAROL, "com.acme/x", "1", 5);
    assert_value(bed, "CDS", "x", "1");
    others_put(bed, CAROL, "com.acme/x", "2", 6);
    assert_value(bed, "CDS", "x", "2");
    udpai_durable_batch *batch = new_batch();
    add_delete(batch, CAROL, "com.acme/x");
    add_put(batch, CAROL, cluster("com.acme/y", "1", 7), 0);
    tell_change(bed, batch, false);
    flush(bed);
    assert_false(is_there(bed, "x"));
    assert_value(bed, "CDS", "y", "1");
    fed_advance(bed, 60000); /* it never ends */
    assert_int_equal(n_proposals, 0);
}

/* Its replica did not know of bob's. */
static void
what_a_removal_ends_goes_from_etcd(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    others_put(bed, ALICE, "com.acme/x", "1", 5);
    others_put(bed, BOB, "com.acme/x", "2", 6);
    others_put(bed, CAROL, "com.acme/x", "3", 20);
    udpai_durable_batch *batch = new_batch();
    add_removal(batch, "com.acme/x", 10);
    add_delete(batch, ALICE, "com.acme/x");
    tell_change(bed, batch, false);
    flush(bed);
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "-bob x");
    assert_int_equal(proposals[0].batch->position.revision, revision);
    assert_value(bed, "CDS", "x", "3");
    end_first(bed, UDPAI_REPLICATED_LOST, NULL); /* nobody's concern */
    assert_int_equal(n_proposals, 0);
    assert_value(bed, "CDS", "x", "3");
}

/* Deleting that would end what was published anew. */
static void
what_came_anew_behind_a_removal_is_not_deleted(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    others_put(bed, BOB, "com.acme/x", "1", 5);
    udpai_durable_batch *batch = new_batch();
    add_removal(batch, "com.acme/x", 10);
    tell_change(bed, batch, false);
    batch = new_batch();
    add_put(batch, BOB, cluster("com.acme/x", "2", 11), 0);
    tell_change(bed, batch, false);
    flush(bed);
    assert_value(bed, "CDS", "x", "2");
    assert_int_equal(n_proposals, 0);
}

/* As if it had come before that; nobody else may have seen it so. */
static void
what_comes_too_late_for_a_removal_goes_from_etcd(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    udpai_durable_batch *batch = new_batch();
    add_removal(batch, "com.acme/x", 10);
    tell_change(bed, batch, false);
    batch = new_batch();
    add_put(batch, BOB, cluster("com.acme/x", "1", 9), 0);
    add_put(batch, CAROL, cluster("com.acme/x", "2", 11), 0);
    tell_change(bed, batch, false);
    flush(bed);
    assert_value(bed, "CDS", "x", "2");
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "-bob x");
    assert_int_equal(proposals[0].batch->position.revision, revision);
    commit_first(bed);
    assert_value(bed, "CDS", "x", "2");
    assert_int_equal(n_proposals, 0);
}

static void
a_removal_that_is_forgotten_goes_from_etcd(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    commit_all(bed);
    publish(bed, session, "-x");
    commit_all(bed);
    fed_advance(bed, bed->config.store.remember_ms + 1000);
    flush(bed);
    assert_int_equal(n_proposals, 1);
    assert_string_equal(proposed(0), "-!x");
}

/* ---- what ends by the clock ---- */

/* By a replica whose clock differs by so much from ours. */
static udpai_durable_batch *
put_of(const fed_bed *bed, const char *origin, const char *name, int64_t ttl_ms, int64_t clock_ms)
{
    udpai_durable_batch *batch = new_batch();
    udpa_resource *resource = RESOURCE(
        name, .type = TEST_CDS, .value = "1", .version = "1", .authority = "acme", .generation = 5,
        .ttl_ms = (uint64_t)ttl_ms, .hops = {{"node", "acme", "the-set"}});
    add_put(batch, origin, resource, wall_us((void *)(uintptr_t)bed) + (ttl_ms + clock_ms) * 1000);
    return batch;
}

static void
put_for(fed_bed *bed, const char *origin, const char *name, int64_t ttl_ms)
{
    tell_change(bed, put_of(bed, origin, name, ttl_ms, 0), false);
    flush(bed);
}

/* However often its publisher refreshes it. */
static void
a_refresh_is_written_when_a_third_is_over(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    for (int second = 0; second < 60; second++) {
        udpa_resource *resource =
            RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1", .version = "1", .ttl_ms = 30000);
        assert_string_equal(fed_put(bed, session, resource, false), "");
        assert_proposed(0, second % 10 == 0 ? "+alice x=1" : ""); /* which waits for the barrier */
        commit_all(bed);
        fed_advance(bed, 1000);
    }
    assert_value(bed, "CDS", "x", "1");
}

static void
refresh(fed_bed *bed, uint64_t session, const char *wanted)
{
    udpa_resource *resource =
        RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1", .version = "1", .ttl_ms = 30000);
    assert_string_equal(fed_put(bed, session, resource, false), "");
    assert_proposed(0, wanted);
}

static void
others_refresh(fed_bed *bed, udpa_resource *written)
{
    udpai_durable_batch *batch = new_batch();
    add_put(batch, ALICE, udpa_resource_ref(written),
            wall_us((void *)(uintptr_t)bed) + INT64_C(30000) * 1000);
    tell_change(bed, batch, false);
    flush(bed);
}

/* A replica that was stopped receives late what others have written meanwhile: a receipt for a
 * refresh that is not written would be for a time that is over. */
static void
what_others_have_refreshed_is_written_again(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    refresh(bed, session, "+alice x=1");
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *written = udpa_resource_ref(proposals[0].batch->ops.items[0].resource);
    commit_all(bed);
    fed_advance(bed, 11000);
    others_refresh(bed, written);
    refresh(bed, session, "+alice x=1");
    commit_all(bed);
    fed_advance(bed, 9000); /* what is written later than by this node is not older */
    others_refresh(bed, written);
    refresh(bed, session, "");
    commit_all(bed);
    fed_advance(bed, 1000);
    refresh(bed, session, "+alice x=1");
    end_first(bed, UDPAI_REPLICATED_NOT_DONE, NULL); /* it was not written */
    refresh(bed, session, "+alice x=1");
    commit_all(bed);
}

static void
nothing_ends_before_that_is_committed(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    put_for(bed, CAROL, "com.acme/x", 3000);
    fed_advance(bed, 2900);
    assert_int_equal(n_proposals, 0);
    fed_advance(bed, 200);
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "-carol x");
    assert_value(bed, "CDS", "x", "1");
    fed_advance(bed, 2 * UDPAI_EXPIRED_AGAIN_MS);
    assert_int_equal(n_proposals, 1); /* it is under way */
    end_first(bed, UDPAI_REPLICATED_NOT_DONE, NULL);
    assert_value(bed, "CDS", "x", "1");
    fed_advance(bed, UDPAI_EXPIRED_AGAIN_MS);
    assert_int_equal(n_proposals, 1);
    commit_all(bed);
    assert_false(is_there(bed, "x"));
    fed_advance(bed, 2 * UDPAI_EXPIRED_AGAIN_MS);
    assert_int_equal(n_proposals, 0);
}

static void
assert_ends_after(fed_bed *bed, uint64_t ms)
{
    fed_advance(bed, ms - 100);
    assert_int_equal(n_proposals, 0);
    fed_advance(bed, 200);
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "-carol x");
}

static void
others_may_have_another_clock(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    for (int64_t clock_ms = -600000; clock_ms <= 600000; clock_ms += 600000) {
        tell_change(bed, put_of(bed, CAROL, "com.acme/x", 30000, clock_ms), false);
        flush(bed);
        assert_ends_after(bed, 30000);
        commit_all(bed);
    }
}

/* What it has already ends when it would have; what may have been renewed has its time. */
static void
what_is_read_anew_ends_in_its_time(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    for (int is_known = 0; is_known < 2; is_known++) {
        tell_change(bed, put_of(bed, CAROL, "com.acme/x", 30000, -600000), false);
        flush(bed);
        fed_advance(bed, 20000);
        udpai_durable_batch *all = put_of(bed, CAROL, "com.acme/x", 30000, -620000);
        all->ops.items[0].is_known = is_known;
        tell_change(bed, all, true);
        flush(bed);
        assert_ends_after(bed, is_known ? 10000 : 30000);
        commit_all(bed);
    }
}

static void
after_a_restart_it_has_its_time(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    tell_change(bed, put_of(bed, CAROL, "com.acme/x", 30000, 0), false);
    flush(bed);
    bed->wall_us += 600000000; /* while it was away, or its clock was set */
    restart(bed);
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    tell_members(bed, "a", 0);
    flush(bed);
    assert_ends_after(bed, 30000);
}

static void
what_is_renewed_meanwhile_stays(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    put_for(bed, CAROL, "com.acme/x", 3000);
    fed_advance(bed, 3100);
    assert_int_equal(n_proposals, 1);
    put_for(bed, CAROL, "com.acme/x", 60000); /* by another replica, which was first */
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    fed_advance(bed, 2 * UDPAI_EXPIRED_AGAIN_MS);
    assert_int_equal(n_proposals, 0);
    assert_value(bed, "CDS", "x", "1");
}

static void
while_etcd_is_away_nothing_ends(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    put_for(bed, CAROL, "com.acme/x", 3000);
    tell_state(bed, UDPAI_REPLICATION_BEHIND);
    fed_advance(bed, 2000);
    assert_int_equal(udpai_node_replica_status(bed->node)->n_overdue, 0);
    fed_advance(bed, 60000);
    assert_int_equal(n_proposals, 0);
    assert_int_equal(udpai_node_replica_status(bed->node)->n_overdue, 1);
    assert_value(bed, "CDS", "x", "1");
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    fed_advance(bed, UDPAI_EXPIRED_AGAIN_MS);
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "-carol x");
    commit_all(bed);
    assert_int_equal(udpai_node_replica_status(bed->node)->n_overdue, 0);
}

/* ---- all that there is ---- */

static void
what_is_not_there_any_more_ends(void **state)
{
    fed_bed *bed = *state;
    FED_PROVIDER(bed, {'a', "com.acme/", UDPAI_STOP_ON_SUCCESS, false});
    fed_type(bed, "CDS");
    uint64_t session = arrive(bed, &alice);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "s=1 !com.acme");
    udpa_resource *report = RESOURCE("com.acme/alice", .type = UDPAI_TYPE_ORCA_REPORT, .value = "v",
                                     .version = "1", .ttl_ms = 600000);
    assert_string_equal(fed_put(bed, session, report, false), "");
    assert_value(bed, UDPAI_TYPE_ORCA_REPORT, "alice", "v");
    udpa_resource *file = RESOURCE("com.acme/f", .type = TEST_CDS, .value = "1", .version = "1");
    const udpai_directory directory = {
        .root = UDPAI_STR("/etc/udpa"), .resources = &file, .n_resources = 1};
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    udpa_resource_unref(file);
    flush(bed);
    commit_all(bed); /* the stamp of the file */
    others_put(bed, CAROL, "com.acme/x", "1", 5);
    others_put(bed, CAROL, "com.acme/y", "1", 5);
    others_put(bed, BOB, "com.acme/x", "2", 6);
    assert_value(bed, "CDS", "s", "1");
    udpai_durable_batch *batch = new_batch();
    add_put(batch, CAROL, cluster("com.acme/y", "1", 5), 0);
    add_put(batch, CAROL, cluster("com.acme/z", "1", 5), 0);
    tell_change(bed, batch, true);
    flush(bed);
    assert_false(is_there(bed, "x"));
    assert_value(bed, "CDS", "y", "1");
    assert_value(bed, "CDS", "z", "1");
    assert_value(bed, "CDS", "s", "1");
    assert_value(bed, "CDS", "f", "1");
    assert_value(bed, UDPAI_TYPE_ORCA_REPORT, "alice", "v");
    assert_int_equal(n_proposals, 0);
    restart(bed);
    assert_false(is_there(bed, "x"));
    assert_value(bed, "CDS", "y", "1");
    assert_value(bed, "CDS", "z", "1");
}

/* ---- what is kept ---- */

static void
the_position_is_kept_with_what_it_has(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    commit_all(bed);
    assert_int_equal(udpai_node_position(bed->node).revision, revision);
    restart(bed);
    assert_true(udpai_node_position(bed->node).cluster_id == CLUSTER);
    assert_int_equal(udpai_node_position(bed->node).revision, revision);
    assert_value(bed, "CDS", "x", "1");
    bed->is_engine_slow = true;
    session = fed_arrive(bed, &alice);
    publish(bed, session, "y=1");
    assert_int_equal(proposals[0].batch->position.revision, revision);
    int64_t before = revision;
    restart(bed); /* it was never committed */
    assert_false(is_there(bed, "y"));
    assert_int_equal(udpai_node_position(bed->node).revision, before);
}

/* What it publishes by itself then is in no etcd. */
static void
a_replica_that_goes_its_own_way_forgets_its_position(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    commit_all(bed);
    bed->node = udpai_node_free(bed->node);
    fed_start(bed);
    assert_value(bed, "CDS", "x", "1");
    flush(bed);
    restart(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_true(udpai_node_position(bed->node).cluster_id == 0);
}

/* As when all is read again, or a large change set is finished. An etcd that was restored from a
 * snapshot between is older than what this replica has applied. */
static void
the_position_is_kept_also_where_nothing_else_changes(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    others_put(bed, BOB, "x", "1", 5);
    uint64_t before = bed->committed;
    others_put(bed, BOB, "x", "1", 5);
    assert_int_equal(bed->committed, before + 1);
    flush(bed);
    assert_int_equal(bed->committed, before + 1); /* once */
    restart(bed);
    assert_int_equal(udpai_node_position(bed->node).revision, revision);
}

/* A receipt says that etcd has it; the copy here may come later. */
static void
a_receipt_does_not_wait_for_the_copy(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    bed->is_engine_slow = true;
    publish(bed, session, "x=1");
    proposal one = take_first();
    tell_change(bed, one.batch, false);
    tell_outcome(bed, one.ticket, UDPAI_REPLICATED_COMMITTED, NULL);
    udpai_node_flush(bed->node);
    assert_int_equal(bed->n_judged, 1);
}

/* What the copy here has lost is put again when all is reported. */
static void
what_could_not_be_kept_comes_back(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    commit_all(bed);
    fed_disk disk = bed->kept;
    bed->kept = (fed_disk){0};
    publish(bed, session, "y=1");
    proposal one = take_first();
    tell_change(bed, one.batch, false);
    udpai_node_flush(bed->node);
    udpai_node_committed(bed->node, bed->committed, UDPA_ERR_IO);
    udpai_node_flush(bed->node);
    fed_disk_done(&bed->kept);
    bed->kept = disk;
    restart(bed);
    assert_false(is_there(bed, "y"));
    udpai_durable_batch *batch = new_batch();
    add_put(batch, ALICE, cluster("com.acme/x", "1", 5), 0);
    add_put(batch, ALICE, cluster("com.acme/y", "1", 5), 0);
    tell_change(bed, batch, true);
    flush(bed);
    assert_value(bed, "CDS", "y", "1");
    restart(bed);
    assert_value(bed, "CDS", "y", "1");
}

/* ---- memory ---- */

static void
without_memory_a_change_comes_later(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    for (int n = 0; n < 40; n++) {
        char words[64], value[16];
        (void)snprintf(value, sizeof(value), "%d", n);
        (void)snprintf(words, sizeof(words), "x=%d y%d=1", n, n);
        publish(bed, session, words);
        assert_int_equal(n_proposals, 1);
        proposal one = take_first();
        tell_change(bed, one.batch, false);
        tell_outcome(bed, one.ticket, UDPAI_REPLICATED_COMMITTED, NULL);
        assert_true(udpai_vector_reserve(&bed->kept, 64));
        udpai_alloc_fail_after(n);
        udpai_node_flush(bed->node);
        udpai_alloc_fail_after(-1);
        flush(bed);
        assert_value(bed, "CDS", "x", value);
        assert_int_equal(bed->n_judged, n + 1);
        assert_int_equal(n_proposals, 0);
    }
}

static void
without_memory_all_of_it_comes_later(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    for (int n = 0; n < 60; n++) {
        others_put(bed, CAROL, "com.acme/x", "1", 5);
        others_put(bed, BOB, "com.acme/y", "1", 5);
        udpai_durable_batch *batch = new_batch();
        add_put(batch, CAROL, cluster("com.acme/z", "1", 5), 0);
        tell_change(bed, batch, true);
        assert_true(udpai_vector_reserve(&bed->kept, 64));
        udpai_alloc_fail_after(n);
        udpai_node_flush(bed->node);
        udpai_alloc_fail_after(-1);
        flush(bed);
        assert_false(is_there(bed, "x"));
        assert_false(is_there(bed, "y"));
        assert_value(bed, "CDS", "z", "1");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        replicated_test(what_others_commit_is_there),
        replicated_test(what_a_removal_ends_goes_from_etcd),
        replicated_test(what_came_anew_behind_a_removal_is_not_deleted),
        replicated_test(what_comes_too_late_for_a_removal_goes_from_etcd),
        replicated_test(a_removal_that_is_forgotten_goes_from_etcd),
        replicated_test(a_refresh_is_written_when_a_third_is_over),
        replicated_test(what_others_have_refreshed_is_written_again),
        replicated_test(nothing_ends_before_that_is_committed),
        replicated_test(others_may_have_another_clock),
        replicated_test(what_is_read_anew_ends_in_its_time),
        replicated_test(after_a_restart_it_has_its_time),
        replicated_test(what_is_renewed_meanwhile_stays),
        replicated_test(while_etcd_is_away_nothing_ends),
        replicated_test(what_is_not_there_any_more_ends),
        replicated_test(the_position_is_kept_with_what_it_has),
        replicated_test(a_replica_that_goes_its_own_way_forgets_its_position),
        replicated_test(the_position_is_kept_also_where_nothing_else_changes),
        replicated_test(a_receipt_does_not_wait_for_the_copy),
        replicated_test(what_could_not_be_kept_comes_back),
        replicated_test(without_memory_a_change_comes_later),
        replicated_test(without_memory_all_of_it_comes_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
