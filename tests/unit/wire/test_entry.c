/* SPDX-License-Identifier: Apache-2.0 */
/* A resource as a Resource message, for each kind of peer: field by field, then there and back. */
#include "wire/entry.h"

#include "tests/harness/constraints.h"
#include "tests/harness/resources.h"
#include "wire_test.h"

static int
end(void **state)
{
    return free_wire(state);
}

static udpai_str
encode(const udpa_resource *resource, udpai_entry_form form)
{
    udpai_proto_writer size = {0};
    udpai_entry_put(&size, resource, form);
    udpai_proto_writer writer = {(uint8_t *)wire_room(size.size), 0};
    udpai_str bytes = {(char *)writer.at, size.size};
    udpai_entry_put(&writer, resource, form);
    assert_int_equal(writer.size, size.size);
    return bytes;
}

static udpa_resource *
make_full(void)
{
    return RESOURCE("com.acme/a", .value = "v", .version = "1", .authority = "acme",
                    .generation = 300, .ttl_ms = 9000, .lazy = true, .do_not_cache = true,
                    .is_signed = true, .hops = {{"n1", "acme"}, {"n2", NULL}},
                    .aliases = {"com.acme/b", "com.acme/*.c"});
}

#define ANY W_MESSAGE(R_ANY, W_TEXT(1, TEST_TYPE), W_TEXT(2, "v"))
#define TIME(seconds) W_VARINT(1, seconds)

static void
extended_peer_is_told_everything(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make_full();
    udpai_str expected = W_JOIN(
        W_TEXT(R_NAME, "com.acme/a"), W_TEXT(R_VERSION, "1"), ANY,
        W_MESSAGE(R_TTL, W_VARINT(1, 2), W_VARINT(2, 5000000)),
        W_MESSAGE(R_ORIGIN, W_TEXT(1, "acme"),
                  W_MESSAGE(2, W_VARINT(1, 1), W_TEXT(2, "key"), W_MESSAGE(3, W_VARINT(2, 1000)),
                            W_MESSAGE(4, W_VARINT(2, 2000)), W_TEXT(5, "signed")),
                  W_VARINT(3, 300)),
        W_TEXT(R_ALIASES, "com.acme/b"), W_TEXT(R_ALIASES, "com.acme/*.c"), W_VARINT(R_DELIVERY, 1),
        W_MESSAGE(R_HOPS, W_TEXT(1, "n1"), W_TEXT(2, "acme"), W_MESSAGE(3, TIME(1))),
        W_MESSAGE(R_HOPS, W_TEXT(1, "n2"), W_MESSAGE(3, TIME(1))), W_VARINT(R_DO_NOT_CACHE, 1));
    udpai_str bytes = encode(resource, (udpai_entry_form){.extended = true, .ttl_ms = 2005});
    assert_true(udpai_str_eq(bytes, expected));
}

/* Not one field that the public protocol does not have. */
static void
other_peer_is_told_the_public_part(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make_full();
    udpai_str expected =
        W_JOIN(W_TEXT(R_NAME, "com.acme/a"), W_TEXT(R_VERSION, "1"), ANY,
               W_MESSAGE(R_TTL, W_VARINT(1, 3)), W_MESSAGE(R_ORIGIN, W_TEXT(1, "acme")));
    udpai_str bytes = encode(resource, (udpai_entry_form){.ttl_ms = 3000});
    assert_true(udpai_str_eq(bytes, expected));
}

static void
a_variant_says_for_whom_it_is(void **state)
{
    (void)state;
    udpai_str constraints = C_AND(C_IS("env", "prod"), C_NOT(C_HAS("version")));
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = RESOURCE("com.acme/a.prod", .value = "v", .version = "1",
                                       .aliases = {"com.acme/a"}, .constraints = constraints);
    udpai_str expected =
        W_JOIN(W_TEXT(R_NAME, "com.acme/a.prod"), W_TEXT(R_VERSION, "1"), ANY,
               W_TEXT(R_ALIASES, "com.acme/a"), wire_bytes(R_CONSTRAINTS, constraints));
    assert_true(udpai_str_eq(encode(resource, (udpai_entry_form){.extended = true}), expected));
    expected = W_JOIN(W_TEXT(R_NAME, "com.acme/a.prod"), W_TEXT(R_VERSION, "1"));
    assert_true(udpai_str_eq(
        encode(resource, (udpai_entry_form){.extended = true, .refresh = true}), expected));
}

