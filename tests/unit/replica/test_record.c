/* SPDX-License-Identifier: Apache-2.0 */
/* Values are compared with ones written by hand, and read back; of keys, see test_record_key.c. */
#include "replica/record.h"
#include "replica/record_identity.h"

#include <stdio.h>

#include "model/removal.h"
#include "record_test.h"
#include "tests/harness/oom.h"

/* ---- there and back ---- */

static udpai_durable_op
put_op(const char *origin, udpa_resource *resource)
{
    udpai_durable_op op = {.kind = UDPAI_DURABLE_PUT, .resource = resource};
    assert_non_null(resource);
    assert_ok(udpa_bytes_new(&op.origin, origin, strlen(origin)));
    return op;
}

static udpa_resource *
make_full(void)
{
    return RESOURCE(NAME, .value = "v", .version = "1", .authority = "acme", .generation = 300,
                    .ttl_ms = 9000, .lazy = true, .do_not_cache = true, .is_signed = true,
                    .hops = {{"n1", "acme", "i1"}, {"n2"}}, .aliases = {"com.acme/b"});
}

static udpa_bytes *
value_of(const udpai_durable_op *op, const udpai_record_seals *seals)
{
    udpa_bytes *value = NULL;
    assert_ok(udpai_record_value(op, UDPAI_STR("replica-1"), seals, &value, NULL));
    return value;
}

static void
assert_same(const udpa_resource *a, const udpa_resource *b)
{
    assert_true(udpai_resource_same_payload(a, b));
    assert_true(udpai_resource_same_origin_info(a, b));
    assert_true(udpai_resource_same_aliases(a, b));
    assert_int_equal(udpai_resource_digest(a), udpai_resource_digest(b));
    assert_int_equal(udpa_resource_ttl_ms(a), udpa_resource_ttl_ms(b));
    assert_string_equal(udpa_resource_authority(a), udpa_resource_authority(b));
    assert_int_equal(udpai_resource_is_lazy(a), udpai_resource_is_lazy(b));
    assert_int_equal(udpai_resource_do_not_cache(a), udpai_resource_do_not_cache(b));
}

static void
assert_op_reads_back(const udpai_durable_op *op, udpai_str value)
{
    udpai_durable_op back;
    udpai_record_place place = udpai_record_place_of(op);
    assert_ok(read_record(key_of(place), &value, &back, NULL));
    assert_int_equal(back.kind, UDPAI_DURABLE_PUT);
    assert_bytes(back.origin, place.origin);
    assert_null(back.type);
    assert_null(back.name);
    assert_int_equal(back.expires_us, op->expires_us);
    assert_int_equal(back.deadline_ms, 0);
    assert_same(op->resource, back.resource);
    udpai_durable_op_done(&back);
}

static void
a_contribution_reads_back(void **state)
{
    (void)state;
    udpai_durable_op op = put_op(PUBLISHER, make_full());
    const int64_t times[] = {0, 1, 1700000000000000, INT64_MAX};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(times); i++) {
        op.expires_us = times[i];
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = value_of(&op, NULL);
        assert_op_reads_back(&op, udpai_bytes_view(value));
        assert_str(reader.writer, "replica-1");
    }
    udpai_durable_op_done(&op);
}

static void
a_removal_reads_back(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *removed = make_full();
    udpai_durable_op op = put_op("said:1:4:2:acmen1acme", udpai_removal_of(removed, 301));
    op.expires_us = 5;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = value_of(&op, NULL);
    assert_op_reads_back(&op, udpai_bytes_view(value));
    udpai_durable_op_done(&op);
}

#define ENTRY W_TEXT(1, NAME), W_TEXT(2, "1"), W_MESSAGE(3, W_TEXT(1, TEST_TYPE), W_TEXT(2, "v"))

static udpai_durable_op
simple_op(void)
{
    return put_op("o", RESOURCE(NAME, .value = "v", .version = "1"));
}

static void
a_value_is_a_message(void **state)
{
    (void)state;
    udpai_durable_op op = simple_op();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *plain = NULL;
    assert_ok(udpai_record_value(&op, (udpai_str){"", 0}, NULL, &plain, NULL));
    assert_bytes(plain, W_MESSAGE(1, ENTRY));
    assert_op_reads_back(&op, udpai_bytes_view(plain));
    assert_str(reader.writer, "");
    op.expires_us = 1234567;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *all = value_of(&op, NULL);
    assert_bytes(all, W_JOIN(W_MESSAGE(1, ENTRY), W_VARINT(3, 1234567), W_TEXT(4, "replica-1")));
    udpai_durable_op_done(&op);
}

