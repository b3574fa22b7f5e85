/* SPDX-License-Identifier: Apache-2.0 */
/* What of the defaults must hold between each other. */
#include "endpoint/endpoint.h"

#include "tests/harness/test.h"

static udpai_endpoint_settings
defaults(void)
{
    udpai_endpoint_settings settings;
    memset(&settings, 0xff, sizeof(settings)); /* all of it is set */
    udpai_endpoint_settings_init(&settings);
    return settings;
}

/* Nodes that wait for each other are let go only after each had its time to say all it has. */
static void
test_cycles_end_after_syncing(void **state)
{
    (void)state;
    const udpai_endpoint_settings settings = defaults();
    assert_true(settings.fanout.cycle_timeout_ms > settings.node.timing.sync_timeout_ms);
    assert_true(settings.node.timing.sync_timeout_ms > settings.node.timing.silence_max_ms);
    assert_true(settings.node.timing.silence_max_ms > settings.node.timing.silence_ms);
}

static void
test_waits_are_bounded(void **state)
{
    (void)state;
    const udpai_node_timing timing = defaults().node.timing;
    assert_true(timing.backoff_base_ms > 0 && timing.backoff_base_ms < timing.backoff_max_ms);
    assert_int_equal(timing.backoff_max_ms, 15000);    /* as udpa/endpoint.h says */
    assert_int_equal(timing.answer_timeout_ms, 30000); /* as udpa/subscribe.h says */
}

static void
test_limits_are_set(void **state)
{
    (void)state;
    const udpai_endpoint_settings settings = defaults();
    const udpai_store_options *store = &settings.node.store;
    assert_true(store->max_resources_per_namespace > 0);
    assert_true(store->max_bytes_per_namespace > 0);
    assert_true(store->max_resources_per_publisher > 0);
    assert_true(store->max_bytes_per_publisher > 0);
    /* One publisher does not fill the node. */
    assert_true(store->max_resources > store->max_resources_per_publisher);
    assert_true(store->max_bytes > store->max_bytes_per_publisher);
    assert_true(store->remember_max > 0);
    assert_true(settings.node.max_changes_ahead > 0);
    assert_true(settings.fanout.max_views > 0);
    assert_true(settings.fanout.max_names > 0);
    assert_true(settings.fanout.max_held >= settings.node.store.max_resources_per_namespace);
    assert_true(settings.fanout.max_held_bytes > 0);
    assert_int_equal(settings.node.n_sources + settings.node.n_providers + settings.n_methods, 0);
    assert_false(settings.node.is_endpoint || settings.serves_status);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cycles_end_after_syncing),
        cmocka_unit_test(test_waits_are_bounded),
        cmocka_unit_test(test_limits_are_set),
    };
    return cmocka_run_group_tests_name("endpoint settings", tests, NULL, NULL);
}
