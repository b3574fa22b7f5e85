/* SPDX-License-Identifier: Apache-2.0 */
/* The hash map: what was added is found, what was removed is not, in any order, while it grows and
 * shrinks; against a plain array, with keys that collide, and without memory. */
#include "base/map.h"

#include <stdio.h>

#include "tests/harness/oom.h"
#include "tests/harness/test.h"

struct item {
    char key[24];
    size_t len;
    bool present, visited;
};

static udpai_str
item_key(const void *item)
{
    const struct item *self = item;
    return (udpai_str){self->key, self->len};
}

static void
name_items(struct item *items, size_t n)
{
    memset(items, 0, n * sizeof(*items));
    for (size_t i = 0; i < n; i++)
        items[i].len = (size_t)snprintf(items[i].key, sizeof(items[i].key), "com.acme/%zu", i);
}

static void
hash_is_xxh3_with_the_seed(void **state)
{
    (void)state;
    assert_true(udpai_hash(UDPAI_STR("")) == 0x2d06800538d394c2u);
    assert_true(udpai_hash((udpai_str){NULL, 0}) == 0x2d06800538d394c2u);
    assert_true(udpai_hash(UDPAI_STR("abc")) == 0x78af5f94892f3950u);
    udpai_map_set_seed(42);
    uint64_t seeded = udpai_hash(UDPAI_STR("abc"));
    udpai_map_set_seed(0);
    assert_true(seeded == 0xd8438def21bbdcc3u);
}

static void
empty_map_has_nothing(void **state)
{
    (void)state;
    udpai_map map;
    size_t at = 0;
    unsigned long before = udpai_alloc_count();
    udpai_map_init(&map, item_key);
    assert_null(udpai_map_get(&map, UDPAI_STR("x")));
    assert_null(udpai_map_remove(&map, UDPAI_STR("x")));
    assert_null(udpai_map_next(&map, &at));
    udpai_map_done(&map);
    assert_true(udpai_alloc_count() == before);
}

static void
items_are_found_by_any_bytes(void **state)
{
    (void)state;
    static struct item items[] = {
        {"", 0, 0, 0}, {"a\0b", 3, 0, 0}, {"a\0c", 3, 0, 0}, {"a", 1, 0, 0}};
    udpai_map map;
    udpai_map_init(&map, item_key);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(items); i++)
        assert_true(udpai_map_add(&map, &items[i]));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(items); i++)
        assert_ptr_equal(udpai_map_get(&map, item_key(&items[i])), &items[i]);
    assert_null(udpai_map_get(&map, UDPAI_STR("b")));
    assert_int_equal(map.n, 4);
    udpai_map_done(&map);
    assert_int_equal(map.n, 0);
    assert_null(udpai_map_get(&map, UDPAI_STR("a")));
    assert_true(udpai_map_add(&map, &items[3]));
    assert_ptr_equal(udpai_map_get(&map, UDPAI_STR("a")), &items[3]);
    udpai_map_done(&map);
}

/* Each present item is met once, and no other. */
static void
assert_iterates(const udpai_map *map, struct item *items, size_t n)
{
    size_t at = 0, met = 0, present = 0;
    for (size_t i = 0; i < n; i++) {
        items[i].visited = false;
        present += items[i].present;
    }
    struct item *item;
    while ((item = udpai_map_next(map, &at))) {
        assert_true(item->present);
        assert_false(item->visited);
        item->visited = true;
        met++;
    }
    assert_int_equal(met, present);
    assert_int_equal(map->n, present);
}

static void
assert_agrees(const udpai_map *map, struct item *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_ptr_equal(udpai_map_get(map, item_key(&items[i])),
                         items[i].present ? &items[i] : NULL);
    assert_iterates(map, items, n);
}

static void
toggle(udpai_map *map, struct item *item)
{
    if (item->present)
        assert_ptr_equal(udpai_map_remove(map, item_key(item)), item);
    else
        assert_true(udpai_map_add(map, item));
    item->present = !item->present;
}

static void
random_walk_matches_the_array(void **state)
{
    (void)state;

    enum {
        N = 400
    };
    static struct item items[N];
    udpai_map map;
    uint64_t seed = 1;
    name_items(items, N);
    udpai_map_init(&map, item_key);
    for (int step = 0; step < 20000; step++) {
        /* The window moves up and down, so that the map is nearly empty and nearly full in turn. */
        size_t window = 1 + (size_t)(step / 50) % N;
        struct item *item = &items[test_random_below(&seed, window)];
        toggle(&map, item);
        assert_true(map.n * 4 <= map.capacity * 3);
        if (step % 97 == 0)
            assert_agrees(&map, items, N);
    }
    for (size_t i = 0; i < N; i++)
        if (items[i].present)
            toggle(&map, &items[i]);
    assert_agrees(&map, items, N);
    assert_int_equal(map.capacity, 0);
    udpai_map_done(&map);
}

