/* SPDX-License-Identifier: Apache-2.0 */
/* Every mistake of a bootstrap file is told, with its place. */
#include <stdio.h>

#include "tests/unit/daemon/bootstrap_test.h"

static void
nothing_is_every_default(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, " \n");
    bootstrap_test_assert_mistakes(test, "");
    assert_null(test->bootstrap.message->node);
}

static void
a_whole_file_is_read(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test,
                        "node: {id: edge, namespace: com.acme}\n"
                        "sockets: [{address: '127.0.0.1:0'}]\n"
                        "static_resources:\n"
                        "  config_sources:\n"
                        "    - {name: core, udpa: {address: 'localhost:1'}}\n"
                        "providers:\n"
                        "  - types: [a.B]\n"
                        "    config_descriptors:\n"
                        "      - {resource_name: core, namespace: com.acme, mode: ON_DEMAND}\n"
                        "timing: {connect_grace: 1.5s}\n");
    bootstrap_test_assert_mistakes(test, "");
    assert_string_equal(test->bootstrap.message->node->id, "edge");
    assert_int_equal(test->bootstrap.message->timing->connect_grace->seconds, 1);
    assert_int_equal(test->bootstrap.message->providers[0]->config_descriptors[0]->mode,
                     UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__MODE__ON_DEMAND);
}

static void
an_unknown_key_is_a_mistake_with_a_suggestion(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "node:\n  namespase: local\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:3: node: unknown field 'namespase'; did you mean 'namespace'?\n");
}

static void
what_names_something_must_find_it(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "providers:\n"
                              "  - configDescriptors:\n"
                              "      - resourceName: nowhere\n"
                              "        mode: ON_DEMAND\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:23: providers[0].config_descriptors[0].resource_name: there is no "
              "ConfigSource 'nowhere' in static_resources.config_sources\n");
}

static void
sources_need_a_name_of_their_own_and_a_kind(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test,
                        "static_resources:\n"
                        "  config_sources:\n"
                        "    - {name: a, udpa: {address: ''}}\n"
                        "    - {name: a, path: {path: x}}\n"
                        "    - {name: b}\n"
                        "providers:\n"
                        "  - types: [x.Y]\n"
                        "    config_descriptors: [{config_source: {name: b, path: {path: y}}}]\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:33: static_resources.config_sources[0].udpa.address: is required\n"
              "test.yaml:4:7: static_resources.config_sources[1]: 'a' is the name of another "
              "ConfigSource already\n"
              "test.yaml:5:7: static_resources.config_sources[2]: needs one of udpa, udpa_listen, "
              "path, xds, rest, runtime_tree\n"
              "test.yaml:8:42: providers[0].config_descriptors[0].config_source: 'b' is the name "
              "of another ConfigSource already\n");
}

static void
an_xds_source_needs_an_authority_and_a_service_that_there_is(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "static_resources:\n"
                              "  config_sources:\n"
                              "    - name: a\n"
                              "      xds: {address: 'a:1', namespace: 'A', type: a.B}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:4:12: static_resources.config_sources[0].xds.authority: is required\n"
              "test.yaml:4:40: static_resources.config_sources[0].xds.namespace: namespace 'A' "
              "must be labels of a-z, 0-9 and '-' with dots between, such as com.acme\n"
              "test.yaml:4:51: static_resources.config_sources[0].xds.type: xDS has no service for "
              "type 'type.googleapis.com/a.B' in this protocol: leave it out, to call the "
              "aggregated one\n");
}

static void
a_server_that_is_asked_for_each_client_is_told_no_load(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "static_resources:\n"
                              "  config_sources:\n"
                              "    - name: a\n"
                              "      xds: {address: 'a:1', authority: a, audience: PER_CLIENT,\n"
                              "        load_reporting: {}}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:5:25: static_resources.config_sources[0].xds.load_reporting: is for "
              "sources that are asked once for all clients: leave 'audience' out, or name the "
              "server in another source for it\n");
}

