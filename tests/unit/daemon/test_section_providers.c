/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong between sources, providers, sockets and delegations, each of which may be right by
 * itself. */
#include "tests/unit/daemon/bootstrap_test.h"

#define SOURCES                                                                                    \
    "static_resources: {config_sources: [\n"                                                       \
    "  {name: a, udpa: {address: 'a:1'}}, {name: b, udpa: {address: 'b:1'}},\n"                    \
    "  {name: x, xds: {address: 'x:1', authority: old, namespace: com.acme}},\n"                   \
    "  {name: y, rest: {address: 'y:1', authority: old, namespace: com.acme}}]}\n"

static void
two_descriptors_must_not_claim_the_same(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, SOURCES
                        "providers:\n"
                        "- types: [t.A]\n"
                        "  config_descriptors:\n"
                        "  - {resource_name: a, namespace: com.acme, continuation: CONTINUE}\n"
                        "  - {resource_name: b, continuation: CONTINUE}\n"
                        "  - {resource_name: a, namespace: com.acme}\n"
                        "- types: [t.B]\n"
                        "  config_descriptors:\n"
                        "  - {resource_name: a, namespace: com.acme, continuation: CONTINUE}\n"
                        "  - {resource_name: a, namespace: com.acme.shop}\n"
                        "  - {resource_name: a, namespace: com.other}\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:10:5: providers[0].config_descriptors[2]: claims the same as "
        "config_descriptors[0]: the same source, and the same namespace\n"
        "warning: test.yaml:14:5: providers[1].config_descriptors[1]: adds nothing to "
        "config_descriptors[0], which has the same source and a namespace that covers this one\n"
        "test.yaml:15:5: providers[1].config_descriptors[2]: is never asked for anything: it has "
        "the source of config_descriptors[1], and that has STOP_ON_SUCCESS; write CONTINUE "
        "there\n");
}

static void
a_stand_in_has_what_it_stands_in_for(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, SOURCES "providers:\n"
                                      "- types: [t.A]\n"
                                      "  config_descriptors:\n"
                                      "  - {resource_name: a, namespace: com.acme}\n"
                                      "  - {resource_name: b, namespace: org.blah}\n");
    bootstrap_test_assert_mistakes(
        test, "warning: test.yaml:9:5: providers[0].config_descriptors[1]: is a standby of "
              "config_descriptors[0], which has STOP_ON_SUCCESS, but has another namespace "
              "('org.blah', not 'com.acme'): to have both, write CONTINUE there\n");
}

static void
one_authority_has_one_mouth(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, SOURCES "providers:\n"
                                      "- types: [envoy.config.cluster.v3.Cluster]\n"
                                      "  config_descriptors:\n"
                                      "  - {resource_name: x, continuation: CONTINUE}\n"
                                      "  - {resource_name: y}\n");
    bootstrap_test_assert_mistakes(
        test,
        "warning: test.yaml:9:5: providers[0].config_descriptors[1]: publishes '(all)' as "
        "authority 'old', as config_descriptors[0] does beside it: give each source an authority "
        "of its own, or write STOP_ON_SUCCESS there if one is a standby of the other\n");
}

static void
a_server_has_names_in_its_own_namespace(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, SOURCES
                        "providers:\n"
                        "- types: [envoy.config.cluster.v3.Cluster]\n"
                        "  config_descriptors:\n"
                        "  - {resource_name: x, namespace: com.other, continuation: CONTINUE}\n"
                        "  - {resource_name: x, namespace: com.acme/blue}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:8:35: providers[0].config_descriptors[0].namespace: nothing can be taken "
              "from its source: all its names are in 'com.acme'\n");
}

static void
providers_agree_on_an_order(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, SOURCES
                        "providers:\n"
                        "- types: [t.A]\n"
                        "  config_descriptors:\n"
                        "  - {resource_name: a, continuation: CONTINUE}\n"
                        "  - {resource_name: b}\n"
                        "- types: [t.B]\n"
                        "  config_descriptors:\n"
                        "  - {resource_name: b, continuation: CONTINUE}\n"
                        "  - {resource_name: a}\n"
                        "- types: [t.C]\n" /* each type may have another one that stands in */
                        "  config_descriptors:\n"
                        "  - {resource_name: b}\n"
                        "  - {resource_name: a}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:13:5: providers[1].config_descriptors[1]: contradicts providers[0], where "
              "'a' is before 'b': of what both have, one order applies to all types\n");
}

