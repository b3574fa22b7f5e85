/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the model of etcd does, each change that is handed on makes of the copy exactly what
 * etcd had at that revision. */
#include "mirror_bed.h"

/* ---- one thing at a time ---- */

static void
what_there_is_comes_first_and_at_once(void **state)
{
    (void)state;
    put_many(100);
    etcd_model_put(&model, "/t/other", "x");
    etcd_model_put(&model, "/u0", "x");
    open_at((udpai_mirror_position){0});
    assert_int_equal(udpai_mirror_get_state(mirror), UDPAI_MIRROR_LISTING);
    assert_true(run_until(UDPAI_MIRROR_CURRENT, 1));
    assert_int_equal(n_changes, 1);
    assert_int_equal(n_all, 1);
    assert_int_equal(shadow.n, 100);
    assert_int_equal(udpai_mirror_n_keys(mirror), 100);
    assert_int_equal(udpai_mirror_mod_revision(mirror, UDPAI_STR("/u/many-007")), 9);
    assert_int_equal(udpai_mirror_mod_revision(mirror, UDPAI_STR("/u/none")), 0);
    assert_int_equal(udpai_mirror_get_position(mirror).revision, model.revision);
}

static void
a_list_of_many_pages_is_of_one_revision(void **state)
{
    (void)state;
    char key[32];
    put_many(300);
    open_at((udpai_mirror_position){0});
    for (unsigned i = 0; n_changes == 0; i++) {
        snprintf(key, sizeof(key), "/u/many-%03u", 299 - i % 300);
        etcd_model_put(&model, key, i % 2 ? "y" : NULL);
        run_ms(1);
    }
    assert_true(model.n_ranges > 1);
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
}

static void
nothing_is_a_state_too(void **state)
{
    (void)state;
    open_at((udpai_mirror_position){0});
    assert_true(run_until(UDPAI_MIRROR_CURRENT, 1));
    assert_int_equal(n_all, 1);
    assert_int_equal(shadow.n, 0);
}

static void
changes_come_revision_by_revision(void **state)
{
    (void)state;
    const char *const keys[] = {"/u/a", "/u/b", "/u/c"};
    open_at((udpai_mirror_position){0});
    assert_true(run_until(UDPAI_MIRROR_CURRENT, 1));
    model.faults.parts = 900;
    etcd_model_put_all(&model, keys, 3, "1");
    etcd_model_put(&model, "/u/b", NULL);
    etcd_model_put(&model, "/u/c", "2");
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    assert_int_equal(n_changes, 4);
    assert_int_equal(udpai_mirror_n_keys(mirror), 2);
    assert_int_equal(model.n_watches, 1);
}

/* On request: what it has, too; and what has come in between. */
static void
all_is_handed_on_again(void **state)
{
    (void)state;
    put_many(100);
    open_at((udpai_mirror_position){0});
    assert_true(run_until(UDPAI_MIRROR_CURRENT, 1));
    udpai_mirror_list_again(mirror);
    etcd_model_put(&model, "/u/a", "1");
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    assert_int_equal(n_all, 2);
    assert_int_equal(shadow.n, 101);
    etcd_model_put(&model, "/u/a", "2");
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    assert_int_equal(n_all, 2);
    etcd_model_away(&model, true);
    udpai_mirror_list_again(mirror);
    run_ms(10000);
    assert_int_equal(n_all, 2);
    etcd_model_put(&model, "/u/a", NULL);
    etcd_model_away(&model, false);
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    run_ms(3000);
    assert_int_equal(n_all, 3);
    assert_int_equal(shadow.n, 100);
    run_ms(10000);
    assert_int_equal(n_all, 3);
}

/* Before it knows anything it lists in any case. */
static void
all_is_handed_on_once_at_first(void **state)
{
    (void)state;
    put_many(10);
    open_at((udpai_mirror_position){0});
    udpai_mirror_list_again(mirror);
    assert_true(run_until(UDPAI_MIRROR_CURRENT, 1));
    run_ms(5000);
    assert_int_equal(n_all, 1);
}

