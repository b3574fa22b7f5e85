/* SPDX-License-Identifier: Apache-2.0 */
/* Follows a type from several management servers, each the standby of those before it, and prints
 * changes with their times: an endpoint that fails over by itself (direct federation). */

/* Try it:
 *
 *     cc follow.c -o follow $(pkg-config --cflags --libs udpa)
 *     ./follow envoy.config.endpoint.v3.ClusterLoadAssignment com.acme 127.0.0.1:18000 \
 *              127.0.0.1:18001
 *
 * Replicas of one set are one server, with commas: 127.0.0.1:18000,127.0.0.1:18001.
 * With TLS the environment says who it is: UDPA_CA, UDPA_CERT and UDPA_KEY are PEM files. Each line
 * is "MILLISECONDS added|changed|removed NAME VERSION AUTHORITY", or "MILLISECONDS complete" when
 * all that there is was printed. It goes on until it is interrupted. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uv.h>

#include <udpa/subscribe.h>

#define SERVERS_MAX 8
#define NAMES_MAX 1024

/* What is there now, so that a first word can be told from a change. */
struct follower {
    char *names[NAMES_MAX];
    size_t n_names;
};

static long long
now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static size_t
find(const struct follower *follower, const char *name)
{
    size_t at = 0;
    while (at < follower->n_names && strcmp(follower->names[at], name) != 0)
        at++;
    return at;
}

/* Notes that the name is there, or is not; says what has become of it. */
static const char *
note(struct follower *follower, const char *name, bool is_removal)
{
    size_t at = find(follower, name);
    bool was_there = at < follower->n_names;
    if (is_removal && was_there) {
        free(follower->names[at]);
        follower->names[at] = follower->names[--follower->n_names];
    } else if (!is_removal && !was_there && follower->n_names < NAMES_MAX) {
        char *copy = strdup(name);
        if (copy)
            follower->names[follower->n_names++] = copy;
    }
    return is_removal ? "removed" : was_there ? "changed" : "added";
}

static void
on_update(void *userdata, udpa_update *update)
{
    for (size_t i = 0; i < udpa_update_size(update); i++) {
        const udpa_resource *resource = udpa_update_resource(update, i);
        const char *name = udpa_resource_name(resource);
        printf("%lld %s %s %s %s\n", now_ms(),
               note(userdata, name, udpa_update_is_removal(update, i)), name,
               udpa_resource_version(resource), udpa_resource_authority(resource));
    }
    fflush(stdout);
}

static void
on_complete(void *userdata)
{
    (void)userdata;
    printf("%lld complete\n", now_ms());
    fflush(stdout);
}

static udpa_err
subscribe(udpa_endpoint *endpoint,
          struct follower *follower,
          char *const *argv,
          udpa_error **ret_error)
{
    udpa_subscription *subscription; /* ends with the endpoint */
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    char type_url[512];
    snprintf(type_url, sizeof(type_url), "type.googleapis.com/%s", argv[1]);
    options.type_url = type_url;
    options.name_space = argv[2];
    options.update = on_update;
    options.complete = on_complete;
    options.userdata = follower;
    return udpa_subscribe(&subscription, endpoint, &options, ret_error);
}

static udpa_err
connect_to(udpa_endpoint **ret_endpoint,
           int n_servers,
           char *const *servers,
           udpa_error **ret_error)
{
    static const char *const names[SERVERS_MAX] = {"1", "2", "3", "4", "5", "6", "7", "8"};
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    udpa_source sources[SERVERS_MAX];
    udpa_tls tls = UDPA_TLS_INIT;
    tls.ca_file = getenv("UDPA_CA");
    tls.certificate_file = getenv("UDPA_CERT");
    tls.private_key_file = getenv("UDPA_KEY");
    for (int i = 0; i < n_servers; i++) {
        sources[i] = (udpa_source)UDPA_SOURCE_INIT;
        sources[i].name = names[i];
        sources[i].address = servers[i];
        sources[i].tls = tls.ca_file ? &tls : NULL;
    }
    options.node_id = "endpoint";
    options.sources = sources;
    options.n_sources = (size_t)n_servers;
    return udpa_endpoint_new(ret_endpoint, uv_default_loop(), &options, ret_error);
}

static void
on_interrupt(uv_signal_t *handle, int number)
{
    (void)number;
    udpa_endpoint_close(handle->data, NULL, NULL);
    uv_close((uv_handle_t *)handle, NULL); /* the loop ends when nothing is left on it */
}

static int
fail(udpa_error *error)
{
    fprintf(stderr, "follow: %s\n", udpa_error_message(error));
    udpa_error_unref(error);
    return 1;
}

int
main(int argc, char **argv)
{
    static struct follower follower;
    udpa_endpoint *endpoint;
    udpa_error *error = NULL;
    uv_signal_t interrupt;
    int status = 0;
    if (argc < 4 || argc > 3 + SERVERS_MAX) {
        fprintf(stderr, "usage: follow TYPE NAMESPACE HOST:PORT [HOST:PORT]...\n");
        return 2;
    }
    if (connect_to(&endpoint, argc - 3, argv + 3, &error) != UDPA_OK)
        return fail(error);
    uv_signal_init(uv_default_loop(), &interrupt);
    interrupt.data = endpoint;
    uv_signal_start(&interrupt, on_interrupt, SIGINT);
    if (subscribe(endpoint, &follower, argv, &error) != UDPA_OK) {
        status = fail(error);
        on_interrupt(&interrupt, SIGINT);
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    while (follower.n_names)
        free(follower.names[--follower.n_names]);
    return status;
}
