/* SPDX-License-Identifier: Apache-2.0 */
/* Load is for those to whom it was said: whom it is for later is told it when it is said again. */
#include "federation/reporting.h"
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

#define ACME "com.acme"
#define LOAD "type.googleapis.com/udpa.load.v1.ClientLoad"
#define SHARED "type.googleapis.com/udpa.load.v1.SharedClientLoad"

/* a and b, side by side. */
static void
start_both(fed_bed *bed)
{
    fed_type(bed, "CDS");
    fed_type(bed, "EDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false}, {'b', ACME, UDPAI_CONTINUE, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
}

static udpa_err
try_to_report(fed_bed *bed, const char *type, const char *name, const char *value)
{
    char full[300];
    snprintf(full, sizeof(full), "com.acme/%s", name);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource =
        RESOURCE(full, .type = type, .value = value, .version = value, .ttl_ms = 600000);
    return udpai_node_report_load(bed->node, resource, NULL);
}

static void
report_load(fed_bed *bed, const char *name, const char *value)
{
    assert_ok(try_to_report(bed, LOAD, name, value));
}

static udpai_audience
audience(fed_bed *bed, const char *name)
{
    char full[300];
    udpai_audience found;
    snprintf(full, sizeof(full), "com.acme/%s", name);
    assert_ok(udpai_node_load_audience(bed->node, udpai_str_from(full), &found));
    return found;
}

static void
assert_audience(fed_bed *bed, const char *name, size_t n, uint64_t digest)
{
    const udpai_audience found = audience(bed, name);
    assert_int_equal(found.n, n);
    assert_int_equal(found.digest, digest);
}

/* ---- tests ---- */

static void
another_is_not_told_what_was_said_to_one(void **state)
{
    fed_bed *bed = *state;
    start_both(bed);
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    (void)fed_publish(bed, 'b', "CDS", "!com.acme");
    report_load(bed, "x/node", "1");
    assert_reports(bed, "x/node>a");
    assert_int_equal(bed->n_moved, 0);
    (void)fed_publish(bed, 'b', "EDS", "x=1"); /* has a part in it from now on */
    assert_reports(bed, "");
    assert_true(bed->n_moved > 0);
    assert_int_equal(audience(bed, "x/node").n, 2);
    report_load(bed, "x/node", "2");
    assert_reports(bed, "x/node>ab");
    (void)fed_publish(bed, 'a', "CDS", "-x");
    assert_reports(bed, "~x/node>b");
    bed->n_moved = 0;
    report_load(bed, "x/node", "3");
    assert_reports(bed, "x/node>b");
    assert_int_equal(bed->n_moved, 0);
    (void)fed_publish(bed, 'b', "EDS", "-x");
    (void)fed_publish(bed, 'a', "CDS", "x=1");
    assert_reports(bed, "~x/node>"); /* was said to no one who is left */
    assert_true(bed->n_moved > 0);
    udpai_node_withdraw_own_report(bed->node, UDPAI_STR(LOAD), UDPAI_STR("com.acme/x/node"));
    assert_reports(bed, "-x/node");
}

/* The same once more: a renewal, which says nothing anew. */
static void
a_renewal_is_for_the_same(void **state)
{
    fed_bed *bed = *state;
    start_both(bed);
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    report_load(bed, "x/node", "1");
    assert_reports(bed, "x/node>a");
    (void)fed_publish(bed, 'b', "EDS", "x=1");
    fed_advance(bed, 1000);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource =
        RESOURCE("com.acme/x/node", .type = LOAD, .value = "1", .version = "1", .ttl_ms = 600000);
    assert_ok(udpai_node_report_own(bed->node, resource, NULL));
    assert_reports(bed, "~x/node>a");
}

/* As a shared one it is for the same as without. */
static void
both_types_have_one_audience(void **state)
{
    fed_bed *bed = *state;
    bed->sources[1].standby = (const udpai_str[]){UDPAI_STR(LOAD)};
    bed->sources[1].n_standby = 1;
    start_both(bed);
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    assert_int_equal(audience(bed, "x/node").n, 2);
    report_load(bed, "x/node", "1");
    assert_ok(try_to_report(bed, SHARED, "x/node", "1"));
    assert_reports(bed, "x/node>ab x/node>ab");
    uint64_t client = fed_arrive(bed, &(fed_peer){.id = "client"});
    assert_string_equal(
        fed_put(bed, client,
                RESOURCE("com.acme/x/client", .type = SHARED, .value = "1", .ttl_ms = 600000),
                false),
        ""); /* what a client below says is the same */
    assert_reports(bed, "x/client>ab");
}

static void
a_reconnect_is_no_change(void **state)
{
    fed_bed *bed = *state;
    start_both(bed);
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    const udpai_audience before = audience(bed, "x/node");
    assert_int_equal(before.n, 1);
    report_load(bed, "x/node", "1");
    assert_reports(bed, "x/node>a");
    fed_close(bed, 'a');
    assert_audience(bed, "x/node", 1, before.digest);
    fed_advance(bed, 60000);
    fed_connect(bed, 'a');
    assert_audience(bed, "x/node", 1, before.digest);
    assert_reports(bed, "");
    assert_int_equal(bed->n_moved, 0);
}

/* Behind one address there may be several. */
static void
another_node_behind_the_source_is_another(void **state)
{
    fed_bed *bed = *state;
    start_both(bed);
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    const udpai_audience before = audience(bed, "x/node");
    report_load(bed, "x/node", "1");
    assert_reports(bed, "x/node>a");
    fed_close(bed, 'a');
    fed_advance(bed, 60000);
    fed_connect_as(bed, 'a', &(fed_peer){.id = "another"});
    assert_int_equal(audience(bed, "x/node").n, 1);
    assert_true(audience(bed, "x/node").digest != before.digest);
    assert_reports(bed, "~x/node>");
    assert_true(bed->n_moved > 0);
}

/* What is for all is for those who have been here. */
static void
who_never_was_here_is_told_nothing(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "org.other", UDPAI_CONTINUE, false},
                 {'b', "org.other", UDPAI_CONTINUE, false});
    fed_start(bed);
    assert_int_equal(audience(bed, "x/node").n, 0);
    fed_connect(bed, 'a');
    assert_int_equal(audience(bed, "x/node").n, 1);
    report_load(bed, "x/node", "1");
    assert_reports(bed, "x/node>a");
    fed_connect(bed, 'b');
    assert_int_equal(audience(bed, "x/node").n, 2);
    assert_reports(bed, "");
    assert_true(bed->n_moved > 0);
    report_load(bed, "x/node", "2");
    assert_reports(bed, "x/node>ab");
}