static void
unknown_fields_are_skipped(void **state)
{
    (void)state;
    udpai_durable_op op = simple_op();
    op.expires_us = 7;
    assert_op_reads_back(&op, W_JOIN(W_VARINT(15, 1), W_MESSAGE(1, ENTRY), W_TEXT(16, "x"),
                                     W_VARINT(2, 0), W_FIXED32(17, 1), W_VARINT(3, 7),
                                     W_FIXED64(100000, 1)));
    udpai_durable_op_done(&op);
}

/* ---- the publisher ---- */

static void
a_publisher_reads_back(void **state)
{
    (void)state;
    const udpai_str uris[] = {{"spiffe://a/b", 12}, {"urn:x", 5}}, dns_names[] = {{"a.b", 3}};
    const udpai_identity_parts parts = {
        .common_name = {"robot", 5},
        .uris = uris,
        .n_uris = 2,
        .dns_names = dns_names,
        .n_dns_names = 1,
        .authenticated = true,
    };
    udpai_durable_op op = simple_op(), back[2];
    assert_ok(udpai_identity_new(&op.identity, &parts));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = value_of(&op, NULL);
    assert_bytes(value, W_JOIN(W_MESSAGE(1, ENTRY), W_TEXT(4, "replica-1"),
                               W_MESSAGE(5, W_TEXT(1, "robot"), W_TEXT(2, "spiffe://a/b"),
                                         W_TEXT(2, "urn:x"), W_TEXT(3, "a.b"), W_VARINT(4, 1))));
    udpai_str view = udpai_bytes_view(value);
    for (size_t i = 0; i < 2; i++)
        assert_ok(read_record(UDPAI_STR(KEY), &view, &back[i], NULL));
    const udpai_identity_parts *read = udpai_identity_parts_of(back[0].identity);
    assert_str(read->common_name, "robot");
    assert_int_equal(read->n_uris, 2);
    assert_str(read->uris[1], "urn:x");
    assert_int_equal(read->n_dns_names, 1);
    assert_str(read->dns_names[0], "a.b");
    assert_true(read->authenticated);
    assert_ptr_equal(back[0].identity, back[1].identity);
    for (size_t i = 0; i < 2; i++)
        udpai_durable_op_done(&back[i]);
    udpai_durable_op_done(&op);
}

static udpai_durable_op
read_with_publisher(udpai_str publisher)
{
    udpai_durable_op back;
    udpai_str value = W_JOIN(W_MESSAGE(1, ENTRY), wire_bytes(5, publisher));
    assert_ok(read_record(UDPAI_STR(KEY), &value, &back, NULL));
    return back;
}

static void
publishers_may_have_little_or_too_much(void **state)
{
    (void)state;
    static char many[3 * (UDPAI_RECORD_NAMES_MAX + 50)];
    for (size_t i = 0; i < sizeof(many); i += 3)
        memcpy(many + i, "\x12\x01u", 3);
    udpai_durable_op op = read_with_publisher((udpai_str){many, sizeof(many)});
    assert_int_equal(udpai_identity_parts_of(op.identity)->n_uris, UDPAI_RECORD_NAMES_MAX);
    assert_false(udpai_identity_parts_of(op.identity)->authenticated);
    udpai_durable_op_done(&op);
    op = read_with_publisher(W_VARINT(9, 1));
    assert_int_equal(udpai_identity_name(op.identity).len, 0);
    udpai_durable_op_done(&op);
    op = read_with_publisher(UDPAI_STR(""));
    assert_null(op.identity);
    udpai_durable_op_done(&op);
}

static void
assert_refused(udpai_str value, udpa_err expected, const char *words)
{
    udpai_durable_op op;
    reader.writer = (udpai_str){"before", 6};
    assert_int_equal(read_record(UDPAI_STR(KEY), &value, &op, words), expected);
    assert_int_equal(read_record(UDPAI_STR(KEY), &value, &op, KEY), expected);
    assert_str(reader.writer, "before");
}

