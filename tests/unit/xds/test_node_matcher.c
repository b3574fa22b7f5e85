/* SPDX-License-Identifier: Apache-2.0 */
/* Which clients somebody asks about: NodeMatcher, on Nodes whose metadata nests. Matchers are
 * written in the wire format, as they come. */
#include "tests/harness/test.h"
#include "tests/harness/wire.h"
#include "wire/arena.h"
#include "wire/scan.h"
#include "xds/node_matcher.h"

typedef Envoy__Type__Matcher__V3__NodeMatcher node_matcher;

/* ---- regular expressions of a kind: "^TEXT" matches what begins so ---- */

static int n_compiled;

static udpa_err
compile(udpai_regex **ret_regex, udpai_str pattern, udpa_error **ret_error)
{
    if (pattern.data[0] != '^')
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "'%.*s' is none", UDPAI_SHOWN(pattern));
    *ret_regex = (udpai_regex *)(void *)strndup(pattern.data + 1, pattern.len - 1);
    n_compiled++;
    return UDPA_OK;
}

static bool
matches(const udpai_regex *regex, udpai_str text)
{
    return udpai_str_starts(text, udpai_str_from((const char *)regex));
}

static void
release(udpai_regex *regex)
{
    n_compiled--;
    free(regex);
}

static const udpai_regex_ops regexes = {compile, matches, release};

/* ---- asking ---- */

enum {
    EXACT = 1,
    PREFIX = 2,
    SUFFIX = 3,
    REGEX = 5,
    IGNORE_CASE = 6,
    CONTAINS = 7
};

enum {
    IS_NULL = 1,
    NUMBER = 2,
    STRING = 3,
    BOOL = 4,
    PRESENT = 5,
    LIST = 6,
    OR = 7
};

static udpai_str
put_double(uint32_t number, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return W_FIXED64(number, bits);
}

/* {region: "eu", rack: 7, on: true, none: null, tags: ["a", "b", ["c"]], in: {deep: "x"}} */
static udpai_str
metadata(void)
{
#define FIELD(name, value) W_MESSAGE(1, W_TEXT(1, name), W_MESSAGE(2, value))
    return W_JOIN(
        FIELD("region", W_TEXT(3, "eu")), FIELD("rack", put_double(2, 7)),
        FIELD("on", W_VARINT(4, 1)), FIELD("none", W_VARINT(1, 0)),
        FIELD("tags", W_MESSAGE(6, W_MESSAGE(1, W_TEXT(3, "a")), W_MESSAGE(1, W_TEXT(3, "b")),
                                W_MESSAGE(1, W_MESSAGE(6, W_MESSAGE(1, W_TEXT(3, "c")))))),
        FIELD("in", W_MESSAGE(5, FIELD("deep", W_TEXT(3, "x")))));
}

static udpa_err
ask_with(udpai_str matcher, udpai_str node_metadata, bool *ret_fits)
{
    udpai_arena arena;
    udpai_node_matchers matchers = {0};
    udpai_node_info *node = NULL;
    const udpai_node_parts parts = {.id = UDPAI_STR("Shop-eu-1"), .metadata = node_metadata};
    const ProtobufCMessageDescriptor *type = &envoy__type__matcher__v3__node_matcher__descriptor;
    assert_ok(udpai_node_info_new(&node, &parts));
    udpai_arena_init(&arena);
    assert_ok(udpai_scan(type, matcher, NULL, NULL));
    node_matcher *item = (node_matcher *)protobuf_c_message_unpack(
        type, &arena.allocator, matcher.len, (const uint8_t *)matcher.data);
    assert_non_null(item);
    udpa_error *error = NULL;
    udpa_err err = udpai_node_matchers_init(&matchers, &item, 1, &regexes, &error);
    if (err == UDPA_OK)
        *ret_fits = udpai_node_matchers_fit(&matchers, node);
    assert_int_equal(udpa_error_code(error), err);
    udpa_error_unref(error);
    udpai_node_matchers_done(&matchers);
    assert_int_equal(n_compiled, 0);
    udpai_arena_done(&arena);
    udpai_node_info_unref(node);
    return err;
}

static bool
fits(udpai_str matcher)
{
    bool does = false;
    assert_ok(ask_with(matcher, metadata(), &does));
    wire_free_all();
    return does;
}

static udpa_err
refusal(udpai_str matcher)
{
    bool does;
    udpa_err err = ask_with(matcher, metadata(), &does);
    wire_free_all();
    return err;
}

#define ID(...) W_MESSAGE(1, __VA_ARGS__)
#define AT(key, ...) W_MESSAGE(2, W_MESSAGE(2, W_TEXT(1, key)), W_MESSAGE(3, __VA_ARGS__))

