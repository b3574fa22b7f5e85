/* SPDX-License-Identifier: Apache-2.0 */
/* The thread as a whole: its orders, its end in every state that it may be in, its memory. */
#include "bed.h"
#include "raw.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"

static void
test_starts_and_stops(void **state)
{
    (void)state;
    unsigned long before = udpai_alloc_live();
    for (int i = 0; i < 5; i++) {
        test_bed bed;
        bed_start(&bed, NULL);
        assert_true(udpai_alloc_live() > before);
        bed_stop(&bed);
        assert_int_equal(udpai_alloc_live(), before);
    }
}

static void
test_stop_is_told(void **state)
{
    (void)state;
    test_bed bed;
    bed_start(&bed, NULL);
    bed_listen(&bed, NULL);
    udpai_stream_thread_stop(bed.thread, "enough");
    bed_wait_count(&bed, &bed.n_stopped, 1);
    udpai_listener *listener = NULL;
    udpa_error *error = NULL;
    assert_int_equal(udpai_stream_thread_listen(bed.thread,
                                                &(udpai_listen_options){.address = "127.0.0.1:0"},
                                                &listener, &error),
                     UDPA_ERR_PRECONDITION);
    assert_string_equal(udpa_error_message(error),
                        "cannot listen on 127.0.0.1:0: this node is stopping");
    udpa_error_unref(error);
    /* Orders and the like that come too late do no harm. */
    udpai_stream_thread_order(bed.thread, udpai_order_new(UDPAI_ORDER_STATUS));
    assert_ok(udpai_stream_thread_set_serving(bed.thread, false));
    udpai_stream_thread_close_listener(bed.thread, bed.listener, NULL, NULL);
    udpai_stream_thread_stop(bed.thread, "again");
    bed_stop(&bed);
}

#define STREAMS 200

static void
test_stop_with_many_streams(void **state)
{
    (void)state;
    test_bed bed;
    raw_client clients[10];
    raw_call *calls = udpai_alloc_array(STREAMS, sizeof(*calls));
    bed_start(&bed, NULL);
    bed_listen(&bed, NULL);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(clients); i++)
        raw_connect(&clients[i], bed.port, NULL, NULL);
    for (size_t i = 0; i < STREAMS; i++) {
        raw_begin(&clients[i % UDPAI_ARRAY_LEN(clients)], &calls[i], BED_PATH);
        assert_true(raw_say(&calls[i], i % 3 ? "echo" : "pause"));
        if (i % 3)
            raw_expect(&calls[i], "echo");
    }
    bed_wait_streams(&bed, STREAMS, 32 + STREAMS);
    udpai_stream_thread_stop(bed.thread, "good night");
    for (size_t i = 0; i < STREAMS; i++) {
        assert_int_equal(raw_status(&calls[i]), GRPC_STATUS_UNAVAILABLE);
        assert_string_equal(calls[i].text, "good night");
    }
    bed_wait_count(&bed, &bed.n_stopped, 1);
    for (size_t i = 0; i < STREAMS; i++)
        raw_end(&calls[i]);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(clients); i++)
        raw_disconnect(&clients[i]);
    bed_stop(&bed);
    udpai_free(calls);
}

/* Of what it is sent a reader that does not read costs one message, and it is cut at the end. */
static void
test_slow_reader(void **state)
{
    (void)state;
    const udpai_stream_thread_options options = {.timing = {.finish_timeout_ms = 3600000}};
    const udpai_stream_switches sooner = {.finish_timeout_ms = 100};
    test_bed bed;
    raw_client slow, quick;
    raw_call stuck, lively;
    bed_start(&bed, &options);
    bed_listen(&bed, NULL);
    raw_connect(&slow, bed.port, NULL, NULL);
    raw_connect(&quick, bed.port, NULL, NULL);
    raw_begin(&slow, &stuck, BED_PATH);
    assert_true(raw_say(&stuck, "flood"));
    raw_begin(&quick, &lively, BED_PATH);
    /* The other stream lives on; in its 1000 turns the first one has long come to a stand. */
    for (int i = 0; i < 1000; i++) {
        assert_true(raw_say(&lively, "echo"));
        raw_expect(&lively, "echo");
    }
    unsigned n = atomic_load(&bed_n_written);
    for (int i = 0; i < 1000; i++) {
        assert_true(raw_say(&lively, "echo"));
        raw_expect(&lively, "echo");
    }
    assert_int_equal(atomic_load(&bed_n_written), n + 1000);
    bed_wait_streams(&bed, 2, 32 + 2 + 1);
    assert_ok(udpai_stream_thread_switch(bed.thread, &sooner));
    udpai_stream_thread_stop(bed.thread, "good night");
    bed_wait_count(&bed, &bed.n_stopped, 1);
    raw_end(&stuck);
    raw_end(&lively);
    raw_disconnect(&slow);
    raw_disconnect(&quick);
    bed_stop(&bed);
}

