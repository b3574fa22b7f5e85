/* SPDX-License-Identifier: Apache-2.0 */
/* Views: who shares them, what they select, when they go. */
#include "tests/unit/fanout/fanout_test.h"

#include <stdio.h>

static fanout_reader one, two, three;

/* ---- sharing ---- */

static void
test_equal_selections_share_a_view(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    fanout_open(&three, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_wildcard(&two, "CDS", "com.acme");
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 1);
    fanout_wildcard(&three, "EDS", "com.acme");
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 2);
    /* The minimal cover counts, in any order. */
    fanout_wildcard(&one, "CDS", "com.acme/t");
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 2);
    fanout_wildcard(&one, "CDS", "org");
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 3);
    fanout_wildcard(&three, "CDS", "org");
    fanout_wildcard(&three, "CDS", "com.acme");
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 4); /* that of org alone is left over */
    fanout_bed_at(bed, 2000);
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 3);
    fanout_close(&one);
    fanout_close(&two);
    fanout_close(&three);
}

static void
test_another_visibility_is_another_view(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    two.subscriber.visibility = 7;
    fanout_wildcard(&one, "CDS", "");
    fanout_wildcard(&two, "CDS", "");
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 2);
    fanout_close(&two);
    fanout_bed_at(bed, 2000);
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 1);
    fanout_close(&one);
}

static void
test_who_is_offered_less_has_the_same_view(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    fanout_open(&three, bed);
    assert_ok(udpai_subscriber_set_except(&two.subscriber, UDPAI_STR("n1")));
    assert_ok(udpai_subscriber_set_link(&three.subscriber, 1));
    fanout_wildcard(&one, "CDS", "");
    fanout_wildcard(&two, "CDS", "");
    fanout_wildcard(&three, "CDS", "");
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 1);
    fanout_close(&one);
    fanout_close(&two);
    fanout_bed_at(bed, 2000);
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 1);
    fanout_close(&three);
    fanout_bed_at(bed, 4000);
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 0);
}

static void
test_an_unused_view_lingers(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    assert_all(&one, "CDS[a=1]");
    fanout_close(&one);
    fanout_bed_at(bed, 1999);
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 1);
    fanout_change(bed, "+CDS/b=1 -CDS/a");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_bed_at(bed, 5000);
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 1);
    assert_all(&one, "CDS[b=1]");
    fanout_close(&one);
    fanout_bed_at(bed, 6000);
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 0);
}

static void
test_there_are_so_many_views(void **state)
{
    fanout_bed *bed = *state;
    bed->options.max_views = 2;
    fanout_bed_restart(bed);
    fanout_change(bed, "+CDS/a=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com");
    fanout_open(&two, bed);
    fanout_wildcard(&two, "CDS", "com.acme");
    udpai_subscription *subscription = fanout_of(&two, "EDS");
    assert_int_equal(udpai_subscribe_wildcard(subscription, UDPAI_STR("com"), NULL),
                     UDPA_ERR_LIMIT);
    assert_false(udpai_subscription_has_wildcard(subscription));
    fanout_open(&three, bed);
    fanout_wildcard(&three, "CDS", "com.acme");
    subscription = fanout_of(&two, "CDS");
    assert_int_equal(udpai_subscribe_wildcard(subscription, UDPAI_STR("org"), NULL),
                     UDPA_ERR_LIMIT);
    assert_int_equal(udpai_subscription_n_prefixes(subscription), 1);
    assert_all(&two, "CDS[a=1]");
    fanout_close(&one);
    fanout_close(&two);
    fanout_close(&three);
}

