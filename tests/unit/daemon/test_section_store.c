/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'store': what a replica on etcd needs, and what comes of it. What is wrong in files:
 * test_files.c and tests/product. */
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/plan.h"
#include "tests/unit/daemon/bootstrap_test.h"
#include "transport/etcd/client.h"

static void
expect(bootstrap_test *test, const char *file, const char *mistakes)
{
    bootstrap_test_read(test, file);
    bootstrap_test_assert_mistakes(test, mistakes);
}

static void
make(bootstrap_test *test, udpai_plan *plan, const char *file)
{
    memset(plan, 0, sizeof(*plan));
    expect(test, file, "");
    assert_ok(udpai_plan_make(plan, &test->bootstrap, &(udpai_options){.program = "udpad"},
                              &test->error));
}

static udpai_plan plan;

/* ---- etcd ---- */

static void
a_replica_has_all_in_the_plan(void **state)
{
    make(*state, &plan,
         "store:\n"
         "  directory: /var/lib/udpa\n"
         "  engine: ETCD\n"
         "  endpoints: ['a:2379', 'etcd.example:2379', '[::1]:2380']\n"
         "  user: udpa\n"
         "  password_file: /etc/udpa/etcd.password\n"
         "  prefix: /udpa/eu-west\n");
    assert_int_equal(plan.etcd.n_endpoints, 3);
    assert_string_equal(plan.etcd.endpoints[0], "a:2379");
    assert_string_equal(plan.etcd.endpoints[2], "[::1]:2380");
    assert_null(plan.etcd.tls);
    assert_null(plan.etcd.server_name);
    assert_string_equal(plan.etcd.user, "udpa");
    assert_string_equal(plan.etcd.password_file, "/etc/udpa/etcd.password");
    assert_string_equal(plan.etcd.prefix, "/udpa/eu-west");
    assert_string_equal(plan.state_directory, "/var/lib/udpa");
    assert_true(plan.settings.node.is_durable);
    udpai_plan_done(&plan);
}

/* @p mistake: NULL: there is none. */
static void
expect_restoring(bootstrap_test *test, const char *file, const char *mistake)
{
    const udpai_options options = {.program = "udpad", .restore_from = "backup"};
    memset(&plan, 0, sizeof(plan));
    expect(test, file, "");
    udpa_err err = udpai_plan_make(&plan, &test->bootstrap, &options, &test->error);
    assert_int_equal(err, mistake ? UDPA_ERR_INVAL : UDPA_OK);
    if (mistake)
        assert_non_null(strstr(udpa_error_message(test->error), mistake));
    else
        assert_string_equal(plan.restore_from, "backup");
    udpai_plan_done(&plan);
}

static void
a_replica_begins_with_no_backup(void **state)
{
    expect_restoring(*state, "store: {engine: ETCD, endpoints: ['a:2379']}\n",
                     "is in etcd: restore that");
}

static void
what_stores_nothing_begins_with_no_backup(void **state)
{
    expect_restoring(*state, "store: {in_memory: true}\n", "this node stores nothing");
}

static void
a_store_may_begin_with_a_backup(void **state)
{
    expect_restoring(*state, "store: {directory: /var/lib/udpa}\n", NULL);
}

static void
a_replica_needs_endpoints_alone(void **state)
{
    make(*state, &plan, "store: {engine: ETCD, endpoints: ['a:2379']}\n");
    assert_int_equal(plan.etcd.n_endpoints, 1);
    assert_null(plan.etcd.user);
    assert_null(plan.etcd.password_file);
    assert_string_equal(plan.etcd.prefix, "/udpa/default");
    assert_string_equal(plan.state_directory, UDPAI_DEFAULT_STATE);
    udpai_plan_done(&plan);
}

#define FILES                                                                                      \
    "static_resources:\n"                                                                          \
    "  directories: [{path: /a, replicas: SHARED, agree: REQUIRED}, {path: /b}]\n"                 \
    "  config_sources:\n"                                                                          \
    "  - {name: c, path: {path: /c, replicas: SHARED}}\n"                                          \
    "  - {name: d, runtime_tree: {symlink_root: /d, replicas: SHARED}}\n"

