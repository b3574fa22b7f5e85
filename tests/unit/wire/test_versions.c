/* SPDX-License-Identifier: Apache-2.0 */
/* Versions that a client says it holds, taken out of a message: here out of field 5. */
#include "wire/versions.h"

#include "tests/harness/oom.h"
#include "tests/harness/test.h"
#include "tests/harness/wire.h"
#include "wire/scan.h"

#define HELD(name, version) W_MESSAGE(5, W_TEXT(1, name), W_TEXT(2, version))

static udpai_arena arena;

static int
setup(void **state)
{
    (void)state;
    udpai_arena_init(&arena);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    udpai_arena_done(&arena);
    wire_free_all();
    return 0;
}

static udpai_versions
take(udpai_str message)
{
    udpai_versions versions = {0};
    assert_ok(udpai_versions_take(&arena, message, 5, &versions));
    return versions;
}

static void
assert_version(const udpai_versions *versions, size_t index, const char *name, const char *version)
{
    assert_true(index < versions->n);
    assert_str(versions->items[index].name, name);
    assert_str(versions->items[index].version, version);
}

static void
assert_malformed(udpai_str message)
{
    udpai_versions untouched = {.n = 42};
    assert_int_equal(udpai_versions_take(&arena, message, 5, &untouched), UDPA_ERR_MALFORMED);
    assert_int_equal(untouched.n, 42);
}

static void
a_message_without_versions_is_all_rest(void **state)
{
    (void)state;
    udpai_str message = W_JOIN(W_TEXT(1, "a"), W_VARINT(2, 7));
    udpai_versions versions = take(message);
    assert_int_equal(versions.n, 0);
    assert_ptr_equal(versions.rest.data, message.data);
    assert_int_equal(versions.rest.len, message.len);
    assert_int_equal(take(W_NOTHING).rest.len, 0);
}

/* In the order of the message, and a name twice is there twice: the last one counts. */
static void
versions_are_taken_from_between_other_fields(void **state)
{
    (void)state;
    udpai_str others[] = {W_TEXT(1, "x/T"), W_VARINT(5, 1), W_BYTES(9, "\xff\0"), W_TEXT(6, "0")};
    udpai_str message = W_JOIN(others[0], HELD("a", "1"), others[1], HELD("b", "2"), HELD("a", "3"),
                               others[2], others[3]);
    udpai_versions versions = take(message);
    assert_int_equal(versions.n, 3);
    assert_version(&versions, 0, "a", "1");
    assert_version(&versions, 1, "b", "2");
    assert_version(&versions, 2, "a", "3");
    assert_true(udpai_str_eq(versions.rest, wire_join(others, UDPAI_ARRAY_LEN(others))));
    assert_true(versions.items[0].name.data > message.data &&
                versions.items[0].name.data < message.data + message.len);
}

static void
an_entry_is_read_as_any_message_is(void **state)
{
    (void)state;
    udpai_versions versions = take(
        W_JOIN(W_EMPTY(5), W_MESSAGE(5, W_TEXT(1, "a")), W_MESSAGE(5, W_TEXT(2, "1")),
               W_MESSAGE(5, W_TEXT(2, "1"), W_TEXT(1, "a"), W_TEXT(1, "b"), W_TEXT(2, "2")),
               W_MESSAGE(5, W_VARINT(3, 1), W_TEXT(1, "c"), W_BYTES(7, "\xff"), W_TEXT(2, "3"))));
    assert_int_equal(versions.n, 5);
    assert_version(&versions, 0, "", "");
    assert_non_null(versions.items[0].name.data);
    assert_version(&versions, 1, "a", "");
    assert_version(&versions, 2, "", "1");
    assert_version(&versions, 3, "b", "2");
    assert_version(&versions, 4, "c", "3");
    assert_int_equal(versions.rest.len, 0);
}

