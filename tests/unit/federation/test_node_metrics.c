/* SPDX-License-Identifier: Apache-2.0 */
/* What a node knows of itself as metrics: updates, sources, and what it waits for. */
#include "federation/node_metrics.h"

#include "tests/harness/metered.h"
#include "tests/unit/federation/federation_test.h"

static const fed_peer alice = {.id = "alice", .name = "alice", .is_plain = true};

static int64_t
counted(const fed_bed *bed, udpai_metric metric, const char *label)
{
    return metered(udpai_node_meters(bed->node), metric, label);
}

/* In a snapshot; -1: it is not there. */
static double
shown(const fed_bed *bed, udpai_metric metric, const char *label)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = NULL;
    assert_ok(udpai_metric_snapshot_new(&snapshot));
    udpai_metric_snapshot_begin(snapshot, 1);
    udpai_node_put_metrics(bed->node, snapshot);
    assert_false(udpai_metric_snapshot_failed(snapshot));
    UDPAI_LIST_FOREACH (at, udpai_metric_snapshot_samples(snapshot, metric)) {
        const udpai_metric_sample *sample = UDPAI_LIST_ENTRY(at, udpai_metric_sample, node);
        if (udpai_str_eq(udpai_metric_sample_label(sample), udpai_str_from(label)))
            return sample->values[0];
    }
    return -1;
}

static void
start_with_source(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "com.acme", UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
}

static void
updates_are_counted_by_type_and_by_code(void **state)
{
    fed_bed *bed = *state;
    start_with_source(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 org/z=1 !com.acme");
    assert_int_equal(counted(bed, UDPAI_METRIC_UPDATES_ACCEPTED, TEST_CDS), 2);
    assert_int_equal(counted(bed, UDPAI_METRIC_UPDATES_REJECTED, "permission_denied"), 1);
    (void)fed_publish(bed, 'a', "CDS", "-x ~y=1 ?z=1");
    assert_int_equal(counted(bed, UDPAI_METRIC_UPDATES_ACCEPTED, TEST_CDS), 3);
    assert_int_equal(shown(bed, UDPAI_METRIC_RESOURCES, TEST_CDS), 1);
    assert_true(shown(bed, UDPAI_METRIC_STORE_CONTRIBUTIONS, "") == 1);
}

static void
publishers_are_counted_as_sources_are(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    (void)fed_publish_at(bed, session, "CDS", "x=1 x=2");
    assert_int_equal(counted(bed, UDPAI_METRIC_UPDATES_ACCEPTED, TEST_CDS), 1);
    assert_int_equal(counted(bed, UDPAI_METRIC_UPDATES_REJECTED, "already_exists"), 1);
}

static void
a_source_is_there_or_not(void **state)
{
    fed_bed *bed = *state;
    start_with_source(bed);
    assert_true(shown(bed, UDPAI_METRIC_SOURCES, "configured") >= 1);
    assert_true(shown(bed, UDPAI_METRIC_SOURCE_ACTIVE, "a") == 0);
    fed_connect(bed, 'a');
    assert_true(shown(bed, UDPAI_METRIC_SOURCE_CONNECTED, "a") == 1);
    assert_true(shown(bed, UDPAI_METRIC_SOURCE_ACTIVE, "a") == 1);
    assert_int_equal(counted(bed, UDPAI_METRIC_SOURCE_CONNECTS, "a"), 1);
    assert_int_equal(counted(bed, UDPAI_METRIC_SOURCE_FAILURES, "a"), -1);
    fed_lose(bed, 'a', "gone");
    assert_true(shown(bed, UDPAI_METRIC_SOURCE_ACTIVE, "a") == 0);
    assert_int_equal(counted(bed, UDPAI_METRIC_SOURCE_FAILURES, "a"), 1);
}

static void
fail_overs_and_fail_backs_are_counted(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "com.acme", UDPAI_STOP_ON_SUCCESS, false},
                 {'b', "com.acme", UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    fed_lose(bed, 'a', "gone");
    fed_advance(bed, 60000);
    fed_connect(bed, 'b');
    assert_int_equal(counted(bed, UDPAI_METRIC_SOURCE_FAIL_OVERS, "a"), -1);
    (void)fed_publish(bed, 'b', "CDS", "x=1 !com.acme");
    assert_int_equal(counted(bed, UDPAI_METRIC_SOURCE_FAIL_OVERS, "a"), 1);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    fed_advance(bed, 60000);
    assert_int_equal(counted(bed, UDPAI_METRIC_SOURCE_FAIL_BACKS, "b"), 1);
    assert_int_equal(counted(bed, UDPAI_METRIC_SOURCE_FAIL_OVERS, "a"), 1);
    assert_int_equal(counted(bed, UDPAI_METRIC_SOURCE_FAIL_OVERS, "b"), -1);
}

static void
what_is_waited_for_is_shown_and_since_when(void **state)
{
    fed_bed *bed = *state;
    start_with_source(bed);
    assert_true(shown(bed, UDPAI_METRIC_UNSYNCHRONIZED, TEST_CDS) == 1);
    fed_advance(bed, 3000);
    assert_true(shown(bed, UDPAI_METRIC_UNSYNCHRONIZED_TIME, "") >= 3);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    assert_true(shown(bed, UDPAI_METRIC_UNSYNCHRONIZED, TEST_CDS) == -1);
    assert_true(shown(bed, UDPAI_METRIC_UNSYNCHRONIZED_TIME, "") == 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(updates_are_counted_by_type_and_by_code),
        fed_test(publishers_are_counted_as_sources_are),
        fed_test(a_source_is_there_or_not),
        fed_test(fail_overs_and_fail_backs_are_counted),
        fed_test(what_is_waited_for_is_shown_and_since_when),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
