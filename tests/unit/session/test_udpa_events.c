/* SPDX-License-Identifier: Apache-2.0 */
/* The peer as a subscriber to events: what it is sent, when, what it misses, and what it may have.
 */
#include "one_peer.h"

#include <stdio.h>

#include "base/alloc.h"

#define RING 4
#define LOGS "udpa.node/node/events/access-log"
#define TAPS "udpa.node/node/events/tap"

static udpai_topics topics;
static udpai_event_source *source;
static udpai_topic_stream writers[2]; /* of access logs, of taps */
static test_peer other;

static void
on_pause(udpai_topic_stream *stream, bool pause)
{
    (void)stream, (void)pause;
}

static void
on_wake(udpai_topic_follower *follower)
{
    (void)follower;
}

static void
make_topic(size_t writer, udpai_event_kind kind)
{
    const udpai_topic_options options = {kind, RING, 1000, 5};
    writers[writer] = (udpai_topic_stream){.pause = on_pause};
    assert_ok(udpai_topic_new(&topics.topics[kind], &options));
    assert_ok(
        udpai_topic_join(topics.topics[kind], &hub.wheel, UDPAI_STR("edge"), &writers[writer]));
}

static void
begin_hub(udpai_acl *acl)
{
    udpai_hub_options options = fake_hub_options();
    other = (test_peer){0};
    topics = (udpai_topics){.node_id = UDPAI_STR("node")};
    options.topics = &topics;
    options.acl = acl;
    session_hub_init_with(&hub, &options);
    source = udpai_event_source_new(UDPAI_STR("edge"), (udpai_str){0}, (udpai_str){0});
    make_topic(0, UDPAI_EVENT_ACCESS_LOG);
    make_topic(1, UDPAI_EVENT_TAP);
}

static int
begin_events(void **state)
{
    (void)state;
    begin_hub(NULL);
    peer_open(&peer, &hub, PEER_ENDPOINT);
    return 0;
}

static int
end_events(void **state)
{
    fake_stream_close(&other.stream);
    fake_stream_close(&peer.stream);
    udpai_topic_leave(topics.topics[UDPAI_EVENT_ACCESS_LOG], &writers[0]);
    udpai_topic_leave(topics.topics[UDPAI_EVENT_TAP], &writers[1]);
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        topics.topics[i] = udpai_topic_free(topics.topics[i]);
    udpai_event_source_unref(source);
    return end_anyhow(state);
}

/* An event with this text; what was held before is handed over, so its room can be needed. */
static void
say(udpai_event_kind kind, const char *text)
{
    udpa_bytes *bytes = NULL;
    assert_ok(udpa_bytes_new(&bytes, text, strlen(text)));
    assert_ok(udpai_topic_add(topics.topics[kind], &writers[kind == UDPAI_EVENT_TAP], source, bytes,
                              1000000));
    udpa_bytes_unref(bytes);
    fake_hub_advance(&hub, UDPAI_TOPIC_TURN_MS);
}

static void
log_many(size_t n)
{
    for (size_t i = 0; i < n; i++)
        say(UDPAI_EVENT_ACCESS_LOG, "x");
}

/* ---- what comes ---- */

static void
what_is_held_comes_then_complete_then_what_is_new(void **state)
{
    (void)state;
    say(UDPAI_EVENT_ACCESS_LOG, "a");
    say(UDPAI_EVENT_ACCESS_LOG, "b");
    peer_subscribe(&peer, "V", "", LOGS);
    peer_expect(&peer, "publish{V V:" LOGS "=5.1'edge a'} publish{V V:" LOGS "=5.2'edge b'} "
                       "publish{V !}");
    say(UDPAI_EVENT_ACCESS_LOG, "c");
    say(UDPAI_EVENT_TAP, "not asked for");
    peer_expect(&peer, "publish{V V:" LOGS "=5.3'edge c'}");
    session_expect_no(&hub, UDPAI_REPORT_INTEREST);
}

static void
a_namespace_has_all_topics_in_it(void **state)
{
    (void)state;
    peer_subscribe(&peer, "V", "udpa.node/node", "''");
    peer_subscribe(&peer, "V", "udpa.node/other", "''");
    peer_expect(&peer, "publish{V@udpa.node/node !} publish{V@udpa.node/other !}");
    say(UDPAI_EVENT_TAP, "t");
    say(UDPAI_EVENT_ACCESS_LOG, "a");
    peer_expect(&peer, "publish{V V:" TAPS "=5.1'edge t'} publish{V V:" LOGS "=5.1'edge a'}");
}