static void
a_slip_of_the_pen_is_told(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, SOURCES
                        "providers:\n"
                        "- types: [t.A]\n"
                        "  config_descriptors:\n"
                        "  - {resource_name: a, namespace: com.amce, continuation: CONTINUE}\n"
                        "  - {resource_name: b, namespace: com.somebody, continuation: CONTINUE}\n"
                        "  - {resource_name: b, namespace: com.acme.shop}\n");
    bootstrap_test_assert_mistakes(
        test,
        "warning: test.yaml:8:35: providers[0].config_descriptors[0].namespace: 'com.amce' is "
        "mentioned nowhere else: is 'com.acme' meant?\n");
}

static void
a_source_is_not_the_node_itself(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test, "node: {id: me}\n"
              "sockets: [{address: '127.0.0.1:100'}, {address: '0.0.0.0:200', insecure: true},\n"
              "  {address: '127.0.0.1:0'}]\n"
              "http: {sockets: [{address: '127.0.0.1:300'}]}\n"
              "dial: [{name: d, address: '127.0.0.1:100'}]\n"
              "static_resources: {config_sources: [\n"
              "  {name: a, udpa: {address: 'localhost:100'}},\n"
              "  {name: b, xds: {address: '127.0.0.1:200', authority: x}},\n"
              "  {name: c, rest: {address: 'localhost:300', authority: x}},\n"
              "  {name: d, udpa_listen: {peer: me}},\n"
              "  {name: e, udpa: {address: '127.0.0.1:300'}},\n" /* that is HTTP */
              "  {name: f, udpa: {address: 'other.example.com:100'}},\n"
              "  {name: g, udpa: {address: '127.0.0.1:101'}}]}\n"
              "providers: [{types: [t.A], config_descriptors: [\n"
              "  {config_source: {name: h, udpa: {address: '127.0.0.1:100'}}}]}]\n");
#define ITSELF "is this node itself: it listens there by "
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:5:27: dial[0].address: '127.0.0.1:100' " ITSELF "sockets[0]\n"
        "test.yaml:7:29: static_resources.config_sources[0].udpa.address: 'localhost:100' " ITSELF
        "sockets[0]\n"
        "test.yaml:8:28: static_resources.config_sources[1].xds.address: '127.0.0.1:200' " ITSELF
        "sockets[1]\n"
        "test.yaml:9:29: static_resources.config_sources[2].rest.address: 'localhost:300' " ITSELF
        "http.sockets[0]\n"
        "test.yaml:10:33: static_resources.config_sources[3].udpa_listen.peer: 'me' is this node "
        "itself: it is its node.id\n"
        "test.yaml:15:45: providers[0].config_descriptors[0].config_source.udpa.address: "
        "'127.0.0.1:100' " ITSELF "sockets[0]\n");
}

static void
delegations_say_whose(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "delegation: {}\n");
    bootstrap_test_assert_mistakes(test,
                                   "test.yaml:1:13: delegation.authorities: is required: whose "
                                   "delegations shall be followed? \"*\" is every authority\n");
}

static void
delegations_are_of_namespaces(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "delegation:\n"
                              "  authorities: [x, '']\n"
                              "  namespaces: [com.acme, '', Com]\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:20: delegation.authorities[1]: is empty\n"
              "test.yaml:3:26: delegation.namespaces[1]: is empty: leave 'namespaces' out if all "
              "are meant\n"
              "test.yaml:3:30: delegation.namespaces[2]: namespace 'Com' must be labels of a-z, "
              "0-9 and '-' with dots between, such as com.acme\n");
}

#define daemon_test(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        daemon_test(two_descriptors_must_not_claim_the_same),
        daemon_test(a_stand_in_has_what_it_stands_in_for),
        daemon_test(one_authority_has_one_mouth),
        daemon_test(a_server_has_names_in_its_own_namespace),
        daemon_test(providers_agree_on_an_order),
        daemon_test(a_slip_of_the_pen_is_told),
        daemon_test(a_source_is_not_the_node_itself),
        daemon_test(delegations_say_whose),
        daemon_test(delegations_are_of_namespaces),
    };
    return cmocka_run_group_tests_name("section_providers", tests, NULL, NULL);
}
