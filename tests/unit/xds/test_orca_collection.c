/* SPDX-License-Identifier: Apache-2.0 */
/* What an OrcaCollection may say. */
#include "xds/orca_collection.h"

#include "orca_test.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"

static udpai_str
backend(const char *address, uint64_t port)
{
    return W_MESSAGE(1, W_TEXT(1, address), W_VARINT(2, port));
}

static udpai_str
interval(int64_t seconds, int64_t nanos)
{
    return W_MESSAGE(2, W_VARINT(1, (uint64_t)seconds), W_VARINT(2, (uint64_t)nanos));
}

static udpa_err
make(udpai_str value, udpa_resource **ret_resource)
{
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_ORCA_COLLECTION), value);
    if (!any)
        return UDPA_ERR_NOMEM;
    const udpai_resource_parts parts = {.name = UDPAI_STR("com.acme/a"), .any = any};
    udpa_err err = udpai_resource_make(ret_resource, &parts);
    udpa_bytes_unref(any);
    return err;
}

static void
expect_refused(udpai_str value, udpa_err code, const char *words)
{
    udpai_arena arena;
    udpai_orca_collection collection;
    udpa_resource *resource = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_ok(make(value, &resource));
    udpai_arena_init(&arena);
    assert_int_equal(udpai_orca_collection_read(&arena, resource, &collection, &error), code);
    udpai_arena_done(&arena);
    udpa_resource_unref(resource);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
}

static void
all_of_it_is_read(void **state)
{
    udpai_arena arena;
    udpai_orca_collection collection;
    udpa_resource *resource = NULL;
    (void)state;
    assert_ok(make(W_JOIN(backend("b.acme", 2), backend("::1", 65535), backend("b.acme", 1),
                          interval(1, 500000000), W_TEXT(3, "mesh")),
                   &resource));
    udpai_arena_init(&arena);
    assert_ok(udpai_orca_collection_read(&arena, resource, &collection, NULL));
    assert_str(collection.credential, "mesh");
    assert_int_equal(collection.n_backends, 3);
    assert_str(collection.backends[0].address, "::1");
    assert_int_equal(collection.backends[0].port, 65535);
    assert_str(collection.backends[1].address, "b.acme");
    assert_int_equal(collection.backends[1].port, 1);
    assert_int_equal(collection.backends[2].port, 2);
    for (size_t i = 0; i < 3; i++) {
        assert_str(collection.backends[i].cluster, "com.acme/a");
        assert_int_equal(collection.backends[i].interval_ms, 1500);
    }
    udpai_arena_done(&arena);
    udpa_resource_unref(resource);
}

static void
hosts_are_named_in_any_letters(void **state)
{
    static const char *const hosts[] = {"aZ09.Az-_", "fe80::1:9", "ZZ", "zz",
                                        "AA",        "aa",        "00", "99"};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(hosts); i++) {
        udpai_arena arena;
        udpai_orca_collection collection;
        udpa_resource *resource = NULL;
        assert_ok(make(backend(hosts[i], 1), &resource));
        udpai_arena_init(&arena);
        assert_ok(udpai_orca_collection_read(&arena, resource, &collection, NULL));
        assert_str(collection.backends[0].address, hosts[i]);
        udpai_arena_done(&arena);
        udpa_resource_unref(resource);
    }
    expect_refused(backend("a@b", 1), UDPA_ERR_INVAL, "the address");
    expect_refused(backend("a`b", 1), UDPA_ERR_INVAL, "the address");
    expect_refused(backend("a{b", 1), UDPA_ERR_INVAL, "the address");
    expect_refused(backend("a/b", 1), UDPA_ERR_INVAL, "the address");
}

static void
little_is_enough(void **state)
{
    udpai_arena arena;
    udpai_orca_collection collection;
    udpa_resource *resource = NULL;
    (void)state;
    assert_ok(make(backend("127.0.0.1", 1), &resource));
    udpai_arena_init(&arena);
    assert_ok(udpai_orca_collection_read(&arena, resource, &collection, NULL));
    assert_int_equal(collection.credential.len, 0);
    assert_int_equal(collection.backends[0].interval_ms, 10000);
    udpai_arena_done(&arena);
    udpa_resource_unref(resource);
}

static void
what_may_not_be_is_refused(void **state)
{
    char longer[300] = {0};
    udpai_str many = W_NOTHING;
    (void)state;
    memset(longer, 'x', sizeof(longer) - 1);
    expect_refused(backend("", 1), UDPA_ERR_INVAL, "OrcaCollection 'com.acme/a': the address ''");
    expect_refused(backend("a b", 1), UDPA_ERR_INVAL, "the address 'a b'");
    expect_refused(backend("[::1]", 1), UDPA_ERR_INVAL, "without brackets");
    expect_refused(backend("unix:/x", 1), UDPA_ERR_INVAL, "the address");
    expect_refused(backend(longer, 1), UDPA_ERR_INVAL, "the address");
    expect_refused(backend("a", 0), UDPA_ERR_INVAL, "the port 0");
    expect_refused(backend("a", 65536), UDPA_ERR_INVAL, "the port 65536");
    expect_refused(W_JOIN(backend("a", 1), backend("b", 1), backend("a", 1)), UDPA_ERR_INVAL,
                   "a, port 1, is there twice");
    expect_refused(interval(0, 99000000), UDPA_ERR_INVAL, "from 100 ms to an hour");
    expect_refused(interval(0, 0), UDPA_ERR_INVAL, "from 100 ms to an hour");
    expect_refused(interval(-1, 0), UDPA_ERR_INVAL, "is -1 s");
    expect_refused(interval(3600, 1000000), UDPA_ERR_INVAL, "is 3600 s");
    expect_refused(interval(1, 1000000000), UDPA_ERR_INVAL, "1000000000 ns");
    expect_refused(W_TEXT(3, longer), UDPA_ERR_INVAL, "its credential is longer");
    expect_refused(UDPAI_STR("\x0a\x7f"), UDPA_ERR_MALFORMED, "malformed");
    for (unsigned i = 0; i <= UDPAI_ORCA_BACKENDS_MAX; i++)
        many = W_JOIN(many, backend("a", 1 + i));
    expect_refused(many, UDPA_ERR_LIMIT, "1001 backends");
}

static udpa_err
read_with_little_memory(void *context)
{
    udpai_arena arena;
    udpai_orca_collection collection;
    udpa_resource *resource = NULL;
    udpa_err err = make(*(udpai_str *)context, &resource);
    if (err != UDPA_OK)
        return err;
    udpai_arena_init(&arena);
    err = udpai_orca_collection_read(&arena, resource, &collection, NULL);
    udpai_arena_done(&arena);
    udpa_resource_unref(resource);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    udpai_str value = W_JOIN(backend("a", 1), interval(1, 0));
    (void)state;
    oom_torture(read_with_little_memory, &value);
}

static int
clean(void **state)
{
    (void)state;
    wire_free_all();
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(all_of_it_is_read, clean),
        cmocka_unit_test_teardown(hosts_are_named_in_any_letters, clean),
        cmocka_unit_test_teardown(little_is_enough, clean),
        cmocka_unit_test_teardown(what_may_not_be_is_refused, clean),
        cmocka_unit_test_teardown(without_memory_nothing_is_left, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
