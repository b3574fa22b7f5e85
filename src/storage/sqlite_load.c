/* SPDX-License-Identifier: Apache-2.0 */
/* What was kept, read back at start. A row that cannot be read costs itself alone: it is logged,
 * counted and left where it is, and the authority of the resource will send it again. What is over
 * by its time is read as all else: who has the clock ends it. */
#include <inttypes.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "storage/sqlite_db.h"
#include "wire/message.h"

/* Rows reported one by one as unreadable; more are counted. */
#define LOGGED_MAX 10

/* Columns of the query. */
enum {
    ORIGIN,
    TYPE_URL,
    NAME,
    EXPIRES_US,
    SECRET,
    DIGEST,
    DATA,
};

struct loader {
    udpai_sqlite_db *db;
    udpai_durable_load_fn fn;
    void *userdata;
    udpai_sqlite_stats *stats;
    udpai_decoder decoder;
    udpa_bytes *origin; /* of the row before: rows mostly come in runs of one origin */
    udpai_strbuf openings;
};

static udpa_err
set_origin(struct loader *loader, udpai_str origin)
{
    if (loader->origin && udpai_str_eq(udpai_bytes_view(loader->origin), origin))
        return UDPA_OK;
    udpa_bytes *bytes;
    udpa_err err = udpa_bytes_new(&bytes, origin.data, origin.len);
    if (err == UDPA_OK) {
        udpa_bytes_unref(loader->origin);
        loader->origin = bytes;
    }
    return err;
}

static udpa_err
decode(struct loader *loader,
       const udpai_seal_place *place,
       udpai_str data,
       udpa_resource **ret_resource,
       udpa_error **ret_error)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    udpa_err err = udpai_resource_decode(&loader->decoder, data, &resource, ret_error);
    if (err != UDPA_OK)
        return err;
    if (!udpai_str_eq(udpai_resource_name(resource), place->name) ||
        !udpai_str_eq(udpai_resource_type_url(resource), place->type_url))
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                          "its data is that of another resource, '%.200s'",
                          udpa_resource_name(resource));
    *ret_resource = UDPAI_TAKE(resource);
    return UDPA_OK;
}

static udpa_err
read_resource(struct loader *loader,
              sqlite3_stmt *row,
              const udpai_seal_place *place,
              udpa_resource **ret_resource,
              udpa_error **ret_error)
{
    udpai_str data = udpai_sqlite_column(row, DATA);
    if (sqlite3_column_int64(row, DIGEST) != udpai_sqlite_row_digest(place, data))
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "it is not what was written");
    if (!sqlite3_column_int(row, SECRET))
        return decode(loader, place, data, ret_resource, ret_error);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *plain = NULL;
    udpa_err err = udpai_unseal(&loader->db->sealer, place, data, &plain, ret_error);
    return err == UDPA_OK ? decode(loader, place, udpai_bytes_view(plain), ret_resource, ret_error)
                          : err;
}

/* Secrets without their key are spoken of once, at the end. */
static void
skip(struct loader *loader, const udpai_seal_place *place, udpa_err err, const udpa_error *error)
{
    if (err == UDPA_ERR_PRECONDITION) {
        loader->stats->n_unreadable++;
        return;
    }
    if (++loader->stats->n_damaged > LOGGED_MAX)
        return;
    udpai_log_about(
        UDPA_LOG_ERROR, UDPAI_SQLITE_LOG,
        UDPAI_ABOUT({UDPAI_LOG_TYPE, place->type_url}, {UDPAI_LOG_NAME, place->name},
                    {UDPAI_LOG_CODE, udpai_log_code(error)}),
        "%s: skipped resource '%.*s' of type %.*s from %.*s: %s; it comes again from its origin",
        loader->db->path, (int)place->name.len, place->name.data, (int)place->type_url.len,
        place->type_url.data, (int)place->origin.len, place->origin.data,
        udpa_error_message(error));
}

