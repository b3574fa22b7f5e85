/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that are streamed to a sink: the identifier, limits, and invalid ones. */
#include "sinks/message.h"

#include "base/bytes.h"
#include "tests/harness/oom.h"
#include "tests/harness/wire.h"

static udpai_event_identifier identifier;

static void
expect(udpai_event_kind kind, udpai_str message, udpa_err expected, const char *words)
{
    udpa_error *error = NULL;
    udpa_err err = udpai_event_message_read(kind, message, &identifier, &error);
    assert_int_equal(err, expected);
    if (words && !strstr(udpa_error_message(error), words))
        fail_msg("'%s' has not '%s'", udpa_error_message(error), words);
    udpa_error_unref(error);
}

static void
the_identifier_is_found(void **state)
{
    (void)state;
    udpai_str node = W_TEXT(1, "edge");
    udpai_str message = W_JOIN(W_MESSAGE(2, W_TEXT(1, "entry")),
                               W_MESSAGE(1, wire_bytes(1, node), W_TEXT(2, "ingress")));
    expect(UDPAI_EVENT_ACCESS_LOG, message, UDPA_OK, NULL);
    assert_true(identifier.is_there);
    assert_true(udpai_str_eq(identifier.node, node));
    assert_str(identifier.name, "ingress");
    expect(UDPAI_EVENT_METRICS, message, UDPA_OK, NULL);
    assert_str(identifier.name, ""); /* it has no such field */
    expect(UDPAI_EVENT_ACCESS_LOG, W_MESSAGE(2, W_TEXT(1, "entry")), UDPA_OK, NULL);
    assert_false(identifier.is_there);
    expect(UDPAI_EVENT_ACCESS_LOG, W_NOTHING, UDPA_OK, NULL);
}

static void
what_is_malformed_is_refused(void **state)
{
    (void)state;
    expect(UDPAI_EVENT_TAP, UDPAI_STR("\x0a\x05"), UDPA_ERR_MALFORMED, "'tap' is malformed");
    expect(UDPAI_EVENT_TAP, W_VARINT(1, 1), UDPA_ERR_MALFORMED, "malformed identifier");
    expect(UDPAI_EVENT_TAP, W_JOIN(W_MESSAGE(1, W_NOTHING), W_MESSAGE(1, W_NOTHING)),
           UDPA_ERR_MALFORMED, "malformed identifier");
    expect(UDPAI_EVENT_TAP, W_MESSAGE(1, W_VARINT(1, 1)), UDPA_ERR_MALFORMED, "identifier");
    expect(UDPAI_EVENT_TAP, W_MESSAGE(1, W_TEXT(1, ""), W_TEXT(1, "")), UDPA_ERR_MALFORMED,
           "identifier");
    expect(UDPAI_EVENT_TAP, W_BYTES(1, "\x0a\x05"), UDPA_ERR_MALFORMED, "identifier");
    expect(UDPAI_EVENT_TAP, W_MESSAGE(1, W_BYTES(2, "\xff")), UDPA_ERR_MALFORMED, "UTF-8");
    expect(UDPAI_EVENT_ACCESS_LOG, W_VARINT(3, 1), UDPA_ERR_MALFORMED, "another type");
    expect(UDPAI_EVENT_TAP, W_VARINT(2, 1), UDPA_OK, NULL); /* its trace_id */
    expect(UDPAI_EVENT_ACCESS_LOG, W_MESSAGE(2, W_VARINT(1, 1)), UDPA_ERR_MALFORMED,
           "another type");
    expect(UDPAI_EVENT_ACCESS_LOG, W_BYTES(2, "\x0a\x7f"), UDPA_ERR_MALFORMED, "is malformed");
    expect(UDPAI_EVENT_METRICS, W_BYTES(2, "\x0a\x7f"), UDPA_OK, NULL); /* for who shows it */
}

static void
there_are_limits(void **state)
{
    char name[UDPAI_STREAM_NAME_MAX + 2];
    (void)state;
    memset(name, 'x', sizeof(name));
    name[UDPAI_STREAM_NAME_MAX] = '\0';
    expect(UDPAI_EVENT_TAP, W_MESSAGE(1, W_TEXT(2, name)), UDPA_OK, NULL);
    name[UDPAI_STREAM_NAME_MAX] = 'x';
    name[UDPAI_STREAM_NAME_MAX + 1] = '\0';
    expect(UDPAI_EVENT_TAP, W_MESSAGE(1, W_TEXT(2, name)), UDPA_ERR_LIMIT, "longer than 256");
    size_t n = 400000;
    char *many = wire_room(2 * n);
    for (size_t i = 0; i < n; i++)
        memcpy(many + 2 * i, "\x38\x01", 2); /* field 7 */
    expect(UDPAI_EVENT_TAP, (udpai_str){many, 2 * n}, UDPA_ERR_LIMIT, "too many fields");
    expect(UDPAI_EVENT_ACCESS_LOG, wire_bytes(2, (udpai_str){many, 2 * n}), UDPA_ERR_LIMIT,
           "too many fields");
}

static void
assert_copy(udpai_str message, udpai_str expected)
{
    udpa_bytes *copy = udpai_event_message_copy(message);
    assert_non_null(copy);
    assert_true(udpai_str_eq(udpai_bytes_view(copy), expected));
    udpa_bytes_unref(copy);
}

static void
the_identifier_is_left_out_of_what_is_kept(void **state)
{
    (void)state;
    udpai_str one = W_MESSAGE(2, W_TEXT(1, "entry")), other = W_VARINT(2000, 5);
    udpai_str who = W_MESSAGE(1, W_TEXT(2, "name"));
    assert_copy(W_JOIN(one, who, other), W_JOIN(one, other));
    assert_copy(W_JOIN(who, one), one);
    assert_copy(W_JOIN(one, who), one);
    assert_copy(who, W_NOTHING);
    assert_copy(W_NOTHING, W_NOTHING);
}

static int
free_pieces(void **state)
{
    (void)state;
    wire_free_all();
    return 0;
}

#define CASE(name) cmocka_unit_test_teardown(name, free_pieces)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_identifier_is_found),
        CASE(what_is_malformed_is_refused),
        CASE(there_are_limits),
        CASE(the_identifier_is_left_out_of_what_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