static void
a_flood_of_one_topic_does_not_hold_up_another(void **state)
{
    (void)state;
    peer_subscribe(&peer, "V", "", "*");
    peer_expect(&peer, "publish{V !}");
    for (size_t i = 0; i < 3; i++)
        say(UDPAI_EVENT_ACCESS_LOG, "a");
    say(UDPAI_EVENT_TAP, "t");
    peer_expect_one(&peer, "publish{V V:" TAPS "=5.1'edge t'}");
    fake_stream_complete(&peer.stream);
    peer_expect_one(&peer, "publish{V V:" LOGS "=5.1'edge a'}");
    fake_stream_complete(&peer.stream);
    peer_expect(&peer, "publish{V V:" LOGS "=5.2'edge a'} publish{V V:" LOGS "=5.3'edge a'}");
}

static void
configuration_goes_first(void **state)
{
    (void)state;
    peer_subscribe(&peer, "V", "", LOGS);
    peer_subscribe(&peer, "C", "", "''");
    peer_expect(&peer, "publish{C !} publish{V !}");
    say(UDPAI_EVENT_ACCESS_LOG, "a");
    session_change(&hub, "+C:com.acme/a=1");
    peer_expect(&peer, "publish{C C:com.acme/a=1 ?} publish{V V:" LOGS "=5.1'edge a'}");
}

static void
who_reads_slowly_is_told_how_many_it_has_missed(void **state)
{
    (void)state;
    peer_open(&other, &hub, PEER_ENDPOINT);
    peer_subscribe(&peer, "V", "", LOGS);
    peer_subscribe(&other, "V", "", LOGS);
    peer_expect(&peer, "publish{V !}");
    peer_expect(&other, "publish{V !}");
    log_many(1);
    udpai_hub_run(hub.hub); /* whose first one is not taken … */
    for (int i = 2; i <= 9; i++) {
        char expected[200];
        if (i == 2)
            peer_expect(&other, "publish{V V:" LOGS "=5.1'edge x'}");
        log_many(1);
        snprintf(expected, sizeof(expected), "publish{V V:" LOGS "=5.%d'edge x'}", i);
        peer_expect(&other, expected); /* … costs nobody else anything */
    }
    peer_expect(&peer, "publish{V V:" LOGS "=5.1'edge x'} publish{V V:" LOGS "=5.6'edge x'+4} "
                       "publish{V V:" LOGS "=5.7'edge x'} publish{V V:" LOGS "=5.8'edge x'} "
                       "publish{V V:" LOGS "=5.9'edge x'}");
    udpai_topic_facts facts;
    udpai_topic_facts_get(topics.topics[UDPAI_EVENT_ACCESS_LOG], &facts);
    assert_int_equal(facts.n_readers, 2);
    assert_int_equal(facts.n_missed, 4);
    assert_int_equal(facts.n_held, RING);
}

static void
who_knows_only_the_public_protocol_is_sent_just_that(void **state)
{
    (void)state;
    peer_open(&other, &hub, PEER_PAPER);
    say(UDPAI_EVENT_ACCESS_LOG, "a");
    peer_subscribe(&other, "V", "", LOGS);
    peer_expect(&other, "publish{ V:" LOGS "=5.1'edge a'}");
}

/* ---- where it begins ---- */

static void
subscribe_from(const char *version)
{
    peer_send(&peer, W_MESSAGE(1, W_TEXT(1, UDPAI_TYPE_EVENT), W_TEXT(2, LOGS),
                               W_MESSAGE(3, W_TEXT(1, LOGS), W_TEXT(2, version))));
}

static void
who_says_what_it_has_had_goes_on_behind_it(void **state)
{
    (void)state;
    log_many(6); /* of which 3 to 6 are held */
    subscribe_from("5.4");
    peer_expect(&peer, "publish{V V:" LOGS "=5.5'edge x'} publish{V V:" LOGS "=5.6'edge x'} "
                       "publish{V !}");
    subscribe_from("5.1"); /* it goes on where it is */
    peer_expect(&peer, "publish{V !}");
}

static void
what_was_lost_meanwhile_is_told(void **state)
{
    (void)state;
    log_many(6);
    subscribe_from("5.1");
    peer_expect(&peer, "publish{V V:" LOGS "=5.3'edge x'+1} publish{V V:" LOGS "=5.4'edge x'} "
                       "publish{V V:" LOGS "=5.5'edge x'} publish{V V:" LOGS "=5.6'edge x'} "
                       "publish{V !}");
}

