/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing of a publication is effective before the durable engine has kept it: to nobody, and
 * whatever happens meanwhile. */
#include "federation/local_internal.h"
#include "federation/node_internal.h"
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

static const fed_peer alice = {.id = "alice", .name = "alice", .is_plain = true};
static const fed_peer bob = {.id = "bob", .name = "bob", .is_plain = true};

/* The first one starts the node. The engine takes its time from now on. */
static uint64_t
arrive(fed_bed *bed, const fed_peer *peer)
{
    if (!bed->node)
        fed_start(bed);
    uint64_t session = fed_arrive(bed, peer);
    udpai_node_committed(bed->node, bed->committed, UDPA_OK);
    bed->is_engine_slow = true;
    bed->n_judged = 0;
    return session;
}

static void
publish(fed_bed *bed, uint64_t session, const char *words)
{
    (void)fed_publish_at(bed, session, "CDS", words);
}

static void
keep(fed_bed *bed)
{
    fed_committed(bed, bed->committed, UDPA_OK);
}

static bool
is_in_store(fed_bed *bed, const char *name)
{
    return *fed_value(bed, "CDS", name) != '\0';
}

/* ---- one publication ---- */

static void
nothing_is_there_before_it_is_kept(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1 y=1");
    assert_false(is_in_store(bed, "x"));
    assert_int_equal(bed->n_judged, 0);
    keep(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "1");
    assert_int_equal(bed->n_judged, 1);
    assert_string_equal(bed->judged, "");
    publish(bed, session, "-x y=2");
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "1");
    keep(bed);
    assert_false(is_in_store(bed, "x"));
    assert_value(bed, "CDS", "y", "2");
    assert_int_equal(bed->n_judged, 2);
}

static void
what_cannot_be_kept_changes_nothing(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    keep(bed);
    publish(bed, session, "x=2 y=1");
    fed_committed(bed, bed->committed, UDPA_ERR_IO);
    assert_int_equal(bed->n_judged, 2);
    assert_non_null(strstr(bed->judged, "could not be kept, and changes nothing"));
    assert_value(bed, "CDS", "x", "1");
    assert_false(is_in_store(bed, "y"));
    publish(bed, session, "x=2");
    keep(bed);
    assert_value(bed, "CDS", "x", "2");
}

static void
a_crash_loses_nothing_that_was_kept(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1"); /* the engine has it, and does not come to say so */
    fed_restart(bed);
    assert_value(bed, "CDS", "x", "1");
}

static void
clients_wait_for_no_engine(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    udpa_resource *report = RESOURCE("com.acme/me", .type = UDPAI_TYPE_ORCA_REPORT, .value = "v",
                                     .version = "1", .ttl_ms = 60000);
    (void)fed_put(bed, session, report, false);
    assert_true(udpai_list_empty(&bed->node->parts.local->undelivered));
    keep(bed);
    assert_value(bed, "CDS", "x", "1");
}

