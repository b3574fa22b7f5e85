/* SPDX-License-Identifier: Apache-2.0 */
/* What is proposed, and what is reported, one thing at a time. */
#include "tests/harness/log_lines.h"
#include "tests/harness/oom.h"
#include "tests/unit/replica/replicator_bed.h"

/* ---- one proposal ---- */

static void
what_is_committed_is_a_change_of_all(void **state)
{
    (void)state;
    udpai_durable_batch *batch = new_batch(&a);
    add_put(batch, "o", X, "1");
    add_put(batch, "p", X, "2");
    add_put(batch, "o", Y, "3");
    propose(&a, batch);
    assert_reported(&a, "");
    run_ms(100);
    assert_reported(&a, ": +o/x=1, +p/x=2, +o/y=3; 1: committed");
    assert_reported(&b, ": +o/x=1, +p/x=2, +o/y=3");
    assert_int_equal(a.has.revision, b.has.revision);
    batch = new_batch(&b);
    add_delete(batch, "p", X);
    add_put(batch, "o", X, "4");
    propose(&b, batch);
    run_ms(100);
    assert_int_equal(n_records(), 2);
    assert_non_null(strstr(reported(&a), "-p/x"));
    assert_non_null(strstr(reported(&b), "2: committed"));
}

static void
who_comes_second_loses(void **state)
{
    (void)state;
    udpai_durable_batch *batch = new_batch(&a);
    put(&b, "o", X, "b");
    add_put(batch, "o", X, "a");
    add_put(batch, "o", Y, "a");
    while (!strstr(b.text, "committed"))
        run_ms(1);
    propose(&a, batch);
    run_ms(100);
    assert_reported(&a, ": +o/x=b; 2: lost");
    assert_reported(&b, ": +o/x=b; 1: committed");
    assert_int_equal(n_records(), 1); /* and the other part neither */
}

/* What another replica has put may have been deleted again. */
static void
what_was_decided_before_a_change_loses_also_when_that_is_known(void **state)
{
    (void)state;
    udpai_durable_batch *batch = new_batch(&a);
    add_put(batch, "o", X, "a");
    put(&b, "o", X, "b");
    run_ms(100);
    propose(&a, batch);
    assert_reported(&a, ": +o/x=b; 2: lost");
    put(&a, "o", X, "a");
    run_ms(100);
    assert_reported(&a, ": +o/x=a; 3: committed");
}

static void
a_put_loses_to_a_removal_that_it_did_not_know(void **state)
{
    (void)state;
    udpai_durable_batch *early = new_batch(&a), *removal = new_batch(&b), *late = new_batch(&a);
    udpai_durable_batch *deletion;
    add_put(early, "o", X, "1");
    add_put(late, "o", X, "2");
    add_removal(removal, X);
    propose(&b, removal);
    while (!strstr(b.text, "committed"))
        run_ms(1);
    propose(&a, early); /* it has not heard of it … */
    run_ms(100);
    propose(&a, late); /* … or this was decided before it had */
    run_ms(100);
    assert_reported(&a, ": +!/x; 2: lost; 3: lost");
    assert_int_equal(n_records(), 1);
    put(&a, "o", X, "3");
    run_ms(100);
    assert_reported(&a, ": +o/x=3; 4: committed");
    deletion = new_batch(&a); /* a removal that is put again loses only to its like */
    add_removal(deletion, X);
    propose(&a, deletion);
    run_ms(100);
    assert_reported(&a, ": +!/x; 5: committed");
}

static void
what_changes_nothing_is_decided_again_when_all_is_there(void **state)
{
    (void)state;
    put(&b, "o", X, "1");
    while (n_records() == 0)
        run_ms(1);
    propose(&a, new_batch(&a));
    take_away(&a, "o", X);
    assert_reported(&a, ""); /* it has not received that yet */
    run_ms(200);
    assert_reported(&a, ": +o/x=1; 2: lost; 3: lost");
    take_away(&a, "o", X);
    run_ms(200);
    assert_reported(&a, ": -o/x; 4: committed");
    assert_int_equal(n_records(), 0);
}

/* ---- the janitor ---- */

static void
take_away_as_janitor(replica *by, const char *origin, const char *name)
{
    udpai_durable_batch *batch = new_batch(by);
    add_delete(batch, origin, name);
    batch->is_janitors = true;
    propose(by, batch);
}

