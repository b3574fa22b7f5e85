/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator has asked of a state directory, and of which set it is. */
#include "storage/migration.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/set_file.h"
#include "storage/small_file.h"
#include "storage/sqlite.h"
#include "tests/harness/test.h"

static char directory[] = "/tmp/udpa-migration-XXXXXX";

static const char *
path_of(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void
write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static int
setup(void **state)
{
    (void)state;
    memcpy(directory + sizeof(directory) - 7, "XXXXXX", 6);
    return mkdtemp(directory) ? 0 : -1;
}

static int
teardown(void **state)
{
    static const char *const names[] = {"migrate", "replica-set", UDPAI_SQLITE_FILE, "elsewhere"};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        (void)unlink(path_of(names[i]));
    return rmdir(directory);
}

static void
what_was_asked_for_is_found_until_it_is_done(void **state)
{
    (void)state;
    assert_int_equal(udpai_migration_read(directory), UDPAI_MIGRATION_NONE);
    assert_ok(udpai_migration_ask(directory, UDPAI_MIGRATION_TO_ETCD, NULL));
    assert_int_equal(udpai_migration_read(directory), UDPAI_MIGRATION_TO_ETCD);
    assert_ok(udpai_migration_ask(directory, UDPAI_MIGRATION_TO_SQLITE, NULL));
    assert_int_equal(udpai_migration_read(directory), UDPAI_MIGRATION_TO_SQLITE);
    assert_ok(udpai_migration_end(directory, NULL));
    assert_int_equal(udpai_migration_read(directory), UDPAI_MIGRATION_NONE);
    assert_ok(udpai_migration_end(directory, NULL));
}

static void
nothing_else_was_asked_for(void **state)
{
    static const char *const texts[] = {"", "to etcd", "to etcd\n\n", "to nowhere\n"};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        write_file("migrate", texts[i]);
        assert_int_equal(udpai_migration_read(directory), UDPAI_MIGRATION_NONE);
    }
    char large[2 * UDPAI_SMALL_FILE_MAX];
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    write_file("migrate", large);
    assert_int_equal(udpai_migration_read(directory), UDPAI_MIGRATION_NONE);
}

static void
a_link_is_not_followed(void **state)
{
    (void)state;
    write_file("elsewhere", "to etcd\n");
    char target[128];
    (void)snprintf(target, sizeof(target), "%s", path_of("elsewhere"));
    assert_int_equal(symlink(target, path_of("migrate")), 0);
    assert_int_equal(udpai_migration_read(directory), UDPAI_MIGRATION_NONE);
    assert_ok(udpai_migration_ask(directory, UDPAI_MIGRATION_TO_SQLITE, NULL));
    char text[UDPAI_SMALL_FILE_MAX + 1];
    assert_true(udpai_small_file_read(directory, "elsewhere", text) > 0);
    assert_string_equal(text, "to etcd\n");
}

static void
what_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_migration_ask("/proc/no", UDPAI_MIGRATION_TO_ETCD, &error), UDPA_ERR_IO);
    assert_non_null(strstr(udpa_error_message(error), "cannot write /proc/no/migrate: "));
}

static void
a_store_is_of_a_set_or_alone(void **state)
{
    char id[UDPAI_SET_FILE_ID_MAX + 1];
    (void)state;
    assert_false(udpai_set_file_is_alone(directory));
    assert_ok(udpai_set_file_read(directory, "/udpa/x", id, NULL));
    assert_string_equal(id, "");
    write_file(UDPAI_SQLITE_FILE, "");
    assert_true(udpai_set_file_is_alone(directory));
    assert_int_equal(udpai_set_file_read(directory, "/udpa/x", id, NULL), UDPA_ERR_PRECONDITION);
    assert_ok(udpai_set_file_check_none(directory, NULL));
    assert_ok(udpai_set_file_write(directory, "/udpa/x", UDPAI_STR("abc"), NULL));
    assert_false(udpai_set_file_is_alone(directory));
    assert_ok(udpai_set_file_read(directory, "/udpa/x", id, NULL));
    assert_string_equal(id, "abc");
    assert_int_equal(udpai_set_file_read(directory, "/udpa/y", id, NULL), UDPA_ERR_PRECONDITION);
    assert_int_equal(udpai_set_file_check_none(directory, NULL), UDPA_ERR_PRECONDITION);
    assert_ok(udpai_set_file_remove(directory, NULL));
    assert_true(udpai_set_file_is_alone(directory));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_asked_for_is_found_until_it_is_done, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nothing_else_was_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_link_is_not_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(a_store_is_of_a_set_or_alone, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
