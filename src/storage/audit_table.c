/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/audit_table.h"

#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/sqlite_db.h"

struct udpai_audit_table {
    udpai_sqlite_db db; /* without a lock, and with none of its statements */
    char id[UDPAI_AUDIT_ID_MAX];
};

static udpa_err
read_id(udpai_audit_table *table, udpa_error **ret_error)
{
    sqlite3_stmt *row;
    udpa_err err = udpai_sqlite_db_prepare(
        &table->db, "SELECT value FROM setting WHERE name = 'audit'", &row, ret_error);
    if (err != UDPA_OK)
        return err;
    int step = sqlite3_step(row);
    udpai_str id = step == SQLITE_ROW ? udpai_sqlite_column(row, 0) : (udpai_str){0};
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        err = udpai_sqlite_db_fail(&table->db, "read the audit", ret_error);
    else if (id.len == 0 || id.len >= sizeof(table->id))
        err = udpai_fail(ret_error, UDPA_ERR_PRECONDITION, "%s has no audit", table->db.path);
    else
        snprintf(table->id, sizeof(table->id), "%.*s", (int)id.len, id.data);
    sqlite3_finalize(row);
    return err;
}

static udpa_err
open_file(udpai_audit_table *table, const char *directory, udpa_error **ret_error)
{
    udpai_sqlite_db *db = &table->db;
    udpai_strbuf path = {0};
    udpai_strbuf_printf(&path, "%s/" UDPAI_SQLITE_FILE, directory);
    db->path = udpai_strbuf_take(&path);
    if (!db->path)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (access(db->path, F_OK) != 0)
        return udpai_fail(ret_error, UDPA_ERR_NOT_FOUND, "%s is not there", db->path);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(db->path, &db->handle, flags, NULL) != SQLITE_OK)
        return db->handle ? udpai_sqlite_db_fail(db, "open the database", ret_error)
                          : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    sqlite3_busy_timeout(db->handle, UDPAI_SQLITE_BUSY_MS);
    return udpai_sqlite_db_exec(db, "PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;",
                                ret_error);
}

udpa_err
udpai_audit_table_open(udpai_audit_table **ret_table, const char *directory, udpa_error **ret_error)
{
    udpai_audit_table *table = udpai_alloc(sizeof(*table));
    if (!table)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    table->db.lock_fd = -1;
    udpa_err err = open_file(table, directory, ret_error);
    if (err == UDPA_OK)
        err = read_id(table, ret_error);
    if (err != UDPA_OK) {
        udpai_audit_table_close(table);
        return err;
    }
    *ret_table = table;
    return UDPA_OK;
}

void
udpai_audit_table_close(udpai_audit_table *table)
{
    if (!table)
        return;
    udpai_sqlite_db_close(&table->db);
    udpai_free(table);
}

const char *
udpai_audit_table_id(const udpai_audit_table *table)
{
    return table->id;
}

udpa_err
udpai_audit_table_last(udpai_audit_table *table, int64_t *ret_seq, udpa_error **ret_error)
{
    return udpai_sqlite_db_number(&table->db, "SELECT coalesce(max(seq), 0) FROM audit", ret_seq,
                                  ret_error);
}

static udpa_err
read_rows(udpai_audit_table *table,
          sqlite3_stmt *rows,
          udpai_audit_row_fn fn,
          void *userdata,
          udpa_error **ret_error)
{
    int step;
    bool goes_on = true;
    while (goes_on && (step = sqlite3_step(rows)) == SQLITE_ROW) {
        const udpai_audit_row row = {
            .seq = sqlite3_column_int64(rows, 0),
            .at_us = sqlite3_column_int64(rows, 1),
            .source = udpai_sqlite_column(rows, 2),
            .record = udpai_sqlite_column(rows, 3),
            .actor = udpai_sqlite_column(rows, 4),
            .name = udpai_sqlite_column(rows, 5),
        };
        goes_on = fn(userdata, &row);
    }
    return !goes_on || step == SQLITE_DONE
               ? UDPA_OK
               : udpai_sqlite_db_fail(&table->db, "read the audit", ret_error);
}

#define COLUMNS                                                                                    \
    "SELECT seq, at_us, source, record,"                                                           \
    " CASE WHEN json_valid(record) THEN json_extract(record, '$.actor') END,"                      \
    " CASE WHEN json_valid(record) THEN json_extract(record, '$.name') END FROM audit "

static udpa_err
read_from(udpai_audit_table *table,
          const char *sql,
          int64_t bound,
          udpai_audit_row_fn fn,
          void *userdata,
          udpa_error **ret_error)
{
    sqlite3_stmt *rows;
    udpa_err err = udpai_sqlite_db_prepare(&table->db, sql, &rows, ret_error);
    if (err != UDPA_OK)
        return err;
    if (sqlite3_bind_int64(rows, 1, bound) != SQLITE_OK)
        err = udpai_sqlite_db_fail(&table->db, "read the audit", ret_error);
    else
        err = read_rows(table, rows, fn, userdata, ret_error);
    sqlite3_finalize(rows);
    return err;
}

udpa_err
udpai_audit_table_read(udpai_audit_table *table,
                       int64_t after,
                       udpai_audit_row_fn fn,
                       void *userdata,
                       udpa_error **ret_error)
{
    return read_from(table, COLUMNS "WHERE seq > ?1 ORDER BY seq", after, fn, userdata, ret_error);
}

udpa_err
udpai_audit_table_read_back(udpai_audit_table *table,
                            int64_t before,
                            udpai_audit_row_fn fn,
                            void *userdata,
                            udpa_error **ret_error)
{
    return read_from(table, COLUMNS "WHERE seq < ?1 ORDER BY seq DESC", before ? before : INT64_MAX,
                     fn, userdata, ret_error);
}
