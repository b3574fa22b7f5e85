/* SPDX-License-Identifier: Apache-2.0 */
/* A node that has replicas proposes what it is published: nothing is effective, and nobody has an
 * answer, before its replicas have committed it. */
#include "federation/node_internal.h"
#include "tests/unit/federation/replicated_bed.h"

/* ---- one publication ---- */

static void
nothing_is_there_before_it_is_committed(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1 y=1");
    fed_advance(bed, 10000);
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "+alice x=1, +alice y=1");
    assert_int_equal(proposals[0].batch->position.revision, revision);
    assert_true(proposals[0].batch->position.cluster_id == CLUSTER);
    assert_false(is_there(bed, "x"));
    assert_int_equal(bed->n_judged, 0);
    proposal one = take_first();
    tell_change(bed, one.batch, false);
    flush(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "1");
    assert_int_equal(bed->n_judged, 0); /* of the outcome nothing is known yet */
    tell_outcome(bed, one.ticket, UDPAI_REPLICATED_COMMITTED, NULL);
    flush(bed);
    assert_int_equal(bed->n_judged, 1);
    assert_string_equal(bed->judged, "");
    assert_int_equal(n_proposals, 0);
}

static void
a_removal_is_remembered_for_all(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1 y=1");
    commit_all(bed);
    publish(bed, session, "-x y=2");
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "!x, -alice x, +alice y=2");
    commit_first(bed);
    assert_int_equal(bed->n_judged, 2);
    assert_false(is_there(bed, "x"));
    assert_value(bed, "CDS", "y", "2");
    assert_int_equal(n_proposals, 0); /* it has ended nothing that it did not know */
}

/* What is put in the same publication is newer than the removal. */
static void
what_is_removed_and_published_is_new(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    commit_all(bed);
    publish(bed, session, "-x x=1 y=1");
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "!x, +alice x=1, +alice y=1"); /* each once, as etcd wants it */
    commit_all(bed);                                  /* and whatever follows from it */
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(n_committed, 2);
}

/* For all replicas at one time. */
static void
what_has_a_ttl_is_proposed_with_its_end(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    udpa_resource *short_one =
        RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1", .version = "1", .ttl_ms = 9999);
    udpa_resource *resource =
        RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1", .version = "1", .ttl_ms = 30000);
    assert_non_null(strstr(fed_put(bed, session, short_one, false), "at least 10000 ms"));
    assert_int_equal(n_proposals, 0);
    assert_string_equal(fed_put(bed, session, resource, false), "");
    assert_int_equal(n_proposals, 1);
    assert_true(proposals[0].batch->ops.items[0].expires_us == wall_us(bed) + 30000000);
    commit_all(bed);
    fed_advance(bed, 29900);
    assert_int_equal(n_proposals, 0);
    fed_advance(bed, 200);
    assert_proposed(0, "-alice x");
}

/* They have it by themselves on each replica, and end it by the removal. */
static void
what_sources_have_is_not_proposed(void **state)
{
    fed_bed *bed = *state;
    FED_PROVIDER(bed, {'a', "com.acme/", UDPAI_STOP_ON_SUCCESS, false});
    fed_type(bed, "CDS");
    uint64_t session = arrive(bed, &alice);
    fed_connect(bed, 'a');
    for (int i = 0; i < 2; i++) {
        udpa_resource *resource =
            RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1", .version = "1",
                     .authority = "acme", .generation = 5, .hops = {{"n1", "acme"}});
        assert_string_equal(fed_put(bed, i ? session : bed->sessions[0], resource, false), "");
        assert_int_equal(n_proposals, i);
    }
    assert_proposed(0, "+alice x=1");
    commit_all(bed);
    publish(bed, session, "-x");
    assert_proposed(0, "!x, -alice x");
    commit_all(bed);
    assert_false(is_there(bed, "x"));
}

