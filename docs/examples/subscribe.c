/* SPDX-License-Identifier: Apache-2.0 */
/* Subscribes to a namespace, prints its changes, and rejects resources that it cannot use. */

/* Try it:
 *
 *     cc subscribe.c -o subscribe $(pkg-config --cflags --libs udpa)
 *     udpad &                                  # a node on 127.0.0.1:18000
 *     ./subscribe 127.0.0.1:18000 local &
 *     ./publish 127.0.0.1:18000 local/greeting "hello, world"
 *     ./publish 127.0.0.1:18000 local/greeting ""
 *     udpactl status sessions                  # says what was refused, and why
 *
 * It goes on until it is interrupted, also when the node goes away and comes back: then it is sent
 * only what has changed. */
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

/* What has not come by now does not exist. */
static void
on_complete(void *userdata)
{
    printf("complete: that is all there is in '%s'\n", (const char *)userdata);
    fflush(stdout);
}

static int
subscribe(udpa_endpoint *endpoint, char *name_space)
{
    udpa_subscription *subscription; /* ends with the endpoint */
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    udpa_error *error = NULL;
    options.type_url = "type.googleapis.com/google.protobuf.StringValue";
    options.name_space = name_space;
    options.update = on_update;
    options.complete = on_complete;
    options.userdata = name_space;
    if (udpa_subscribe(&subscription, endpoint, &options, &error) == UDPA_OK)
        return 0;
    fprintf(stderr, "subscribe: %s\n", udpa_error_message(error));
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
    if (argc != 3) {
        fprintf(stderr, "usage: subscribe HOST:PORT NAMESPACE\n");
        return 2;
    }
    node.name = "node";
    node.address = argv[1];
    options.node_id = "subscribe-example";
    options.sources = &node;
    options.n_sources = 1;
    if (udpa_endpoint_new(&endpoint, uv_default_loop(), &options, &error) != UDPA_OK) {
        fprintf(stderr, "subscribe: %s\n", udpa_error_message(error));
        udpa_error_unref(error);
        return 1;
    }
    uv_signal_init(uv_default_loop(), &interrupt);
    interrupt.data = endpoint;
    uv_signal_start(&interrupt, on_interrupt, SIGINT);
    int status = subscribe(endpoint, argv[2]);
    if (status != 0)
        on_interrupt(&interrupt, SIGINT);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return status;
}
