/* SPDX-License-Identifier: Apache-2.0 */
/* Work for the database, op by op, within a transaction that the engine begins and ends. */
#include "storage/sqlite_db.h"
#include "wire/entry.h"

/* A type URL is kept with a NUL behind it. */
static udpai_str
type_text(const udpa_bytes *type)
{
    udpai_str text = {"", 0};
    if (type && udpa_bytes_size(type))
        text = (udpai_str){udpa_bytes_data(type), udpa_bytes_size(type) - 1};
    return text;
}

static udpai_str
text_of(const udpa_bytes *bytes)
{
    return bytes ? udpai_bytes_view(bytes) : (udpai_str){"", 0};
}

/* Binds up to three texts, which is what all keys are, and runs the statement. */
static udpa_err
run_with(udpai_sqlite_db *db,
         udpai_sqlite_statement statement,
         const udpai_str *texts,
         int n_texts,
         udpa_error **ret_error)
{
    for (int i = 0; i < n_texts; i++)
        if (udpai_sqlite_bind_text(db->statements[statement], i + 1, texts[i]) != SQLITE_OK)
            return udpai_sqlite_db_fail(db, "write the database", ret_error);
    return udpai_sqlite_run(db, statement, ret_error);
}

static udpa_err
delete_row(udpai_sqlite_db *db, const udpai_seal_place *place, udpa_error **ret_error)
{
    const udpai_str key[] = {place->origin, place->type_url, place->name};
    return run_with(db, UDPAI_SQLITE_DELETE, key, UDPAI_ARRAY_LEN(key), ret_error);
}

/* The columns that are there to be looked at; the resource itself is in the data. */
static bool
bind_columns(sqlite3_stmt *statement, const udpai_durable_op *op, bool secret)
{
    udpai_str version = udpai_resource_version(op->resource);
    udpai_str authority = udpai_resource_authority(op->resource);
    uint64_t generation = udpa_resource_generation(op->resource);
    if (generation > INT64_MAX)
        generation = INT64_MAX;
    return (secret || udpai_sqlite_bind_text(statement, 4, version) == SQLITE_OK) &&
           udpai_sqlite_bind_text(statement, 5, authority) == SQLITE_OK &&
           sqlite3_bind_int64(statement, 6, (int64_t)generation) == SQLITE_OK &&
           sqlite3_bind_int64(statement, 7, op->expires_us) == SQLITE_OK &&
           sqlite3_bind_int(statement, 8, secret) == SQLITE_OK;
}

static udpa_err
put_row(udpai_sqlite_db *db,
        const udpai_durable_op *op,
        const udpai_seal_place *place,
        udpai_str data,
        bool secret,
        udpa_error **ret_error)
{
    sqlite3_stmt *statement = db->statements[UDPAI_SQLITE_PUT];
    if (!bind_columns(statement, op, secret) ||
        sqlite3_bind_int64(statement, 9, udpai_sqlite_row_digest(place, data)) != SQLITE_OK ||
        sqlite3_bind_blob64(statement, 10, data.data, data.len, SQLITE_STATIC) != SQLITE_OK) {
        sqlite3_clear_bindings(statement);
        return udpai_sqlite_db_fail(db, "write the database", ret_error);
    }
    const udpai_str key[] = {place->origin, place->type_url, place->name};
    return run_with(db, UDPAI_SQLITE_PUT, key, UDPAI_ARRAY_LEN(key), ret_error);
}

static udpa_err
put(udpai_sqlite_db *db, const udpai_durable_op *op, udpa_error **ret_error)
{
    const udpai_seal_place place = {
        .origin = text_of(op->origin),
        .type_url = udpai_resource_type_url(op->resource),
        .name = udpai_resource_name(op->resource),
    };
    bool secret = udpai_sqlite_db_is_secret(db, place.type_url);
    if (secret && !db->sealer.n_keys) /* not kept, nor what it replaces */
        return delete_row(db, &place, ret_error);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *data = udpai_entry_encode(op->resource, udpa_resource_ttl_ms(op->resource));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *sealed = NULL;
    if (!data)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (!secret)
        return put_row(db, op, &place, udpai_bytes_view(data), false, ret_error);
    udpa_err err = udpai_seal(&db->sealer, &place, udpai_bytes_view(data), &sealed, ret_error);
    return err == UDPA_OK ? put_row(db, op, &place, udpai_bytes_view(sealed), true, ret_error)
                          : err;
}

