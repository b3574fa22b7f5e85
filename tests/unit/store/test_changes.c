/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of the contributions: which kind of change, when several become one, and what is
 * held back. */
#include "tests/unit/store/store_test.h"

static udpai_origin *
origin_of(store_bed *bed)
{
    return store_bed_origin(bed, "o", UDPAI_ORIGIN_FILES, 0);
}

/* ---- kinds ---- */

static void
test_the_same_again_is_no_change(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = origin_of(bed);
    PUT(bed, origin, "a", .value = "1", .generation = 5, .authority = "x");
    assert_changes(bed, "+a=1");
    PUT(bed, origin, "a", .value = "1", .generation = 5, .authority = "x");
    assert_true(udpai_store_has_changes(bed->store));
    assert_changes(bed, "");
    assert_false(udpai_store_has_changes(bed->store));
}

static void
test_what_needs_no_payload_is_a_refresh(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = origin_of(bed);
    PUT(bed, origin, "a", .value = "1", .generation = 5);
    assert_changes(bed, "+a=1");
    PUT(bed, origin, "a", .value = "1", .generation = 6);
    assert_changes(bed, "~a=1");
    PUT_UNTIL(bed, origin, 5000, "a", .value = "1", .generation = 6, .ttl_ms = 4000);
    assert_changes(bed, "~a=1@5000");
    PUT_UNTIL(bed, origin, 6000, "a", .value = "1", .generation = 6, .ttl_ms = 4000);
    assert_changes(bed, "~a=1@6000");
    PUT_UNTIL(bed, origin, 6000, "a", .value = "1", .generation = 7, .is_signed = true);
    assert_changes(bed, "~a=1@6000");
}

static void
test_another_path_is_a_refresh(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = origin_of(bed);
    PUT(bed, origin, "a", .value = "1", .authority = "x", .generation = 5, .hops = {{"n1", "x"}});
    assert_changes(bed, "+a=1");
    PUT(bed, origin, "a", .value = "1", .authority = "x", .generation = 5, .hops = {{"n2", "x"}});
    assert_changes(bed, "~a=1");
    udpa_bytes *node = NULL;
    assert_ok(udpa_bytes_new(&node, "node-7", 6));
    udpai_origin_set_node(bed->store, origin, node);
    assert_changes(bed, "~a=1<node-7");
    udpa_bytes_unref(node);
    assert_ok(udpa_bytes_new(&node, "node-7", 6));
    udpai_origin_set_node(bed->store, origin, node);
    assert_false(udpai_store_has_changes(bed->store));
    udpa_bytes_unref(node);
    udpai_origin_set_node(bed->store, origin, NULL);
    assert_changes(bed, "~a=1");
}

/* Each of these cannot be said without the payload. */
static void
test_what_needs_the_payload_is_set(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = origin_of(bed);
    PUT_UNTIL(bed, origin, 5000, "a", .value = "1", .version = "v");
    assert_changes(bed, "+a=1@5000");
    PUT(bed, origin, "a", .value = "1", .version = "v");
    assert_changes(bed, "+a=1");
    PUT(bed, origin, "a", .value = "2", .version = "v");
    assert_changes(bed, "+a=2");
    PUT(bed, origin, "a", .value = "2", .version = "w");
    assert_changes(bed, "+a=2");
    PUT(bed, origin, "a", .value = "2", .version = "w", .authority = "x");
    assert_changes(bed, "+a=2");
    PUT(bed, origin, "a", .value = "2", .version = "w", .authority = "x", .lazy = true);
    assert_changes(bed, "+a=2");
    PUT(bed, origin, "a", .value = "2", .version = "w", .authority = "x", .lazy = true,
        .do_not_cache = true);
    assert_changes(bed, "+a=2");
    PUT(bed, origin, "a", .value = "2", .version = "w", .authority = "x",
        .aliases = {"com.acme/b"});
    assert_changes(bed, "+a=2");
    PUT(bed, origin, "a", .value = "2", .version = "w", .authority = "x",
        .aliases = {"com.acme/c"});
    assert_changes(bed, "+a=2");
}

/* ---- several between two looks ---- */

static void
test_changes_between_two_looks_become_one(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = origin_of(bed);
    PUT(bed, origin, "kept", .value = "1");
    PUT(bed, origin, "gone", .value = "1");
    assert_changes(bed, "+gone=1 +kept=1");
    PUT(bed, origin, "kept", .value = "2");
    PUT(bed, origin, "kept", .value = "3");
    PUT(bed, origin, "gone", .value = "2");
    store_bed_withdraw(bed, origin, "com.acme/gone");
    PUT(bed, origin, "seen by nobody", .value = "1");
    store_bed_withdraw(bed, origin, "com.acme/seen by nobody");
    PUT(bed, origin, "new", .value = "1");
    PUT(bed, origin, "new", .value = "2");
    assert_changes(bed, "-gone +kept=3 +new=2");
    PUT(bed, origin, "kept", .value = "4");
    PUT(bed, origin, "kept", .value = "3");
    store_bed_withdraw(bed, origin, "com.acme/new");
    PUT(bed, origin, "new", .value = "2");
    assert_changes(bed, "");
}

/* ---- what is not certain to be gone ---- */

struct doubt {
    const char *name; /* that is not certain; NULL: all are */
    size_t n_asked;
};

static bool
is_certain(void *userdata, const udpa_resource *last)
{
    struct doubt *doubt = userdata;
    doubt->n_asked++;
    return !doubt->name || !udpai_str_eq(udpai_resource_name(last), udpai_str_from(doubt->name));
}