static void
a_watch_that_is_cut_goes_on_where_it_was(void **state)
{
    (void)state;
    open_at((udpai_mirror_position){0});
    assert_true(run_until(UDPAI_MIRROR_CURRENT, 1));
    model.faults.cut_watches = 1000;
    run_ms(10);
    assert_int_equal(udpai_mirror_get_state(mirror), UDPAI_MIRROR_BEHIND);
    assert_string_equal(why, "the watch was cut");
    put_many(20);
    model.faults.cut_watches = 0;
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    assert_int_equal(n_all, 1);
    assert_int_equal(n_states[UDPAI_MIRROR_LISTING], 0);
}

static void
silence_is_not_waited_for_long(void **state)
{
    (void)state;
    open_at((udpai_mirror_position){0});
    assert_true(run_until(UDPAI_MIRROR_CURRENT, 1));
    run_ms(60000); /* nothing changes, and it is current all the same */
    assert_int_equal(n_states[UDPAI_MIRROR_CURRENT], 1);
    model.faults.silent_watches = 1000;
    put_many(1);
    uint64_t before = wheel.now_ms;
    while (n_states[UDPAI_MIRROR_BEHIND] == 0)
        run_ms(1);
    assert_true(wheel.now_ms - before < 3600);
    assert_non_null(strstr(why, "has sent nothing for"));
    model.faults.silent_watches = 0;
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
}

/* As if etcd had not been away for long before, for which it is tried ever less often. */
static void
a_watch_that_is_silent_from_its_beginning_is_soon_another(void **state)
{
    (void)state;
    open_at((udpai_mirror_position){0});
    for (unsigned i = 0; i < 20; i++) {
        model.faults.silent_watches = 0;
        uint64_t since = wheel.now_ms;
        assert_true(run_until(UDPAI_MIRROR_CURRENT, 1));
        assert_true(wheel.now_ms - since <=
                    UDPAI_MIRROR_SILENCE_MS + UDPAI_MIRROR_RETRY_SOON_MS + 50);
        etcd_model_away(&model, true);
        run_ms(60000);
        model.faults.silent_watches = 1000;
        etcd_model_away(&model, false);
        run_ms(UDPAI_MIRROR_RETRY_MAX_MS + 200 * i);
        assert_int_equal(udpai_mirror_get_state(mirror), UDPAI_MIRROR_BEHIND);
    }
}

static void
what_history_does_not_have_is_listed(void **state)
{
    (void)state;
    put_many(50);
    open_at((udpai_mirror_position){0});
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    etcd_model_away(&model, true);
    run_ms(4000);
    assert_int_equal(udpai_mirror_get_state(mirror), UDPAI_MIRROR_BEHIND);
    etcd_model_put(&model, "/u/many-001", NULL);
    etcd_model_put(&model, "/u/many-002", "y");
    etcd_model_put(&model, "/u/new", "y");
    etcd_model_compact(&model, model.revision);
    etcd_model_away(&model, false);
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    assert_int_equal(n_all, 1);
    assert_int_equal(n_changes, 2); /* the difference, at once */
    assert_int_equal(udpai_mirror_n_keys(mirror), 50);
}

/* As etcd has done: 17529, 19179. */
static void
what_a_watch_leaves_out_is_noticed(void **state)
{
    (void)state;
    put_many(3);
    open_at((udpai_mirror_position){0});
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    model.faults.left_out = 1000;
    etcd_model_put(&model, "/u/many-001", "2");
    etcd_model_put(&model, "/u/many-002", NULL);
    run_ms(50);
    model.faults.left_out = 0;
    etcd_model_put(&model, "/u/many-001", "3");
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    assert_int_equal(udpai_mirror_n_keys(mirror), 2);
    model.faults.left_out = 1000;
    etcd_model_put(&model, "/u/many-000", NULL);
    run_ms(50);
    model.faults.left_out = 0;
    etcd_model_put(&model, "/u/many-000", "again");
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    assert_int_equal(udpai_mirror_n_keys(mirror), 2);
}

/* ---- an etcd that is older, or another ---- */

