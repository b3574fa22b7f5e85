/* SPDX-License-Identifier: Apache-2.0 */
/* Collections by glob: one level of names with the same parameters, as parts of a subscription. */
#include <stdio.h>

#include "fanout/fanout_internal.h"
#include "model/xdstp.h"
#include "tests/harness/oom.h"
#include "tests/unit/fanout/fanout_test.h"

/* The collection is written without its namespace, and is its own label unless there is another. */
static udpai_subscription *
add_glob(fanout_reader *reader, const char *type, const char *glob, const char *label)
{
    char url[128], full[128];
    (void)snprintf(full, sizeof(full), "com.acme/%s", glob);
    const udpai_part part = {
        .type_url = udpai_str_from(fanout_type(type, url)),
        .label = udpai_str_from(label ? label : full),
        .glob = udpai_str_from(full),
    };
    udpai_subscription *subscription =
        udpai_subscriber_add_part(&reader->subscriber, &part, UDPAI_MODE_DELTA);
    assert_non_null(subscription);
    assert_ok(udpai_subscribe_wildcard(subscription, udpai_glob_prefix(part.glob), NULL));
    return subscription;
}

static void
a_glob_holds_one_level_with_the_same_parameters(void **state)
{
    fanout_bed *bed = *state;
    fanout_reader one;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/foo/a=1 +CDS/foo/b/c=1 +CDS/a=1 +CDS/foo/a?k=1 +CDS/food/a=1");
    fanout_open(&one, bed);
    add_glob(&one, "CDS", "foo/*", NULL);
    assert_all(&one, "CDS[foo/a=1]");
    fanout_change(bed, "+CDS/foo/b=1 +CDS/foo/c/d=1 +CDS/foo/b?k=1 +CDS/foo=1");
    assert_all(&one, "CDS[foo/b=1]");
    fanout_change(bed, "-CDS/foo/a -CDS/foo/b/c -CDS/foo/a?k");
    assert_all(&one, "CDS[-foo/a]");
    fanout_close(&one);
}

static void
globs_stand_beside_names_wildcards_and_each_other(void **state)
{
    fanout_bed *bed = *state;
    fanout_reader one;
    fanout_settle(bed);
    fanout_open(&one, bed);
    add_glob(&one, "CDS", "foo/*", NULL);
    add_glob(&one, "CDS", "foo/*?k", NULL);
    fanout_ask(&one, "CDS", "foo/a");
    assert_all(&one, "CDS[-foo/a]");
    fanout_change(bed, "+CDS/foo/a=1 +CDS/foo/a?k=1");
    assert_all(&one, "CDS[foo/a=1] CDS[foo/a?k=1] CDS[foo/a=1]");
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[foo/a=1 foo/a?k=1]");
    fanout_change(bed, "+CDS/foo/a=2");
    assert_all(&one, "CDS[foo/a=2] CDS[foo/a=2]");
    fanout_change(bed, "-CDS/foo/a");
    assert_all(&one, "CDS[-foo/a] CDS[-foo/a]");
    fanout_close(&one);
}

static void
a_glob_that_was_dropped_is_told_nothing(void **state)
{
    fanout_bed *bed = *state;
    fanout_reader one;
    fanout_settle(bed);
    fanout_open(&one, bed);
    fanout_ask(&one, "CDS", "a");
    udpai_subscription *glob = add_glob(&one, "CDS", "foo/*", NULL);
    add_glob(&one, "CDS", "bar/*", NULL);
    fanout_change(bed, "+CDS/a=1 +CDS/foo/a=1 +CDS/bar/a=1");
    assert_all(&one, "CDS[a=1] CDS[foo/a=1] CDS[bar/a=1]");
    fanout_change(bed, "+CDS/foo/a=2");
    udpai_subscriber_drop_part(glob);
    fanout_change(bed, "+CDS/bar/a=2 -CDS/foo/a");
    assert_all(&one, "CDS[bar/a=2]");
    fanout_close(&one);
}

static void
readers_of_one_glob_share_what_is_composed(void **state)
{
    fanout_bed *bed = *state;
    fanout_reader readers[3];
    fanout_settle(bed);
    for (size_t i = 0; i < 3; i++) {
        fanout_open(&readers[i], bed);
        add_glob(&readers[i], "CDS", "foo/*", i < 2 ? "one spelling" : "another");
        assert_all(&readers[i], "");
    }
    size_t before = bed->n_composed;
    fanout_change(bed, "+CDS/foo/a=1 +CDS/foo/b=1");
    for (size_t i = 0; i < 3; i++)
        assert_all(&readers[i], "CDS[foo/a=1 foo/b=1]");
    assert_int_equal(bed->n_composed - before, 2); /* once for each spelling */
    for (size_t i = 0; i < 3; i++)
        fanout_close(&readers[i]);
}