static void
sockets_beyond_loopback_must_be_asked_for(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "sockets:\n"
                              "  - address: 10.0.0.1:18000\n"
                              "  - {address: '10.0.0.1:18001', insecure: true}\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:2:14: sockets[0].address: '10.0.0.1:18000' is beyond loopback, where every "
        "peer may publish and subscribe to everything: listen on 127.0.0.1, have a section 'acl' "
        "and client certificates (tls.client_ca_file), or write 'insecure: true'\n");
}

static void
assert_reporting_interval(bootstrap_test *test, const char *interval, const char *mistakes)
{
    char text[64];
    snprintf(text, sizeof(text), "load_reporting:\n  interval: %s\n", interval);
    bootstrap_test_read(test, text);
    bootstrap_test_assert_mistakes(test, mistakes);
}

static void
load_is_not_reported_all_the_time(void **state)
{
    assert_reporting_interval(
        *state, "0.09s",
        "test.yaml:2:13: load_reporting.interval: must lie between 0.1 s and 1 h\n");
}

static void
load_is_not_reported_almost_never(void **state)
{
    assert_reporting_interval(
        *state, "3600.1s",
        "test.yaml:2:13: load_reporting.interval: must lie between 0.1 s and 1 h\n");
}

static void
load_is_not_reported_before_the_last_time(void **state)
{
    assert_reporting_interval(
        *state, "-1s", "test.yaml:2:13: load_reporting.interval: must lie between 0.1 s and 1 h\n");
}

static void
load_may_be_reported_often(void **state)
{
    assert_reporting_interval(*state, "0.1s", "");
}

static void
what_clients_report_is_no_configuration(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "providers:\n"
                              "  - types: [a.B]\n"
                              "load_reporting: {aggregated: ['', 'A b']}\n"
                              "client_types: [envoy.config.cluster.v3.Cluster, a.B, '', 'x y',\n"
                              "  com.acme.Good]\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:5: providers[0]: has no config_descriptors: name the sources of its "
              "resources\n"
              "test.yaml:3:31: load_reporting.aggregated[0]: is empty: \"*\" is all\n"
              "test.yaml:3:35: load_reporting.aggregated[1]: namespace 'A b' must be labels of "
              "a-z, 0-9 and '-' with dots between, such as com.acme\n"
              "test.yaml:4:16: client_types[0]: "
              "'type.googleapis.com/envoy.config.cluster.v3.Cluster' is configuration, which "
              "flows down\n"
              "test.yaml:4:49: client_types[1]: 'type.googleapis.com/a.B' has a provider, but "
              "clients bring it, and no source does\n"
              "test.yaml:4:54: client_types[2]: is empty\n"
              "test.yaml:4:58: client_types[3]: 'x y' is no type: write the whole name, such as "
              "envoy.config.cluster.v3.Cluster\n");
}

static void
sockets_of_http_are_sockets(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "sockets: [{address: '127.0.0.1:1'}]\n"
                              "http:\n"
                              "  hold: 3601s\n"
                              "  max_body_bytes: 1\n"
                              "  sockets:\n"
                              "  - address: 10.0.0.1:18000\n"
                              "  - {address: '10.0.0.1:18001', insecure: true}\n"
                              "  - {address: '127.0.0.1:1', tls: {certificate_file: c}}\n"
                              "  - address: nowhere\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:3:9: http.hold: must lie between 0 s and 3600 s\n"
        "test.yaml:4:19: http.max_body_bytes: 1 is too small: hardly a request could come in; it "
        "must be at least 4096\n"
        "test.yaml:6:14: http.sockets[0].address: '10.0.0.1:18000' is beyond loopback, where every "
        "peer may publish and subscribe to everything: listen on 127.0.0.1, have a section 'acl' "
        "and client certificates (tls.client_ca_file), or write 'insecure: true'\n"
        "test.yaml:8:15: http.sockets[2].address: '127.0.0.1:1' is the address of sockets[0] too\n"
        "test.yaml:8:35: http.sockets[2].tls.private_key_file: is required\n"
        "test.yaml:9:14: http.sockets[3].address: 'nowhere' is no address to listen on: write "
        "ADDRESS:PORT, such as 127.0.0.1:18000 or [::1]:18000\n");
}

