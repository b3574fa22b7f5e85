/* SPDX-License-Identifier: Apache-2.0 */
/* Events of two workers, which come together in the topics of the node. */
#include "session/event_forwarder.h"

#include <stdio.h>

#include "base/bytes.h"
#include "session/worker_pool.h"
#include "tests/harness/fake_stream.h"
#include "tests/harness/test.h"

#define MEMBERS 3 /* the node is the first */
#define RING 8
#define KIND UDPAI_EVENT_TAP

typedef struct member {
    fake_hub hub;
    udpai_topics topics;
    udpai_topic_stream stream; /* of a client */
    bool is_paused;
    udpai_event_source *source;
    udpai_topic_follower reader;
    bool is_woken;
} member;

static member members[MEMBERS];
static udpai_worker_pool *pool;
static char written[4096]; /* by the node: sequence and text */
static udpai_event_batch *writing;
static unsigned n_begun;

/* ---- the node's file ---- */

static void
on_write(void *userdata, udpai_event_batch *batch)
{
    (void)userdata;
    assert_null(writing);
    writing = batch;
}

/* The batch that is under way is in the file; false: there is none. */
static bool
finish_writing(void)
{
    udpai_event_batch *batch = UDPAI_TAKE(writing);
    if (!batch)
        return false;
    for (size_t i = 0; i < batch->n; i++) {
        size_t len = strlen(written);
        udpai_str text = udpai_bytes_view(batch->events[i]->message);
        snprintf(written + len, sizeof(written) - len, "%llu:%.*s ",
                 (unsigned long long)batch->events[i]->sequence, UDPAI_SHOWN(text));
    }
    udpai_topic_written(batch->topic, batch->n, 0);
    udpai_event_batch_free(batch);
    return true;
}

/* ---- processes ---- */

static void
on_order(void *userdata, size_t to, const udpai_order *order)
{
    (void)userdata;
    udpai_order *copy = udpai_order_new(order->kind);
    copy->session = order->session;
    copy->ticket = order->ticket;
    copy->events = udpa_bytes_ref(order->events);
    udpai_hub_order(members[to].hub.hub, copy);
}

static void
on_own_order(void *userdata, udpai_order *order)
{
    (void)userdata;
    udpai_hub_order(members[0].hub.hub, order);
}

static void
on_report(void *userdata, udpai_report *report)
{
    (void)userdata;
    udpai_report_free(report);
    fail_msg("this is nobody else's");
}

/* What they say to each other; false: nothing. */
static bool
pass(void)
{
    bool any = false;
    for (size_t i = 0; i < MEMBERS; i++) {
        udpai_report *report;
        while ((report = fake_hub_take_report(&members[i].hub, UDPAI_REPORT_EVENTS)) ||
               (report = fake_hub_take_report(&members[i].hub, UDPAI_REPORT_EVENTS_DEMAND)) ||
               (report = fake_hub_take_report(&members[i].hub, UDPAI_REPORT_EVENTS_TAKEN))) {
            any = true;
            udpai_worker_pool_report(pool, i, report);
        }
    }
    return any;
}

/* For a time in which the file takes what comes, or not. */
static void
run(bool is_written)
{
    for (int i = 0; i < 20; i++) {
        while (pass())
            continue;
        if (is_written)
            (void)finish_writing();
        for (size_t k = 0; k < MEMBERS; k++)
            fake_hub_advance(&members[k].hub, UDPAI_TOPIC_LOOK_MS);
    }
}

static void
on_pause(udpai_topic_stream *stream, bool pause)
{
    UDPAI_CONTAINER_OF(stream, member, stream)->is_paused = pause;
}

static void
on_wake(udpai_topic_follower *follower)
{
    UDPAI_CONTAINER_OF(follower, member, reader)->is_woken = true;
}

static void
on_begin(const udpai_topics *topics, udpai_hub *hub)
{
    assert_ptr_equal(topics, &members[0].topics);
    assert_ptr_equal(hub, members[0].hub.hub);
    n_begun++;
}

