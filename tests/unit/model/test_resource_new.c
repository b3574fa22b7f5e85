/* SPDX-License-Identifier: Apache-2.0 */
/* What a resource must look like: each rule with an example just inside and just outside of it; and
 * resources made by a caller from a spec. */
#include "model/resource.h"

#include "base/utf8.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

#define TYPE "type.googleapis.com/google.protobuf.StringValue"

/* ---- the Any ---- */

static void
any_is_written_in_order(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR("t/T"), UDPAI_STR("v\0v"));
    assert_true(udpai_str_eq(udpai_bytes_view(any), UDPAI_STR("\x0a\x03t/T\x12\x03v\0v")));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bare = udpai_any_make(UDPAI_STR("t/T"), UDPAI_STR(""));
    assert_str(udpai_bytes_view(bare), "\x0a\x03t/T");
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *empty = udpai_any_make(UDPAI_STR(""), UDPAI_STR(""));
    assert_int_equal(udpa_bytes_size(empty), 0);
}

static void
any_reads_back(void **state)
{
    (void)state;
    static char value[70000];
    uint64_t seed = 41;
    for (size_t len = 0; len < sizeof(value); len = len * 2 + 1) {
        for (size_t i = 0; i < len; i++)
            value[i] = (char)test_random(&seed);
        UDPA_AUTO(udpa_bytes_unref)
        udpa_bytes *any = udpai_any_make(UDPAI_STR(TYPE), (udpai_str){value, len});
        udpai_str type_url, read;
        assert_true(udpai_any_parse(udpai_bytes_view(any), &type_url, &read));
        assert_str(type_url, TYPE);
        assert_true(udpai_str_eq(read, (udpai_str){value, len}));
    }
}

static void
any_with_strange_fields_is_read(void **state)
{
    (void)state;
    udpai_str type_url, value;
    assert_true(
        udpai_any_parse(UDPAI_STR("\x1a\x01x\x12\x01v\x20\x07\x0a\x03t/T"), &type_url, &value));
    assert_str(type_url, "t/T");
    assert_str(value, "v");
    assert_true(udpai_any_parse(UDPAI_STR(""), &type_url, &value));
    assert_int_equal(type_url.len, 0);
    assert_int_equal(value.len, 0);
    assert_true(udpai_any_parse((udpai_str){NULL, 0}, &type_url, &value));
}

static void
malformed_any_is_refused(void **state)
{
    (void)state;
    static const udpai_str bad[] = {
        {"\x0a\x05x", 3},
        {"\x0a", 1},
        {"\x0a\x01x\x0a\x01x", 6},
        {"\x08\x01", 2},
        {"\x12\x01v\x12\x00", 5},
        {"\x15\1\2\3\4", 5},
        {"\x11\1\2\3\4\5\6\7\10", 9},
        {"\x0a\x01x\x0b\x0c", 5},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        udpai_str type_url, value;
        if (udpai_any_parse(bad[i], &type_url, &value))
            fail_msg("case %zu", i);
    }
}

/* ---- the rules ---- */

/* Text of n letters, of a namespace "n" and an id when it is long enough. */
static udpai_str
letters(size_t n)
{
    static char room[2000];
    assert_true(n <= sizeof(room));
    memset(room, 'n', sizeof(room));
    return (udpai_str){room, n};
}

static udpa_bytes *good_any;

static int
make_good_any(void **state)
{
    (void)state;
    good_any = udpai_any_make(UDPAI_STR(TYPE), UDPAI_STR("v"));
    return good_any ? 0 : -1;
}

static int
drop_good_any(void **state)
{
    (void)state;
    good_any = udpa_bytes_unref(good_any);
    return 0;
}

static udpai_resource_parts
good_parts(void)
{
    return (udpai_resource_parts){.name = UDPAI_STR("com.acme/a"), .any = good_any};
}

/* Whatever is refused is refused with words that may travel. */
static udpa_err
check(const udpai_resource_parts *parts)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_resource_parts_check(parts, &error);
    assert_int_equal(udpai_resource_parts_check(parts, NULL), err);
    assert_int_equal(udpa_error_code(error), err);
    assert_true(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    assert_true(strlen(udpa_error_message(error)) < 1000);
    return err;
}

