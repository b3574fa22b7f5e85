/* SPDX-License-Identifier: Apache-2.0 */
/* A file that rotates: sizes, names, whole lines, and errors of the disk. */
#include "transport/file/rotating_file.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/oom.h"

static char folder[64], path[96];
static udpai_rotating_file file;

static int
set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/udpa-rotating-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/log", folder);
    return 0;
}

static const char *
numbered(unsigned number)
{
    static char room[128];
    if (number)
        snprintf(room, sizeof(room), "%s.%u", path, number);
    else
        snprintf(room, sizeof(room), "%s", path);
    return room;
}

static int
tear_down(void **state)
{
    (void)state;
    udpai_rotating_file_done(&file);
    for (unsigned i = 0; i < 10; i++)
        (void)unlink(numbered(i));
    assert_ok(rmdir(folder)); /* nothing else is made */
    return 0;
}

static void
assert_contents(unsigned number, const char *expected)
{
    char text[256] = "";
    FILE *found = fopen(numbered(number), "r");
    if (!expected) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    size_t n = fread(text, 1, sizeof(text) - 1, found);
    fclose(found);
    text[n] = '\0';
    assert_string_equal(text, expected);
}

static void
open_with(uint64_t max_bytes, unsigned max_files)
{
    assert_ok(udpai_rotating_file_init(&file, path, max_bytes, max_files));
}

static void
add(const char *lines)
{
    size_t size;
    udpa_error *error = NULL;
    if (udpai_rotating_file_add(&file, udpai_str_from(lines), &size, &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
    assert_int_equal(size, strlen(lines));
}

static void
lines_are_added(void **state)
{
    (void)state;
    open_with(100, 2);
    assert_contents(0, NULL); /* nothing is made before */
    add("a\nb\n");
    add("");
    add("c\n");
    assert_contents(0, "a\nb\nc\n");
    struct stat info;
    assert_ok(stat(path, &info));
    assert_int_equal(info.st_mode & 0007, 0);
    udpai_rotating_file_done(&file);
    open_with(100, 2); /* what was there stays */
    add("d\n");
    assert_contents(0, "a\nb\nc\nd\n");
}

static void
what_is_too_large_is_renamed(void **state)
{
    (void)state;
    open_with(6, 3);
    add("a1\nb1\n");
    add("c2\n");
    assert_contents(0, "c2\n");
    assert_contents(1, "a1\nb1\n");
    add("d2\ne3\nf3\ng4\n"); /* in one go, as many as need be */
    assert_contents(0, "g4\n");
    assert_contents(1, "e3\nf3\n");
    assert_contents(2, "c2\nd2\n");
    assert_contents(3, NULL);
}

static void
a_line_is_never_divided(void **state)
{
    (void)state;
    open_with(6, 3);
    add("a\n");
    add("longer than it may be\n");
    add("b\n");
    assert_contents(0, "b\n");
    assert_contents(1, "longer than it may be\n");
    assert_contents(2, "a\n");
}

static void
of_one_file_nothing_older_stays(void **state)
{
    (void)state;
    open_with(4, 1);
    add("a\nb\nc\n");
    assert_contents(0, "c\n");
    assert_contents(1, NULL);
}

static void
what_somebody_moves_away_is_made_anew(void **state)
{
    char other[128];
    (void)state;
    open_with(100, 3);
    add("a\n");
    snprintf(other, sizeof(other), "%s", numbered(7));
    assert_ok(rename(path, other));
    add("b\n");
    assert_contents(0, "b\n");
    assert_contents(7, "a\n");
}

static void
a_piece_of_a_line_is_closed_first(void **state)
{
    (void)state;
    FILE *before = fopen(path, "w");
    fputs("torn", before);
    fclose(before);
    open_with(100, 2);
    add("a\n");
    assert_contents(0, "torn\na\n");
}

static void
a_full_disk_keeps_whole_lines(void **state)
{
    const struct rlimit limit = {10, RLIM_INFINITY};
    struct rlimit before;
    size_t size;
    udpa_error *error = NULL;
    (void)state;
    open_with(100, 2);
    add("one\n");
    signal(SIGXFSZ, SIG_IGN);
    assert_ok(getrlimit(RLIMIT_FSIZE, &before));
    assert_ok(setrlimit(RLIMIT_FSIZE, &limit));
    udpa_err err = udpai_rotating_file_add(&file, UDPAI_STR("two\nthree\n"), &size, &error);
    assert_ok(setrlimit(RLIMIT_FSIZE, &before));
    assert_int_equal(err, UDPA_ERR_LIMIT);
    assert_non_null(strstr(udpa_error_message(error), "/log: cannot be written: File too large"));
    udpa_error_unref(error);
    assert_int_equal(size, 4);
    assert_contents(0, "one\ntwo\n");
    add("four\n"); /* there is room again */
    assert_contents(0, "one\ntwo\nfour\n");
}

static void
what_is_no_file_can_be_full_too(void **state)
{
    size_t size = 1;
    udpa_error *error = NULL;
    (void)state;
    assert_ok(udpai_rotating_file_init(&file, "/dev/full", 4, 2));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(udpai_rotating_file_add(&file, UDPAI_STR("a\nb\nc\n"), &size, &error),
                         UDPA_ERR_LIMIT);
        assert_int_equal(size, 0);
        error = udpa_error_unref(error);
    }
}

static void
what_cannot_be_opened_is_tried_again(void **state)
{
    size_t size;
    udpa_error *error = NULL;
    (void)state;
    open_with(100, 2);
    assert_ok(mkdir(path, 0700));
    assert_int_equal(udpai_rotating_file_add(&file, UDPAI_STR("a\n"), &size, &error), UDPA_ERR_IO);
    assert_non_null(strstr(udpa_error_message(error), "cannot be opened: Is a directory"));
    udpa_error_unref(error);
    assert_ok(rmdir(path));
    add("b\n");
    assert_contents(0, "b\n");
}

static udpa_err
make(void *context)
{
    udpai_rotating_file made;
    size_t size;
    (void)context;
    udpa_err err = udpai_rotating_file_init(&made, path, 4, 2);
    if (err == UDPA_OK)
        err = udpai_rotating_file_add(&made, UDPAI_STR("a\nb\nc\n"), &size, NULL);
    udpai_rotating_file_done(&made);
    return err;
}

static void
without_memory_it_is_an_error(void **state)
{
    (void)state;
    oom_torture(make, NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(lines_are_added),
        CASE(what_is_too_large_is_renamed),
        CASE(a_line_is_never_divided),
        CASE(of_one_file_nothing_older_stays),
        CASE(what_somebody_moves_away_is_made_anew),
        CASE(a_piece_of_a_line_is_closed_first),
        CASE(a_full_disk_keeps_whole_lines),
        CASE(what_is_no_file_can_be_full_too),
        CASE(what_cannot_be_opened_is_tried_again),
        CASE(without_memory_it_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