static void
malformed_values_are_refused(void **state)
{
    (void)state;
    udpai_str good = W_MESSAGE(1, ENTRY);

    const struct {
        udpai_str value;
        const char *words;
    } bad[] = {
        {W_NOTHING, "no resource"},
        {W_VARINT(3, 1), "no resource"},
        {W_EMPTY(1), "no resource"},
        {W_TEXT(1, "x"), "udpa.service.discovery.v1.Resource"},
        {W_MESSAGE(1, W_TEXT(1, NAME), W_TEXT(2, "1")), "no payload"},
        {W_JOIN(good, W_VARINT(1, 5)), "no message"},
        {W_JOIN(good, W_TEXT(2, "1")), "no message"},
        {W_JOIN(good, W_FIXED64(3, 1)), "no message"},
        {W_JOIN(good, W_VARINT(4, 1)), "no message"},
        {W_JOIN(good, UDPAI_STR("\x0b")), "no message"}, /* a group */
        {W_JOIN(good, UDPAI_STR("\0\0")), "no message"},
        {W_JOIN(good, W_VARINT(2, 2)), "does not know"},
        {W_JOIN(good, W_VARINT(3, (uint64_t)-1)), "before 1970"},
        {W_JOIN(good, W_VARINT(3, (uint64_t)INT64_MAX + 1)), "before 1970"},
        {W_MESSAGE(1, ENTRY, W_TEXT(1, "com.acme/b")), "another resource, 'com.acme/b'"},
        {W_MESSAGE(1, W_TEXT(1, NAME), W_MESSAGE(3, W_TEXT(1, TEST_CDS))),
         "another resource, 'com.acme/a' of type " TEST_CDS},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++)
        assert_refused(bad[i].value, UDPA_ERR_MALFORMED, bad[i].words);
    assert_refused(W_MESSAGE(1, W_TEXT(1, "acme"), W_MESSAGE(3, W_TEXT(1, TEST_TYPE))),
                   UDPA_ERR_INVAL, "no id");
}

/* Where a field ends, the rest may have been left out. */
static void
cut_values_are_refused(void **state)
{
    (void)state;
    udpai_durable_op op = put_op("o", make_full());
    op.expires_us = 1234567;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = value_of(&op, NULL);
    udpai_str whole = udpai_bytes_view(bytes);
    size_t n_read = 0, n_ends = 0;
    for (size_t len = 0; len <= whole.len; len++) {
        char *exact = malloc(len ? len : 1);
        assert_non_null(exact);
        memcpy(exact, whole.data, len);
        udpai_durable_op back;
        udpa_err err = read_record(UDPAI_STR(KEY), &(udpai_str){exact, len}, &back, NULL);
        if (err == UDPA_OK)
            udpai_durable_op_done(&back);
        else
            assert_int_equal(err, UDPA_ERR_MALFORMED);
        n_read += err == UDPA_OK;
        free(exact);
    }
    udpai_proto_reader fields = udpai_proto_read(whole);
    udpai_proto_field field;
    while (udpai_proto_next(&fields, &field))
        n_ends++;
    assert_int_equal(n_ends, 3);
    assert_int_equal(n_read, n_ends);
    udpai_durable_op_done(&op);
}

static void
ops_share_what_is_the_same(void **state)
{
    (void)state;
    udpai_durable_op op = put_op("o", make_full()), first, second, other;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = value_of(&op, NULL);
    udpai_str value = udpai_bytes_view(bytes);
    assert_ok(read_record(UDPAI_STR(KEY), &value, &first, NULL));
    assert_ok(read_record(UDPAI_STR(KEY), &value, &second, NULL));
    assert_ok(read_record(UDPAI_STR(KEY "2"), &value, &other, NULL));
    assert_ptr_equal(first.origin, second.origin);
    assert_ptr_not_equal(first.origin, other.origin);
    assert_ptr_equal(udpai_resource_type(first.resource), udpai_resource_type(second.resource));
    assert_ptr_equal(udpai_resource_hop_path(first.resource),
                     udpai_resource_hop_path(second.resource));
    udpai_durable_op_done(&first);
    udpai_durable_op_done(&second);
    assert_str(udpai_bytes_view(other.origin), "o2");
    udpai_durable_op_done(&other);
    udpai_durable_op_done(&op);
}

/* ---- limits of values ---- */

