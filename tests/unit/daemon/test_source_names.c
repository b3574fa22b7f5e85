/* SPDX-License-Identifier: Apache-2.0 */
/* What a bootstrap file is taken for, and what its names could have meant. */
#include <stdio.h>

#include "tests/unit/daemon/bootstrap_test.h"

static void
a_misspelt_source_has_a_suggestion(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test, "static_resources:\n"
              "  config_sources: [{name: core, udpa: {address: 'localhost:1'}}]\n"
              "providers: [{configDescriptors: [{resourceName: cor, mode: ON_DEMAND}]}]\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:49: providers[0].config_descriptors[0].resource_name: there is no "
              "ConfigSource 'cor' in static_resources.config_sources; did you mean 'core'?\n");
}

static void
one_that_is_near_none_gets_the_list(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test, "static_resources:\n"
              "  config_sources:\n"
              "    - {name: core, udpa: {address: 'localhost:1'}}\n"
              "    - {name: spare, udpa: {address: 'localhost:2'}}\n"
              "providers: [{configDescriptors: [{resourceName: upstream, mode: ON_DEMAND}]}]\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:5:49: providers[0].config_descriptors[0].resource_name: there is no "
              "ConfigSource 'upstream' in static_resources.config_sources; there are 'core' and "
              "'spare'\n");
}

static void
a_key_that_left_its_section_is_led_back(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "shim: {warm_timeout: 5s}\n"
                              "limits:\n"
                              "max_streams: 10\n"
                              "seconds: 5\n"
                              "node:\n"
                              "  limits: {}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:1: unknown field 'max_streams'; 'limits' in line 2 has one: does it "
              "belong there?\n"
              "test.yaml:4:1: unknown field 'seconds'\n"
              "test.yaml:6:3: node: unknown field 'limits'\n");
}

static void
a_key_that_left_its_item_is_led_back(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "sockets:\n"
                              "- address: 127.0.0.1:0\n"
                              "tls: {}\n");
    bootstrap_test_assert_mistakes(test, "test.yaml:3:1: unknown field 'tls'; an item of 'sockets' "
                                         "in line 1 has one: does it belong there?\n");
}

static void
a_wrong_indentation_is_found_in_its_line(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "node:\n"
                              "  id: edge\n"
                              "   cluster: edges\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:4: this line is indented by 3 spaces, its neighbours by 2: line 2\n");
}

static void
the_bootstrap_of_an_envoy_is_recognized(void **state)
{
    static const char words[] = "this is the bootstrap of an Envoy, not of udpad: give udpad a "
                                "file of its own, see udpad.conf(5)\n";

    static const struct {
        const char *text, *place;
    } files[] = {
        {"node: {id: x, cluster: y}\nadmin: {access_log_path: /dev/null}\n",
         "2:26: admin.access_log_path: "},
        {"admin:\n  address: {socket_address: {}}\n", "2:12: admin.address: "},
        {"dynamic_resources: {}\nnode: {id: x}\n", "1:20: dynamic_resources: "},
        {"layeredRuntime: {}\n", "1:17: layered_runtime: "},
        {"static_resources:\n  clusters: []\n", "2:13: static_resources.clusters: "},
        {"staticResources:\n  listeners: []\n", "2:14: static_resources.listeners: "},
    };

    bootstrap_test *test = *state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(files); i++) {
        char wanted[256];
        snprintf(wanted, sizeof(wanted), "test.yaml:%s%s", files[i].place, words);
        bootstrap_test_read(test, files[i].text);
        bootstrap_test_assert_mistakes(test, wanted);
        assert_ok(bootstrap_test_teardown(state));
        assert_ok(bootstrap_test_setup(state));
        test = *state;
    }
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_misspelt_source_has_a_suggestion),
        CASE(one_that_is_near_none_gets_the_list),
        CASE(a_key_that_left_its_section_is_led_back),
        CASE(a_key_that_left_its_item_is_led_back),
        CASE(a_wrong_indentation_is_found_in_its_line),
        CASE(the_bootstrap_of_an_envoy_is_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
