/* SPDX-License-Identifier: Apache-2.0 */
/* 'replicas' of ConfigSources: where it may be, and what becomes of such a source. */
#include "base/alloc.h"
#include "daemon/plan.h"
#include "tests/unit/daemon/bootstrap_test.h"

#define ETCD "store: {engine: ETCD, endpoints: ['a:2379']}\n"
#define CLUSTER "envoy.config.cluster.v3.Cluster"
#define ENDPOINTS "envoy.config.endpoint.v3.ClusterLoadAssignment"
#define SOURCES "static_resources:\n  config_sources:\n"
#define XDS "xds: {address: 'b:1', authority: b}"

static void
assert_found(bootstrap_test *test, const char *expected)
{
    udpai_str found = udpai_strbuf_view(&test->mistakes);
    UDPAI_AUTO_FREE char *text = udpai_strndup(found.data, found.len);
    if (!strstr(text, expected))
        fail_msg("'%s' is not in:\n%s", expected, text);
}

static void
assert_mistake(bootstrap_test *test, const char *text, const char *expected)
{
    bootstrap_test_read(test, text);
    bootstrap_test_tell(test);
    assert_found(test, expected);
}

static void
it_is_for_replicas(void **state)
{
    assert_mistake(*state, SOURCES "    - {name: a, " XDS ", replicas: SHARED}\n",
                   "config_sources[0].replicas: has no meaning without replicas");
}

static void
it_is_for_sources_that_are_dialled(void **state)
{
    assert_mistake(*state,
                   ETCD SOURCES
                   "    - {name: a, path: {path: /x}, replicas: SHARED}\n"
                   "    - {name: b, runtime_tree: {symlink_root: /x}, replicas: SHARED}\n"
                   "    - {name: c, udpa_listen: {peer: x}, replicas: SHARED}\n",
                   "[0].replicas: write it in 'path'");
    assert_found(*state, "[1].replicas: write it in 'runtime_tree'");
    assert_found(*state, "[2].replicas: is for sources that this node dials");
}

static void
each_replica_asks_for_its_clients(void **state)
{
    assert_mistake(*state,
                   ETCD SOURCES
                   "    - {name: a, replicas: SHARED,\n"
                   "       xds: {address: 'b:1', authority: b, audience: PER_CLIENT}}\n",
                   "[0].replicas: is not possible with an audience");
}

static void
each_replica_reports_of_its_clients(void **state)
{
    assert_mistake(*state,
                   ETCD SOURCES "    - {name: a, udpa: {address: 'b:1'}, replicas: SHARED,\n"
                                "       standby: [udpa.load.v1.ClientLoad]}\n",
                   "[0].replicas: is not possible with standby");
}

static void
each_replica_reports_its_load(void **state)
{
    assert_mistake(*state,
                   ETCD SOURCES "    - {name: a, replicas: SHARED,\n"
                                "       xds: {address: 'b:1', authority: b, load_reporting: {}}}\n",
                   "[0].replicas: is not possible with xds.load_reporting");
}

static void
its_providers_list_their_types(void **state)
{
    assert_mistake(*state,
                   ETCD SOURCES "    - {name: a, " XDS ", replicas: SHARED}\n"
                                "providers: [{config_descriptors: [{resource_name: a}]}]\n",
                   "config_descriptors[0]: one replica is connected to its source for all");
}

static void
its_providers_take_all_of_them(void **state)
{
    assert_mistake(*state,
                   ETCD SOURCES "    - {name: a, " XDS ", replicas: SHARED}\n"
                                "providers:\n"
                                "  - types: [" CLUSTER "]\n"
                                "    config_descriptors: [{resource_name: a, mode: ON_DEMAND}]\n",
                   "config_descriptors[0].mode: ON_DEMAND is not possible");
}

#define ENDPOINTS_FROM_A                                                                           \
    "providers: [{types: [" CLUSTER ", " ENDPOINTS "], config_descriptors: [{resource_name: "      \
    "a}]}]\n"

/* Also of one that the descriptor has itself. */
static void
endpoints_must_be_meant(void **state)
{
    assert_mistake(*state,
                   ETCD SOURCES "    - {name: a, " XDS ", replicas: SHARED}\n" ENDPOINTS_FROM_A,
                   "takes '" ENDPOINTS "' from 'a', which is SHARED");
}

static void
endpoints_must_be_meant_of_a_descriptors_own_source(void **state)
{
    assert_mistake(*state,
                   ETCD "providers:\n"
                        "  - types: [" ENDPOINTS "]\n"
                        "    config_descriptors:\n"
                        "      - config_source: {name: a, " XDS ", replicas: SHARED}\n",
                   "takes '" ENDPOINTS "' from 'a', which is SHARED");
}

/* The node has it as one that is read, and an endpoint beside it is connected to it. */
static void
what_is_shared_is_read(void **state)
{
    bootstrap_test *test = *state;
    udpai_plan plan = {.schema = test->schema};
    bootstrap_test_read(test,
                        ETCD SOURCES "    - {name: a, " XDS ", replicas: SHARED_WITH_ENDPOINTS,\n"
                                     "       max_withdrawal: 20%}\n"
                                     "    - {name: b, udpa: {address: 'b:2'}, replicas: SHARED}\n"
                                     "    - {name: c, udpa: {address: 'b:3'}}\n" ENDPOINTS_FROM_A);
    bootstrap_test_assert_mistakes(test, "");
    assert_ok(udpai_plan_make(&plan, &test->bootstrap, &(udpai_options){0}, &test->error));
    assert_int_equal(plan.sources.n, 3);
    assert_int_equal(plan.read_sources.n, 2);
    const udpai_source_config *a = &plan.sources.items[0], *read = &plan.read_sources.items[0];
    assert_int_equal(a->kind, UDPAI_SOURCE_PATH);
    assert_string_equal(a->kind_name, "xds");
    assert_str(a->address, "b:1");
    assert_null(a->target);
    assert_int_equal(a->max_withdrawal, 20);
    assert_int_equal(read->kind, UDPAI_SOURCE_XDS);
    assert_str(read->name, "a");
    assert_non_null(read->target);
    assert_int_equal(read->max_withdrawal, 100);
    assert_string_equal(plan.sources.items[1].kind_name, "udpa");
    assert_int_equal(plan.sources.items[2].kind, UDPAI_SOURCE_UDPA);
    udpai_plan_done(&plan);
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(it_is_for_replicas),
        CASE(it_is_for_sources_that_are_dialled),
        CASE(each_replica_asks_for_its_clients),
        CASE(each_replica_reports_of_its_clients),
        CASE(each_replica_reports_its_load),
        CASE(its_providers_list_their_types),
        CASE(its_providers_take_all_of_them),
        CASE(endpoints_must_be_meant),
        CASE(endpoints_must_be_meant_of_a_descriptors_own_source),
        CASE(what_is_shared_is_read),
    };
    return cmocka_run_group_tests_name("daemon section_source_shared", tests, NULL, NULL);
}