static int
begin(void **state)
{
    (void)state;
    const udpai_worker_pool_env env = {on_order, on_own_order, on_report, NULL};
    const udpai_topic_options topic = {KIND, RING, 10000, 77};
    pool = udpai_worker_pool_new(MEMBERS, &env);
    written[0] = '\0';
    n_begun = 0;
    for (size_t i = 0; i < MEMBERS; i++) {
        member *self = &members[i];
        udpai_hub_options options = fake_hub_options();
        *self = (member){.topics = {.node_id = UDPAI_STR("node"), .begin = on_begin},
                         .stream = {.pause = on_pause},
                         .reader = {.wake = on_wake}};
        assert_ok(udpai_topic_new(&self->topics.topics[KIND], &topic));
        if (i > 0)
            assert_ok(udpai_topic_new(&self->topics.copies[KIND], &topic));
        options.topics = &self->topics;
        options.is_worker = i > 0;
        fake_hub_init(&self->hub, &options);
        self->source = udpai_event_source_new(UDPAI_STR("edge"), UDPAI_STR("e"), UDPAI_STR("n"));
        if (i > 0)
            assert_ok(udpai_topic_join(self->topics.topics[KIND], &self->hub.wheel,
                                       UDPAI_STR("edge"), &self->stream));
        else
            udpai_topic_set_writer(self->topics.topics[KIND], on_write, NULL);
    }
    return 0;
}

static int
end(void **state)
{
    (void)state;
    (void)finish_writing();
    for (size_t i = 0; i < MEMBERS; i++) {
        member *self = &members[i];
        if (i > 0)
            udpai_topic_unfollow(self->topics.copies[KIND], &self->reader);
        udpai_topic_leave(self->topics.topics[KIND], &self->stream);
        fake_hub_drop_reports(&self->hub);
        fake_hub_done(&self->hub);
        udpai_topic_flush(self->topics.topics[KIND]);
        (void)finish_writing();
        udpai_topic_free(self->topics.topics[KIND]);
        udpai_topic_free(self->topics.copies[KIND]);
        udpai_event_source_unref(self->source);
    }
    pool = udpai_worker_pool_free(pool);
    return 0;
}

/* Worker i has taken in texts, "1" to "9". */
static void
say(size_t worker, unsigned from, unsigned to)
{
    member *self = &members[worker];
    for (unsigned i = from; i <= to; i++) {
        char text = (char)('0' + i);
        udpa_bytes *bytes = NULL;
        assert_ok(udpa_bytes_new(&bytes, &text, 1));
        assert_ok(
            udpai_topic_add(self->topics.topics[KIND], &self->stream, self->source, bytes, 1000));
        udpa_bytes_unref(bytes);
    }
}

static udpai_topic_facts
facts(size_t of)
{
    udpai_topic_facts found;
    udpai_topic_facts_get(members[of].topics.topics[KIND], &found);
    return found;
}

/* What who reads at a worker is told. */
static const char *
read_at(size_t worker)
{
    static char text[1000];
    udpai_topic *topic = udpai_hub_topic(members[worker].hub.hub, KIND);
    const udpai_event *event;
    uint64_t n_lost;
    text[0] = '\0';
    while ((event = udpai_topic_next(topic, &members[worker].reader, &n_lost))) {
        size_t len = strlen(text);
        udpai_str message = udpai_bytes_view(event->message);
        snprintf(text + len, sizeof(text) - len, "%llu:%.*s", (unsigned long long)event->sequence,
                 UDPAI_SHOWN(message));
        len = strlen(text);
        snprintf(text + len, sizeof(text) - len, n_lost ? "(%llu) " : " ",
                 (unsigned long long)n_lost);
    }
    return text;
}

static void
begin_reading(size_t worker)
{
    assert_ok(udpai_topic_follow(udpai_hub_topic(members[worker].hub.hub, KIND),
                                 &members[worker].reader));
}