/* Around the length whose varint has a second byte; and what follows the version is read, too. */
static void
long_names_and_versions_are_taken(void **state)
{
    (void)state;
    for (size_t len = 126; len <= 129; len++) {
        char name[130] = "", version[130] = "";
        memset(name, 'n', len);
        memset(version, 'v', len);
        udpai_versions versions =
            take(W_JOIN(HELD(name, "1"), HELD("a", version), HELD(name, version),
                        W_MESSAGE(5, W_TEXT(1, "a"), W_TEXT(2, "1"), W_TEXT(1, name))));
        assert_int_equal(versions.n, 4);
        assert_version(&versions, 0, name, "1");
        assert_version(&versions, 1, "a", version);
        assert_version(&versions, 2, name, version);
        assert_version(&versions, 3, name, "1");
    }
    assert_malformed(W_BYTES(5, "\x0a\x01n\x12\x02v"));
    assert_malformed(W_BYTES(5, "\x0a\x01n\x12"));
    assert_malformed(W_BYTES(5, "\x0a\x7fn"));
}

static void
what_is_malformed_is_refused(void **state)
{
    (void)state;
    udpai_str good = HELD("a", "1");
    assert_malformed(W_JOIN(good, UDPAI_STR("\x0a\x7f")));
    assert_malformed(W_JOIN(good, UDPAI_STR("\x0b\x0c")));
    assert_malformed(W_JOIN(W_BYTES(5, "\x0a\x02z"), good));
    assert_malformed(W_JOIN(good, W_BYTES(5, "\x0b\x0c")));
    assert_malformed(W_JOIN(good, W_MESSAGE(5, W_VARINT(1, 1))));
    assert_malformed(W_JOIN(good, W_MESSAGE(5, W_VARINT(2, 1))));
    assert_malformed(W_JOIN(good, W_MESSAGE(5, W_BYTES(1, "a\0b"))));
    assert_malformed(W_JOIN(good, W_MESSAGE(5, W_BYTES(2, "\xff"))));
    /* Though it would not count. */
    assert_malformed(W_MESSAGE(5, W_BYTES(1, "\xff"), W_TEXT(1, "a")));
}

/* As many as the scan allows, with the fields of the entries. */
static void
there_is_a_bound_to_fields(void **state)
{
    (void)state;
    size_t n = 400000;
    static char bytes[1600000];
    udpai_str message = {bytes, 0};
    size_t one_more = 0;
    for (size_t fields = 0; fields <= udpai_scan_fields_max(message); fields += 2) {
        memcpy(bytes + message.len, "\x2a\x02\x0a\x00", 4);
        one_more = message.len;
        message.len += 4;
        assert_true(message.len < sizeof(bytes) && n-- > 0);
    }
    assert_malformed(message);
    message.len = one_more;
    assert_int_equal(take(message).n, one_more / 4);
    memset(bytes, 0, sizeof(bytes));
    for (message.len = 0; message.len < sizeof(bytes); message.len += 2)
        memcpy(bytes + message.len, "\x2a\x00", 2);
    assert_malformed(message);
}

static udpa_err
take_without_memory(void *context)
{
    (void)context;
    udpai_arena own;
    udpai_arena_init(&own);
    static char text[40000];
    memset(text, 'a', sizeof(text) - 1);
    udpai_versions versions;
    udpa_err err = udpai_versions_take(&own, W_JOIN(HELD("a", "1"), W_TEXT(1, text)), 5, &versions);
    udpai_arena_done(&own);
    wire_free_all();
    return err;
}

static void
want_of_memory_is_reported(void **state)
{
    (void)state;
    assert_int_equal(oom_torture(take_without_memory, NULL), 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_message_without_versions_is_all_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(versions_are_taken_from_between_other_fields, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_entry_is_read_as_any_message_is, setup, teardown),
        cmocka_unit_test_setup_teardown(long_names_and_versions_are_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_malformed_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(there_is_a_bound_to_fields, setup, teardown),
        cmocka_unit_test_setup_teardown(want_of_memory_is_reported, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