/* Items whose hashes agree in their low bits fill one run of slots, which also wraps around. */
static size_t
choose_colliding(struct item *items, size_t n)
{
    size_t found = 0;
    for (unsigned number = 0; found < n; number++) {
        struct item candidate = {.present = false};
        candidate.len = (size_t)snprintf(candidate.key, sizeof(candidate.key), "k%u", number);
        if ((udpai_hash(item_key(&candidate)) & 63) >= 62)
            items[found++] = candidate;
    }
    return found;
}

static void
colliding_keys_survive_each_other(void **state)
{
    (void)state;

    enum {
        N = 40
    };
    static struct item items[N];
    udpai_map map;
    uint64_t seed = 3;
    assert_int_equal(choose_colliding(items, N), N);
    udpai_map_init(&map, item_key);
    for (int step = 0; step < 10000; step++) {
        toggle(&map, &items[test_random_below(&seed, N)]);
        assert_agrees(&map, items, N);
    }
    udpai_map_done(&map);
}

static size_t
longest_run_of_used_slots(const udpai_map *map)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < map->capacity; i++) {
        run = map->hashes[i] ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* As many as fit, from a map of the same size: in the order of its slots they would fill half of
 * the table to the last slot, and looking for a free one would take as long as the map is large. */
static void
one_map_goes_into_another(void **state)
{
    (void)state;

    enum {
        N = 1 << 16,
        FULL = N / 8 * 7
    };
    static struct item items[2 * N];
    udpai_map to, from;
    size_t at = 0;
    void *item;
    name_items(items, UDPAI_ARRAY_LEN(items));
    udpai_map_init(&to, item_key);
    udpai_map_init(&from, item_key);
    for (size_t i = 0; i < N / 5 * 3; i++) {
        assert_true(udpai_map_add(&to, &items[i]));
        assert_true(udpai_map_add(&from, &items[N + i]));
    }
    while (to.n < FULL && (item = udpai_map_next(&from, &at)))
        assert_true(udpai_map_add(&to, item));
    assert_int_equal(to.capacity, N);
    assert_true(longest_run_of_used_slots(&to) < N / 32);
    udpai_map_done(&to);
    udpai_map_done(&from);
}

/* Who is told of a map in pieces must not miss a part of it because it has grown meanwhile. */
static void
growth_hides_next_to_nothing(void **state)
{
    (void)state;

    enum {
        N = 3000,
        MORE = 2000
    };
    static struct item items[N + MORE];
    for (size_t seen_before = 0; seen_before < N; seen_before += 100) {
        udpai_map map;
        size_t at = 0, n_seen = 0;
        struct item *item;
        name_items(items, UDPAI_ARRAY_LEN(items));
        udpai_map_init(&map, item_key);
        for (size_t i = 0; i < N; i++)
            assert_true(udpai_map_add(&map, &items[i]));
        for (size_t i = 0; i < seen_before; i++)
            ((struct item *)udpai_map_next(&map, &at))->visited = true;
        for (size_t i = N; i < N + MORE; i++)
            assert_true(udpai_map_add(&map, &items[i]));
        while ((item = udpai_map_next(&map, &at)))
            item->visited = true;
        for (size_t i = 0; i < N; i++)
            n_seen += items[i].visited;
        assert_true(n_seen >= N - N / 100);
        udpai_map_done(&map);
    }
}

static void
what_has_room_needs_no_memory(void **state)
{
    (void)state;
    static struct item items[100];
    udpai_map map;
    name_items(items, UDPAI_ARRAY_LEN(items));
    udpai_map_init(&map, item_key);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(items); i += 20) {
        assert_true(udpai_map_reserve(&map, 20));
        udpai_alloc_fail_after(0);
        for (size_t j = i; j < i + 20; j++)
            assert_true(udpai_map_add(&map, &items[j]));
        bool has_more = udpai_map_reserve(&map, 1000);
        udpai_alloc_fail_after(-1);
        assert_false(has_more);
    }
    assert_int_equal(map.n, 100);
    udpai_map_done(&map);
}

