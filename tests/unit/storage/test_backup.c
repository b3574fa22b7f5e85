/* SPDX-License-Identifier: Apache-2.0 */
/* A backup has what the store has, and is another store where it is restored; what is no whole
 * backup changes nothing. */
#include "storage/backup.h"

#include <signal.h>
#include <sys/resource.h>

#include "model/lineage.h"
#include "storage/sqlite_db.h"
#include "tests/harness/oom.h"
#include "tests/unit/storage/sql_test.h"

#define MADE_US 1764590400000000 /* 2025-12-01T12:00:00Z */

static const uint8_t key[UDPAI_SECRET_KEY_SIZE] = "0123456789abcdef0123456789abcde";

static udpa_err
try_to_make(const struct fixture *fixture,
            const char *name,
            udpai_backup_manifest *ret_manifest,
            udpa_error **ret_error)
{
    static const atomic_bool is_ended;
    char path[128];
    const udpai_backup_request request = {
        .directory = fixture->directory,
        .path = path_in(fixture, name, path),
        .release = "0.1.0",
        .node = UDPAI_STR("core\n1"),
        .instance = UDPAI_STR("abc"),
        .made_us = MADE_US,
        .is_ended = &is_ended,
    };
    return udpai_backup_make(&request, ret_manifest, ret_error);
}

static udpai_backup_manifest
make(const struct fixture *fixture, const char *name)
{
    udpai_backup_manifest manifest;
    udpa_error *error = NULL;
    if (try_to_make(fixture, name, &manifest, &error) != UDPA_OK)
        fail_msg("no backup: %s", udpa_error_message(error));
    return manifest;
}

static udpai_backup_facts
check(const struct fixture *fixture, const char *name)
{
    char path[128];
    udpai_backup_facts facts;
    udpa_error *error = NULL;
    if (udpai_backup_check(path_in(fixture, name, path), &facts, &error) != UDPA_OK)
        fail_msg("no good backup: %s", udpa_error_message(error));
    return facts;
}

static udpa_err
restore(const struct fixture *fixture, const char *name, udpa_error **ret_error)
{
    char path[128], directory[128];
    udpai_backup_facts facts;
    return udpai_backup_restore(path_in(fixture, name, path),
                                path_in(fixture, "restored", directory), &facts, ret_error);
}

static void
assert_words(udpa_error *error, const char *words)
{
    assert_non_null(error);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
}

static void
assert_bad(const struct fixture *fixture, const char *name, udpa_err code, const char *words)
{
    char path[128], directory[128], database[160];
    udpai_backup_facts facts;
    for (int i = 0; i < 2; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        path_in(fixture, "restored", directory);
        path_in(fixture, name, path);
        assert_int_equal(i ? udpai_backup_restore(path, directory, &facts, &error)
                           : udpai_backup_check(path, &facts, &error),
                         code);
        assert_words(error, words);
    }
    snprintf(database, sizeof(database), "%s/udpa.db", directory);
    assert_int_not_equal(access(database, F_OK), 0);
    snprintf(database, sizeof(database), "%s/udpa.db-restored", directory);
    assert_int_not_equal(access(database, F_OK), 0);
}

/* From now on the fixture is about that directory. */
static void
go_to_restored(struct fixture *fixture)
{
    close_engine(fixture);
    static char directory[128];
    fixture->options.directory = path_in(fixture, "restored", directory);
}

static void
put_some(struct fixture *fixture)
{
    use_key(fixture, key);
    open_engine(fixture);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    commit_put(fixture, TYPE_SECRET, "com.acme/s", "the secret text");
    udpai_durable_batch *batch = new_batch();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *record = bytes_of("{\"action\":\"publish\"}");
    add_op(batch, &(udpai_durable_op){.kind = UDPAI_DURABLE_AUDIT, .name = record, .number = 1});
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
}

/* ---- making one ---- */

