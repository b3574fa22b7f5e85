/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever is lost on the way: what is committed was written once, what is not was not written. */
#include "proposals_bed.h"

/* How often, in all of the history of the key. */
static unsigned
n_written(const write *self, size_t at, int64_t *ret_revision)
{
    unsigned n = 0;
    for (size_t i = 0; i < model.history.n; i++) {
        const etcd_model_event *event = &model.history.items[i];
        bool is_it =
            strcmp(event->key, self->keys[at]) == 0 && strcmp(event->value.data, self->value) == 0;
        n += is_it;
        if (is_it)
            *ret_revision = event->revision;
    }
    return n;
}

/* ---- one thing at a time ---- */

static void
a_proposal_is_committed_and_handed_on(void **state)
{
    (void)state;
    const write *one = put(&replicas[0], "/u/a");
    run_ms(50);
    assert_outcome(one, UDPAI_PROPOSAL_COMMITTED);
    assert_int_equal(one->revision, 2);
    const write *other = put(&replicas[1], "/u/a");
    run_ms(50);
    assert_outcome(other, UDPAI_PROPOSAL_COMMITTED);
    assert_int_equal(other->revision, 3);
}

static void
who_has_not_seen_the_last_write_loses(void **state)
{
    (void)state;
    const write *one = put(&replicas[0], "/u/a"), *other = put(&replicas[1], "/u/a");
    run_ms(50);
    assert_true(one->is_done && other->is_done);
    assert_true((one->outcome == UDPAI_PROPOSAL_LOST) != (other->outcome == UDPAI_PROPOSAL_LOST));
    const write *winner = one->outcome == UDPAI_PROPOSAL_LOST ? other : one;
    const write *loser = one->outcome == UDPAI_PROPOSAL_LOST ? one : other;
    assert_true(loser->revision > winner->revision);
}

/* Those that come while one is under way share the next one. */
static void
many_share_a_transaction(void **state)
{
    (void)state;
    char names[100][16];
    unsigned before = model.n_txns;
    for (int i = 0; i < 100; i++) { /* the first one is alone */
        snprintf(names[i], sizeof(names[i]), "/u/%d", i);
        put(&replicas[0], names[i]);
    }
    run_ms(100);
    for (int i = 0; i < 100; i++)
        assert_outcome(&writes[i], UDPAI_PROPOSAL_COMMITTED);
    assert_int_equal(model.n_txns - before, 2);
}

static void
only_who_has_lost_loses(void **state)
{
    (void)state;
    const char *const names[] = {"/u/a", "/u/b", "/u/c", "/u/d"};
    for (int i = 0; i < 4; i++)
        put(&replicas[0], names[i]);
    etcd_model_put(&model, "/u/c", "somebody else's");
    run_ms(200);
    for (int i = 0; i < 4; i++)
        assert_outcome(&writes[i], i == 2 ? UDPAI_PROPOSAL_LOST : UDPAI_PROPOSAL_COMMITTED);
}

/* A transaction cannot have a key twice. */
static void
two_writes_of_a_key_share_none(void **state)
{
    (void)state;
    const write *first = put(&replicas[0], "/u/x"), *a = put(&replicas[0], "/u/a"),
                *again = put(&replicas[0], "/u/a");
    run_ms(200);
    assert_outcome(first, UDPAI_PROPOSAL_COMMITTED);
    assert_outcome(a, UDPAI_PROPOSAL_COMMITTED);
    assert_outcome(again, UDPAI_PROPOSAL_LOST);
}

static void
a_lost_answer_is_found_out(void **state)
{
    (void)state;
    model.faults.lost_responses = 1000;
    const write *one = put(&replicas[0], "/u/a");
    run_ms(1500);
    assert_false(one->is_done);
    model.faults.lost_responses = 0;
    run_ms(2000);
    assert_outcome(one, UDPAI_PROPOSAL_COMMITTED);
    int64_t revision = 0;
    assert_int_equal(n_written(one, 0, &revision), 1);
    assert_int_equal(revision, one->revision);
}

static void
a_removal_whose_answer_was_lost_is_found_out(void **state)
{
    (void)state;
    const char *const key = "/u/a";
    put(&replicas[0], key);
    run_ms(50);
    model.faults.lost_responses = 1000;
    const write *one = propose(&replicas[0], &key, 1, true, 0);
    run_ms(1500);
    model.faults.lost_responses = 0;
    run_ms(2000);
    assert_outcome(one, UDPAI_PROPOSAL_COMMITTED);
    assert_null(etcd_model_find(&model, udpai_str_from(key), model.revision));
}