static udpa_err
check_any(udpai_str type_url, udpai_str value)
{
    udpai_resource_parts parts = good_parts();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(type_url, value);
    parts.any = any;
    return check(&parts);
}

static void
names_are_checked(void **state)
{
    (void)state;
    udpai_resource_parts parts = good_parts();
    assert_int_equal(check(&parts), UDPA_OK);
    parts.name = UDPAI_STR("com.acme");
    assert_int_equal(check(&parts), UDPA_ERR_INVAL);
    parts.name = (udpai_str){NULL, 0};
    assert_int_equal(check(&parts), UDPA_ERR_INVAL);
}

static void
a_variant_has_one_other_name(void **state)
{
    (void)state;
    udpai_resource_parts parts = good_parts();
    udpai_str aliases[] = {UDPAI_STR("com.acme/b"), UDPAI_STR("com.acme/c")};
    parts.constraints = UDPAI_STR("\x0a\x06\x0a\x01k\x12\x01v");
    assert_int_equal(check(&parts), UDPA_ERR_INVAL);
    parts.aliases = aliases;
    parts.n_aliases = 1;
    assert_int_equal(check(&parts), UDPA_OK);
    parts.n_aliases = 2;
    assert_int_equal(check(&parts), UDPA_ERR_INVAL);
    parts.n_aliases = 1;
    aliases[0] = UDPAI_STR("com.acme/*");
    assert_int_equal(check(&parts), UDPA_ERR_INVAL);
    aliases[0] = parts.name;
    assert_int_equal(check(&parts), UDPA_ERR_INVAL);
    aliases[0] = UDPAI_STR("com.acme/b");
    parts.constraints = UDPAI_STR("\x0a\x03\x0a\x01k");
    assert_int_equal(check(&parts), UDPA_ERR_INVAL);
}

/* A redirect of a Listener, with this payload. */
static udpa_err
check_redirect(udpai_str type_url, udpai_str value)
{
    udpai_resource_parts parts = good_parts();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(type_url, value);
    parts.any = any;
    parts.redirected_type = UDPAI_STR("t/Listener");
    return check(&parts);
}

static void
a_redirect_leads_to_its_own_type(void **state)
{
    (void)state;
    const udpai_str locator = UDPAI_STR(UDPAI_TYPE_LOCATOR);
    assert_int_equal(check_redirect(locator, UDPAI_STR("\x12\x01q\x22\x08Listener")), UDPA_OK);
    assert_int_equal(check_redirect(locator, UDPAI_STR("\x12\x01q")), UDPA_OK);
    assert_int_equal(check_redirect(locator, UDPAI_STR("\x22\x07"
                                                       "Cluster")),
                     UDPA_ERR_INVAL);
    /* Of a file there is no type to say. */
    assert_int_equal(check_redirect(locator, UDPAI_STR("\x08\x02\x22\x07"
                                                       "Cluster")),
                     UDPA_OK);
    assert_int_equal(check_redirect(locator, UDPAI_STR("\x22\x7f")), UDPA_ERR_INVAL);
    assert_int_equal(check_redirect(UDPAI_STR("t/Listener"), UDPAI_STR("")), UDPA_ERR_INVAL);
    udpai_resource_parts parts = good_parts();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(locator, UDPAI_STR(""));
    parts.any = any;
    parts.redirected_type = UDPAI_STR("Listener");
    assert_int_equal(check(&parts), UDPA_ERR_INVAL);
}

