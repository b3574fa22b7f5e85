/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of rule, by ruled.proto; and what else a payload can have wrong with it. */
#include "codec/validate.h"

#include "base/proto.h"
#include "base/strbuf.h"
#include "codec_test.h"

extern const unsigned char ruled_descriptors[];
extern const unsigned long ruled_descriptors_size;

static udpai_validator *validator;

#define NOW_S 1000000

static const udpai_validation all_checks = {
    .checks = UDPAI_CHECK_UNKNOWN_FIELDS | UDPAI_CHECK_RULES,
    .now_us = (int64_t)NOW_S * 1000000,
};

static int
setup(void **state)
{
    const udpai_str set = {(const char *)ruled_descriptors, ruled_descriptors_size};
    if (setup_schema(state) != 0 ||
        udpai_schema_add_set(test_schema, set, "ruled", NULL) != UDPA_OK)
        return -1;
    return udpai_validator_new(&validator, test_schema, NULL) == UDPA_OK ? 0 : -1;
}

static int
teardown(void **state)
{
    validator = udpai_validator_unref(validator);
    return teardown_schema(state);
}

/* All that is found, "path: reason" by line. */
static void
note(void *userdata, const char *path, const char *reason)
{
    udpai_strbuf_printf(userdata, "%s: %s\n", path, reason);
}

static void
check_bytes(const char *type,
            udpai_str value,
            const udpai_validation *validation,
            const char *wanted)
{
    udpai_strbuf found = {0};
    udpai_strbuf_puts(&found, "");
    udpa_err err = udpai_validate(validator, udpai_str_from(type), value, validation, note, &found);
    assert_int_equal(err, found.len ? UDPA_ERR_INVAL : UDPA_OK);
    if (found.len)
        found.data[found.len - 1] = '\0';
    if (strcmp(found.len ? found.data : "", wanted) != 0)
        fail_msg("found:\n%s\nwanted:\n%s", found.len ? found.data : "", wanted);
    udpai_strbuf_done(&found);
}

/* What is found in a document; "": nothing. */
static void
check_with(const char *name,
           const char *json,
           const udpai_validation *validation,
           const char *wanted)
{
    char type[64];
    snprintf(type, sizeof(type), "codec.ruled.%s", name);
    udpa_bytes *bytes = bytes_of_type(type, UDPAI_FORMAT_JSON, json);
    check_bytes(type, udpai_bytes_view(bytes), validation, wanted);
    udpa_bytes_unref(bytes);
}

static void
check(const char *name, const char *json, const char *wanted)
{
    check_with(name, json, &all_checks, wanted);
}

struct test_case {
    const char *good, *bad, *wanted;
};

static void
check_cases(const char *name, const struct test_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check(name, cases[i].good, "");
        check(name, cases[i].bad, cases[i].wanted);
    }
}

