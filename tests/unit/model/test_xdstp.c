/* SPDX-License-Identifier: Apache-2.0 */
/* xdstp:// names: what is one, which are the same, and what collection each is in. */
#include "model/xdstp.h"

#include <stdio.h>

#include "tests/harness/test.h"

#define T "envoy.config.cluster.v3.Cluster"

static void
expect_id(const char *text, const char *authority, const char *id)
{
    udpai_xdstp xdstp;
    assert_ok(udpai_xdstp_parse(udpai_str_from(text), &xdstp, NULL));
    assert_str(xdstp.authority, authority);
    assert_str(xdstp.type, T);
    assert_str(xdstp.id, id);
}

static void
expect_refused(const char *text, const char *words)
{
    static udpai_xdstp xdstp;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_xdstp_parse(udpai_str_from(text), &xdstp, &error), UDPA_ERR_INVAL);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' is refused with '%s'", text, udpa_error_message(error));
}

static void
a_name_has_authority_type_and_id(void **state)
{
    (void)state;
    expect_id("xdstp://com.acme/" T "/foo", "com.acme", "foo");
    expect_id("xdstp:///" T "/foo/bar", "", "foo/bar");
    expect_id("xdstp://com.acme/" T "//foo/", "com.acme", "/foo/");
    expect_id("xdstp://Com%2FAcme%3A/" T "/foo", "Com/Acme:", "foo");
    expect_id("xdstp://a/" T "/foo?", "a", "foo");
}

static void
spellings_of_one_name_have_one_canonical_text(void **state)
{
    (void)state;
    static const char *const same[] = {
        "xdstp://a/" T "/a:b?k=v&j=x%20y",   "xdstp://a/" T "/a%3Ab?j=x y&k=v",
        "xdstp://a/" T "/%61:b?%6b=v&j=x y", "xdstp://a/" T "/a:b?&j=x y&&k=%76&",
        "xdstp://%61/" T "/a%3ab?k=v&j=x y",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(same); i++)
        expect_id(same[i], "a", "a:b?j=x y&k=v");
    expect_id("xdstp://a/" T "/b?k", "a", "b?k=");
    expect_id("xdstp://a/" T "/b?k=1=2", "a", "b?k=1%3D2");
    expect_id("xdstp://a/" T "/b?k=1+2", "a", "b?k=1+2");
    expect_id("xdstp://a/" T "/b?ab=1&a=2", "a", "b?a=2&ab=1");
}

/* What divides a name does so only where it stands for itself. */
static void
escapes_stay_where_the_text_would_divide_otherwise(void **state)
{
    (void)state;
    expect_id("xdstp://a/" T "/100%25%3F%23%0A", "a", "100%25%3F%23%0A");
    expect_id("xdstp://a/" T "/b?k=%26%3d%25%2f", "a", "b?k=%26%3D%25%2F");
    expect_id("xdstp://a/" T "/b?k=x/y", "a", "b?k=x%2Fy");
    expect_id("xdstp://a/" T "/H%C3%A4user", "a", "Häuser");
}

static void
what_is_malformed_is_refused_with_a_reason(void **state)
{
    (void)state;
    expect_refused("foo", "scheme");
    expect_refused("xdstp:/a/" T "/foo", "scheme");
    expect_refused("XDSTP://a/" T "/foo", "scheme");
    expect_refused("xdstp://", "no resource type");
    expect_refused("xdstp://a", "no resource type");
    expect_refused("xdstp://a/" T, "no id");
    expect_refused("xdstp://a/" T "/", "no id");
    expect_refused("xdstp://a/" T "/?k=v", "no id");
    expect_refused("xdstp://a//foo", "no resource type");
    expect_refused("xdstp://a/type.googleapis.com%2Fx/foo", "no resource type");
    expect_refused("xdstp://a/" T "/100%", "hexadecimal");
    expect_refused("xdstp://a/" T "/100%2", "hexadecimal");
    expect_refused("xdstp://a/" T "/100%2g", "hexadecimal");
    expect_refused("xdstp://%/" T "/foo", "hexadecimal");
    expect_refused("xdstp://a/" T "/foo?k=%x", "hexadecimal");
    expect_refused("xdstp://a/" T "/foo%00", "UTF-8");
    expect_refused("xdstp://a/" T "/foo%ff", "UTF-8");
    expect_refused("xdstp://a/" T "/foo%2Fbar", "escaped");
    expect_refused("xdstp://a/" T "/foo%2fbar", "escaped");
}