static void
type_urls_are_checked(void **state)
{
    (void)state;
    char longest[600];
    memset(longest, 't', sizeof(longest));
    longest[1] = '/';
    assert_int_equal(check_any(UDPAI_STR("t/T"), UDPAI_STR("")), UDPA_OK);
    assert_int_equal(check_any(UDPAI_STR("/T"), UDPAI_STR("")), UDPA_OK);
    assert_int_equal(check_any((udpai_str){longest, UDPAI_TYPE_URL_MAX}, UDPAI_STR("")), UDPA_OK);
    assert_int_equal(check_any((udpai_str){longest, UDPAI_TYPE_URL_MAX + 1}, UDPAI_STR("")),
                     UDPA_ERR_INVAL);
    assert_int_equal(check_any(UDPAI_STR("T"), UDPAI_STR("")), UDPA_ERR_INVAL);
    assert_int_equal(check_any(UDPAI_STR("t/"), UDPAI_STR("")), UDPA_ERR_INVAL);
    assert_int_equal(check_any(UDPAI_STR("t/T/"), UDPAI_STR("")), UDPA_ERR_INVAL);
    assert_int_equal(check_any(UDPAI_STR(""), UDPAI_STR("v")), UDPA_ERR_INVAL);
    assert_int_equal(check_any(UDPAI_STR("t/\xff"), UDPAI_STR("")), UDPA_ERR_INVAL);
    assert_int_equal(check_any(UDPAI_STR("t/\0T"), UDPAI_STR("")), UDPA_ERR_INVAL);
}

static void
value_may_be_anything(void **state)
{
    (void)state;
    assert_int_equal(check_any(UDPAI_STR("t/T"), UDPAI_STR("\xff\0\x0b")), UDPA_OK);
}

static void
any_must_parse_or_be_absent(void **state)
{
    (void)state;
    udpai_resource_parts parts = good_parts();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *malformed = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *absent = NULL;
    assert_ok(udpa_bytes_new(&malformed, "\x0a\x05x", 3));
    assert_ok(udpa_bytes_new(&absent, NULL, 0));
    parts.any = malformed;
    assert_int_equal(check(&parts), UDPA_ERR_MALFORMED);
    parts.any = absent;
    assert_int_equal(check(&parts), UDPA_OK);
    parts.version = UDPAI_STR("\xff"); /* the rest of a refresh is checked */
    assert_int_equal(check(&parts), UDPA_ERR_INVAL);
}

/* A field of the parts that is text: the longest that may be, one byte more, and what is no UTF-8.
 */
static void
assert_text_rules(udpai_resource_parts *parts, udpai_str *field, size_t max)
{
    *field = letters(max);
    assert_int_equal(check(parts), UDPA_OK);
    *field = letters(max + 1);
    assert_int_equal(check(parts), UDPA_ERR_INVAL);
    *field = UDPAI_STR("a\xc3");
    assert_int_equal(check(parts), UDPA_ERR_INVAL);
    *field = UDPAI_STR("a\0b");
    assert_int_equal(check(parts), UDPA_ERR_INVAL);
    *field = UDPAI_STR("\u00e9");
    assert_int_equal(check(parts), UDPA_OK);
    *field = UDPAI_STR("");
    assert_int_equal(check(parts), UDPA_OK);
}

static void
texts_are_checked(void **state)
{
    (void)state;
    udpai_resource_parts parts = good_parts();
    udpai_hop hop = {.node_id = UDPAI_STR("n")};
    parts.hops = &hop;
    parts.n_hops = 1;
    assert_text_rules(&parts, &parts.version, UDPAI_VERSION_MAX);
    assert_text_rules(&parts, &parts.authority, UDPAI_AUTHORITY_MAX);
    assert_text_rules(&parts, &parts.signature.key_id, UDPAI_AUTHORITY_MAX);
    assert_text_rules(&parts, &hop.node_id, UDPAI_AUTHORITY_MAX);
    assert_text_rules(&parts, &hop.authority, UDPAI_AUTHORITY_MAX);
}

static void
counts_are_checked(void **state)
{
    (void)state;
    static udpai_hop hops[UDPAI_HOPS_MAX + 1];
    static udpai_str aliases[UDPAI_ALIASES_MAX + 1];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(aliases); i++)
        aliases[i] = UDPAI_STR("com.acme/b");
    udpai_resource_parts parts = good_parts();
    parts.hops = hops;
    parts.aliases = aliases;
    parts.n_hops = UDPAI_HOPS_MAX;
    parts.n_aliases = UDPAI_ALIASES_MAX;
    parts.ttl_ms = UDPAI_TTL_MAX_MS;
    assert_int_equal(check(&parts), UDPA_OK);
    parts.n_hops++;
    assert_int_equal(check(&parts), UDPA_ERR_INVAL);
    parts.n_hops--;
    parts.n_aliases++;
    assert_int_equal(check(&parts), UDPA_ERR_LIMIT);
    parts.n_aliases--;
    parts.ttl_ms++;
    assert_int_equal(check(&parts), UDPA_ERR_INVAL);
}

