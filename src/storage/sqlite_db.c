/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the database: never a file that is not ours, never one of a later schema. */
#include "storage/sqlite_db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "model/digest.h"
#include "model/lineage.h"
#include "model/types.h"
#include "storage/sqlite_copy.h"

#define FILE_NAME UDPAI_SQLITE_FILE
#define TEXT_OF_(number) #number
#define TEXT_OF(number) TEXT_OF_(number)

#define TABLE_OF_USES                                                                              \
    "CREATE TABLE in_use ("                                                                        \
    " origin TEXT NOT NULL,"                                                                       \
    " type_url TEXT NOT NULL,"                                                                     \
    " PRIMARY KEY (origin, type_url)) WITHOUT ROWID;"
/* An epoch is of this store alone, whatever is copied from it later. */
#define TABLES_OF_EPOCHS                                                                           \
    "CREATE TABLE held ("                                                                          \
    " origin TEXT NOT NULL,"                                                                       \
    " type_url TEXT NOT NULL,"                                                                     \
    " name TEXT NOT NULL,"                                                                         \
    " PRIMARY KEY (origin, type_url, name)) WITHOUT ROWID;"                                        \
    "CREATE TABLE seen ("                                                                          \
    " origin TEXT NOT NULL,"                                                                       \
    " type_url TEXT NOT NULL,"                                                                     \
    " epoch TEXT NOT NULL,"                                                                        \
    " number INTEGER NOT NULL,"                                                                    \
    " PRIMARY KEY (origin, type_url)) WITHOUT ROWID;"                                              \
    "CREATE TABLE epoch ("                                                                         \
    " one INTEGER PRIMARY KEY CHECK (one = 1),"                                                    \
    " epoch TEXT NOT NULL,"                                                                        \
    " number INTEGER NOT NULL,"                                                                    \
    " is_whole INTEGER NOT NULL);"                                                                 \
    "CREATE TABLE opening ("                                                                       \
    " serial INTEGER PRIMARY KEY,"                                                                 \
    " id TEXT NOT NULL,"                                                                           \
    " number INTEGER NOT NULL);"                                                                   \
    "INSERT INTO epoch VALUES (1, lower(hex(randomblob(16))), 0, 0);"
/* Of who has changed what. Numbers are never used again, whatever was deleted. */
#define TABLE_OF_AUDIT                                                                             \
    "CREATE TABLE audit ("                                                                         \
    " seq INTEGER PRIMARY KEY AUTOINCREMENT,"                                                      \
    " at_us INTEGER NOT NULL," /* since 1970 */                                                    \
    " source TEXT,"            /* of replicas: where it is in etcd */                              \
    " record TEXT NOT NULL);"                                                                      \
    "CREATE UNIQUE INDEX audit_source ON audit (source) WHERE source IS NOT NULL;"                 \
    "INSERT INTO setting VALUES ('audit', lower(hex(randomblob(8))));"
#define SET_VERSION "PRAGMA user_version = " TEXT_OF(UDPAI_SQLITE_FORMAT) ";"

/* Rows with an integer key: with payloads of the usual sizes they are written two to four times as
 * fast as a table without one, and take less room. */
