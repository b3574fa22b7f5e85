/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc has of a process. */
#include "daemon/process_facts.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/harness/test.h"

static void
this_process_is_described(void **state)
{
    udpai_process_facts facts;
    (void)state;
    assert_true(udpai_process_facts_read(getpid(), &facts));
    double now = (double)time(NULL);
    assert_true(facts.start_seconds > now - 3600 && facts.start_seconds < now + 2);
    assert_true(facts.cpu_seconds >= 0 && facts.cpu_seconds < 3600);
    assert_true(facts.resident_bytes >= 1 << 16 && facts.resident_bytes <= facts.virtual_bytes);
    assert_true(facts.n_threads >= 1 && facts.n_threads < 100);
}

static void
an_open_file_counts(void **state)
{
    udpai_process_facts before, after;
    (void)state;
    assert_true(udpai_process_facts_read(getpid(), &before));
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    assert_true(udpai_process_facts_read(getpid(), &after));
    close(file);
    assert_int_equal(after.n_fds, before.n_fds + 1);
}

static void
one_that_is_not_there_is_not(void **state)
{
    udpai_process_facts facts;
    (void)state;
    assert_false(udpai_process_facts_read(-1, &facts));
}

static void
the_limit_is_that_of_the_process(void **state)
{
    struct rlimit limit;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur != RLIM_INFINITY)
        assert_int_equal(udpai_process_max_fds(), limit.rlim_cur);
}

/* Less is free than there is, and what is not there has no size. */
static void
a_file_system_has_a_size(void **state)
{
    (void)state;
    uint64_t size = 1, available = 2;
    assert_false(udpai_disk_facts_read("/proc/self/no such file", &size, &available));
    assert_true(size == 1 && available == 2);
    assert_true(udpai_disk_facts_read(".", &size, &available));
    assert_true(size > 1 << 20 && available <= size);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_process_is_described),
        cmocka_unit_test(an_open_file_counts),
        cmocka_unit_test(one_that_is_not_there_is_not),
        cmocka_unit_test(the_limit_is_that_of_the_process),
        cmocka_unit_test(a_file_system_has_a_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