static void
directives_are_never_asked_for(void **state)
{
    (void)state;
    expect_refused("xdstp://a/" T "/foo#entry=x", "'#'");
    expect_refused("xdstp://a/" T "/foo?k=v#alt=xdstp:%2F%2Fb", "'#'");
    expect_refused("xdstp://a#b/" T "/foo", "'#'");
}

static void
keys_are_there_once_and_not_reserved(void **state)
{
    (void)state;
    expect_refused("xdstp://a/" T "/foo?k=1&j=2&k=1", "twice");
    expect_refused("xdstp://a/" T "/foo?k=1&%6b=2", "twice");
    expect_refused("xdstp://a/" T "/foo?_k=1", "reserved");
    expect_refused("xdstp://a/" T "/foo?.k=1", "reserved");
    expect_refused("xdstp://a/" T "/foo?=1", "reserved");
    expect_id("xdstp://a/" T "/foo?xds.node.id=1", "a", "foo?xds.node.id=1");
}

static void
everything_is_bounded(void **state)
{
    (void)state;
    char text[UDPAI_XDSTP_TEXT_MAX + 128];
    memset(text, 'x', sizeof(text));
    memcpy(text, "xdstp://a/" T "/", sizeof("xdstp://a/" T "/") - 1);
    text[sizeof(text) - 1] = '\0';
    expect_refused(text, "longer");
    text[UDPAI_XDSTP_TEXT_MAX] = '\0';
    expect_refused(text, "too long");
    size_t at = sizeof("xdstp://a/" T "/f") - 1;
    text[at++] = '?';
    for (int i = 0; i <= UDPAI_XDSTP_PARAMS_MAX; i++)
        at += (size_t)snprintf(text + at, 16, "k%d&", i);
    expect_refused(text, "64");
}

static const udpai_xdstp_authorities nobody;

static void
a_name_goes_behind_the_namespace(void **state)
{
    (void)state;
    udpai_xdstp xdstp;
    udpai_str name, name_space;
    char room[UDPAI_NAME_MAX];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_ok(udpai_xdstp_parse(UDPAI_STR("xdstp://com.acme/" T "/a/b?z=1&y=2"), &xdstp, NULL));
    assert_true(udpai_xdstp_namespace(&nobody, xdstp.authority, UDPAI_STR("local"), &name_space));
    assert_ok(udpai_xdstp_full_name(&xdstp, name_space, room, &name, NULL));
    assert_str(name, "com.acme/a/b?y=2&z=1");
    char id[UDPAI_NAME_MAX];
    memset(id, 'x', sizeof(id));
    xdstp.id = (udpai_str){id, sizeof(id) - 8};
    assert_int_equal(udpai_xdstp_full_name(&xdstp, name_space, room, &name, &error),
                     UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "longer"));
}

static void
expect_namespace(const char *authority, const char *expected)
{
    static const udpai_xdstp_authority items[] = {
        {{"Listed:80", 9}, {"com.acme/listed", 15}},
        {{"com.acme", 8}, {"org.corp", 8}},
    };
    static const udpai_xdstp_authorities listed = {items, 2};
    udpai_str name_space;
    bool is_any =
        udpai_xdstp_namespace(&listed, udpai_str_from(authority), UDPAI_STR("local"), &name_space);
    assert_int_equal(is_any, expected != NULL);
    if (expected)
        assert_str(name_space, expected);
}

