/* SPDX-License-Identifier: Apache-2.0 */
/* An older etcd, and replicas that do not have the keys of all secrets: what one of them cannot
 * read is neither lost by that, nor overwritten. */
#include "tests/unit/federation/replicas_held_bed.h"

#include "base/proto.h"

static void
set_keys(replica *self, const char *keys)
{
    self->keys = keys;
    udpai_replicator_set_keys(self->replicator, udpai_str_from(keys));
    run_ms(100);
}

static void
set_all_keys(const char *keys)
{
    for (size_t i = 0; i < NODES; i++)
        set_keys(&replicas[i], keys);
}

/* All have the key A. */
static int
setup_keys(void **state)
{
    setup(state);
    for (size_t i = 0; i < NODES; i++) {
        take_down(&replicas[i]);
        replicas[i].keys = "A";
        bring_up(&replicas[i]);
    }
    run_ms(20000);
    assert_all(UDPAI_REPLICATION_CURRENT);
    return 0;
}

static void
put_secret(replica *by, const char *name, const char *value)
{
    published = SECRET;
    put(by, name, value);
    published = TEST_CDS;
}

static const etcd_model_event *
find_secret(const char *name, int64_t revision)
{
    char key[300];
    (void)snprintf(key, sizeof(key), PREFIX "c/com.acme/test.Secret/%s/publisher:alice%%2Falice",
                   name);
    return etcd_model_find(&model, udpai_str_from(key), revision);
}

/* The letter of the key; 0: it is not there. */
static char
sealed_with(const char *name)
{
    const etcd_model_event *record = find_secret(name, model.revision);
    udpai_str sealed = record ? udpai_proto_last_bytes(record->value, 1) : (udpai_str){0};
    return (char)(sealed.len ? sealed.data[0] : 0);
}

/* ---- all keys are there ---- */

static void
secrets_are_written_back_sealed(void **state)
{
    (void)state;
    put_secret(&replicas[0], "old", "plain-text-of-the-old-one");
    int64_t snapshot = model.revision;
    put_secret(&replicas[0], "old", "plain-text-of-the-new-one");
    put_secret(&replicas[1], "new", "plain-text-of-another-one");
    char *expected = has(&replicas[0]);
    restore(snapshot, true);
    n_changes = 0;
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_all_have(expected);
    assert_int_equal(n_changes, 0);
    assert_int_equal(sealed_with("old"), 'A');
    assert_int_equal(sealed_with("new"), 'A');
    free(expected);
}

/* ---- one that lacks a key ---- */

/* The first one does not have what the others have encrypted with another key. */
static void
lock_one(void)
{
    put_secret(&replicas[0], "s", "1");
    set_keys(&replicas[1], "BA");
    set_keys(&replicas[2], "BA");
    put_secret(&replicas[1], "s", "2");
    assert_int_equal(sealed_with("s"), 'B');
    assert_non_null(udpai_node_replica_status(replicas[0].node)->locked);
    put(&replicas[0], "plain", "3");
}

/* Of two with one number the one that has all writes, though its id is not the first. */
static void
one_that_has_all_writes_for_one_that_has_not(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    lock_one();
    char *expected = has(&replicas[1]), *of_first = has(&replicas[0]);
    assert_string_not_equal(expected, of_first);
    restore(snapshot, false);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_has(&replicas[0], of_first);
    assert_has(&replicas[1], expected);
    assert_has(&replicas[2], expected);
    assert_int_equal(sealed_with("s"), 'B');
    set_keys(&replicas[0], "AB");
    assert_has(&replicas[0], expected);
    free(expected);
    free(of_first);
}

/* The others are behind, and the secret is theirs alone. Returns the snapshot. */
static int64_t
make_first_the_newest(void)
{
    int64_t snapshot = model.revision;
    lock_one();
    take_down(&replicas[1]);
    take_down(&replicas[2]);
    run_ms(15000);
    put(&replicas[0], "alone", "4");
    return snapshot;
}

static void
assert_nothing_is_written(void)
{
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_HELD);
    assert_false(etcd_has(UDPAI_BACK_KEY));
    for (size_t i = 0; i < NODES; i++)
        assert_non_null(strstr(next_of(&replicas[i]), "cannot decrypt all secrets"));
}

static void
assert_all_have_all(void)
{
    assert_all(UDPAI_REPLICATION_CURRENT);
    for (size_t i = 0; i < NODES; i++) {
        char *text = has(&replicas[i]);
        assert_non_null(strstr(text, "com.acme/s=2/"));
        assert_non_null(strstr(text, "com.acme/alone=4/"));
        free(text);
    }
}

