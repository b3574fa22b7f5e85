/* SPDX-License-Identifier: Apache-2.0 */
/* Resources as they come: what is kept byte for byte, what counts as a refresh, and what is refused
 * alone, so that the rest of its message is taken. */
#include "wire/resource_decode.h"

#include "tests/harness/resources.h"
#include "wire/entry.h"
#include "wire_test.h"

static udpai_decoder decoder;
static udpai_message message;

static int
begin(void **state)
{
    (void)state;
    udpai_decoder_init(&decoder);
    message = (udpai_message){0};
    return 0;
}

static int
end(void **state)
{
    udpai_message_done(&message);
    udpai_decoder_done(&decoder);
    return free_wire(state);
}

/* The entry that one Resource message becomes; valid until the next call. */
static const udpai_publication_entry *
entry_of(udpai_str resource, bool extended)
{
    udpai_message_done(&message);
    assert_int_equal(decode(&decoder, W_DELTA(wire_bytes(1, resource)), extended, &message),
                     UDPA_OK);
    assert_int_equal(message.publication->entries.n, 1);
    return &message.publication->entries.items[0];
}

#define ENTRY(...) entry_of(W_JOIN(__VA_ARGS__), true)
#define NAMED W_TEXT(R_NAME, "com.acme/a")
#define GOOD NAMED, W_ANY("t/T", "v")

/* Refused, but taken apart as far as its refusal needs. */
static void
assert_refused(udpai_str resource, udpa_err why)
{
    udpai_message_done(&message);
    udpai_str bytes = W_DELTA(wire_bytes(1, resource), W_RESOURCE(GOOD));
    assert_int_equal(decode(&decoder, bytes, true, &message), UDPA_OK);
    assert_int_equal(message.publication->entries.n, 2);
    const udpai_publication_entry *entries = message.publication->entries.items;
    assert_int_equal(udpa_error_code(entries[0].error), why);
    assert_true(udpai_utf8_valid(udpai_str_from(udpa_error_message(entries[0].error))));
    assert_non_null(entries[0].resource);
    assert_null(entries[1].error);
    assert_str(udpai_resource_name(entries[1].resource), "com.acme/a");
}

/* ---- the Any ---- */

static void
any_is_kept_as_it_came(void **state)
{
    (void)state;
    const udpai_str anys[] = {
        W_JOIN(W_TEXT(1, "t/T"), W_TEXT(2, "value")),
        W_JOIN(W_TEXT(2, "value"), W_TEXT(1, "t/T")), /* another order */
        W_JOIN(W_VARINT(9, 5), W_TEXT(2, "value"), W_TEXT(1, "t/T"), W_TEXT(3, "?")), /* unknown */
        W_JOIN(UDPAI_STR("\x0a\x83\x00t/T"), W_TEXT(2, "value")), /* an overlong length */
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(anys); i++) {
        const udpai_publication_entry *entry = ENTRY(NAMED, wire_bytes(R_ANY, anys[i]));
        assert_null(entry->error);
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = test_any_of(entry->resource);
        assert_true(udpai_str_eq(udpai_bytes_view(any), anys[i]));
        assert_string_equal(udpa_resource_type_url(entry->resource), "t/T");
        assert_str(udpai_resource_value(entry->resource), "value");
        assert_int_equal(udpai_resource_digest(entry->resource),
                         udpai_digest(UDPAI_STR(""), anys[i]));
    }
}

static void
value_may_be_anything(void **state)
{
    (void)state;
    udpai_str deep = wire_nested(1, 5000);
    udpai_str any = W_MESSAGE(R_ANY, W_TEXT(1, "t/T"), wire_bytes(2, deep));
    const udpai_publication_entry *entry = ENTRY(NAMED, any);
    assert_null(entry->error);
    assert_true(udpai_str_eq(udpai_resource_value(entry->resource), deep));
}

