/* SPDX-License-Identifier: Apache-2.0 */
/* What SQLite takes for a new database, and a write-ahead log that it passes over silently, may be
 * what a disk has lost. So a file beside the database proves that there was one; and a log that has
 * pages has a header, for that is flushed before them (SQLite, "WAL-mode File Format"). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/sqlite_db.h"

#define MADE_SUFFIX "-made"
#define LOG_SUFFIX "-wal"
#define LOG_HEADER_BYTES 32
#define LOG_MAGIC 0x377f0682u /* or one more: the byte order of its sums */
#define PATH_BYTES 4096

/* -1: there is none, or none that can be looked at, which opening it will report. */
static off_t
size_of(const char *path, const char *suffix)
{
    char name[PATH_BYTES];
    struct stat info;
    snprintf(name, sizeof(name), "%s%s", path, suffix);
    return stat(name, &info) == 0 ? info.st_size : -1;
}

static bool
has_mark(const udpai_sqlite_db *db)
{
    return size_of(db->path, MADE_SUFFIX) >= 0;
}

static bool
has_log_header(const char *path)
{
    char name[PATH_BYTES];
    uint8_t head[4] = {0};
    snprintf(name, sizeof(name), "%s" LOG_SUFFIX, path);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : pread(fd, head, sizeof(head), 0);
    if (fd >= 0)
        close(fd);
    uint32_t magic =
        (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
    return n == sizeof(head) && (magic & ~1u) == LOG_MAGIC;
}

udpa_error *
udpai_sqlite_find_loss(const udpai_sqlite_db *db)
{
    static const char what_to_do[] =
        "the disk has lost it, or it was removed; put a backup of the store directory back, or "
        "start udpad once with --force, which goes on with what is there, and sources and peers "
        "send theirs again";
    off_t log_size = size_of(db->path, LOG_SUFFIX);
    if (size_of(db->path, "") <= 0 && has_mark(db))
        return udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                              "%s is empty, although %s" MADE_SUFFIX
                              " shows that there was a database: %s",
                              db->path, db->path, what_to_do);
    if (log_size > LOG_HEADER_BYTES && !has_log_header(db->path))
        return udpa_error_new(
            UDPA_ERR_PRECONDITION, NULL,
            "%s" LOG_SUFFIX " has %lld bytes, and none of them can be read: the latest changes are "
            "lost; %s",
            db->path, (long long)log_size, what_to_do);
    return NULL;
}

udpa_err
udpai_sqlite_note_made(const udpai_sqlite_db *db, udpa_error **ret_error)
{
    char name[PATH_BYTES];
    if (has_mark(db))
        return UDPA_OK;
    snprintf(name, sizeof(name), "%s" MADE_SUFFIX, db->path);
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int directory = fd < 0 ? -1 : open(db->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_done = fd >= 0 && directory >= 0 && fsync(fd) == 0 && fsync(directory) == 0;
    int cause = errno;
    if (fd >= 0)
        close(fd);
    if (directory >= 0)
        close(directory);
    return is_done
               ? UDPA_OK
               : udpai_fail(ret_error, UDPA_ERR_IO, "cannot make %s: %s", name, strerror(cause));
}
