/* SPDX-License-Identifier: Apache-2.0 */
/* The hashes that travel, against values that another implementation of XXH64 and XXH3 computed,
 * and the sum of a set, which must not know in what order it was made. */
#include "model/digest.h"

#include <inttypes.h>
#include <stdio.h>

#include "tests/harness/test.h"

#define TYPE UDPAI_STR("type.googleapis.com/google.protobuf.StringValue")

static const udpai_str none = {NULL, 0};

/* A thousand bytes: more than the short and middle cases of either hash take. */
static udpai_str
long_bytes(void)
{
    static char bytes[1000];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 7 + 3);
    return (udpai_str){bytes, sizeof(bytes)};
}

static void
digest_has_known_values(void **state)
{
    (void)state;
    assert_true(udpai_digest(none, none) == 0xe934a84adb052768u);
    assert_true(udpai_digest(UDPAI_STR(""), UDPAI_STR("")) == 0xe934a84adb052768u);
    assert_true(udpai_digest(UDPAI_STR("acme"), UDPAI_STR("abc")) == 0x40e1577b3cfca932u);
    assert_true(udpai_digest(UDPAI_STR("a"), long_bytes()) == 0xd40782b07721bd15u);
    assert_true(udpai_digest(UDPAI_STR("control.acme.com"),
                             UDPAI_STR("\x0a\x2ftype.googleapis.com/google.protobuf.StringValue"
                                       "\x12\x04\x0a\x02hi")) == 0x244a86b3e4cea57fu);
}

static void
digests_of_texts_behind_each_other(void **state)
{
    (void)state;
    uint64_t a = udpai_digest_behind(0, UDPAI_STR("a")),
             ab = udpai_digest_behind(a, UDPAI_STR("b"));
    assert_true(ab == udpai_digest_behind(udpai_digest_behind(0, UDPAI_STR("a")), UDPAI_STR("b")));
    assert_true(ab != udpai_digest_behind(0, UDPAI_STR("ab")));
    assert_true(ab != udpai_digest_behind(udpai_digest_behind(0, UDPAI_STR("b")), UDPAI_STR("a")));
    assert_true(a != udpai_digest_behind(a, none));
}

static void
a_set_is_joined_from_its_members(void **state)
{
    (void)state;
    const udpai_content_hash x = {1, 2}, y = {3, 4};
    udpai_set_hash both = {0}, one = {0}, other = {0};
    udpai_set_hash_add(&both, UDPAI_STR("a"), x);
    udpai_set_hash_add(&both, UDPAI_STR("b"), y);
    udpai_set_hash_add(&one, UDPAI_STR("a"), x);
    udpai_set_hash_add(&other, UDPAI_STR("b"), y);
    udpai_set_hash_join(&one, other);
    assert_true(one.high == both.high && one.low == both.low);
}

static void
digest_of_what_is_said_beside(void **state)
{
    (void)state;
    const udpai_str aliases[] = {UDPAI_STR("a"), UDPAI_STR("bc")};
    const udpai_str others[] = {UDPAI_STR("ab"), UDPAI_STR("c")};
    uint64_t plain = 0xe934a84adb052768u;
    unsigned flags = UDPAI_DIGEST_DO_NOT_CACHE | UDPAI_DIGEST_ENDS;
    uint64_t digest = udpai_digest_of_flags(plain, aliases, 2, flags);
    assert_true(digest == 0x25f5d802722db13du);
    assert_true(digest != udpai_digest_of_flags(plain, others, 2, flags));
    assert_true(digest != udpai_digest_of_flags(plain, aliases, 1, flags));
    assert_true(digest != udpai_digest_of_flags(plain, aliases, 2, UDPAI_DIGEST_LAZY));
    assert_true(digest != udpai_digest_of_flags(plain + 1, aliases, 2, flags));
}

static void
digest_keeps_its_parts_apart(void **state)
{
    (void)state;
    assert_true(udpai_digest(UDPAI_STR("ab"), UDPAI_STR("c")) !=
                udpai_digest(UDPAI_STR("a"), UDPAI_STR("bc")));
    assert_true(udpai_digest(UDPAI_STR("abc"), none) != udpai_digest(none, UDPAI_STR("abc")));
}

static void
assert_content_hash(udpai_str type_url, udpai_str value, const char *expected)
{
    char hex[UDPAI_CONTENT_HASH_HEX + 1];
    hex[UDPAI_CONTENT_HASH_HEX] = '!';
    udpai_content_hash_hex(udpai_content_hash_of(type_url, value), hex);
    assert_str(((udpai_str){hex, UDPAI_CONTENT_HASH_HEX}), expected);
    assert_int_equal(hex[UDPAI_CONTENT_HASH_HEX], '!');
}

static void
content_hash_has_known_values(void **state)
{
    (void)state;
    assert_content_hash(none, none, "a6cd5e9392000f6ac44bdff4074eecdb");
    assert_content_hash(TYPE, none, "99efaac83a3b611f7ff8b23b37dff700");
    assert_content_hash(TYPE, UDPAI_STR("\x0a\x02hi"), "a12e2b220fcde7b7f3baf977669b29ba");
    assert_content_hash(TYPE, long_bytes(), "794b0fec3a0c7bbd9ee11085bf0393ea");
}

