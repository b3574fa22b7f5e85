/* SPDX-License-Identifier: Apache-2.0 */
/* Resources as values: what goes in comes out, through the inner and the public face; a refresh
 * shares the payload; comparisons tell exactly what they say. */
#include "model/resource.h"

#include "tests/harness/oom.h"
#include "tests/harness/resources.h"

#define TYPE UDPAI_STR("type.googleapis.com/google.protobuf.StringValue")

static udpai_hop hops[] = {
    {.node_id = UDPAI_STR("node-1"), .authority = UDPAI_STR("acme"), .time_us = 1000001},
    {.node_id = UDPAI_STR("node-2"), .authority = UDPAI_STR(""), .time_us = -5},
};
static udpai_str aliases[] = {UDPAI_STR("com.acme/b"), UDPAI_STR("com.acme/*.c")};

static udpa_bytes *full_any;

static int
make_full_any(void **state)
{
    (void)state;
    full_any = udpai_any_make(TYPE, UDPAI_STR("\x0a\x02hi"));
    return full_any ? 0 : -1;
}

static int
drop_full_any(void **state)
{
    (void)state;
    full_any = udpa_bytes_unref(full_any);
    return 0;
}

/* Parts in which every field is set. */
static udpai_resource_parts
full_parts(void)
{
    return (udpai_resource_parts){
        .name = UDPAI_STR("com.acme/a"),
        .version = UDPAI_STR("v7"),
        .authority = UDPAI_STR("acme"),
        .any = full_any,
        .generation = 77,
        .ttl_ms = 30000,
        .lazy = true,
        .do_not_cache = true,
        .signature = {1, UDPAI_STR("key-1"), 10, 20, UDPAI_STR("\x01\x00\x02")},
        .hops = hops,
        .n_hops = 2,
        .aliases = aliases,
        .n_aliases = 2,
    };
}

static udpa_resource *
make(const udpai_resource_parts *parts)
{
    udpa_resource *resource = NULL;
    assert_ok(udpai_resource_make(&resource, parts));
    assert_non_null(resource);
    return resource;
}

static udpa_resource *
make_full(void)
{
    udpai_resource_parts parts = full_parts();
    return make(&parts);
}

static void
everything_comes_out_inside(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make_full();
    assert_str(udpai_resource_name(resource), "com.acme/a");
    assert_str(udpai_resource_version(resource), "v7");
    assert_str(udpai_resource_authority(resource), "acme");
    assert_str(udpai_resource_type_url(resource), TYPE.data);
    assert_str(udpai_resource_value(resource), "\x0a\x02hi");
    assert_true(udpai_resource_is_lazy(resource));
    assert_true(udpai_resource_do_not_cache(resource));
    assert_str(udpai_resource_alias(resource, 0), "com.acme/b");
    assert_str(udpai_resource_alias(resource, 1), "com.acme/*.c");
    udpai_hop hop = udpai_resource_hop(resource, 1);
    assert_str(hop.node_id, "node-2");
    assert_str(hop.authority, "");
    assert_true(hop.time_us == -5);
    const udpai_signature *signature = udpai_resource_signature(resource);
    assert_int_equal(signature->algorithm, 1);
    assert_str(signature->key_id, "key-1");
    assert_true(signature->not_before_us == 10 && signature->not_after_us == 20);
    assert_true(udpai_str_eq(signature->value, UDPAI_STR("\x01\x00\x02")));
}

static void
everything_comes_out_in_public(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make_full();
    assert_string_equal(udpa_resource_name(resource), "com.acme/a");
    assert_string_equal(udpa_resource_version(resource), "v7");
    assert_string_equal(udpa_resource_authority(resource), "acme");
    assert_string_equal(udpa_resource_type_url(resource), TYPE.data);
    size_t size = 0;
    assert_memory_equal(udpa_resource_payload(resource, &size), "\x0a\x02hi", 4);
    assert_int_equal(size, 4);
    assert_non_null(udpa_resource_payload(resource, NULL));
    assert_int_equal(udpa_resource_ttl_ms(resource), 30000);
    assert_int_equal(udpa_resource_generation(resource), 77);
    assert_int_equal(udpa_resource_n_aliases(resource), 2);
    assert_string_equal(udpa_resource_alias(resource, 0), "com.acme/b");
    assert_string_equal(udpa_resource_alias(resource, 1), "com.acme/*.c");
    assert_null(udpa_resource_alias(resource, 2));
    assert_int_equal(udpa_resource_n_hops(resource), 2);
}

