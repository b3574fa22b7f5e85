/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided is made when the durable engine has kept it. */
#include "model/removal.h"
#include "store/staging.h"
#include "tests/unit/store/store_test.h"

static udpai_origin *
kept_origin(store_bed *bed, const char *key)
{
    udpai_origin *origin = store_bed_origin(bed, key, UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin_set_durable(origin, true);
    udpai_store_set_keeps_removals(bed->store, true);
    return origin;
}

static udpa_err
try_put(store_bed *bed, udpai_staging *staging, udpai_origin *origin, udpa_resource *resource)
{
    assert_non_null(resource);
    udpa_err err = udpai_staging_put(staging, bed->store, origin, resource, 0, NULL);
    udpa_resource_unref(resource);
    return err;
}

#define HOPS .hops = {{"n", "acme"}}
#define STAGE(bed, staging, origin, name, ...)                                                     \
    assert_ok(try_put((bed), (staging), (origin), RESOURCE("com.acme/" name, __VA_ARGS__)))

static void
leave(store_bed *bed, udpai_staging *staging, udpai_origin *origin, const char *name)
{
    udpai_staging_leave(staging, bed->store, origin, UDPAI_STR(TEST_TYPE), udpai_str_from(name));
}

/* What the engine would be handed, in the words of store_bed_durable(). */
#define assert_commits(bed, staging, expected)                                                     \
    do {                                                                                           \
        udpai_durable_batch *batch = udpai_durable_batch_new();                                    \
        assert_ok(udpai_staging_commit((staging), batch));                                         \
        assert_string_equal(store_bed_batch((bed), batch), (expected));                            \
        udpai_durable_batch_free(batch);                                                           \
    } while (0)

static void
test_nothing_is_there_before_it_is_kept(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed, "o");
    PUT(bed, origin, "a", .value = "1");
    PUT(bed, origin, "b", .value = "1");
    assert_changes(bed, "+a=1 +b=1");
    (void)store_bed_durable(bed);
    UDPA_AUTO(udpai_staging_free) udpai_staging *staging = udpai_staging_new(bed->store);
    assert_true(udpai_staging_is_empty(staging));
    STAGE(bed, staging, origin, "a", .value = "2");
    leave(bed, staging, origin, "com.acme/b");
    leave(bed, staging, origin, "com.acme/b");
    leave(bed, staging, origin, "com.acme/nothing");
    STAGE(bed, staging, origin, "c", .value = "1");
    assert_false(udpai_staging_is_empty(staging));
    assert_changes(bed, "");
    assert_durable(bed, "");
    assert_commits(bed, staging, "P:o/a=2 D:o/b P:o/c=1");
    assert_changes(bed, "");
    assert_ok(udpai_staging_apply(staging));
    assert_changes(bed, "+a=2 -b +c=1");
    assert_durable(bed, "D:o/b"); /* once more, which does no harm; payloads are written once */
}

/* Neither store nor engine gets what is older than what they have. */
static void
test_what_is_outdated_changes_nothing(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed, "o");
    PUT(bed, origin, "a", .value = "5", .generation = 5);
    UDPA_AUTO(udpai_staging_free) udpai_staging *staging = udpai_staging_new(bed->store);
    STAGE(bed, staging, origin, "a", .value = "4", .generation = 4);
    assert_true(udpai_staging_is_empty(staging));
    STAGE(bed, staging, origin, "b", .value = "1");
    assert_true(udpai_staging_has_unchanged(staging));
    staging = udpai_staging_free(staging);
    staging = udpai_staging_new(bed->store);
    assert_true(udpai_staging_has_unchanged(staging)); /* all of it */
    leave(bed, staging, origin, "com.acme/a");
    STAGE(bed, staging, origin, "a", .value = "4", .generation = 4);
    assert_false(udpai_staging_has_unchanged(staging));
    udpai_staging_note_unchanged(NULL);
    assert_commits(bed, staging, "D:o/a P:o/a=4");
}

static void
test_what_is_given_up_leaves_nothing(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed, "o");
    PUT(bed, origin, "a", .value = "1");
    (void)store_bed_changes(bed);
    (void)store_bed_durable(bed);
    udpai_staging *staging = udpai_staging_new(bed->store);
    STAGE(bed, staging, origin, "a", .value = "2");
    STAGE(bed, staging, origin, "b", .value = "2");
    assert_null(udpai_staging_free(staging));
    assert_changes(bed, "");
    assert_durable(bed, "");
    assert_effective(bed, "a", "1");
}

