/* SPDX-License-Identifier: Apache-2.0 */
/* What peers publish is judged entry by entry; what is good becomes a contribution of its origin.
 */
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

#define ACME "com.acme"
#define FIVE_MINUTES ((uint64_t)5 * 60 * 1000000)

static const fed_peer alice = {.id = "alice", .name = "alice", .is_plain = true};
static const fed_peer bob = {.id = "bob", .name = "bob", .is_plain = true};
static const fed_peer other_node = {.id = "other", .name = "other"};

#define assert_says(text, part)                                                                    \
    do {                                                                                           \
        const char *said = (text);                                                                 \
        if (!strstr(said, (part)))                                                                 \
            fail_msg("'%s' does not say '%s'", said, (part));                                      \
    } while (0)

static uint64_t
now_us(const fed_bed *bed)
{
    return (uint64_t)bed->wall_us + bed->wheel.now_ms * 1000;
}

static bool
take_generation(void *userdata, const udpai_contribution *contribution)
{
    if (contribution->effective)
        *(uint64_t *)userdata = udpa_resource_generation(contribution->resource);
    return true;
}

static uint64_t
generation_of(fed_bed *bed, const char *name)
{
    uint64_t generation = 0;
    udpai_store_visit_name(udpai_node_store(bed->node), UDPAI_STR(TEST_CDS), udpai_str_from(name),
                           take_generation, &generation);
    return generation;
}

static void
start_with_source(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_orders(bed);
}

/* ---- who may say what ---- */

static void
a_source_is_held_to_what_it_is_configured_for(void **state)
{
    fed_bed *bed = *state;
    start_with_source(bed);
    assert_says(fed_publish(bed, 'a', "CDS", "x=1 org/y=1"), "'org/y' lies outside");
    assert_says(fed_publish(bed, 'a', "EDS", "x=1"), "lies outside");
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "org/y", "");
}

static void
anybody_may_publish_to_a_node(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    assert_value(bed, "CDS", "x", "1");
}

static void
nobody_speaks_for_the_node_itself(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    assert_says(fed_publish_at(bed, session, "CDS", "udpa.node/x=1"), "reserved");
}

/* Where the slash between the two stands must not be open to choice. */
static void
names_and_node_ids_make_different_origins(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t one = fed_arrive(bed, &(fed_peer){.id = "b/c", .name = "spiffe://td/a"});
    uint64_t two = fed_arrive(bed, &(fed_peer){.id = "c", .name = "spiffe://td/a/b"});
    (void)fed_publish_at(bed, one, "CDS", "x=1");
    (void)fed_publish_at(bed, two, "CDS", "-x");
    assert_value(bed, "CDS", "x", "1");
    uint64_t again = fed_arrive(bed, &(fed_peer){.id = "b/c", .name = "spiffe://td/a"});
    (void)fed_publish_at(bed, again, "CDS", "-x");
    assert_value(bed, "CDS", "x", "");
}

/* ---- entries ---- */

static void
the_first_of_two_equal_ones_applies(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    assert_says(fed_publish_at(bed, session, "CDS", "x=1 x=2 y=1"), "twice");
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "1");
}

static void
a_version_stands_for_its_bytes(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    (void)fed_publish_at(bed, session, "CDS", "x=1");
    assert_says(fed_put(bed, session,
                        RESOURCE("com.acme/x", .type = TEST_CDS, .version = "1", .value = "2"),
                        false),
                "give what changes another version");
    assert_value(bed, "CDS", "x", "1");
}

/* It was subscribed to when it was sent. */
static void
what_is_ignored_is_not_taken_in_and_no_error(void **state)
{
    fed_bed *bed = *state;
    start_with_source(bed);
    assert_string_equal(fed_publish(bed, 'a', "CDS", "x=1 ?y=1 ?z=1"), "");
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "");
    assert_null(udpai_node_source_error(bed->node, UDPAI_STR("a")));
    assert_string_equal(fed_publish(bed, 'a', "CDS", "?x=2"), "");
    assert_value(bed, "CDS", "x", "1");
}

