/* SPDX-License-Identifier: Apache-2.0 */
/* Streams whose peer's certificate is good no more, while they last. */
#include "bed.h"
#include "certificates.h"
#include "raw.h"

#include <grpc/grpc_security.h>

#include "base/alloc.h"
#include "base/bytes.h"

#define N_STREAMS 200

struct world {
    char *directory;
    udpai_tls_files server, client, second, stranger; /* the stranger is of another authority */
    udpai_tls_files sides; /* the server's, that trusts the stranger's authority alone */
    udpai_server_tls *tls;
    test_bed near, far;
};

static const char *const server_names[] = {"--dns", "localhost", "--ip", "127.0.0.1", NULL};

static int
begin(void **state)
{
    struct world *world = udpai_alloc(sizeof(*world));
    *state = world;
    world->directory = certificates_begin();
    if (!world->directory)
        return 0;
    certificates_issue(&world->server, world->directory, "ca", "server", server_names);
    certificates_issue(&world->client, world->directory, "ca", "client", NULL);
    certificates_issue(&world->second, world->directory, "ca", "second", NULL);
    certificates_issue(&world->stranger, world->directory, "other", "stranger", server_names);
    world->sides = world->server;
    world->sides.trust = world->stranger.trust;
    assert_ok(udpai_server_tls_new(&world->tls, &world->server, false, NULL));
    bed_start(&world->near, NULL);
    bed_start(&world->far, NULL);
    bed_listen(&world->far, world->tls);
    return 0;
}

static int
end(void **state)
{
    struct world *world = *state;
    if (world->directory) {
        bed_stop(&world->near);
        bed_stop(&world->far);
        certificates_end(world->directory);
        udpai_server_tls_unref(world->tls);
        udpai_tls_files_done(&world->server);
        udpai_tls_files_done(&world->client);
        udpai_tls_files_done(&world->second);
        udpai_tls_files_done(&world->stranger);
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
connect_as(raw_client *client, const struct world *world, const udpai_tls_files *files)
{
    grpc_arg local = {.type = GRPC_ARG_INTEGER,
                      .key = (char *)(uintptr_t)GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL,
                      .value.integer = 1};
    const grpc_channel_args args = {1, &local};
    grpc_ssl_pem_key_cert_pair pair = {files->private_key, files->certificate};
    raw_connect(client, world->far.port,
                grpc_ssl_credentials_create_ex(files->authorities, &pair, NULL, NULL), &args);
}

/* Who is trusted no more is cut off, all of his streams; who comes again is refused on the
 * connection that he has. */
static void
other_authorities_cut_off(void **state)
{
    static raw_call calls[N_STREAMS];
    struct world *world = world_of(state);
    raw_client client;
    raw_call late;
    udpai_stream_thread_stats stats;
    connect_as(&client, world, &world->client);
    for (size_t i = 0; i < N_STREAMS; i++) {
        raw_begin(&client, &calls[i], BED_PATH);
        assert_true(raw_say(&calls[i], "echo"));
        raw_expect(&calls[i], "echo");
    }
    udpai_stream_thread_verify(world->far.thread); /* nothing has changed */
    assert_true(raw_say(&calls[0], "echo again"));
    raw_expect(&calls[0], "echo again");
    assert_ok(udpai_server_tls_replace(world->tls, &world->sides, NULL));
    udpai_stream_thread_verify(world->far.thread);
    for (size_t i = 0; i < N_STREAMS; i++) {
        assert_int_equal(raw_status(&calls[i]), GRPC_STATUS_UNAUTHENTICATED);
        assert_non_null(strstr(calls[i].text, "which is none of the authorities"));
        raw_end(&calls[i]);
    }
    udpai_stream_thread_stats_get(world->far.thread, &stats);
    assert_int_equal(stats.n_cut_off, N_STREAMS);
    raw_begin(&client, &late, BED_PATH);
    assert_int_equal(raw_status(&late), GRPC_STATUS_UNAUTHENTICATED);
    raw_end(&late);
    assert_ok(udpai_server_tls_replace(world->tls, &world->server, NULL));
    raw_begin(&client, &late, BED_PATH); /* he is trusted again */
    assert_true(raw_say(&late, "echo"));
    raw_expect(&late, "echo");
    raw_cancel(&late);
    (void)raw_status(&late);
    raw_end(&late);
    raw_disconnect(&client);
}

static udpai_grpc_target *
make_target(const struct world *world)
{
    udpai_grpc_target *target = NULL;
    const udpai_grpc_target_options options = {
        .address = bed_address(&world->far),
        .tls = &world->client,
        .method = bed_method,
    };
    assert_ok(udpai_grpc_target_new(&target, &options, NULL));
    return target;
}

static void
dial(struct world *world, udpai_grpc_target *target, uint64_t link)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_DIAL);
    assert_non_null(order);
    order->link = link;
    order->target = udpai_grpc_target_ref(target);
    order->release_target = udpai_grpc_target_drop;
    udpai_stream_thread_order(world->near.thread, order);
}

static void
expect_peer(test_bed *bed, const char *name)
{
    udpai_report *opened = bed_report(bed, UDPAI_REPORT_OPENED);
    assert_str(udpai_identity_name(opened->identity), name);
    udpai_report_free(opened);
}

