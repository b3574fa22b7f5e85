/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/set_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "loop/read_write.h"
#include "storage/sqlite.h"

#define FILE_NAME "replica-set"
#define NEW_NAME "replica-set.new"
#define TEXT_MAX 512

static udpa_err
fail(const char *directory, const char *what, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot %s %s/" FILE_NAME ": %s", what, directory,
                      strerror(errno));
}

static int
open_in(const char *directory, const char *name, int flags)
{
    int parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = parent < 0 ? -1 : openat(parent, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    int cause = errno;
    if (parent >= 0)
        close(parent);
    errno = cause;
    return fd;
}

/* ---- reading ---- */

static udpa_err
check_no_database(const char *directory, udpa_error **ret_error)
{
    int fd = open_in(directory, UDPAI_SQLITE_FILE, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return UDPA_OK;
    close(fd);
    return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                      "%s has the store of a node without replicas, which would be lost: set "
                      "store.directory to an empty directory, and publish again what publishers "
                      "had published there",
                      directory);
}

/* The id, a space, and the prefix. */
static udpa_err
take(const char *directory,
     const char *prefix,
     const char *text,
     char *ret_id,
     udpa_error **ret_error)
{
    size_t len = strcspn(text, " ");
    const char *end = strchr(text, '\n');
    if (len == 0 || len > UDPAI_SET_FILE_ID_MAX || text[len] != ' ' || !end)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                          "%s/" FILE_NAME " is damaged: remove %s, which is a copy of what etcd "
                          "has",
                          directory, directory);
    const udpai_str of = {text + len + 1, (size_t)(end - text) - len - 1};
    if (!udpai_str_eq(of, udpai_str_from(prefix)))
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "%s is of the replica set at %.*s, not of that at %s: set "
                          "store.directory to an empty directory",
                          directory, UDPAI_SHOWN(of), prefix);
    memcpy(ret_id, text, len);
    ret_id[len] = '\0';
    return UDPA_OK;
}

udpa_err
udpai_set_file_read(const char *directory,
                    const char *prefix,
                    char ret_id[UDPAI_SET_FILE_ID_MAX + 1],
                    udpa_error **ret_error)
{
    char text[TEXT_MAX + 1];
    ret_id[0] = '\0';
    int fd = open_in(directory, FILE_NAME, O_RDONLY | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return check_no_database(directory, ret_error);
    if (fd < 0)
        return fail(directory, "read", ret_error);
    ssize_t n = udpai_read_all(fd, text, TEXT_MAX);
    int cause = errno;
    close(fd);
    errno = cause;
    if (n < 0)
        return fail(directory, "read", ret_error);
    text[n] = '\0';
    return take(directory, prefix, text, ret_id, ret_error);
}

udpa_err
udpai_set_file_check_none(const char *directory, udpa_error **ret_error)
{
    int fd = open_in(directory, FILE_NAME, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return UDPA_OK;
    close(fd);
    return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                      "%s is the copy of a replica set, of which this node would go its own way: "
                      "set store.engine to ETCD again, or store.directory to another directory",
                      directory);
}

/* ---- writing ---- */

static bool
write_to(int parent, const char *text, size_t len)
{
    (void)unlinkat(parent, NEW_NAME, 0); /* of one that ended while it wrote */
    int fd = openat(parent, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    bool is_written = udpai_write_all(fd, (udpai_str){text, len}) && fsync(fd) == 0;
    int cause = errno;
    close(fd);
    errno = cause;
    return is_written && renameat(parent, NEW_NAME, parent, FILE_NAME) == 0 && fsync(parent) == 0;
}

udpa_err
udpai_set_file_write(const char *directory,
                     const char *prefix,
                     udpai_str id,
                     udpa_error **ret_error)
{
    char text[TEXT_MAX];
    int len = snprintf(text, sizeof(text), "%.*s %s\n", (int)id.len, id.data, prefix);
    if (len <= 0 || len >= TEXT_MAX)
        return udpai_fail_code(ret_error, UDPA_ERR_LIMIT);
    int parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_written = parent >= 0 && write_to(parent, text, (size_t)len);
    udpa_err err = is_written ? UDPA_OK : fail(directory, "write", ret_error);
    if (parent >= 0)
        close(parent);
    return err;
}