/* Client resources are reported all the time; what has no engine waits for none. */
static void
test_what_is_not_kept_is_made_at_once(void **state)
{
    store_bed *bed = *state;
    udpai_origin *plain = store_bed_origin(bed, "plain", UDPAI_ORIGIN_PUBLISHER, 0);
    UDPA_AUTO(udpai_staging_free) udpai_staging *staging = udpai_staging_new(bed->store);
    STAGE(bed, staging, plain, "a", .value = "1");
    assert_changes(bed, "+a=1");
    leave(bed, staging, plain, "com.acme/a");
    assert_changes(bed, "-a");
    udpai_origin *kept = kept_origin(bed, "kept");
    STAGE(bed, NULL, kept, "a", .value = "2");
    assert_changes(bed, "+a=2");
    assert_true(udpai_staging_is_empty(staging));
}

/* The removal of a name by its authority. */
static udpa_resource *
removal_of(const char *name, uint64_t generation)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *was = RESOURCE(name, .authority = "acme", HOPS);
    return udpai_removal_of(was, generation);
}

/* A crash between the two must not bring back what was ended. */
static void
test_an_end_is_kept_with_all_that_it_ends(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = kept_origin(bed, "one"), *two = kept_origin(bed, "two");
    PUT(bed, one, "a", .value = "1", .generation = 5, .authority = "acme", HOPS);
    PUT(bed, two, "a", .value = "2", .generation = 4, .authority = "acme", HOPS);
    (void)store_bed_changes(bed);
    (void)store_bed_durable(bed);
    UDPA_AUTO(udpai_staging_free) udpai_staging *staging = udpai_staging_new(bed->store);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *removal = removal_of("com.acme/a", 6);
    assert_ok(udpai_staging_end(staging, bed->store, removal, NULL));
    leave(bed, staging, one, "com.acme/a");
    assert_changes(bed, "");
    assert_true(udpai_staging_takes(staging, one, UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/a")));
    assert_false(udpai_staging_takes(staging, two, UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/a")));
    assert_int_equal(
        udpai_staging_removal_generation(staging, UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/a")),
        6);
    assert_commits(bed, staging, "P:said:0:4:1:acmenacme/a=@11000 D:one/a D:two/a D:one/a");
    assert_ok(udpai_staging_apply(staging));
    assert_changes(bed, "-a!6");
}

/* ---- what happens meanwhile ---- */

static void
test_what_went_meanwhile_is_kept_anew(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed, "o");
    PUT_UNTIL(bed, origin, 2000, "a", .value = "1");
    (void)store_bed_changes(bed);
    (void)store_bed_durable(bed);
    UDPA_AUTO(udpai_staging_free) udpai_staging *staging = udpai_staging_new(bed->store);
    STAGE(bed, staging, origin, "a", .value = "2");
    assert_commits(bed, staging, "P:o/a=2");
    store_bed_at(bed, 2000); /* the engine is told to forget it, after what is staged */
    assert_durable(bed, "D:o/a");
    assert_ok(udpai_staging_apply(staging));
    assert_changes(bed, "+a=2");
    assert_durable(bed, "P:o/a=2");
}

static void
test_a_stop_for_want_of_memory_goes_on(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed, "o");
    UDPA_AUTO(udpai_staging_free) udpai_staging *staging = udpai_staging_new(bed->store);
    STAGE(bed, staging, origin, "a", .value = "1");
    STAGE(bed, staging, origin, "b", .value = "1");
    udpai_alloc_fail_after(0);
    assert_int_equal(udpai_staging_apply(staging), UDPA_ERR_NOMEM);
    udpai_alloc_fail_after(-1);
    assert_ok(udpai_staging_apply(staging));
    assert_changes(bed, "+a=1 +b=1");
    assert_durable(bed, "");
}

/* Half of a publication that was rejected would be there after a restart. */
static void
test_without_memory_nothing_of_it_is_committed(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed, "o");
    PUT(bed, origin, "a", .value = "1");
    PUT(bed, origin, "b", .value = "1");
    UDPA_AUTO(udpai_staging_free) udpai_staging *staging = udpai_staging_new(bed->store);
    STAGE(bed, staging, origin, "c", .value = "1");
    leave(bed, staging, origin, "com.acme/a");
    leave(bed, staging, origin, "com.acme/b");
    UDPA_AUTO(udpai_durable_batch_free) udpai_durable_batch *batch = udpai_durable_batch_new();
    udpa_err err = UDPA_ERR_NOMEM;
    long n_before_failure = 0;
    for (; err != UDPA_OK; n_before_failure++) {
        assert_int_equal(batch->ops.n, 0);
        udpai_alloc_fail_after(n_before_failure);
        err = udpai_staging_commit(staging, batch);
        udpai_alloc_fail_after(-1);
    }
    assert_true(n_before_failure > 2);
    assert_string_equal(store_bed_batch(bed, batch), "P:o/c=1 D:o/a D:o/b");
}

/* ---- room ---- */

static void
limit_to(store_bed *bed, size_t n)
{
    bed->options.max_resources_per_namespace = n;
    udpai_store_set_options(bed->store, &bed->options);
}

static udpa_err
try_name(store_bed *bed, udpai_staging *staging, udpai_origin *origin, const char *name)
{
    return try_put(bed, staging, origin, RESOURCE(name, .value = "1"));
}

static void
test_what_is_staged_takes_its_room(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = kept_origin(bed, "one"), *two = kept_origin(bed, "two");
    limit_to(bed, 2);
    udpai_staging *first = udpai_staging_new(bed->store);
    UDPA_AUTO(udpai_staging_free) udpai_staging *second = udpai_staging_new(bed->store);
    assert_ok(try_name(bed, first, one, "com.acme/a"));
    assert_ok(try_name(bed, first, one, "com.acme/b"));
    assert_int_equal(try_name(bed, second, two, "com.acme/c"), UDPA_ERR_LIMIT);
    assert_int_equal(store_bed_try(bed, two, RESOURCE("com.acme/c", .value = "1"), NULL),
                     UDPA_ERR_LIMIT);
    first = udpai_staging_free(first);
    assert_ok(try_name(bed, second, two, "com.acme/c"));
    assert_ok(udpai_staging_apply(second));
    assert_changes(bed, "+c=1");
}

/* Who has all that he may have can still exchange it, and not gain by it. */
static void
test_what_is_taken_away_makes_room(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed, "o");
    limit_to(bed, 2);
    PUT(bed, origin, "a", .value = "1");
    PUT(bed, origin, "b", .value = "1");
    (void)store_bed_changes(bed);
    UDPA_AUTO(udpai_staging_free) udpai_staging *staging = udpai_staging_new(bed->store);
    STAGE(bed, staging, origin, "b", .value = "2");
    assert_int_equal(try_name(bed, staging, origin, "com.acme/c"), UDPA_ERR_LIMIT);
    leave(bed, staging, origin, "com.acme/a");
    STAGE(bed, staging, origin, "a", .value = "2");
    assert_int_equal(try_name(bed, staging, origin, "com.acme/c"), UDPA_ERR_LIMIT);
    assert_ok(udpai_staging_apply(staging));
    assert_changes(bed, "+a=2 +b=2");
    assert_int_equal(try_name(bed, NULL, origin, "com.acme/c"), UDPA_ERR_LIMIT);
}

/* Its removal is staged, and another replica has removed it meanwhile: it is counted twice, so that
 * less seems to be used than what is exchanged. */
static void
test_what_shrinks_is_let_in_when_a_removal_is_counted_twice(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed, "o");
    PUT(bed, origin, "a", .value = "quite a bit larger than what b is");
    PUT(bed, origin, "b", .value = "not small");
    (void)store_bed_changes(bed);
    UDPA_AUTO(udpai_staging_free) udpai_staging *removal = udpai_staging_new(bed->store);
    UDPA_AUTO(udpai_staging_free) udpai_staging *staging = udpai_staging_new(bed->store);
    leave(bed, removal, origin, "com.acme/a");
    store_bed_withdraw(bed, origin, "com.acme/a");
    STAGE(bed, staging, origin, "b", .value = "small");
    assert_ok(udpai_staging_apply(staging));
    assert_changes(bed, "-a +b=small");
}