/* A refresh between two payloads must not shift them. */
static void
each_resource_has_its_own_any(void **state)
{
    (void)state;
    udpai_str bytes = W_DELTA(W_RESOURCE(W_TEXT(R_NAME, "a/1"), W_ANY("t/T", "1")),
                              W_RESOURCE(W_TEXT(R_NAME, "a/2")),
                              W_RESOURCE(W_TEXT(R_NAME, "a/3"), W_EMPTY(R_ANY)),
                              W_RESOURCE(W_ANY("t/U", "4"), W_TEXT(R_NAME, "a/4")));
    assert_int_equal(decode(&decoder, bytes, true, &message), UDPA_OK);
    const udpai_publication_entry *entries = message.publication->entries.items;
    assert_int_equal(message.publication->entries.n, 4);
    assert_str(udpai_resource_value(entries[0].resource), "1");
    assert_true(entries[1].is_refresh);
    assert_true(entries[2].is_refresh);
    assert_str(udpai_resource_value(entries[3].resource), "4");
    assert_string_equal(udpa_resource_type_url(entries[3].resource), "t/U");
    assert_false(entries[0].is_refresh || entries[3].is_refresh);
}

static void
resources_of_one_type_share_its_text(void **state)
{
    (void)state;
    udpai_str bytes = W_DELTA(W_RESOURCE(GOOD), W_RESOURCE(NAMED, W_ANY("t/T", "2")),
                              W_RESOURCE(NAMED, W_ANY("t/U", "3")), W_RESOURCE(GOOD));
    assert_int_equal(decode(&decoder, bytes, true, &message), UDPA_OK);
    const udpai_publication_entry *entries = message.publication->entries.items;
    assert_ptr_equal(udpai_resource_type(entries[0].resource),
                     udpai_resource_type(entries[1].resource));
    assert_string_equal(udpa_resource_type_url(entries[2].resource), "t/U");
    assert_string_equal(udpa_resource_type_url(entries[3].resource), "t/T");
}

/* ---- refreshes ---- */

static void
refresh_has_no_any(void **state)
{
    (void)state;
    for (int extended = 0; extended <= 1; extended++) {
        assert_true(entry_of(W_JOIN(NAMED), extended)->is_refresh);
        assert_true(entry_of(W_JOIN(NAMED, W_EMPTY(R_ANY)), extended)->is_refresh);
        assert_false(entry_of(W_JOIN(GOOD), extended)->is_refresh);
    }
}

/* Without a ttl it is a message that has only defaults. With one it is a refresh, but for what a
 * peer that knows our extensions calls by the hash of just this content. */
static void
any_without_value_depends_on_ttl_and_version(void **state)
{
    (void)state;
    udpai_str bare = W_JOIN(NAMED, W_MESSAGE(R_ANY, W_TEXT(1, "t/T")));
    udpai_str with_ttl = W_JOIN(bare, W_MESSAGE(R_TTL, W_VARINT(1, 5)));
    udpai_str value_and_ttl = W_JOIN(GOOD, W_MESSAGE(R_TTL, W_VARINT(1, 5)));
    assert_true(entry_of(with_ttl, false)->is_refresh);
    assert_string_equal(udpa_resource_type_url(message.publication->entries.items[0].resource),
                        "t/T");
    assert_true(entry_of(with_ttl, true)->is_refresh);
    char hex[UDPAI_CONTENT_HASH_HEX + 1] = {0};
    udpai_content_hash_hex(udpai_content_hash_of(UDPAI_STR("t/T"), (udpai_str){"", 0}), hex);
    udpai_str called_by_hash = W_JOIN(with_ttl, W_TEXT(R_VERSION, hex));
    assert_true(entry_of(called_by_hash, false)->is_refresh);
    assert_false(entry_of(called_by_hash, true)->is_refresh);
    assert_true(entry_of(W_JOIN(with_ttl, W_TEXT(R_VERSION, "7")), true)->is_refresh);
    assert_false(entry_of(bare, false)->is_refresh);
    assert_false(entry_of(bare, true)->is_refresh);
    assert_false(entry_of(value_and_ttl, false)->is_refresh);
    assert_false(entry_of(value_and_ttl, true)->is_refresh);
}

static void
refresh_carries_the_rest(void **state)
{
    (void)state;
    const udpai_publication_entry *entry =
        ENTRY(NAMED, W_TEXT(R_VERSION, "7"), W_MESSAGE(R_TTL, W_VARINT(1, 30)),
              W_MESSAGE(R_ORIGIN, W_TEXT(1, "acme"), W_VARINT(3, 12)));
    assert_null(entry->error);
    assert_true(entry->is_refresh);
    assert_string_equal(udpa_resource_version(entry->resource), "7");
    assert_string_equal(udpa_resource_authority(entry->resource), "acme");
    assert_int_equal(udpa_resource_ttl_ms(entry->resource), 30000);
    assert_int_equal(udpa_resource_generation(entry->resource), 12);
}

