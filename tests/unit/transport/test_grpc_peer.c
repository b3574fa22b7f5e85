/* SPDX-License-Identifier: Apache-2.0 */
/* TLS: who the peer is, and what is said when it is not who it should be. */
#include "bed.h"
#include "certificates.h"
#include "raw.h"

#include <grpc/grpc_security.h>
#include <stdio.h>

#include "base/alloc.h"

struct world {
    char *directory;
    udpai_tls_files server, client, stranger; /* the stranger is of another authority */
    test_bed near, far;
};

static const char *const server_names[] = {
    "--dns", "localhost", "--ip", "127.0.0.1", "--uri", "spiffe://acme.test/server", NULL};
static const char *const client_names[] = {
    "--client-only", "--uri", "spiffe://acme.test/client", "--dns", "client.acme.test", NULL};

static int
begin(void **state)
{
    struct world *world = udpai_alloc(sizeof(*world));
    world->directory = certificates_begin();
    *state = world;
    if (!world->directory)
        return 0;
    certificates_issue(&world->server, world->directory, "ca", "server", server_names);
    certificates_issue(&world->client, world->directory, "ca", "client", client_names);
    certificates_issue(&world->stranger, world->directory, "other", "stranger", server_names);
    return 0;
}

static int
end(void **state)
{
    struct world *world = *state;
    if (world->directory) {
        certificates_end(world->directory);
        udpai_tls_files_done(&world->server);
        udpai_tls_files_done(&world->client);
        udpai_tls_files_done(&world->stranger);
    }
    udpai_free(world);
    return 0;
}

/* A listener with this certificate, and somebody who may dial. */
static struct world *
start(void **state, const udpai_tls_files *files, bool is_optional)
{
    struct world *world = *state;
    if (!world->directory)
        skip();
    bed_start(&world->near, NULL);
    bed_start(&world->far, NULL);
    if (files) {
        udpai_server_tls *tls;
        assert_ok(udpai_server_tls_new(&tls, files, is_optional, NULL));
        bed_listen(&world->far, tls);
        udpai_server_tls_unref(tls);
    } else {
        bed_listen(&world->far, NULL);
    }
    return world;
}

static void
stop(struct world *world)
{
    bed_stop(&world->near);
    bed_stop(&world->far);
}

static void
dial(struct world *world, const udpai_tls_files *files, const char *server_name)
{
    const udpai_grpc_target_options options = {
        .address = bed_address(&world->far),
        .tls = files,
        .server_name = server_name,
    };
    bed_dial(&world->near, 1, &options);
}

static void
expect_identity(test_bed *bed, const char *name, const char *uri, const char *dns)
{
    udpai_report *opened = bed_report(bed, UDPAI_REPORT_OPENED);
    assert_non_null(opened->identity);
    assert_str(udpai_identity_name(opened->identity), name);
    assert_true(udpai_identity_matches(opened->identity, udpai_str_from(uri)));
    assert_true(udpai_identity_matches(opened->identity, udpai_str_from(dns)));
    assert_true(udpai_identity_parts_of(opened->identity)->authenticated);
    udpai_report_free(opened);
}

