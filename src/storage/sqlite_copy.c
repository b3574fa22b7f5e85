/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/sqlite_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

udpa_err
udpai_sqlite_copy_fail(sqlite3 *handle, const char *what, const char *path, udpa_error **ret_error)
{
    int code = sqlite3_errcode(handle);
    if (code == SQLITE_NOMEM)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (code == SQLITE_INTERRUPT)
        return udpai_fail(ret_error, UDPA_ERR_CLOSED, "cannot %s %s: the program ends", what, path);
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot %s %s: %s%s", what, path,
                      sqlite3_errmsg(handle), code == SQLITE_FULL ? "; make room on the disk" : "");
}

static udpa_err
copy_into(sqlite3 *handle, const char *path, udpa_error **ret_error)
{
    sqlite3_stmt *statement = NULL;
    bool is_done =
        sqlite3_prepare_v2(handle, "VACUUM INTO ?1", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_DONE;
    udpa_err err =
        is_done ? UDPA_OK : udpai_sqlite_copy_fail(handle, "copy the database to", path, ret_error);
    sqlite3_finalize(statement);
    return err;
}

/* The file is there, and empty, before SQLite writes it: so it has its mode from the beginning. */
udpa_err
udpai_sqlite_copy(sqlite3 *handle, const char *path, udpa_error **ret_error)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return udpai_fail(ret_error, errno == EEXIST ? UDPA_ERR_EXISTS : UDPA_ERR_IO,
                          "cannot make %s: %s", path, strerror(errno));
    udpa_err err = copy_into(handle, path, ret_error);
    if (err == UDPA_OK && fsync(fd) != 0)
        err = udpai_fail(ret_error, UDPA_ERR_IO, "cannot write %s: %s", path, strerror(errno));
    close(fd);
    if (err != UDPA_OK)
        (void)unlink(path);
    return err;
}

void
udpai_sqlite_copy_remove(const char *path)
{
    char journal[PATH_MAX];
    int len = snprintf(journal, sizeof(journal), "%s-journal", path);
    (void)unlink(path);
    if (len > 0 && (size_t)len < sizeof(journal))
        (void)unlink(journal);
}

bool
udpai_sqlite_sync_parent(const char *path)
{
    char directory[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    size_t len = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    if (len >= sizeof(directory)) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (len) {
        memcpy(directory, path, len);
        directory[len] = '\0';
    }
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_synced = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
    int cause = errno;
    if (fd >= 0)
        close(fd);
    errno = cause;
    return is_synced;
}
