/* SPDX-License-Identifier: Apache-2.0 */
/* Resuming: what a subscriber still holds is not sent, and what has gone is told once that is
 * certain. */
#include <stdio.h>

#include "tests/unit/fanout/fanout_test.h"

static fanout_reader one;

/* With what is there now, as if it had been sent. */
static udpa_resource *
resource_of(const char *value, uint64_t generation)
{
    udpa_resource *resource = test_resource_make(&(test_resource){
        .name = "com.acme/a", .type = TEST_CDS, .value = value, .generation = generation});
    assert_non_null(resource);
    return resource;
}

static udpai_subscription *
begin(fanout_bed *bed)
{
    fanout_open(&one, bed);
    one.checks_refreshes = false;
    return fanout_of(&one, "CDS");
}

static void
hold_digest(udpai_subscription *subscription, const char *value)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = resource_of(value, 0);
    assert_ok(udpai_subscription_hold_digest(subscription, UDPAI_STR("com.acme/a"),
                                             udpai_resource_digest(resource)));
}

static void
test_what_is_held_is_not_sent(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    udpai_subscription *subscription = begin(bed);
    hold_digest(subscription, "1");
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[b=1]");
    fanout_change(bed, "+CDS/a=2");
    assert_all(&one, "CDS[a=2]");
    fanout_close(&one);
}

static void
test_what_has_changed_is_sent(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=2 +CDS/b=1");
    udpai_subscription *subscription = begin(bed);
    hold_digest(subscription, "1");
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=2 b=1]");
    fanout_close(&one);
}

/* A refresh could not say it, so the digest must. */
static void
test_what_is_said_beside_it_has_changed(void **state)
{
    fanout_bed *bed = *state;
    const test_resource plain = {.name = "com.acme/a", .type = TEST_CDS, .value = "1"};
    test_resource held[] = {plain, plain, plain, plain, plain, plain};
    held[1].lazy = true;
    held[2].do_not_cache = true;
    held[3].ttl_ms = 1000;
    held[4].aliases[0] = "com.acme/b";
    held[5].aliases[0] = "com.acme/c";
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(held); i++) {
        UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = test_resource_make(&held[i]);
        udpai_subscription *subscription = begin(bed);
        assert_ok(udpai_subscription_hold_digest(subscription, UDPAI_STR("com.acme/a"),
                                                 udpai_resource_digest(resource)));
        fanout_wildcard(&one, "CDS", "com.acme");
        assert_all(&one, i ? "CDS[a=1]" : "");
        fanout_close(&one);
    }
}

static void
test_versions_do_as_well(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    udpai_subscription *subscription = begin(bed);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = resource_of("1", 0);
    udpai_str version = udpai_resource_version(resource);
    assert_ok(udpai_subscription_hold_version(subscription, UDPAI_STR("com.acme/a"), version));
    assert_ok(udpai_subscription_hold_version(subscription, UDPAI_STR("com.acme/b"),
                                              UDPAI_STR("another")));
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[b=1]");
    fanout_close(&one);
}

/* Versions of two authorities say nothing of each other; a digest does. */
static void
test_a_digest_decides_over_a_version(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1");
    udpai_subscription *subscription = begin(bed);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = resource_of("1", 0);
    hold_digest(subscription, "2");
    assert_ok(udpai_subscription_hold_version(subscription, UDPAI_STR("com.acme/a"),
                                              udpai_resource_version(resource)));
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1]");
    fanout_close(&one);
}

static void
test_another_path_is_a_refresh(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1:5");
    UDPA_AUTO(udpa_resource_unref) udpa_resource *same = resource_of("1", 5);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *older = resource_of("1", 4);
    udpai_str name = UDPAI_STR("com.acme/a");
    udpai_subscription *subscription = begin(bed);
    hold_digest(subscription, "1");
    assert_ok(
        udpai_subscription_hold_path(subscription, name, udpai_resource_path_digest(same, 0)));
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "");
    fanout_close(&one);
    subscription = begin(bed);
    hold_digest(subscription, "1");
    assert_ok(
        udpai_subscription_hold_path(subscription, name, udpai_resource_path_digest(older, 0)));
    /* Of what is not held at all, no way is noted. */
    assert_ok(udpai_subscription_hold_path(subscription, UDPAI_STR("com.acme/b"), 1));
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[~a=1]");
    fanout_close(&one);
}

/* ---- what has vanished ---- */

