/* SPDX-License-Identifier: Apache-2.0 */
/* Constraints and dynamic parameters: what is one, who satisfies which, and whom two match. */
#include "model/variant.h"

#include "base/bytes.h"
#include "tests/harness/constraints.h"
#include "tests/harness/test.h"

#define PARAMETERS(...) parameters_of((const char *const[]){__VA_ARGS__, NULL})

/* Of keys and values by turns. */
static const udpai_parameters *
parameters_of(const char *const *texts)
{
    static udpai_parameters parameters;
    parameters.n = 0;
    for (; texts[0]; texts += 2)
        parameters.items[parameters.n++] =
            (udpai_parameter){udpai_str_from(texts[0]), udpai_str_from(texts[1])};
    parameters.n = udpai_parameters_sort(parameters.items, parameters.n);
    return &parameters;
}

static const udpai_parameters nobody;

static int
free_pieces(void **state)
{
    (void)state;
    wire_free_all();
    return 0;
}

/* ---- what is one ---- */

static void
expect_bad(udpai_str constraints, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_constraints_check(constraints, &error), UDPA_ERR_INVAL);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("refused with '%s', not with '%s'", udpa_error_message(error), words);
    assert_false(udpai_constraints_match(constraints, &nobody));
    assert_int_equal(udpai_constraints_n_keys(constraints), 0);
}

static void
what_cannot_be_judged_is_refused(void **state)
{
    (void)state;
    expect_bad(W_TEXT(5, "new"), "does not know");
    expect_bad(W_VARINT(1, 3), "does not know");
    expect_bad(W_MESSAGE(2, W_TEXT(2, "new")), "does not know");
    expect_bad(W_MESSAGE(1, W_TEXT(1, "k"), W_TEXT(2, "v"), W_TEXT(4, "new")), "does not know");
    expect_bad(W_MESSAGE(1, W_TEXT(1, "k"), W_MESSAGE(3, W_VARINT(1, 1))), "does not know");
    expect_bad(W_MESSAGE(1, W_TEXT(1, "k")), "no value of it");
    expect_bad(W_MESSAGE(1, W_TEXT(2, "v")), "test no key");
    expect_bad(W_MESSAGE(1, W_TEXT(1, ""), W_TEXT(2, "v")), "empty");
    expect_bad(W_MESSAGE(1, W_TEXT(1, "k"), W_TEXT(2, "")), "empty");
    expect_bad(W_MESSAGE(1, W_TEXT(1, "k"), W_TEXT(2, "v"), W_EMPTY(3)), "two ways");
    expect_bad(W_MESSAGE(1, W_BYTES(1, "\xff"), W_TEXT(2, "v")), "UTF-8");
    expect_bad(W_JOIN(C_IS("a", "b"), C_IS("c", "d")), "two things");
    expect_bad(W_JOIN(C_OR(C_IS("a", "b")), C_NOT(C_IS("c", "d"))), "two things");
    expect_bad(UDPAI_STR("\x0a\x7f"), "malformed");
    expect_bad(UDPAI_STR("\x0b"), "malformed");
}

static void
bounds_are_kept(void **state)
{
    (void)state;
    udpai_str deep = C_IS("k", "v"), many = W_NOTHING;
    for (int i = 1; i < UDPAI_CONSTRAINTS_DEPTH_MAX; i++)
        deep = C_OR(deep);
    assert_ok(udpai_constraints_check(deep, NULL));
    assert_true(udpai_constraints_match(deep, PARAMETERS("k", "v")));
    expect_bad(C_NOT(deep), "deeper");
    for (int i = 1; i < UDPAI_CONSTRAINTS_NODES_MAX; i++)
        many = W_JOIN(many, wire_bytes(1, C_IS("k", "v")));
    assert_ok(udpai_constraints_check(wire_bytes(2, many), NULL));
    expect_bad(wire_bytes(2, W_JOIN(many, wire_bytes(1, C_IS("k", "v")))), "128 parts");
    char *text = wire_room(UDPAI_CONSTRAINTS_MAX + 1);
    memset(text, 'x', UDPAI_CONSTRAINTS_MAX);
    text[UDPAI_CONSTRAINTS_MAX] = '\0';
    expect_bad(C_HAS(text), "4096 bytes");
}

/* ---- who satisfies which ---- */

static void
a_test_is_of_one_key(void **state)
{
    (void)state;
    assert_true(udpai_constraints_match(C_IS("env", "prod"), PARAMETERS("env", "prod")));
    assert_false(udpai_constraints_match(C_IS("env", "prod"), PARAMETERS("env", "test")));
    assert_false(udpai_constraints_match(C_IS("env", "prod"), &nobody));
    assert_true(udpai_constraints_match(C_HAS("env"), PARAMETERS("env", "")));
    assert_false(udpai_constraints_match(C_HAS("env"), PARAMETERS("en", "v")));
}