static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE contribution ("
    " origin TEXT NOT NULL,"
    " type_url TEXT NOT NULL,"
    " name TEXT NOT NULL,"
    " version TEXT," /* NULL: secret; a hash of the content would reveal it */
    " authority TEXT NOT NULL,"
    " generation INTEGER NOT NULL,"
    " expires_us INTEGER NOT NULL," /* since 1970; 0: never */
    " secret INTEGER NOT NULL,"     /* 1: data is encrypted */
    " digest INTEGER NOT NULL,"
    " data BLOB NOT NULL,"
    " PRIMARY KEY (origin, type_url, name));"
    "CREATE TABLE mark ("
    " origin TEXT NOT NULL,"
    " type_url TEXT NOT NULL,"
    " prefix TEXT NOT NULL,"
    " PRIMARY KEY (origin, type_url, prefix)) WITHOUT ROWID;"
    "CREATE TABLE setting ("
    " name TEXT PRIMARY KEY NOT NULL,"
    " value TEXT NOT NULL) WITHOUT ROWID;" TABLE_OF_USES TABLES_OF_EPOCHS TABLE_OF_AUDIT
    "PRAGMA application_id = " TEXT_OF(UDPAI_SQLITE_APPLICATION) ";" SET_VERSION "COMMIT;";

/* From older schemas. */
static const char *const upgrades[] = {
    [1] = "BEGIN IMMEDIATE;" TABLE_OF_USES TABLES_OF_EPOCHS TABLE_OF_AUDIT SET_VERSION "COMMIT;",
    [2] = "BEGIN IMMEDIATE;" TABLES_OF_EPOCHS TABLE_OF_AUDIT SET_VERSION "COMMIT;",
    [3] = "BEGIN IMMEDIATE;" TABLE_OF_AUDIT SET_VERSION "COMMIT;",
};

static const char *const statement_sql[UDPAI_SQLITE_STATEMENTS] = {
    [UDPAI_SQLITE_BEGIN] = "BEGIN IMMEDIATE",
    [UDPAI_SQLITE_COMMIT] = "COMMIT",
    [UDPAI_SQLITE_ROLLBACK] = "ROLLBACK",
    [UDPAI_SQLITE_PUT] =
        "INSERT INTO contribution (origin, type_url, name, version, authority, generation,"
        " expires_us, secret, digest, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
        " ON CONFLICT (origin, type_url, name) DO UPDATE SET version = excluded.version,"
        " authority = excluded.authority, generation = excluded.generation,"
        " expires_us = excluded.expires_us, secret = excluded.secret, digest = excluded.digest,"
        " data = excluded.data",
    [UDPAI_SQLITE_DELETE] =
        "DELETE FROM contribution WHERE origin = ?1 AND type_url = ?2 AND name = ?3",
    [UDPAI_SQLITE_MARK] = "INSERT OR IGNORE INTO mark VALUES (?1, ?2, ?3)",
    [UDPAI_SQLITE_UNMARK] = "DELETE FROM mark WHERE origin = ?1 AND type_url = ?2 AND prefix = ?3",
    [UDPAI_SQLITE_USE] = "INSERT OR IGNORE INTO in_use VALUES (?1, ?2)",
    [UDPAI_SQLITE_DISUSE] = "DELETE FROM in_use WHERE origin = ?1 AND type_url = ?2",
    [UDPAI_SQLITE_HOLD] = "INSERT OR IGNORE INTO held VALUES (?1, ?2, ?3)",
    [UDPAI_SQLITE_RELEASE] = "DELETE FROM held WHERE origin = ?1 AND type_url = ?2 AND name = ?3",
    [UDPAI_SQLITE_SEEN] = "INSERT OR REPLACE INTO seen VALUES (?1, ?2, ?3, ?4)",
    [UDPAI_SQLITE_NUMBER] = "UPDATE epoch SET number = ?1",
    [UDPAI_SQLITE_EPOCH] = "UPDATE epoch SET epoch = ?1, is_whole = ?2",
    [UDPAI_SQLITE_AUDIT] =
        "INSERT OR IGNORE INTO audit (at_us, source, record) VALUES (?1, ?2, ?3)",
    [UDPAI_SQLITE_AUDIT_PRUNE] = "DELETE FROM audit WHERE seq <= ?1",
    [UDPAI_SQLITE_FORGET_CONTRIBUTIONS] = "DELETE FROM contribution WHERE origin = ?1",
    [UDPAI_SQLITE_FORGET_MARKS] = "DELETE FROM mark WHERE origin = ?1",
    [UDPAI_SQLITE_FORGET_USES] = "DELETE FROM in_use WHERE origin = ?1",
    [UDPAI_SQLITE_FORGET_HOLDS] = "DELETE FROM held WHERE origin = ?1",
    [UDPAI_SQLITE_FORGET_SEEN] = "DELETE FROM seen WHERE origin = ?1",
};

static const char *
advice(int code)
{
    switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return "the file is damaged, or no database: stop udpad, move it and the files beside it "
               "away, and start again; what it kept comes again from its sources";
    case SQLITE_FULL:
        return "make room on the disk";
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
        return "check owner, mode and mount of the store directory";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "another program uses the database: close it";
    default:
        return "check the disk and the limits of the process";
    }
}

