/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that come by resources, and what names them. */
#include "tests/unit/daemon/bootstrap_test.h"

static void
it_says_whose(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "dynamic_sources: {max: 1025}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:18: dynamic_sources.authorities: is required: whose resources shall "
              "become sources? \"*\" is every authority's\n"
              "test.yaml:1:24: dynamic_sources.max: 1025 is too many: at most 1024\n");
}

static void
lists_have_no_empty_words(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "dynamic_sources:\n"
                              "  authorities: [x, '']\n"
                              "  namespaces: [com.acme, '', Com]\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:2:20: dynamic_sources.authorities[1]: is empty\n"
        "test.yaml:3:26: dynamic_sources.namespaces[1]: is empty: leave 'namespaces' out if all "
        "are meant\n"
        "test.yaml:3:30: dynamic_sources.namespaces[2]: namespace 'Com' must be labels of a-z, "
        "0-9 and '-' with dots between, such as com.acme\n");
}

static void
credentials_are_whole(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "dynamic_sources:\n"
                              "  authorities: [x]\n"
                              "  credentials:\n"
                              "  - {name: a, tls: {ca_file: ca.pem}}\n"
                              "  - {name: a}\n"
                              "  - {tls: {ca_file: ca.pem, certificate_file: c.pem}}\n"
                              "  - {name: b, tls: {certificate_file: c, private_key_file: k}}\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:5:5: dynamic_sources.credentials[1].tls: is required\n"
        "test.yaml:5:12: dynamic_sources.credentials[1].name: 'a' is the name of another "
        "credential already\n"
        "test.yaml:6:5: dynamic_sources.credentials[2].name: is required\n"
        "test.yaml:6:47: dynamic_sources.credentials[2].tls.certificate_file: certificate_file and "
        "private_key_file come together: the other one is missing\n"
        "test.yaml:7:20: dynamic_sources.credentials[3].tls.ca_file: is required\n");
}

static void
sources_of_the_file_have_tls_of_their_own(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test,
                        "static_resources: {config_sources: [\n"
                        "  {name: a, udpa: {address: 'a:1'}, credential: c}]}\n"
                        "providers: [{types: [t.A], config_descriptors: [\n"
                        "  {config_source: {name: b, udpa: {address: 'b:1'}, credential: c}}]}]\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:49: static_resources.config_sources[0].credential: is for ConfigSources "
              "that are resources: write 'tls' here\n"
              "test.yaml:4:65: providers[0].config_descriptors[0].config_source.credential: is for "
              "ConfigSources that are resources: write 'tls' here\n");
}

#define NAMES_D "providers: [{types: [t.A], config_descriptors: [{resource_name: d}]}]\n"

static void
what_is_not_there_may_come(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, NAMES_D "dynamic_sources: {authorities: [x]}\n");
    bootstrap_test_assert_mistakes(
        test, "warning: test.yaml:1:65: providers[0].config_descriptors[0].resource_name: there is "
              "no ConfigSource 'd' in static_resources.config_sources: until a resource defines "
              "it, nothing is received from it\n");
}

static void
without_the_section_it_is_a_mistake(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, NAMES_D);
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:65: providers[0].config_descriptors[0].resource_name: there is no "
              "ConfigSource 'd' in static_resources.config_sources\n");
}

#define daemon_test(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        daemon_test(it_says_whose),
        daemon_test(lists_have_no_empty_words),
        daemon_test(credentials_are_whole),
        daemon_test(sources_of_the_file_have_tls_of_their_own),
        daemon_test(what_is_not_there_may_come),
        daemon_test(without_the_section_it_is_a_mistake),
    };
    return cmocka_run_group_tests_name("section_dynamic_sources", tests, NULL, NULL);
}
