/* SPDX-License-Identifier: Apache-2.0 */
/* Keys are compared with ones written by hand, and read back; one that no replica would have
 * written is refused. */
#include "model/name.h"
#include "record_test.h"

static void
assert_malformed_key(udpai_str key)
{
    udpai_durable_op op;
    if (read_record(key, NULL, &op, NULL) != UDPA_ERR_MALFORMED)
        fail_msg("'%.*s' is read", (int)key.len, key.len ? key.data : "");
}

static udpai_str
filled(char c, size_t len)
{
    char *room = wire_room(len);
    memset(room, c, len);
    return (udpai_str){room, len};
}

static const struct {
    const char *origin, *type_url, *name, *key;
} known_keys[] = {
    {PUBLISHER, UDPAI_TYPE_CLUSTER, "com.acme.foo/service-a",
     "c/com.acme.foo/envoy.config.cluster.v3.Cluster/service-a/publisher:spiffe:%2F%2Facme%2Fci"},
    {"said:0:4:0:acme", UDPAI_TYPE_CLUSTER, "com.acme.foo/service-a",
     "f/com.acme.foo/envoy.config.cluster.v3.Cluster/service-a/said:0:4:0:acme"},
    {"seen:0:4:0:acme", TEST_TYPE, NAME, "c/com.acme/test.Thing/a/seen:0:4:0:acme"},
    {"o", TEST_TYPE, "com.acme/a/b?c=d*e", "c/com.acme/test.Thing/a%2Fb%3Fc=d%2Ae/o"},
    {"o", TEST_TYPE, "com.acme/50%", "c/com.acme/test.Thing/50%25/o"},
    {"o", TEST_TYPE, "com.acme/\xc3\xa9", "c/com.acme/test.Thing/%C3%A9/o"},
    {"o", TEST_TYPE, "com.acme/", "c/com.acme/test.Thing//o"},
    {"o", TEST_TYPE, "com.acme", "c/com.acme/test.Thing/*/o"},
    {"o", TEST_TYPE, "com.acme/*", "c/com.acme/test.Thing/%2A/o"},
    {"o", TEST_TYPE, "", "c//test.Thing/*/o"},
    {"o", TEST_TYPE, "/", "c//test.Thing//o"},
    {"o", TEST_TYPE, "//", "c//test.Thing/%2F/o"},
    {"o", "types.acme.com/a.B", NAME, "c/com.acme/*types.acme.com%2Fa.B/a/o"},
    {"o", "a.B", NAME, "c/com.acme/*a.B/a/o"},
    {"o", "type.googleapis.com/x/a.B", NAME, "c/com.acme/x%2Fa.B/a/o"},
    {"o", "x/a.B", NAME, "c/com.acme/*x%2Fa.B/a/o"},
    {"o", "type.googleapis.com/*a.B", NAME, "c/com.acme/%2Aa.B/a/o"},
    {"o", "type.googleapis.com/", NAME, "c/com.acme//a/o"},
    {"o", "type.googleapis.com", NAME, "c/com.acme/*type.googleapis.com/a/o"},
    {"o", "", NAME, "c/com.acme/*/a/o"},
    {"", TEST_TYPE, NAME, "c/com.acme/test.Thing/a/"},
    {"said:", TEST_TYPE, NAME, "f/com.acme/test.Thing/a/said:"},
};

static void
keys_are_readable(void **state)
{
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(known_keys); i++)
        assert_str(
            key_of(place_of(known_keys[i].origin, known_keys[i].type_url, known_keys[i].name)),
            known_keys[i].key);
}

static void
assert_reads_back(udpai_record_place place)
{
    udpai_durable_op op;
    assert_ok(read_record(key_of(place), NULL, &op, NULL));
    assert_int_equal(op.kind, UDPAI_DURABLE_DELETE);
    assert_null(op.resource);
    assert_bytes(op.origin, place.origin);
    assert_bytes(op.name, place.name);
    assert_int_equal(udpa_bytes_size(op.type), place.type_url.len + 1);
    assert_int_equal(udpai_bytes_view(op.type).data[place.type_url.len], 0);
    udpai_record_place back = udpai_record_place_of(&op);
    assert_true(udpai_str_eq(back.type_url, place.type_url));
    assert_true(udpai_str_eq(back.name, place.name));
    assert_true(udpai_str_eq(back.origin, place.origin));
    udpai_durable_op_done(&op);
}

static void
keys_read_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(known_keys); i++)
        assert_reads_back(
            place_of(known_keys[i].origin, known_keys[i].type_url, known_keys[i].name));
    assert_reads_back((udpai_record_place){UDPAI_STR("\0o\0"), UDPAI_STR("type.googleapis.com/\0"),
                                           UDPAI_STR("a\0/\0")});
}