static void
each_publication_is_proposed_by_itself(void **state)
{
    fed_bed *bed = *state;
    uint64_t one = arrive(bed, &alice), two = arrive(bed, &bob);
    publish(bed, one, "x=1");
    publish(bed, one, "y=1");
    publish(bed, two, "z=1");
    assert_int_equal(n_proposals, 3);
    assert_proposed(0, "+alice x=1");
    assert_proposed(1, "+alice y=1");
    assert_proposed(2, "+bob z=1");
    proposal first = take_first();
    commit_first(bed); /* in whatever order */
    assert_value(bed, "CDS", "y", "1");
    assert_int_equal(bed->n_judged, 1);
    tell_change(bed, first.batch, false);
    tell_outcome(bed, first.ticket, UDPAI_REPLICATED_COMMITTED, NULL);
    flush(bed);
    commit_all(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "z", "1");
    assert_int_equal(bed->n_judged, 3);
}

static void
publications_about_one_name_wait_for_each_other(void **state)
{
    fed_bed *bed = *state;
    uint64_t one = arrive(bed, &alice), two = arrive(bed, &bob);
    publish(bed, one, "x=1");
    publish(bed, two, "x=3");
    publish(bed, one, "x=2 y=1");
    assert_int_equal(n_proposals, 1);
    int64_t first = proposals[0].batch->position.revision;
    commit_first(bed);
    assert_int_equal(bed->n_judged, 1);
    assert_int_equal(n_proposals, 1);
    assert_true(proposals[0].batch->position.revision > first);
    while (n_proposals)
        commit_first(bed);
    assert_int_equal(n_committed, 3);
    assert_int_equal(bed->n_judged, 3);
    assert_value(bed, "CDS", "y", "1");
}

/* ---- what was lost ---- */

static void
what_was_lost_is_decided_by_what_there_is(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    uint64_t before = udpa_resource_generation(proposals[0].batch->ops.items[0].resource);
    uint64_t others = before + 1000000000; /* by a clock that is ahead */
    others_put(bed, ALICE, "com.acme/x", "other", others);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_int_equal(bed->n_judged, 0);
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "+alice x=1");
    assert_int_equal(proposals[0].batch->position.revision, revision);
    assert_true(udpa_resource_generation(proposals[0].batch->ops.items[0].resource) > others);
    assert_value(bed, "CDS", "x", "other");
    commit_first(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(bed->n_judged, 1);
    assert_string_equal(bed->judged, "");
}

static void
what_is_lost_each_time_is_refused(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    publish(bed, session, "x=2");
    unsigned n = 0;
    while (bed->n_judged == 0 && ++n < 100) {
        assert_int_equal(n_proposals, 1);
        assert_proposed(0, "+alice x=1");
        end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    }
    assert_true(n > 8 && n < 100);
    assert_int_equal(bed->n_judged, 1);
    assert_non_null(
        strstr(bed->judged, "other replicas have changed the same resources each time"));
    assert_false(is_there(bed, "x"));
    assert_proposed(0, "+alice x=2"); /* and the next has its turn */
    commit_all(bed);
    assert_value(bed, "CDS", "x", "2");
}

/* It may be that nothing need be done any more. */
static void
what_is_there_already_is_not_proposed_again(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    commit_all(bed);
    publish(bed, session, "-x");
    udpai_durable_batch *batch = new_batch();
    add_delete(batch, ALICE, "com.acme/x");
    tell_change(bed, batch, false);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_int_equal(n_proposals, 0);
    assert_int_equal(bed->n_judged, 2);
    assert_string_equal(bed->judged, "");
}

/* What another replica has a receipt for is on its way here. */
static void
what_seems_to_change_nothing_is_decided_once_more(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "-x");
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "");
    assert_int_equal(bed->n_judged, 0);
    others_put(bed, ALICE, "com.acme/x", "1", 5);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_int_equal(bed->n_judged, 0);
    assert_proposed(0, "!x, -alice x");
    commit_first(bed);
    assert_int_equal(bed->n_judged, 1);
    assert_false(is_there(bed, "x"));
    publish(bed, session, "-x");
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_int_equal(n_proposals, 0);
    assert_int_equal(bed->n_judged, 2);
    assert_string_equal(bed->judged, "");
    publish(bed, session, "x=2");
    commit_first(bed);
    publish(bed, session, "x=2");
    assert_proposed(0, "");
    others_put(bed, ALICE, "com.acme/x", "3", UINT64_C(1) << 60);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_proposed(0, "+alice x=2");
}

