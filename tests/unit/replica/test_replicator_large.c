/* SPDX-License-Identifier: Apache-2.0 */
/* Proposals that are more than a transaction of etcd holds. */
#include "tests/unit/replica/replicator_bed.h"

#include "base/alloc.h"

#define MANY 200
#define MANY_MORE 500 /* which are finished by more than is attempted at once */
#define LOCKED "com.acme/7"

static size_t
n_keys(const char *head)
{
    char prefix[16];
    (void)snprintf(prefix, sizeof(prefix), "%s%s", PREFIX, head);
    return etcd_model_count(&model, udpai_str_from(prefix), model.revision);
}

static bool
is_clean(void)
{
    return n_keys("i/") + n_keys("p/") + n_keys("x/") == 0;
}

static udpai_durable_batch *
batch_of(const replica *by, int n, const char *value)
{
    udpai_durable_batch *batch = new_batch(by);
    for (int i = 0; i < n; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "com.acme/%d", i);
        add_put(batch, "o", name, value);
    }
    return batch;
}

static udpai_durable_batch *
large_batch(const replica *by, const char *value)
{
    return batch_of(by, MANY, value);
}

static size_t
n_puts(const char *text, const char *until)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, "+o/")) && (!until || at < until); at++)
        n++;
    return n;
}

/* At the end of the first change. */
static size_t
n_puts_at_once(const char *text)
{
    return n_puts(text, strchr(text, ';'));
}

/* Another etcd, whose history is short. */
static void
begin_anew(void **state)
{
    assert_int_equal(teardown(state), 0);
    assert_int_equal(setup(state), 0);
}

/* ---- as a whole, or not at all ---- */

/* Others have it at one position. Its records may come again. */
static void
one_with_many_changes_is_whole(void **state)
{
    (void)state;
    propose(&a, large_batch(&a, "1"));
    while (n_keys("x/") == 0)
        run_ms(1);
    assert_int_equal(n_keys("i/"), 0);
    assert_int_equal(n_keys("p/"), MANY);
    run_ms(30000);
    assert_non_null(strstr(a.text, "1: committed"));
    assert_int_equal(n_records(), MANY);
    assert_int_equal(n_puts_at_once(reported(&b)), MANY);
    assert_true(is_clean());
}

/* Before its records are written, too, which is later. */
static void
a_put_loses_to_a_removal_in_a_large_set(void **state)
{
    (void)state;
    udpai_durable_batch *early = new_batch(&a), *large = large_batch(&b, "1");
    add_put(early, "o", X, "1");
    add_removal(large, X);
    propose(&b, large);
    while (n_keys("x/") == 0)
        run_ms(1);
    propose(&a, early);
    run_ms(30000);
    assert_non_null(strstr(b.text, "1: committed"));
    assert_non_null(strstr(a.text, "2: lost"));
}

/* ---- of the janitor ---- */

static replica *
first_of_two(void)
{
    run_ms(5000); /* both have their places */
    assert_true(a.is_first || b.is_first);
    return a.is_first ? &a : &b;
}

static void
propose_as_janitor(replica *by)
{
    udpai_durable_batch *batch = large_batch(by, "1");
    batch->is_janitors = true;
    propose(by, batch);
}

static void
propose_in_place(replica *by)
{
    udpai_durable_batch *batch = large_batch(by, "1");
    batch->place = 1;
    propose(by, batch);
}

static void
the_janitor_may_change_much_and_others_nothing(void **state)
{
    (void)state;
    replica *first = first_of_two(), *second = first == &a ? &b : &a;
    propose_as_janitor(second);
    run_ms(1000);
    assert_non_null(strstr(reported(second), "1: lost"));
    assert_true(n_records() == 0 && is_clean());
    propose_as_janitor(first);
    run_ms(30000);
    assert_non_null(strstr(reported(first), "2: committed"));
    assert_int_equal(n_records(), MANY);
    assert_true(is_clean());
}