static void
test_what_has_vanished_is_told_when_it_is_certain(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/b=1");
    udpai_subscription *subscription = begin(bed);
    hold_digest(subscription, "1");
    assert_ok(udpai_subscription_hold_digest(subscription, UDPAI_STR("com.acme/c"), 1));
    assert_ok(udpai_subscription_hold_digest(subscription, UDPAI_STR("org/outside"), 1));
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[b=1]");
    fanout_settle_except(bed, &(udpai_unsettled){.prefix = UDPAI_STR("com.acme/c")});
    assert_all(&one, "CDS[-a]");
    /* Come in time, it has not vanished. */
    fanout_change(bed, "+CDS/c=1");
    assert_all(&one, "CDS[c=1]");
    fanout_settle(bed);
    assert_all(&one, "");
    fanout_close(&one);
}

static void
test_what_it_may_not_see_any_more_has_vanished(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1@n1");
    udpai_subscription *subscription = begin(bed);
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
    hold_digest(subscription, "1");
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[-a]");
    fanout_close(&one);
}

static void
test_names_are_resumed_one_by_one(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1");
    udpai_subscription *subscription = begin(bed);
    hold_digest(subscription, "1");
    assert_ok(udpai_subscription_hold_digest(subscription, UDPAI_STR("com.acme/b"), 1));
    assert_ok(udpai_subscription_hold_digest(subscription, UDPAI_STR("com.acme/never"), 1));
    fanout_ask(&one, "CDS", "a b");
    assert_all(&one, "CDS[-b]");
    /* It wants it, though it said that it has it. */
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[a=1]");
    fanout_close(&one);
}

static void
test_asked_for_again_what_is_held_is_sent(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1");
    udpai_subscription *subscription = begin(bed);
    hold_digest(subscription, "1");
    fanout_wildcard(&one, "CDS", "com.acme");
    udpai_subscription_resend(subscription, UDPAI_STR("com.acme/a"));
    assert_all(&one, "CDS[a=1]");
    fanout_close(&one);
}

static void
test_so_much_may_be_held(void **state)
{
    fanout_bed *bed = *state;
    bed->options.max_held = 2;
    fanout_bed_restart(bed);
    fanout_settle(bed);
    udpai_subscription *subscription = begin(bed), *other = fanout_of(&one, "EDS");
    hold_digest(subscription, "1");
    assert_ok(udpai_subscription_hold_version(other, UDPAI_STR("com.acme/b"), UDPAI_STR("1")));
    udpai_str name = UDPAI_STR("com.acme/c");
    assert_int_equal(udpai_subscription_hold_digest(subscription, name, 1), UDPA_ERR_LIMIT);
    assert_int_equal(udpai_subscription_hold_version(other, name, UDPAI_STR("1")), UDPA_ERR_LIMIT);
    hold_digest(subscription, "1"); /* it is noted already */
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[-a]"); /* and makes room */
    assert_ok(udpai_subscription_hold_digest(subscription, name, 1));
    fanout_close(&one);
    assert_int_equal(one.subscriber.n_held, 0);
}

static void
test_so_much_text_may_be_held(void **state)
{
    fanout_bed *bed = *state;
    bed->options.max_held_bytes = 25;
    fanout_bed_restart(bed);
    udpai_subscription *subscription = begin(bed);
    udpai_str a = UDPAI_STR("com.acme/a"), b = UDPAI_STR("com.acme/b");
    for (int i = 0; i < 5; i++) /* the last one counts */
        assert_ok(udpai_subscription_hold_version(subscription, a, UDPAI_STR("12345")));
    assert_ok(udpai_subscription_hold_digest(subscription, b, 1));
    assert_int_equal(one.subscriber.held_bytes, 25);
    assert_int_equal(udpai_subscription_hold_digest(subscription, UDPAI_STR("c"), 1),
                     UDPA_ERR_LIMIT);
    assert_int_equal(udpai_subscription_hold_version(subscription, a, UDPAI_STR("123456")),
                     UDPA_ERR_LIMIT);
    assert_int_equal(one.subscriber.held_bytes, 20);
    fanout_close(&one);
    assert_int_equal(one.subscriber.held_bytes, 0);
}

/* Ahead of what it belongs to nothing of it is certain. */
static void
test_what_is_held_ahead_waits(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    udpai_subscription *subscription = begin(bed);
    for (int round = 0; round < 2; round++) {
        udpai_subscription_hold_ahead(subscription, true);
        hold_digest(subscription, "1");
        assert_ok(udpai_subscription_hold_digest(subscription, UDPAI_STR("com.acme/x"), 1));
        assert_all(&one, "");
        fanout_wildcard(&one, "CDS", "org"); /* of another message */
        assert_ok(udpai_unsubscribe_wildcard(subscription, UDPAI_STR("org")));
        fanout_settle(bed);
        assert_all(&one, "");
        udpai_subscription_hold_ahead(subscription, false);
        fanout_wildcard(&one, "CDS", "com.acme");
        assert_all(&one, "CDS[b=1] CDS[-x]");
        assert_int_equal(one.subscriber.n_held, 0);
    }
    fanout_close(&one);
}

