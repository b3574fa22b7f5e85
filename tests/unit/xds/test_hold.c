/* SPDX-License-Identifier: Apache-2.0 */
/* Which clusters are waited for, and until when: the rules alone, on a clock of the test's own. */
#include "tests/harness/oom.h"
#include "xds/hold.h"
#include "xds_test.h"

#define TIMEOUT_MS 5000
#define BEGIN_MS 0 /* a clock may begin there */

static const char a_stream, another_stream;

typedef struct bed {
    udpai_hold hold;
    udpai_memory memory;
    udpa_resource *clusters[3]; /* a, b, c */
    udpai_hold_needs endpoints[3];
    uint64_t endpoints_ms[3];
    uint64_t now_ms;
    size_t n_looks; /* at what clusters need */
} bed;

static int
setup(void **state)
{
    static const char *const texts[] = {"CDS/a=1", "CDS/b=1", "CDS/c=1"};
    bed *self = calloc(1, sizeof(*self));
    assert_non_null(self);
    udpai_hold_init(&self->hold, &self->memory);
    for (size_t i = 0; i < 3; i++) {
        self->clusters[i] = xds_resource(texts[i]);
        self->endpoints[i] = UDPAI_HOLD_COMING;
    }
    self->now_ms = BEGIN_MS;
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    bed *self = *state;
    udpai_hold_done(&self->hold);
    assert_int_equal(self->memory.bytes, 0);
    for (size_t i = 0; i < 3; i++)
        udpa_resource_unref(self->clusters[i]);
    free(self);
    return 0;
}

static size_t
index_of(const udpa_resource *cluster)
{
    udpai_str name = udpai_resource_name(cluster);
    return (size_t)(name.data[name.len - 1] - 'a');
}

static udpai_hold_needs
endpoints(void *userdata, const udpa_resource *cluster, uint64_t *ret_answered_ms)
{
    bed *self = userdata;
    size_t index = index_of(cluster);
    self->n_looks++;
    if (self->endpoints[index] == UDPAI_HOLD_ANSWERED)
        *ret_answered_ms = self->endpoints_ms[index];
    return self->endpoints[index];
}

static void
add(bed *self, char cluster, uint64_t seq, uint64_t nonce)
{
    const udpai_hold_response response = {&a_stream, nonce};
    udpai_hold_add(&self->hold, self->clusters[cluster - 'a'], seq, &response);
}

static void
change(bed *self, char cluster, uint64_t seq, uint64_t nonce)
{
    const udpai_hold_response response = {&a_stream, nonce};
    udpai_hold_change(&self->hold, self->clusters[cluster - 'a'], seq, &response);
}

static void
answer(bed *self, uint64_t nonce)
{
    const udpai_hold_response response = {&a_stream, nonce};
    udpai_hold_answer(&self->hold, &response, self->now_ms);
}

static void
know(bed *self, char cluster, udpai_hold_needs what)
{
    self->endpoints[cluster - 'a'] = what;
    self->endpoints_ms[cluster - 'a'] = self->now_ms;
}

static udpai_hold_verdict
ask(bed *self, uint64_t first, uint64_t last)
{
    const udpai_hold_question question = {first, last, self->now_ms, TIMEOUT_MS, endpoints, self};
    return udpai_hold_ask(&self->hold, &question);
}

/* Of one change: it waits for this cluster; 0: it may go. */
static void
expect(bed *self, uint64_t seq, char cluster)
{
    udpai_hold_verdict verdict = ask(self, seq, seq);
    assert_int_equal(verdict.limit >= seq, cluster == 0);
    if (cluster) {
        assert_non_null(verdict.cluster);
        assert_int_equal('a' + index_of(verdict.cluster), cluster);
        assert_true(verdict.until_ms > self->now_ms);
    }
}

static void
nothing_waits_for_nothing(void **state)
{
    bed *self = *state;
    assert_true(udpai_hold_is_empty(&self->hold));
    expect(self, 5, 0);
}