static void
removals_apply_before_additions(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    (void)fed_publish_at(bed, session, "CDS", "x=1 y=1");
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=2 -x -y -z"), "");
    assert_value(bed, "CDS", "x", "2");
    assert_value(bed, "CDS", "y", "");
}

/* ---- ways and generations ---- */

static void
what_has_been_here_is_a_loop_and_withdraws(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &other_node);
    (void)fed_put(bed, session,
                  RESOURCE("com.acme/x", .type = TEST_CDS, .version = "1", .value = "1",
                           .hops = {{"far", "far"}}),
                  false);
    assert_value(bed, "CDS", "x", "1");
    const char *refused = fed_put(bed, session,
                                  RESOURCE("com.acme/x", .type = TEST_CDS, .version = "2",
                                           .value = "2", .hops = {{"node", "far"}, {"far", "n"}}),
                                  false);
    assert_string_equal(refused, ""); /* loops are no errors */
    assert_value(bed, "CDS", "x", "");
    assert_int_equal(udpai_node_n_loops(bed->node), 1);
}

/* By other nodes, as many as a resource may pass. */
static udpa_resource *
from_afar(const char *version, bool is_refresh)
{
    char ids[UDPAI_HOPS_MAX][8];
    udpai_resource_room room;
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *near = RESOURCE("com.acme/x", .type = TEST_CDS, .version = version,
                                   .value = is_refresh ? NULL : version);
    udpai_resource_parts parts = udpai_resource_parts_of(near, &room);
    for (size_t i = 0; i < UDPAI_HOPS_MAX; i++) {
        snprintf(ids[i], sizeof(ids[i]), "n%zu", i);
        room.hops[parts.n_hops++] = (udpai_hop){.node_id = udpai_str_from(ids[i])};
    }
    parts.hops = room.hops;
    udpa_resource *far = NULL;
    assert_ok(udpai_resource_make(&far, &parts));
    return far;
}

/* It has gone where it came by before, and what comes by the long way cannot be told further. */
static void
what_has_come_too_far_withdraws(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &other_node);
    (void)fed_publish_at(bed, session, "CDS", "x=1");
    assert_says(fed_put(bed, session, from_afar("2", false), false), "is there a loop?");
    assert_value(bed, "CDS", "x", "");
    (void)fed_publish_at(bed, session, "CDS", "x=3");
    assert_says(fed_put(bed, session, from_afar("3", true), true), "is there a loop?");
    assert_value(bed, "CDS", "x", "");
}

static void
the_future_is_refused(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &other_node), limit = now_us(bed) + FIVE_MINUTES;
    assert_string_equal(fed_put(bed, session,
                                RESOURCE("com.acme/x", .type = TEST_CDS, .version = "1",
                                         .value = "1", .generation = limit),
                                false),
                        "");
    assert_says(fed_put(bed, session,
                        RESOURCE("com.acme/y", .type = TEST_CDS, .version = "1", .value = "1",
                                 .generation = limit + 1),
                        false),
                "compare the clocks");
    assert_true(generation_of(bed, "com.acme/x") == limit);
}

/* What a publisher says in a name, with a generation that is newer than all that is known here, it
 * restores; anything else is a new word of its own. */
static void
what_is_restored_keeps_its_generation(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "udpactl", .is_plain = true});
    uint64_t before = now_us(bed) - 3600000000;
    (void)fed_put(bed, session,
                  RESOURCE("com.acme/x", .type = TEST_CDS, .version = "v1", .value = "1",
                           .authority = "acme", .generation = before),
                  false);
    assert_true(generation_of(bed, "com.acme/x") == before);
    (void)fed_put(bed, session,
                  RESOURCE("com.acme/x", .type = TEST_CDS, .version = "v1", .value = "1",
                           .authority = "acme", .generation = before),
                  false);
    assert_true(generation_of(bed, "com.acme/x") == before);
    (void)fed_put(bed, session,
                  RESOURCE("com.acme/x", .type = TEST_CDS, .version = "v0", .value = "0",
                           .authority = "acme", .generation = before - 1),
                  false);
    assert_true(generation_of(bed, "com.acme/x") > before);
    assert_value(bed, "CDS", "x", "0");
    (void)fed_put(bed, session,
                  RESOURCE("com.acme/y", .type = TEST_CDS, .version = "v1", .value = "1",
                           .generation = before),
                  false);
    assert_true(generation_of(bed, "com.acme/y") > before);
}