static void
public_hops_are_checked(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make_full();
    const char *node_id = NULL, *authority = NULL;
    int64_t time_us = 0;
    assert_ok(udpa_resource_hop(resource, 0, &node_id, &authority, &time_us));
    assert_string_equal(node_id, "node-1");
    assert_string_equal(authority, "acme");
    assert_true(time_us == 1000001);
    assert_ok(udpa_resource_hop(resource, 1, &node_id, NULL, NULL));
    assert_string_equal(node_id, "node-2");
    assert_int_equal(udpa_resource_hop(resource, 2, &node_id, &authority, &time_us),
                     UDPA_ERR_INVAL);
    assert_int_equal(udpa_resource_hop(resource, 0, NULL, NULL, NULL), UDPA_ERR_INVAL);
    assert_int_equal(udpa_resource_hop(NULL, 0, &node_id, NULL, NULL), UDPA_ERR_INVAL);
    assert_string_equal(node_id, "node-2");
    assert_string_equal(authority, "acme");
}

static void
least_resource_has_empty_fields(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(TYPE, UDPAI_STR(""));
    const udpai_resource_parts parts = {.name = UDPAI_STR("com.acme/a"), .any = any};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make(&parts);
    assert_string_equal(udpa_resource_version(resource), "99efaac83a3b611f7ff8b23b37dff700");
    assert_string_equal(udpa_resource_authority(resource), "");
    size_t size = 1;
    assert_non_null(udpa_resource_payload(resource, &size));
    assert_int_equal(size, 0);
    assert_int_equal(udpa_resource_ttl_ms(resource), 0);
    assert_int_equal(udpa_resource_generation(resource), 0);
    assert_int_equal(udpa_resource_n_hops(resource), 0);
    assert_int_equal(udpa_resource_n_aliases(resource), 0);
    assert_null(udpa_resource_alias(resource, 0));
    assert_null(udpai_resource_signature(resource));
    assert_false(udpai_resource_passed(resource, UDPAI_STR(""), UDPAI_STR("i")));
    assert_false(udpai_resource_is_lazy(resource));
    assert_false(udpai_resource_do_not_cache(resource));
}

static void
hashes_are_those_of_its_parts(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make_full();
    udpai_str any = udpai_bytes_view(full_any);
    unsigned flags = UDPAI_DIGEST_LAZY | UDPAI_DIGEST_DO_NOT_CACHE | UDPAI_DIGEST_ENDS;
    assert_true(udpai_resource_digest(resource) ==
                udpai_digest_of_flags(udpai_digest(UDPAI_STR("acme"), any), aliases, 2, flags));
    udpai_content_hash hash = udpai_resource_content_hash(resource);
    assert_true(hash.high == 0xa12e2b220fcde7b7u && hash.low == 0xf3baf977669b29bau);
}

/* It is one of the type in whose place it stands, and says another type of its value. */
static void
a_redirect_has_two_types(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_LOCATOR), UDPAI_STR("\x12\x01q"));
    udpai_resource_parts parts = {
        .name = UDPAI_STR("com.acme/a"), .any = any, .redirected_type = UDPAI_STR("t/T")};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *redirect = make(&parts);
    assert_true(udpa_resource_is_redirect(redirect));
    assert_string_equal(udpa_resource_type_url(redirect), "t/T");
    assert_str(udpai_resource_value_type(redirect), UDPAI_TYPE_LOCATOR);
    assert_str(udpai_resource_value(redirect), "\x12\x01q");
    udpai_resource_room room;
    parts = udpai_resource_parts_of(redirect, &room);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *again = make(&parts);
    assert_true(udpa_resource_is_redirect(again));
    assert_string_equal(udpa_resource_type_url(again), "t/T");
    parts.redirected_type = (udpai_str){0};
    parts.type = NULL;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *plain = make(&parts);
    assert_false(udpa_resource_is_redirect(plain));
    assert_string_equal(udpa_resource_type_url(plain), UDPAI_TYPE_LOCATOR);
    assert_str(udpai_resource_value_type(plain), UDPAI_TYPE_LOCATOR);
}