static void
each_directory_has_its_own_replicas(void **state)
{
    static const bool shared[] = {true, false, true, true};
    make(*state, &plan, "store: {engine: ETCD, endpoints: ['a:2379']}\n" FILES);
    assert_int_equal(plan.directories.n, UDPAI_ARRAY_LEN(shared));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(shared); i++)
        assert_int_equal(plan.directories.items[i].is_shared, shared[i]);
    assert_true(plan.directories.items[0].must_agree);
    assert_false(plan.directories.items[2].must_agree);
    udpai_plan_done(&plan);
}

static void
without_replicas_nothing_is_shared(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, FILES);
    bootstrap_test_tell(test);
    udpai_strbuf_putc(&test->mistakes, '\0');
    const char *text = test->mistakes.data;
    assert_non_null(strstr(text, "directories[0].replicas: has no meaning without replicas"));
    assert_non_null(strstr(text, "directories[0].agree: has no meaning without replicas"));
    assert_non_null(strstr(text, "[0].path.replicas: has no meaning without replicas"));
    assert_non_null(strstr(text, "[1].runtime_tree.replicas: has no meaning without replicas"));
}

static void
without_etcd_the_plan_has_none(void **state)
{
    make(*state, &plan, "store: {engine: SQLITE, directory: /var/lib/udpa}\n");
    assert_int_equal(plan.etcd.n_endpoints, 0);
    assert_null(plan.etcd.prefix);
    udpai_plan_done(&plan);
}

/* An authority that signed itself. */
static void
write_authority(char *path)
{
    int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    X509 *authority = X509_new();
    X509_EXTENSION *is_one = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "CA:TRUE");
    assert_non_null(file);
    assert_true(X509_set_version(authority, X509_VERSION_3) && X509_set_pubkey(authority, key));
    assert_int_equal(X509_NAME_add_entry_by_txt(X509_get_subject_name(authority), "CN",
                                                MBSTRING_ASC, (const unsigned char *)"etcd", -1, -1,
                                                0),
                     1);
    assert_true(X509_set_issuer_name(authority, X509_get_subject_name(authority)));
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(authority), -60));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(authority), 3600));
    assert_true(X509_add_ext(authority, is_one, -1) && X509_sign(authority, key, NULL) > 0);
    assert_int_equal(PEM_write_X509(file, authority), 1);
    fclose(file);
    X509_EXTENSION_free(is_one);
    X509_free(authority);
    EVP_PKEY_free(key);
}

static void
with_tls_the_plan_has_the_files(void **state)
{
    char path[] = "/tmp/udpa-etcd-ca-XXXXXX", text[160];
    write_authority(path);
    snprintf(text, sizeof(text),
             "store: {engine: ETCD, endpoints: ['a:1'], tls: {ca_file: %s, server_name: b}}\n",
             path);
    make(*state, &plan, text);
    unlink(path);
    assert_non_null(plan.etcd.tls);
    assert_non_null(plan.etcd.tls->authorities);
    assert_null(plan.etcd.tls->certificate);
    assert_string_equal(plan.etcd.server_name, "b");
    udpai_plan_done(&plan);
}

static void
certificates_are_read_with_the_plan(void **state)
{
    bootstrap_test *test = *state;
    expect(test, "store: {engine: ETCD, endpoints: ['a:1'], tls: {ca_file: /proc/no/ca}}\n", "");
    memset(&plan, 0, sizeof(plan));
    assert_int_not_equal(udpai_plan_make(&plan, &test->bootstrap,
                                         &(udpai_options){.program = "udpad"}, &test->error),
                         UDPA_OK);
    assert_non_null(strstr(udpa_error_message(test->error), "/proc/no/ca"));
    udpai_plan_done(&plan);
}

static void
etcd_needs_endpoints(void **state)
{
    expect(*state, "store: {engine: ETCD}\n",
           "test.yaml:1:8: store.endpoints: is required with engine ETCD: write HOST:PORT of the "
           "members of the etcd cluster\n");
}

#define AS_URL                                                                                     \
    " is a URL: write HOST:PORT, such as etcd-1.example.com:2379; with 'tls' in store, etcd is "   \
    "reached with TLS\n"