static void
a_generation_is_given_by_the_first_node(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    (void)fed_put(
        bed, session,
        RESOURCE("com.acme/x", .type = TEST_CDS, .version = "1", .value = "1", .generation = 5),
        false);
    uint64_t first = generation_of(bed, "com.acme/x");
    assert_true(first == now_us(bed));
    (void)fed_publish_at(bed, session, "CDS", "x=2");
    assert_true(generation_of(bed, "com.acme/x") == first + 1);
}

/* ---- refreshes ---- */

static void
a_refresh_from_the_future_freezes_nobody(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t one = fed_arrive(bed, &alice), two = fed_arrive(bed, &bob);
    (void)fed_publish_at(bed, one, "CDS", "x=1");
    (void)fed_publish_at(bed, two, "CDS", "x=of-bob");
    assert_says(fed_put(bed, two,
                        RESOURCE("com.acme/x", .type = TEST_CDS, .version = "of-bob",
                                 .generation = UINT64_MAX),
                        true),
                "compare the clocks");
    (void)fed_put(bed, two,
                  RESOURCE("com.acme/x", .type = TEST_CDS, .version = "of-bob",
                           .generation = now_us(bed) + FIVE_MINUTES),
                  true); /* not his to give */
    assert_string_equal(fed_publish_at(bed, one, "CDS", "x=2"), "");
    assert_value(bed, "CDS", "x", "2");
    assert_true(generation_of(bed, "com.acme/x") < now_us(bed) + FIVE_MINUTES);
}

static void
a_refresh_sets_the_timer_again(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    (void)fed_put(
        bed, session,
        RESOURCE("com.acme/x", .type = TEST_CDS, .version = "1", .value = "1", .ttl_ms = 10000),
        false);
    fed_advance(bed, 9000);
    (void)fed_put(bed, session,
                  RESOURCE("com.acme/x", .type = TEST_CDS, .version = "1", .ttl_ms = 10000), true);
    fed_advance(bed, 9999);
    assert_value(bed, "CDS", "x", "1");
    fed_advance(bed, 1);
    assert_value(bed, "CDS", "x", "");
}

static void
a_publisher_is_told_of_a_refresh_of_nothing(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    assert_says(fed_publish_at(bed, session, "CDS", "~x=1"), "send its payload");
}

static void
a_source_is_asked_for_what_it_refreshes(void **state)
{
    fed_bed *bed = *state;
    start_with_source(bed);
    assert_string_equal(fed_publish(bed, 'a', "CDS", "~x=1 ~y=1 ~z=1"), "");
    assert_orders(bed, "sub a CDS com.acme:x y z"); /* in one message */
}

/* ---- without memory ---- */

