/* SPDX-License-Identifier: Apache-2.0 */
/* What has become of each version of a resource, told to those who want to know. */
#include <udpa/resource_state.h>

#include <stdio.h>

#include "base/alloc.h"
#include "listener.h"
#include "loop/clock.h"
#include "udpa/status/v1/status.pb-c.h"

static void
begin(test_pair *pair)
{
    pair_begin(pair);
    pair->interest_linger_ms = 20;
    pair_serve_node(pair);
    pair_dial(pair, pair->port, NULL);
}

static udpa_err
set(udpa_endpoint *endpoint,
    const udpa_resource *resource,
    udpa_resource_phase phase,
    udpa_error **ret_error)
{
    udpa_resource_state state = UDPA_RESOURCE_STATE_INIT;
    state.phase = phase;
    return udpa_resource_state_set(endpoint, resource, &state, ret_error);
}

static Udpa__Status__V1__ResourceState *
unpack(const test_listener *listener)
{
    udpai_str payload = listener_payload(listener);
    Udpa__Status__V1__ResourceState *state =
        udpa__status__v1__resource_state__unpack(NULL, payload.len, (const uint8_t *)payload.data);
    assert_non_null(state);
    return state;
}

/* The old listener drains while the new one warms. */
static void
test_versions_side_by_side(void **state)
{
    (void)state;
    static const char *const clusters[] = {"com.acme/backend", "com.acme/fallback"};
    test_pair pair;
    test_listener listener = {0};
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *old = RESOURCE("com.acme/web", .type = TEST_LDS, .version = "1");
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *newer = RESOURCE("com.acme/web", .type = TEST_LDS, .version = "2");
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *route = RESOURCE("com.acme/web", .type = TEST_RDS, .version = "1");
    udpa_resource_state warming = UDPA_RESOURCE_STATE_INIT, failed = UDPA_RESOURCE_STATE_INIT;
    begin(&pair);
    int64_t before_us = udpai_wall_us();
    assert_ok(set(pair.client, old, UDPA_RESOURCE_ACTIVE, NULL));
    warming.phase = UDPA_RESOURCE_WARMING;
    warming.waits_for = clusters;
    warming.n_waits_for = 2;
    assert_ok(udpa_resource_state_set(pair.client, newer, &warming, NULL));
    assert_ok(set(pair.client, old, UDPA_RESOURCE_DRAINING, NULL));
    failed.phase = UDPA_RESOURCE_FAILED;
    failed.reason = "no such cluster";
    assert_ok(udpa_resource_state_set(pair.client, route, &failed, NULL));
    listener_open(&listener, pair.server, TEST_STATE, "com.acme/web", NULL);
    pair_run_until(&pair, &listener.n_reports, 1);
    assert_string_equal(listener.name, "com.acme/web/client");
    assert_true(listener.ttl_ms > 0 && listener.ttl_ms <= 60000);
    Udpa__Status__V1__ResourceState *said = unpack(&listener);
    assert_string_equal(said->name, "com.acme/web");
    assert_int_equal(said->n_versions, 3);
    assert_string_equal(said->versions[0]->type_url, TEST_LDS);
    assert_string_equal(said->versions[0]->version, "1");
    assert_int_equal(said->versions[0]->phase, UDPA__STATUS__V1__VERSION_STATE__PHASE__DRAINING);
    assert_true(said->versions[0]->since->seconds >= before_us / 1000000);
    assert_true(said->versions[0]->since->seconds <= udpai_wall_us() / 1000000);
    assert_string_equal(said->versions[1]->version, "2");
    assert_int_equal(said->versions[1]->phase, UDPA__STATUS__V1__VERSION_STATE__PHASE__WARMING);
    assert_int_equal(said->versions[1]->n_waits_for, 2);
    assert_string_equal(said->versions[1]->waits_for[1], "com.acme/fallback");
    assert_string_equal(said->versions[2]->type_url, TEST_RDS);
    assert_int_equal(said->versions[2]->phase, UDPA__STATUS__V1__VERSION_STATE__PHASE__FAILED);
    assert_string_equal(said->versions[2]->reason, "no such cluster");
    udpa__status__v1__resource_state__free_unpacked(said, NULL);
    listener_done(&listener);
    pair_end(&pair);
}

