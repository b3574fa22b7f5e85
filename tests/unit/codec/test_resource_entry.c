/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers byte by byte: what binary files may hold. */
#include "codec/resource_entry.h"

#include "base/proto.h"
#include "codec_test.h"
#include "model/resource.h"

static udpai_resource_entry entry;

/* An Any around a message, given as bytes. */
static udpa_err
read_any(const char *type, udpai_str message, udpa_error **ret_error)
{
    const udpai_place place = {"f", 0, 0, {NULL, 0}};
    static udpa_bytes *any; /* entries are views into it */
    udpa_bytes_unref(any);
    any = udpai_any_make(udpai_str_from(type), message);
    assert_non_null(any);
    udpai_resource_entry_done(&entry);
    entry = (udpai_resource_entry){0};
    udpa_err err = udpai_resource_entry_from_any(&entry, test_schema, udpai_bytes_view(any), &place,
                                                 ret_error);
    if (err != UDPA_OK)
        any = udpa_bytes_unref(any);
    return err;
}

static void
assert_entry_fails(const char *type, udpai_str message, udpa_err code, const char *expected)
{
    udpa_error *error = NULL;
    assert_int_equal(read_any(type, message, &error), code);
    assert_string_equal(udpa_error_message(error), expected);
    udpa_error_unref(error);
}

#define ENVOY "t/" UDPAI_TYPE_ENVOY_RESOURCE
#define UDPA "t/" UDPAI_TYPE_UDPA_RESOURCE

static void
bare_payloads(void **state)
{
    (void)state;
    assert_ok(read_any("t/codec.test.Everything", UDPAI_STR("\x0a\x01x\x10\x01\x0a\x01y"), NULL));
    assert_str(entry.name, "y"); /* of a field given twice, the last counts */
    assert_str(entry.type_url, "t/codec.test.Everything");
    assert_int_equal(entry.value.len, 8);
    assert_entry_fails("t/codec.test.Everything", UDPAI_STR("\x0a\x05x"), UDPA_ERR_MALFORMED,
                       "f: these bytes are no valid codec.test.Everything");
    assert_entry_fails("t/codec.test.Everything", UDPAI_STR("\x08\x05"), UDPA_ERR_INVAL,
                       "f: codec.test.Everything has no name here: give it one, or wrap it in "
                       "{name: …, resource: …}");
    assert_entry_fails("t/google.protobuf.Duration", UDPAI_STR(""), UDPA_ERR_INVAL,
                       "f: google.protobuf.Duration has no name here: give it one, or wrap it in "
                       "{name: …, resource: …}");
    assert_entry_fails("t/no.One", UDPAI_STR(""), UDPA_ERR_NOT_FOUND,
                       "f: message type 'no.One' is not known: load its descriptors with "
                       "--descriptors FILE");
}

/* The type of a redirect is that of what it stands in the place of. */
static void
a_redirect_has_two_types(void **state)
{
    (void)state;
    assert_ok(read_any(
        UDPA, UDPAI_STR("\x0a\x01n\x1a\x0a\x0a\x08t/no.One\x5a\x08t/no.Two\x52\x02kv"), NULL));
    assert_str(entry.redirected_type, "t/no.Two");
    assert_str(entry.type_url, "t/no.One");
    assert_str(udpai_resource_entry_type(&entry), "t/no.Two");
    assert_str(entry.constraints, "kv");
    assert_ok(read_any(UDPA, UDPAI_STR("\x0a\x01n\x1a\x0a\x0a\x08t/no.One"), NULL));
    assert_str(udpai_resource_entry_type(&entry), "t/no.One");
}

static void
wrappers_name_unknown_types(void **state)
{
    (void)state;
    assert_ok(read_any(ENVOY,
                       UDPAI_STR("\x12\x0a\x0a\x08t/no.One\x1a\x01n\x22\x01q\x22\x01r"
                                 "\x32\x04\x08\x01\x10\x01\x3a\x02\x08\x01\x0a\x01v"),
                       NULL));
    assert_str(entry.name, "n");
    assert_str(entry.type_url, "t/no.One");
    assert_int_equal(entry.value.len, 0);
    assert_int_equal(entry.aliases.n, 2);
    assert_int_equal(entry.ttl_ms, 1001);
    assert_true(entry.do_not_cache);
    assert_int_equal(entry.version.len, 0);
    assert_ok(read_any(UDPA,
                       UDPAI_STR("\x0a\x01n\x1a\x0a\x0a\x08t/no.One\x12\x01v\x38\x01\x48\x01"
                                 "\x2a\x03\x0a\x01z"),
                       NULL));
    assert_str(entry.version, "v");
    assert_str(entry.authority, "z");
    assert_true(entry.lazy && entry.do_not_cache);
}

