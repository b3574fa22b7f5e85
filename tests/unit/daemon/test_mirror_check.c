/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of mirrors that cannot know what to ask an xDS server for. */
#include "tests/unit/daemon/bootstrap_test.h"

static void
a_mirror_must_be_able_to_know_names(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test, "static_resources: {config_sources: [{name: m, xds: {address: 'h:1', authority: a}}, "
              "{name: r, rest: {address: 'h:2', authority: a}}, "
              "{name: e, xds: {address: 'h:3', authority: a, type: "
              "envoy.config.endpoint.v3.ClusterLoadAssignment}}]}\n"
              "providers:\n"
              "  - {types: [envoy.config.route.v3.RouteConfiguration, "
              "envoy.extensions.transport_sockets.tls.v3.Secret], config_descriptors: "
              "[{resource_name: m}]}\n"
              "  - {types: [envoy.service.runtime.v3.Runtime], config_descriptors: "
              "[{resource_name: m, mode: ON_DEMAND}]}\n"
              "  - {types: [envoy.config.endpoint.v3.ClusterLoadAssignment], config_descriptors: "
              "[{resource_name: e}]}\n"
              "  - {config_descriptors: [{resource_name: r}]}\n");
    assert_int_equal(test->diagnostics.n_errors, 0);
    bootstrap_test_assert_mistakes(
        test,
        "warning: test.yaml:3:128: providers[0].config_descriptors[0]: mirrors "
        "'envoy.extensions.transport_sockets.tls.v3.Secret', of which most xDS servers send only "
        "what is asked for by name, and a mirror knows no names: then nothing is received. Set "
        "mode: ON_DEMAND, in a provider of its own\n"
        "warning: test.yaml:5:84: providers[2].config_descriptors[0]: mirrors "
        "'envoy.config.endpoint.v3.ClusterLoadAssignment' from a service of that type alone, where "
        "no clusters name its resources: unless the server sends them unasked, nothing is "
        "received. Set mode: ON_DEMAND, or use the aggregated service\n"
        "warning: test.yaml:6:5: providers[3]: names no types, so it has each from when a client "
        "or node here first subscribes to it: to mirror everything from the start, list the "
        "types\n"
        "warning: test.yaml:6:27: providers[3].config_descriptors[0]: mirrors each type that a "
        "client or node here subscribes to; of Secret, Runtime and others that nothing names to a "
        "mirror most xDS servers send only what is asked for by name: give those a provider with "
        "mode: ON_DEMAND\n");
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_mirror_must_be_able_to_know_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
