/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that other threads bring to the stream thread: bed.h says what its protocol does. */
#include <time.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "bed.h"

typedef struct visit {
    udpai_bridged_stream base; /* first */
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool is_over; /* under the mutex */
} visit;

static atomic_int n_alive;

static void
on_over(udpai_bridged_stream *base)
{
    visit *self = (visit *)base;
    pthread_mutex_lock(&self->mutex);
    self->is_over = true;
    pthread_cond_signal(&self->cond);
    pthread_mutex_unlock(&self->mutex);
}

static void
on_free(udpai_bridged_stream *base)
{
    atomic_fetch_sub(&n_alive, 1);
    udpai_free(base);
}

static udpa_bytes *
bytes_of(const char *text)
{
    udpa_bytes *bytes = NULL;
    assert_int_equal(udpa_bytes_new(&bytes, text, strlen(text)), UDPA_OK);
    return bytes;
}

static visit *
make(const char *message)
{
    visit *self = udpai_alloc(sizeof(*self));
    assert_non_null(self);
    atomic_fetch_add(&n_alive, 1);
    udpai_bridged_stream_init(&self->base);
    self->base.method = bed_method;
    self->base.address = bytes_of("127.0.0.1:4242");
    self->base.message = bytes_of(message);
    self->base.over = on_over;
    self->base.free = on_free;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->cond, NULL);
    return self;
}

static visit *
begin(test_bed *bed, const char *message)
{
    visit *self = make(message);
    assert_true(udpai_stream_thread_bridge(bed->thread, &self->base));
    return self;
}

static void
wait_over(visit *self)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += BED_PATIENCE_S;
    pthread_mutex_lock(&self->mutex);
    while (!self->is_over)
        assert_int_equal(pthread_cond_timedwait(&self->cond, &self->mutex, &until), 0);
    pthread_mutex_unlock(&self->mutex);
}

/* All parts as one text, which the next call overwrites. */
static udpai_str
answer(const visit *self)
{
    static char room[1 << 16];
    size_t len = 0;
    for (size_t i = 0; i < self->base.parts.n; i++) {
        udpai_str part = udpai_bytes_view(self->base.parts.items[i]);
        assert_true(len + part.len <= sizeof(room));
        if (part.len)
            memcpy(room + len, part.data, part.len);
        len += part.len;
    }
    return (udpai_str){room, len};
}

static void
an_answer_is_its_parts_and_tail(void **state)
{
    (void)state;
    static char expected[1 << 16];
    test_bed bed;
    bed_start(&bed, NULL);
    visit *self = begin(&bed, "parts, then bye");
    wait_over(self);
    size_t len = bed_parts_text(expected, sizeof(expected));
    assert_true(udpai_str_eq(answer(self), (udpai_str){expected, len}));
    assert_null(self->base.bridge.error);
    udpai_bridged_stream_unref(&self->base);
    bed_stop(&bed);
    assert_int_equal(atomic_load(&n_alive), 0);
}

static void
a_session_ends_with_a_reason_or_in_peace(void **state)
{
    (void)state;
    test_bed bed;
    bed_start(&bed, NULL);
    visit *denied = begin(&bed, "finish"), *bye = begin(&bed, "bye");
    wait_over(denied);
    assert_int_equal(udpa_error_code(denied->base.bridge.error), UDPA_ERR_DENIED);
    assert_non_null(strstr(udpa_error_message(denied->base.bridge.error), "as you wish"));
    wait_over(bye);
    assert_null(bye->base.bridge.error);
    assert_int_equal(bye->base.parts.n, 0);
    udpai_bridged_stream_unref(&denied->base);
    udpai_bridged_stream_unref(&bye->base);
    bed_stop(&bed);
    assert_int_equal(atomic_load(&n_alive), 0);
}