static atomic_uint n_signals;

static void
on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&n_signals, 1);
}

/* The only thread that takes signals is the one that made the stream thread. */
static void
test_signals_are_for_others(void **state)
{
    (void)state;
    test_bed bed;
    struct sigaction before, action = {.sa_handler = on_signal};
    sigset_t user, old, pending;
    bed_start(&bed, NULL);
    bed_listen(&bed, NULL);
    sigaction(SIGUSR1, &action, &before);
    sigemptyset(&user);
    sigaddset(&user, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &user, &old);
    kill(getpid(), SIGUSR1);
    udpai_stream_thread_order(bed.thread, udpai_order_new(UDPAI_ORDER_STATUS));
    udpai_report_free(bed_report(&bed, UDPAI_REPORT_STATUS));
    sigpending(&pending);
    assert_true(sigismember(&pending, SIGUSR1));
    assert_int_equal(atomic_load(&n_signals), 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    assert_int_equal(atomic_load(&n_signals), 1);
    sigaction(SIGUSR1, &before, NULL);
    bed_stop(&bed);
}

static udpa_err
make_thread(void *context)
{
    udpai_stream_thread_options options = *(udpai_stream_thread_options *)context;
    udpai_stream_thread *thread = NULL;
    udpa_err err = udpai_stream_thread_new(&thread, &options, NULL);
    if (err == UDPA_OK)
        udpai_stream_thread_free(thread);
    return err;
}

static void
drop_report(void *userdata, udpai_report *report)
{
    (void)userdata;
    udpai_report_free(report);
}

/* As the torture does, but not to its end: the stop needs memory for its words, and cannot fail. */
static void
test_without_memory(void **state)
{
    (void)state;
    udpai_node_info *info;
    const udpai_node_parts parts = {.id = UDPAI_STR("x")};
    assert_ok(udpai_node_info_new(&info, &parts));
    udpai_stream_thread_options options = {
        .hub = {.info = info, .fanout = {.body_cache_bytes = 1, .max_views = 1}},
        .methods = &bed_method,
        .n_methods = 1,
        .report = drop_report,
    };
    long n = 0;
    for (udpa_err err = UDPA_ERR_NOMEM; err != UDPA_OK; n++) {
        udpai_alloc_fail_after(n);
        err = make_thread(&options);
        udpai_alloc_fail_after(-1);
        assert_true(err == UDPA_OK || err == UDPA_ERR_NOMEM);
    }
    assert_true(n > 2);
    udpai_node_info_unref(info);
}

static atomic_uint n_lines;

static void
count_line(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    (void)level;
    (void)userdata;
    if (strcmp(component, "grpc") == 0 && strstr(message, "gzip"))
        atomic_fetch_add(&n_lines, 1);
}

/* gRPC has something to say about this message; a peer must not be able to make it say it for ever.
 */
static void
test_log_of_grpc(void **state)
{
    if (bed_is_own())
        return; /* gRPC has nothing to report there */
    (void)state;
    grpc_arg gzip = {.type = GRPC_ARG_INTEGER,
                     .key = (char *)(uintptr_t)GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM,
                     .value.integer = GRPC_COMPRESS_GZIP};
    const grpc_channel_args args = {1, &gzip};
    test_bed bed;
    raw_client client;
    char *zeros = calloc(1, 10000);
    udpa_log_set_sink(UDPA_LOG_WARNING, count_line, NULL);
    bed_start(&bed, NULL);
    bed_listen(&bed, NULL);
    raw_connect(&client, bed.port, NULL, &args);
    for (int i = 0; i < 50; i++) {
        raw_call call;
        raw_begin(&client, &call, BED_PATH);
        raw_send(&call, zeros, 10000);
        assert_int_equal(raw_status(&call), GRPC_STATUS_UNIMPLEMENTED);
        raw_end(&call);
    }
    raw_disconnect(&client);
    bed_stop(&bed);
    assert_true(atomic_load(&n_lines) > 0);
    assert_true(atomic_load(&n_lines) <= 20);
    udpa_log_set_sink(UDPA_LOG_SILENT, NULL, NULL);
    free(zeros);
}

int
main(void)
{
    udpai_grpc_redirect_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts_and_stops),
        cmocka_unit_test(test_stop_is_told),
        cmocka_unit_test(test_stop_with_many_streams),
        cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_signals_are_for_others),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_log_of_grpc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