static void
the_newest_does_not_write_what_it_has_not(void **state)
{
    (void)state;
    int64_t snapshot = make_first_the_newest();
    restore(snapshot, true);
    bring_up(&replicas[1]);
    bring_up(&replicas[2]);
    assert_nothing_is_written();
    set_keys(&replicas[0], "AB");
    run_ms(SETTLE_MS);
    assert_all_have_all();
}

/* After a restart it does not know any more what it could not read. */
static void
nor_does_it_after_a_restart(void **state)
{
    (void)state;
    int64_t snapshot = make_first_the_newest();
    run_ms(1000);
    take_down(&replicas[0]);
    restore(snapshot, true);
    for (size_t i = 0; i < NODES; i++)
        bring_up(&replicas[i]);
    assert_nothing_is_written();
    set_keys(&replicas[0], "AB");
    assert_nothing_is_written();
    udpai_replicator_answer_hold(replicas[0].replicator, UDPAI_HOLD_PUSH);
    run_ms(SETTLE_MS);
    assert_int_equal(state_of(&replicas[0]), UDPAI_REPLICATION_CURRENT);
    assert_int_equal(state_of(&replicas[1]), UDPAI_REPLICATION_HELD); /* it has more */
    udpai_replicator_answer_hold(replicas[1].replicator, UDPAI_HOLD_PUSH);
    run_ms(SETTLE_MS);
    assert_all_have_all();
}

/* By an operator it is made to write: what it could not read, as it was. */
static void
what_could_not_be_read_is_written_back_as_it_was(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    lock_one();
    udpai_str before = find_secret("s", model.revision)->value;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *copy = NULL;
    assert_ok(udpa_bytes_new(&copy, before.data, before.len));
    take_down(&replicas[1]);
    take_down(&replicas[2]);
    restore(snapshot, true);
    run_ms(15000);
    assert_int_equal(hold_of(&replicas[0])->difference.n_missing, 2);
    udpai_replicator_answer_hold(replicas[0].replicator, UDPAI_HOLD_PUSH);
    run_ms(10000);
    assert_int_equal(state_of(&replicas[0]), UDPAI_REPLICATION_CURRENT);
    const etcd_model_event *after = find_secret("s", model.revision);
    assert_true(after && udpai_str_eq(after->value, udpai_bytes_view(copy)));
}

/* ---- what etcd has ---- */

/* A snapshot of before the key was changed, of which nobody has the key. */
static void
what_cannot_be_decrypted_is_not_overwritten(void **state)
{
    (void)state;
    put_secret(&replicas[0], "s", "1");
    int64_t snapshot = model.revision;
    set_all_keys("BA");
    put_secret(&replicas[0], "s", "2");
    put(&replicas[0], "new", "2");
    set_all_keys("B");
    char *expected = has(&replicas[0]);
    restore(snapshot, true);
    assert_nothing_is_written();
    assert_int_equal(hold_of(&replicas[0])->difference.n_locked, 1);
    udpai_replicator_answer_hold(replicas[0].replicator, UDPAI_HOLD_PUSH);
    run_ms(10000);
    assert_int_equal(state_of(&replicas[0]), UDPAI_REPLICATION_CURRENT);
    assert_int_equal(sealed_with("s"), 'A');
    assert_true(etcd_has_record("new"));
    assert_has(&replicas[0], expected); /* is served as before */
    assert_non_null(udpai_node_replica_status(replicas[0].node)->locked);
    free(expected);
}

static void
with_the_key_it_is_compared_again(void **state)
{
    (void)state;
    put_secret(&replicas[0], "s", "1");
    int64_t snapshot = model.revision;
    set_all_keys("BA");
    put_secret(&replicas[0], "s", "2");
    set_all_keys("B");
    char *expected = has(&replicas[0]);
    restore(snapshot, true);
    assert_nothing_is_written();
    set_keys(&replicas[2], "BA");
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_all_have(expected);
    assert_int_equal(sealed_with("s"), 'B');
    assert_null(udpai_node_replica_status(replicas[0].node)->locked);
    free(expected);
}

static void
without_any_key_nothing_is_written(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    put_secret(&replicas[0], "s", "1");
    put(&replicas[0], "new", "2");
    restore(snapshot, true);
    run_ms(100);
    set_all_keys("");
    assert_nothing_is_written();
    set_all_keys("A");
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_int_equal(sealed_with("s"), 'A');
}

