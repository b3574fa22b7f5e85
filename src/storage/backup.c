/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/time_text.h"
#include "loop/read_write.h"
#include "storage/backup_file.h"
#include "storage/sqlite.h"
#include "storage/sqlite_copy.h"

#define STEPS_BETWEEN_LOOKS 10000 /* of SQLite's machine */

static int
is_to_end(void *is_ended)
{
    return atomic_load((const atomic_bool *)is_ended);
}

/* By a connection of its own, whose transaction of reading no other one waits for. */
static udpa_err
copy_store(const udpai_backup_request *request, udpa_error **ret_error)
{
    udpai_strbuf path = {0};
    sqlite3 *handle = NULL;
    udpai_strbuf_printf(&path, "%s/" UDPAI_SQLITE_FILE, request->directory);
    if (udpai_strbuf_failed(&path)) {
        udpai_strbuf_done(&path);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    bool is_open =
        sqlite3_open_v2(path.data, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) ==
            SQLITE_OK &&
        sqlite3_busy_timeout(handle, UDPAI_SQLITE_BUSY_MS) == SQLITE_OK &&
        sqlite3_exec(handle, "PRAGMA trusted_schema = OFF", NULL, NULL, NULL) == SQLITE_OK;
    udpa_err err = UDPA_OK;
    if (is_open)
        sqlite3_progress_handler(handle, STEPS_BETWEEN_LOOKS, is_to_end,
                                 (void *)(uintptr_t)request->is_ended);
    else
        err = handle ? udpai_sqlite_copy_fail(handle, "open", path.data, ret_error)
                     : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        err = udpai_sqlite_copy(handle, request->path, ret_error);
    sqlite3_close(handle);
    udpai_strbuf_done(&path);
    return err;
}

static udpa_err
count(const char *path, udpai_backup_manifest *manifest, udpa_error **ret_error)
{
    udpai_backup_facts facts = {.manifest = *manifest};
    sqlite3 *handle = NULL;
    udpa_err err = udpai_backup_open_database(&handle, path, ret_error);
    if (err == UDPA_OK)
        err = udpai_backup_count(handle, path, &facts, ret_error);
    sqlite3_close(handle);
    *manifest = facts.manifest;
    return err;
}

static udpa_err
append_manifest(int fd,
                const udpai_backup_request *request,
                udpai_backup_manifest *manifest,
                udpa_error **ret_error)
{
    char room[UDPAI_BACKUP_MANIFEST_BYTES];
    struct stat info;
    udpai_str all = {room, sizeof(room)};
    if (fstat(fd, &info) != 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot read %s: %s", request->path,
                          strerror(errno));
    manifest->size_bytes = (uint64_t)info.st_size;
    unsigned len = udpai_backup_manifest_put(manifest, room);
    const udpai_backup_bytes bytes = {
        .fd = fd,
        .size = manifest->size_bytes,
        .tail = {room, len},
        .to = -1,
        .is_ended = request->is_ended,
    };
    udpa_err err = udpai_backup_hash(&bytes, manifest->sha256, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_backup_manifest_end(manifest, len, room);
    return udpai_write_all(fd, all) && fsync(fd) == 0
               ? UDPA_OK
               : udpai_fail(ret_error, UDPA_ERR_IO, "cannot write %s: %s", request->path,
                            strerror(errno));
}

static udpa_err
finish(const udpai_backup_request *request, udpai_backup_manifest *manifest, udpa_error **ret_error)
{
    udpa_err err = udpai_backup_mark(request->path, manifest->made, ret_error);
    if (err == UDPA_OK)
        err = count(request->path, manifest, ret_error);
    if (err != UDPA_OK)
        return err;
    int fd = open(request->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot open %s: %s", request->path,
                          strerror(errno));
    err = append_manifest(fd, request, manifest, ret_error);
    close(fd);
    return err;
}

udpa_err
udpai_backup_make(const udpai_backup_request *request,
                  udpai_backup_manifest *ret_manifest,
                  udpa_error **ret_error)
{
    udpai_backup_manifest manifest = {0};
    udpa_err err = copy_store(request, ret_error);
    if (err != UDPA_OK)
        return err;
    snprintf(manifest.release, sizeof(manifest.release), "%s", request->release);
    snprintf(manifest.node, sizeof(manifest.node), "%.*s", UDPAI_SHOWN(request->node));
    snprintf(manifest.instance, sizeof(manifest.instance), "%.*s", UDPAI_SHOWN(request->instance));
    udpai_time_text(manifest.made, request->made_us);
    err = finish(request, &manifest, ret_error);
    if (err == UDPA_OK)
        *ret_manifest = manifest;
    else
        (void)unlink(request->path);
    return err;
}

void
udpai_backup_remove(const char *path)
{
    udpai_sqlite_copy_remove(path);
}