static udpa_err
write_sized(size_t payload,
            const udpai_record_seals *seals,
            size_t *ret_size,
            udpa_error **ret_error)
{
    char *text = wire_room(payload);
    memset(text, 'v', payload);
    text[payload] = '\0';
    udpai_durable_op op = put_op("o", RESOURCE(NAME, .value = text, .version = "1"));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = NULL;
    udpa_err err = udpai_record_value(&op, UDPAI_STR("w"), seals, &value, ret_error);
    if (err == UDPA_OK) {
        assert_op_reads_back(&op, udpai_bytes_view(value));
        *ret_size = udpa_bytes_size(value);
    } else {
        assert_null(value);
    }
    udpai_durable_op_done(&op);
    return err;
}

static void
values_have_a_limit(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    size_t size = 0, payload = UDPAI_RECORD_VALUE_MAX - 1000;
    assert_ok(write_sized(payload, NULL, &size, NULL));
    payload += UDPAI_RECORD_VALUE_MAX - size;
    assert_ok(write_sized(payload, NULL, &size, NULL));
    assert_int_equal(size, UDPAI_RECORD_VALUE_MAX);
    assert_int_equal(write_sized(payload + 1, NULL, &size, &error), UDPA_ERR_LIMIT);
    assert_non_null(strstr(udpa_error_message(error), "1048577 bytes"));
    assert_non_null(strstr(udpa_error_message(error), "at most 1048576"));
    assert_non_null(strstr(udpa_error_message(error), "'" NAME "'"));
}

/* ---- secrets ---- */

/* Seals with letters that are turned around, behind the place, which must be the same then. */
struct fake_seals {
    udpa_err err;
    unsigned n_sealed, n_unsealed;
};

static bool
fake_is_secret(void *userdata, udpai_str type_url)
{
    (void)userdata;
    return udpai_str_eq(type_url, UDPAI_STR(TEST_TYPE));
}

static size_t
put_place(char *room, const udpai_record_place *place)
{
    int len = snprintf(room, 200, "%.*s|%.*s|%.*s|", (int)place->origin.len, place->origin.data,
                       (int)place->type_url.len, place->type_url.data, (int)place->name.len,
                       place->name.data);
    assert_in_range(len, 3, 199);
    return (size_t)len;
}

static void
turn_around(char *to, const char *from, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] = (char)~from[i];
}

static udpa_err
fake_seal(void *userdata,
          const udpai_record_place *place,
          udpai_str plain,
          udpa_bytes **ret_sealed,
          udpa_error **ret_error)
{
    struct fake_seals *fake = userdata;
    char head[200];
    size_t len = put_place(head, place);
    uint8_t *room;
    fake->n_sealed++;
    if (fake->err != UDPA_OK)
        return udpai_fail(ret_error, fake->err, "broken");
    if (!(*ret_sealed = udpai_bytes_make(len + plain.len, &room)))
        return UDPA_ERR_NOMEM;
    memcpy(room, head, len);
    turn_around((char *)room + len, plain.data, plain.len);
    return UDPA_OK;
}

static udpa_err
fake_unseal(void *userdata,
            const udpai_record_place *place,
            udpai_str sealed,
            udpa_bytes **ret_plain,
            udpa_error **ret_error)
{
    struct fake_seals *fake = userdata;
    char head[200];
    size_t len = put_place(head, place);
    uint8_t *room;
    fake->n_unsealed++;
    if (fake->err != UDPA_OK)
        return udpai_fail(ret_error, fake->err, "broken");
    if (!udpai_str_starts(sealed, (udpai_str){head, len}))
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "it is that of another place");
    if (!(*ret_plain = udpai_bytes_make(sealed.len - len, &room)))
        return UDPA_ERR_NOMEM;
    turn_around((char *)room, sealed.data + len, sealed.len - len);
    return UDPA_OK;
}

static struct fake_seals fake;

static udpai_record_seals
seals_with(udpa_err err)
{
    fake = (struct fake_seals){.err = err};
    return (udpai_record_seals){fake_is_secret, fake_seal, fake_unseal, NULL, &fake};
}

static void
secrets_are_sealed(void **state)
{
    (void)state;
    udpai_record_seals seals = seals_with(UDPA_OK);
    udpai_durable_op op = put_op(PUBLISHER, make_full());
    op.expires_us = 9;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = value_of(&op, &seals);
    udpai_str bytes = udpai_bytes_view(value);
    assert_int_equal(fake.n_sealed, 1);
    assert_null(memmem(bytes.data, bytes.len, "signed", 6)); /* its signature */
    reader.seals = &seals;
    assert_op_reads_back(&op, bytes);
    assert_int_equal(fake.n_unsealed, 1);
    udpai_proto_reader fields = udpai_proto_read(bytes);
    udpai_proto_field field;
    assert_true(udpai_proto_next(&fields, &field) && field.number == 1);
    assert_true(udpai_proto_next(&fields, &field) && field.number == 2 && field.value == 1);
    udpai_durable_op_done(&op);
}

