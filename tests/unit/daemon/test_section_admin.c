/* SPDX-License-Identifier: Apache-2.0 */
/* The section admin of the bootstrap file: what it may have, and which sockets a node has by it. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/bootstrap_check.h"
#include "daemon/plan.h"

#include "bootstrap_test.h"

#define IN_THE_CLEAR                                                                               \
    "is beyond loopback, where a token, and all that is read, would pass in the clear: listen on " \
    "127.0.0.1 or unix:/PATH, or have tls\n"
#define FOR_EVERYBODY                                                                              \
    "is beyond loopback, where every peer could administer this node: have admin.token_file, or "  \
    "a section 'acl' and client certificates (tls.client_ca_file), or listen on 127.0.0.1 or "     \
    "unix:/PATH\n"
#define TLS "tls: {certificate_file: c, private_key_file: k"

static void
addresses_are_of_tcp_or_of_files(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "admin:\n"
                              "  sockets:\n"
                              "  - address: nowhere\n"
                              "  - address: unix:admin.sock\n"
                              "  - address: fd:admin\n"
                              "  - {}\n"
                              "  - address: 127.0.0.1:0\n"
                              "  - address: 127.0.0.1:0\n"
                              "  - address: unix:/a\n"
                              "  - address: unix:/a\n"
                              "  - {address: 'unix:/b', " TLS "}}\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:3:14: admin.sockets[0].address: 'nowhere' is no address to listen on: write "
        "ADDRESS:PORT, such as 127.0.0.1:18000 or [::1]:18000\n"
        "test.yaml:4:14: admin.sockets[1].address: 'admin.sock' is no path of a unix socket: write "
        "unix:/PATH, such as unix:/run/udpa/udpad.sock\n"
        "test.yaml:5:14: admin.sockets[2].address: 'fd:admin' is not available for "
        "administration: write ADDRESS:PORT or unix:/PATH\n"
        "test.yaml:6:5: admin.sockets[3].address: is required\n"
        "test.yaml:10:14: admin.sockets[7].address: 'unix:/a' is the address of admin.sockets[6] "
        "too\n"
        "test.yaml:11:31: admin.sockets[8].tls: is not for unix sockets: the kernel proves which "
        "user connects\n");
}

static void
beyond_loopback_without_tls_is_an_error(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "admin:\n"
                              "  token_file: /token\n"
                              "  sockets: [{address: '0.0.0.0:1'}, {address: '[::1]:1'}]\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:23: admin.sockets[0].address: '0.0.0.0:1' " IN_THE_CLEAR);
}

static void
beyond_loopback_a_client_proves_that_it_may(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test, "acl: {dry_run: true, rules: [{name: a, identities: [a], actions: [ADMIN]}]}\n"
              "admin:\n"
              "  sockets:\n"
              "  - {address: '0.0.0.0:1', " TLS "}}\n"
              "  - {address: '0.0.0.0:2', " TLS ", client_ca_file: a}}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:4:15: admin.sockets[0].address: '0.0.0.0:1' " FOR_EVERYBODY
              "test.yaml:5:15: admin.sockets[1].address: '0.0.0.0:2' " FOR_EVERYBODY);
}

static void
by_a_token_or_by_rules_it_may_be_beyond_loopback(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "admin:\n"
                              "  token_file: /token\n"
                              "  sockets: [{address: '0.0.0.0:1', " TLS "}}]\n");
    bootstrap_test_assert_mistakes(test, "");
}

static void
rules_are_for_certificates(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "acl: {rules: [{name: a, identities: [a], actions: [ADMIN]}]}\n"
                              "admin:\n"
                              "  sockets:\n"
                              "  - {address: '0.0.0.0:1', " TLS "}}\n"
                              "  - {address: '0.0.0.0:2', " TLS ", client_ca_file: a}}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:4:15: admin.sockets[0].address: '0.0.0.0:1' " FOR_EVERYBODY);
}

static void
connections_have_bounds(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "admin: {max_connections: 7}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:26: admin.max_connections: 7 must lie between 8 and 4096\n");
}

static void
an_open_page_is_one_of_two(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "http: {open_pages: [METRICS, HEALTH, UNKNOWN]}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:38: http.open_pages[2]: is no page: write METRICS or HEALTH\n");
}

/* ---- the plan ---- */