/* The key is created and deleted by another meanwhile, so the attempt that was lost on the way
 * would find what it compares. */
static void
an_attempt_that_is_given_up_is_never_done(void **state)
{
    (void)state;
    model.faults.late_requests = 1000;
    const write *one = put(&replicas[0], "/u/a");
    run_ms(900);
    model.faults.late_requests = 0;
    etcd_model_put(&model, "/u/a", "another's");
    run_ms(200);
    etcd_model_put(&model, "/u/a", NULL);
    run_ms(8000);
    int64_t revision = 0;
    unsigned n = n_written(one, 0, &revision);
    assert_true(one->is_done);
    assert_int_equal(n, one->outcome == UDPAI_PROPOSAL_COMMITTED);
}

static void
an_etcd_that_is_away_is_not_waited_for_long(void **state)
{
    (void)state;
    model.faults.refused = 1000;
    const write *one = put(&replicas[0], "/u/a");
    run_ms(UDPAI_PROPOSAL_RETRY_MS + 500);
    assert_outcome(one, UDPAI_PROPOSAL_NOT_DONE);
    assert_string_equal(one->error, "no answer");
    model.faults.refused = 0;
    etcd_model_away(&model, true);
    const write *other = put(&replicas[0], "/u/a");
    run_ms(UDPAI_PROPOSAL_UNKNOWN_MS + 1500);
    assert_outcome(other, UDPAI_PROPOSAL_UNKNOWN);
    etcd_model_away(&model, false);
    run_ms(3000);
    const write *third = put(&replicas[0], "/u/a");
    run_ms(200);
    assert_true(third->outcome == UDPAI_PROPOSAL_COMMITTED);
}

static void
more_than_a_transaction_holds_is_refused(void **state)
{
    (void)state;
    static udpai_etcd_op ops[UDPAI_PROPOSAL_OPS_MAX + 1];
    write *self = &writes[n_writes++];
    self->by = &replicas[0];
    self->proposal = (udpai_proposal){.ops = ops, .n_ops = UDPAI_ARRAY_LEN(ops), .done = on_done};
    udpai_proposals_add(replicas[0].proposals, &self->proposal);
    assert_outcome(self, UDPAI_PROPOSAL_REJECTED);
    assert_non_null(strstr(self->error, "127 changes"));
}

/* Others use that etcd, too. */
static void
who_has_lost_hears_of_it_though_others_write_last(void **state)
{
    (void)state;
    etcd_model_put(&model, "/u/a", "somebody else's");
    const write *one = put(&replicas[0], "/u/a");
    etcd_model_put(&model, "/elsewhere", "x");
    run_ms(200);
    assert_outcome(one, UDPAI_PROPOSAL_LOST);
}

static void
an_etcd_that_is_held_is_not_written_to(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        etcd_model_put(&model, "/u/x", "x");
    run_ms(100);
    etcd_model_restore(&model, 5);
    run_ms(500);
    assert_int_equal(udpai_mirror_get_state(replicas[0].mirror), UDPAI_MIRROR_HELD);
    const write *one = put(&replicas[0], "/u/a");
    run_ms(3000);
    assert_outcome(one, UDPAI_PROPOSAL_NOT_DONE);
    assert_int_equal(model.revision, 5);
}

/* Before the mirror has noticed. */
static void
an_older_etcd_commits_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        etcd_model_put(&model, "/u/x", "x");
    run_ms(100);
    const write *one = put(&replicas[0], "/u/a");
    while (model.n_txns == 0)
        run_ms(1);
    etcd_model_restore(&model, 5);
    run_ms(10000);
    assert_true(one->is_done && one->outcome != UDPAI_PROPOSAL_COMMITTED);
}

/* Nor does one whose revision is higher, before the mirror has noticed: the key of the lane tells,
 * and stays as it is, for the mirror to see it. */
