/* SPDX-License-Identifier: Apache-2.0 */
/* Origins: finding them, and how long they stay. */
#include "tests/unit/store/store_test.h"

#include <stdio.h>

static void
test_origins_are_found_by_key(void **state)
{
    store_bed *bed = *state;
    assert_null(udpai_store_find_origin(bed->store, UDPAI_STR("one")));
    udpai_origin *one = udpai_store_origin(bed->store, UDPAI_STR("one"));
    assert_ptr_equal(udpai_store_origin(bed->store, UDPAI_STR("one")), one);
    assert_ptr_equal(udpai_store_find_origin(bed->store, UDPAI_STR("one")), one);
    assert_ptr_not_equal(udpai_store_origin(bed->store, UDPAI_STR("on\0e")), one);
    assert_str(udpai_origin_key(one), "one");
    assert_int_equal(udpai_origin_rank(one), UDPAI_ORIGIN_PUBLISHER);
}

static void
test_the_rank_of_an_origin_goes_before_its_order(void **state)
{
    store_bed *bed = *state;
    udpai_origin *first = udpai_store_origin(bed->store, UDPAI_STR("first"));
    udpai_origin *second = udpai_store_origin(bed->store, UDPAI_STR("second"));
    udpai_origin_set_rank(bed->store, first, UDPAI_ORIGIN_SOURCE, 1);
    udpai_origin_set_rank(bed->store, second, UDPAI_ORIGIN_SOURCE, 2);
    assert_true(udpai_origin_is_before(first, second));
    assert_false(udpai_origin_is_before(second, first));
    assert_false(udpai_origin_is_before(first, first));
    udpai_origin_set_rank(bed->store, second, UDPAI_ORIGIN_FILES, 2);
    assert_true(udpai_origin_is_before(second, first));
    assert_false(udpai_origin_is_before(first, second));
}

/* ---- who goes ---- */

static bool
is_there(const store_bed *bed, const char *key)
{
    return udpai_store_find_origin(bed->store, udpai_str_from(key)) != NULL;
}

/* A publisher that nobody holds. */
static udpai_origin *
stranger(const store_bed *bed, const char *key)
{
    udpai_origin *origin = udpai_store_origin(bed->store, udpai_str_from(key));
    assert_non_null(origin);
    return origin;
}

static void
test_who_has_nothing_goes_with_the_next_look(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = stranger(bed, "one");
    (void)stranger(bed, "two");
    assert_ok(udpai_origin_set_eligible(bed->store, origin, UDPAI_STR(TEST_CDS), true));
    assert_true(is_there(bed, "one"));
    assert_changes(bed, "");
    assert_false(is_there(bed, "one") || is_there(bed, "two"));
}

static void
test_who_has_something_stays(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = stranger(bed, "one");
    PUT(bed, origin, "a", .value = "1", .generation = 5);
    PUT(bed, origin, "b", .value = "1");
    assert_changes(bed, "+a=1 +b=1");
    store_bed_withdraw(bed, origin, "com.acme/a");
    assert_changes(bed, "-a");
    store_bed_withdraw(bed, origin, "com.acme/b");
    assert_true(is_there(bed, "one"));
    assert_changes(bed, "-b");
    assert_false(is_there(bed, "one")); /* though one of its generations is remembered */
}

static void
test_what_was_never_told_keeps_nobody(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = stranger(bed, "one");
    PUT(bed, origin, "a", .value = "1");
    store_bed_withdraw(bed, origin, "com.acme/a");
    PUT(bed, origin, "a", .value = "1");
    store_bed_withdraw(bed, origin, "com.acme/a");
    assert_changes(bed, "");
    assert_false(is_there(bed, "one"));
}

static void
test_an_end_by_time_is_one(void **state)
{
    store_bed *bed = *state;
    PUT_UNTIL(bed, stranger(bed, "one"), 2000, "a", .value = "1");
    assert_changes(bed, "+a=1@2000");
    store_bed_at(bed, 2000);
    assert_changes(bed, "-a");
    assert_false(is_there(bed, "one"));
}

static void
test_who_is_held_stays(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = udpai_origin_ref(stranger(bed, "one"));
    assert_ptr_equal(udpai_origin_ref(origin), origin);
    assert_changes(bed, "");
    PUT(bed, origin, "a", .value = "1");
    assert_changes(bed, "+a=1");
    store_bed_withdraw(bed, origin, "com.acme/a");
    assert_changes(bed, "-a");
    assert_null(udpai_origin_unref(bed->store, origin));
    assert_true(is_there(bed, "one"));
    assert_null(udpai_origin_unref(bed->store, origin));
    assert_false(is_there(bed, "one"));
    assert_null(udpai_origin_unref(bed->store, NULL));
}

