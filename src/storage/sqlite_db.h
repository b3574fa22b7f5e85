/* SPDX-License-Identifier: Apache-2.0 */
/* The database file under the SQLite engine: its directory, lock, schema and statements. Used by
 * one thread at a time. Private to the files sqlite*.c of this folder. */
#ifndef UDPAI_SQLITE_DB_H
#define UDPAI_SQLITE_DB_H

#include <sqlite3.h>
#include <stdatomic.h>

#include "storage/sqlite.h"

#define UDPAI_SQLITE_LOG "storage"
#define UDPAI_SQLITE_APPLICATION 1969516641 /* "udpa" */
#define UDPAI_SQLITE_FORMAT 4               /* of the tables; PRAGMA user_version */
#define UDPAI_SQLITE_BACKUP "backup"        /* the setting that a backup has; its value: of when */

typedef enum udpai_sqlite_statement {
    UDPAI_SQLITE_BEGIN,
    UDPAI_SQLITE_COMMIT,
    UDPAI_SQLITE_ROLLBACK,
    UDPAI_SQLITE_PUT,
    UDPAI_SQLITE_DELETE,
    UDPAI_SQLITE_MARK,
    UDPAI_SQLITE_UNMARK,
    UDPAI_SQLITE_USE,
    UDPAI_SQLITE_DISUSE,
    UDPAI_SQLITE_HOLD,
    UDPAI_SQLITE_RELEASE,
    UDPAI_SQLITE_SEEN,
    UDPAI_SQLITE_EPOCH,
    UDPAI_SQLITE_NUMBER,
    UDPAI_SQLITE_AUDIT,
    UDPAI_SQLITE_AUDIT_PRUNE,
    UDPAI_SQLITE_FORGET_CONTRIBUTIONS,
    UDPAI_SQLITE_FORGET_MARKS,
    UDPAI_SQLITE_FORGET_USES,
    UDPAI_SQLITE_FORGET_HOLDS,
    UDPAI_SQLITE_FORGET_SEEN,
    UDPAI_SQLITE_STATEMENTS,
} udpai_sqlite_statement;

/* The table of the audit, as it is within the transaction. */
typedef struct udpai_sqlite_audit {
    atomic_uint_fast64_t max_bytes, max_age_us;
    uint64_t bytes;     /* of all records */
    uint64_t newest_us; /* of this process; 0: there is none */
    bool is_measured;   /* the bytes are right: no transaction has failed since */
    uint64_t n_added;   /* records, in this transaction … */
    uint64_t n_kept;    /* … and in all before it, of this process */
} udpai_sqlite_audit;

typedef struct udpai_sqlite_db {
    sqlite3 *handle;
    sqlite3_stmt *statements[UDPAI_SQLITE_STATEMENTS];
    char *directory, *path; /* of the database file */
    int lock_fd;            /* -1: not locked */
    udpai_sealer sealer;
    UDPAI_VECTOR(char *) secret_messages; /* names of message types */
    uint64_t n_before;                    /* commits, by all processes before this one */
    udpai_sqlite_audit audit;
    char *release;     /* of the program; NULL: not known */
    bool was_backup;   /* before it was opened */
    bool keeps_format; /* one of another format is not brought to this one's */
    unsigned busy_ms;
    udpa_error *loss; /* what was seen to be lost; NULL: nothing */
} udpai_sqlite_db;

/* A failed open leaves nothing to close. */
udpa_err udpai_sqlite_db_open(udpai_sqlite_db *db,
                              const udpai_sqlite_options *options,
                              udpa_error **ret_error);
/* Writes the log back into the database, closes and unlocks it. */
void udpai_sqlite_db_close(udpai_sqlite_db *db);

/* The same, to be opened again: its options stay. */
void udpai_sqlite_db_leave(udpai_sqlite_db *db);
/* Nothing else has changed what is in it meanwhile. On an error it is as it was left. */
udpa_err udpai_sqlite_db_return(udpai_sqlite_db *db, udpa_error **ret_error);

