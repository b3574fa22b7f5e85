/* SPDX-License-Identifier: Apache-2.0 */
/* What HTTP has of its own: hosts, and how long a request is held; and what sockets of gRPC have.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "daemon/bootstrap_check.h"
#include "daemon/plan.h"
#include "tests/unit/daemon/bootstrap_test.h"

#define NO_HOST                                                                                    \
    "is no name of a host: write it in small letters, without a scheme and a port, such as "       \
    "udpa.acme.com or *.acme.com\n"

static void
hosts_are_names_without_ports(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "http:\n"
                              "  hosts:\n"
                              "  - 'udpa.acme.com:80'\n"
                              "  - '*.acme.com'\n"
                              "  - Acme.com\n"
                              "  - ''\n");
    bootstrap_test_assert_mistakes(test, "test.yaml:3:5: http.hosts[0]: 'udpa.acme.com:80' " NO_HOST
                                         "test.yaml:5:5: http.hosts[2]: 'Acme.com' " NO_HOST
                                         "test.yaml:6:5: http.hosts[3]: '' " NO_HOST);
}

static void
a_request_is_held_an_hour_at_most(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "http: {hold: 3600.5s}\n");
    bootstrap_test_assert_mistakes(test,
                                   "test.yaml:1:14: http.hold: must lie between 0 s and 3600 s\n");
}

/* 0 would be the default. */
static void
a_request_need_not_be_held(void **state)
{
    bootstrap_test *test = *state;
    udpai_plan *plan = udpai_alloc(sizeof(*plan));
    assert_non_null(plan);
    bootstrap_test_read(test, "http: {hold: 0s}\n");
    bootstrap_test_assert_mistakes(test, "");
    assert_ok(udpai_plan_make(plan, &test->bootstrap, &(udpai_options){0}, NULL));
    assert_int_equal(plan->http_limits.hold_ms, 1);
    udpai_plan_done(plan);
    udpai_free(plan);
}

static void
proxies_are_networks(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "transport: OWN\n"
                              "sockets:\n"
                              "- address: 127.0.0.1:0\n"
                              "  proxy_protocol: {from: [10.0.0.1/8, proxy.acme.com, '']}\n"
                              "- {address: '127.0.0.1:0', proxy_protocol: {}}\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:4:27: sockets[0].proxy_protocol.from[0]: '10.0.0.1/8' has bits behind those of "
        "its network: write them as 0, or leave out the '/' for a single address\n"
        "test.yaml:4:39: sockets[0].proxy_protocol.from[1]: 'proxy.acme.com' is no network: write "
        "ADDRESS/BITS, such as 10.0.0.0/8, 2001:db8::/32 or 192.0.2.1\n"
        "test.yaml:4:55: sockets[0].proxy_protocol.from[2]: is required\n"
        "test.yaml:5:44: sockets[1].proxy_protocol.from: is required\n");
}

static void
sockets_for_rest_have_no_proxies(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "http:\n"
                              "  sockets:\n"
                              "  - {address: '127.0.0.1:0', proxy_protocol: {from: [::1]}}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:46: http.sockets[0].proxy_protocol: is of sockets of gRPC\n");
}

#define OWN_ONLY                                                                                   \
    "test.yaml:1:52: sockets[0].proxy_protocol: is not available with 'transport: GRPC_CORE': "    \
    "set "                                                                                         \
    "'transport: OWN'\n"

/* The option takes the place of the file's. */
static void
proxies_are_of_the_own_listener(void **state)
{
    bootstrap_test *test = *state;
    static const char text[] =
        "sockets: [{address: '127.0.0.1:0', proxy_protocol: {from: [::1]}}]\n";
    udpai_options options = {.transport = "GRPC_CORE"};
    bootstrap_test_read(test, text);
    udpai_bootstrap_check_files(test->bootstrap.message, &options, &test->diagnostics);
    bootstrap_test_assert_mistakes(test, OWN_ONLY);
}

static void
proxies_are_of_the_own_listener_by_an_option(void **state)
{
    bootstrap_test *test = *state;
    udpai_options options = {.transport = "OWN"};
    bootstrap_test_read(test,
                        "transport: GRPC_CORE\n"
                        "sockets: [{address: '127.0.0.1:0', proxy_protocol: {from: [::1]}}]\n");
    udpai_bootstrap_check_files(test->bootstrap.message, &options, &test->diagnostics);
    bootstrap_test_assert_mistakes(test, "");
}

#define SERVES "sockets: [{address: '127.0.0.1:0', also_serves: [REST, PAGES]}]\n"