static void
numbers_are_held_to_their_rules(void **state)
{
    (void)state;
    static const struct test_case cases[] = {
        {"{\"exactly\":5}", "{\"exactly\":6}", "exactly: must be 5"},
        {"{\"below\":4}", "{\"below\":5}", "below: must be less than 5"},
        {"{\"atMost\":\"5\"}", "{\"atMost\":\"6\"}", "at_most: must be at most 5"},
        {"{\"above\":6}", "{\"above\":5}", "above: must be greater than 5"},
        {"{\"atLeast\":\"5\"}", "{\"atLeast\":\"4\"}", "at_least: must be at least 5"},
        {"{\"inside\":-1}", "{\"inside\":-2}", "inside: must be greater than -2 and at most 2"},
        {"{\"inside\":2}", "{\"inside\":3}", "inside: must be greater than -2 and at most 2"},
        {"{\"outside\":\"-3\"}", "{\"outside\":\"-2\"}",
         "outside: must be less than -2 or at least 2"},
        {"{\"outside\":\"2\"}", "{\"outside\":\"1\"}",
         "outside: must be less than -2 or at least 2"},
        {"{\"some\":3}", "{\"some\":2}", "some: must be one of 1, 3"},
        {"{\"others\":\"2\"}", "{\"others\":\"3\"}", "others: must be none of 1, 3"},
        {"{\"fixedSmall\":-1}", "{\"fixedSmall\":-2}", "fixed_small: must be at least -1"},
        {"{\"fixedLarge\":\"-1\"}", "{\"fixedLarge\":\"0\"}", "fixed_large: must be less than 0"},
        {"{\"share\":0.5}", "{\"share\":0.51}", "share: must be at least 0 and at most 0.5"},
        {"{\"share\":\"NaN\"}", "{\"share\":-1}", "share: must be at least 0 and at most 0.5"},
        {"{\"ratio\":1e-9}", "{\"ratio\":0}", "ratio: must be greater than 0"},
        {"{\"maybe\":0}", "{\"maybe\":1}", "maybe: must be greater than 5"},
        {"{\"truth\":true}", "{\"truth\":false}", "truth: must be true"},
        {"{\"colour\":\"RED\"}", "{\"colour\":7}",
         "colour: must be one of the values of codec.ruled.Colour"},
        {"{\"colour\":\"NONE\"}", "{\"colour\":\"BLUE\"}", "colour: must be none of 2"},
        {"{\"blue\":\"BLUE\"}", "{\"blue\":\"RED\"}", "blue: must be 2"},
        {"{\"primary\":\"RED\"}", "{\"primary\":\"NONE\"}", "primary: must be one of 1, 2"},
        {"{}", "{\"below\":9,\"above\":1}",
         "below: must be less than 5\nabove: must be greater than 5"},
    };
    check_cases("Numbers", cases, UDPAI_ARRAY_LEN(cases));
}

static void
texts_are_held_to_their_rules(void **state)
{
    (void)state;
    static const struct test_case cases[] = {
        {"{\"exactly\":\"x\"}", "{\"exactly\":\"y\"}", "exactly: must be 'x'"},
        {"{\"letters\":\"äöü\"}", "{\"letters\":\"ä\"}",
         "letters: must have at least 2 characters"},
        {"{\"letters\":\"ab\"}", "{\"letters\":\"abcd\"}",
         "letters: must have at most 3 characters"},
        {"{\"bytesOfIt\":\"ä\"}", "{\"bytesOfIt\":\"äö\"}",
         "bytes_of_it: must have at most 3 bytes"},
        {"{\"three\":\"äöü\"}", "{\"three\":\"ab\"}", "three: must have 3 characters"},
        {"{\"threeBytes\":\"abc\"}", "{\"threeBytes\":\"äöü\"}", "three_bytes: must have 3 bytes"},
        {"{\"pattern\":\"abc\"}", "{\"pattern\":\"abc1\"}",
         "pattern: must match the pattern [a-z]+"},
        {"{\"begins\":\"abc\"}", "{\"begins\":\"bc\"}", "begins: must begin with 'ab'"},
        {"{\"ends\":\"xyz\"}", "{\"ends\":\"z\"}", "ends: must end with 'yz'"},
        {"{\"has\":\"lmno\"}", "{\"has\":\"lno\"}", "has: must contain 'mn'"},
        {"{\"hasNot\":\"lno\"}", "{\"hasNot\":\"lmno\"}", "has_not: must not contain 'mn'"},
        {"{\"oneOf\":\"a\"}", "{\"oneOf\":\"c\"}", "one_of: must be one of 'a', 'b'"},
        {"{\"noneOf\":\"c\"}", "{\"noneOf\":\"a\"}", "none_of: must be none of 'a', 'b'"},
        {"{\"email\":\"a.b+c@example.com\"}", "{\"email\":\"a..b@example.com\"}",
         "email: must be an e-mail address"},
        {"{\"hostname\":\"a-1.example.com\"}", "{\"hostname\":\"-a.example.com\"}",
         "hostname: must be a host name"},
        {"{\"ip\":\"::1\"}", "{\"ip\":\"1.2.3\"}", "ip: must be an IP address"},
        {"{\"ipv4\":\"1.2.3.4\"}", "{\"ipv4\":\"::1\"}", "ipv4: must be an IPv4 address"},
        {"{\"ipv6\":\"fe80::1\"}", "{\"ipv6\":\"1.2.3.4\"}", "ipv6: must be an IPv6 address"},
        {"{\"uri\":\"https://a.example/b?c#d\"}", "{\"uri\":\"/b\"}",
         "uri: must be a URI with a scheme"},
        {"{\"uriRef\":\"../b%20c?d\"}", "{\"uriRef\":\"b c\"}",
         "uri_ref: must be a URI, or a reference to one"},
        {"{\"address\":\"example.com\"}", "{\"address\":\"exa_mple\"}",
         "address: must be a host name or an IP address"},
        {"{\"uuid\":\"01234567-89ab-cdef-0123-456789ABCDEF\"}", "{\"uuid\":\"01234567\"}",
         "uuid: must be a UUID"},
        {"{\"header\":\":path\"}", "{\"header\":\"a b\"}",
         "header: must be the name of an HTTP header"},
        {"{\"headerValue\":\"a\\tb ä\"}", "{\"headerValue\":\"a\\u0001\"}",
         "header_value: must be the value of an HTTP header, without control characters"},
        {"{\"looseHeader\":\"a\\u0001\"}", "{\"looseHeader\":\"a\\r\"}",
         "loose_header: must have no line ends and zero bytes"},
        {"{\"maybe\":\"\"}", "{\"maybe\":\"a\"}", "maybe: must have at least 3 characters"},
        {"{\"misfit\":\"x\"}", "{\"broken\":\"x\"}",
         "broken: cannot be checked: its rule has a pattern that is none: missing ]: ["},
    };
    check_cases("Texts", cases, UDPAI_ARRAY_LEN(cases));
}