/* ---- ttl ---- */

static uint64_t
ttl_of(uint64_t seconds, uint64_t nanos)
{
    const udpai_publication_entry *entry =
        ENTRY(GOOD, W_MESSAGE(R_TTL, W_VARINT(1, seconds), W_VARINT(2, nanos)));
    return entry->error ? 0 : udpa_resource_ttl_ms(entry->resource);
}

static void
ttl_is_rounded_up(void **state)
{
    (void)state;
    assert_int_equal(ttl_of(0, 1), 1);
    assert_int_equal(ttl_of(0, 1000000), 1);
    assert_int_equal(ttl_of(0, 1000001), 2);
    assert_int_equal(ttl_of(5, 0), 5000);
    assert_int_equal(ttl_of(0, 999999999), 1000);
    assert_int_equal(ttl_of(UDPAI_TTL_MAX_MS / 1000, 0), UDPAI_TTL_MAX_MS);
    assert_int_equal(udpa_resource_ttl_ms(ENTRY(GOOD)->resource), 0);
}

static void
ttl_that_is_none_is_refused(void **state)
{
    (void)state;
    const uint64_t bad[][2] = {
        {0, 0},
        {(uint64_t)-1, 0},
        {1, (uint64_t)-1},
        {0, 1000000000},
        {UDPAI_TTL_MAX_MS / 1000 + 1, 0},
        {UDPAI_TTL_MAX_MS / 1000, 1},
        {INT64_MAX, 0},
        {(uint64_t)INT64_MIN, 0},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++)
        assert_refused(
            W_JOIN(GOOD, W_MESSAGE(R_TTL, W_VARINT(1, bad[i][0]), W_VARINT(2, bad[i][1]))),
            UDPA_ERR_INVAL);
}

/* ---- what is said of it ---- */

static void
extensions_are_read(void **state)
{
    (void)state;
    const udpai_publication_entry *entry = ENTRY(
        GOOD, W_TEXT(R_VERSION, "1"), W_TEXT(R_ALIASES, "com.acme/b"),
        W_TEXT(R_ALIASES, "com.acme/*.c"), W_VARINT(R_DELIVERY, 1), W_VARINT(R_DO_NOT_CACHE, 1),
        W_MESSAGE(R_HOPS, W_TEXT(1, "n1"), W_TEXT(2, "acme"),
                  W_MESSAGE(3, W_VARINT(1, 10), W_VARINT(2, 5000))),
        W_MESSAGE(R_HOPS, W_TEXT(1, "n2")));
    const udpa_resource *resource = entry->resource;
    assert_null(entry->error);
    assert_true(udpai_resource_is_lazy(resource));
    assert_true(udpai_resource_do_not_cache(resource));
    assert_int_equal(udpa_resource_n_aliases(resource), 2);
    assert_string_equal(udpa_resource_alias(resource, 1), "com.acme/*.c");
    assert_int_equal(udpa_resource_n_hops(resource), 2);
    assert_str(udpai_resource_hop(resource, 0).node_id, "n1");
    assert_str(udpai_resource_hop(resource, 0).authority, "acme");
    assert_int_equal(udpai_resource_hop(resource, 0).time_us, 10000005);
    assert_str(udpai_resource_hop(resource, 1).node_id, "n2");
    assert_int_equal(udpai_resource_hop(resource, 1).time_us, 0);
    assert_null(udpai_resource_signature(resource));
}

static void
signature_is_read(void **state)
{
    (void)state;
    const udpai_publication_entry *entry = ENTRY(
        GOOD, W_MESSAGE(R_ORIGIN, W_TEXT(1, "acme"), W_VARINT(3, UINT64_MAX),
                        W_MESSAGE(2, W_VARINT(1, 2), W_TEXT(2, "k"), W_MESSAGE(3, W_VARINT(1, 1)),
                                  W_MESSAGE(4, W_VARINT(1, 2)), W_BYTES(5, "\0\xff"))));
    const udpai_signature *signature = udpai_resource_signature(entry->resource);
    assert_non_null(signature);
    assert_int_equal(signature->algorithm, 2);
    assert_str(signature->key_id, "k");
    assert_int_equal(signature->not_before_us, 1000000);
    assert_int_equal(signature->not_after_us, 2000000);
    assert_true(udpai_str_eq(signature->value, UDPAI_STR("\0\xff")));
    assert_true(udpa_resource_generation(entry->resource) == UINT64_MAX);
}