/* With its place gone at any moment before that of the commit nothing of it is done. */
static void
commit_nothing(void **state, void (*propose_large)(replica *by))
{
    unsigned n_lost = 0;
    for (uint64_t ms = 0; ms < 40; ms += 3) {
        begin_anew(state);
        replica *first = first_of_two();
        propose_large(first);
        run_ms(ms);
        if (n_keys("x/") || n_records())
            continue;
        etcd_model_put(&model, PREFIX "m/1", NULL);
        run_ms(30000);
        assert_null(strstr(first->text, ": committed"));
        assert_int_equal(n_records(), 0);
        assert_true(is_clean());
        n_lost++;
    }
    assert_true(n_lost > 5);
}

static void
a_janitor_that_loses_its_place_commits_nothing(void **state)
{
    commit_nothing(state, propose_as_janitor);
}

static void
nor_does_another_one(void **state)
{
    commit_nothing(state, propose_in_place);
}

/* ---- who has proposed it has gone ---- */

static void
when_its_proposer_goes_others_end_it(void **state)
{
    unsigned n_committed = 0, n_given_up = 0;
    for (uint64_t ms = 0; ms < 60; ms++) {
        begin_anew(state);
        propose(&a, large_batch(&a, "1"));
        run_ms(ms);
        bool is_committed = n_keys("x/") != 0;
        bool is_begun = is_committed || n_keys("i/");
        close_replica(&a);
        run_ms(30000);
        assert_true(is_clean());
        const char *text = reported(&b);
        bool has_it = strstr(text, "=1") != NULL;
        assert_true(!is_committed || has_it);
        assert_int_equal(has_it ? n_puts_at_once(text) : 0, has_it ? MANY : 0);
        n_committed += has_it;
        n_given_up += is_begun && !has_it;
    }
    assert_true(n_committed > 5 && n_given_up > 5);
}

static const char *
intent_key(void)
{
    for (size_t i = model.history.n; i > 0; i--)
        if (strncmp(model.history.items[i - 1].key, PREFIX "i/", strlen(PREFIX "i/")) == 0)
            return model.history.items[i - 1].key;
    return NULL;
}

/* It was only slow, and goes on. */
static void
what_others_have_given_up_is_not_committed(void **state)
{
    unsigned n_given_up = 0;
    for (uint64_t ms = 0; ms < 40; ms += 2) {
        begin_anew(state);
        propose(&a, large_batch(&a, "1"));
        while (n_keys("i/") == 0)
            run_ms(1);
        run_ms(ms);
        if (n_keys("x/") || !n_keys("i/"))
            continue;
        bool has_all = n_keys("p/") == MANY;
        char *key = strdup(intent_key());
        etcd_model_put(&model, key, NULL);
        free(key);
        run_ms(30000);
        assert_true(strstr(a.text, "1: not done, ") || (!has_all && strstr(a.text, "1: lost")));
        assert_int_equal(n_puts(reported(&b), NULL), 0);
        assert_int_equal(n_records(), 0);
        assert_true(is_clean());
        n_given_up++;
    }
    assert_true(n_given_up > 5);
}

/* A lock goes when nobody can commit its set any more, or when it is committed; that is known until
 * the last one has gone. */
static void
locks_go_in_order(void **state)
{
    for (uint64_t ms = 10; ms <= 50; ms += 10) {
        size_t n_before = 0;
        begin_anew(state);
        propose(&a, large_batch(&a, "1"));
        run_ms(ms);
        close_replica(&a);
        run_ms(4900); /* nobody has lost patience */
        for (int i = 0; i < 3000 && !is_clean(); i++) {
            size_t n = n_keys("p/"), n_intents = n_keys("i/");
            assert_true(n >= n_before || n_intents == 0);
            assert_true(n == 0 || n_intents || n_records() == 0 || n_keys("x/"));
            n_before = n;
            run_ms(n_intents ? 20 : 1);
        }
        assert_true(is_clean());
    }
}

