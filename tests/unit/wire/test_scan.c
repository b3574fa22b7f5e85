/* SPDX-License-Identifier: Apache-2.0 */
/* What the scan lets through protobuf-c unpacks; what is refused is refused before that, however it
 * is nested. */
#include "wire/scan.h"

#include <limits.h>

#include "base/utf8.h"
#include "nest.pb-c.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"
#include "tests/harness/wire.h"
#include "udpa/service/discovery/v1/discovery.pb-c.h"

enum { /* fields of Nest */
    INNER = 1,
    MANY = 2,
    TEXT = 3,
    DATA = 4,
    NUMBER = 5,
    PACKED = 6,
    UNPACKED = 7,
    EIGHT = 8,
    FOUR = 9,
    ONE = 14,
    TWO = 15,
    THREE = 16,
    FOUR_OF_OTHER = 17,
    FIVE_OF_OTHER = 18,
    ANY = 19,
    ANYS = 20,
    TEXTS = 21,
    LINES = 24,
    UNKNOWN = 1000,
};

static int
free_wire(void **state)
{
    (void)state;
    wire_free_all();
    return 0;
}

/* Every refusal has words that may travel. */
static udpa_err
scan_type(const ProtobufCMessageDescriptor *type, udpai_str message)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_scan(type, message, NULL, &error);
    assert_int_equal(udpai_scan(type, message, NULL, NULL), err);
    assert_int_equal(udpa_error_code(error), err);
    assert_true(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    return err;
}

static udpa_err
scan(udpai_str message)
{
    return scan_type(&udpa__test__wire__nest__descriptor, message);
}

/* ---- depth ---- */

static void
depth_is_bounded(void **state)
{
    (void)state;
    for (uint32_t field = INNER; field <= MANY; field++) {
        assert_int_equal(scan(wire_nested(field, UDPAI_SCAN_DEPTH_MAX - 1)), UDPA_OK);
        assert_int_equal(scan(wire_nested(field, UDPAI_SCAN_DEPTH_MAX)), UDPA_ERR_MALFORMED);
    }
    assert_int_equal(scan(wire_nested(TWO, UDPAI_SCAN_DEPTH_MAX)), UDPA_ERR_MALFORMED);
}

/* The depth counts what is open, not what was met. */
static void
depth_goes_down_again(void **state)
{
    (void)state;
    udpai_str deep = wire_nested(MANY, UDPAI_SCAN_DEPTH_MAX - 1), flat = W_EMPTY(MANY);
    udpai_str message = W_JOIN(deep, flat, deep, flat, deep);
    assert_int_equal(scan(message), UDPA_OK);
}

static void
deepest_nesting_needs_no_stack(void **state)
{
    (void)state;
    assert_int_equal(scan(wire_nested(INNER, 20000)), UDPA_ERR_MALFORMED);
    assert_int_equal(scan(wire_nested(UNKNOWN, 20000)),
                     UDPA_OK); /* one unknown field, skipped whole */
    assert_int_equal(scan(wire_bytes(DATA, wire_nested(INNER, 20000))), UDPA_OK);
}

/* What passes, protobuf-c unpacks on a stack of ordinary size. */
static void
what_passes_unpacks(void **state)
{
    (void)state;
    udpai_str deep = wire_nested(INNER, UDPAI_SCAN_DEPTH_MAX - 1);
    udpai_str message =
        W_JOIN(deep, W_TEXT(TEXT, "t"), W_BYTES(PACKED, "\1\0\0\0\2\0\0\0"), W_VARINT(UNPACKED, 5),
               W_MESSAGE(TEXTS, W_TEXT(1, "k"), W_TEXT(2, "v")), W_TEXT(ONE, "1"));
    assert_int_equal(scan(message), UDPA_OK);
    Udpa__Test__Wire__Nest *nest =
        udpa__test__wire__nest__unpack(NULL, message.len, (const uint8_t *)message.data);
    assert_non_null(nest);
    assert_int_equal(nest->n_packed, 2);
    assert_int_equal(nest->n_unpacked, 1);
    assert_string_equal(nest->texts[0]->value, "v");
    udpa__test__wire__nest__free_unpacked(nest, NULL);
}

