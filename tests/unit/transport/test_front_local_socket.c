/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a unix socket: how it is made, replaced, and removed. */
#include "transport/front/local_socket.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness/test.h"

static char folder[64], path[80];
static udpai_local_file file;
static int listening;

static int
begin(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/udpa-local-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/socket", folder);
    listening = -1;
    return 0;
}

static int
end(void **state)
{
    (void)state;
    if (listening >= 0)
        close(listening);
    (void)unlink(path);
    return rmdir(folder);
}

static void
listen_there(void)
{
    assert_ok(
        udpai_local_socket_listen(path, UDPAI_LOCAL_SOCKET_MODE, 10, &listening, &file, NULL));
}

static void
refused(const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_local_file other = {0};
    int socket = -1;
    assert_int_equal(
        udpai_local_socket_listen(path, UDPAI_LOCAL_SOCKET_MODE, 10, &socket, &other, &error),
        UDPA_ERR_IO);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("%s", udpa_error_message(error));
    assert_non_null(strstr(udpa_error_message(error), path));
    assert_int_equal(socket, -1);
    assert_string_equal(other.path, "");
}

/* 0, or an errno is not of interest. */
static int
connect_there(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int one = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(one >= 0);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int result = connect(one, (const struct sockaddr *)&address, sizeof(address));
    close(one);
    return result;
}

static bool
is_there(void)
{
    struct stat found;
    return lstat(path, &found) == 0;
}

static void
its_user_and_its_group_may_connect(void **state)
{
    (void)state;
    struct stat found;
    mode_t mask = umask(0077);
    listen_there();
    umask(mask);
    assert_ok(lstat(path, &found));
    assert_true(S_ISSOCK(found.st_mode));
    assert_int_equal(found.st_mode & 0777, 0660);
    assert_ok(connect_there());
    assert_true(fcntl(listening, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(listening, F_GETFD) & FD_CLOEXEC);
}

static void
the_file_goes_in_the_end(void **state)
{
    (void)state;
    listen_there();
    udpai_local_file_remove(&file);
    assert_false(is_there());
    udpai_local_file_remove(&file); /* which is nothing more */
}

static void
what_a_process_has_left_is_replaced(void **state)
{
    (void)state;
    listen_there();
    close(listening); /* as when it was killed */
    assert_true(is_there());
    listen_there();
    assert_ok(connect_there());
}

static void
a_socket_that_listens_is_not_replaced(void **state)
{
    (void)state;
    listen_there();
    refused("a process listens there already");
    assert_ok(connect_there());
}

static void
one_with_too_many_connections_listens(void **state)
{
    (void)state;
    int others[20];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    assert_ok(udpai_local_socket_listen(path, UDPAI_LOCAL_SOCKET_MODE, 0, &listening, &file, NULL));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++) {
        others[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(others[i], (const struct sockaddr *)&address, sizeof(address));
    }
    refused("a process listens there already");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++)
        close(others[i]);
}

static void
another_file_is_not_replaced(void **state)
{
    (void)state;
    int other = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(other >= 0);
    close(other);
    refused("there is a file that is no socket");
    assert_true(is_there());
}

static void
the_file_of_another_is_not_removed(void **state)
{
    (void)state;
    udpai_local_file first;
    listen_there();
    first = file;
    close(listening);
    listen_there(); /* a successor */
    first.number++; /* the kernel may have given it the same number again */
    udpai_local_file_remove(&first);
    assert_true(is_there());
}

static void
its_directory_must_be_there(void **state)
{
    (void)state;
    char before[80];
    memcpy(before, path, sizeof(before));
    snprintf(path, sizeof(path), "%s/no/socket", folder);
    refused("No such file or directory; make its directory first");
    memcpy(path, before, sizeof(path));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
        CASE(its_user_and_its_group_may_connect),    CASE(the_file_goes_in_the_end),
        CASE(what_a_process_has_left_is_replaced),   CASE(a_socket_that_listens_is_not_replaced),
        CASE(one_with_too_many_connections_listens), CASE(another_file_is_not_replaced),
        CASE(the_file_of_another_is_not_removed),    CASE(its_directory_must_be_there),
#undef CASE
    };
    return cmocka_run_group_tests_name("front_local_socket", tests, NULL, NULL);
}
