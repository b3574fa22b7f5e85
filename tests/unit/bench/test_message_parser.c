/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a message as it comes in pieces is what a plain reader finds in the whole. */
#include "base/strbuf.h"
#include "tests/harness/test.h"
#include "tests/harness/wire.h"
#include "tools/bench/message_parser.h"

#define ROUNDS 3000

/* ---- what is told ---- */

typedef udpai_parser_action (*wish_fn)(uint32_t path, udpai_wire_type type);

struct told {
    wish_fn action;
    udpai_strbuf text;
};

static udpai_parser_action
on_begin(void *userdata, uint32_t path, udpai_wire_type type)
{
    struct told *told = userdata;
    udpai_strbuf_printf(&told->text, "begin %x %d; ", path, (int)type);
    return told->action(path, type);
}

static void
on_kept(void *userdata, uint32_t path, udpai_str bytes, uint64_t number)
{
    struct told *told = userdata;
    udpai_strbuf_printf(&told->text, "kept %x %llu ", path, (unsigned long long)number);
    for (size_t i = 0; i < bytes.len; i++)
        udpai_strbuf_printf(&told->text, "%02x", (uint8_t)bytes.data[i]);
    udpai_strbuf_puts(&told->text, "; ");
}

static void
on_left(void *userdata, uint32_t path)
{
    struct told *told = userdata;
    udpai_strbuf_printf(&told->text, "left %x; ", path);
}

static const udpai_parser_events events = {on_begin, on_kept, on_left};

static bool
cut(udpai_str message, const size_t *ends, size_t n_ends, struct told *told)
{
    udpai_parser parser;
    size_t at = 0;
    bool is_good = true;
    udpai_parser_begin(&parser, (uint32_t)message.len);
    for (size_t i = 0; i <= n_ends; i++) {
        size_t end = i < n_ends ? ends[i] : message.len;
        is_good =
            udpai_parser_read(&parser, (udpai_str){message.data + at, end - at}, &events, told);
        at = end;
    }
    return is_good;
}

/* ---- what a plain reader finds ---- */

static bool read_plainly(udpai_str message, uint32_t path, size_t depth, struct told *told);

static bool
read_field(const udpai_proto_field *field, uint32_t outer, size_t depth, struct told *told)
{
    uint32_t path = outer << 4 | field->number;
    if (field->number > 15)
        return true;
    udpai_parser_action action = on_begin(told, path, field->type);
    if (action == UDPAI_PARSER_ENTER && field->type == UDPAI_WIRE_BYTES) {
        if (depth + 1 == UDPAI_PARSER_DEPTH || !read_plainly(field->bytes, path, depth + 1, told))
            return false;
        on_left(told, path);
    } else if (action == UDPAI_PARSER_KEEP && field->type == UDPAI_WIRE_VARINT) {
        on_kept(told, path, (udpai_str){NULL, 0}, field->value);
    } else if (action == UDPAI_PARSER_KEEP) {
        char fixed[8];
        for (size_t i = 0; i < 8; i++)
            fixed[i] = (char)(field->value >> 8 * i);
        udpai_str bytes = field->type == UDPAI_WIRE_BYTES
                              ? field->bytes
                              : (udpai_str){fixed, field->type == UDPAI_WIRE_FIXED64 ? 8 : 4};
        bytes.len = udpai_min_size(bytes.len, UDPAI_PARSER_ROOM);
        on_kept(told, path, bytes, 0);
    }
    return true;
}

static bool
read_plainly(udpai_str message, uint32_t path, size_t depth, struct told *told)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (!read_field(&field, path, depth, told))
            return false;
    return !reader.failed;
}

/* ---- both ---- */

static udpai_parser_action
enter_all(uint32_t path, udpai_wire_type type)
{
    (void)path;
    (void)type;
    return UDPAI_PARSER_ENTER;
}

static udpai_parser_action
keep_all(uint32_t path, udpai_wire_type type)
{
    (void)path;
    (void)type;
    return UDPAI_PARSER_KEEP;
}

/* Messages have odd numbers. */
static udpai_parser_action
by_number(uint32_t path, udpai_wire_type type)
{
    (void)type;
    if (path & 1)
        return UDPAI_PARSER_ENTER;
    return path & 2 ? UDPAI_PARSER_KEEP : UDPAI_PARSER_SKIP;
}

/* With these pieces it must be as the plain reader has it; of a broken message no more is the same
 * than that. */
static void
compare(udpai_str message, wish_fn action, const size_t *ends, size_t n_ends)
{
    struct told plain = {.action = action}, told = {.action = action};
    bool is_good = read_plainly(message, 0, 0, &plain);
    assert_int_equal(cut(message, ends, n_ends, &told), is_good);
    if (is_good)
        assert_true(udpai_str_eq(udpai_strbuf_view(&told.text), udpai_strbuf_view(&plain.text)));
    udpai_strbuf_done(&plain.text);
    udpai_strbuf_done(&told.text);
}

