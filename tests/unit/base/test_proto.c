/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format: known bytes both ways, everything malformed refused without reading past the
 * end, and what is written reads back as it was. */
#include "base/proto.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "tests/harness/test.h"

/* A copy of exactly the size, so that the sanitizer sees a read past the end. */
static uint8_t *
exact_copy(const void *data, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    if (len)
        memcpy(copy, data, len);
    return copy;
}

/* Reads all fields; returns their number, or -1 if the message is malformed. */
static int
count_fields(const void *data, size_t len)
{
    uint8_t *copy = exact_copy(data, len);
    udpai_proto_reader reader = udpai_proto_read((udpai_str){(const char *)copy, len});
    udpai_proto_field field;
    int n = 0;
    while (udpai_proto_next(&reader, &field)) {
        assert_true(field.number >= 1 && field.number < 1u << 29);
        n++;
    }
    bool failed = reader.failed;
    assert_false(udpai_proto_next(&reader, &field)); /* it stays at the end, or failed */
    assert_int_equal(reader.failed, failed);
    free(copy);
    return failed ? -1 : n;
}

#define COUNT(literal) count_fields((literal), sizeof(literal) - 1)

static udpai_proto_field
read_one(udpai_str message)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    assert_true(udpai_proto_next(&reader, &field));
    assert_ptr_equal(reader.at, reader.end);
    return field;
}

static void
known_bytes_are_read(void **state)
{
    (void)state;
    udpai_proto_field field = read_one(UDPAI_STR("\x08\x96\x01"));
    assert_int_equal(field.number, 1);
    assert_int_equal(field.type, UDPAI_WIRE_VARINT);
    assert_true(field.value == 150);
    field = read_one(UDPAI_STR("\x12\x07testing"));
    assert_int_equal(field.number, 2);
    assert_int_equal(field.type, UDPAI_WIRE_BYTES);
    assert_str(field.bytes, "testing");
    field = read_one(UDPAI_STR("\x19\x01\x02\x03\x04\x05\x06\x07\x88"));
    assert_int_equal(field.type, UDPAI_WIRE_FIXED64);
    assert_true(field.value == 0x8807060504030201u);
    field = read_one(UDPAI_STR("\x25\x01\x02\x03\xf4"));
    assert_int_equal(field.type, UDPAI_WIRE_FIXED32);
    assert_true(field.value == 0xf4030201u);
    field = read_one(UDPAI_STR("\x1a\x00"));
    assert_int_equal(field.bytes.len, 0);
}

static void
empty_message_is_a_message(void **state)
{
    (void)state;
    udpai_proto_field field;
    udpai_proto_reader reader = udpai_proto_read((udpai_str){NULL, 0});
    assert_false(udpai_proto_next(&reader, &field));
    assert_false(reader.failed);
    assert_int_equal(COUNT(""), 0);
}

static void
largest_values_are_read(void **state)
{
    (void)state;
    assert_true(read_one(UDPAI_STR("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")).value ==
                UINT64_MAX);
    assert_int_equal(read_one(UDPAI_STR("\xf8\xff\xff\xff\x0f\x01")).number, (1u << 29) - 1);
    /* More digits than needed are legal. */
    assert_true(read_one(UDPAI_STR("\x08\x81\x80\x80\x00")).value == 1);
}

