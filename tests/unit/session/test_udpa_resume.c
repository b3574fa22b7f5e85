/* SPDX-License-Identifier: Apache-2.0 */
/* The peer as a subscriber that has something already: what it says it holds, in one message or in
 * several, and how much of it. */
#include "one_peer.h"

#include "model/name.h"

static void
what_is_held_is_not_sent(void **state)
{
    (void)state;
    session_change(&hub, "+T:com.acme/a=1 +T:com.acme/b=2 +T:com.acme/c=1 +T:com.acme/d=1");
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *d = RESOURCE("com.acme/d", .value = "1", .version = "1");
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *c = RESOURCE("com.acme/c", .value = "1", .version = "1");
    udpai_str held =
        W_JOIN(W_MESSAGE(3, W_TEXT(1, "com.acme/a"), W_TEXT(2, "1")),
               W_MESSAGE(3, W_TEXT(1, "com.acme/b"), W_TEXT(2, "1")),
               W_MESSAGE(3, W_TEXT(1, "com.acme/c"), W_TEXT(2, "not the same")),
               W_MESSAGE(3, W_TEXT(1, "com.acme/gone"), W_TEXT(2, "1")),
               W_MESSAGE(5, W_TEXT(1, "com.acme/d"), W_FIXED64(2, udpai_resource_digest(d))),
               W_MESSAGE(6, W_TEXT(1, "com.acme/d"), W_FIXED64(2, 1)), /* by another way */
               W_MESSAGE(5, W_TEXT(1, "com.acme/c"), W_FIXED64(2, udpai_resource_digest(c))));
    udpai_str message = W_MESSAGE(1, W_TEXT(1, TEST_TYPE), W_TEXT(2, ""), held);
    fake_stream_receive(&peer.stream, message.data, message.len);
    peer_expect(
        &peer,
        "publish{T T:com.acme/b=2 ~com.acme/d=1 ?} publish{T -com.acme/gone ?} publish{T !}");
}

/* What does not fit into one message goes ahead, in Subscribes without names. Between messages the
 * hub runs. */
static udpai_str
held_digest(const char *name, const char *value)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = RESOURCE(name, .value = value, .version = value);
    return W_MESSAGE(5, W_TEXT(1, name), W_FIXED64(2, udpai_resource_digest(resource)));
}

#define SEND_AHEAD(...) peer_send(&peer, W_MESSAGE(1, W_TEXT(1, TEST_TYPE), __VA_ARGS__))

static void
a_resume_may_come_in_pieces(void **state)
{
    (void)state;
    session_change(&hub, "+T:com.acme/a=1 +T:com.acme/b=1 +T:com.acme/c=2");
    SEND_AHEAD(held_digest("com.acme/a", "1"), held_digest("com.acme/gone", "1"));
    peer_expect(&peer, "publish{T !}");
    SEND_AHEAD(held_digest("com.acme/b", "1"));
    peer_expect(&peer, "publish{T !}");
    SEND_AHEAD(W_TEXT(2, ""), held_digest("com.acme/c", "1"));
    peer_expect(&peer, "publish{T T:com.acme/c=2 ?} publish{T -com.acme/gone ?} publish{T !}");
}

/* Neither what was asked for before, nor what is certain meanwhile, makes an end of it. */
static void
what_was_sent_ahead_waits_for_its_names(void **state)
{
    (void)state;
    session_change(&hub, "+T:com.acme/a=1 +T:com.acme/b=1 +T:org.other/x=1");
    peer_subscribe(&peer, "T", "org.other", "''");
    peer_subscribe(&peer, "T", "", "com.acme/a");
    peer_expect(&peer, "publish{T T:org.other/x=1 ?} publish{T T:com.acme/a=1 ?} "
                       "publish{T@org.other !} publish{T !}");
    SEND_AHEAD(held_digest("com.acme/b", "1"), held_digest("com.acme/gone", "1"),
               held_digest("org.other/gone", "1"));
    peer_expect(&peer, "publish{T !}");
    session_settle(&hub);
    session_change(&hub, "+T:com.acme/a=2");
    peer_unsubscribe(&peer, "T", "org.other", "''");
    peer_expect(&peer, "publish{T T:com.acme/a=2 ?}");
    peer_subscribe(&peer, "T", "", "com.acme/b com.acme/gone");
    peer_expect(&peer, "publish{T -com.acme/gone ?} publish{T !}");
    SEND_AHEAD(held_digest("org.other/x", "1"), held_digest("org.other/gone", "1"));
    peer_expect(&peer, "publish{T !}");
    peer_subscribe(&peer, "T", "org.other", "''");
    peer_expect(&peer, "publish{T -org.other/gone ?} publish{T@org.other !}");
}

