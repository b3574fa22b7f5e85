/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap files of clients. tests/interop/test_bootstrap.py uses them. */
#include "ctl/bootstrap.h"

#include "base/error.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

typedef udpa_err (*put_fn)(udpai_strbuf *, const udpai_ctl_bootstrap *, udpa_error **);

/* Does it have this text? */
static bool
has(put_fn put, udpai_ctl_bootstrap bootstrap, const char *part)
{
    udpai_strbuf out = {0};
    bootstrap.client_id = bootstrap.client_id ? bootstrap.client_id : "a";
    bootstrap.client_cluster = "c";
    assert_ok(put(&out, &bootstrap, NULL));
    bool result = strstr(out.data, part) != NULL;
    udpai_strbuf_done(&out);
    return result;
}

#define ENVOY(part, ...)                                                                           \
    has(udpai_ctl_bootstrap_put_envoy, (udpai_ctl_bootstrap){__VA_ARGS__}, (part))
#define GRPC(part, ...)                                                                            \
    has(udpai_ctl_bootstrap_put_grpc, (udpai_ctl_bootstrap){__VA_ARGS__}, (part))

static void
addresses_are_those_of_the_servers(void **state)
{
    (void)state;
    assert_true(ENVOY("\"type\": \"STATIC\"", .servers = "10.0.0.1:1,[::1]:2,unix:/a/b"));
    assert_true(ENVOY("{\"address\": \"10.0.0.1\", \"port_value\": 1}", .servers = "10.0.0.1:1"));
    assert_true(ENVOY("{\"address\": \"::1\", \"port_value\": 2}", .servers = "a:1, [::1]:2"));
    assert_true(ENVOY("\"pipe\": {\"path\": \"/a/b\"}", .servers = "unix:/a/b"));
    assert_true(ENVOY("\"type\": \"STRICT_DNS\"", .servers = "10.0.0.1:1,edge:2"));
    assert_true(GRPC("\"server_uri\": \"[::1]:2\"", .servers = "a:1, [::1]:2"));
    assert_true(GRPC("\"server_uri\": \"unix:/a\"", .servers = "unix:/a"));
}

static void
names_are_escaped(void **state)
{
    (void)state;
    assert_true(ENVOY("\"id\": \"a\\\"b\"", .servers = "a:1", .client_id = "a\"b"));
    assert_true(GRPC("{\"region\": \"r\", \"zone\": \"\", \"sub_zone\": \"s/t\"}", .servers = "a:1",
                     .locality = "r//s/t"));
    assert_true(GRPC("\"locality\": {}", .servers = "a:1"));
}

/* Else any certificate of the authority would do. */
static void
certificates_must_have_the_name_of_the_host(void **state)
{
    (void)state;
    assert_true(ENVOY("[{\"san_type\": \"DNS\", \"matcher\": {\"exact\": \"edge\"}}, "
                      "{\"san_type\": \"IP_ADDRESS\", \"matcher\": {\"exact\": \"::1\"}}]",
                      .servers = "edge:1,[::1]:2", .ca = "/ca"));
    assert_true(ENVOY("[{\"san_type\": \"DNS\", \"matcher\": {\"exact\": \"other\"}}]",
                      .servers = "edge:1", .ca = "/ca", .server_name = "other"));
    assert_true(
        ENVOY("\"sni\": \"other\"", .servers = "edge:1", .ca = "/ca", .server_name = "other"));
    assert_true(ENVOY("\"sni\": \"edge\"", .servers = "edge:1", .ca = "/ca"));
    assert_false(ENVOY("\"sni\"", .servers = "edge:1,core:1", .ca = "/ca"));
    assert_false(ENVOY("\"sni\"", .servers = "10.0.0.1:1", .ca = "/ca"));
    assert_false(ENVOY("tls", .servers = "edge:1"));
    assert_false(ENVOY("private_key", .servers = "edge:1", .ca = "/ca"));
    assert_true(ENVOY("\"private_key\": {\"filename\": \"/key\"}", .servers = "edge:1", .ca = "/ca",
                      .certificate = "/cert", .private_key = "/key"));
    assert_true(GRPC("{\"type\": \"insecure\"}", .servers = "edge:1"));
    assert_true(GRPC("{\"ca_certificate_file\": \"/ca\", \"certificate_file\": \"/cert\", "
                     "\"private_key_file\": \"/key\"}",
                     .servers = "edge:1", .ca = "/ca", .certificate = "/cert",
                     .private_key = "/key"));
}

static void
what_a_client_cannot_be_given_is_an_error(void **state)
{
    static const struct {
        put_fn put;
        const char *servers, *ca, *server_name, *error;
    } cases[] = {
        {udpai_ctl_bootstrap_put_envoy, "unix:/a,edge:1", NULL, NULL, "unix sockets and names"},
        {udpai_ctl_bootstrap_put_envoy, "unix:/a", "/ca", NULL, "give --server-name"},
        {udpai_ctl_bootstrap_put_grpc, "edge:1", "/ca", "other", "no such field"},
    };

    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_strbuf out = {0};
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        const udpai_ctl_bootstrap bootstrap = {.servers = cases[i].servers,
                                               .client_id = "a",
                                               .client_cluster = "c",
                                               .ca = cases[i].ca,
                                               .server_name = cases[i].server_name};
        assert_int_equal(cases[i].put(&out, &bootstrap, &error), UDPA_ERR_INVAL);
        assert_non_null(strstr(udpa_error_message(error), cases[i].error));
        udpai_strbuf_done(&out);
    }
}

static void
an_envoy_is_administered_by_an_address(void **state)
{
    static const char *const good[] = {"127.0.0.1:0", "[::1]:9901", "unix:/a", "0.0.0.0:65535"},
                             *const bad[] = {"localhost:1",  "127.0.0.1",
                                             "127.0.0.1:",   "127.0.0.1:65536",
                                             "127.0.0.1:1x", "unix:",
                                             ":1",           "1.1.1.1:99999999999999"};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(good); i++)
        assert_true(udpai_ctl_bootstrap_is_admin(udpai_str_from(good[i])));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++)
        assert_false(udpai_ctl_bootstrap_is_admin(udpai_str_from(bad[i])));
    assert_true(ENVOY("\"admin\": {\"address\": {\"socket_address\"", .servers = "a:1",
                      .envoy_admin = "127.0.0.1:0"));
    assert_false(ENVOY("\"admin\"", .servers = "a:1"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_those_of_the_servers),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(certificates_must_have_the_name_of_the_host),
        cmocka_unit_test(what_a_client_cannot_be_given_is_an_error),
        cmocka_unit_test(an_envoy_is_administered_by_an_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