static void
sealed_values_are_bound_to_their_place(void **state)
{
    (void)state;
    udpai_record_seals seals = seals_with(UDPA_OK);
    udpai_durable_op op = put_op("o", make_full()), back;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = value_of(&op, &seals);
    udpai_str value = udpai_bytes_view(bytes);
    reader.seals = &seals;
    assert_int_equal(read_record(UDPAI_STR(KEY "2"), &value, &back, "another place"),
                     UDPA_ERR_MALFORMED);
    assert_int_equal(read_record(UDPAI_STR("c/com.acme/test.Thing/b/o"), &value, &back, NULL),
                     UDPA_ERR_MALFORMED);
    udpai_durable_op_done(&op);
}

static void
other_types_are_not_sealed(void **state)
{
    (void)state;
    udpai_record_seals seals = seals_with(UDPA_ERR_IO);
    udpai_durable_op op = put_op("o", RESOURCE(NAME, .type = TEST_CDS, .value = "v"));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = value_of(&op, &seals);
    reader.seals = &seals;
    assert_op_reads_back(&op, udpai_bytes_view(value));
    assert_int_equal(fake.n_sealed + fake.n_unsealed, 0);
    udpai_durable_op_done(&op);
}

/* It became secret after it was written. */
static void
plain_values_of_secret_types_are_read(void **state)
{
    (void)state;
    udpai_record_seals seals = seals_with(UDPA_ERR_IO);
    udpai_durable_op op = put_op("o", make_full());
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = value_of(&op, NULL);
    reader.seals = &seals;
    assert_op_reads_back(&op, udpai_bytes_view(value));
    udpai_durable_op_done(&op);
}

static void
secrets_are_not_written_without_a_key(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_bytes *value = NULL;
    udpai_record_seals seals = seals_with(UDPA_OK);
    udpai_durable_op op = put_op("o", make_full());
    seals.seal = NULL;
    assert_int_equal(udpai_record_value(&op, UDPAI_STR("w"), &seals, &value, &error),
                     UDPA_ERR_PRECONDITION);
    assert_null(value);
    assert_non_null(strstr(udpa_error_message(error),
                           "it is secret, and this node has no key to encrypt it with: set "
                           "store.keys"));
    assert_non_null(strstr(udpa_error_message(error), "'" NAME "'"));
    udpai_durable_op_done(&op);
}

static void
sealed_values_are_not_read_without_a_key(void **state)
{
    (void)state;
    udpai_record_seals seals = seals_with(UDPA_OK);
    udpai_durable_op op = put_op("o", make_full());
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = value_of(&op, &seals);
    assert_refused(udpai_bytes_view(value), UDPA_ERR_PRECONDITION, "set store.keys");
    seals.unseal = NULL;
    reader.seals = &seals;
    assert_refused(udpai_bytes_view(value), UDPA_ERR_PRECONDITION, "set store.keys");
    udpai_durable_op_done(&op);
}

static void
errors_of_seals_are_passed_on(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_bytes *none = NULL;
    udpai_record_seals seals = seals_with(UDPA_OK);
    udpai_durable_op op = put_op("o", make_full());
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = value_of(&op, &seals);
    fake.err = UDPA_ERR_PRECONDITION;
    assert_int_equal(udpai_record_value(&op, UDPAI_STR("w"), &seals, &none, &error),
                     UDPA_ERR_PRECONDITION);
    assert_null(none);
    assert_non_null(strstr(udpa_error_message(error), "broken"));
    reader.seals = &seals;
    assert_refused(udpai_bytes_view(value), UDPA_ERR_PRECONDITION, "broken");
    fake.err = UDPA_ERR_NOMEM;
    udpai_str text = udpai_bytes_view(value);
    udpai_durable_op back;
    assert_int_equal(read_record(UDPAI_STR(KEY), &text, &back, "memory"), UDPA_ERR_NOMEM);
    udpai_durable_op_done(&op);
}

