/* SPDX-License-Identifier: Apache-2.0 */
/* Standard streams that are closed at the start are opened. */
#include "tests/harness/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop/standard_streams.h"

static bool
is_null_device(int fd)
{
    struct stat about, wanted;
    return fstat(fd, &about) == 0 && stat("/dev/null", &wanted) == 0 && S_ISCHR(about.st_mode) &&
           about.st_rdev == wanted.st_rdev;
}

/* What became of the streams of a child that has those of the mask closed: each bit of the result
 * is one that is the null device; 8: what is opened next is none of the three. */
static int
opened(int closed)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int result = 0, other;
        for (int fd = 0; fd < 3; fd++)
            if (!(closed & 1 << fd))
                dup2(open("/", O_RDONLY | O_CLOEXEC), fd); /* open, and not the null device */
        for (int fd = 0; fd < 3; fd++)
            if (closed & 1 << fd)
                close(fd);
        if (!udpai_standard_streams_open())
            _exit(255);
        for (int fd = 0; fd < 3; fd++)
            result |= is_null_device(fd) << fd;
        other = open("/", O_RDONLY | O_CLOEXEC);
        _exit(result | (other > 2) << 3);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void
test_what_is_closed_is_opened(void **state)
{
    (void)state;
    for (int closed = 0; closed < 8; closed++)
        assert_int_equal(opened(closed), closed | 8);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_closed_is_opened)};
    return cmocka_run_group_tests_name("loop standard_streams", tests, NULL, NULL);
}
