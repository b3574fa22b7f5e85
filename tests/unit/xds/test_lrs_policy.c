/* SPDX-License-Identifier: Apache-2.0 */
/* How often clients of LRS are asked to report, by resources that say so. The loop side is the
 * test. */
#include <stdio.h>

#include "envoy/service/load_stats/v3/lrs.pb-c.h"
#include "lrs_test.h"
#include "tests/harness/oom.h"

/* ---- what resources say ---- */

static void
change(lrs_test *test, udpai_change_kind kind, const char *name, udpai_str value)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_LOAD_REPORTING), value);
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    assert_ok(udpai_resource_make(&resource, &parts));
    udpai_change_set *set = udpai_change_set_new();
    const udpai_change one = {.kind = kind, .resource = resource};
    assert_ok(udpai_change_set_add(set, &one));
    fake_hub_apply(&test->world.hub, set);
    fake_hub_advance(&test->world.hub, 1);
    if (test->stream.session)
        fake_stream_run(&test->stream, &test->world.hub);
}

static void
say(lrs_test *test, const char *name, const char *prefix, uint64_t seconds, bool per_endpoint)
{
    change(test, UDPAI_CHANGE_SET, name,
           W_JOIN(W_TEXT(1, prefix), W_MESSAGE(2, W_VARINT(1, seconds)),
                  W_VARINT(3, (uint64_t)per_endpoint)));
}

static void
take_back(lrs_test *test, const char *name)
{
    change(test, UDPAI_CHANGE_REMOVE, name, W_NOTHING);
}

/* "SECONDS CLUSTER …", "SECONDS (all)"; with "singly" behind; NULL: nothing was asked. */
static void
expect_asked(lrs_test *test, const char *expected)
{
    char text[256];
    udpa_bytes *bytes = fake_stream_take(&test->stream);
    if (!bytes) {
        assert_string_equal("(nothing)", expected ? expected : "(nothing)");
        return;
    }
    Envoy__Service__LoadStats__V3__LoadStatsResponse *response =
        envoy__service__load_stats__v3__load_stats_response__unpack(NULL, udpa_bytes_size(bytes),
                                                                    udpa_bytes_data(bytes));
    assert_non_null(response);
    int at = snprintf(text, sizeof(text), "%d%s", (int)response->load_reporting_interval->seconds,
                      response->send_all_clusters ? " (all)" : "");
    for (size_t i = 0; i < response->n_clusters; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, " %s", response->clusters[i]);
    if (response->report_endpoint_granularity)
        snprintf(text + at, sizeof(text) - (size_t)at, " singly");
    envoy__service__load_stats__v3__load_stats_response__free_unpacked(response, NULL);
    udpa_bytes_unref(bytes);
    assert_string_equal(text, expected ? expected : "(nothing)");
}

/* Who wants them: the sources are asked. */
static void
expect_interest(lrs_test *test, bool wanted)
{
    udpai_report *report = fake_hub_take_report(&test->world.hub, UDPAI_REPORT_INTEREST);
    assert_non_null(report);
    assert_str(report->subscription->type_url, UDPAI_TYPE_LOAD_REPORTING);
    assert_int_equal(report->subscribed, wanted);
    udpai_report_free(report);
    assert_null(fake_hub_take_report(&test->world.hub, UDPAI_REPORT_INTEREST));
}

/* ---- tests ---- */

static void
nothing_is_followed_while_nobody_wants_anything(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    assert_null(fake_hub_take_report(&test->world.hub, UDPAI_REPORT_INTEREST));
    lrs_want(test, "*local/a");
    expect_interest(test, true);
    lrs_want(test, "*local/b");
    lrs_unwant(test, "*local/a");
    assert_null(fake_hub_take_report(&test->world.hub, UDPAI_REPORT_INTEREST));
    lrs_unwant(test, "*local/b");
    expect_interest(test, false);
    lrs_want(test, "*local/a");
    expect_interest(test, true);
    fake_stream_close(&test->stream);
    expect_interest(test, false);
}

static void
what_is_known_counts_for_the_first_response(void **state)
{
    lrs_test *test = *state;
    test->user_agent = "gRPC Go"; /* which reads no other */
    say(test, "local/rule", "local", 3, true);
    lrs_begin(test);
    lrs_want(test, "*local");
    expect_asked(test, "3 (all) singly");
    say(test, "local/rule", "local", 4, true);
    expect_asked(test, NULL);
}

static void
the_finest_of_what_is_wanted_is_asked_for(void **state)
{
    lrs_test *test = *state;
    say(test, "local/all", "local", 30, false);
    say(test, "local/a", "local/a", 5, false);
    say(test, "local/b", "local/b", 20, true);
    say(test, "com.acme/all", "com.acme", 1, true);
    lrs_begin_as(test, ID, "none");
    lrs_want(test, "*local/c");
    expect_asked(test, "30 c");
    lrs_want(test, "*local/b");
    expect_asked(test, "20 b c singly");
    lrs_want(test, "local/a/" SEGMENT);
    expect_asked(test, "5 a b c singly");
    lrs_unwant(test, "*local/b");
    expect_asked(test, "5 a c");
    lrs_unwant(test, "local/a/" SEGMENT);
    expect_asked(test, "30 c");
}

static void
changes_are_asked_for_while_it_runs(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local");
    expect_asked(test, "10 (all)");
    say(test, "local/rule", "local/a", 3, false);
    expect_asked(test, "3 (all)");
    say(test, "local/rule", "local/a", 3, true);
    expect_asked(test, "3 (all) singly");
    say(test, "com.acme/rule", "com.acme", 1, true); /* nobody wants those */
    expect_asked(test, NULL);
    say(test, "local/rule", "local/a", 0, true); /* cannot be */
    expect_asked(test, NULL);
    say(test, "local/rule", "com.acme", 1, true);
    expect_asked(test, NULL);
    take_back(test, "local/rule");
    expect_asked(test, "10 (all)");
    lrs_unwant(test, "*local");
    expect_asked(test, "10");
    say(test, "local/rule", "local/a", 3, false);
    expect_asked(test, NULL);
}

