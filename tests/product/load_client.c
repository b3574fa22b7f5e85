/* SPDX-License-Identifier: Apache-2.0 */
/* A client of libudpa that counts load: `load_client HOST:PORT NODE_ID CLUSTER`. A line with a
 * number is so many requests; the end of the input ends it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include <udpa/load.h>

struct client {
    udpa_endpoint *endpoint;
    udpa_load_recorder *recorder;
    udpa_load_target *backend;
    uv_pipe_t input;
    char room[4096];
    unsigned long number; /* of the line that is being read */
};

static void
count(const struct client *client, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        udpa_load_request_started(client->backend);
        udpa_load_request_succeeded(client->backend);
    }
}

static void
get_room(uv_handle_t *handle, size_t size, uv_buf_t *ret_room)
{
    struct client *client = handle->data;
    (void)size;
    *ret_room = uv_buf_init(client->room, sizeof(client->room));
}

static void
on_input(uv_stream_t *stream, ssize_t n, const uv_buf_t *room)
{
    struct client *client = stream->data;
    if (n < 0) {
        udpa_endpoint_close(client->endpoint, NULL, NULL);
        uv_close((uv_handle_t *)stream, NULL);
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        char c = room->base[i];
        if (c >= '0' && c <= '9') {
            client->number = client->number * 10 + (unsigned long)(c - '0');
            continue;
        }
        count(client, client->number);
        client->number = 0;
    }
}

static udpa_err
begin(struct client *client, char **argv, udpa_error **ret_error)
{
    udpa_source node = UDPA_SOURCE_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    udpa_load_place place = UDPA_LOAD_PLACE_INIT;
    udpa_load_report_options how = UDPA_LOAD_REPORT_OPTIONS_INIT;
    node.name = "node";
    node.address = argv[1];
    options.node_id = argv[2];
    options.sources = &node;
    options.n_sources = 1;
    place.cluster = argv[3];
    how.interval_ms = 200;
    udpa_err err = udpa_endpoint_new(&client->endpoint, uv_default_loop(), &options, ret_error);
    if (err == UDPA_OK)
        err = udpa_load_recorder_new(&client->recorder, NULL, ret_error);
    if (err == UDPA_OK)
        err = udpa_load_target_get(&client->backend, client->recorder, &place, ret_error);
    return err == UDPA_OK
               ? udpa_load_report_begin(client->endpoint, client->recorder, &how, ret_error)
               : err;
}

int
main(int argc, char **argv)
{
    static struct client client;
    udpa_error *error = NULL;
    if (argc != 4 || begin(&client, argv, &error) != UDPA_OK) {
        fprintf(stderr, "load_client: %s\n", udpa_error_message(error));
        udpa_error_unref(error);
        return 1;
    }
    client.input.data = &client;
    uv_pipe_init(uv_default_loop(), &client.input, 0);
    if (uv_pipe_open(&client.input, 0) != 0 ||
        uv_read_start((uv_stream_t *)&client.input, get_room, on_input) != 0)
        return 1;
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    udpa_load_target_unref(client.backend);
    udpa_load_recorder_unref(client.recorder);
    return 0;
}