static udpa_err
load_fact(struct loader *loader, udpai_durable_kind kind, sqlite3_stmt *row, udpai_str prefix)
{
    udpai_str type_url = udpai_sqlite_column(row, TYPE_URL);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *type = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *name = NULL;
    udpa_err err = set_origin(loader, udpai_sqlite_column(row, ORIGIN));
    if (err == UDPA_OK)
        err = udpa_bytes_new(&name, prefix.data, prefix.len);
    if (err == UDPA_OK && !(type = udpai_bytes_cstring(type_url)))
        err = UDPA_ERR_NOMEM;
    if (err != UDPA_OK)
        return err;
    const udpai_durable_op op = {
        .kind = kind,
        .origin = loader->origin,
        .type = type,
        .name = name,
        .expires_us = kind == UDPAI_DURABLE_DELETE ? sqlite3_column_int64(row, EXPIRES_US) : 0,
    };
    return loader->fn(loader->userdata, &op);
}

static udpa_err
load_contribution(struct loader *loader, sqlite3_stmt *row)
{
    const udpai_seal_place place = {
        .origin = udpai_sqlite_column(row, ORIGIN),
        .type_url = udpai_sqlite_column(row, TYPE_URL),
        .name = udpai_sqlite_column(row, NAME),
    };
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = read_resource(loader, row, &place, &resource, &error);
    if (err == UDPA_OK)
        err = set_origin(loader, place.origin);
    if (err == UDPA_ERR_NOMEM)
        return err;
    if (err != UDPA_OK) {
        skip(loader, &place, err, error);
        return sqlite3_column_int64(row, EXPIRES_US)
                   ? load_fact(loader, UDPAI_DURABLE_DELETE, row, place.name)
                   : UDPA_OK;
    }
    const udpai_durable_op op = {
        .kind = UDPAI_DURABLE_PUT,
        .origin = loader->origin,
        .resource = resource,
        .expires_us = sqlite3_column_int64(row, EXPIRES_US),
    };
    return loader->fn(loader->userdata, &op);
}

static udpa_err
load_mark(struct loader *loader, sqlite3_stmt *row)
{
    return load_fact(loader, UDPAI_DURABLE_MARK, row, udpai_sqlite_column(row, NAME));
}

static udpa_err
load_use(struct loader *loader, sqlite3_stmt *row)
{
    return load_fact(loader, UDPAI_DURABLE_USE, row, (udpai_str){"", 0});
}

static udpa_err
load_held(struct loader *loader, sqlite3_stmt *row)
{
    return load_fact(loader, UDPAI_DURABLE_HOLD, row, udpai_sqlite_column(row, NAME));
}

/* Columns of the queries for epochs; of a store's own, the first two are empty. */
enum {
    EPOCH = NAME,
    NUMBER,
    IS_WHOLE,
};

/* After the epoch, the oldest first. */
static udpa_err
load_opening(struct loader *loader, sqlite3_stmt *row)
{
    udpai_strbuf_putc(&loader->openings, ' ');
    udpai_strbuf_str(&loader->openings, udpai_sqlite_column(row, 0));
    udpai_strbuf_printf(&loader->openings, "@%" PRIu64, (uint64_t)sqlite3_column_int64(row, 1));
    return udpai_strbuf_failed(&loader->openings) ? UDPA_ERR_NOMEM : UDPA_OK;
}

static udpa_bytes *
lineage_of(const struct loader *loader, udpai_str epoch)
{
    udpai_strbuf text = {0};
    udpai_strbuf_str(&text, epoch);
    udpai_strbuf_str(&text, udpai_strbuf_view(&loader->openings));
    return udpai_bytes_of(&text);
}