udpa_err
udpai_sqlite_db_fail(udpai_sqlite_db *db, const char *what, udpa_error **ret_error)
{
    int code = sqlite3_extended_errcode(db->handle);
    if ((code & 0xff) == SQLITE_NOMEM)
        return udpai_fail(ret_error, UDPA_ERR_NOMEM, "%s: cannot %s: out of memory", db->path,
                          what);
    int cause = sqlite3_system_errno(db->handle);
    bool by_system = cause && ((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN);
    return udpai_fail(ret_error, UDPA_ERR_IO, "%s: cannot %s: %s%s%s; %s", db->path, what,
                      sqlite3_errmsg(db->handle), by_system ? ": " : "",
                      by_system ? strerror(cause) : "", advice(code));
}

udpa_err
udpai_sqlite_db_exec(udpai_sqlite_db *db, const char *sql, udpa_error **ret_error)
{
    if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK)
        return UDPA_OK;
    udpa_err err = udpai_sqlite_db_fail(db, "use the database", ret_error);
    if (!sqlite3_get_autocommit(db->handle))
        (void)sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
    return err;
}

udpa_err
udpai_sqlite_db_prepare(udpai_sqlite_db *db,
                        const char *sql,
                        sqlite3_stmt **ret_statement,
                        udpa_error **ret_error)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) !=
        SQLITE_OK)
        return udpai_sqlite_db_fail(db, "read the database", ret_error);
    *ret_statement = statement;
    return UDPA_OK;
}

udpa_err
udpai_sqlite_db_number(udpai_sqlite_db *db,
                       const char *sql,
                       int64_t *ret_number,
                       udpa_error **ret_error)
{
    sqlite3_stmt *statement = NULL;
    udpa_err err = udpai_sqlite_db_prepare(db, sql, &statement, ret_error);
    if (err != UDPA_OK)
        return err;
    if (sqlite3_step(statement) == SQLITE_ROW)
        *ret_number = sqlite3_column_int64(statement, 0);
    else
        err = udpai_sqlite_db_fail(db, "read the database", ret_error);
    sqlite3_finalize(statement);
    return err;
}

int
udpai_sqlite_bind_text(sqlite3_stmt *statement, int index, udpai_str text)
{
    const char *data = text.len ? text.data : ""; /* NULL would be bound as NULL */
    return udpai_utf8_valid(text)
               ? sqlite3_bind_text64(statement, index, data, text.len, SQLITE_STATIC, SQLITE_UTF8)
               : sqlite3_bind_blob64(statement, index, data, text.len, SQLITE_STATIC);
}

udpai_str
udpai_sqlite_column(sqlite3_stmt *statement, int index)
{
    const char *data = sqlite3_column_blob(statement, index);
    int len = sqlite3_column_bytes(statement, index);
    return data ? (udpai_str){data, (size_t)len} : (udpai_str){"", 0};
}

int64_t
udpai_sqlite_row_digest(const udpai_seal_place *place, udpai_str data)
{
    return (int64_t)udpai_digest(place->origin, data);
}