/* What is for others is other content, though the payload be the same. */
static void
constraints_are_part_of_the_content(void **state)
{
    (void)state;
    udpai_str other_names[] = {UDPAI_STR("com.acme/b")};
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR("t/T"), UDPAI_STR("v"));
    udpai_resource_parts parts = {
        .name = UDPAI_STR("com.acme/a"), .any = any, .aliases = other_names, .n_aliases = 1};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *plain = make(&parts);
    parts.constraints = UDPAI_STR("\x0a\x06\x0a\x01k\x12\x01v");
    UDPA_AUTO(udpa_resource_unref) udpa_resource *variant = make(&parts);
    assert_int_equal(udpai_resource_constraints(plain).len, 0);
    assert_true(udpai_str_eq(udpai_resource_constraints(variant), parts.constraints));
    assert_int_equal(udpai_resource_n_constraint_keys(variant), 1);
    size_t size = 1;
    assert_null(udpa_resource_constraints(plain, &size));
    assert_int_equal(size, 0);
    assert_memory_equal(udpa_resource_constraints(variant, &size), parts.constraints.data, 8);
    assert_int_equal(size, 8);
    assert_str(udpai_resource_asked_name(plain), "com.acme/a");
    assert_str(udpai_resource_asked_name(variant), "com.acme/b");
    assert_false(udpai_resource_same_payload(plain, variant));
    uint64_t digest = udpai_digest((udpai_str){0}, udpai_bytes_view(any));
    assert_true(udpai_resource_digest(plain) == udpai_digest_of_flags(digest, other_names, 1, 0));
    digest = udpai_digest_of_variant(digest, parts.constraints);
    assert_true(udpai_resource_digest(variant) == udpai_digest_of_flags(digest, other_names, 1, 0));
    assert_string_not_equal(udpa_resource_version(plain), udpa_resource_version(variant));
    udpai_resource_room room;
    parts = udpai_resource_parts_of(variant, &room);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *again = make(&parts);
    assert_true(udpai_resource_same_payload(variant, again));
    assert_true(udpai_resource_digest(variant) == udpai_resource_digest(again));
}

/* An Any may come with its fields in any order and with others that we do not know: its bytes are
 * kept, and what we want is found in them. */
static void
bytes_of_the_any_are_kept(void **state)
{
    (void)state;
    static const char raw[] = "\x12\x02vv\x18\x05\x0a\x03t/T\x22\x01?";
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = NULL;
    assert_ok(udpa_bytes_new(&any, raw, sizeof(raw) - 1));
    const udpai_resource_parts parts = {.name = UDPAI_STR("com.acme/a"), .any = any};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make(&parts);
    assert_ptr_equal(udpai_resource_any_shared(resource), any);
    assert_str(udpai_resource_type_url(resource), "t/T");
    assert_str(udpai_resource_value(resource), "vv");
    assert_ptr_equal(udpai_resource_value(resource).data, (const char *)udpa_bytes_data(any) + 2);
}

static udpa_resource *
make_of_any(udpai_str raw, udpa_bytes *type)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    udpai_resource_parts parts = {
        .name = UDPAI_STR("com.acme/a"), .authority = UDPAI_STR("acme"), .type = type};
    assert_ok(udpai_resource_parts_set_any(&parts, raw, &bytes));
    assert_ok(udpai_resource_parts_check(&parts, NULL));
    return make(&parts);
}

static void
check_any(const udpa_resource *resource, udpai_str raw, bool is_bare)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = test_any_of(resource);
    assert_true(udpai_str_eq(udpai_bytes_view(any), raw));
    assert_true(udpai_resource_digest(resource) == udpai_digest(UDPAI_STR("acme"), raw));
    assert_str(udpai_resource_type_url(resource), "t/T");
    assert_str(udpai_resource_value(resource), "vv");
    assert_int_equal(udpai_resource_any_body(resource).len, is_bare ? 2 : raw.len);
    assert_int_equal(udpai_resource_any_shared(resource) == NULL, is_bare);
    uint8_t field[64];
    udpai_proto_writer writer = {field, 0};
    udpai_resource_put_any(&writer, 3, resource);
    assert_int_equal(writer.size, raw.len + 2);
    assert_memory_equal(field + 2, raw.data, raw.len);
}

/* What follows from the type and the value is not kept besides, but comes out as it came; whatever
 * form it is kept in, it is the same payload, and another is not. */