static void
what_else_is_served_is_known(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "transport: OWN\n"
                              "sockets:\n"
                              "- {address: '127.0.0.1:0', also_serves: [REST, UNKNOWN]}\n"
                              "http:\n"
                              "  sockets:\n"
                              "  - {address: '127.0.0.1:0', also_serves: [REST, PAGES]}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:48: sockets[0].also_serves[1]: is no service: write REST or PAGES\n"
              "test.yaml:6:44: http.sockets[0].also_serves[0]: is of sockets of gRPC: those of "
              "http serve "
              "REST and pages\n");
}

static void
workers_serve_no_pages(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "workers: 2\n" SERVES);
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:56: sockets[0].also_serves[1]: is not available with workers, for pages "
              "are the node's: leave out 'workers', or list a socket of its own in "
              "'http.sockets'\n");
}

static void
workers_serve_rest(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "workers: 2\n"
                              "sockets: [{address: '127.0.0.1:0', also_serves: [REST]}]\n");
    bootstrap_test_assert_mistakes(test, "");
}

static void
what_else_is_served_is_of_the_own_listener(void **state)
{
    bootstrap_test *test = *state;
    udpai_options options = {.transport = "GRPC_CORE"};
    bootstrap_test_read(test, SERVES);
    udpai_bootstrap_check_files(test->bootstrap.message, &options, &test->diagnostics);
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:49: sockets[0].also_serves: is not available with 'transport: "
              "GRPC_CORE': set 'transport: OWN', or list a socket of its own in 'http.sockets'\n");
}

/* By default nothing is. */
static void
a_socket_serves_what_it_lists(void **state)
{
    bootstrap_test *test = *state;
    udpai_plan *plan = udpai_alloc(sizeof(*plan));
    assert_non_null(plan);
    bootstrap_test_read(test, "transport: OWN\n"
                              "sockets:\n"
                              "- {address: '127.0.0.1:0'}\n"
                              "- {address: '127.0.0.1:0', also_serves: [PAGES]}\n"
                              "- {address: '127.0.0.1:0', also_serves: [PAGES, REST]}\n");
    bootstrap_test_assert_mistakes(test, "");
    assert_ok(udpai_plan_make(plan, &test->bootstrap, &(udpai_options){0}, NULL));
    assert_int_equal(plan->sockets.n, 3);
    for (size_t i = 0; i < plan->sockets.n; i++) {
        assert_int_equal(plan->sockets.items[i].has_pages, i > 0);
        assert_int_equal(plan->sockets.items[i].has_rest, i > 1);
    }
    udpai_plan_done(plan);
    udpai_free(plan);
}

static void
a_unix_socket_has_what_a_network_does_not_need(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "transport: OWN\n"
                              "workers: 2\n"
                              "sockets:\n"
                              "- address: unix:/run/a\n"
                              "  tls: {certificate_file: a, private_key_file: b}\n"
                              "  proxy_protocol: {from: [::1]}\n"
                              "- {address: unix:run/a}\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:5:8: sockets[0].tls: is not for unix sockets: the kernel proves which user "
        "connects\n"
        "test.yaml:6:19: sockets[0].proxy_protocol: is not for unix sockets\n"
        "test.yaml:7:13: sockets[1].address: 'run/a' is no path of a unix socket: write "
        "unix:/PATH, "
        "such as unix:/run/udpa/udpad.sock\n");
}

static void
a_unix_socket_is_as_loopback(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "transport: OWN\n"
                              "sockets: [{address: unix:/run/a}, {address: unix:/run/a:0},\n"
                              "          {address: unix:/run/a:0}]\n"
                              "http: {sockets: [{address: unix:/run/b}]}\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:3:21: sockets[2].address: 'unix:/run/a:0' is the address of sockets[1] too\n"
        "test.yaml:4:28: http.sockets[0].address: 'unix:/run/b' is no address to listen on: "
        "write ADDRESS:PORT, such as 127.0.0.1:18000 or [::1]:18000\n");
}

static void
unix_sockets_are_of_the_own_listener(void **state)
{
    bootstrap_test *test = *state;
    udpai_options options = {.transport = "GRPC_CORE"};
    bootstrap_test_read(test, "sockets: [{address: unix:/run/a}]\n");
    udpai_bootstrap_check_files(test->bootstrap.message, &options, &test->diagnostics);
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:21: sockets[0].address: 'unix:/run/a' is not available with 'transport: "
              "GRPC_CORE': set 'transport: OWN'\n");
}

static void
a_passed_socket_must_be_there_at_a_start(void **state)
{
    bootstrap_test *test = *state;
    udpai_options options = {0};
    bootstrap_test_read(test, "transport: OWN\nsockets: [{address: 'fd:grpc'}]\n");
    udpai_bootstrap_check_files(test->bootstrap.message, &options, &test->diagnostics);
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:21: sockets[0].address: no socket was passed to this process "
              "(LISTEN_FDS): 'fd:grpc' takes a socket unit of systemd with "
              "FileDescriptorName=grpc\n");
}