static void
second_alias_and_hop_are_checked_too(void **state)
{
    (void)state;
    udpai_resource_parts parts = good_parts();
    udpai_str aliases[] = {UDPAI_STR("com.acme/b"), UDPAI_STR("com.other/b")};
    udpai_hop hops[] = {{.node_id = UDPAI_STR("a")}, {.node_id = UDPAI_STR("\xff")}};
    parts.aliases = aliases;
    parts.n_aliases = 2;
    assert_int_equal(check(&parts), UDPA_ERR_INVAL);
    parts.n_aliases = 1;
    assert_int_equal(check(&parts), UDPA_OK);
    parts.hops = hops;
    parts.n_hops = 2;
    assert_int_equal(check(&parts), UDPA_ERR_INVAL);
}

/* ---- from a spec ---- */

static void
spec_gives_a_resource(void **state)
{
    (void)state;
    static const char *const aliases[] = {"com.acme/b"};
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    spec.name = "com.acme/a";
    spec.type_url = TYPE;
    spec.payload = "\x0a\x02hi";
    spec.payload_size = 4;
    spec.version = "v1";
    spec.authority = "acme";
    spec.ttl_ms = 5;
    spec.aliases = aliases;
    spec.n_aliases = 1;
    spec.lazy = 1;
    spec.do_not_cache = 2;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    udpa_error *error = (udpa_error *)state;
    assert_ok(udpa_resource_new(&resource, &spec, &error));
    assert_null(error);
    assert_string_equal(udpa_resource_name(resource), "com.acme/a");
    assert_string_equal(udpa_resource_type_url(resource), TYPE);
    assert_string_equal(udpa_resource_version(resource), "v1");
    assert_string_equal(udpa_resource_authority(resource), "acme");
    assert_string_equal(udpa_resource_alias(resource, 0), "com.acme/b");
    assert_int_equal(udpa_resource_ttl_ms(resource), 5);
    assert_true(udpai_resource_is_lazy(resource) && udpai_resource_do_not_cache(resource));
    assert_int_equal(udpa_resource_n_hops(resource), 0);
    assert_int_equal(udpa_resource_generation(resource), 0);
}

static void
version_is_the_content_hash_by_default(void **state)
{
    (void)state;
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    spec.name = "com.acme/a";
    spec.type_url = TYPE;
    spec.payload = "\x0a\x02hi";
    spec.payload_size = 4;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    assert_string_equal(udpa_resource_version(resource), "a12e2b220fcde7b7f3baf977669b29ba");
    assert_string_equal(udpa_resource_authority(resource), "");
}

static udpa_resource_spec
good_spec(void)
{
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    spec.name = "com.acme/a";
    spec.type_url = TYPE;
    return spec;
}

/* Refused with this code, and with a message that has these words. */
static void
assert_refused(const udpa_resource_spec *spec, udpa_err expected, const char *words)
{
    udpa_resource *resource = (udpa_resource *)(uintptr_t)spec;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpa_resource_new(&resource, spec, &error), expected);
    assert_ptr_equal(resource, spec);
    assert_int_equal(udpa_error_code(error), expected);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' says nothing of: %s", udpa_error_message(error), words);
}

static void
incomplete_specs_are_refused(void **state)
{
    (void)state;
    udpa_resource_spec spec = good_spec();
    assert_refused(NULL, UDPA_ERR_INVAL, "UDPA_RESOURCE_SPEC_INIT");
    spec.struct_size--;
    assert_refused(&spec, UDPA_ERR_INVAL, "UDPA_RESOURCE_SPEC_INIT");
    spec = good_spec();
    spec.name = NULL;
    assert_refused(&spec, UDPA_ERR_INVAL, "a name and a type URL");
    spec = good_spec();
    spec.type_url = NULL;
    assert_refused(&spec, UDPA_ERR_INVAL, "a name and a type URL");
    spec.type_url = "";
    assert_refused(&spec, UDPA_ERR_INVAL, "a name and a type URL");
    spec = good_spec();
    spec.payload_size = 1;
    assert_refused(&spec, UDPA_ERR_INVAL, "not given");
    spec = good_spec();
    spec.n_aliases = 1;
    assert_refused(&spec, UDPA_ERR_INVAL, "not given");
}

