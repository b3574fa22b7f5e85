/* SPDX-License-Identifier: Apache-2.0 */
/* What is held, and what a source says of it, without memory: nothing goes, nothing is forgotten,
 * and with memory it is as if there had always been enough. */
#include "base/log.h"
#include "federation/accept.h"
#include "federation/problems.h"
#include "tests/harness/oom.h"
#include "tests/unit/federation/peer_info.h"

#include <stdio.h>

#define ACME "com.acme"
#define ROOT "/etc/udpa/resources"
#define ROUNDS 60

static void
start(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
}

/* ---- what is accepted at the source, on a stream that is there ---- */

static udpai_report *
make_whole(const fed_bed *bed, const char *epoch)
{
    static const udpai_str features[] = {UDPAI_STR(UDPAI_FEATURE_EXTENSIONS),
                                         UDPAI_STR(UDPAI_FEATURE_NODE)};
    udpai_report *report = udpai_report_new(UDPAI_REPORT_NODE);
    const udpai_node_parts parts = {UDPAI_STR("a"), .features = features, .n_features = 2};
    assert_non_null(report);
    report->session = bed->sessions[0];
    report->link = bed->links[0];
    report->is_extended = true;
    report->info =
        fed_make_info(&parts, &(fed_peer){.epoch = epoch, .commit = "5", .is_whole = true});
    return report;
}

/* Nothing goes before the source was asked; and it is, on the next stream at the latest. */
static void
what_is_accepted_at_the_source_goes_in_the_end(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_connect_as(bed, 'a', &(fed_peer){.epoch = "first", .commit = "7"});
    for (long n = 0; n < ROUNDS; n++) {
        char held[24], whole[24];
        snprintf(held, sizeof(held), "held-%ld", n);
        snprintf(whole, sizeof(whole), "whole-%ld", n);
        (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 !com.acme");
        fed_come_back_as(bed, 'a', &(fed_peer){.epoch = held, .commit = "0"});
        (void)fed_publish(bed, 'a', "CDS", "-x y=1 !com.acme");
        assert_value(bed, "CDS", "x", "1");
        udpai_report *report = make_whole(bed, whole);
        udpai_alloc_fail_after(n);
        udpai_node_report(bed->node, report);
        udpai_node_flush(bed->node);
        udpai_alloc_fail_after(-1);
        fed_advance(bed, 1);
        assert_value(bed, "CDS", "x", "1");
        fed_come_back_as(bed, 'a', &(fed_peer){.epoch = whole, .commit = "5", .is_whole = true});
        (void)fed_publish(bed, 'a', "CDS", "-x !com.acme");
        assert_value(bed, "CDS", "x", "");
        assert_value(bed, "CDS", "y", "1");
        assert_true(fed_settled(bed, "CDS", ACME));
    }
}

/* All who hold something are told at once, and do not come back at once. */
static void
who_asks_again_waits_for_a_moment(void **state)
{
    fed_bed *bed = *state;
    bed->config.timing.fail_over_spread_ms = 2000;
    start(bed);
    fed_connect_as(bed, 'a', &(fed_peer){.epoch = "first", .commit = "7"});
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    fed_come_back_as(bed, 'a', &(fed_peer){.epoch = "second", .commit = "0"});
    (void)fed_publish(bed, 'a', "CDS", "-x !com.acme");
    (void)fed_orders(bed);
    bed->chance = 1500;
    udpai_node_report(bed->node, make_whole(bed, "third"));
    fed_advance(bed, 700);
    bed->chance = 100;
    udpai_node_report(bed->node, make_whole(bed, "third")); /* as nodes do that say more */
    fed_advance(bed, 799);
    assert_string_equal(fed_orders(bed), "");
    assert_value(bed, "CDS", "x", "1");
    fed_advance(bed, 2);
    assert_string_equal(fed_orders(bed), "hangup a");
    fed_close(bed, 'a');
    assert_string_equal(fed_orders(bed), "dial a");
}

/* ---- directories ---- */

static int n_warnings;

static void
count_warnings(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    (void)userdata;
    (void)level;
    (void)component;
    n_warnings += strstr(message, "directory " ROOT ": held 20 resources of") != NULL;
}

static udpa_err
scan(fed_bed *bed, int first, int last)
{
    udpa_resource *resources[64];
    size_t n = 0;
    for (int i = first; i <= last; i++) {
        char name[32];
        snprintf(name, sizeof(name), "com.acme/n%d", i);
        resources[n++] = RESOURCE(name, .type = TEST_CDS, .version = "1", .value = "1");
    }
    const udpai_directory directory = {
        .root = UDPAI_STR(ROOT),
        .authority = UDPAI_STR("com.acme"),
        .resources = resources,
        .n_resources = n,
    };
    udpai_alloc_fail_after(bed->n_allocations);
    udpa_err err = udpai_node_set_files(bed->node, &directory, NULL);
    udpai_alloc_fail_after(-1);
    fed_advance(bed, 1);
    for (size_t i = 0; i < n; i++)
        udpa_resource_unref(resources[i]);
    return err;
}

static void
keep_text(void *userdata, const char *text)
{
    snprintf(userdata, 4096, "%s", text);
}

/* Told in whole, or not at all; and told in the log once there is memory for it. */
static void
what_a_directory_holds_is_told_in_the_end(void **state)
{
    fed_bed *bed = *state;
    char text[4096] = "", whole[4096] = "";
    bed->root = ROOT;
    bed->n_allocations = -1;
    start(bed);
    assert_ok(scan(bed, 1, 30));
    n_warnings = 0;
    udpa_log_set_sink(UDPA_LOG_WARNING, count_warnings, NULL);
    for (bed->n_allocations = 0; n_warnings == 0 && bed->n_allocations < 1000;
         bed->n_allocations++) {
        (void)scan(bed, 21, 30);
        char name[8] = "n1";
        assert_value(bed, "CDS", name, "1");
    }
    bed->n_allocations = -1;
    assert_ok(scan(bed, 21, 30));
    udpa_log_set_sink(UDPA_LOG_SILENT, NULL, NULL);
    assert_int_equal(n_warnings, 1);
    udpai_node_visit_problems(bed->node, keep_text, whole);
    assert_non_null(strstr(whole, "and 10 more"));
    for (long n = 0; n < ROUNDS; n++) {
        *text = '\0';
        udpai_alloc_fail_after(n);
        udpai_node_visit_problems(bed->node, keep_text, text);
        udpai_alloc_fail_after(-1);
        assert_true(!*text || strcmp(text, whole) == 0);
    }
    assert_string_equal(text, whole);
}

static int n_reasons;

static void
count_reasons(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    (void)level;
    (void)component;
    (void)userdata;
    n_reasons += strstr(message, "source a: held 12 resources of") != NULL &&
                 strstr(message, "more is missing at once than max_withdrawal allows") != NULL;
}

static void
it_is_logged_why_something_is_held(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 !com.acme");
    fed_come_back_as(bed, 'a', &(fed_peer){0});
    n_reasons = 0;
    udpa_log_set_sink(UDPA_LOG_WARNING, count_reasons, NULL);
    (void)fed_publish(bed, 'a', "CDS", "-a -b -c -d -e -f -g -h -i -j -k -l !com.acme");
    udpa_log_set_sink(UDPA_LOG_SILENT, NULL, NULL);
    assert_value(bed, "CDS", "l", "1");
    assert_int_equal(n_reasons, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(what_is_accepted_at_the_source_goes_in_the_end),
        fed_test(who_asks_again_waits_for_a_moment),
        fed_test(what_a_directory_holds_is_told_in_the_end),
        fed_test(it_is_logged_why_something_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