static void
hex_is_lower_case_with_leading_zeros(void **state)
{
    (void)state;
    char hex[UDPAI_CONTENT_HASH_HEX];
    udpai_content_hash_hex((udpai_content_hash){0, 0xfedcba9876543210u}, hex);
    assert_str(((udpai_str){hex, sizeof(hex)}), "0000000000000000fedcba9876543210");
    udpai_content_hash_hex((udpai_content_hash){UINT64_MAX, 1}, hex);
    assert_str(((udpai_str){hex, sizeof(hex)}), "ffffffffffffffff0000000000000001");
    uint64_t seed = 1;
    for (int i = 0; i < 1000; i++) {
        char expected[UDPAI_CONTENT_HASH_HEX + 1];
        udpai_content_hash hash = {test_random(&seed), test_random(&seed)};
        (void)snprintf(expected, sizeof(expected), "%016" PRIx64 "%016" PRIx64, hash.high,
                       hash.low);
        udpai_content_hash_hex(hash, hex);
        assert_str(((udpai_str){hex, sizeof(hex)}), expected);
    }
}

static bool
sets_equal(udpai_set_hash a, udpai_set_hash b)
{
    return a.high == b.high && a.low == b.low;
}

static void
set_of_one_has_a_known_value(void **state)
{
    (void)state;
    udpai_set_hash set = {0, 0};
    udpai_set_hash_add(&set, UDPAI_STR("com.acme/a"), (udpai_content_hash){1, 2});
    assert_true(set.high == 0xdde04e199c21411cu);
    assert_true(set.low == 0xd7c24010c2f2261fu);
    udpai_set_hash_subtract(&set, UDPAI_STR("com.acme/a"), (udpai_content_hash){1, 2});
    assert_true(sets_equal(set, (udpai_set_hash){0, 0}));
}

static void
set_knows_who_has_what(void **state)
{
    (void)state;
    udpai_content_hash x = {1, 2}, y = {3, 4};
    udpai_set_hash straight = {0, 0}, crossed = {0, 0}, renamed = {0, 0};
    udpai_set_hash_add(&straight, UDPAI_STR("a"), x);
    udpai_set_hash_add(&straight, UDPAI_STR("b"), y);
    udpai_set_hash_add(&crossed, UDPAI_STR("a"), y);
    udpai_set_hash_add(&crossed, UDPAI_STR("b"), x);
    udpai_set_hash_add(&renamed, UDPAI_STR("a"), x);
    udpai_set_hash_add(&renamed, UDPAI_STR("c"), y);
    assert_false(sets_equal(straight, crossed));
    assert_false(sets_equal(straight, renamed));
}

struct pair {
    char name[8];
    udpai_content_hash content;
};

static void
shuffle(struct pair *pairs, size_t n, uint64_t *seed)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = test_random_below(seed, i);
        struct pair kept = pairs[i - 1];
        pairs[i - 1] = pairs[k];
        pairs[k] = kept;
    }
}

static udpai_set_hash
sum_of(const struct pair *pairs, size_t n)
{
    udpai_set_hash set = {0, 0};
    for (size_t i = 0; i < n; i++)
        udpai_set_hash_add(&set, udpai_str_from(pairs[i].name), pairs[i].content);
    return set;
}

static void
set_does_not_know_its_order(void **state)
{
    (void)state;

    enum {
        N = 50
    };
    struct pair pairs[N];
    uint64_t seed = 21;
    for (size_t i = 0; i < N; i++) {
        pairs[i].content = (udpai_content_hash){test_random(&seed), test_random(&seed)};
        pairs[i].name[0] = (char)('A' + i);
        pairs[i].name[1] = '\0';
    }
    udpai_set_hash sum = sum_of(pairs, N);
    for (int round = 0; round < 200; round++) {
        shuffle(pairs, N, &seed);
        assert_true(sets_equal(sum_of(pairs, N), sum));
        /* Take some away, in whatever order: the rest is what it would have been alone. */
        size_t cut = test_random_below(&seed, N);
        udpai_set_hash rest = sum;
        for (size_t i = cut; i < N; i++)
            udpai_set_hash_subtract(&rest, udpai_str_from(pairs[i].name), pairs[i].content);
        assert_true(sets_equal(rest, sum_of(pairs, cut)));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_of_texts_behind_each_other),
        cmocka_unit_test(a_set_is_joined_from_its_members),
        cmocka_unit_test(digest_has_known_values),
        cmocka_unit_test(digest_keeps_its_parts_apart),
        cmocka_unit_test(digest_of_what_is_said_beside),
        cmocka_unit_test(content_hash_has_known_values),
        cmocka_unit_test(hex_is_lower_case_with_leading_zeros),
        cmocka_unit_test(set_of_one_has_a_known_value),
        cmocka_unit_test(set_knows_who_has_what),
        cmocka_unit_test(set_does_not_know_its_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
