/* SPDX-License-Identifier: Apache-2.0 */
/* Password files: one line, and readable by its owner alone. */
#include "storage/password_file.h"

#include "tests/unit/storage/storage_test.h"

static void
write_password(struct fixture *fixture, udpai_str text, mode_t mode)
{
    char path[128];
    int fd =
        open(path_in(fixture, "password", path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.data, text.len), text.len);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static udpa_err
read_password(struct fixture *fixture, char password[UDPAI_PASSWORD_MAX + 1], const char *words)
{
    char path[128];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_password_file_read(path_in(fixture, "password", path), password, &error);
    if (err != UDPA_OK) {
        assert_non_null(strstr(udpa_error_message(error), path));
        if (!strstr(udpa_error_message(error), words))
            fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
    }
    return err;
}

static void
a_line_is_read_without_its_end(void **state)
{
    static const char *const ends[] = {"", "\n", "\r\n"};
    struct fixture *fixture = *state;
    char longest[UDPAI_PASSWORD_MAX + 1], text[UDPAI_PASSWORD_MAX + 3];
    char password[UDPAI_PASSWORD_MAX + 1];
    memset(longest, 'x', UDPAI_PASSWORD_MAX);
    longest[UDPAI_PASSWORD_MAX] = '\0';
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(ends); i++) {
        write_password(fixture, udpai_str_from(i ? "s\xc3\xa9same 1" : "x"), 0600);
        assert_ok(read_password(fixture, password, ""));
        assert_string_equal(password, i ? "s\xc3\xa9same 1" : "x");
        snprintf(text, sizeof(text), "%s%s", longest, ends[i]);
        write_password(fixture, udpai_str_from(text), 0400);
        assert_ok(read_password(fixture, password, ""));
        assert_string_equal(password, longest);
        char path[128];
        assert_int_equal(chmod(path_in(fixture, "password", path), 0600), 0);
    }
}

static void
what_is_no_password_is_refused(void **state)
{
    char longer[UDPAI_PASSWORD_MAX + 9];
    memset(longer, 'x', sizeof(longer));
    const udpai_str texts[] = {
        UDPAI_STR(""),
        UDPAI_STR("\n"),
        UDPAI_STR("\r\n"),
        UDPAI_STR("a\n\n"),
        UDPAI_STR("a\nb"),
        UDPAI_STR("a\r"),
        UDPAI_STR("a\tb"),
        UDPAI_STR("a\x7f"),
        UDPAI_STR("a\0b"),
        {longer, UDPAI_PASSWORD_MAX + 1},
        {longer, sizeof(longer)},
    };
    char password[UDPAI_PASSWORD_MAX + 1] = "as it was";
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        write_password(*state, texts[i], 0600);
        assert_int_equal(read_password(*state, password, "must hold one line of 1 to 256 bytes"),
                         UDPA_ERR_INVAL);
        assert_string_equal(password, "as it was");
    }
}

static void
a_password_that_others_can_read_is_refused(void **state)
{
    static const mode_t modes[] = {0604, 0640, 0644, 0700};
    char password[UDPAI_PASSWORD_MAX + 1] = "as it was";
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(modes); i++) {
        write_password(*state, UDPAI_STR("secret\n"), modes[i]);
        assert_int_equal(read_password(*state, password, "and replace the password if others"),
                         UDPA_ERR_DENIED);
        assert_string_equal(password, "as it was");
    }
}

static void
what_is_no_file_is_refused(void **state)
{
    struct fixture *fixture = *state;
    char password[UDPAI_PASSWORD_MAX + 1], path[128];
    assert_int_equal(read_password(fixture, password, "No such file"), UDPA_ERR_IO);
    assert_int_equal(mkfifo(path_in(fixture, "password", path), 0600), 0);
    assert_int_equal(read_password(fixture, password, "regular"), UDPA_ERR_INVAL);
}

int
main(void)
{
#define WITH_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_DIRECTORY(a_line_is_read_without_its_end),
        WITH_DIRECTORY(what_is_no_password_is_refused),
        WITH_DIRECTORY(a_password_that_others_can_read_is_refused),
        WITH_DIRECTORY(what_is_no_file_is_refused),
    };
    return cmocka_run_group_tests_name("storage password_file", tests, NULL, NULL);
}