udpa_err
udpai_sqlite_run(udpai_sqlite_db *db, udpai_sqlite_statement statement, udpa_error **ret_error)
{
    sqlite3_stmt *prepared = db->statements[statement];
    udpa_err err = UDPA_OK;
    if (sqlite3_step(prepared) != SQLITE_DONE)
        err = udpai_sqlite_db_fail(db, "write the database", ret_error);
    sqlite3_reset(prepared);
    sqlite3_clear_bindings(prepared);
    return err;
}

/* ---- secret types ---- */

bool
udpai_sqlite_db_is_secret(const udpai_sqlite_db *db, udpai_str type_url)
{
    const udpai_type_info *type = udpai_type_find(type_url);
    if (type && type->is_secret)
        return true;
    udpai_str name = udpai_type_url_name(type_url);
    for (size_t i = 0; i < db->secret_messages.n; i++)
        if (udpai_str_eq(name, udpai_str_from(db->secret_messages.items[i])))
            return true;
    return false;
}

static udpa_err
add_secret_type(udpai_sqlite_db *db, const char *type_url)
{
    udpai_str name = udpai_type_url_name(udpai_str_from(type_url));
    char *copy = udpai_strndup(name.data, name.len);
    if (copy && udpai_vector_push(&db->secret_messages, copy))
        return UDPA_OK;
    udpai_free(copy);
    return UDPA_ERR_NOMEM;
}

static udpa_err
set_secrets(udpai_sqlite_db *db, const udpai_sqlite_options *options, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < options->n_secret_types && err == UDPA_OK; i++)
        err = add_secret_type(db, options->secret_types[i]);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    if (options->sealer)
        db->sealer = *options->sealer;
    return UDPA_OK;
}

/* ---- opening ---- */

static udpa_err
set_texts(udpai_sqlite_db *db, const char *directory, const char *release, udpa_error **ret_error)
{
    if (!directory || !*directory)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "the store needs a directory");
    udpai_strbuf path = {0};
    udpai_strbuf_printf(&path, "%s/" FILE_NAME, directory);
    db->path = udpai_strbuf_take(&path);
    db->directory = udpai_strdup(directory);
    db->release = release ? udpai_strdup(release) : NULL;
    return db->path && db->directory && (db->release || !release)
               ? UDPA_OK
               : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

/* SQLite would make the file with the mode that umask leaves; the files it puts beside it later
 * have the mode of this one. */
static udpa_err
open_file(udpai_sqlite_db *db, unsigned busy_ms, udpa_error **ret_error)
{
    int fd = open(db->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot open %s: %s; %s", db->path,
                          strerror(errno), advice(SQLITE_CANTOPEN));
    close(fd);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(db->path, &db->handle, flags, NULL) != SQLITE_OK)
        return db->handle ? udpai_sqlite_db_fail(db, "open the database", ret_error)
                          : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    sqlite3_busy_timeout(db->handle, busy_ms ? (int)busy_ms : UDPAI_SQLITE_BUSY_MS);
    return udpai_sqlite_db_exec(db, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;",
                                ret_error);
}

/* The setting that holds it came with this format. */
static udpa_err
fail_newer(udpai_sqlite_db *db, int64_t format, udpa_error **ret_error)
{
    sqlite3_stmt *row = NULL;
    udpai_str release = {0};
    (void)udpai_sqlite_db_prepare(db, "SELECT value FROM setting WHERE name = 'release'", &row,
                                  NULL);
    if (row && sqlite3_step(row) == SQLITE_ROW)
        release = udpai_sqlite_column(row, 0);
    udpa_err err = udpai_fail(
        ret_error, UDPA_ERR_PRECONDITION,
        "%s was written by a newer udpad (%s%.*s%sformat %lld; this is %s%s, which knows formats "
        "up to %d): run that one; or put the copy that its upgrade has kept, %s-format-NUMBER, or "
        "an older backup in its place, which lacks what was published since",
        db->path, release.len ? "release " : "", UDPAI_SHOWN(release), release.len ? ", " : "",
        (long long)format, db->release ? "release " : "an older one",
        db->release ? db->release : "", UDPAI_SQLITE_FORMAT, db->path);
    sqlite3_finalize(row);
    return err;
}