static void
excessive_specs_are_refused_before_they_are_read(void **state)
{
    (void)state;
    static const char *const one_alias[] = {"com.acme/b"};
    udpa_resource_spec spec = good_spec();
    spec.aliases = one_alias;
    spec.n_aliases = UDPAI_ALIASES_MAX + 1;
    assert_refused(&spec, UDPA_ERR_LIMIT, "257 aliases");
    spec = good_spec();
    spec.payload = "x";
    spec.payload_size = SIZE_MAX;
    assert_refused(&spec, UDPA_ERR_LIMIT, "2 GiB");
    spec.payload_size = (size_t)INT32_MAX;
    assert_refused(&spec, UDPA_ERR_LIMIT, "2 GiB");
}

static void
bad_texts_in_specs_are_refused(void **state)
{
    (void)state;
    static const char *const null_alias[] = {NULL}, *const foreign_alias[] = {"org.other/b"};
    udpa_resource_spec spec = good_spec();
    spec.name = "no-slash";
    assert_refused(&spec, UDPA_ERR_INVAL, "no id");
    spec = good_spec();
    spec.type_url = "no-slash";
    assert_refused(&spec, UDPA_ERR_INVAL, "type URL 'no-slash'");
    spec = good_spec();
    spec.version = "\xff";
    assert_refused(&spec, UDPA_ERR_INVAL, "version is not UTF-8");
    spec = good_spec();
    spec.authority = "\xff";
    assert_refused(&spec, UDPA_ERR_INVAL, "authority is not UTF-8");
    spec = good_spec();
    spec.ttl_ms = UINT64_MAX;
    assert_refused(&spec, UDPA_ERR_INVAL, "ten years");
    spec = good_spec();
    spec.n_aliases = 1;
    spec.aliases = null_alias;
    assert_refused(&spec, UDPA_ERR_INVAL, "namespace");
    spec.aliases = foreign_alias;
    assert_refused(&spec, UDPA_ERR_INVAL, "outside the namespace");
}

static void
nowhere_to_store_is_an_error(void **state)
{
    (void)state;
    udpa_resource_spec spec = good_spec();
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpa_resource_new(NULL, &spec, &error), UDPA_ERR_INVAL);
    assert_non_null(error);
    assert_int_equal(udpa_resource_new(NULL, &spec, NULL), UDPA_ERR_INVAL);
}

static udpa_err
new_and_drop(void *context)
{
    udpa_resource *resource = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpa_resource_new(&resource, context, &error);
    assert_int_equal(udpa_error_code(error), err);
    udpa_resource_unref(resource);
    return err;
}

static void
lack_of_memory_is_reported(void **state)
{
    (void)state;
    udpa_resource_spec spec = good_spec();
    assert_int_equal(oom_torture(new_and_drop, &spec), 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_is_written_in_order),
        cmocka_unit_test(any_reads_back),
        cmocka_unit_test(any_with_strange_fields_is_read),
        cmocka_unit_test(malformed_any_is_refused),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(a_variant_has_one_other_name),
        cmocka_unit_test(a_redirect_leads_to_its_own_type),
        cmocka_unit_test(type_urls_are_checked),
        cmocka_unit_test(value_may_be_anything),
        cmocka_unit_test(any_must_parse_or_be_absent),
        cmocka_unit_test(texts_are_checked),
        cmocka_unit_test(counts_are_checked),
        cmocka_unit_test(second_alias_and_hop_are_checked_too),
        cmocka_unit_test(spec_gives_a_resource),
        cmocka_unit_test(version_is_the_content_hash_by_default),
        cmocka_unit_test(incomplete_specs_are_refused),
        cmocka_unit_test(excessive_specs_are_refused_before_they_are_read),
        cmocka_unit_test(bad_texts_in_specs_are_refused),
        cmocka_unit_test(nowhere_to_store_is_an_error),
        cmocka_unit_test(lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, make_good_any, drop_good_any);
}
