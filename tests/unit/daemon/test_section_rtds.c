/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of the runtime that come by RTDS: what may not be, and what becomes of the others. */
#include "daemon/plan.h"
#include "runtime/rtds.h"
#include "tests/unit/daemon/bootstrap_test.h"

#define SOURCES                                                                                    \
    "static_resources: {config_sources: [\n"                                                       \
    "  {name: up, udpa: {address: 'a:1'}},\n"                                                      \
    "  {name: old, xds: {address: 'x:1', authority: x, namespace: com.acme}},\n"                   \
    "  {name: polled, rest: {address: 'y:1', authority: y, namespace: com.acme}},\n"               \
    "  {name: each, xds: {address: 'z:1', authority: z, audience: PER_CLIENT}},\n"                 \
    "  {name: cds, xds: {address: 'z:1', authority: z,\n"                                          \
    "    type: envoy.config.cluster.v3.Cluster}}]}\n"

static void
a_layer_has_a_name(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "runtime: {layers: [\n"
                              "  {name: a, rtds_layer: {}},\n"
                              "  {name: b, rtds_layer: {name: 'Com/x'}},\n"
                              "  {name: c, rtds_layer: {name: com.acme/x}}]}\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:2:25: runtime.layers[0].rtds_layer.name: is required\n"
        "test.yaml:3:32: runtime.layers[1].rtds_layer.name: resource name 'Com/x' has no "
        "valid namespace: 'Com' must be labels of a-z, 0-9 and '-' with dots between, such as "
        "com.acme\n");
}

static void
its_source_is_there(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "runtime: {layers: [\n"
                              "  {name: a, rtds_layer: {name: x, rtds_config: up}}]}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:48: runtime.layers[0].rtds_layer.rtds_config: there is no ConfigSource "
              "'up' in static_resources.config_sources: add it there, or leave rtds_config out, to "
              "ask the sources of the providers\n");
}

static void
a_misspelt_source_has_a_suggestion(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, SOURCES "runtime: {layers: [\n"
                                      "  {name: a, rtds_layer: {name: x, rtds_config: odl}}]}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:9:48: runtime.layers[0].rtds_layer.rtds_config: there is no ConfigSource "
              "'odl' in static_resources.config_sources: add it there, or leave rtds_config out, "
              "to ask the sources of the providers; did you mean 'old'?\n");
}

static void
a_resource_may_bring_another_one(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test,
                        "dynamic_sources: {authorities: ['*']}\n" SOURCES "runtime: {layers: [\n"
                        "  {name: a, rtds_layer: {name: x, rtds_config: upstream}}]}\n");
    bootstrap_test_assert_mistakes(
        test,
        "warning: test.yaml:10:48: runtime.layers[0].rtds_layer.rtds_config: there is no "
        "ConfigSource 'upstream' in static_resources.config_sources: until a resource defines "
        "it, the layer is not there; there are 'up', 'old', 'polled', 'each' and 'cds'\n");
}

static void
or_a_resource_may_bring_it(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "dynamic_sources: {authorities: ['*']}\n"
                              "runtime: {layers: [\n"
                              "  {name: a, rtds_layer: {name: x, rtds_config: up}}]}\n");
    bootstrap_test_assert_mistakes(
        test, "warning: test.yaml:3:48: runtime.layers[0].rtds_layer.rtds_config: there is no "
              "ConfigSource 'up' in static_resources.config_sources: until a resource defines it, "
              "the layer is not there\n");
}

static void
its_source_can_be_asked_for_it(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, SOURCES
                        "runtime: {layers: [\n"
                        "  {name: a, rtds_layer: {name: x, rtds_config: each}},\n"
                        "  {name: b, rtds_layer: {name: y, rtds_config: cds}},\n"
                        "  {name: c, rtds_layer: {name: com.other/x, rtds_config: old}},\n"
                        "  {name: d, rtds_layer: {name: com.acme/x, rtds_config: polled}}]}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:9:48: runtime.layers[0].rtds_layer.rtds_config: 'each' is asked for each "
              "group of clients by itself: name the server in another ConfigSource, without "
              "'audience', for the layer\n"
              "test.yaml:10:48: runtime.layers[1].rtds_layer.rtds_config: 'cds' is asked for the "
              "type envoy.config.cluster.v3.Cluster alone: name the server in another "
              "ConfigSource, without 'type', for the layer\n"
              "test.yaml:11:32: runtime.layers[2].rtds_layer.name: 'com.other/x' cannot be had "
              "from 'old', all names of which are in 'com.acme': write 'com.acme/…'\n");
}

