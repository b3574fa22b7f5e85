/* SPDX-License-Identifier: Apache-2.0 */
/* Command line before bootstrap file before defaults. */
#include "daemon/plan.h"
#include "endpoint/exposure.h"
#include "tests/unit/daemon/bootstrap_test.h"
#include "transport/front/front.h"

static udpai_plan plan;

static void
make(bootstrap_test *test, const udpai_options *options)
{
    memset(&plan, 0, sizeof(plan));
    assert_non_null(test->bootstrap.message);
    test->err = udpai_plan_make(&plan, &test->bootstrap, options, &test->error);
}

static void
without_a_word_it_is_a_node_on_loopback(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "");
    make(test, &(udpai_options){.program = "udpad"});
    assert_ok(test->err);
    assert_int_equal(plan.sockets.n, 1);
    assert_string_equal(plan.sockets.items[0].address, "127.0.0.1:18000");
    assert_null(plan.sockets.items[0].tls);
    assert_string_equal(plan.state_directory, "udpa-data");
    assert_true(plan.settings.node.is_durable);
    assert_str(plan.xds_namespace, "local");
    assert_true(plan.settings.node.id.len > 0);
    assert_int_equal(plan.settings.node.n_sources, 0);
    assert_int_equal(plan.log_level, UDPA_LOG_INFO);
    assert_ptr_equal(plan.settings.acceptance, &udpai_front_acceptance);
    udpai_plan_done(&plan);
}

static void
expect_warm_timeout(bootstrap_test *test, const char *text, uint64_t ms)
{
    bootstrap_test_read(test, text);
    make(test, &(udpai_options){.program = "udpad"});
    assert_ok(test->err);
    assert_int_equal(plan.xds.warm_timeout_ms, ms);
    udpai_plan_done(&plan);
}

static void
clusters_that_warm_are_waited_for(void **state)
{
    expect_warm_timeout(*state, "shim: {namespaces: [com.acme]}\n", 5000);
}

static void
for_as_long_as_is_said(void **state)
{
    expect_warm_timeout(*state, "shim: {warm_timeout: 1.5s}\n", 1500);
}

static void
or_not_at_all(void **state)
{
    expect_warm_timeout(*state, "shim: {warm_timeout: 0s}\n", 0);
}

static void
the_command_line_goes_before_the_file(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "node: {id: file, namespace: a.b}\n"
                              "sockets: [{address: '127.0.0.1:1'}]\n"
                              "store: {directory: x}\n"
                              "transport: OWN\n"
                              "log: {level: ERROR}\n");
    make(test, &(udpai_options){.program = "udpad",
                                .listen = "127.0.0.1:2",
                                .state = "y",
                                .resources = "r",
                                .name_space = "c.d",
                                .node_id = "line",
                                .transport = "GRPC_CORE",
                                .log_level = "DEBUG"});
    assert_ok(test->err);
    assert_int_equal(plan.sockets.n, 1);
    assert_string_equal(plan.sockets.items[0].address, "127.0.0.1:2");
    assert_string_equal(plan.state_directory, "y");
    assert_str(plan.settings.node.id, "line");
    assert_str(plan.xds_namespace, "c.d");
    assert_str(plan.directories.items[0].name_space, "c.d");
    assert_int_equal(plan.log_level, UDPA_LOG_DEBUG);
    assert_null(plan.settings.acceptance);
    udpai_plan_done(&plan);
}

static void
the_file_chooses_what_serves_the_sockets(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "transport: GRPC_CORE\n");
    make(test, &(udpai_options){.program = "udpad"});
    assert_null(plan.settings.acceptance);
    udpai_plan_done(&plan);
}