/* Not before it is known to have stopped. */
static void
what_makes_progress_is_not_given_up(void **state)
{
    (void)state;
    const udpai_str first = UDPAI_STR(PREFIX "p/c/com.acme/test.Thing/0/o");
    propose(&a, large_batch(&a, "1"));
    while (!etcd_model_find(&model, first, model.revision))
        run_ms(1);
    close_replica(&a);
    for (int i = 0; i < 10; i++) { /* as if it went on, slowly */
        const etcd_model_event *lock = etcd_model_find(&model, first, model.revision);
        assert_non_null(lock);
        char *value = strndup(lock->value.data, lock->value.len);
        etcd_model_put(&model, PREFIX "p/c/com.acme/test.Thing/0/o", value);
        free(value);
        run_ms(3000);
        assert_int_equal(n_keys("i/"), 1);
    }
    run_ms(1500);
    assert_int_equal(n_keys("i/"), 1);
    run_ms(10000);
    assert_true(is_clean());
    assert_int_equal(n_records(), 0);
}

/* Nobody else does it here. */
static void
what_could_not_be_finished_is_tried_again(void **state)
{
    for (unsigned i = 0; i < 16; i++) {
        begin_anew(state);
        model.random = i;
        close_replica(&b);
        propose(&a, batch_of(&a, MANY_MORE, "1"));
        while (n_keys("x/") == 0)
            run_ms(1);
        model.faults.refused = 900;
        run_ms(2100);
        model.faults.refused = 0;
        run_ms(3000);
        assert_true(is_clean());
        assert_int_equal(n_records(), MANY_MORE);
    }
}

/* ---- waiting for it ---- */

static void
a_proposal_about_what_is_locked_waits(void **state)
{
    (void)state;
    propose(&a, large_batch(&a, "1"));
    while (n_keys("p/") < MANY)
        run_ms(1);
    run_ms(3);
    put(&b, "o", LOCKED, "2");
    put(&b, "o", X, "2"); /* of which it has none */
    while (n_keys("p/c/com.acme/test.Thing/7/") != 0) {
        assert_null(strstr(b.text, "2: "));
        run_ms(1);
    }
    run_ms(1000);
    assert_non_null(strstr(b.text, "2: lost"));
    assert_non_null(strstr(b.text, "3: committed"));
    assert_non_null(strstr(a.text, "1: committed"));
    assert_true(is_clean());
}

/* What it changes is as it was. */
static void
it_is_committed_if_the_large_one_is_given_up(void **state)
{
    (void)state;
    propose(&a, large_batch(&a, "1"));
    while (n_keys("p/") == 0)
        run_ms(1);
    run_ms(5);
    close_replica(&a);
    (void)reported(&b);
    put(&b, "o", "com.acme/0", "2");
    run_ms(3000);
    assert_reported(&b, "");
    run_ms(10000);
    assert_non_null(strstr(b.text, ": +o/0=2; 2: committed"));
    assert_true(is_clean());
    assert_int_equal(n_records(), 1);
}

/* As one of another replica that is about the same. */
static void
two_large_ones_about_the_same_do_not_mix(void **state)
{
    for (uint64_t ms = 0; ms < 40; ms += 2) {
        bool has[2];
        begin_anew(state);
        propose(&a, large_batch(&a, "1"));
        run_ms(ms);
        bool is_seen = b.text[0];
        propose(&b, large_batch(&b, "2"));
        run_ms(40000);
        has[0] = strstr(a.text, ": committed") != NULL;
        has[1] = strstr(b.text, ": committed") != NULL;
        assert_true(is_seen || !has[0] || !has[1]);
        assert_true(has[0] || strstr(a.text, ": lost") || strstr(a.text, ": not done"));
        assert_true(has[1] || strstr(b.text, ": lost") || strstr(b.text, ": not done"));
        assert_true(is_clean());
        assert_int_equal(n_records(), has[0] || has[1] ? MANY : 0);
    }
}

static void
nobody_waits_for_ever(void **state)
{
    (void)state;
    propose(&a, large_batch(&a, "1"));
    while (n_keys("p/") == 0)
        run_ms(1);
    run_ms(5);
    close_replica(&a);
    (void)reported(&b);
    put(&b, "o", "com.acme/0", "2");
    for (int i = 0; i < 16; i++) { /* it makes progress for longer than anybody has patience */
        char key[64];
        const etcd_model_event *lock = etcd_model_find(
            &model, UDPAI_STR(PREFIX "p/c/com.acme/test.Thing/0/o"), model.revision);
        (void)snprintf(key, sizeof(key), PREFIX "p/c/com.acme/test.Thing/more%d/o", i);
        char *value = strndup(lock->value.data, lock->value.len);
        etcd_model_put(&model, key, value);
        free(value);
        assert_null(strstr(b.text, "2: "));
        run_ms(1000);
    }
    assert_non_null(strstr(b.text, "2: not done, "));
    assert_non_null(strstr(b.text, "is not finished yet: publish it again"));
    run_ms(20000);
    assert_true(is_clean());
}