static void
an_id_is_looked_at_in_five_ways(void **state)
{
    (void)state;
    assert_true(fits(ID(W_TEXT(EXACT, "Shop-eu-1"))));
    assert_false(fits(ID(W_TEXT(EXACT, "Shop-eu"))));
    assert_false(fits(ID(W_TEXT(EXACT, "shop-eu-1"))));
    assert_true(fits(ID(W_TEXT(EXACT, "shop-EU-1"), W_VARINT(IGNORE_CASE, 1))));
    assert_true(fits(ID(W_TEXT(PREFIX, "Shop-"))));
    assert_false(fits(ID(W_TEXT(PREFIX, "shop-"))));
    assert_true(fits(ID(W_TEXT(PREFIX, "shop-"), W_VARINT(IGNORE_CASE, 1))));
    assert_true(fits(ID(W_TEXT(SUFFIX, "-1"))));
    assert_false(fits(ID(W_TEXT(SUFFIX, "a-much-longer-text-than-it-is-1"))));
    assert_true(fits(ID(W_TEXT(CONTAINS, "eu"))));
    assert_false(fits(ID(W_TEXT(CONTAINS, "EU"))));
    assert_true(fits(ID(W_TEXT(CONTAINS, "P-EU"), W_VARINT(IGNORE_CASE, 1))));
    assert_true(fits(ID(W_MESSAGE(REGEX, W_TEXT(2, "^Shop")))));
    assert_false(fits(ID(W_MESSAGE(REGEX, W_TEXT(2, "^shop")))));
    assert_false(fits(ID(W_MESSAGE(REGEX, W_TEXT(2, "^shop")), W_VARINT(IGNORE_CASE, 1))));
    assert_true(fits(W_NOTHING)); /* asks for nothing in particular */
}

static void
metadata_is_found_along_a_path(void **state)
{
    (void)state;
    assert_true(fits(AT("region", W_MESSAGE(STRING, W_TEXT(EXACT, "eu")))));
    assert_false(fits(AT("region", W_MESSAGE(STRING, W_TEXT(EXACT, "us")))));
    assert_false(fits(AT("zone", W_MESSAGE(STRING, W_TEXT(EXACT, "eu")))));
    udpai_str deep = W_MESSAGE(2, W_MESSAGE(2, W_TEXT(1, "in")), W_MESSAGE(2, W_TEXT(1, "deep")),
                               W_MESSAGE(3, W_MESSAGE(STRING, W_TEXT(EXACT, "x"))));
    assert_true(fits(deep));
    udpai_str through =
        W_MESSAGE(2, W_MESSAGE(2, W_TEXT(1, "region")), W_MESSAGE(2, W_TEXT(1, "deep")),
                  W_MESSAGE(3, W_VARINT(PRESENT, 1)));
    assert_false(fits(through)); /* a text holds nothing */
}

static void
each_kind_of_value_has_its_matcher(void **state)
{
    (void)state;
    assert_true(fits(AT("none", W_MESSAGE(IS_NULL, W_NOTHING))));
    assert_false(fits(AT("on", W_MESSAGE(IS_NULL, W_NOTHING))));
    assert_true(fits(AT("rack", W_MESSAGE(NUMBER, put_double(2, 7)))));
    assert_false(fits(AT("rack", W_MESSAGE(NUMBER, put_double(2, 8)))));
    assert_true(
        fits(AT("rack", W_MESSAGE(NUMBER, W_MESSAGE(1, put_double(1, 7), put_double(2, 8))))));
    assert_false(
        fits(AT("rack", W_MESSAGE(NUMBER, W_MESSAGE(1, put_double(1, 6), put_double(2, 7))))));
    assert_true(fits(AT("on", W_VARINT(BOOL, 1))));
    assert_false(fits(AT("on", W_VARINT(BOOL, 0))));
    assert_true(fits(AT("in", W_VARINT(PRESENT, 1))));
    assert_false(fits(AT("in", W_VARINT(PRESENT, 0))));
    assert_false(fits(AT("out", W_VARINT(PRESENT, 1))));
    assert_true(
        fits(AT("tags", W_MESSAGE(LIST, W_MESSAGE(1, W_MESSAGE(STRING, W_TEXT(EXACT, "b")))))));
    assert_false(
        fits(AT("tags", W_MESSAGE(LIST, W_MESSAGE(1, W_MESSAGE(STRING, W_TEXT(EXACT, "c")))))));
    assert_true(fits(AT(
        "tags",
        W_MESSAGE(
            LIST,
            W_MESSAGE(1, W_MESSAGE(LIST, W_MESSAGE(1, W_MESSAGE(STRING, W_TEXT(EXACT, "c")))))))));
    assert_true(fits(AT("rack", W_MESSAGE(OR, W_MESSAGE(1, W_VARINT(BOOL, 1)),
                                          W_MESSAGE(1, W_MESSAGE(NUMBER, put_double(2, 7)))))));
    assert_false(fits(AT("region", W_MESSAGE(OR, W_MESSAGE(1, W_VARINT(BOOL, 1)),
                                             W_MESSAGE(1, W_MESSAGE(NUMBER, put_double(2, 7)))))));
}

