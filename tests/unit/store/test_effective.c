/* SPDX-License-Identifier: Apache-2.0 */
/* Which contribution of a name wins: between authorities, within one, and while sources come and
 * go. */
#include "tests/unit/store/store_test.h"

/* ---- between authorities ---- */

static void
test_class_decides_between_authorities(void **state)
{
    store_bed *bed = *state;
    udpai_origin *source = store_bed_origin(bed, "source", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *publisher = store_bed_origin(bed, "publisher", UDPAI_ORIGIN_PUBLISHER, 9);
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 9);
    udpai_origin *node = store_bed_origin(bed, "node", UDPAI_ORIGIN_NODE, 9);
    PUT(bed, source, "a", .value = "source", .authority = "s", .generation = 900);
    assert_effective(bed, "a", "source");
    PUT(bed, publisher, "a", .value = "publisher", .authority = "p", .generation = 5);
    assert_effective(bed, "a", "publisher");
    PUT(bed, files, "a", .value = "files", .authority = "f", .generation = 1);
    assert_effective(bed, "a", "files");
    PUT(bed, node, "a", .value = "node", .authority = "n", .generation = 1);
    assert_effective(bed, "a", "node");
    store_bed_withdraw(bed, node, "com.acme/a");
    assert_effective(bed, "a", "files");
    store_bed_withdraw(bed, files, "com.acme/a");
    store_bed_withdraw(bed, publisher, "com.acme/a");
    assert_effective(bed, "a", "source");
}

static void
test_order_decides_within_a_class(void **state)
{
    store_bed *bed = *state;
    udpai_origin *second = store_bed_origin(bed, "a second", UDPAI_ORIGIN_SOURCE, 2);
    udpai_origin *first = store_bed_origin(bed, "b first", UDPAI_ORIGIN_SOURCE, 1);
    PUT(bed, second, "a", .value = "second", .authority = "s", .generation = 9);
    PUT(bed, first, "a", .value = "first", .authority = "t", .generation = 1);
    assert_effective(bed, "a", "first");
    udpai_origin_set_rank(bed->store, second, UDPAI_ORIGIN_SOURCE, 0);
    assert_changes(bed, "+a=second");
    udpai_origin_set_rank(bed->store, second, UDPAI_ORIGIN_SOURCE, 0);
    assert_false(udpai_store_has_changes(bed->store));
}

