/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the audit: written with what it is about, and kept within its bounds. */
#include "storage/sqlite_db.h"

#define LOOKED_AT "256"

/* What a row takes besides its record, roughly, so that a bound in bytes holds for short ones. */
#define ROW_BYTES 64

udpa_err
udpai_sqlite_audit_measure(udpai_sqlite_db *db, udpa_error **ret_error)
{
    int64_t bytes = 0, n = 0;
    udpa_err err = udpai_sqlite_db_number(
        db, "SELECT coalesce(sum(length(CAST(record AS BLOB))), 0) FROM audit", &bytes, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_db_number(db, "SELECT count(*) FROM audit", &n, ret_error);
    if (err != UDPA_OK)
        return err;
    db->audit.bytes = (uint64_t)bytes + (uint64_t)n * ROW_BYTES;
    db->audit.is_measured = true;
    return UDPA_OK;
}

udpa_err
udpai_sqlite_audit_add(udpai_sqlite_db *db, const udpai_durable_op *op, udpa_error **ret_error)
{
    sqlite3_stmt *statement = db->statements[UDPAI_SQLITE_AUDIT];
    udpai_str record = udpai_bytes_view(op->name);
    bool is_bound = sqlite3_bind_int64(statement, 1, (int64_t)op->number) == SQLITE_OK &&
                    (!op->origin || udpai_sqlite_bind_text(
                                        statement, 2, udpai_bytes_view(op->origin)) == SQLITE_OK) &&
                    udpai_sqlite_bind_text(statement, 3, record) == SQLITE_OK;
    if (!is_bound) {
        sqlite3_clear_bindings(statement);
        return udpai_sqlite_db_fail(db, "write the audit", ret_error);
    }
    udpa_err err = udpai_sqlite_run(db, UDPAI_SQLITE_AUDIT, ret_error);
    if (err != UDPA_OK || sqlite3_changes(db->handle) == 0) /* a replica had it already */
        return err;
    db->audit.bytes += record.len + ROW_BYTES;
    db->audit.n_added++;
    if (db->audit.newest_us < op->number)
        db->audit.newest_us = op->number;
    return UDPA_OK;
}

/* ---- bounds ---- */

/* Some of the oldest rows, up to the last that must go. */
struct old {
    int64_t seq; /* of the last one; 0: none must go */
    uint64_t bytes;
    bool has_more;
};

static bool
must_go(const udpai_sqlite_audit *audit, const struct old *old, int64_t at_us)
{
    uint64_t age_us =
        at_us >= 0 && (uint64_t)at_us < audit->newest_us ? audit->newest_us - (uint64_t)at_us : 0;
    return audit->bytes - old->bytes > audit->max_bytes || age_us > audit->max_age_us;
}

static udpa_err
find_old(udpai_sqlite_db *db, struct old *ret_old, udpa_error **ret_error)
{
    sqlite3_stmt *rows;
    *ret_old = (struct old){0};
    udpa_err err = udpai_sqlite_db_prepare(
        db,
        "SELECT seq, at_us, length(CAST(record AS BLOB)) FROM audit ORDER BY seq LIMIT " LOOKED_AT,
        &rows, ret_error);
    if (err != UDPA_OK)
        return err;
    int step;
    ret_old->has_more = true;
    while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
        if (!must_go(&db->audit, ret_old, sqlite3_column_int64(rows, 1))) {
            ret_old->has_more = false;
            break;
        }
        ret_old->seq = sqlite3_column_int64(rows, 0);
        ret_old->bytes += (uint64_t)sqlite3_column_int64(rows, 2) + ROW_BYTES;
        if (ret_old->bytes > db->audit.bytes) /* a sum that is wrong must not go below nothing */
            db->audit.bytes = ret_old->bytes;
    }
    if (step == SQLITE_DONE)
        ret_old->has_more &= ret_old->seq != 0;
    else if (step != SQLITE_ROW)
        err = udpai_sqlite_db_fail(db, "read the audit", ret_error);
    sqlite3_finalize(rows);
    return err;
}

static udpa_err
delete_old(udpai_sqlite_db *db, const struct old *old, udpa_error **ret_error)
{
    if (old->seq == 0)
        return UDPA_OK;
    if (sqlite3_bind_int64(db->statements[UDPAI_SQLITE_AUDIT_PRUNE], 1, old->seq) != SQLITE_OK)
        return udpai_sqlite_db_fail(db, "write the audit", ret_error);
    udpa_err err = udpai_sqlite_run(db, UDPAI_SQLITE_AUDIT_PRUNE, ret_error);
    if (err == UDPA_OK)
        db->audit.bytes -= old->bytes;
    return err;
}

udpa_err
udpai_sqlite_audit_prune(udpai_sqlite_db *db, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    struct old old = {.has_more = db->audit.n_added > 0};
    if (old.has_more && !db->audit.is_measured)
        err = udpai_sqlite_audit_measure(db, ret_error);
    while (err == UDPA_OK && old.has_more) {
        err = find_old(db, &old, ret_error);
        if (err == UDPA_OK)
            err = delete_old(db, &old, ret_error);
    }
    return err;
}

void
udpai_sqlite_audit_ended(udpai_sqlite_db *db, bool is_committed)
{
    if (is_committed)
        db->audit.n_kept += db->audit.n_added;
    else
        db->audit.is_measured = false;
    db->audit.n_added = 0;
}