static void
test_until_the_last_one_is_gone(void **state)
{
    (void)state;
    test_pair pair;
    test_listener listener = {0};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *old = RESOURCE("com.acme/web", .version = "1");
    UDPA_AUTO(udpa_resource_unref) udpa_resource *newer = RESOURCE("com.acme/web", .version = "2");
    begin(&pair);
    listener_open(&listener, pair.server, TEST_STATE, "com.acme/web", NULL);
    assert_ok(set(pair.client, old, UDPA_RESOURCE_ACTIVE, NULL));
    pair_run_until(&pair, &listener.n_reports, 1);
    assert_ok(set(pair.client, newer, UDPA_RESOURCE_ACTIVE, NULL));
    pair_run_until(&pair, &listener.n_reports, 2);
    assert_ok(set(pair.client, old, UDPA_RESOURCE_GONE, NULL));
    pair_run_until(&pair, &listener.n_reports, 3);
    Udpa__Status__V1__ResourceState *said = unpack(&listener);
    assert_int_equal(said->n_versions, 1);
    assert_string_equal(said->versions[0]->version, "2");
    udpa__status__v1__resource_state__free_unpacked(said, NULL);
    assert_ok(set(pair.client, old, UDPA_RESOURCE_GONE, NULL)); /* it has none */
    assert_ok(set(pair.client, newer, UDPA_RESOURCE_GONE, NULL));
    pair_run_until(&pair, &listener.n_removals, 1);
    assert_int_equal(listener.n_reports, 3);
    listener_done(&listener);
    pair_end(&pair);
}

/* A state that is said again is as old as it was. */
static void
test_since(void **state)
{
    (void)state;
    static const char *const clusters[] = {"com.acme/backend"};
    test_pair pair;
    test_listener listener = {0};
    udpa_resource_state warming = UDPA_RESOURCE_STATE_INIT;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *web = RESOURCE("com.acme/web", .version = "1");
    begin(&pair);
    listener_open(&listener, pair.server, TEST_STATE, "com.acme", NULL);
    assert_ok(set(pair.client, web, UDPA_RESOURCE_WARMING, NULL));
    pair_run_until(&pair, &listener.n_reports, 1);
    Udpa__Status__V1__ResourceState *first = unpack(&listener);
    warming.phase = UDPA_RESOURCE_WARMING;
    warming.waits_for = clusters;
    warming.n_waits_for = 1;
    assert_ok(udpa_resource_state_set(pair.client, web, &warming, NULL));
    pair_run_until(&pair, &listener.n_reports, 2);
    Udpa__Status__V1__ResourceState *second = unpack(&listener);
    assert_int_equal(second->versions[0]->since->seconds, first->versions[0]->since->seconds);
    assert_int_equal(second->versions[0]->since->nanos, first->versions[0]->since->nanos);
    assert_ok(set(pair.client, web, UDPA_RESOURCE_ACTIVE, NULL));
    pair_run_until(&pair, &listener.n_reports, 3);
    Udpa__Status__V1__ResourceState *third = unpack(&listener);
    assert_true(third->versions[0]->since->seconds > first->versions[0]->since->seconds ||
                third->versions[0]->since->nanos > first->versions[0]->since->nanos);
    assert_int_equal(third->versions[0]->n_waits_for, 0);
    assert_ok(set(pair.client, web, UDPA_RESOURCE_ACTIVE, NULL)); /* which is known: no news */
    assert_ok(set(pair.client, web, UDPA_RESOURCE_DRAINING, NULL));
    pair_run_until(&pair, &listener.n_reports, 4);
    udpa__status__v1__resource_state__free_unpacked(first, NULL);
    udpa__status__v1__resource_state__free_unpacked(second, NULL);
    udpa__status__v1__resource_state__free_unpacked(third, NULL);
    listener_done(&listener);
    pair_end(&pair);
}

/* States are kept while nobody wants to know, and of others nothing is said. */
static void
test_only_what_is_wanted(void **state)
{
    (void)state;
    test_pair pair;
    test_listener by_name = {0}, all = {0};
    test_watch watch = {0};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *a = RESOURCE("com.acme/a", .version = "1");
    UDPA_AUTO(udpa_resource_unref) udpa_resource *b = RESOURCE("com.acme/b", .version = "1");
    begin(&pair);
    watch_open(&watch, &pair);
    assert_ok(set(pair.client, a, UDPA_RESOURCE_ACTIVE, NULL));
    assert_ok(set(pair.client, b, UDPA_RESOURCE_ACTIVE, NULL));
    listener_open(&by_name, pair.server, TEST_STATE, NULL, "com.acme/a/client");
    pair_run_until(&pair, &by_name.n_reports, 1);
    udpa_unsubscribe(by_name.subscription);
    pair_run_until(&pair, &watch.n_unwanted, 1);
    listener_open(&all, pair.server, TEST_STATE, "", NULL);
    pair_run_until(&pair, &all.n_reports, 2);
    assert_int_equal(by_name.n_reports, 1);
    listener_done(&by_name);
    listener_done(&all);
    pair_end(&pair);
}

/* ---- mistakes and limits ---- */

