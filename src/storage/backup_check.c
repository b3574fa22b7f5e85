/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a backup: first at its bytes, then at its database. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "storage/backup_file.h"
#include "storage/sqlite_copy.h"

/* Counted anew: what the manifest has of it is checked against that. */
udpa_err
udpai_backup_compare(const char *database,
                     const char *path,
                     udpai_backup_facts *facts,
                     udpa_error **ret_error)
{
    const udpai_backup_manifest noted = facts->manifest;
    sqlite3 *handle = NULL;
    udpa_err err = udpai_backup_open_database(&handle, database, ret_error);
    if (err == UDPA_OK)
        err = udpai_backup_check_database(handle, path, ret_error);
    if (err == UDPA_OK)
        err = udpai_backup_count(handle, path, facts, ret_error);
    sqlite3_close(handle);
    if (err == UDPA_OK && facts->has_manifest &&
        (noted.n_resources != facts->manifest.n_resources ||
         noted.n_audit != facts->manifest.n_audit || noted.format != facts->manifest.format))
        err = udpai_fail(ret_error, UDPA_ERR_IO,
                         "%s is damaged: it has not what its manifest lists; use another backup",
                         path);
    return err;
}

udpa_err
udpai_backup_check_bytes(
    int fd, const char *path, int to, udpai_backup_facts *ret_facts, udpa_error **ret_error)
{
    char room[UDPAI_BACKUP_MANIFEST_BYTES], sha256[UDPAI_BACKUP_SHA256_LEN + 1];
    unsigned len;
    udpa_error *cause = NULL;
    udpa_err err = udpai_backup_measure(fd, path, ret_facts, room, &len, ret_error);
    if (err != UDPA_OK)
        return err;
    const udpai_backup_bytes bytes = {
        .fd = fd,
        .size = ret_facts->manifest.size_bytes,
        .tail = {room, len},
        .to = to,
    };
    err = udpai_backup_hash(&bytes, sha256, &cause);
    if (err != UDPA_OK)
        return udpai_fail_because(ret_error, err, cause, "%s", path);
    if (ret_facts->has_manifest && strcmp(sha256, ret_facts->manifest.sha256) != 0)
        return udpai_fail(ret_error, UDPA_ERR_IO,
                          "%s is damaged: its SHA-256 is not that of its manifest; use another "
                          "backup",
                          path);
    return UDPA_OK;
}

udpa_err
udpai_backup_name(const char *from, const char *path, udpa_error **ret_error)
{
    bool is_named = renameat2(AT_FDCWD, from, AT_FDCWD, path, RENAME_NOREPLACE) == 0;
    if (!is_named && errno == EINVAL) /* a file system that cannot do that at once */
        is_named = access(path, F_OK) != 0 && rename(from, path) == 0;
    if (is_named && udpai_sqlite_sync_parent(path))
        return UDPA_OK;
    return udpai_fail(ret_error, errno == EEXIST ? UDPA_ERR_EXISTS : UDPA_ERR_IO,
                      "cannot make %s: %s", path, strerror(errno));
}

int
udpai_backup_open(const char *path, udpa_error **ret_error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        udpai_fail(ret_error, UDPA_ERR_IO, "cannot open %s: %s", path, strerror(errno));
    return fd;
}

udpa_err
udpai_backup_check(const char *path, udpai_backup_facts *ret_facts, udpa_error **ret_error)
{
    int fd = udpai_backup_open(path, ret_error);
    if (fd < 0)
        return UDPA_ERR_IO;
    udpa_err err = udpai_backup_check_bytes(fd, path, -1, ret_facts, ret_error);
    close(fd);
    return err == UDPA_OK ? udpai_backup_compare(path, path, ret_facts, ret_error) : err;
}