/* It is not sent again on this stream, and must not be said to be missing. */
static void
what_a_source_says_in_vain_it_says_on_another_stream(void **state)
{
    fed_bed *bed = *state;
    start_with_source(bed);
    bool taken = false;
    for (long n = 0; !taken && n < 100; n++) {
        (void)fed_orders(bed);
        bed->is_short = true;
        bed->n_allocations = n;
        (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 !com.acme");
        taken = *fed_value(bed, "CDS", "x") && *fed_value(bed, "CDS", "y");
        if (taken)
            continue;
        assert_orders(bed, "hangup a");
        assert_false(fed_settled(bed, "CDS", "com.acme"));
        fed_close(bed, 'a');
        fed_connect(bed, 'a');
    }
    assert_true(fed_settled(bed, "CDS", "com.acme"));
}

/* Who publishes has room for so many publications that were not answered, receipt or not: each is
 * answered, whichever allocation fails. */
static void
without_memory_a_publication_is_answered(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    bool taken = false;
    for (long n = 0; !taken && n < 100; n++) {
        unsigned before = bed->n_judged;
        fed_short(bed, n, false);
        (void)fed_publish_at(bed, session, "CDS", "x=1");
        assert_int_equal(bed->n_judged, before + 1);
        taken = *fed_value(bed, "CDS", "x");
    }
    assert_true(taken);
}

/* The same of what is not answered before what it has changed was told and kept. */
static void
without_memory_for_longer_a_publication_is_answered(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    for (long n = 0; n < 60; n++) {
        unsigned before = bed->n_judged;
        fed_short(bed, n, true);
        (void)fed_publish_at(bed, session, "CDS", "x=1");
        assert_int_equal(bed->n_judged, before + 1);
    }
}

/* ---- states of the world ---- */

static void
a_state_speaks_for_its_scope(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    (void)fed_publish_at(bed, session, "CDS", "x=1 y=1 org/z=1");
    (void)fed_publish_at(bed, session, "EDS", "x=1");
    (void)fed_publish_at(bed, session, "CDS", "*com.acme y=2");
    assert_value(bed, "CDS", "x", "");
    assert_value(bed, "CDS", "y", "2");
    assert_value(bed, "CDS", "org/z", "1");
    assert_value(bed, "EDS", "x", "1");
}

static void
without_a_scope_it_speaks_for_the_types_it_names(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t one = fed_arrive(bed, &alice), two = fed_arrive(bed, &bob);
    (void)fed_publish_at(bed, one, "CDS", "x=1 y=1");
    (void)fed_publish_at(bed, one, "EDS", "x=1");
    (void)fed_publish_at(bed, two, "CDS", "z=1");
    (void)fed_publish_at(bed, one, "CDS", "** y=1");
    assert_value(bed, "CDS", "x", "");
    assert_value(bed, "CDS", "y", "1");
    assert_value(bed, "CDS", "z", "1"); /* another's */
    assert_value(bed, "EDS", "x", "1");
}

/* It looked at all of the origin once for each entry. */
static void
a_large_state_takes_its_time_once(void **state)
{
    enum {
        N = 20000
    };

    fed_bed *bed = *state;
    bed->config.is_durable = false;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    char *words = malloc(N * 16), *at = words;
    assert_non_null(words);
    at += snprintf(at, 3, "**");
    for (int i = 0; i < N; i++)
        at += snprintf(at, 16, " n%d=1", i);
    for (int i = 0; i < 3; i++)
        assert_string_equal(fed_publish_at(bed, session, "CDS", words), "");
    assert_int_equal(udpai_store_n_contributions(udpai_node_store(bed->node)), N);
    free(words);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(a_source_is_held_to_what_it_is_configured_for),
        fed_test(anybody_may_publish_to_a_node),
        fed_test(nobody_speaks_for_the_node_itself),
        fed_test(names_and_node_ids_make_different_origins),
        fed_test(the_first_of_two_equal_ones_applies),
        fed_test(what_is_ignored_is_not_taken_in_and_no_error),
        fed_test(a_version_stands_for_its_bytes),
        fed_test(removals_apply_before_additions),
        fed_test(what_has_been_here_is_a_loop_and_withdraws),
        fed_test(what_has_come_too_far_withdraws),
        fed_test(the_future_is_refused),
        fed_test(what_is_restored_keeps_its_generation),
        fed_test(a_generation_is_given_by_the_first_node),
        fed_test(a_refresh_from_the_future_freezes_nobody),
        fed_test(a_refresh_sets_the_timer_again),
        fed_test(a_publisher_is_told_of_a_refresh_of_nothing),
        fed_test(a_source_is_asked_for_what_it_refreshes),
        fed_test(what_a_source_says_in_vain_it_says_on_another_stream),
        fed_test(without_memory_a_publication_is_answered),
        fed_test(without_memory_for_longer_a_publication_is_answered),
        fed_test(a_state_speaks_for_its_scope),
        fed_test(without_a_scope_it_speaks_for_the_types_it_names),
        fed_test(a_large_state_takes_its_time_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
