/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of a name when its newest contribution has gone. */
#include "tests/unit/store/store_test.h"

static uint64_t
highest(const store_bed *bed, const char *name)
{
    return udpai_store_highest_generation(bed->store, UDPAI_STR(TEST_TYPE), udpai_str_from(name));
}

static void
test_an_old_copy_is_no_successor(void **state)
{
    store_bed *bed = *state;
    udpai_origin *fast = store_bed_origin(bed, "fast", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *slow = store_bed_origin(bed, "slow", UDPAI_ORIGIN_SOURCE, 1);
    PUT(bed, slow, "a", .value = "4", .authority = "x", .generation = 4);
    PUT(bed, fast, "a", .value = "5", .authority = "x", .generation = 5);
    assert_changes(bed, "+a=5");
    store_bed_withdraw(bed, fast, "com.acme/a");
    assert_changes(bed, "-a");
    assert_int_equal(highest(bed, "com.acme/a"), 5);
    PUT(bed, slow, "a", .value = "4 again", .authority = "x", .generation = 4);
    assert_changes(bed, "");
    PUT(bed, slow, "a", .value = "5", .authority = "x", .generation = 5);
    assert_changes(bed, "+a=5");
}

static void
test_a_late_copy_brings_no_ghost(void **state)
{
    store_bed *bed = *state;
    udpai_origin *fast = store_bed_origin(bed, "fast", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *slow = store_bed_origin(bed, "slow", UDPAI_ORIGIN_SOURCE, 1);
    PUT(bed, fast, "a", .value = "5", .authority = "x", .generation = 5);
    assert_changes(bed, "+a=5");
    store_bed_withdraw(bed, fast, "com.acme/a");
    assert_changes(bed, "-a");
    PUT(bed, slow, "a", .value = "4", .authority = "x", .generation = 4);
    assert_changes(bed, "");
    udpai_contribution contribution;
    assert_true(udpai_store_get(bed->store, slow, UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/a"),
                                &contribution));
    assert_true(contribution.superseded && contribution.eligible && !contribution.effective);
}

static void
test_other_authorities_are_not_concerned(void **state)
{
    store_bed *bed = *state;
    udpai_origin *x = store_bed_origin(bed, "x", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *y = store_bed_origin(bed, "y", UDPAI_ORIGIN_SOURCE, 1);
    PUT(bed, x, "a", .value = "5", .authority = "x", .generation = 5);
    PUT(bed, y, "a", .value = "1", .authority = "y", .generation = 1);
    assert_changes(bed, "+a=5");
    store_bed_withdraw(bed, x, "com.acme/a");
    assert_changes(bed, "+a=1");
}

static void
test_it_is_forgotten_in_time(void **state)
{
    store_bed *bed = *state;
    udpai_origin *fast = store_bed_origin(bed, "fast", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *slow = store_bed_origin(bed, "slow", UDPAI_ORIGIN_SOURCE, 1);
    PUT(bed, fast, "a", .value = "5", .authority = "x", .generation = 5);
    assert_changes(bed, "+a=5");
    store_bed_withdraw(bed, fast, "com.acme/a");
    PUT(bed, slow, "a", .value = "4", .authority = "x", .generation = 4);
    assert_changes(bed, "-a");
    store_bed_at(bed, 10999);
    assert_changes(bed, "");
    assert_int_equal(highest(bed, "com.acme/a"), 5);
    store_bed_at(bed, 11000);
    assert_changes(bed, "+a=4");
    assert_int_equal(highest(bed, "com.acme/a"), 4);
    store_bed_withdraw(bed, slow, "com.acme/a");
    assert_changes(bed, "-a");
    store_bed_at(bed, 21000);
    assert_changes(bed, "");
    assert_int_equal(highest(bed, "com.acme/a"), 0);
}

/* Nothing is kept of what nobody asks about: the table of names is empty again. */
static bool
count_type(void *userdata, udpai_str type_url, size_t n_effective)
{
    (void)type_url;
    *(size_t *)userdata += n_effective + 1;
    return true;
}

static void
test_the_oldest_go_first(void **state)
{
    store_bed *bed = *state;
    bed->options.remember_max = 2;
    udpai_store_set_options(bed->store, &bed->options);
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_SOURCE, 0);
    PUT(bed, origin, "a", .generation = 5);
    PUT(bed, origin, "b", .generation = 5);
    PUT(bed, origin, "c", .generation = 5);
    (void)store_bed_changes(bed);
    store_bed_withdraw(bed, origin, "com.acme/b");
    store_bed_withdraw(bed, origin, "com.acme/a");
    PUT(bed, origin, "b", .generation = 6);
    store_bed_withdraw(bed, origin, "com.acme/b");
    store_bed_withdraw(bed, origin, "com.acme/c");
    assert_changes(bed, "-a -b -c");
    assert_int_equal(highest(bed, "com.acme/a"), 0);
    assert_int_equal(highest(bed, "com.acme/b"), 6);
    assert_int_equal(highest(bed, "com.acme/c"), 5);
    store_bed_at(bed, 11000);
    assert_changes(bed, "");
    size_t n = 0;
    udpai_store_visit_types(bed->store, count_type, &n);
    assert_int_equal(n, 0);
}

static void
test_nothing_is_remembered_without_generations(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_SOURCE, 0);
    PUT(bed, origin, "a", .value = "1");
    store_bed_withdraw(bed, origin, "com.acme/a");
    assert_changes(bed, "");
    assert_true(udpai_wheel_next(&bed->wheel) == UDPAI_WHEEL_NEVER);
    bed->options.remember_max = 0;
    udpai_store_set_options(bed->store, &bed->options);
    PUT(bed, origin, "a", .value = "1", .generation = 7);
    store_bed_withdraw(bed, origin, "com.acme/a");
    assert_int_equal(highest(bed, "com.acme/a"), 0);
}

/* Replaced by what does not compare with it, the old one has gone just as well. */
static void
test_a_change_of_authority_is_remembered(void **state)
{
    store_bed *bed = *state;
    udpai_origin *first = store_bed_origin(bed, "1", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *second = store_bed_origin(bed, "2", UDPAI_ORIGIN_SOURCE, 1);
    PUT(bed, first, "a", .value = "x5", .authority = "x", .generation = 5);
    PUT(bed, first, "a", .value = "z1", .authority = "z", .generation = 1);
    assert_changes(bed, "+a=z1");
    PUT(bed, second, "a", .value = "x4", .authority = "x", .generation = 4);
    store_bed_withdraw(bed, first, "com.acme/a");
    assert_changes(bed, "-a");
    PUT(bed, second, "a", .value = "x6", .authority = "x", .generation = 6);
    assert_changes(bed, "+a=x6");
}

/* A memory that is renewed lives anew, with the higher of both. */
static void
test_a_second_removal_renews_the_memory(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_SOURCE, 0);
    PUT(bed, origin, "a", .generation = 5);
    store_bed_withdraw(bed, origin, "com.acme/a");
    store_bed_at(bed, 6000);
    PUT(bed, origin, "a", .generation = 3);
    assert_changes(bed, "");
    store_bed_withdraw(bed, origin, "com.acme/a");
    store_bed_at(bed, 15000);
    assert_int_equal(highest(bed, "com.acme/a"), 5);
    store_bed_at(bed, 16000);
    assert_int_equal(highest(bed, "com.acme/a"), 0);
}

static void
test_the_payload_is_not_kept(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_SOURCE, 0);
    udpa_resource *resource =
        RESOURCE("com.acme/a", .value = "big", .generation = 5, .aliases = {"com.acme/b"});
    udpa_bytes *any = udpa_bytes_ref(udpai_resource_any_shared(resource));
    store_bed_put(bed, origin, resource);
    store_bed_withdraw(bed, origin, "com.acme/a");
    assert_changes(bed, "");
    assert_string_equal(store_bed_effective(bed, "com.acme/a"), "");
    /* What holds the bytes now is this reference alone. */
    unsigned long with_floor = udpai_alloc_live();
    udpa_bytes_unref(any);
    assert_int_equal(udpai_alloc_live(), with_floor - 1);
    assert_int_equal(highest(bed, "com.acme/a"), 5);
}

/* ---- signed ones ---- */

static uint64_t
remember_twice_as_long(void *userdata, const udpa_resource *gone)
{
    (void)userdata;
    return udpai_resource_signature(gone) ? 20000 : 0;
}

static void
test_some_are_remembered_longer(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_SOURCE, 0);
    udpai_store_set_remember(bed->store, remember_twice_as_long, NULL);
    PUT(bed, origin, "a", .authority = "x", .generation = 5, .is_signed = true);
    PUT(bed, origin, "b", .authority = "x", .generation = 5);
    (void)store_bed_changes(bed);
    store_bed_withdraw(bed, origin, "com.acme/a");
    store_bed_withdraw(bed, origin, "com.acme/b");
    assert_changes(bed, "-a -b");
    store_bed_at(bed, 12000);
    assert_changes(bed, "");
    assert_int_equal(highest(bed, "com.acme/a"), 5);
    assert_int_equal(highest(bed, "com.acme/b"), 0);
    PUT(bed, origin, "a", .authority = "x", .generation = 4, .is_signed = true);
    assert_changes(bed, "");
    store_bed_at(bed, 22000);
    assert_changes(bed, "+a=");
}