static void
an_older_etcd_with_a_higher_revision_commits_nothing(void **state)
{
    (void)state;
    const udpai_str lane = UDPAI_STR("/u/lane/a0");
    (void)put(&replicas[0], "/u/a");
    run_ms(100);
    int64_t snapshot = model.revision;
    for (int is_lost = 0; is_lost < 2; is_lost++) {
        const write *before = put(&replicas[0], "/u/b");
        run_ms(100);
        assert_outcome(before, UDPAI_PROPOSAL_COMMITTED);
        model.faults.lost_responses = is_lost ? 1000 : 0;
        const write *one = put(&replicas[0], "/u/c");
        const write *next = put(&replicas[0], "/u/d");
        etcd_model_restore_bumped(&model, snapshot, 1000);
        int64_t lane_revision = etcd_model_find(&model, lane, model.revision)->revision;
        run_ms(50);
        model.faults.lost_responses = 0;
        run_ms(10000);
        assert_int_equal(udpai_mirror_get_state(replicas[0].mirror), UDPAI_MIRROR_HELD);
        assert_true(one->is_done && one->outcome != UDPAI_PROPOSAL_COMMITTED);
        assert_true(next->is_done && next->outcome != UDPAI_PROPOSAL_COMMITTED);
        assert_int_equal(etcd_model_find(&model, lane, model.revision)->revision, lane_revision);
        udpai_mirror_accept(replicas[0].mirror);
        run_ms(1000);
        snapshot = model.revision;
    }
    const write *last = put(&replicas[0], "/u/e");
    run_ms(100);
    assert_outcome(last, UDPAI_PROPOSAL_COMMITTED);
}

static void
a_full_database_is_told_from_one_that_was_filled(void **state)
{
    (void)state;
    model.faults.filling = 1000;
    const write *one = put(&replicas[0], "/u/a");
    run_ms(300);
    assert_outcome(one, UDPAI_PROPOSAL_COMMITTED);
    model.faults.filling = 0;
    model.is_full = true;
    const write *other = put(&replicas[0], "/u/b");
    run_ms(300);
    assert_outcome(other, UDPAI_PROPOSAL_NOT_DONE);
    assert_string_equal(other->error, "full");
    model.is_full = false;
    const write *third = put(&replicas[0], "/u/b");
    run_ms(300);
    assert_outcome(third, UDPAI_PROPOSAL_COMMITTED);
}

/* Each would lose if the other came first; as one they would not. */
static void
one_that_compares_what_another_writes_waits(void **state)
{
    (void)state;
    static udpai_etcd_compare compares[2];
    const char *const keys[] = {"/u/first", "/u/a", "/u/b"};
    put(&replicas[0], keys[0]);
    compares[0] = (udpai_etcd_compare){UDPAI_ETCD_COMPARE_MOD_REVISION, UDPAI_STR("/u/a"), 0};
    compares[1] = (udpai_etcd_compare){UDPAI_ETCD_COMPARE_MOD_REVISION, UDPAI_STR("/u/b"), 0};
    for (int i = 1; i < 3; i++) {
        write *self = &writes[n_writes++];
        self->by = &replicas[0];
        self->ops[0] = (udpai_etcd_op){UDPAI_ETCD_OP_PUT, .key = udpai_str_from(keys[i]),
                                       .value = UDPAI_STR("v")};
        self->proposal = (udpai_proposal){
            .compares = compares, .ops = self->ops, .n_compares = 2, .n_ops = 1, .done = on_done};
        udpai_proposals_add(replicas[0].proposals, &self->proposal);
    }
    run_ms(300);
    assert_outcome(&writes[1], UDPAI_PROPOSAL_COMMITTED);
    assert_outcome(&writes[2], UDPAI_PROPOSAL_LOST);
}

static udpa_err
open_and_close(void *context)
{
    (void)context;
    udpai_proposals *made = NULL;
    const udpai_proposals_env env = {&model.own.etcd, &wheel, replicas[0].mirror, on_random, NULL};
    udpa_err err = udpai_proposals_new(&made, &env, UDPAI_STR("/u/lane/c"));
    udpai_proposals_free(made);
    return err;
}

static void
without_memory_there_are_none(void **state)
{
    (void)state;
    oom_torture(open_and_close, NULL);
}

static void
without_memory_it_is_attempted_later(void **state)
{
    (void)state;
    udpai_alloc_fail_after(0);
    const write *one = put(&replicas[0], "/u/a");
    udpai_alloc_fail_after(-1);
    run_ms(200);
    assert_outcome(one, UDPAI_PROPOSAL_COMMITTED);
}

static void
what_is_not_done_at_the_end_is_forgotten(void **state)
{
    (void)state;
    put(&replicas[0], "/u/a");
    put(&replicas[0], "/u/b");
}

/* ---- all of it at once ---- */