static void
bytes_are_held_to_their_rules(void **state)
{
    (void)state;
    static const struct test_case cases[] = {
        {"{\"exactly\":\"eA==\"}", "{\"exactly\":\"eQ==\"}", "exactly: must be 'x'"},
        {"{\"size\":\"YWI=\"}", "{\"size\":\"YQ==\"}", "size: must have at least 2 bytes"},
        {"{\"three\":\"YWJj\"}", "{\"three\":\"YWI=\"}", "three: must have 3 bytes"},
        {"{\"pattern\":\"//4=\"}", "{\"pattern\":\"YQ==\"}",
         "pattern: must match the pattern [\\x80-\\xff]+"},
        {"{\"begins\":\"YWI=\"}", "{\"begins\":\"Yg==\"}", "begins: must begin with 'a'"},
        {"{\"ends\":\"eXo=\"}", "{\"ends\":\"eQ==\"}", "ends: must end with 'z'"},
        {"{\"has\":\"bG1u\"}", "{\"has\":\"bA==\"}", "has: must contain 'm'"},
        {"{\"oneOf\":\"YQ==\"}", "{\"oneOf\":\"Yw==\"}", "one_of: must be one of 'a', 'b'"},
        {"{\"noneOf\":\"Yw==\"}", "{\"noneOf\":\"YQ==\"}", "none_of: must be none of 'a', 'b'"},
        {"{\"ip\":\"AQIDBA==\"}", "{\"ip\":\"AQID\"}",
         "ip: must be an IP address of 4 or 16 bytes"},
        {"{\"ipv4\":\"AQIDBA==\"}", "{\"ipv4\":\"AQID\"}",
         "ipv4: must be an IPv4 address of 4 bytes"},
        {"{\"ipv6\":\"AAAAAAAAAAAAAAAAAAAAAA==\"}", "{\"ipv6\":\"AQIDBA==\"}",
         "ipv6: must be an IPv6 address of 16 bytes"},
        {"{\"maybe\":\"\"}", "{\"maybe\":\"YQ==\"}", "maybe: must have 3 bytes"},
    };
    check_cases("Bytes", cases, UDPAI_ARRAY_LEN(cases));
}

