/* SPDX-License-Identifier: Apache-2.0 */
/* A node that is busy is no dead one: not to peers that try it, nor are they to it. */
#include "bed.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <udpa/log.h>
#include <unistd.h>

#include "base/alloc.h"

/* Much sooner lost than a turn of BED_BLOCK_S lasts. */
#define KEEPALIVE                                                                                  \
    (udpai_keepalive)                                                                              \
    {                                                                                              \
        1000, 1500                                                                                 \
    }

/* gRPC reads the sockets of a whole process on whatever thread waits; so the other side is a
 * process of its own: this program again, which is told by its standard input. */
struct far {
    FILE *to, *from;
    pid_t process;
    char address[64];
};

static int
be_far(const char *stuck_ms)
{
    const udpai_stream_thread_options options = {
        .timing = {.min_ping_interval_ms = 500, .stuck_ms = strtoul(stuck_ms, NULL, 10)}};
    test_bed bed;
    char line[16];
    bed_start(&bed, &options);
    bed_listen(&bed, NULL);
    printf("%d\n", bed.port);
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin))
        udpai_stream_thread_order(bed.thread, udpai_order_new(UDPAI_ORDER_FORGET));
    bed_stop(&bed);
    return 0;
}

static void
start_far(struct far *far, const char *stuck_ms)
{
    int in[2], out[2], port = 0;
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    char program[] = "/proc/self/exe", stuck[24];
    snprintf(stuck, sizeof(stuck), "%s", stuck_ms);
    char *const arguments[] = {program, stuck, NULL};
    assert_int_equal(posix_spawn(&far->process, program, &actions, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    far->to = fdopen(in[1], "w");
    far->from = fdopen(out[0], "r");
    assert_int_equal(fscanf(far->from, "%d", &port), 1);
    snprintf(far->address, sizeof(far->address), "127.0.0.1:%d", port);
}

static void
stop_far(struct far *far)
{
    int status = -1;
    fclose(far->to);
    fclose(far->from);
    assert_int_equal(waitpid(far->process, &status, 0), far->process);
    assert_int_equal(status, 0);
}

static void
dial(test_bed *near, const char *address)
{
    const udpai_grpc_target_options options = {.address = address, .keepalive = KEEPALIVE};
    bed_start(near, NULL);
    bed_dial(near, 1, &options);
    udpai_report_free(bed_report(near, UDPAI_REPORT_OPENED));
    udpai_report_free(bed_report(near, UDPAI_REPORT_ALIVE)); /* "echo hello" has come back */
}

/* Nothing has ended when all that was to happen has happened. */
static void
expect_alive(test_bed *near)
{
    struct timespec all_over = {.tv_sec = BED_BLOCK_S + 1};
    udpai_stream_thread_stats stats;
    nanosleep(&all_over, NULL);
    bed_wait_streams(near, 1, SIZE_MAX);
    udpai_stream_thread_stats_get(near->thread, &stats);
    assert_int_equal(stats.n_streams, 1);
}

static void
who_is_busy_is_not_lost(void **state)
{
    (void)state;
    test_bed near;
    struct far far;
    start_far(&far, "1000");
    dial(&near, far.address);
    fputs("block\n", far.to);
    fflush(far.to);
    expect_alive(&near);
    bed_stop(&near);
    stop_far(&far);
}

static void
who_is_busy_loses_nobody(void **state)
{
    (void)state;
    test_bed near;
    struct far far;
    start_far(&far, "1000");
    dial(&near, far.address);
    udpai_stream_thread_order(near.thread, udpai_order_new(UDPAI_ORDER_FORGET));
    expect_alive(&near);
    bed_stop(&near);
    stop_far(&far);
}

/* Where nobody stands in. */
static void
one_that_hangs_is_lost(void **state)
{
    (void)state;
    test_bed near;
    struct far far;
    start_far(&far, "3600000");
    dial(&near, far.address);
    fputs("block\n", far.to);
    fflush(far.to);
    udpai_report *closed = bed_report(&near, UDPAI_REPORT_CLOSED);
    assert_non_null(closed->error);
    udpai_report_free(closed);
    bed_stop(&near);
    stop_far(&far);
}

/* ---- servers that do not like to be tried ---- */

static atomic_uint n_warnings;

static void
count_warning(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    (void)level, (void)component, (void)userdata;
    if (strstr(message, "ends connections that are tried (keepalive) every 1 s: from now on every "
                        "2 s"))
        atomic_fetch_add(&n_warnings, 1);
}

static void
who_tries_too_often_tries_half_as_often(void **state)
{
    (void)state;
    test_bed near, far;
    const udpai_stream_thread_options strict = {.timing = {.min_ping_interval_ms = 3600000}};
    atomic_store(&n_warnings, 0);
    udpa_log_set_sink(UDPA_LOG_WARNING, count_warning, NULL);
    bed_start(&far, &strict);
    bed_listen(&far, NULL);
    dial(&near, bed_address(&far));
    udpai_report *closed = bed_report(&near, UDPAI_REPORT_CLOSED);
    assert_non_null(strstr(udpa_error_message(closed->error), "Too many pings"));
    udpai_report_free(closed);
    assert_int_equal(atomic_load(&n_warnings), 1);
    bed_stop(&near);
    bed_stop(&far);
    udpa_log_set_sink(UDPA_LOG_SILENT, NULL, NULL);
}

int
main(int argc, char **argv)
{
    udpai_grpc_redirect_log();
    if (argc == 2 && argv[1][0] != '/') /* else it is where certificates are made */
        return be_far(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_busy_is_not_lost),
        cmocka_unit_test(who_is_busy_loses_nobody),
        cmocka_unit_test(one_that_hangs_is_lost),
        cmocka_unit_test(who_tries_too_often_tries_half_as_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
