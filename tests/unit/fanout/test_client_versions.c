/* SPDX-License-Identifier: Apache-2.0 */
/* The set of items that a subscriber holds as they are. */
#include <stdio.h>

#include "fanout/fanout_internal.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

#define ITEMS 400

/* Only addresses and names matter; those with equal names meet in the table. */
static udpai_item items[ITEMS];
static bool is_in[ITEMS];

#define NAME_ROOM 24

static void
name_items(uint64_t mask)
{
    uint64_t seed = 3;
    for (size_t i = 0; i < ITEMS; i++) {
        udpai_item_more *more = udpai_alloc(sizeof(*more) + NAME_ROOM);
        more->name_len = (uint32_t)snprintf(more->name, NAME_ROOM, "%llx",
                                            (unsigned long long)(test_random(&seed) & mask));
        items[i].more = more;
        is_in[i] = false;
    }
}

static void
forget_items(void)
{
    for (size_t i = 0; i < ITEMS; i++)
        udpai_free(UDPAI_TAKE(items[i].more));
}

static void
assert_agrees(const udpai_client_versions *holdings)
{
    size_t n = 0, at = 0, n_met = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        assert_int_equal(udpai_client_versions_has(holdings, &items[i]), is_in[i]);
        n += is_in[i];
    }
    assert_int_equal(holdings->n, n);
    const udpai_item *item;
    while ((item = udpai_client_versions_next(holdings, &at))) {
        assert_true(is_in[item - items]);
        n_met++;
    }
    assert_int_equal(n_met, n);
}

static void
walk_at_random(uint64_t name_mask)
{
    udpai_client_versions holdings = {0};
    uint64_t seed = 1;
    name_items(name_mask);
    for (int round = 0; round < 20000; round++) {
        size_t range = round / 1000 % 2 ? 30 : ITEMS;
        size_t i = test_random_below(&seed, range);
        bool is_new;
        if (test_random_below(&seed, 2)) {
            assert_true(udpai_client_versions_add(&holdings, &items[i], &is_new));
            assert_int_equal(is_new, !is_in[i]);
            is_in[i] = true;
        } else {
            assert_int_equal(udpai_client_versions_remove(&holdings, &items[i]), is_in[i]);
            is_in[i] = false;
        }
        if (round % 50 == 0)
            assert_agrees(&holdings);
    }
    udpai_client_versions_done(&holdings);
    assert_int_equal(holdings.n, 0);
    forget_items();
}

static void
test_a_random_walk_matches_the_array(void **state)
{
    (void)state;
    walk_at_random(UINT64_MAX);
}

static void
test_colliding_items_survive_each_other(void **state)
{
    (void)state;
    walk_at_random(7);
    walk_at_random(0);
}

static void
test_what_is_empty_has_nothing(void **state)
{
    (void)state;
    udpai_client_versions holdings = {0};
    size_t at = 0;
    bool is_new;
    name_items(0);
    assert_false(udpai_client_versions_has(&holdings, &items[0]));
    assert_false(udpai_client_versions_remove(&holdings, &items[0]));
    assert_null(udpai_client_versions_next(&holdings, &at));
    assert_true(udpai_client_versions_add(&holdings, &items[0], &is_new));
    assert_true(udpai_client_versions_remove(&holdings, &items[0]));
    assert_null(holdings.slots); /* the last one takes the memory with it */
    udpai_client_versions_done(&holdings);
    forget_items();
}

static udpa_err
add_all(void *context)
{
    (void)context;
    udpai_client_versions holdings = {0};
    bool made = true, is_new;
    size_t n = 0;
    for (; n < ITEMS && made; n++)
        made = udpai_client_versions_add(&holdings, &items[n], &is_new);
    if (holdings.n != n - !made)
        return UDPA_ERR_INVAL;
    udpai_client_versions_done(&holdings);
    return made ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
test_lack_of_memory_is_reported(void **state)
{
    (void)state;
    name_items(UINT64_MAX);
    assert_int_equal(oom_torture(add_all, NULL), 4); /* 16 64 256 1024 */
    forget_items();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_random_walk_matches_the_array),
        cmocka_unit_test(test_colliding_items_survive_each_other),
        cmocka_unit_test(test_what_is_empty_has_nothing),
        cmocka_unit_test(test_lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests_name("holdings", tests, NULL, NULL);
}
