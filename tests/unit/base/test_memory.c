/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums of memory, by hand, and of what maps and vectors have. */
#include "base/memory.h"

#include <malloc.h>

#include "base/map.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_OWN_ALLOCATOR true
#else
#define IS_OWN_ALLOCATOR false
#endif

static void
a_piece_takes_what_the_allocator_takes(void **state)
{
    (void)state;
    assert_int_equal(udpai_memory_of(0), 32);
    assert_int_equal(udpai_memory_of(24), 32);
    assert_int_equal(udpai_memory_of(25), 48);
    assert_int_equal(udpai_memory_of(40), 48);
    assert_int_equal(udpai_memory_of(1000), 1008);
    for (size_t size = 1; size < 4096 && !IS_OWN_ALLOCATOR; size++) {
        void *piece = udpai_alloc(size);
        assert_int_equal(udpai_memory_of(size), malloc_usable_size(piece) + 8);
        udpai_free(piece);
    }
}

static void
what_is_freed_is_not_counted(void **state)
{
    udpai_memory memory = {0};
    (void)state;
    void *one = udpai_alloc_in(&memory, 100), *other = udpai_alloc_in(&memory, 7);
    assert_int_equal(memory.bytes, udpai_memory_of(100) + udpai_memory_of(7));
    udpai_free_in(&memory, one, 100);
    udpai_free_in(&memory, NULL, 100);
    assert_int_equal(memory.bytes, udpai_memory_of(7));
    udpai_memory_change(&memory, 7, 300);
    assert_int_equal(memory.bytes, udpai_memory_of(300));
    udpai_memory_change(&memory, 300, 0);
    udpai_memory_change(&memory, 0, 0);
    assert_int_equal(memory.bytes, 0);
    udpai_memory_change(&memory, 0, 7);
    udpai_free_in(&memory, other, 7);
    assert_int_equal(memory.bytes, 0);
}

static void
without_a_sum_nothing_is_counted(void **state)
{
    UDPAI_VECTOR(int) vector = {0};
    (void)state;
    udpai_free_in(NULL, udpai_alloc_in(NULL, 10), 10);
    udpai_memory_change(NULL, 1, 2);
    assert_true(udpai_vector_push_in(NULL, &vector, 1));
    udpai_vector_done_in(NULL, &vector);
}

static udpai_str
key_of(const void *item)
{
    return udpai_str_from(item);
}

static void
a_map_counts_its_table(void **state)
{
    static char names[1000][8];
    udpai_memory memory = {0};
    udpai_map map;
    (void)state;
    udpai_map_init_in(&map, key_of, &memory);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(memory.bytes, 0);
        for (size_t i = 0; i < 1000; i++) {
            snprintf(names[i], sizeof(names[i]), "n%zu", i);
            assert_true(udpai_map_add(&map, names[i]));
            assert_int_equal(memory.bytes,
                             udpai_memory_of(map.capacity * (sizeof(void *) + sizeof(uint32_t))));
        }
        for (size_t i = 0; i < 999; i++) {
            udpai_map_remove(&map, udpai_str_from(names[i]));
            assert_int_equal(memory.bytes,
                             udpai_memory_of(map.capacity * (sizeof(void *) + sizeof(uint32_t))));
        }
        if (round)
            udpai_map_done(&map);
        else
            udpai_map_remove(&map, udpai_str_from(names[999]));
    }
    assert_int_equal(memory.bytes, 0);
    assert_ptr_equal(map.memory, &memory);
}

static void
a_vector_counts_its_array(void **state)
{
    UDPAI_VECTOR(uint64_t) vector = {0};
    udpai_memory memory = {0};
    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        assert_true(udpai_vector_push_in(&memory, &vector, i));
        assert_int_equal(memory.bytes, udpai_memory_of(vector.capacity * sizeof(uint64_t)));
    }
    udpai_vector_done_in(&memory, &vector);
    assert_int_equal(memory.bytes, 0);
}

static udpa_err
grow_all(void *context)
{
    UDPAI_VECTOR(uint64_t) vector = {0};
    udpai_memory memory = {0};
    udpai_map map;
    (void)context;
    udpai_map_init_in(&map, key_of, &memory);
    void *piece = udpai_alloc_in(&memory, 50);
    bool made = piece && udpai_map_add(&map, (void *)(uintptr_t) "a") &&
                udpai_vector_reserve_in(&memory, &vector, 1);
    udpai_free_in(&memory, piece, 50);
    udpai_map_done(&map);
    udpai_vector_done_in(&memory, &vector);
    assert_int_equal(memory.bytes, 0);
    return made ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
what_could_not_be_made_is_not_counted(void **state)
{
    (void)state;
    oom_torture(grow_all, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_takes_what_the_allocator_takes),
        cmocka_unit_test(what_is_freed_is_not_counted),
        cmocka_unit_test(without_a_sum_nothing_is_counted),
        cmocka_unit_test(a_map_counts_its_table),
        cmocka_unit_test(a_vector_counts_its_array),
        cmocka_unit_test(what_could_not_be_made_is_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
