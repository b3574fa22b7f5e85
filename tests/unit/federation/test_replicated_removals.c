/* SPDX-License-Identifier: Apache-2.0 */
/* How long a removal counts among replicas, and a list of all that they have. */
#include "federation/node_internal.h"
#include "tests/unit/federation/replicated_bed.h"

/* ---- a long list ---- */

/* Bob's, without a flush; empty: there is none. */
static const char *
version_now(const fed_bed *bed, const char *name)
{
    udpai_contribution held;
    udpai_store *store = bed->node->context.store;
    const udpai_origin *bob_has = udpai_store_find_origin(store, UDPAI_STR(BOB));
    bool is_held =
        udpai_store_get(store, bob_has, UDPAI_STR(TEST_CDS), udpai_str_from(name), &held);
    return is_held ? udpa_resource_version(held.resource) : "";
}

/* Nothing of it is effective before all of it is compared, and what comes behind it waits. */
static void
a_list_is_compared_in_parts(void **state)
{
    static const char *const names[] = {"com.acme/x", "com.acme/y", "com.acme/z"};
    fed_bed *bed = *state;
    bed->config.list_part = 1;
    (void)arrive(bed, &alice);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        others_put(bed, BOB, names[i], "1", 5);
    udpai_durable_batch *list = new_batch(), *later = new_batch();
    add_put(list, BOB, cluster("com.acme/x", "1", 5), 0);
    add_put(list, BOB, cluster("com.acme/z", "2", 6), 0);
    add_put(list, BOB, cluster("com.acme/v", "1", 5), 0);
    add_put(later, BOB, cluster("com.acme/x", "3", 7), 0);
    tell_change(bed, list, true);
    tell_change(bed, later, false);
    for (int i = 0; i < 2; i++) {
        udpai_node_flush(bed->node);
        assert_true(udpai_wheel_next(&bed->wheel) <= bed->wheel.now_ms); /* it goes on at once */
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(names); k++)
            assert_string_equal(version_now(bed, names[k]), "1");
        assert_string_equal(version_now(bed, "com.acme/v"), "");
    }
    udpai_node_flush(bed->node);
    assert_value(bed, "CDS", "x", "3");
    assert_false(is_there(bed, "y"));
    assert_value(bed, "CDS", "z", "2");
    assert_value(bed, "CDS", "v", "1");
}

/* A lock of a large change set stands in the place of its record, which has a key of its own. */
static void
what_a_list_has_twice_hides_nothing_that_is_gone(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    others_put(bed, BOB, "com.acme/x", "1", 5);
    others_put(bed, BOB, "com.acme/y", "1", 5);
    udpai_durable_batch *list = new_batch();
    add_put(list, BOB, cluster("com.acme/x", "1", 5), 0);
    add_put(list, BOB, cluster("com.acme/x", "1", 5), 0);
    tell_change(bed, list, true);
    flush(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_false(is_there(bed, "y"));
}

/* ---- how long a removal counts ---- */

static void
others_remove(fed_bed *bed, const char *name, uint64_t generation)
{
    udpai_durable_batch *batch = new_batch();
    add_removal(batch, name, generation);
    tell_change(bed, batch, false);
    flush(bed);
}

static void
others_forget_removal(fed_bed *bed, const char *name)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *held = cluster(name, "1", 1);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *removal = udpai_removal_of(held, 1);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = udpai_store_removal_key(removal);
    char origin[300];
    (void)snprintf(origin, sizeof(origin), "%.*s", UDPAI_SHOWN(udpai_bytes_view(key)));
    udpai_durable_batch *batch = new_batch();
    add_delete(batch, origin, name);
    tell_change(bed, batch, false);
    flush(bed);
}

static void
pass_what_is_remembered(fed_bed *bed)
{
    fed_advance(bed, bed->config.store.remember_ms + 1000);
    flush(bed);
}

/* By the order of etcd, and not by a clock of this replica. */
static void
a_removal_counts_until_it_goes_from_etcd(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    tell_members(bed, "aa", 1);
    others_remove(bed, "com.acme/x", 10);
    pass_what_is_remembered(bed);
    others_put(bed, BOB, "com.acme/x", "1", 9);
    assert_false(is_there(bed, "x"));
    others_forget_removal(bed, "com.acme/x");
    others_put(bed, BOB, "com.acme/x", "2", 9);
    assert_value(bed, "CDS", "x", "2");
    assert_int_equal(n_proposals, 0);
}

