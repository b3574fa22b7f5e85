/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that are held back while nothing but acknowledgements comes. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "loop/clock.h"
#include "one_call.h"

#define LOW_WATER 4096
#define MOST_FILES 256
/* So many pushes are more than is written while a socket is held back. */
#define MANY_PUSHES ((16 << 10) / 6 + 100)

static struct world *
begin(uint64_t hold_ms, uint64_t delayed_read_ms)
{
    udpai_stream_thread_options options = {
        .timing = {.delayed_read_ms = delayed_read_ms, .hold_ms = hold_ms},
    };
    return one_call_begin(&options, "echo");
}

/* Of a socket that is held back, only that it is closed is seen at once. */
static void
end(struct world *world)
{
    raw_end(&world->call);
    raw_disconnect(&world->client);
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
    bed_stop(&world->bed);
    udpai_free(world);
}

static bool
is_accepted_at(int file, int port)
{
    struct sockaddr_in6 own = {0}, peer;
    socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
    return getsockname(file, (struct sockaddr *)&own, &own_size) == 0 &&
           ntohs(own.sin6_port) == port &&
           getpeername(file, (struct sockaddr *)&peer, &peer_size) == 0;
}

/* How much must have come to the connection before anybody is woken. */
static int
low_water(const struct world *world)
{
    for (int file = 0; file < MOST_FILES; file++) {
        int bytes = 0;
        socklen_t size = sizeof(bytes);
        if (is_accepted_at(file, world->bed.port) &&
            getsockopt(file, SOL_SOCKET, SO_RCVLOWAT, &bytes, &size) == 0)
            return bytes;
    }
    return -1;
}

static void
expect_low_water(struct world *world, int bytes)
{
    uint64_t until_ms = udpai_monotonic_ms() + BED_PATIENCE_S * 1000;
    while (low_water(world) != bytes && udpai_monotonic_ms() < until_ms)
        bed_wait_streams(&world->bed, 1, SIZE_MAX); /* what was said before is done */
    assert_int_equal(low_water(world), bytes);
}

/* Who still has to take what was written is not held back: of the last write, it may be that only
 * its words have come, and not yet that it is done. */
static void
say_calm(struct world *world)
{
    bed_wait_streams(&world->bed, 1, TAGS_OF_LISTENER + 1);
    assert_true(raw_say(&world->call, "calm"));
}

static void
test_held_back_until_much_was_written(void **state)
{
    (void)state;
    struct world *world = begin(FOR_EVER_MS, FOR_EVER_MS);
    assert_int_equal(low_water(world), 1);
    say_calm(world);
    expect_low_water(world, LOW_WATER);
    unsigned before = atomic_load(&bed_n_received);
    assert_true(raw_say(&world->call, "calm, too"));
    for (int i = 0; i < 10; i++)
        one_call_push(world);
    assert_int_equal(low_water(world), LOW_WATER);
    assert_int_equal(atomic_load(&bed_n_received), before);
    for (int i = 0; i < MANY_PUSHES && atomic_load(&bed_n_received) == before; i++)
        one_call_push(world);
    udpai_report_free(bed_report(&world->bed, UDPAI_REPORT_ALIVE));
    end(world);
}

static void
test_held_back_for_a_while(void **state)
{
    (void)state;
    struct world *world = begin(20, FOR_EVER_MS);
    for (int i = 0; i < 3; i++) {
        say_calm(world);
        expect_low_water(world, LOW_WATER);
        assert_true(raw_say(&world->call, "echo something"));
        expect_low_water(world, 1);
        one_call_push(world);
        one_call_push(world);
        raw_expect(&world->call, "echo something");
    }
    end(world);
}

/* It would wait for what is said on the other. */
static void
test_not_with_two_streams(void **state)
{
    (void)state;
    struct world *world = begin(20, FOR_EVER_MS);
    say_calm(world);
    expect_low_water(world, LOW_WATER);
    raw_call second;
    raw_begin(&world->client, &second, BED_PATH);
    assert_true(raw_say(&second, "echo more"));
    raw_expect(&second, "echo more");
    assert_int_equal(low_water(world), 1);
    one_call_push(world);
    one_call_push(world);
    assert_true(raw_say(&world->call, "calm"));
    one_call_push(world);
    assert_int_equal(low_water(world), 1);
    raw_end(&second);
    end(world);
}

/* Whoever comes next by this connection is heard. */
static void
test_let_go_at_the_end(void **state)
{
    (void)state;
    struct world *world = begin(FOR_EVER_MS, FOR_EVER_MS);
    say_calm(world);
    expect_low_water(world, LOW_WATER);
    bed_hang_up(&world->bed, world->session, 0);
    assert_false(raw_receive(&world->call));
    expect_low_water(world, 1);
    raw_end(&world->call);
    raw_begin(&world->client, &world->call, BED_PATH);
    assert_true(raw_say(&world->call, "echo again"));
    raw_expect(&world->call, "echo again");
    end(world);
}

static void
test_gone_while_held_back(void **state)
{
    (void)state;
    struct world *world = begin(20, 20);
    say_calm(world);
    expect_low_water(world, LOW_WATER);
    end(world);
}

/* By default nobody is held back who is written to now and then. */
static void
test_not_without_need(void **state)
{
    (void)state;
    struct world *world = begin(0, FOR_EVER_MS);
    for (int i = 0; i < 3; i++) {
        assert_true(raw_say(&world->call, "calm"));
        one_call_push(world);
        one_call_push(world);
    }
    assert_int_equal(low_water(world), 1);
    end(world);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_held_back_until_much_was_written),
        cmocka_unit_test(test_held_back_for_a_while),
        cmocka_unit_test(test_not_with_two_streams),
        cmocka_unit_test(test_let_go_at_the_end),
        cmocka_unit_test(test_gone_while_held_back),
        cmocka_unit_test(test_not_without_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