static bool
note_told(void *userdata, udpa_resource *resource)
{
    *(udpa_resource **)userdata = resource;
    return true;
}

static void
test_a_removal_waits_until_it_is_certain(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = origin_of(bed);
    struct doubt doubt = {"com.acme/a", 0};
    udpai_store_set_certain(bed->store, is_certain, &doubt);
    PUT(bed, origin, "a", .value = "1");
    PUT(bed, origin, "b", .value = "1");
    assert_changes(bed, "+a=1 +b=1");
    assert_int_equal(doubt.n_asked, 0);
    store_bed_withdraw(bed, origin, "com.acme/a");
    store_bed_withdraw(bed, origin, "com.acme/b");
    assert_changes(bed, "-b");
    assert_int_equal(udpai_store_n_contributions(bed->store), 0);
    udpa_resource *told = NULL;
    udpai_store_visit_reported(bed->store, UDPAI_STR(TEST_TYPE), note_told, &told);
    assert_non_null(told);
    assert_str(udpai_resource_name(told), "com.acme/a");
    assert_changes(bed, "");
    udpai_store_recheck_removals(bed->store);
    assert_changes(bed, "");
    doubt.name = NULL;
    assert_changes(bed, "");
    udpai_store_recheck_removals(bed->store);
    assert_changes(bed, "-a");
    udpai_store_visit_reported(bed->store, UDPAI_STR(TEST_TYPE), note_told, &told);
    udpai_store_recheck_removals(bed->store);
    assert_changes(bed, "");
}

static void
test_what_was_held_back_may_come_back(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = origin_of(bed);
    struct doubt doubt = {"com.acme/a", 0};
    udpai_store_set_certain(bed->store, is_certain, &doubt);
    PUT(bed, origin, "a", .value = "1");
    assert_changes(bed, "+a=1");
    store_bed_withdraw(bed, origin, "com.acme/a");
    assert_changes(bed, "");
    PUT(bed, origin, "a", .value = "1");
    assert_changes(bed, "");
    store_bed_withdraw(bed, origin, "com.acme/a");
    assert_changes(bed, "");
    PUT(bed, origin, "a", .value = "2");
    assert_changes(bed, "+a=2");
    doubt.name = NULL;
    udpai_store_recheck_removals(bed->store);
    assert_changes(bed, "");
}

/* What is held back, though its origin does not count, keeps older generations out. */
static void
test_what_is_held_back_does_not_go_back(void **state)
{
    store_bed *bed = *state;
    udpai_origin *main = store_bed_origin(bed, "main", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *standby = store_bed_origin(bed, "standby", UDPAI_ORIGIN_SOURCE, 1);
    struct doubt doubt = {"com.acme/a", 0};
    udpai_store_set_certain(bed->store, is_certain, &doubt);
    PUT(bed, main, "a", .value = "5", .authority = "x", .generation = 5);
    assert_changes(bed, "+a=5");
    store_bed_eligible(bed, main, false);
    assert_changes(bed, "");
    PUT(bed, standby, "a", .value = "4", .authority = "x", .generation = 4);
    assert_changes(bed, "");
    PUT(bed, standby, "a", .value = "6", .authority = "x", .generation = 6);
    assert_changes(bed, "+a=6");
}

/* A store that goes with removals still held back leaves nothing behind: see the teardown. */
static void
test_a_store_may_go_with_removals_held_back(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = origin_of(bed);
    struct doubt doubt = {"com.acme/a", 0};
    udpai_store_set_certain(bed->store, is_certain, &doubt);
    PUT(bed, origin, "a", .value = "1", .generation = 3);
    assert_changes(bed, "+a=1");
    store_bed_withdraw(bed, origin, "com.acme/a");
    assert_changes(bed, "");
    PUT(bed, origin, "b", .value = "never looked at", .generation = 4);
}

/* ---- change sets as values ---- */

static void
test_a_change_set_keeps_what_it_tells(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = origin_of(bed);
    PUT(bed, origin, "a", .value = "1");
    udpai_change_set *set = NULL, *nothing = NULL;
    assert_ok(udpai_store_take_changes(bed->store, &set));
    assert_ok(udpai_store_take_changes(bed->store, &nothing));
    assert_null(nothing);
    store_bed_withdraw(bed, origin, "com.acme/a");
    assert_changes(bed, "-a");
    assert_ptr_equal(udpai_change_set_ref(set), set);
    assert_null(udpai_change_set_unref(set));
    assert_int_equal(udpai_change_set_size(set), 1);
    assert_str(udpai_resource_value(udpai_change_set_at(set, 0)->resource), "1");
    assert_null(udpai_change_set_unref(set));
    assert_null(udpai_change_set_unref(NULL));
    assert_null(udpai_change_set_ref(NULL));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_the_same_again_is_no_change),
        store_test(test_what_needs_no_payload_is_a_refresh),
        store_test(test_another_path_is_a_refresh),
        store_test(test_what_needs_the_payload_is_set),
        store_test(test_changes_between_two_looks_become_one),
        store_test(test_a_removal_waits_until_it_is_certain),
        store_test(test_what_was_held_back_may_come_back),
        store_test(test_what_is_held_back_does_not_go_back),
        store_test(test_a_store_may_go_with_removals_held_back),
        store_test(test_a_change_set_keeps_what_it_tells),
    };
    return cmocka_run_group_tests_name("changes", tests, NULL, NULL);
}
