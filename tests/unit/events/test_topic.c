/* SPDX-License-Identifier: Apache-2.0 */
/* A topic: batches, bounds, shares of clients, and what is lost. */
#include "events/topic.h"

#include "tests/harness/oom.h"
#include "topic_bed.h"

#define MANY ((size_t)1 << 20) /* bytes, where they are no matter */

static topic_bed bed;

static int
end(void **state)
{
    (void)state;
    bed_done(&bed);
    return 0;
}

/* ---- the ring ---- */

static void
assert_held(size_t n, size_t bytes)
{
    udpai_topic_facts facts = bed_facts(&bed);
    assert_int_equal(facts.n_held, n);
    assert_int_equal(facts.held_bytes, bytes);
}

static void
the_ring_is_bounded_in_entries_and_in_bytes(void **state)
{
    (void)state;
    bed_init(&bed, 4, 100, true);
    bed_join(&bed, 0, "a");
    for (size_t i = 0; i < 10; i++) {
        assert_ok(bed_add(&bed, 0, 10));
        bed_drain(&bed);
    }
    assert_held(4, 40);
    assert_ok(bed_add(&bed, 0, 75));
    bed_drain(&bed);
    assert_held(3, 95);
    assert_ok(bed_add(&bed, 0, 100));
    assert_held(1, 100);
    assert_int_equal(bed_facts(&bed).n_dropped, 0); /* all was handed over before */
    assert_int_equal(bed_facts(&bed).n_accepted, 12);
    assert_int_equal(bed_facts(&bed).n_bytes, 275);
}

static void
what_is_larger_than_the_ring_is_refused(void **state)
{
    (void)state;
    bed_init(&bed, 4, 100, true);
    bed_join(&bed, 0, "a");
    assert_ok(bed_add(&bed, 0, 10));
    assert_int_equal(bed_add(&bed, 0, 101), UDPA_ERR_LIMIT);
    assert_held(1, 10);
}

static void
limits_have_defaults(void **state)
{
    (void)state;
    bed_init(&bed, 0, 0, false);
    bed_join(&bed, 0, "a");
    bed_add_many(&bed, 0, UDPAI_TOPIC_ENTRIES_DEFAULT + 1, 1);
    assert_held(UDPAI_TOPIC_ENTRIES_DEFAULT, UDPAI_TOPIC_ENTRIES_DEFAULT);
}

/* ---- handing over ---- */

static void
the_next_batch_waits_until_one_is_done(void **state)
{
    (void)state;
    bed_init(&bed, 100, MANY, true);
    bed_join(&bed, 0, "a");
    assert_ok(bed_add(&bed, 0, 1));
    assert_int_equal(bed.written.n, 1); /* at once */
    bed_add_many(&bed, 0, 10, 1);
    bed_advance(&bed, 1000);
    assert_int_equal(bed.written.n, 1);
    bed_done_one(&bed);
    bed_advance(&bed, UDPAI_TOPIC_LOOK_MS);
    assert_int_equal(bed.written.n, 11);
    for (size_t i = 0; i < bed.written.n; i++)
        assert_int_equal(bed.written.items[i], i + 1);
    bed_done_one(&bed);
    assert_int_equal(bed_facts(&bed).n_written, 11);
    assert_int_equal(udpai_wheel_next(&bed.wheel), UDPAI_WHEEL_NEVER); /* nothing is looked for */
}

static void
a_batch_is_bounded(void **state)
{
    (void)state;
    bed_init(&bed, 100000, (size_t)64 << 20, true);
    bed_join(&bed, 0, "a");
    bed_add_many(&bed, 0, 1, 1);
    bed_add_many(&bed, 0, UDPAI_TOPIC_BATCH_EVENTS + 5, 1);
    bed_done_one(&bed);
    bed_advance(&bed, UDPAI_TOPIC_LOOK_MS);
    assert_int_equal(bed.written.n, 1 + UDPAI_TOPIC_BATCH_EVENTS);
    bed_drain(&bed);
    size_t before = bed.written.n;
    bed_add_many(&bed, 0, 1, 1);
    bed_add_many(&bed, 0, 3, UDPAI_TOPIC_BATCH_BYTES / 2);
    bed_done_one(&bed);
    bed_advance(&bed, UDPAI_TOPIC_LOOK_MS);
    assert_int_equal(bed.written.n, before + 3);
    bed_add_many(&bed, 0, 1, 2 * UDPAI_TOPIC_BATCH_BYTES); /* one that is larger goes alone */
    bed_drain(&bed);
    assert_int_equal(bed.written.n, before + 5);
}