static void
who_asks_for_what_is_not_served_is_told_why(void **state)
{
    (void)state;
    static char why[] = "built without it";
    test_bed bed;
    bed_start(&bed, NULL);
    visit *self = make("bye");
    self->base.method = (udpai_grpc_method){"/a.B/C", NULL, why, false};
    assert_true(udpai_stream_thread_bridge(bed.thread, &self->base));
    wait_over(self);
    assert_int_equal(udpa_error_code(self->base.bridge.error), UDPA_ERR_UNIMPLEMENTED);
    assert_string_equal(udpa_error_message(self->base.bridge.error), why);
    udpai_bridged_stream_unref(&self->base);
    bed_stop(&bed);
}

static void
who_is_visited_is_told_who_comes(void **state)
{
    (void)state;
    static const udpai_str names[] = {{"frontend", 8}};
    const udpai_identity_parts parts = {.dns_names = names, .n_dns_names = 1};
    test_bed bed;
    bed_start(&bed, NULL);
    visit *self = make("bye");
    assert_int_equal(udpai_identity_new(&self->base.identity, &parts), UDPA_OK);
    assert_true(udpai_stream_thread_bridge(bed.thread, &self->base));
    udpai_report *report = bed_report(&bed, UDPAI_REPORT_ALIVE);
    assert_true(udpai_str_eq(udpai_identity_name(report->identity), UDPAI_STR("frontend")));
    assert_true(udpai_str_eq(udpai_bytes_view(report->address), UDPAI_STR("127.0.0.1:4242")));
    udpai_report_free(report);
    wait_over(self);
    udpai_bridged_stream_unref(&self->base);
    bed_stop(&bed);
}

static void
limits_count_visits_and_forget_them(void **state)
{
    (void)state;
    const udpai_stream_thread_options options = {.limits.max_streams_per_identity = 1};
    test_bed bed;
    bed_start(&bed, &options);
    visit *first = begin(&bed, "hold"), *second = begin(&bed, "bye");
    wait_over(second);
    assert_int_equal(udpa_error_code(second->base.bridge.error), UDPA_ERR_LIMIT);
    udpai_bridged_stream_cancel(&first->base);
    wait_over(first);
    assert_int_equal(udpa_error_code(first->base.bridge.error), UDPA_ERR_CANCELLED);
    visit *third = begin(&bed, "bye");
    wait_over(third);
    assert_null(third->base.bridge.error);
    udpai_bridged_stream_unref(&first->base);
    udpai_bridged_stream_unref(&second->base);
    udpai_bridged_stream_unref(&third->base);
    bed_stop(&bed);
    assert_int_equal(atomic_load(&n_alive), 0);
}

static void
a_stop_ends_them_and_later_ones_do_not_begin(void **state)
{
    (void)state;
    test_bed bed;
    bed_start(&bed, NULL);
    visit *held = begin(&bed, "hold"), *late = make("bye");
    udpai_report_free(bed_report(&bed, UDPAI_REPORT_ALIVE));
    udpai_stream_thread_stop(bed.thread, "enough");
    wait_over(held);
    assert_int_equal(udpa_error_code(held->base.bridge.error), UDPA_ERR_UNAVAILABLE);
    assert_non_null(strstr(udpa_error_message(held->base.bridge.error), "enough"));
    if (udpai_stream_thread_bridge(bed.thread, &late->base)) { /* on its way out */
        wait_over(late);
        assert_int_equal(udpa_error_code(late->base.bridge.error), UDPA_ERR_UNAVAILABLE);
    }
    udpai_bridged_stream_cancel(&held->base);
    udpai_bridged_stream_unref(&held->base);
    udpai_bridged_stream_unref(&late->base);
    bed_stop(&bed);
    assert_int_equal(atomic_load(&n_alive), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_its_parts_and_tail),
        cmocka_unit_test(a_session_ends_with_a_reason_or_in_peace),
        cmocka_unit_test(who_asks_for_what_is_not_served_is_told_why),
        cmocka_unit_test(who_is_visited_is_told_who_comes),
        cmocka_unit_test(limits_count_visits_and_forget_them),
        cmocka_unit_test(a_stop_ends_them_and_later_ones_do_not_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
