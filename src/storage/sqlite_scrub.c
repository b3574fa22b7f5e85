/* SPDX-License-Identifier: Apache-2.0 */
/* A type may become secret after resources of it were kept in plain text. Then they are encrypted,
 * or without a key deleted, and the files rewritten so that neither free pages nor the log hold the
 * text any more. A note in the database makes this start again if it is cut off.
 *
 * What the file system or the disk keep of blocks that files gave back is beyond us. */
#include "base/log.h"
#include "storage/sqlite_db.h"

#define PLAIN_SECRETS "FROM contribution WHERE secret = 0 AND udpa_is_secret(type_url)"

static void
is_secret(sqlite3_context *context, int n_values, sqlite3_value **values)
{
    (void)n_values;
    const udpai_sqlite_db *db = sqlite3_user_data(context);
    const char *data = sqlite3_value_blob(values[0]);
    udpai_str type_url = {data, data ? (size_t)sqlite3_value_bytes(values[0]) : 0};
    sqlite3_result_int(context, udpai_sqlite_db_is_secret(db, type_url));
}

/* Columns of both statements: rowid, origin, type, name, data; and data, digest, rowid. */
static udpa_err
seal_row(udpai_sqlite_db *db, sqlite3_stmt *row, sqlite3_stmt *update, udpa_error **ret_error)
{
    const udpai_seal_place place = {
        .origin = udpai_sqlite_column(row, 1),
        .type_url = udpai_sqlite_column(row, 2),
        .name = udpai_sqlite_column(row, 3),
    };
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *sealed = NULL;
    udpa_err err = udpai_seal(&db->sealer, &place, udpai_sqlite_column(row, 4), &sealed, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_str data = udpai_bytes_view(sealed);
    int64_t digest = udpai_sqlite_row_digest(&place, data);
    bool done = sqlite3_bind_blob64(update, 1, data.data, data.len, SQLITE_STATIC) == SQLITE_OK &&
                sqlite3_bind_int64(update, 2, digest) == SQLITE_OK &&
                sqlite3_bind_int64(update, 3, sqlite3_column_int64(row, 0)) == SQLITE_OK &&
                sqlite3_step(update) == SQLITE_DONE;
    if (!done)
        err = udpai_sqlite_db_fail(db, "encrypt what it holds", ret_error);
    sqlite3_reset(update);
    sqlite3_clear_bindings(update);
    return err;
}

static udpa_err
seal_rows(udpai_sqlite_db *db, udpa_error **ret_error)
{
    sqlite3_stmt *rows = NULL, *update = NULL;
    udpa_err err = udpai_sqlite_db_prepare(
        db, "SELECT rowid, origin, type_url, name, data " PLAIN_SECRETS, &rows, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_db_prepare(db,
                                      "UPDATE contribution SET secret = 1, version = NULL,"
                                      " data = ?1, digest = ?2 WHERE rowid = ?3",
                                      &update, ret_error);
    int step = SQLITE_DONE;
    while (err == UDPA_OK && (step = sqlite3_step(rows)) == SQLITE_ROW)
        err = seal_row(db, rows, update, ret_error);
    if (err == UDPA_OK && step != SQLITE_DONE)
        err = udpai_sqlite_db_fail(db, "read the database", ret_error);
    sqlite3_finalize(rows);
    sqlite3_finalize(update);
    return err;
}

static udpa_err
seal_or_delete(udpai_sqlite_db *db, udpa_error **ret_error)
{
    udpa_err err = udpai_sqlite_db_exec(
        db, "BEGIN IMMEDIATE; INSERT OR REPLACE INTO setting VALUES ('scrub', 'pending');",
        ret_error);
    if (err != UDPA_OK)
        return err;
    err = db->sealer.n_keys ? seal_rows(db, ret_error)
                            : udpai_sqlite_db_exec(db, "DELETE " PLAIN_SECRETS, ret_error);
    if (err == UDPA_OK)
        return udpai_sqlite_db_exec(db, "COMMIT", ret_error);
    if (!sqlite3_get_autocommit(db->handle))
        (void)udpai_sqlite_db_exec(db, "ROLLBACK", NULL);
    return err;
}

/* Everything that is left is written anew, then the log is emptied. */
static udpa_err
rewrite(udpai_sqlite_db *db, udpa_error **ret_error)
{
    int64_t blocked = 0;
    udpa_err err = udpai_sqlite_db_exec(db, "VACUUM", ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_db_number(db, "PRAGMA wal_checkpoint(TRUNCATE)", &blocked, ret_error);
    if (err == UDPA_OK && blocked)
        err = udpai_fail(ret_error, UDPA_ERR_IO,
                         "%s: cannot wipe the plain text of resources that are secret now: another "
                         "program reads the database; close it",
                         db->path);
    return err == UDPA_OK
               ? udpai_sqlite_db_exec(db, "DELETE FROM setting WHERE name = 'scrub'", ret_error)
               : err;
}

udpa_err
udpai_sqlite_scrub(udpai_sqlite_db *db, udpa_error **ret_error)
{
    int64_t n_plain = 0, pending = 0;
    if (sqlite3_create_function(db->handle, "udpa_is_secret", 1, SQLITE_UTF8, db, is_secret, NULL,
                                NULL) != SQLITE_OK)
        return udpai_sqlite_db_fail(db, "add a function", ret_error);
    udpa_err err =
        udpai_sqlite_db_number(db, "SELECT count(*) " PLAIN_SECRETS, &n_plain, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_db_number(db, "SELECT count(*) FROM setting WHERE name = 'scrub'",
                                     &pending, ret_error);
    if (err != UDPA_OK || (!n_plain && !pending))
        return err;
    udpai_log(UDPA_LOG_WARNING, UDPAI_SQLITE_LOG,
              "%s: %lld resources of types that are secret now were kept in plain text: %s",
              db->path, (long long)n_plain,
              db->sealer.n_keys ? "they are encrypted" : "there is no key, so they are deleted");
    err = seal_or_delete(db, ret_error);
    return err == UDPA_OK ? rewrite(db, ret_error) : err;
}