static void
what_waits_at_the_end_is_handed_over(void **state)
{
    (void)state;
    bed_init(&bed, 10000, MANY, true);
    bed_join(&bed, 0, "a");
    bed_add_many(&bed, 0, 1000, 1);
    assert_int_equal(bed.written.n, 1);
    udpai_topic_leave(bed.topic, &bed.streams[0].stream);
    udpai_topic_flush(bed.topic);
    assert_int_equal(bed.written.n, 1000);
}

static void
without_a_writer_once_a_second(void **state)
{
    (void)state;
    bed_init(&bed, 10, MANY, false);
    bed_join(&bed, 0, "a");
    bed_add_many(&bed, 0, 6, 1);
    assert_true(bed.streams[0].is_paused); /* more than half of it in one second */
    bed_advance(&bed, UDPAI_TOPIC_TURN_MS - 1);
    assert_true(bed.streams[0].is_paused);
    bed_advance(&bed, 1);
    assert_false(bed.streams[0].is_paused);
    assert_held(6, 6); /* to be read */
    udpai_topic_flush(bed.topic);
}

/* ---- shares ---- */

static void
who_has_half_of_his_share_is_not_read(void **state)
{
    (void)state;
    bed_init(&bed, 100, MANY, true);
    bed_join(&bed, 0, "a");
    assert_ok(bed_add(&bed, 0, 1)); /* under way: it does not wait */
    bed_add_many(&bed, 0, 50, 1);
    assert_false(bed.streams[0].is_paused);
    assert_ok(bed_add(&bed, 0, 1));
    assert_true(bed.streams[0].is_paused);
    bed_drain(&bed);
    assert_false(bed.streams[0].is_paused);
    assert_int_equal(bed.streams[0].n_changes, 2);
    assert_int_equal(bed_facts(&bed).n_dropped, 0);
}

static void
bytes_count_as_entries_do(void **state)
{
    (void)state;
    bed_init(&bed, 100, 1000, true);
    bed_join(&bed, 0, "a");
    bed_add_many(&bed, 0, 1, 1);
    bed_add_many(&bed, 0, 2, 200);
    assert_false(bed.streams[0].is_paused);
    assert_ok(bed_add(&bed, 0, 200));
    assert_true(bed.streams[0].is_paused);
}

static void
a_share_is_the_smaller_the_more_there_are(void **state)
{
    (void)state;
    bed_init(&bed, 100, MANY, true);
    bed_join(&bed, 0, "a");
    bed_join(&bed, 1, "b");
    bed_add_many(&bed, 0, 26, 1);
    assert_false(bed.streams[0].is_paused);
    assert_ok(bed_add(&bed, 0, 1));
    assert_true(bed.streams[0].is_paused);
    assert_false(bed.streams[1].is_paused);
    assert_ok(bed_add(&bed, 1, 1));
    assert_false(bed.streams[1].is_paused);
    assert_int_equal(bed_facts(&bed).n_clients, 2);
}

static void
streams_of_one_client_share(void **state)
{
    (void)state;
    bed_init(&bed, 100, MANY, true);
    bed_join(&bed, 0, "a");
    bed_join(&bed, 1, "a");
    bed_add_many(&bed, 0, 26, 1);
    bed_add_many(&bed, 1, 26, 1);
    assert_true(bed.streams[0].is_paused && bed.streams[1].is_paused);
    bed_join(&bed, 2, "a"); /* one more of him does not help */
    assert_true(bed.streams[2].is_paused);
    assert_int_equal(bed_facts(&bed).n_clients, 1);
    bed_drain(&bed);
    assert_false(bed.streams[0].is_paused || bed.streams[1].is_paused || bed.streams[2].is_paused);
}

