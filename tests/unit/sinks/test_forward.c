/* SPDX-License-Identifier: Apache-2.0 */
/* What is forwarded: by which streams, what is said on them, and what becomes of it when nobody is
 * there to take it. */
#include "sinks/forward.h"

#include <stdio.h>

#include "base/alloc.h"
#include "session_bed.h"

#define RING 40
#define STREAMS 3

static udpai_forward *forward;
static fake_stream up[8], others[8];
static size_t n_up, n_taken; /* that were opened; links that were looked at */
static int n_targets;

static void *
ref_target(void *target)
{
    n_targets++;
    return target;
}

static void
release_target(void *target)
{
    (void)target;
    n_targets--;
}

static int
begin(void **state)
{
    (void)state;
    const udpai_topic_options topic = {UDPAI_EVENT_ACCESS_LOG, RING, 100000, 0};
    const udpai_forward_options options = {UDPAI_STR("core.test:1"), STREAMS, ref_target,
                                           release_target};
    udpai_hub_options hub_options = fake_hub_options();
    hub_options.topics = &sinks;
    fake_hub_init(&hub, &hub_options);
    sinks = (udpai_topics){.node_id = UDPAI_STR("node")};
    assert_ok(udpai_topic_new(&sinks.topics[UDPAI_EVENT_ACCESS_LOG], &topic));
    assert_ok(udpai_forward_new(&forward, sinks.topics[UDPAI_EVENT_ACCESS_LOG], &options));
    udpai_forward_set_target(forward, ref_target(&hub));
    sinks.forwards[UDPAI_EVENT_ACCESS_LOG] = forward;
    n_up = n_taken = 0;
    return 0;
}

static int
end(void **state)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(up); i++) {
        fake_stream_close(&others[i]);
        fake_stream_close(&up[i]);
        up[i] = others[i] = (fake_stream){0};
    }
    forward = udpai_forward_free(forward);
    assert_int_equal(n_targets, 0);
    return session_bed_done(state);
}

/* ---- clients, and the receiver ---- */

/* Client i says so much, each with its number. */
static void
say(size_t client, size_t n)
{
    char id[32], text[32];
    fake_stream *from = &others[client];
    snprintf(id, sizeof(id), "edge-%zu", client);
    if (!from->session) {
        const udpai_stream_info info = {.context = sinks.topics[UDPAI_EVENT_ACCESS_LOG]};
        fake_stream_open(from, &hub, udpai_sink_session_new, &info);
        receive(from, who(id, "ingress"));
    }
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof(text), "%s", id);
        receive(from, entry(text));
    }
}

/* The receiver takes the stream that was dialled next. */
static fake_stream *
take_stream(void)
{
    assert_true(n_taken < hub.dialled.n);
    const udpai_stream_info info = {.link = hub.dialled.items[n_taken++], .context = forward};
    fake_stream *to = &up[n_up++ % UDPAI_ARRAY_LEN(up)];
    fake_stream_close(to);
    *to = (fake_stream){0};
    fake_stream_open(to, &hub, udpai_forward_session_new, &info);
    return to;
}

static void
refuse_stream(void)
{
    assert_true(n_taken < hub.dialled.n);
    UDPA_AUTO(udpa_error_unref)
    udpa_error *why = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "nobody is there");
    udpai_hub_not_opened(hub.hub, hub.dialled.items[n_taken++], why);
}

static void
expect_message(fake_stream *to, udpai_str expected)
{
    udpa_bytes *bytes = fake_stream_take(to);
    assert_non_null(bytes);
    assert_true(udpai_str_eq(udpai_bytes_view(bytes), expected));
    udpa_bytes_unref(bytes);
}

/* So many, the first of which says who; of client i. */
static void
expect_all(fake_stream *to, size_t client, size_t n)
{
    char id[32];
    snprintf(id, sizeof(id), "edge-%zu", client);
    fake_stream_run(to, &hub);
    for (size_t i = 0; i < n; i++)
        expect_message(to, i ? entry(id) : W_JOIN(who(id, "ingress"), entry(id)));
    assert_null(fake_stream_take(to));
}