static void
compare_cut_twice(udpai_str message, wish_fn action)
{
    for (size_t a = 0; a <= message.len; a++)
        for (size_t b = a; b <= message.len; b++)
            compare(message, action, (const size_t[]){a, b}, 2);
}

static void
compare_byte_by_byte(udpai_str message, wish_fn action)
{
    size_t *ends = calloc(message.len + 1, sizeof(*ends));
    assert_non_null(ends);
    for (size_t i = 0; i < message.len; i++)
        ends[i] = i;
    compare(message, action, ends, message.len);
    free(ends);
}

static void
compare_all(udpai_str message)
{
    static const wish_fn wishes[] = {by_number, keep_all, enter_all};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wishes); i++) {
        compare(message, wishes[i], NULL, 0);
        compare_byte_by_byte(message, wishes[i]);
    }
}

static void
assert_told(udpai_str message, wish_fn action, const char *expected)
{
    struct told told = {.action = action};
    assert_true(cut(message, NULL, 0, &told));
    assert_str(udpai_strbuf_view(&told.text), expected);
    udpai_strbuf_done(&told.text);
}

static void
assert_broken(udpai_str message, wish_fn action)
{
    struct told told = {.action = action};
    assert_false(cut(message, NULL, 0, &told));
    compare_byte_by_byte(message, action);
    udpai_strbuf_done(&told.text);
}

/* ---- cases ---- */

static int
teardown(void **state)
{
    (void)state;
    wire_free_all();
    return 0;
}

static udpai_str
of_all_kinds(void)
{
    return W_JOIN(
        W_VARINT(2, 300), W_TEXT(6, "kept"), W_TEXT(4, "passed over"), W_FIXED64(6, 1),
        W_FIXED32(2, 2), W_EMPTY(6), W_VARINT(20, 5), W_TEXT(16, "far"),
        W_MESSAGE(1, W_TEXT(2, "a"), W_EMPTY(3), W_MESSAGE(5, W_VARINT(2, 1)), W_EMPTY(6)),
        W_EMPTY(1), W_VARINT(15, 7));
}

static void
what_is_wanted_is_told(void **state)
{
    (void)state;
    assert_told(of_all_kinds(), by_number,
                "begin 2 0; kept 2 300 ; begin 6 2; kept 6 0 6b657074; begin 4 2; "
                "begin 6 1; kept 6 0 0100000000000000; begin 2 5; kept 2 0 02000000; "
                "begin 6 2; kept 6 0 ; begin 1 2; begin 12 2; kept 12 0 61; begin 13 2; left 13; "
                "begin 15 2; begin 152 0; kept 152 1 ; left 15; begin 16 2; kept 16 0 ; left 1; "
                "begin 1 2; left 1; begin f 0; ");
    assert_told(W_NOTHING, keep_all, "");
}

static void
it_is_the_same_wherever_it_is_cut(void **state)
{
    (void)state;
    compare_cut_twice(of_all_kinds(), by_number);
    compare_cut_twice(of_all_kinds(), keep_all);
}

static void
what_is_kept_is_cut_off(void **state)
{
    (void)state;
    char text[3 * UDPAI_PARSER_ROOM];
    memset(text, 'x', sizeof(text));
    for (size_t len = UDPAI_PARSER_ROOM - 1; len <= sizeof(text); len += len < 130 ? 1 : 64)
        compare_all(wire_bytes(2, (udpai_str){text, len}));
}

/* Nobody is asked about a field of 17, which is not 1. */
static void
high_numbers_are_passed_over(void **state)
{
    (void)state;
    assert_told(W_JOIN(W_TEXT(17, "\xff\xff"), W_VARINT(16, 1), W_FIXED64((1u << 29) - 1, 1)),
                enter_all, "");
}

static void
what_lies_too_deep_is_refused_or_passed_over(void **state)
{
    (void)state;
    assert_broken(wire_nested(1, UDPAI_PARSER_DEPTH), enter_all);
    compare_all(wire_nested(1, UDPAI_PARSER_DEPTH - 1));
    compare_all(wire_nested(2, 10000));
    compare_all(wire_nested(1, 10000));
}

#define BYTES(literal) UDPAI_STR(literal)

