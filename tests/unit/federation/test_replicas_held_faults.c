/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas that hold, killed and disturbed, and whatever somebody has put into etcd. */
#include "tests/unit/federation/replicas_held_bed.h"

/* ---- what may go wrong ---- */

/* Whoever is killed while it writes back, at whatever time, and whatever is lost: the others, or
 * the same, go on. */
static void
check_killed(uint64_t seed)
{
    int64_t snapshot = model.revision;
    put_many(&replicas[0], 120, "1");
    char *expected = has(&replicas[0]);
    model.random = seed;
    model.faults = (etcd_faults){
        .lost_requests = (unsigned)(seed % 3) * 20,
        .lost_responses = (unsigned)(seed % 5) * 10,
        .late_requests = (unsigned)(seed % 2) * 20,
        .latency_ms = 3,
    };
    restore(snapshot, seed % 2);
    for (uint64_t ms = 0; ms < SETTLE_MS && !etcd_has(UDPAI_BACK_KEY); ms += 5)
        run_ms(5);
    assert_true(etcd_has(UDPAI_BACK_KEY));
    run_ms(seed * 2);
    size_t killed = seed % 4;
    if (killed < NODES)
        take_down(&replicas[killed]);
    run_ms(SETTLE_MS);
    if (killed < NODES)
        bring_up(&replicas[killed]);
    model.faults = (etcd_faults){.latency_ms = 3};
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_all_have(expected);
    assert_int_equal(n_records(), 123);
    free(expected);
}

static void
one_that_is_killed_while_it_writes_is_no_loss(void **state)
{
    for (uint64_t seed = 1; seed <= 24; seed++) {
        check_killed(seed);
        teardown(state);
        setup(state);
    }
}

/* Whatever somebody has put there. */
static void
what_cannot_be_read_writes_nothing_back(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    char *expected = go_on();
    restore(snapshot, true);
    etcd_model_put(&model, PREFIX "h/four", "\xff\xff");
    etcd_model_put(&model, PREFIX "back", "\x08");
    etcd_model_put(&model, PREFIX "m/5", "\xff");
    etcd_model_put(&model, PREFIX "c/rubbish", "\xff");
    etcd_model_put(&model, PREFIX "p/rubbish", "\xff");
    etcd_model_put(&model, record_of("kept"), "\xff\xff");
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_HELD);
    assert_all_have(expected);
    assert_non_null(strstr(next_of(&replicas[0]), "cannot be read"));
    assert_int_equal(hold_of(&replicas[0])->difference.n_other, 1);
    etcd_model_put(&model, PREFIX "h/four", NULL);
    etcd_model_put(&model, PREFIX "m/5", NULL);
    udpai_replicator_answer_hold(replicas[0].replicator, UDPAI_HOLD_PUSH);
    run_ms(10000);
    assert_all(UDPAI_REPLICATION_CURRENT);
    assert_all_have(expected);
    free(expected);
}

/* More than any set has. */
static void
too_many_that_hold_write_nothing_back(void **state)
{
    (void)state;
    int64_t snapshot = model.revision;
    free(go_on());
    restore(snapshot, false);
    const udpai_hold_state first = {model.cluster_id, 1, 1, false};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = udpai_hold_state_write(&first);
    for (unsigned i = 0; i < 40; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), PREFIX "h/x%02u", i);
        etcd_model_write(&model, key, udpai_bytes_view(value));
    }
    run_ms(SETTLE_MS);
    assert_all(UDPAI_REPLICATION_HELD);
    assert_false(etcd_has(UDPAI_BACK_KEY));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_that_is_killed_while_it_writes_is_no_loss),
        TEST(what_cannot_be_read_writes_nothing_back),
        TEST(too_many_that_hold_write_nothing_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
