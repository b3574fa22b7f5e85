/* SPDX-License-Identifier: Apache-2.0 */
/* A backup of a store, and what becomes of it. It is one file: the database, whole and by itself,
 * and behind its last page a block of text, the manifest, with the SHA-256 of all before it. SQLite
 * does not look at the block, so the sqlite3 shell reads a backup as it is. Secrets are in it as
 * the store has them; their key is not.
 *
 * A note in the database tells that it is a backup. So a node that opens it, however it came to its
 * place, begins another epoch: to all others it is another store, and what that lacks is held. */
#ifndef UDPAI_BACKUP_H
#define UDPAI_BACKUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/util.h"
#include "storage/backup_manifest.h"

typedef struct udpai_backup_request {
    const char *directory; /* of the store, which may be in use */
    const char *path;      /* of the new file */
    const char *release;   /* of the program */
    udpai_str node;        /* its id */
    udpai_str instance;
    int64_t made_us;             /* since 1970 */
    const atomic_bool *is_ended; /* makes it give up */
} udpai_backup_request;

/* Makes the file, with mode 0600, and flushes it to the disk. It waits for the disk, for a long
 * time where there is much; neither readers nor the writer of the store wait for it. On failure
 * there is no file. UDPA_ERR_EXISTS: there was one. Any thread. */
udpa_err udpai_backup_make(const udpai_backup_request *request,
                           udpai_backup_manifest *ret_manifest,
                           udpa_error **ret_error);

/* What a process that was killed has left of one that it made there. */
void udpai_backup_remove(const char *path);

typedef struct udpai_backup_facts {
    udpai_backup_manifest manifest; /* without one only what the database itself has */
    bool has_manifest;              /* no: the file is a database, copied by another program */
    uint64_t n_secrets, n_removals, n_origins;
} udpai_backup_facts;

/* Reads all of it, and changes nothing. UDPA_ERR_IO: it cannot be read, or is damaged.
 * UDPA_ERR_PRECONDITION: it is no backup, or of a newer udpad. */
udpa_err
udpai_backup_check(const char *path, udpai_backup_facts *ret_facts, udpa_error **ret_error);

/* Gives a file its name, on the disk too; another one that has the name stays. UDPA_ERR_EXISTS:
 * there is one. */
udpa_err udpai_backup_name(const char *from, const char *path, udpa_error **ret_error);

/* Has the directory a store, or what is left of one? */
bool udpai_backup_has_store(const char *directory);

/* Makes it the store of a directory, which is made if its parent exists, and has none.
 * UDPA_ERR_PRECONDITION: it has one, or a process uses it; and as udpai_backup_check(). On failure
 * the directory has no other store than before. */
udpa_err udpai_backup_restore(const char *path,
                              const char *directory,
                              udpai_backup_facts *ret_facts,
                              udpa_error **ret_error);

#endif