static void
malformed_messages_are_refused(void **state)
{
    (void)state;
    assert_int_equal(COUNT("\x08"), -1);                                         /* no value */
    assert_int_equal(COUNT("\x88"), -1);                                         /* cut tag */
    assert_int_equal(COUNT("\x08\x80"), -1);                                     /* cut varint */
    assert_int_equal(COUNT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), -1); /* 65 bits */
    assert_int_equal(COUNT("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"), -1); /* 11 bytes */
    assert_int_equal(COUNT("\x00\x01"), -1);                                         /* field 0 */
    assert_int_equal(COUNT("\x80\x80\x80\x80\x10\x01"), -1);         /* field 2^29 */
    assert_int_equal(COUNT("\x09\x01\x02\x03\x04\x05\x06\x07"), -1); /* 7 of 8 */
    assert_int_equal(COUNT("\x0d\x01\x02\x03"), -1);                 /* 3 of 4 */
    assert_int_equal(COUNT("\x0a\x02x"), -1);                        /* 1 of 2 */
    assert_int_equal(COUNT("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x"), -1);
    assert_int_equal(COUNT("\x0b"), -1); /* groups */
    assert_int_equal(COUNT("\x0c"), -1);
    assert_int_equal(COUNT("\x0e\x01"), -1); /* wire types 6 and 7 */
    assert_int_equal(COUNT("\x0f\x01"), -1);
    assert_int_equal(COUNT("\x08\x01\x0b"), -1); /* good, then bad */
}

static void
failure_leaves_the_field_alone(void **state)
{
    (void)state;
    udpai_proto_reader reader = udpai_proto_read(UDPAI_STR("\x08"));
    udpai_proto_field field = {.number = 77};
    assert_false(udpai_proto_next(&reader, &field));
    assert_int_equal(field.number, 77);
}

static void
every_cut_is_survived(void **state)
{
    (void)state;
    static const char message[] =
        "\x08\x96\x01\x12\x07testing\x19\x01\x02\x03\x04\x05\x06\x07\x08\x25\x01\x02\x03\x04";
    int n_whole = 0;
    for (size_t len = 0; len < sizeof(message); len++)
        n_whole += count_fields(message, len) >= 0;
    assert_int_equal(n_whole, 5); /* at the borders only */
    assert_int_equal(COUNT(message), 4);
}

static void
known_bytes_are_written(void **state)
{
    (void)state;
    uint8_t room[64];
    udpai_proto_writer writer = {room, 0};
    udpai_proto_put_varint(&writer, 1, 150);
    udpai_proto_put_bytes(&writer, 2, UDPAI_STR("testing"));
    udpai_proto_put_fixed64(&writer, 3, 0x8807060504030201u);
    udpai_proto_put_head(&writer, 16, 300);
    udpai_proto_put_raw(&writer, UDPAI_STR("raw"));
    static const char expected[] = "\x08\x96\x01\x12\x07testing"
                                   "\x19\x01\x02\x03\x04\x05\x06\x07\x88\x82\x01\xac\x02raw";
    assert_int_equal(writer.size, sizeof(expected) - 1);
    assert_ptr_equal(writer.at, room + writer.size);
    assert_memory_equal(room, expected, sizeof(expected) - 1);
}

static void
put_name(udpai_proto_writer *writer, const void *what)
{
    udpai_proto_put_bytes(writer, 1, udpai_str_from(what));
}

static void
what_is_encoded_has_its_size(void **state)
{
    udpa_bytes *bytes = udpai_proto_encode(put_name, "ab");
    assert_true(udpai_str_eq(udpai_bytes_view(bytes), UDPAI_STR("\x0a\x02"
                                                                "ab")));
    udpa_bytes_unref(bytes);
    udpai_alloc_fail_after(0);
    assert_null(udpai_proto_encode(put_name, "ab"));
    udpai_alloc_fail_after(-1);
}

static void
optional_fields_leave_out_what_is_empty(void **state)
{
    (void)state;
    uint8_t room[16];
    udpai_proto_writer writer = {room, 0};
    udpai_proto_put_varint_opt(&writer, 1, 0);
    udpai_proto_put_bytes_opt(&writer, 2, UDPAI_STR(""));
    udpai_proto_put_bytes_opt(&writer, 2, (udpai_str){NULL, 0});
    assert_int_equal(writer.size, 0);
    udpai_proto_put_bytes(&writer, 2, (udpai_str){NULL, 0});
    udpai_proto_put_varint(&writer, 1, 0);
    assert_memory_equal(room, "\x12\x00\x08\x00", 4);
    writer = (udpai_proto_writer){room, 0};
    udpai_proto_put_varint_opt(&writer, 1, 1);
    udpai_proto_put_bytes_opt(&writer, 2, UDPAI_STR("x"));
    assert_int_equal(writer.size, 5);
    assert_memory_equal(room, "\x08\x01\x12\x01x", 5);
}