static udpa_err
forget(udpai_sqlite_db *db, const udpai_str *origin, udpa_error **ret_error)
{
    static const udpai_sqlite_statement statements[] = {
        UDPAI_SQLITE_FORGET_CONTRIBUTIONS, UDPAI_SQLITE_FORGET_MARKS, UDPAI_SQLITE_FORGET_USES,
        UDPAI_SQLITE_FORGET_HOLDS, UDPAI_SQLITE_FORGET_SEEN};
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(statements) && err == UDPA_OK; i++)
        err = run_with(db, statements[i], origin, 1, ret_error);
    return err;
}

static udpa_err
note_seen(udpai_sqlite_db *db,
          const udpai_durable_op *op,
          const udpai_str *key,
          udpa_error **ret_error)
{
    sqlite3_stmt *statement = db->statements[UDPAI_SQLITE_SEEN];
    if (sqlite3_bind_int64(statement, 4, (int64_t)op->number) != SQLITE_OK)
        return udpai_sqlite_db_fail(db, "write the database", ret_error);
    return run_with(db, UDPAI_SQLITE_SEEN, key, 3, ret_error);
}

static udpa_err
begin_epoch(udpai_sqlite_db *db, const udpai_durable_op *op, udpa_error **ret_error)
{
    const udpai_str epoch = text_of(op->name);
    if (sqlite3_bind_int(db->statements[UDPAI_SQLITE_EPOCH], 2, op->is_whole) != SQLITE_OK)
        return udpai_sqlite_db_fail(db, "write the database", ret_error);
    return run_with(db, UDPAI_SQLITE_EPOCH, &epoch, 1, ret_error);
}

udpa_err
udpai_sqlite_note_number(udpai_sqlite_db *db, uint64_t ticket, udpa_error **ret_error)
{
    int64_t number = (int64_t)(db->n_before + ticket);
    if (sqlite3_bind_int64(db->statements[UDPAI_SQLITE_NUMBER], 1, number) != SQLITE_OK)
        return udpai_sqlite_db_fail(db, "write the database", ret_error);
    return udpai_sqlite_run(db, UDPAI_SQLITE_NUMBER, ret_error);
}

static udpa_err
apply_op(udpai_sqlite_db *db, const udpai_durable_op *op, udpa_error **ret_error)
{
    const udpai_str key[] = {text_of(op->origin), type_text(op->type), text_of(op->name)};
    switch (op->kind) {
    case UDPAI_DURABLE_PUT:
        return put(db, op, ret_error);
    case UDPAI_DURABLE_DELETE:
        return run_with(db, UDPAI_SQLITE_DELETE, key, 3, ret_error);
    case UDPAI_DURABLE_MARK:
        return run_with(db, UDPAI_SQLITE_MARK, key, 3, ret_error);
    case UDPAI_DURABLE_UNMARK:
        return run_with(db, UDPAI_SQLITE_UNMARK, key, 3, ret_error);
    case UDPAI_DURABLE_USE:
        return run_with(db, UDPAI_SQLITE_USE, key, 2, ret_error);
    case UDPAI_DURABLE_DISUSE:
        return run_with(db, UDPAI_SQLITE_DISUSE, key, 2, ret_error);
    case UDPAI_DURABLE_HOLD:
        return run_with(db, UDPAI_SQLITE_HOLD, key, 3, ret_error);
    case UDPAI_DURABLE_RELEASE:
        return run_with(db, UDPAI_SQLITE_RELEASE, key, 3, ret_error);
    case UDPAI_DURABLE_SEEN:
        return note_seen(db, op, key, ret_error);
    case UDPAI_DURABLE_FORGET_ORIGIN:
        return forget(db, key, ret_error);
    case UDPAI_DURABLE_EPOCH:
        return begin_epoch(db, op, ret_error);
    case UDPAI_DURABLE_AUDIT:
        return udpai_sqlite_audit_add(db, op, ret_error);
    }
    return udpai_fail(ret_error, UDPA_ERR_INTERNAL, "%s: no such work for the store: %d", db->path,
                      (int)op->kind);
}

udpa_err
udpai_sqlite_apply(udpai_sqlite_db *db, const udpai_durable_batch *batch, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < batch->ops.n && err == UDPA_OK; i++)
        err = apply_op(db, &batch->ops.items[i], ret_error);
    return err;
}