static void
who_has_the_most_loses_if_room_is_needed(void **state)
{
    (void)state;
    bed_init(&bed, 100, MANY, true);
    bed_join(&bed, 0, "flood");
    bed_join(&bed, 1, "a");
    bed_add_many(&bed, 1, 11, 1);  /* the first is under way */
    bed_add_many(&bed, 0, 500, 1); /* though it was asked to stop */
    udpai_topic_facts facts = bed_facts(&bed);
    assert_int_equal(facts.n_held, 100);
    assert_int_equal(facts.n_dropped, 500 + 11 - 1 - 100);
    bed_add_many(&bed, 1, 20, 1); /* and more of the other takes from it, too */
    assert_int_equal(bed_facts(&bed).n_dropped, facts.n_dropped + 20);
    bed_drain(&bed);
    size_t n_of_a = 0, n = bed.written.n;
    for (size_t i = 0; i < n; i++)
        n_of_a += bed.written.items[i] <= 11 || bed.written.items[i] > 511;
    assert_int_equal(n_of_a, 31); /* nothing of his is lost */
    assert_int_equal(n, 1 + 100);
}

static void
who_has_left_is_remembered_while_something_waits(void **state)
{
    (void)state;
    bed_init(&bed, 10, MANY, true);
    bed_join(&bed, 0, "a");
    bed_add_many(&bed, 0, 9, 1);
    assert_true(bed.streams[0].is_paused);
    udpai_topic_leave(bed.topic, &bed.streams[0].stream);
    assert_int_equal(bed_facts(&bed).n_clients, 0);
    bed.streams[0].is_paused = false;
    bed_join(&bed, 0, "a"); /* a new stream is no way out */
    assert_true(bed.streams[0].is_paused);
    bed_drain(&bed);
    assert_false(bed.streams[0].is_paused);
    assert_int_equal(bed.written.n, 9);
}

/* ---- followers ---- */

static unsigned n_wakes;

static void
on_wake(udpai_topic_follower *follower)
{
    (void)follower;
    n_wakes++;
}

static udpai_topic_follower follower = {.wake = on_wake};

static void
expect_next(uint64_t sequence, uint64_t n_lost)
{
    uint64_t lost;
    const udpai_event *event = udpai_topic_next(bed.topic, &follower, &lost);
    assert_int_equal(event ? event->sequence : 0, sequence);
    assert_int_equal(lost, n_lost);
}

static void
a_follower_begins_with_what_is_held(void **state)
{
    (void)state;
    bed_init(&bed, 3, MANY, true);
    bed_join(&bed, 0, "a");
    for (size_t i = 0; i < 5; i++) {
        assert_ok(bed_add(&bed, 0, 1));
        bed_drain(&bed);
    }
    n_wakes = 0;
    assert_ok(udpai_topic_follow(bed.topic, &follower));
    expect_next(3, 0);
    expect_next(4, 0);
    expect_next(5, 0);
    expect_next(0, 0);
    assert_int_equal(n_wakes, 0);
    bed_add_many(&bed, 0, 2, 1);
    assert_int_equal(n_wakes, 1); /* once, until it has caught up */
    expect_next(6, 0);
    expect_next(7, 0);
    expect_next(0, 0);
    udpai_topic_unfollow(bed.topic, &follower);
    udpai_topic_unfollow(bed.topic, &follower); /* harmless */
}

static void
gaps_are_counted_where_they_are(void **state)
{
    (void)state;
    bed_init(&bed, 4, MANY, true);
    bed_join(&bed, 0, "a");
    assert_ok(udpai_topic_follow(bed.topic, &follower));
    bed_add_many(&bed, 0, 2, 1);
    expect_next(1, 0);
    bed_drain(&bed);
    for (size_t i = 0; i < 6; i++) {
        assert_ok(bed_add(&bed, 0, 1));
        bed_drain(&bed);
    }
    expect_next(5, 3); /* 2, 3 and 4 have gone */
    expect_next(6, 0);
    expect_next(7, 0);
    expect_next(8, 0);
    expect_next(0, 0);
    udpai_topic_unfollow(bed.topic, &follower);
}

