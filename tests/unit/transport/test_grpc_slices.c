/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of gRPC as bytes of ours: large ones without a copy. */
#include "tests/harness/test.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "transport/grpc/grpc_internal.h"

#define PARTS_MAX 300

struct world {
    udpa_bytes *parts[PARTS_MAX];
    udpai_outgoing message;
    char expected[PARTS_MAX * 1000];
    size_t len;
};

static void
add_part(struct world *world, size_t size)
{
    uint8_t *room;
    size_t i = world->message.n_parts++;
    world->message.parts = world->parts;
    world->parts[i] = udpai_bytes_make(size, &room);
    memset(room, 'a' + (int)(i % 26), size);
    memcpy(world->expected + world->len, room, size);
    world->len += size;
}

static void
add_tail(struct world *world, const char *tail)
{
    world->message.tail_len = strlen(tail);
    memcpy(world->message.tail, tail, world->message.tail_len);
    memcpy(world->expected + world->len, tail, world->message.tail_len);
    world->len += world->message.tail_len;
}

static void
release_parts(struct world *world)
{
    for (size_t i = 0; i < world->message.n_parts; i++)
        udpa_bytes_unref(world->parts[i]);
}

/* Is the message the same when it comes out again, after our own references were dropped? Returns
 * the number of slices that it has become. */
static size_t
check(struct world *world)
{
    grpc_byte_buffer *buffer = udpai_slices_from(&world->message);
    assert_non_null(buffer);
    release_parts(world);
    assert_int_equal(grpc_byte_buffer_length(buffer), world->len);
    size_t n = buffer->data.raw.slice_buffer.count;
    grpc_slice owned;
    udpai_str joined = udpai_slices_join(buffer, &owned);
    assert_int_equal(joined.len, world->len);
    assert_memory_equal(joined.data, world->expected, world->len);
    grpc_byte_buffer_destroy(buffer);
    grpc_slice_unref(owned);
    udpai_free(world);
    return n;
}

static struct world *
new_world(void)
{
    return udpai_alloc(sizeof(struct world));
}

static void
test_nothing(void **state)
{
    (void)state;
    check(new_world());
    struct world *world = new_world();
    add_part(world, 0);
    add_part(world, 0);
    check(world);
}

static void
test_one_large_part_is_not_copied(void **state)
{
    (void)state;
    struct world *world = new_world();
    add_part(world, 1000);
    grpc_byte_buffer *buffer = udpai_slices_from(&world->message);
    grpc_slice owned;
    udpai_str joined = udpai_slices_join(buffer, &owned);
    assert_ptr_equal(joined.data, udpa_bytes_data(world->parts[0]));
    grpc_byte_buffer_destroy(buffer);
    grpc_slice_unref(owned);
    release_parts(world);
    udpai_free(world);
}

static void
test_small_neighbours_become_one(void **state)
{
    (void)state;
    struct world *world = new_world();
    for (int i = 0; i < 100; i++)
        add_part(world, 40);
    add_tail(world, "tail");
    assert_int_equal(check(world), 1);
    world = new_world();
    add_part(world, 10);
    add_part(world, 10);
    add_part(world, 500);
    add_part(world, 10);
    add_tail(world, "tail");
    assert_int_equal(check(world), 3);
    world = new_world();
    add_part(world, 500);
    add_part(world, 128);
    add_tail(world, "tail");
    assert_int_equal(check(world), 3);
}

static void
test_tail_alone(void **state)
{
    (void)state;
    struct world *world = new_world();
    add_tail(world, "123456789012345678901234");
    assert_int_equal(check(world), 1);
}

static void
test_many_parts_of_random_sizes(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int round = 0; round < 300; round++) {
        struct world *world = new_world();
        size_t n = test_random_below(&random, PARTS_MAX);
        for (size_t i = 0; i < n; i++)
            add_part(world, test_random_below(&random, test_random_below(&random, 2) ? 300 : 900));
        if (test_random_below(&random, 2))
            add_tail(world, "tail");
        check(world);
    }
}

static void
test_without_memory(void **state)
{
    (void)state;
    struct world *world = new_world();
    for (int i = 0; i < 100; i++)
        add_part(world, 200);
    udpai_alloc_fail_after(0);
    grpc_byte_buffer *buffer = udpai_slices_from(&world->message);
    udpai_alloc_fail_after(-1);
    assert_null(buffer);
    check(world);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_one_large_part_is_not_copied),
        cmocka_unit_test(test_small_neighbours_become_one),
        cmocka_unit_test(test_tail_alone),
        cmocka_unit_test(test_many_parts_of_random_sizes),
        cmocka_unit_test(test_without_memory),
    };
    grpc_init();
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    grpc_shutdown();
    return result;
}
