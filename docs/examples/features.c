/* SPDX-License-Identifier: Apache-2.0 */
/* Values and features that change while a program runs: from a directory that is swapped, from a
 * management server if there is one (RTDS), and from its input. */

/* Try it:
 *
 *     cc features.c -o features $(pkg-config --cflags --libs udpa)
 *     mkdir -p v1/greeting && echo hello >v1/greeting/text && ln -s v1 current
 *     ./features current [HOST:PORT com.acme/runtime]
 *     greeting.percent=30
 *     greeting.percent=
 *
 * The greeting is on for 50 of a hundred users, unless greeting.percent says otherwise; which user
 * is one of them is his number's hash. The end of the input ends it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include <udpa/runtime.h>

#define USERS 1000

static udpa_endpoint *endpoint; /* NULL: there is no server */

/* In a program of your own any thread does this, for each request. */
static void
greet(udpa_runtime *runtime)
{
    unsigned n = 0;
    for (uint64_t user = 0; user < USERS; user++) {
        uint64_t hash = (user + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
        n += udpa_runtime_feature_enabled(runtime, "greeting.percent", 50, hash);
    }
    printf("'%s' for %u of %d users\n", udpa_runtime_string(runtime, "greeting.text", "good day"),
           n, USERS);
    fflush(stdout);
}

static void
on_changed(void *userdata, const udpa_runtime_snapshot *now)
{
    (void)now; /* all of it belongs to one moment; greet() looks at the newest */
    greet(*(udpa_runtime **)userdata);
}

/* KEY=VALUE, or KEY= to remove what was set. */
static void
set(udpa_runtime *runtime, char *line)
{
    udpa_error *error = NULL;
    char *equals = strchr(line, '=');
    udpa_runtime_setting setting = {line, equals ? equals + 1 : ""};
    if (equals)
        *equals = '\0';
    if (udpa_runtime_modify(runtime, &setting, 1, &error) != UDPA_OK)
        printf("refused: %s\n", udpa_error_message(error));
    fflush(stdout);
    udpa_error_unref(error);
}

static void
on_closed(void *userdata)
{
    (void)userdata;
    if (endpoint)
        udpa_endpoint_close(endpoint, NULL, NULL); /* behind the runtime, which has used it */
}

/* Terminals and pipes hand over whole lines. */
static void
on_input(uv_poll_t *input, int status, int events)
{
    char text[4096], *line = text, *end;
    ssize_t size = status == 0 ? read(STDIN_FILENO, text, sizeof(text) - 1) : 0;
    (void)events;
    if (size <= 0) {
        udpa_runtime_close(input->data, on_closed, NULL);
        uv_close((uv_handle_t *)input, NULL); /* the loop ends when nothing is left on it */
        return;
    }
    for (text[size] = '\0'; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        set(input->data, line);
    }
}

static udpa_err
begin(udpa_runtime **ret_runtime, char **argv, udpa_error **ret_error)
{
    udpa_source source = UDPA_SOURCE_INIT;
    udpa_endpoint_options peer = UDPA_ENDPOINT_OPTIONS_INIT;
    udpa_runtime_options options = UDPA_RUNTIME_OPTIONS_INIT;
    udpa_runtime_layer layers[3] = {UDPA_RUNTIME_LAYER_INIT, UDPA_RUNTIME_LAYER_INIT,
                                    UDPA_RUNTIME_LAYER_INIT}; /* the later ones count */
    udpa_runtime_layer *disk = &layers[0], *rtds = &layers[1],
                       *admin = argv[2] ? &layers[2] : &layers[1];
    disk->name = "disk";
    disk->kind = UDPA_RUNTIME_DISK;
    disk->symlink_root = argv[1];
    if (argv[2]) {
        source.name = "management server";
        source.address = argv[2];
        peer.node_id = "features-example";
        peer.sources = &source;
        peer.n_sources = 1;
        udpa_err err = udpa_endpoint_new(&endpoint, uv_default_loop(), &peer, ret_error);
        if (err != UDPA_OK)
            return err;
        rtds->name = "rtds";
        rtds->kind = UDPA_RUNTIME_RTDS;
        rtds->endpoint = endpoint;
        rtds->resource_name = argv[3];
    }
    admin->name = "admin";
    admin->kind = UDPA_RUNTIME_ADMIN;
    options.layers = layers;
    options.n_layers = argv[2] ? 3 : 2;
    options.changed = on_changed;
    options.userdata = ret_runtime;
    return udpa_runtime_new(ret_runtime, uv_default_loop(), &options, ret_error);
}

int
main(int argc, char **argv)
{
    udpa_runtime *runtime;
    udpa_error *error = NULL;
    uv_poll_t input;
    if (argc != 2 && argc != 4) {
        fprintf(stderr, "usage: features ROOT [HOST:PORT RESOURCE]\n");
        return 2;
    }
    if (begin(&runtime, argv, &error) != UDPA_OK) {
        fprintf(stderr, "features: %s\n", udpa_error_message(error));
        udpa_error_unref(error);
        return 1;
    }
    greet(runtime);
    uv_poll_init(uv_default_loop(), &input, STDIN_FILENO);
    input.data = runtime;
    uv_poll_start(&input, UV_READABLE, on_input);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return 0;
}