static void
an_older_etcd_changes_nothing(void **state)
{
    (void)state;
    put_many(20);
    open_at((udpai_mirror_position){0});
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    int64_t before = model.revision;
    etcd_model_restore(&model, 10);
    assert_true(run_until(UDPAI_MIRROR_HELD, 1));
    assert_non_null(strstr(why, "restored from an older snapshot"));
    assert_int_equal(shadow.n, 20);
    run_ms(20000);
    assert_int_equal(n_states[UDPAI_MIRROR_HELD], 1); /* said once */
    assert_int_equal(revision, before);
    revision = 0; /* it may go back, now */
    accepted = true;
    udpai_mirror_accept(mirror);
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    assert_int_equal(shadow.n, 9);
    assert_int_equal(n_all, 1);
}

/* It has passed the revision that was handed on, by another way. */
static void
an_etcd_that_was_restored_and_written_to_changes_nothing(void **state)
{
    (void)state;
    put_many(20);
    open_at((udpai_mirror_position){0});
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    int64_t before = model.revision;
    etcd_model_restore(&model, 10);
    for (int i = 0; i < 30; i++)
        etcd_model_put(&model, "/u/other", "x");
    assert_true(run_until(UDPAI_MIRROR_HELD, 1));
    assert_non_null(strstr(why, "another history"));
    run_ms(20000);
    assert_int_equal(udpai_mirror_get_state(mirror), UDPAI_MIRROR_HELD);
    assert_int_equal(revision, before);
    revision = 0;
    accepted = true;
    udpai_mirror_accept(mirror);
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    assert_int_equal(shadow.n, 10);
}

static void
one_that_is_older_first_and_written_to_later_neither(void **state)
{
    (void)state;
    put_many(20);
    open_at((udpai_mirror_position){0});
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    etcd_model_restore(&model, 10);
    assert_true(run_until(UDPAI_MIRROR_HELD, 1));
    for (int i = 0; i < 30; i++)
        etcd_model_put(&model, "/u/other", "x");
    run_ms(20000);
    assert_int_equal(udpai_mirror_get_state(mirror), UDPAI_MIRROR_HELD);
    assert_int_equal(n_states[UDPAI_MIRROR_CURRENT], 1);
}

/* The key has the revision that it had, but another value; and the first list after that fails. */
static void
what_was_accepted_is_handed_on_whole(void **state)
{
    (void)state;
    put_many(10);
    etcd_model_put(&model, "/u/a", "before");
    open_at((udpai_mirror_position){0});
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    etcd_model_restore(&model, 11);
    assert_true(run_until(UDPAI_MIRROR_HELD, 1));
    etcd_model_put(&model, "/u/a", "after");
    revision = 0;
    n_events = 0;
    shadow.n = 0;
    model.faults.refused = 1000;
    accepted = true;
    udpai_mirror_accept(mirror);
    run_ms(500);
    assert_int_equal(n_events, 0);
    model.faults.refused = 0;
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    assert_int_equal(n_events, 11);
    assert_int_equal(udpai_mirror_get_position(mirror).cluster_id, model.cluster_id);
}

static void
another_etcd_changes_nothing(void **state)
{
    (void)state;
    put_many(5);
    open_at((udpai_mirror_position){4711, 3});
    assert_true(run_until(UDPAI_MIRROR_HELD, 0));
    assert_non_null(strstr(why, "another cluster"));
    assert_int_equal(n_changes, 0);
    accepted = true;
    udpai_mirror_accept(mirror);
    assert_true(run_until(UDPAI_MIRROR_CURRENT, 1));
    assert_int_equal(n_all, 1);
}

static void
who_had_more_than_there_is_holds(void **state)
{
    (void)state;
    open_at((udpai_mirror_position){model.cluster_id, 100});
    assert_true(run_until(UDPAI_MIRROR_HELD, 0));
    assert_int_equal(n_changes, 0);
    for (int i = 0; i < 120; i++) /* the right one, after all */
        etcd_model_put(&model, "/u/a", "x");
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    assert_int_equal(n_all, 1);
}

/* As with a password that was changed: nothing is known of its history. */
static void
an_etcd_that_lets_nobody_in_is_away(void **state)
{
    (void)state;
    put_many(5);
    open_at((udpai_mirror_position){0});
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    model.is_denied = true;
    model.faults.cut_watches = 1000;
    run_ms(3000);
    assert_int_equal(n_states[UDPAI_MIRROR_HELD], 0);
    assert_true(run_until(UDPAI_MIRROR_BEHIND, 0));
    model.is_denied = false;
    model.faults.cut_watches = 0;
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
}