static void
write_something(void)
{
    static const char *const names[KEYS] = {"/u/a", "/u/b", "/u/c", "/u/d", "/u/e", "/u/f"};
    replica *by = &replicas[test_random_below(&chance, 2)];
    size_t one = test_random_below(&chance, KEYS);
    const char *const keys[2] = {names[one], names[(one + 1) % KEYS]};
    propose(by, keys, 1 + test_random_below(&chance, 2), test_random_below(&chance, 3) == 0,
            (uint32_t)test_random_below(&chance, 2));
}

/* Puts have values that tell them apart; of two keys, both were written, and at one revision. */
static void
check_write(const write *self)
{
    assert_true(self->is_done);
    for (size_t i = 0; i < self->proposal.n_ops; i++) {
        int64_t revision = self->revision;
        if (self->ops[i].kind == UDPAI_ETCD_OP_DELETE)
            continue;
        unsigned n = n_written(self, i, &revision);
        if (self->outcome == UDPAI_PROPOSAL_COMMITTED)
            assert_true(n == 1 && revision == self->revision);
        else if (self->outcome != UDPAI_PROPOSAL_UNKNOWN)
            assert_int_equal(n, 0);
        else
            assert_true(n <= 1);
    }
}

static void
play(uint64_t seed, unsigned *n_outcomes)
{
    begin(seed);
    model.faults = (etcd_faults){
        .lost_requests = (unsigned)test_random_below(&chance, 200),
        .lost_responses = (unsigned)test_random_below(&chance, 200),
        .late_requests = (unsigned)test_random_below(&chance, 200),
        .refused = (unsigned)test_random_below(&chance, 300),
        .filling = (unsigned)test_random_below(&chance, 50),
        .cut_watches = (unsigned)test_random_below(&chance, 100),
        .parts = (unsigned)test_random_below(&chance, 900),
        .latency_ms = 1 + test_random_below(&chance, 50),
    };
    for (unsigned i = 0; i < 150; i++) {
        if (test_random_below(&chance, 60) == 0)
            etcd_model_away(&model, !model.is_away);
        if (test_random_below(&chance, 30) == 0)
            model.faults.refused = test_random_below(&chance, 3) ? 100 : 1000;
        write_something();
        run_ms(test_random_below(&chance, 300));
    }
    model.faults = (etcd_faults){.latency_ms = 3};
    etcd_model_away(&model, false);
    run_ms(60000);
    for (size_t i = 0; i < n_writes; i++) {
        check_write(&writes[i]);
        n_outcomes[writes[i].outcome]++;
    }
    end();
}

static void
whatever_is_lost_outcomes_are_true(void **state)
{
    (void)state;
    unsigned n_outcomes[5] = {0};
    end();
    for (uint64_t seed = 1; seed <= 60; seed++)
        play(seed, n_outcomes);
    begin(1);
    assert_true(n_outcomes[UDPAI_PROPOSAL_COMMITTED] > 500);
    assert_true(n_outcomes[UDPAI_PROPOSAL_LOST] > 100);
    assert_true(n_outcomes[UDPAI_PROPOSAL_NOT_DONE] > 10);
    assert_true(n_outcomes[UDPAI_PROPOSAL_UNKNOWN] > 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_proposal_is_committed_and_handed_on, setup, teardown),
        cmocka_unit_test_setup_teardown(who_has_not_seen_the_last_write_loses, setup, teardown),
        cmocka_unit_test_setup_teardown(many_share_a_transaction, setup, teardown),
        cmocka_unit_test_setup_teardown(only_who_has_lost_loses, setup, teardown),
        cmocka_unit_test_setup_teardown(two_writes_of_a_key_share_none, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_answer_is_found_out, setup, teardown),
        cmocka_unit_test_setup_teardown(a_removal_whose_answer_was_lost_is_found_out, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_attempt_that_is_given_up_is_never_done, setup, teardown),
        cmocka_unit_test_setup_teardown(an_etcd_that_is_away_is_not_waited_for_long, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(more_than_a_transaction_holds_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(who_has_lost_hears_of_it_though_others_write_last, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_etcd_that_is_held_is_not_written_to, setup, teardown),
        cmocka_unit_test_setup_teardown(an_older_etcd_commits_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(an_older_etcd_with_a_higher_revision_commits_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_full_database_is_told_from_one_that_was_filled, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_that_compares_what_another_writes_waits, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_memory_there_are_none, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_it_is_attempted_later, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_done_at_the_end_is_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(whatever_is_lost_outcomes_are_true, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