static void
it_has_what_the_store_has(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    struct stat info;
    put_some(fixture);
    udpai_backup_manifest manifest = make(fixture, "backup");
    commit_put(fixture, TYPE_CLUSTER, "com.acme/later", "payload");
    assert_last_report(fixture, UDPA_OK);
    udpai_backup_facts facts = check(fixture, "backup");
    assert_true(facts.has_manifest);
    assert_string_equal(facts.manifest.release, "0.1.0");
    assert_string_equal(facts.manifest.node, "core?1");
    assert_string_equal(facts.manifest.instance, "abc");
    assert_string_equal(facts.manifest.made, "2025-12-01T12:00:00Z");
    assert_string_equal(facts.manifest.sha256, manifest.sha256);
    assert_int_equal(facts.manifest.format, UDPAI_SQLITE_FORMAT);
    assert_int_equal(facts.manifest.commit, 3);
    assert_int_equal(facts.manifest.n_resources, 2);
    assert_int_equal(facts.manifest.n_audit, 1);
    assert_int_equal(facts.n_secrets, 1);
    assert_int_equal(facts.n_origins, 1);
    assert_int_equal(stat(path_in(fixture, "backup", path), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(info.st_size, manifest.size_bytes + UDPAI_BACKUP_MANIFEST_BYTES);
    assert_int_equal(files_with(fixture, "the secret text"), 0);
}

/* A store that had it deleted has it in free pages. */
static void
what_was_deleted_is_not_in_it(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    open_engine(fixture);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "text that is deleted");
    udpai_durable_batch *batch = new_batch();
    add_other(batch, UDPAI_DURABLE_DELETE, "origin", TYPE_CLUSTER, "com.acme/a");
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
    make(fixture, "backup");
    udpai_strbuf bytes = read_whole(path_in(fixture, "backup", path));
    assert_null(memmem(bytes.data, bytes.len, "text that is deleted", 20));
    udpai_strbuf_done(&bytes);
}

static void
another_file_is_not_overwritten(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    udpai_backup_manifest manifest;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    put_some(fixture);
    copy_file(fixture, "udpa.lock", "backup");
    assert_int_equal(try_to_make(fixture, "backup", &manifest, &error), UDPA_ERR_EXISTS);
    udpai_strbuf bytes = read_whole(path_in(fixture, "backup", path));
    assert_true(bytes.len < 20);
    udpai_strbuf_done(&bytes);
    char other[128];
    path_in(fixture, "udpa.lock", path);
    assert_int_equal(udpai_backup_name(path, path_in(fixture, "backup", other), NULL),
                     UDPA_ERR_EXISTS);
    assert_int_equal(access(path, F_OK), 0);
}

static void
a_full_disk_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    struct rlimit before;
    udpai_backup_manifest manifest;
    udpa_error *error = NULL;
    put_some(fixture);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {20000, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    udpa_err err = try_to_make(fixture, "backup", &manifest, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(err, UDPA_ERR_IO);
    assert_words(error, "backup");
    udpa_error_unref(error);
    assert_int_not_equal(access(path_in(fixture, "backup", path), F_OK), 0);
    make(fixture, "backup");
}

static void
it_gives_up_when_it_is_to_end(void **state)
{
    struct fixture *fixture = *state;
    static const atomic_bool is_ended = true;
    char path[128];
    udpai_backup_manifest manifest;
    put_some(fixture);
    const udpai_backup_request request = {
        .directory = fixture->directory,
        .path = path_in(fixture, "backup", path),
        .release = "0.1.0",
        .node = UDPAI_STR("core"),
        .instance = UDPAI_STR("abc"),
        .is_ended = &is_ended,
    };
    assert_int_equal(udpai_backup_make(&request, &manifest, NULL), UDPA_ERR_CLOSED);
    assert_int_not_equal(access(path, F_OK), 0);
}

static udpa_err
make_and_restore(void *userdata)
{
    const struct fixture *fixture = userdata;
    char path[128];
    udpai_backup_manifest manifest;
    udpa_err err = try_to_make(fixture, "backup", &manifest, NULL);
    if (err == UDPA_OK)
        err = restore(fixture, "backup", NULL);
    (void)unlink(path_in(fixture, "backup", path));
    bool is_restored = unlink(path_in(fixture, "restored/udpa.db", path)) == 0;
    assert_true(is_restored == (err == UDPA_OK));
    assert_int_not_equal(access(path_in(fixture, "restored/udpa.db-restored", path), F_OK), 0);
    return err;
}

static void
lack_of_memory_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    put_some(fixture);
    assert_true(oom_torture(make_and_restore, fixture) > 5);
}

/* ---- restoring it ---- */

static void
a_restored_store_is_another_one(void **state)
{
    struct fixture *fixture = *state;
    put_some(fixture);
    udpai_durable_batch *batch = new_batch();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *epoch = bytes_of("the epoch that was accepted");
    add_op(batch,
           &(udpai_durable_op){.kind = UDPAI_DURABLE_EPOCH, .name = epoch, .is_whole = true});
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
    make(fixture, "backup");
    assert_ok(restore(fixture, "backup", NULL));
    go_to_restored(fixture);
    open_engine(fixture);
    assert_true(udpai_sqlite_was_backup(fixture->engine));
    struct loaded loaded = load_all(fixture);
    udpai_str lineage = udpai_str_from(loaded.epoch);
    assert_int_equal(udpai_lineage_epoch(lineage).len, 32);
    assert_null(strstr(loaded.epoch, "accepted"));
    assert_int_equal(lineage.len, udpai_lineage_epoch(lineage).len + strlen(" 12345678@4"));
    assert_false(loaded.is_whole);
    assert_int_equal(loaded.number, 4);
    assert_non_null(find_loaded(&loaded, UDPAI_DURABLE_PUT, "com.acme/a"));
    assert_non_null(find_loaded(&loaded, UDPAI_DURABLE_PUT, "com.acme/s"));
    udpai_str first = udpai_lineage_epoch(lineage);
    close_engine(fixture);
    open_engine(fixture);
    assert_false(udpai_sqlite_was_backup(fixture->engine));
    struct loaded again = load_all(fixture);
    assert_true(udpai_str_eq(udpai_lineage_epoch(udpai_str_from(again.epoch)), first));
    loaded_done(&loaded);
    loaded_done(&again);
}

/* As an operator does who knows no command for it. */
static void
so_is_one_that_was_copied_into_its_place(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    put_some(fixture);
    udpai_backup_manifest manifest = make(fixture, "backup");
    assert_int_equal(mkdir(path_in(fixture, "restored", path), 0700), 0);
    copy_file(fixture, "backup", "restored/udpa.db");
    go_to_restored(fixture);
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_non_null(find_loaded(&loaded, UDPAI_DURABLE_PUT, "com.acme/a"));
    assert_null(strstr(loaded.epoch, manifest.epoch));
    loaded_done(&loaded);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/b", "payload");
    assert_last_report(fixture, UDPA_OK);
}

static void
two_restored_ones_differ(void **state)
{
    struct fixture *fixture = *state;
    char directory[128], path[128];
    udpai_backup_facts facts;
    put_some(fixture);
    make(fixture, "backup");
    assert_ok(restore(fixture, "backup", NULL));
    path_in(fixture, "backup", path);
    assert_ok(udpai_backup_restore(path, path_in(fixture, "second", directory), &facts, NULL));
    go_to_restored(fixture);
    open_engine(fixture);
    struct loaded first = load_all(fixture);
    close_engine(fixture);
    fixture->options.directory = directory;
    open_engine(fixture);
    struct loaded second = load_all(fixture);
    assert_false(udpai_str_eq(udpai_lineage_epoch(udpai_str_from(first.epoch)),
                              udpai_lineage_epoch(udpai_str_from(second.epoch))));
    loaded_done(&first);
    loaded_done(&second);
}

/* By the sqlite3 shell, of which the guide told before. */
static void
a_copy_by_another_program_is_restored_so_too(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    put_some(fixture);
    path_in(fixture, "copy", path);
    char sql[256];
    snprintf(sql, sizeof(sql), "VACUUM INTO '%s'", path);
    run_sql(fixture, sql);
    udpai_backup_facts facts = check(fixture, "copy");
    assert_false(facts.has_manifest);
    assert_int_equal(facts.manifest.n_resources, 2);
    assert_ok(restore(fixture, "copy", NULL));
    go_to_restored(fixture);
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_non_null(find_loaded(&loaded, UDPAI_DURABLE_PUT, "com.acme/a"));
    assert_null(strstr(loaded.epoch, facts.manifest.epoch));
    loaded_done(&loaded);
}

static void
a_store_is_not_replaced(void **state)
{
    struct fixture *fixture = *state;
    char path[128], log[128];
    udpai_backup_facts facts;
    put_some(fixture);
    make(fixture, "backup");
    path_in(fixture, "backup", path);
    for (int i = 0; i < 3; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_equal(udpai_backup_restore(path, fixture->directory, &facts, &error),
                         UDPA_ERR_PRECONDITION);
        assert_words(error, i == 0   ? "is in use by process"
                            : i == 1 ? "udpa.db: move the directory away"
                                     : "udpa.db-wal: move the directory away");
        close_engine(fixture);
        if (i == 1) {
            copy_file(fixture, "udpa.db", "udpa.db-wal");
            assert_int_equal(truncate(path_in(fixture, "udpa.db", log), 0), 0);
        }
    }
    assert_int_equal(unlink(path_in(fixture, "udpa.db-wal", log)), 0);
    assert_ok(udpai_backup_restore(path, fixture->directory, &facts, NULL));
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_non_null(find_loaded(&loaded, UDPAI_DURABLE_PUT, "com.acme/a"));
    loaded_done(&loaded);
}

/* Root restores what the user of the node must be able to open. */
static void
it_belongs_to_the_owner_of_the_directory(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    struct stat info;
    if (geteuid() != 0)
        skip();
    put_some(fixture);
    make(fixture, "backup");
    assert_int_equal(mkdir(path_in(fixture, "restored", path), 0700), 0);
    assert_int_equal(chown(path, 12345, 12346), 0);
    assert_ok(restore(fixture, "backup", NULL));
    static const char *const files[] = {"restored/udpa.db", "restored/udpa.lock"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(files); i++) {
        assert_int_equal(stat(path_in(fixture, files[i], path), &info), 0);
        assert_int_equal(info.st_uid, 12345);
        assert_int_equal(info.st_gid, 12346);
        assert_int_equal(info.st_mode & 0777, 0600);
    }
}

/* ---- what is none, or no whole one ---- */

static void
other_files_are_refused(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    put_some(fixture);
    make(fixture, "backup");
    assert_bad(fixture, "nothing", UDPA_ERR_IO, "No such file");
    assert_bad(fixture, "udpa.lock", UDPA_ERR_PRECONDITION, "is no backup of a node");
    copy_file(fixture, "backup", "cut");
    assert_int_equal(truncate(path_in(fixture, "cut", path), 9000), 0);
    assert_bad(fixture, "cut", UDPA_ERR_IO, "is damaged");
    close_engine(fixture);
    run_sql(fixture, "CREATE TRIGGER evil AFTER INSERT ON mark BEGIN DELETE FROM mark; END");
    assert_bad(fixture, "udpa.db", UDPA_ERR_PRECONDITION, "triggers or views");
    run_sql(fixture, "DROP TRIGGER evil; PRAGMA user_version = 5");
    assert_bad(fixture, "udpa.db", UDPA_ERR_PRECONDITION, "newer udpad (format 5, this one knows");
    run_sql(fixture, "PRAGMA application_id = 1");
    assert_bad(fixture, "udpa.db", UDPA_ERR_PRECONDITION, "of another program");
}

static void
each_byte_counts(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    put_some(fixture);
    udpai_backup_manifest manifest = make(fixture, "backup");
    int fd = open(path_in(fixture, "backup", path), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    off_t end = (off_t)manifest.size_bytes + UDPAI_BACKUP_MANIFEST_BYTES;
    for (off_t at = 0; at < end; at += at < (off_t)manifest.size_bytes ? 997 : 29) {
        char byte;
        udpai_backup_facts facts;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 4;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        if (udpai_backup_check(path, &facts, NULL) == UDPA_OK)
            fail_msg("byte %lld may have any value", (long long)at);
        byte ^= 4;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
    check(fixture, "backup");
}

int
main(void)
{
#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_STORE(it_has_what_the_store_has),
        WITH_STORE(what_was_deleted_is_not_in_it),
        WITH_STORE(another_file_is_not_overwritten),
        WITH_STORE(a_full_disk_leaves_nothing),
        WITH_STORE(it_gives_up_when_it_is_to_end),
        WITH_STORE(lack_of_memory_leaves_nothing),
        WITH_STORE(a_restored_store_is_another_one),
        WITH_STORE(so_is_one_that_was_copied_into_its_place),
        WITH_STORE(two_restored_ones_differ),
        WITH_STORE(a_copy_by_another_program_is_restored_so_too),
        WITH_STORE(a_store_is_not_replaced),
        WITH_STORE(it_belongs_to_the_owner_of_the_directory),
        WITH_STORE(other_files_are_refused),
        WITH_STORE(each_byte_counts),
    };
    return cmocka_run_group_tests_name("storage backup", tests, NULL, NULL);
}