static void
lists_and_maps_are_held_to_their_rules(void **state)
{
    (void)state;
    static const struct test_case cases[] = {
        {"{\"few\":[\"a\",\"b\"]}", "{\"few\":[\"a\",\"b\",\"c\"]}",
         "few: must have at most 2 items"},
        {"{\"unique\":[\"a\",\"b\"]}", "{\"unique\":[\"a\",\"b\",\"a\"]}",
         "unique[2]: is in the list before: items must differ"},
        {"{\"uniquePlain\":[{\"name\":\"a\"},{\"name\":\"b\"}]}",
         "{\"uniquePlain\":[{\"name\":\"a\"},{\"name\":\"a\"}]}",
         "unique_plain[1]: is in the list before: items must differ"},
        {"{\"ports\":[1,2]}", "{\"ports\":[1,0]}", "ports[1]: must be greater than 0"},
        {"{\"skipped\":[{}]}", "{\"uniquePlain\":[{\"name\":\"a\"},{}]}",
         "unique_plain[1].name: must have at least 1 character"},
        {"{\"pair\":[]}", "{\"pair\":[\"a\"]}", "pair: must have at least 2 items"},
        {"{\"labels\":{\"ab\":\"v\"}}", "{\"labels\":{\"a\":\"v\"}}",
         "labels[\"a\"]: the key must have at least 2 characters"},
        {"{\"labels\":{}}", "{\"labels\":{\"ab\":\"w\"}}", "labels[\"ab\"]: must begin with 'v'"},
        {"{\"labels\":{\"ab\":\"v\",\"cd\":\"v\"}}",
         "{\"labels\":{\"ab\":\"v\",\"cd\":\"v\",\"ef\":\"v\"}}",
         "labels: must have at most 2 entries"},
        {"{\"plains\":{\"a\":{\"name\":\"x\"}}}", "{\"plains\":{\"a\":{}}}",
         "plains[\"a\"].name: must have at least 1 character"},
        {"{\"two\":{}}", "{\"two\":{\"a\":\"\"}}", "two: must have at least 2 entries"},
        {"{\"wrapped\":[4]}", "{\"wrapped\":[4,5]}", "wrapped[1]: must be less than 5"},
    };
    check_cases("Lists", cases, UDPAI_ARRAY_LEN(cases));
}

static void
durations_and_times_are_held_to_their_rules(void **state)
{
    (void)state;
    static const struct test_case cases[] = {
        {"{\"exactly\":\"1s\"}", "{\"exactly\":\"1.5s\"}", "exactly: must be 1s"},
        {"{\"range\":\"0.001s\"}", "{\"range\":\"0s\"}",
         "range: must be at least 0.001s and less than 60s"},
        {"{\"range\":\"59.999999999s\"}", "{\"range\":\"60s\"}",
         "range: must be at least 0.001s and less than 60s"},
        {"{\"oneOf\":\"2s\"}", "{\"oneOf\":\"3s\"}", "one_of: must be one of 1s, 2s"},
        {"{\"noneOf\":\"2s\"}", "{\"noneOf\":\"1s\"}", "none_of: must be none of 1s"},
        {"{\"after\":\"1970-01-02T00:00:00Z\"}", "{\"after\":\"1970-01-01T00:00:00Z\"}",
         "after: must be greater than 1000s"},
        {"{\"past\":\"1970-01-02T00:00:00Z\"}", "{\"past\":\"2000-01-01T00:00:00Z\"}",
         "past: must lie in the past"},
        {"{\"future\":\"2000-01-01T00:00:00Z\"}", "{\"future\":\"1970-01-02T00:00:00Z\"}",
         "future: must lie in the future"},
        {"{\"near\":\"1970-01-12T13:46:45Z\"}", "{\"near\":\"1970-01-12T13:47:45Z\"}",
         "near: must lie within 10s of now"},
    };
    check_cases("Times", cases, UDPAI_ARRAY_LEN(cases));
}