/* Where it is checked by hand there is none. */
static void
a_check_alone_warns_of_a_passed_socket(void **state)
{
    bootstrap_test *test = *state;
    udpai_options options = {.only_check = true};
    bootstrap_test_read(test, "transport: OWN\nsockets: [{address: 'fd:grpc'}]\n");
    udpai_bootstrap_check_files(test->bootstrap.message, &options, &test->diagnostics);
    bootstrap_test_assert_mistakes(
        test, "warning: test.yaml:2:21: sockets[0].address: no socket was passed to this process "
              "(LISTEN_FDS): 'fd:grpc' takes a socket unit of systemd with "
              "FileDescriptorName=grpc\n");
}

static void
plan_of(bootstrap_test *test, const char *sockets, bool trusts_node_ids, bool is_anonymous)
{
    udpai_plan *plan = udpai_alloc(sizeof(*plan));
    char text[300];
    assert_non_null(plan);
    snprintf(text, sizeof(text), "transport: OWN\nacl: {rules: []}\nsockets: [%s]\n", sockets);
    bootstrap_test_read(test, text);
    assert_ok(test->err);
    assert_ok(udpai_plan_make(plan, &test->bootstrap, &(udpai_options){0}, NULL));
    assert_int_equal(udpai_acl_settings(plan->settings.node.acl)->trusts_node_ids, trusts_node_ids);
    assert_int_equal(plan->settings.node.peers_are_anonymous, is_anonymous);
    udpai_plan_done(plan);
    udpai_free(plan);
}

static void
ids_of_nodes_are_names_where_nothing_proves_any(void **state)
{
    plan_of(*state, "{address: '127.0.0.1:0'}", true, true);
}

/* Else a peer by TCP would be a user whose name it writes into its Node. */
static void
beside_a_unix_socket_ids_of_nodes_are_no_names(void **state)
{
    plan_of(*state, "{address: unix:/a}, {address: '127.0.0.1:0'}", false, true);
}

static void
by_unix_sockets_alone_all_peers_have_names(void **state)
{
    plan_of(*state, "{address: unix:/a}", false, false);
}

static void
a_socket_has_its_proxies(void **state)
{
    bootstrap_test *test = *state;
    udpai_plan *plan = udpai_alloc(sizeof(*plan));
    assert_non_null(plan);
    bootstrap_test_read(test,
                        "transport: OWN\n"
                        "sockets:\n"
                        "- {address: '127.0.0.1:0', proxy_protocol: {from: [10.0.0.0/8, ::1]}}\n"
                        "- {address: '127.0.0.1:0'}\n");
    bootstrap_test_assert_mistakes(test, "");
    assert_ok(udpai_plan_make(plan, &test->bootstrap, &(udpai_options){0}, NULL));
    const udpai_listen_options first =
        udpai_plan_listen_options(&plan->sockets.items[0], "x", NULL);
    assert_int_equal(first.n_proxies, 2);
    assert_int_equal(first.proxies[0].n_bits, 96 + 8);
    assert_int_equal(first.proxies[1].n_bits, 128);
    assert_int_equal(plan->sockets.items[1].n_proxies, 0);
    udpai_plan_done(plan);
    udpai_free(plan);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)
        CASE(hosts_are_names_without_ports),
        CASE(a_request_is_held_an_hour_at_most),
        CASE(a_request_need_not_be_held),
        CASE(proxies_are_networks),
        CASE(sockets_for_rest_have_no_proxies),
        CASE(proxies_are_of_the_own_listener),
        CASE(proxies_are_of_the_own_listener_by_an_option),
        CASE(what_else_is_served_is_known),
        CASE(workers_serve_no_pages),
        CASE(workers_serve_rest),
        CASE(what_else_is_served_is_of_the_own_listener),
        CASE(a_socket_serves_what_it_lists),
        CASE(a_socket_has_its_proxies),
        CASE(a_unix_socket_has_what_a_network_does_not_need),
        CASE(a_unix_socket_is_as_loopback),
        CASE(unix_sockets_are_of_the_own_listener),
        CASE(a_passed_socket_must_be_there_at_a_start),
        CASE(a_check_alone_warns_of_a_passed_socket),
        CASE(ids_of_nodes_are_names_where_nothing_proves_any),
        CASE(beside_a_unix_socket_ids_of_nodes_are_no_names),
        CASE(by_unix_sockets_alone_all_peers_have_names),
#undef CASE
    };
    return cmocka_run_group_tests_name("section_sockets", tests, NULL, NULL);
}
