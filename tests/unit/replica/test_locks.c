/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of large change sets, as the mirror shows them: whatever is in etcd, in whatever order. */
#include "replica/locks.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/proto.h"
#include "base/strbuf.h"
#include "tests/harness/test.h"

#define ONE "0123456789abcdef0123456789abcdef"
#define TWO "fedcba9876543210fedcba9876543210"

static udpai_locks locks;
static udpai_lock *lock;     /* that was written by the last change */
static udpai_lock_set *done; /* that was committed by it */

static int
setup(void **state)
{
    (void)state;
    udpai_locks_init(&locks);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    udpai_locks_done(&locks);
    return 0;
}

static udpa_err
take(udpai_str key, const udpai_str *value)
{
    lock = (udpai_lock *)1;
    done = (udpai_lock_set *)1;
    return udpai_locks_take(&locks, key, value, &lock, &done);
}

static void
mark(const char *head, const char *set_id, bool is_there)
{
    char key[64];
    const udpai_str value = UDPAI_STR("replica");
    (void)snprintf(key, sizeof(key), "%s%s", head, set_id);
    assert_ok(take(udpai_str_from(key), is_there ? &value : NULL));
    assert_null(lock);
}

/* NULL: of a record that will be deleted. */
static udpa_bytes *
value_of(const char *set_id, const char *text)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *plain = NULL;
    if (text)
        assert_ok(udpa_bytes_new(&plain, text, strlen(text)));
    return udpai_lock_value(set_id, plain);
}

static void
put(const char *key, const char *set_id, const char *text)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = value_of(set_id, text);
    assert_non_null(value);
    const udpai_str view = udpai_bytes_view(value);
    assert_ok(take(udpai_str_from(key), &view));
    assert_non_null(lock);
    assert_null(done);
}

static void
drop(const char *key)
{
    assert_ok(take(udpai_str_from(key), NULL));
    assert_null(lock);
    assert_null(done);
}

static udpai_lock_set *
set_of(const char *set_id)
{
    return udpai_locks_find_set(&locks, udpai_str_from(set_id));
}

static udpai_lock *
lock_of(const char *record)
{
    return udpai_locks_find(&locks, udpai_str_from(record));
}

/* What is there must hang together. */
static void
check(void)
{
    size_t n_sets = 0, n_locks = 0;
    UDPAI_LIST_FOREACH (at, &locks.sets) {
        udpai_lock_set *set = UDPAI_LIST_ENTRY(at, udpai_lock_set, node);
        size_t n = 0;
        n_sets++;
        assert_true(set->n || set->has_intent || set->is_committed);
        assert_ptr_equal(set_of(set->id), set);
        UDPAI_LIST_FOREACH (of, &set->locks) {
            udpai_lock *one = UDPAI_LIST_ENTRY(of, udpai_lock, in_set);
            assert_ptr_equal(one->set, set);
            assert_ptr_equal(udpai_locks_find(&locks, udpai_bytes_view(one->record)), one);
            n++;
        }
        assert_int_equal(set->n, n);
        n_locks += n;
    }
    assert_int_equal(locks.by_id.n, n_sets);
    assert_int_equal(locks.by_record.n, n_locks);
}

/* ---- marks and locks ---- */

static void
only_three_kinds_of_keys_are_its_own(void **state)
{
    (void)state;
    static const char *const own[] = {"i/" ONE, "p/c/a/b", "x/" ONE, "p/x"};
    static const char *const others[] = {"",    "i",   "i/",       "p/",     "c/a", "f/a", "pp/a",
                                         "set", "m/1", "lane/a/0", "tick/a", "i:a", "x"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(own); i++)
        assert_true(udpai_locks_is_key(udpai_str_from(own[i])));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++)
        assert_false(udpai_locks_is_key(udpai_str_from(others[i])));
}

