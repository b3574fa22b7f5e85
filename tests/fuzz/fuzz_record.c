/* SPDX-License-Identifier: Apache-2.0 */
/* What is in etcd of a contribution: a line with the key, then the value. A key that is read is the
 * one that its contribution has, and a value that is read says the same when it is written again.
 */
#include "base/alloc.h"
#include "replica/record.h"
#include "tests/fuzz/fuzz.h"

/* Some types are secret; sealing turns the bits around. */
static bool
is_secret(void *userdata, udpai_str type_url)
{
    (void)userdata;
    return type_url.len && type_url.data[type_url.len - 1] == 's';
}

static udpa_err
turn_around(void *userdata,
            const udpai_record_place *place,
            udpai_str from,
            udpa_bytes **ret_bytes,
            udpa_error **ret_error)
{
    (void)userdata;
    (void)place;
    (void)ret_error;
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(from.len, &room);
    FUZZ_CHECK(bytes);
    for (size_t i = 0; i < from.len; i++)
        room[i] = (uint8_t)~from.data[i];
    *ret_bytes = bytes;
    return UDPA_OK;
}

static const udpai_record_seals seals = {is_secret, turn_around, turn_around, NULL, NULL};

static void
check_key(const udpai_durable_op *op, udpai_str key)
{
    udpai_strbuf written = {0};
    const udpai_record_place place = udpai_record_place_of(op);
    FUZZ_CHECK(udpai_record_is_key(key));
    FUZZ_CHECK(udpai_record_put_key(&written, &place, NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_str_eq(udpai_strbuf_view(&written), key));
    udpai_strbuf_done(&written);
}

static void
check_same(const udpai_durable_op *a, const udpai_durable_op *b)
{
    FUZZ_CHECK(b->kind == UDPAI_DURABLE_PUT && a->expires_us == b->expires_us);
    FUZZ_CHECK(udpai_resource_same_payload(a->resource, b->resource));
    FUZZ_CHECK(udpai_resource_same_aliases(a->resource, b->resource));
    FUZZ_CHECK(udpai_resource_same_origin_info(a->resource, b->resource));
    FUZZ_CHECK(udpai_resource_digest(a->resource) == udpai_resource_digest(b->resource));
}

/* Written again, it is read as the same, and that is written as the same bytes. */
static void
check_value(udpai_record_reader *reader, const udpai_durable_op *op, udpai_str key)
{
    udpa_bytes *first = NULL, *second = NULL;
    udpai_durable_op again;
    FUZZ_CHECK(udpai_record_value(op, reader->writer, &seals, &first, NULL) == UDPA_OK);
    udpai_str value = udpai_bytes_view(first);
    FUZZ_CHECK(udpai_record_read(reader, key, &value, &again, NULL) == UDPA_OK);
    check_same(op, &again);
    FUZZ_CHECK(udpai_record_value(&again, reader->writer, &seals, &second, NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_str_eq(udpai_bytes_view(second), value));
    udpai_durable_op_done(&again);
    udpa_bytes_unref(first);
    udpa_bytes_unref(second);
}

static bool
read_record(udpai_record_reader *reader,
            udpai_str key,
            const udpai_str *value,
            udpai_durable_op *ret_op)
{
    udpa_error *error = NULL;
    udpa_err err = udpai_record_read(reader, key, value, ret_op, &error);
    FUZZ_CHECK(udpa_error_code(error) == err);
    udpa_error_unref(error);
    return err == UDPA_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned long before = udpai_alloc_live();
    udpai_str value = {(const char *)data, size};
    udpai_str key = fuzz_take_line(&value);
    udpai_record_reader reader;
    udpai_durable_op op;
    udpai_record_reader_init(&reader, &seals);
    bool is_key = read_record(&reader, key, NULL, &op);
    if (is_key) {
        check_key(&op, key);
        udpai_durable_op_done(&op);
    }
    if (read_record(&reader, key, &value, &op)) {
        FUZZ_CHECK(is_key);
        check_key(&op, key);
        check_value(&reader, &op, key);
        udpai_durable_op_done(&op);
    }
    udpai_record_reader_done(&reader);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