static void
usual_any_is_kept_as_its_value(void **state)
{
    (void)state;
    static const char usual[] = "\x0a\x03t/T\x12\x02vv", other[] = "\x12\x02vv\x0a\x03t/T",
                      longer[] = "\x0a\x83\x00t/T\x12\x02vv", next[] = "\x0a\x03t/T\x12\x02vw",
                      more[] = "\x0a\x03t/T\x12\x02vv\x18\x05";
    const udpai_str raw = UDPAI_STR(usual);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *type = udpai_bytes_cstring(UDPAI_STR("t/T"));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *wrong = udpai_bytes_cstring(UDPAI_STR("t/U"));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *bare = make_of_any(raw, type);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *whole = make_of_any(raw, NULL);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *odd = make_of_any(UDPAI_STR(other), type);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *overlong = make_of_any((udpai_str){longer, sizeof(longer) - 1}, type);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *changed = make_of_any(UDPAI_STR(next), type);
    check_any(bare, raw, true);
    check_any(whole, raw, false);
    check_any(odd, UDPAI_STR(other), false);
    check_any(overlong, (udpai_str){longer, sizeof(longer) - 1}, false);
    assert_true(udpai_resource_same_payload(bare, bare));
    assert_true(udpai_resource_same_payload(bare, whole));
    assert_true(udpai_resource_same_payload(whole, bare));
    assert_false(udpai_resource_same_payload(bare, odd));
    assert_false(udpai_resource_same_payload(overlong, bare));
    assert_false(udpai_resource_same_payload(bare, changed));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *with_more = make_of_any(UDPAI_STR(more), NULL);
    assert_false(udpai_resource_same_payload(bare, with_more));
    assert_false(udpai_resource_same_payload(with_more, bare));
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(bare, &room);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *again = make(&parts);
    check_any(again, raw, true);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    parts.type = wrong;
    assert_ok(udpai_resource_parts_set_any(&parts, raw, &bytes));
    assert_null(parts.value);
}

/* A small one is copied with the resource, a larger one shared. */
static void
large_value_is_shared(void **state)
{
    (void)state;
    static char value[UDPAI_SMALL_MAX + 1];
    memset(value, 'v', sizeof(value));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *type = udpai_bytes_cstring(UDPAI_STR("t/T"));
    for (size_t len = UDPAI_SMALL_MAX; len <= UDPAI_SMALL_MAX + 1; len++) {
        UDPA_AUTO(udpa_bytes_unref)
        udpa_bytes *any = udpai_any_make(UDPAI_STR("t/T"), (udpai_str){value, len});
        UDPA_AUTO(udpa_resource_unref)
        udpa_resource *first = make_of_any(udpai_bytes_view(any), type);
        udpai_resource_room room;
        udpai_resource_parts parts = udpai_resource_parts_of(first, &room);
        UDPA_AUTO(udpa_resource_unref) udpa_resource *second = make(&parts);
        UDPA_AUTO(udpa_resource_unref)
        udpa_resource *whole = make_of_any(udpai_bytes_view(any), NULL);
        assert_int_equal(udpai_resource_any_shared(first) != NULL, len > UDPAI_SMALL_MAX);
        assert_ptr_equal(udpai_resource_any_shared(first), udpai_resource_any_shared(second));
        assert_true(udpai_resource_same_payload(first, second));
        assert_true(udpai_resource_same_payload(whole, second));
        assert_int_equal(udpai_resource_footprint(first), udpai_resource_footprint(second));
        assert_true(udpai_resource_footprint(first) > len);
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *again = test_any_of(second);
        assert_true(udpai_str_eq(udpai_bytes_view(again), udpai_bytes_view(any)));
    }
}

/* It may say that something else goes on. */
static void
any_without_value_is_kept_whole(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *type = udpai_bytes_cstring(UDPAI_STR("t/T"));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    udpai_resource_parts parts = {.name = UDPAI_STR("com.acme/a"), .type = type};
    assert_ok(udpai_resource_parts_set_any(&parts, UDPAI_STR("\x0a\x03t/T"), &bytes));
    assert_ptr_equal(parts.any, bytes);
    assert_null(parts.value);
}