/* A process that goes on from what another one had: etcd was restored meanwhile, and has passed
 * that revision since. */
static void
who_has_a_proof_sees_another_history(void **state)
{
    (void)state;
    put_many(10);
    etcd_model_put(&model, "/u/lane", "x");
    const udpai_mirror_position had = {model.cluster_id, model.revision};
    etcd_model_restore(&model, 5);
    put_many(30);
    open_at(had);
    assert_ok(udpai_mirror_set_proof(mirror, UDPAI_STR("/u/lane"), had.revision));
    assert_true(run_until(UDPAI_MIRROR_HELD, 0));
    assert_non_null(strstr(why, "another history"));
    assert_int_equal(n_changes, 0);
    accepted = true;
    udpai_mirror_accept(mirror);
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    assert_int_equal(n_all, 1);
}

/* Also when it is not written so any more; and what is compacted proves nothing. */
static void
who_has_a_proof_goes_on_with_the_same_history(void **state)
{
    (void)state;
    for (int is_compacted = 0; is_compacted < 2; is_compacted++) {
        put_many(10);
        etcd_model_put(&model, "/u/lane", "x");
        const udpai_mirror_position had = {model.cluster_id, model.revision};
        put_many(10);
        etcd_model_put(&model, "/u/lane", "y");
        if (is_compacted)
            etcd_model_compact(&model, model.revision);
        n_all = 0;
        open_at(had);
        assert_ok(udpai_mirror_set_proof(mirror, UDPAI_STR("/u/lane"), had.revision));
        assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
        assert_int_equal(n_all, 1);
        mirror = is_compacted ? mirror : udpai_mirror_free(mirror);
    }
}

static void
a_member_that_is_behind_is_no_older_etcd(void **state)
{
    (void)state;
    put_many(20);
    open_at((udpai_mirror_position){0});
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    model.faults.cut_watches = 1000;
    run_ms(10);
    model.faults.cut_watches = 100;
    model.faults.old_members = 1000;
    model.faults.latency_ms = 40; /* changes come while it asks */
    for (unsigned i = 0; i < 2000; i++) {
        put_many(1);
        run_ms(5);
    }
    model.faults.cut_watches = 0;
    assert_true(run_until(UDPAI_MIRROR_CURRENT, model.revision));
    assert_int_equal(n_states[UDPAI_MIRROR_HELD], 0);
}

/* ---- waiting ---- */

static unsigned n_reached;

static void
on_reached(udpai_mirror_waiter *waiter)
{
    n_reached += !waiter->is_void;
}

static void
a_revision_is_waited_for(void **state)
{
    (void)state;
    n_reached = 0;
    udpai_mirror_waiter early = {.revision = 5, .reached = on_reached};
    udpai_mirror_waiter late = {.revision = 6, .reached = on_reached};
    udpai_mirror_waiter never = {.revision = 6, .reached = on_reached};
    open_at((udpai_mirror_position){0});
    udpai_mirror_wait(mirror, &late);
    udpai_mirror_wait(mirror, &early);
    udpai_mirror_wait(mirror, &never);
    udpai_mirror_wait_end(&never);
    assert_true(run_until(UDPAI_MIRROR_CURRENT, 1));
    assert_int_equal(n_reached, 0);
    put_many(4);
    assert_true(run_until(UDPAI_MIRROR_CURRENT, 5));
    run_ms(10);
    assert_int_equal(n_reached, 1);
    put_many(1);
    run_ms(10);
    assert_int_equal(n_reached, 2);
    udpai_mirror_wait(mirror, &early);
    assert_int_equal(n_reached, 3);
}

static void
the_end_of_a_prefix(void **state)
{
    (void)state;

    static const struct {
        const char *prefix, *end;
    } cases[] = {{"/u/", "/u0"}, {"a", "b"}, {"a\xff", "b"}, {"a\xff\xff", "b"}};

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpa_bytes *found = udpai_etcd_prefix_end(udpai_str_from(cases[i].prefix));
        assert_str(udpai_bytes_view(found), cases[i].end);
        udpa_bytes_unref(found);
    }
    assert_null(udpai_etcd_prefix_end(UDPAI_STR("\xff\xff")));
    assert_null(udpai_etcd_prefix_end(UDPAI_STR("")));
}

