/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of records share: one reader, which reads from memory of exactly the size. */
#ifndef UDPAI_TESTS_RECORD_TEST_H
#define UDPAI_TESTS_RECORD_TEST_H

#include "model/types.h"
#include "replica/record.h"
#include "tests/harness/resources.h"
#include "tests/harness/wire.h"

#define PREFIX "/udpa/prod/1/"
#define PUBLISHER "publisher:spiffe://acme/ci"
#define NAME "com.acme/a"
#define KEY "c/com.acme/test.Thing/a/o"

static udpai_record_reader reader;
static udpai_strbuf buffer;

static inline int
setup(void **state)
{
    (void)state;
    udpai_record_reader_init(&reader, NULL);
    return 0;
}

static inline int
teardown(void **state)
{
    (void)state;
    udpai_record_reader_done(&reader);
    udpai_strbuf_done(&buffer);
    wire_free_all();
    return 0;
}

static inline udpai_record_place
place_of(const char *origin, const char *type_url, const char *name)
{
    return (udpai_record_place){udpai_str_from(origin), udpai_str_from(type_url),
                                udpai_str_from(name)};
}

/* Lasts until the next one. */
static inline udpai_str
key_of(udpai_record_place place)
{
    buffer.len = 0;
    udpai_strbuf_puts(&buffer, PREFIX);
    assert_ok(udpai_record_put_key(&buffer, &place, NULL));
    udpai_str key = udpai_strbuf_view(&buffer);
    assert_true(udpai_str_starts(key, UDPAI_STR(PREFIX)));
    return (udpai_str){key.data + sizeof(PREFIX) - 1, key.len - (sizeof(PREFIX) - 1)};
}

/* From memory of exactly its size, so that a read behind it is seen. An error changes nothing, and
 * has the words, if they are given. */
static inline udpa_err
read_record(udpai_str key, const udpai_str *value, udpai_durable_op *ret_op, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    char *exact = malloc(key.len + 1);
    assert_non_null(exact);
    memcpy(exact + 1, key.len ? key.data : "", key.len);
    *ret_op = (udpai_durable_op){.number = 77};
    udpa_err err =
        udpai_record_read(&reader, (udpai_str){exact + 1, key.len}, value, ret_op, &error);
    free(exact);
    assert_int_equal(udpa_error_code(error), err);
    assert_int_equal(ret_op->number, err == UDPA_OK ? 0 : 77);
    if (err != UDPA_OK)
        assert_null(ret_op->origin);
    if (err != UDPA_OK && err != UDPA_ERR_NOMEM)
        assert_non_null(strstr(udpa_error_message(error), "key '"));
    if (words && !strstr(udpa_error_message(error), words))
        fail_msg("'%s' has not '%s'", udpa_error_message(error), words);
    return err;
}

static inline void
assert_bytes(const udpa_bytes *bytes, udpai_str expected)
{
    assert_true(udpai_str_eq(udpai_bytes_view(bytes), expected));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
