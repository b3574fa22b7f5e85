/* SPDX-License-Identifier: Apache-2.0 */
/* Requests are compared with bytes written by hand, and responses are. */
#include "etcd/messages.h"

#include "tests/harness/oom.h"
#include "tests/harness/test.h"
#include "tests/harness/wire.h"

#define HEADER W_MESSAGE(1, W_VARINT(1, 11), W_VARINT(2, 12), W_VARINT(3, 13), W_VARINT(4, 14))
#define KV(key, value, mod)                                                                        \
    W_TEXT(1, key), W_VARINT(2, 3), W_VARINT(3, mod), W_VARINT(4, 2), W_TEXT(5, value)

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

/* ---- requests ---- */

static void
assert_encoded(udpa_bytes *bytes, udpai_str expected)
{
    assert_non_null(bytes);
    assert_int_equal(udpa_bytes_size(bytes), expected.len);
    assert_memory_equal(udpa_bytes_data(bytes), expected.data, expected.len);
    udpa_bytes_unref(bytes);
}

static void
a_range(void **state)
{
    (void)state;
    const udpai_etcd_range all = {
        .key = UDPAI_STR("a"),
        .end = UDPAI_STR("b"),
        .revision = 7,
        .limit = 100,
        .is_serializable = true,
        .keys_only = true,
    };
    assert_encoded(udpai_etcd_encode_range(&all),
                   W_JOIN(W_TEXT(1, "a"), W_TEXT(2, "b"), W_VARINT(3, 100), W_VARINT(4, 7),
                          W_VARINT(7, 1), W_VARINT(8, 1)));
    const udpai_etcd_range one = {.key = UDPAI_STR("a")};
    assert_encoded(udpai_etcd_encode_range(&one), W_TEXT(1, "a"));
}

/* A revision of 0 is compared, not left out: it stands for a key that is not there. */
static void
a_transaction(void **state)
{
    (void)state;
    const udpai_etcd_compare compares[] = {
        {UDPAI_ETCD_COMPARE_MOD_REVISION, UDPAI_STR("a"), 0},
        {UDPAI_ETCD_COMPARE_CREATE_REVISION, UDPAI_STR("e"), 5},
    };
    const udpai_etcd_op ops[] = {
        {UDPAI_ETCD_OP_PUT, .key = UDPAI_STR("a"), .value = UDPAI_STR("v"), .lease = 9},
        {UDPAI_ETCD_OP_DELETE, .key = UDPAI_STR("b"), .end = UDPAI_STR("c")},
    };
    const udpai_etcd_op others[] = {
        {UDPAI_ETCD_OP_RANGE, .key = UDPAI_STR("a"), .end = UDPAI_STR("b"), .keys_only = true}};
    const udpai_etcd_txn txn = {compares, ops, others, 2, 2, 1};
    assert_encoded(
        udpai_etcd_encode_txn(&txn),
        W_JOIN(W_MESSAGE(1, W_VARINT(2, 2), W_TEXT(3, "a"), W_VARINT(6, 0)),
               W_MESSAGE(1, W_VARINT(2, 1), W_TEXT(3, "e"), W_VARINT(5, 5)),
               W_MESSAGE(2, W_MESSAGE(2, W_TEXT(1, "a"), W_TEXT(2, "v"), W_VARINT(3, 9))),
               W_MESSAGE(2, W_MESSAGE(3, W_TEXT(1, "b"), W_TEXT(2, "c"))),
               W_MESSAGE(3, W_MESSAGE(1, W_TEXT(1, "a"), W_TEXT(2, "b"), W_VARINT(8, 1)))));
    const udpai_etcd_txn nothing = {0};
    assert_encoded(udpai_etcd_encode_txn(&nothing), W_NOTHING);
}

static void
leases_and_the_others(void **state)
{
    (void)state;
    assert_encoded(udpai_etcd_encode_lease_grant(60), W_VARINT(1, 60));
    assert_encoded(udpai_etcd_encode_lease_keep_alive(77), W_VARINT(1, 77));
    assert_encoded(udpai_etcd_encode_status(), W_NOTHING);
    assert_encoded(udpai_etcd_encode_authenticate("me", "secret"),
                   W_JOIN(W_TEXT(1, "me"), W_TEXT(2, "secret")));
}

static void
a_watch(void **state)
{
    (void)state;
    assert_encoded(udpai_etcd_encode_watch(UDPAI_STR("a"), UDPAI_STR("b"), 5),
                   W_MESSAGE(1, W_TEXT(1, "a"), W_TEXT(2, "b"), W_VARINT(3, 5), W_VARINT(4, 1),
                             W_VARINT(8, 1)));
    assert_encoded(udpai_etcd_encode_watch_progress(), W_BYTES(3, ""));
}