static void
unknown_delivery_is_eager(void **state)
{
    (void)state;
    assert_false(udpai_resource_is_lazy(ENTRY(GOOD, W_VARINT(R_DELIVERY, 2))->resource));
    assert_false(udpai_resource_is_lazy(ENTRY(GOOD, W_VARINT(R_DELIVERY, 0))->resource));
}

static int64_t
time_of(uint64_t seconds, uint64_t nanos)
{
    const udpai_publication_entry *entry =
        ENTRY(GOOD, W_MESSAGE(R_HOPS, W_TEXT(1, "n"),
                              W_MESSAGE(3, W_VARINT(1, seconds), W_VARINT(2, nanos))));
    assert_null(entry->error);
    return udpai_resource_hop(entry->resource, 0).time_us;
}

static void
times_are_bounded(void **state)
{
    (void)state;
    assert_int_equal(time_of(1, 1999), 1000001);
    assert_int_equal(time_of((uint64_t)-1, 500000000), -500000);
    assert_int_equal(time_of(INT64_MAX, 0), 0);
    assert_int_equal(time_of((uint64_t)INT64_MIN, 0), 0);
    /* The last second that fits, with nanoseconds that are none. */
    assert_int_equal(time_of(INT64_MAX / 1000000 - 1, INT32_MAX), 0);
    assert_int_equal(time_of((uint64_t)(1 - INT64_MAX / 1000000), (uint64_t)INT32_MIN), 0);
    assert_true(time_of(INT64_MAX / 1000000 - 1, 999999999) > 0);
}

/* ---- what is refused alone ---- */

static void
bad_names_are_refused_alone(void **state)
{
    (void)state;
    char longer[UDPA_NAME_MAX + 2];
    memset(longer, 'a', sizeof(longer));
    longer[1] = '/';
    longer[UDPA_NAME_MAX + 1] = '\0';
    const char *const bad[] = {"", "com.acme", "/a", "Com.Acme/a", "com..acme/a", longer};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++)
        assert_refused(W_JOIN(W_TEXT(R_NAME, bad[i]), W_ANY("t/T", "v")), UDPA_ERR_INVAL);
    assert_refused(W_ANY("t/T", "v"), UDPA_ERR_INVAL); /* no name at all */
}

static void
bad_types_are_refused_alone(void **state)
{
    (void)state;
    assert_refused(W_JOIN(NAMED, W_ANY("", "v")), UDPA_ERR_INVAL);
    assert_refused(W_JOIN(NAMED, W_ANY("T", "v")), UDPA_ERR_INVAL);
}

static void
long_texts_are_refused_alone(void **state)
{
    (void)state;
    char text[UDPAI_AUTHORITY_MAX + 2];
    memset(text, 'x', sizeof(text));
    text[UDPAI_VERSION_MAX + 1] = '\0';
    assert_refused(W_JOIN(GOOD, W_TEXT(R_VERSION, text)), UDPA_ERR_INVAL);
    assert_refused(W_JOIN(GOOD, W_MESSAGE(R_ORIGIN, W_TEXT(1, text))), UDPA_ERR_INVAL);
    assert_refused(W_JOIN(GOOD, W_MESSAGE(R_HOPS, W_TEXT(1, text))), UDPA_ERR_INVAL);
    assert_refused(W_JOIN(GOOD, W_MESSAGE(R_ORIGIN, W_MESSAGE(2, W_VARINT(1, 1), W_TEXT(2, text)))),
                   UDPA_ERR_INVAL);
}

/* n of a field. */
static udpai_str
times_n(udpai_str field, size_t n)
{
    char *room = wire_room(field.len * n);
    for (size_t i = 0; i < n; i++)
        memcpy(room + i * field.len, field.data, field.len);
    return (udpai_str){room, field.len * n};
}