static void
order_is_the_same_for_the_same_calls(void **state)
{
    (void)state;

    enum {
        N = 100
    };
    static struct item items[N];
    udpai_map first, second;
    size_t at_first = 0, at_second = 0;
    name_items(items, N);
    udpai_map_init(&first, item_key);
    udpai_map_init(&second, item_key);
    for (size_t i = 0; i < N; i++) {
        assert_true(udpai_map_add(&first, &items[i]));
        assert_true(udpai_map_add(&second, &items[i]));
    }
    void *item;
    size_t n = 0;
    for (; (item = udpai_map_next(&first, &at_first)); n++)
        assert_ptr_equal(udpai_map_next(&second, &at_second), item);
    assert_int_equal(n, N);
    assert_null(udpai_map_next(&second, &at_second));
    udpai_map_done(&first);
    udpai_map_done(&second);
}

static void
large_map_shrinks(void **state)
{
    (void)state;

    enum {
        N = 4000
    };
    static struct item items[N];
    udpai_map map;
    name_items(items, N);
    udpai_map_init(&map, item_key);
    for (size_t i = 0; i < N; i++)
        toggle(&map, &items[i]);
    size_t full = map.capacity;
    assert_true(full >= N);
    for (size_t i = 0; i < N - 10; i++)
        toggle(&map, &items[i]);
    assert_true(map.capacity <= 128);
    assert_agrees(&map, items, N);
    udpai_map_done(&map);
}

static void
failed_add_changes_nothing(void **state)
{
    (void)state;
    static struct item items[7];
    udpai_map map;
    name_items(items, 7);
    udpai_map_init(&map, item_key);
    for (size_t i = 0; i < 6; i++) /* 6 of 8 slots: the next one must grow */
        toggle(&map, &items[i]);
    udpai_alloc_fail_after(0);
    bool added = udpai_map_add(&map, &items[6]);
    udpai_alloc_fail_after(-1);
    assert_false(added);
    assert_agrees(&map, items, 7);
    udpai_map_done(&map);
}

static void
removal_needs_no_memory(void **state)
{
    (void)state;

    enum {
        N = 500
    };
    static struct item items[N];
    udpai_map map;
    name_items(items, N);
    udpai_map_init(&map, item_key);
    for (size_t i = 0; i < N; i++)
        toggle(&map, &items[i]);
    udpai_alloc_fail_after(0);
    for (size_t i = 0; i < N - 1; i++)
        toggle(&map, &items[i]);
    udpai_alloc_fail_after(-1);
    assert_agrees(&map, items, N);
    toggle(&map, &items[N - 1]);
    udpai_map_done(&map);
}

static void
one_item_takes_the_place_of_another(void **state)
{
    (void)state;
    static struct item items[20], twins[20];
    udpai_map map;
    name_items(items, 20);
    name_items(twins, 20);
    udpai_map_init(&map, item_key);
    for (size_t i = 0; i < 20; i++)
        assert_true(udpai_map_add(&map, &items[i]));
    udpai_alloc_fail_after(0);
    for (size_t i = 0; i < 20; i++)
        assert_ptr_equal(udpai_map_replace(&map, &twins[i]), &items[i]);
    udpai_alloc_fail_after(-1);
    assert_int_equal(map.n, 20);
    for (size_t i = 0; i < 20; i++)
        assert_ptr_equal(udpai_map_remove(&map, item_key(&items[i])), &twins[i]);
    udpai_map_done(&map);
}

static udpa_err
add_a_hundred(void *context)
{
    struct item *items = context;
    udpai_map map;
    bool added = true;
    udpai_map_init(&map, item_key);
    for (size_t i = 0; i < 100 && added; i++)
        added = udpai_map_add(&map, &items[i]);
    udpai_map_done(&map);
    return added ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
lack_of_memory_is_reported(void **state)
{
    (void)state;
    static struct item items[100];
    name_items(items, 100);
    assert_int_equal(oom_torture(add_a_hundred, items), 6); /* 8 16 32 64 128 256 */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_is_xxh3_with_the_seed),
        cmocka_unit_test(empty_map_has_nothing),
        cmocka_unit_test(items_are_found_by_any_bytes),
        cmocka_unit_test(random_walk_matches_the_array),
        cmocka_unit_test(colliding_keys_survive_each_other),
        cmocka_unit_test(one_map_goes_into_another),
        cmocka_unit_test(growth_hides_next_to_nothing),
        cmocka_unit_test(what_has_room_needs_no_memory),
        cmocka_unit_test(order_is_the_same_for_the_same_calls),
        cmocka_unit_test(large_map_shrinks),
        cmocka_unit_test(failed_add_changes_nothing),
        cmocka_unit_test(removal_needs_no_memory),
        cmocka_unit_test(one_item_takes_the_place_of_another),
        cmocka_unit_test(lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