static void
rest_has_a_route_for_each_type_and_udpa(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "http: {hold: 0s, max_connections: 5, sockets: [{address: "
                              "'127.0.0.1:1', insecure: true}, {address: '127.0.0.1:2'}]}\n"
                              "store: {secret_types: [acme.Password]}\n");
    make(test, &(udpai_options){.program = "udpad"});
    assert_ok(test->err);
    assert_int_equal(plan.http_sockets.n, 2);
    assert_true(plan.http_sockets.items[0].insecure);
    assert_int_equal(plan.http_limits.hold_ms, 1); /* 0 would be the default */
    assert_int_equal(plan.http_limits.max_connections, 5);
    assert_string_equal(plan.http_routes[0].path, "/v3/discovery:listeners");
    assert_string_equal(plan.http_routes[UDPAI_XDS_POLLS].path, "/v1/udpa:resources");
    assert_string_equal(plan.http_routes[UDPAI_XDS_POLLS + 2].path, "/v3/discovery:health_check");
    assert_int_equal(plan.udpa_polls.n_secret_types, 1);
    assert_str(plan.udpa_polls.secret_types[0], "type.googleapis.com/acme.Password");
    udpai_plan_done(&plan);
}

static void
http_of_the_command_line_goes_before_the_file(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "http: {hold: 1.5s, sockets: [{address: '127.0.0.1:1'}]}\n");
    make(test, &(udpai_options){.program = "udpad", .http = "127.0.0.1:0"});
    assert_ok(test->err);
    assert_int_equal(plan.http_sockets.n, 1);
    assert_string_equal(plan.http_sockets.items[0].address, "127.0.0.1:0");
    assert_int_equal(plan.http_limits.hold_ms, 1500);
    udpai_plan_done(&plan);
}

static void
sources_and_providers_are_taken_over(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test, "node: {id: edge, namespace: com.acme}\n"
              "static_resources:\n"
              "  directories: [{path: d, authority: who}]\n"
              "  config_sources:\n"
              "    - {name: core, udpa: {address: 'localhost:1'}}\n"
              "    - {name: back, udpa_listen: {peer: p}}\n"
              "dial: [{name: proxy, address: 'localhost:2'}]\n"
              "providers:\n"
              "  - types: [a.B, 'other.example/a.C']\n"
              "    config_descriptors:\n"
              "      - {resource_name: core, namespace: com.acme, continuation: CONTINUE}\n"
              "      - config_source: {name: here, path: {path: e}}\n"
              "      - config_source: {name: tree, runtime_tree: {symlink_root: r, prefix: p}}\n"
              "store: {in_memory: true}\n"
              "limits: {max_names_per_stream: 7, max_streams: 8, max_resources: 5, max_bytes: 6,\n"
              "  max_resources_per_publisher: 3, max_bytes_per_publisher: 4,\n"
              "  max_publishers_per_name: 9,\n"
              "  max_resources_per_namespace: 3000000, max_bytes_per_namespace: 2}\n"
              "timing: {sync_timeout: 2s, cycle_timeout: 2.5s, fail_over_spread: 0s, "
              "recover_timeout: 3s}\n");
    bootstrap_test_assert_mistakes(test, "");
    make(test, &(udpai_options){.program = "udpad"});
    assert_ok(test->err);
    const udpai_node_config *node = &plan.settings.node;
    assert_int_equal(node->n_sources, 4);
    assert_int_equal(node->sources[0].kind, UDPAI_SOURCE_UDPA);
    assert_non_null(node->sources[0].target);
    assert_int_equal(node->sources[1].kind, UDPAI_SOURCE_UDPA_LISTEN);
    assert_str(node->sources[1].peer, "p");
    assert_int_equal(node->sources[2].kind, UDPAI_SOURCE_PATH);
    assert_int_equal(node->sources[3].kind, UDPAI_SOURCE_PATH);
    assert_string_equal(node->sources[3].kind_name, "runtime_tree");
    assert_int_equal(node->n_dials, 1);
    assert_int_equal(node->n_providers, 1);
    assert_str(node->providers[0].types[0], "type.googleapis.com/a.B");
    assert_str(node->providers[0].types[1], "other.example/a.C");
    assert_int_equal(node->providers[0].descriptors[0].continuation, UDPAI_CONTINUE);
    assert_str(node->providers[0].descriptors[1].source, "here");
    assert_int_equal(plan.directories.n, 3);
    assert_null(plan.directories.items[1].tree);
    assert_string_equal(plan.directories.items[2].tree->prefix, "p");
    assert_string_equal(plan.directories.items[2].path, "r");
    assert_str(plan.directories.items[2].source, "tree");
    assert_str(plan.directories.items[2].name_space, "com.acme");
    assert_str(plan.directories.items[0].authority, "who");
    assert_str(plan.directories.items[1].source, "here");
    assert_str(plan.directories.items[1].name_space, "com.acme");
    assert_null(plan.state_directory);
    assert_false(node->is_durable);
    assert_int_equal(plan.settings.fanout.max_names, 7);
    assert_int_equal(node->store.max_resources_per_namespace, 3000000);
    assert_int_equal(plan.settings.fanout.max_held, 3000000);
    assert_true(plan.settings.fanout.max_held_bytes > (size_t)190 << 20);
    assert_int_equal(plan.settings.limits.max_streams, 8);
    assert_int_equal(node->store.max_bytes_per_namespace, 2);
    assert_int_equal(node->store.max_resources_per_publisher, 3);
    assert_int_equal(node->store.max_bytes_per_publisher, 4);
    assert_int_equal(node->store.max_publishers_per_name, 9);
    assert_int_equal(node->store.max_resources, 5);
    assert_int_equal(node->store.max_bytes, 6);
    assert_int_equal(node->timing.sync_timeout_ms, 2000);
    assert_int_equal(node->timing.fail_over_spread_ms, 0);
    assert_int_equal(node->timing.recover_timeout_ms, 3000);
    assert_int_equal(plan.settings.fanout.cycle_timeout_ms, 2500);
    udpai_plan_done(&plan);
}

