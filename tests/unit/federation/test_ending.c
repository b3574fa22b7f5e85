/* SPDX-License-Identifier: Apache-2.0 */
/* A removal with a generation ends what is older on every path; one without what came by one peer.
 */
#include "model/removal.h"
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

#define ACME "com.acme"
#define X "com.acme/x"

static const fed_peer alice = {.id = "alice", .name = "alice", .is_plain = true};

#define assert_says(text, part)                                                                    \
    do {                                                                                           \
        const char *told = (text);                                                                 \
        if (!strstr(told, (part)))                                                                 \
            fail_msg("'%s' does not say '%s'", told, (part));                                      \
    } while (0)

/* Two relays bring what the owner has, beside each other. */
static void
start(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false}, {'b', ACME, UDPAI_CONTINUE, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
    assert_string_equal(fed_publish(bed, 'a', "CDS", "!com.acme"), "");
    assert_string_equal(fed_publish(bed, 'b', "CDS", "!com.acme"), "");
    fed_advance(bed, 10000);
}

static uint64_t
session_of(const fed_bed *bed, char source)
{
    return bed->sessions[source - 'a'];
}

/* The word of x's authority, as the node n1 has stamped it; taken from "x" it compares everywhere.
 */
static void
bring(fed_bed *bed, char source, const char *authority, const char *taken_from, uint64_t generation)
{
    const char *refused = fed_put(bed, session_of(bed, source),
                                  RESOURCE(X, .type = TEST_CDS, .value = authority, .version = "1",
                                           .authority = authority, .generation = generation,
                                           .hops = {{"n1", taken_from}}),
                                  false);
    assert_string_equal(refused, "");
}

static const char *
remove_at(fed_bed *bed, uint64_t session, uint64_t generation, const char *authority)
{
    const udpai_hop hop = {
        .node_id = UDPAI_STR("n1"), .authority = UDPAI_STR("acme"), .time_us = 1};
    const udpai_resource_parts parts = {
        .name = UDPAI_STR(X),
        .authority = udpai_str_from(authority),
        .generation = generation,
        .hops = &hop,
        .n_hops = authority ? 1 : 0,
    };
    UDPA_AUTO(udpa_resource_unref) udpa_resource *said = NULL;
    udpai_publication *publication = udpai_publication_new();
    assert_ok(udpai_publication_set(&publication->type_url, UDPAI_STR(TEST_CDS)));
    if (generation)
        assert_ok(udpai_removal_make(&said, UDPAI_STR(TEST_CDS), &parts));
    assert_ok(udpai_publication_remove_stated(publication, UDPAI_STR(X), said));
    return fed_judge(bed, session, publication);
}

static void
remove_by(fed_bed *bed, char source, uint64_t generation, const char *authority)
{
    assert_string_equal(remove_at(bed, session_of(bed, source), generation, authority), "");
}

static void
a_dead_relay_leaves_no_ghost(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    bring(bed, 'a', "acme", "acme", 7);
    bring(bed, 'b', "acme", "acme", 7);
    assert_value(bed, "CDS", "x", "acme");
    fed_close(bed, 'b');
    remove_by(bed, 'a', 8, "acme");
    assert_value(bed, "CDS", "x", "");
    /* it returns, and has not heard of it */
    fed_advance(bed, 20000);
    fed_connect(bed, 'b');
    bring(bed, 'b', "acme", "acme", 7);
    assert_value(bed, "CDS", "x", "");
    bring(bed, 'a', "acme", "acme", 9);
    assert_value(bed, "CDS", "x", "acme");
}

/* What is gone is gone, though the other one never was there: nobody need wait for it. */
static void
without_a_store_it_goes_beside_a_dead_source(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false}, {'b', ACME, UDPAI_CONTINUE, false});
    bed->config.is_durable = false;
    fed_start(bed);
    fed_connect(bed, 'a');
    bring(bed, 'a', "acme", "acme", 7);
    assert_string_equal(fed_publish(bed, 'a', "CDS", "!com.acme"), "");
    fed_advance(bed, 60000);
    assert_false(fed_settled(bed, "CDS", ACME));
    remove_by(bed, 'a', 8, "acme");
    assert_value(bed, "CDS", "x", "");
}

/* Whoever says no more than that it does not have it speaks for itself. */
static void
without_a_generation_it_is_of_one_hop(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    bring(bed, 'a', "acme", "acme", 7);
    bring(bed, 'b', "acme", "acme", 7);
    remove_by(bed, 'a', 0, NULL);
    assert_value(bed, "CDS", "x", "acme");
    remove_by(bed, 'b', 0, NULL);
    assert_value(bed, "CDS", "x", "");
}

/* Whose word it is may be left to what came by that hop. */
static void
what_came_by_the_hop_tells_whose_it_is(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    bring(bed, 'a', "acme", "acme", 7);
    bring(bed, 'b', "acme", "acme", 7);
    remove_by(bed, 'a', 8, NULL);
    assert_value(bed, "CDS", "x", "");
}

static void
another_authority_stays(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    bring(bed, 'a', "acme", "acme", 7);
    bring(bed, 'b', "other", "other", 3);
    assert_value(bed, "CDS", "x", "acme");
    remove_by(bed, 'a', 8, "acme");
    assert_value(bed, "CDS", "x", "other");
}