static void
what_is_required_must_be_there(void **state)
{
    (void)state;
    check("Needy", "{}",
          "items: must have at least 1 item\n"
          "pairs: must have at least 1 entry\n"
          "duration: is required\n"
          "time: is required\n"
          "any: is required\n"
          "plain: is required\n"
          "number: is required\n"
          "choice: is required: set one of text, other");
    static const char whole[] =
        "{\"items\":[\"\"],\"pairs\":{\"a\":\"\"},\"duration\":\"%ds\","
        "\"time\":\"1970-01-01T00:00:00Z\",\"any\":{\"@type\":\"x/codec.ruled.Disabled\"},"
        "\"plain\":{\"name\":\"a\"},\"number\":%d,\"text\":\"%s\"}";
    char text[400];
    snprintf(text, sizeof(text), whole, 1, 1, "a");
    check("Needy", text, "");
    snprintf(text, sizeof(text), whole, 0, 0, "");
    check("Needy", text,
          "duration: must be greater than 0s\n"
          "number: must be greater than 0\n"
          "text: must have at least 1 character");
}

static void
what_is_left_out_has_its_default(void **state)
{
    (void)state;
    check("Plain", "{}", "name: must have at least 1 character");
    check("Plain", "{\"name\":\"a\",\"port\":65536}", "port: must be at most 65535");
}

static void
messages_in_messages_are_looked_into(void **state)
{
    (void)state;
    check("Holder", "{\"children\":[{},{\"plain\":{}}]}",
          "children[1].plain.name: must have at least 1 character");
    check("Holder", "{\"skipped\":{},\"disabled\":{\"plain\":{}}}", "");
    check("Holder", "{\"wrapped\":\"a\"}", "wrapped: must have at least 2 characters");
    check("Holder", "{\"wrapped\":\"ab\"}", "");
}

static void
packed_messages_are_looked_into(void **state)
{
    (void)state;
#define PLAIN(fields) "{\"@type\":\"type.googleapis.com/codec.ruled.Plain\"" fields "}"
    check("Holder", "{\"typedConfig\":" PLAIN("") "}",
          "typed_config.name: must have at least 1 character");
    check("Holder",
          "{\"typedConfig\":{\"@type\":\"a/"
          "codec.ruled.Holder\",\"children\":[{\"typedConfig\":" PLAIN("") "}]}}",
          "typed_config.children[0].typed_config.name: must have at least 1 character");
    check("Holder", "{\"onlyPlain\":" PLAIN(",\"name\":\"a\"") "}", "");
    check("Holder", "{\"onlyPlain\":{\"@type\":\"x/codec.ruled.Disabled\"}}",
          "only_plain: must be one of 'type.googleapis.com/codec.ruled.Plain'");
    check("Holder", "{\"noPlain\":" PLAIN(",\"name\":\"a\"") "}",
          "no_plain: must be none of 'type.googleapis.com/codec.ruled.Plain'");
}

/* A message with one field of bytes. */
static udpa_bytes *
wrap(uint32_t number, udpai_str contents)
{
    udpa_bytes *bytes = NULL;
    char *data = NULL;
    udpai_proto_writer writer = {0};
    udpai_proto_put_bytes(&writer, number, contents);
    data = udpai_alloc(writer.size + 1);
    assert_non_null(data);
    writer = (udpai_proto_writer){(uint8_t *)data, 0};
    udpai_proto_put_bytes(&writer, number, contents);
    assert_ok(udpa_bytes_new(&bytes, data, writer.size));
    udpai_free(data);
    return bytes;
}

