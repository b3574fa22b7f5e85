/* SPDX-License-Identifier: Apache-2.0 */
/* The intrusive list: order, harmless removal, splicing, and a random walk against an array. */
#include "base/list.h"

#include "tests/harness/test.h"

struct item {
    int number;
    udpai_list node;
};

/* Is the list sound in both directions, and are its items exactly these numbers? */
static void
assert_list(const udpai_list *list, const int *numbers, size_t n)
{
    const udpai_list *node = list->next;
    for (size_t i = 0; i < n; i++, node = node->next) {
        assert_ptr_not_equal(node, list);
        assert_ptr_equal(node->next->prev, node);
        assert_ptr_equal(node->prev->next, node);
        assert_int_equal(UDPAI_LIST_ENTRY(node, struct item, node)->number, numbers[i]);
    }
    assert_ptr_equal(node, list);
    assert_int_equal(udpai_list_empty(list), n == 0);
}

static void
make_items(struct item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        items[i].number = (int)i;
        udpai_list_init(&items[i].node);
    }
}

static void
new_list_is_empty(void **state)
{
    (void)state;
    udpai_list list;
    udpai_list_init(&list);
    assert_true(udpai_list_empty(&list));
    assert_false(udpai_list_linked(&list));
    assert_null(udpai_list_pop(&list));
    UDPAI_LIST_FOREACH (node, &list)
        fail_msg("an empty list has no nodes, but %p", (void *)node);
}

static void
nodes_stand_where_they_were_put(void **state)
{
    (void)state;
    udpai_list list;
    struct item items[5];
    udpai_list_init(&list);
    make_items(items, 5);
    udpai_list_append(&list, &items[2].node);
    udpai_list_append(&list, &items[4].node);
    udpai_list_prepend(&list, &items[0].node);
    udpai_list_insert_before(&items[2].node, &items[1].node);
    udpai_list_insert_before(&items[4].node, &items[3].node);
    assert_list(&list, (int[]){0, 1, 2, 3, 4}, 5);
    assert_true(udpai_list_linked(&items[3].node));
}

static void
removal_is_harmless_twice(void **state)
{
    (void)state;
    udpai_list list;
    struct item items[3];
    udpai_list_init(&list);
    make_items(items, 3);
    for (size_t i = 0; i < 3; i++)
        udpai_list_append(&list, &items[i].node);
    udpai_list_remove(&items[1].node);
    udpai_list_remove(&items[1].node);
    assert_false(udpai_list_linked(&items[1].node));
    assert_list(&list, (int[]){0, 2}, 2);
    udpai_list_append(&list, &items[1].node);
    assert_list(&list, (int[]){0, 2, 1}, 3);
}

static void
pop_takes_the_first(void **state)
{
    (void)state;
    udpai_list list;
    struct item items[2];
    udpai_list_init(&list);
    make_items(items, 2);
    udpai_list_append(&list, &items[0].node);
    udpai_list_append(&list, &items[1].node);
    assert_ptr_equal(udpai_list_pop(&list), &items[0].node);
    assert_false(udpai_list_linked(&items[0].node));
    assert_ptr_equal(udpai_list_pop(&list), &items[1].node);
    assert_null(udpai_list_pop(&list));
}

static void
splice_moves_all_to_the_end(void **state)
{
    (void)state;
    udpai_list to, from;
    struct item items[4];
    udpai_list_init(&to);
    udpai_list_init(&from);
    make_items(items, 4);
    udpai_list_splice(&to, &from);
    assert_true(udpai_list_empty(&to));
    udpai_list_append(&from, &items[0].node);
    udpai_list_append(&from, &items[1].node);
    udpai_list_splice(&to, &from);
    assert_list(&to, (int[]){0, 1}, 2);
    assert_true(udpai_list_empty(&from));
    udpai_list_splice(&to, &from);
    assert_list(&to, (int[]){0, 1}, 2);
    udpai_list_append(&from, &items[2].node);
    udpai_list_append(&from, &items[3].node);
    udpai_list_splice(&to, &from);
    assert_list(&to, (int[]){0, 1, 2, 3}, 4);
}

static void
safe_loop_survives_removal(void **state)
{
    (void)state;
    udpai_list list;
    udpai_list_init(&list);
    for (int i = 0; i < 10; i++) {
        struct item *item = calloc(1, sizeof(*item));
        item->number = i;
        udpai_list_append(&list, &item->node);
    }
    UDPAI_LIST_FOREACH_SAFE (node, &list) {
        struct item *item = UDPAI_LIST_ENTRY(node, struct item, node);
        if (item->number % 3 == 0)
            continue;
        udpai_list_remove(node);
        free(item);
    }
    assert_list(&list, (int[]){0, 3, 6, 9}, 4);
    UDPAI_LIST_FOREACH_SAFE (node, &list) {
        udpai_list_remove(node);
        free(UDPAI_LIST_ENTRY(node, struct item, node));
    }
    assert_true(udpai_list_empty(&list));
}

static void
loop_goes_in_order(void **state)
{
    (void)state;
    udpai_list list;
    struct item items[3];
    int seen[3], n = 0;
    udpai_list_init(&list);
    make_items(items, 3);
    for (size_t i = 3; i-- > 0;)
        udpai_list_prepend(&list, &items[i].node);
    UDPAI_LIST_FOREACH (node, &list)
        seen[n++] = UDPAI_LIST_ENTRY(node, struct item, node)->number;
    assert_int_equal(n, 3);
    assert_list(&list, seen, 3);
}

static size_t
naive_remove(int *numbers, size_t n, int number)
{
    for (size_t i = 0; i < n; i++)
        if (numbers[i] == number) {
            memmove(numbers + i, numbers + i + 1, (n - i - 1) * sizeof(*numbers));
            return n - 1;
        }
    return n;
}

static void
random_walk_matches_an_array(void **state)
{
    (void)state;

    enum {
        N = 20
    };

    udpai_list list;
    struct item items[N];
    int expected[N];
    size_t n = 0;
    uint64_t seed = 7;
    udpai_list_init(&list);
    make_items(items, N);
    for (int step = 0; step < 5000; step++) {
        int which = (int)test_random_below(&seed, N);
        udpai_list_remove(&items[which].node);
        n = naive_remove(expected, n, which);
        if (test_random_below(&seed, 3) == 0)
            continue;
        size_t at = test_random_below(&seed, n + 1);
        udpai_list_insert_before(at < n ? &items[expected[at]].node : &list, &items[which].node);
        memmove(expected + at + 1, expected + at, (n - at) * sizeof(*expected));
        expected[at] = which;
        n++;
        assert_list(&list, expected, n);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_list_is_empty),
        cmocka_unit_test(nodes_stand_where_they_were_put),
        cmocka_unit_test(removal_is_harmless_twice),
        cmocka_unit_test(pop_takes_the_first),
        cmocka_unit_test(splice_moves_all_to_the_end),
        cmocka_unit_test(safe_loop_survives_removal),
        cmocka_unit_test(loop_goes_in_order),
        cmocka_unit_test(random_walk_matches_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