static void
assert_types(const udpai_str *types, size_t n_types, const char *only)
{
    assert_int_equal(n_types, 1);
    assert_str(types[0], only);
}

static void
stand_ins_are_taken_over(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test,
        "static_resources:\n"
        "  config_sources:\n"
        "    - {name: pilot, udpa: {address: 'a:1'}, recover: {types: [a.B], namespaces: [x.y]}}\n"
        "    - {name: cloud, udpa_listen: {peer: p}, standby_for: {types: [a.C]},\n"
        "       standby: [udpa.load.v1.ClientLoad]}\n");
    bootstrap_test_assert_mistakes(test, "");
    make(test, &(udpai_options){.program = "udpad"});
    assert_ok(test->err);
    const udpai_source_config *sources = plan.settings.node.sources;
    assert_types(sources[0].recover.types, sources[0].recover.n_types, "type.googleapis.com/a.B");
    assert_int_equal(sources[0].recover.n_prefixes, 1);
    assert_str(sources[0].recover.prefixes[0], "x.y");
    assert_int_equal(sources[0].n_standby_for, 0);
    assert_int_equal(sources[1].recover.n_types, 0);
    assert_types(sources[1].standby_for, sources[1].n_standby_for, "type.googleapis.com/a.C");
    assert_int_equal(sources[0].n_standby, 0);
    assert_types(sources[1].standby, sources[1].n_standby,
                 "type.googleapis.com/udpa.load.v1.ClientLoad");
    udpai_plan_done(&plan);
}

static void
what_may_go_at_once_is_taken_over(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "static_resources:\n"
                              "  config_sources:\n"
                              "    - {name: core, udpa: {address: 'a:1'}, max_withdrawal: 10%}\n"
                              "    - {name: plain, udpa: {address: 'a:1'}}\n"
                              "  directories: [{path: /etc/x, max_withdrawal: 20%}]\n"
                              "limits: {max_withdrawal: 30%}\n");
    bootstrap_test_assert_mistakes(test, "");
    make(test, &(udpai_options){.program = "udpad"});
    assert_ok(test->err);
    const udpai_node_config *node = &plan.settings.node;
    assert_int_equal(node->sources[0].max_withdrawal, 10);
    assert_int_equal(node->sources[1].max_withdrawal, 0);
    assert_int_equal(plan.directories.items[0].max_withdrawal, 20);
    assert_int_equal(node->store.max_withdrawal, 30);
    udpai_plan_done(&plan);
}

