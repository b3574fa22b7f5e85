/* SPDX-License-Identifier: Apache-2.0 */
/* Two management nodes on one loop, each with its stream thread, over loopback: one has files, the
 * other mirrors them. What the simulation shows in virtual time is shown here for real. */
#include "tests/harness/resources.h"

#include <stdio.h>

#include <udpa/subscribe.h>

#include "certificates.h"
#include "endpoint/endpoint.h"
#include "session/udpa.h"
#include "transport/grpc/listener.h"

#define PATIENCE_MS 20000 /* after so long something will not happen any more */

struct world {
    uv_loop_t loop;
    uv_timer_t patience;
    uv_prepare_t look;
    uv_async_t listener_gone;
    udpa_endpoint *origin, *mirror;
    udpai_listener *listener; /* of the origin */
    udpai_server_tls *server_tls;
    udpai_tls_files server_files, client_files;
    char address[32];
    udpa_subscription *subscription;
    char seen[64]; /* what the mirror holds under the one name; empty: nothing */
    unsigned n_updates, n_listeners_gone, n_closed;
    bool is_complete;
};

/* ---- the loop ---- */

static void
on_patience(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("it has not happened within %d ms", PATIENCE_MS);
}

struct wish {
    bool (*is_true)(const struct world *world);
    const struct world *world;
};

static void
on_look(uv_prepare_t *look)
{
    const struct wish *wish = look->data;
    if (wish->is_true(wish->world))
        uv_stop(look->loop);
}

static void
run_until(struct world *world, bool (*is_true)(const struct world *world))
{
    struct wish wish = {is_true, world};
    world->look.data = &wish;
    uv_timer_start(&world->patience, on_patience, PATIENCE_MS, 0);
    uv_prepare_start(&world->look, on_look);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    uv_prepare_stop(&world->look);
    uv_timer_stop(&world->patience);
    assert_true(is_true(world));
}

/* ---- the nodes ---- */