static void
a_set_is_there_from_its_first_key_to_its_last(void **state)
{
    (void)state;
    mark("i/", ONE, true);
    udpai_lock_set *set = set_of(ONE);
    assert_true(set && set->has_intent && !set->is_committed);
    put("p/c/a", ONE, "1");
    assert_ptr_equal(lock_of("c/a"), lock);
    assert_ptr_equal(lock->set, set);
    assert_str(udpai_bytes_view(lock->record), "c/a");
    assert_str(udpai_bytes_view(lock->value), "1");
    put("p/c/b", ONE, NULL);
    assert_null(lock->value);
    assert_int_equal(set->n, 2);
    mark("i/", ONE, false);
    mark("x/", ONE, true);
    assert_ptr_equal(done, set);
    assert_true(!set->has_intent && set->is_committed);
    check();
    drop("p/c/a");
    assert_null(lock_of("c/a"));
    drop("p/c/b");
    assert_ptr_equal(set_of(ONE), set);
    assert_int_equal(set->n, 0);
    mark("x/", ONE, false);
    assert_null(set_of(ONE));
    check();
}

/* As all of it is listed, or comes again. */
static void
its_keys_may_come_in_any_order(void **state)
{
    (void)state;
    put("p/c/a", ONE, "1");
    assert_true(!set_of(ONE)->has_intent && !set_of(ONE)->is_committed);
    mark("x/", ONE, true);
    assert_ptr_equal(done, set_of(ONE));
    mark("x/", ONE, true);
    assert_null(done); /* it was before */
    mark("i/", ONE, true);
    assert_null(done);
    put("p/c/a", ONE, "2");
    assert_str(udpai_bytes_view(lock->value), "2");
    assert_int_equal(set_of(ONE)->n, 1);
    mark("x/", ONE, false);
    assert_null(done);
    mark("i/", ONE, false);
    assert_non_null(set_of(ONE)); /* it was given up, and has a lock */
    check();
    drop("p/c/a");
    assert_null(set_of(ONE));
    drop("p/c/a");
    mark("x/", ONE, false); /* which was never there */
    mark("i/", TWO, false);
    check();
    assert_int_equal(locks.by_id.n, 0);
}

static void
a_lock_may_become_another_sets(void **state)
{
    (void)state;
    put("p/c/a", ONE, "1");
    put("p/c/b", ONE, "1");
    put("p/c/a", TWO, "2");
    assert_ptr_equal(lock_of("c/a")->set, set_of(TWO));
    assert_int_equal(set_of(ONE)->n, 1);
    put("p/c/b", TWO, NULL);
    assert_null(set_of(ONE));
    assert_int_equal(set_of(TWO)->n, 2);
    check();
}

static void
all_is_cleared(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        mark("i/", ONE, true);
        mark("x/", TWO, true);
        for (int i = 0; i < 100; i++) {
            char key[32];
            (void)snprintf(key, sizeof(key), "p/c/%d", i);
            put(key, i % 3 ? ONE : TWO, "1");
        }
        put("p/c/lonely", "00000000000000000000000000000000", "1");
        check();
        udpai_locks_clear(&locks);
        check();
        assert_int_equal(locks.by_id.n, 0);
        assert_null(lock_of("c/1"));
        assert_null(set_of(ONE));
    }
}

/* ---- values ---- */

static void
what_is_written_is_read(void **state)
{
    (void)state;
    static char large[100000];
    memset(large, 'v', sizeof(large) - 1);
    const char *const values[] = {"", "1", large};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(values); i++) {
        put("p/c/a", ONE, values[i]);
        assert_non_null(lock->value); /* an empty one is no deletion */
        assert_str(udpai_bytes_view(lock->value), values[i]);
        assert_string_equal(lock->set->id, ONE);
    }
}

static void
put_malformed(udpai_str value)
{
    put("p/c/a", ONE, "1");
    assert_int_equal(take(UDPAI_STR("p/c/a"), &value), UDPA_ERR_MALFORMED);
    assert_null(lock);
    assert_null(done);
    assert_null(lock_of("c/a"));
    check();
    assert_int_equal(locks.by_id.n, 0);
}

