/* SPDX-License-Identifier: Apache-2.0 */
/* The database of a backup takes its place when all of it is there and is good: it is copied beside
 * that, and renamed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "storage/backup_file.h"
#include "storage/sqlite.h"
#include "storage/sqlite_copy.h"
#include "storage/sqlite_db.h"

typedef struct restoring {
    const char *path, *directory;
    char *database, *copy; /* owned */
    int lock_fd;
} restoring;

static off_t
size_of(const char *path, const char *suffix)
{
    struct stat info;
    udpai_strbuf name = {0};
    udpai_strbuf_puts(&name, path);
    udpai_strbuf_puts(&name, suffix);
    off_t size = !udpai_strbuf_failed(&name) && stat(name.data, &info) == 0 ? info.st_size : 0;
    udpai_strbuf_done(&name);
    return size;
}

/* An empty file is none: so the disk leaves it that has lost it. */
static const char *
find_store(const char *directory)
{
    static const char *const names[] = {"/" UDPAI_SQLITE_FILE, "/" UDPAI_SQLITE_FILE "-wal"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        if (size_of(directory, names[i]) > 0)
            return names[i];
    return NULL;
}

bool
udpai_backup_has_store(const char *directory)
{
    return find_store(directory) != NULL;
}

static udpa_err
check_empty(const restoring *self, udpa_error **ret_error)
{
    const char *found = find_store(self->directory);
    if (!found)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                      "%s has a store, %s%s: move the directory away first, so that it is not "
                      "lost, or restore into another one",
                      self->directory, self->directory, found);
}

/* For the node, which may be another user's: that of the directory. */
static bool
give_away(const restoring *self, int fd)
{
    struct stat owner;
    return geteuid() != 0 ||
           (stat(self->directory, &owner) == 0 && fchown(fd, owner.st_uid, owner.st_gid) == 0 &&
            fchown(self->lock_fd, owner.st_uid, owner.st_gid) == 0);
}

static udpa_err
fail_to_write(const restoring *self, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot write %s: %s", self->copy, strerror(errno));
}

static udpa_err
copy_database(const restoring *self,
              int from,
              udpai_backup_facts *ret_facts,
              udpa_error **ret_error)
{
    (void)unlink(self->copy); /* of one that ended in the midst of it */
    int to = open(self->copy, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (to < 0)
        return fail_to_write(self, ret_error);
    udpa_err err = udpai_backup_check_bytes(from, self->path, to, ret_facts, ret_error);
    if (err == UDPA_OK && !give_away(self, to))
        err = fail_to_write(self, ret_error);
    close(to); /* before SQLite opens it: that would end its locks */
    return err;
}

static udpa_err
flush(const restoring *self, udpa_error **ret_error)
{
    int fd = open(self->copy, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool is_flushed = fd >= 0 && fsync(fd) == 0;
    udpa_err err = is_flushed ? UDPA_OK : fail_to_write(self, ret_error);
    if (fd >= 0)
        close(fd);
    return err;
}

static udpa_err
take_place(const restoring *self, udpa_error **ret_error)
{
    if (rename(self->copy, self->database) == 0 && udpai_sqlite_sync_parent(self->database))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot make %s: %s", self->database,
                      strerror(errno));
}

static udpa_err
restore(const restoring *self, int from, udpai_backup_facts *ret_facts, udpa_error **ret_error)
{
    udpa_err err = copy_database(self, from, ret_facts, ret_error);
    if (err == UDPA_OK)
        err = udpai_backup_compare(self->copy, self->path, ret_facts, ret_error);
    if (err == UDPA_OK)
        err = udpai_backup_mark(self->copy, ret_facts->manifest.made, ret_error);
    if (err == UDPA_OK)
        err = flush(self, ret_error);
    if (err == UDPA_OK)
        err = take_place(self, ret_error);
    if (err != UDPA_OK)
        (void)unlink(self->copy);
    return err;
}

static udpa_err
set_paths(restoring *self, udpa_error **ret_error)
{
    udpai_strbuf database = {0}, copy = {0};
    udpai_strbuf_printf(&database, "%s/" UDPAI_SQLITE_FILE, self->directory);
    udpai_strbuf_printf(&copy, "%s/" UDPAI_SQLITE_FILE "-restored", self->directory);
    self->database = udpai_strbuf_take(&database);
    self->copy = udpai_strbuf_take(&copy);
    return self->database && self->copy ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

udpa_err
udpai_backup_restore(const char *path,
                     const char *directory,
                     udpai_backup_facts *ret_facts,
                     udpa_error **ret_error)
{
    restoring self = {.path = path, .directory = directory, .lock_fd = -1};
    int from = udpai_backup_open(path, ret_error); /* before a directory is made for it */
    if (from < 0)
        return UDPA_ERR_IO;
    udpa_err err = set_paths(&self, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_lock(directory, &self.lock_fd, ret_error);
    if (err == UDPA_OK)
        err = check_empty(&self, ret_error);
    if (err == UDPA_OK)
        err = restore(&self, from, ret_facts, ret_error);
    close(from);
    if (self.lock_fd >= 0)
        close(self.lock_fd);
    udpai_free(self.database);
    udpai_free(self.copy);
    return err;
}