/* Reports what SQLite reported last on this handle, with what to do about it. */
udpa_err udpai_sqlite_db_fail(udpai_sqlite_db *db, const char *what, udpa_error **ret_error);
/* Runs SQL that gives no rows. */
udpa_err udpai_sqlite_db_exec(udpai_sqlite_db *db, const char *sql, udpa_error **ret_error);
udpa_err udpai_sqlite_db_prepare(udpai_sqlite_db *db,
                                 const char *sql,
                                 sqlite3_stmt **ret_statement,
                                 udpa_error **ret_error);
/* The single integer that a query gives. */
udpa_err udpai_sqlite_db_number(udpai_sqlite_db *db,
                                const char *sql,
                                int64_t *ret_number,
                                udpa_error **ret_error);

/* Binds text; what is not UTF-8 is bound as a blob, so that the shell shows the one and no key is
 * ever cut at a zero byte. Borrowed until the statement is reset. */
int udpai_sqlite_bind_text(sqlite3_stmt *statement, int index, udpai_str text);
/* Text or blob; borrowed until the next step. */
udpai_str udpai_sqlite_column(sqlite3_stmt *statement, int index);

/* Runs a statement that gives no rows, and makes it ready for its next use. */
udpa_err
udpai_sqlite_run(udpai_sqlite_db *db, udpai_sqlite_statement statement, udpa_error **ret_error);
/* Detects damage that SQLite does not see. */
int64_t udpai_sqlite_row_digest(const udpai_seal_place *place, udpai_str data);

bool udpai_sqlite_db_is_secret(const udpai_sqlite_db *db, udpai_str type_url);

/* In sqlite_lock.c: makes the directory and takes its lock. */
udpa_err udpai_sqlite_lock(const char *directory, int *ret_fd, udpa_error **ret_error);

/* In sqlite_loss.c: before it is opened, the evidence that something which was kept is not there;
 * NULL: there is none. */
udpa_error *udpai_sqlite_find_loss(const udpai_sqlite_db *db);
/* From now on an empty database is a loss. */
udpa_err udpai_sqlite_note_made(const udpai_sqlite_db *db, udpa_error **ret_error);

/* In sqlite_scrub.c: whatever became secret since it was written is encrypted, or deleted if there
 * is no key, and its plain text wiped from the files. */
udpa_err udpai_sqlite_scrub(udpai_sqlite_db *db, udpa_error **ret_error);

/* In sqlite_reseal.c: what another key than the first one has sealed is sealed with that. @p
 * before: has keys that open it, too; NULL: none. What no key opens stays, and is not an error. */
udpa_err
udpai_sqlite_reseal(udpai_sqlite_db *db, const udpai_sealer *before, udpa_error **ret_error);

/* In sqlite_write.c: the ops of a batch, within a transaction. */
udpa_err
udpai_sqlite_apply(udpai_sqlite_db *db, const udpai_durable_batch *batch, udpa_error **ret_error);
/* Notes, with what else is in the transaction, which ticket is the last that it has. */
udpa_err udpai_sqlite_note_number(udpai_sqlite_db *db, uint64_t ticket, udpa_error **ret_error);

/* In sqlite_audit.c: adds a record, within a transaction. */
udpa_err
udpai_sqlite_audit_add(udpai_sqlite_db *db, const udpai_durable_op *op, udpa_error **ret_error);
/* As the last of a transaction that may have added some: deletes the oldest beyond the bounds. */
udpa_err udpai_sqlite_audit_prune(udpai_sqlite_db *db, udpa_error **ret_error);
void udpai_sqlite_audit_ended(udpai_sqlite_db *db, bool is_committed);
/* How much there is, once it is open. */
udpa_err udpai_sqlite_audit_measure(udpai_sqlite_db *db, udpa_error **ret_error);

/* In sqlite_load.c. */
udpa_err udpai_sqlite_load(udpai_sqlite_db *db,
                           udpai_durable_load_fn fn,
                           void *userdata,
                           udpai_sqlite_stats *stats,
                           udpa_error **ret_error);

#endif