static void
an_empty_glob_is_complete_once_that_is_certain(void **state)
{
    fanout_bed *bed = *state;
    fanout_reader one;
    const udpai_unsettled missing = {.prefix = UDPAI_STR("com.acme"), .source = UDPAI_STR("s")};
    fanout_settle_except(bed, &missing);
    fanout_open(&one, bed);
    udpai_subscription *glob = add_glob(&one, "CDS", "foo/*", NULL);
    assert_ok(udpai_subscription_await_complete(glob, UDPAI_STR("com.acme/foo/"), NULL, 0));
    fanout_change(bed, "+CDS/bar/a=1");
    assert_all(&one, "");
    assert_true(udpai_subscription_is_empty(glob));
    fanout_settle(bed);
    assert_all(&one, "CDS!com.acme/foo/");
    fanout_change(bed, "+CDS/foo/a=1");
    assert_false(udpai_subscription_is_empty(glob));
    assert_all(&one, "CDS[foo/a=1]");
    fanout_close(&one);
}

/* What a change costs: the item is in the view of its own collection, whatever others there are. */
static void
an_item_is_in_one_collection_however_many_there_are(void **state)
{
    fanout_bed *bed = *state;
    fanout_reader one;
    char text[64], url[128];
    fanout_settle(bed);
    fanout_open(&one, bed);
    for (int i = 0; i < 500; i++) {
        (void)snprintf(text, sizeof(text), i % 2 ? "foo%d/*" : "foo/*?k%d", i);
        add_glob(&one, "CDS", text, NULL);
        bed->interest[0] = '\0';
    }
    fanout_change(bed, "+CDS/foo/a?k8=1 +CDS/foo/a=1");
    assert_all(&one, "CDS[foo/a?k8=1]");
    const udpai_topic *topic =
        udpai_topic_find(bed->fanout, udpai_str_from(fanout_type("CDS", url)));
    assert_int_equal(udpai_item_find(topic, UDPAI_STR("com.acme/foo/a?k8"))->n_memberships, 1);
    assert_int_equal(udpai_item_find(topic, UDPAI_STR("com.acme/foo/a"))->n_memberships, 0);
    assert_int_equal(udpai_fanout_n_views(bed->fanout), 0); /* none that counts */
    while (one.subscriber.subscriptions.n) {
        udpai_subscriber_drop_part(one.subscriber.subscriptions.items[0]);
        bed->interest[0] = '\0';
    }
    fanout_close(&one);
}

static void
a_glob_costs_no_view_of_its_peers_share(void **state)
{
    fanout_bed *bed = *state;
    fanout_reader one;
    bed->options.max_views = bed->options.max_views_per_owner = 1;
    fanout_bed_restart(bed);
    fanout_settle(bed);
    fanout_open(&one, bed);
    assert_ok(udpai_subscriber_set_owner(&one.subscriber, UDPAI_STR("peer")));
    fanout_wildcard(&one, "CDS", "com.acme");
    udpai_subscription *glob = add_glob(&one, "CDS", "foo/*", NULL);
    add_glob(&one, "CDS", "bar/*", NULL);
    fanout_change(bed, "+CDS/foo/a=1");
    assert_all(&one, "CDS[foo/a=1] CDS[foo/a=1]");
    udpai_subscriber_drop_part(glob);
    fanout_close(&one);
}

/* ---- against the plain definition ---- */

static const char *const names[] = {"foo/a", "foo/b",     "foo/a?k", "foo/b?k",
                                    "a",     "foo/bar/a", "b",       "foo/"};
static const char *const globs[] = {"foo/*", "foo/*?k", "*", "foo/bar/*", "none/*"};

static bool
is_in(const char *name, const char *glob)
{
    char full[64], room[UDPAI_GLOB_MAX], full_glob[64];
    udpai_str found;
    (void)snprintf(full, sizeof(full), "com.acme/%s", name);
    (void)snprintf(full_glob, sizeof(full_glob), "com.acme/%s", glob);
    return udpai_glob_of_name(udpai_str_from(full), room, &found) &&
           udpai_str_eq(found, udpai_str_from(full_glob));
}