static udpai_forward_facts
forwarded(void)
{
    udpai_forward_facts found;
    udpai_forward_facts_get(forward, &found);
    return found;
}

/* ---- tests ---- */

static void
nobody_is_dialled_before_there_is_something(void **state)
{
    (void)state;
    say(0, 0);
    assert_int_equal(hub.dialled.n, 0);
    say(0, 1);
    assert_int_equal(hub.dialled.n, 1);
}

static void
each_client_has_a_stream_that_begins_with_who_he_is(void **state)
{
    (void)state;
    say(0, 2);
    say(1, 1);
    fake_stream *first = take_stream(), *second = take_stream();
    say(0, 1);
    expect_all(first, 0, 3);
    expect_all(second, 1, 1);
    assert_int_equal(hub.dialled.n, 2);
    assert_int_equal(forwarded().n_streams, 2);
    assert_int_equal(forwarded().n_sent, 4);
    assert_null(fake_hub_take_report(&hub, UDPAI_REPORT_OPENED)); /* it is nobody's but ours */
}

static void
streams_of_one_client_become_one(void **state)
{
    (void)state;
    say(0, 1);
    fake_stream *only = take_stream();
    expect_all(only, 0, 1);
    fake_stream_close(&others[0]);
    others[0] = (fake_stream){0};
    say(0, 1);
    fake_stream_run(only, &hub);
    expect_message(only, entry("edge-0"));
    assert_int_equal(hub.dialled.n, 1);
}

static void
what_was_said_of_the_client_goes_with_it_whole(void **state)
{
    (void)state;
    udpai_str identifier = W_MESSAGE(1, wire_bytes(1, W_JOIN(W_TEXT(1, "e"), W_TEXT(2, "shop"))),
                                     W_TEXT(2, "ingress"), W_TEXT(77, "unknown"));
    const udpai_stream_info info = {.context = sinks.topics[UDPAI_EVENT_ACCESS_LOG]};
    fake_stream_open(&others[0], &hub, udpai_sink_session_new, &info);
    receive(&others[0], W_JOIN(entry("a"), identifier));
    fake_stream *to = take_stream();
    fake_stream_run(to, &hub);
    expect_message(to, W_JOIN(identifier, entry("a")));
}

static void
of_what_is_too_long_the_id_goes(void **state)
{
    (void)state;
    static char cluster[UDPAI_FORWARD_IDENTIFIER_MAX + 1];
    memset(cluster, 'c', sizeof(cluster) - 1);
    udpai_str identifier = W_MESSAGE(1, wire_bytes(1, W_JOIN(W_TEXT(1, "e"), W_TEXT(2, cluster))),
                                     W_TEXT(2, "ingress"));
    const udpai_stream_info info = {.context = sinks.topics[UDPAI_EVENT_ACCESS_LOG]};
    fake_stream_open(&others[0], &hub, udpai_sink_session_new, &info);
    receive(&others[0], W_JOIN(identifier, entry("a")));
    fake_stream *to = take_stream();
    fake_stream_run(to, &hub);
    expect_message(to, W_JOIN(who("e", "ingress"), entry("a")));
}

static void
who_is_away_is_tried_again_ever_later(void **state)
{
    (void)state;
    say(0, 1);
    say(1, 1);
    assert_int_equal(hub.dialled.n, 2);
    refuse_stream();
    refuse_stream(); /* the same failure */
    fake_hub_advance(&hub, UDPAI_FORWARD_RETRY_MS - 1);
    say(1, 1);
    assert_int_equal(hub.dialled.n, 2);
    fake_hub_advance(&hub, 1);
    assert_int_equal(hub.dialled.n, 4);
    refuse_stream();
    refuse_stream();
    fake_hub_advance(&hub, 2 * UDPAI_FORWARD_RETRY_MS - 1);
    assert_int_equal(hub.dialled.n, 4);
    fake_hub_advance(&hub, 1);
    expect_all(take_stream(), 0, 1);
    expect_all(take_stream(), 1, 2);
    assert_int_equal(forwarded().n_missed, 0);
}