static void
end_reading(size_t worker)
{
    udpai_topic_unfollow(udpai_hub_topic(members[worker].hub.hub, KIND), &members[worker].reader);
}

/* ---- tests ---- */

static void
all_of_it_comes_together(void **state)
{
    (void)state;
    say(1, 1, 3);
    say(2, 7, 8);
    run(true);
    assert_string_equal(written, "1:1 2:7 3:2 4:3 5:8 ");
    say(1, 4, 4);
    run(true);
    assert_string_equal(written, "1:1 2:7 3:2 4:3 5:8 6:4 ");
    assert_int_equal(facts(0).n_accepted, 6);
    assert_int_equal(facts(0).n_clients, 2);
    assert_int_equal(facts(1).n_held, 4); /* it can still be read there */
    assert_true(n_begun > 0);
}

static void
what_cannot_be_written_waits_in_the_worker(void **state)
{
    (void)state;
    unsigned n = 0;
    while (!members[1].is_paused) {
        assert_true(n < 30);
        say(1, n + 1, n + 1);
        n++;
        run(false);
    }
    assert_true(n > RING / 2); /* in the worker's ring, and in the node's */
    run(true);
    assert_false(members[1].is_paused);
    char expected[100] = "";
    for (unsigned i = 1; i <= n; i++)
        snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%u:%c ", i,
                 (int)('0' + i));
    assert_string_equal(written, expected);
    assert_int_equal(facts(0).n_dropped + facts(1).n_dropped, 0);
}

static void
what_a_worker_drops_is_counted_and_missing(void **state)
{
    (void)state;
    say(1, 1, 1);
    run(true);
    say(1, 2, 2); /* is under way, and not answered */
    say(1, 3, 9); /* of which there is room for … */
    say(1, 1, 6); /* … the last ones */
    unsigned n_dropped = (unsigned)facts(1).n_dropped;
    assert_true(n_dropped > 0);
    run(true);
    assert_int_equal(facts(0).n_dropped, n_dropped);
    char last[40];
    snprintf(last, sizeof(last), " %d:6 ", 15); /* as if none had been dropped */
    assert_non_null(strstr(written, last));
    assert_int_equal(facts(0).n_accepted, 15 - n_dropped);
}

static void
what_is_no_event_is_not_taken(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "nonsense", "\x01"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        udpai_report *report = udpai_report_new(UDPAI_REPORT_EVENTS);
        report->ticket = KIND;
        assert_ok(udpa_bytes_new(&report->events, texts[i], strlen(texts[i])));
        udpai_worker_pool_report(pool, 1, report);
    }
    static const uint64_t kinds[] = {UDPAI_EVENT_TRACE, UDPAI_EVENT_KINDS, UINT64_MAX};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(kinds); i++) {
        udpai_report *report = udpai_report_new(UDPAI_REPORT_EVENTS);
        report->ticket = kinds[i];
        assert_ok(udpa_bytes_new(&report->events, "\0\0\0\0", 4));
        udpai_worker_pool_report(pool, 2, report);
    }
    run(true);
    assert_string_equal(written, "");
}

static void
nobody_answers_for_the_node(void **state)
{
    (void)state;
    static const uint64_t tickets[] = {KIND, 1 * UDPAI_EVENT_KINDS + KIND,
                                       MEMBERS * UDPAI_EVENT_KINDS + KIND, UINT64_MAX};
    say(1, 1, 2); /* the second waits for the answer to the first */
    for (size_t from = 0; from < MEMBERS; from++)
        for (size_t i = 0; i < UDPAI_ARRAY_LEN(tickets); i++) {
            if (from == 0 && i == 1)
                continue; /* that would be true */
            udpai_report *report = udpai_report_new(UDPAI_REPORT_EVENTS_TAKEN);
            report->ticket = tickets[i];
            udpai_worker_pool_report(pool, from, report);
        }
    fake_hub_advance(&members[1].hub, 100);
    udpai_report *first = fake_hub_take_report(&members[1].hub, UDPAI_REPORT_EVENTS);
    assert_non_null(first);
    assert_null(fake_hub_take_report(&members[1].hub, UDPAI_REPORT_EVENTS));
    udpai_worker_pool_report(pool, 1, first);
    run(true);
    assert_string_equal(written, "1:1 2:2 ");
}