/* Of few different pieces, so that what is alike but for a slash or an escape comes up. */
static udpai_str
random_text(uint64_t *chance)
{
    static const udpai_str pieces[] = {
        {"/", 1},  {"%", 1},    {"*", 1},     {"\0", 1},       {"\xff", 1},
        {"a", 1},  {"%2F", 3},  {"said:", 5}, {"\xc3\xa9", 2}, {"type.googleapis.com/", 20},
        {"c/", 2}, {"\x7f", 1}, {"F", 1},
    };
    udpai_str parts[4];
    size_t n = test_random_below(chance, UDPAI_ARRAY_LEN(parts) + 1);
    for (size_t i = 0; i < n; i++)
        parts[i] = pieces[test_random_below(chance, UDPAI_ARRAY_LEN(pieces))];
    return wire_join(parts, n);
}

static void
any_bytes_read_back(void **state)
{
    (void)state;
    uint64_t chance = 1;
    for (int i = 0; i < 20000; i++) {
        udpai_str origin = random_text(&chance), type_url = random_text(&chance);
        assert_reads_back((udpai_record_place){origin, type_url, random_text(&chance)});
        wire_free_all();
    }
}

static void
one_contribution_has_one_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(known_keys); i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(known_keys[i].key, known_keys[j].key);
    static const udpai_str others[] = {
        UDPAI_STR("c/com.acme/test.Thing/%61/o"), /* escaped without need */
        UDPAI_STR("c/com.acme/test%2EThing/a/o"),
        UDPAI_STR("c/com%2Eacme/test.Thing/a/o"),
        UDPAI_STR("c/com.acme/test.Thing/a/%6f"),
        UDPAI_STR("c/com.acme/test.Thing/%c3%a9/o"), /* with small digits */
        UDPAI_STR("c/com.acme/test.Thing/a/o%2fp"),
        UDPAI_STR("c/com.acme/test.Thing/a b/o"), /* not escaped */
        UDPAI_STR("c/com.acme/test.Thing/\xc3\xa9/o"),
        UDPAI_STR("c/com.acme/test.Thing/a\0/o"),
        UDPAI_STR("c/com.acme/test.Thing/a/o*"),
        UDPAI_STR("c/*/test.Thing/a/o"), /* a mark where there is none */
        UDPAI_STR("c/com.acme/test.Thing/**/o"),
        UDPAI_STR("c/com.acme/test.Thing/*a/o"),
        UDPAI_STR("c/com.acme/**a.B/a/o"),
        UDPAI_STR("c/com.acme/*type.googleapis.com%2Ftest.Thing/a/o"), /* the usual form is due */
        UDPAI_STR("c/com%2Facme/test.Thing/a/o"),                      /* divided elsewhere */
        UDPAI_STR("f/com.acme/test.Thing/a/o"),                        /* of the other kind */
        UDPAI_STR("c/com.acme/test.Thing/a/said:o"),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++)
        assert_malformed_key(others[i]);
}

static void
malformed_keys_are_refused(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "",
        "c",
        "c/",
        "c/a",
        "c/a/b",
        "c/a/b/c",
        "f/a/b/c",
        "c/a/b/c/d/e",
        "c/a/b/c/d/",
        "C/com.acme/test.Thing/a/o",
        "d/com.acme/test.Thing/a/o",
        "/c/com.acme/test.Thing/a/o",
        "cc/com.acme/test.Thing/a/o",
        "com.acme/test.Thing/a/o",
        "c/%/test.Thing/a/o",
        "c/com.acme/%4/a/o",
        "c/com.acme/*%/a/o",
        "c/com.acme/test.Thing/%G0/o",
        "c/com.acme/test.Thing/a/%",
        "c/com.acme/test.Thing/a/%2",
        "c/com.acme/test.Thing/%2/o",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(keys); i++)
        assert_malformed_key(udpai_str_from(keys[i]));
}

/* What is still read is what this key would be written for. */
static void
changed_keys_are_refused_or_others(void **state)
{
    (void)state;
    static const char with[] = {'/', '%', '*', 'a', '\0', '2', 'F', 'f', '\xff'};
    char text[] = "c/com.acme/*x%2Fa.B/a%2A/said";
    for (size_t at = 0; at < sizeof(text) - 1; at++)
        for (size_t i = 0; i < sizeof(with); i++) {
            char kept = text[at];
            udpai_durable_op op;
            text[at] = with[i];
            udpai_str key = {text, sizeof(text) - 1};
            if (read_record(key, NULL, &op, NULL) == UDPA_OK) {
                assert_true(udpai_str_eq(key_of(udpai_record_place_of(&op)), key));
                udpai_durable_op_done(&op);
            }
            text[at] = kept;
        }
}