static void
an_address_is_one_to_listen_on(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "sockets:\n"
                              "  - address: 127.0.0.1\n"
                              "  - address: localhost:80\n"
                              "  - address: 127.0.0.1:99999\n"
                              "  - address: 127.0.0.1:-1\n"
                              "  - address: 127.0.0.1:0\n"
                              "  - address: '[::1]:80'\n"
                              "  - address: 127.0.0.1:0\n"
                              "  - address: '[::1]:80'\n");
#define SYNTAX                                                                                     \
    "is no address to listen on: write ADDRESS:PORT, such as 127.0.0.1:18000 or [::1]:18000\n"
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:14: sockets[0].address: '127.0.0.1' " SYNTAX
              "test.yaml:3:14: sockets[1].address: 'localhost:80' " SYNTAX
              "test.yaml:4:14: sockets[2].address: '127.0.0.1:99999' " SYNTAX
              "test.yaml:5:14: sockets[3].address: '127.0.0.1:-1' " SYNTAX
              "test.yaml:9:14: sockets[7].address: '[::1]:80' is the address of sockets[5] too\n");
}

static void
an_address_is_one_to_dial(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test, "static_resources: {config_sources: [{name: a, udpa: {address: x}}]}\n"
              "dial: [{name: b, address: 'host:0'}, {name: c, address: 'password@host:1'}]\n");
#undef SYNTAX
#define SYNTAX                                                                                     \
    "is no address to dial: write HOST:PORT, such as node.example.com:18000 or "                   \
    "[2001:db8::1]:18000\n"
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:63: static_resources.config_sources[0].udpa.address: 'x' " SYNTAX
              "test.yaml:2:27: dial[0].address: 'host:0' " SYNTAX
              "test.yaml:2:57: dial[1].address: 'password@host:1' " SYNTAX);
}

static void
keys_and_certificates_come_together(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "dial:\n"
                              "  - name: x\n"
                              "    address: localhost:1\n"
                              "    tls: {ca_file: a, certificate_file: b}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:4:41: dial[0].tls.certificate_file: certificate_file and private_key_file "
              "come together: the other one is missing\n");
}

static void
a_type_has_one_provider(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test,
                        "static_resources: {config_sources: [{name: a, path: {path: x}}]}\n"
                        "providers:\n"
                        "  - {types: [a.B], config_descriptors: [{resource_name: a}]}\n"
                        "  - {types: [a.C, a.B], config_descriptors: [{resource_name: a}]}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:4:19: providers[1].types[1]: type 'a.B' has a provider already: "
              "providers[0]\n");
}

static void
types_are_written_in_full(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "static_resources: {config_sources: [{name: a, path: {path: x}}]}\n"
                              "providers:\n"
                              "  - {types: [cluster, a.B, x/y, '', a..b], config_descriptors: "
                              "[{resource_name: a}]}\n"
                              "  - {types: [type.googleapis.com/a.B], config_descriptors: "
                              "[{resource_name: a}]}\n"
                              "store: {secret_types: [foo, 'type.googleapis.com/a.B', a.1]}\n");
#define FORM "is no type: write the whole name, such as envoy.config.cluster.v3.Cluster\n"
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:14: providers[0].types[0]: 'cluster' " FORM
              "test.yaml:3:28: providers[0].types[2]: 'x/y' " FORM
              "test.yaml:3:33: providers[0].types[3]: is required\n"
              "test.yaml:3:37: providers[0].types[4]: 'a..b' " FORM
              "test.yaml:4:14: providers[1].types[0]: type 'a.B' has a provider already: "
              "providers[0]\n"
              "test.yaml:5:24: store.secret_types[0]: 'foo' " FORM
              "test.yaml:5:56: store.secret_types[2]: 'a.1' " FORM);
}