static void
only_the_janitor_tidies_up(void **state)
{
    (void)state;
    run_ms(5000); /* both have their places */
    assert_int_equal(etcd_model_count(&model, UDPAI_STR(PREFIX "m/"), model.revision), 2);
    replica *first = a.is_first ? &a : &b, *second = a.is_first ? &b : &a;
    put(first, "o", X, "1");
    run_ms(100);
    (void)reported(first);
    (void)reported(second);
    take_away_as_janitor(second, "o", X);
    run_ms(100);
    assert_non_null(strstr(reported(second), "2: lost"));
    assert_int_equal(n_records(), 1);
    take_away_as_janitor(first, "o", X);
    run_ms(100);
    assert_non_null(strstr(reported(first), "3: committed"));
    assert_int_equal(n_records(), 0);
}

/* Its place has gone, which it does not know yet. */
static void
who_was_the_janitor_is_too_late(void **state)
{
    (void)state;
    run_ms(5000);
    replica *first = a.is_first ? &a : &b;
    put(first, "o", X, "1");
    put(first, "o", Y, "1");
    run_ms(100);
    (void)reported(first);
    etcd_model_put(&model, PREFIX "m/1", NULL);
    take_away_as_janitor(first, "o", X);
    put(first, "o", Y, "2"); /* with it, perhaps, but not for it */
    run_ms(100);
    const char *text = reported(first);
    assert_non_null(strstr(text, "3: lost"));
    assert_non_null(strstr(text, "4: committed"));
    assert_int_equal(n_records(), 2);
}

/* ---- in a place ---- */

static void
put_in_place(replica *by, unsigned place, const char *name)
{
    udpai_durable_batch *batch = new_batch(by);
    add_put(batch, "o", name, "1");
    batch->place = place;
    propose(by, batch);
}

/* Another one may have it by now, and give the same generations. */
static void
what_was_decided_in_a_place_that_has_gone_is_lost(void **state)
{
    (void)state;
    run_ms(5000);
    replica *first = a.is_first ? &a : &b;
    put_in_place(first, 1, X);
    run_ms(100);
    assert_non_null(strstr(reported(first), "1: committed"));
    etcd_model_put(&model, PREFIX "m/1", NULL);
    put_in_place(first, 1, Y);
    run_ms(100);
    assert_non_null(strstr(reported(first), "2: lost"));
    assert_int_equal(n_records(), 1);
}

/* Who has decided it is about to learn that, and would decide the same again until then. */
static void
in_a_place_that_it_does_not_have_it_is_lost_after_a_while(void **state)
{
    (void)state;
    run_ms(5000);
    replica *first = a.is_first ? &a : &b;
    (void)reported(first);
    put_in_place(first, 2, X);
    assert_reported(first, "");
    run_ms(100);
    assert_reported(first, "1: lost");
    assert_int_equal(n_records(), 0);
}

static void
all_is_reported_again_on_request(void **state)
{
    (void)state;
    put(&a, "o", X, "1");
    put(&a, "o", Y, "2");
    run_ms(5000);
    (void)reported(&b);
    put(&a, "o", X, "3");
    udpai_replicator_list_again(b.replicator); /* it has not received that yet */
    run_ms(100);
    const char *text = reported(&b);
    assert_non_null(strstr(text, "all"));
    assert_non_null(strstr(text, "+o/x=3"));
    assert_non_null(strstr(text, "~o/y=2"));
    take_away(&a, "o", X);
    run_ms(100);
    assert_non_null(strstr(reported(&b), ": -o/x"));
}

static void
what_changes_nothing_is_not_done_while_that_is_not_known(void **state)
{
    (void)state;
    etcd_model_away(&model, true);
    propose(&a, new_batch(&a));
    run_ms(900);
    assert_null(strstr(reported(&a), "1:"));
    run_ms(200);
    assert_non_null(strstr(reported(&a), "1: not done, not committed, and nothing has changed"));
}

/* ---- what cannot be proposed ---- */