/* False: it failed, and said so. */
static bool
give_all_back(fanout_bed *bed, long n_allocations)
{
    fanout_settle(bed);
    udpai_subscription *subscription = begin(bed);
    fanout_wildcard(&one, "CDS", "org");
    udpai_subscription_hold_ahead(subscription, true);
    assert_ok(
        udpai_subscription_hold_version(subscription, UDPAI_STR("com.acme/gone"), UDPAI_STR("1")));
    udpai_alloc_fail_after(n_allocations);
    udpa_err err = udpai_unsubscribe_all_wildcards(subscription);
    udpai_alloc_fail_after(-1);
    if (err == UDPA_OK) {
        udpai_subscription_hold_ahead(subscription, false);
        fanout_wildcard(&one, "CDS", "com.acme");
        assert_all(&one, "CDS[-gone]");
    } else {
        assert_int_equal(err, UDPA_ERR_NOMEM);
    }
    fanout_close(&one);
    bed->interest[0] = '\0';
    return err == UDPA_OK;
}

/* What was sent ahead of the next Subscribe is not lost in silence. */
static void
test_wildcards_are_given_back_without_memory(void **state)
{
    long n = 0;
    while (!give_all_back(*state, n))
        assert_true(++n < 100);
    assert_true(n > 0);
}

/* ---- what is held as it is ---- */

static fanout_renderer content;

/* Who is shown the content only, with versions that are made of it: what is the same is seen at
 * once. */
static udpai_subscription *
begin_by_content(fanout_bed *bed)
{
    content = bed->renderer;
    content.base.shows_content_only = true;
    fanout_open_with(&one, bed, &content);
    one.checks_refreshes = false;
    return fanout_of(&one, "CDS");
}

static udpa_err
hold(udpai_subscription *subscription, const char *name, const char *value)
{
    char change[80], version[UDPAI_CONTENT_HASH_HEX];
    (void)snprintf(change, sizeof(change), "+CDS/%s=%s", name, value);
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *made = fanout_changes(change);
    const udpa_resource *resource = udpai_change_set_at(made, 0)->resource;
    udpai_content_hash_hex(udpai_resource_content_hash(resource), version);
    return udpai_subscription_hold_version(subscription, udpai_resource_name(resource),
                                           (udpai_str){version, sizeof(version)});
}

static void
test_of_many_what_has_changed_is_sent(void **state)
{
    fanout_bed *bed = *state;
    char changes[1024] = "", name[8];
    fanout_settle(bed);
    for (size_t i = 0; i < 60; i++)
        (void)snprintf(changes + strlen(changes), 16, "%s+CDS/x%zu=1", i ? " " : "", i);
    fanout_change(bed, changes);
    udpai_subscription *subscription = begin_by_content(bed);
    for (size_t i = 0; i < 60; i++) {
        (void)snprintf(name, sizeof(name), "x%zu", i);
        assert_ok(hold(subscription, name, i == 7 ? "0" : "1"));
    }
    assert_ok(hold(subscription, "gone", "1"));
    assert_int_equal(one.subscriber.n_held, 61);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[x7=1] CDS[-gone]");
    assert_int_equal(one.subscriber.n_held + one.subscriber.held_bytes, 0);
    fanout_change(bed, "+CDS/x3=2 -CDS/x4");
    assert_all(&one, "CDS[x3=2] CDS[-x4]");
    fanout_close(&one);
}

static void
test_of_a_name_twice_the_last_counts(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1 +CDS/d=1");
    udpai_subscription *subscription = begin_by_content(bed);
    static const char *const held[][2] = {{"a", "1"}, {"a", "0"}, {"b", "0"},
                                          {"b", "1"}, {"c", "1"}, {"c", "1"},
                                          {"d", "1"}, {"d", "0"}, {"d", "1"}};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(held); i++)
        assert_ok(hold(subscription, held[i][0], held[i][1]));
    assert_int_equal(one.subscriber.n_held, 4);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1]");
    assert_int_equal(one.subscriber.n_held + one.subscriber.held_bytes, 0);
    fanout_close(&one);
}