/* ---- wire types ---- */

static void
fields_have_their_wire_type(void **state)
{
    (void)state;

    static const struct {
        uint32_t field;
        udpai_wire_type type;
        bool or_packed;
    } all[] = {
        {INNER, UDPAI_WIRE_BYTES, false},         {MANY, UDPAI_WIRE_BYTES, false},
        {TEXT, UDPAI_WIRE_BYTES, false},          {DATA, UDPAI_WIRE_BYTES, false},
        {NUMBER, UDPAI_WIRE_VARINT, false},       {PACKED, UDPAI_WIRE_FIXED32, true},
        {UNPACKED, UDPAI_WIRE_VARINT, true},      {EIGHT, UDPAI_WIRE_FIXED64, false},
        {FOUR, UDPAI_WIRE_FIXED32, false},        {10, UDPAI_WIRE_VARINT, false},
        {11, UDPAI_WIRE_VARINT, false},           {12, UDPAI_WIRE_FIXED64, false},
        {13, UDPAI_WIRE_VARINT, false},           {THREE, UDPAI_WIRE_VARINT, false},
        {FIVE_OF_OTHER, UDPAI_WIRE_BYTES, false}, {ANY, UDPAI_WIRE_BYTES, false},
        {TEXTS, UDPAI_WIRE_BYTES, false},         {22, UDPAI_WIRE_FIXED32, false},
        {23, UDPAI_WIRE_FIXED64, false},          {LINES, UDPAI_WIRE_BYTES, false},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++) {
        const udpai_str given[UDPAI_WIRE_FIXED32 + 1] = {
            [UDPAI_WIRE_VARINT] = wire_varint(all[i].field, 0),
            [UDPAI_WIRE_FIXED64] = wire_fixed64(all[i].field, 0),
            [UDPAI_WIRE_BYTES] = wire_bytes(all[i].field, W_NOTHING),
            [UDPAI_WIRE_FIXED32] = wire_fixed32(all[i].field, 0),
        };
        for (udpai_wire_type type = UDPAI_WIRE_VARINT; type <= UDPAI_WIRE_FIXED32; type++) {
            if (!given[type].data)
                continue; /* groups: see below */
            bool fits = type == all[i].type || (all[i].or_packed && type == UDPAI_WIRE_BYTES);
            if (scan(given[type]) != (fits ? UDPA_OK : UDPA_ERR_MALFORMED))
                fail_msg("field %u with wire type %d", all[i].field, (int)type);
        }
    }
}

static void
unknown_fields_have_any_type(void **state)
{
    (void)state;
    assert_int_equal(scan(W_VARINT(UNKNOWN, 1)), UDPA_OK);
    assert_int_equal(scan(W_FIXED64(UNKNOWN, 1)), UDPA_OK);
    assert_int_equal(scan(W_BYTES(UNKNOWN, "\xff\0")), UDPA_OK);
    assert_int_equal(scan(W_JOIN(W_VARINT(UNKNOWN, 1), W_VARINT(UNKNOWN, 1))), UDPA_OK);
}

static void
groups_are_refused(void **state)
{
    (void)state;
    assert_int_equal(scan(UDPAI_STR("\x0b\x0c")), UDPA_ERR_MALFORMED);
    assert_int_equal(scan(UDPAI_STR("\x0c")), UDPA_ERR_MALFORMED);
    assert_int_equal(scan(UDPAI_STR("\xc3\x3e\xc4\x3e")), UDPA_ERR_MALFORMED); /* unknown, too */
    assert_int_equal(scan(W_MESSAGE(INNER, UDPAI_STR("\x0b\x0c"))), UDPA_ERR_MALFORMED);
    assert_int_equal(scan(UDPAI_STR("\x0e")), UDPA_ERR_MALFORMED); /* wire types that are none */
    assert_int_equal(scan(UDPAI_STR("\x0f")), UDPA_ERR_MALFORMED);
    assert_int_equal(scan(UDPAI_STR("\x02\x00")), UDPA_ERR_MALFORMED); /* field 0 */
}