/* What was said with names is looked through, whatever is sent ahead behind it. */
static void
a_piece_sent_ahead_holds_nothing_up(void **state)
{
    (void)state;
    session_settle_except(&hub, "com.acme", false);
    SEND_AHEAD(W_TEXT(2, ""), W_TEXT(4, "com.acme"), held_digest("com.acme/gone", "1"));
    SEND_AHEAD(held_digest("org.other/gone", "1"));
    peer_expect(&peer, "");
    session_settle(&hub);
    peer_expect(&peer, "publish{T -com.acme/gone ?} publish{T@com.acme !} publish{T !}");
    peer_subscribe(&peer, "T", "org.other", "''");
    peer_expect(&peer, "publish{T -org.other/gone ?} publish{T@org.other !}");
}

static void
expect_held_ends(udpai_str held, udpa_err code, const char *words)
{
    fake_hub small;
    test_peer other;
    udpai_hub_options options = fake_hub_options();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *message = NULL;
    udpai_str subscribe = W_MESSAGE(1, W_TEXT(1, TEST_TYPE), held);
    assert_ok(udpa_bytes_new(&message, subscribe.data, subscribe.len));
    options.fanout.max_held = 2;
    options.fanout.max_held_bytes = 2000;
    session_hub_init_with(&small, &options);
    peer_open(&other, &small, PEER_ENDPOINT);
    peer_send(&other, udpai_bytes_view(message));
    peer_expect_end(&other, code, words);
    peer_close(&other);
    fake_hub_done(&small);
}

static void
what_is_held_is_noted_whole_or_the_stream_ends(void **state)
{
    (void)state;
    static char name[UDPAI_NAME_MAX + 2], version[UDPAI_VERSION_MAX + 2];
    memset(name, 'n', sizeof(name) - 1);
    memcpy(name, "com.acme/", 9);
    memset(version, 'v', sizeof(version) - 1);
    expect_held_ends(W_JOIN(held_digest("com.acme/a", "1"), held_digest("com.acme/b", "1"),
                            held_digest("com.acme/c", "1")),
                     UDPA_ERR_LIMIT, "2 resources, with 2000 bytes");
    expect_held_ends(W_MESSAGE(5, W_TEXT(1, name), W_FIXED64(2, 1)), UDPA_ERR_INVAL,
                     "a name of 1025 bytes");
    expect_held_ends(W_MESSAGE(3, W_TEXT(1, name), W_TEXT(2, "1")), UDPA_ERR_INVAL,
                     "a name of 1025 bytes");
    expect_held_ends(W_MESSAGE(3, W_TEXT(1, "com.acme/a"), W_TEXT(2, version)), UDPA_ERR_INVAL,
                     "a version of 513 bytes");
    name[UDPAI_NAME_MAX] = version[UDPAI_VERSION_MAX] = '\0';
    expect_held_ends(W_JOIN(W_MESSAGE(3, W_TEXT(1, name), W_TEXT(2, version)),
                            W_MESSAGE(3, W_TEXT(1, "com.acme/a"), W_TEXT(2, version))),
                     UDPA_ERR_LIMIT, "2 resources, with 2000 bytes");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_held_is_not_sent, begin, end),
        cmocka_unit_test_setup_teardown(a_resume_may_come_in_pieces, begin, end),
        cmocka_unit_test_setup_teardown(what_was_sent_ahead_waits_for_its_names, begin, end),
        cmocka_unit_test_setup_teardown(a_piece_sent_ahead_holds_nothing_up, begin, end),
        cmocka_unit_test_setup_teardown(what_is_held_is_noted_whole_or_the_stream_ends, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
