/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that a process is started with: which is which, and what is wrong. */
#include "transport/front/passed_socket.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness/test.h"

#define ME 4242

static void
found(const udpai_passed *passed, const char *name, int expected)
{
    int file = -1;
    assert_ok(udpai_passed_find(passed, ME, name, &file, NULL));
    assert_int_equal(file, expected);
}

static void
refused(const udpai_passed *passed, const char *name, udpa_err code, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    int file = -1;
    assert_int_equal(udpai_passed_find(passed, ME, name, &file, &error), code);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("%s", udpa_error_message(error));
    assert_int_equal(file, -1);
}

static void
each_has_its_name(void **state)
{
    (void)state;
    const udpai_passed passed = {"4242", "3", "grpc:admin:x"};
    found(&passed, "grpc", 3);
    found(&passed, "admin", 4);
    found(&passed, "x", 5);
}

static void
names_beyond_the_count_are_none(void **state)
{
    (void)state;
    const udpai_passed passed = {"4242", "1", "grpc:admin"};
    found(&passed, "grpc", 3);
    refused(&passed, "admin", UDPA_ERR_INVAL, "is called 'admin': they are called 'grpc:admin'");
}

static void
a_name_is_one_socket(void **state)
{
    (void)state;
    refused(&(udpai_passed){"4242", "2", "grpc:grpc"}, "grpc", UDPA_ERR_INVAL, "more than one");
    refused(&(udpai_passed){"4242", "2", NULL}, "grpc", UDPA_ERR_INVAL, "they are called ''");
    refused(&(udpai_passed){"4242", "2", "grpc1:xgrpc"}, "grpc", UDPA_ERR_INVAL, "FileDescriptor");
}

/* A child has the variables of its parent, and not the sockets. */
static void
those_of_another_process_are_not_for_us(void **state)
{
    (void)state;
    static const udpai_passed others[] = {
        {NULL, NULL, NULL},
        {"4242", NULL, "grpc"},
        {NULL, "1", "grpc"},
        {"4241", "1", "grpc"},
        {"4242", "0", "grpc"},
        {"4242", "65", "grpc"},
        {"4242", "-1", "grpc"},
        {"4242", "1x", "grpc"},
        {"4242", "", "grpc"},
        {"4242x", "1", "grpc"},
        {"99999999999999999999", "1", "grpc"},
        {"4242", "99999999999999999999", "grpc"},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++)
        refused(&others[i], "grpc", UDPA_ERR_PRECONDITION,
                "no socket was passed to this process (LISTEN_FDS): 'fd:grpc' takes a socket unit");
}

/* ---- sockets ---- */

/* The descriptors below are taken: it is the one behind them. */
static void
pass(int file)
{
    char count[16], pid[32], names[UDPAI_PASSED_MAX * 2 + 8] = "";
    assert_true(file >= UDPAI_PASSED_FIRST && file < UDPAI_PASSED_FIRST + UDPAI_PASSED_MAX);
    size_t len = 0;
    for (int i = UDPAI_PASSED_FIRST; i < file; i++)
        len += (size_t)snprintf(names + len, sizeof(names) - len, "x:");
    snprintf(names + len, sizeof(names) - len, "grpc");
    snprintf(count, sizeof(count), "%d", file - UDPAI_PASSED_FIRST + 1);
    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    assert_ok(setenv("LISTEN_PID", pid, 1));
    assert_ok(setenv("LISTEN_FDS", count, 1));
    assert_ok(setenv("LISTEN_FDNAMES", names, 1));
}

static int
end(void **state)
{
    (void)state;
    return unsetenv("LISTEN_PID") || unsetenv("LISTEN_FDS") || unsetenv("LISTEN_FDNAMES");
}

static int
bound_socket(void)
{
    const struct sockaddr_in own = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(file >= 0);
    assert_ok(bind(file, (const struct sockaddr *)&own, sizeof(own)));
    return file;
}

static void
a_socket_of_tcp_has_its_address(void **state)
{
    (void)state;
    udpai_passed_socket passed;
    int file = bound_socket();
    assert_ok(listen(file, 10));
    pass(file);
    assert_ok(udpai_passed_look("grpc", &passed, NULL));
    assert_int_equal(passed.file, file);
    assert_false(passed.is_local);
    assert_ptr_equal(strstr(passed.address, "127.0.0.1:"), passed.address);
    close(file);
}

static void
a_unix_socket_has_its_path(void **state)
{
    (void)state;
    udpai_passed_socket passed;
    struct sockaddr_un own = {.sun_family = AF_UNIX};
    snprintf(own.sun_path, sizeof(own.sun_path), "/tmp/udpa-passed-%ld", (long)getpid());
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_ok(bind(file, (const struct sockaddr *)&own, sizeof(own)));
    assert_ok(listen(file, 10));
    pass(file);
    assert_ok(udpai_passed_look("grpc", &passed, NULL));
    assert_true(passed.is_local);
    assert_ptr_equal(strstr(passed.address, "unix:/tmp/udpa-passed-"), passed.address);
    close(file);
    (void)unlink(own.sun_path);
}

static void
expect_no_listener(int file)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_passed_socket passed;
    pass(file);
    assert_int_equal(udpai_passed_look("grpc", &passed, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "is no socket that listens"));
    close(file);
}

static void
what_does_not_listen_is_refused(void **state)
{
    (void)state;
    int pipes[2];
    expect_no_listener(bound_socket());
    expect_no_listener(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    assert_ok(pipe(pipes));
    close(pipes[1]);
    expect_no_listener(pipes[0]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_name),
        cmocka_unit_test(names_beyond_the_count_are_none),
        cmocka_unit_test(a_name_is_one_socket),
        cmocka_unit_test(those_of_another_process_are_not_for_us),
        cmocka_unit_test_teardown(a_socket_of_tcp_has_its_address, end),
        cmocka_unit_test_teardown(a_unix_socket_has_its_path, end),
        cmocka_unit_test_teardown(what_does_not_listen_is_refused, end),
    };
    return cmocka_run_group_tests_name("front_passed_socket", tests, NULL, NULL);
}
