/* SPDX-License-Identifier: Apache-2.0 */
/* Records that survive: whole, in order, and nothing of what was written in part. */
#include "loop/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/oom.h"
#include "tests/harness/test.h"

#define OWNER UDPAI_STR("this one")

static char directory[32], path[64], seen[256];

static int
begin(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/udpa-journal-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/journal", directory);
    return 0;
}

static int
end(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory); /* nothing else is left there */
}

static udpa_err
note(void *userdata, udpai_str record)
{
    size_t at = strlen(seen);
    (void)userdata;
    snprintf(seen + at, sizeof(seen) - at, "%s%.*s", at ? " " : "", (int)record.len, record.data);
    return UDPA_OK;
}

static udpai_journal *
open_journal(const char *expected)
{
    udpai_journal *journal = NULL;
    *seen = '\0';
    assert_ok(udpai_journal_open(&journal, path, OWNER, note, NULL, NULL));
    assert_string_equal(seen, expected);
    return journal;
}

static void
append(udpai_journal *journal, const char *text)
{
    assert_ok(udpai_journal_append(journal, udpai_str_from(text), NULL));
}

static void
what_was_appended_is_read(void **state)
{
    (void)state;
    udpai_journal *journal = open_journal("");
    append(journal, "a");
    append(journal, "bc");
    udpai_journal_close(journal);
    journal = open_journal("a bc");
    append(journal, "d");
    udpai_journal_close(journal);
    udpai_journal_close(open_journal("a bc d"));
}

/* Wherever it was cut, and whatever stands there instead. */
static void
what_is_not_whole_is_cut_off(void **state)
{
    struct stat one, two;
    (void)state;
    udpai_journal *journal = open_journal("");
    append(journal, "first");
    assert_int_equal(stat(path, &one), 0);
    append(journal, "second");
    assert_int_equal(stat(path, &two), 0);
    udpai_journal_close(journal);
    for (off_t size = two.st_size - 1; size > one.st_size; size--) {
        assert_int_equal(truncate(path, size), 0);
        journal = open_journal("first");
        append(journal, "second");
        udpai_journal_close(journal);
    }
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, two.st_size - 1, SEEK_SET), 0);
    assert_int_equal(fputc('X', file), 'X');
    assert_int_equal(fclose(file), 0);
    journal = open_journal("first");
    append(journal, "third");
    udpai_journal_close(journal);
    udpai_journal_close(open_journal("first third"));
}

static udpa_err
write_short(void *userdata, udpai_journal *journal)
{
    append(journal, "short");
    return *(const udpa_err *)userdata;
}

static void
it_is_replaced_whole_or_not_at_all(void **state)
{
    udpa_err result = UDPA_ERR_NOMEM;
    (void)state;
    udpai_journal *journal = open_journal("");
    append(journal, "long");
    assert_int_equal(udpai_journal_rewrite(journal, write_short, &result, NULL), result);
    append(journal, "more");
    udpai_journal_close(journal);
    journal = open_journal("long more");
    result = UDPA_OK;
    assert_ok(udpai_journal_rewrite(journal, write_short, &result, NULL));
    append(journal, "more");
    udpai_journal_close(journal);
    udpai_journal_close(open_journal("short more"));
}

static void
it_is_long_when_it_has_grown(void **state)
{
    udpa_err result = UDPA_OK;
    (void)state;
    char *big = calloc(1, (1 << 20) + 1);
    memset(big, 'x', 1 << 20);
    udpai_journal *journal = open_journal("");
    append(journal, "a");
    assert_false(udpai_journal_is_long(journal));
    for (int i = 0; i < 5; i++)
        append(journal, big);
    assert_true(udpai_journal_is_long(journal));
    assert_ok(udpai_journal_rewrite(journal, write_short, &result, NULL));
    assert_false(udpai_journal_is_long(journal));
    udpai_journal_close(journal);
    free(big);
}

static void
what_cannot_be_opened_is_said(void **state)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_journal *journal = NULL;
    (void)state;
    assert_int_equal(udpai_journal_open(&journal, "/proc/no/journal", OWNER, note, NULL, &error),
                     UDPA_ERR_IO);
    assert_non_null(strstr(udpa_error_message(error), "/proc/no/journal"));
}

static udpa_err
open_with_little_memory(void *context)
{
    udpai_journal *journal = NULL;
    (void)context;
    *seen = '\0';
    udpa_err err = udpai_journal_open(&journal, path, OWNER, note, NULL, NULL);
    udpai_journal_close(journal);
    return err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    udpai_journal *journal = open_journal("");
    append(journal, "a");
    udpai_journal_close(journal);
    oom_torture(open_with_little_memory, NULL);
    udpai_journal_close(open_journal("a"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_appended_is_read, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_whole_is_cut_off, begin, end),
        cmocka_unit_test_setup_teardown(it_is_replaced_whole_or_not_at_all, begin, end),
        cmocka_unit_test_setup_teardown(it_is_long_when_it_has_grown, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_opened_is_said, begin, end),
        cmocka_unit_test_setup_teardown(survives_lack_of_memory, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