static void
secrets_have_the_same_limit(void **state)
{
    (void)state;
    udpai_record_seals seals = seals_with(UDPA_OK);
    size_t size = 0, payload = UDPAI_RECORD_VALUE_MAX - 1000;
    reader.seals = &seals;
    assert_ok(write_sized(payload, &seals, &size, NULL));
    payload += UDPAI_RECORD_VALUE_MAX - size;
    assert_ok(write_sized(payload, &seals, &size, NULL));
    assert_int_equal(size, UDPAI_RECORD_VALUE_MAX);
    fake.n_sealed = 0;
    assert_int_equal(write_sized(payload + 1, &seals, &size, NULL), UDPA_ERR_LIMIT);
    assert_int_equal(fake.n_sealed, 1);
    assert_int_equal(write_sized(UDPAI_RECORD_VALUE_MAX, &seals, &size, NULL), UDPA_ERR_LIMIT);
    assert_int_equal(fake.n_sealed, 1); /* it was too large already */
}

/* ---- without memory ---- */

static udpa_err
write_and_read(void *context)
{
    const udpai_durable_op *op = context;
    udpai_record_seals seals = seals_with(UDPA_OK);
    udpai_record_place place = udpai_record_place_of(op);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = NULL;
    udpai_strbuf key = {0};
    udpai_record_reader own;
    udpai_durable_op back;
    udpai_record_reader_init(&own, &seals);
    udpa_err err = udpai_record_put_key(&key, &place, NULL);
    if (err == UDPA_OK)
        err = udpai_record_value(op, UDPAI_STR("w"), &seals, &value, NULL);
    udpai_str text = value ? udpai_bytes_view(value) : (udpai_str){"", 0};
    if (err == UDPA_OK)
        err = udpai_record_read(&own, udpai_strbuf_view(&key), &text, &back, NULL);
    if (err == UDPA_OK) {
        udpai_durable_op_done(&back);
        err = udpai_record_read(&own, udpai_strbuf_view(&key), NULL, &back, NULL);
    }
    if (err == UDPA_OK)
        udpai_durable_op_done(&back);
    udpai_record_reader_done(&own);
    udpai_strbuf_done(&key);
    return err;
}

static void
without_memory_nothing_is_left_behind(void **state)
{
    (void)state;
    udpai_durable_op secret = put_op(PUBLISHER, make_full());
    udpai_durable_op other = put_op("o", RESOURCE(NAME, .type = TEST_CDS, .value = "v"));
    oom_torture(write_and_read, &secret);
    oom_torture(write_and_read, &other);
    udpai_durable_op_done(&secret);
    udpai_durable_op_done(&other);
}

/* As long as there is memory again. */
static void
a_reader_goes_on_after_it_had_no_memory(void **state)
{
    (void)state;
    udpai_durable_op op = put_op("o", make_full()), back;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = value_of(&op, NULL);
    udpai_str value = udpai_bytes_view(bytes);
    for (const udpai_str *at = &value;; at = NULL) {
        udpa_err err = UDPA_ERR_NOMEM;
        for (long n = 0; err != UDPA_OK; n++) {
            udpai_record_reader_done(&reader);
            udpai_record_reader_init(&reader, NULL);
            udpai_alloc_fail_after(n);
            err = udpai_record_read(&reader, UDPAI_STR(KEY), at, &back, NULL);
            udpai_alloc_fail_after(-1);
            if (err != UDPA_OK)
                assert_ok(udpai_record_read(&reader, UDPAI_STR(KEY), at, &back, NULL));
            udpai_durable_op_done(&back);
        }
        if (!at)
            break;
    }
    udpai_durable_op_done(&op);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_contribution_reads_back),
        TEST(a_removal_reads_back),
        TEST(a_value_is_a_message),
        TEST(unknown_fields_are_skipped),
        TEST(a_publisher_reads_back),
        TEST(publishers_may_have_little_or_too_much),
        TEST(malformed_values_are_refused),
        TEST(cut_values_are_refused),
        TEST(ops_share_what_is_the_same),
        TEST(values_have_a_limit),
        TEST(secrets_are_sealed),
        TEST(sealed_values_are_bound_to_their_place),
        TEST(other_types_are_not_sealed),
        TEST(plain_values_of_secret_types_are_read),
        TEST(secrets_are_not_written_without_a_key),
        TEST(sealed_values_are_not_read_without_a_key),
        TEST(errors_of_seals_are_passed_on),
        TEST(secrets_have_the_same_limit),
        TEST(without_memory_nothing_is_left_behind),
        TEST(a_reader_goes_on_after_it_had_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
