/* SPDX-License-Identifier: Apache-2.0 */
/* ConfigSources of kind rest in the bootstrap file: what they need, and what comes of them. */
#include "daemon/plan.h"
#include "tests/unit/daemon/bootstrap_test.h"
#include "transport/grpc/grpc_internal.h"

static void
a_rest_source_needs_an_address_and_an_authority(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "static_resources:\n"
                              "  config_sources:\n"
                              "    - {name: a, rest: {}}\n"
                              "    - name: b\n"
                              "      rest: {address: 'http://a:1', authority: x, namespace: A,\n"
                              "        tls: {certificate_file: c}}\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:3:23: static_resources.config_sources[0].rest.address: is required\n"
        "test.yaml:3:23: static_resources.config_sources[0].rest.authority: is required\n"
        "test.yaml:5:23: static_resources.config_sources[1].rest.address: 'http://a:1' is no "
        "address to ask by HTTP: write HOST:PORT, such as control.example.com:18080 or "
        "[2001:db8::1]:18080\n"
        "test.yaml:5:62: static_resources.config_sources[1].rest.namespace: namespace 'A' must be "
        "labels of a-z, 0-9 and '-' with dots between, such as com.acme\n"
        "test.yaml:6:14: static_resources.config_sources[1].rest.tls.ca_file: is required\n"
        "test.yaml:6:33: static_resources.config_sources[1].rest.tls.certificate_file: "
        "certificate_file and private_key_file come together: the other one is missing\n");
}

static void
times_have_bounds(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "static_resources:\n"
                              "  config_sources:\n"
                              "    - name: a\n"
                              "      rest: {address: 'a:1', authority: x, refresh_delay: 0.09s,\n"
                              "        request_timeout: 3601s}\n"
                              "    - name: b\n"
                              "      rest: {address: 'a:1', authority: x, refresh_delay: -1s,\n"
                              "        request_timeout: 0s}\n"
                              "    - name: c\n"
                              "      rest: {address: 'a:1', authority: x, refresh_delay: 0.1s,\n"
                              "        request_timeout: 3600s}\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:4:59: static_resources.config_sources[0].rest.refresh_delay: must lie between "
        "0.1 s and 1 h\n"
        "test.yaml:5:26: static_resources.config_sources[0].rest.request_timeout: must lie between "
        "0.1 s and 1 h\n"
        "test.yaml:7:59: static_resources.config_sources[1].rest.refresh_delay: must lie between "
        "0.1 s and 1 h\n"
        "test.yaml:8:26: static_resources.config_sources[1].rest.request_timeout: must lie between "
        "0.1 s and 1 h\n");
}

static void
a_type_without_a_path_is_a_mistake(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test,
        "static_resources:\n"
        "  config_sources:\n"
        "    - {name: old, rest: {address: 'a:1', authority: x}}\n"
        "    - {name: new, xds: {address: 'a:1', authority: x}}\n"
        "providers:\n"
        "- types: [envoy.config.cluster.v3.Cluster, envoy.config.route.v3.VirtualHost]\n"
        "  config_descriptors: [{resource_name: new, mode: ON_DEMAND}, {resource_name: old}]\n"
        "- types: [a.B]\n"
        "  config_descriptors:\n"
        "  - config_source: {name: in, rest: {address: 'a:1', authority: x}}\n"
        "- types: [a.C]\n"
        "  config_descriptors: [{resource_name: new}]\n"
        "- config_descriptors: [{resource_name: old, mode: ON_DEMAND}]\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:6:44: providers[0].types[1]: REST has no path for type "
        "'envoy.config.route.v3.VirtualHost', and 'old' is a ConfigSource of kind rest: give this "
        "type a provider without it\n"
        "test.yaml:8:11: providers[1].types[0]: REST has no path for type 'a.B', and 'in' is a "
        "ConfigSource of kind rest: give this type a provider without it\n");
}

static void
it_is_polled_by_an_asker(void **state)
{
    bootstrap_test *test = *state;
    static udpai_plan plan;
    bootstrap_test_read(test, "static_resources:\n"
                              "  config_sources:\n"
                              "    - name: old\n"
                              "      rest: {address: 'a:1', authority: x, refresh_delay: 0.5s,\n"
                              "        client: {id: me}}\n");
    bootstrap_test_assert_mistakes(test, "");
    assert_ok(udpai_plan_make(&plan, &test->bootstrap, &(udpai_options){.program = "udpad"},
                              &test->error));
    const udpai_node_config *node = &plan.settings.node;
    assert_int_equal(node->n_sources, 1);
    assert_int_equal(node->sources[0].kind, UDPAI_SOURCE_REST);
    assert_str(node->sources[0].address, "a:1");
    const udpai_grpc_target *target = node->sources[0].target;
    assert_non_null(udpai_grpc_target_http_client(target));
    const udpai_polling_options *options =
        udpai_polled_server_options(udpai_grpc_target_server(target));
    assert_int_equal(options->refresh_ms, 500);
    assert_int_equal(options->timeout_ms, 30000);
    assert_non_null(memmem(options->node.data, options->node.len, "me", 2));
    udpai_plan_done(&plan);
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_rest_source_needs_an_address_and_an_authority),
        CASE(times_have_bounds),
        CASE(a_type_without_a_path_is_a_mistake),
        CASE(it_is_polled_by_an_asker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