/* ---- what is missed ---- */

/* Of a record that was locked when etcd was seen last nothing is left to look at. */
static void
what_came_and_went_while_nobody_looked_is_gone(void **state)
{
    (void)state;
    propose(&a, large_batch(&a, "1"));
    while (n_keys("x/") == 0)
        run_ms(1);
    close_replica(&a); /* and others, which b does not see, finish it, and delete a record */
    run_ms(5);
    assert_int_equal(n_puts_at_once(b.text), MANY);
    const char *const keys[] = {"p/c/com.acme/test.Thing/7/o", "p/c/com.acme/test.Thing/8/o"};
    etcd_model_put(&model, PREFIX "c/com.acme/test.Thing/7/o", "1");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(keys); i++) {
        char key[64];
        (void)snprintf(key, sizeof(key), PREFIX "%s", keys[i]);
        etcd_model_put(&model, key, NULL);
    }
    etcd_model_put(&model, PREFIX "c/com.acme/test.Thing/7/o", NULL);
    etcd_model_put(&model, PREFIX "p/c/com.acme/test.Thing/8/o",
                   "\x0a\x20"
                   "0123456789abcdef0123456789abcdef");
    etcd_model_compact(&model, model.revision);
    model.faults.cut_watches = 1000;
    (void)reported(&b);
    run_ms(1);
    model.faults.cut_watches = 0;
    run_ms(30000);
    assert_non_null(strstr(b.text, "-o/7"));
    assert_non_null(strstr(b.text, "-o/8"));
    assert_true(is_clean());
}

/* ---- memory ---- */

/* Nobody else does it here. */
static void
without_memory_it_is_whole_or_not_at_all(void **state)
{
    unsigned n_whole = 0, n_not = 0;
    for (int n = 0; n < 120; n++) {
        begin_anew(state);
        close_replica(&b);
        assert_true(udpai_vector_reserve(&model.history, 20000));
        assert_true(udpai_vector_reserve(&model.leases.all, 100));
        propose(&a, large_batch(&a, "1"));
        run_ms((uint64_t)n % 53);
        udpai_alloc_fail_after(n % 7 ? n % 23 : (n % 100) * 10);
        run_ms(10 + (uint64_t)n / 4);
        udpai_alloc_fail_after(-1);
        run_ms(10000);
        assert_true(is_clean());
        bool is_whole = strstr(a.text, ": committed") != NULL;
        assert_true(is_whole || strstr(a.text, ": not done") || strstr(a.text, ": unknown"));
        assert_int_equal(n_records(), is_whole ? MANY : 0);
        n_whole += is_whole;
        n_not += !is_whole;
    }
    assert_true(n_whole > 50 && n_not > 5);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_with_many_changes_is_whole),
        TEST(a_put_loses_to_a_removal_in_a_large_set),
        TEST(the_janitor_may_change_much_and_others_nothing),
        TEST(a_janitor_that_loses_its_place_commits_nothing),
        TEST(nor_does_another_one),
        TEST(when_its_proposer_goes_others_end_it),
        TEST(what_others_have_given_up_is_not_committed),
        TEST(locks_go_in_order),
        TEST(what_makes_progress_is_not_given_up),
        TEST(what_could_not_be_finished_is_tried_again),
        TEST(a_proposal_about_what_is_locked_waits),
        TEST(it_is_committed_if_the_large_one_is_given_up),
        TEST(two_large_ones_about_the_same_do_not_mix),
        TEST(nobody_waits_for_ever),
        TEST(what_came_and_went_while_nobody_looked_is_gone),
        TEST(without_memory_it_is_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
