/* SPDX-License-Identifier: Apache-2.0 */
/* The inbox of a loop: items of other threads wake it, many at once. */
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

#include <pthread.h>

#include "base/alloc.h"
#include "loop/loop_inbox.h"

#define SENDERS 3
#define MESSAGES 3000

typedef struct message {
    udpai_list node;
    unsigned number;
} message;

struct world {
    uv_loop_t loop;
    udpai_loop_inbox *inbox;
    pthread_t loop_thread;
    unsigned n, n_calls, n_wanted;
    bool in_order;
    unsigned last;
};

static void
receive(void *userdata, udpai_list *messages)
{
    struct world *world = userdata;
    assert_true(pthread_equal(world->loop_thread, pthread_self()));
    world->n_calls++;
    udpai_list *at;
    for (; (at = udpai_list_pop(messages)); world->n++) {
        const message *got = UDPAI_LIST_ENTRY(at, message, node);
        world->in_order &= got->number >= world->last;
        world->last = got->number;
    }
    if (world->n == world->n_wanted)
        uv_stop(&world->loop);
}

static void
init(struct world *world, unsigned n_wanted)
{
    memset(world, 0, sizeof(*world));
    world->in_order = true;
    world->n_wanted = n_wanted;
    world->loop_thread = pthread_self();
    assert_int_equal(uv_loop_init(&world->loop), 0);
    assert_ok(udpai_loop_inbox_new(&world->inbox, &world->loop, receive, world, NULL));
}

static void
run_to_the_end(struct world *world)
{
    assert_int_equal(uv_run(&world->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&world->loop), 0);
}

static void
close_empty(struct world *world)
{
    udpai_list rest;
    udpai_list_init(&rest);
    udpai_loop_inbox_close(world->inbox, &rest);
    assert_true(udpai_list_empty(&rest));
    run_to_the_end(world);
}

static void
test_many_are_taken_together(void **state)
{
    (void)state;
    struct world world;
    message messages[100];
    init(&world, 100);
    for (unsigned i = 0; i < 100; i++) {
        messages[i].number = i;
        udpai_loop_inbox_push(world.inbox, &messages[i].node);
    }
    uv_run(&world.loop, UV_RUN_DEFAULT);
    close_empty(&world);
    assert_int_equal(world.n, 100);
    assert_int_equal(world.n_calls, 1);
    assert_true(world.in_order);
}

struct sender {
    pthread_t thread;
    udpai_loop_inbox *inbox;
    message messages[MESSAGES];
};

static void *
send_all(void *userdata)
{
    struct sender *self = userdata;
    for (unsigned i = 0; i < MESSAGES; i++)
        udpai_loop_inbox_push(self->inbox, &self->messages[i].node);
    return NULL;
}

static void
test_threads_wake_the_loop(void **state)
{
    (void)state;
    struct world world;
    init(&world, SENDERS * MESSAGES);
    struct sender *senders = udpai_alloc_array(SENDERS, sizeof(*senders));
    for (unsigned i = 0; i < SENDERS; i++) {
        senders[i].inbox = world.inbox;
        assert_int_equal(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
    }
    uv_run(&world.loop, UV_RUN_DEFAULT);
    for (unsigned i = 0; i < SENDERS; i++)
        pthread_join(senders[i].thread, NULL);
    close_empty(&world);
    assert_int_equal(world.n, SENDERS * MESSAGES);
    udpai_free(senders);
}

static void
test_close_hands_back_the_rest(void **state)
{
    (void)state;
    struct world world;
    message one;
    init(&world, 1);
    udpai_loop_inbox_push(world.inbox, &one.node);
    udpai_list rest;
    udpai_list_init(&rest);
    udpai_loop_inbox_close(world.inbox, &rest);
    assert_ptr_equal(udpai_list_pop(&rest), &one.node);
    run_to_the_end(&world);
    assert_int_equal(world.n_calls, 0);
}

static udpa_err
make_one(void *context)
{
    uv_loop_t loop;
    udpai_loop_inbox *inbox;
    (void)context;
    assert_int_equal(uv_loop_init(&loop), 0);
    udpa_err err = udpai_loop_inbox_new(&inbox, &loop, receive, NULL, NULL);
    udpai_list rest;
    udpai_list_init(&rest);
    if (err == UDPA_OK)
        udpai_loop_inbox_close(inbox, &rest);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    return err;
}

static void
test_without_memory(void **state)
{
    (void)state;
    oom_torture(make_one, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_are_taken_together),
        cmocka_unit_test(test_threads_wake_the_loop),
        cmocka_unit_test(test_close_hands_back_the_rest),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