static void
refresh_has_no_payload(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = RESOURCE("com.acme/a", .value = "v", .version = "1", .generation = 5,
                                       .aliases = {"com.acme/b"});
    udpai_str extended =
        encode(resource, (udpai_entry_form){.refresh = true, .extended = true, .ttl_ms = 1000});
    udpai_str expected =
        W_JOIN(W_TEXT(R_NAME, "com.acme/a"), W_TEXT(R_VERSION, "1"),
               W_MESSAGE(R_TTL, W_VARINT(1, 1)), W_MESSAGE(R_ORIGIN, W_VARINT(3, 5)));
    assert_true(udpai_str_eq(extended, expected));
    /* A peer without extensions learns the type: it has no other way to tell namesakes apart. */
    udpai_str plain = encode(resource, (udpai_entry_form){.refresh = true, .ttl_ms = 1000});
    expected = W_JOIN(W_TEXT(R_NAME, "com.acme/a"), W_TEXT(R_VERSION, "1"),
                      W_MESSAGE(R_ANY, W_TEXT(1, TEST_TYPE)), W_MESSAGE(R_TTL, W_VARINT(1, 1)));
    assert_true(udpai_str_eq(plain, expected));
}

static void
any_goes_out_as_it_came(void **state)
{
    (void)state;
    udpai_str any = W_JOIN(W_VARINT(9, 1), W_TEXT(2, "v"), W_TEXT(1, "t/T"));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    assert_ok(udpa_bytes_new(&bytes, any.data, any.len));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    const udpai_resource_parts parts = {
        .name = UDPAI_STR("a/b"), .version = UDPAI_STR("1"), .any = bytes};
    assert_ok(udpai_resource_make(&resource, &parts));
    udpai_str expected =
        W_JOIN(W_TEXT(R_NAME, "a/b"), W_TEXT(R_VERSION, "1"), wire_bytes(R_ANY, any));
    assert_true(udpai_str_eq(encode(resource, (udpai_entry_form){0}), expected));
    assert_true(udpai_str_eq(encode(resource, (udpai_entry_form){.extended = true}), expected));
}

/* ---- there and back ---- */

static void
assert_same(const udpa_resource *a, const udpa_resource *b)
{
    assert_true(udpai_resource_same_payload(a, b));
    assert_true(udpai_resource_same_origin_info(a, b));
    assert_str(udpai_resource_name(a), udpa_resource_name(b));
    assert_string_equal(udpa_resource_authority(a), udpa_resource_authority(b));
    assert_string_equal(udpa_resource_type_url(a), udpa_resource_type_url(b));
    assert_int_equal(udpa_resource_is_redirect(a), udpa_resource_is_redirect(b));
    assert_true(udpai_str_eq(udpai_resource_constraints(a), udpai_resource_constraints(b)));
    assert_int_equal(udpai_resource_is_lazy(a), udpai_resource_is_lazy(b));
    assert_int_equal(udpai_resource_do_not_cache(a), udpai_resource_do_not_cache(b));
    assert_int_equal(udpai_resource_digest(a), udpai_resource_digest(b));
    assert_int_equal(udpa_resource_n_aliases(a), udpa_resource_n_aliases(b));
    for (size_t i = 0; i < udpa_resource_n_aliases(a); i++)
        assert_string_equal(udpa_resource_alias(a, i), udpa_resource_alias(b, i));
    for (size_t i = 0; i < udpa_resource_n_hops(a); i++)
        assert_int_equal(udpai_resource_hop(a, i).time_us, udpai_resource_hop(b, i).time_us);
}