static void
test_messages_may_come_with_changes_between(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1 +CDS/d=1");
    udpai_subscription *subscription = begin_by_content(bed);
    assert_ok(hold(subscription, "a", "1"));
    assert_ok(hold(subscription, "b", "1"));
    assert_ok(hold(subscription, "d", "1"));
    fanout_change(bed, "+CDS/a=2 +CDS/d=2");
    assert_ok(hold(subscription, "a", "2"));
    assert_ok(hold(subscription, "c", "1"));
    assert_int_equal(one.subscriber.n_held, 4);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[d=2]");
    fanout_close(&one);
}

static void
test_what_changes_before_it_is_compared(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1:1 +CDS/b=1 +CDS/c=1 +CDS/d=1");
    udpai_subscription *subscription = begin_by_content(bed);
    for (const char *name = "abcd"; *name; name++)
        assert_ok(hold(subscription, (const char[]){*name, '\0'}, "1"));
    fanout_change(bed, "~CDS/a=1:2 +CDS/b=2 -CDS/c -CDS/d");
    fanout_change(bed, "+CDS/d=2");
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[b=2 d=2] CDS[-c]");
    assert_int_equal(one.subscriber.n_held, 0);
    fanout_close(&one);
}

/* Only the note keeps the item then. */
static void
test_what_goes_before_it_is_compared_is_told_when_it_is_certain(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1");
    udpai_subscription *subscription = begin_by_content(bed);
    for (const char *name = "abc"; *name; name++)
        assert_ok(hold(subscription, (const char[]){*name, '\0'}, "1"));
    fanout_change(bed, "-CDS/a -CDS/c");
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "");
    assert_int_equal(one.subscriber.n_held, 2);
    fanout_change(bed, "+CDS/c=1");
    assert_all(&one, "CDS[c=1]");
    fanout_settle(bed);
    assert_all(&one, "CDS[-a]");
    assert_int_equal(one.subscriber.n_held, 0);
    fanout_close(&one);
}

static void
test_what_it_may_not_see_is_not_held_as_it_is(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1@n1 +CDS/b=1");
    udpai_subscription *subscription = begin_by_content(bed);
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
    assert_ok(hold(subscription, "a", "1"));
    assert_ok(hold(subscription, "b", "1"));
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[-a]");
    fanout_close(&one);
}

static void
test_names_are_resumed_by_content(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/n=1");
    udpai_subscription *subscription = begin_by_content(bed);
    assert_ok(hold(subscription, "a", "1"));
    assert_ok(hold(subscription, "b", "0"));
    assert_ok(hold(subscription, "n", "1")); /* not asked for */
    fanout_ask(&one, "CDS", "a b");
    assert_all(&one, "CDS[b=1]");
    assert_int_equal(one.subscriber.n_held, 0);
    /* It wants it, though it says that it has it. */
    assert_ok(hold(subscription, "a", "1"));
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[a=1]");
    fanout_close(&one);
}

static void
test_a_digest_decides_over_what_is_held_as_it_is(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1");
    udpai_subscription *subscription = begin_by_content(bed);
    assert_ok(hold(subscription, "a", "1"));
    hold_digest(subscription, "2");
    assert_int_equal(one.subscriber.n_held, 1);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1]");
    fanout_close(&one);
}

static void
test_with_the_wildcard_goes_what_is_held_as_it_is(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    udpai_subscription *subscription = begin_by_content(bed);
    fanout_ask(&one, "CDS", "b");
    assert_all(&one, "CDS[b=1]");
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_ok(hold(subscription, "a", "1"));
    assert_ok(hold(subscription, "b", "1"));
    assert_ok(udpai_unsubscribe_wildcard(subscription, UDPAI_STR("com.acme")));
    assert_int_equal(one.subscriber.n_held, 1);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1]");
    fanout_close(&one);
}

/* The name that was noted as a resource is another's now. */
static void
test_a_variant_takes_the_place_of_what_is_held(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/v=1^b;env~prod");
    udpai_subscription *subscription = begin_by_content(bed);
    content.base.selects_variants = true;
    assert_ok(hold(subscription, "a", "1"));
    fanout_change(bed, "-CDS/a");
    fanout_change(bed, "+CDS/a.prod=p^a;env~prod");
    fanout_ask(&one, "CDS", "a;env~prod");
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a.prod=p]");
    assert_int_equal(one.subscriber.n_held, 0);
    fanout_close(&one);
}