static void
both_answers_are_waited_for_in_any_order(void **state)
{
    bed *self = *state;
    for (int order = 0; order < 2; order++) {
        add(self, 'a', 5, 1);
        know(self, 'a', UDPAI_HOLD_COMING);
        expect(self, 5, 'a');
        expect(self, 9, 'a');
        if (order)
            answer(self, 1);
        else
            know(self, 'a', UDPAI_HOLD_ANSWERED);
        expect(self, 9, 'a');
        if (order)
            know(self, 'a', UDPAI_HOLD_ANSWERED);
        else
            answer(self, 1);
        expect(self, 9, 0);
        assert_true(udpai_hold_is_empty(&self->hold));
    }
}

static void
what_is_older_than_the_cluster_goes(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 1);
    expect(self, 4, 0);
    udpai_hold_verdict verdict = ask(self, 3, 8);
    assert_int_equal(verdict.limit, 4);
    add(self, 'b', 7, 1);
    answer(self, 1);
    know(self, 'a', UDPAI_HOLD_ANSWERED);
    verdict = ask(self, 3, 8);
    assert_int_equal(verdict.limit, 6);
    expect(self, 6, 0);
    expect(self, 7, 'b');
}

static void
without_endpoints_from_here_its_answer_is_enough(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 3);
    know(self, 'a', UDPAI_HOLD_NEEDLESS);
    expect(self, 5, 'a');
    answer(self, 2); /* of an earlier response */
    expect(self, 5, 'a');
    answer(self, 4); /* of a later one, as clients answer in order */
    expect(self, 5, 0);
}

static void
answers_of_other_streams_do_not_count(void **state)
{
    bed *self = *state;
    const udpai_hold_response other = {&another_stream, 9};
    add(self, 'a', 5, 1);
    know(self, 'a', UDPAI_HOLD_NEEDLESS);
    udpai_hold_answer(&self->hold, &other, self->now_ms);
    expect(self, 5, 'a');
    udpai_hold_forget(&self->hold, &another_stream);
    expect(self, 5, 'a');
    udpai_hold_forget(&self->hold, &a_stream);
    expect(self, 5, 0);
}

static void
what_can_never_be_warm_is_not_waited_for(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 1);
    expect(self, 5, 'a');
    know(self, 'a', UDPAI_HOLD_HOPELESS);
    expect(self, 5, 0);
}

/* Envoy answers when all its clusters are warm. */
static void
the_answer_alone_is_waited_for_a_second(void **state)
{
    bed *self = *state;
    self->now_ms += 300;
    add(self, 'a', 5, 1);
    know(self, 'a', UDPAI_HOLD_ANSWERED);
    self->now_ms += 100;
    expect(self, 5, 'a');
    self->now_ms += 899;
    expect(self, 5, 'a');
    self->now_ms += 1;
    expect(self, 5, 0);
}

/* While it is waited for, what is known of it changes; when to ask again does, too. */
static void
it_is_said_when_to_ask_again(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 1);
    know(self, 'a', UDPAI_HOLD_UNASKED);
    assert_int_equal(ask(self, 5, 5).until_ms, BEGIN_MS + TIMEOUT_MS);
    know(self, 'a', UDPAI_HOLD_COMING);
    assert_int_equal(ask(self, 5, 5).until_ms, BEGIN_MS + UDPAI_HOLD_LOOK_MS);
    self->now_ms += 100;
    know(self, 'a', UDPAI_HOLD_ANSWERED);
    assert_int_equal(ask(self, 5, 5).until_ms, BEGIN_MS + 100 + UDPAI_HOLD_GRACE_MS);
    self->now_ms += UDPAI_HOLD_LOOK_MS;
    assert_int_equal(ask(self, 5, 5).until_ms, BEGIN_MS + 100 + UDPAI_HOLD_GRACE_MS);
}

/* Who asked later waits no longer. */
static void
the_second_counts_from_the_endpoints(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 1);
    know(self, 'a', UDPAI_HOLD_ANSWERED);
    self->now_ms += 1000;
    expect(self, 5, 0);
}