static void
broken_messages_are_refused(void **state)
{
    (void)state;
    static const udpai_str broken[] = {
        BYTES("\x80"),      /* half a tag */
        BYTES("\x10"),      /* a number is missing */
        BYTES("\x10\x80"),  /* half of one */
        BYTES("\x12"),      /* a length is missing */
        BYTES("\x12\x02x"), /* it says too much */
        BYTES("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        BYTES("\x11\1\2\3\4\5\6\7"), /* 7 bytes of 8 */
        BYTES("\x15\1\2\3"),         /* 3 of 4 */
        BYTES("\x13\x14"),           /* a group */
        BYTES("\x14"),               /* the end of one */
        BYTES("\x16\0"),             /* types that there are not */
        BYTES("\x17\0"),
        BYTES("\0\0"),                                         /* a field 0 */
        BYTES("\x80\x80\x80\x80\x10\0"),                       /* of a number beyond 29 bits */
        BYTES("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), /* a number beyond 64 */
        BYTES("\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(broken); i++) {
        assert_broken(broken[i], keep_all);
        assert_broken(broken[i], by_number);
    }
}

/* The message around it goes on, so that its bytes could be taken for the rest. */
static void
what_is_broken_inside_is_not_mended_behind(void **state)
{
    (void)state;
    static const udpai_str broken[] = {
        BYTES("\x0a\x01\x80\x01"),             /* half a tag */
        BYTES("\x0a\x01\x10\x05"),             /* a number is missing */
        BYTES("\x0a\x02\x10\x80\x01"),         /* half of one */
        BYTES("\x0a\x01\x12\x01x"),            /* a length is missing */
        BYTES("\x0a\x02\x12\x01x"),            /* bytes are missing */
        BYTES("\x0a\x02\x15\x01\1\2\3\4\5\6"), /* so are those of a fixed size */
        BYTES("\x0a\x02\x11\x01\1\2\3\4\5\6\7\x10\1"),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(broken); i++) {
        assert_broken(broken[i], by_number);
        compare_cut_twice(broken[i], by_number);
        compare_cut_twice(broken[i], keep_all);
    }
}

static void
the_largest_number_is_whole(void **state)
{
    (void)state;
    assert_told(W_VARINT(2, UINT64_MAX), keep_all, "begin 2 0; kept 2 18446744073709551615 ; ");
}

static void
no_more_is_taken_than_there_is(void **state)
{
    (void)state;
    struct told told = {.action = keep_all};
    udpai_parser parser;
    udpai_parser_begin(&parser, 2);
    assert_false(udpai_parser_read(&parser, BYTES("\x10\1\x10"), &events, &told));
    assert_false(udpai_parser_read(&parser, BYTES("\x10\1"), &events, &told));
    udpai_strbuf_done(&told.text);
}

/* ---- by chance ---- */

static udpai_str some_field(uint64_t *chance, size_t depth);

static udpai_str
some_message(uint64_t *chance, size_t depth)
{
    udpai_str fields[5];
    size_t n = test_random_below(chance, UDPAI_ARRAY_LEN(fields));
    for (size_t i = 0; i < n; i++)
        fields[i] = some_field(chance, depth);
    return wire_join(fields, n);
}

static udpai_str
some_field(uint64_t *chance, size_t depth)
{
    uint32_t number = (uint32_t)test_random_below(chance, 18) + 1;
    switch (test_random_below(chance, depth < 8 ? 6 : 4)) {
    case 0:
        return wire_varint(number, test_random(chance) >> test_random_below(chance, 64));
    case 1:
        return wire_fixed64(number, test_random(chance));
    case 2:
        return wire_fixed32(number, (uint32_t)test_random(chance));
    case 3:
        return wire_bytes(number, (udpai_str){"0123456789", test_random_below(chance, 11)});
    default:
        return wire_bytes(number, some_message(chance, depth + 1));
    }
}

static void
spoil(udpai_str message, uint64_t *chance)
{
    char *bytes = (char *)(uintptr_t)message.data;
    if (message.len)
        bytes[test_random_below(chance, message.len)] = (char)test_random(chance);
}

static void
any_message_is_read_as_the_plain_reader_does(void **state)
{
    (void)state;
    uint64_t chance = 20261122;
    for (int i = 0; i < ROUNDS; i++) {
        udpai_str message = some_message(&chance, 0);
        compare_all(message);
        spoil(message, &chance);
        compare_all(message);
        message.len -= message.len ? test_random_below(&chance, message.len) : 0;
        compare_all(message);
        wire_free_all();
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_is_wanted_is_told, teardown),
        cmocka_unit_test_teardown(it_is_the_same_wherever_it_is_cut, teardown),
        cmocka_unit_test_teardown(what_is_kept_is_cut_off, teardown),
        cmocka_unit_test_teardown(high_numbers_are_passed_over, teardown),
        cmocka_unit_test_teardown(what_lies_too_deep_is_refused_or_passed_over, teardown),
        cmocka_unit_test_teardown(broken_messages_are_refused, teardown),
        cmocka_unit_test_teardown(what_is_broken_inside_is_not_mended_behind, teardown),
        cmocka_unit_test_teardown(the_largest_number_is_whole, teardown),
        cmocka_unit_test_teardown(no_more_is_taken_than_there_is, teardown),
        cmocka_unit_test_teardown(any_message_is_read_as_the_plain_reader_does, teardown),
    };
    return cmocka_run_group_tests_name("bench/message_parser", tests, NULL, NULL);
}