static void
what_is_about_to_be_read_may_be_dropped(void **state)
{
    (void)state;
    bed_init(&bed, 2, 100, true);
    bed_join(&bed, 0, "a");
    assert_ok(udpai_topic_follow(bed.topic, &follower));
    bed_add_many(&bed, 0, 2, 10);
    expect_next(1, 0);
    assert_ok(bed_add(&bed, 0, 100)); /* 2 is dropped for 3 */
    expect_next(3, 1);
    expect_next(0, 0);
    udpai_topic_unfollow(bed.topic, &follower);
}

static void
there_are_only_so_many_followers(void **state)
{
    (void)state;
    static udpai_topic_follower all[UDPAI_TOPIC_FOLLOWERS_MAX];
    bed_init(&bed, 4, MANY, true);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        assert_ok(udpai_topic_follow(bed.topic, &all[i]));
    assert_int_equal(udpai_topic_follow(bed.topic, &follower), UDPA_ERR_LIMIT);
    udpai_topic_unfollow(bed.topic, &all[0]);
    assert_ok(udpai_topic_follow(bed.topic, &follower));
    udpai_topic_unfollow(bed.topic, &follower);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        udpai_topic_unfollow(bed.topic, &all[i]);
}

/* ---- memory ---- */

static udpa_err
fill(void *context)
{
    const udpai_topic_options options = {UDPAI_EVENT_TAP, 4, 100, 0};
    topic_bed *self = context;
    udpai_wheel_init(&self->wheel, 1000); /* the last one has gone, as flushing says */
    udpa_err err = udpai_topic_new(&self->topic, &options);
    if (err != UDPA_OK)
        return err;
    udpai_topic_set_writer(self->topic, bed_write, self);
    self->source = udpai_event_source_new(UDPAI_STR("edge"), (udpai_str){0}, (udpai_str){0});
    err = self->source ? udpai_topic_join(self->topic, &self->wheel, UDPAI_STR("a"),
                                          &self->streams[0].stream)
                       : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < 6 && err == UDPA_OK; i++)
        err = bed_add(self, 0, 10);
    udpai_topic_flush(self->topic);
    if (err == UDPA_OK && self->written.n < 5)
        err = UDPA_ERR_NOMEM; /* for a batch: it waits */
    udpai_topic_leave(self->topic, &self->streams[0].stream);
    self->streams[0].is_paused = false;
    while (bed_done_one(self))
        continue;
    self->topic = udpai_topic_free(self->topic);
    self->source = udpai_event_source_unref(self->source);
    self->written.n = 0;
    return err;
}

static void
without_memory_nothing_is_lost_but_the_message(void **state)
{
    static topic_bed self;
    (void)state;
    udpai_list_init(&self.batches);
    self.streams[0].stream.pause = bed_pause;
    assert_true(udpai_vector_reserve(&self.written, 64));
    oom_torture(fill, &self);
    udpai_vector_done(&self.written);
}

#define CASE(name) cmocka_unit_test_teardown(name, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_ring_is_bounded_in_entries_and_in_bytes),
        CASE(what_is_larger_than_the_ring_is_refused),
        CASE(limits_have_defaults),
        CASE(the_next_batch_waits_until_one_is_done),
        CASE(a_batch_is_bounded),
        CASE(what_waits_at_the_end_is_handed_over),
        CASE(without_a_writer_once_a_second),
        CASE(who_has_half_of_his_share_is_not_read),
        CASE(bytes_count_as_entries_do),
        CASE(a_share_is_the_smaller_the_more_there_are),
        CASE(streams_of_one_client_share),
        CASE(who_has_the_most_loses_if_room_is_needed),
        CASE(who_has_left_is_remembered_while_something_waits),
        CASE(a_follower_begins_with_what_is_held),
        CASE(gaps_are_counted_where_they_are),
        CASE(what_is_about_to_be_read_may_be_dropped),
        CASE(there_are_only_so_many_followers),
        cmocka_unit_test(without_memory_nothing_is_lost_but_the_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