static void
a_signature_is_taken_as_it_is(void **state)
{
    (void)state;
    static const char signed_one[] = "\x0a\x03n/x\x1a\x05\x0a\x03x/a"
                                     "\x2a\x1c\x0a\x01z\x18\x07\x12\x15\x08\x02\x12\x01k"
                                     "\x1a\x05\x08\x05\x10\xe8\x07\x22\x02\x08\x09\x2a\x03sig";
    entry = (udpai_resource_entry){0};
    const udpai_place place = {"f", 0, 0, {NULL, 0}};
    assert_ok(
        udpai_resource_entry_from_udpa(&entry, test_schema, UDPAI_STR(signed_one), &place, NULL));
    assert_int_equal(entry.generation, 7);
    assert_int_equal(entry.signature.algorithm, 2);
    assert_str(entry.signature.key_id, "k");
    assert_str(entry.signature.value, "sig");
    assert_int_equal(entry.signature.not_before_us, 5000001);
    assert_int_equal(entry.signature.not_after_us, 9000000);
    udpai_resource_entry_done(&entry);
}

static void
bad_wrappers(void **state)
{
    (void)state;
    assert_entry_fails(ENVOY, UDPAI_STR("\x12\x05x"), UDPA_ERR_MALFORMED,
                       "f: these bytes are no protobuf message");
    assert_entry_fails(ENVOY, UDPAI_STR("\x12\x00\x12\x00"), UDPA_ERR_INVAL,
                       "f: there are two payloads");
    assert_entry_fails(UDPA, UDPAI_STR("\x0a\x01n"), UDPA_ERR_INVAL,
                       "f: there is no payload: 'resource' must be a message with '@type'");
    assert_entry_fails(UDPA, UDPAI_STR("\x0a\x01n\x1a\x02\x0a\x05"), UDPA_ERR_MALFORMED,
                       "f: malformed Any");
    assert_entry_fails(UDPA, UDPAI_STR("\x22\x02\x08\x00"), UDPA_ERR_INVAL,
                       "f: ttl must be a duration above 0; leave it out for none");
    assert_entry_fails(UDPA, UDPAI_STR("\x22\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                       UDPA_ERR_INVAL, "f: ttl must be a duration above 0; leave it out for none");
    assert_entry_fails(UDPA, UDPAI_STR("\x22\x07\x10\x80\x94\xeb\xdc\x03\x08\x01"), UDPA_ERR_INVAL,
                       "f: ttl must be a duration above 0; leave it out for none"); /* 1e9 nanos */
    assert_entry_fails(UDPA, UDPAI_STR("\x22\x01\x08"), UDPA_ERR_INVAL,
                       "f: ttl must be a duration above 0; leave it out for none");
    assert_entry_fails(UDPA, UDPAI_STR("\x2a\x02\x18\x05"), UDPA_ERR_INVAL,
                       "f: of origin_info a file can give the authority, and the generation only "
                       "with a signature");
    assert_entry_fails(UDPA, UDPAI_STR("\x2a\x04\x12\x02\x08\x01"), UDPA_ERR_INVAL,
                       "f: a signature is of a generation, and there is none: sign it again with "
                       "'udpactl sign'");
    assert_entry_fails(UDPA, UDPAI_STR("\x2a\x06\x12\x04\x1a\x02\x10\x80"), UDPA_ERR_INVAL,
                       "f: a time of the signature is none");
    assert_entry_fails(UDPA, UDPAI_STR("\x2a\x04\x12\x02\x2a\x05"), UDPA_ERR_MALFORMED,
                       "f: these bytes are no protobuf message");
    assert_entry_fails(UDPA, UDPAI_STR("\x42\x00"), UDPA_ERR_INVAL,
                       "f: hops cannot be given in a file");
}

/* A wrapper in a wrapper is a payload like any other. */
static void
one_wrapper_is_opened(void **state)
{
    (void)state;
    static const char inner[] = "\x1a\x01n\x12\x27\x0a\x25t/envoy.service.discovery.v3.Resource";
    assert_ok(read_any(ENVOY, (udpai_str){inner, sizeof(inner) - 1}, NULL));
    assert_str(entry.name, "n");
    assert_str(entry.type_url, ENVOY);
}

static int
drop_entry(void **state)
{
    (void)read_any("t/no.One", UDPAI_STR(""), NULL);
    udpai_resource_entry_done(&entry);
    return teardown_schema(state);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bare_payloads),
        cmocka_unit_test(a_redirect_has_two_types),
        cmocka_unit_test(wrappers_name_unknown_types),
        cmocka_unit_test(a_signature_is_taken_as_it_is),
        cmocka_unit_test(bad_wrappers),
        cmocka_unit_test(one_wrapper_is_opened),
    };
    return cmocka_run_group_tests(tests, setup_schema, drop_entry);
}