static udpai_plan plan;

static void
make(bootstrap_test *test, const char *text, const char *state_directory)
{
    plan = (udpai_plan){0};
    bootstrap_test_read(test, text);
    assert_ok(udpai_plan_make(&plan, &test->bootstrap,
                              &(udpai_options){.program = "udpad", .state = state_directory},
                              &test->error));
}

static void
by_default_it_is_a_file_in_the_data(void **state)
{
    make(*state, "{}", "/var/lib/here");
    assert_int_equal(plan.admin_sockets.n, 1);
    assert_string_equal(plan.admin_sockets.items[0].address, "unix:/var/lib/here/admin.sock");
    assert_true(plan.admin_sockets.items[0].is_local);
    assert_true(plan.is_admin_chosen);
    assert_null(plan.admin_token_file);
    assert_int_equal(plan.admin_limits.max_connections, 256);
    assert_false(plan.has_admin_pages);
    assert_false(plan.has_open_metrics);
    assert_false(plan.has_open_health);
    udpai_plan_done(&plan);
}

static void
its_path_is_from_the_root(void **state)
{
    char here[4096], expected[4200];
    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(expected, sizeof(expected), "unix:%s/data/admin.sock", here);
    make(*state, "{}", "data");
    assert_string_equal(plan.admin_sockets.items[0].address, expected);
    udpai_plan_done(&plan);
}

static void
without_data_there_is_none(void **state)
{
    make(*state, "store: {in_memory: true}\n", NULL);
    assert_int_equal(plan.admin_sockets.n, 0);
    udpai_plan_done(&plan);
}

static void
what_the_file_has_takes_its_place(void **state)
{
    make(*state,
         "admin:\n"
         "  sockets: [{address: '127.0.0.1:9901'}, {address: 'unix:/a'}]\n"
         "  token_file: /token\n"
         "  max_connections: 8\n"
         "http: {admin_pages: true, open_pages: [METRICS]}\n",
         "/var/lib/here");
    assert_int_equal(plan.admin_sockets.n, 2);
    assert_string_equal(plan.admin_sockets.items[0].address, "127.0.0.1:9901");
    assert_false(plan.admin_sockets.items[0].is_local);
    assert_true(plan.admin_sockets.items[1].is_local);
    assert_false(plan.is_admin_chosen);
    assert_string_equal(plan.admin_token_file, "/token");
    assert_int_equal(plan.admin_limits.max_connections, 8);
    assert_true(plan.has_admin_pages);
    assert_true(plan.has_open_metrics);
    assert_false(plan.has_open_health);
    udpai_plan_done(&plan);
}

/* ---- the file ---- */

static void
write_file(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void
the_file_of_the_token_is_looked_at(void **state)
{
    bootstrap_test *test = *state;
    char path[] = "/tmp/udpa-admin-XXXXXX", text[128], expected[256];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    write_file(path, "0123456789abcde\n", 0600);
    snprintf(text, sizeof(text), "admin: {token_file: %s}\n", path);
    bootstrap_test_read_unchecked(test, text);
    udpai_bootstrap_check_files(test->bootstrap.message,
                                &(udpai_options){.program = "udpad", .state = "/tmp"},
                                &test->diagnostics);
    bootstrap_test_tell(test);
    snprintf(expected, sizeof(expected),
             "test.yaml:1:21: admin.token_file: %s: a token has 16 to 200 bytes", path);
    assert_non_null(test->mistakes.data);
    assert_memory_equal(test->mistakes.data, expected, strlen(expected));
    unlink(path);
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(addresses_are_of_tcp_or_of_files),
        CASE(beyond_loopback_without_tls_is_an_error),
        CASE(beyond_loopback_a_client_proves_that_it_may),
        CASE(by_a_token_or_by_rules_it_may_be_beyond_loopback),
        CASE(rules_are_for_certificates),
        CASE(connections_have_bounds),
        CASE(an_open_page_is_one_of_two),
        CASE(by_default_it_is_a_file_in_the_data),
        CASE(its_path_is_from_the_root),
        CASE(without_data_there_is_none),
        CASE(what_the_file_has_takes_its_place),
        CASE(the_file_of_the_token_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