/* A file that is not ours is left as it is. *ret_missing: the SQL that makes it one of this schema;
 * NULL: it is one. *ret_version: what it is now; 0: nothing. */
static udpa_err
find_schema(udpai_sqlite_db *db,
            const char **ret_missing,
            int64_t *ret_version,
            udpa_error **ret_error)
{
    int64_t version, application, n_objects;
    udpa_err err = udpai_sqlite_db_number(db, "PRAGMA user_version", &version, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_db_number(db, "PRAGMA application_id", &application, ret_error);
    if (err == UDPA_OK)
        err =
            udpai_sqlite_db_number(db, "SELECT count(*) FROM sqlite_schema", &n_objects, ret_error);
    if (err != UDPA_OK)
        return err;
    *ret_missing = schema;
    *ret_version = 0;
    if (n_objects == 0 && version == 0 && application == 0)
        return UDPA_OK;
    if (application != UDPAI_SQLITE_APPLICATION || version < 1)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "%s is a database of another program: give udpad a store directory of "
                          "its own",
                          db->path);
    if (version > UDPAI_SQLITE_FORMAT)
        return fail_newer(db, version, ret_error);
    *ret_missing = version < UDPAI_SQLITE_FORMAT ? upgrades[version] : NULL;
    *ret_version = version;
    return UDPA_OK;
}

static udpa_err
set_journal(udpai_sqlite_db *db, udpa_error **ret_error)
{
    sqlite3_stmt *statement = NULL;
    udpa_err err = udpai_sqlite_db_prepare(db, "PRAGMA journal_mode = WAL", &statement, ret_error);
    if (err != UDPA_OK)
        return err;
    if (sqlite3_step(statement) != SQLITE_ROW)
        err = udpai_sqlite_db_fail(db, "begin a write-ahead log", ret_error);
    else if (!udpai_str_eq(udpai_sqlite_column(statement, 0), UDPAI_STR("wal")))
        err = udpai_fail(ret_error, UDPA_ERR_IO,
                         "%s: its file system cannot hold a write-ahead log; use a local disk",
                         db->path);
    sqlite3_finalize(statement);
    /* The limit gives back the room of a log that one large commit or a long reader made grow. */
    return err != UDPA_OK ? err
                          : udpai_sqlite_db_exec(db,
                                                 "PRAGMA synchronous = FULL;"
                                                 "PRAGMA journal_size_limit = 67108864;",
                                                 ret_error);
}

static udpa_err
prepare_all(udpai_sqlite_db *db, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < UDPAI_SQLITE_STATEMENTS && err == UDPA_OK; i++)
        err = udpai_sqlite_db_prepare(db, statement_sql[i], &db->statements[i], ret_error);
    return err;
}

/* A copy that is put back is opened again: by that it is distinguished from what it was copied
 * from. A backup is another store from its first opening on: nothing that was seen of the store it
 * was made of, and nothing that was accepted of that, holds for it. */
#define IF_BACKUP " WHERE EXISTS (SELECT 1 FROM setting WHERE name = '" UDPAI_SQLITE_BACKUP "');"
static const char note_opening[] =
    "BEGIN IMMEDIATE;"
    "UPDATE epoch SET epoch = lower(hex(randomblob(16))), is_whole = 0" IF_BACKUP
    "DELETE FROM opening" IF_BACKUP "DELETE FROM setting WHERE name = '" UDPAI_SQLITE_BACKUP "';"
    "INSERT INTO opening (id, number) SELECT lower(hex(randomblob(4))), number FROM epoch;"
    "DELETE FROM opening WHERE serial <="
    " (SELECT max(serial) FROM opening) - " TEXT_OF(UDPAI_LINEAGE_OPENINGS) ";COMMIT;";