/* Streams that stand stay, new ones have the new certificate; also of targets made after this one.
 */
static void
what_is_dialled_next_has_other_certificates(void **state)
{
    struct world *world = world_of(state);
    udpai_grpc_target *target = make_target(world);
    udpai_grpc_target *like = udpai_grpc_target_with(target, NULL, NULL);
    dial(world, target, 1);
    expect_peer(&world->far, "client");
    assert_ok(udpai_grpc_target_replace_tls(like, &world->second, NULL));
    dial(world, like, 2);
    expect_peer(&world->far, "second");
    bed_wait_streams(&world->far, 2, 40);
    udpai_grpc_target_unref(like);
    udpai_grpc_target_unref(target);
}

static void
whom_we_dialled_is_cut_off_too(void **state)
{
    struct world *world = world_of(state);
    udpai_tls_files other = world->client;
    udpai_grpc_target *target = make_target(world);
    dial(world, target, 1);
    expect_peer(&world->near, "server");
    other.trust = world->stranger.trust;
    assert_ok(udpai_grpc_target_replace_tls(target, &other, NULL));
    udpai_stream_thread_verify(world->near.thread);
    udpai_report *closed = bed_report(&world->near, UDPAI_REPORT_CLOSED);
    assert_int_equal(udpa_error_code(closed->error), UDPA_ERR_UNAUTHENTICATED);
    assert_non_null(strstr(udpa_error_message(closed->error), "of CN=server leads to"));
    udpai_report_free(closed);
    dial(world, target, 2); /* nor is there a session */
    closed = bed_report(&world->near, UDPAI_REPORT_CLOSED);
    assert_int_equal(udpa_error_code(closed->error), UDPA_ERR_UNAUTHENTICATED);
    udpai_report_free(closed);
    udpai_grpc_target_unref(target);
}

/* ---- requests of other transports ---- */

typedef struct bridged {
    udpai_bridged_stream base; /* first */
    test_bed *bed;
    unsigned n_over; /* under the bed's mutex */
} bridged;

static void
on_over(udpai_bridged_stream *base)
{
    bridged *self = (bridged *)base;
    pthread_mutex_lock(&self->bed->mutex);
    self->n_over++;
    pthread_cond_signal(&self->bed->cond);
    pthread_mutex_unlock(&self->bed->mutex);
}

static void
on_free(udpai_bridged_stream *base)
{
    udpai_free(base);
}

/* One that is held. */
static bridged *
come(struct world *world, udpai_trust *trust)
{
    bridged *self = udpai_alloc(sizeof(*self));
    const udpai_pem pem = {"the client's", udpai_str_from(world->client.certificate)};
    udpai_bridged_stream_init(&self->base);
    self->bed = &world->far;
    self->base.method = bed_method;
    self->base.trust = udpai_trust_ref(trust);
    self->base.over = on_over;
    self->base.free = on_free;
    assert_ok(udpai_chain_new(&self->base.chain, pem, NULL));
    assert_ok(udpa_bytes_new(&self->base.address, "x", 1));
    assert_ok(udpa_bytes_new(&self->base.message, "hold", 4));
    assert_true(udpai_stream_thread_bridge(world->far.thread, &self->base));
    return self;
}

static void
expect_over(bridged *self)
{
    bed_wait_count(self->bed, &self->n_over, 1);
    assert_int_equal(udpa_error_code(self->base.bridge.error), UDPA_ERR_UNAUTHENTICATED);
    assert_non_null(strstr(udpa_error_message(self->base.bridge.error), "of CN=client leads to"));
    udpai_bridged_stream_unref(&self->base);
}

static void
what_is_held_for_him_ends(void **state)
{
    struct world *world = world_of(state);
    udpai_trust *trust = udpai_trust_new(world->server.trust);
    bridged *held = come(world, trust);
    udpai_report_free(bed_report(&world->far, UDPAI_REPORT_OPENED));
    udpai_trust_set(trust, world->stranger.trust);
    udpai_stream_thread_verify(world->far.thread);
    expect_over(held);
    expect_over(come(world, trust)); /* nor is there anything more */
    udpai_trust_unref(trust);
}

static void
without_tls_there_is_nothing_to_replace(void **state)
{
    const struct world *world = world_of(state);
    udpai_grpc_target *target = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_grpc_target_options plain = {.address = "127.0.0.1:1", .method = bed_method};
    assert_ok(udpai_grpc_target_new(&target, &plain, NULL));
    assert_int_equal(udpai_grpc_target_replace_tls(target, &world->client, &error),
                     UDPA_ERR_PRECONDITION);
    assert_non_null(strstr(udpa_error_message(error), "127.0.0.1:1 is dialled without TLS"));
    udpai_grpc_target_unref(target);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(other_authorities_cut_off),
        CASE(what_is_dialled_next_has_other_certificates),
        CASE(whom_we_dialled_is_cut_off_too),
        CASE(what_is_held_for_him_ends),
        CASE(without_tls_there_is_nothing_to_replace),
    };
    assert_int_equal(argc, 2);
    certificates_script = argv[1];
    return cmocka_run_group_tests_name("transport grpc_credentials", tests, NULL, NULL);
}