static void
a_mirror_of_everything_must_list_it(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "static_resources: {config_sources: [{name: a, path: {path: x}}, "
                              "{name: b, path: {path: y}}]}\n"
                              "providers:\n"
                              "  - config_descriptors:\n"
                              "    - {resource_name: a, mode: ON_DEMAND}\n"
                              "    - {resource_name: b}\n");
    assert_int_equal(test->diagnostics.n_errors, 0);
    bootstrap_test_assert_mistakes(
        test,
        "warning: test.yaml:3:5: providers[0]: names no types, so it has each from when a client "
        "or node here first subscribes to it: to mirror everything from the start, list the "
        "types\n");
}

static void
names_are_valid_and_not_reserved(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "node: {id: \"a\\x01\", namespace: udpa.node}\n"
                              "shim: {default_namespace: Bad_NS, namespaces: [udpa.node, A]}\n"
                              "static_resources: {directories: [{path: x, namespace: "
                              "udpa.node.x}]}\n");
#define LABELS "must be labels of a-z, 0-9 and '-' with dots between, such as com.acme\n"
#define RESERVED "is reserved for what nodes report of themselves: use another\n"
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:12: node.id: 'a ' is no id of a node: it has control characters\n"
              "test.yaml:1:32: node.namespace: namespace 'udpa.node' " RESERVED
              "test.yaml:2:27: shim.default_namespace: namespace 'Bad_NS' " LABELS
              "test.yaml:2:59: shim.namespaces[1]: namespace 'A' " LABELS
              "test.yaml:3:55: static_resources.directories[0].namespace: namespace "
              "'udpa.node.x' " RESERVED);
}

static void
audiences_can_be_told_apart(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "shim: {namespaces: [com.acme]}\n"
                              "audiences:\n"
                              "  - {default_namespace: Bad, namespaces: [B]}\n"
                              "  - name: second\n"
                              "    match:\n"
                              "      node_ids: ['']\n"
                              "      metadata: [{value: x}]\n"
                              "      dynamic_parameters: [{value: x}]\n"
                              "  - {name: third, match: {}}\n"
                              "  - {name: fourth}\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:1:20: shim.namespaces: has no effect beside audiences, each of which has its "
        "own\n"
        "test.yaml:3:5: audiences[0].name: is required\n"
        "test.yaml:3:25: audiences[0].default_namespace: namespace 'Bad' " LABELS
        "test.yaml:3:43: audiences[0].namespaces[0]: namespace 'B' " LABELS
        "test.yaml:4:5: audiences[1]: no client reaches this audience: every client belongs to the "
        "audience before it, which has no match\n"
        "test.yaml:6:18: audiences[1].match.node_ids[0]: is required\n"
        "test.yaml:7:18: audiences[1].match.metadata[0].path: is required\n"
        "test.yaml:8:28: audiences[1].match.dynamic_parameters[0].key: is required\n"
        "test.yaml:10:5: audiences[3]: no client reaches this audience: every client belongs to "
        "the audience before it, which has no match\n");
}

static void
rules_say_whom_they_are_for_and_what_they_allow(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "acl:\n"
                              "  rules:\n"
                              "  - {name: a, identities: ['*'], actions: [SUBSCRIBE],\n"
                              "     on_behalf_of: [x]}\n"
                              "  - {name: a, identities: [''], actions: [PUBLISH],\n"
                              "     namespaces: ['', Bad]}\n"
                              "  - {}\n");
    bootstrap_test_assert_mistakes(
        test,
        "warning: test.yaml:4:20: acl.rules[0].on_behalf_of: has no effect in a rule that lets no "
        "peer publish\n"
        "test.yaml:5:5: acl.rules[1]: acl.rules[0] has the same name, 'a'\n"
        "test.yaml:5:28: acl.rules[1].identities[0]: is empty\n"
        "test.yaml:6:19: acl.rules[1].namespaces[0]: is empty: leave 'namespaces' out if all are "
        "meant\n"
        "test.yaml:6:23: acl.rules[1].namespaces[1]: namespace 'Bad' " LABELS
        "test.yaml:7:5: acl.rules[2].name: is required\n"
        "test.yaml:7:5: acl.rules[2].identities: is required\n"
        "test.yaml:7:5: acl.rules[2].actions: is required\n");
}

