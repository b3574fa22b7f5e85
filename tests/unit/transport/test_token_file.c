/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of files: which are ones, which headers have them, and that the file is followed. */
#include "transport/token_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/harness/test.h"

#define TOKEN "0123456789abcdef"

static char path[64];

static int
setup(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "/tmp/udpa-token-XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int
teardown(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static void
write_token(const char *text, size_t len)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static void
set_age(long s)
{
    struct timeval now;
    assert_int_equal(gettimeofday(&now, NULL), 0);
    const struct timeval times[] = {{now.tv_sec - s, 0}, {now.tv_sec - s, 0}};
    assert_int_equal(utimes(path, times), 0);
}

static udpai_token_file *
open_with(const char *text)
{
    udpai_token_file *file = NULL;
    write_token(text, strlen(text));
    assert_ok(udpai_token_file_open(&file, path, NULL));
    return file;
}

static bool
accepts(udpai_token_file *file, const char *header)
{
    return udpai_token_file_accepts(file, udpai_str_from(header));
}

static void
a_header_has_it_or_not(void **state)
{
    (void)state;
    udpai_token_file *file = open_with(TOKEN "\r\n");
    assert_str(udpai_token_file_token(file), TOKEN);
    assert_true(accepts(file, "Bearer " TOKEN));
    assert_true(accepts(file, "bEARER   " TOKEN));
    static const char *const others[] = {
        "",
        "Bearer",
        "Bearer ",
        TOKEN,
        "Basic " TOKEN,
        "Bearer " TOKEN " ",
        "Bearer " TOKEN "0",
        "Bearer 0123456789abcde",
        "Bearer 1123456789abcdef",
        "Bearer 0123456789abcdeF",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++)
        if (accepts(file, others[i]))
            fail_msg("'%s' is accepted", others[i]);
    udpai_token_file_free(file);
}

/* One that ends where the other goes on with zeros. */
static void
zeros_are_no_end(void **state)
{
    (void)state;
    udpai_token_file *file = open_with(TOKEN);
    assert_false(udpai_token_file_accepts(file, (udpai_str){"Bearer " TOKEN "\0\0", 25}));
    char longest[7 + UDPAI_TOKEN_MAX + 1] = "Bearer ";
    memset(longest + 7, 'a', UDPAI_TOKEN_MAX + 1);
    assert_false(udpai_token_file_accepts(file, (udpai_str){longest, sizeof(longest)}));
    write_token(longest + 7, UDPAI_TOKEN_MAX);
    assert_true(udpai_token_file_accepts(file, (udpai_str){longest, sizeof(longest) - 1}));
    assert_false(udpai_token_file_accepts(file, (udpai_str){longest, sizeof(longest)}));
    udpai_token_file_free(file);
}

static void
expect_none(const char *text, size_t len, udpa_err expected, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_token_file *file = NULL;
    write_token(text, len);
    assert_int_equal(udpai_token_file_open(&file, path, &error), expected);
    assert_non_null(strstr(udpa_error_message(error), words));
    assert_memory_equal(udpa_error_message(error), path, strlen(path));
}

static void
what_is_no_token_is_an_error(void **state)
{
    (void)state;
    char much[UDPAI_TOKEN_MAX + 1];
    memset(much, 'a', sizeof(much));
    expect_none("", 0, UDPA_ERR_INVAL, "16 to 200");
    expect_none("0123456789abcde\n", 16, UDPA_ERR_INVAL, "16 to 200");
    expect_none(much, sizeof(much), UDPA_ERR_INVAL, "16 to 200");
    expect_none(TOKEN " " TOKEN, 33, UDPA_ERR_INVAL, "without blanks");
    expect_none(TOKEN "\n" TOKEN, 33, UDPA_ERR_INVAL, "without blanks");
    expect_none(TOKEN "\xc3\xa4", 18, UDPA_ERR_INVAL, "without blanks");
    expect_none(TOKEN "\0\0", 18, UDPA_ERR_INVAL, "without blanks");
}

static void
a_file_for_others_is_an_error(void **state)
{
    (void)state;
    for (mode_t bit = 1; bit < 8; bit *= 2) {
        assert_int_equal(chmod(path, 0600 | bit), 0);
        expect_none(TOKEN, 16, UDPA_ERR_DENIED, "chmod o=");
    }
    assert_int_equal(chmod(path, 0640), 0);
    udpai_token_file_free(open_with(TOKEN));
}

static void
what_is_no_file_is_an_error(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_token_file *file = NULL;
    assert_int_equal(udpai_token_file_open(&file, "/tmp", &error), UDPA_ERR_INVAL);
    assert_int_equal(udpai_token_file_open(&file, "/proc/no/token", NULL), UDPA_ERR_IO);
}

static void
another_token_counts_at_once(void **state)
{
    (void)state;
    udpai_token_file *file = open_with(TOKEN);
    for (int i = 0; i < 20; i++) {
        char now[24], header[32];
        snprintf(now, sizeof(now), "0123456789abcde%c", 'A' + i);
        snprintf(header, sizeof(header), "Bearer %s", now);
        write_token(now, 16);
        assert_true(accepts(file, header));
        assert_false(accepts(file, "Bearer " TOKEN));
    }
    udpai_token_file_free(file);
}

/* An old one is not read again, unless it looks another: also by its time alone. */
static void
an_old_file_is_followed_by_its_look(void **state)
{
    (void)state;
    udpai_token_file *file = open_with(TOKEN);
    set_age(1000);
    assert_true(accepts(file, "Bearer " TOKEN));
    assert_true(accepts(file, "Bearer " TOKEN));
    write_token("fedcba9876543210", 16);
    set_age(999);
    assert_true(accepts(file, "Bearer fedcba9876543210"));
    assert_false(accepts(file, "Bearer " TOKEN));
    assert_int_equal(chmod(path, 0604), 0);
    assert_false(accepts(file, "Bearer fedcba9876543210"));
    assert_int_equal(chmod(path, 0600), 0);
    assert_true(accepts(file, "Bearer fedcba9876543210"));
    unlink(path);
    assert_false(accepts(file, "Bearer fedcba9876543210"));
    assert_int_equal(udpai_token_file_token(file).len, 0);
    assert_false(accepts(file, "Bearer "));
    udpai_token_file_free(file);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_header_has_it_or_not),
        CASE(zeros_are_no_end),
        CASE(what_is_no_token_is_an_error),
        CASE(a_file_for_others_is_an_error),
        CASE(what_is_no_file_is_an_error),
        CASE(another_token_counts_at_once),
        CASE(an_old_file_is_followed_by_its_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
