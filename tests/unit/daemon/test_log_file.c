/* SPDX-License-Identifier: Apache-2.0 */
/* The file of the log: whole lines, whoever else writes to it and renames it, and on a full disk.
 */
#include "daemon/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/test.h"

typedef struct fixture {
    char directory[64], path[80], other[80];
    udpai_log_file file;
} fixture;

static fixture self;

static int
begin(void **state)
{
    (void)state;
    snprintf(self.directory, sizeof(self.directory), "/tmp/udpa-log-XXXXXX");
    assert_non_null(mkdtemp(self.directory));
    snprintf(self.path, sizeof(self.path), "%s/log", self.directory);
    snprintf(self.other, sizeof(self.other), "%s/log.1", self.directory);
    assert_ok(udpai_log_file_open(&self.file, self.path, NULL));
    return 0;
}

static int
end(void **state)
{
    (void)state;
    udpai_log_file_close(&self.file);
    unlink(self.path);
    unlink(self.other);
    assert_int_equal(rmdir(self.directory), 0);
    return 0;
}

static void
add(const char *line)
{
    assert_int_equal(udpai_log_file_add(&self.file, line, strlen(line)), 0);
}

static void
expect(const char *path, const char *expected)
{
    static char text[8192];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    assert_true(n >= 0);
    text[n] = '\0';
    assert_string_equal(text, expected);
}

static void
lines_are_added_to_what_is_there(void **state)
{
    (void)state;
    struct stat info;
    add("one\n");
    udpai_log_file_close(&self.file);
    assert_ok(udpai_log_file_open(&self.file, self.path, NULL));
    add("two\n");
    expect(self.path, "one\ntwo\n");
    assert_int_equal(stat(self.path, &info), 0);
    assert_int_equal(info.st_mode & 0037, 0); /* nobody else reads who connects */
}

static void
it_is_opened_anew_by_its_name(void **state)
{
    (void)state;
    add("one\n");
    assert_int_equal(rename(self.path, self.other), 0);
    add("two\n");
    assert_ok(udpai_log_file_reopen(&self.file, NULL));
    add("three\n");
    expect(self.other, "one\ntwo\n");
    expect(self.path, "three\n");
}

static void
a_file_that_cannot_be_opened_anew_stays(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    add("one\n");
    assert_int_equal(rename(self.path, self.other), 0);
    assert_int_equal(mkdir(self.path, 0700), 0);
    assert_int_equal(udpai_log_file_reopen(&self.file, &error), UDPA_ERR_IO);
    assert_non_null(strstr(udpa_error_message(error), self.path));
    assert_int_equal(rmdir(self.path), 0);
    add("two\n");
    expect(self.other, "one\ntwo\n");
}

static void
a_directory_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    udpai_log_file file = {.fd = -1};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_log_file_open(&file, "/proc/no/log", &error), UDPA_ERR_IO);
    assert_non_null(strstr(udpa_error_message(error), "/proc/no/log cannot be opened"));
}

/* The file can grow to so many bytes and no further, as on a full disk. */
static void
limit_size(rlim_t size)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
no_piece_of_a_line_stays_on_a_full_disk(void **state)
{
    (void)state;
    add("one\n");
    limit_size(7);
    assert_int_equal(udpai_log_file_add(&self.file, "two more\n", 9), EFBIG);
    assert_int_equal(udpai_log_file_add(&self.file, "two more\n", 9), EFBIG);
    limit_size(RLIM_INFINITY);
    expect(self.path, "one\n");
    add("three\n");
    expect(self.path, "one\nthree\n");
}

/* What cannot be taken back, as where another process has written behind it, ends before the next.
 */
static void
a_piece_that_stays_is_no_part_of_the_next_line(void **state)
{
    (void)state;
    self.file.is_regular = false; /* as a pipe: nothing can be taken back */
    limit_size(3);
    assert_int_equal(udpai_log_file_add(&self.file, "one more\n", 9), EFBIG);
    assert_int_equal(udpai_log_file_add(&self.file, "two more\n", 9), EFBIG);
    limit_size(RLIM_INFINITY);
    add("three\n");
    expect(self.path, "one\nthree\n");
}

static void
a_full_device_takes_nothing(void **state)
{
    (void)state;
    udpai_log_file full = {.fd = -1};
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_ok(udpai_log_file_open(&full, "/dev/full", NULL));
    assert_int_equal(udpai_log_file_add(&full, "one\n", 4), ENOSPC);
    udpai_log_file_close(&full);
}

/* Else a start would hang. */
static void
a_pipe_that_nobody_reads_is_no_file(void **state)
{
    (void)state;
    udpai_log_file file = {.fd = -1};
    assert_int_equal(mkfifo(self.other, 0600), 0);
    assert_int_equal(udpai_log_file_open(&file, self.other, NULL), UDPA_ERR_IO);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_are_added_to_what_is_there, begin, end),
        cmocka_unit_test_setup_teardown(it_is_opened_anew_by_its_name, begin, end),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_opened_anew_stays, begin, end),
        cmocka_unit_test(a_directory_that_is_not_there_is_an_error),
        cmocka_unit_test_setup_teardown(no_piece_of_a_line_stays_on_a_full_disk, begin, end),
        cmocka_unit_test_setup_teardown(a_piece_that_stays_is_no_part_of_the_next_line, begin, end),
        cmocka_unit_test(a_full_device_takes_nothing),
        cmocka_unit_test_setup_teardown(a_pipe_that_nobody_reads_is_no_file, begin, end),
    };
    signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