/* What holds for three short intervals would be over before the next report. */
static void
what_was_said_holds_until_the_next_report(void **state)
{
    lrs_test *test = *state;
    say(test, "local/rule", "local", 1, false);
    lrs_begin(test);
    lrs_want(test, "*local");
    lrs_send(test, lrs_stats("a", 5, 2));
    udpai_publication *first = lrs_published(test);
    assert_int_equal(udpa_resource_ttl_ms(first->entries.items[0].resource), 13000);
    lrs_judge(test, first);
    say(test, "local/rule", "local", 60, false);
    udpai_publication *again = lrs_published(test);
    assert_non_null(again);
    assert_int_equal(udpa_resource_ttl_ms(again->entries.items[0].resource), 190000);
    lrs_judge(test, again);
}

static udpai_str
stats_with_endpoint(const char *cluster)
{
    udpai_str address = W_MESSAGE(1, W_MESSAGE(1, W_TEXT(2, "10.0.0.1"), W_VARINT(3, 80)));
    return W_MESSAGE(2, W_TEXT(1, cluster), W_MESSAGE(4, W_VARINT(1, 10)),
                     W_MESSAGE(2, W_MESSAGE(1, W_TEXT(1, "eu")), W_VARINT(8, 4),
                               W_MESSAGE(7, address, W_VARINT(7, 4))));
}

/* A client has one setting for all clusters; what is not wanted of one is left out. */
static void
single_endpoints_are_taken_of_those_of_which_they_are_wanted(void **state)
{
    lrs_test *test = *state;
    say(test, "local/rule", "local/a", 3, true);
    lrs_begin(test);
    lrs_want(test, "*local");
    expect_asked(test, "3 (all) singly");
    lrs_send(test, W_JOIN(stats_with_endpoint("a"), stats_with_endpoint("b")));
    udpai_publication *publication = lrs_published(test);
    assert_int_equal(publication->entries.n, 2);
    for (size_t i = 0; i < 2; i++) {
        const udpa_resource *resource = publication->entries.items[i].resource;
        UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = lrs_stats_of(resource);
        bool is_a = strcmp(udpa_resource_name(resource), "local/a/" SEGMENT) == 0;
        assert_int_equal(stats->n_endpoints, is_a ? 1 : 0);
        assert_int_equal(stats->localities.items[0].figures.counts[UDPAI_LOAD_STATS_ISSUED], 4);
    }
    lrs_judge(test, publication);
}

static void
its_status_says_what_it_is_asked(void **state)
{
    lrs_test *test = *state;
    say(test, "local/rule", "local/a", 3, true);
    lrs_begin(test);
    lrs_want(test, "*local");
    Udpa__Status__V1__SessionStatus *status = lrs_status(test);
    assert_int_equal(status->load_reporting->interval->seconds, 3);
    assert_true(status->load_reporting->per_endpoint);
    udpa__status__v1__session_status__free_unpacked(status, NULL);
}

static void
on_change(udpai_lrs_follower *follower)
{
    (void)follower;
}

static udpa_err
follow_with_little_memory(void *context)
{
    lrs_test *test = context;
    udpai_lrs_follower follower;
    udpai_lrs_follower_init(&follower, on_change);
    udpa_err err = udpai_lrs_follow(&test->service, test->world.hub.hub, &follower);
    udpai_lrs_unfollow(&test->service, &follower);
    assert_null(test->service.policy);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    lrs_test *test = *state;
    say(test, "local/rule", "local/a", 3, true);
    oom_torture(follow_with_little_memory, test);
}

/* Lack of memory while something changes is made up for. */
static void
without_memory_it_begins_anew(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local");
    expect_asked(test, "10 (all)");
    say(test, "local/one", "local/a", 7, false);
    expect_asked(test, "7 (all)");
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_LOAD_REPORTING),
                                     W_JOIN(W_TEXT(1, "local/b"), W_MESSAGE(2, W_VARINT(1, 2))));
    const udpai_resource_parts parts = {.name = UDPAI_STR("local/two"), .any = any};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    assert_ok(udpai_resource_make(&resource, &parts));
    udpai_change_set *set = udpai_change_set_new();
    const udpai_change one = {.kind = UDPAI_CHANGE_SET, .resource = resource};
    assert_ok(udpai_change_set_add(set, &one));
    fake_hub_apply(&test->world.hub, set);
    udpai_alloc_fail_after(0);
    fake_hub_advance(&test->world.hub, 1);
    udpai_alloc_fail_after(-1);
    fake_stream_run(&test->stream, &test->world.hub);
    expect_asked(test, NULL);
    fake_hub_advance(&test->world.hub, SECOND_MS);
    fake_stream_run(&test->stream, &test->world.hub);
    expect_asked(test, "2 (all)");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lrs_setup, lrs_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_followed_while_nobody_wants_anything),
        TEST(what_is_known_counts_for_the_first_response),
        TEST(the_finest_of_what_is_wanted_is_asked_for),
        TEST(changes_are_asked_for_while_it_runs),
        TEST(what_was_said_holds_until_the_next_report),
        TEST(single_endpoints_are_taken_of_those_of_which_they_are_wanted),
        TEST(its_status_says_what_it_is_asked),
        TEST(without_memory_nothing_is_left),
        TEST(without_memory_it_begins_anew),
    };
    return cmocka_run_group_tests_name("xds lrs_policy", tests, NULL, NULL);
}