static udpa_err
load_epoch(struct loader *loader, sqlite3_stmt *row)
{
    udpai_str type_url = udpai_sqlite_column(row, TYPE_URL);
    udpai_str epoch = udpai_sqlite_column(row, EPOCH);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *type = udpai_bytes_cstring(type_url), *name = NULL;
    udpa_err err = set_origin(loader, udpai_sqlite_column(row, ORIGIN));
    if (err == UDPA_OK && type_url.len)
        err = udpa_bytes_new(&name, epoch.data, epoch.len);
    else if (err == UDPA_OK)
        name = lineage_of(loader, epoch);
    if (err != UDPA_OK || !type || !name)
        return UDPA_ERR_NOMEM;
    const udpai_durable_op op = {
        .kind = type_url.len ? UDPAI_DURABLE_SEEN : UDPAI_DURABLE_EPOCH,
        .origin = loader->origin,
        .type = type,
        .name = name,
        .number = (uint64_t)sqlite3_column_int64(row, NUMBER),
        .is_whole = sqlite3_column_int(row, IS_WHOLE),
    };
    return loader->fn(loader->userdata, &op);
}

typedef udpa_err (*load_row)(struct loader *loader, sqlite3_stmt *row);

static udpa_err
load_rows(struct loader *loader, const char *sql, load_row load, udpa_error **ret_error)
{
    sqlite3_stmt *rows;
    udpa_err err = udpai_sqlite_db_prepare(loader->db, sql, &rows, ret_error);
    if (err != UDPA_OK)
        return err;
    int step = SQLITE_DONE;
    while (err == UDPA_OK && (step = sqlite3_step(rows)) == SQLITE_ROW)
        err = udpai_fail_code(ret_error, load(loader, rows));
    if (err == UDPA_OK && step != SQLITE_DONE)
        err = udpai_sqlite_db_fail(loader->db, "read the database", ret_error);
    sqlite3_finalize(rows);
    return err;
}

static void
log_skipped(const struct loader *loader)
{
    const udpai_sqlite_stats *stats = loader->stats;
    if (stats->n_damaged > LOGGED_MAX)
        udpai_log(UDPA_LOG_ERROR, UDPAI_SQLITE_LOG, "%s: skipped %llu damaged rows in all",
                  loader->db->path, (unsigned long long)stats->n_damaged);
    if (stats->n_unreadable)
        udpai_log(UDPA_LOG_WARNING, UDPAI_SQLITE_LOG,
                  "%s: skipped %llu secrets: %s; add the key that encrypted them to store.keys, or "
                  "wait until "
                  "their origins send them again",
                  loader->db->path, (unsigned long long)stats->n_unreadable,
                  loader->db->sealer.n_keys ? "a key that is not there encrypted them"
                                            : "there is no key to decrypt them");
}

udpa_err
udpai_sqlite_load(udpai_sqlite_db *db,
                  udpai_durable_load_fn fn,
                  void *userdata,
                  udpai_sqlite_stats *stats,
                  udpa_error **ret_error)
{
    struct loader loader = {.db = db, .fn = fn, .userdata = userdata, .stats = stats};
    udpai_decoder_init(&loader.decoder);
    udpa_err err = load_rows(&loader, "SELECT id, number FROM opening ORDER BY serial",
                             load_opening, ret_error);
    if (err == UDPA_OK)
        err = load_rows(&loader, "SELECT '', '', epoch, number, is_whole FROM epoch", load_epoch,
                        ret_error);
    if (err == UDPA_OK)
        err = load_rows(&loader,
                        "SELECT origin, type_url, name, expires_us, secret, digest, data"
                        " FROM contribution",
                        load_contribution, ret_error);
    if (err == UDPA_OK)
        err = load_rows(&loader, "SELECT origin, type_url, prefix FROM mark", load_mark, ret_error);
    if (err == UDPA_OK)
        err = load_rows(&loader, "SELECT origin, type_url FROM in_use", load_use, ret_error);
    if (err == UDPA_OK)
        err = load_rows(&loader, "SELECT origin, type_url, epoch, number, 0 FROM seen", load_epoch,
                        ret_error);
    if (err == UDPA_OK)
        err = load_rows(&loader, "SELECT origin, type_url, name FROM held", load_held, ret_error);
    log_skipped(&loader);
    udpai_decoder_done(&loader.decoder);
    udpai_strbuf_done(&loader.openings);
    udpa_bytes_unref(loader.origin);
    return err;
}
