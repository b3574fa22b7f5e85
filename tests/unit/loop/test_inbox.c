/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads write, one reads. Under TSan it also shows that nothing is shared unguarded. */
#include "tests/harness/test.h"

#include <pthread.h>

#include "base/alloc.h"
#include "loop/inbox.h"

#define SENDERS 4
#define MESSAGES 5000

typedef struct message {
    udpai_list node;
    unsigned sender, number;
} message;

/* A receiver that sleeps on a condition until it is woken. */
typedef struct sleeper {
    udpai_inbox inbox;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    unsigned n_wakes; /* under the mutex */
    unsigned n_wakes_seen;
} sleeper;

static void
wake(void *userdata)
{
    sleeper *self = userdata;
    pthread_mutex_lock(&self->mutex);
    self->n_wakes++;
    pthread_cond_signal(&self->cond);
    pthread_mutex_unlock(&self->mutex);
}

static void
wait_for_wake(sleeper *self)
{
    pthread_mutex_lock(&self->mutex);
    while (self->n_wakes == self->n_wakes_seen)
        pthread_cond_wait(&self->cond, &self->mutex);
    /* The inbox is drained after each wake; so there is never a second one under way. */
    assert_int_equal(self->n_wakes, self->n_wakes_seen + 1);
    self->n_wakes_seen = self->n_wakes;
    pthread_mutex_unlock(&self->mutex);
}

static int
setup(void **state)
{
    sleeper *self = udpai_alloc(sizeof(*self));
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->cond, NULL);
    assert_ok(udpai_inbox_init(&self->inbox, wake, self));
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    sleeper *self = *state;
    udpai_inbox_done(&self->inbox);
    pthread_cond_destroy(&self->cond);
    pthread_mutex_destroy(&self->mutex);
    udpai_free(self);
    return 0;
}

struct sender {
    pthread_t thread;
    udpai_inbox *inbox;
    unsigned number;
    message messages[MESSAGES];
    unsigned n_taken;
};

static void *
send_all(void *userdata)
{
    struct sender *self = userdata;
    for (unsigned i = 0; i < MESSAGES; i++) {
        self->messages[i].sender = self->number;
        self->messages[i].number = i;
        self->n_taken += udpai_inbox_push(self->inbox, &self->messages[i].node);
    }
    return NULL;
}

static struct sender *
start_senders(udpai_inbox *inbox)
{
    struct sender *senders = udpai_alloc_array(SENDERS, sizeof(*senders));
    for (unsigned i = 0; i < SENDERS; i++) {
        senders[i].inbox = inbox;
        senders[i].number = i;
        assert_int_equal(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
    }
    return senders;
}

static void
join_senders(struct sender *senders)
{
    for (unsigned i = 0; i < SENDERS; i++)
        pthread_join(senders[i].thread, NULL);
}

static void
test_all_arrive_in_order(void **state)
{
    sleeper *self = *state;
    struct sender *senders = start_senders(&self->inbox);
    unsigned next[SENDERS] = {0}, n = 0;
    while (n < SENDERS * MESSAGES) {
        wait_for_wake(self);
        udpai_list list, *at;
        udpai_list_init(&list);
        udpai_inbox_take(&self->inbox, &list);
        assert_false(udpai_list_empty(&list));
        for (; (at = udpai_list_pop(&list)); n++) {
            const message *got = UDPAI_LIST_ENTRY(at, message, node);
            assert_int_equal(got->number, next[got->sender]++);
        }
    }
    join_senders(senders);
    assert_int_equal(self->n_wakes, self->n_wakes_seen);
    for (unsigned i = 0; i < SENDERS; i++)
        assert_int_equal(senders[i].n_taken, MESSAGES);
    udpai_free(senders);
}

static void
test_wakes_only_from_empty(void **state)
{
    sleeper *self = *state;
    message messages[3];
    udpai_list list;
    udpai_list_init(&list);
    assert_true(udpai_inbox_push(&self->inbox, &messages[0].node));
    assert_true(udpai_inbox_push(&self->inbox, &messages[1].node));
    assert_int_equal(self->n_wakes, 1);
    udpai_inbox_take(&self->inbox, &list);
    assert_true(udpai_inbox_push(&self->inbox, &messages[2].node));
    assert_int_equal(self->n_wakes, 2);
    udpai_inbox_take(&self->inbox, &list);
    for (unsigned i = 0; i < 3; i++)
        assert_ptr_equal(udpai_list_pop(&list), &messages[i].node);
    assert_null(udpai_list_pop(&list));
}

static void
test_closed_takes_nothing_and_wakes_nobody(void **state)
{
    sleeper *self = *state;
    message messages[2];
    udpai_list list;
    udpai_list_init(&list);
    assert_true(udpai_inbox_push(&self->inbox, &messages[0].node));
    udpai_inbox_close(&self->inbox, &list);
    assert_ptr_equal(udpai_list_pop(&list), &messages[0].node);
    assert_false(udpai_inbox_push(&self->inbox, &messages[1].node));
    assert_int_equal(self->n_wakes, 1);
    udpai_inbox_take(&self->inbox, &list);
    assert_true(udpai_list_empty(&list));
}

/* However the close falls among the pushes: each message has exactly one owner. */
static void
test_close_races_with_senders(void **state)
{
    sleeper *self = *state;
    struct sender *senders = start_senders(&self->inbox);
    udpai_list list;
    udpai_list_init(&list);
    wait_for_wake(self);
    udpai_inbox_take(&self->inbox, &list);
    udpai_inbox_close(&self->inbox, &list);
    join_senders(senders);
    unsigned n = 0, n_taken = 0;
    while (udpai_list_pop(&list))
        n++;
    for (unsigned i = 0; i < SENDERS; i++)
        n_taken += senders[i].n_taken;
    assert_int_equal(n, n_taken);
    assert_true(n > 0);
    udpai_free(senders);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_arrive_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wakes_only_from_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_closed_takes_nothing_and_wakes_nobody, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_close_races_with_senders, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