static void
test_the_name_of_the_authority_decides_in_the_end(void **state)
{
    store_bed *bed = *state;
    udpai_origin *x = store_bed_origin(bed, "x", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *y = store_bed_origin(bed, "y", UDPAI_ORIGIN_PUBLISHER, 0);
    PUT(bed, x, "a", .value = "zoe", .authority = "zoe", .generation = 9);
    PUT(bed, y, "a", .value = "adam", .authority = "adam", .generation = 1);
    assert_effective(bed, "a", "adam");
}

/* What another node took in for this one while it was away counts in the place of an older word of
 * its own, and in nobody else's. */
static void
test_what_was_adopted_counts_beside_an_own_word(void **state)
{
    store_bed *bed = *state;
    udpai_origin *adopted = store_bed_origin(bed, "adopted", UDPAI_ORIGIN_ADOPTED, 0);
    udpai_origin *publisher = store_bed_origin(bed, "publisher", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *source = store_bed_origin(bed, "source", UDPAI_ORIGIN_SOURCE, 0);
    PUT(bed, adopted, "a", .value = "2", .authority = "x", .generation = 2);
    assert_effective(bed, "a", "");
    PUT(bed, source, "a", .value = "1", .authority = "x", .generation = 1);
    assert_effective(bed, "a", "1"); /* that is not the node's own */
    store_bed_withdraw(bed, source, "com.acme/a");
    PUT(bed, publisher, "a", .value = "other", .authority = "y", .generation = 1);
    assert_effective(bed, "a", "other");
    PUT(bed, publisher, "a", .value = "1", .authority = "x", .generation = 1);
    assert_effective(bed, "a", "2");
    store_bed_withdraw(bed, publisher, "com.acme/a");
    assert_effective(bed, "a", "");
}

/* The newest word of an authority may come by a way that ranks low. */
static void
test_an_authority_stands_where_its_best_origin_stands(void **state)
{
    store_bed *bed = *state;
    udpai_origin *first = store_bed_origin(bed, "1", UDPAI_ORIGIN_SOURCE, 1);
    udpai_origin *second = store_bed_origin(bed, "2", UDPAI_ORIGIN_SOURCE, 2);
    udpai_origin *third = store_bed_origin(bed, "3", UDPAI_ORIGIN_SOURCE, 3);
    PUT(bed, first, "a", .value = "old", .authority = "x", .generation = 1);
    PUT(bed, second, "a", .value = "other", .authority = "y", .generation = 9);
    PUT(bed, third, "a", .value = "new", .authority = "x", .generation = 2);
    assert_effective(bed, "a", "new");
    store_bed_eligible(bed, first, false);
    assert_effective(bed, "a", "other");
}

/* ---- within one ---- */

static void
test_the_highest_generation_wins_whatever_the_way(void **state)
{
    store_bed *bed = *state;
    udpai_origin *first = store_bed_origin(bed, "1", UDPAI_ORIGIN_FILES, 0);
    udpai_origin *last = store_bed_origin(bed, "2", UDPAI_ORIGIN_SOURCE, 9);
    PUT(bed, first, "a", .value = "5", .authority = "x", .generation = 5);
    PUT(bed, last, "a", .value = "6", .authority = "x", .generation = 6);
    assert_effective(bed, "a", "6");
    PUT(bed, first, "a", .value = "7", .authority = "x", .generation = 7);
    assert_effective(bed, "a", "7");
}

static void
test_of_equals_fewer_hops_then_order_then_name(void **state)
{
    store_bed *bed = *state;
    udpai_origin *far = store_bed_origin(bed, "far", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *near = store_bed_origin(bed, "near", UDPAI_ORIGIN_SOURCE, 2);
    PUT(bed, far, "a", .value = "far", .authority = "x", .generation = 5,
        .hops = {{"n1", "s"}, {"n2", "n1"}});
    PUT(bed, near, "a", .value = "near", .authority = "x", .generation = 5, .hops = {{"n1", "s"}});
    assert_effective(bed, "a", "near");
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_SOURCE, 1);
    PUT(bed, other, "a", .value = "other", .authority = "x", .generation = 5,
        .hops = {{"n1", "s"}});
    assert_effective(bed, "a", "other");
    udpai_origin_set_rank(bed->store, other, UDPAI_ORIGIN_SOURCE, 2);
    assert_effective(bed, "a", "near");
}

/* The one that its authority ranks by. */
static void
test_of_equals_the_first_source_where_there_is_another_authority(void **state)
{
    store_bed *bed = *state;
    udpai_origin *far = store_bed_origin(bed, "far", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *near = store_bed_origin(bed, "near", UDPAI_ORIGIN_SOURCE, 2);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_SOURCE, 1);
    PUT(bed, far, "a", .value = "far", .authority = "x", .generation = 5,
        .hops = {{"n1", "x"}, {"n2", "n1"}});
    PUT(bed, near, "a", .value = "near", .authority = "x", .generation = 5, .hops = {{"n1", "x"}});
    assert_effective(bed, "a", "near");
    PUT(bed, other, "a", .value = "other", .authority = "y", .generation = 9,
        .hops = {{"n3", "y"}});
    assert_effective(bed, "a", "far");
    store_bed_eligible(bed, other, false);
    assert_effective(bed, "a", "near");
    store_bed_eligible(bed, other, true);
    PUT(bed, near, "a", .value = "newer", .authority = "x", .generation = 6, .hops = {{"n1", "x"}});
    assert_effective(bed, "a", "newer");
}

/* ---- which generations compare ---- */

/* Puts two contributions, the first of the better origin: what is effective then? */
static const char *
better_of(store_bed *bed, udpa_resource *by_first, udpa_resource *by_second)
{
    udpai_origin *first = store_bed_origin(bed, "first", UDPAI_ORIGIN_SOURCE, 1);
    udpai_origin *second = store_bed_origin(bed, "second", UDPAI_ORIGIN_SOURCE, 2);
    store_bed_put(bed, first, by_first);
    store_bed_put(bed, second, by_second);
    const char *value = store_bed_effective(bed, "com.acme/a");
    return value;
}

#define X(...) RESOURCE("com.acme/a", .authority = "x", __VA_ARGS__)

static void
test_signed_generations_compare(void **state)
{
    store_bed *bed = *state;
    udpa_resource *first =
        X(.value = "first", .generation = 1, .is_signed = true, .hops = {{"n1", "s"}});
    udpa_resource *second =
        X(.value = "second", .generation = 2, .is_signed = true, .hops = {{"n2", "t"}});
    assert_string_equal(better_of(bed, first, second), "second");
}

static void
test_first_hand_generations_compare(void **state)
{
    store_bed *bed = *state;
    udpa_resource *first = X(.value = "first", .generation = 1, .hops = {{"n1", "x"}});
    udpa_resource *second =
        X(.value = "second", .generation = 2, .hops = {{"n2", "x"}, {"n3", "n2"}});
    assert_string_equal(better_of(bed, first, second), "second");
}

static void
test_first_hand_compares_with_signed(void **state)
{
    store_bed *bed = *state;
    udpa_resource *first = X(.value = "first", .generation = 1, .hops = {{"n1", "x"}});
    udpa_resource *second =
        X(.value = "second", .generation = 2, .is_signed = true, .hops = {{"n2", "t"}});
    assert_string_equal(better_of(bed, first, second), "second");
}

static void
test_stamps_of_one_node_compare(void **state)
{
    store_bed *bed = *state;
    udpa_resource *first = X(.value = "first", .generation = 1, .hops = {{"n1", "s"}});
    udpa_resource *second =
        X(.value = "second", .generation = 2, .hops = {{"n1", "s"}, {"n2", "n1"}});
    assert_string_equal(better_of(bed, first, second), "second");
}

static void
test_stamps_of_one_node_from_two_places_do_not(void **state)
{
    store_bed *bed = *state;
    udpa_resource *first = X(.value = "first", .generation = 1, .hops = {{"n1", "s"}});
    udpa_resource *second = X(.value = "second", .generation = 2, .hops = {{"n1", "t"}});
    assert_string_equal(better_of(bed, first, second), "first");
}

static void
test_stamps_of_two_nodes_do_not(void **state)
{
    store_bed *bed = *state;
    udpa_resource *first = X(.value = "first", .generation = 1, .hops = {{"n1", "s"}});
    udpa_resource *second = X(.value = "second", .generation = 2, .hops = {{"n2", "s"}});
    assert_string_equal(better_of(bed, first, second), "first");
}

static void
test_a_stamp_does_not_compare_with_a_signature(void **state)
{
    store_bed *bed = *state;
    udpa_resource *first = X(.value = "first", .generation = 1, .is_signed = true);
    udpa_resource *second = X(.value = "second", .generation = 2, .hops = {{"n2", "s"}});
    assert_string_equal(better_of(bed, first, second), "first");
}

static void
test_stamps_of_this_node_compare(void **state)
{
    store_bed *bed = *state;
    udpa_resource *first = X(.value = "first", .generation = 1);
    udpa_resource *second = X(.value = "second", .generation = 2);
    assert_string_equal(better_of(bed, first, second), "second");
}

/* The classes of one authority are ranked by their best origins, not by who has the newest. */
static void
test_a_class_stands_where_its_best_origin_stands(void **state)
{
    store_bed *bed = *state;
    udpai_origin *third = store_bed_origin(bed, "third", UDPAI_ORIGIN_SOURCE, 3);
    store_bed_put(bed, third, X(.value = "third", .generation = 9, .hops = {{"n1", "s"}}));
    udpa_resource *first = X(.value = "first", .generation = 1, .hops = {{"n1", "s"}});
    udpa_resource *second = X(.value = "second", .generation = 99, .hops = {{"n2", "s"}});
    assert_string_equal(better_of(bed, first, second), "third");
}

/* ---- eligibility ---- */

static void
test_sources_do_not_count_without_a_word(void **state)
{
    store_bed *bed = *state;
    udpai_origin *source = udpai_store_origin(bed->store, UDPAI_STR("source"));
    udpai_origin_set_rank(bed->store, source, UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *publisher = udpai_store_origin(bed->store, UDPAI_STR("publisher"));
    assert_false(udpai_origin_is_eligible(source, UDPAI_STR(TEST_TYPE)));
    assert_true(udpai_origin_is_eligible(publisher, UDPAI_STR(TEST_TYPE)));
    PUT(bed, source, "a", .value = "1");
    PUT(bed, publisher, "b", .value = "1");
    assert_changes(bed, "+b=1");
    store_bed_eligible(bed, source, true);
    assert_changes(bed, "+a=1");
    assert_ok(udpai_origin_set_eligible(bed->store, source, UDPAI_STR(TEST_CDS), false));
    assert_false(udpai_store_has_changes(bed->store));
    assert_true(udpai_origin_is_eligible(source, UDPAI_STR(TEST_TYPE)));
}

/* The stand-in takes over, and hands back: each time as one change set. */
static void
test_eligibility_flips_all_at_once(void **state)
{
    store_bed *bed = *state;
    udpai_origin *main = store_bed_origin(bed, "main", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *standby = store_bed_origin(bed, "standby", UDPAI_ORIGIN_SOURCE, 1);
    store_bed_eligible(bed, standby, false);
    PUT(bed, main, "a", .value = "m", .authority = "m");
    PUT(bed, main, "b", .value = "m", .authority = "m");
    PUT(bed, standby, "b", .value = "s", .authority = "s");
    PUT(bed, standby, "c", .value = "s", .authority = "s");
    assert_changes(bed, "+a=m +b=m");
    store_bed_eligible(bed, main, false);
    store_bed_eligible(bed, standby, true);
    assert_changes(bed, "-a +b=s +c=s");
    store_bed_eligible(bed, standby, false);
    store_bed_eligible(bed, main, true);
    assert_changes(bed, "+a=m +b=m -c");
    store_bed_eligible(bed, main, false);
    store_bed_eligible(bed, main, true);
    assert_changes(bed, "");
}

/* A generation never goes back, though who had it does not count any more. */
static void
test_the_newest_stays_until_it_is_reached(void **state)
{
    store_bed *bed = *state;
    udpai_origin *main = store_bed_origin(bed, "main", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *standby = store_bed_origin(bed, "standby", UDPAI_ORIGIN_SOURCE, 1);
    PUT(bed, main, "a", .value = "5", .authority = "x", .generation = 5);
    PUT(bed, standby, "a", .value = "3", .authority = "x", .generation = 3);
    assert_changes(bed, "+a=5");
    store_bed_eligible(bed, main, false);
    assert_changes(bed, "");
    PUT(bed, standby, "a", .value = "4", .authority = "x", .generation = 4);
    assert_changes(bed, "");
    PUT(bed, standby, "a", .value = "5s", .authority = "x", .generation = 5);
    assert_changes(bed, "+a=5s");
    PUT(bed, main, "a", .value = "6", .authority = "x", .generation = 6);
    assert_changes(bed, "");
}

static void
test_it_does_not_stay_for_another_authority(void **state)
{
    store_bed *bed = *state;
    udpai_origin *main = store_bed_origin(bed, "main", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *standby = store_bed_origin(bed, "standby", UDPAI_ORIGIN_SOURCE, 1);
    PUT(bed, main, "a", .value = "5", .authority = "x", .generation = 5);
    PUT(bed, standby, "a", .value = "3", .authority = "y", .generation = 3);
    assert_changes(bed, "+a=5");
    store_bed_eligible(bed, main, false);
    assert_changes(bed, "+a=3");
}

/* The stand-in's older word was outlived before; that is no reason for the newer one to go. */
static void
test_what_is_outlived_backs_what_is_newer(void **state)
{
    store_bed *bed = *state;
    udpai_origin *first = store_bed_origin(bed, "1", UDPAI_ORIGIN_SOURCE, 1);
    udpai_origin *stand_in = store_bed_origin(bed, "2", UDPAI_ORIGIN_SOURCE, 2);
    PUT(bed, first, "a", .value = "5", .authority = "x", .generation = 5);
    assert_changes(bed, "+a=5");
    store_bed_withdraw(bed, first, "com.acme/a");
    assert_changes(bed, "-a");
    PUT(bed, first, "a", .value = "6", .authority = "x", .generation = 6);
    PUT(bed, stand_in, "a", .value = "4", .authority = "x", .generation = 4);
    assert_changes(bed, "+a=6");
    store_bed_eligible(bed, first, false);
    assert_changes(bed, "");
    store_bed_withdraw(bed, stand_in, "com.acme/a");
    assert_changes(bed, "-a");
}

/* An origin's contribution is not replaced by an older one of itself. */
static void
test_an_origin_does_not_go_back(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_SOURCE, 0);
    PUT(bed, origin, "a", .value = "5", .authority = "x", .generation = 5);
    assert_changes(bed, "+a=5");
    PUT(bed, origin, "a", .value = "4", .authority = "x", .generation = 4);
    assert_changes(bed, "");
    PUT(bed, origin, "a", .value = "y", .authority = "y", .generation = 1);
    assert_changes(bed, "+a=y");
    PUT(bed, origin, "a", .value = "5 again", .authority = "x", .generation = 5);
    assert_changes(bed, "+a=5 again");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_class_decides_between_authorities),
        store_test(test_order_decides_within_a_class),
        store_test(test_the_name_of_the_authority_decides_in_the_end),
        store_test(test_what_was_adopted_counts_beside_an_own_word),
        store_test(test_an_authority_stands_where_its_best_origin_stands),
        store_test(test_the_highest_generation_wins_whatever_the_way),
        store_test(test_of_equals_fewer_hops_then_order_then_name),
        store_test(test_of_equals_the_first_source_where_there_is_another_authority),
        store_test(test_signed_generations_compare),
        store_test(test_first_hand_generations_compare),
        store_test(test_first_hand_compares_with_signed),
        store_test(test_stamps_of_one_node_compare),
        store_test(test_stamps_of_one_node_from_two_places_do_not),
        store_test(test_stamps_of_two_nodes_do_not),
        store_test(test_a_stamp_does_not_compare_with_a_signature),
        store_test(test_stamps_of_this_node_compare),
        store_test(test_a_class_stands_where_its_best_origin_stands),
        store_test(test_sources_do_not_count_without_a_word),
        store_test(test_eligibility_flips_all_at_once),
        store_test(test_the_newest_stays_until_it_is_reached),
        store_test(test_it_does_not_stay_for_another_authority),
        store_test(test_an_origin_does_not_go_back),
        store_test(test_what_is_outlived_backs_what_is_newer),
    };
    return cmocka_run_group_tests_name("effective", tests, NULL, NULL);
}
