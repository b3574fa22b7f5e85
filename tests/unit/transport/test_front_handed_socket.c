/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that one process hands to another. */
#include "transport/front/handed_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness/test.h"
#include "transport/front/listening.h"

#define N_WAITING 8

static int ends[2];

static int
set_up(void **state)
{
    (void)state;
    return udpai_handing_pair(ends, NULL) == UDPA_OK ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return 0;
}

static udpa_err
take(udpai_str *ret_label, int *ret_file)
{
    static char room[UDPAI_HANDED_LABEL_MAX];
    return udpai_socket_take_handed(ends[1], room, ret_label, ret_file, NULL);
}

static void
take_fails(udpa_err expected)
{
    udpai_str label;
    int file = -1;
    assert_int_equal(take(&label, &file), expected);
    assert_int_equal(file, -1);
}

static int
connect_to(int listening)
{
    struct sockaddr_in address;
    socklen_t size = sizeof(address);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &size), 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, (const struct sockaddr *)&address, size), 0);
    return client;
}

/* The one that hands it over closes it, and nobody who has connected is lost. */
static void
what_waits_for_a_socket_goes_with_it(void **state)
{
    (void)state;
    udpai_listening first, second;
    int clients[N_WAITING], file = -1;
    udpai_str label;
    assert_ok(udpai_listening_open(&first, "127.0.0.1:0", true, NULL));
    for (int i = 0; i < N_WAITING; i++)
        clients[i] = connect_to(first.socket);
    assert_ok(udpai_socket_hand(ends[0], UDPAI_STR("127.0.0.1:0"), first.socket, NULL));
    udpai_listening_close(&first);
    assert_ok(take(&label, &file));
    assert_str(label, "127.0.0.1:0");
    assert_ok(udpai_listening_take(&second, file, NULL));
    assert_false(second.is_local);
    for (int i = 0; i < N_WAITING; i++) {
        int taken = accept(second.socket, NULL, NULL);
        assert_true(taken >= 0);
        close(taken);
        close(clients[i]);
    }
    int late = connect_to(second.socket);
    close(late);
    udpai_listening_close(&second);
}

static void
each_has_its_label(void **state)
{
    (void)state;
    udpai_str label;
    int file = -1;
    assert_ok(udpai_socket_hand(ends[0], UDPAI_STR("one"), ends[0], NULL));
    assert_ok(udpai_socket_hand(ends[0], UDPAI_STR("two"), ends[1], NULL));
    static const char *const expected[] = {"one", "two"};
    for (int i = 0; i < 2; i++) {
        assert_ok(take(&label, &file));
        assert_str(label, expected[i]);
        assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
        close(file);
    }
    take_fails(UDPA_ERR_UNAVAILABLE);
}

static void
nobody_waits_for_one(void **state)
{
    (void)state;
    take_fails(UDPA_ERR_UNAVAILABLE);
    close(ends[0]);
    ends[0] = -1;
    take_fails(UDPA_ERR_UNAVAILABLE);
}

static void
who_has_gone_is_handed_nothing(void **state)
{
    (void)state;
    close(ends[1]);
    ends[1] = -1;
    assert_int_equal(udpai_socket_hand(ends[0], UDPAI_STR("one"), ends[0], NULL), UDPA_ERR_IO);
}

static void
labels_are_bounded(void **state)
{
    (void)state;
    char text[UDPAI_HANDED_LABEL_MAX + 1];
    udpai_str label;
    int file = -1;
    memset(text, 'x', sizeof(text));
    assert_int_equal(udpai_socket_hand(ends[0], (udpai_str){text, 0}, ends[0], NULL),
                     UDPA_ERR_INVAL);
    assert_int_equal(udpai_socket_hand(ends[0], (udpai_str){text, sizeof(text)}, ends[0], NULL),
                     UDPA_ERR_INVAL);
    assert_ok(udpai_socket_hand(ends[0], (udpai_str){text, sizeof(text) - 1}, ends[0], NULL));
    assert_ok(take(&label, &file));
    assert_int_equal(label.len, sizeof(text) - 1);
    close(file);
}

/* ---- what is no such message ---- */

static void
send_raw(size_t n_bytes, const int *files, size_t n_files)
{
    char bytes[UDPAI_HANDED_LABEL_MAX + 1] = "x";

    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } room = {0};
    struct iovec payload = {bytes, n_bytes};
    struct msghdr message = {.msg_iov = &payload, .msg_iovlen = 1};
    if (n_files) {
        message.msg_control = room.bytes;
        message.msg_controllen = CMSG_SPACE(n_files * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(n_files * sizeof(int));
        memcpy(CMSG_DATA(header), files, n_files * sizeof(int));
    }
    assert_int_equal(sendmsg(ends[0], &message, 0), (ssize_t)n_bytes);
}

/* A pipe whose writing end was handed ends when all copies of that are closed. */
static void
files_are_closed(size_t n_bytes, size_t n_files)
{
    int pipe_ends[2], files[8];
    char byte;
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    for (size_t i = 0; i < n_files; i++)
        files[i] = pipe_ends[1];
    send_raw(n_bytes, files, n_files);
    close(pipe_ends[1]);
    take_fails(UDPA_ERR_MALFORMED);
    assert_int_equal(read(pipe_ends[0], &byte, 1), 0);
    close(pipe_ends[0]);
}

static void
nonsense_is_refused_and_closed(void **state)
{
    (void)state;
    send_raw(3, NULL, 0);
    take_fails(UDPA_ERR_MALFORMED);
    files_are_closed(3, 2);
    files_are_closed(3, 8);
    files_are_closed(0, 1);
    files_are_closed(UDPAI_HANDED_LABEL_MAX + 1, 1);
}

static void
what_does_not_listen_is_no_socket_to_listen_on(void **state)
{
    (void)state;
    udpai_listening listening;
    int file = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
    assert_int_equal(udpai_listening_take(&listening, file, NULL), UDPA_ERR_INVAL);
    assert_int_equal(listening.socket, -1);
    assert_int_equal(fcntl(file, F_GETFD), -1);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(what_waits_for_a_socket_goes_with_it),
        CASE(each_has_its_label),
        CASE(nobody_waits_for_one),
        CASE(who_has_gone_is_handed_nothing),
        CASE(labels_are_bounded),
        CASE(nonsense_is_refused_and_closed),
        CASE(what_does_not_listen_is_no_socket_to_listen_on),
    };
    return cmocka_run_group_tests_name("front_handed_socket", tests, NULL, NULL);
}