static void
endpoints_are_no_urls(void **state)
{
    expect(*state,
           "sockets: [{address: '127.0.0.1:2379'}]\n"
           "store:\n"
           "  engine: ETCD\n"
           "  endpoints:\n"
           "    - http://a:2379\n"
           "    - HTTPS://a:2379\n"
           "    - a\n"
           "    - ''\n"
           "    - localhost:2379\n",
           "test.yaml:5:7: store.endpoints[0]: 'http://a:2379'" AS_URL
           "test.yaml:6:7: store.endpoints[1]: 'HTTPS://a:2379'" AS_URL
           "test.yaml:7:7: store.endpoints[2]: 'a' is no address to dial: write HOST:PORT, such as "
           "node.example.com:18000 or [2001:db8::1]:18000\n"
           "test.yaml:8:7: store.endpoints[3]: is required\n"
           "test.yaml:9:7: store.endpoints[4]: 'localhost:2379' is this node itself: it listens "
           "there by sockets[0]\n");
}

static void
expect_endpoints(void **state, size_t n, const char *mistakes)
{
    udpai_strbuf text = {0};
    udpai_strbuf_puts(&text, "store: {engine: ETCD, endpoints: [");
    for (size_t i = 0; i < n; i++)
        udpai_strbuf_printf(&text, "'a%zu:1',", i);
    udpai_strbuf_puts(&text, "]}\n");
    expect(*state, udpai_strbuf_view(&text).data, mistakes);
    udpai_strbuf_done(&text);
}

static void
as_many_endpoints_as_the_client_takes(void **state)
{
    expect_endpoints(state, UDPAI_ETCD_ENDPOINTS_MAX, "");
}

static void
more_endpoints_are_too_many(void **state)
{
    expect_endpoints(state, UDPAI_ETCD_ENDPOINTS_MAX + 1,
                     "test.yaml:1:34: store.endpoints: 17 are too many: at most 16\n");
}

static void
user_and_password_come_together(void **state)
{
    bootstrap_test *test = *state;
    expect(test, "store: {engine: ETCD, endpoints: ['a:1'], user: udpa}\n",
           "test.yaml:1:49: store.user: user and password_file come together: the other one is "
           "missing\n");
    assert_ok(bootstrap_test_teardown(state));
    assert_ok(bootstrap_test_setup(state));
    expect(*state, "store: {engine: ETCD, endpoints: ['a:1'], password_file: p}\n",
           "test.yaml:1:58: store.password_file: user and password_file come together: the other "
           "one is missing\n");
}

static void
tls_is_that_of_a_peer(void **state)
{
    expect(*state, "store: {engine: ETCD, endpoints: ['a:1'], tls: {certificate_file: c}}\n",
           "test.yaml:1:48: store.tls.ca_file: is required\n"
           "test.yaml:1:67: store.tls.certificate_file: certificate_file and private_key_file come "
           "together: the other one is missing\n");
}

static void
a_prefix_has_a_form(void **state)
{
    static const struct {
        const char *prefix;
        bool is_good;
    } cases[] = {
        {"/a", true},   {"/a/b~!", true}, {"", true},        {"/", false},         {"a", false},
        {"/a/", false}, {"/a b", false},  {"/a\\tb", false}, {"/\xc3\xa4", false},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        char text[128];
        snprintf(text, sizeof(text), "store: {engine: ETCD, endpoints: ['a:1'], prefix: \"%s\"}\n",
                 cases[i].prefix);
        bootstrap_test_read(*state, text);
        assert_int_equal(((bootstrap_test *)*state)->diagnostics.n_errors, !cases[i].is_good);
        assert_ok(bootstrap_test_teardown(state));
        assert_ok(bootstrap_test_setup(state));
    }
    expect(*state, "store: {engine: ETCD, endpoints: ['a:1'], prefix: /udpa/}\n",
           "test.yaml:1:51: store.prefix: '/udpa/' is no prefix in etcd: write '/' and a name, "
           "such as /udpa/eu-west: at most 256 bytes of printable ASCII without spaces, and no '/' "
           "at the end\n");
}