static void
rules_that_meet_nothing_are_told_of(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test, "acl: {rules: [\n"
              "  {name: a, identities: [x], actions: [ADMIN], namespaces: [com.acme]},\n"
              "  {name: b, identities: [x], actions: [PUBLISH], namespaces: [udpa.node]},\n"
              "  {name: c, identities: [x], actions: [SUBSCRIBE], types: ['a b', '*Cluster']},\n"
              "  {name: d, identities: [x], actions: [SUBSCRIBE, ADMIN], namespaces: [udpa.node, "
              "com.acme]}]}\n");
    bootstrap_test_tell(test);
    const char *said = udpai_strbuf_view(&test->mistakes).data;
    assert_non_null(strstr(said, "rules[0].namespaces[0]: the rule meets nothing by this: ADMIN"));
    assert_non_null(strstr(said, "rules[1].namespaces[0]: the rule meets nothing in udpa.node"));
    assert_non_null(strstr(said, "rules[2].types[0]: the rule meets no type by this"));
    assert_null(strstr(said, "types[1]"));
    assert_null(strstr(said, "rules[3]"));
}

static void
with_rules_and_certificates_it_may_listen_anywhere(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test, "acl: {rules: [{name: a, identities: [b], actions: [SUBSCRIBE]}]}\n"
              "sockets:\n"
              "- {address: '10.0.0.1:1', tls: {certificate_file: c, private_key_file: k,\n"
              "   client_ca_file: ca}}\n"
              "- {address: '10.0.0.1:2', tls: {certificate_file: c, private_key_file: k}}\n");
    bootstrap_test_tell(test);
    const char *told = udpai_strbuf_view(&test->mistakes).data;
    assert_null(strstr(told, "sockets[0].address"));
    assert_non_null(strstr(told, "sockets[1].address: '10.0.0.1:2' is beyond loopback"));
}

static void
written_files_are_no_secrets(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test, "write_files:\n"
              "  - {directory: a, types: [a.B, type.googleapis.com/a.B]}\n"
              "  - {directory: a, types: [envoy.extensions.transport_sockets.tls.v3.Secret, a.S]}\n"
              "  - {client: {node_id: x}}\n"
              "store: {secret_types: [a.S]}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:33: write_files[0].types[1]: 'a.B' is in the list before\n"
              "test.yaml:3:5: write_files[1]: write_files[0] has the same directory\n"
              "test.yaml:3:28: write_files[1].types[0]: secrets are not written into files, which "
              "are not encrypted\n"
              "test.yaml:3:78: write_files[1].types[1]: secrets are not written into files, which "
              "are not encrypted\n"
              "test.yaml:4:5: write_files[2].directory: is required\n");
}

static void
files_are_not_written_where_resources_are_read(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "write_files:\n"
                              "  - {directory: a/}\n"
                              "  - {directory: b}\n"
                              "  - {directory: a}\n"
                              "  - {directory: c}\n"
                              "static_resources:\n"
                              "  directories: [{path: d}, {path: b/}]\n"
                              "  config_sources:\n"
                              "    - {name: f, path: {path: c, authority: x}}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:5: write_files[1]: static_resources.directories[1] reads this "
              "directory: write into another one\n"
              "test.yaml:4:5: write_files[2]: write_files[0] has the same directory\n"
              "test.yaml:5:5: write_files[3]: static_resources.config_sources[0] reads this "
              "directory: write into another one\n");
}

