/* SPDX-License-Identifier: Apache-2.0 */
/* One directory, one process: the lock is held by the kernel, so it ends with the process however
 * that ends; the file stays, and holds the process id for the second process. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "storage/sqlite_db.h"

#define LOCK_FILE "udpa.lock"
#define PID_MAX_DIGITS 20

/* A new directory must be there after a power failure, as must what is committed in it. */
static udpa_err
sync_parent(int directory_fd, const char *directory, udpa_error **ret_error)
{
    int parent = openat(directory_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* A parent that may be passed but not read is no failure: there is just nothing to sync by. */
    if (parent < 0)
        return UDPA_OK;
    int failed = fsync(parent) != 0 && errno != EINVAL;
    int cause = errno;
    close(parent);
    return failed ? udpai_fail(ret_error, UDPA_ERR_IO, "cannot write store directory %s: %s",
                               directory, strerror(cause))
                  : UDPA_OK;
}

static udpa_err
open_directory(const char *directory, int *ret_fd, udpa_error **ret_error)
{
    bool made = mkdir(directory, 0700) == 0;
    if (!made && errno != EEXIST)
        return udpai_fail(ret_error, UDPA_ERR_IO,
                          "cannot make store directory %s: %s; its parent must exist and be "
                          "writable",
                          directory, strerror(errno));
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot open store directory %s: %s", directory,
                          strerror(errno));
    udpa_err err = made ? sync_parent(fd, directory, ret_error) : UDPA_OK;
    if (err != UDPA_OK)
        close(fd);
    else
        *ret_fd = fd;
    return err;
}

/* Reports which process is there, if the lock file has it. */
static udpa_err
fail_locked(int fd, const char *directory, udpa_error **ret_error)
{
    char text[PID_MAX_DIGITS + 1] = "";
    ssize_t n = pread(fd, text, PID_MAX_DIGITS, 0);
    text[n > 0 ? n : 0] = '\0';
    size_t len = strspn(text, "0123456789");
    return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                      "store directory %s is in use by %s%.*s: is another udpad running? Stop it, "
                      "or give this one a directory of its own",
                      directory, len ? "process " : "another process", (int)len, text);
}

static void
write_pid(int fd)
{
    char text[PID_MAX_DIGITS + 2];
    int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    /* The number is for people: without it the lock still holds. */
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)len, 0) != len)
        return;
}

udpa_err
udpai_sqlite_lock(const char *directory, int *ret_fd, udpa_error **ret_error)
{
    int directory_fd = -1;
    udpa_err err = open_directory(directory, &directory_fd, ret_error);
    if (err != UDPA_OK)
        return err;
    int fd = openat(directory_fd, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int cause = errno;
    close(directory_fd);
    if (fd < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO,
                          "cannot open %s/" LOCK_FILE ": %s; check owner and mode of the directory",
                          directory, strerror(cause));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        write_pid(fd);
        *ret_fd = fd;
        return UDPA_OK;
    }
    if (errno == EWOULDBLOCK)
        err = fail_locked(fd, directory, ret_error);
    else
        err = udpai_fail(ret_error, UDPA_ERR_IO, "cannot lock %s/" LOCK_FILE ": %s", directory,
                         strerror(errno));
    close(fd);
    return err;
}