static void
a_prefix_has_at_most_256_bytes(void **state)
{
    for (int len = 256; len <= 257; len++) {
        char text[400], name[257];
        memset(name, 'x', sizeof(name));
        snprintf(text, sizeof(text), "store: {engine: ETCD, endpoints: ['a:1'], prefix: /%.*s}\n",
                 len - 1, name);
        bootstrap_test_read(*state, text);
        assert_int_equal(((bootstrap_test *)*state)->diagnostics.n_errors, len > 256);
        assert_ok(bootstrap_test_teardown(state));
        assert_ok(bootstrap_test_setup(state));
    }
}

/* ---- with other fields ---- */

#define ALONE " has no meaning without engine ETCD: set 'engine: ETCD' in store, or omit this\n"

static void
the_fields_of_etcd_are_for_etcd(void **state)
{
    expect(*state,
           "store:\n"
           "  endpoints: ['a:1']\n"
           "  tls: {ca_file: c}\n"
           "  user: u\n"
           "  password_file: p\n"
           "  prefix: /p\n",
           "test.yaml:2:14: store.endpoints:" ALONE "test.yaml:3:8: store.tls:" ALONE
           "test.yaml:4:9: store.user:" ALONE "test.yaml:5:18: store.password_file:" ALONE
           "test.yaml:6:11: store.prefix:" ALONE);
}

static void
an_unknown_engine_is_not_that_of_a_node_alone(void **state)
{
    expect(*state, "store: {engine: 2}\n",
           "test.yaml:1:17: store.engine: 2 is no engine: write SQLITE or ETCD\n");
}

static void
a_replica_needs_a_state_directory(void **state)
{
    expect(*state, "store: {engine: ETCD, endpoints: ['a:1'], in_memory: true}\n",
           "test.yaml:1:54: store.in_memory: engine ETCD needs a state directory, for its local "
           "copy: omit this, and set directory\n");
}

#define NOT_YET                                                                                    \
    " is not possible on a replica set yet: omit it, or use another engine than ETCD in store\n"

static void
a_replica_has_no_standby_and_is_none(void **state)
{
    expect(*state,
           "static_resources:\n"
           "  config_sources:\n"
           "  - {name: a, udpa: {address: 'a:1'}, recover: {types: [a.B]}}\n"
           "  - {name: b, udpa: {address: 'b:1'}, standby_for: {types: [a.B]}}\n"
           "  - {name: c, udpa: {address: 'c:1'}, standby: [udpa.load.v1.ClientLoad]}\n"
           "providers:\n"
           "- types: [c.D]\n"
           "  config_descriptors:\n"
           "  - config_source: {name: d, udpa_listen: {peer: p}, recover: {types: [a.B]}}\n"
           "store: {engine: ETCD, endpoints: ['a:1']}\n",
           "test.yaml:3:48: static_resources.config_sources[0].recover:" NOT_YET
           "test.yaml:4:52: static_resources.config_sources[1].standby_for:" NOT_YET
           "test.yaml:9:63: providers[0].config_descriptors[0].config_source.recover:" NOT_YET);
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_replica_has_all_in_the_plan),
        CASE(a_replica_begins_with_no_backup),
        CASE(what_stores_nothing_begins_with_no_backup),
        CASE(a_store_may_begin_with_a_backup),
        CASE(a_replica_needs_endpoints_alone),
        CASE(each_directory_has_its_own_replicas),
        CASE(without_replicas_nothing_is_shared),
        CASE(without_etcd_the_plan_has_none),
        CASE(with_tls_the_plan_has_the_files),
        CASE(certificates_are_read_with_the_plan),
        CASE(etcd_needs_endpoints),
        CASE(endpoints_are_no_urls),
        CASE(as_many_endpoints_as_the_client_takes),
        CASE(more_endpoints_are_too_many),
        CASE(user_and_password_come_together),
        CASE(tls_is_that_of_a_peer),
        CASE(a_prefix_has_a_form),
        CASE(a_prefix_has_at_most_256_bytes),
        CASE(the_fields_of_etcd_are_for_etcd),
        CASE(an_unknown_engine_is_not_that_of_a_node_alone),
        CASE(a_replica_needs_a_state_directory),
        CASE(a_replica_has_no_standby_and_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