static void
what_may_go_at_once_is_a_percentage(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "limits: {max_withdrawal: half}\n");
    bootstrap_test_assert_mistakes(test, "test.yaml:1:26: limits.max_withdrawal: 'half' is no "
                                         "percentage: write '1%' to '100%'\n");
}

static void
an_xds_server_is_a_source(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test,
        "static_resources:\n"
        "  config_sources:\n"
        "    - name: mesh\n"
        "      xds: {address: 'a:1', authority: mesh, namespace: com.acme,\n"
        "        client: {id: me, metadata: {deep: {list: [1, true]}}}}\n"
        "    - name: clusters\n"
        "      xds: {address: 'a:2', authority: mesh, type: envoy.config.cluster.v3.Cluster,\n"
        "        protocol: STATE_OF_THE_WORLD, load_reporting: {}}\n"
        "providers: []\n");
    bootstrap_test_assert_mistakes(test, "");
    make(test, &(udpai_options){.program = "udpad"});
    assert_ok(test->err);
    const udpai_node_config *node = &plan.settings.node;
    assert_int_equal(node->n_sources, 2);
    assert_int_equal(node->sources[0].kind, UDPAI_SOURCE_XDS);
    assert_int_equal(node->sources[1].kind, UDPAI_SOURCE_XDS);
    assert_non_null(node->sources[1].target);
    assert_int_equal(plan.settings.n_load_upstreams, 1);
    const udpai_load_upstream_config *told = &plan.settings.load_upstreams[0];
    assert_str(told->source, "clusters");
    assert_string_equal(udpai_grpc_target_method(told->target)->path, UDPAI_LRS_PATH);
    udpai_plan_done(&plan);
}

static void
audiences_are_taken_over(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test,
                        "shim: {default_namespace: com.acme, explicit_wildcard_types: [a.B]}\n"
                        "audiences:\n"
                        "  - name: shops\n"
                        "    match:\n"
                        "      identities: ['spiffe://acme/*']\n"
                        "      node_ids: [a, b]\n"
                        "      clusters: [c]\n"
                        "      locality: {region: r, zone: z}\n"
                        "      metadata: [{path: [team, name], value: pay}]\n"
                        "      client_features: [f]\n"
                        "      dynamic_parameters: [{type_url: x/T, key: env, value: 'b*'}]\n"
                        "    canary: true\n"
                        "    default_namespace: shop.acme\n"
                        "    namespaces: [com.acme, org.other/team]\n"
                        "  - {name: others, resource_errors: true}\n"
                        "authorities: [{name: Shop, namespace: shop.acme/x}]\n");
    bootstrap_test_assert_mistakes(test, "");
    make(test, &(udpai_options){.program = "udpad"});
    assert_ok(test->err);
    assert_int_equal(plan.xds.n_audiences, 2);
    const udpai_xds_audience *shops = &plan.xds.audiences[0], *others = &plan.xds.audiences[1];
    assert_str(shops->name, "shops");
    assert_str(shops->default_namespace, "shop.acme");
    assert_int_equal(shops->n_namespaces, 2);
    assert_str(shops->namespaces[1], "org.other/team");
    assert_str(shops->match.identities.items[0], "spiffe://acme/*");
    assert_int_equal(shops->match.node_ids.n, 2);
    assert_str(shops->match.clusters.items[0], "c");
    assert_str(shops->match.region, "r");
    assert_str(shops->match.zone, "z");
    assert_int_equal(shops->match.sub_zone.len, 0);
    assert_int_equal(shops->match.n_metadata, 1);
    assert_int_equal(shops->match.metadata[0].n_path, 2);
    assert_str(shops->match.metadata[0].path[1], "name");
    assert_str(shops->match.metadata[0].value, "pay");
    assert_str(shops->match.client_features.items[0], "f");
    assert_int_equal(shops->match.n_parameters, 1);
    assert_str(shops->match.parameters[0].type_url, "x/T");
    assert_str(shops->match.parameters[0].key, "env");
    assert_str(shops->match.parameters[0].value, "b*");
    assert_true(shops->is_canary);
    assert_false(others->is_canary);
    assert_str(others->default_namespace, "com.acme");
    assert_false(shops->resource_errors);
    assert_true(others->resource_errors);
    assert_int_equal(others->authorities.n, 1);
    assert_str(others->authorities.items[0].name, "Shop");
    assert_str(others->authorities.items[0].prefix, "shop.acme/x");
    assert_ptr_equal(plan.authorities.items, others->authorities.items);
    assert_int_equal(others->match.node_ids.n, 0);
    /* And those of the sinks, which say that they are not configured. */
    assert_int_equal(plan.settings.n_methods, UDPAI_XDS_METHODS +
                                                  UDPAI_ARRAY_LEN(plan.csds_methods) +
                                                  UDPAI_HDS_METHODS + UDPAI_EVENT_SINKS + 1 + 1);
    assert_int_equal(plan.xds.n_explicit_wildcards, 1);
    assert_str(plan.xds.explicit_wildcards[0], "type.googleapis.com/a.B");
    udpai_plan_done(&plan);
}

