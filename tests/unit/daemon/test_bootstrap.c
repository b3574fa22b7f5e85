/* SPDX-License-Identifier: Apache-2.0 */
/* Every mistake of a bootstrap file is told, with its place. */
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
                              "      - resourceName: nowhere\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:23: providers[0].config_descriptors[0].resource_name: there is no "
              "ConfigSource 'nowhere' in static_resources.config_sources\n");
}

static void
sources_need_a_name_of_their_own_and_a_kind(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "static_resources:\n"
                              "  config_sources:\n"
                              "    - {name: a, udpa: {address: ''}}\n"
                              "    - {name: a, path: {path: x}}\n"
                              "    - {name: b}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:33: static_resources.config_sources[0].udpa.address: is required\n"
              "test.yaml:4:7: static_resources.config_sources[1]: 'a' is the name of another "
              "ConfigSource already\n"
              "test.yaml:5:7: static_resources.config_sources[2]: needs one of udpa, udpa_listen, "
              "path\n");
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
        "peer may publish and subscribe to everything: listen on 127.0.0.1, or say 'insecure: "
        "true'\n");
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
what_is_no_document_is_told_once(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "node: {id: [\n");
    assert_int_equal(test->err, UDPA_ERR_INVAL);
    assert_non_null(strstr(test->mistakes.data, "test.yaml:"));
    assert_ptr_equal(strchr(test->mistakes.data, '\n'),
                     test->mistakes.data + test->mistakes.len - 1);
}

static void
a_file_that_is_not_there_is_an_error(void **state)
{
    bootstrap_test *test = *state;
    assert_int_equal(udpai_bootstrap_read(&test->bootstrap, test->schema, "/nowhere/x.yaml", NULL,
                                          NULL, &test->error),
                     UDPA_ERR_IO);
    assert_string_equal(udpa_error_message(test->error),
                        "cannot read /nowhere/x.yaml: No such file or directory");
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nothing_is_every_default),
        CASE(a_whole_file_is_read),
        CASE(an_unknown_key_is_a_mistake_with_a_suggestion),
        CASE(what_names_something_must_find_it),
        CASE(sources_need_a_name_of_their_own_and_a_kind),
        CASE(sockets_beyond_loopback_must_be_asked_for),
        CASE(keys_and_certificates_come_together),
        CASE(a_type_has_one_provider),
        CASE(what_is_no_document_is_told_once),
        CASE(a_file_that_is_not_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