static void
what_there_is_no_room_for_is_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < RING + 60; i++) {
        say(0, 1);
        fake_hub_advance(&hub, UDPAI_TOPIC_TURN_MS); /* it is handed over, and may go */
    }
    expect_all(take_stream(), 0, 16 + 1 + RING); /* at hand, next, and in the ring */
    assert_int_equal(forwarded().n_missed, 60 - 16 - 1);
    assert_int_equal(forwarded().n_sent, 16 + 1 + RING);
}

static void
a_stream_that_ends_is_begun_again(void **state)
{
    (void)state;
    say(0, 1);
    fake_stream *first = take_stream();
    udpai_hub_run(hub.hub); /* one is under way, and is lost */
    say(0, 2);
    fake_stream_close(first);
    assert_int_equal(forwarded().n_streams, 0);
    assert_int_equal(forwarded().n_missed, 1);
    assert_int_equal(forwarded().n_sent, 0);
    fake_hub_advance(&hub, UDPAI_FORWARD_RETRY_MS);
    expect_all(take_stream(), 0, 2);
}

static void
streams_are_bounded(void **state)
{
    (void)state;
    for (size_t i = 0; i < STREAMS + 1; i++)
        say(i, 1);
    assert_int_equal(hub.dialled.n, STREAMS); /* one has to wait */
    fake_stream *first = take_stream();
    expect_all(first, 0, 1);
    say(1, 1);
    assert_true(first->is_finished); /* it had nothing to say any more */
    assert_int_equal(hub.dialled.n, STREAMS + 1);
    fake_stream_close(first);
    expect_all(take_stream(), 1, 2);
    expect_all(take_stream(), 2, 1);
    expect_all(take_stream(), 3, 1);
    assert_int_equal(forwarded().n_streams, STREAMS);
}

static void
one_that_is_not_used_ends(void **state)
{
    (void)state;
    say(0, 1);
    fake_stream *only = take_stream();
    expect_all(only, 0, 1);
    fake_hub_advance(&hub, UDPAI_FORWARD_IDLE_MS - 1000);
    assert_false(only->is_finished);
    fake_hub_advance(&hub, 61000);
    assert_true(only->is_finished);
    fake_stream_close(only);
    say(0, 1);
    expect_all(take_stream(), 0, 1);
}

static void
a_stream_that_comes_too_late_is_ended(void **state)
{
    (void)state;
    const udpai_stream_info info = {.link = UDPAI_SIDE_LINKS + 77, .context = forward};
    say(0, 0); /* so it has a hub */
    fake_stream_open(&up[0], &hub, udpai_forward_session_new, &info);
    assert_true(up[0].is_finished);
}

static void
without_memory_it_is_sent_later(void **state)
{
    (void)state;
    say(0, 1);
    for (long n = 0; n < 4; n++) {
        say(0, 0);
        udpai_alloc_fail_after(n);
        receive(&others[0], entry("edge-0"));
        udpai_alloc_fail_after(-1);
        if (others[0].is_finished) {
            fake_stream_close(&others[0]);
            others[0] = (fake_stream){0};
        }
    }
    fake_stream *to = take_stream();
    udpai_outgoing out = {0};
    bool any = false;
    udpai_alloc_fail_after(0);
    assert_int_equal(to->session->ops->next(to->session, &out, &any, NULL), UDPA_ERR_NOMEM);
    udpai_alloc_fail_after(-1);
}

#define test(function) cmocka_unit_test_setup_teardown(function, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        test(nobody_is_dialled_before_there_is_something),
        test(each_client_has_a_stream_that_begins_with_who_he_is),
        test(streams_of_one_client_become_one),
        test(what_was_said_of_the_client_goes_with_it_whole),
        test(of_what_is_too_long_the_id_goes),
        test(who_is_away_is_tried_again_ever_later),
        test(what_there_is_no_room_for_is_counted),
        test(a_stream_that_ends_is_begun_again),
        test(streams_are_bounded),
        test(one_that_is_not_used_ends),
        test(a_stream_that_comes_too_late_is_ended),
        test(without_memory_it_is_sent_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