static void
all_of_one_matcher_must_fit(void **state)
{
    (void)state;
    assert_true(fits(W_JOIN(ID(W_TEXT(PREFIX, "Shop")), AT("on", W_VARINT(BOOL, 1)))));
    assert_false(fits(W_JOIN(ID(W_TEXT(PREFIX, "Bank")), AT("on", W_VARINT(BOOL, 1)))));
    assert_false(fits(W_JOIN(AT("on", W_VARINT(BOOL, 1)), AT("on", W_VARINT(BOOL, 0)))));
}

static void
a_text_is_found_wherever_it_stands_in_a_long_one(void **state)
{
    (void)state;
    static char text[20000];
    for (size_t at = 0; at + 6 < sizeof(text); at += 997) {
        memset(text, 'x', sizeof(text) - 1);
        memcpy(text + at, "nEedLe", 6);
        bool does = false;
        udpai_str long_one = W_JOIN(W_MESSAGE(1, W_TEXT(1, "k"), W_MESSAGE(2, W_TEXT(3, text))));
        assert_ok(ask_with(
            AT("k", W_MESSAGE(STRING, W_TEXT(CONTAINS, "NeedlE"), W_VARINT(IGNORE_CASE, 1))),
            long_one, &does));
        assert_true(does);
        assert_ok(
            ask_with(AT("k", W_MESSAGE(STRING, W_TEXT(CONTAINS, "NeedlE"))), long_one, &does));
        assert_false(does);
        wire_free_all();
    }
}

static void
too_much_metadata_is_not_looked_into(void **state)
{
    (void)state;
    static char text[UDPAI_NODE_MATCHER_METADATA_MAX];
    bool does = true;
    memset(text, 'x', sizeof(text) - 1);
    udpai_str large = W_JOIN(W_MESSAGE(1, W_TEXT(1, "k"), W_MESSAGE(2, W_TEXT(3, text))));
    assert_ok(ask_with(AT("k", W_VARINT(PRESENT, 1)), large, &does));
    assert_false(does);
    wire_free_all();
}

static size_t
cost(size_t id_len, size_t metadata_len)
{
    static char text[UDPAI_NODE_MATCHER_METADATA_MAX + 100];
    memset(text, 'x', sizeof(text));
    const udpai_node_parts parts = {.id = {text, id_len}, .metadata = {text, metadata_len}};
    const ProtobufCMessageDescriptor *type = &envoy__type__matcher__v3__node_matcher__descriptor;
    udpai_str matcher = W_JOIN(ID(W_TEXT(CONTAINS, "a")), AT("k", W_VARINT(PRESENT, 1)));
    udpai_arena arena;
    udpai_node_matchers matchers = {0};
    udpai_node_info *node = NULL;
    udpai_arena_init(&arena);
    assert_ok(udpai_node_info_new(&node, &parts));
    node_matcher *item = (node_matcher *)protobuf_c_message_unpack(
        type, &arena.allocator, matcher.len, (const uint8_t *)matcher.data);
    assert_non_null(item);
    assert_ok(udpai_node_matchers_init(&matchers, &item, 1, &regexes, NULL));
    size_t found = udpai_node_matchers_cost(&matchers, node);
    udpai_node_matchers_done(&matchers);
    udpai_node_info_unref(node);
    udpai_arena_done(&arena);
    wire_free_all();
    return found;
}

/* It grows with what is looked into; what is not looked into costs nothing. */
static void
what_it_costs_is_known_before(void **state)
{
    (void)state;
    size_t of_id = cost(10, 0);
    assert_true(of_id > 0 && cost(20, 0) == 2 * of_id);
    assert_true(cost(10, 100) > of_id && cost(10, 200) - of_id == 2 * (cost(10, 100) - of_id));
    assert_true(cost(10, UDPAI_NODE_MATCHER_METADATA_MAX) > of_id);
    assert_int_equal(cost(10, UDPAI_NODE_MATCHER_METADATA_MAX + 1), of_id);
}

/* ---- what is refused ---- */

static udpai_str
nest(int depth)
{
    udpai_str value = W_VARINT(BOOL, 1);
    while (depth-- > 0)
        value = W_MESSAGE(LIST, W_MESSAGE(1, value));
    return W_MESSAGE(2, W_MESSAGE(2, W_TEXT(1, "k")), W_MESSAGE(3, value));
}

static udpai_str
many(int n, udpai_str each)
{
    udpai_str all = W_NOTHING;
    for (int i = 0; i < n; i++)
        all = W_JOIN(all, each);
    return all;
}