static void
after_any_changes_each_glob_holds_what_is_in_it(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    uint64_t seed = 4711;
    for (int round = 0; round < 60; round++) {
        fanout_reader readers[UDPAI_ARRAY_LEN(globs)];
        bool is_open[UDPAI_ARRAY_LEN(globs)] = {false};
        int values[UDPAI_ARRAY_LEN(names)] = {0};
        bed->interest[0] = '\0';
        for (int turn = 0; turn < 60; turn++) {
            char change[64];
            size_t at = test_random(&seed) % UDPAI_ARRAY_LEN(names),
                   who = test_random(&seed) % UDPAI_ARRAY_LEN(globs);
            values[at] = test_random(&seed) % 3 ? turn + 1 : 0;
            (void)snprintf(change, sizeof(change), values[at] ? "+CDS/%s=%d" : "-CDS/%s", names[at],
                           values[at]);
            fanout_change(bed, change);
            if (!is_open[who]) {
                fanout_open(&readers[who], bed);
                add_glob(&readers[who], "CDS", globs[who], NULL);
                is_open[who] = true;
            } else if (test_random(&seed) % 4) {
                (void)fanout_all(&readers[who]);
            }
        }
        for (size_t who = 0; who < UDPAI_ARRAY_LEN(globs); who++) {
            if (!is_open[who])
                continue;
            (void)fanout_all(&readers[who]);
            for (size_t at = 0; at < UDPAI_ARRAY_LEN(names); at++) {
                char expected[16] = "";
                if (values[at] && is_in(names[at], globs[who]))
                    (void)snprintf(expected, sizeof(expected), "%d", values[at]);
                assert_string_equal(fanout_holds(&readers[who], "CDS", names[at]), expected);
            }
            fanout_close(&readers[who]);
        }
        for (size_t at = 0; at < UDPAI_ARRAY_LEN(names); at++) {
            char change[64];
            (void)snprintf(change, sizeof(change), "-CDS/%s", names[at]);
            fanout_change(bed, change);
        }
    }
}

/* ---- without memory ---- */

static udpa_err
live_with_a_glob(void *context)
{
    fanout_bed *bed = context;
    fanout_reader reader;
    const udpai_part part = {UDPAI_STR(TEST_CDS), UDPAI_STR("label"), UDPAI_STR("com.acme/foo/*")};
    fanout_open(&reader, bed);
    udpai_subscription *glob =
        udpai_subscriber_add_part(&reader.subscriber, &part, UDPAI_MODE_DELTA);
    udpa_err err =
        glob ? udpai_subscribe_wildcard(glob, UDPAI_STR("com.acme/foo/"), NULL) : UDPA_ERR_NOMEM;
    udpai_change_set *changes = err == UDPA_OK ? fanout_changes("+CDS/foo/b=1 +CDS/bar/c=1") : NULL;
    size_t place = 0;
    if (err == UDPA_OK)
        err = changes ? udpai_fanout_apply(bed->fanout, changes, &place) : UDPA_ERR_NOMEM;
    udpai_delivery delivery = {0};
    if (err == UDPA_OK)
        err = udpai_subscriber_next(&reader.subscriber, &delivery);
    if (err == UDPA_OK)
        assert_int_equal(delivery.body->resources.n, 2);
    udpai_body_unref(delivery.body);
    udpai_change_set_unref(changes);
    fanout_close(&reader);
    return err;
}

static void
lack_of_memory_is_an_error_like_any_other(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    for (long n = 0;; n++) {
        fanout_bed_restart(bed); /* the families of a topic stay once they are made */
        fanout_settle(bed);
        fanout_change(bed, "+CDS/foo/a=1 +CDS/bar/b=1");
        udpai_alloc_fail_after(n);
        udpa_err err = live_with_a_glob(bed);
        udpai_alloc_fail_after(-1);
        if (err == UDPA_OK) {
            assert_true(n > 10);
            return;
        }
        assert_int_equal(err, UDPA_ERR_NOMEM);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(a_glob_holds_one_level_with_the_same_parameters),
        fanout_test(globs_stand_beside_names_wildcards_and_each_other),
        fanout_test(a_glob_that_was_dropped_is_told_nothing),
        fanout_test(readers_of_one_glob_share_what_is_composed),
        fanout_test(an_empty_glob_is_complete_once_that_is_certain),
        fanout_test(an_item_is_in_one_collection_however_many_there_are),
        fanout_test(a_glob_costs_no_view_of_its_peers_share),
        fanout_test(after_any_changes_each_glob_holds_what_is_in_it),
        fanout_test(lack_of_memory_is_an_error_like_any_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