/* A newer format is refused with it. */
static udpa_err
note_release(udpai_sqlite_db *db, udpa_error **ret_error)
{
    sqlite3_stmt *statement = NULL;
    if (!db->release)
        return UDPA_OK;
    udpa_err err = udpai_sqlite_db_prepare(
        db, "INSERT OR REPLACE INTO setting VALUES ('release', ?1)", &statement, ret_error);
    if (err != UDPA_OK)
        return err;
    if (sqlite3_bind_text(statement, 1, db->release, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_DONE)
        err = udpai_sqlite_db_fail(db, "write the database", ret_error);
    sqlite3_finalize(statement);
    return err;
}

static udpa_err
begin_opening(udpai_sqlite_db *db, udpa_error **ret_error)
{
    int64_t n_notes = 0;
    udpa_err err = udpai_sqlite_db_number(
        db, "SELECT count(*) FROM setting WHERE name = '" UDPAI_SQLITE_BACKUP "'", &n_notes,
        ret_error);
    if (err == UDPA_OK)
        err = note_release(db, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_db_exec(db, note_opening, ret_error);
    db->was_backup = err == UDPA_OK && n_notes > 0;
    if (db->was_backup)
        udpai_log_about(UDPA_LOG_WARNING, UDPAI_SQLITE_LOG,
                        UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(db->path)}),
                        "%s was restored from a backup: its store has another epoch from now on, "
                        "so that what it lacks is held where it is, and not withdrawn",
                        db->path);
    return err;
}

/* As it was, for the release before this one. What an upgrade before this one has kept gives way to
 * it. */
static udpa_err
keep_copy(udpai_sqlite_db *db, int64_t version, udpa_error **ret_error)
{
    udpai_strbuf copy = {0}, kept = {0};
    udpa_error *cause = NULL;
    udpai_strbuf_printf(&kept, "%s-format-%lld", db->path, (long long)version);
    udpai_strbuf_printf(&copy, "%s.new", kept.data ? kept.data : "");
    udpa_err err =
        udpai_strbuf_failed(&copy) || udpai_strbuf_failed(&kept) ? UDPA_ERR_NOMEM : UDPA_OK;
    if (err == UDPA_OK) {
        udpai_sqlite_copy_remove(copy.data);
        err = udpai_sqlite_copy(db->handle, copy.data, &cause);
    }
    if (err == UDPA_OK &&
        (rename(copy.data, kept.data) != 0 || !udpai_sqlite_sync_parent(kept.data)))
        err = udpai_fail(&cause, UDPA_ERR_IO, "cannot make %s: %s", kept.data, strerror(errno));
    if (err == UDPA_OK)
        udpai_log(UDPA_LOG_INFO, UDPAI_SQLITE_LOG,
                  "%s is brought from format %lld to %d; as it was it is kept in %s", db->path,
                  (long long)version, UDPAI_SQLITE_FORMAT, kept.data);
    else
        err = udpai_fail_because(ret_error, err, cause,
                                 "%s is of format %lld, and is left so, since a copy of it as it "
                                 "is could not be kept",
                                 db->path, (long long)version);
    udpai_strbuf_done(&copy);
    udpai_strbuf_done(&kept);
    return err;
}

static udpa_err
fail_format(const udpai_sqlite_db *db, int64_t version, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                      "%s is of format %lld, and this release has format %d: the release that has "
                      "it open could not go on with that; stop it, and start this one",
                      db->path, (long long)version, UDPAI_SQLITE_FORMAT);
}