static void
stored_form_reads_back(void **state)
{
    (void)state;
    udpai_decoder decoder;
    udpai_decoder_init(&decoder);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *full = make_full();
    UDPA_AUTO(udpa_resource_unref) udpa_resource *bare = RESOURCE("com.acme/a");
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *variant = RESOURCE("com.acme/a", .aliases = {"com.acme/b"},
                                      .constraints = C_OR(C_IS("k", "v"), C_NOT(W_NOTHING)));
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *redirect = RESOURCE("com.acme/a", .type = UDPAI_TYPE_LOCATOR,
                                       .value = "\x12\x01q", .redirected_type = TEST_TYPE);
    const udpa_resource *all[] = {full, bare, variant, redirect};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++) {
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_entry_encode(all[i], i ? 0 : 1234);
        UDPA_AUTO(udpa_resource_unref) udpa_resource *back = NULL;
        assert_ok(udpai_resource_decode(&decoder, udpai_bytes_view(bytes), &back, NULL));
        assert_same(all[i], back);
        assert_int_equal(udpa_resource_ttl_ms(back), i ? 0 : 1234);
    }
    udpai_decoder_done(&decoder);
}

/* ---- times ---- */

static void
timestamps_count_forward(void **state)
{
    (void)state;

    const struct {
        int64_t us;
        udpai_str expected;
    } known[] = {
        {0, W_EMPTY(1)},
        {1, W_MESSAGE(1, W_VARINT(2, 1000))},
        {1500000, W_MESSAGE(1, W_VARINT(1, 1), W_VARINT(2, 500000000))},
        {-1, W_MESSAGE(1, W_VARINT(1, (uint64_t)-1), W_VARINT(2, 999999000))},
        {-1000000, W_MESSAGE(1, W_VARINT(1, (uint64_t)-1))},
        {INT64_MAX, W_MESSAGE(1, W_VARINT(1, 9223372036854), W_VARINT(2, 775807000))},
        {INT64_MIN, W_MESSAGE(1, W_VARINT(1, (uint64_t)-9223372036855), W_VARINT(2, 224192000))},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(known); i++) {
        uint8_t room[32];
        udpai_proto_writer writer = {room, 0};
        udpai_timestamp_put(&writer, 1, known[i].us);
        if (!udpai_str_eq((udpai_str){(char *)room, writer.size}, known[i].expected))
            fail_msg("case %zu", i);
    }
}

static void
durations_are_seconds_and_nanos(void **state)
{
    (void)state;

    const struct {
        uint64_t ms;
        udpai_str expected;
    } known[] = {
        {1, W_MESSAGE(1, W_VARINT(2, 1000000))},
        {999, W_MESSAGE(1, W_VARINT(2, 999000000))},
        {1000, W_MESSAGE(1, W_VARINT(1, 1))},
        {UDPAI_TTL_MAX_MS, W_MESSAGE(1, W_VARINT(1, UDPAI_TTL_MAX_MS / 1000))},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(known); i++) {
        uint8_t room[32];
        udpai_proto_writer writer = {room, 0};
        udpai_duration_put(&writer, 1, known[i].ms);
        assert_true(udpai_str_eq((udpai_str){(char *)room, writer.size}, known[i].expected));
    }
}

static udpa_err
encode_once(void *context)
{
    udpa_bytes *bytes = udpai_entry_encode(context, 5);
    udpa_err err = bytes ? UDPA_OK : UDPA_ERR_NOMEM;
    udpa_bytes_unref(bytes);
    return err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make_full();
    assert_int_equal(oom_torture(encode_once, resource), 1);
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(extended_peer_is_told_everything), TEST(other_peer_is_told_the_public_part),
        TEST(a_variant_says_for_whom_it_is),    TEST(refresh_has_no_payload),
        TEST(any_goes_out_as_it_came),          TEST(stored_form_reads_back),
        TEST(timestamps_count_forward),         TEST(durations_are_seconds_and_nanos),
        TEST(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