static void
test_mistakes(void **state)
{
    (void)state;
    static const char *const waits_for[] = {"a", "a", "a", "a", "a", "a", "a", "a",   "a",
                                            "a", "a", "a", "a", "a", "a", "a", "\xff"};
    test_pair pair;
    udpa_resource_state mistakes[7];
    UDPA_AUTO(udpa_resource_unref) udpa_resource *web = RESOURCE("com.acme/web", .version = "1");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(mistakes); i++)
        mistakes[i] = (udpa_resource_state)UDPA_RESOURCE_STATE_INIT;
    mistakes[0].struct_size--;
    mistakes[1].phase = (udpa_resource_phase)0;
    mistakes[2].phase = (udpa_resource_phase)6;
    mistakes[3].waits_for = waits_for, mistakes[3].n_waits_for = 1; /* it is active */
    mistakes[4].phase = UDPA_RESOURCE_WARMING;
    mistakes[4].waits_for = waits_for, mistakes[4].n_waits_for = 17;
    mistakes[5].phase = UDPA_RESOURCE_WARMING;
    mistakes[5].waits_for = waits_for + 16, mistakes[5].n_waits_for = 1;
    mistakes[6].reason = "it has not failed";
    pair_begin(&pair);
    pair_dial(&pair, 1, NULL);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(mistakes); i++)
        assert_int_equal(udpa_resource_state_set(pair.client, web, &mistakes[i], NULL),
                         UDPA_ERR_INVAL);
    udpa_endpoint *client = pair.client;
    pair.client = NULL;
    udpa_endpoint_close(client, pair_count_closed, &pair);
    assert_int_equal(set(client, web, UDPA_RESOURCE_ACTIVE, NULL), UDPA_ERR_CLOSED);
    pair_run_until(&pair, &pair.n_closed, 1);
    pair_end(&pair);
}

static void
test_versions_are_bounded(void **state)
{
    (void)state;
    test_pair pair;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_resource *versions[17];
    pair_begin(&pair);
    pair_dial(&pair, 1, NULL);
    for (unsigned i = 0; i < UDPAI_ARRAY_LEN(versions); i++) {
        char version[16];
        snprintf(version, sizeof(version), "%u", i);
        versions[i] = RESOURCE("com.acme/web", .version = version);
        assert_int_equal(set(pair.client, versions[i], UDPA_RESOURCE_ACTIVE, &error),
                         i < 16 ? UDPA_OK : UDPA_ERR_LIMIT);
    }
    assert_non_null(strstr(udpa_error_message(error), "reported as removed"));
    assert_ok(set(pair.client, versions[3], UDPA_RESOURCE_GONE, NULL));
    assert_ok(set(pair.client, versions[16], UDPA_RESOURCE_ACTIVE, NULL));
    for (unsigned i = 0; i < UDPAI_ARRAY_LEN(versions); i++)
        udpa_resource_unref(versions[i]);
    pair_end(&pair);
}

static void
test_names_are_bounded(void **state)
{
    (void)state;
    test_pair pair;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *more = RESOURCE("com.acme/more", .version = "1");
    pair_begin(&pair);
    pair_dial(&pair, 1, NULL);
    for (unsigned i = 0; i < 65536; i++) {
        char name[32];
        snprintf(name, sizeof(name), "com.acme/%u", i);
        UDPA_AUTO(udpa_resource_unref) udpa_resource *one = RESOURCE(name, .version = "1");
        assert_ok(set(pair.client, one, UDPA_RESOURCE_ACTIVE, NULL));
    }
    assert_int_equal(set(pair.client, more, UDPA_RESOURCE_ACTIVE, NULL), UDPA_ERR_LIMIT);
    pair_end(&pair);
}

/* The other threads rest: nobody is dialled. */
static void
test_without_memory(void **state)
{
    (void)state;
    test_pair pair;
    udpa_endpoint_options alone = UDPA_ENDPOINT_OPTIONS_INIT;
    alone.node_id = "client";
    UDPA_AUTO(udpa_resource_unref) udpa_resource *web = RESOURCE("com.acme/web", .version = "1");
    udpa_err err = UDPA_ERR_NOMEM;
    long n = 0;
    pair_begin(&pair);
    assert_ok(udpa_endpoint_new(&pair.client, &pair.loop, &alone, NULL));
    for (; err == UDPA_ERR_NOMEM && n < 1000; n++) {
        udpai_alloc_fail_after(n);
        err = set(pair.client, web, UDPA_RESOURCE_ACTIVE, NULL);
        udpai_alloc_fail_after(-1);
    }
    assert_ok(err);
    assert_true(n > 5);
    pair_end(&pair);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions_side_by_side),
        cmocka_unit_test(test_until_the_last_one_is_gone),
        cmocka_unit_test(test_since),
        cmocka_unit_test(test_only_what_is_wanted),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_versions_are_bounded),
        cmocka_unit_test(test_names_are_bounded),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("endpoint resource_state", tests, NULL, NULL);
}
