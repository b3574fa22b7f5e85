/* SPDX-License-Identifier: Apache-2.0 */
/* What a service manager receives of a node that starts, serves, reloads, hangs and stops. */
#include "daemon/service_manager.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "loop/clock.h"
#include "tests/harness/test.h"

#define PATIENCE_MS 20000

typedef struct fixture {
    char directory[64], path[100], process[24];
    int socket; /* the manager's */
    uv_loop_t loop;
    udpai_liveness *liveness;
    udpai_service_manager *manager;
    udpai_service_variables variables;
    const char *status; /* of the node */
    bool is_ready, is_successor;
    char received[2000]; /* one datagram */
} fixture;

static fixture self;

static int
begin(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)state;
    self = (fixture){.status = "not ready: sources"};
    snprintf(self.directory, sizeof(self.directory), "/tmp/udpa-manager-XXXXXX");
    assert_non_null(mkdtemp(self.directory));
    snprintf(self.path, sizeof(self.path), "%s/notify", self.directory);
    snprintf(self.process, sizeof(self.process), "%ld", (long)getpid());
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", self.path);
    self.socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(self.socket, (struct sockaddr *)&address, sizeof(address)), 0);
    self.variables = (udpai_service_variables){self.path, "30000000", self.process};
    assert_int_equal(uv_loop_init(&self.loop), 0);
    assert_ok(udpai_liveness_new(&self.liveness, 1));
    udpai_liveness_begin(self.liveness, &self.loop, NULL);
    return 0;
}

static int
end(void **state)
{
    (void)state;
    udpai_service_manager_close(self.manager, 0);
    udpai_liveness_end(self.liveness);
    uv_run(&self.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&self.loop), 0);
    udpai_liveness_free(self.liveness);
    close(self.socket);
    unlink(self.path);
    assert_int_equal(rmdir(self.directory), 0);
    return 0;
}

static bool
look(void *userdata, udpai_strbuf *text)
{
    (void)userdata;
    udpai_strbuf_puts(text, self.status);
    return self.is_ready;
}

static udpa_err
open_manager(void)
{
    const udpai_service_manager_env env = {&self.loop, self.liveness, look, NULL,
                                           self.is_successor};
    return udpai_service_manager_open(&self.manager, &env, &self.variables);
}

