/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of backup.h: the bytes of the file, and the database in it. For the files backup*.c. */
#ifndef UDPAI_BACKUP_FILE_H
#define UDPAI_BACKUP_FILE_H

#include <sqlite3.h>

#include "base/util.h"
#include "storage/backup.h"

typedef struct udpai_backup_bytes {
    int fd;
    uint64_t size;               /* from its beginning */
    udpai_str tail;              /* what comes behind them */
    int to;                      /* where the bytes of the file go as well; -1: nowhere */
    const atomic_bool *is_ended; /* makes it give up; NULL: nothing does */
} udpai_backup_bytes;

/* The SHA-256 of bytes. UDPA_ERR_CLOSED: it has given up. */
udpa_err udpai_backup_hash(const udpai_backup_bytes *bytes,
                           char ret_sha256[UDPAI_BACKUP_SHA256_LEN + 1],
                           udpa_error **ret_error);
/* Where the database ends, and the manifest, if there is one; *ret_len: its length before the line
 * of the SHA-256. UDPA_ERR_PRECONDITION: it is no such file. UDPA_ERR_IO: it is damaged. */
udpa_err udpai_backup_measure(int fd,
                              const char *path,
                              udpai_backup_facts *ret_facts,
                              char room[UDPAI_BACKUP_MANIFEST_BYTES],
                              unsigned *ret_len,
                              udpa_error **ret_error);

/* Of a backup, to be read; -1: it cannot be. */
int udpai_backup_open(const char *path, udpa_error **ret_error);
/* Measures and hashes; the database alone is written to @p to, unless that is -1. */
udpa_err udpai_backup_check_bytes(
    int fd, const char *path, int to, udpai_backup_facts *ret_facts, udpa_error **ret_error);
/* Checks the file @p database, and counts what it has, which must be what the manifest has, if
 * there is one. @p path: as it is called in messages. */
udpa_err udpai_backup_compare(const char *database,
                              const char *path,
                              udpai_backup_facts *facts,
                              udpa_error **ret_error);

/* Opens it to be read, alone: no file is made beside it. */
udpa_err udpai_backup_open_database(sqlite3 **ret_handle, const char *path, udpa_error **ret_error);
/* Is it one of ours, whole, of a format that we know, and with no code in it? @p path: as it is
 * called in messages. */
udpa_err udpai_backup_check_database(sqlite3 *handle, const char *path, udpa_error **ret_error);
/* Counts what it has: all facts but those that a manifest alone has. */
udpa_err udpai_backup_count(sqlite3 *handle,
                            const char *path,
                            udpai_backup_facts *facts,
                            udpa_error **ret_error);
/* The note that it is a backup, made at this time; it stays if there is one. */
udpa_err udpai_backup_mark(const char *database, const char *made, udpa_error **ret_error);

#endif
