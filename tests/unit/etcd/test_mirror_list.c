/* SPDX-License-Identifier: Apache-2.0 */
/* What was compacted cannot be watched, so it is listed: of the same history, or of an etcd that
 * was restored from an older snapshot to a higher revision. */
#include "mirror_bed.h"

/* Its revision is higher than what was handed on, and what was in between is compacted: a key that
 * was changed since is older again, or one that is never deleted is not there. */
static void
an_older_etcd_with_a_higher_revision_changes_nothing(void **state)
{
    (void)state;
    for (int is_new = 0; is_new < 2; is_new++) {
        if (!is_new)
            etcd_model_put(&model, "/u/changed", "before");
        put_many(300);
        int64_t snapshot = model.revision;
        etcd_model_put(&model, is_new ? "/u/lane" : "/u/changed", "after");
        etcd_model_put(&model, "/u/created", "x");
        open_at((udpai_mirror_position){0});
        assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
        int64_t before = model.revision;
        etcd_model_restore_bumped(&model, snapshot, 1000);
        assert_true(run_until(UDPAI_MIRROR_HELD, 1));
        assert_non_null(strstr(why, "restored from an older snapshot"));
        etcd_model_put(&model, "/u/created", "by another one");
        etcd_model_compact(&model, model.revision);
        run_ms(20000);
        assert_int_equal(udpai_mirror_get_state(mirror), UDPAI_MIRROR_HELD);
        assert_int_equal(n_states[UDPAI_MIRROR_HELD], 1);
        assert_int_equal(revision, before);
        accepted = true;
        udpai_mirror_accept(mirror);
        assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
        if (is_new)
            return;
        end();
        begin(1);
    }
}

static unsigned n_void;

static void
on_reached(udpai_mirror_waiter *waiter)
{
    n_void += waiter->is_void;
}

/* What it had is there again, in time. Who waits for what the other one has done waits in vain. */
static void
one_that_is_back_after_it_was_older_with_a_higher_revision_goes_on(void **state)
{
    (void)state;
    etcd_model_put(&model, "/u/lane", "before");
    put_many(10);
    int64_t snapshot = model.revision;
    etcd_model_put(&model, "/u/lane", "after");
    open_at((udpai_mirror_position){0});
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    etcd_model_restore_bumped(&model, snapshot, 1000);
    assert_true(run_until(UDPAI_MIRROR_HELD, 1));
    udpai_mirror_waiter early = {.revision = model.revision, .reached = on_reached};
    udpai_mirror_waiter late = {.revision = snapshot + 5, .reached = on_reached};
    udpai_mirror_wait(mirror, &early);
    udpai_mirror_wait(mirror, &late);
    n_void = 0;
    etcd_model_bring_back(&model);
    put_many(10);
    run_ms(UDPAI_MIRROR_RETRY_MAX_MS + 100);
    assert_int_equal(udpai_mirror_get_state(mirror), UDPAI_MIRROR_CURRENT);
    assert_int_equal(revision, model.revision);
    assert_int_equal(n_all, 1);
    assert_int_equal(n_void, 1);
    assert_true(early.is_void && !late.is_void);
}

/* The same of a process that goes on from what another one had. Of a key that may have been
 * deleted since, that it is not there says nothing. */
static void
who_has_a_proof_sees_an_older_etcd_with_a_higher_revision(void **state)
{
    (void)state;

    static const struct {
        const char *key;
        bool was_before, is_held;
    } cases[] = {
        {"/u/lane", true, true},
        {"/u/lane", false, true},
        {"/u/other", true, true},
        {"/u/other", false, false},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        put_many(10);
        if (cases[i].was_before)
            etcd_model_put(&model, cases[i].key, "before");
        int64_t snapshot = model.revision;
        etcd_model_put(&model, cases[i].key, "after");
        const udpai_mirror_position had = {model.cluster_id, model.revision};
        etcd_model_restore_bumped(&model, snapshot, 1000);
        open_at(had);
        assert_ok(udpai_mirror_set_proof(mirror, udpai_str_from(cases[i].key), had.revision));
        run_ms(15000);
        assert_int_equal(udpai_mirror_get_state(mirror),
                         cases[i].is_held ? UDPAI_MIRROR_HELD : UDPAI_MIRROR_CURRENT);
        assert_int_equal(n_changes, !cases[i].is_held);
        end();
        begin(i);
    }
}

/* It was compacted meanwhile, and none of what proves something has changed, or all of it. */
static void
what_is_compacted_may_be_the_same_history(void **state)
{
    (void)state;
    for (int has_changed = 0; has_changed < 2; has_changed++) {
        etcd_model_put(&model, "/u/lane", "x");
        const udpai_mirror_position had = {model.cluster_id, model.revision};
        etcd_model_put(&model, has_changed ? "/u/lane" : "/u/other", "y");
        etcd_model_compact(&model, model.revision);
        open_at(had);
        assert_ok(udpai_mirror_set_proof(mirror, UDPAI_STR("/u/lane"), had.revision));
        assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
        etcd_model_put(&model, "/u/lane", NULL); /* as by an operator: it is seen */
        assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
        etcd_model_away(&model, true);
        run_ms(4000);
        etcd_model_put(&model, "/u/other", "z");
        etcd_model_compact(&model, model.revision);
        etcd_model_away(&model, false);
        assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
        assert_int_equal(n_states[UDPAI_MIRROR_HELD], 0);
        end();
        begin(1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_older_etcd_with_a_higher_revision_changes_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            one_that_is_back_after_it_was_older_with_a_higher_revision_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(who_has_a_proof_sees_an_older_etcd_with_a_higher_revision,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_compacted_may_be_the_same_history, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
