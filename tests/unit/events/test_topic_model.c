/* SPDX-License-Identifier: Apache-2.0 */
/* Many random turns: what the header promises holds after each. */
#include "topic_bed.h"

#define TURNS 20000
#define MAX_ENTRIES 60
#define MAX_BYTES 6000
#define NAMES 4

typedef struct model {
    topic_bed bed;
    uint64_t random;
    bool has_joined[BED_STREAMS];
    udpai_topic_follower follower;
    uint64_t n_seen, n_missed, last_seen;
} model;

static void
on_wake(udpai_topic_follower *follower)
{
    (void)follower;
}

static void
toggle(model *self, size_t stream)
{
    const char *const names[NAMES] = {"a", "b", "c", "d"};
    if (!self->has_joined[stream]) {
        bed_join(&self->bed, stream, names[stream % NAMES]);
    } else {
        udpai_topic_leave(self->bed.topic, &self->bed.streams[stream].stream);
        self->bed.streams[stream].is_paused = false;
    }
    self->has_joined[stream] = !self->has_joined[stream];
}

static void
read_some(model *self)
{
    uint64_t n_lost;
    for (size_t n = test_random_below(&self->random, 40); n > 0; n--) {
        const udpai_event *event = udpai_topic_next(self->bed.topic, &self->follower, &n_lost);
        if (!event)
            return;
        assert_int_equal(event->sequence, self->last_seen + n_lost + 1);
        self->last_seen = event->sequence;
        self->n_missed += n_lost;
        self->n_seen++;
    }
}

static void
check(const model *self)
{
    udpai_topic_facts facts = bed_facts(&self->bed);
    size_t n_connected = 0;
    for (size_t name = 0; name < NAMES; name++)
        n_connected += self->has_joined[name] || self->has_joined[name + NAMES];
    assert_int_equal(facts.n_clients, n_connected);
    assert_true(facts.n_held <= MAX_ENTRIES && facts.held_bytes <= MAX_BYTES);
    assert_true(self->bed.written.n + facts.n_dropped <= facts.n_accepted);
    for (size_t i = 0; i < NAMES; i++) /* streams of one name are told the same */
        if (self->has_joined[i] && self->has_joined[i + NAMES])
            assert_int_equal(self->bed.streams[i].is_paused,
                             self->bed.streams[i + NAMES].is_paused);
}

static void
take_turn(model *self)
{
    size_t stream = test_random_below(&self->random, BED_STREAMS);
    switch (test_random_below(&self->random, 64)) {
    case 0:
        toggle(self, stream);
        break;
    case 1:
        (void)bed_done_one(&self->bed);
        break;
    case 2:
    case 3:
        bed_advance(&self->bed, test_random_below(&self->random, 30));
        break;
    case 4:
        read_some(self);
        break;
    default:
        if (self->has_joined[stream])
            assert_ok(bed_add(&self->bed, stream, 1 + test_random_below(&self->random, 400)));
        break;
    }
}

static void
run(uint64_t seed)
{
    static model self;
    self = (model){.random = seed, .follower = {.wake = on_wake}};
    bed_init(&self.bed, MAX_ENTRIES, MAX_BYTES, true);
    assert_ok(udpai_topic_follow(self.bed.topic, &self.follower));
    for (size_t i = 0; i < TURNS; i++) {
        take_turn(&self);
        check(&self);
    }
    bed_drain(&self.bed);
    udpai_topic_facts facts = bed_facts(&self.bed);
    assert_true(facts.n_dropped > 0 && facts.n_accepted > TURNS / 4);
    assert_int_equal(self.bed.written.n + facts.n_dropped, facts.n_accepted);
    for (size_t i = 1; i < self.bed.written.n; i++)
        assert_true(self.bed.written.items[i] > self.bed.written.items[i - 1]);
    for (size_t i = 0; i < BED_STREAMS; i++)
        assert_false(self.bed.streams[i].is_paused);
    while (self.last_seen < facts.n_accepted)
        read_some(&self);
    assert_int_equal(self.n_seen + self.n_missed, facts.n_accepted);
    assert_true(self.n_missed > 0);
    udpai_topic_unfollow(self.bed.topic, &self.follower);
    bed_done(&self.bed);
}

static void
what_is_promised_holds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++)
        run(seed);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_promised_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