static void
lengths_stay_within(void **state)
{
    (void)state;
    assert_int_equal(scan(UDPAI_STR("\x0a\x01")), UDPA_ERR_MALFORMED);
    assert_int_equal(scan(UDPAI_STR("\x0a\x02\x1a\x01")), UDPA_ERR_MALFORMED);
    /* The inner length reaches beyond the inner message, not beyond the outer. */
    assert_int_equal(scan(UDPAI_STR("\x0a\x02\x1a\x01\x1a\x00")), UDPA_ERR_MALFORMED);
    assert_int_equal(scan(UDPAI_STR("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")),
                     UDPA_ERR_MALFORMED);
    assert_int_equal(scan(UDPAI_STR("\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02")),
                     UDPA_ERR_MALFORMED); /* 65 bits */
}

/* ---- text ---- */

static void
strings_are_text(void **state)
{
    (void)state;
    static const udpai_str bad[] = {
        {"\xff", 1}, {"a\0b", 3}, {"\0", 1}, {"\xc0\x80", 2}, {"\xed\xa0\x80", 3}, {"\xc3", 1},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        udpai_str text = wire_bytes(TEXT, bad[i]);
        assert_int_equal(scan(text), UDPA_ERR_MALFORMED);
        assert_int_equal(scan(wire_bytes(INNER, text)), UDPA_ERR_MALFORMED);
        assert_int_equal(scan(wire_bytes(LINES, bad[i])), UDPA_ERR_MALFORMED);
        assert_int_equal(scan(wire_bytes(ONE, bad[i])), UDPA_ERR_MALFORMED);
        assert_int_equal(scan(W_MESSAGE(TEXTS, wire_bytes(1, bad[i]))), UDPA_ERR_MALFORMED);
        assert_int_equal(scan(W_MESSAGE(TEXTS, wire_bytes(2, bad[i]))), UDPA_ERR_MALFORMED);
        assert_int_equal(scan(wire_bytes(DATA, bad[i])), UDPA_OK);
    }
    assert_int_equal(scan(W_TEXT(TEXT, "gr\u00fc\u00df\U0001f600")), UDPA_OK);
}

/* ---- what may be given once ---- */

static void
singular_messages_come_once(void **state)
{
    (void)state;
    udpai_str inner = W_EMPTY(INNER), any = W_EMPTY(ANY);
    assert_int_equal(scan(W_JOIN(inner, any)), UDPA_OK);
    assert_int_equal(scan(W_JOIN(inner, any, inner)), UDPA_ERR_MALFORMED);
    assert_int_equal(scan(W_JOIN(any, inner, any)), UDPA_ERR_MALFORMED);
    assert_int_equal(scan(W_JOIN(W_EMPTY(MANY), W_EMPTY(MANY), W_EMPTY(ANYS), W_EMPTY(ANYS))),
                     UDPA_OK);
    /* Once in each message. */
    udpai_str twice = W_MESSAGE(MANY, inner);
    assert_int_equal(scan(W_JOIN(twice, inner, twice)), UDPA_OK);
}

static void
scalars_may_be_repeated(void **state)
{
    (void)state;
    udpai_str number = W_VARINT(NUMBER, 1), text = W_TEXT(TEXT, "a");
    assert_int_equal(scan(W_JOIN(number, text, number, text)), UDPA_OK);
}

static void
oneofs_have_one_member(void **state)
{
    (void)state;
    udpai_str one = W_TEXT(ONE, "1"), two = W_EMPTY(TWO), three = W_VARINT(THREE, 3);
    const udpai_str members[] = {one, two, three};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(scan(members[i]), UDPA_OK);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(scan(W_JOIN(members[i], members[k])), UDPA_ERR_MALFORMED);
    }
    udpai_str other = W_VARINT(FOUR_OF_OTHER, 4);
    assert_int_equal(scan(W_JOIN(one, other)), UDPA_OK);
    assert_int_equal(scan(W_JOIN(one, other, W_BYTES(FIVE_OF_OTHER, ""))), UDPA_ERR_MALFORMED);
}

/* ---- Any ---- */

