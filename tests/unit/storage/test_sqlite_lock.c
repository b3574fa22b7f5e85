/* SPDX-License-Identifier: Apache-2.0 */
/* One directory, one engine, in this process and in others. */
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/storage/storage_test.h"

static void
one_process_cannot_open_it_twice(void **state)
{
    struct fixture *fixture = *state;
    char pid[32];
    open_engine(fixture);
    snprintf(pid, sizeof(pid), "process %ld:", (long)getpid());
    assert_open_fails(fixture, UDPA_ERR_PRECONDITION, pid);
    assert_open_fails(fixture, UDPA_ERR_PRECONDITION, fixture->directory);
    assert_open_fails(fixture, UDPA_ERR_PRECONDITION, "is another udpad running?");
    close_engine(fixture);
    open_engine(fixture);
}

/* Opens it, says so, and waits to be killed. */
static void
hold_directory(const struct fixture *fixture, int to_parent)
{
    udpai_durable_engine *engine;
    if (udpai_sqlite_open(&engine, &fixture->options, NULL) != UDPA_OK ||
        write(to_parent, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void
two_processes_cannot_share_it(void **state)
{
    struct fixture *fixture = *state;
    int ends[2];
    char byte, pid[32];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        hold_directory(fixture, ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    snprintf(pid, sizeof(pid), "process %ld:", (long)child);
    assert_open_fails(fixture, UDPA_ERR_PRECONDITION, pid);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    open_engine(fixture);
}

static void
a_lock_file_without_a_number_still_locks(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    open_engine(fixture);
    int fd = open(path_in(fixture, "udpa.lock", path), O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_open_fails(fixture, UDPA_ERR_PRECONDITION, "in use by another process");
    assert_int_equal(write(fd, "%s%n nonsense", 13), 13);
    assert_open_fails(fixture, UDPA_ERR_PRECONDITION, "in use by another process");
    close(fd);
}

int
main(void)
{
#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_STORE(one_process_cannot_open_it_twice),
        WITH_STORE(two_processes_cannot_share_it),
        WITH_STORE(a_lock_file_without_a_number_still_locks),
    };
    return cmocka_run_group_tests_name("storage sqlite_lock", tests, NULL, NULL);
}
