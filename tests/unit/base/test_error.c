/* SPDX-License-Identifier: Apache-2.0 */
/* Codes against the gRPC table, error objects with causes, and that a failure stays one when there
 * is no memory for its words. */
#include "base/error.h"

#include <limits.h>

#include "base/utf8.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

struct expected {
    udpa_err code;
    int value, grpc;
    const char *name;
};

/* Written out once more on purpose: the numbers travel and are compiled into programs. */
static const struct expected table[] = {
    {UDPA_OK, 0, 0, "UDPA_ERR_OK"},
    {UDPA_ERR_INVAL, -1, 3, "UDPA_ERR_INVAL"},
    {UDPA_ERR_MALFORMED, -2, 3, "UDPA_ERR_MALFORMED"},
    {UDPA_ERR_NOMEM, -3, 8, "UDPA_ERR_NOMEM"},
    {UDPA_ERR_LIMIT, -4, 8, "UDPA_ERR_LIMIT"},
    {UDPA_ERR_NOT_FOUND, -5, 5, "UDPA_ERR_NOT_FOUND"},
    {UDPA_ERR_EXISTS, -6, 6, "UDPA_ERR_EXISTS"},
    {UDPA_ERR_DENIED, -7, 7, "UDPA_ERR_DENIED"},
    {UDPA_ERR_UNAUTHENTICATED, -8, 16, "UDPA_ERR_UNAUTHENTICATED"},
    {UDPA_ERR_PRECONDITION, -9, 9, "UDPA_ERR_PRECONDITION"},
    {UDPA_ERR_ABORTED, -10, 10, "UDPA_ERR_ABORTED"},
    {UDPA_ERR_UNIMPLEMENTED, -11, 12, "UDPA_ERR_UNIMPLEMENTED"},
    {UDPA_ERR_UNAVAILABLE, -12, 14, "UDPA_ERR_UNAVAILABLE"},
    {UDPA_ERR_DEADLINE, -13, 4, "UDPA_ERR_DEADLINE"},
    {UDPA_ERR_CANCELLED, -14, 1, "UDPA_ERR_CANCELLED"},
    {UDPA_ERR_CLOSED, -15, 1, "UDPA_ERR_CLOSED"},
    {UDPA_ERR_IO, -16, 14, "UDPA_ERR_IO"},
    {UDPA_ERR_INTERNAL, -17, 13, "UDPA_ERR_INTERNAL"},
    {UDPA_ERR_UNKNOWN, -18, 2, "UDPA_ERR_UNKNOWN"},
};

static void
codes_have_stable_values_and_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(table); i++) {
        assert_int_equal(table[i].code, table[i].value);
        assert_int_equal(udpa_err_to_grpc(table[i].code), table[i].grpc);
        assert_string_equal(udpa_err_name(table[i].code), table[i].name);
        assert_true(strlen(udpa_err_text(table[i].code)) > 3);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(udpa_err_text(table[i].code), udpa_err_text(table[k].code));
    }
    assert_string_equal(udpa_err_text(UDPA_OK), "success");
    assert_string_equal(udpa_err_text(UDPA_ERR_INVAL), "invalid argument");
}

static void
values_that_are_no_code_are_survived(void **state)
{
    (void)state;
    static const int strange[] = {1, -19, 1000, INT_MAX, INT_MIN};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(strange); i++) {
        udpa_err code = (udpa_err)strange[i];
        assert_string_equal(udpa_err_name(code), "UDPA_ERR_?");
        assert_non_null(udpa_err_text(code));
        assert_int_equal(udpa_err_to_grpc(code), 2);
    }
}