static void
it_counts_after_a_restart(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    others_remove(bed, "com.acme/x", 10);
    restart(bed);
    (void)arrive(bed, &alice);
    tell_members(bed, "aa", 1);
    pass_what_is_remembered(bed);
    others_put(bed, BOB, "com.acme/x", "1", 9);
    assert_false(is_there(bed, "x"));
    others_forget_removal(bed, "com.acme/x");
    restart(bed);
    (void)arrive(bed, &alice);
    others_put(bed, BOB, "com.acme/x", "2", 9);
    assert_value(bed, "CDS", "x", "2");
}

static void
what_is_not_in_a_list_is_forgotten(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    others_remove(bed, "com.acme/x", 10);
    others_remove(bed, "com.acme/y", 10);
    udpai_durable_batch *batch = new_batch();
    add_removal(batch, "com.acme/y", 10);
    add_put(batch, BOB, cluster("com.acme/x", "1", 9), 0);
    add_put(batch, BOB, cluster("com.acme/y", "1", 9), 0);
    tell_change(bed, batch, true);
    flush(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_false(is_there(bed, "y"));
}

/* What is committed has been let in by somebody who has the same. */
static void
what_ended_without_a_removal_keeps_nothing_out(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    others_put(bed, BOB, "com.acme/x", "1", 10);
    udpai_durable_batch *batch = new_batch();
    add_delete(batch, BOB, "com.acme/x");
    tell_change(bed, batch, false);
    flush(bed);
    assert_false(is_there(bed, "x"));
    others_put(bed, BOB, "com.acme/x", "2", 9);
    assert_value(bed, "CDS", "x", "2");
}

/* It is remembered here while a source has what it ends. */
static void
what_a_source_has_does_not_come_back(void **state)
{
    fed_bed *bed = *state;
    FED_PROVIDER(bed, {'a', "com.acme/", UDPAI_STOP_ON_SUCCESS, false});
    fed_type(bed, "CDS");
    (void)arrive(bed, &alice);
    fed_connect(bed, 'a');
    others_remove(bed, "com.acme/x", 10);
    udpa_resource *older = RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1", .version = "1",
                                    .authority = "acme", .generation = 5, .hops = {{"n1", "acme"}});
    assert_string_equal(fed_put(bed, bed->sessions[0], older, false), "");
    assert_false(is_there(bed, "x"));
    others_forget_removal(bed, "com.acme/x");
    assert_false(is_there(bed, "x"));
}

static void
the_janitor_tries_again(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    others_remove(bed, "com.acme/x", 10);
    pass_what_is_remembered(bed);
    assert_int_equal(n_proposals, 1);
    assert_string_equal(proposed(0), "-!x");
    assert_true(proposals[0].batch->is_janitors);
    end_first(bed, UDPAI_REPLICATED_NOT_DONE, NULL);
    others_put(bed, BOB, "com.acme/x", "1", 9);
    assert_false(is_there(bed, "x"));
    assert_proposed(0, "-bob x");
    commit_all(bed);
    pass_what_is_remembered(bed);
    assert_int_equal(n_proposals, 1);
    assert_string_equal(proposed(0), "-!x");
    commit_all(bed);
    others_put(bed, BOB, "com.acme/x", "2", 9);
    assert_value(bed, "CDS", "x", "2");
}

/* There are too many, and they go for all. */
static void
the_oldest_removal_goes_from_etcd_first(void **state)
{
    fed_bed *bed = *state;
    bed->config.store.remember_max = 2;
    (void)arrive(bed, &alice);
    others_remove(bed, "com.acme/x", 10);
    others_remove(bed, "com.acme/y", 10);
    assert_int_equal(n_proposals, 0);
    others_remove(bed, "com.acme/z", 10);
    assert_int_equal(n_proposals, 1);
    assert_string_equal(proposed(0), "-!x");
    others_remove(bed, "com.acme/y", 11);
    assert_int_equal(n_proposals, 1); /* once */
    commit_all(bed);
    others_put(bed, BOB, "com.acme/x", "1", 9);
    assert_value(bed, "CDS", "x", "1");
    others_put(bed, BOB, "com.acme/y", "1", 9);
    assert_false(is_there(bed, "y"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        replicated_test(a_list_is_compared_in_parts),
        replicated_test(what_a_list_has_twice_hides_nothing_that_is_gone),
        replicated_test(a_removal_counts_until_it_goes_from_etcd),
        replicated_test(it_counts_after_a_restart),
        replicated_test(what_is_not_in_a_list_is_forgotten),
        replicated_test(what_ended_without_a_removal_keeps_nothing_out),
        replicated_test(what_a_source_has_does_not_come_back),
        replicated_test(the_janitor_tries_again),
        replicated_test(the_oldest_removal_goes_from_etcd_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