static uint64_t
remember_the_fifth_longer(void *userdata, const udpa_resource *gone)
{
    (void)userdata;
    return udpa_resource_generation(gone) == 5 ? 20000 : 0;
}

/* What goes later, and would be forgotten sooner, shortens nothing. */
static void
test_what_is_remembered_longer_stays_so(void **state)
{
    store_bed *bed = *state;
    udpai_origin *fast = store_bed_origin(bed, "fast", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *slow = store_bed_origin(bed, "slow", UDPAI_ORIGIN_SOURCE, 1);
    udpai_store_set_remember(bed->store, remember_the_fifth_longer, NULL);
    PUT(bed, fast, "a", .authority = "x", .generation = 5);
    PUT(bed, slow, "a", .authority = "x", .generation = 4);
    (void)store_bed_changes(bed);
    store_bed_withdraw(bed, fast, "com.acme/a");
    store_bed_withdraw(bed, slow, "com.acme/a");
    assert_changes(bed, "-a");
    store_bed_at(bed, 20999);
    assert_changes(bed, "");
    assert_int_equal(highest(bed, "com.acme/a"), 5);
    store_bed_at(bed, 21000);
    assert_changes(bed, "");
    assert_int_equal(highest(bed, "com.acme/a"), 0);
}

static void
test_signed_ones_are_remembered_apart(void **state)
{
    store_bed *bed = *state;
    bed->options.remember_max = 1;
    udpai_store_set_options(bed->store, &bed->options);
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_SOURCE, 0);
    PUT(bed, origin, "a", .authority = "x", .generation = 5, .is_signed = true);
    PUT(bed, origin, "b", .authority = "x", .generation = 5);
    PUT(bed, origin, "c", .authority = "x", .generation = 5);
    (void)store_bed_changes(bed);
    store_bed_withdraw(bed, origin, "com.acme/a");
    store_bed_withdraw(bed, origin, "com.acme/b");
    store_bed_withdraw(bed, origin, "com.acme/c");
    assert_changes(bed, "-a -b -c");
    assert_int_equal(highest(bed, "com.acme/a"), 5);
    assert_int_equal(highest(bed, "com.acme/b"), 0);
    assert_int_equal(highest(bed, "com.acme/c"), 5);
}