static void
what_says_nothing_is_refused(void **state)
{
    (void)state;
    assert_int_equal(refusal(ID(W_TEXT(PREFIX, ""))), UDPA_ERR_INVAL);
    assert_int_equal(refusal(ID(W_NOTHING)), UDPA_ERR_INVAL);
    assert_int_equal(refusal(ID(W_MESSAGE(8, W_TEXT(1, "custom")))), UDPA_ERR_INVAL);
    assert_int_equal(refusal(ID(W_MESSAGE(REGEX, W_TEXT(2, "bad")))), UDPA_ERR_INVAL);
    assert_int_equal(refusal(W_MESSAGE(2, W_MESSAGE(3, W_VARINT(BOOL, 1)))), UDPA_ERR_INVAL);
    assert_int_equal(refusal(W_MESSAGE(2, W_MESSAGE(2, W_TEXT(1, "k")))), UDPA_ERR_INVAL);
    assert_int_equal(refusal(AT("k", W_NOTHING)), UDPA_ERR_INVAL);
    assert_int_equal(refusal(AT("k", W_MESSAGE(NUMBER, W_NOTHING))), UDPA_ERR_INVAL);
    assert_int_equal(refusal(AT("k", W_MESSAGE(LIST, W_NOTHING))), UDPA_ERR_INVAL);
    assert_int_equal(refusal(AT("k", W_MESSAGE(OR, W_MESSAGE(1, W_VARINT(BOOL, 1))))),
                     UDPA_ERR_INVAL);
}

static void
what_is_too_much_is_refused(void **state)
{
    (void)state;
    static char text[UDPAI_NODE_MATCHER_TEXT_MAX + 2];
    memset(text, 'x', sizeof(text) - 1);
    assert_int_equal(refusal(ID(W_TEXT(PREFIX, text))), UDPA_ERR_LIMIT);
    text[UDPAI_NODE_MATCHER_TEXT_MAX] = '\0';
    assert_int_equal(refusal(ID(W_TEXT(PREFIX, text))), UDPA_OK);
    assert_int_equal(refusal(nest(UDPAI_NODE_MATCHER_DEPTH_MAX - 1)), UDPA_OK);
    assert_int_equal(refusal(nest(UDPAI_NODE_MATCHER_DEPTH_MAX)), UDPA_ERR_LIMIT);
    int n = UDPAI_NODE_MATCHER_STRUCTS_MAX;
    assert_int_equal(refusal(many(n, AT("k", W_VARINT(BOOL, 1)))), UDPA_OK);
    assert_int_equal(refusal(many(n + 1, AT("k", W_VARINT(BOOL, 1)))), UDPA_ERR_LIMIT);
    udpai_str regex = AT("k", W_MESSAGE(STRING, W_MESSAGE(REGEX, W_TEXT(2, "^x"))));
    assert_int_equal(refusal(many(UDPAI_NODE_MATCHER_REGEX_MAX, regex)), UDPA_OK);
    regex = AT("k", W_MESSAGE(STRING, W_MESSAGE(REGEX, W_TEXT(2, "^x"))));
    assert_int_equal(refusal(many(UDPAI_NODE_MATCHER_REGEX_MAX + 1, regex)), UDPA_ERR_LIMIT);
    udpai_str or = many(UDPAI_NODE_MATCHER_PIECES_MAX, W_MESSAGE(1, W_VARINT(BOOL, 1)));
    assert_int_equal(refusal(AT("k", W_MESSAGE(OR, or))), UDPA_ERR_LIMIT);
}

static void
nobody_fits_who_has_not_said_who_he_is(void **state)
{
    (void)state;
    node_matcher item = ENVOY__TYPE__MATCHER__V3__NODE_MATCHER__INIT, *items[] = {&item};
    udpai_node_matchers matchers;
    assert_ok(udpai_node_matchers_init(&matchers, NULL, 0, NULL, NULL));
    assert_true(udpai_node_matchers_fit(&matchers, NULL));
    udpai_node_matchers_done(&matchers);
    assert_ok(udpai_node_matchers_init(&matchers, items, 1, NULL, NULL));
    assert_false(udpai_node_matchers_fit(&matchers, NULL));
    udpai_node_matchers_done(&matchers);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_looked_at_in_five_ways),
        cmocka_unit_test(metadata_is_found_along_a_path),
        cmocka_unit_test(each_kind_of_value_has_its_matcher),
        cmocka_unit_test(all_of_one_matcher_must_fit),
        cmocka_unit_test(a_text_is_found_wherever_it_stands_in_a_long_one),
        cmocka_unit_test(too_much_metadata_is_not_looked_into),
        cmocka_unit_test(what_it_costs_is_known_before),
        cmocka_unit_test(what_says_nothing_is_refused),
        cmocka_unit_test(what_is_too_much_is_refused),
        cmocka_unit_test(nobody_fits_who_has_not_said_who_he_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