/* A store that was copied back remembers that it removed the name, and not that it had it again. */
static void
an_older_removal_says_nothing_of_what_is_newer(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false});
    fed_start(bed);
    fed_connect_as(bed, 'a', &(fed_peer){.epoch = "first", .commit = "7"});
    bring(bed, 'a', "acme", "acme", 9);
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_come_back_as(bed, 'a', &(fed_peer){.epoch = "first", .commit = "6"});
    remove_by(bed, 'a', 8, "acme");
    assert_value(bed, "CDS", "x", "acme");
    remove_by(bed, 'a', 9, "acme");
    assert_value(bed, "CDS", "x", "");
}

/* What each relay has read itself from a server is not the other's to end. */
static void
what_does_not_compare_stays(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    bring(bed, 'a', "acme", "acme", 7);
    bring(bed, 'b', "acme", "", 3);
    remove_by(bed, 'a', 8, "acme");
    assert_value(bed, "CDS", "x", "acme");
}

static void
a_removal_from_the_future_speaks_for_its_hop(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    bring(bed, 'a', "acme", "acme", 7);
    bring(bed, 'b', "acme", "acme", 7);
    assert_says(remove_at(bed, session_of(bed, 'a'), UINT64_MAX, "acme"), "five minutes ahead");
    assert_value(bed, "CDS", "x", "acme");
    remove_by(bed, 'b', 0, NULL);
    assert_value(bed, "CDS", "x", "");
    /* who is no source is refused */
    uint64_t session = fed_arrive(bed, &alice);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    assert_says(remove_at(bed, session, UINT64_MAX, "alice"), "five minutes ahead");
    assert_value(bed, "CDS", "x", "1");
}

/* Whose clock is behind: it passes nothing on. */
static void
an_endpoint_takes_what_is_from_the_future(void **state)
{
    fed_bed *bed = *state;
    bed->config.is_endpoint = true;
    start(bed);
    bring(bed, 'a', "acme", "acme", (uint64_t)1 << 62);
    assert_value(bed, "CDS", "x", "acme");
    assert_string_equal(remove_at(bed, session_of(bed, 'a'), UINT64_MAX, "acme"), "");
    assert_value(bed, "CDS", "x", "");
}

/* ---- who gives a generation ---- */

static uint64_t
highest(const fed_bed *bed)
{
    return udpai_store_highest_generation(udpai_node_store(bed->node), UDPAI_STR(TEST_CDS),
                                          UDPAI_STR(X));
}

/* The publisher's removal is the authority's: what a relay brings of it later is older. */
static void
a_publisher_ends_what_it_has_published(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    uint64_t generation = highest(bed);
    bring(bed, 'b', "alice", "alice", generation);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "-x"), "");
    assert_value(bed, "CDS", "x", "");
    assert_true(highest(bed) > generation);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=2"), "");
    assert_value(bed, "CDS", "x", "2");
    /* so is a name that a state leaves out */
    bring(bed, 'b', "alice", "alice", highest(bed) - 1);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "*com.acme y=1"), "");
    assert_value(bed, "CDS", "x", "");
}

static void
what_is_below_is_refused_in_words(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    uint64_t generation = highest(bed);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "-x"), "");
    const char *why =
        fed_put(bed, session,
                RESOURCE(X, .type = TEST_CDS, .value = "1", .version = "1", .authority = "alice",
                         .generation = generation, .hops = {{"n1", "alice"}}),
                false);
    assert_says(why, "was removed with generation");
    assert_value(bed, "CDS", "x", "");
}

/* A restarted node still keeps out what was ended. */
static void
it_outlives_a_restart(void **state)
{
    fed_bed *bed = *state;
    bed->config.is_durable = true;
    start(bed);
    bring(bed, 'a', "acme", "acme", 7);
    remove_by(bed, 'a', 8, "acme");
    fed_restart(bed);
    fed_connect(bed, 'b');
    bring(bed, 'b', "acme", "acme", 7);
    assert_value(bed, "CDS", "x", "");
    assert_int_equal(highest(bed), 8);
}

/* A relay that is dead has an older word of one authority; the other one had the newer, and has
 * another authority's now. */
static void
what_was_kept_out_is_so_after_a_restart(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    bring(bed, 'a', "acme", "acme", 1);
    bring(bed, 'b', "acme", "acme", 2);
    assert_value(bed, "CDS", "x", "acme");
    fed_close(bed, 'a');
    bring(bed, 'b', "other", "other", 1);
    assert_value(bed, "CDS", "x", "other");
    fed_restart(bed);
    assert_value(bed, "CDS", "x", "other");
    fed_connect(bed, 'a');
    bring(bed, 'a', "acme", "acme", 3);
    assert_value(bed, "CDS", "x", "acme");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(a_dead_relay_leaves_no_ghost),
        fed_test(without_a_store_it_goes_beside_a_dead_source),
        fed_test(without_a_generation_it_is_of_one_hop),
        fed_test(what_came_by_the_hop_tells_whose_it_is),
        fed_test(another_authority_stays),
        fed_test(an_older_removal_says_nothing_of_what_is_newer),
        fed_test(what_does_not_compare_stays),
        fed_test(a_removal_from_the_future_speaks_for_its_hop),
        fed_test(an_endpoint_takes_what_is_from_the_future),
        fed_test(a_publisher_ends_what_it_has_published),
        fed_test(what_is_below_is_refused_in_words),
        fed_test(it_outlives_a_restart),
        fed_test(what_was_kept_out_is_so_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