/* What one peer makes in many streams counts for it alone; what others share with it, too. */
static void
test_one_peer_makes_so_many_views(void **state)
{
    fanout_bed *bed = *state;
    bed->options.max_views_per_owner = 2;
    fanout_bed_restart(bed);
    fanout_change(bed, "+CDS/a=1 +EDS/a=1");
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    fanout_open(&three, bed);
    assert_ok(udpai_subscriber_set_owner(&one.subscriber, UDPAI_STR("edge")));
    assert_ok(udpai_subscriber_set_owner(&two.subscriber, UDPAI_STR("edge")));
    assert_ok(udpai_subscriber_set_owner(&three.subscriber, UDPAI_STR("other")));
    fanout_wildcard(&one, "CDS", "com");
    fanout_wildcard(&two, "EDS", "com");
    udpai_subscription *subscription = fanout_of(&two, "CDS");
    udpa_error *error = NULL;
    assert_int_equal(udpai_subscribe_wildcard(subscription, UDPAI_STR("com.acme"), &error),
                     UDPA_ERR_LIMIT);
    assert_non_null(strstr(udpa_error_message(error), "'edge'"));
    assert_non_null(strstr(udpa_error_message(error), "limits.max_views_per_identity"));
    udpa_error_unref(error);
    fanout_wildcard(&two, "CDS", "com"); /* there is that one already */
    fanout_wildcard(&three, "CDS", "com.acme");
    assert_all(&two, "CDS[a=1] EDS[a=1]");
    assert_all(&three, "CDS[a=1]");
    fanout_close(&one);
    fanout_close(&two);
    fanout_close(&three);
}

/* Each would hold what is below the ones before it. */
static void
test_several_wildcards_at_once_are_one_view(void **state)
{
    fanout_bed *bed = *state;
    const udpai_str prefixes[] = {UDPAI_STR("com.acme"), UDPAI_STR("org"), UDPAI_STR("org"),
                                  UDPAI_STR("org/b")};
    fanout_change(bed, "+CDS/a=1 +CDS//org/x=1");
    fanout_open(&one, bed);
    udpai_subscription *subscription = fanout_of(&one, "CDS");
    assert_ok(udpai_subscribe_wildcards(subscription, prefixes, UDPAI_ARRAY_LEN(prefixes), NULL));
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 1);
    assert_all(&one, "CDS[a=1 /org/x=1]");
    /* What it has is sent again, and the rest with it. */
    const udpai_str more[] = {UDPAI_STR("net"), UDPAI_STR("org")};
    fanout_change(bed, "+CDS//net/y=1");
    assert_ok(udpai_subscribe_wildcards(subscription, more, UDPAI_ARRAY_LEN(more), NULL));
    assert_all(&one, "CDS[/net/y=1 /org/x=1]");
    assert_true(udpai_subscription_has_prefix(subscription, UDPAI_STR("net")));
    fanout_close(&one);
}

/* All or none. */
static void
test_several_wildcards_may_be_too_many(void **state)
{
    fanout_bed *bed = *state;
    bed->options.max_views = 1;
    fanout_bed_restart(bed);
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    fanout_wildcard(&two, "CDS", "com");
    const udpai_str prefixes[] = {UDPAI_STR("net"), UDPAI_STR("org")};
    udpai_subscription *subscription = fanout_of(&one, "CDS");
    assert_int_equal(udpai_subscribe_wildcards(subscription, prefixes, 2, NULL), UDPA_ERR_LIMIT);
    assert_false(udpai_subscription_has_wildcard(subscription));
    fanout_close(&one);
    fanout_close(&two);
}

/* Who has as many as there may be may still ask for less, or for another: no view more. */
static void
test_a_change_of_the_selection_is_no_view_more(void **state)
{
    fanout_bed *bed = *state;
    bed->options.max_views = 3;
    bed->options.max_views_per_owner = 2;
    bed->options.view_linger_ms = 100000;
    fanout_bed_restart(bed);
    fanout_change(bed, "+CDS/a=1 +CDS//org/x=1");
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    assert_ok(udpai_subscriber_set_owner(&one.subscriber, UDPAI_STR("edge")));
    fanout_wildcard(&two, "CDS", "com");
    fanout_wildcard(&one, "EDS", "com");
    fanout_wildcard(&one, "CDS", "org");
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 3);
    assert_all(&one, "CDS[a=1 /org/x=1]");
    fanout_drop_wildcard(&one, "CDS", "com.acme");
    fanout_wildcard(&two, "CDS", "org"); /* it makes one for all */
    fanout_drop_wildcard(&two, "CDS", "com");
    fanout_wildcard(&two, "EDS", "org");
    /* One that others use still is one more. */
    udpai_subscription *subscription = fanout_of(&two, "CDS");
    assert_int_equal(udpai_subscribe_wildcard(subscription, UDPAI_STR("net"), NULL),
                     UDPA_ERR_LIMIT);
    fanout_change(bed, "+CDS//org/y=1");
    assert_all(&one, "CDS[/org/y=1]");
    fanout_close(&one);
    fanout_close(&two);
}

