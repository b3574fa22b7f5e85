/* SPDX-License-Identifier: Apache-2.0 */
/* What journald's socket receives: a datagram, or a file that nobody can change. */
#include "daemon/log_journald.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/test.h"

typedef struct fixture {
    char directory[64];
    struct sockaddr_un address;
    int socket; /* journald's */
    udpai_journald journald;
} fixture;

static fixture self;

static void
be_journald(void)
{
    unlink(self.address.sun_path);
    self.socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(self.socket >= 0);
    assert_int_equal(
        bind(self.socket, (const struct sockaddr *)&self.address, sizeof(self.address)), 0);
}

static int
begin(void **state)
{
    (void)state;
    snprintf(self.directory, sizeof(self.directory), "/tmp/udpa-log-XXXXXX");
    assert_non_null(mkdtemp(self.directory));
    self.address.sun_family = AF_UNIX;
    snprintf(self.address.sun_path, sizeof(self.address.sun_path), "%.60s/socket", self.directory);
    be_journald();
    assert_ok(udpai_journald_open(&self.journald, self.address.sun_path, NULL));
    return 0;
}

static int
end(void **state)
{
    (void)state;
    udpai_journald_close(&self.journald);
    close(self.socket);
    unlink(self.address.sun_path);
    assert_int_equal(rmdir(self.directory), 0);
    return 0;
}

/* The datagram, and the descriptor with it; -1: none. */
static ssize_t
receive(char *room, size_t size, int *ret_file)
{
    char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {room, size};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    ssize_t n = recvmsg(self.socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *ret_file = -1;
    if (n >= 0 && head && head->cmsg_type == SCM_RIGHTS)
        memcpy(ret_file, CMSG_DATA(head), sizeof(int));
    return n;
}

static void
a_record_is_a_datagram(void **state)
{
    (void)state;
    char room[64];
    int file;
    assert_int_equal(udpai_journald_send(&self.journald, "MESSAGE=a\n", 10, true), 0);
    assert_int_equal(receive(room, sizeof(room), &file), 10);
    assert_memory_equal(room, "MESSAGE=a\n", 10);
    assert_int_equal(file, -1);
}

static void
expect_file(int file, const char *record, size_t len)
{
    struct stat info;
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    char *room = malloc(len);
    assert_true(file >= 0);
    assert_int_equal(fcntl(file, F_GET_SEALS), seals);
    assert_int_equal(fstat(file, &info), 0);
    assert_int_equal(info.st_size, len);
    assert_int_equal(pread(file, room, len, 0), len);
    assert_memory_equal(room, record, len);
    free(room);
    close(file);
}

static void
send_large(size_t len)
{
    char room[64], *record = malloc(len);
    int file;
    memset(record, 'x', len);
    assert_int_equal(udpai_journald_send(&self.journald, record, len, true), 0);
    assert_int_equal(receive(room, sizeof(room), &file), 0);
    expect_file(file, record, len);
    free(record);
}

static void
a_large_record_is_a_sealed_file(void **state)
{
    (void)state;
    static char whole[UDPAI_JOURNALD_DATAGRAM_MAX + 1];
    char room[UDPAI_JOURNALD_DATAGRAM_MAX + 1];
    int file;
    memset(whole, 'y', sizeof(whole));
    send_large(UDPAI_JOURNALD_DATAGRAM_MAX + 1);
    send_large((size_t)4 << 20); /* more than any datagram may have */
    assert_int_equal(udpai_journald_send(&self.journald, whole, UDPAI_JOURNALD_DATAGRAM_MAX, true),
                     0);
    assert_int_equal(receive(room, sizeof(room), &file), UDPAI_JOURNALD_DATAGRAM_MAX);
    assert_int_equal(file, -1);
}

static void
one_that_is_away_is_an_error_until_it_is_back(void **state)
{
    (void)state;
    char room[64];
    int file;
    close(self.socket);
    assert_int_equal(udpai_journald_send(&self.journald, "a\n", 2, true), ECONNREFUSED);
    unlink(self.address.sun_path);
    assert_int_equal(udpai_journald_send(&self.journald, "a\n", 2, true), ENOENT);
    be_journald();
    assert_int_equal(udpai_journald_send(&self.journald, "b\n", 2, true), 0);
    assert_int_equal(receive(room, sizeof(room), &file), 2);
}

static void
one_that_does_not_read_holds_up_nobody(void **state)
{
    (void)state;
    int number = 0;
    for (unsigned i = 0; i < 100000 && !number; i++)
        number = udpai_journald_send(&self.journald, "a\n", 2, false);
    assert_int_equal(number, EAGAIN);
    assert_int_equal(udpai_journald_send(&self.journald, "a\n", 2, true), EAGAIN);
}

static void
a_path_has_the_length_of_one(void **state)
{
    (void)state;
    char path[200];
    udpai_journald journald = {.fd = -1};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(udpai_journald_open(&journald, path, &error), UDPA_ERR_INVAL);
    assert_int_equal(journald.fd, -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_record_is_a_datagram, begin, end),
        cmocka_unit_test_setup_teardown(a_large_record_is_a_sealed_file, begin, end),
        cmocka_unit_test_setup_teardown(one_that_is_away_is_an_error_until_it_is_back, begin, end),
        cmocka_unit_test_setup_teardown(one_that_does_not_read_holds_up_nobody, begin, end),
        cmocka_unit_test(a_path_has_the_length_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