static void
before_it_knows_anything_it_proposes_nothing(void **state)
{
    (void)state;
    put(&a, "o", X, "1");
    run_ms(100);
    open_replica(&c, "c");
    c.has = a.has; /* as a node that was restarted has it */
    put(&c, "o", X, "2");
    assert_reported(&c, "2: not done, this node has not received the state of its replica set from "
                        "etcd yet: publish it again");
    close_replica(&c);
    open_replica(&c, "c"); /* which its replicator was told, too */
    take_away(&c, "o", X);
    put(&c, "o", Y, "2");
    run_ms(1);
    assert_null(strstr(c.text, "committed"));
    assert_null(strstr(c.text, "lost"));
    run_ms(100);
    assert_int_equal(n_records(), 1);
    assert_int_equal(etcd_model_count(&model, UDPAI_STR(PREFIX "lane/c/"), model.revision), 0);
    close_replica(&c);
}

static void
what_was_decided_on_another_cluster_is_not_proposed(void **state)
{
    (void)state;
    udpai_durable_batch *batch = new_batch(&a);
    batch->position.cluster_id++;
    add_put(batch, "o", X, "1");
    propose(&a, batch);
    assert_non_null(strstr(reported(&a), "1: not done"));
    run_ms(100);
    assert_int_equal(n_records(), 0);
}

static void
what_is_too_large_is_rejected_in_words(void **state)
{
    (void)state;
    char *large = malloc(UDPAI_RECORD_VALUE_MAX + 1);
    static char name[UDPAI_RECORD_KEY_MAX + 100] = "com.acme/";
    assert_non_null(large);
    memset(large, 'v', UDPAI_RECORD_VALUE_MAX);
    large[UDPAI_RECORD_VALUE_MAX] = '\0';
    put(&a, "o", X, large);
    run_ms(100);
    assert_non_null(strstr(reported(&a), "1: rejected, "));
    free(large);
    memset(name + 9, 'n', sizeof(name) - 10);
    put(&a, "o", name, "1");
    run_ms(100);
    assert_non_null(strstr(reported(&a), "2: rejected, "));
    assert_int_equal(n_records(), 0);
}

static void
what_is_secret_is_not_written_without_a_key(void **state)
{
    (void)state;
    udpai_durable_batch *batch = new_batch(&a);
    udpa_resource *secret = RESOURCE(X, .type = SECRET, .value = "1", .version = "1");
    add_resource(batch, bytes_of("o"), secret);
    propose(&a, batch);
    run_ms(100);
    assert_non_null(strstr(reported(&a), "1: rejected, "));
    assert_int_equal(n_records(), 0);
}

/* ---- what others write there ---- */

#define RECORD_X "c/com.acme/test.Thing/x/o"

static void
what_cannot_be_read_is_not_there(void **state)
{
    (void)state;
    static log_lines lines;
    put(&a, "o", X, "1");
    run_ms(100);
    (void)reported(&b);
    assert_non_null(etcd_model_find(&model, UDPAI_STR(PREFIX RECORD_X), model.revision));
    log_lines_begin(&lines, UDPA_LOG_ERROR, "replicas");
    etcd_model_put(&model, PREFIX "c/nonsense", "x");
    etcd_model_put(&model, PREFIX "c/com.acme/test.Thing/%78/o", "x");
    run_ms(5000);
    assert_reported(&b, "");
    assert_true(lines.n >= 2);
    assert_non_null(strstr(lines.text, "key 'c/nonsense' is not one that"));
    etcd_model_put(&model, PREFIX RECORD_X, "no message");
    run_ms(5000);
    assert_reported(&b, ": -o/x");
    assert_non_null(strstr(lines.text, "cannot read the value of key '" RECORD_X));
    log_lines_end();
    close_replica(&b);
    open_replica(&b, "b");
    run_ms(100);
    assert_reported(&b, "all: -o/x; current");
    put(&b, "o", X, "2"); /* it can be replaced */
    run_ms(100);
    assert_reported(&b, ": +o/x=2; 2: committed");
}

static void
what_else_is_there_is_no_change(void **state)
{
    (void)state;
    int64_t before = b.has.revision;
    write_set("\x08\x01");
    etcd_model_put(&model, PREFIX "lane/z0", "x");
    etcd_model_put(&model, "/other/c/com.acme/test.Thing/x/o", "x");
    run_ms(2000);
    assert_reported(&b, "");
    assert_int_equal(b.has.revision, before);
}

/* ---- states, and its life ---- */