static void
load_is_reported_each_ten_seconds(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "{}");
    make(test, &(udpai_options){.program = "udpad"});
    assert_ok(test->err);
    assert_int_equal(plan.lrs.interval_ms, 10000);
    assert_false(plan.lrs.per_endpoint);
    assert_ptr_equal(plan.lrs.server, &plan.xds);
    udpai_plan_done(&plan);
}

static void
load_is_reported_as_the_file_says(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "load_reporting: {interval: 1.5s, per_endpoint: true}");
    make(test, &(udpai_options){.program = "udpad"});
    assert_ok(test->err);
    assert_int_equal(plan.lrs.interval_ms, 1500);
    assert_int_equal(plan.settings.load_interval_ms, 1500);
    assert_true(plan.lrs.per_endpoint);
    size_t n_found = 0;
    for (size_t i = 0; i < plan.settings.n_methods; i++) {
        const udpai_grpc_method *method = &plan.settings.methods[i];
        n_found += strcmp(method->path, UDPAI_LRS_PATH) == 0 && method->context == &plan.lrs;
    }
    assert_int_equal(n_found, 1);
    udpai_plan_done(&plan);
}

static void
what_clients_report_is_as_the_file_says(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "load_reporting: {aggregated: [com.acme, '*']}\n"
                              "client_types: [com.acme.Temperature]\n");
    bootstrap_test_assert_mistakes(test, "");
    make(test, &(udpai_options){.program = "udpad"});
    assert_ok(test->err);
    assert_int_equal(plan.n_client_types, 1);
    assert_str(plan.client_types[0], "type.googleapis.com/com.acme.Temperature");
    assert_int_equal(plan.settings.n_aggregated, 2);
    assert_str(plan.settings.aggregated[0], "com.acme");
    assert_str(plan.settings.aggregated[1], "");
    udpai_plan_done(&plan);
}

static void
what_is_deprecated_is_looked_for_if_asked_for(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "validation: {checks: [DEPRECATED]}");
    make(test, &(udpai_options){.program = "udpad"});
    assert_ok(test->err);
    assert_true(plan.looks_for_deprecated && plan.validates);
    assert_int_equal(plan.policy.others.checks, UDPAI_CHECK_PARSE | UDPAI_CHECK_DEPRECATED);
    udpai_plan_done(&plan);
}

static void
what_is_deprecated_is_looked_for_in_one_type(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "validation: {types: [{types: [a.B], checks: [DEPRECATED]}]}");
    make(test, &(udpai_options){.program = "udpad"});
    assert_ok(test->err);
    assert_true(plan.looks_for_deprecated && plan.validates);
    udpai_plan_done(&plan);
}