static void
authorities_stand_for_one_namespace_each(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "authorities:\n"
                              "  - {name: a, namespace: com.acme/a}\n"
                              "  - {namespace: Bad}\n"
                              "  - {name: a, namespace: org.other}\n"
                              "  - {name: b}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:17: authorities[1].namespace: namespace 'Bad' " LABELS
              "test.yaml:4:5: authorities[2]: the authority 'a' is there already: it stands for "
              "one namespace\n"
              "test.yaml:5:5: authorities[3].namespace: is required\n");
}

static void
each_audience_says_whether_it_reads_errors(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "shim: {resource_errors: true}\n"
                              "audiences: [{name: a, resource_errors: true}]\n");
    bootstrap_test_assert_mistakes(test, "test.yaml:1:25: shim.resource_errors: has no effect "
                                         "beside audiences, each of which has its own\n");
}

static void
messages_have_room(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "limits:\n"
                              "  max_message_bytes_from_clients: 1\n"
                              "  max_message_bytes_from_sources: 4096\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:35: limits.max_message_bytes_from_clients: 1 is too small: hardly a "
              "message could come in; it must be at least 4096\n");
}

static void
times_are_long_enough_for_what_they_are_for(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "timing:\n"
                              "  connect_grace: -1s\n"
                              "  sync_timeout: 0s\n"
                              "  cycle_timeout: 0.0009s\n"
                              "  failBackDelay: 0s\n"
                              "  backoff_base: 0.019s\n"
                              "  backoff_max: 0s\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:18: timing.connect_grace: -1s is too short: it must be at least 0.001s\n"
              "test.yaml:3:17: timing.sync_timeout: 0s is too short: it must be at least 0.001s\n"
              "test.yaml:4:18: timing.cycle_timeout: 0.0009s is too short: it must be at least "
              "0.001s\n"
              "test.yaml:5:18: timing.fail_back_delay: 0s is too short: it must be at least "
              "0.001s\n"
              "test.yaml:6:17: timing.backoff_base: 0.019s is too short: it must be at least "
              "0.02s\n"
              "test.yaml:7:16: timing.backoff_max: 0s is too short: it must be at least 0.02s\n");
}

static void
times_stand_in_their_order(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "timing:\n"
                              "  cycle_timeout: 1s\n"
                              "  backoff_base: 30s\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:18: timing.cycle_timeout: cycle_timeout, 1s, must be above "
              "sync_timeout, 15s\n"
              "test.yaml:3:17: timing.backoff_base: backoff_max, 15s, must be at least "
              "backoff_base, 30s\n");
}

static void
shortest_times_are_taken(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "timing: {sync_timeout: 0.001s, cycle_timeout: 0.002s,\n"
                              "         backoff_base: 0.02s, backoff_max: 0.02s}\n");
    bootstrap_test_assert_mistakes(test, "");
}

/* What is wrong with the text hides nothing that is wrong elsewhere, and makes up nothing. */
static void
mistakes_of_all_kinds_are_told_at_once(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test,
                        "sockets:\n"
                        "  - 7\n"
                        "  - {adress: '127.0.0.1:1'}\n"
                        "  - {address: '10.0.0.1:1', tls: {certificate_file: [x]}}\n"
                        "timing: {backoff_base: 0s}\n"
                        "static_resources: {config_sources: [{nmae: a, path: {path: x}}]}\n"
                        "providers: [{config_descriptors: [{resource_name: a, mode: ON_DEMAND}]},\n"
                        "            {}]\n"
                        "static: 1\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:2:5: sockets[0]: this is a number, but must be a map of fields\n"
        "test.yaml:3:6: sockets[1]: unknown field 'adress'; did you mean 'address'?\n"
        "test.yaml:4:15: sockets[2].address: '10.0.0.1:1' is beyond loopback, where every peer may "
        "publish and subscribe to everything: listen on 127.0.0.1, have a section 'acl' and client "
        "certificates (tls.client_ca_file), or write 'insecure: true'\n"
        "test.yaml:4:53: sockets[2].tls.certificate_file: this is a list, but must be a string, "
        "in quotes\n"
        "test.yaml:5:24: timing.backoff_base: 0s is too short: it must be at least 0.02s\n"
        "test.yaml:6:38: static_resources.config_sources[0]: unknown field 'nmae'; did you mean "
        "'name'?\n"
        "test.yaml:8:13: providers[1]: only one provider may stand for all types: name the types "
        "of this one\n"
        "test.yaml:8:13: providers[1]: has no config_descriptors: name the sources of its "
        "resources\n"
        "test.yaml:9:1: unknown field 'static'\n");
}