static void
keys_that_are_not_tested_do_not_matter(void **state)
{
    (void)state;
    assert_true(udpai_constraints_match(
        C_IS("env", "prod"), PARAMETERS("zone", "a", "env", "prod", "version", "1", "b", "c")));
    assert_true(udpai_constraints_match(W_NOTHING, PARAMETERS("env", "prod")));
    assert_true(udpai_constraints_match(W_NOTHING, &nobody));
}

static void
tests_are_joined(void **state)
{
    (void)state;
    udpai_str either = C_OR(C_IS("env", "prod"), C_IS("env", "test"));
    udpai_str both = C_AND(C_IS("env", "prod"), C_NOT(C_HAS("version")));
    assert_true(udpai_constraints_match(either, PARAMETERS("env", "test")));
    assert_false(udpai_constraints_match(either, PARAMETERS("env", "qa")));
    assert_true(udpai_constraints_match(both, PARAMETERS("env", "prod")));
    assert_false(udpai_constraints_match(both, PARAMETERS("env", "prod", "version", "v1")));
    assert_true(udpai_constraints_match(C_NOT(C_NOT(both)), PARAMETERS("env", "prod")));
    assert_false(udpai_constraints_match(W_EMPTY(2), &nobody));
    assert_true(udpai_constraints_match(W_EMPTY(3), &nobody));
    assert_false(udpai_constraints_match(W_EMPTY(4), &nobody));
    assert_int_equal(udpai_constraints_n_keys(either), 1);
    assert_int_equal(udpai_constraints_n_keys(both), 2);
    assert_int_equal(udpai_constraints_n_keys(W_NOTHING), 0);
}

/* ---- against a plain definition ---- */

#define N_KEYS 3
#define N_VALUES 2

static const char *const keys[N_KEYS] = {"a", "b", "c"}, *const values[N_VALUES] = {"x", "y"};

/* Random constraints, as bytes; and whether each assignment (a digit to the base N_VALUES + 1 for
 * each key, 0: absent) satisfies them, as a bit. */
static udpai_str
random_constraints(uint64_t *random, int depth, uint32_t *ret_who)
{
    size_t key = test_random_below(random, N_KEYS), value = test_random_below(random, N_VALUES);
    size_t kind = test_random_below(random, depth > 0 ? 6 : 3), n = test_random_below(random, 4);
    uint32_t who = 0, all = (1u << 27) - 1;
    udpai_str list = W_NOTHING;
    for (uint32_t i = 0, digits; i < 27 && kind < 2; i++) {
        digits = i / (key == 0 ? 1 : key == 1 ? 3 : 9) % 3;
        who |= (uint32_t)(kind == 0 ? digits == value + 1 : digits > 0) << i;
    }
    *ret_who = kind == 2 ? all : who;
    if (kind < 3)
        return kind == 0   ? C_IS(keys[key], values[value])
               : kind == 1 ? C_HAS(keys[key])
                           : W_NOTHING;
    if (kind == 3) {
        udpai_str inner = random_constraints(random, depth - 1, &who);
        *ret_who = ~who & all;
        return C_NOT(inner);
    }
    *ret_who = kind == 4 ? 0 : all;
    for (size_t i = 0; i < n; i++) {
        list = W_JOIN(list, wire_bytes(1, random_constraints(random, depth - 1, &who)));
        *ret_who = kind == 4 ? *ret_who | who : *ret_who & who;
    }
    return wire_bytes(kind == 4 ? 2 : 3, list);
}

static const udpai_parameters *
assignment(uint32_t number)
{
    const char *texts[2 * N_KEYS + 1] = {NULL};
    size_t n = 0;
    for (size_t i = 0; i < N_KEYS; i++, number /= 3)
        if (number % 3) {
            texts[n++] = keys[i];
            texts[n++] = values[number % 3 - 1];
        }
    return parameters_of(texts);
}