static void
files_are_written_for_an_audience(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test,
                        "audiences:\n"
                        "  - {name: a, match: {node_ids: [x]}, default_namespace: a.a}\n"
                        "  - {name: b, match: {clusters: [y]}, default_namespace: b.b}\n"
                        "  - {name: c, match: {locality: {zone: z}}}\n"
                        "write_files:\n"
                        "  - {directory: d, client: {cluster: y}}\n"
                        "  - {directory: e, client: {node_id: x}, types: [a.B], format: YAML}\n"
                        "  - {directory: f, client: {locality: {zone: z}}, format: JSON}\n");
    make(test, &(udpai_options){.program = "udpad"});
    assert_ok(test->err);
    assert_int_equal(plan.writers.n, 3);
    const udpai_plan_writer *d = &plan.writers.items[0], *e = &plan.writers.items[1];
    assert_string_equal(d->directory, "d");
    assert_str(d->audience->default_namespace, "b.b");
    assert_int_equal(d->n_types, 4);
    assert_int_equal(d->format, UDPAI_FORMAT_BINARY);
    assert_str(e->audience->default_namespace, "a.a");
    assert_int_equal(e->n_types, 1);
    assert_str(e->types[0], "type.googleapis.com/a.B");
    assert_int_equal(e->format, UDPAI_FORMAT_YAML);
    assert_str(plan.writers.items[2].audience->default_namespace, "local");
    assert_int_equal(plan.writers.items[2].format, UDPAI_FORMAT_JSON);
    udpai_plan_done(&plan);
}

static void
files_for_nobody_are_a_mistake(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "audiences: [{name: a, match: {node_ids: [x]}}]\n"
                              "write_files: [{directory: d, client: {node_id: y}}]\n");
    make(test, &(udpai_options){.program = "udpad"});
    assert_int_equal(test->err, UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(test->error),
                           "the client of directory 'd' belongs to no audience"));
    udpai_plan_done(&plan);
}

static void
certificates_that_are_not_there_are_named(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test,
                        "dial:\n"
                        "  - {name: x, address: 'localhost:1', tls: {ca_file: /proc/no/ca}}\n");
    make(test, &(udpai_options){.program = "udpad"});
    assert_int_not_equal(test->err, UDPA_OK);
    assert_non_null(strstr(udpa_error_message(test->error), "/proc/no/ca"));
    udpai_plan_done(&plan);
}

static void
loopback_is_told_from_the_rest(void **state)
{
    (void)state;
    assert_true(udpai_exposure_is_loopback("127.0.0.1:1"));
    assert_true(udpai_exposure_is_loopback("127.8.8.8:1"));
    assert_true(udpai_exposure_is_loopback("[::1]:1"));
    assert_true(udpai_exposure_is_loopback("localhost:1"));
    assert_false(udpai_exposure_is_loopback("0.0.0.0:1"));
    assert_false(udpai_exposure_is_loopback("[::]:1"));
    assert_false(udpai_exposure_is_loopback("127.0.0.1.example:1"));
    assert_false(udpai_exposure_is_loopback(""));
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(without_a_word_it_is_a_node_on_loopback),
        CASE(clusters_that_warm_are_waited_for),
        CASE(for_as_long_as_is_said),
        CASE(or_not_at_all),
        CASE(the_command_line_goes_before_the_file),
        CASE(the_file_chooses_what_serves_the_sockets),
        CASE(rest_has_a_route_for_each_type_and_udpa),
        CASE(http_of_the_command_line_goes_before_the_file),
        CASE(sources_and_providers_are_taken_over),
        CASE(stand_ins_are_taken_over),
        CASE(what_may_go_at_once_is_taken_over),
        CASE(what_may_go_at_once_is_a_percentage),
        CASE(an_xds_server_is_a_source),
        CASE(audiences_are_taken_over),
        CASE(load_is_reported_each_ten_seconds),
        CASE(load_is_reported_as_the_file_says),
        CASE(what_clients_report_is_as_the_file_says),
        CASE(what_is_deprecated_is_looked_for_if_asked_for),
        CASE(what_is_deprecated_is_looked_for_in_one_type),
        CASE(files_are_written_for_an_audience),
        CASE(files_for_nobody_are_a_mistake),
        CASE(certificates_that_are_not_there_are_named),
        CASE(loopback_is_told_from_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