static void
what_is_no_document_is_told_once(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "node: {id: [\n");
    assert_int_equal(test->err, UDPA_ERR_INVAL);
    assert_null(test->bootstrap.message);
    bootstrap_test_tell(test);
    assert_non_null(strstr(test->mistakes.data, "test.yaml:"));
    assert_ptr_equal(strchr(test->mistakes.data, '\n'),
                     test->mistakes.data + test->mistakes.len - 1);
}

static void
comments_alone_are_every_default(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "# node: {id: x}\n");
    bootstrap_test_assert_mistakes(test, "");
    assert_non_null(test->bootstrap.message);
    assert_null(test->bootstrap.message->node);
}

static void
two_documents_are_a_mistake(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "node: {id: x}\n---\nnode: {id: y}\n");
    assert_int_equal(test->err, UDPA_ERR_INVAL);
    bootstrap_test_assert_mistakes(test, "test.yaml:1:1: 2 documents, where one is expected\n");
}

static void
a_file_that_is_not_there_is_an_error(void **state)
{
    bootstrap_test *test = *state;
    assert_int_equal(udpai_bootstrap_read(&test->bootstrap, test->schema, "/proc/no/x.yaml",
                                          &test->diagnostics, &test->error),
                     UDPA_ERR_IO);
    assert_string_equal(udpa_error_message(test->error),
                        "cannot read /proc/no/x.yaml: No such file or directory");
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(rules_that_meet_nothing_are_told_of),
        CASE(nothing_is_every_default),
        CASE(a_whole_file_is_read),
        CASE(an_unknown_key_is_a_mistake_with_a_suggestion),
        CASE(what_names_something_must_find_it),
        CASE(sources_need_a_name_of_their_own_and_a_kind),
        CASE(an_xds_source_needs_an_authority_and_a_service_that_there_is),
        CASE(a_server_that_is_asked_for_each_client_is_told_no_load),
        CASE(sockets_beyond_loopback_must_be_asked_for),
        CASE(load_is_not_reported_all_the_time),
        CASE(load_is_not_reported_almost_never),
        CASE(load_is_not_reported_before_the_last_time),
        CASE(load_may_be_reported_often),
        CASE(what_clients_report_is_no_configuration),
        CASE(sockets_of_http_are_sockets),
        CASE(an_address_is_one_to_listen_on),
        CASE(an_address_is_one_to_dial),
        CASE(keys_and_certificates_come_together),
        CASE(a_type_has_one_provider),
        CASE(types_are_written_in_full),
        CASE(a_mirror_of_everything_must_list_it),
        CASE(names_are_valid_and_not_reserved),
        CASE(audiences_can_be_told_apart),
        CASE(rules_say_whom_they_are_for_and_what_they_allow),
        CASE(with_rules_and_certificates_it_may_listen_anywhere),
        CASE(authorities_stand_for_one_namespace_each),
        CASE(each_audience_says_whether_it_reads_errors),
        CASE(messages_have_room),
        CASE(written_files_are_no_secrets),
        CASE(files_are_not_written_where_resources_are_read),
        CASE(times_are_long_enough_for_what_they_are_for),
        CASE(times_stand_in_their_order),
        CASE(shortest_times_are_taken),
        CASE(mistakes_of_all_kinds_are_told_at_once),
        CASE(what_is_no_document_is_told_once),
        CASE(comments_alone_are_every_default),
        CASE(two_documents_are_a_mistake),
        CASE(a_file_that_is_not_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