/* Of its own version, the hash is told from it; another has both. */
static void
content_hash_is_that_of_the_content(void **state)
{
    (void)state;
    static const char *const versions[] = {"", "7", "0123456789abcdef0123456789abcdef"};
    char hex[UDPAI_CONTENT_HASH_HEX], wanted[UDPAI_CONTENT_HASH_HEX];
    udpai_content_hash_hex(udpai_content_hash_of(UDPAI_STR("t/T"), UDPAI_STR("vv")), wanted);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR("t/T"), UDPAI_STR("vv"));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(versions); i++) {
        const udpai_resource_parts parts = {
            .name = UDPAI_STR("com.acme/a"), .version = udpai_str_from(versions[i]), .any = any};
        UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make(&parts);
        udpai_content_hash_hex(udpai_resource_content_hash(resource), hex);
        assert_memory_equal(hex, wanted, sizeof(hex));
        memset(hex, 0, sizeof(hex));
        udpai_resource_content_hex(resource, hex);
        assert_memory_equal(hex, wanted, sizeof(hex));
        if (i)
            assert_string_equal(udpa_resource_version(resource), versions[i]);
    }
}

static void
malformed_any_makes_no_resource(void **state)
{
    (void)state;
    static const char *const bad[] = {"\x0a\x05x", "\x0a\x01x\x0a\x01y", "\x08\x01", "\x12\x01"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = NULL;
        assert_ok(udpa_bytes_new(&any, bad[i], strlen(bad[i])));
        const udpai_resource_parts parts = {.name = UDPAI_STR("com.acme/a"), .any = any};
        udpa_resource *resource = (udpa_resource *)state;
        assert_int_equal(udpai_resource_make(&resource, &parts), UDPA_ERR_MALFORMED);
        assert_ptr_equal(resource, state);
    }
}

static void
type_can_be_shared(void **state)
{
    (void)state;
    udpai_resource_parts parts = full_parts();
    udpa_resource *first = make(&parts);
    parts.type = udpai_resource_type(first);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *second = make(&parts);
    assert_ptr_equal(udpai_resource_type(second), udpai_resource_type(first));
    assert_ptr_equal(udpai_resource_any_shared(second), parts.any);
    first = udpa_resource_unref(first);
    assert_string_equal(udpa_resource_type_url(second), TYPE.data);
    assert_str(udpai_resource_value(second), "\x0a\x02hi");
}

static void
references_keep_it_alive(void **state)
{
    (void)state;
    udpa_resource *resource = make_full();
    udpa_resource *second = udpa_resource_ref(resource);
    assert_ptr_equal(second, resource);
    assert_null(udpa_resource_unref(resource));
    assert_string_equal(udpa_resource_name(second), "com.acme/a");
    assert_null(udpa_resource_unref(second));
    assert_null(udpa_resource_ref(NULL));
    assert_null(udpa_resource_unref(NULL));
}

static void
parts_make_the_same_resource_again(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make_full();
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    assert_ok(udpai_resource_parts_check(&parts, NULL));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *again = make(&parts);
    assert_ptr_equal(udpai_resource_any_shared(again), udpai_resource_any_shared(resource));
    assert_ptr_equal(udpai_resource_type(again), udpai_resource_type(resource));
    assert_true(udpai_resource_same_payload(resource, again));
    assert_true(udpai_resource_same_origin_info(resource, again));
    assert_string_equal(udpa_resource_name(again), "com.acme/a");
    assert_string_equal(udpa_resource_authority(again), "acme");
    assert_string_equal(udpa_resource_alias(again, 1), "com.acme/*.c");
    assert_int_equal(udpa_resource_ttl_ms(again), 30000);
    assert_true(udpai_resource_is_lazy(again) && udpai_resource_do_not_cache(again));
    assert_true(udpai_resource_digest(again) == udpai_resource_digest(resource));
    assert_int_equal(udpai_resource_footprint(again), udpai_resource_footprint(resource));
}

static void
path_is_known(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make_full();
    assert_true(udpai_resource_passed(resource, UDPAI_STR("node-1"), UDPAI_STR("i")));
    assert_true(udpai_resource_passed(resource, UDPAI_STR("node-2"), UDPAI_STR("i")));
    assert_true(udpai_resource_passed(resource, UDPAI_STR("node-1"), UDPAI_STR("")));
    assert_false(udpai_resource_passed(resource, UDPAI_STR("node-"), UDPAI_STR("i")));
    assert_false(udpai_resource_passed(resource, UDPAI_STR("node-11"), UDPAI_STR("i")));
    assert_false(udpai_resource_passed(resource, UDPAI_STR("acme"), UDPAI_STR("i")));
    assert_false(udpai_resource_passed(resource, UDPAI_STR(""), UDPAI_STR("i")));
}

