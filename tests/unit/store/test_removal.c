/* SPDX-License-Identifier: Apache-2.0 */
/* A removal that an authority has said ends what is older on every path, and keeps it out. */
#include "model/removal.h"
#include "tests/unit/store/store_test.h"

/* Taken by the node "n1" from `from`, whose word it is if that is the authority. */
#define HOPS(from) .hops = {{"n1", from}}

static void
end(store_bed *bed, uint64_t generation, const char *authority, const char *from, const char *node)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *said_by = NULL;
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *was = RESOURCE("com.acme/a", .authority = authority, HOPS(from));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *said = udpai_removal_of(was, generation);
    assert_non_null(said);
    if (node)
        assert_ok(udpa_bytes_new(&said_by, node, strlen(node)));
    assert_ok(udpai_store_end(bed->store, said, said_by));
}

static void
test_it_ends_what_came_by_others(void **state)
{
    store_bed *bed = *state;
    udpai_origin *alive = store_bed_origin(bed, "alive", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *dead = store_bed_origin(bed, "dead", UDPAI_ORIGIN_SOURCE, 1);
    PUT(bed, alive, "a", .value = "1", .authority = "x", .generation = 1, HOPS("x"));
    PUT(bed, dead, "a", .value = "1", .authority = "x", .generation = 1, HOPS("x"));
    assert_changes(bed, "+a=1");
    end(bed, 2, "x", "x", "alive");
    assert_changes(bed, "-a<alive!2");
    assert_false(udpai_origin_has(bed->store, dead, UDPAI_STR(TEST_TYPE)));
}

/* What has left one source stays while another has something older, but not against this. */
static void
test_it_ends_what_was_left(void **state)
{
    store_bed *bed = *state;
    udpai_origin *alive = store_bed_origin(bed, "alive", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *dead = store_bed_origin(bed, "dead", UDPAI_ORIGIN_SOURCE, 1);
    PUT(bed, dead, "a", .value = "1", .authority = "x", .generation = 1, HOPS("x"));
    PUT(bed, alive, "a", .value = "2", .authority = "x", .generation = 2, HOPS("x"));
    assert_changes(bed, "+a=2");
    udpai_store_leave(bed->store, alive, UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/a"));
    assert_changes(bed, "");
    end(bed, 3, "x", "x", NULL);
    assert_changes(bed, "-a!3");
}

/* The dead one returns: as long as it has what was ended, that stays out. */
static void
test_it_stays_out_as_long_as_somebody_has_it(void **state)
{
    store_bed *bed = *state;
    udpai_origin *dead = store_bed_origin(bed, "dead", UDPAI_ORIGIN_SOURCE, 1);
    end(bed, 2, "x", "x", "alive");
    assert_changes(bed, "-a<alive!2"); /* nothing was here, and others may have it */
    PUT(bed, dead, "a", .value = "1", .authority = "x", .generation = 1, HOPS("x"));
    assert_changes(bed, "");
    for (uint64_t now = 10000; now < 100000; now += 1000) {
        store_bed_at(bed, now);
        assert_changes(bed, "");
    }
    store_bed_withdraw(bed, dead, "com.acme/a");
    store_bed_at(bed, 120000);
    assert_changes(bed, "");
    assert_int_equal(
        udpai_store_highest_generation(bed->store, UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/a")),
        0);
}

static void
test_what_is_newer_stays(void **state)
{
    store_bed *bed = *state;
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_SOURCE, 1);
    PUT(bed, other, "a", .value = "3", .authority = "x", .generation = 3, HOPS("x"));
    assert_changes(bed, "+a=3");
    end(bed, 2, "x", "x", "alive");
    assert_changes(bed, "");
    assert_effective(bed, "a", "3");
    end(bed, 4, "x", "x", "alive");
    assert_changes(bed, "-a<alive!4");
    PUT(bed, other, "a", .value = "5", .authority = "x", .generation = 5, HOPS("x"));
    assert_changes(bed, "+a=5");
}

/* Neither another authority, nor what another node has stamped as it came from a server that knows
 * no generations. */
static void
test_what_does_not_compare_stays(void **state)
{
    store_bed *bed = *state;
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_SOURCE, 1);
    udpai_origin *third = store_bed_origin(bed, "third", UDPAI_ORIGIN_SOURCE, 2);
    PUT(bed, other, "a", .value = "y", .authority = "y", .generation = 1, HOPS("y"));
    PUT(bed, third, "a", .value = "x", .authority = "x", .generation = 1, .hops = {{"n2", ""}});
    assert_changes(bed, "+a=y");
    end(bed, 2, "x", "", NULL);
    assert_changes(bed, "~a=y!2"); /* those who have the other's are told */
    assert_changes(bed, "");
    store_bed_withdraw(bed, other, "com.acme/a");
    assert_changes(bed, "+a=x");
}

static bool
is_uncertain(void *userdata, const udpa_resource *last)
{
    (void)userdata;
    (void)last;
    return false;
}

/* Who has not spoken yet cannot have what its authority has taken away. */
static void
test_it_is_certain(void **state)
{
    store_bed *bed = *state;
    udpai_origin *alive = store_bed_origin(bed, "alive", UDPAI_ORIGIN_SOURCE, 0);
    udpai_store_set_certain(bed->store, is_uncertain, NULL);
    PUT(bed, alive, "a", .value = "1", .authority = "x", .generation = 1, HOPS("x"));
    assert_changes(bed, "+a=1");
    store_bed_withdraw(bed, alive, "com.acme/a");
    assert_changes(bed, "");
    end(bed, 2, "x", "x", NULL);
    assert_changes(bed, "-a!2");
}

static void
test_it_is_kept(void **state)
{
    store_bed *bed = *state;
    udpai_store_set_keeps_removals(bed->store, true);
    end(bed, 2, "x", "x", NULL);
    assert_durable(bed, "P:said:0:1:2:xn1x/a=@11000");
    end(bed, 2, "x", "x", NULL);
    assert_durable(bed, "");
    assert_true(udpai_store_is_removal_key(UDPAI_STR("said:0:1:2:xn1x")));
    store_bed_at(bed, 20000);
    assert_durable(bed, "D:said:0:1:2:xn1x/a");
}

/* ---- what was seen, and nobody has said ---- */

/* The older word of another origin is kept out once the newer has made place for another
 * authority's; after a restart, too. */
static void
test_what_keeps_something_out_is_kept(void **state)
{
    store_bed *bed = *state;
    udpai_origin *dead = store_bed_origin(bed, "dead", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *alive = store_bed_origin(bed, "alive", UDPAI_ORIGIN_SOURCE, 1);
    udpai_store_set_keeps_removals(bed->store, true);
    PUT(bed, dead, "a", .value = "1", .authority = "x", .generation = 1, HOPS("x"));
    PUT(bed, alive, "a", .value = "2", .authority = "x", .generation = 2, HOPS("x"));
    PUT(bed, alive, "b", .value = "2", .authority = "x", .generation = 2, HOPS("x"));
    assert_changes(bed, "+a=2 +b=2");
    PUT(bed, alive, "a", .value = "y", .authority = "y", .generation = 1, HOPS("y"));
    PUT(bed, alive, "b", .value = "y", .authority = "y", .generation = 1, HOPS("y"));
    assert_changes(bed, "+a=y +b=y");
    assert_durable(bed, "P:seen:0:1:2:xn1x/a=@11000"); /* of b nothing older is here */
    assert_true(udpai_store_is_seen_key(UDPAI_STR("seen:0:1:2:xn1x")));
    assert_false(udpai_store_is_removal_key(UDPAI_STR("seen:0:1:2:xn1x")));
    PUT(bed, dead, "b", .value = "1", .authority = "x", .generation = 1, HOPS("x"));
    assert_durable(bed, "P:seen:0:1:2:xn1x/b=@11000"); /* now there is */
    end(bed, 3, "x", "x", NULL);                       /* of a that is said, which says more */
    assert_durable(bed, "D:seen:0:1:2:xn1x/a P:said:0:1:2:xn1x/a=@11000");
    store_bed_at(bed, 20000);
    assert_durable(bed, "D:seen:0:1:2:xn1x/b D:said:0:1:2:xn1x/a");
    assert_effective(bed, "b", "1");
}

static void
test_what_was_left_is_not_kept(void **state)
{
    store_bed *bed = *state;
    udpai_origin *dead = store_bed_origin(bed, "dead", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *alive = store_bed_origin(bed, "alive", UDPAI_ORIGIN_SOURCE, 1);
    udpai_store_set_keeps_removals(bed->store, true);
    PUT(bed, dead, "a", .value = "1", .authority = "x", .generation = 1, HOPS("x"));
    PUT(bed, alive, "a", .value = "2", .authority = "x", .generation = 2, HOPS("x"));
    assert_changes(bed, "+a=2");
    udpai_store_leave(bed->store, alive, UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/a"));
    assert_changes(bed, "");
    assert_durable(bed, "");
}

static void
test_it_is_recalled(void **state)
{
    store_bed *bed = *state;
    udpai_origin *dead = store_bed_origin(bed, "dead", UDPAI_ORIGIN_SOURCE, 0);
    PUT(bed, dead, "a", .value = "1", .authority = "x", .generation = 1, HOPS("x"));
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *seen = RESOURCE("com.acme/a", .authority = "x", .generation = 2, HOPS("x"));
    assert_ok(udpai_store_recall(bed->store, seen));
    assert_changes(bed, "");
    PUT(bed, dead, "a", .value = "2", .authority = "x", .generation = 2, HOPS("x"));
    assert_changes(bed, "+a=2");
}

/* ---- what replicas have ---- */

static udpa_resource *
removal_of(const char *name, uint64_t generation)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *was = RESOURCE(name, .authority = "x", .hops = {{"set", "x"}});
    udpa_resource *removal = udpai_removal_of(was, generation);
    assert_non_null(removal);
    return removal;
}

static void
end_for_all(store_bed *bed, const char *name, uint64_t generation)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *removal = removal_of(name, generation);
    assert_ok(udpai_store_end_replicated(bed->store, removal));
}

static void
forget_for_all(store_bed *bed, const char *name)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *removal = removal_of(name, 1);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = udpai_store_removal_key(removal);
    udpai_store_forget_removal(bed->store, udpai_bytes_view(key), UDPAI_STR(TEST_TYPE),
                               udpai_str_from(name));
}

static void
test_it_is_forgotten_by_all_at_once(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = store_bed_origin(bed, "origin", UDPAI_ORIGIN_SOURCE, 0);
    end_for_all(bed, "com.acme/a", 3);
    assert_changes(bed, "-a!3");
    store_bed_at(bed, 1000000);
    PUT(bed, origin, "a", .value = "1", .authority = "x", .generation = 2, HOPS("x"));
    assert_changes(bed, "");
    store_bed_withdraw(bed, origin, "com.acme/a");
    forget_for_all(bed, "com.acme/a");
    PUT(bed, origin, "a", .value = "1", .authority = "x", .generation = 2, HOPS("x"));
    assert_changes(bed, "+a=1");
}

/* By another path, which replicas do not know. */
static void
test_what_was_removed_since_is_remembered(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = store_bed_origin(bed, "origin", UDPAI_ORIGIN_SOURCE, 0);
    end_for_all(bed, "com.acme/a", 3);
    end(bed, 5, "x", "x", NULL);
    assert_changes(bed, "-a!5");
    forget_for_all(bed, "com.acme/a");
    PUT(bed, origin, "a", .value = "1", .authority = "x", .generation = 4, HOPS("x"));
    assert_changes(bed, "");
    store_bed_withdraw(bed, origin, "com.acme/a");
    store_bed_at(bed, 1000000);
    PUT(bed, origin, "a", .value = "1", .authority = "x", .generation = 4, HOPS("x"));
    assert_changes(bed, "+a=1");
}

/* Of two only one has room, and the older one is needed; but not the one goes by which something
 * ends just now. */
static void
begin_with_room_for_one(store_bed *bed, udpai_origin *origin)
{
    udpai_store_options options = bed->options;
    options.remember_max = 1;
    udpai_store_set_options(bed->store, &options);
    end_for_all(bed, "com.acme/b", 5);
    assert_changes(bed, "-b!5");
    PUT(bed, origin, "b", .value = "1", .authority = "x", .generation = 1, HOPS("x"));
    assert_changes(bed, "");
}

static void
test_what_ends_something_stays(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_SOURCE, 0);
    udpai_origin *two = store_bed_origin(bed, "two", UDPAI_ORIGIN_SOURCE, 1);
    begin_with_room_for_one(bed, one);
    PUT(bed, one, "a", .value = "1", .authority = "x", .generation = 1, HOPS("x"));
    PUT(bed, two, "a", .value = "1", .authority = "x", .generation = 1, HOPS("x"));
    assert_changes(bed, "+a=1");
    end(bed, 2, "x", "x", NULL);
    assert_changes(bed, "-a!2");
}

static void
test_what_is_remembered_now_stays(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_SOURCE, 0);
    begin_with_room_for_one(bed, one);
    end(bed, 2, "x", "x", NULL);
    PUT(bed, one, "a", .value = "1", .authority = "x", .generation = 1, HOPS("x"));
    assert_changes(bed, "-a!2");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_it_ends_what_came_by_others),
        store_test(test_it_ends_what_was_left),
        store_test(test_it_stays_out_as_long_as_somebody_has_it),
        store_test(test_what_is_newer_stays),
        store_test(test_what_does_not_compare_stays),
        store_test(test_it_is_certain),
        store_test(test_it_is_kept),
        store_test(test_what_keeps_something_out_is_kept),
        store_test(test_what_was_left_is_not_kept),
        store_test(test_it_is_recalled),
        store_test(test_it_is_forgotten_by_all_at_once),
        store_test(test_what_was_removed_since_is_remembered),
        store_test(test_what_ends_something_stays),
        store_test(test_what_is_remembered_now_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