static void
size_of_bytes_is_what_they_take(void **state)
{
    (void)state;
    static char data[20000];
    static const uint32_t numbers[] = {1, 15, 16, 2047, 2048, (1u << 29) - 1};
    static const size_t lens[] = {0, 1, 127, 128, 16383, 16384, 20000};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(numbers); i++)
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(lens); k++) {
            udpai_proto_writer writer = {NULL, 0};
            udpai_proto_put_bytes(&writer, numbers[i], (udpai_str){data, lens[k]});
            assert_int_equal(writer.size, udpai_proto_bytes_size(numbers[i], lens[k]));
        }
}

/* ---- what is written reads back ---- */

enum {
    MAX_FIELDS = 20
};

static void
put_field(udpai_proto_writer *writer, const udpai_proto_field *field)
{
    switch (field->type) {
    case UDPAI_WIRE_VARINT:
        udpai_proto_put_varint(writer, field->number, field->value);
        break;
    case UDPAI_WIRE_FIXED64:
        udpai_proto_put_fixed64(writer, field->number, field->value);
        break;
    default:
        udpai_proto_put_bytes(writer, field->number, field->bytes);
        break;
    }
}

static size_t
random_fields(udpai_proto_field *fields, uint64_t *seed)
{
    static const char data[200];
    static const udpai_wire_type types[] = {UDPAI_WIRE_VARINT, UDPAI_WIRE_FIXED64,
                                            UDPAI_WIRE_BYTES};
    size_t n = test_random_below(seed, MAX_FIELDS);
    for (size_t i = 0; i < n; i++)
        fields[i] = (udpai_proto_field){
            .number =
                1 + (uint32_t)(test_random(seed) >> test_random_below(seed, 29) & ((1u << 29) - 2)),
            .type = types[test_random_below(seed, 3)],
            .value = test_random(seed) >> test_random_below(seed, 64),
            .bytes = {data, test_random_below(seed, sizeof(data))},
        };
    return n;
}

static void
assert_reads_back(udpai_str message, const udpai_proto_field *fields, size_t n)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    for (size_t i = 0; i < n; i++) {
        assert_true(udpai_proto_next(&reader, &field));
        assert_int_equal(field.number, fields[i].number);
        assert_int_equal(field.type, fields[i].type);
        if (field.type == UDPAI_WIRE_BYTES)
            assert_true(udpai_str_eq(field.bytes, fields[i].bytes));
        else
            assert_true(field.value == fields[i].value);
    }
    assert_false(udpai_proto_next(&reader, &field));
    assert_false(reader.failed);
}

static void
what_is_written_reads_back(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int round = 0; round < 2000; round++) {
        udpai_proto_field fields[MAX_FIELDS];
        size_t n = random_fields(fields, &seed);
        udpai_proto_writer counter = {NULL, 0};
        for (size_t i = 0; i < n; i++)
            put_field(&counter, &fields[i]);
        uint8_t *room = malloc(counter.size + 1);
        assert_non_null(room);
        udpai_proto_writer writer = {room, 0};
        for (size_t i = 0; i < n; i++)
            put_field(&writer, &fields[i]);
        assert_int_equal(writer.size, counter.size);
        assert_ptr_equal(writer.at, room + writer.size);
        assert_reads_back((udpai_str){(const char *)room, writer.size}, fields, n);
        free(room);
    }
}