static void
who_reads_at_a_worker_has_what_all_have(void **state)
{
    (void)state;
    udpai_topic *topic = udpai_hub_topic(members[1].hub.hub, KIND);
    say(1, 1, 1);
    say(2, 2, 2);
    run(true);
    begin_reading(1);
    assert_false(udpai_topic_is_current(topic));
    assert_string_equal(read_at(1), "");
    run(true);
    assert_true(members[1].is_woken);
    assert_string_equal(read_at(1), "1:1 2:2 ");
    assert_true(udpai_topic_is_current(topic));
    assert_int_equal(udpai_topic_begun_us(topic), 77);
    say(2, 3, 3);
    run(true);
    assert_string_equal(read_at(1), "3:3 ");
}

static void
where_there_is_nothing_that_is_told(void **state)
{
    (void)state;
    udpai_topic *topic = udpai_hub_topic(members[2].hub.hub, KIND);
    begin_reading(2);
    run(true);
    assert_true(members[2].is_woken);
    assert_true(udpai_topic_is_current(topic));
    assert_string_equal(read_at(2), "");
}

static void
nobody_is_told_who_does_not_read(void **state)
{
    (void)state;
    begin_reading(1);
    run(true);
    end_reading(1);
    run(true);
    assert_int_equal(facts(0).n_readers, 0);
    say(2, 1, 3);
    run(true);
    assert_int_equal(udpai_topic_last(members[1].topics.copies[KIND]), 0);
    begin_reading(1);
    assert_false(udpai_topic_is_current(members[1].topics.copies[KIND]));
    run(true);
    assert_string_equal(read_at(1), "1:1 2:2 3:3 ");
}

static void
what_a_reader_misses_is_told_with_workers_too(void **state)
{
    (void)state;
    begin_reading(1);
    for (unsigned i = 0; i < 4; i++) {
        say(2, 1, 5);
        run(true);
    }
    assert_string_equal(read_at(1), "13:3(12) 14:4 15:5 16:1 17:2 18:3 19:4 20:5 ");
}

static void
a_worker_that_does_not_answer_costs_its_own_readers(void **state)
{
    (void)state;
    begin_reading(1);
    (void)pass(); /* the wish … */
    udpai_report *first = fake_hub_take_report(&members[0].hub, UDPAI_REPORT_EVENTS);
    assert_non_null(first); /* … and what is told, which does not arrive */
    for (unsigned i = 0; i < 4; i++) {
        say(2, 1, 5);
        run(true);
    }
    assert_int_equal(facts(0).n_held, RING);
    assert_int_equal(facts(0).n_accepted, 20);
    udpai_worker_pool_report(pool, 0, first);
    run(true);
    assert_string_equal(read_at(1), "13:3(12) 14:4 15:5 16:1 17:2 18:3 19:4 20:5 ");
}

#define test(function) cmocka_unit_test_setup_teardown(function, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        test(all_of_it_comes_together),
        test(what_cannot_be_written_waits_in_the_worker),
        test(what_a_worker_drops_is_counted_and_missing),
        test(what_is_no_event_is_not_taken),
        test(nobody_answers_for_the_node),
        test(who_reads_at_a_worker_has_what_all_have),
        test(where_there_is_nothing_that_is_told),
        test(nobody_is_told_who_does_not_read),
        test(what_a_reader_misses_is_told_with_workers_too),
        test(a_worker_that_does_not_answer_costs_its_own_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