/* Else that part would have a receipt, and what another replica has of it would stay. */
static void
what_seems_to_change_nothing_in_part_is_decided_once_more(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1 -y");
    assert_proposed(0, "");
    others_put(bed, ALICE, "com.acme/y", "1", 5);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_proposed(0, "!y, -alice y, +alice x=1");
    commit_first(bed);
    assert_int_equal(bed->n_judged, 1);
    publish(bed, session, "x=1 z=1");
    assert_proposed(0, "");
    others_put(bed, ALICE, "com.acme/x", "2", UINT64_C(1) << 60);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_proposed(0, "+alice x=1, +alice z=1");
    commit_first(bed);
    assert_int_equal(bed->n_judged, 2);
    publish(bed, session, "x=3 z=3"); /* all of it is compared */
    assert_proposed(0, "+alice x=3, +alice z=3");
    commit_first(bed);
}

/* It removes what is left out, also what another replica has. */
static void
a_state_is_decided_once_more(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "*com.acme x=1");
    assert_proposed(0, "");
    others_put(bed, ALICE, "com.acme/y", "1", 5);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_proposed(0, "!y, -alice y, +alice x=1");
    commit_first(bed);
    assert_int_equal(bed->n_judged, 1);
}

static void
where_a_replica_is_behind_a_removal_waits(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    tell_state(bed, UDPAI_REPLICATION_BEHIND);
    publish(bed, session, "-x");
    assert_proposed(0, "");
    others_put(bed, ALICE, "com.acme/x", "1", 5);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_proposed(0, "!x, -alice x");
    commit_first(bed);
    assert_int_equal(bed->n_judged, 1);
    assert_string_equal(bed->judged, "");
}

static void
remove_of_all_types(fed_bed *bed, uint64_t session, const char *name)
{
    udpai_publication *publication = udpai_publication_new();
    assert_non_null(publication);
    assert_ok(udpai_publication_remove(publication, udpai_str_from(name)));
    (void)fed_judge(bed, session, publication);
}

/* Of some type it is not there. */
static void
what_is_removed_of_all_types_is_certain(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    remove_of_all_types(bed, session, "com.acme/x"); /* there are no types */
    assert_proposed(0, "");
    others_put(bed, ALICE, "com.acme/x", "1", 5);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_proposed(0, "!x, -alice x");
    commit_first(bed);
    (void)fed_publish_at(bed, session, "EDS", "x=1 y=1");
    publish(bed, session, "x=1");
    commit_all(bed);
    tell_state(bed, UDPAI_REPLICATION_BEHIND);
    remove_of_all_types(bed, session, "com.acme/y");
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_proposed(0, "!y, -alice y");
    commit_first(bed);
    assert_string_equal(bed->judged, "");
}

/* ---- limits ---- */

/* Of the publisher nine are there. */
static uint64_t
arrive_with_nine_of_ten(fed_bed *bed)
{
    bed->config.store.max_resources_per_publisher = 10;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1");
    assert_proposed(0, "+alice a=1, +alice b=1, +alice c=1, +alice d=1, +alice e=1, +alice f=1, "
                       "+alice g=1, +alice h=1, +alice i=1");
    commit_first(bed);
    bed->n_judged = 0;
    return session;
}