/* Who goes from selection to selection does not wait for those that are only kept for a while. */
static void
test_idle_views_make_room(void **state)
{
    fanout_bed *bed = *state;
    bed->options.max_views = 3;
    bed->options.max_views_per_owner = 2;
    bed->options.view_linger_ms = 100000;
    fanout_bed_restart(bed);
    fanout_change(bed, "+CDS/a=1");
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    assert_ok(udpai_subscriber_set_owner(&one.subscriber, UDPAI_STR("edge")));
    fanout_wildcard(&two, "CDS", "org");
    static const char *const prefixes[] = {"com", "com.acme", "net", "de", "com.acme/a", "com"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(prefixes); i++) {
        fanout_wildcard(&one, "CDS", prefixes[i]);
        fanout_drop_wildcard(&one, "CDS", prefixes[i]);
        assert_true(udpai_fanout_n_views(bed->fanout) <= 3);
    }
    fanout_drop_wildcard(&two, "CDS", "org");
    fanout_wildcard(&two, "CDS", "com.acme");
    fanout_wildcard(&two, "EDS", "com.acme");
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 3);
    assert_all(&two, "CDS[a=1]");
    fanout_close(&one);
    fanout_close(&two);
}

/* A name deep down, so that its views lie at many prefixes: nobody need look through all of them.
 */
#define DEEP "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a"
#define DEPTH 32

static void
add_views(fanout_bed *bed, uint64_t visibility)
{
    fanout_open(&one, bed);
    one.subscriber.visibility = visibility;
    for (size_t i = 0; i < DEPTH; i++) {
        udpai_subscription *subscription = fanout_of(&one, "CDS");
        const udpai_str prefix = {"com.acme/" DEEP, sizeof("com.acme/") - 1 + 2 * i + 1};
        assert_ok(udpai_subscribe_wildcard(subscription, prefix, NULL));
        assert_ok(udpai_unsubscribe_all_wildcards(subscription));
        bed->interest[0] = '\0';
    }
    fanout_close(&one);
}

static void
test_a_resource_may_be_in_very_many_views(void **state)
{
    fanout_bed *bed = *state;
    const size_t n_views = (size_t)DEPTH * 1100;
    assert_true(n_views > 32768);
    bed->options.max_views = bed->options.max_views_per_owner = n_views;
    fanout_bed_restart(bed);
    fanout_change(bed, "+CDS/" DEEP "=1");
    for (uint64_t i = 0; i < n_views / DEPTH; i++)
        add_views(bed, i);
    assert_int_equal(udpai_fanout_n_views(bed->fanout), n_views);
    fanout_change(bed, "+CDS/" DEEP "/b=1 +CDS/" DEEP "=2");
    fanout_change(bed, "-CDS/" DEEP "/b");
    fanout_bed_at(bed, 3000);
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 0);
    assert_int_equal(udpai_fanout_n_resources(bed->fanout), 1);
}

/* ---- selecting ---- */