static void
test_what_is_held_as_it_is_has_bounds_too(void **state)
{
    fanout_bed *bed = *state;
    bed->options.max_held = 2;
    fanout_bed_restart(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1");
    udpai_subscription *subscription = begin_by_content(bed);
    assert_ok(hold(subscription, "a", "1"));
    assert_ok(hold(subscription, "b", "1"));
    assert_int_equal(hold(subscription, "c", "1"), UDPA_ERR_LIMIT);
    assert_ok(hold(subscription, "a", "1")); /* it is noted already */
    assert_int_equal(one.subscriber.n_held, 2);
    assert_int_equal(one.subscriber.held_bytes, 0); /* there is no text */
    fanout_close(&one);
    assert_int_equal(one.subscriber.n_held, 0);
}

/* The first step is to note, the second to find what is not certain. False: it failed, and said
 * so. */
static bool
resume_without_memory(fanout_bed *bed, bool is_second, long n_allocations)
{
    static const char *const versions[] = {"1", "0"};
    udpai_str names[] = {UDPAI_STR("com.acme/a"), UDPAI_STR("com.acme/b"), UDPAI_STR("com.acme/x")};
    char texts[2][UDPAI_CONTENT_HASH_HEX];
    fanout_bed_restart(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    for (size_t i = 0; i < 2; i++) {
        UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = resource_of(versions[i], 0);
        udpai_content_hash_hex(udpai_resource_content_hash(resource), texts[i]);
    }
    udpai_subscription *subscription = begin_by_content(bed);
    udpa_err err = UDPA_OK;
    udpai_alloc_fail_after(is_second ? -1 : n_allocations);
    for (size_t i = 0; i < 9 && err == UDPA_OK; i++) /* right, wrong, right */
        err = udpai_subscription_hold_version(
            subscription, names[i % 3], (udpai_str){texts[i / 3 % 2], UDPAI_CONTENT_HASH_HEX});
    udpai_alloc_fail_after(-1);
    if (err == UDPA_OK) {
        assert_ok(hold(subscription, "a", "1"));
        assert_int_equal(one.subscriber.n_held, 3);
        fanout_change(bed, "-CDS/a -CDS/b");
        fanout_wildcard(&one, "CDS", "com.acme");
        udpai_delivery delivery;
        udpai_alloc_fail_after(is_second ? n_allocations : -1);
        err = udpai_subscriber_next(&one.subscriber, &delivery);
        udpai_alloc_fail_after(-1);
    }
    if (err == UDPA_OK) {
        fanout_settle(bed);
        assert_all(&one, "CDS[-a -b -x]");
    } else {
        assert_int_equal(err, UDPA_ERR_NOMEM);
    }
    fanout_close(&one);
    bed->interest[0] = '\0';
    assert_int_equal(one.subscriber.n_held + one.subscriber.held_bytes, 0);
    return err == UDPA_OK;
}

static void
test_without_memory_it_begins_anew(void **state)
{
    for (int step = 0; step < 2; step++) {
        long n = 0;
        while (!resume_without_memory(*state, step, n))
            assert_true(++n < 100);
        assert_true(n > 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(test_what_is_held_is_not_sent),
        fanout_test(test_what_has_changed_is_sent),
        fanout_test(test_what_is_said_beside_it_has_changed),
        fanout_test(test_versions_do_as_well),
        fanout_test(test_a_digest_decides_over_a_version),
        fanout_test(test_another_path_is_a_refresh),
        fanout_test(test_what_has_vanished_is_told_when_it_is_certain),
        fanout_test(test_what_it_may_not_see_any_more_has_vanished),
        fanout_test(test_names_are_resumed_one_by_one),
        fanout_test(test_asked_for_again_what_is_held_is_sent),
        fanout_test(test_so_much_may_be_held),
        fanout_test(test_so_much_text_may_be_held),
        fanout_test(test_what_is_held_ahead_waits),
        fanout_test(test_wildcards_are_given_back_without_memory),
        fanout_test(test_of_many_what_has_changed_is_sent),
        fanout_test(test_of_a_name_twice_the_last_counts),
        fanout_test(test_messages_may_come_with_changes_between),
        fanout_test(test_what_changes_before_it_is_compared),
        fanout_test(test_what_goes_before_it_is_compared_is_told_when_it_is_certain),
        fanout_test(test_what_it_may_not_see_is_not_held_as_it_is),
        fanout_test(test_names_are_resumed_by_content),
        fanout_test(test_a_digest_decides_over_what_is_held_as_it_is),
        fanout_test(test_with_the_wildcard_goes_what_is_held_as_it_is),
        fanout_test(test_a_variant_takes_the_place_of_what_is_held),
        fanout_test(test_what_is_held_as_it_is_has_bounds_too),
        fanout_test(test_without_memory_it_begins_anew),
    };
    return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