static void
the_last_room_is_given_by_what_all_replicas_have(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive_with_nine_of_ten(bed);
    publish(bed, session, "j=1");
    assert_proposed(0, "");
    others_put(bed, ALICE, "com.acme/k", "1", 5);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_int_equal(n_proposals, 0);
    assert_int_equal(bed->n_judged, 1);
    assert_non_null(strstr(bed->judged, "is full: 10 resources of 10"));
    publish(bed, session, "-k");
    assert_proposed(0, "!k, -alice k");
    commit_first(bed);
    publish(bed, session, "j=1");
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_proposed(0, "+alice j=1");
    commit_first(bed);
    assert_true(is_there(bed, "j"));
}

static void
near_a_limit_one_is_on_its_way(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive_with_nine_of_ten(bed), other = fed_arrive(bed, &bob);
    publish(bed, session, "j=1");
    publish(bed, other, "x=1");
    assert_int_equal(n_proposals, 1);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_proposed(0, "+alice j=1");
    assert_int_equal(n_proposals, 1);
    commit_first(bed);
    assert_proposed(0, "+bob x=1");
    commit_first(bed);
    publish(bed, session, "a=2"); /* it takes nothing more */
    assert_proposed(0, "+alice a=2");
    publish(bed, other, "x=2");
    assert_int_equal(n_proposals, 2);
    commit_all(bed);
}

/* Another one may have as many on their way: of ten, each has five. */
static void
what_two_replicas_have_on_their_way_fits(void **state)
{
    fed_bed *bed = *state;
    char word[] = "a=1";
    bed->config.store.max_resources_per_publisher = 10;
    uint64_t session = arrive(bed, &alice);
    tell_members(bed, "aa", 0);
    for (; word[0] < 'a' + 9; word[0]++)
        publish(bed, session, word);
    assert_int_equal(n_proposals, 6);
    assert_proposed(4, "+alice e=1");
    assert_proposed(5, ""); /* the sixth is decided by what all have committed */
    for (int i = 0; i < 5; i++)
        commit_first(bed);
    assert_int_equal(n_proposals, 1);
    for (char name[] = "com.acme/q"; name[9] < 'q' + 5; name[9]++)
        others_put(bed, ALICE, name, "1", 5);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    commit_all(bed);
    assert_true(is_there(bed, "e"));
    assert_false(is_there(bed, "f"));
}

static void
what_comes_after_it_does_not_overtake_it(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "-x");
    publish(bed, session, "x=1");
    assert_int_equal(n_proposals, 1);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_proposed(0, "+alice x=1");
    commit_all(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(bed->n_judged, 2);
}

static void
what_is_not_known_in_time_is_refused(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "-x");
    end_first(bed, UDPAI_REPLICATED_NOT_DONE, NULL);
    assert_int_equal(bed->n_judged, 1);
    assert_string_not_equal(bed->judged, "");
}

/* What came after a state is not left out by it. */
static void
a_state_that_was_lost_ends_nothing_that_came_after_it(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "*com.acme x=1");
    publish(bed, session, "y=1");
    proposal first = take_first();
    while (n_proposals)
        commit_first(bed);
    udpai_durable_batch_free(first.batch);
    tell_outcome(bed, first.ticket, UDPAI_REPLICATED_LOST, NULL);
    flush(bed);
    commit_all(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "1");
    assert_int_equal(bed->n_judged, 2);
}

/* ---- what was not committed ---- */

static void
what_is_not_committed_is_refused_with_the_reason(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    end_first(bed, UDPAI_REPLICATED_REJECTED,
              udpa_error_new(UDPA_ERR_LIMIT, NULL, "too large for etcd"));
    assert_int_equal(bed->n_judged, 1);
    assert_string_equal(bed->judged, "'com.acme/x': too large for etcd");
    publish(bed, session, "x=2");
    end_first(bed, UDPAI_REPLICATED_NOT_DONE,
              udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "etcd is away"));
    assert_int_equal(bed->n_judged, 2);
    assert_string_equal(bed->judged, "'com.acme/x': etcd is away");
    publish(bed, session, "x=3");
    end_first(bed, UDPAI_REPLICATED_NOT_DONE, NULL);
    assert_non_null(strstr(bed->judged, "could not be committed"));
    assert_int_equal(bed->n_judged, 3);
    assert_int_equal(n_proposals, 0);
    assert_false(is_there(bed, "x"));
    assert_orders(bed, "");
    publish(bed, session, "x=4");
    commit_all(bed);
    assert_value(bed, "CDS", "x", "4");
}

