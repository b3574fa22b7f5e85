/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint listens, and the side with the resources dials: for an endpoint that cannot reach
 * its management server, because of a firewall or without a stable address to dial. */

/* Try it:
 *
 *     cc listen.c -o listen $(pkg-config --cflags --libs udpa)
 *     ./listen 127.0.0.1:0 publish-example &   # prints its port
 *     ./publish 127.0.0.1:PORT local/greeting "hello, world"
 *     ./publish 127.0.0.1:PORT local/greeting ""
 *
 * The second argument says who may come as the source: by the id of its node, or over TLS by the
 * name in its certificate. Between the two there is no node, so what this program refuses, the
 * publisher reads in its receipt. udpad dials endpoints that its bootstrap file lists under dial.
 */
#include <signal.h>
#include <stdio.h>

#include <uv.h>

#include <udpa/subscribe.h>

/* The text of a google.protobuf.StringValue that is not longer than 127 bytes; NULL: it is none. A
 * program of your own would let its protobuf library do this. */
static const char *
text_of(const udpa_resource *resource, int *ret_len)
{
    size_t size;
    const unsigned char *payload = udpa_resource_payload(resource, &size);
    if (size < 3 || payload[0] != (1 << 3 | 2) || payload[1] + 2u != size)
        return NULL;
    *ret_len = payload[1];
    return (const char *)payload + 2;
}

/* Changes that belong together. Returning takes all of them that were not refused. */
static void
on_update(void *userdata, udpa_update *update)
{
    (void)userdata;
    for (size_t i = 0; i < udpa_update_size(update); i++) {
        const udpa_resource *resource = udpa_update_resource(update, i);
        int len;
        const char *text = text_of(resource, &len);
        if (udpa_update_is_removal(update, i)) {
            printf("removed: %s\n", udpa_resource_name(resource));
        } else if (text) {
            printf("changed: %s is '%.*s'\n", udpa_resource_name(resource), len, text);
        } else {
            printf("refused: %s\n", udpa_resource_name(resource));
            udpa_update_refuse(update, i, UDPA_ERR_INVAL, "a greeting needs a text");
        }
    }
    fflush(stdout);
}

static int
subscribe(udpa_endpoint *endpoint)
{
    udpa_subscription *subscription; /* ends with the endpoint */
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    udpa_error *error = NULL;
    options.type_url = "type.googleapis.com/google.protobuf.StringValue";
    options.name_space = ""; /* all there are */
    options.update = on_update;
    if (udpa_subscribe(&subscription, endpoint, &options, &error) == UDPA_OK)
        return 0;
    fprintf(stderr, "listen: %s\n", udpa_error_message(error));
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
    udpa_source server = UDPA_SOURCE_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    udpa_error *error = NULL;
    uv_signal_t interrupt;
    if (argc != 3) {
        fprintf(stderr, "usage: listen ADDRESS:PORT PEER\n");
        return 2;
    }
    server.name = "management server";
    server.peer = argv[2];
    options.node_id = "listen-example";
    options.sources = &server;
    options.n_sources = 1;
    options.listen_address = argv[1];
    if (udpa_endpoint_new(&endpoint, uv_default_loop(), &options, &error) != UDPA_OK) {
        fprintf(stderr, "listen: %s\n", udpa_error_message(error));
        udpa_error_unref(error);
        return 1;
    }
    printf("listening on port %d\n", udpa_endpoint_port(endpoint));
    fflush(stdout);
    uv_signal_init(uv_default_loop(), &interrupt);
    interrupt.data = endpoint;
    uv_signal_start(&interrupt, on_interrupt, SIGINT);
    int status = subscribe(endpoint);
    if (status != 0)
        on_interrupt(&interrupt, SIGINT);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return status;
}