static void
every_grpc_status_has_a_code(void **state)
{
    (void)state;
    static const udpa_err by_grpc[17] = {
        UDPA_OK,
        UDPA_ERR_CANCELLED,
        UDPA_ERR_UNKNOWN,
        UDPA_ERR_INVAL,
        UDPA_ERR_DEADLINE,
        UDPA_ERR_NOT_FOUND,
        UDPA_ERR_EXISTS,
        UDPA_ERR_DENIED,
        UDPA_ERR_LIMIT,
        UDPA_ERR_PRECONDITION,
        UDPA_ERR_ABORTED,
        UDPA_ERR_INVAL,
        UDPA_ERR_UNIMPLEMENTED,
        UDPA_ERR_INTERNAL,
        UDPA_ERR_UNAVAILABLE,
        UDPA_ERR_MALFORMED,
        UDPA_ERR_UNAUTHENTICATED,
    };
    for (int status = 0; status <= 16; status++)
        assert_int_equal(udpa_err_from_grpc(status), by_grpc[status]);
    static const int strange[] = {17, -1, 99, INT_MAX, INT_MIN};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(strange); i++)
        assert_int_equal(udpa_err_from_grpc(strange[i]), UDPA_ERR_UNKNOWN);
}

static void
message_holds_words_and_causes(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref)
    udpa_error *inner = udpa_error_new(UDPA_ERR_IO, NULL, "line %d", 3);
    UDPA_AUTO(udpa_error_unref)
    udpa_error *middle = udpa_error_new(UDPA_ERR_MALFORMED, inner, "in '%s'", "x.yaml");
    UDPA_AUTO(udpa_error_unref)
    udpa_error *outer = udpa_error_new(UDPA_ERR_INVAL, middle, "cannot start");
    inner = udpa_error_unref(inner);
    assert_int_equal(udpa_error_code(outer), UDPA_ERR_INVAL);
    assert_string_equal(udpa_error_message(middle), "in 'x.yaml': line 3");
    assert_string_equal(udpa_error_message(outer), "cannot start: in 'x.yaml': line 3");
}

static void
long_messages_are_whole(void **state)
{
    (void)state;
    char text[5000];
    memset(text, 'm', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error = udpa_error_new(UDPA_ERR_LIMIT, NULL, "<%s>", text);
    assert_int_equal(strlen(udpa_error_message(error)), 5001);
}

static void
empty_words_are_allowed(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = udpa_error_new(UDPA_ERR_IO, NULL, "%s", "");
    assert_string_equal(udpa_error_message(error), "");
}

static void
message_is_always_utf8(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref)
    udpa_error *raw = udpa_error_new(UDPA_ERR_INVAL, NULL, "name '%s'", "a\xff\xc3=b");
    assert_string_equal(udpa_error_message(raw), "name 'a?"
                                                 "?=b'");
    UDPA_AUTO(udpa_error_unref) /* the precision cuts the second letter in two */
    udpa_error *cut = udpa_error_new(UDPA_ERR_INVAL, NULL, "'%.3s'", "\u00e9\u00e9");
    assert_string_equal(udpa_error_message(cut), "'\u00e9?'");
    assert_true(udpai_utf8_valid(udpai_str_from(udpa_error_message(cut))));
}

static void
null_is_success(void **state)
{
    (void)state;
    assert_int_equal(udpa_error_code(NULL), UDPA_OK);
    assert_string_equal(udpa_error_message(NULL), "success");
    assert_null(udpa_error_ref(NULL));
    assert_null(udpa_error_unref(NULL));
}

static void
references_keep_it_alive(void **state)
{
    (void)state;
    udpa_error *error = udpa_error_new(UDPA_ERR_IO, NULL, "disk");
    udpa_error *second = udpa_error_ref(error);
    assert_ptr_equal(second, error);
    assert_null(udpa_error_unref(error));
    assert_string_equal(udpa_error_message(second), "disk");
    assert_null(udpa_error_unref(second));
}

static void
fail_stores_and_returns(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_fail(&error, UDPA_ERR_DENIED, "no %s", "entry"), UDPA_ERR_DENIED);
    assert_int_equal(udpa_error_code(error), UDPA_ERR_DENIED);
    assert_string_equal(udpa_error_message(error), "no entry");
    assert_int_equal(udpai_fail(NULL, UDPA_ERR_DENIED, "nobody asked"), UDPA_ERR_DENIED);
}

