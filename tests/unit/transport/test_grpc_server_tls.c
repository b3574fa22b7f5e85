/* SPDX-License-Identifier: Apache-2.0 */
/* Our certificate, and another in its place while connections stand. */
#include "bed.h"
#include "certificates.h"
#include "raw.h"

#include <grpc/grpc_security.h>

#include "base/alloc.h"
#include "tests/harness/oom.h"

struct world {
    char *directory;
    udpai_tls_files old, new;
};

static int
begin(void **state)
{
    static const char *const old_names[] = {"--dns", "old.test", NULL};
    static const char *const new_names[] = {"--dns", "new.test", NULL};
    struct world *world = udpai_alloc(sizeof(*world));
    *state = world;
    world->directory = certificates_begin();
    if (!world->directory)
        return 0;
    certificates_issue(&world->old, world->directory, "ca", "old", old_names);
    certificates_issue(&world->new, world->directory, "ca", "new", new_names);
    return 0;
}

static int
end(void **state)
{
    struct world *world = *state;
    if (world->directory) {
        certificates_end(world->directory);
        udpai_tls_files_done(&world->old);
        udpai_tls_files_done(&world->new);
    }
    udpai_free(world);
    return 0;
}

static struct world *
world_of(void **state)
{
    struct world *world = *state;
    if (!world->directory)
        skip();
    return world;
}

static void
test_needs_certificate_and_key(void **state)
{
    (void)state;
    udpai_server_tls *tls = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_tls_files none = {.authorities = (char *)(uintptr_t) "x"};
    assert_int_equal(udpai_server_tls_new(&tls, &none, false, &error), UDPA_ERR_INVAL);
    assert_null(tls);
    assert_non_null(strstr(udpa_error_message(error), "certificate_file, private_key_file"));
}

static void
test_nonsense_does_not_listen(void **state)
{
    (void)state;
    const udpai_tls_files nonsense = {.certificate = (char *)(uintptr_t) "no",
                                      .private_key = (char *)(uintptr_t) "PEM"};
    test_bed bed;
    udpai_server_tls *tls;
    udpai_listener *listener = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    bed_start(&bed, NULL);
    assert_ok(udpai_server_tls_new(&tls, &nonsense, false, NULL));
    assert_int_equal(udpai_stream_thread_listen(
                         bed.thread, &(udpai_listen_options){.address = "127.0.0.1:0", .tls = tls},
                         &listener, &error),
                     UDPA_ERR_IO);
    assert_null(listener);
    assert_non_null(strstr(udpa_error_message(error), "is something wrong with the certificate"));
    udpai_server_tls_unref(tls);
    bed_stop(&bed);
}

static void
test_whether_clients_need_one_cannot_change(void **state)
{
    struct world *world = world_of(state);
    udpai_server_tls *tls;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_tls_files alone = world->new;
    alone.authorities = NULL;
    assert_ok(udpai_server_tls_new(&tls, &world->old, false, NULL));
    assert_int_equal(udpai_server_tls_replace(tls, &alone, &error), UDPA_ERR_PRECONDITION);
    assert_non_null(strstr(udpa_error_message(error), "restart the node"));
    udpai_server_tls_unref(tls);
}

static void
connect_as(raw_client *client, const test_bed *bed, const udpai_tls_files *files, const char *name)
{
    grpc_arg args[] = {
        {.type = GRPC_ARG_STRING,
         .key = (char *)(uintptr_t)GRPC_SSL_TARGET_NAME_OVERRIDE_ARG,
         .value.string = (char *)(uintptr_t)name},
        {.type = GRPC_ARG_INTEGER,
         .key = (char *)(uintptr_t)GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL,
         .value.integer = 1},
    };
    const grpc_channel_args all = {2, args};
    grpc_ssl_pem_key_cert_pair pair = {files->private_key, files->certificate};
    raw_connect(client, bed->port,
                grpc_ssl_credentials_create_ex(files->authorities, &pair, NULL, NULL), &all);
}

static void
talk(raw_call *call)
{
    assert_true(raw_say(call, "echo"));
    raw_expect(call, "echo");
}

/* Two listeners with one certificate: each takes over the new one. */
static void
test_rotation(void **state)
{
    struct world *world = world_of(state);
    test_bed bed;
    raw_client before[2], after[2];
    raw_call calls[2], more[2];
    udpai_server_tls *tls;
    bed_start(&bed, NULL);
    assert_ok(udpai_server_tls_new(&tls, &world->old, false, NULL));
    int ports[2];
    for (size_t i = 0; i < 2; i++) {
        bed_listen(&bed, tls);
        ports[i] = bed.port;
        connect_as(&before[i], &bed, &world->old, "old.test");
        raw_begin(&before[i], &calls[i], BED_PATH);
        talk(&calls[i]);
    }
    assert_ok(udpai_server_tls_replace(tls, &world->new, NULL));
    for (size_t i = 0; i < 2; i++) {
        bed.port = ports[i];
        connect_as(&after[i], &bed, &world->old, "new.test");
        raw_begin(&after[i], &more[i], BED_PATH);
        talk(&more[i]);
        talk(&calls[i]); /* as if nothing had happened */
    }
    for (size_t i = 0; i < 2; i++) {
        raw_end(&calls[i]);
        raw_end(&more[i]);
        raw_disconnect(&before[i]);
        raw_disconnect(&after[i]);
    }
    udpai_server_tls_unref(tls);
    bed_stop(&bed);
}

static udpa_err
make_and_replace(void *context)
{
    const udpai_tls_files files = {.certificate = (char *)(uintptr_t) "certificate",
                                   .private_key = (char *)(uintptr_t) "key",
                                   .authorities = (char *)(uintptr_t) "authorities"};
    (void)context;
    udpai_server_tls *tls = NULL;
    udpa_err err = udpai_server_tls_new(&tls, &files, false, NULL);
    if (err == UDPA_OK)
        err = udpai_server_tls_replace(tls, &files, NULL);
    udpai_server_tls_unref(tls);
    return err;
}

static void
test_without_memory(void **state)
{
    (void)state;
    oom_torture(make_and_replace, NULL);
}

int
main(int argc, char **argv)
{
    certificates_script = argc > 1 ? argv[1] : "";
    udpai_grpc_redirect_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_needs_certificate_and_key),
        cmocka_unit_test(test_nonsense_does_not_listen),
        cmocka_unit_test(test_whether_clients_need_one_cannot_change),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
