/* SPDX-License-Identifier: Apache-2.0 */
/* How full the fullest namespace and publisher are. */
#include "store/fill.h"

#include "tests/unit/store/store_test.h"

static void
limit(store_bed *bed, size_t *option, size_t value)
{
    *option = value;
    udpai_store_set_options(bed->store, &bed->options);
}

static void
assert_fills(const store_bed *bed, double name_space, double publisher)
{
    udpai_store_fill fill = udpai_store_fill_of(bed->store);
    assert_true(fill.name_space == name_space);
    assert_true(fill.publisher == publisher);
}

static void
test_the_fullest_namespace_and_publisher_are_known(void **state)
{
    store_bed *bed = *state;
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0);
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *two = store_bed_origin(bed, "two", UDPAI_ORIGIN_PUBLISHER, 0);
    limit(bed, &bed->options.max_resources_per_namespace, 10);
    limit(bed, &bed->options.max_resources_per_publisher, 4);
    assert_fills(bed, 0, 0);
    PUT(bed, files, "a", .value = "1");
    assert_fills(bed, 0.1, 0);
    PUT(bed, one, "b", .value = "1");
    store_bed_put(bed, two, RESOURCE("org/a", .value = "1"));
    store_bed_put(bed, two, RESOURCE("org/b", .value = "1"));
    assert_fills(bed, 0.2, 0.5);
    limit(bed, &bed->options.max_resources_per_namespace, 5);
    limit(bed, &bed->options.max_resources_per_publisher, 2);
    assert_fills(bed, 0.4, 1);
    udpai_origin_set_rank(bed->store, two, UDPAI_ORIGIN_FILES, 1);
    assert_fills(bed, 0.4, 0.5);
    store_bed_withdraw(bed, two, "org/a");
    store_bed_withdraw(bed, two, "org/b");
    store_bed_withdraw(bed, one, "com.acme/b");
    store_bed_withdraw(bed, files, "com.acme/a");
    (void)store_bed_changes(bed);
    assert_fills(bed, 0, 0);
}

static void
test_bytes_fill_a_namespace_too(void **state)
{
    store_bed *bed = *state;
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0);
    udpa_resource *resource = RESOURCE("com.acme/a", .value = "1");
    limit(bed, &bed->options.max_bytes_per_namespace, 2 * udpai_resource_footprint(resource));
    store_bed_put(bed, files, resource);
    assert_fills(bed, 0.5, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_the_fullest_namespace_and_publisher_are_known),
        store_test(test_bytes_fill_a_namespace_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
