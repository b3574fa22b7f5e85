/* SPDX-License-Identifier: Apache-2.0 */
/* An endpoint that reports the state of its resources: it receives greetings from a node, rejects
 * those that are too long, and answers the public ClientStatusDiscoveryService about itself, as
 * clients of gRPC do. */

/* Try it:
 *
 *     cc client_status.c -o client_status $(pkg-config --cflags --libs udpa)
 *     ./client_status 127.0.0.1:18000 127.0.0.1:0 local/greeting local/farewell &
 *     grpcurl -plaintext 127.0.0.1:PORT \
 *         envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus
 *
 * Whoever can connect may ask: beyond loopback it takes TLS, and then who has a certificate that
 * the endpoint trusts.
 */
#include <signal.h>
#include <stdio.h>

#include <uv.h>

#include <udpa/subscribe.h>

#define LONGEST 20

/* What is refused here is told to the node, too, and is what both of them answer. */
static void
on_update(void *userdata, udpa_update *update)
{
    (void)userdata;
    for (size_t i = 0; i < udpa_update_size(update); i++) {
        size_t size;
        (void)udpa_resource_payload(udpa_update_resource(update, i), &size);
        if (!udpa_update_is_removal(update, i) && size > LONGEST)
            udpa_update_refuse(update, i, UDPA_ERR_INVAL, "a greeting is not a speech");
    }
}

static int
subscribe(udpa_endpoint *endpoint, char **names, int n)
{
    udpa_subscription *subscription; /* ends with the endpoint */
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    udpa_error *error = NULL;
    options.type_url = "type.googleapis.com/google.protobuf.StringValue";
    options.names = (const char *const *)names;
    options.n_names = (size_t)n;
    options.update = on_update;
    if (udpa_subscribe(&subscription, endpoint, &options, &error) == UDPA_OK)
        return 0;
    fprintf(stderr, "client_status: %s\n", udpa_error_message(error));
    udpa_error_unref(error);
    return 1;
}

static void
on_interrupt(uv_signal_t *handle, int number)
{
    (void)number;
    udpa_endpoint_close(handle->data, NULL, NULL);
    uv_close((uv_handle_t *)handle, NULL); /* the loop ends when nothing is left on it */
}

int
main(int argc, char **argv)
{
    udpa_endpoint *endpoint;
    udpa_source node = UDPA_SOURCE_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    udpa_error *error = NULL;
    uv_signal_t interrupt;
    if (argc < 4) {
        fprintf(stderr, "usage: client_status NODE:PORT ADDRESS:PORT NAME...\n");
        return 2;
    }
    node.name = "node";
    node.address = argv[1];
    options.node_id = "client-status-example";
    options.sources = &node;
    options.n_sources = 1;
    options.listen_address = argv[2];
    options.answers_client_status = true;
    if (udpa_endpoint_new(&endpoint, uv_default_loop(), &options, &error) != UDPA_OK) {
        fprintf(stderr, "client_status: %s\n", udpa_error_message(error));
        udpa_error_unref(error);
        return 1;
    }
    printf("listening on port %d\n", udpa_endpoint_port(endpoint));
    fflush(stdout);
    uv_signal_init(uv_default_loop(), &interrupt);
    interrupt.data = endpoint;
    uv_signal_start(&interrupt, on_interrupt, SIGINT);
    int status = subscribe(endpoint, argv + 3, argc - 3);
    if (status != 0)
        on_interrupt(&interrupt, SIGINT);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return status;
}
