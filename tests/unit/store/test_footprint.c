/* SPDX-License-Identifier: Apache-2.0 */
/* What a store counts as its memory: it grows with what there is, and is what it was when all of
 * that has gone. */
#include "tests/unit/store/store_test.h"

#include <stdio.h>

#include "store/store_internal.h"

#define N 200

static uint64_t
memory(const store_bed *bed)
{
    return udpai_store_memory(bed->store);
}

static const char *
name_of(int i)
{
    static char name[32];
    (void)snprintf(name, sizeof(name), "com.acme/n%d", i);
    return name;
}

static void
put_all(store_bed *bed, udpai_origin *origin, const char *value, uint64_t deadline_ms)
{
    for (int i = 0; i < N; i++)
        store_bed_put_until(bed, origin,
                            RESOURCE(name_of(i), .value = value, .authority = "x", .generation = 5),
                            deadline_ms);
}

static void
withdraw_all(store_bed *bed, udpai_origin *origin)
{
    for (int i = 0; i < N; i++)
        store_bed_withdraw(bed, origin, name_of(i));
}

static void
take_changes(store_bed *bed)
{
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *set = NULL;
    assert_ok(udpai_store_take_changes(bed->store, &set));
}

static void
forget_all(store_bed *bed)
{
    take_changes(bed);
    store_bed_at(bed, bed->wheel.now_ms + 20000); /* generations are not remembered any longer */
    take_changes(bed);
}

static void
resources_take_memory_and_give_it_back(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_FILES, 0);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_FILES, 1);
    udpai_origin *third = store_bed_origin(bed, "third", UDPAI_ORIGIN_SOURCE, 0);
    udpa_resource *sample = RESOURCE(name_of(1), .value = "1", .authority = "x", .generation = 5);
    size_t resource = udpai_resource_footprint(sample);
    udpa_resource_unref(sample);
    uint64_t before = memory(bed);
    for (int round = 0; round < 3; round++) {
        put_all(bed, one, "1", 0);
        uint64_t of_one = memory(bed) - before;
        assert_true(of_one >= N * (sizeof(udpai_store_entry) + resource));
        put_all(bed, other, "2", 0);
        put_all(bed, third, "3", bed->wheel.now_ms + 100000);
        assert_true(memory(bed) - before >=
                    of_one + N * (2 * (sizeof(udpai_stored) + resource) + sizeof(udpai_expiry)));
        take_changes(bed);
        withdraw_all(bed, other);
        withdraw_all(bed, third);
        withdraw_all(bed, one);
        take_changes(bed);
        assert_true(memory(bed) - before >= N * sizeof(udpai_floor));
        forget_all(bed);
        assert_int_equal(memory(bed), before);
    }
}

static void
a_larger_resource_takes_more(void **state)
{
    store_bed *bed = *state;
    static char large[4096];
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_FILES, 0);
    memset(large, 'x', sizeof(large) - 1);
    PUT(bed, one, "a", .value = "1");
    uint64_t small = memory(bed);
    PUT(bed, one, "a", .value = large);
    assert_in_range(memory(bed) - small, sizeof(large) - 100, sizeof(large) + 400);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(resources_take_memory_and_give_it_back),
        store_test(a_larger_resource_takes_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
