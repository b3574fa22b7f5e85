/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line may say. */
#include "daemon/options_check.h"
#include "tests/unit/daemon/bootstrap_test.h"

static void
check(bootstrap_test *test, const char *text, const udpai_options *options)
{
    bootstrap_test_read(test, text);
    assert_ok(test->err);
    udpai_options_check(options, test->bootstrap.message, &test->diagnostics);
}

static void
good_words_are_taken(void **state)
{
    bootstrap_test *test = *state;
    check(test, "",
          &(udpai_options){.listen = "127.0.0.1:0",
                           .name_space = "com.acme",
                           .node_id = "edge-1",
                           .transport = "OWN",
                           .log_level = "INFO"});
    bootstrap_test_assert_mistakes(test, "");
}

static void
every_bad_word_is_told(void **state)
{
    bootstrap_test *test = *state;
    check(test, "",
          &(udpai_options){.listen = "foo",
                           .name_space = "Bad_NS",
                           .node_id = "\x01",
                           .transport = "tcp",
                           .log_level = "loud"});
    bootstrap_test_assert_mistakes(
        test, "udpad: --listen: 'foo' is no address to listen on: write ADDRESS:PORT, such as "
              "127.0.0.1:18000 or [::1]:18000\n"
              "udpad: --namespace: namespace 'Bad_NS' must be labels of a-z, 0-9 and '-' with dots "
              "between, such as com.acme\n"
              "udpad: --node-id: ' ' is no id of a node: it has control characters\n"
              "udpad: --transport: 'tcp' must be own or grpc_core\n"
              "udpad: --log-level: 'loud' must be debug, info, warning or error\n");
}

static void
what_is_no_address_is_not_called_beyond_loopback(void **state)
{
    static const char *const addresses[] = {"foo", ":80", "unix:/tmp/x", "::1:80", "127.0.0.1"};
    bootstrap_test *test = *state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(addresses); i++) {
        udpai_diagnostics_done(&test->diagnostics);
        udpai_options_check(&(udpai_options){.listen = addresses[i]},
                            &(Udpa__Config__V1__Bootstrap)UDPA__CONFIG__V1__BOOTSTRAP__INIT,
                            &test->diagnostics);
        bootstrap_test_tell(test);
        assert_non_null(strstr(test->mistakes.data, "' is no address to listen on: write"));
        assert_null(strstr(test->mistakes.data, "beyond"));
    }
}

#define TLS_SOCKET                                                                                 \
    "node: {id: x}\n"                                                                              \
    "sockets: [{address: '127.0.0.1:1', tls: {certificate_file: c, private_key_file: k}}]\n"

static void
beyond_loopback_is_refused_whatever_the_file_has(void **state)
{
    bootstrap_test *test = *state;
    check(test, TLS_SOCKET, &(udpai_options){.listen = "0.0.0.0:18000"});
    bootstrap_test_assert_mistakes(
        test,
        "udpad: --listen 0.0.0.0:18000 is beyond loopback, and --listen is always without TLS, so "
        "that every peer could connect: listen on 127.0.0.1, or write the address into 'sockets' "
        "of a bootstrap file, with certificates\n");
}

static void
certificates_are_not_dropped_in_silence(void **state)
{
    bootstrap_test *test = *state;
    check(test, TLS_SOCKET, &(udpai_options){.listen = "127.0.0.1:2"});
    assert_int_equal(test->diagnostics.n_errors, 0);
    bootstrap_test_assert_mistakes(
        test, "warning: test.yaml:2:10: sockets: --listen 127.0.0.1:2 takes the place of these, "
              "and is without TLS: every local client may connect\n");
}

static void
http_is_looked_at_as_listen_is(void **state)
{
    bootstrap_test *test = *state;
    check(test,
          "http: {sockets: [{address: '127.0.0.1:1', tls: {certificate_file: c, private_key_file: "
          "k}}]}\n",
          &(udpai_options){.http = "127.0.0.1:2"});
    assert_int_equal(test->diagnostics.n_errors, 0);
    bootstrap_test_assert_mistakes(
        test, "warning: test.yaml:1:17: http.sockets: --http 127.0.0.1:2 takes the place of these, "
              "and is without TLS: every local client may connect\n");
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(good_words_are_taken),
        CASE(every_bad_word_is_told),
        CASE(what_is_no_address_is_not_called_beyond_loopback),
        CASE(beyond_loopback_is_refused_whatever_the_file_has),
        CASE(certificates_are_not_dropped_in_silence),
        CASE(http_is_looked_at_as_listen_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
