/* SPDX-License-Identifier: Apache-2.0 */
/* Names, prefixes and aliases: up to four lines of any bytes, and what must hold between them. */
#include "base/utf8.h"
#include "model/name.h"
#include "tests/fuzz/fuzz.h"

enum {
    N_TEXTS = 4
};

typedef udpa_err (*check_fn)(udpai_str text, udpa_error **ret_error);

/* Is it good? If not, the refusal has words that may travel. */
static bool
passes(check_fn check, udpai_str text)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = check(text, &error);
    FUZZ_CHECK(udpa_error_code(error) == err);
    FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    return err == UDPA_OK;
}

static void
check_name(udpai_str name)
{
    udpai_str name_space = udpai_name_namespace(name), id = udpai_name_id(name);
    FUZZ_CHECK(name_space.len + id.len <= name.len);
    if (!passes(udpai_name_check, name))
        return;
    FUZZ_CHECK(name.len <= UDPAI_NAME_MAX && udpai_utf8_valid(name));
    FUZZ_CHECK(name_space.len > 0 && id.len > 0);
    FUZZ_CHECK(name_space.len + 1 + id.len == name.len);
    FUZZ_CHECK(passes(udpai_prefix_check, name) && passes(udpai_prefix_check, name_space));
    FUZZ_CHECK(udpai_prefix_covers(name_space, name) && !udpai_prefix_covers(name, name_space));
    FUZZ_CHECK(!udpai_name_is_wildcard(name));
}

/* What is enumerated grows and covers the name; each of a good prefix is a good prefix. */
static void
check_enumeration(udpai_str name)
{
    bool good = passes(udpai_prefix_check, name);
    size_t at = 0, n = 0, last_len = 0;
    udpai_str prefix;
    while (udpai_name_next_prefix(name, &at, &prefix)) {
        FUZZ_CHECK(prefix.len <= name.len && (n == 0 ? prefix.len == 0 : prefix.len > last_len));
        if (good && name.len <= 200) { /* longer ones would cost their length squared */
            FUZZ_CHECK(passes(udpai_prefix_check, prefix));
            FUZZ_CHECK(udpai_prefix_covers(prefix, name));
        }
        last_len = prefix.len;
        n++;
    }
    FUZZ_CHECK(n >= 1 && last_len == name.len);
}

static void
check_covers(udpai_str a, udpai_str b, udpai_str c)
{
    FUZZ_CHECK(udpai_prefix_covers(a, a));
    if (!passes(udpai_prefix_check, a) || !passes(udpai_prefix_check, b) ||
        !passes(udpai_prefix_check, c))
        return;
    bool a_b = udpai_prefix_covers(a, b), b_a = udpai_prefix_covers(b, a);
    FUZZ_CHECK(!(a_b && b_a) || udpai_str_eq(a, b));
    FUZZ_CHECK(!a_b || udpai_str_starts(b, a));
    FUZZ_CHECK(!a_b || !udpai_prefix_covers(b, c) || udpai_prefix_covers(a, c));
}

static void
check_minimal_cover(const udpai_str *texts)
{
    udpai_str kept[N_TEXTS];
    for (size_t i = 0; i < N_TEXTS; i++) {
        if (!passes(udpai_prefix_check, texts[i]))
            return;
        kept[i] = texts[i];
    }
    size_t n = udpai_prefix_minimal_cover(kept, N_TEXTS);
    FUZZ_CHECK(n >= 1 && n <= N_TEXTS);
    for (size_t i = 0; i < N_TEXTS; i++) {
        size_t n_covering = 0;
        for (size_t k = 0; k < n; k++)
            n_covering += udpai_prefix_covers(kept[k], texts[i]);
        FUZZ_CHECK(n_covering == 1); /* two covers of one text would cover each other */
    }
}

static void
check_alias(udpai_str alias, udpai_str name)
{
    bool has_star = alias.len && memchr(alias.data, '*', alias.len);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_alias_check(alias, name, &error) == UDPA_OK) {
        FUZZ_CHECK(passes(udpai_name_check, alias));
        FUZZ_CHECK(udpai_str_eq(udpai_name_namespace(alias), udpai_name_namespace(name)));
        FUZZ_CHECK(udpai_alias_is_pattern(alias) == has_star);
    }
    FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    if (udpai_alias_matches(alias, name)) {
        FUZZ_CHECK(udpai_alias_is_pattern(alias) && name.len >= alias.len);
        FUZZ_CHECK(udpai_str_eq(udpai_name_namespace(alias), udpai_name_namespace(name)));
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size}, texts[N_TEXTS];
    for (size_t i = 0; i < N_TEXTS; i++)
        texts[i] = fuzz_take_line(&input);
    for (size_t i = 0; i < N_TEXTS; i++) {
        check_name(texts[i]);
        check_enumeration(texts[i]);
    }
    check_covers(texts[0], texts[1], texts[2]);
    check_alias(texts[0], texts[1]);
    check_alias(texts[2], texts[3]);
    check_minimal_cover(texts);
    return 0;
}