static void
test_who_is_let_go_with_something_stays(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = udpai_origin_ref(stranger(bed, "one"));
    PUT(bed, origin, "a", .value = "1");
    udpai_origin_unref(bed->store, origin);
    assert_changes(bed, "+a=1");
    assert_ptr_equal(stranger(bed, "one"), origin); /* it has come again */
    udpai_origin_ref(origin);
    store_bed_withdraw(bed, origin, "com.acme/a");
    udpai_origin_unref(bed->store, origin);
    assert_true(is_there(bed, "one")); /* until everybody knows */
    assert_changes(bed, "-a");
    assert_false(is_there(bed, "one"));
}

static bool
is_certain(void *userdata, const udpa_resource *last)
{
    (void)last;
    return *(const bool *)userdata;
}

/* What is held back takes the room of whoever had it. */
static void
test_who_has_something_held_back_stays(void **state)
{
    store_bed *bed = *state;
    bool certain = false;
    udpai_store_set_certain(bed->store, is_certain, &certain);
    udpai_origin *origin = stranger(bed, "one");
    PUT(bed, origin, "a", .value = "1");
    assert_changes(bed, "+a=1");
    store_bed_withdraw(bed, origin, "com.acme/a");
    assert_changes(bed, "");
    assert_true(is_there(bed, "one"));
    certain = true;
    udpai_store_recheck_removals(bed->store);
    assert_changes(bed, "-a");
    assert_false(is_there(bed, "one"));
}

/* Though nobody is told of it, since nothing has changed. */
static void
test_who_is_replaced_by_the_same_goes(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = stranger(bed, "one"), *two = stranger(bed, "two");
    PUT(bed, one, "a", .value = "1");
    PUT(bed, two, "a", .value = "1");
    assert_changes(bed, "+a=1");
    store_bed_withdraw(bed, one, "com.acme/a");
    assert_changes(bed, "");
    assert_false(is_there(bed, "one"));
    assert_true(is_there(bed, "two"));
}

static void
test_who_is_configured_stays(void **state)
{
    store_bed *bed = *state;
    static const char *const keys[] = {"node", "files", "publisher", "source"};
    for (size_t rank = UDPAI_ORIGIN_NODE; rank <= UDPAI_ORIGIN_SOURCE; rank++) {
        udpai_origin *origin = stranger(bed, keys[rank]);
        udpai_origin_set_rank(bed->store, origin, (udpai_origin_class)rank, 0);
        PUT(bed, origin, "a", .value = "1");
        store_bed_withdraw(bed, origin, "com.acme/a");
        assert_changes(bed, "");
        assert_true(is_there(bed, keys[rank]) == (rank != UDPAI_ORIGIN_PUBLISHER));
    }
}

/* Whoever comes under ever new names, and gets nothing in, leaves nothing. */
static void
test_strangers_do_not_pile_up(void **state)
{
    store_bed *bed = *state;
    unsigned long live = 0;
    bed->options.max_resources = 0;
    udpai_store_set_options(bed->store, &bed->options);
    for (int i = 0; i < 200; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "publisher:me/%d", i);
        udpai_origin *origin = udpai_origin_ref(stranger(bed, key));
        assert_int_equal(store_bed_try(bed, origin, RESOURCE("com.acme/a"), NULL), UDPA_ERR_LIMIT);
        udpai_origin_unref(bed->store, origin);
        live = i == 0 ? udpai_alloc_live() : live;
        assert_int_equal(udpai_alloc_live(), live);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_origins_are_found_by_key),
        store_test(test_the_rank_of_an_origin_goes_before_its_order),
        store_test(test_who_has_nothing_goes_with_the_next_look),
        store_test(test_who_has_something_stays),
        store_test(test_what_was_never_told_keeps_nobody),
        store_test(test_an_end_by_time_is_one),
        store_test(test_who_is_held_stays),
        store_test(test_who_is_let_go_with_something_stays),
        store_test(test_who_has_something_held_back_stays),
        store_test(test_who_is_replaced_by_the_same_goes),
        store_test(test_who_is_configured_stays),
        store_test(test_strangers_do_not_pile_up),
    };
    return cmocka_run_group_tests_name("origin", tests, NULL, NULL);
}