static void
fail_because_consumes_the_cause(void **state)
{
    (void)state;
    udpa_error *cause = udpa_error_new(UDPA_ERR_IO, NULL, "cause");
    udpa_error *error = cause; /* the usual way: the cause lies where the error will */
    assert_int_equal(udpai_fail_because(&error, UDPA_ERR_INVAL, cause, "effect"), UDPA_ERR_INVAL);
    assert_string_equal(udpa_error_message(error), "effect: cause");
    udpa_error_unref(error);
    cause = udpa_error_new(UDPA_ERR_IO, NULL, "cause");
    assert_int_equal(udpai_fail_because(NULL, UDPA_ERR_LIMIT, cause, "effect"), UDPA_ERR_LIMIT);
    error = NULL;
    assert_int_equal(udpai_fail_because(&error, UDPA_ERR_LIMIT, NULL, "alone"), UDPA_ERR_LIMIT);
    assert_string_equal(udpa_error_message(error), "alone");
    udpa_error_unref(error);
}

static void
fail_code_adds_words_only_where_none_are(void **state)
{
    (void)state;
    udpa_error *error = NULL;
    assert_int_equal(udpai_fail_code(&error, UDPA_OK), UDPA_OK);
    assert_null(error);
    assert_int_equal(udpai_fail_code(NULL, UDPA_ERR_NOMEM), UDPA_ERR_NOMEM);
    assert_int_equal(udpai_fail_code(&error, UDPA_ERR_NOMEM), UDPA_ERR_NOMEM);
    assert_string_equal(udpa_error_message(error), "out of memory");
    udpa_error *first = error;
    assert_int_equal(udpai_fail_code(&error, UDPA_ERR_IO), UDPA_ERR_IO);
    assert_ptr_equal(error, first);
    udpa_error_unref(error);
}

static void
without_memory_an_error_has_its_code_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(table); i++) {
        udpa_error *error = NULL;
        udpai_alloc_fail_after(0);
        udpa_err err = udpai_fail(&error, table[i].code, "%s", "words");
        udpai_alloc_fail_after(-1);
        assert_int_equal(err, table[i].code);
        assert_non_null(error);
        assert_int_equal(udpa_error_code(error), table[i].code);
        assert_string_equal(udpa_error_message(error), udpa_err_text(table[i].code));
        assert_ptr_equal(udpa_error_ref(error), error);
        for (int drop = 0; drop < 5; drop++)
            assert_null(udpa_error_unref(error));
        assert_string_equal(udpa_error_message(error), udpa_err_text(table[i].code));
    }
}

static void
without_memory_a_cause_is_still_consumed(void **state)
{
    (void)state;
    udpa_error *cause = udpa_error_new(UDPA_ERR_IO, NULL, "cause"), *error = NULL;
    udpai_alloc_fail_after(0);
    udpa_err err = udpai_fail_because(&error, UDPA_ERR_NOMEM, cause, "effect");
    udpai_alloc_fail_after(-1);
    assert_int_equal(err, UDPA_ERR_NOMEM);
    assert_string_equal(udpa_error_message(error), "out of memory");
}

static void
strange_code_without_memory_is_unknown(void **state)
{
    (void)state;
    udpai_alloc_fail_after(0);
    udpa_error *error = udpa_error_new((udpa_err)77, NULL, "x");
    udpai_alloc_fail_after(-1);
    assert_int_equal(udpa_error_code(error), UDPA_ERR_UNKNOWN);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_have_stable_values_and_names),
        cmocka_unit_test(values_that_are_no_code_are_survived),
        cmocka_unit_test(every_grpc_status_has_a_code),
        cmocka_unit_test(message_holds_words_and_causes),
        cmocka_unit_test(long_messages_are_whole),
        cmocka_unit_test(empty_words_are_allowed),
        cmocka_unit_test(message_is_always_utf8),
        cmocka_unit_test(null_is_success),
        cmocka_unit_test(references_keep_it_alive),
        cmocka_unit_test(fail_stores_and_returns),
        cmocka_unit_test(fail_because_consumes_the_cause),
        cmocka_unit_test(fail_code_adds_words_only_where_none_are),
        cmocka_unit_test(without_memory_an_error_has_its_code_alone),
        cmocka_unit_test(without_memory_a_cause_is_still_consumed),
        cmocka_unit_test(strange_code_without_memory_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