static void
a_resource_comes_from_one_place(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test,
                        SOURCES "runtime: {layers: [\n"
                                "  {name: a, rtds_layer: {name: com.acme/x, rtds_config: up}},\n"
                                "  {name: b, rtds_layer: {name: x, rtds_config: old}},\n"
                                "  {name: c, rtds_layer: {name: com.acme/x, rtds_config: up}}]}\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:10:48: runtime.layers[1].rtds_layer.rtds_config: runtime.layers[0] has "
        "'com.acme/x' from another source: a resource has one source, so write the same in both\n"
        "test.yaml:11:57: runtime.layers[2].rtds_layer.rtds_config: runtime.layers[1] has "
        "'com.acme/x' from another source: a resource has one source, so write the same in both\n");
}

static udpai_plan plan;

static void
make(bootstrap_test *test, const char *text)
{
    bootstrap_test_read(test, text);
    bootstrap_test_assert_mistakes(test, "");
    assert_ok(udpai_plan_make(&plan, &test->bootstrap, &(udpai_options){.program = "udpad"},
                              &test->error));
}

static void
expect_layer(size_t i, size_t index, const char *name)
{
    assert_int_equal(plan.rtds.items[i].index, index);
    assert_string_equal(plan.rtds.items[i].name, name);
}

static void
names_are_in_a_namespace(void **state)
{
    make(*state, SOURCES "node: {namespace: org.here}\n"
                         "runtime: {layers: [\n"
                         "  {name: a, rtds_layer: {name: x}},\n"
                         "  {name: b, static_layer: {}},\n"
                         "  {name: c, rtds_layer: {name: x, rtds_config: old}},\n"
                         "  {name: d, rtds_layer: {name: y, rtds_config: polled}},\n"
                         "  {name: e, rtds_layer: {name: z, rtds_config: up}},\n"
                         "  {name: f, rtds_layer: {name: net.there/x, rtds_config: up}}]}\n");
    assert_int_equal(plan.rtds.n, 5);
    expect_layer(0, 0, "org.here/x");
    expect_layer(1, 2, "com.acme/x");
    expect_layer(2, 3, "com.acme/y");
    expect_layer(3, 4, "org.here/z");
    expect_layer(4, 5, "net.there/x");
    udpai_plan_done(&plan);
}

/* However often it is wanted. */
static void
one_source_is_asked_for_the_name_alone(void **state)
{
    make(*state, SOURCES "runtime: {layers: [\n"
                         "  {name: a, rtds_layer: {name: x}},\n"
                         "  {name: b, rtds_layer: {name: com.acme/x, rtds_config: up}},\n"
                         "  {name: c, rtds_layer: {name: com.acme/x, rtds_config: up}}]}\n");
    const udpai_node_config *node = &plan.settings.node;
    assert_int_equal(plan.rtds.n, 3);
    assert_int_equal(node->n_named, 1);
    assert_str(node->named[0].type_url, UDPAI_TYPE_RUNTIME);
    assert_str(node->named[0].name, "com.acme/x");
    assert_int_equal(node->named[0].n_descriptors, 1);
    assert_str(node->named[0].descriptors[0].source, "up");
    assert_str(node->named[0].descriptors[0].prefix, "");
    assert_true(node->named[0].descriptors[0].on_demand);
    udpai_plan_done(&plan);
}

#define daemon_test(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        daemon_test(a_layer_has_a_name),
        daemon_test(its_source_is_there),
        daemon_test(a_misspelt_source_has_a_suggestion),
        daemon_test(a_resource_may_bring_another_one),
        daemon_test(or_a_resource_may_bring_it),
        daemon_test(its_source_can_be_asked_for_it),
        daemon_test(a_resource_comes_from_one_place),
        daemon_test(names_are_in_a_namespace),
        daemon_test(one_source_is_asked_for_the_name_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
