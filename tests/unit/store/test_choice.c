/* SPDX-License-Identifier: Apache-2.0 */
/* Names of which other sources count than of their type. */
#include "tests/harness/oom.h"
#include "tests/unit/store/store_test.h"

#define NAME UDPAI_STR("com.acme/a")
#define TYPE UDPAI_STR(TEST_TYPE)

typedef struct world {
    store_bed *bed;
    udpai_origin *x, *y;
} world;

/* x counts for the type, y does not; both have a and b. */
static world
begin(store_bed *bed)
{
    world self = {bed, store_bed_origin(bed, "x", UDPAI_ORIGIN_SOURCE, 1),
                  store_bed_origin(bed, "y", UDPAI_ORIGIN_SOURCE, 2)};
    store_bed_eligible(bed, self.y, false);
    PUT(bed, self.x, "a", .value = "x", .authority = "x");
    PUT(bed, self.x, "b", .value = "x", .authority = "x");
    PUT(bed, self.y, "a", .value = "y", .authority = "y");
    PUT(bed, self.y, "b", .value = "y", .authority = "y");
    assert_changes(bed, "+a=x +b=x");
    return self;
}

static void
test_those_that_are_chosen_count_alone(void **state)
{
    world self = begin(*state);
    assert_ok(udpai_store_choose(self.bed->store, TYPE, NAME, &self.y, 1));
    assert_changes(self.bed, "+a=y");
    udpai_contribution contribution;
    assert_true(udpai_store_get(self.bed->store, self.x, TYPE, NAME, &contribution));
    assert_false(contribution.eligible);
    store_bed_withdraw(self.bed, self.y, "com.acme/a");
    assert_changes(self.bed, "-a");
}

static void
test_the_same_choice_changes_nothing(void **state)
{
    world self = begin(*state);
    assert_ok(udpai_store_choose(self.bed->store, TYPE, NAME, &self.y, 1));
    assert_changes(self.bed, "+a=y");
    assert_ok(udpai_store_choose(self.bed->store, TYPE, NAME, &self.y, 1));
    assert_false(udpai_store_has_changes(self.bed->store));
}

static void
test_the_second_of_those_chosen_may_change(void **state)
{
    world self = begin(*state);
    store_bed *bed = self.bed;
    udpai_origin *z = store_bed_origin(bed, "z", UDPAI_ORIGIN_SOURCE, 3);
    udpai_origin *const before[] = {self.y, self.x}, *const now[] = {self.y, z};
    PUT(bed, z, "a", .value = "z", .authority = "z");
    store_bed_eligible(bed, z, false);
    assert_ok(udpai_store_choose(bed->store, TYPE, NAME, before, 2));
    store_bed_withdraw(bed, self.y, "com.acme/a");
    assert_changes(bed, "");
    assert_ok(udpai_store_choose(bed->store, TYPE, NAME, now, 2));
    assert_changes(bed, "+a=z");
}

/* Whatever order they have where nothing is chosen. */
static void
test_those_that_are_chosen_count_in_that_order(void **state)
{
    world self = begin(*state);
    udpai_origin *const y_first[] = {self.y, self.x}, *const x_first[] = {self.x, self.y};
    assert_ok(udpai_store_choose(self.bed->store, TYPE, NAME, y_first, 2));
    assert_changes(self.bed, "+a=y");
    assert_ok(udpai_store_choose(self.bed->store, TYPE, NAME, x_first, 2));
    assert_changes(self.bed, "+a=x");
    assert_ok(udpai_store_choose(self.bed->store, TYPE, NAME, y_first, 2));
    store_bed_withdraw(self.bed, self.y, "com.acme/a");
    assert_changes(self.bed, "");
}

static void
test_nobody_may_be_chosen(void **state)
{
    world self = begin(*state);
    assert_ok(udpai_store_choose(self.bed->store, TYPE, NAME, NULL, 0));
    assert_changes(self.bed, "-a");
}

