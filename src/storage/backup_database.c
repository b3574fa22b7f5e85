/* SPDX-License-Identifier: Apache-2.0 */
/* The database of a backup, which may be whatever somebody has made. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/percent.h"
#include "storage/backup_file.h"
#include "storage/sqlite_copy.h"
#include "storage/sqlite_db.h"

#define WITH_EPOCH 3 /* formats from these on have it */
#define WITH_AUDIT 4

static udpa_err
fail(sqlite3 *handle, const char *path, udpa_error **ret_error)
{
    int code = sqlite3_errcode(handle) & 0xff;
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        return udpai_fail(ret_error, UDPA_ERR_IO, "%s is damaged: %s; use another backup", path,
                          sqlite3_errmsg(handle));
    return udpai_sqlite_copy_fail(handle, "read", path, ret_error);
}

/* Without a file for its log, or its locks: nobody else changes a backup. */
udpa_err
udpai_backup_open_database(sqlite3 **ret_handle, const char *path, udpa_error **ret_error)
{
    udpai_strbuf uri = {0};
    sqlite3 *handle = NULL;
    udpai_strbuf_puts(&uri, "file:");
    udpai_percent_encode_segment(&uri, udpai_str_from(path));
    udpai_strbuf_puts(&uri, "?mode=ro&immutable=1");
    if (udpai_strbuf_failed(&uri)) {
        udpai_strbuf_done(&uri);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(uri.data, &handle, flags, NULL);
    udpai_strbuf_done(&uri);
    if (code == SQLITE_OK)
        code = sqlite3_exec(handle, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;",
                            NULL, NULL, NULL);
    if (code == SQLITE_OK) {
        *ret_handle = handle;
        return UDPA_OK;
    }
    udpa_err err =
        handle ? fail(handle, path, ret_error) : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    sqlite3_close(handle);
    return err;
}

static udpa_err
text_of(sqlite3 *handle,
        const char *sql,
        const char *path,
        char *room,
        size_t size,
        udpa_error **ret_error)
{
    sqlite3_stmt *row = NULL;
    bool is_read = sqlite3_prepare_v2(handle, sql, -1, &row, NULL) == SQLITE_OK &&
                   sqlite3_step(row) == SQLITE_ROW;
    if (is_read) {
        udpai_str text = udpai_sqlite_column(row, 0);
        snprintf(room, size, "%.*s", (int)udpai_min_size(text.len, size - 1), text.data);
    }
    udpa_err err = is_read ? UDPA_OK : fail(handle, path, ret_error);
    sqlite3_finalize(row);
    return err;
}

static udpa_err
number_of(sqlite3 *handle,
          const char *sql,
          const char *path,
          uint64_t *ret_number,
          udpa_error **ret_error)
{
    char text[24];
    udpa_err err = text_of(handle, sql, path, text, sizeof(text), ret_error);
    if (err == UDPA_OK && !udpai_str_number(udpai_str_from(text), ret_number))
        *ret_number = 0;
    return err;
}

/* ---- is it good? ---- */

udpa_err
udpai_backup_check_database(sqlite3 *handle, const char *path, udpa_error **ret_error)
{
    char words[256] = "";
    uint64_t application = 0, format = 0, n_programs = 0;
    udpa_err err = number_of(handle, "PRAGMA application_id", path, &application, ret_error);
    if (err == UDPA_OK)
        err = number_of(handle, "PRAGMA user_version", path, &format, ret_error);
    if (err != UDPA_OK)
        return err;
    if (application != UDPAI_SQLITE_APPLICATION || format < 1)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "%s is a database of another program: 'udpactl backup FILE' makes a "
                          "backup of a node",
                          path);
    if (format > UDPAI_SQLITE_FORMAT)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "%s was written by a newer udpad (format %" PRIu64
                          ", this one knows %d): use that version",
                          path, format, UDPAI_SQLITE_FORMAT);
    err = text_of(handle, "PRAGMA integrity_check(1)", path, words, sizeof(words), ret_error);
    if (err == UDPA_OK && strcmp(words, "ok") != 0)
        err = udpai_fail(ret_error, UDPA_ERR_IO, "%s is damaged: %s; use another backup", path,
                         words);
    if (err == UDPA_OK)
        err = number_of(handle,
                        "SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')",
                        path, &n_programs, ret_error);
    if (err == UDPA_OK && n_programs)
        err = udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                         "%s has triggers or views, which no udpad makes, so it was changed; "
                         "use another backup",
                         path);
    return err;
}

/* ---- what it has ---- */

udpa_err
udpai_backup_count(sqlite3 *handle,
                   const char *path,
                   udpai_backup_facts *facts,
                   udpa_error **ret_error)
{
    udpai_backup_manifest *manifest = &facts->manifest;

    const struct {
        uint64_t since;
        const char *sql;
        uint64_t *number;
    } counts[] = {
        {0, "PRAGMA user_version", &manifest->format},
        {1, "SELECT count(*) FROM contribution WHERE origin NOT LIKE 'said:%'",
         &manifest->n_resources},
        {1, "SELECT count(*) FROM contribution WHERE secret <> 0", &facts->n_secrets},
        {1, "SELECT count(*) FROM contribution WHERE origin LIKE 'said:%'", &facts->n_removals},
        {1, "SELECT count(DISTINCT origin) FROM contribution WHERE origin NOT LIKE 'said:%'",
         &facts->n_origins},
        {WITH_EPOCH, "SELECT number FROM epoch", &manifest->commit},
        {WITH_AUDIT, "SELECT count(*) FROM audit", &manifest->n_audit},
    };

    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(counts) && err == UDPA_OK; i++)
        if (counts[i].since <= manifest->format)
            err = number_of(handle, counts[i].sql, path, counts[i].number, ret_error);
    if (err == UDPA_OK && manifest->format >= WITH_EPOCH)
        err = text_of(handle, "SELECT epoch FROM epoch", path, manifest->epoch,
                      sizeof(manifest->epoch), ret_error);
    return err;
}

/* ---- the note ---- */

/* It is flushed with all of the file, by the caller. */
static const char note[] = "INSERT OR IGNORE INTO setting VALUES ('" UDPAI_SQLITE_BACKUP "', ?1)";

udpa_err
udpai_backup_mark(const char *database, const char *made, udpa_error **ret_error)
{
    sqlite3 *handle = NULL;
    sqlite3_stmt *statement = NULL;
    bool is_done = sqlite3_open_v2(database, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                                   NULL) == SQLITE_OK &&
                   sqlite3_exec(handle,
                                "PRAGMA trusted_schema = OFF; PRAGMA journal_mode = OFF;"
                                "PRAGMA synchronous = OFF;",
                                NULL, NULL, NULL) == SQLITE_OK &&
                   sqlite3_prepare_v2(handle, note, -1, &statement, NULL) == SQLITE_OK &&
                   sqlite3_bind_text(statement, 1, made, -1, SQLITE_STATIC) == SQLITE_OK &&
                   sqlite3_step(statement) == SQLITE_DONE;
    udpa_err err = is_done  ? UDPA_OK
                   : handle ? udpai_sqlite_copy_fail(handle, "write", database, ret_error)
                            : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return err;
}