static udpa_err
open_database(udpai_sqlite_db *db, udpa_error **ret_error)
{
    const char *missing = NULL;
    int64_t version = 0;
    udpa_err err = open_file(db, db->busy_ms, ret_error);
    if (err == UDPA_OK)
        err = find_schema(db, &missing, &version, ret_error);
    if (err == UDPA_OK)
        err = set_journal(db, ret_error);
    if (err == UDPA_OK && version && missing && db->keeps_format)
        err = fail_format(db, version, ret_error);
    if (err == UDPA_OK && version && missing)
        err = keep_copy(db, version, ret_error);
    if (err == UDPA_OK && missing)
        err = udpai_sqlite_db_exec(db, missing, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_scrub(db, ret_error);
    if (err == UDPA_OK)
        err = prepare_all(db, ret_error);
    if (err == UDPA_OK)
        err = begin_opening(db, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_note_made(db, ret_error);
    int64_t number = 0;
    if (err == UDPA_OK)
        err = udpai_sqlite_db_number(db, "SELECT number FROM epoch", &number, ret_error);
    db->n_before = (uint64_t)number;
    return err;
}

static udpa_err
look_for_loss(udpai_sqlite_db *db, bool takes_loss, udpa_error **ret_error)
{
    db->loss = udpai_sqlite_find_loss(db);
    if (!db->loss)
        return UDPA_OK;
    if (takes_loss) {
        udpai_log(UDPA_LOG_WARNING, UDPAI_SQLITE_LOG, "%s", udpa_error_message(db->loss));
        return UDPA_OK;
    }
    if (ret_error)
        *ret_error = udpa_error_ref(db->loss);
    return UDPA_ERR_PRECONDITION;
}

udpa_err
udpai_sqlite_db_open(udpai_sqlite_db *db,
                     const udpai_sqlite_options *options,
                     udpa_error **ret_error)
{
    memset(db, 0, sizeof(*db));
    db->lock_fd = -1;
    db->busy_ms = options->busy_ms;
    db->keeps_format = options->keeps_format;
    db->audit.max_bytes =
        options->audit_max_bytes ? options->audit_max_bytes : UDPAI_SQLITE_AUDIT_BYTES;
    db->audit.max_age_us =
        options->audit_max_age_us ? options->audit_max_age_us : UDPAI_SQLITE_AUDIT_AGE_US;
    udpa_err err = set_texts(db, options->directory, options->release, ret_error);
    if (err == UDPA_OK)
        err = set_secrets(db, options, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_lock(db->directory, &db->lock_fd, ret_error);
    if (err == UDPA_OK)
        err = look_for_loss(db, options->takes_loss, ret_error);
    if (err == UDPA_OK)
        err = open_database(db, ret_error);
    if (err != UDPA_OK)
        udpai_sqlite_db_close(db);
    return err;
}

static void
close_file(udpai_sqlite_db *db)
{
    for (size_t i = 0; i < UDPAI_SQLITE_STATEMENTS; i++) {
        sqlite3_finalize(db->statements[i]);
        db->statements[i] = NULL;
    }
    /* Closing the last connection writes the log back and removes it; if it cannot, the next open
     * does: nothing is lost. */
    sqlite3_close(db->handle);
    db->handle = NULL;
    if (db->lock_fd >= 0)
        close(db->lock_fd);
    db->lock_fd = -1;
}

void
udpai_sqlite_db_leave(udpai_sqlite_db *db)
{
    close_file(db);
}

/* Numbers of commits go on from where this process began. */
udpa_err
udpai_sqlite_db_return(udpai_sqlite_db *db, udpa_error **ret_error)
{
    uint64_t n_before = db->n_before;
    udpa_err err = udpai_sqlite_lock(db->directory, &db->lock_fd, ret_error);
    if (err == UDPA_OK)
        err = open_database(db, ret_error);
    db->n_before = n_before;
    if (err != UDPA_OK)
        close_file(db);
    return err;
}

void
udpai_sqlite_db_close(udpai_sqlite_db *db)
{
    close_file(db);
    udpai_sealer_done(&db->sealer);
    for (size_t i = 0; i < db->secret_messages.n; i++)
        udpai_free(db->secret_messages.items[i]);
    udpai_vector_done(&db->secret_messages);
    udpa_error_unref(db->loss);
    udpai_free(db->directory);
    udpai_free(db->path);
    udpai_free(db->release);
}