/* As a relay that turns to another source: the one beside it has not lost it. */
static void
test_what_is_left_stays_while_another_has_something_older(void **state)
{
    store_bed *bed = *state;
    udpai_origin *fast = store_bed_origin(bed, "fast", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *slow = store_bed_origin(bed, "slow", UDPAI_ORIGIN_SOURCE, 1);
    udpai_str type = UDPAI_STR(TEST_TYPE), name = UDPAI_STR("com.acme/a");
    PUT(bed, slow, "a", .value = "4", .authority = "x", .generation = 4);
    PUT(bed, fast, "a", .value = "5", .authority = "x", .generation = 5);
    assert_changes(bed, "+a=5");
    udpai_store_leave(bed->store, fast, type, name);
    assert_changes(bed, "");
    udpai_store_leave(bed->store, slow, type, name);
    assert_changes(bed, "-a");
}

/* Nor longer than it would be remembered: then what the other has counts. */
static void
test_what_is_left_ends(void **state)
{
    store_bed *bed = *state;
    udpai_origin *fast = store_bed_origin(bed, "fast", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *slow = store_bed_origin(bed, "slow", UDPAI_ORIGIN_SOURCE, 1);
    PUT(bed, slow, "a", .value = "4", .authority = "x", .generation = 4);
    PUT(bed, fast, "a", .value = "5", .authority = "x", .generation = 5);
    assert_changes(bed, "+a=5");
    udpai_store_leave_all(bed->store, fast, &(udpai_store_scope){0});
    store_bed_at(bed, 10999);
    assert_changes(bed, "");
    store_bed_at(bed, 11000);
    assert_changes(bed, "+a=4");
}

/* What rules take away does not stay for what another has; nor does it for a word of the node's
 * own, or of another authority. */
static void
test_only_what_is_left_stays(void **state)
{
    store_bed *bed = *state;
    udpai_origin *fast = store_bed_origin(bed, "fast", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *slow = store_bed_origin(bed, "slow", UDPAI_ORIGIN_SOURCE, 1);
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0);
    PUT(bed, slow, "a", .value = "4", .authority = "x", .generation = 4);
    PUT(bed, fast, "a", .value = "5", .authority = "x", .generation = 5);
    PUT(bed, files, "b", .value = "4", .authority = "x", .generation = 4);
    PUT(bed, fast, "b", .value = "5", .authority = "x", .generation = 5);
    assert_changes(bed, "+a=5 +b=5");
    store_bed_withdraw(bed, fast, "com.acme/a");
    udpai_store_leave_all(bed->store, fast, &(udpai_store_scope){0});
    assert_changes(bed, "-a -b");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_an_old_copy_is_no_successor),
        store_test(test_a_late_copy_brings_no_ghost),
        store_test(test_other_authorities_are_not_concerned),
        store_test(test_it_is_forgotten_in_time),
        store_test(test_the_oldest_go_first),
        store_test(test_what_is_left_stays_while_another_has_something_older),
        store_test(test_what_is_left_ends),
        store_test(test_only_what_is_left_stays),
        store_test(test_some_are_remembered_longer),
        store_test(test_what_is_remembered_longer_stays_so),
        store_test(test_signed_ones_are_remembered_apart),
        store_test(test_nothing_is_remembered_without_generations),
        store_test(test_a_change_of_authority_is_remembered),
        store_test(test_a_second_removal_renews_the_memory),
        store_test(test_the_payload_is_not_kept),
    };
    return cmocka_run_group_tests_name("floor", tests, NULL, NULL);
}