static void
anys_are_met_in_order(void **state)
{
    (void)state;
    udpai_str first = W_TEXT(1, "t/First"), second = W_JOIN(W_BYTES(2, "\xff"), W_TEXT(1, "t/B"));
    udpai_str message = W_JOIN(W_MESSAGE(INNER, wire_bytes(ANY, first)), wire_bytes(ANYS, second),
                               W_EMPTY(ANYS), W_MESSAGE(MANY, wire_bytes(ANYS, first)));
    udpai_spans anys = {0};
    assert_ok(udpai_scan(&udpa__test__wire__nest__descriptor, message, &anys, NULL));
    assert_int_equal(anys.n, 4);
    assert_true(udpai_str_eq(anys.items[0], first));
    assert_true(udpai_str_eq(anys.items[1], second));
    assert_int_equal(anys.items[2].len, 0);
    assert_true(udpai_str_eq(anys.items[3], first));
    for (size_t i = 0; i < anys.n; i++) /* views into the message */
        assert_true(anys.items[i].data >= message.data &&
                    anys.items[i].data + anys.items[i].len <= message.data + message.len);
    udpai_vector_done(&anys);
}

/* A payload is not looked into, whatever it is. */
static void
payloads_are_opaque(void **state)
{
    (void)state;
    assert_int_equal(scan(W_MESSAGE(ANY, W_BYTES(2, "\x0b\xff\0"))), UDPA_OK);
    assert_int_equal(scan(W_MESSAGE(ANY, wire_bytes(2, wire_nested(INNER, 20000)))), UDPA_OK);
    assert_int_equal(scan(W_MESSAGE(ANY, W_BYTES(1, "\xff"))), UDPA_ERR_MALFORMED);
    assert_int_equal(scan(W_MESSAGE(ANY, W_VARINT(2, 1))), UDPA_ERR_MALFORMED);
}

/* ---- bounds ---- */

/* Two bytes a field: the bound of 327,680 and one for every 16 bytes is reached first by these. */
static void
fields_are_counted(void **state)
{
    (void)state;
    size_t most = 327680;
    while (327680 + 2 * (most + 1) / 16 >= most + 1)
        most++;
    char *room = wire_room(2 * (most + 1));
    for (size_t i = 0; i <= most; i++)
        memcpy(room + 2 * i, "\x28\x01", 2);
    assert_int_equal(scan((udpai_str){room, 2 * most}), UDPA_OK);
    assert_int_equal(scan((udpai_str){room, 2 * (most + 1)}), UDPA_ERR_LIMIT);
    for (size_t i = 0; i <= most; i++)
        memcpy(room + 2 * i, "\x12\x00", 2); /* MANY, empty */
    assert_int_equal(scan((udpai_str){room, 2 * (most + 1)}), UDPA_ERR_LIMIT);
}

/* Who resumes says of each name that it is held, which, and its digest. */
static void
a_hundred_thousand_short_names_may_be_held(void **state)
{
    (void)state;

    enum {
        N = 300000
    };

    char *room = wire_room((size_t)2 * N);
    for (size_t i = 0; i < N; i++)
        memcpy(room + 2 * i, "\x28\x01", 2);
    assert_int_equal(scan((udpai_str){room, (size_t)2 * N}), UDPA_OK);
}

/* A publish of many small resources stays within. */
static void
sixteen_bytes_a_field_are_no_limit(void **state)
{
    (void)state;

    enum {
        N = 100000
    };

    char *room = wire_room((size_t)16 * N);
    for (size_t i = 0; i < N; i++)
        memcpy(room + 16 * i,
               "\x22\x0e"
               "12345678901234",
               16);
    assert_int_equal(scan((udpai_str){room, (size_t)16 * N}), UDPA_OK);
}

/* Cut anywhere, a message is refused or is a whole shorter one; never read beyond its end. */
static void
every_truncation_is_safe(void **state)
{
    (void)state;
    udpai_str message = W_JOIN(
        W_MESSAGE(INNER, W_TEXT(TEXT, "abc"), W_MESSAGE(ANY, W_TEXT(1, "t/T"), W_BYTES(2, "v"))),
        W_FIXED64(EIGHT, 7), W_VARINT(NUMBER, 300), W_MESSAGE(TEXTS, W_TEXT(1, "k")));
    size_t n_whole = 0;
    for (size_t len = 0; len <= message.len; len++) {
        char *exact = malloc(len ? len : 1);
        memcpy(exact, message.data, len);
        udpa_err err = scan((udpai_str){exact, len});
        assert_true(err == UDPA_OK || err == UDPA_ERR_MALFORMED);
        n_whole += err == UDPA_OK;
        free(exact);
    }
    assert_int_equal(n_whole, 5); /* behind each of the four fields, and nothing at all */
}

