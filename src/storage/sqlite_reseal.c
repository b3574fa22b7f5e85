/* SPDX-License-Identifier: Apache-2.0 */
/* After a change of keys, so that the old ones can be removed. */
#include "base/log.h"
#include "storage/sqlite_db.h"

/* The id is behind a byte (seal.h). */
#define OTHERS "FROM contribution WHERE secret = 1 AND substr(CAST(data AS BLOB), 2, ?1) <> ?2"

typedef struct work {
    udpai_sqlite_db *db;
    const udpai_sealer *before;
    sqlite3_stmt *update;
    size_t n_done, n_left;
} work;

static udpa_err
unseal(const work *self,
       const udpai_seal_place *place,
       udpai_str sealed,
       udpa_bytes **ret_plain,
       udpa_error **ret_error)
{
    udpa_err err = udpai_unseal(&self->db->sealer, place, sealed, ret_plain, ret_error);
    if (err != UDPA_ERR_PRECONDITION || !self->before)
        return err;
    udpa_error_unref(*ret_error);
    *ret_error = NULL;
    return udpai_unseal(self->before, place, sealed, ret_plain, ret_error);
}

static udpa_err
write_row(const work *self,
          sqlite3_stmt *row,
          const udpai_seal_place *place,
          const udpa_bytes *sealed,
          udpa_error **ret_error)
{
    udpai_str data = udpai_bytes_view(sealed);
    udpa_err err = UDPA_OK;
    bool done =
        sqlite3_bind_blob64(self->update, 1, data.data, data.len, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_bind_int64(self->update, 2, udpai_sqlite_row_digest(place, data)) == SQLITE_OK &&
        sqlite3_bind_int64(self->update, 3, sqlite3_column_int64(row, 0)) == SQLITE_OK &&
        sqlite3_step(self->update) == SQLITE_DONE;
    if (!done)
        err = udpai_sqlite_db_fail(self->db, "encrypt what it holds anew", ret_error);
    sqlite3_reset(self->update);
    sqlite3_clear_bindings(self->update);
    return err;
}

/* Columns: rowid, origin, type, name, data. What cannot be opened is left as it is. */
static udpa_err
reseal_row(work *self, sqlite3_stmt *row, udpa_error **ret_error)
{
    const udpai_seal_place place = {
        .origin = udpai_sqlite_column(row, 1),
        .type_url = udpai_sqlite_column(row, 2),
        .name = udpai_sqlite_column(row, 3),
    };
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *plain = NULL, *sealed = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = unseal(self, &place, udpai_sqlite_column(row, 4), &plain, &error);
    if (err == UDPA_ERR_NOMEM)
        return udpai_fail_code(ret_error, err);
    if (err != UDPA_OK) {
        self->n_left++;
        return UDPA_OK;
    }
    err = udpai_seal(&self->db->sealer, &place, udpai_bytes_view(plain), &sealed, ret_error);
    if (err == UDPA_OK)
        err = write_row(self, row, &place, sealed, ret_error);
    self->n_done += err == UDPA_OK;
    return err;
}

static udpa_err
reseal_rows(work *self, sqlite3_stmt *rows, udpa_error **ret_error)
{
    const udpai_seal_key *first = &self->db->sealer.keys[0];
    udpa_err err = UDPA_OK;
    int step = SQLITE_DONE;
    if (sqlite3_bind_int(rows, 1, UDPAI_SEAL_KEY_ID_SIZE) != SQLITE_OK ||
        sqlite3_bind_blob(rows, 2, first->id, UDPAI_SEAL_KEY_ID_SIZE, SQLITE_STATIC) != SQLITE_OK)
        return udpai_sqlite_db_fail(self->db, "read the database", ret_error);
    while (err == UDPA_OK && (step = sqlite3_step(rows)) == SQLITE_ROW)
        err = reseal_row(self, rows, ret_error);
    if (err == UDPA_OK && step != SQLITE_DONE)
        err = udpai_sqlite_db_fail(self->db, "read the database", ret_error);
    return err;
}

static udpa_err
reseal(work *self, udpa_error **ret_error)
{
    sqlite3_stmt *rows = NULL;
    udpa_err err = udpai_sqlite_db_prepare(
        self->db, "SELECT rowid, origin, type_url, name, data " OTHERS, &rows, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_db_prepare(
            self->db, "UPDATE contribution SET data = ?1, digest = ?2 WHERE rowid = ?3",
            &self->update, ret_error);
    if (err == UDPA_OK)
        err = reseal_rows(self, rows, ret_error);
    sqlite3_finalize(rows);
    sqlite3_finalize(self->update);
    return err;
}

udpa_err
udpai_sqlite_reseal(udpai_sqlite_db *db, const udpai_sealer *before, udpa_error **ret_error)
{
    work self = {.db = db, .before = before};
    if (db->sealer.n_keys == 0)
        return UDPA_OK;
    udpa_err err = udpai_sqlite_db_exec(db, "BEGIN IMMEDIATE", ret_error);
    if (err != UDPA_OK)
        return err;
    err = reseal(&self, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_db_exec(db, "COMMIT", ret_error);
    if (err != UDPA_OK && !sqlite3_get_autocommit(db->handle))
        (void)udpai_sqlite_db_exec(db, "ROLLBACK", NULL);
    if (err == UDPA_OK && self.n_done)
        udpai_log(UDPA_LOG_INFO, UDPAI_SQLITE_LOG,
                  "%s: %zu secrets are encrypted with the first key of store.keys now", db->path,
                  self.n_done);
    if (err == UDPA_OK && self.n_left && before)
        udpai_log(UDPA_LOG_WARNING, UDPAI_SQLITE_LOG,
                  "%s: %zu secrets are left as they are: no key of store.keys decrypts them",
                  db->path, self.n_left);
    return err;
}