/* ---- all of it at once ---- */

static void
write_something(void)
{
    const char *const keys[] = {"/u/a", "/u/b", "/u/c", "/u/d", "/u/e",
                                "/u/f", "/u/g", "/t/x", "/u0"};
    size_t n = UDPAI_ARRAY_LEN(keys), one = test_random_below(&chance, n);
    switch (test_random_below(&chance, 4)) {
    case 0:
        etcd_model_put(&model, keys[one], NULL);
        break;
    case 1:
        etcd_model_put_all(&model, keys, 1 + one, "several");
        break;
    default:
        etcd_model_put(&model, keys[one], "one");
    }
}

static void
play(uint64_t seed)
{
    begin(seed);
    const etcd_faults faults = {
        .lost_responses = (unsigned)test_random_below(&chance, 300),
        .refused = (unsigned)test_random_below(&chance, 300),
        .cut_watches = (unsigned)test_random_below(&chance, 100),
        .repeated = (unsigned)test_random_below(&chance, 200),
        .parts = (unsigned)test_random_below(&chance, 900),
        .old_members = (unsigned)test_random_below(&chance, 500),
        .silent_watches = (unsigned)test_random_below(&chance, 20),
        .latency_ms = 1 + test_random_below(&chance, 50),
    };
    model.faults = faults;
    refuse = (unsigned)test_random_below(&chance, 20);
    open_at((udpai_mirror_position){0});
    for (unsigned step = 0; step < 150; step++) {
        if (test_random_below(&chance, 40) == 0)
            etcd_model_compact(&model, model.revision);
        if (test_random_below(&chance, 60) == 0)
            etcd_model_away(&model, !model.is_away);
        write_something();
        if (test_random_below(&chance, 10) == 0)
            udpai_alloc_fail_after((long)test_random_below(&chance, 20));
        run_ms(test_random_below(&chance, 100));
        udpai_alloc_fail_after(-1);
    }
    model.faults = (etcd_faults){.latency_ms = 3};
    refuse = 0;
    etcd_model_away(&model, false);
    write_something();
    assert_true(run_until(UDPAI_MIRROR_CURRENT, 1));
    run_ms(5000);
    assert_is_state(model.revision);
    assert_int_equal(n_states[UDPAI_MIRROR_HELD], 0);
    end();
}

static void
whatever_happens_the_copy_is_a_state_of_etcd(void **state)
{
    (void)state;
    end();
    for (uint64_t seed = 1; seed <= 100; seed++)
        play(seed);
    begin(1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_there_is_comes_first_and_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_list_of_many_pages_is_of_one_revision, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_a_state_too, setup, teardown),
        cmocka_unit_test_setup_teardown(changes_come_revision_by_revision, setup, teardown),
        cmocka_unit_test_setup_teardown(all_is_handed_on_again, setup, teardown),
        cmocka_unit_test_setup_teardown(all_is_handed_on_once_at_first, setup, teardown),
        cmocka_unit_test_setup_teardown(a_watch_that_is_cut_goes_on_where_it_was, setup, teardown),
        cmocka_unit_test_setup_teardown(silence_is_not_waited_for_long, setup, teardown),
        cmocka_unit_test_setup_teardown(what_history_does_not_have_is_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_watch_leaves_out_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(an_older_etcd_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(an_etcd_that_was_restored_and_written_to_changes_nothing,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_is_older_first_and_written_to_later_neither, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_was_accepted_is_handed_on_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(another_etcd_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(who_had_more_than_there_is_holds, setup, teardown),
        cmocka_unit_test_setup_teardown(a_watch_that_is_silent_from_its_beginning_is_soon_another,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(an_etcd_that_lets_nobody_in_is_away, setup, teardown),
        cmocka_unit_test_setup_teardown(who_has_a_proof_sees_another_history, setup, teardown),
        cmocka_unit_test_setup_teardown(who_has_a_proof_goes_on_with_the_same_history, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_member_that_is_behind_is_no_older_etcd, setup, teardown),
        cmocka_unit_test_setup_teardown(a_revision_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_of_a_prefix, setup, teardown),
        cmocka_unit_test_setup_teardown(whatever_happens_the_copy_is_a_state_of_etcd, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