static void
test_prefixes_end_at_borders(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_open(&two, bed);
    fanout_wildcard(&two, "CDS", "com.acme/t");
    fanout_open(&three, bed);
    fanout_wildcard(&three, "CDS", "");
    fanout_change(bed,
                  "+CDS/a=1 +CDS/t/a=2 +CDS/ta=3 +CDS//com.acme.sub/a=4 +CDS//com.acmecorp/a=5 "
                  "+CDS//com/a=6");
    assert_all(&one, "CDS[a=1 t/a=2 ta=3 /com.acme.sub/a=4]");
    assert_all(&two, "CDS[t/a=2]");
    assert_all(&three, "CDS[a=1 t/a=2 ta=3 /com.acme.sub/a=4 /com.acmecorp/a=5 /com/a=6]");
    fanout_close(&one);
    fanout_close(&two);
    fanout_close(&three);
}

static void
test_what_came_from_a_node_is_not_offered_to_it(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
    fanout_wildcard(&one, "CDS", "");
    fanout_change(bed, "+CDS/a=1@n1 +CDS/b=1@n2 +CDS/c=1");
    assert_all(&one, "CDS[b=1 c=1]");
    /* The effective one moves there, and back. */
    fanout_change(bed, "~CDS/b=1@n1");
    assert_all(&one, "CDS[-b]");
    fanout_change(bed, "~CDS/b=1@n2");
    assert_all(&one, "CDS[b=1]");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "");
    fanout_close(&one);
}

static void
test_sources_are_shown_what_is_for_them(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    fanout_open(&three, bed); /* no source: it is shown everything */
    assert_ok(udpai_subscriber_set_link(&one.subscriber, 1));
    assert_ok(udpai_subscriber_set_link(&two.subscriber, 2));
    fanout_wildcard(&one, "load", "");
    fanout_wildcard(&two, "load", "");
    fanout_wildcard(&three, "load", "");
    fanout_change(bed, "+load/a=1>1 +load/b=1>12 +load/c=1> +load/d=1");
    assert_all(&one, "load[a=1 b=1 d=1]");
    assert_all(&two, "load[b=1 d=1]");
    assert_all(&three, "load[a=1 b=1 c=1 d=1]");
    /* Another one has delivered it now: the same resource, for others. */
    fanout_change(bed, "~load/a=1>2 ~load/c=1");
    assert_all(&one, "load[c=1] load[-a]");
    assert_all(&two, "load[a=1 c=1]");
    assert_all(&three, "load[~a=1 ~c=1]");
    fanout_change(bed, "-load/a -load/c");
    assert_all(&one, "load[-c]");
    assert_all(&two, "load[-a -c]");
    fanout_close(&one);
    fanout_close(&two);
    fanout_close(&three);
}

static void
test_who_turns_out_to_be_a_source_is_shown_less(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    fanout_wildcard(&one, "load", "com.acme");
    fanout_ask(&one, "load", "b");
    fanout_change(bed, "+load/a=1>1 +load/b=1>1 +load/c=1>2");
    assert_all(&one, "load[a=1 b=1 c=1]");
    assert_ok(udpai_subscriber_set_link(&one.subscriber, 2));
    assert_all(&one, "load[-a -b]");
    assert_ok(udpai_subscriber_set_link(&one.subscriber, 1));
    assert_all(&one, "load[a=1 b=1] load[-c]");
    fanout_close(&one);
}

static void
test_a_name_is_for_some_sources_too(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_open(&one, bed);
    assert_ok(udpai_subscriber_set_link(&one.subscriber, 1));
    fanout_ask(&one, "load", "a");
    fanout_change(bed, "+load/a=1>2");
    assert_all(&one, "load[-a]");
    fanout_change(bed, "~load/a=1>1");
    assert_all(&one, "load[a=1]");
    fanout_change(bed, "+load/a=2>1");
    assert_all(&one, "load[a=2]");
    fanout_change(bed, "~load/a=2>2");
    assert_all(&one, "load[-a]");
    fanout_close(&one);
}