/* ---- responses ---- */

static void
assert_header(const udpai_etcd_header *header)
{
    assert_int_equal(header->cluster_id, 11);
    assert_int_equal(header->member_id, 12);
    assert_int_equal(header->revision, 13);
    assert_int_equal(header->raft_term, 14);
}

static void
assert_kv(const udpai_etcd_kv *kv, const char *key, const char *value, int64_t mod_revision)
{
    assert_str(kv->key, key);
    assert_str(kv->value, value);
    assert_int_equal(kv->mod_revision, mod_revision);
}

static void
keys_of_a_range(void **state)
{
    (void)state;
    udpai_etcd_result result = {0};
    assert_ok(udpai_etcd_decode_range(&arena,
                                      W_JOIN(HEADER, W_MESSAGE(2, KV("a", "1", 7)),
                                             W_MESSAGE(2, KV("b", "", 8), W_VARINT(6, 99)),
                                             W_VARINT(3, 1), W_VARINT(4, 12)),
                                      &result));
    assert_header(&result.header);
    assert_true(result.has_more);
    assert_int_equal(result.n_kvs, 2);
    assert_kv(&result.kvs[0], "a", "1", 7);
    assert_kv(&result.kvs[1], "b", "", 8);
    assert_int_equal(result.kvs[0].create_revision, 3);
    assert_int_equal(result.kvs[0].version, 2);
    assert_int_equal(result.kvs[1].lease, 99);
}

/* Those of all ranges, one behind the other; what else there is has none. */
static void
keys_of_a_transaction(void **state)
{
    (void)state;
    udpai_str range_a = W_MESSAGE(3, W_MESSAGE(1, W_MESSAGE(2, KV("a", "1", 7))));
    udpai_str put = W_MESSAGE(3, W_MESSAGE(2, HEADER));
    udpai_str empty = W_MESSAGE(3, W_BYTES(1, ""));
    udpai_str range_b = W_MESSAGE(3, W_MESSAGE(1, W_MESSAGE(2, KV("b", "2", 8))));
    udpai_etcd_result result = {0};
    assert_ok(udpai_etcd_decode_txn(
        &arena, W_JOIN(HEADER, W_VARINT(2, 1), range_a, put, empty, range_b), &result));
    assert_header(&result.header);
    assert_true(result.succeeded);
    assert_int_equal(result.n_kvs, 2);
    assert_kv(&result.kvs[0], "a", "1", 7);
    assert_kv(&result.kvs[1], "b", "2", 8);
}

static void
a_lease_that_was_not_granted_is_none(void **state)
{
    (void)state;
    udpai_etcd_result result = {0};
    udpai_str granted = W_JOIN(HEADER, W_VARINT(2, 5), W_VARINT(3, 60));
    assert_ok(udpai_etcd_decode_lease_grant(&arena, granted, &result));
    assert_int_equal(result.lease, 5);
    assert_int_equal(result.ttl_s, 60);
    assert_ok(udpai_etcd_decode_lease_grant(&arena, W_JOIN(granted, W_TEXT(4, "no")), &result));
    assert_int_equal(result.lease, 0);
}

static void
alarms_are_read_out_of_the_status(void **state)
{
    (void)state;
    udpai_etcd_result result = {0};
    assert_ok(udpai_etcd_decode_status(
        &arena,
        W_JOIN(HEADER, W_TEXT(2, "3.6.1"), W_VARINT(3, 1000), W_VARINT(4, 42), W_VARINT(9, 900),
               W_TEXT(8, "memberID:5 alarm:NOSPACE "), W_VARINT(12, 2000)),
        &result));
    assert_str(result.status.version, "3.6.1");
    assert_int_equal(result.status.size_bytes, 1000);
    assert_int_equal(result.status.used_bytes, 900);
    assert_int_equal(result.status.quota_bytes, 2000);
    assert_int_equal(result.status.leader, 42);
    assert_true(result.status.has_no_space);
    assert_false(result.status.is_corrupt);
    assert_ok(udpai_etcd_decode_status(&arena, W_TEXT(8, "memberID:5 alarm:CORRUPT "), &result));
    assert_true(result.status.is_corrupt);
    assert_false(result.status.has_no_space);
}

static void
changes_of_a_watch(void **state)
{
    (void)state;
    udpai_etcd_changes changes;
    assert_ok(udpai_etcd_decode_watch(
        &arena,
        W_JOIN(HEADER, W_VARINT(7, 1), W_MESSAGE(11, W_MESSAGE(2, KV("a", "1", 7))),
               W_MESSAGE(11, W_VARINT(1, 1), W_MESSAGE(2, W_TEXT(1, "b"), W_VARINT(3, 7)))),
        &changes));
    assert_header(&changes.header);
    assert_true(changes.is_part);
    assert_false(changes.is_created || changes.is_cancelled);
    assert_int_equal(changes.n_events, 2);
    assert_false(changes.events[0].is_delete);
    assert_kv(&changes.events[0].kv, "a", "1", 7);
    assert_true(changes.events[1].is_delete);
    assert_kv(&changes.events[1].kv, "b", "", 7);
}