/* The second of two has a generation above the first, and is not the same again. */
static void
what_is_removed_and_published_is_new(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1 z=1");
    keep(bed);
    publish(bed, session, "-x x=1 -z ~z=1");
    assert_value(bed, "CDS", "x", "1");
    keep(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_false(is_in_store(bed, "z"));
    assert_non_null(strstr(bed->judged, "is not held here"));
    fed_restart(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_false(is_in_store(bed, "z"));
}

/* ---- several ---- */

static void
others_go_on_meanwhile(void **state)
{
    fed_bed *bed = *state;
    uint64_t one = arrive(bed, &alice), two = arrive(bed, &bob);
    publish(bed, one, "x=1");
    uint64_t first = bed->committed;
    publish(bed, one, "y=1");
    publish(bed, two, "z=1");
    fed_committed(bed, first, UDPA_OK);
    assert_int_equal(bed->n_judged, 1);
    assert_value(bed, "CDS", "x", "1");
    assert_false(is_in_store(bed, "y"));
    assert_false(is_in_store(bed, "z"));
    keep(bed);
    assert_value(bed, "CDS", "y", "1");
    assert_value(bed, "CDS", "z", "1");
    assert_int_equal(bed->n_judged, 3);
}

static void
one_name_is_one_after_the_other(void **state)
{
    fed_bed *bed = *state;
    uint64_t one = arrive(bed, &alice), two = arrive(bed, &bob);
    publish(bed, one, "x=1");
    publish(bed, two, "x=3");
    publish(bed, one, "x=2");
    publish(bed, one, "y=1"); /* in its order, behind the one before */
    uint64_t first = bed->committed;
    keep(bed);
    assert_int_equal(bed->n_judged, 1);
    assert_value(bed, "CDS", "x", "1");
    assert_false(is_in_store(bed, "y"));
    assert_true(bed->committed > first);
    while (bed->n_judged < 4)
        keep(bed);
    assert_value(bed, "CDS", "y", "1");
    assert_string_equal(bed->judged, "");
}

static void
a_state_comes_after_what_it_leaves_out(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    publish(bed, session, "y=1");
    publish(bed, session, "*com.acme y=2");
    keep(bed);
    assert_value(bed, "CDS", "x", "1");
    keep(bed);
    assert_false(is_in_store(bed, "x"));
    assert_value(bed, "CDS", "y", "2");
}

static void
after_a_failure_the_next_has_its_turn(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    publish(bed, session, "x=2");
    fed_committed(bed, bed->committed, UDPA_ERR_IO);
    assert_int_equal(bed->n_judged, 1);
    keep(bed);
    assert_value(bed, "CDS", "x", "2");
    assert_int_equal(bed->n_judged, 2);
}

/* ---- what happens meanwhile ---- */

static void
a_stream_ends_behind_what_came_by_it(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    publish(bed, session, "x=2");
    fed_leave(bed, session, false);
    keep(bed);
    keep(bed);
    assert_value(bed, "CDS", "x", "2");
    assert_null(udpai_peers_find(bed->node->parts.peers, session));
}

static void
what_a_revoked_peer_published_goes_with_the_rest(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    fed_leave(bed, session, true);
    keep(bed);
    keep(bed);
    assert_false(is_in_store(bed, "x"));
    fed_restart(bed);
    assert_false(is_in_store(bed, "x"));
}

static void
what_new_rules_do_not_allow_goes_when_it_comes(void **state)
{
    fed_bed *bed = *state;
    const udpai_acl_options none = {.n_rules = 0};
    udpai_acl *acl = NULL;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    assert_ok(udpai_acl_new(&acl, &none));
    fed_rule(bed, acl);
    keep(bed);
    keep(bed);
    assert_false(is_in_store(bed, "x"));
    fed_restart(bed);
    assert_false(is_in_store(bed, "x"));
}

static void
without_memory_it_is_applied_later(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    char words[32];
    for (int n = 0; n < 30; n++) {
        (void)snprintf(words, sizeof(words), "x=%d y%d=1", n, n);
        publish(bed, session, words);
        fed_short(bed, n, true);
        keep(bed);
        (void)snprintf(words, sizeof(words), "%d", n);
        assert_value(bed, "CDS", "x", words);
        assert_int_equal(bed->n_judged, n + 1);
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
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(nothing_is_there_before_it_is_kept),
        fed_test(what_cannot_be_kept_changes_nothing),
        fed_test(a_crash_loses_nothing_that_was_kept),
        fed_test(clients_wait_for_no_engine),
        fed_test(what_is_removed_and_published_is_new),
        fed_test(others_go_on_meanwhile),
        fed_test(one_name_is_one_after_the_other),
        fed_test(a_state_comes_after_what_it_leaves_out),
        fed_test(after_a_failure_the_next_has_its_turn),
        fed_test(a_stream_ends_behind_what_came_by_it),
        fed_test(what_a_revoked_peer_published_goes_with_the_rest),
        fed_test(what_new_rules_do_not_allow_goes_when_it_comes),
        fed_test(without_memory_it_is_applied_later),
        fed_test(nothing_is_left_over_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