static void
where_nobody_knows_the_stream_ends_without_a_receipt(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice), other = arrive(bed, &bob);
    bed->sessions[0] = session;
    bed->sessions[1] = other;
    publish(bed, session, "x=1");
    publish(bed, other, "x=2");
    end_first(bed, UDPAI_REPLICATED_UNKNOWN,
              udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "no answer"));
    assert_orders(bed, "hangup a");
    assert_int_equal(bed->n_judged, 0);
    assert_false(is_there(bed, "x"));
    assert_proposed(0, "+bob x=2"); /* the name is free */
    commit_all(bed);
    assert_int_equal(bed->n_judged, 1);
    others_put(bed, ALICE, "com.acme/y", "1", 5); /* it was committed after all */
    assert_value(bed, "CDS", "y", "1");
}

/* ---- the peer has gone ---- */

static void
the_peer_is_gone_when_the_outcome_comes(void **state)
{
    static const udpai_replicated_outcome outcomes[] = {
        UDPAI_REPLICATED_COMMITTED, UDPAI_REPLICATED_LOST, UDPAI_REPLICATED_REJECTED,
        UDPAI_REPLICATED_NOT_DONE, UDPAI_REPLICATED_UNKNOWN};
    fed_bed *bed = *state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(outcomes); i++) {
        uint64_t session = arrive(bed, &alice);
        char words[32], name[16];
        (void)snprintf(name, sizeof(name), "x%zu", i);
        (void)snprintf(words, sizeof(words), "%s=1", name);
        publish(bed, session, words);
        fed_leave(bed, session, false);
        assert_null(udpai_peers_find(bed->node->parts.peers, session));
        if (outcomes[i] == UDPAI_REPLICATED_COMMITTED)
            commit_first(bed);
        else
            end_first(bed, outcomes[i], NULL);
        assert_int_equal(is_there(bed, name), outcomes[i] == UDPAI_REPLICATED_COMMITTED);
        assert_int_equal(n_proposals, 0);
    }
}

/* Its publisher may have a receipt of another replica by now, for something newer. */
static void
what_waits_when_its_stream_ends_is_not_decided(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice), other = fed_arrive(bed, &alice);
    publish(bed, session, "x=1");
    publish(bed, session, "x=2");
    publish(bed, other, "x=3");
    fed_leave(bed, session, false);
    commit_first(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_null(udpai_peers_find(bed->node->parts.peers, session));
    assert_int_equal(n_proposals, 1);
    assert_proposed(0, "+alice x=3"); /* of the one that is still there */
    commit_all(bed);
    assert_value(bed, "CDS", "x", "3");
    assert_int_equal(bed->n_judged, 2);
}

static void
the_end_of_a_stream_waits_for_nothing_that_it_drops(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    publish(bed, session, "x=2");
    fed_leave(bed, session, false);
    assert_null(udpai_peers_find(bed->node->parts.peers, session));
    commit_all(bed);
    assert_value(bed, "CDS", "x", "1");
}

/* Meanwhile another replica may have a receipt of the same publisher for something newer. */
static void
what_is_lost_when_its_stream_has_ended_is_not_decided_again(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    fed_leave(bed, session, false);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_int_equal(n_proposals, 0);
    assert_false(is_there(bed, "x"));
    assert_null(udpai_peers_find(bed->node->parts.peers, session));
}

/* ---- memory ---- */

/* It is refused, or committed: in any case answered. */
static void
without_memory_what_is_published_is_answered(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    unsigned n_refused = 0;
    for (int n = 0; n < 60; n++) {
        char words[64];
        (void)snprintf(words, sizeof(words), "x=%d", n);
        fed_short(bed, n, true);
        publish(bed, session, words);
        n_refused += n_proposals == 0;
        commit_all(bed);
        assert_int_equal(bed->n_judged, n + 1);
    }
    assert_true(n_refused > 5 && n_refused < 55);
}