static void
unknown_fields_are_found_if_asked_for(void **state)
{
    (void)state;
    udpa_bytes *inner = wrap(99, UDPAI_STR("x"));
    udpa_bytes *outer = wrap(4, udpai_bytes_view(inner));
    const udpai_validation rules = {.checks = UDPAI_CHECK_RULES};
    check_bytes("codec.ruled.Holder", udpai_bytes_view(outer), &all_checks,
                "children[0]: field number 99 is unknown to codec.ruled.Holder as this program's "
                "descriptors have it");
    check_bytes("codec.ruled.Holder", udpai_bytes_view(outer), &rules, "");
    udpa_bytes_unref(inner);
    udpa_bytes_unref(outer);
}

static void
rules_are_checked_if_asked_for(void **state)
{
    (void)state;
    const udpai_validation parse = {.checks = UDPAI_CHECK_PARSE}, none = {0};
    check_with("Plain", "{}", &parse, "");
    check_with("Plain", "{}", &none, "");
    check_bytes("codec.ruled.Plain", UDPAI_STR("\x0a\x05x"), &none, "");
}

static void
what_cannot_be_parsed_is_refused(void **state)
{
    (void)state;
    static const udpai_str bad[] = {
        {"\x0a\x05x", 3},    /* cut */
        {"\x0a\x01\xff", 3}, /* no UTF-8 */
        {"\x13", 1},         /* a group */
        {"\x00", 1},         /* no field */
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++)
        check_bytes("codec.ruled.Plain", bad[i], &all_checks,
                    ": its bytes are no valid codec.ruled.Plain");
    udpa_bytes *any = wrap(5, UDPAI_STR("\x0a\x13x/codec.ruled.Plain\x12\x05\x0a\x05x.."));
    check_bytes("codec.ruled.Holder", udpai_bytes_view(any), &all_checks,
                "typed_config: its bytes are no valid codec.ruled.Plain");
    udpa_bytes_unref(any);
}

static void
unknown_types_pass_unless_told_otherwise(void **state)
{
    (void)state;
    udpai_validation validation = all_checks;
    check_bytes("no.Such", UDPAI_STR("\xff"), &validation, "");
    validation.refuse_unknown_types = true;
    check_bytes("no.Such", UDPAI_STR(""), &validation,
                ": its type has no descriptors here, so it cannot be checked");
    udpa_bytes *any = wrap(5, UDPAI_STR("\x0a\x09x/no.Such\x12\x01\xff"));
    check_bytes("codec.ruled.Holder", udpai_bytes_view(any), &validation, "");
    validation.refuse_unknown_packed = true;
    check_bytes("codec.ruled.Holder", udpai_bytes_view(any), &validation,
                "typed_config: its type x/no.Such has no descriptors here");
    udpa_bytes_unref(any);
}

/* Each level is a child of the level before it, or packed in it. */
static void
check_nested(size_t n, bool is_packed, const char *wanted)
{
    udpa_bytes *bytes = NULL;
    assert_ok(udpa_bytes_new(&bytes, "", 0));
    for (size_t i = 0; i < n; i++) {
        udpai_strbuf any = {0};
        udpa_bytes *value = is_packed ? wrap(2, udpai_bytes_view(bytes)) : NULL;
        if (value) {
            udpai_strbuf_puts(&any, "\x0a\x14x/codec.ruled.Holder");
            udpai_strbuf_str(&any, udpai_bytes_view(value));
        }
        udpa_bytes *outer =
            is_packed ? wrap(5, udpai_strbuf_view(&any)) : wrap(4, udpai_bytes_view(bytes));
        udpai_strbuf_done(&any);
        udpa_bytes_unref(value);
        udpa_bytes_unref(bytes);
        bytes = outer;
    }
    udpa_error *error = NULL;
    (void)udpai_validate_first(validator, UDPAI_STR("codec.ruled.Holder"), udpai_bytes_view(bytes),
                               &all_checks, &error);
    if (wanted)
        assert_non_null(strstr(udpa_error_message(error), wanted));
    else
        assert_null(error);
    udpa_error_unref(error);
    udpa_bytes_unref(bytes);
}

