/* SPDX-License-Identifier: Apache-2.0 */
/* Lines on their way to the thread that writes them: whole, in order, and bounded. */
#include "daemon/log_queue.h"

#include <pthread.h>
#include <stdio.h>

#include "base/alloc.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

static int
begin(void **state)
{
    udpai_log_queue *queue = NULL;
    assert_ok(udpai_log_queue_new(&queue));
    *state = queue;
    return 0;
}

static int
end(void **state)
{
    *state = udpai_log_queue_free(*state);
    return 0;
}

static void
add_number(udpai_log_queue *queue, unsigned number)
{
    char message[32];
    const struct timespec when = {number, 0};
    snprintf(message, sizeof(message), "%u", number);
    const udpai_log_line line = {UDPA_LOG_INFO, "x", message, NULL, 0};
    udpai_log_queue_add(queue, &line, &when);
}

static void
a_line_comes_out_as_it_went_in(void **state)
{
    udpai_log_queue *queue = *state;
    char component[] = "client", message[] = "connected", value[] = "a\0b";
    const udpai_log_field fields[] = {
        {UDPAI_LOG_PEER, {value, 3}},
        {UDPAI_LOG_ADDRESS, {NULL, 0}},
        {UDPAI_LOG_NAME, UDPAI_STR("n")},
    };
    const struct timespec when = {12, 34};
    const udpai_log_line line = {UDPA_LOG_WARNING, component, message, fields, 3};
    udpai_queued_line out;
    uint64_t n_lost;
    udpai_log_queue_add(queue, &line, &when);
    memset(component, '?', 3); /* it was copied */
    memset(message, '?', 3);
    memset(value, '?', 3);
    assert_int_equal(udpai_log_queue_wait(queue, &n_lost), UDPAI_LOG_WOKEN_LINES);
    assert_true(udpai_log_queue_next(queue, &out));
    assert_int_equal(out.line.level, UDPA_LOG_WARNING);
    assert_string_equal(out.line.component, "client");
    assert_string_equal(out.line.message, "connected");
    assert_int_equal(out.when.tv_sec, 12);
    assert_int_equal(out.when.tv_nsec, 34);
    assert_int_equal(out.line.n_fields, 2); /* an empty one is none */
    assert_int_equal(out.line.fields[0].key, UDPAI_LOG_PEER);
    assert_int_equal(out.line.fields[0].value.len, 3);
    assert_memory_equal(out.line.fields[0].value.data, "a\0b", 3);
    assert_int_equal(out.line.fields[1].key, UDPAI_LOG_NAME);
    assert_false(udpai_log_queue_next(queue, &out));
    assert_int_equal(n_lost, 0);
}

static void
lines_beyond_the_room_are_lost_and_counted(void **state)
{
    udpai_log_queue *queue = *state;
    udpai_queued_line out;
    unsigned n_added = 0, n_taken = 0;
    uint64_t n_lost;
    for (; n_added < 10000; n_added++)
        add_number(queue, n_added);
    (void)udpai_log_queue_wait(queue, &n_lost);
    for (; udpai_log_queue_next(queue, &out); n_taken++)
        assert_int_equal(out.when.tv_sec, n_taken); /* the first stay */
    assert_in_range(n_taken, 500, 9000);
    assert_int_equal(n_taken + n_lost, n_added);
    add_number(queue, 7);
    (void)udpai_log_queue_wait(queue, &n_lost);
    assert_int_equal(n_lost, 0);
    assert_true(udpai_log_queue_next(queue, &out));
    assert_string_equal(out.line.message, "7");
}

static void
a_value_takes_no_more_than_is_written_of_it(void **state)
{
    udpai_log_queue *queue = *state;
    static char large[1 << 20];
    memset(large, 'x', sizeof(large));
    const udpai_log_field fields[] = {{UDPAI_LOG_NAME, {large, sizeof(large)}}};
    const udpai_log_line line = {UDPA_LOG_INFO, "x", "y", fields, 1};
    udpai_queued_line out;
    uint64_t n_lost;
    udpai_log_queue_add(queue, &line, &(struct timespec){0});
    (void)udpai_log_queue_wait(queue, &n_lost);
    assert_true(udpai_log_queue_next(queue, &out));
    assert_int_equal(out.line.fields[0].value.len, UDPAI_LOG_VALUE_MAX + 1);
}

static void
what_it_is_woken_for_is_told_apart(void **state)
{
    udpai_log_queue *queue = *state;
    uint64_t n_lost;
    udpai_log_queue_ask_reopen(queue);
    assert_int_equal(udpai_log_queue_wait(queue, &n_lost), UDPAI_LOG_WOKEN_REOPEN);
    add_number(queue, 1);
    udpai_log_queue_end(queue);
    assert_int_equal(udpai_log_queue_wait(queue, &n_lost),
                     UDPAI_LOG_WOKEN_LINES | UDPAI_LOG_WOKEN_END);
}

#define THREADS 4
#define LINES 3000

static void *
add_many(void *userdata)
{
    for (unsigned i = 0; i < LINES; i++)
        add_number(userdata, i);
    return NULL;
}

/* None twice, none in pieces: each was taken, or is counted. */
static void
any_thread_may_add(void **state)
{
    udpai_log_queue *queue = *state;
    pthread_t threads[THREADS];
    udpai_queued_line out;
    uint64_t n_lost, n_in_all = 0;
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, queue), 0);
    while (n_in_all < THREADS * LINES) {
        (void)udpai_log_queue_wait(queue, &n_lost);
        n_in_all += n_lost;
        for (; udpai_log_queue_next(queue, &out); n_in_all++) {
            char expected[32];
            snprintf(expected, sizeof(expected), "%u", (unsigned)out.when.tv_sec);
            assert_string_equal(out.line.message, expected);
        }
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(n_in_all, THREADS * LINES);
}

static void
without_memory_there_is_none(void **state)
{
    (void)state;
    for (int n = 0; n < 3; n++) {
        udpai_log_queue *queue = NULL;
        udpai_alloc_fail_after(n);
        assert_int_equal(udpai_log_queue_new(&queue), UDPA_ERR_NOMEM);
        udpai_alloc_fail_after(-1);
        assert_null(queue);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_comes_out_as_it_went_in, begin, end),
        cmocka_unit_test_setup_teardown(lines_beyond_the_room_are_lost_and_counted, begin, end),
        cmocka_unit_test_setup_teardown(a_value_takes_no_more_than_is_written_of_it, begin, end),
        cmocka_unit_test_setup_teardown(what_it_is_woken_for_is_told_apart, begin, end),
        cmocka_unit_test_setup_teardown(any_thread_may_add, begin, end),
        cmocka_unit_test(without_memory_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