static void
the_end_of_a_watch(void **state)
{
    (void)state;
    udpai_etcd_changes changes;
    assert_ok(udpai_etcd_decode_watch(
        &arena, W_JOIN(W_VARINT(3, 1), W_VARINT(4, 1), W_VARINT(5, 30), W_TEXT(6, "why")),
        &changes));
    assert_true(changes.is_created && changes.is_cancelled);
    assert_int_equal(changes.compact_revision, 30);
    assert_str(changes.reason, "why");
    assert_int_equal(changes.header.revision, 0);
}

static void
a_token(void **state)
{
    (void)state;
    udpai_str token;
    assert_ok(udpai_etcd_decode_authenticate(&arena, W_JOIN(HEADER, W_TEXT(2, "abc.5")), &token));
    assert_str(token, "abc.5");
}

/* An event of no key cannot be applied. */
static void
what_is_malformed_is_refused(void **state)
{
    (void)state;
    static const udpai_etcd_decode_fn decode[] = {
        udpai_etcd_decode_range,        udpai_etcd_decode_txn,
        udpai_etcd_decode_lease_grant,  udpai_etcd_decode_lease_keep_alive,
        udpai_etcd_decode_lease_revoke, udpai_etcd_decode_status,
    };
    udpai_str cut = {"\x0a\x09\x08", 3};
    udpai_etcd_changes changes;
    udpai_str token;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(decode); i++) {
        udpai_etcd_result result = {0};
        assert_int_equal(decode[i](&arena, cut, &result), UDPA_ERR_MALFORMED);
    }
    assert_int_equal(udpai_etcd_decode_watch(&arena, cut, &changes), UDPA_ERR_MALFORMED);
    assert_int_equal(udpai_etcd_decode_authenticate(&arena, cut, &token), UDPA_ERR_MALFORMED);
    assert_int_equal(udpai_etcd_decode_watch(&arena, W_MESSAGE(11, W_VARINT(1, 1)), &changes),
                     UDPA_ERR_MALFORMED);
}

/* ---- without memory ---- */

static udpa_err
encode_and_decode(void *context)
{
    udpai_arena own;
    udpai_etcd_result result = {0};
    udpai_etcd_changes changes;
    const udpai_str *messages = context;
    const udpai_etcd_compare compare = {UDPAI_ETCD_COMPARE_MOD_REVISION, UDPAI_STR("a"), 0};
    const udpai_etcd_op ops[] = {
        {UDPAI_ETCD_OP_PUT, .key = UDPAI_STR("a")},
        {UDPAI_ETCD_OP_DELETE, .key = UDPAI_STR("b")},
    };
    const udpai_etcd_txn txn = {&compare, ops, NULL, 1, 2, 0};
    udpa_bytes *bytes = udpai_etcd_encode_txn(&txn);
    if (!bytes)
        return UDPA_ERR_NOMEM;
    udpa_bytes_unref(bytes);
    udpai_arena_init(&own);
    udpa_err err = udpai_etcd_decode_txn(&own, messages[0], &result);
    if (err == UDPA_OK)
        err = udpai_etcd_decode_watch(&own, messages[1], &changes);
    udpai_arena_done(&own);
    return err;
}

static void
without_memory_it_is_said(void **state)
{
    (void)state;
    const udpai_str messages[] = {
        W_MESSAGE(3, W_MESSAGE(1, W_MESSAGE(2, KV("a", "1", 7)))),
        W_MESSAGE(11, W_MESSAGE(2, KV("a", "1", 7))),
    };
    oom_torture(encode_and_decode, (void *)(uintptr_t)messages);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_range, setup, teardown),
        cmocka_unit_test_setup_teardown(a_transaction, setup, teardown),
        cmocka_unit_test_setup_teardown(leases_and_the_others, setup, teardown),
        cmocka_unit_test_setup_teardown(a_watch, setup, teardown),
        cmocka_unit_test_setup_teardown(keys_of_a_range, setup, teardown),
        cmocka_unit_test_setup_teardown(keys_of_a_transaction, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lease_that_was_not_granted_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(alarms_are_read_out_of_the_status, setup, teardown),
        cmocka_unit_test_setup_teardown(changes_of_a_watch, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_of_a_watch, setup, teardown),
        cmocka_unit_test_setup_teardown(a_token, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_malformed_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_it_is_said, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
