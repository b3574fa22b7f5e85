/* SPDX-License-Identifier: Apache-2.0 */
/* The set of items that a subscriber holds as they are. */
#include "fanout/client_versions.h"
#include "fanout/item.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

#define ITEMS 400

static udpai_item items[ITEMS];
static bool is_in[ITEMS];
static udpai_numbers numbers;

/* With so many numbers between them that nobody has a bit of. */
static void
number_items(size_t apart)
{
    uint32_t number;
    for (size_t i = 0; i < ITEMS; i++) {
        for (size_t j = 1; j < apart; j++)
            assert_true(udpai_numbers_give(&numbers, NULL, &number));
        assert_true(udpai_numbers_give(&numbers, &items[i], &items[i].number));
        is_in[i] = false;
    }
}

static void
assert_agrees(const udpai_client_versions *holdings)
{
    size_t n = 0, at = 0, n_met = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        assert_int_equal(udpai_client_versions_has(holdings, items[i].number), is_in[i]);
        n += is_in[i];
    }
    assert_int_equal(holdings->n, n);
    const udpai_item *item;
    while ((item = udpai_client_versions_next(holdings, &numbers, &at))) {
        assert_true(is_in[item - items]);
        n_met++;
    }
    assert_int_equal(n_met, n);
}

static void
walk_at_random(size_t apart)
{
    udpai_client_versions holdings = {0};
    uint64_t seed = 1;
    number_items(apart);
    for (int round = 0; round < 20000; round++) {
        size_t range = round / 1000 % 2 ? 30 : ITEMS;
        size_t i = test_random_below(&seed, range);
        bool is_new;
        if (test_random_below(&seed, 2)) {
            assert_true(udpai_client_versions_add(&holdings, items[i].number, &is_new));
            assert_int_equal(is_new, !is_in[i]);
            is_in[i] = true;
        } else {
            assert_int_equal(udpai_client_versions_remove(&holdings, items[i].number), is_in[i]);
            is_in[i] = false;
        }
        if (round % 50 == 0)
            assert_agrees(&holdings);
    }
    udpai_client_versions_done(&holdings);
    assert_int_equal(holdings.n, 0);
    udpai_numbers_done(&numbers);
}

static void
test_a_random_walk_matches_the_array(void **state)
{
    (void)state;
    walk_at_random(1);
    walk_at_random(3);
}

static void
test_numbers_far_apart(void **state)
{
    (void)state;
    walk_at_random(700);
    walk_at_random(2500);
}

/* While one is given after the other, those given are removed: the last takes the memory. */
static void
test_all_are_removed_on_the_way(void **state)
{
    (void)state;
    udpai_client_versions holdings = {0};
    size_t at = 0, n = 0;
    bool is_new;
    number_items(97);
    for (size_t i = 0; i < ITEMS; i++)
        assert_true(udpai_client_versions_add(&holdings, items[i].number, &is_new));
    const udpai_item *item;
    while ((item = udpai_client_versions_next(&holdings, &numbers, &at))) {
        assert_ptr_equal(item, &items[n++]);
        assert_true(udpai_client_versions_remove(&holdings, item->number));
    }
    assert_int_equal(n, ITEMS);
    assert_null(holdings.pieces.items);
    udpai_numbers_done(&numbers);
}

/* What was taken back last is given first, and nobody has it twice. */
static void
test_numbers_are_given_again(void **state)
{
    (void)state;
    uint32_t number;
    number_items(1);
    for (uint32_t i = 100; i < 200; i++)
        udpai_numbers_take_back(&numbers, i);
    for (uint32_t i = 200; i-- > 100;) {
        assert_true(udpai_numbers_give(&numbers, &items[i], &number));
        assert_int_equal(number, i);
        assert_ptr_equal(udpai_numbers_item(&numbers, i), &items[i]);
    }
    assert_true(udpai_numbers_give(&numbers, &items[0], &number));
    assert_int_equal(number, ITEMS);
    size_t at = 0, n = 0;
    udpai_numbers_take_back(&numbers, 0);
    udpai_numbers_take_back(&numbers, ITEMS / 2);
    for (const udpai_item *item; (item = udpai_numbers_next(&numbers, &at)); n++)
        assert_ptr_equal(item, at - 1 == ITEMS ? &items[0] : &items[at - 1]);
    assert_int_equal(n, ITEMS - 1);
    udpai_numbers_done(&numbers);
}

static void
test_what_is_empty_has_nothing(void **state)
{
    (void)state;
    udpai_client_versions holdings = {0};
    size_t at = 0;
    bool is_new;
    number_items(1);
    assert_false(udpai_client_versions_has(&holdings, items[0].number));
    assert_false(udpai_client_versions_remove(&holdings, items[0].number));
    assert_null(udpai_client_versions_next(&holdings, &numbers, &at));
    assert_true(udpai_client_versions_add(&holdings, items[0].number, &is_new));
    assert_true(udpai_client_versions_remove(&holdings, items[0].number));
    assert_null(holdings.pieces.items); /* the last one takes the memory with it */
    udpai_client_versions_done(&holdings);
    udpai_numbers_done(&numbers);
}

static udpa_err
add_all(void *context)
{
    (void)context;
    udpai_client_versions holdings = {0};
    bool made = true, is_new;
    size_t n = 0;
    for (; n < ITEMS && made; n++)
        made = udpai_client_versions_add(&holdings, items[n].number, &is_new);
    if (holdings.n != n - !made)
        return UDPA_ERR_INVAL;
    udpai_client_versions_done(&holdings);
    return made ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
test_lack_of_memory_is_reported(void **state)
{
    (void)state;
    number_items(2 * 1024);
    assert_int_equal(oom_torture(add_all, NULL), ITEMS + 15); /* pieces, and room for them */
    udpai_numbers_done(&numbers);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_random_walk_matches_the_array),
        cmocka_unit_test(test_numbers_far_apart),
        cmocka_unit_test(test_all_are_removed_on_the_way),
        cmocka_unit_test(test_numbers_are_given_again),
        cmocka_unit_test(test_what_is_empty_has_nothing),
        cmocka_unit_test(test_lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests_name("fanout/client_versions", tests, NULL, NULL);
}
