/* SPDX-License-Identifier: Apache-2.0 */
/* What is opened, and what is refused with a sentence that helps. */
#include "storage/sqlite_db.h"
#include "tests/unit/storage/sql_test.h"

static void
files_are_for_their_owner(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    struct stat info;
    mode_t before = umask(0);
    open_engine(fixture);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    assert_last_report(fixture, UDPA_OK);
    umask(before);
    static const char *const files[] = {"udpa.db", "udpa.db-wal", "udpa.db-shm", "udpa.lock"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(files); i++) {
        assert_int_equal(stat(path_in(fixture, files[i], path), &info), 0);
        assert_int_equal(info.st_mode & 0777, 0600);
    }
}

static void
commits_are_flushed_to_the_disk(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    assert_last_report(fixture, UDPA_OK);
    /* The journal is the file's own; how it is flushed is each connection's. */
    assert_int_equal(run_sql(fixture, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
    assert_int_equal(run_sql(fixture, "PRAGMA user_version"), 4);
}

/* What holds for a connection alone cannot be seen from another. */
static void
a_commit_waits_for_the_disk(void **state)
{
    struct fixture *fixture = *state;
    udpai_sqlite_db db;
    int64_t number = -1;
    assert_ok(udpai_sqlite_db_open(&db, &fixture->options, NULL));
    assert_ok(udpai_sqlite_db_number(&db, "PRAGMA synchronous", &number, NULL));
    assert_int_equal(number, 2); /* FULL */
    assert_ok(udpai_sqlite_db_number(&db, "PRAGMA journal_size_limit", &number, NULL));
    assert_int_equal(number, 64 << 20);
    udpai_sqlite_db_close(&db);
}

static void
a_file_that_is_no_database_is_refused(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    FILE *file = fopen(path_in(fixture, "udpa.db", path), "we");
    assert_non_null(file);
    for (int i = 0; i < 1000; i++)
        fputs("this is not a database\n", file);
    fclose(file);
    assert_open_fails(fixture, UDPA_ERR_IO, path);
    assert_open_fails(fixture, UDPA_ERR_IO, "stop udpad, move it");
}

static void
a_newer_schema_is_refused(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    close_engine(fixture);
    run_sql(fixture, "PRAGMA user_version = 5");
    assert_open_fails(fixture, UDPA_ERR_PRECONDITION,
                      "newer udpad (format 5; this is an older one, which knows formats up to 4)");
    run_sql(fixture, "PRAGMA user_version = 4");
    open_engine(fixture);
}

static void
a_newer_release_is_named(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.release = "7.8.9";
    open_engine(fixture);
    close_engine(fixture);
    run_sql(fixture, "PRAGMA user_version = 5");
    fixture->options.release = "7.7.0";
    assert_open_fails(
        fixture, UDPA_ERR_PRECONDITION,
        "(release 7.8.9, format 5; this is release 7.7.0, which knows formats up to 4)");
    assert_int_equal(run_sql(fixture, "SELECT value = '7.8.9' FROM setting WHERE name = 'release'"),
                     1);
}

/* Runs SQL on the copy that an upgrade has kept. */
static int64_t
run_on_kept(struct fixture *fixture, int version, const char *sql)
{
    char name[32], path[128];
    struct fixture kept = *fixture;
    snprintf(name, sizeof(name), "udpa.db-format-%d", version);
    snprintf(kept.directory, sizeof(kept.directory), "%s/kept", fixture->directory);
    (void)mkdir(kept.directory, 0700);
    copy_file(fixture, name, "kept/udpa.db");
    int64_t number = run_sql(&kept, sql);
    assert_int_equal(unlink(path_in(fixture, "kept/udpa.db", path)), 0);
    return number;
}

/* It is the store as it was, and for its owner. */
static void
assert_kept(struct fixture *fixture, int version)
{
    char name[40], path[128];
    struct stat info;
    assert_int_equal(run_on_kept(fixture, version, "PRAGMA user_version"), version);
    assert_int_equal(
        run_on_kept(fixture, version, "SELECT count(*) FROM sqlite_schema WHERE name = 'audit'"),
        0);
    assert_int_equal(run_on_kept(fixture, version, "SELECT count(*) FROM contribution"), 1);
    snprintf(name, sizeof(name), "udpa.db-format-%d", version);
    assert_int_equal(stat(path_in(fixture, name, path), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    snprintf(name, sizeof(name), "udpa.db-format-%d.new", version);
    assert_int_not_equal(access(path_in(fixture, name, path), F_OK), 0);
}

static void
an_older_schema_is_brought_up(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    close_engine(fixture);
    static const char *const steps[] = {
        [3] = "PRAGMA user_version = 3",
        [2] = "DROP TABLE held; DROP TABLE seen; DROP TABLE epoch; DROP TABLE opening;"
              "PRAGMA user_version = 2",
        [1] = "DROP TABLE held; DROP TABLE seen; DROP TABLE epoch; DROP TABLE opening;"
              "DROP TABLE in_use; PRAGMA user_version = 1",
    };
    for (int version = 3; version > 0; version--) {
        run_sql(fixture, "DROP TABLE audit; DELETE FROM setting WHERE name = 'audit'");
        run_sql(fixture, steps[version]);
        open_engine(fixture);
        close_engine(fixture);
        assert_kept(fixture, version);
        assert_int_equal(run_sql(fixture, "PRAGMA user_version"), 4);
        assert_int_equal(run_sql(fixture, "SELECT count(*) FROM audit"), 0);
        assert_int_equal(run_sql(fixture, "SELECT count(*) FROM in_use"), 0);
        assert_int_equal(run_sql(fixture, "SELECT length(epoch) FROM epoch"), 32);
    }
}

/* What a process that was killed has left is no hindrance. */
static void
without_room_for_a_copy_nothing_is_upgraded(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    open_engine(fixture);
    close_engine(fixture);
    run_sql(fixture, "DROP TABLE audit; DELETE FROM setting WHERE name = 'audit';"
                     "PRAGMA user_version = 3");
    assert_int_equal(mkdir(path_in(fixture, "udpa.db-format-3.new", path), 0700), 0);
    assert_open_fails(fixture, UDPA_ERR_EXISTS, "a copy of it as it is could not be kept");
    assert_int_equal(run_sql(fixture, "PRAGMA user_version"), 3);
    assert_int_equal(rmdir(path), 0);
    copy_file(fixture, "udpa.lock", "udpa.db-format-3.new");
    open_engine(fixture);
    assert_int_equal(run_sql(fixture, "PRAGMA user_version"), 4);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void
a_database_of_another_program_is_left_alone(void **state)
{
    struct fixture *fixture = *state;
    run_sql(fixture, "CREATE TABLE mine (x); INSERT INTO mine VALUES (1)");
    assert_open_fails(fixture, UDPA_ERR_PRECONDITION, "another program");
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM sqlite_schema"), 1);
    assert_int_equal(run_sql(fixture, "SELECT journal_mode = 'delete' FROM pragma_journal_mode"),
                     1);
}

static void
a_damaged_page_is_reported_when_it_is_read(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    for (int i = 0; i < 100; i++) {
        char name[64];
        snprintf(name, sizeof(name), "com.acme/%d", i);
        commit_put(fixture, TYPE_CLUSTER, name, "payload that takes some room in the file");
    }
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
    char path[128];
    int fd = open(path_in(fixture, "udpa.db", path), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    struct stat info;
    assert_int_equal(fstat(fd, &info), 0);
    char zeros[4096] = {0};
    for (off_t at = 4096; at < info.st_size; at += 4096) /* all but the schema */
        assert_int_equal(pwrite(fd, zeros, sizeof(zeros), at), sizeof(zeros));
    close(fd);
    assert_open_fails(fixture, UDPA_ERR_IO, "stop udpad, move it");
}

static void
a_directory_that_cannot_be_made_is_reported(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    fixture->options.directory = path_in(fixture, "no/such", path);
    assert_open_fails(fixture, UDPA_ERR_IO, "its parent must exist");
    fixture->options.directory = path_in(fixture, "file", path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    close(fd);
    assert_open_fails(fixture, UDPA_ERR_IO, "Not a directory");
    fixture->options.directory = "";
    assert_open_fails(fixture, UDPA_ERR_INVAL, "needs a directory");
    fixture->options.directory = NULL;
    assert_open_fails(fixture, UDPA_ERR_INVAL, "needs a directory");
}

static void
a_missing_directory_is_made(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    struct stat info;
    fixture->options.directory = path_in(fixture, "new", path);
    mode_t before = umask(0);
    open_engine(fixture);
    umask(before);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
}

/* ---- losses ---- */

static void
write_bytes(struct fixture *fixture, const char *file, const void *bytes, size_t size)
{
    char path[128];
    FILE *out = fopen(path_in(fixture, file, path), "wbe");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    fclose(out);
}

static void
expect_loss(struct fixture *fixture, const char *words)
{
    assert_open_fails(fixture, UDPA_ERR_PRECONDITION, words);
    assert_open_fails(fixture, UDPA_ERR_PRECONDITION, "udpad once with --force");
    fixture->options.takes_loss = true;
    open_engine(fixture);
    const udpa_error *loss = udpai_sqlite_loss(fixture->engine);
    assert_non_null(loss);
    assert_non_null(strstr(udpa_error_message(loss), words));
    close_engine(fixture);
    fixture->options.takes_loss = false;
    open_engine(fixture);
    assert_null(udpai_sqlite_loss(fixture->engine));
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM contribution"), 0);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/b", "payload");
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
}

static void
a_database_that_has_become_empty_is_a_loss(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    open_engine(fixture);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
    write_bytes(fixture, "udpa.db", "", 0);
    expect_loss(fixture, "udpa.db is empty, although");
    assert_int_equal(remove(path_in(fixture, "udpa.db", path)), 0);
    expect_loss(fixture, "udpa.db is empty, although");
}

/* A store of before the mark has it from its first start on. */
static void
a_database_without_its_mark_gets_one(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    open_engine(fixture);
    close_engine(fixture);
    assert_int_equal(remove(path_in(fixture, "udpa.db-made", path)), 0);
    write_bytes(fixture, "udpa.db", "", 0);
    open_engine(fixture);
    close_engine(fixture);
    assert_int_equal(access(path_in(fixture, "udpa.db-made", path), F_OK), 0);
}

/* SQLite passes over all that is in it. */
static void
a_log_of_zeros_is_a_loss(void **state)
{
    struct fixture *fixture = *state;
    static const uint8_t zeros[8192];
    open_engine(fixture);
    close_engine(fixture);
    write_bytes(fixture, "udpa.db-wal", zeros, sizeof(zeros));
    expect_loss(fixture, "udpa.db-wal has 8192 bytes, and none of them can be read");
    static const uint8_t header_alone[32];
    write_bytes(fixture, "udpa.db-wal", header_alone, sizeof(header_alone));
    open_engine(fixture);
    assert_null(udpai_sqlite_loss(fixture->engine));
}

/* As a process leaves them that is killed: that is no loss. */
static void
what_a_killed_process_leaves_is_whole(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    static const char *const files[] = {"udpa.db", "udpa.db-wal", "udpa.db-made"};
    open_engine(fixture);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    assert_last_report(fixture, UDPA_OK);
    assert_int_equal(mkdir(path_in(fixture, "killed", path), 0700), 0);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(files); i++) {
        char name[64];
        snprintf(name, sizeof(name), "killed/%s", files[i]);
        copy_file(fixture, files[i], name);
    }
    close_engine(fixture);
    fixture->options.directory = path_in(fixture, "killed", path);
    open_engine(fixture);
    assert_null(udpai_sqlite_loss(fixture->engine));
    struct loaded loaded = load_all(fixture);
    assert_non_null(find_loaded(&loaded, UDPAI_DURABLE_PUT, "com.acme/a"));
    loaded_done(&loaded);
}

int
main(void)
{
#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_STORE(files_are_for_their_owner),
        WITH_STORE(commits_are_flushed_to_the_disk),
        WITH_STORE(a_commit_waits_for_the_disk),
        WITH_STORE(a_file_that_is_no_database_is_refused),
        WITH_STORE(a_newer_schema_is_refused),
        WITH_STORE(a_newer_release_is_named),
        WITH_STORE(an_older_schema_is_brought_up),
        WITH_STORE(without_room_for_a_copy_nothing_is_upgraded),
        WITH_STORE(a_database_of_another_program_is_left_alone),
        WITH_STORE(a_damaged_page_is_reported_when_it_is_read),
        WITH_STORE(a_directory_that_cannot_be_made_is_reported),
        WITH_STORE(a_missing_directory_is_made),
        WITH_STORE(a_database_that_has_become_empty_is_a_loss),
        WITH_STORE(a_database_without_its_mark_gets_one),
        WITH_STORE(a_log_of_zeros_is_a_loss),
        WITH_STORE(what_a_killed_process_leaves_is_whole),
    };
    return cmocka_run_group_tests_name("storage sqlite_db", tests, NULL, NULL);
}