static udpa_endpoint *
make_node(struct world *world, udpai_endpoint_settings *settings, const char *id)
{
    static const udpai_str features[] = {
        {UDPAI_FEATURE_EXTENSIONS, sizeof(UDPAI_FEATURE_EXTENSIONS) - 1},
        {UDPAI_FEATURE_NODE, sizeof(UDPAI_FEATURE_NODE) - 1}};
    const udpai_node_parts parts = {
        .id = udpai_str_from(id),
        .features = features,
        .n_features = UDPAI_ARRAY_LEN(features),
    };
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
    udpa_endpoint *node = NULL;
    udpa_error *error = NULL;
    assert_ok(udpai_node_info_new(&info, &parts));
    settings->info = info;
    settings->node.id = settings->node.authority = udpai_str_from(id);
    if (udpai_endpoint_new(&node, &world->loop, settings, &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
    udpai_endpoint_start(node);
    return node;
}

static void
listen_at(struct world *world, const char *address)
{
    udpa_error *error = NULL;
    const udpai_listen_options options = {.address = address, .tls = world->server_tls};
    if (udpai_stream_thread_listen(udpai_endpoint_streams(world->origin), &options,
                                   &world->listener, &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
    snprintf(world->address, sizeof(world->address), "127.0.0.1:%d",
             udpai_listener_port(world->listener));
}

static void
make_origin(struct world *world)
{
    udpai_endpoint_settings settings;
    udpai_endpoint_settings_init(&settings);
    world->origin = make_node(world, &settings, "origin");
    listen_at(world, "127.0.0.1:0");
}

static void
make_mirror(struct world *world)
{
    const udpai_grpc_target_options options = {
        .address = world->address,
        .tls = world->server_tls ? &world->client_files : NULL,
        .method = {UDPAI_UDPA_PATH, udpai_udpa_session_new, NULL},
    };
    udpai_grpc_target *target = NULL;
    assert_ok(udpai_grpc_target_new(&target, &options, NULL));
    const udpai_source_config source = {
        .name = UDPAI_STR("upstream"),
        .kind = UDPAI_SOURCE_UDPA,
        .address = udpai_str_from(world->address),
        .target = target,
        .ref_target = udpai_grpc_target_hold,
        .release_target = udpai_grpc_target_drop,
    };
    const udpai_descriptor_config descriptor = {.source = UDPAI_STR("upstream")};
    const udpai_str types[] = {UDPAI_STR(TEST_TYPE)};
    const udpai_provider_config provider = {types, 1, &descriptor, 1};
    udpai_endpoint_settings settings;
    udpai_endpoint_settings_init(&settings);
    settings.node.sources = &source;
    settings.node.n_sources = 1;
    settings.node.providers = &provider;
    settings.node.n_providers = 1;
    settings.node.timing.backoff_base_ms = 5;
    settings.node.timing.backoff_max_ms = 20;
    world->mirror = make_node(world, &settings, "mirror");
    udpai_grpc_target_unref(target);
}

/* What the origin's directory has from now on; NULL: nothing. */
static void
set_files(struct world *world, const char *value)
{
    udpa_resource *resource =
        value ? RESOURCE("com.acme/a", .value = value, .version = value) : NULL;
    const udpai_directory directory = {
        .root = UDPAI_STR("/files"),
        .resources = &resource,
        .n_resources = value ? 1 : 0,
    };
    assert_ok(udpai_node_set_files(udpai_endpoint_node(world->origin), &directory, NULL));
    udpai_endpoint_touch(world->origin);
    udpa_resource_unref(resource);
}

static void
on_update(void *userdata, udpa_update *update)
{
    struct world *world = userdata;
    assert_int_equal(udpa_update_size(update), 1);
    const udpa_resource *resource = udpa_update_resource(update, 0);
    assert_string_equal(udpa_resource_name(resource), "com.acme/a");
    assert_string_equal(udpa_resource_authority(resource), "origin");
    size_t size = 0;
    const char *payload = udpa_resource_payload(resource, &size);
    snprintf(world->seen, sizeof(world->seen), "%.*s",
             udpa_update_is_removal(update, 0) ? 0 : (int)size, payload);
    world->n_updates++;
}

static void
on_complete(void *userdata)
{
    ((struct world *)userdata)->is_complete = true;
}

static void
watch_mirror(struct world *world)
{
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    options.type_url = TEST_TYPE;
    options.name_space = "com.acme";
    options.update = on_update;
    options.complete = on_complete;
    options.userdata = world;
    assert_ok(udpa_subscribe(&world->subscription, world->mirror, &options, NULL));
}

/* ---- beginning and end ---- */

static void
on_listener_gone(uv_async_t *async)
{
    struct world *world = async->data;
    world->n_listeners_gone++;
}

static void
begin(struct world *world)
{
    assert_ok(uv_loop_init(&world->loop));
    assert_ok(uv_timer_init(&world->loop, &world->patience));
    assert_ok(uv_prepare_init(&world->loop, &world->look));
    assert_ok(uv_async_init(&world->loop, &world->listener_gone, on_listener_gone));
    world->listener_gone.data = world;
    make_origin(world);
    make_mirror(world);
    watch_mirror(world);
}

static void
on_closed(void *userdata)
{
    ((struct world *)userdata)->n_closed++;
}

static bool
both_are_closed(const struct world *world)
{
    return world->n_closed == 2;
}

static void
end(struct world *world)
{
    udpa_endpoint_close(world->mirror, on_closed, world);
    udpa_endpoint_close(world->origin, on_closed, world);
    run_until(world, both_are_closed);
    uv_close((uv_handle_t *)&world->patience, NULL);
    uv_close((uv_handle_t *)&world->look, NULL);
    uv_close((uv_handle_t *)&world->listener_gone, NULL);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_ok(uv_loop_close(&world->loop)); /* nothing was left on it */
    udpai_server_tls_unref(world->server_tls);
}

/* ---- */

static bool
sees_first(const struct world *world)
{
    return strcmp(world->seen, "first") == 0;
}

static bool
sees_second(const struct world *world)
{
    return strcmp(world->seen, "second") == 0;
}

static bool
sees_nothing(const struct world *world)
{
    return world->n_updates > 0 && world->seen[0] == '\0';
}

static bool
is_complete(const struct world *world)
{
    return world->is_complete;
}

static void
test_files_arrive(void **state)
{
    (void)state;
    struct world world = {0};
    begin(&world);
    set_files(&world, "first");
    run_until(&world, sees_first);
    set_files(&world, "second");
    run_until(&world, sees_second);
    set_files(&world, NULL);
    run_until(&world, sees_nothing);
    assert_int_equal(world.n_updates, 3);
    run_until(&world, is_complete);
    end(&world);
}

static void
tell_loop(void *userdata)
{
    uv_async_send(userdata);
}

static bool
listener_is_gone(const struct world *world)
{
    return world->n_listeners_gone == 1;
}

static bool
mirror_is_refused(const struct world *world)
{
    const udpa_error *error = udpa_endpoint_source_error(world->mirror, "upstream");
    return error && strstr(udpa_error_message(error), "Connection refused");
}

/* The mirror keeps what it has while nobody is there, and learns what has changed meanwhile. */
static void
test_listener_goes_and_comes_back(void **state)
{
    (void)state;
    struct world world = {0};
    begin(&world);
    set_files(&world, "first");
    run_until(&world, sees_first);
    run_until(&world, is_complete);
    udpai_stream_thread_close_listener(udpai_endpoint_streams(world.origin), world.listener,
                                       tell_loop, &world.listener_gone);
    run_until(&world, listener_is_gone);
    run_until(&world, mirror_is_refused);
    set_files(&world, "second");
    assert_string_equal(world.seen, "first");
    char address[sizeof(world.address)];
    memcpy(address, world.address, sizeof(address));
    listen_at(&world, address);
    run_until(&world, sees_second);
    assert_int_equal(world.n_updates, 2);
    end(&world);
}

static void
test_with_certificates(void **state)
{
    (void)state;
    struct world world = {0};
    char *directory = certificates_begin();
    if (!directory)
        skip();
    certificates_issue(&world.server_files, directory, "ca", "server", NULL);
    certificates_issue(&world.client_files, directory, "ca", "client", NULL);
    assert_ok(udpai_server_tls_new(&world.server_tls, &world.server_files, false, NULL));
    begin(&world);
    set_files(&world, "first");
    run_until(&world, sees_first);
    run_until(&world, is_complete);
    end(&world);
    udpai_tls_files_done(&world.server_files);
    udpai_tls_files_done(&world.client_files);
    certificates_end(directory);
}

int
main(int argc, char **argv)
{
    certificates_script = argc > 1 ? argv[1] : "";
    udpai_grpc_redirect_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_arrive),
        cmocka_unit_test(test_listener_goes_and_comes_back),
        cmocka_unit_test(test_with_certificates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