static void
what_says_nothing_here_changes_nothing(void **state)
{
    (void)state;
    static const char *const versions[] = {"4.1", "5.7",  "5", "5.",
                                           ".1",  "5.1x", "",  "5.99999999999999999999"};
    log_many(1);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(versions); i++) {
        subscribe_from(versions[i]);
        peer_expect(&peer, "publish{V V:" LOGS "=5.1'edge x'} publish{V !}");
        peer_unsubscribe(&peer, "V", "", LOGS);
    }
}

/* ---- ends, bounds, rules ---- */

static void
it_ends_with_the_last_subscription_to_it(void **state)
{
    (void)state;
    peer_subscribe(&peer, "V", "udpa.node", "''");
    peer_subscribe(&peer, "V", "", LOGS);
    peer_unsubscribe(&peer, "V", "udpa.node", "''");
    log_many(1);
    say(UDPAI_EVENT_TAP, "t");
    peer_expect(&peer, "publish{V@udpa.node !} publish{V !} publish{V V:" LOGS "=5.1'edge x'}");
    peer_unsubscribe(&peer, "V", "", LOGS);
    log_many(1);
    peer_expect(&peer, "");
    peer_subscribe(&peer, "V", "udpa.node", "''");
    peer_unsubscribe(&peer, "V", "", "''"); /* every wildcard */
    peer_expect(&peer, "publish{V@udpa.node !}");
}

static void
subscriptions_are_bounded(void **state)
{
    (void)state;
    char name[64];
    for (int i = 0; i < 256; i++) {
        snprintf(name, sizeof(name), "com.acme/%d", i);
        peer_subscribe(&peer, "V", "", name);
    }
    fake_stream_run(&peer.stream, &hub);
    for (int i = 0; i < 256; i++)
        udpa_bytes_unref(peer_take_raw(&peer));
    peer_subscribe(&peer, "V", "", LOGS);
    peer_expect(&peer, "error{V " LOGS " 8'a stream has at most 256 subscriptions to events: "
                       "subscribe to a namespace'} publish{V !}");
    peer_subscribe(&peer, "V", "com.acme", "com.acmecorp/a com.acme/7");
    peer_expect(&peer, "error{V@com.acme com.acmecorp/a 3'name 'com.acmecorp/a' lies outside the "
                       "Subscribe's namespace 'com.acme''} publish{V@com.acme !}");
}

static void
so_are_those_who_follow_a_topic(void **state)
{
    (void)state;
    static udpai_topic_follower all[UDPAI_TOPIC_FOLLOWERS_MAX];
    udpai_topic *logs = topics.topics[UDPAI_EVENT_ACCESS_LOG];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        all[i] = (udpai_topic_follower){.wake = on_wake};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        assert_ok(udpai_topic_follow(logs, &all[i]));
    peer_subscribe(&peer, "V", "", LOGS);
    peer_expect(&peer, "error{V " LOGS " 8'64 clients follow these events already'} publish{V !}");
    peer_subscribe(&peer, "V", "", "*");
    peer_expect(&peer, "error{V * 8'64 clients follow these events already'} publish{V !}");
    udpai_topic_unfollow(logs, &all[0]);
    log_many(1);
    peer_expect(&peer, "");
    for (size_t i = 1; i < UDPAI_ARRAY_LEN(all); i++)
        udpai_topic_unfollow(logs, &all[i]);
}

static void
questions_without_number_are_answered_early(void **state)
{
    (void)state;
    log_many(1);
    for (int i = 0; i < 70; i++)
        peer_subscribe(&peer, "V", "", LOGS);
    fake_stream_run(&peer.stream, &hub);
    for (int i = 0; i < 71; i++)
        udpa_bytes_unref(peer_take_raw(&peer));
    peer_expect(&peer, "");
}

#define T(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static udpai_acl *
rules_for(udpai_str who)
{
    const udpai_str logs = UDPAI_STR(LOGS), shops = UDPAI_STR("shop"), all = UDPAI_STR("*");
    const udpai_acl_rule rules[] = {
        {.name = T("auditor"),
         .identities = &who,
         .n_identities = 1,
         .actions = UDPAI_ACL_ADMIN,
         .prefixes = &logs,
         .n_prefixes = 1},
        {.name = T("all"),
         .identities = &all,
         .n_identities = 1,
         .actions = UDPAI_ACL_SUBSCRIBE,
         .prefixes = &shops,
         .n_prefixes = 1},
    };
    const udpai_acl_options options = {
        .rules = rules, .n_rules = UDPAI_ARRAY_LEN(rules), .trusts_node_ids = true};
    udpai_acl *acl = NULL;
    assert_ok(udpai_acl_new(&acl, &options));
    return acl;
}