static void
hops_are_bounded(void **state)
{
    (void)state;
    udpai_str hop = W_MESSAGE(R_HOPS, W_TEXT(1, "node"));
    const udpai_publication_entry *entry = ENTRY(GOOD, times_n(hop, UDPAI_HOPS_MAX));
    assert_null(entry->error);
    assert_int_equal(udpa_resource_n_hops(entry->resource), UDPAI_HOPS_MAX);
    assert_refused(W_JOIN(GOOD, times_n(hop, UDPAI_HOPS_MAX + 1)), UDPA_ERR_INVAL);
    assert_refused(W_JOIN(GOOD, times_n(hop, 1000)), UDPA_ERR_INVAL);
}

static void
aliases_are_bounded(void **state)
{
    (void)state;
    udpai_str alias = W_TEXT(R_ALIASES, "com.acme/b");
    const udpai_publication_entry *entry = ENTRY(GOOD, times_n(alias, UDPAI_ALIASES_MAX));
    assert_null(entry->error);
    assert_int_equal(udpa_resource_n_aliases(entry->resource), UDPAI_ALIASES_MAX);
    assert_refused(W_JOIN(GOOD, times_n(alias, UDPAI_ALIASES_MAX + 1)), UDPA_ERR_LIMIT);
    assert_refused(W_JOIN(GOOD, W_TEXT(R_ALIASES, "com.other/b")), UDPA_ERR_INVAL);
    assert_refused(W_JOIN(GOOD, W_TEXT(R_ALIASES, "com.acme/a*b")), UDPA_ERR_INVAL);
}

/* ---- one by itself ---- */

static void
one_resource_is_decoded(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    assert_ok(udpai_resource_decode(&decoder, W_JOIN(GOOD), &resource, NULL));
    assert_string_equal(udpa_resource_name(resource), "com.acme/a");
    assert_str(udpai_resource_value(resource), "v");
}

static void
one_bad_resource_is_an_error(void **state)
{
    (void)state;

    const struct {
        udpai_str bytes;
        udpa_err err;
    } bad[] = {
        {W_JOIN(W_TEXT(R_NAME, "acme"), W_ANY("t/T", "v")), UDPA_ERR_INVAL},
        {W_JOIN(NAMED), UDPA_ERR_MALFORMED},
        {UDPAI_STR("\xff"), UDPA_ERR_MALFORMED},
        {W_JOIN(NAMED, W_MESSAGE(R_ANY, W_TEXT(2, "1"), W_TEXT(2, "2"))), UDPA_ERR_MALFORMED},
        /* two mistakes: the worse one is told, not the first */
        {W_JOIN(W_TEXT(R_NAME, "acme"), W_MESSAGE(R_ANY, W_TEXT(1, "a/A"), W_TEXT(1, "b/B"))),
         UDPA_ERR_MALFORMED},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        udpa_resource *resource = NULL;
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_equal(udpai_resource_decode(&decoder, bad[i].bytes, &resource, &error),
                         bad[i].err);
        assert_int_equal(udpa_error_code(error), bad[i].err);
        assert_null(resource);
    }
}

static udpa_err
decode_once(void *context)
{
    udpai_decoder fresh;
    udpai_decoder_init(&fresh);
    udpa_resource *resource = NULL;
    udpa_err err = udpai_resource_decode(&fresh, *(const udpai_str *)context, &resource, NULL);
    udpa_resource_unref(resource);
    udpai_decoder_done(&fresh);
    return err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    udpai_str bytes = W_JOIN(GOOD, W_TEXT(R_ALIASES, "com.acme/b"));
    oom_torture(decode_once, &bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(any_is_kept_as_it_came),
        TEST(value_may_be_anything),
        TEST(each_resource_has_its_own_any),
        TEST(resources_of_one_type_share_its_text),
        TEST(refresh_has_no_any),
        TEST(any_without_value_depends_on_ttl_and_version),
        TEST(refresh_carries_the_rest),
        TEST(ttl_is_rounded_up),
        TEST(ttl_that_is_none_is_refused),
        TEST(extensions_are_read),
        TEST(signature_is_read),
        TEST(unknown_delivery_is_eager),
        TEST(times_are_bounded),
        TEST(bad_names_are_refused_alone),
        TEST(bad_types_are_refused_alone),
        TEST(long_texts_are_refused_alone),
        TEST(hops_are_bounded),
        TEST(aliases_are_bounded),
        TEST(one_resource_is_decoded),
        TEST(one_bad_resource_is_an_error),
        TEST(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