/* One source has been told all, and what it was told is its own when others come. */
static void
one_source_has_an_audience_too(void **state)
{
    fed_bed *bed = *state;
    bed->config.n_sources = 1;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    assert_int_equal(audience(bed, "x/node").n, 1);
    report_load(bed, "x/node", "1");
    assert_reports(bed, "x/node>*");
    report_load(bed, "x/node", "2");
    udpai_node_withdraw_own_report(bed->node, UDPAI_STR(LOAD), UDPAI_STR("com.acme/x/node"));
    assert_reports(bed, "-x/node");
}

static void
without_memory_nothing_is_said(void **state)
{
    fed_bed *bed = *state;
    start_both(bed);
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    udpa_err err = UDPA_ERR_NOMEM;
    long n = 0;
    for (; err == UDPA_ERR_NOMEM; n++) {
        char full[] = "com.acme/x/node";
        UDPA_AUTO(udpa_resource_unref)
        udpa_resource *resource =
            RESOURCE(full, .type = LOAD, .value = "1", .version = "1", .ttl_ms = 600000);
        udpai_alloc_fail_after(n);
        err = udpai_node_report_load(bed->node, resource, NULL);
        udpai_alloc_fail_after(-1);
        assert_true(err == UDPA_OK || err == UDPA_ERR_NOMEM);
        if (err == UDPA_ERR_NOMEM)
            assert_reports(bed, "");
    }
    assert_true(n > 3);
    assert_reports(bed, "x/node>a");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(another_is_not_told_what_was_said_to_one),
        fed_test(a_renewal_is_for_the_same),
        fed_test(both_types_have_one_audience),
        fed_test(a_reconnect_is_no_change),
        fed_test(another_node_behind_the_source_is_another),
        fed_test(who_never_was_here_is_told_nothing),
        fed_test(one_source_has_an_audience_too),
        fed_test(without_memory_nothing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
