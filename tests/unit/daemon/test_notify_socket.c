/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of NOTIFY_SOCKET, and that a manager which does not read holds up nothing. */
#include "daemon/notify_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/harness/test.h"

static char directory[64];

static int
begin(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/udpa-notify-XXXXXX");
    assert_non_null(mkdtemp(directory));
    return 0;
}

static int
end(void **state)
{
    (void)state;
    assert_int_equal(rmdir(directory), 0);
    return 0;
}

/* A manager at this address of the socket's own. */
static int
be_manager(const struct sockaddr_un *address, socklen_t size)
{
    int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(manager >= 0);
    assert_int_equal(bind(manager, (const struct sockaddr *)address, size), 0);
    return manager;
}

static void
expect(int manager, const char *text)
{
    char room[64];
    ssize_t n = recv(manager, room, sizeof(room), 0);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(room, text, strlen(text));
}

static void
a_path_receives_a_datagram(void **state)
{
    char path[100];
    udpai_notify_socket socket;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)state;
    snprintf(path, sizeof(path), "%s/notify", directory);
    assert_ok(udpai_notify_socket_open(&socket, path, NULL));
    assert_int_equal(udpai_notify_socket_send(&socket, "READY=1", 7), ENOENT);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int manager = be_manager(&address, sizeof(address));
    assert_int_equal(udpai_notify_socket_send(&socket, "READY=1", 7), 0);
    expect(manager, "READY=1");
    udpai_notify_socket_close(&socket);
    udpai_notify_socket_close(&socket); /* once is enough */
    close(manager);
    unlink(path);
}

static void
an_abstract_socket_has_no_file(void **state)
{
    char name[60];
    udpai_notify_socket socket;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)state;
    int len = snprintf(name, sizeof(name), "@udpa-notify-%ld", (long)getpid());
    memcpy(address.sun_path + 1, name + 1, (size_t)len - 1);
    int manager =
        be_manager(&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)len));
    assert_ok(udpai_notify_socket_open(&socket, name, NULL));
    assert_int_equal(udpai_notify_socket_send(&socket, "READY=1", 7), 0);
    expect(manager, "READY=1");
    udpai_notify_socket_close(&socket);
    close(manager);
}

static void
a_manager_that_does_not_read_holds_up_nothing(void **state)
{
    char path[100];
    udpai_notify_socket socket;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int number = 0, n = 0;
    (void)state;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", directory);
    snprintf(path, sizeof(path), "%s", address.sun_path);
    int manager = be_manager(&address, sizeof(address));
    assert_ok(udpai_notify_socket_open(&socket, path, NULL));
    for (; number == 0 && n < 100000; n++)
        number = udpai_notify_socket_send(&socket, "WATCHDOG=1", 10);
    assert_int_equal(number, EAGAIN);
    expect(manager, "WATCHDOG=1");
    assert_int_equal(udpai_notify_socket_send(&socket, "READY=1", 7), 0);
    udpai_notify_socket_close(&socket);
    close(manager);
    unlink(path);
}

static void
other_addresses_are_errors(void **state)
{
    char path[200];
    static const char *const bad[] = {"", "/", "@", "notify", "vsock:2:1234", "./notify"};
    udpai_notify_socket socket;
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++)
        assert_int_equal(udpai_notify_socket_open(&socket, bad[i], NULL), UDPA_ERR_INVAL);
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[108] = '\0';
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_notify_socket_open(&socket, path, &error), UDPA_ERR_INVAL);
    assert_string_equal(udpa_error_message(error),
                        "NOTIFY_SOCKET has 108 bytes, and the address of a socket has at most 107");
    path[107] = '\0';
    assert_ok(udpai_notify_socket_open(&socket, path, NULL));
    udpai_notify_socket_close(&socket);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_path_receives_a_datagram, begin, end),
        cmocka_unit_test(an_abstract_socket_has_no_file),
        cmocka_unit_test_setup_teardown(a_manager_that_does_not_read_holds_up_nothing, begin, end),
        cmocka_unit_test(other_addresses_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