static void
put_id(udpai_str id)
{
    uint8_t room[128];
    udpai_proto_writer writer = {room, 0};
    udpai_proto_put_bytes(&writer, 1, id);
    put_malformed((udpai_str){(const char *)room, writer.size});
}

static void
what_no_replica_writes_is_not_there(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *good = value_of(ONE, "value");
    const udpai_str whole = udpai_bytes_view(good);
    char beyond[64];
    for (size_t n = 0; n < whole.len; n++) /* the set alone would be a deletion */
        if (n != whole.len - 7)
            put_malformed((udpai_str){whole.data, n});
    put_malformed(UDPAI_STR("no message at all"));
    put_malformed(UDPAI_STR("\x12\x01v")); /* of no set */
    put_id(UDPAI_STR(""));
    put_id(UDPAI_STR("0123456789abcdef0123456789abcde"));
    put_id(UDPAI_STR(ONE "0"));
    put_id(UDPAI_STR("0123456789abcdef0123456789abcdeg"));
    put_id(UDPAI_STR("0123456789ABCDEF0123456789ABCDEF"));
    put_id((udpai_str){"0123456789abcdef\0"
                       "123456789abcdef",
                       32});
    put_id((udpai_str){"\0"
                       "123456789abcdef0123456789abcdef",
                       32});
    memcpy(beyond, whole.data, whole.len);
    beyond[whole.len] = '\xff';
    put_malformed((udpai_str){beyond, whole.len + 1});
}

/* Later replicas may add to it. */
static void
unknown_fields_are_skipped(void **state)
{
    (void)state;
    uint8_t room[256];
    udpai_proto_writer writer = {room, 0};
    udpai_proto_put_bytes(&writer, 7, UDPAI_STR("something"));
    udpai_proto_put_varint(&writer, 1, 5);
    udpai_proto_put_bytes(&writer, 1, UDPAI_STR(TWO));
    udpai_proto_put_bytes(&writer, 2, UDPAI_STR("old"));
    udpai_proto_put_varint(&writer, 2, 5);
    udpai_proto_put_bytes(&writer, 1, UDPAI_STR(ONE));
    udpai_proto_put_bytes(&writer, 2, UDPAI_STR("new"));
    udpai_proto_put_varint(&writer, 9, 5);
    const udpai_str value = {(const char *)room, writer.size};
    assert_ok(take(UDPAI_STR("p/c/a"), &value));
    assert_string_equal(lock->set->id, ONE);
    assert_str(udpai_bytes_view(lock->value), "new");
    assert_null(set_of(TWO));
    check();
}

static void
take_bad_mark(udpai_str key)
{
    const udpai_str value = UDPAI_STR("replica");
    assert_int_equal(take(key, &value), UDPA_ERR_MALFORMED);
    assert_null(lock);
    assert_null(done);
    assert_ok(take(key, NULL));
    check();
    assert_int_equal(locks.by_id.n, 0);
}

static void
marks_of_no_set_are_not_there(void **state)
{
    (void)state;
    take_bad_mark(UDPAI_STR("i/1"));
    take_bad_mark(UDPAI_STR("x/" ONE "0"));
    take_bad_mark(UDPAI_STR("x/0123456789abcdef0123456789abcde/"));
    take_bad_mark((udpai_str){"x/\0"
                              "123456789abcdef0123456789abcdef",
                              34});
    take_bad_mark((udpai_str){"i/0\0"
                              "23456789abcdef0123456789abcdef",
                              34});
}

/* ---- memory ---- */