static void
expect_failure(struct world *world, const char *words)
{
    udpai_report *closed = bed_report(&world->near, UDPAI_REPORT_CLOSED);
    assert_int_equal(closed->session, 0);
    assert_int_equal(closed->link, 1);
    if (!strstr(udpa_error_message(closed->error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(closed->error), words);
    udpai_report_free(closed);
    bed_wait_streams(&world->near, 0, 0);
}

static void
test_both_know_each_other(void **state)
{
    struct world *world = start(state, &((struct world *)*state)->server, false);
    dial(world, &world->client, NULL);
    expect_identity(&world->far, "client", "spiffe://acme.test/client", "client.acme.test");
    expect_identity(&world->near, "server", "spiffe://acme.test/server", "localhost");
    stop(world);
}

static void
test_wrong_authority(void **state)
{
    struct world *world = start(state, &((struct world *)*state)->server, false);
    char words[96];
    snprintf(words, sizeof(words), "cannot connect to %s: ", bed_address(&world->far));
    dial(world, &world->stranger, NULL);
    expect_failure(world, words);
    dial(world, &world->stranger, NULL);
    expect_failure(world, "certificate verify failed; is it signed by another CA than those of "
                          "ca_file, or has it expired?");
    stop(world);
}

static void
test_wrong_name(void **state)
{
    struct world *world = start(state, &((struct world *)*state)->server, false);
    dial(world, &world->client, "other.test");
    expect_failure(world, "Peer name other.test is not in peer certificate; set server_name to a "
                          "name that the certificate has");
    dial(world, &world->client, "localhost");
    expect_identity(&world->near, "server", "spiffe://acme.test/server", "localhost");
    stop(world);
}

/* The client trusts the server, but not the other way round. */
static void
test_client_of_another_authority(void **state)
{
    struct world *world = start(state, &((struct world *)*state)->server, false);
    udpai_tls_files mixed = world->stranger;
    mixed.authorities = world->client.authorities;
    dial(world, &mixed, NULL);
    expect_failure(world, "cannot connect to 127.0.0.1:");
    stop(world);
}

static void
test_client_without_certificate(void **state)
{
    struct world *world = start(state, &((struct world *)*state)->server, false);
    const udpai_tls_files none = {.authorities = world->client.authorities};
    dial(world, &none, NULL);
    expect_failure(world, "cannot connect to 127.0.0.1:");
    stop(world);
}

static void
test_client_certificate_is_optional(void **state)
{
    struct world *world = start(state, &((struct world *)*state)->server, true);
    const udpai_tls_files none = {.authorities = world->client.authorities};
    dial(world, &none, NULL);
    udpai_report *opened = bed_report(&world->far, UDPAI_REPORT_OPENED);
    assert_null(opened->identity);
    udpai_report_free(opened);
    dial(world, &world->client, NULL);
    expect_identity(&world->far, "client", "spiffe://acme.test/client", "client.acme.test");
    stop(world);
}

/* A server that trusts nobody asks for nothing. */
static void
test_client_certificate_is_not_asked_for(void **state)
{
    struct world *before = *state;
    udpai_tls_files alone = before->server;
    alone.authorities = NULL;
    struct world *world = start(state, &alone, false);
    dial(world, &world->client, NULL);
    udpai_report *opened = bed_report(&world->far, UDPAI_REPORT_OPENED);
    assert_null(opened->identity);
    udpai_report_free(opened);
    stop(world);
}

static void
test_tls_meets_plaintext(void **state)
{
    struct world *world = start(state, &((struct world *)*state)->server, false);
    dial(world, NULL, NULL);
    expect_failure(world, "does it want TLS, or another certificate of ours?");
    stop(world);
    world = start(state, NULL, false);
    dial(world, &world->client, NULL);
    expect_failure(world, "does it listen without TLS?");
    stop(world);
}

static grpc_channel_credentials *
credentials_of(const udpai_tls_files *files)
{
    grpc_ssl_pem_key_cert_pair pair = {files->private_key, files->certificate};
    return grpc_ssl_credentials_create_ex(files->authorities, &pair, NULL, NULL);
}

/* The limit is that of a name: another one from the same address is not kept out. */
static void
test_limit_of_an_identity(void **state)
{
    struct world *world = *state;
    if (!world->directory)
        skip();
    const udpai_stream_thread_options options = {.limits = {.max_streams_per_identity = 1}};
    udpai_server_tls *tls;
    raw_client client, same, other;
    raw_call first, second, third;
    bed_start(&world->far, &options);
    assert_ok(udpai_server_tls_new(&tls, &world->server, false, NULL));
    bed_listen(&world->far, tls);
    udpai_server_tls_unref(tls);
    raw_connect(&client, world->far.port, credentials_of(&world->client), NULL);
    raw_connect(&same, world->far.port, credentials_of(&world->client), NULL);
    raw_connect(&other, world->far.port, credentials_of(&world->server), NULL);
    raw_begin(&client, &first, BED_PATH);
    assert_true(raw_say(&first, "echo"));
    raw_expect(&first, "echo");
    raw_begin(&same, &second, BED_PATH);
    assert_int_equal(raw_status(&second), GRPC_STATUS_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(second.text, "identity 'client' has 1 streams open here"));
    raw_begin(&other, &third, BED_PATH);
    assert_true(raw_say(&third, "echo"));
    raw_expect(&third, "echo");
    raw_end(&first);
    raw_end(&second);
    raw_end(&third);
    raw_disconnect(&client);
    raw_disconnect(&same);
    raw_disconnect(&other);
    bed_stop(&world->far);
}

int
main(int argc, char **argv)
{
    certificates_script = argc > 1 ? argv[1] : "";
    udpai_grpc_redirect_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_know_each_other),
        cmocka_unit_test(test_wrong_authority),
        cmocka_unit_test(test_wrong_name),
        cmocka_unit_test(test_client_of_another_authority),
        cmocka_unit_test(test_client_without_certificate),
        cmocka_unit_test(test_client_certificate_is_optional),
        cmocka_unit_test(test_client_certificate_is_not_asked_for),
        cmocka_unit_test(test_tls_meets_plaintext),
        cmocka_unit_test(test_limit_of_an_identity),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