static void
empty_message_is_whole(void **state)
{
    (void)state;
    assert_int_equal(scan(W_NOTHING), UDPA_OK);
    assert_int_equal(scan(UDPAI_STR("")), UDPA_OK);
}

/* ---- our own messages ---- */

static void
nested_resources_of_a_publish_are_scanned(void **state)
{
    (void)state;
    const ProtobufCMessageDescriptor *type =
        &udpa__service__discovery__v1__udpa_message__descriptor;
    udpai_str good = W_MESSAGE(3, W_MESSAGE(2, W_MESSAGE(1, W_TEXT(1, "a/b"))));
    assert_int_equal(scan_type(type, good), UDPA_OK);
    udpai_str bad_name = W_MESSAGE(3, W_MESSAGE(2, W_MESSAGE(1, W_BYTES(1, "a/\xff"))));
    assert_int_equal(scan_type(type, bad_name), UDPA_ERR_MALFORMED);
    udpai_str both = W_JOIN(W_EMPTY(1), W_EMPTY(2)); /* subscribe and unsubscribe */
    assert_int_equal(scan_type(type, both), UDPA_ERR_MALFORMED);
    udpai_str kinds = W_MESSAGE(3, W_EMPTY(1), W_EMPTY(2)); /* both kinds of publish */
    assert_int_equal(scan_type(type, kinds), UDPA_ERR_MALFORMED);
    /* What may nest in a Status or a Node is unknown to these types, so it is not entered. */
    udpai_str details = W_MESSAGE(4, W_MESSAGE(2, wire_bytes(3, wire_nested(1, 20000))));
    assert_int_equal(scan_type(type, details), UDPA_OK);
}

static udpa_err
scan_once(void *context)
{
    udpai_spans anys = {0};
    udpa_err err =
        udpai_scan(&udpa__test__wire__nest__descriptor, *(udpai_str *)context, &anys, NULL);
    udpai_vector_done(&anys);
    return err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    udpai_str message = W_JOIN(W_EMPTY(ANYS), W_EMPTY(ANYS));
    oom_torture(scan_once, &message);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(depth_is_bounded, free_wire),
        cmocka_unit_test_teardown(depth_goes_down_again, free_wire),
        cmocka_unit_test_teardown(deepest_nesting_needs_no_stack, free_wire),
        cmocka_unit_test_teardown(what_passes_unpacks, free_wire),
        cmocka_unit_test_teardown(fields_have_their_wire_type, free_wire),
        cmocka_unit_test_teardown(unknown_fields_have_any_type, free_wire),
        cmocka_unit_test_teardown(groups_are_refused, free_wire),
        cmocka_unit_test_teardown(lengths_stay_within, free_wire),
        cmocka_unit_test_teardown(strings_are_text, free_wire),
        cmocka_unit_test_teardown(singular_messages_come_once, free_wire),
        cmocka_unit_test_teardown(scalars_may_be_repeated, free_wire),
        cmocka_unit_test_teardown(oneofs_have_one_member, free_wire),
        cmocka_unit_test_teardown(anys_are_met_in_order, free_wire),
        cmocka_unit_test_teardown(payloads_are_opaque, free_wire),
        cmocka_unit_test_teardown(fields_are_counted, free_wire),
        cmocka_unit_test_teardown(a_hundred_thousand_short_names_may_be_held, free_wire),
        cmocka_unit_test_teardown(sixteen_bytes_a_field_are_no_limit, free_wire),
        cmocka_unit_test_teardown(every_truncation_is_safe, free_wire),
        cmocka_unit_test_teardown(empty_message_is_whole, free_wire),
        cmocka_unit_test_teardown(nested_resources_of_a_publish_are_scanned, free_wire),
        cmocka_unit_test_teardown(survives_lack_of_memory, free_wire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