static void
bare_values_are_read_in_their_order(void **state)
{
    (void)state;
    uint8_t room[40];
    uint64_t first = 5, second = 5;
    udpai_str text = {0}, empty = UDPAI_STR("?");
    udpai_proto_writer counter = {NULL, 0}, writer = {room, 0};
    for (udpai_proto_writer *to = &counter; to; to = to == &counter ? &writer : NULL) {
        udpai_proto_put_bare_number(to, UINT64_MAX);
        udpai_proto_put_bare_bytes(to, UDPAI_STR("bytes"));
        udpai_proto_put_bare_bytes(to, (udpai_str){0});
        udpai_proto_put_bare_number(to, 0);
    }
    assert_int_equal(writer.size, 10 + 6 + 1 + 1);
    assert_int_equal(counter.size, writer.size);
    udpai_proto_reader reader = udpai_proto_read((udpai_str){(char *)room, writer.size});
    assert_true(udpai_proto_take_number(&reader, &first));
    assert_true(udpai_proto_take_bytes(&reader, &text));
    assert_true(udpai_proto_take_bytes(&reader, &empty));
    assert_true(udpai_proto_take_number(&reader, &second));
    assert_true(first == UINT64_MAX && second == 0);
    assert_str(text, "bytes");
    assert_int_equal(empty.len, 0);
    assert_ptr_equal(reader.at, reader.end);
    assert_false(udpai_proto_take_number(&reader, &second));
    assert_true(reader.failed);
}

static void
bare_values_that_are_cut_off_are_refused(void **state)
{
    (void)state;
    uint64_t number = 7;
    udpai_str bytes = UDPAI_STR("as it was");
    udpai_proto_reader reader = udpai_proto_read(UDPAI_STR("\x05"
                                                           "four"));
    assert_false(udpai_proto_take_bytes(&reader, &bytes));
    assert_true(reader.failed);
    assert_false(udpai_proto_take_number(&reader, &number)); /* it stays so */
    reader = udpai_proto_read(UDPAI_STR("\x80"));
    assert_false(udpai_proto_take_number(&reader, &number));
    assert_false(udpai_proto_take_bytes(&reader, &bytes));
    assert_int_equal(number, 7);
    assert_str(bytes, "as it was");
}

static void
noise_is_survived(void **state)
{
    (void)state;
    uint64_t seed = 13;
    unsigned n_good = 0;
    for (int round = 0; round < 20000; round++) {
        uint8_t noise[24];
        for (size_t i = 0; i < sizeof(noise); i++)
            noise[i] = (uint8_t)test_random(&seed);
        n_good += count_fields(noise, test_random_below(&seed, sizeof(noise))) >= 0;
    }
    assert_true(n_good > 0 && n_good < 20000);
}

static void
the_last_of_a_number_is_found(void **state)
{
    (void)state;
    static const char message[] = "\x0a\x01"
                                  "a"
                                  "\x10\x05"
                                  "\x0a\x02"
                                  "bc"
                                  "\x12\x00";
    const udpai_str whole = {message, sizeof(message) - 1};
    assert_str(udpai_proto_last_bytes(whole, 1), "bc");
    assert_int_equal(udpai_proto_last_bytes(whole, 2).len, 0);
    assert_int_equal(udpai_proto_last_bytes(whole, 3).len, 0);
    assert_non_null(udpai_proto_last_bytes(whole, 3).data);
    /* What is behind a malformed field is not looked at. */
    assert_str(udpai_proto_last_bytes((udpai_str){message, 8}, 1), "a");
    assert_int_equal(udpai_proto_last_bytes((udpai_str){0}, 1).len, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_bytes_are_read),
        cmocka_unit_test(empty_message_is_a_message),
        cmocka_unit_test(largest_values_are_read),
        cmocka_unit_test(malformed_messages_are_refused),
        cmocka_unit_test(failure_leaves_the_field_alone),
        cmocka_unit_test(every_cut_is_survived),
        cmocka_unit_test(known_bytes_are_written),
        cmocka_unit_test(what_is_encoded_has_its_size),
        cmocka_unit_test(optional_fields_leave_out_what_is_empty),
        cmocka_unit_test(size_of_bytes_is_what_they_take),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(bare_values_are_read_in_their_order),
        cmocka_unit_test(bare_values_that_are_cut_off_are_refused),
        cmocka_unit_test(noise_is_survived),
        cmocka_unit_test(the_last_of_a_number_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