/* Of two nodes with one id, one that says which it is, is that one. */
static void
a_node_is_an_instance(void **state)
{
    (void)state;
    udpai_resource_parts parts = full_parts();
    udpai_hop there[2] = {hops[0], hops[1]};
    there[0].instance = UDPAI_STR("7f");
    parts.hops = there;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make(&parts);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *full = make_full();
    assert_true(udpai_resource_passed(resource, UDPAI_STR("node-1"), UDPAI_STR("7f")));
    assert_true(udpai_resource_passed(resource, UDPAI_STR("other"), UDPAI_STR("7f")));
    assert_false(udpai_resource_passed(resource, UDPAI_STR("node-1"), UDPAI_STR("8a")));
    assert_true(udpai_resource_passed(resource, UDPAI_STR("node-2"), UDPAI_STR("8a")));
    assert_true(udpai_resource_path_digest(resource, 2) != udpai_resource_path_digest(full, 2));
}

/* Is a resource with these parts the same as the full one, by payload and by origin? */
static void
assert_same(const udpai_resource_parts *parts, bool payload, bool origin_info)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *full = make_full();
    UDPA_AUTO(udpa_resource_unref) udpa_resource *other = make(parts);
    assert_int_equal(udpai_resource_same_payload(full, other), payload);
    assert_int_equal(udpai_resource_same_payload(other, full), payload);
    assert_int_equal(udpai_resource_same_origin_info(full, other), origin_info);
    assert_int_equal(udpai_resource_same_origin_info(other, full), origin_info);
}

static void
same_payload_is_version_and_bytes(void **state)
{
    (void)state;
    udpai_resource_parts parts = full_parts();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *changed = udpai_any_make(TYPE, UDPAI_STR("\x0a\x02ho"));
    assert_same(&parts, true, true);
    parts.ttl_ms = 1;
    parts.n_aliases = 0;
    parts.lazy = false;
    assert_same(&parts, true, true);
    parts.version = UDPAI_STR("v8");
    assert_same(&parts, false, true);
    parts.version = UDPAI_STR("v7");
    parts.any = changed;
    assert_same(&parts, false, true);
}

static void
same_origin_is_generation_and_hops(void **state)
{
    (void)state;
    udpai_resource_parts parts = full_parts();
    udpai_hop changed[2] = {hops[0], hops[1]};
    parts.generation = 78;
    assert_same(&parts, true, false);
    parts.generation = 77;
    parts.n_hops = 1;
    assert_same(&parts, true, false);
    parts.n_hops = 2;
    parts.hops = changed;
    changed[0].time_us++; /* when it passed does not matter */
    assert_same(&parts, true, true);
    changed[0].node_id = UDPAI_STR("node-9");
    assert_same(&parts, true, false);
    changed[0] = hops[0];
    changed[1].authority = UDPAI_STR("acme");
    assert_same(&parts, true, false);
    changed[1] = hops[1];
    changed[1].instance = UDPAI_STR("7f");
    assert_same(&parts, true, false);
}

static void
same_origin_is_the_whole_signature(void **state)
{
    (void)state;
    udpai_resource_parts parts = full_parts();
    const udpai_signature whole = parts.signature;
    parts.signature.algorithm = 2;
    assert_same(&parts, true, false);
    parts.signature = (udpai_signature){0};
    assert_same(&parts, true, false);
    parts.signature = whole;
    parts.signature.key_id = UDPAI_STR("key-2");
    assert_same(&parts, true, false);
    parts.signature = whole;
    parts.signature.value = UDPAI_STR("\x01\x00\x03");
    assert_same(&parts, true, false);
    parts.signature = whole;
    parts.signature.not_before_us++;
    assert_same(&parts, true, false);
    parts.signature = whole;
    parts.signature.not_after_us++;
    assert_same(&parts, true, false);
}

static void
unsigned_resources_can_be_the_same(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(TYPE, UDPAI_STR("x"));
    const udpai_resource_parts parts = {.name = UDPAI_STR("com.acme/a"), .any = any};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *a = make(&parts);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *b = make(&parts);
    assert_true(udpai_resource_same_origin_info(a, b));
    assert_true(udpai_resource_same_payload(a, b));
}