static void
test_another_choice_takes_its_place(void **state)
{
    world self = begin(*state);
    udpai_origin *both[] = {self.x, self.y};
    assert_ok(udpai_store_choose(self.bed->store, TYPE, NAME, &self.y, 1));
    assert_changes(self.bed, "+a=y");
    assert_ok(udpai_store_choose(self.bed->store, TYPE, NAME, both, 2));
    assert_changes(self.bed, "+a=x");
}

static void
test_without_a_choice_those_of_the_type_count(void **state)
{
    world self = begin(*state);
    udpai_store_choose_no_more(self.bed->store, TYPE, NAME);
    assert_false(udpai_store_has_changes(self.bed->store));
    assert_ok(udpai_store_choose(self.bed->store, TYPE, NAME, &self.y, 1));
    assert_changes(self.bed, "+a=y");
    udpai_store_choose_no_more(self.bed->store, TYPE, NAME);
    assert_changes(self.bed, "+a=x");
}

/* Publishers and files are not among what is chosen of. */
static void
test_others_than_sources_count_as_before(void **state)
{
    world self = begin(*state);
    udpai_origin *publisher = store_bed_origin(self.bed, "p", UDPAI_ORIGIN_PUBLISHER, 0);
    assert_ok(udpai_store_choose(self.bed->store, TYPE, NAME, NULL, 0));
    PUT(self.bed, publisher, "a", .value = "p", .authority = "p");
    assert_changes(self.bed, "+a=p");
}

static void
test_names_are_of_their_type(void **state)
{
    world self = begin(*state);
    udpai_str other = UDPAI_STR(TEST_CDS);
    assert_ok(udpai_store_choose(self.bed->store, other, NAME, &self.y, 1));
    assert_false(udpai_store_has_changes(self.bed->store));
    assert_ok(udpai_store_choose(self.bed->store, TYPE, NAME, &self.y, 1));
    assert_changes(self.bed, "+a=y");
    udpai_store_choose_no_more(self.bed->store, other, NAME);
    assert_false(udpai_store_has_changes(self.bed->store));
    udpai_store_choose_no_more(self.bed->store, TYPE, NAME);
    assert_changes(self.bed, "+a=x");
}

static void
test_what_comes_later_is_chosen_of_too(void **state)
{
    store_bed *bed = *state;
    udpai_origin *x = store_bed_origin(bed, "x", UDPAI_ORIGIN_SOURCE, 1);
    udpai_origin *y = store_bed_origin(bed, "y", UDPAI_ORIGIN_SOURCE, 2);
    assert_ok(udpai_store_choose(bed->store, TYPE, NAME, &y, 1));
    PUT(bed, x, "a", .value = "x", .authority = "x");
    assert_changes(bed, "");
    PUT(bed, y, "a", .value = "y", .authority = "y");
    assert_changes(bed, "+a=y");
}

static udpa_err
choose_both(void *userdata)
{
    const world *self = userdata;
    udpa_err err = udpai_store_choose(self->bed->store, TYPE, NAME, &self->y, 1);
    if (err == UDPA_OK)
        err = udpai_store_choose(self->bed->store, UDPAI_STR(TEST_CDS), NAME, &self->y, 1);
    udpai_store_choose_no_more(self->bed->store, TYPE, NAME);
    udpai_store_choose_no_more(self->bed->store, UDPAI_STR(TEST_CDS), NAME);
    return err;
}

static void
test_lack_of_memory(void **state)
{
    world self = begin(*state);
    oom_torture(choose_both, &self);
    assert_effective(self.bed, "a", "x");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_those_that_are_chosen_count_alone),
        store_test(test_the_same_choice_changes_nothing),
        store_test(test_those_that_are_chosen_count_in_that_order),
        store_test(test_the_second_of_those_chosen_may_change),
        store_test(test_nobody_may_be_chosen),
        store_test(test_another_choice_takes_its_place),
        store_test(test_without_a_choice_those_of_the_type_count),
        store_test(test_others_than_sources_count_as_before),
        store_test(test_names_are_of_their_type),
        store_test(test_what_comes_later_is_chosen_of_too),
        store_test(test_lack_of_memory),
    };
    return cmocka_run_group_tests_name("choice", tests, NULL, NULL);
}