static int
begin_with_rules(void **state)
{
    (void)state;
    udpai_acl *acl = rules_for(UDPAI_STR("peer"));
    begin_hub(acl);
    udpai_acl_unref(acl);
    peer_open(&peer, &hub, PEER_ENDPOINT);
    return 0;
}

static void
rule(const char *who)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACL);
    order->acl = rules_for(udpai_str_from(who));
    udpai_hub_order(hub.hub, order);
}

static void
rules_hold_for_each_topic(void **state)
{
    (void)state;
    peer_subscribe(&peer, "V", "", TAPS);
    udpa_bytes *bytes = peer_take_raw(&peer);
    assert_non_null(memmem(udpa_bytes_data(bytes), udpa_bytes_size(bytes), "auditor", 7));
    udpa_bytes_unref(bytes);
    peer_expect(&peer, "publish{V !}");
    peer_subscribe(&peer, "V", "", LOGS);
    peer_subscribe(&peer, "V", "shop", "''"); /* where there are none */
    log_many(1);
    say(UDPAI_EVENT_TAP, "t");
    peer_expect(&peer, "publish{V !} publish{V@shop !} publish{V V:" LOGS "=5.1'edge x'}");
}

static void
rules_that_change_hold_at_once(void **state)
{
    (void)state;
    peer_subscribe(&peer, "V", "", LOGS);
    peer_expect(&peer, "publish{V !}");
    rule("somebody else");
    log_many(1);
    peer_expect(&peer, "");
    rule("peer");
    peer_expect(&peer, "publish{V V:" LOGS "=5.1'edge x'}");
}

/* What is said anew of the peer is weighed anew. */
static void
who_becomes_another_has_the_events_of_that_one(void **state)
{
    (void)state;
    peer_subscribe(&peer, "V", "", LOGS);
    log_many(1);
    peer_expect(&peer, "publish{V !} publish{V V:" LOGS "=5.1'edge x'}");
    peer_send_node(&peer, "somebody else");
    log_many(1);
    peer_expect(&peer, "");
    peer_send_node(&peer, "peer"); /* from the first that is kept, as in the beginning */
    peer_expect(&peer, "publish{V V:" LOGS "=5.1'edge x'} publish{V V:" LOGS "=5.2'edge x'}");
}

/* ---- without memory ---- */

/* What a stream does of which one step finds no more memory than for so many allocations. */
static bool
subscribes_with(long n)
{
    udpai_alloc_fail_after(n);
    peer_subscribe(&peer, "V", "", LOGS " *");
    udpai_alloc_fail_after(-1);
    return !peer.stream.is_finished;
}

static udpa_err
write_next(void)
{
    udpai_outgoing out = {0};
    bool any = false;
    return peer.stream.session->ops->next(peer.stream.session, &out, &any, NULL);
}

static void
without_memory_the_stream_ends(void **state)
{
    (void)state;
    bool is_done = false;
    log_many(1);
    fake_stream_close(&peer.stream);
    for (long n = 0; !is_done; n++) {
        assert_true(n < 1000);
        peer_open(&peer, &hub, PEER_ENDPOINT);
        is_done = subscribes_with(n);
        if (!is_done)
            peer_expect_end(&peer, UDPA_ERR_NOMEM, "memory");
        if (!is_done)
            fake_stream_close(&peer.stream);
        fake_hub_drop_reports(&hub);
    }
    udpai_alloc_fail_after(0);
    udpa_err err = write_next();
    udpai_alloc_fail_after(-1);
    assert_int_equal(err, UDPA_ERR_NOMEM);
}

#define test(function) cmocka_unit_test_setup_teardown(function, begin_events, end_events)
#define test_with_rules(function)                                                                  \
    cmocka_unit_test_setup_teardown(function, begin_with_rules, end_events)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_is_held_comes_then_complete_then_what_is_new),
        test(a_namespace_has_all_topics_in_it),
        test(a_flood_of_one_topic_does_not_hold_up_another),
        test(configuration_goes_first),
        test(who_reads_slowly_is_told_how_many_it_has_missed),
        test(who_knows_only_the_public_protocol_is_sent_just_that),
        test(who_says_what_it_has_had_goes_on_behind_it),
        test(what_was_lost_meanwhile_is_told),
        test(what_says_nothing_here_changes_nothing),
        test(it_ends_with_the_last_subscription_to_it),
        test(subscriptions_are_bounded),
        test(so_are_those_who_follow_a_topic),
        test(questions_without_number_are_answered_early),
        test_with_rules(rules_hold_for_each_topic),
        test_with_rules(rules_that_change_hold_at_once),
        test_with_rules(who_becomes_another_has_the_events_of_that_one),
        test(without_memory_the_stream_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