static void
keys_of_records_are_recognized(void **state)
{
    (void)state;
    assert_true(udpai_record_is_key(UDPAI_STR(KEY)));
    assert_true(udpai_record_is_key(UDPAI_STR("f/x")));
    assert_true(udpai_record_is_key(UDPAI_STR("c/")));
    assert_false(udpai_record_is_key(UDPAI_STR("c")));
    assert_false(udpai_record_is_key(UDPAI_STR("")));
    assert_false(udpai_record_is_key(UDPAI_STR("lane/1")));
    assert_false(udpai_record_is_key(UDPAI_STR("ff/x")));
    assert_false(udpai_record_is_key(UDPAI_STR("/c/x")));
}

static void
assert_too_long(udpai_record_place place)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    buffer.len = 0;
    udpai_strbuf_puts(&buffer, PREFIX);
    assert_int_equal(udpai_record_put_key(&buffer, &place, &error), UDPA_ERR_LIMIT);
    assert_non_null(strstr(udpa_error_message(error), "at most 8192 bytes"));
    assert_str(udpai_strbuf_view(&buffer), PREFIX);
    assert_string_equal(buffer.data, PREFIX);
}

static void
keys_have_a_limit(void **state)
{
    (void)state;
    const size_t rest = sizeof("c//test.Thing/*/") - 1;
    udpai_record_place place = place_of("", TEST_TYPE, "");
    place.origin = filled('o', UDPAI_RECORD_KEY_MAX - rest);
    assert_int_equal(key_of(place).len, UDPAI_RECORD_KEY_MAX);
    assert_reads_back(place);
    place.name = UDPAI_STR("n");
    assert_too_long(place);
    place.name = filled('/', 1 + (UDPAI_RECORD_KEY_MAX - rest) / 3 + 1);
    place.origin = (udpai_str){"", 0};
    assert_too_long(place);
}

static void
keys_that_are_too_long_take_no_memory(void **state)
{
    (void)state;
    assert_malformed_key(W_JOIN(UDPAI_STR(KEY), filled('o', UDPAI_RECORD_KEY_MAX)));
    assert_int_equal(reader.texts.capacity + reader.canonical.capacity, 0);
}

static void
a_reader_uses_its_memory_again(void **state)
{
    (void)state;
    udpai_record_place place = place_of("o", TEST_TYPE, NAME);
    assert_reads_back(place);
    size_t capacity = reader.texts.capacity + reader.canonical.capacity;
    for (int i = 0; i < 100; i++)
        assert_reads_back(place);
    assert_int_equal(reader.texts.capacity + reader.canonical.capacity, capacity);
}

static void
what_is_done_is_empty(void **state)
{
    (void)state;
    udpai_durable_op op;
    assert_ok(read_record(UDPAI_STR(KEY), NULL, &op, NULL));
    udpai_durable_op_done(&op);
    assert_true(!op.origin && !op.type && !op.name && !op.resource);
    udpai_durable_op_done(&op);
}

/* What is longer than any key is not escaped first: that would take three times as much memory. */
static void
long_parts_are_not_escaped(void **state)
{
    (void)state;
    udpai_str longer = filled('/', UDPAI_RECORD_KEY_MAX + 1);
    udpai_record_place places[3];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(places); i++)
        places[i] = place_of("o", TEST_TYPE, NAME);
    places[0].origin = places[1].type_url = places[2].name = longer;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(places); i++) {
        assert_too_long(places[i]);
        assert_in_range(buffer.capacity, 1, UDPAI_RECORD_KEY_MAX);
    }
}

/* The longest that a resource and a removal may have, in letters that need no escape. */
static void
what_may_exist_has_a_key(void **state)
{
    (void)state;
    udpai_str name = W_JOIN(UDPAI_STR("com.acme/"), filled('\xff', UDPAI_NAME_MAX - 9));
    udpai_str type = W_JOIN(UDPAI_STR("types.acme.com/"), filled('T', UDPAI_TYPE_URL_MAX - 15));
    udpai_str origin = W_JOIN(UDPAI_STR("said:1:512:512:"), filled('o', 3 * UDPAI_AUTHORITY_MAX));
    assert_reads_back((udpai_record_place){origin, type, name});
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_are_readable),
        TEST(keys_read_back),
        TEST(any_bytes_read_back),
        TEST(one_contribution_has_one_key),
        TEST(malformed_keys_are_refused),
        TEST(changed_keys_are_refused_or_others),
        TEST(keys_of_records_are_recognized),
        TEST(keys_have_a_limit),
        TEST(keys_that_are_too_long_take_no_memory),
        TEST(a_reader_uses_its_memory_again),
        TEST(what_is_done_is_empty),
        TEST(long_parts_are_not_escaped),
        TEST(what_may_exist_has_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
