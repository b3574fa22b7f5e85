/* SPDX-License-Identifier: Apache-2.0 */
/* Key files: how they may be spelt, and who may read them. */
#include "storage/secret_key.h"

#include "tests/unit/storage/storage_test.h"

#define HEX "00112233445566778899aabbccddeeffFFEEDDCCBBAA99887766554433221100"

static const uint8_t hex_key[UDPAI_SECRET_KEY_SIZE] = {
    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
    0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x00,
};

static void
write_key(struct fixture *fixture, const void *data, size_t size, mode_t mode)
{
    char path[128];
    int fd = open(path_in(fixture, "key", path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), size);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static udpa_err
read_key(struct fixture *fixture, uint8_t key[UDPAI_SECRET_KEY_SIZE], const char *words)
{
    char path[128];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_secret_key_read(path_in(fixture, "key", path), key, &error);
    if (err != UDPA_OK) {
        assert_non_null(strstr(udpa_error_message(error), path));
        if (!strstr(udpa_error_message(error), words))
            fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
    }
    return err;
}

static void
raw_and_hexadecimal_are_read(void **state)
{
    static const char *const spellings[] = {HEX, HEX "\n", HEX "\r\n"};
    struct fixture *fixture = *state;
    uint8_t key[UDPAI_SECRET_KEY_SIZE] = {0};
    write_key(fixture, hex_key, sizeof(hex_key), 0400);
    assert_ok(read_key(fixture, key, ""));
    assert_memory_equal(key, hex_key, sizeof(key));
    char path[128];
    assert_int_equal(chmod(path_in(fixture, "key", path), 0600), 0);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(spellings); i++) {
        memset(key, 0, sizeof(key));
        write_key(fixture, spellings[i], strlen(spellings[i]), 0600);
        assert_ok(read_key(fixture, key, ""));
        assert_memory_equal(key, hex_key, sizeof(key));
    }
}

static void
what_is_no_key_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "too short",
        "thirty-three bytes are one too m\n",
        HEX "\n\n",
        HEX "0",
        HEX "\r\nx",
        "0011223344556677889gaabbccddeeff00112233445566778899aabbccddeeff",
        "0011223344556677889 aabbccddeeff00112233445566778899aabbccddeeff",
    };
    struct fixture *fixture = *state;
    uint8_t key[UDPAI_SECRET_KEY_SIZE] = {7};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        write_key(fixture, texts[i], strlen(texts[i]), 0600);
        assert_int_equal(read_key(fixture, key, "openssl rand -hex 32"), UDPA_ERR_INVAL);
    }
    assert_int_equal(key[0], 7);
}

static void
a_key_that_others_can_read_is_refused(void **state)
{
    static const mode_t modes[] = {0640, 0604, 0644, 0660, 0777, 0610};
    struct fixture *fixture = *state;
    uint8_t key[UDPAI_SECRET_KEY_SIZE];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(modes); i++) {
        write_key(fixture, hex_key, sizeof(hex_key), modes[i]);
        assert_int_equal(read_key(fixture, key, "chmod 600"), UDPA_ERR_DENIED);
    }
}

static void
what_is_no_file_is_refused(void **state)
{
    struct fixture *fixture = *state;
    uint8_t key[UDPAI_SECRET_KEY_SIZE];
    char path[128];
    assert_int_equal(read_key(fixture, key, "No such file"), UDPA_ERR_IO);
    assert_int_equal(mkfifo(path_in(fixture, "key", path), 0600), 0);
    assert_int_equal(read_key(fixture, key, "regular"), UDPA_ERR_INVAL);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(read_key(fixture, key, "regular"), UDPA_ERR_INVAL);
}

int
main(void)
{
#define WITH_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_DIRECTORY(raw_and_hexadecimal_are_read),
        WITH_DIRECTORY(what_is_no_key_is_refused),
        WITH_DIRECTORY(a_key_that_others_can_read_is_refused),
        WITH_DIRECTORY(what_is_no_file_is_refused),
    };
    return cmocka_run_group_tests_name("storage secret_key", tests, NULL, NULL);
}
