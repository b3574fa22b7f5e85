/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of texts that field rules name, each with what has it and what has not. */
#include "codec/text_form.h"

#include "tests/harness/test.h"

#define LABEL_63 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz01234567890"

struct test_case {
    const char *text;
    bool is;
};

static void
check(bool (*is)(udpai_str text), const struct test_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is(udpai_str_from(cases[i].text)) != cases[i].is)
            fail_msg("'%s' is%s taken", cases[i].text, cases[i].is ? " not" : "");
    assert_false(is(UDPAI_STR("1.2.3.4\0"))); /* a zero byte is part of none */
    assert_false(is((udpai_str){"::1\0x", 5}));
}

#define CHECK(is, cases) check(is, cases, UDPAI_ARRAY_LEN(cases))

static void
host_names(void **state)
{
    (void)state;
    static const struct test_case cases[] = {
        {"a", true},
        {"A1-b.example.com", true},
        {"example.com.", true},
        {LABEL_63, true},
        {LABEL_63 "." LABEL_63 "." LABEL_63 "."
                  "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz012345678",
         true},
        {LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_63, false},
        {LABEL_63 "x", false},
        {"", false},
        {".", false},
        {"a..b", false},
        {"-a", false},
        {"a-", false},
        {"a_b", false},
        {"ä", false},
    };
    CHECK(udpai_text_is_hostname, cases);
}

static void
addresses(void **state)
{
    (void)state;
    static const struct test_case v4[] = {
        {"1.2.3.4", true}, {"255.255.255.255", true}, {"256.1.1.1", false},
        {"1.2.3", false},  {"01.2.3.4", false},       {"", false},
        {"::1", false},    {" 1.2.3.4", false},
    };
    static const struct test_case v6[] = {
        {"::", true},
        {"fe80::1", true},
        {"::ffff:1.2.3.4", true},
        {"1::2::3", false},
        {"fe80::1%eth0", false},
        {"[::1]", false},
        {"1.2.3.4", false},
        {"", false},
        {"0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", false},
    };
    static const struct test_case any[] = {{"1.2.3.4", true}, {"::1", true}, {"localhost", false}};
    CHECK(udpai_text_is_ipv4, v4);
    CHECK(udpai_text_is_ipv6, v6);
    CHECK(udpai_text_is_ip, any);
}

static void
mail_addresses(void **state)
{
    (void)state;
    static const struct test_case cases[] = {
        {"a@b", true},          {"a.b+c/d@example.com", true},
        {"a@", false},          {"@b", false},
        {"a", false},           {".a@b", false},
        {"a.@b", false},        {"a..b@c", false},
        {"a b@c", false},       {"a@b@c", false},
        {LABEL_63 "a@b", true}, {LABEL_63 "ab@b", false},
    };
    CHECK(udpai_text_is_email, cases);
}

static void
uris(void **state)
{
    (void)state;
    static const struct test_case absolute[] = {
        {"https://user@a.example:1/b;c?d=e#f", true},
        {"urn:isbn:1", true},
        {"x+y-z.1:", true},
        {"spiffe://a/b%20c", true},
        {"1x:y", false},
        {"/a", false},
        {"", false},
        {"a:b c", false},
        {"a:%2", false},
        {"a:%zz", false},
        {"a:b#c#d", false},
        {"a:ä", false},
    };
    static const struct test_case reference[] = {
        {"a:b", true},   {"/a/b?c#d", true}, {"../a:b/c", true}, {"", true},
        {"1a:b", false}, {"a b", false},     {"#a#b", false},
    };
    CHECK(udpai_text_is_uri, absolute);
    CHECK(udpai_text_is_uri_reference, reference);
}

static void
uuids(void **state)
{
    (void)state;
    static const struct test_case cases[] = {
        {"01234567-89ab-cdef-0123-456789ABCDEF", true},
        {"01234567-89ab-cdef-0123-456789ABCDE", false},
        {"01234567-89ab-cdef-0123-456789ABCDEFF", false},
        {"01234567x89ab-cdef-0123-456789ABCDEF", false},
        {"0123456g-89ab-cdef-0123-456789ABCDEF", false},
        {"", false},
    };
    CHECK(udpai_text_is_uuid, cases);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_names), cmocka_unit_test(addresses), cmocka_unit_test(mail_addresses),
        cmocka_unit_test(uris),       cmocka_unit_test(uuids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