/* It was let in, and the engine has it. */
static void
test_what_is_kept_is_applied_whatever_the_limits_are_now(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed, "o");
    UDPA_AUTO(udpai_staging_free) udpai_staging *staging = udpai_staging_new(bed->store);
    STAGE(bed, staging, origin, "a", .value = "1");
    limit_to(bed, 0);
    assert_ok(udpai_staging_apply(staging));
    assert_changes(bed, "+a=1");
}

static void
test_near_a_limit_only_what_grows_is_scarce(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed, "o");
    limit_to(bed, 10);
    for (char name[] = "com.acme/1"; name[9] <= '8'; name[9]++)
        assert_ok(try_name(bed, NULL, origin, name));
    UDPA_AUTO(udpai_staging_free) udpai_staging *ninth = udpai_staging_new(bed->store);
    UDPA_AUTO(udpai_staging_free) udpai_staging *tenth = udpai_staging_new(bed->store);
    UDPA_AUTO(udpai_staging_free) udpai_staging *other = udpai_staging_new(bed->store);
    STAGE(bed, ninth, origin, "9", .value = "1");
    assert_false(udpai_staging_is_scarce(ninth, 1));
    STAGE(bed, tenth, origin, "2", .value = "2");
    STAGE(bed, tenth, origin, "a", .value = "1");
    assert_true(udpai_staging_is_scarce(tenth, 1));
    STAGE(bed, other, origin, "3", .value = "2");
    assert_false(udpai_staging_is_scarce(other, 1));
}

