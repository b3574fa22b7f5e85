/* SPDX-License-Identifier: Apache-2.0 */
/* Names, prefixes and aliases: the rules by example, then against definitions that are slow and
 * plain, on random texts of a small alphabet where every border occurs. */
#include "model/name.h"

#include "base/utf8.h"
#include "tests/harness/test.h"
#include <udpa/resource.h>

static const udpai_str none = {NULL, 0};

static bool
name_ok(const char *name)
{
    return udpai_name_check(udpai_str_from(name), NULL) == UDPA_OK;
}

static bool
prefix_ok(const char *prefix)
{
    return udpai_prefix_check(udpai_str_from(prefix), NULL) == UDPA_OK;
}

static bool
covers(const char *prefix, const char *name)
{
    return udpai_prefix_covers(udpai_str_from(prefix), udpai_str_from(name));
}

static bool
matches(const char *pattern, const char *name)
{
    return udpai_alias_matches(udpai_str_from(pattern), udpai_str_from(name));
}

static void
good_names(void **state)
{
    (void)state;
    static const char *const names[] = {"com.acme/x",
                                        "com.acme.foo/service-a",
                                        "a/b",
                                        "0/0",
                                        "-/x",
                                        "com.acme/a/b",
                                        "com.acme//x",
                                        "com.acme/x/",
                                        "com.acme/x?k=v",
                                        "local/default/eg/http",
                                        "com.acme/*.b",
                                        "com.acme/\u00e9",
                                        "com.acme/A B.C"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        if (!name_ok(names[i]))
            fail_msg("%s", names[i]);
}

static void
bad_names(void **state)
{
    (void)state;
    static const char *const names[] = {"",
                                        "/",
                                        "com.acme",
                                        "com.acme/",
                                        "/x",
                                        ".com/x",
                                        "com./x",
                                        "a..b/x",
                                        "Acme/x",
                                        "a_b/x",
                                        "a b/x",
                                        "a*/x",
                                        "*",
                                        "\u00e9/x",
                                        "a:8/x",
                                        "a/\xff",
                                        "a/\xc3",
                                        "\xff/x",
                                        "com.acme",
                                        "xdstp://acme/x",
                                        "a/\xed\xa0\x80"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        if (name_ok(names[i]))
            fail_msg("%s", names[i]);
    assert_int_equal(udpai_name_check(none, NULL), UDPA_ERR_INVAL);
    assert_int_equal(udpai_name_check(UDPAI_STR("a/b\0c"), NULL), UDPA_ERR_INVAL);
    assert_int_equal(udpai_name_check(UDPAI_STR("a\0/b"), NULL), UDPA_ERR_INVAL);
}

static void
namespace_has_letters_digits_and_dashes_only(void **state)
{
    (void)state;
    for (int c = 1; c < 128; c++) {
        const char name[] = {'a', (char)c, 'a', '/', 'x', '\0'};
        bool expected = strchr("abcdefghijklmnopqrstuvwxyz0123456789-./", c) != NULL;
        if (name_ok(name) != expected)
            fail_msg("character %d", c);
    }
}

static void
longest_name_is_allowed_and_no_longer_one(void **state)
{
    (void)state;
    char name[UDPAI_NAME_MAX + 1];
    assert_int_equal(UDPAI_NAME_MAX, UDPA_NAME_MAX);
    memset(name, 'n', sizeof(name));
    name[3] = '/';
    assert_ok(udpai_name_check((udpai_str){name, UDPAI_NAME_MAX}, NULL));
    assert_ok(udpai_prefix_check((udpai_str){name, UDPAI_NAME_MAX}, NULL));
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_name_check((udpai_str){name, sizeof(name)}, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "1025 bytes"));
    assert_int_equal(udpai_prefix_check((udpai_str){name, sizeof(name)}, NULL), UDPA_ERR_INVAL);
}

/* The message quotes the name, and must itself be text that may travel. */
static void
refusal_says_what_is_wrong(void **state)
{
    (void)state;

    static const struct {
        const char *name, *words;
    } cases[] = {
        {"Acme/x", "'Acme' must be labels"},
        {"com.acme", "'com.acme' has no id"},
        {"com.acme/\xff", "not UTF-8"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_equal(udpai_name_check(udpai_str_from(cases[i].name), &error), UDPA_ERR_INVAL);
        assert_int_equal(udpa_error_code(error), UDPA_ERR_INVAL);
        if (!strstr(udpa_error_message(error), cases[i].words))
            fail_msg("'%s' says nothing of: %s", udpa_error_message(error), cases[i].words);
    }
}

static void
refusal_of_a_long_name_is_short_utf8(void **state)
{
    (void)state;
    char name[2000];
    for (size_t len = 300; len <= 1999; len += 1699) {
        for (size_t i = 0; i + 3 <= sizeof(name); i += 3)
            memcpy(name + i, "\u20ac", 3);
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_equal(udpai_name_check((udpai_str){name, len}, &error), UDPA_ERR_INVAL);
        assert_true(strlen(udpa_error_message(error)) < 700);
        assert_true(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    }
}

static void
success_leaves_the_error_alone(void **state)
{
    (void)state;
    udpa_error *error = NULL;
    assert_ok(udpai_name_check(UDPAI_STR("a/b"), &error));
    assert_ok(udpai_prefix_check(none, &error));
    assert_ok(udpai_alias_check(UDPAI_STR("a/c"), UDPAI_STR("a/b"), &error));
    assert_null(error);
}

static void
prefixes(void **state)
{
    (void)state;
    static const char *const good[] = {
        "", "com", "com.acme", "com.acme/", "com.acme/tenant-a", "com.acme/a/b", "com.acme/a/"};
    static const char *const bad[] = {"/",   "/x",    ".",   "com.",  "com..acme",
                                      "COM", "com.*", "a b", "a\xff", "a/\xff"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(good); i++)
        if (!prefix_ok(good[i]))
            fail_msg("%s", good[i]);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++)
        if (prefix_ok(bad[i]))
            fail_msg("%s", bad[i]);
    assert_ok(udpai_prefix_check(none, NULL));
}

static void
first_slash_divides(void **state)
{
    (void)state;
    assert_str(udpai_name_namespace(UDPAI_STR("com.acme/a/b")), "com.acme");
    assert_str(udpai_name_id(UDPAI_STR("com.acme/a/b")), "a/b");
    assert_str(udpai_name_namespace(UDPAI_STR("com.acme")), "com.acme");
    assert_str(udpai_name_id(UDPAI_STR("com.acme")), "");
    assert_str(udpai_name_id(UDPAI_STR("com.acme/")), "");
    assert_str(udpai_name_namespace(UDPAI_STR("/x")), "");
    assert_str(udpai_name_id(UDPAI_STR("/x")), "x");
    assert_str(udpai_name_namespace(none), "");
    assert_str(udpai_name_id(none), "");
}

static void
full_names_as_they_are_written(void **state)
{
    (void)state;

    static const struct {
        const char *written;
        bool is_full;
    } cases[] = {
        {"com.acme/x", true}, {"local/x", true},   {"local/", true},      {"x", false},
        {"prod/x", false},    {"com.acme", false}, {"Com.acme/x", false}, {"/x", false},
        {"", false},          {"com./x", false},   {"a.b/c/d", true},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++)
        if (udpai_name_is_full(udpai_str_from(cases[i].written), UDPAI_STR("local")) !=
            cases[i].is_full)
            fail_msg("%s", cases[i].written);
    assert_false(udpai_name_is_full((udpai_str){NULL, 0}, (udpai_str){NULL, 0}));
}

static void
wildcards(void **state)
{
    (void)state;
    assert_true(udpai_name_is_wildcard(none));
    assert_true(udpai_name_is_wildcard(UDPAI_STR("")));
    assert_true(udpai_name_is_wildcard(UDPAI_STR("*")));
    assert_false(udpai_name_is_wildcard(UDPAI_STR("**")));
    assert_false(udpai_name_is_wildcard(UDPAI_STR("a")));
    assert_false(udpai_name_is_wildcard(UDPAI_STR("com.acme/*")));
}

static void
prefix_covers_at_borders(void **state)
{
    (void)state;
    assert_true(covers("", "com.acme/x"));
    assert_true(covers("", ""));
    assert_true(covers("com", "com.acme/x"));
    assert_true(covers("com.acme", "com.acme/x"));
    assert_true(covers("com.acme", "com.acme.foo/x"));
    assert_true(covers("com.acme", "com.acme"));
    assert_true(covers("com.acme", "com.acme.foo"));
    assert_true(covers("com.acme/", "com.acme/x"));
    assert_true(covers("com.acme/tenant-a", "com.acme/tenant-a/x"));
    assert_true(covers("com.acme/tenant-a/", "com.acme/tenant-a/x"));
    assert_true(covers("com.acme/x", "com.acme/x"));
}

static void
prefix_does_not_cover_beyond_borders(void **state)
{
    (void)state;
    assert_false(covers("com.acme", "com.acmecorp/x"));
    assert_false(covers("com.acme", "com/acme"));
    assert_false(covers("com.acme", "com"));
    assert_false(covers("com.acme", ""));
    assert_false(covers("com.acme/", "com.acme"));
    assert_false(covers("com.acme/", "com.acme.foo/x"));
    assert_false(covers("com.acme/tenant-a", "com.acme/tenant-ab/x"));
    assert_false(covers("com.acme/tenant-a", "com.acme/tenant-a.b/x")); /* no label border there */
    assert_false(covers("com.acme/tenant-a/x", "com.acme/tenant-a"));
    assert_false(covers("acme", "com.acme/x"));
}

/* ---- against plain definitions ---- */

/* "It covers what follows it at a label border in the namespace, or at a path border": what is left
 * of the text behind the prefix is nothing, or begins at such a border. */
static bool
naive_covers(udpai_str prefix, udpai_str text)
{
    if (prefix.len > text.len || !udpai_str_starts(text, prefix))
        return false;
    if (prefix.len == 0 || prefix.len == text.len || prefix.data[prefix.len - 1] == '/')
        return true;
    char next = text.data[prefix.len];
    bool inside_namespace = prefix.len < udpai_name_namespace(text).len;
    return next == '/' || (next == '.' && inside_namespace);
}

/* A text of few letters, so that borders are everywhere; not always a name. */
static udpai_str
random_text(char *room, size_t max, uint64_t *seed)
{
    static const char letters[] = {'a', 'b', '-', '.', '.', '/', '/'};
    size_t len = test_random_below(seed, max + 1);
    for (size_t i = 0; i < len; i++)
        room[i] = letters[test_random_below(seed, sizeof(letters))];
    return (udpai_str){room, len};
}

static udpai_str
random_prefix(char *room, size_t max, uint64_t *seed)
{
    udpai_str text;
    do
        text = random_text(room, max, seed);
    while (udpai_prefix_check(text, NULL) != UDPA_OK);
    return text;
}

static void
cover_agrees_with_its_definition(void **state)
{
    (void)state;
    uint64_t seed = 31;
    unsigned n_covered = 0;
    for (int round = 0; round < 100000; round++) {
        char a[6], b[10];
        udpai_str prefix = random_prefix(a, sizeof(a), &seed);
        udpai_str text = random_prefix(b, sizeof(b), &seed);
        bool expected = naive_covers(prefix, text);
        if (udpai_prefix_covers(prefix, text) != expected)
            fail_msg("'%.*s' and '%.*s'", (int)prefix.len, prefix.data, (int)text.len, text.data);
        n_covered += expected;
    }
    assert_true(n_covered > 1000 && n_covered < 99000);
}

static void
cover_is_transitive(void **state)
{
    (void)state;
    uint64_t seed = 33;
    unsigned n_chains = 0;
    for (int round = 0; round < 50000; round++) {
        char room[8];
        udpai_str c = random_prefix(room, sizeof(room), &seed);
        udpai_str b = {c.data, test_random_below(&seed, c.len + 1)};
        udpai_str a = {c.data, test_random_below(&seed, b.len + 1)};
        if (udpai_prefix_covers(a, b) && udpai_prefix_covers(b, c)) {
            assert_true(udpai_prefix_covers(a, c));
            n_chains += a.len > 0 && b.len > a.len && c.len > b.len;
        }
    }
    assert_true(n_chains > 50);
}

/* Each length of the name is a candidate; exactly those that are prefixes and cover it come out,
 * shortest first. */
static void
assert_enumerates_its_covers(udpai_str name)
{
    size_t at = 0;
    udpai_str prefix;
    for (size_t len = 0; len <= name.len; len++) {
        udpai_str candidate = {name.data, len};
        if (udpai_prefix_check(candidate, NULL) != UDPA_OK || !udpai_prefix_covers(candidate, name))
            continue;
        if (!udpai_name_next_prefix(name, &at, &prefix) || prefix.len != len)
            fail_msg("'%.*s' misses its first %zu bytes", (int)name.len, name.data, len);
        assert_true(udpai_str_eq(prefix, candidate));
    }
    assert_false(udpai_name_next_prefix(name, &at, &prefix));
    assert_false(udpai_name_next_prefix(name, &at, &prefix));
}

static void
enumeration_is_exactly_the_covers(void **state)
{
    (void)state;
    static const char *const names[] = {
        "a/b", "com.acme.foo/x", "com.acme/tenant-a/x.y", "a//b", "a/b/", "a/", "a", "com.acme"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        assert_enumerates_its_covers(udpai_str_from(names[i]));
    assert_enumerates_its_covers(none);
    uint64_t seed = 35;
    for (int round = 0; round < 50000; round++) {
        char room[14];
        assert_enumerates_its_covers(random_prefix(room, sizeof(room), &seed));
    }
}

static bool
covered_by_any(const udpai_str *prefixes, size_t n, udpai_str text)
{
    for (size_t i = 0; i < n; i++)
        if (udpai_prefix_covers(prefixes[i], text))
            return true;
    return false;
}

static void
assert_minimal(const udpai_str *kept, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            if (i != k)
                assert_false(udpai_prefix_covers(kept[i], kept[k]));
    for (size_t i = 1; i < n; i++)
        assert_true(udpai_str_cmp(kept[i - 1], kept[i]) < 0);
}

static void
minimal_cover_is_minimal_and_covers_the_same(void **state)
{
    (void)state;

    enum {
        N = 12
    };

    uint64_t seed = 37;
    for (int round = 0; round < 10000; round++) {
        char rooms[N][6];
        udpai_str all[N], kept[N];
        size_t n = test_random_below(&seed, N + 1);
        for (size_t i = 0; i < n; i++)
            kept[i] = all[i] = random_prefix(rooms[i], 1 + round % 6u, &seed);
        size_t n_kept = udpai_prefix_minimal_cover(kept, n);
        assert_true(n_kept <= n && (n_kept > 0 || n == 0));
        assert_minimal(kept, n_kept);
        for (size_t i = 0; i < n; i++)
            assert_true(covered_by_any(kept, n_kept, all[i]));
        for (size_t i = 0; i < n_kept; i++)
            assert_true(covered_by_any(all, n, kept[i]));
    }
}

static void
minimal_cover_by_example(void **state)
{
    (void)state;
    udpai_str prefixes[] = {UDPAI_STR("com.acme"), UDPAI_STR("com-x"), UDPAI_STR("com"),
                            UDPAI_STR("org/a"),    UDPAI_STR("org/a"), UDPAI_STR("org/a/b")};
    assert_int_equal(udpai_prefix_minimal_cover(prefixes, 6), 3);
    assert_str(prefixes[0], "com");
    assert_str(prefixes[1], "com-x");
    assert_str(prefixes[2], "org/a");
    udpai_str all[] = {UDPAI_STR("com"), none, UDPAI_STR("org")};
    assert_int_equal(udpai_prefix_minimal_cover(all, 3), 1);
    assert_int_equal(all[0].len, 0);
    assert_int_equal(udpai_prefix_minimal_cover(NULL, 0), 0);
}

/* ---- aliases ---- */

static udpa_err
alias_err(const char *alias)
{
    return udpai_alias_check(udpai_str_from(alias), UDPAI_STR("com.acme/service-a"), NULL);
}

static void
aliases_that_may_be(void **state)
{
    (void)state;
    static const char *const good[] = {"com.acme/other",     "com.acme/*",
                                       "com.acme/*.bar.com", "com.acme/*-abc.xyz",
                                       "com.acme/a/*/b",     "com.acme/service-a"};
    static const char *const bad[] = {
        "com.acme.foo/x", "com/x",        "other",          "",
        "com.acme/",      "com.acme/a*",  "com.acme/a*b",   "com.acme/**",
        "com.acme/*/*",   "com.acme/*a*", "com.acme/x/a.*", "com.acme/\xff"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(good); i++)
        if (alias_err(good[i]) != UDPA_OK)
            fail_msg("%s", good[i]);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++)
        if (alias_err(bad[i]) != UDPA_ERR_INVAL)
            fail_msg("%s", bad[i]);
}

static void
only_aliases_with_one_star_are_patterns(void **state)
{
    (void)state;
    assert_true(udpai_alias_is_pattern(UDPAI_STR("com.acme/*.bar.com")));
    assert_true(udpai_alias_is_pattern(UDPAI_STR("com.acme/a/*")));
    assert_false(udpai_alias_is_pattern(UDPAI_STR("com.acme/a")));
    assert_false(udpai_alias_is_pattern(UDPAI_STR("com.acme/a*")));
    assert_false(udpai_alias_is_pattern(UDPAI_STR("com.acme/*/*")));
    assert_false(udpai_alias_is_pattern(UDPAI_STR("*")));
    assert_false(udpai_alias_is_pattern(none));
}

static void
star_stands_for_one_or_more_but_no_slash(void **state)
{
    (void)state;
    assert_true(matches("a/*.bar.com", "a/foo.bar.com"));
    assert_true(matches("a/*.bar.com", "a/foo.baz.bar.com"));
    assert_true(matches("a/*-abc.xyz", "a/x-abc.xyz"));
    assert_true(matches("a/*", "a/x"));
    assert_true(matches("a/*/b", "a/x/b"));
    assert_false(matches("a/*.bar.com", "a/.bar.com"));
    assert_false(matches("a/*.bar.com", "a/bar.com"));
    assert_false(matches("a/*.bar.com", "a/x/foo.bar.com"));
    assert_false(matches("a/*.bar.com", "a/foo.bar.com/x"));
    assert_false(matches("a/*", "a/"));
    assert_false(matches("a/*", "a/x/y"));
    assert_false(matches("a/*/b", "a/x/y/b"));
    assert_false(matches("a/*/b", "a//b"));
    assert_false(matches("a/*.bar.com", "b/foo.bar.com"));
}

static void
what_is_no_pattern_matches_nothing(void **state)
{
    (void)state;
    assert_false(matches("a/x", "a/x"));
    assert_false(matches("a/x*", "a/xy"));
    assert_false(matches("a/**", "a/xy"));
    assert_false(udpai_alias_matches(none, UDPAI_STR("a/x")));
    assert_false(udpai_alias_matches(UDPAI_STR("a/*"), none));
}

/* A pattern matches iff its star can be exchanged for what stands there in the name: something,
 * without a slash. */
static bool
naive_matches(const char *pattern, udpai_str name)
{
    size_t star = strcspn(pattern, "*"), behind = strlen(pattern) - star - 1;
    if (name.len < star + behind + 1 || memcmp(name.data, pattern, star) != 0)
        return false;
    for (size_t i = star; i < name.len - behind; i++)
        if (name.data[i] == '/')
            return false;
    return memcmp(name.data + name.len - behind, pattern + star + 1, behind) == 0;
}

static void
matching_agrees_with_its_definition(void **state)
{
    (void)state;
    static const char *const patterns[] = {"a/*", "a/*.b", "a/*/b", "a/b/*", "a/*-", "a/*a"};
    uint64_t seed = 39;
    unsigned n_matches = 0;
    for (int round = 0; round < 100000; round++) {
        const char *pattern = patterns[test_random_below(&seed, UDPAI_ARRAY_LEN(patterns))];
        char room[8];
        udpai_str name = random_prefix(room, sizeof(room), &seed);
        bool expected = naive_matches(pattern, name);
        if (udpai_alias_matches(udpai_str_from(pattern), name) != expected)
            fail_msg("'%s' and '%.*s'", pattern, (int)name.len, name.data);
        n_matches += expected;
    }
    assert_true(n_matches > 500);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_names),
        cmocka_unit_test(bad_names),
        cmocka_unit_test(namespace_has_letters_digits_and_dashes_only),
        cmocka_unit_test(longest_name_is_allowed_and_no_longer_one),
        cmocka_unit_test(refusal_says_what_is_wrong),
        cmocka_unit_test(refusal_of_a_long_name_is_short_utf8),
        cmocka_unit_test(success_leaves_the_error_alone),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(first_slash_divides),
        cmocka_unit_test(full_names_as_they_are_written),
        cmocka_unit_test(wildcards),
        cmocka_unit_test(prefix_covers_at_borders),
        cmocka_unit_test(prefix_does_not_cover_beyond_borders),
        cmocka_unit_test(cover_agrees_with_its_definition),
        cmocka_unit_test(cover_is_transitive),
        cmocka_unit_test(enumeration_is_exactly_the_covers),
        cmocka_unit_test(minimal_cover_is_minimal_and_covers_the_same),
        cmocka_unit_test(minimal_cover_by_example),
        cmocka_unit_test(aliases_that_may_be),
        cmocka_unit_test(only_aliases_with_one_star_are_patterns),
        cmocka_unit_test(star_stands_for_one_or_more_but_no_slash),
        cmocka_unit_test(what_is_no_pattern_matches_nothing),
        cmocka_unit_test(matching_agrees_with_its_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
