/* SPDX-License-Identifier: Apache-2.0 */
/* Files and directories that a start would miss. What is wrong in certificates: tests/product. */
#include "daemon/bootstrap_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/daemon/bootstrap_test.h"

static void
check(bootstrap_test *test, const char *text, const udpai_options *options)
{
    bootstrap_test_read(test, text);
    assert_ok(test->err);
    udpai_bootstrap_check_files(test->bootstrap.message, options, &test->diagnostics);
}

#define NONE ": No such file or directory\n"

static void
every_file_that_is_not_there_has_its_place(void **state)
{
    bootstrap_test *test = *state;
    check(test,
          "sockets:\n"
          "  - address: 127.0.0.1:1\n"
          "    tls: {certificate_file: /proc/no/a, private_key_file: /proc/no/b,\n"
          "          client_ca_file: /proc/no/c}\n"
          "static_resources:\n"
          "  directories: [{path: /proc/no/d}]\n"
          "  config_sources:\n"
          "    - {name: x, udpa: {address: 'x:1', tls: {ca_file: /proc/no/e}}}\n"
          "    - {name: y, path: {path: /proc/no/f}}\n"
          "providers:\n"
          "  - types: [a.B]\n"
          "    config_descriptors: [{config_source: {name: z, path: {path: /proc/no/g}}}]\n"
          "dial: [{name: x, address: 'x:1', tls: {ca_file: /proc/no/h}}]\n"
          "store: {directory: /proc/no/i/j, keys: [{file: /proc/no/k}]}\n",
          &(udpai_options){0});
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:3:29: sockets[0].tls.certificate_file: /proc/no/a: cannot be opened" NONE
        "test.yaml:3:59: sockets[0].tls.private_key_file: /proc/no/b: cannot be opened" NONE
        "test.yaml:4:27: sockets[0].tls.client_ca_file: /proc/no/c: cannot be opened" NONE
        "test.yaml:6:24: static_resources.directories[0].path: /proc/no/d: cannot be read" NONE
        "test.yaml:8:55: static_resources.config_sources[0].udpa.tls.ca_file: /proc/no/e: cannot "
        "be opened" NONE
        "test.yaml:9:30: static_resources.config_sources[1].path.path: /proc/no/f: cannot be "
        "read" NONE
        "test.yaml:12:65: providers[0].config_descriptors[0].config_source.path.path: /proc/no/g: "
        "cannot be read" NONE
        "test.yaml:13:49: dial[0].tls.ca_file: /proc/no/h: cannot be opened" NONE
        "test.yaml:14:20: store.directory: /proc/no/i/j: is not there, and cannot be made" NONE
        "test.yaml:14:48: store.keys[0].file: cannot open key file /proc/no/k" NONE);
}

static void
a_revocation_list_goes_with_authorities(void **state)
{
    bootstrap_test *test = *state;
    check(test,
          "sockets:\n"
          "  - address: 127.0.0.1:1\n"
          "    tls: {certificate_file: /proc/no/a, private_key_file: /proc/no/b,\n"
          "          crl_file: /proc/no/c}\n"
          "dial: [{name: x, address: 'x:1', tls: {ca_file: /proc/no/d, crl_file: /proc/no/e}}]\n",
          &(udpai_options){0});
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:3:29: sockets[0].tls.certificate_file: /proc/no/a: cannot be opened" NONE
        "test.yaml:3:59: sockets[0].tls.private_key_file: /proc/no/b: cannot be opened" NONE
        "test.yaml:4:21: sockets[0].tls.crl_file: revocation lists go with the authorities that "
        "issue them: client_ca_file is missing\n"
        "test.yaml:4:21: sockets[0].tls.crl_file: /proc/no/c: cannot be opened" NONE
        "test.yaml:5:49: dial[0].tls.ca_file: /proc/no/d: cannot be opened" NONE
        "test.yaml:5:71: dial[0].tls.crl_file: /proc/no/e: cannot be opened" NONE);
}