/* Of a datagram that has come already. */
static bool
receive(void)
{
    ssize_t n = recv(self.socket, self.received, sizeof(self.received) - 1, 0);
    self.received[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The next one; the loop turns until it is there. */
static void
expect(const char *expected)
{
    uint64_t end_ms = udpai_monotonic_ms() + PATIENCE_MS;
    while (!receive() && udpai_monotonic_ms() < end_ms)
        uv_run(&self.loop, UV_RUN_ONCE);
    assert_string_equal(self.received, expected);
}

/* The loop turns so often that each timer has been called. */
static void
expect_nothing(void)
{
    uint64_t end_ms = udpai_monotonic_ms() + 250; /* two looks; beats are seconds apart */
    while (udpai_monotonic_ms() < end_ms)
        uv_run(&self.loop, UV_RUN_ONCE);
    assert_false(receive());
}

static void
begin_ready(void)
{
    self.is_ready = true;
    self.status = "ready";
    assert_ok(open_manager());
    expect("READY=1\nWATCHDOG=1\nSTATUS=ready\n");
}

static void
a_start_takes_its_time(void **state)
{
    (void)state;
    assert_ok(open_manager());
    expect("WATCHDOG=1\nEXTEND_TIMEOUT_USEC=30000000\nSTATUS=not ready: sources\n");
    expect_nothing();
    self.status = "not ready: sockets";
    expect("STATUS=not ready: sockets\n");
    self.is_ready = true;
    self.status = "ready";
    expect("READY=1\nSTATUS=ready\n");
}

static void
a_reload_has_its_time(void **state)
{
    (void)state;
    uint64_t before_us = udpai_monotonic_ns() / 1000, us;
    begin_ready();
    udpai_service_manager_reloading(self.manager);
    assert_true(receive());
    assert_int_equal(sscanf(self.received, "RELOADING=1\nMONOTONIC_USEC=%" SCNu64 "\n", &us), 1);
    assert_in_range(us, before_us, udpai_monotonic_ns() / 1000);
    udpai_service_manager_reloaded(self.manager);
    expect("READY=1\n");
}

/* READY=1 would be a lie. */
static void
only_a_node_that_serves_reloads(void **state)
{
    (void)state;
    assert_ok(open_manager());
    expect("WATCHDOG=1\nEXTEND_TIMEOUT_USEC=30000000\nSTATUS=not ready: sources\n");
    udpai_service_manager_reloading(self.manager);
    udpai_service_manager_reloaded(self.manager);
    expect_nothing();
    udpai_service_manager_stopping(self.manager);
    expect("STOPPING=1\nWATCHDOG=1\nEXTEND_TIMEOUT_USEC=30000000\n");
    udpai_service_manager_reloading(self.manager);
    udpai_service_manager_reloaded(self.manager);
    udpai_service_manager_stopping(self.manager);
    expect_nothing();
}

static void
an_end_without_a_drain_is_one(void **state)
{
    (void)state;
    begin_ready();
    self.status = "shutting down";
    self.is_ready = false;
    udpai_service_manager_close(UDPAI_TAKE(self.manager), 0);
    expect("STOPPING=1\nWATCHDOG=1\nEXTEND_TIMEOUT_USEC=30000000\nSTATUS=shutting down\n");
}

static void
what_hangs_ends_the_beats(void **state)
{
    (void)state;
    self.variables.watchdog_us = "30000"; /* a beat each 10 ms */
    begin_ready();
    expect("WATCHDOG=1\n");
    udpai_liveness_note_worker(self.liveness, 1, false);
    while (receive()) {
    }
    expect("STATUS=the stream thread of worker 1 has not turned for 10 s\n");
    expect_nothing();
    udpai_liveness_note_worker(self.liveness, 1, true);
    expect("WATCHDOG=1\nSTATUS=ready\n");
}

static void
another_process_is_watched(void **state)
{
    (void)state;
    static const char *const bad[] = {NULL, "", "0", "-5", "30s", "99999999999999999999999"};
    self.is_ready = true;
    self.status = "ready";
    self.variables.watchdog_process = "1";
    assert_ok(open_manager());
    expect("READY=1\nSTATUS=ready\n");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        udpai_service_manager_close(UDPAI_TAKE(self.manager), 0);
        uv_run(&self.loop, UV_RUN_NOWAIT);
        while (receive()) {
        }
        self.variables.watchdog_process = NULL;
        self.variables.watchdog_us = bad[i];
        assert_ok(open_manager());
        expect("READY=1\nSTATUS=ready\n");
    }
}

/* Of what a source has written nothing becomes a variable. */
static void
a_status_is_one_line(void **state)
{
    (void)state;
    self.status = "source core: \n\rMAINPID=1\n\xff\xe2\x80\xa8\x1b[2J\x7f caf\xc3\xa9";
    self.variables.watchdog_us = NULL;
    self.is_ready = true;
    assert_ok(open_manager());
    expect("READY=1\nSTATUS=source core: ?\?MAINPID=1?\?\?\?[2J? caf\xc3\xa9\n");
}

/* All that is there fits into a message, and no character is cut in two. */
static void
a_long_status_is_cut(void **state)
{
    (void)state;
    char status[UDPAI_SERVICE_STATUS_MAX + 100], expected[UDPAI_SERVICE_STATUS_MAX + 200];
    memset(status, 'a', sizeof(status));
    memcpy(status + UDPAI_SERVICE_STATUS_MAX - 1, "\xc3\xa9", 3);
    self.status = status;
    assert_ok(open_manager());
    snprintf(expected, sizeof(expected), "WATCHDOG=1\nEXTEND_TIMEOUT_USEC=30000000\nSTATUS=%.*s\n",
             UDPAI_SERVICE_STATUS_MAX - 1, status);
    expect(expected);
}

static void
a_manager_that_does_not_read_is_notified_later(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", self.path);
    while (sendto(other, "x", 1, 0, (struct sockaddr *)&address, sizeof(address)) == 1) {
    }
    close(other);
    self.variables.watchdog_us = "300000";
    self.is_ready = true;
    self.status = "ready";
    assert_ok(open_manager());
    for (int i = 0; i < 3; i++)
        uv_run(&self.loop, UV_RUN_ONCE);
    while (receive() && strcmp(self.received, "x") == 0) {
    }
    expect("READY=1\nWATCHDOG=1\nSTATUS=ready\n");
}

static void
without_a_manager_nothing_happens(void **state)
{
    (void)state;
    static const char *const none[] = {NULL, "", "nonsense"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(none); i++) {
        self.variables.socket = none[i];
        assert_ok(open_manager());
        assert_null(self.manager);
    }
    udpai_service_manager_reloading(NULL);
    udpai_service_manager_reloaded(NULL);
    udpai_service_manager_stopping(NULL);
    udpai_service_manager_close(NULL, 0);
}

/* A watchdog that ends a node for a lack of memory would make it worse. */
static void
without_memory_it_is_alive(void **state)
{
    (void)state;
    udpai_alloc_fail_after(0);
    assert_int_equal(open_manager(), UDPA_ERR_NOMEM);
    udpai_alloc_fail_after(-1);
    assert_null(self.manager);
    begin_ready();
    udpai_alloc_fail_after(0);
    udpai_service_manager_stopping(self.manager);
    udpai_alloc_fail_after(-1);
    expect("STOPPING=1\nWATCHDOG=1\nEXTEND_TIMEOUT_USEC=30000000\n");
}

static void
another_process_is_managed_in_its_place(void **state)
{
    (void)state;
    begin_ready();
    udpai_service_manager_close(UDPAI_TAKE(self.manager), 4712);
    expect("MAINPID=4712\n");
    expect_nothing();
}

/* The manager may not know of it at first. */
static void
a_successor_says_it_twice(void **state)
{
    (void)state;
    self.is_successor = true;
    self.variables.watchdog_us = "300000";  /* a beat each 100 ms */
    self.variables.watchdog_process = NULL; /* it named the process before */
    begin_ready();
    expect("READY=1\nWATCHDOG=1\nSTATUS=ready\n");
    expect("WATCHDOG=1\n");
    expect("WATCHDOG=1\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_start_takes_its_time, begin, end),
        cmocka_unit_test_setup_teardown(a_reload_has_its_time, begin, end),
        cmocka_unit_test_setup_teardown(only_a_node_that_serves_reloads, begin, end),
        cmocka_unit_test_setup_teardown(an_end_without_a_drain_is_one, begin, end),
        cmocka_unit_test_setup_teardown(what_hangs_ends_the_beats, begin, end),
        cmocka_unit_test_setup_teardown(another_process_is_watched, begin, end),
        cmocka_unit_test_setup_teardown(a_status_is_one_line, begin, end),
        cmocka_unit_test_setup_teardown(a_long_status_is_cut, begin, end),
        cmocka_unit_test_setup_teardown(a_manager_that_does_not_read_is_notified_later, begin, end),
        cmocka_unit_test_setup_teardown(without_a_manager_nothing_happens, begin, end),
        cmocka_unit_test_setup_teardown(without_memory_it_is_alive, begin, end),
        cmocka_unit_test_setup_teardown(another_process_is_managed_in_its_place, begin, end),
        cmocka_unit_test_setup_teardown(a_successor_says_it_twice, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
