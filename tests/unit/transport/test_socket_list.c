/* SPDX-License-Identifier: Apache-2.0 */
/* What a process listens on, and what it was handed: first come, first served. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/harness/test.h"
#include "transport/socket_list.h"

#define ADDRESS "127.0.0.1:0"

static char seen[400];

static bool
note(void *userdata, const char *label, int file)
{
    size_t at = strlen(seen);
    snprintf(seen + at, sizeof(seen) - at, "%s=%d;", label, file);
    return !userdata || at == 0;
}

static const char *
visit_all(void)
{
    seen[0] = '\0';
    return udpai_socket_list_visit(note, NULL) ? seen : "missing";
}

static void
its_own_are_visited_in_their_order(void **state)
{
    (void)state;
    udpai_socket_list_note("streams", ADDRESS, 101);
    udpai_socket_list_note("http", ADDRESS, 102);
    udpai_socket_list_note("streams", ADDRESS, 103);
    assert_string_equal(visit_all(),
                        "streams 127.0.0.1:0=101;http 127.0.0.1:0=102;streams 127.0.0.1:0=103;");
    udpai_socket_list_forget(102);
    udpai_socket_list_forget(-1);
    udpai_socket_list_forget(7);
    assert_string_equal(visit_all(), "streams 127.0.0.1:0=101;streams 127.0.0.1:0=103;");
    assert_false(udpai_socket_list_visit(note, (void *)seen));
    udpai_socket_list_forget(101);
    udpai_socket_list_forget(103);
    assert_string_equal(visit_all(), "");
}

static int
open_any(void)
{
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    return file;
}

static bool
is_open(int file)
{
    return fcntl(file, F_GETFD) >= 0;
}

static void
what_was_handed_is_taken_once(void **state)
{
    (void)state;
    int first = open_any(), second = open_any(), third = open_any();
    assert_true(udpai_socket_list_put("streams " ADDRESS, first));
    assert_true(udpai_socket_list_put("streams " ADDRESS, second));
    assert_true(udpai_socket_list_put("http " ADDRESS, third));
    assert_int_equal(udpai_socket_list_take("streams", "127.0.0.1:1"), -1);
    assert_int_equal(udpai_socket_list_peek("streams", ADDRESS), first);
    assert_int_equal(udpai_socket_list_take("streams", ADDRESS), first);
    assert_int_equal(udpai_socket_list_take("streams", ADDRESS), second);
    assert_int_equal(udpai_socket_list_take("streams", ADDRESS), -1);
    assert_int_equal(udpai_socket_list_drop(), 1);
    assert_int_equal(udpai_socket_list_drop(), 0);
    assert_true(is_open(first) && is_open(second));
    assert_false(is_open(third));
    close(first);
    close(second);
}

static void
one_that_cannot_be_handed_on_is_missing(void **state)
{
    (void)state;
    char address[UDPAI_SOCKET_USE_MAX + 1];
    memset(address, 'a', sizeof(address));
    address[sizeof(address) - 1] = '\0';
    int file = open_any();
    assert_false(udpai_socket_list_put(address, file));
    assert_false(is_open(file));
    assert_int_equal(udpai_socket_list_take("streams", address), -1);
    udpai_socket_list_note("streams", address, 101);
    assert_string_equal(visit_all(), "missing"); /* for good: nobody knows which one it was */
}

static void
they_are_muted_together(void **state)
{
    (void)state;
    assert_false(udpai_socket_list_is_muted());
    udpai_socket_list_set_muted(true);
    assert_true(udpai_socket_list_is_muted());
    udpai_socket_list_set_muted(false);
    assert_false(udpai_socket_list_is_muted());
    assert_false(udpai_socket_list_has_left_files());
    udpai_socket_list_leave_files();
    assert_true(udpai_socket_list_has_left_files());
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_own_are_visited_in_their_order),
        cmocka_unit_test(what_was_handed_is_taken_once),
        cmocka_unit_test(they_are_muted_together),
        cmocka_unit_test(one_that_cannot_be_handed_on_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