static void
test_what_is_lazy_comes_by_name_alone(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1$ +CDS/b=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    assert_all(&one, "CDS[b=1]");
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[a=1]");
    fanout_open(&two, bed);
    fanout_wildcard(&two, "CDS", "");
    assert_all(&two, "CDS[b=1]");
    fanout_change(bed, "+CDS/b=1$");
    assert_all(&two, "CDS[-b]");
    fanout_change(bed, "+CDS/a=2");
    assert_all(&two, "CDS[a=2]");
    assert_all(&one, "CDS[a=2] CDS[-b]");
    fanout_close(&one);
    fanout_close(&two);
}

static bool
may_see(void *userdata, uint64_t visibility, const udpa_resource *resource)
{
    (void)userdata;
    udpai_str value = udpai_resource_value(resource);
    return value.data[0] != 's' || visibility == 1;
}

static void
test_what_may_not_be_seen_is_not_shown(void **state)
{
    fanout_bed *bed = *state;
    udpai_fanout_set_may_see(bed->fanout, may_see, NULL);
    fanout_change(bed, "+CDS/a=1 +CDS/b=s1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_open(&two, bed);
    two.subscriber.visibility = 1;
    fanout_wildcard(&two, "CDS", "");
    fanout_open(&three, bed);
    fanout_ask(&three, "CDS", "b");
    assert_all(&one, "CDS[a=1]");
    assert_all(&two, "CDS[a=1 b=s1]");
    assert_all(&three, "CDS[-b]");
    fanout_change(bed, "+CDS/a=s2 +CDS/b=2");
    assert_all(&one, "CDS[b=2] CDS[-a]");
    assert_all(&two, "CDS[a=s2 b=2]");
    assert_all(&three, "CDS[b=2]");
    udpai_send_item item;
    assert_false(udpai_subscription_shows(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/a"), &item));
    assert_true(udpai_subscription_shows(fanout_of(&two, "CDS"), UDPAI_STR("com.acme/a"), &item));
    assert_str(udpai_resource_value(item.resource), "s2");
    fanout_close(&one);
    fanout_close(&two);
    fanout_close(&three);
}

/* To be for a source does not mean that it may be shown it. */
static void
test_a_source_is_shown_what_it_may_see_alone(void **state)
{
    fanout_bed *bed = *state;
    udpai_fanout_set_may_see(bed->fanout, may_see, NULL);
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    two.subscriber.visibility = 1; /* what is secret, too */
    assert_ok(udpai_subscriber_set_link(&one.subscriber, 1));
    assert_ok(udpai_subscriber_set_link(&two.subscriber, 2));
    fanout_wildcard(&one, "load", "");
    fanout_wildcard(&two, "load", "");
    fanout_change(bed, "+load/a=s1>12 +load/b=s1>1 +load/c=1>12");
    assert_all(&one, "load[c=1]");
    assert_all(&two, "load[a=s1 c=1]");
    fanout_change(bed, "~load/b=s1>2");
    assert_all(&one, "");
    assert_all(&two, "load[b=s1]");
    fanout_close(&one);
    fanout_close(&two);
}

/* ---- the hash of what is shown ---- */

static bool
same_hash(fanout_reader *a, fanout_reader *b)
{
    udpai_set_hash x = udpai_subscription_set_hash(fanout_of(a, "CDS")),
                   y = udpai_subscription_set_hash(fanout_of(b, "CDS"));
    return x.high == y.high && x.low == y.low;
}

static void
test_the_hash_tells_what_is_shown(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_open(&two, bed);
    fanout_ask(&two, "CDS", "a b");
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS//org/x=1");
    assert_true(same_hash(&one, &two));
    fanout_change(bed, "+CDS/c=1");
    assert_false(same_hash(&one, &two));
    fanout_change(bed, "-CDS/c ~CDS/a=1:7");
    assert_true(same_hash(&one, &two));
    fanout_change(bed, "+CDS/a=2");
    assert_true(same_hash(&one, &two));
    /* Who has both counts each once. */
    fanout_ask(&one, "CDS", "a");
    assert_true(same_hash(&one, &two));
    fanout_change(bed, "-CDS/a -CDS/b");
    udpai_set_hash hash = udpai_subscription_set_hash(fanout_of(&one, "CDS"));
    assert_true(hash.high == 0 && hash.low == 0);
    fanout_close(&one);
    fanout_close(&two);
}

/* ---- interest ---- */

static void
expect_interest(fanout_bed *bed, const char *expected)
{
    assert_string_equal(bed->interest, expected);
    bed->interest[0] = '\0';
}

static void
test_the_first_and_the_last_are_told(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    fanout_ask(&one, "CDS", "a");
    fanout_ask(&two, "CDS", "a");
    fanout_ask(&two, "CDS", "a");
    expect_interest(bed, "+CDS/a");
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_wildcard(&two, "CDS", "com.acme");
    fanout_wildcard(&two, "CDS", "com");
    expect_interest(bed, "+CDS:com.acme +CDS:com");
    udpai_unsubscribe_name(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/a"), true);
    fanout_drop_wildcard(&one, "CDS", "com.acme");
    fanout_drop_wildcard(&one, "CDS", "com.acme");
    expect_interest(bed, "");
    fanout_close(&two);
    expect_interest(bed, "-CDS/a -CDS:com.acme -CDS:com");
    fanout_close(&one);
    expect_interest(bed, "");
}

/* ---- nothing is left ---- */

static void
test_nothing_is_left_when_all_have_gone(void **state)
{
    fanout_bed *bed = *state;
    unsigned long before = udpai_alloc_live();
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_ask(&one, "EDS", "a b");
    assert_ok(
        udpai_subscription_await_complete(fanout_of(&one, "CDS"), UDPAI_STR("com.acme"), NULL, 0));
    fanout_change(bed, "+CDS/a=1^b +CDS/c=1^*.x +EDS/a=1 +LDS/a=1");
    (void)fanout_all(&one);
    fanout_change(bed, "-CDS/a -CDS/c -EDS/a -LDS/a");
    (void)fanout_all(&one);
    fanout_close(&one);
    assert_int_equal(udpai_fanout_n_resources(bed->fanout), 0);
    fanout_bed_at(bed, 3000);
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 0);
    /* The table of topics keeps its room. */
    assert_true(udpai_alloc_live() <= before + 1);
}

static void
test_a_fanout_may_go_with_all_it_has(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_change(bed, "+CDS/a=1^b@n1 +CDS/c=1 +EDS/a=1");
    (void)fanout_all(&one);
    fanout_change(bed, "-CDS/c");
    fanout_close(&one);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(test_equal_selections_share_a_view),
        fanout_test(test_another_visibility_is_another_view),
        fanout_test(test_who_is_offered_less_has_the_same_view),
        fanout_test(test_an_unused_view_lingers),
        fanout_test(test_there_are_so_many_views),
        fanout_test(test_one_peer_makes_so_many_views),
        fanout_test(test_several_wildcards_at_once_are_one_view),
        fanout_test(test_several_wildcards_may_be_too_many),
        fanout_test(test_a_change_of_the_selection_is_no_view_more),
        fanout_test(test_idle_views_make_room),
        fanout_test(test_a_resource_may_be_in_very_many_views),
        fanout_test(test_prefixes_end_at_borders),
        fanout_test(test_what_came_from_a_node_is_not_offered_to_it),
        fanout_test(test_sources_are_shown_what_is_for_them),
        fanout_test(test_who_turns_out_to_be_a_source_is_shown_less),
        fanout_test(test_a_name_is_for_some_sources_too),
        fanout_test(test_what_is_lazy_comes_by_name_alone),
        fanout_test(test_what_may_not_be_seen_is_not_shown),
        fanout_test(test_a_source_is_shown_what_it_may_see_alone),
        fanout_test(test_the_hash_tells_what_is_shown),
        fanout_test(test_the_first_and_the_last_are_told),
        fanout_test(test_nothing_is_left_when_all_have_gone),
        fanout_test(test_a_fanout_may_go_with_all_it_has),
    };
    return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