static void
depth_is_bounded(void **state)
{
    (void)state;
    check_nested(99, false, NULL);
    check_nested(101, false, "its bytes are no valid codec.ruled.Holder");
    check_nested(5000, false, "its bytes are no valid codec.ruled.Holder");
    check_nested(15, true, NULL);
    check_nested(17, true, "messages are packed in each other too deep");
}

/* Two bytes can be a message of a hundred. */
static void
memory_is_bounded(void **state)
{
    (void)state;

    enum {
        N = 4 << 20
    };

    char *children = udpai_alloc(N);
    assert_non_null(children);
    for (size_t i = 0; i < N; i += 2)
        children[i] = 0x22;
    check_bytes("codec.ruled.Holder", (udpai_str){children, N}, &all_checks,
                ": is too large in memory to be checked, for its size");
    check_bytes("codec.ruled.Holder", (udpai_str){children, 20000}, &all_checks, "");
    udpai_free(children);
}

static void
the_first_mistake_is_told_with_the_number_of_others(void **state)
{
    (void)state;
    udpa_error *error = NULL;
    assert_int_equal(udpai_validate_first(validator, UDPAI_STR("codec.ruled.Needy"), UDPAI_STR(""),
                                          &all_checks, &error),
                     UDPA_ERR_INVAL);
    assert_string_equal(udpa_error_message(error),
                        "items: must have at least 1 item (and 7 more errors)");
    udpa_error_unref(error);
    error = NULL;
    assert_int_equal(udpai_validate_first(validator, UDPAI_STR("codec.ruled.Plain"), UDPAI_STR(""),
                                          &all_checks, &error),
                     UDPA_ERR_INVAL);
    assert_string_equal(udpa_error_message(error), "name: must have at least 1 character");
    udpa_error_unref(error);
}

static void
so_many_mistakes_are_told_and_no_more(void **state)
{
    (void)state;
    udpai_strbuf json = {0};
    udpai_strbuf_puts(&json, "{\"ports\":[0");
    for (size_t i = 1; i < 200; i++)
        udpai_strbuf_puts(&json, ",0");
    udpai_strbuf_puts(&json, "]}");
    udpa_error *error = NULL;
    udpa_bytes *bytes = bytes_of_type("codec.ruled.Lists", UDPAI_FORMAT_JSON, json.data);
    udpai_strbuf_done(&json);
    assert_int_equal(udpai_validate_first(validator, UDPAI_STR("codec.ruled.Lists"),
                                          udpai_bytes_view(bytes), &all_checks, &error),
                     UDPA_ERR_INVAL);
    assert_string_equal(udpa_error_message(error),
                        "ports[0]: must be greater than 0 (and 49 more errors)");
    udpa_error_unref(error);
    udpa_bytes_unref(bytes);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_held_to_their_rules),
        cmocka_unit_test(texts_are_held_to_their_rules),
        cmocka_unit_test(bytes_are_held_to_their_rules),
        cmocka_unit_test(lists_and_maps_are_held_to_their_rules),
        cmocka_unit_test(durations_and_times_are_held_to_their_rules),
        cmocka_unit_test(what_is_required_must_be_there),
        cmocka_unit_test(what_is_left_out_has_its_default),
        cmocka_unit_test(messages_in_messages_are_looked_into),
        cmocka_unit_test(packed_messages_are_looked_into),
        cmocka_unit_test(unknown_fields_are_found_if_asked_for),
        cmocka_unit_test(rules_are_checked_if_asked_for),
        cmocka_unit_test(what_cannot_be_parsed_is_refused),
        cmocka_unit_test(unknown_types_pass_unless_told_otherwise),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(the_first_mistake_is_told_with_the_number_of_others),
        cmocka_unit_test(so_many_mistakes_are_told_and_no_more),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