/* What was not taken comes again. */
static void
without_memory_it_comes_again(void **state)
{
    (void)state;
    static const char *const keys[] = {"i/" ONE, "p/c/a", "p/c/b", "p/c/a", "x/" TWO, "p/c/a"};
    static const char *const sets[] = {NULL, ONE, TWO, TWO, NULL, ONE};
    const udpai_str text = UDPAI_STR("replica");
    unsigned n_failed = 0;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(keys); i++) {
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = sets[i] ? value_of(sets[i], "1") : NULL;
        const udpai_str view = value ? udpai_bytes_view(value) : text;
        udpa_err err = UDPA_ERR_NOMEM;
        for (long n = 0; err != UDPA_OK; n++) {
            udpai_alloc_fail_after(n);
            err = take(udpai_str_from(keys[i]), &view);
            udpai_alloc_fail_after(-1);
            assert_true(err == UDPA_OK || err == UDPA_ERR_NOMEM);
            n_failed += err != UDPA_OK;
            if (err != UDPA_OK) {
                assert_null(lock);
                assert_null(done);
            }
            check();
        }
    }
    assert_true(n_failed >= 12);
    assert_ptr_equal(lock_of("c/a")->set, set_of(ONE));
    assert_ptr_equal(lock_of("c/b")->set, set_of(TWO));
    assert_true(set_of(ONE)->has_intent && set_of(TWO)->is_committed);
    udpai_alloc_fail_after(0);
    assert_null(value_of(ONE, NULL));
    udpai_locks_clear(&locks); /* which needs none */
    udpai_alloc_fail_after(-1);
    check();
}

/* ---- all of it at once ---- */

#define RECORDS 12
#define SETS 4

/* Against a table: which set has the lock of a record, and what marks there are. */
static void
whatever_comes_it_is_as_a_table_says(void **state)
{
    (void)state;
    uint64_t chance = 1;
    char ids[SETS][UDPAI_LOCK_SET_LEN + 1];
    int of[RECORDS];
    bool has_intent[SETS] = {false}, is_committed[SETS] = {false};
    for (int i = 0; i < SETS; i++)
        (void)snprintf(ids[i], sizeof(ids[i]), "%032d", i);
    memset(of, -1, sizeof(of));
    for (int step = 0; step < 20000; step++) {
        size_t set = test_random_below(&chance, SETS), record = test_random_below(&chance, RECORDS);
        size_t what = test_random_below(&chance, 40);
        bool is_there = test_random_below(&chance, 2);
        char key[16];
        (void)snprintf(key, sizeof(key), "p/c/%zu", record);
        if (what < 8) {
            mark("i/", ids[set], is_there);
            assert_null(done);
            has_intent[set] = is_there;
        } else if (what < 16) {
            mark("x/", ids[set], is_there);
            assert_ptr_equal(done, is_there && !is_committed[set] ? set_of(ids[set]) : NULL);
            is_committed[set] = is_there;
        } else if (what < 39 && is_there) {
            put(key, ids[set], what % 2 ? "1" : NULL);
            of[record] = (int)set;
        } else if (what < 39) {
            drop(key);
            of[record] = -1;
        } else if (record == 0) {
            udpai_locks_clear(&locks);
            memset(of, -1, sizeof(of));
            memset(has_intent, 0, sizeof(has_intent));
            memset(is_committed, 0, sizeof(is_committed));
        }
        check();
        for (int i = 0; i < SETS; i++) {
            size_t n = 0;
            for (int k = 0; k < RECORDS; k++)
                n += of[k] == i;
            const udpai_lock_set *there = set_of(ids[i]);
            assert_int_equal(there != NULL, n || has_intent[i] || is_committed[i]);
            assert_true(!there || (there->n == n && there->has_intent == has_intent[i] &&
                                   there->is_committed == is_committed[i]));
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_three_kinds_of_keys_are_its_own),
        TEST(a_set_is_there_from_its_first_key_to_its_last),
        TEST(its_keys_may_come_in_any_order),
        TEST(a_lock_may_become_another_sets),
        TEST(all_is_cleared),
        TEST(what_is_written_is_read),
        TEST(what_no_replica_writes_is_not_there),
        TEST(unknown_fields_are_skipped),
        TEST(marks_of_no_set_are_not_there),
        TEST(without_memory_it_comes_again),
        TEST(whatever_comes_it_is_as_a_table_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
