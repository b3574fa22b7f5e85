/* SPDX-License-Identifier: Apache-2.0 */
/* Memory in order, given back at once: pieces never overlap, are aligned, and what a reset keeps is
 * bounded. */
#include "wire/arena.h"

#include "base/alloc.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

static void
pieces_do_not_overlap(void **state)
{
    (void)state;
    udpai_arena arena;
    udpai_arena_init(&arena);

    enum {
        N = 500
    };

    uint8_t *pieces[N];
    uint64_t seed = 7;
    size_t sizes[N];
    for (size_t i = 0; i < N; i++) {
        sizes[i] = 1 + test_random_below(&seed, 3000);
        pieces[i] = udpai_arena_alloc(&arena, sizes[i]);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], (int)(i & 0xff), sizes[i]);
    }
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(pieces[i][k], i & 0xff);
    udpai_arena_done(&arena);
}

static void
nothing_is_a_place_too(void **state)
{
    (void)state;
    udpai_arena arena;
    udpai_arena_init(&arena);
    assert_non_null(udpai_arena_alloc(&arena, 0));
    udpai_arena_done(&arena);
    udpai_arena_done(&arena); /* empty again */
}

static void
impossible_sizes_are_refused(void **state)
{
    (void)state;
    udpai_arena arena;
    udpai_arena_init(&arena);
    assert_null(udpai_arena_alloc(&arena, SIZE_MAX));
    assert_null(udpai_arena_alloc(&arena, SIZE_MAX / 2 + 1));
    assert_non_null(udpai_arena_alloc(&arena, 10));
    udpai_arena_done(&arena);
}

/* The next message of the same size costs no allocation. */
static void
reset_keeps_a_chunk(void **state)
{
    (void)state;
    udpai_arena arena;
    udpai_arena_init(&arena);
    udpai_arena_reset(&arena);
    void *first = udpai_arena_alloc(&arena, 10000);
    udpai_arena_reset(&arena);
    unsigned long before = udpai_alloc_count();
    assert_ptr_equal(udpai_arena_alloc(&arena, 10000), first);
    assert_int_equal(udpai_alloc_count(), before);
    udpai_arena_done(&arena);
}

/* One message of 60 MiB must not keep them for the life of the thread. */
static void
reset_lets_a_huge_chunk_go(void **state)
{
    (void)state;
    udpai_arena arena;
    udpai_arena_init(&arena);
    assert_non_null(udpai_arena_alloc(&arena, 3 << 20));
    assert_non_null(arena.chunks);
    udpai_arena_reset(&arena);
    assert_null(arena.chunks);
    assert_non_null(udpai_arena_alloc(&arena, 1 << 20));
    udpai_arena_reset(&arena);
    assert_non_null(arena.chunks);
    udpai_arena_done(&arena);
}

/* Small pieces cost few allocations: chunks grow. */
static void
chunks_grow(void **state)
{
    (void)state;
    udpai_arena arena;
    udpai_arena_init(&arena);
    unsigned long before = udpai_alloc_count();
    for (size_t i = 0; i < 100000; i++)
        assert_non_null(udpai_arena_alloc(&arena, 32));
    assert_true(udpai_alloc_count() - before < 20);
    udpai_arena_done(&arena);
}

static void
serves_protobuf_c(void **state)
{
    (void)state;
    udpai_arena arena;
    udpai_arena_init(&arena);
    void *memory = arena.allocator.alloc(arena.allocator.allocator_data, 100);
    assert_non_null(memory);
    memset(memory, 1, 100);
    arena.allocator.free(arena.allocator.allocator_data, memory); /* only when all of it goes */
    memset(memory, 2, 100);
    udpai_arena_done(&arena);
}

/* Who finds no memory is told so until the next reset, since protobuf-c does not say why it fails.
 */
static void
failure_is_noted(void **state)
{
    (void)state;
    udpai_arena arena;
    udpai_arena_init(&arena);
    udpai_alloc_fail_after(0);
    assert_null(udpai_arena_alloc(&arena, 10));
    udpai_alloc_fail_after(-1);
    assert_true(arena.failed);
    assert_non_null(udpai_arena_alloc(&arena, 10));
    assert_true(arena.failed);
    udpai_arena_reset(&arena);
    assert_false(arena.failed);
    udpai_arena_done(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_do_not_overlap),
        cmocka_unit_test(nothing_is_a_place_too),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(reset_keeps_a_chunk),
        cmocka_unit_test(reset_lets_a_huge_chunk_go),
        cmocka_unit_test(chunks_grow),
        cmocka_unit_test(serves_protobuf_c),
        cmocka_unit_test(failure_is_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