/* Revisions are lower after a restore; numbers of commits are not. */
static void
commits_go_on_counting_when_it_is_decrypted(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    for (int i = 0; i < 5; i++)
        put(&replicas[0], "new", i % 2 ? "1" : "2");
    restore(snapshot, true);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    lock_one();
    uint64_t before = replicas[0].node->context.n_commits;
    set_keys(&replicas[0], "AB");
    assert_null(udpai_node_replica_status(replicas[0].node)->locked);
    assert_true(replicas[0].node->context.n_commits >= before);
}

/* ---- what rules hide ---- */

/* Its rules allow no publisher any more. */
static void
hide_all(replica *self)
{
    const udpai_str nobody = UDPAI_STR("nobody");
    const udpai_acl_rule rule = {
        .name = UDPAI_STR("publishers"),
        .identities = &nobody,
        .n_identities = 1,
        .actions = UDPAI_ACL_PUBLISH,
    };
    udpai_acl *acl = NULL;
    assert_ok(udpai_acl_new(&acl, &(udpai_acl_options){.rules = &rule, .n_rules = 1}));
    udpai_node_set_acl(self->node, acl);
    udpai_acl_unref(acl);
    run_ms(1000);
}

static void
what_the_newest_hides_is_no_loss(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    char *expected = go_on();
    take_down(&replicas[1]);
    run_ms(15000);
    put(&replicas[2], "later", "3");
    hide_all(&replicas[0]);
    take_down(&replicas[2]);
    assert_has(&replicas[0], "");
    restore(snapshot, true);
    bring_up(&replicas[1]);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_HELD);
    assert_false(etcd_has(UDPAI_BACK_KEY));
    assert_has(&replicas[1], expected);
    bring_up(&replicas[2]); /* which has all */
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_HELD);
    assert_non_null(strstr(next_of(&replicas[2]), "its rules hide resources"));
    udpai_replicator_answer_hold(replicas[2].replicator, UDPAI_HOLD_PUSH);
    run_ms(5000);
    udpai_replicator_answer_hold(replicas[0].replicator, UDPAI_HOLD_ACCEPT);
    run_ms(5000);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_true(has_name(&replicas[1], "later") && etcd_has_record("new"));
    free(expected);
}

/* ---- what else waits ---- */

static uint64_t
n_rebalances(const replica *self)
{
    return udpai_node_replica_status(self->node)->n_rebalances;
}

/* Neither one that is asked for while it holds, nor an old one that comes with a snapshot. */
static void
streams_are_not_rebalanced_by_a_restore(void **state)
{
    (void)state;
    udpai_replicator_rebalance(replicas[0].replicator, 1000);
    run_ms(1000);
    int64_t snapshot = model.revision;
    udpai_replicator_rebalance(replicas[0].replicator, 1000);
    run_ms(1000);
    assert_int_equal(n_rebalances(&replicas[1]), 2);
    put(&replicas[0], "new", "2");
    restore(snapshot, true);
    run_ms(5000);
    assert_all(UDPAI_REPLICATION_HELD);
    const udpai_str key = UDPAI_STR(PREFIX "rebalance");
    const etcd_model_event *before = etcd_model_find(&model, key, model.revision);
    udpai_replicator_rebalance(replicas[0].replicator, 1000);
    run_ms(1000);
    assert_ptr_equal(etcd_model_find(&model, key, model.revision), before);
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    for (size_t i = 0; i < NODES; i++)
        assert_int_equal(n_rebalances(&replicas[i]), 2);
    udpai_replicator_rebalance(replicas[0].replicator, 1000);
    run_ms(1000);
    assert_int_equal(n_rebalances(&replicas[1]), 3);
}

#define TEST_KEYS(name) cmocka_unit_test_setup_teardown(name, setup_keys, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_KEYS(secrets_are_written_back_sealed),
        TEST_KEYS(one_that_has_all_writes_for_one_that_has_not),
        TEST_KEYS(the_newest_does_not_write_what_it_has_not),
        TEST_KEYS(nor_does_it_after_a_restart),
        TEST_KEYS(what_could_not_be_read_is_written_back_as_it_was),
        TEST_KEYS(what_cannot_be_decrypted_is_not_overwritten),
        TEST_KEYS(with_the_key_it_is_compared_again),
        TEST_KEYS(without_any_key_nothing_is_written),
        TEST_KEYS(commits_go_on_counting_when_it_is_decrypted),
        TEST_KEYS(what_the_newest_hides_is_no_loss),
        TEST_KEYS(streams_are_not_rebalanced_by_a_restore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
