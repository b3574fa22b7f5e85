/* SPDX-License-Identifier: Apache-2.0 */
/* What the durable engine is asked to keep. */
#include "tests/unit/store/store_test.h"

static udpai_origin *
kept_origin(store_bed *bed)
{
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin_set_durable(origin, true);
    return origin;
}

static void
test_contributions_are_kept_in_order(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed);
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0);
    PUT(bed, origin, "a", .value = "1");
    PUT(bed, files, "a", .value = "not kept");
    PUT_UNTIL(bed, origin, 5000, "a", .value = "2");
    store_bed_withdraw(bed, origin, "com.acme/a");
    store_bed_withdraw(bed, origin, "com.acme/a");
    PUT(bed, origin, "a", .value = "3");
    assert_durable(bed, "P:o/a=1 P:o/a=2@5000 D:o/a P:o/a=3");
    assert_durable(bed, "");
}

/* Whatever is effective: what is kept are contributions. */
static void
test_what_does_not_count_is_kept_too(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed);
    store_bed_eligible(bed, origin, false);
    PUT(bed, origin, "a", .value = "5", .generation = 5);
    PUT(bed, origin, "a", .value = "4", .generation = 4);
    assert_changes(bed, "");
    assert_durable(bed, "P:o/a=5");
}

static void
test_what_expires_or_goes_with_all_is_deleted(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed);
    PUT_UNTIL(bed, origin, 2000, "a", .value = "1");
    PUT(bed, origin, "b", .value = "1");
    assert_durable(bed, "P:o/a=1@2000 P:o/b=1");
    store_bed_at(bed, 2000);
    udpai_store_withdraw_all(bed->store, origin, UDPAI_STR(TEST_TYPE), (udpai_str){0}, NULL, NULL);
    assert_durable(bed, "D:o/a D:o/b");
}

static void
test_what_may_not_be_cached_is_not_kept(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed);
    PUT(bed, origin, "a", .value = "1");
    PUT(bed, origin, "a", .value = "2", .do_not_cache = true);
    PUT(bed, origin, "a", .value = "3");
    assert_durable(bed, "P:o/a=1 D:o/a P:o/a=3");
}

static void
test_what_was_said_whole_is_marked(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed);
    udpai_str type = UDPAI_STR(TEST_TYPE);
    assert_ok(
        udpai_store_note(bed->store, UDPAI_DURABLE_MARK, origin, type, UDPAI_STR("com.acme")));
    assert_ok(udpai_store_note(bed->store, UDPAI_DURABLE_MARK, origin, type, (udpai_str){0}));
    assert_ok(udpai_store_note(bed->store, UDPAI_DURABLE_UNMARK, origin, type, (udpai_str){0}));
    assert_ok(udpai_store_note(bed->store, UDPAI_DURABLE_USE, origin, type, (udpai_str){0}));
    assert_ok(udpai_store_note(bed->store, UDPAI_DURABLE_DISUSE, origin, type, (udpai_str){0}));
    assert_durable(bed, "M:o:com.acme M:o: m:o: U:o: u:o:");
}

static void
test_what_is_loaded_is_not_kept_again(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed);
    udpai_store_set_loading(bed->store, true);
    PUT(bed, origin, "a", .value = "1");
    PUT(bed, origin, "b", .value = "1");
    store_bed_withdraw(bed, origin, "com.acme/b");
    assert_ok(udpai_store_note(bed->store, UDPAI_DURABLE_MARK, origin, UDPAI_STR(TEST_TYPE),
                               (udpai_str){0}));
    udpai_store_set_loading(bed->store, false);
    assert_durable(bed, "");
    assert_changes(bed, "+a=1");
    PUT(bed, origin, "a", .value = "2");
    assert_durable(bed, "P:o/a=2");
}

static void
test_a_refused_one_is_not_kept(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed);
    bed->options.max_resources_per_namespace = 0;
    udpai_store_set_options(bed->store, &bed->options);
    udpa_resource *resource = RESOURCE("com.acme/a");
    assert_int_equal(udpai_store_put(bed->store, origin, resource, 0, NULL), UDPA_ERR_LIMIT);
    udpa_resource_unref(resource);
    assert_durable(bed, "");
}

/* Applied all the same, and the caller knows that it is not safe. */
static void
test_a_lost_note_is_told(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = kept_origin(bed);
    PUT(bed, origin, "a", .value = "1");
    assert_durable(bed, "P:o/a=1");
    udpai_alloc_fail_after(0);
    store_bed_withdraw(bed, origin, "com.acme/a");
    udpai_alloc_fail_after(-1);
    udpai_durable_batch *batch = NULL;
    assert_int_equal(udpai_store_take_durable(bed->store, &batch), UDPA_ERR_NOMEM);
    assert_null(batch);
    assert_durable(bed, "");
    assert_changes(bed, "");
}

/* The batch outlives the store. */
static void
test_a_batch_is_its_receivers(void **state)
{
    store_bed *bed = *state;
    store_bed other;
    store_bed_init(&other);
    PUT(&other, kept_origin(&other), "a", .value = "1");
    udpai_durable_batch *batch = NULL;
    assert_ok(udpai_store_take_durable(other.store, &batch));
    PUT(&other, kept_origin(&other), "b", .value = "a batch that nobody takes");
    store_bed_done(&other);
    assert_int_equal(batch->ops.n, 1);
    assert_str(udpai_resource_value(batch->ops.items[0].resource), "1");
    assert_null(udpai_durable_batch_free(batch));
    assert_null(udpai_durable_batch_free(NULL));
    assert_durable(bed, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_contributions_are_kept_in_order),
        store_test(test_what_does_not_count_is_kept_too),
        store_test(test_what_expires_or_goes_with_all_is_deleted),
        store_test(test_what_may_not_be_cached_is_not_kept),
        store_test(test_what_was_said_whole_is_marked),
        store_test(test_what_is_loaded_is_not_kept_again),
        store_test(test_a_refused_one_is_not_kept),
        store_test(test_a_lost_note_is_told),
        store_test(test_a_batch_is_its_receivers),
    };
    return cmocka_run_group_tests_name("durable", tests, NULL, NULL);
}