static void
states_are_reported(void **state)
{
    (void)state;
    put(&a, "o", X, "1");
    run_ms(100);
    (void)reported(&a);
    int64_t revision = model.revision;
    put(&a, "o", X, "2");
    run_ms(100);
    (void)reported(&a);
    etcd_model_away(&model, true);
    run_ms(5000);
    assert_true(strncmp(reported(&a), "behind", 6) == 0); /* and each reason for it */
    etcd_model_away(&model, false);
    run_ms(5000);
    assert_reported(&a, "current");
    etcd_model_restore(&model, revision);
    run_ms(5000);
    assert_non_null(strstr(reported(&a), "held"));
    put(&a, "o", X, "3");
    run_ms(10000);
    assert_non_null(strstr(reported(&a), "not done, "));
    assert_int_equal(model.revision, revision);
}

/* What it has missed comes revision by revision, also once the watch lives. */
static void
it_is_certain_again_when_it_has_what_it_missed(void **state)
{
    (void)state;
    const udpai_str key = UDPAI_STR(PREFIX "c/com.acme/test.Thing/x/o");
    put(&b, "o", X, "1");
    run_ms(200);
    assert_false(a.is_uncertain);
    const etcd_model_event *record = etcd_model_find(&model, key, model.revision);
    assert_non_null(record);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = NULL;
    assert_ok(udpa_bytes_new(&value, record->value.data, record->value.len));
    for (uint64_t seed = 1; seed <= 20; seed++) {
        unsigned n_uncertain = 0;
        model.random = seed;
        etcd_model_away(&model, true);
        run_ms(5000);
        assert_true(a.is_uncertain);
        for (int i = 0; i < 20; i++)
            etcd_model_write(&model, PREFIX "c/com.acme/test.Thing/x/o", udpai_bytes_view(value));
        int64_t revision = model.revision;
        etcd_model_away(&model, false);
        for (int ms = 0; ms < 5000 && a.is_uncertain; ms++, run_ms(1))
            n_uncertain += strcmp(a.state, "current") == 0;
        assert_false(a.is_uncertain);
        assert_true(n_uncertain > 0 && a.has.revision >= revision);
    }
}

/* While no write is done, the watch may live, and have less than there is. */
static void
whoever_has_waited_in_vain_makes_it_uncertain(void **state)
{
    (void)state;
    run_ms(200);
    assert_false(a.is_uncertain);
    model.faults.refused = 1000;
    wait_for_barrier(&a);
    run_ms(900);
    assert_true(a.n_passed == 0 && !a.is_uncertain);
    run_ms(200);
    assert_true(a.n_passed == 1 && a.n_given_up == 1 && a.is_uncertain);
    assert_string_equal(a.state, "current");
    model.faults.refused = 0;
    run_ms(200);
    assert_false(a.is_uncertain);
    wait_for_barrier(&a);
    run_ms(200);
    assert_true(a.n_passed == 2 && a.n_given_up == 1);
}

static void
while_etcd_is_known_to_be_away_nobody_waits(void **state)
{
    (void)state;
    run_ms(200);
    etcd_model_away(&model, true);
    run_ms(60000);
    assert_string_equal(a.state, "behind");
    wait_for_barrier(&a);
    assert_true(a.n_passed == 1 && a.n_given_up == 1);
    etcd_model_away(&model, false);
    run_ms(5000);
    wait_for_barrier(&a);
    assert_int_equal(a.n_passed, 1);
    run_ms(100);
    assert_true(a.n_passed == 2 && a.n_given_up == 1);
}

static void
one_that_begins_anew_is_told_all(void **state)
{
    (void)state;
    put(&a, "o", X, "1");
    run_ms(100);
    close_replica(&b);
    put(&a, "o", Y, "2");
    take_away(&a, "o", X);
    run_ms(100);
    etcd_model_compact(&model, model.revision);
    open_replica(&b, "b");
    run_ms(100);
    assert_reported(&b, "all: +o/y=2; current");
    assert_int_equal(b.has.revision, a.has.revision);
}

static void
what_has_no_outcome_at_the_end_gets_none(void **state)
{
    (void)state;
    for (uint64_t ms = 0; ms < 12; ms++) {
        put(&a, "o", X, "1");
        take_away(&a, "o", X);
        put(&a, "p", Y, "2");
        run_ms(ms);
        close_replica(&a);
        a.text[0] = '\0';
        run_ms(3000);
        assert_reported(&a, "");
        open_replica(&a, "a");
        run_ms(100);
    }
}

/* ---- memory ---- */

