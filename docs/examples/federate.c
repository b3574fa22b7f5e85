/* SPDX-License-Identifier: Apache-2.0 */
/* Receives resources of one type from two management servers at once, each with its own authority,
 * and prints the effective ones: direct federation. */

/* Try it:
 *
 *     cc federate.c -o federate $(pkg-config --cflags --libs udpa)
 *     ./federate google.protobuf.StringValue 127.0.0.1:18000 com.acme 127.0.0.1:18001 com.blah
 *     ./federate envoy.config.cluster.v3.Cluster 127.0.0.1:18000 com.acme \
 *         xds:127.0.0.1:15010 com.acme
 *
 * Of the first server what lies in the first namespace is accepted, of the second what lies in the
 * second one. Where both have a name the first one counts: so a service is moved by having it on
 * both for a while. With "xds:" before its address the second one is any xDS v3 server, such as
 * go-control-plane. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <uv.h>

#include <udpa/provider.h>
#include <udpa/subscribe.h>

/* Who speaks by a resource is its authority. */
static void
on_update(void *userdata, udpa_update *update)
{
    (void)userdata;
    for (size_t i = 0; i < udpa_update_size(update); i++) {
        const udpa_resource *resource = udpa_update_resource(update, i);
        printf("%s: %s by %s\n", udpa_update_is_removal(update, i) ? "removed" : "changed",
               udpa_resource_name(resource), udpa_resource_authority(resource));
    }
    fflush(stdout);
}

static void
on_complete(void *userdata)
{
    (void)userdata;
    printf("complete: both have said all\n");
    fflush(stdout);
}

static void
on_interrupt(uv_signal_t *handle, int number)
{
    (void)number;
    udpa_endpoint_close(handle->data, NULL, NULL);
    uv_close((uv_handle_t *)handle, NULL);
}

static int
fail(udpa_error *error)
{
    fprintf(stderr, "federate: %s\n", udpa_error_message(error));
    udpa_error_unref(error);
    return 1;
}

/* Two sources side by side: UDPA_CONTINUE goes on to the second whatever the first one does. */
static udpa_err
connect_both(udpa_endpoint **ret_endpoint, char **argv, udpa_error **ret_error)
{
    udpa_source sources[2] = {UDPA_SOURCE_INIT, UDPA_SOURCE_INIT};
    udpa_descriptor descriptors[2] = {UDPA_DESCRIPTOR_INIT, UDPA_DESCRIPTOR_INIT};
    udpa_xds_server legacy = UDPA_XDS_SERVER_INIT;
    udpa_provider provider = UDPA_PROVIDER_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    const char *const types[] = {argv[1]};
    sources[0].name = descriptors[0].source = "first";
    sources[0].address = argv[2];
    descriptors[0].name_space = argv[3];
    descriptors[0].continuation = UDPA_CONTINUE;
    sources[1].name = descriptors[1].source = "second";
    sources[1].address = argv[4];
    descriptors[1].name_space = argv[5];
    if (strncmp(argv[4], "xds:", 4) == 0) {
        legacy.authority = "legacy";
        legacy.name_space = argv[5];
        sources[1].address += 4;
        sources[1].xds = &legacy;
    }
    provider.types = types;
    provider.n_types = 1;
    provider.descriptors = descriptors;
    provider.n_descriptors = 2;
    options.node_id = "federate-example";
    options.sources = sources;
    options.n_sources = 2;
    options.providers = &provider;
    options.n_providers = 1;
    return udpa_endpoint_new(ret_endpoint, uv_default_loop(), &options, ret_error);
}

int
main(int argc, char **argv)
{
    udpa_endpoint *endpoint;
    udpa_subscription *subscription; /* ends with the endpoint */
    udpa_subscribe_options all = UDPA_SUBSCRIBE_OPTIONS_INIT;
    udpa_error *error = NULL;
    uv_signal_t interrupt;
    if (argc != 6) {
        fprintf(stderr, "usage: federate TYPE HOST:PORT NAMESPACE [xds:]HOST:PORT NAMESPACE\n");
        return 2;
    }
    if (connect_both(&endpoint, argv, &error) != UDPA_OK)
        return fail(error);
    all.type_url = argv[1];
    all.update = on_update;
    all.complete = on_complete;
    if (udpa_subscribe(&subscription, endpoint, &all, &error) != UDPA_OK)
        return fail(error);
    uv_signal_init(uv_default_loop(), &interrupt);
    interrupt.data = endpoint;
    uv_signal_start(&interrupt, on_interrupt, SIGINT);
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