static void
an_authority_that_looks_like_a_namespace_is_one(void **state)
{
    (void)state;
    expect_namespace("td.example.com", "td.example.com");
    expect_namespace("", "local");
    expect_namespace("Listed:80", "com.acme/listed");
    expect_namespace("com.acme", "org.corp");
    expect_namespace("com.acme.eu", "com.acme.eu");
    expect_namespace("Acme", NULL);
    expect_namespace("a/b", NULL);
    expect_namespace("a:80", NULL);
}

static void
expect_glob(const char *name, const char *glob)
{
    char room[UDPAI_GLOB_MAX];
    udpai_str found;
    bool is_in = udpai_glob_of_name(udpai_str_from(name), room, &found);
    assert_int_equal(is_in, glob != NULL);
    if (glob)
        assert_str(found, glob);
}

static void
a_name_is_in_the_collection_of_its_path_and_parameters(void **state)
{
    (void)state;
    expect_glob("com.acme/foo/a", "com.acme/foo/*");
    expect_glob("com.acme/a", "com.acme/*");
    expect_glob("com.acme/foo/bar/a?k=v", "com.acme/foo/bar/*?k=v");
    expect_glob("com.acme/foo/a?k=%2F", "com.acme/foo/*?k=%2F");
    expect_glob("com.acme/foo/", "com.acme/foo/*");
    expect_glob("com.acme/foo/*", NULL); /* the collection itself */
    expect_glob("com.acme", NULL);
    assert_str(udpai_glob_prefix(UDPAI_STR("com.acme/foo/*?k=v")), "com.acme/foo/");
    assert_str(udpai_glob_prefix(UDPAI_STR("com.acme/*")), "com.acme/");
}

static void
a_star_is_a_collection_as_the_last_segment_alone(void **state)
{
    (void)state;

    static const struct {
        const char *text;
        bool is_glob;
    } cases[] = {
        {"xdstp://a/" T "/foo/*", true},      {"xdstp://a/" T "/*?k=v", true},
        {"xdstp://a/" T "/foo/%2A", true},    {"xdstp://a/" T "/foo/x*", false},
        {"xdstp://a/" T "/*/foo", false},     {"xdstp://a/" T "/foo/**", false},
        {"xdstp://a/" T "/foo?k=x/*", false},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_xdstp xdstp;
        assert_ok(udpai_xdstp_parse(udpai_str_from(cases[i].text), &xdstp, NULL));
        assert_int_equal(xdstp.is_glob, cases[i].is_glob);
    }
}

static void
members_are_spelled_as_their_collection(void **state)
{
    (void)state;
    char room[UDPAI_XDSTP_TEXT_MAX + UDPAI_NAME_MAX];
    udpai_str name;
    assert_true(udpai_glob_member(UDPAI_STR("xdstp://%61/" T "/f%6fo/*?z=1&y=%32"),
                                  UDPAI_STR("com.acme/foo/b%3F?y=2&z=1"), room, &name));
    assert_str(name, "xdstp://%61/" T "/f%6fo/b%3F?z=1&y=%32");
    assert_true(
        udpai_glob_member(UDPAI_STR("xdstp:///" T "/%2A"), UDPAI_STR("local/b"), room, &name));
    assert_str(name, "xdstp:///" T "/b");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_authority_type_and_id),
        cmocka_unit_test(spellings_of_one_name_have_one_canonical_text),
        cmocka_unit_test(escapes_stay_where_the_text_would_divide_otherwise),
        cmocka_unit_test(what_is_malformed_is_refused_with_a_reason),
        cmocka_unit_test(directives_are_never_asked_for),
        cmocka_unit_test(keys_are_there_once_and_not_reserved),
        cmocka_unit_test(everything_is_bounded),
        cmocka_unit_test(a_name_goes_behind_the_namespace),
        cmocka_unit_test(an_authority_that_looks_like_a_namespace_is_one),
        cmocka_unit_test(a_name_is_in_the_collection_of_its_path_and_parameters),
        cmocka_unit_test(a_star_is_a_collection_as_the_last_segment_alone),
        cmocka_unit_test(members_are_spelled_as_their_collection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