static void
unasked_endpoints_are_waited_for_a_second(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 1);
    know(self, 'a', UDPAI_HOLD_UNASKED);
    self->now_ms += 3000; /* as long as it is not answered they do not matter */
    expect(self, 5, 'a');
    answer(self, 1);
    self->now_ms += 999;
    udpai_hold_verdict verdict = ask(self, 5, 5);
    assert_int_equal(verdict.until_ms, self->now_ms + 1);
    self->now_ms += 1;
    expect(self, 5, 0);
}

static void
a_cluster_is_waited_for_so_long_and_no_longer(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 1);
    self->now_ms += 60000; /* nobody waits yet */
    expect(self, 4, 0);
    expect(self, 5, 'a');
    self->now_ms += TIMEOUT_MS - 1;
    expect(self, 5, 'a');
    self->now_ms += 1;
    expect(self, 5, 0);
    expect(self, 100, 0); /* nor is it waited for again */
    self->now_ms += 60000;
    expect(self, 101, 0);
}

static void
each_has_its_own_time(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 1);
    expect(self, 5, 'a');
    self->now_ms += 4000;
    add(self, 'b', 7, 2);
    ask(self, 5, 8); /* something waits for b, too */
    self->now_ms += 1000;
    expect(self, 5, 0);
    expect(self, 8, 'b');
    self->now_ms += 3999;
    expect(self, 8, 'b');
    self->now_ms += 1;
    expect(self, 8, 0);
}

static void
given_up_it_is_waited_for_when_it_has_changed(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 1);
    expect(self, 5, 'a');
    self->now_ms += TIMEOUT_MS;
    expect(self, 5, 0);
    change(self, 'a', 9, 2);
    expect(self, 8, 0);
    expect(self, 9, 'a');
    self->now_ms += TIMEOUT_MS - 1;
    expect(self, 9, 'a');
    answer(self, 2);
    know(self, 'a', UDPAI_HOLD_ANSWERED);
    expect(self, 9, 0);
}

static void
what_is_warm_and_changes_is_not_waited_for(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 1);
    answer(self, 1);
    know(self, 'a', UDPAI_HOLD_ANSWERED);
    expect(self, 5, 0);
    know(self, 'a', UDPAI_HOLD_COMING);
    change(self, 'a', 7, 2);
    expect(self, 9, 0);
}

/* The one that it was is not used yet, and will not be. */
static void
what_changes_while_it_warms_is_waited_for_as_it_is_now(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 1);
    expect(self, 6, 'a');
    self->now_ms += 3000;
    change(self, 'a', 7, 2);
    know(self, 'a', UDPAI_HOLD_ANSWERED);
    answer(self, 1);
    expect(self, 6, 'a');
    self->now_ms += 500;
    answer(self, 2);
    expect(self, 6, 0);
}

static void
a_change_does_not_prolong_the_wait(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 1);
    expect(self, 6, 'a');
    for (uint64_t i = 0; i < 4; i++) {
        self->now_ms += 1000;
        change(self, 'a', 7 + i, 2 + i);
        expect(self, 6, 'a');
    }
    self->now_ms += 1000;
    expect(self, 6, 0);
}

static void
of_several_all_are_waited_for(void **state)
{
    bed *self = *state;
    for (char cluster = 'a'; cluster <= 'c'; cluster++)
        add(self, cluster, 5, 1);
    answer(self, 1);
    know(self, 'c', UDPAI_HOLD_ANSWERED);
    know(self, 'a', UDPAI_HOLD_ANSWERED);
    expect(self, 5, 'b');
    know(self, 'b', UDPAI_HOLD_ANSWERED);
    expect(self, 5, 0);
    assert_true(udpai_hold_is_empty(&self->hold));
}