static udpa_err
open_and_close(void *context)
{
    replica *self = context;
    udpa_err err = try_to_open(self);
    self->replicator = udpai_replicator_free(self->replicator);
    self->text[0] = '\0';
    return err;
}

static void
without_memory_there_is_none(void **state)
{
    (void)state;
    c.name = "c";
    oom_torture(open_and_close, &c);
}

/* Each has an outcome, and what it says is so. */
static void
without_memory_a_proposal_has_an_outcome(void **state)
{
    (void)state;
    unsigned n_not_done = 0;
    assert_true(udpai_vector_reserve(&model.history, 4096));
    for (int n = 0; n < 80; n++) {
        char value[16], outcome[32];
        (void)snprintf(value, sizeof(value), "%d", n);
        (void)snprintf(outcome, sizeof(outcome), "%d: ", n + 1);
        udpai_durable_batch *batch = new_batch(&a);
        add_put(batch, "o", X, value);
        add_put(batch, "o", Y, value);
        udpai_replicated *report = udpai_replicated_new(UDPAI_REPLICATED_OUTCOME);
        report->ticket = ++last_ticket;
        udpai_alloc_fail_after(n);
        udpai_replicator_propose(a.replicator, batch, report);
        run_ms(1);
        udpai_alloc_fail_after(-1);
        run_ms(10000);
        const char *text = reported(&a), *at = strstr(text, outcome);
        assert_non_null(at);
        bool is_committed = strstr(text, "committed") != NULL;
        bool is_not_done = strstr(text, "not done") != NULL;
        assert_true(is_committed != is_not_done);
        assert_int_equal(strstr(text, "+o/x") != NULL, is_committed);
        n_not_done += is_not_done;
    }
    assert_true(n_not_done > 5 && n_not_done < 75);
}

/* As a whole, and once. */
static void
without_memory_a_change_comes_later(void **state)
{
    (void)state;
    assert_true(udpai_vector_reserve(&model.history, 4096)); /* etcd has memory of its own */
    for (int n = 0; n < 60; n++) {
        char value[16], expected[64];
        (void)snprintf(value, sizeof(value), "%d", n);
        (void)snprintf(expected, sizeof(expected), ": +o/x=%d, +o/y=%d", n, n);
        udpai_durable_batch *batch = new_batch(&a);
        add_put(batch, "o", X, value);
        add_put(batch, "o", Y, value);
        propose(&a, batch);
        run_ms(1);
        udpai_alloc_fail_after(n);
        run_ms(10);
        udpai_alloc_fail_after(-1);
        run_ms(10000);
        const char *text = reported(&b), *at = strstr(text, expected);
        assert_non_null(at);
        assert_ptr_equal(strstr(text, "+o/x"), at + 2);
        assert_null(strstr(at + 3, "+o/x"));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_committed_is_a_change_of_all),
        TEST(who_comes_second_loses),
        TEST(what_was_decided_before_a_change_loses_also_when_that_is_known),
        TEST(a_put_loses_to_a_removal_that_it_did_not_know),
        TEST(what_was_decided_in_a_place_that_has_gone_is_lost),
        TEST(in_a_place_that_it_does_not_have_it_is_lost_after_a_while),
        TEST(only_the_janitor_tidies_up),
        TEST(who_was_the_janitor_is_too_late),
        TEST(all_is_reported_again_on_request),
        TEST(what_changes_nothing_is_decided_again_when_all_is_there),
        TEST(what_changes_nothing_is_not_done_while_that_is_not_known),
        TEST(before_it_knows_anything_it_proposes_nothing),
        TEST(what_was_decided_on_another_cluster_is_not_proposed),
        TEST(what_is_too_large_is_rejected_in_words),
        TEST(what_is_secret_is_not_written_without_a_key),
        TEST(what_cannot_be_read_is_not_there),
        TEST(what_else_is_there_is_no_change),
        TEST(states_are_reported),
        TEST(it_is_certain_again_when_it_has_what_it_missed),
        TEST(whoever_has_waited_in_vain_makes_it_uncertain),
        TEST(while_etcd_is_known_to_be_away_nobody_waits),
        TEST(one_that_begins_anew_is_told_all),
        TEST(what_has_no_outcome_at_the_end_gets_none),
        TEST(without_memory_there_is_none),
        TEST(without_memory_a_proposal_has_an_outcome),
        TEST(without_memory_a_change_comes_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