static void
footprint_grows_with_what_it_holds(void **state)
{
    (void)state;
    udpai_resource_parts parts = full_parts();
    UDPA_AUTO(udpa_resource_unref) udpa_resource *full = make(&parts);
    char value[10000] = {0};
    parts.any = udpai_any_make(TYPE, (udpai_str){value, sizeof(value)});
    UDPA_AUTO(udpa_resource_unref) udpa_resource *large = make(&parts);
    parts.n_aliases = parts.n_hops = 0;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *shorter = make(&parts);
    udpa_bytes_unref(parts.any);
    assert_true(udpai_resource_footprint(full) > udpa_bytes_size(full_any));
    assert_true(udpai_resource_footprint(large) >= udpai_resource_footprint(full) + 9996);
    assert_true(udpai_resource_footprint(shorter) < udpai_resource_footprint(large));
}

static void
as_many_as_allowed_fit(void **state)
{
    (void)state;
    static udpai_hop many_hops[UDPAI_HOPS_MAX];
    static udpai_str many_aliases[UDPAI_ALIASES_MAX];
    static udpai_resource_room room;
    for (size_t i = 0; i < UDPAI_HOPS_MAX; i++)
        many_hops[i] = hops[i % 2];
    for (size_t i = 0; i < UDPAI_ALIASES_MAX; i++)
        many_aliases[i] = aliases[i % 2];
    udpai_resource_parts parts = full_parts();
    parts.hops = many_hops;
    parts.n_hops = UDPAI_HOPS_MAX;
    parts.aliases = many_aliases;
    parts.n_aliases = UDPAI_ALIASES_MAX;
    assert_ok(udpai_resource_parts_check(&parts, NULL));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make(&parts);
    parts = udpai_resource_parts_of(resource, &room);
    assert_int_equal(parts.n_hops, UDPAI_HOPS_MAX);
    assert_int_equal(parts.n_aliases, UDPAI_ALIASES_MAX);
    assert_str(parts.hops[UDPAI_HOPS_MAX - 1].node_id, "node-2");
    assert_str(parts.aliases[UDPAI_ALIASES_MAX - 1], "com.acme/*.c");
    assert_str(udpai_resource_signature(resource)->key_id, "key-1");
}

static udpa_err
make_and_drop(void *context)
{
    udpa_resource *resource = NULL;
    udpa_err err = udpai_resource_make(&resource, context);
    udpa_resource_unref(resource);
    return err;
}

static void
lack_of_memory_is_reported(void **state)
{
    (void)state;
    udpai_resource_parts parts = full_parts();
    assert_int_equal(oom_torture(make_and_drop, &parts), 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_out_inside),
        cmocka_unit_test(everything_comes_out_in_public),
        cmocka_unit_test(public_hops_are_checked),
        cmocka_unit_test(least_resource_has_empty_fields),
        cmocka_unit_test(hashes_are_those_of_its_parts),
        cmocka_unit_test(a_redirect_has_two_types),
        cmocka_unit_test(constraints_are_part_of_the_content),
        cmocka_unit_test(bytes_of_the_any_are_kept),
        cmocka_unit_test(usual_any_is_kept_as_its_value),
        cmocka_unit_test(large_value_is_shared),
        cmocka_unit_test(any_without_value_is_kept_whole),
        cmocka_unit_test(content_hash_is_that_of_the_content),
        cmocka_unit_test(malformed_any_makes_no_resource),
        cmocka_unit_test(type_can_be_shared),
        cmocka_unit_test(references_keep_it_alive),
        cmocka_unit_test(parts_make_the_same_resource_again),
        cmocka_unit_test(path_is_known),
        cmocka_unit_test(same_payload_is_version_and_bytes),
        cmocka_unit_test(a_node_is_an_instance),
        cmocka_unit_test(same_origin_is_generation_and_hops),
        cmocka_unit_test(same_origin_is_the_whole_signature),
        cmocka_unit_test(unsigned_resources_can_be_the_same),
        cmocka_unit_test(footprint_grows_with_what_it_holds),
        cmocka_unit_test(as_many_as_allowed_fit),
        cmocka_unit_test(lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, make_full_any, drop_full_any);
}