/* With memory for no more than the end of the stream, or not even that. */
static void
without_memory_nobody_is_told_what_is_not_known(void **state)
{
    fed_bed *bed = *state;
    for (int n = 0; n < 20; n++) {
        uint64_t session = arrive(bed, &alice);
        bed->sessions[0] = session;
        publish(bed, session, "x=1");
        proposal one = take_first();
        udpai_durable_batch_free(one.batch);
        tell_outcome(bed, one.ticket, UDPAI_REPLICATED_UNKNOWN, NULL);
        udpai_alloc_fail_after(n);
        udpai_node_flush(bed->node);
        udpai_alloc_fail_after(-1);
        flush(bed);
        bool is_ended = strstr(fed_orders(bed), "hangup a") != NULL;
        assert_int_equal(bed->n_judged, !is_ended);
        if (!is_ended)
            assert_non_null(strstr(bed->judged, "unavailable"));
        assert_int_equal(is_ended, n > 0);
        fed_leave(bed, session, false);
    }
}

static void
nothing_is_left_over_at_the_end(void **state)
{
    fed_bed *bed = *state;
    uint64_t one = arrive(bed, &alice), two = arrive(bed, &bob);
    publish(bed, one, "x=1");
    publish(bed, one, "x=2 y=1 -z");
    publish(bed, two, "x=1");
    publish(bed, two, "*com.acme u=2");
    fed_leave(bed, one, false);
    udpai_durable_batch *batch = new_batch();
    add_put(batch, CAROL, cluster("com.acme/z", "1", 5), 0);
    tell_change(bed, batch, true);
    tell_outcome(bed, proposals[0].ticket, UDPAI_REPLICATED_LOST, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        replicated_test(nothing_is_there_before_it_is_committed),
        replicated_test(a_removal_is_remembered_for_all),
        replicated_test(what_is_removed_and_published_is_new),
        replicated_test(what_has_a_ttl_is_proposed_with_its_end),
        replicated_test(what_sources_have_is_not_proposed),
        replicated_test(each_publication_is_proposed_by_itself),
        replicated_test(publications_about_one_name_wait_for_each_other),
        replicated_test(what_was_lost_is_decided_by_what_there_is),
        replicated_test(what_is_lost_each_time_is_refused),
        replicated_test(what_is_there_already_is_not_proposed_again),
        replicated_test(what_seems_to_change_nothing_is_decided_once_more),
        replicated_test(what_seems_to_change_nothing_in_part_is_decided_once_more),
        replicated_test(a_state_is_decided_once_more),
        replicated_test(where_a_replica_is_behind_a_removal_waits),
        replicated_test(what_is_removed_of_all_types_is_certain),
        replicated_test(the_last_room_is_given_by_what_all_replicas_have),
        replicated_test(near_a_limit_one_is_on_its_way),
        replicated_test(what_two_replicas_have_on_their_way_fits),
        replicated_test(what_comes_after_it_does_not_overtake_it),
        replicated_test(what_is_not_known_in_time_is_refused),
        replicated_test(a_state_that_was_lost_ends_nothing_that_came_after_it),
        replicated_test(what_is_not_committed_is_refused_with_the_reason),
        replicated_test(where_nobody_knows_the_stream_ends_without_a_receipt),
        replicated_test(the_peer_is_gone_when_the_outcome_comes),
        replicated_test(what_waits_when_its_stream_ends_is_not_decided),
        replicated_test(the_end_of_a_stream_waits_for_nothing_that_it_drops),
        replicated_test(what_is_lost_when_its_stream_has_ended_is_not_decided_again),
        replicated_test(without_memory_what_is_published_is_answered),
        replicated_test(without_memory_nobody_is_told_what_is_not_known),
        replicated_test(nothing_is_left_over_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