/* Many clients that are slow ask again and again: not for all their clusters each time. */
static void
what_blocks_still_is_looked_at_alone(void **state)
{
    bed *self = *state;
    for (char cluster = 'a'; cluster <= 'c'; cluster++)
        add(self, cluster, 5, 1);
    answer(self, 1);
    expect(self, 6, 'c');
    assert_int_equal(self->n_looks, 3);
    self->now_ms += UDPAI_HOLD_LOOK_MS;
    udpai_hold_verdict verdict = ask(self, 6, 6);
    assert_int_equal(self->n_looks, 4);
    assert_true(verdict.limit < 6);
    assert_ptr_equal(verdict.cluster, self->clusters[2]);
    assert_int_equal(verdict.until_ms, self->now_ms + UDPAI_HOLD_LOOK_MS);
    self->now_ms = BEGIN_MS + TIMEOUT_MS - 1;
    assert_int_equal(ask(self, 6, 6).until_ms, BEGIN_MS + TIMEOUT_MS);
    know(self, 'c', UDPAI_HOLD_ANSWERED);
    expect(self, 6, 'b');
    self->now_ms++;
    expect(self, 6, 0);
}

/* What is older waits for less. */
static void
what_blocks_one_does_not_block_another(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 1);
    add(self, 'b', 7, 1);
    expect(self, 8, 'b');
    know(self, 'a', UDPAI_HOLD_HOPELESS);
    assert_int_equal(ask(self, 6, 8).limit, 6);
    expect(self, 8, 'b');
}

static void
what_is_awaited_later_has_its_own_time(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 1);
    add(self, 'b', 7, 1);
    expect(self, 5, 'a');
    self->now_ms += 4000;
    ask(self, 5, 8); /* something waits for b, too, though a blocks still */
    self->now_ms += 1000;
    expect(self, 5, 0);
    self->now_ms += 3999;
    expect(self, 8, 'b');
    self->now_ms += 1;
    expect(self, 8, 0);
}

static void
removed_and_added_again_it_is_another_one(void **state)
{
    bed *self = *state;
    add(self, 'a', 5, 1);
    expect(self, 5, 'a');
    add(self, 'a', 9, 2);
    expect(self, 8, 0);
    expect(self, 9, 'a');
}

static udpa_err
add_three(void *context)
{
    bed *self = context;
    size_t n = 0;
    add(self, 'a', 5, 1);
    add(self, 'b', 6, 1);
    change(self, 'b', 7, 2);
    add(self, 'c', 8, 2);
    for (uint64_t seq = 5; seq <= 8; seq++)
        n += ask(self, seq, seq).limit < seq;
    udpai_hold_forget(&self->hold, &a_stream);
    return n == 4 ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
without_memory_nothing_is_waited_for(void **state)
{
    oom_torture(add_three, *state);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(nothing_waits_for_nothing),
        TEST(both_answers_are_waited_for_in_any_order),
        TEST(what_is_older_than_the_cluster_goes),
        TEST(without_endpoints_from_here_its_answer_is_enough),
        TEST(answers_of_other_streams_do_not_count),
        TEST(what_can_never_be_warm_is_not_waited_for),
        TEST(the_answer_alone_is_waited_for_a_second),
        TEST(it_is_said_when_to_ask_again),
        TEST(the_second_counts_from_the_endpoints),
        TEST(unasked_endpoints_are_waited_for_a_second),
        TEST(a_cluster_is_waited_for_so_long_and_no_longer),
        TEST(each_has_its_own_time),
        TEST(given_up_it_is_waited_for_when_it_has_changed),
        TEST(what_is_warm_and_changes_is_not_waited_for),
        TEST(what_changes_while_it_warms_is_waited_for_as_it_is_now),
        TEST(a_change_does_not_prolong_the_wait),
        TEST(of_several_all_are_waited_for),
        TEST(what_blocks_still_is_looked_at_alone),
        TEST(what_blocks_one_does_not_block_another),
        TEST(what_is_awaited_later_has_its_own_time),
        TEST(removed_and_added_again_it_is_another_one),
        TEST(without_memory_nothing_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