static void
matching_and_overlap_agree_with_their_definition(void **state)
{
    (void)state;
    uint64_t random = 20261121;
    for (int round = 0; round < 3000; round++) {
        uint32_t who = 0, others = 0;
        udpai_str one = random_constraints(&random, 3, &who);
        udpai_str other = random_constraints(&random, 3, &others);
        if (udpai_constraints_check(one, NULL) != UDPA_OK)
            fail_msg("round %d: constraints of %zu bytes are refused", round, one.len);
        for (uint32_t i = 0; i < 27; i++)
            assert_int_equal(udpai_constraints_match(one, assignment(i)), who >> i & 1);
        udpai_parameters example;
        if (udpai_constraints_overlap(one, other, &example)) {
            assert_true(udpai_constraints_match(one, &example));
            assert_true(udpai_constraints_match(other, &example));
        } else {
            assert_int_equal(who & others, 0);
        }
        wire_free_all();
    }
}

static void
an_overlap_has_an_example(void **state)
{
    (void)state;
    udpai_parameters example;
    assert_true(udpai_constraints_overlap(
        C_IS("env", "prod"), C_AND(C_IS("env", "prod"), C_IS("version", "v1")), &example));
    assert_int_equal(example.n, 2);
    assert_str(example.items[0].key, "env");
    assert_str(example.items[1].value, "v1");
    assert_false(udpai_constraints_overlap(C_AND(C_IS("env", "prod"), C_NOT(C_HAS("version"))),
                                           C_AND(C_IS("env", "prod"), C_IS("version", "v1")),
                                           &example));
    /* For somebody whose value neither of them names. */
    assert_true(udpai_constraints_overlap(C_HAS("env"), C_NOT(C_IS("env", "prod")), &example));
    assert_str(example.items[0].value, "(another)");
}

/* ---- parameters ---- */

static void
parameters_have_one_text(void **state)
{
    (void)state;
    char room[64], *at = room;
    const udpai_parameters *sorted = PARAMETERS("b", "1", "a", "2", "b", "3", "c", "");
    udpai_str text = udpai_parameters_put(&at, sorted->items, sorted->n);
    assert_true(udpai_str_eq(text, UDPAI_STR("a\0"
                                             "2\0b\0"
                                             "3\0c\0\0")));
    assert_int_equal(udpai_parameters_text_size(sorted->items, sorted->n), text.len);
    udpai_parameters again;
    udpai_parameters_read(text, &again);
    assert_int_equal(again.n, 3);
    assert_str(again.items[1].value, "3");
    assert_str(again.items[2].key, "c");
    assert_str(again.items[2].value, "");
}

static void
too_many_parameters_are_refused(void **state)
{
    (void)state;
    static udpai_parameter items[UDPAI_PARAMETERS_MAX + 1];
    static char key[UDPAI_PARAMETERS_BYTES_MAX];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(items); i++)
        items[i].key = (udpai_str){key, i + 1};
    memset(key, 'k', sizeof(key));
    assert_ok(udpai_parameters_check(items, UDPAI_PARAMETERS_MAX, NULL));
    assert_int_equal(udpai_parameters_check(items, UDPAI_PARAMETERS_MAX + 1, NULL), UDPA_ERR_INVAL);
    items[0].key.len = sizeof(key) - 1;
    assert_int_equal(udpai_parameters_check(items, 1, NULL), UDPA_ERR_INVAL);
    items[0].key.len = sizeof(key) - 2;
    assert_ok(udpai_parameters_check(items, 1, NULL));
    items[0].key.len = 0;
    assert_int_equal(udpai_parameters_check(items, 1, NULL), UDPA_ERR_INVAL);
}

static void
parameters_become_constraints_that_they_satisfy(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *one = udpai_constraints_of_parameters(PARAMETERS("env", "prod"));
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *two = udpai_constraints_of_parameters(PARAMETERS("env", "prod", "x", ""));
    assert_true(udpai_str_eq(udpai_bytes_view(one), C_IS("env", "prod")));
    assert_true(udpai_str_eq(udpai_bytes_view(two), C_AND(C_IS("env", "prod"), C_HAS("x"))));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *none = udpai_constraints_of_parameters(&nobody);
    assert_int_equal(udpa_bytes_size(none), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_cannot_be_judged_is_refused, free_pieces),
        cmocka_unit_test_teardown(bounds_are_kept, free_pieces),
        cmocka_unit_test_teardown(a_test_is_of_one_key, free_pieces),
        cmocka_unit_test_teardown(keys_that_are_not_tested_do_not_matter, free_pieces),
        cmocka_unit_test_teardown(tests_are_joined, free_pieces),
        cmocka_unit_test_teardown(matching_and_overlap_agree_with_their_definition, free_pieces),
        cmocka_unit_test_teardown(an_overlap_has_an_example, free_pieces),
        cmocka_unit_test(parameters_have_one_text),
        cmocka_unit_test(too_many_parameters_are_refused),
        cmocka_unit_test_teardown(parameters_become_constraints_that_they_satisfy, free_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