/* Others may have as much on their way as this replica: so much may not fit. */
static void
test_what_all_replicas_may_have_staged_is_scarce(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed, "o");
    limit_to(bed, 10);
    for (char name[] = "com.acme/1"; name[9] <= '4'; name[9]++)
        assert_ok(try_name(bed, NULL, origin, name));
    UDPA_AUTO(udpai_staging_free) udpai_staging *one = udpai_staging_new(bed->store);
    UDPA_AUTO(udpai_staging_free) udpai_staging *other = udpai_staging_new(bed->store);
    STAGE(bed, one, origin, "5", .value = "1");
    STAGE(bed, one, origin, "6", .value = "1");
    assert_false(udpai_staging_is_scarce(one, 3)); /* six are left */
    assert_true(udpai_staging_is_scarce(one, 4));
    STAGE(bed, other, origin, "7", .value = "1");
    assert_false(udpai_staging_is_scarce(other, 2));
    assert_true(udpai_staging_is_scarce(other, 3));
    assert_false(udpai_staging_is_scarce(other, 1));
}

static void
test_names_are_told(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed, "o");
    UDPA_AUTO(udpai_staging_free) udpai_staging *staging = udpai_staging_new(bed->store);
    size_t at = 0;
    STAGE(bed, staging, origin, "a", .value = "1");
    STAGE(bed, staging, origin, "b", .value = "1");
    assert_true(udpai_str_eq(udpai_staging_next_name(staging, &at), UDPAI_STR("com.acme/a")));
    assert_true(udpai_str_eq(udpai_staging_next_name(staging, &at), UDPAI_STR("com.acme/b")));
    assert_int_equal(udpai_staging_next_name(staging, &at).len, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_nothing_is_there_before_it_is_kept),
        store_test(test_what_is_outdated_changes_nothing),
        store_test(test_what_is_given_up_leaves_nothing),
        store_test(test_what_is_not_kept_is_made_at_once),
        store_test(test_an_end_is_kept_with_all_that_it_ends),
        store_test(test_what_went_meanwhile_is_kept_anew),
        store_test(test_a_stop_for_want_of_memory_goes_on),
        store_test(test_without_memory_nothing_of_it_is_committed),
        store_test(test_what_is_staged_takes_its_room),
        store_test(test_what_is_taken_away_makes_room),
        store_test(test_what_shrinks_is_let_in_when_a_removal_is_counted_twice),
        store_test(test_what_is_kept_is_applied_whatever_the_limits_are_now),
        store_test(test_near_a_limit_only_what_grows_is_scarce),
        store_test(test_what_all_replicas_may_have_staged_is_scarce),
        store_test(test_names_are_told),
    };
    return cmocka_run_group_tests_name("staging", tests, NULL, NULL);
}