static void
what_the_command_line_puts_aside_is_not_looked_at(void **state)
{
    bootstrap_test *test = *state;
    check(test,
          "sockets: [{address: '127.0.0.1:1', tls: {certificate_file: /proc/no/a, "
          "private_key_file: /proc/no/b}}]\n"
          "store: {directory: /proc/no/c/d}\n",
          &(udpai_options){
              .listen = "127.0.0.1:2", .state = "/proc/no/e/f", .resources = "/proc/no/g"});
    bootstrap_test_assert_mistakes(
        test, "udpad: --resources: /proc/no/g: cannot be read" NONE
              "udpad: --state: /proc/no/e/f: is not there, and cannot be made" NONE);
}

static void
what_is_relative_says_to_what(void **state)
{
    bootstrap_test *test = *state;
    char here[4096];
    assert_non_null(getcwd(here, sizeof(here)));
    check(test, "static_resources: {directories: [{path: udpa-nowhere}]}\n",
          &(udpai_options){.state = "/tmp"});
    bootstrap_test_tell(test);
    assert_non_null(strstr(test->mistakes.data,
                           "udpa-nowhere: cannot be read: No such file or directory; relative "
                           "paths begin in "));
    assert_non_null(strstr(test->mistakes.data, here));
}

static void
a_file_is_no_directory(void **state)
{
    bootstrap_test *test = *state;
    check(test,
          "static_resources: {directories: [{path: /dev/null}, {path: /tmp}]}\n"
          "store: {directory: /dev/null}\n",
          &(udpai_options){0});
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:41: static_resources.directories[0].path: /dev/null: cannot be read: "
              "Not a directory\n"
              "test.yaml:2:20: store.directory: /dev/null: is no directory\n");
}

/* Where permissions promise what the file system does not do, if root asks. */
static void
the_state_directory_is_tried(void **state)
{
    static const struct {
        const char *text, *words;
    } wrong[] = {
        {"store: {directory: /proc/self}\n", "/proc/self: cannot be written to: "},
        {"store: {directory: /proc/udpa-state}\n",
         "/proc/udpa-state: is not there, and cannot be made: "},
    };

    bootstrap_test *test = *state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrong); i++) {
        check(test, wrong[i].text, &(udpai_options){0});
        bootstrap_test_tell(test);
        assert_non_null(test->mistakes.data);
        assert_non_null(strstr(test->mistakes.data, wrong[i].words));
        assert_ok(bootstrap_test_teardown(state));
        assert_ok(bootstrap_test_setup(state));
        test = *state;
    }
}

static void
what_a_replica_reads_has_its_place(void **state)
{
    bootstrap_test *test = *state;
    check(test,
          "store: {engine: ETCD, endpoints: ['a:1'], tls: {ca_file: /proc/no/a},\n"
          "        user: u, password_file: /proc/no/b, directory: /proc/no/c/d}\n",
          &(udpai_options){0});
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:58: store.tls.ca_file: /proc/no/a: cannot be opened" NONE
              "test.yaml:2:33: store.password_file: cannot open password file /proc/no/b" NONE
              "test.yaml:2:56: store.directory: /proc/no/c/d: is not there, and cannot be "
              "made" NONE);
}

static void
the_try_leaves_nothing(void **state)
{
    bootstrap_test *test = *state;
    char directory[] = "/tmp/udpa-state-XXXXXX", text[64];
    assert_non_null(mkdtemp(directory));
    snprintf(text, sizeof(text), "store: {directory: %s}\n", directory);
    check(test, text, &(udpai_options){0});
    bootstrap_test_assert_mistakes(test, "");
    assert_int_equal(rmdir(directory), 0); /* it is empty */
}

static void
data_in_memory_need_no_directory(void **state)
{
    bootstrap_test *test = *state;
    check(test, "store: {in_memory: true}\n", &(udpai_options){0});
    bootstrap_test_assert_mistakes(test, "");
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_file_that_is_not_there_has_its_place),
        CASE(a_revocation_list_goes_with_authorities),
        CASE(what_the_command_line_puts_aside_is_not_looked_at),
        CASE(what_is_relative_says_to_what),
        CASE(a_file_is_no_directory),
        CASE(the_state_directory_is_tried),
        CASE(what_a_replica_reads_has_its_place),
        CASE(the_try_leaves_nothing),
        CASE(data_in_memory_need_no_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
