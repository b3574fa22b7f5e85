/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/banner.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "endpoint/exposure.h"
#include "transport/front/listen_place.h"
#include "transport/front/passed_socket.h"

#define DEFAULT_SERVER "127.0.0.1:18000"

static void
put_other(char *room, size_t size, const char *address)
{
    udpai_passed_socket passed;
    if (udpai_listen_place_of(address) == UDPAI_LISTEN_PLACE_PASSED &&
        udpai_passed_look(udpai_listen_place_name(address), &passed, NULL) == UDPA_OK)
        address = passed.address;
    snprintf(room, size, "%s", address);
}

void
udpai_banner_address(char *room, size_t size, const char *address, int port)
{
    const char *colon = strrchr(address, ':');
    if (udpai_listen_place_of(address) != UDPAI_LISTEN_PLACE_PORT) {
        put_other(room, size, address);
        return;
    }
    int len = colon ? (int)(colon - address) : (int)strlen(address);
    snprintf(room, size, "%.*s:%d", len, address, port);
}

static const char *
admission_of(const udpai_plan_socket *socket, const char *address)
{
    if (socket->is_local)
        return "a unix socket, for local users that may open it";
    if (!socket->tls)
        return udpai_exposure_is_loopback(address)
                   ? "without TLS, open to every local client"
                   : "WITHOUT TLS, OPEN TO EVERY PEER THAT REACHES IT";
    if (!*socket->tls->client_ca_file || socket->tls->client_certificate_optional)
        return "TLS, open to every client";
    return "TLS, for clients whose certificate is signed by a trusted CA";
}

static void
print_socket(const udpai_plan_socket *socket, int port, const char *what)
{
    char address[300];
    udpai_banner_address(address, sizeof(address), socket->address, port);
    bool is_passed = udpai_listen_place_of(socket->address) == UDPAI_LISTEN_PLACE_PASSED;
    printf("  listening on %s%s%s (%s; %s)\n", address, is_passed ? " as " : "",
           is_passed ? socket->address : "", what, admission_of(socket, address));
}

/* Not "listening on", by which programs that read this find where clients connect. */
static void
print_admin(const udpai_plan *plan, const int *ports)
{
    for (size_t i = 0; ports && i < plan->admin_sockets.n; i++) {
        const udpai_plan_socket *socket = &plan->admin_sockets.items[i];
        char address[300];
        udpai_banner_address(address, sizeof(address), socket->address, ports[i]);
        printf("  admin socket %s (%s)\n", address,
               socket->is_local         ? "for the user of this node"
               : plan->admin_token_file ? "for clients with the token"
                                        : admission_of(socket, address));
    }
}

static const char *
served_at(const udpai_plan_socket *socket)
{
    if (socket->has_rest)
        return socket->has_pages ? "UDPA and xDS v3 over gRPC and REST, and pages"
                                 : "UDPA and xDS v3 over gRPC and REST";
    return socket->has_pages ? "UDPA and xDS v3 over gRPC, and pages" : "UDPA and xDS v3 over gRPC";
}

static void
print_sockets(const udpai_plan *plan, const udpai_ports *ports)
{
    for (size_t i = 0; i < plan->sockets.n; i++)
        print_socket(&plan->sockets.items[i], ports->grpc[i], served_at(&plan->sockets.items[i]));
    for (size_t i = 0; i < plan->http_sockets.n; i++)
        print_socket(&plan->http_sockets.items[i], ports->http[i], "UDPA and xDS v3 over REST");
    print_admin(plan, ports->admin);
}

static void
print_data(const udpai_plan *plan)
{
    char room[PATH_MAX];
    if (!plan->state_directory)
        printf("  data in memory only: it is lost when the node ends\n");
    else
        printf("  data in %s\n",
               realpath(plan->state_directory, room) ? room : plan->state_directory);
    for (size_t i = 0; i < plan->directories.n; i++)
        printf("  resources from %s\n", realpath(plan->directories.items[i].path, room)
                                            ? room
                                            : plan->directories.items[i].path);
    for (size_t i = 0; i < plan->writers.n; i++)
        printf("  files for clients in %s\n", plan->writers.items[i].directory);
    printf("  names without a namespace are in '%.*s'\n", (int)plan->xds_namespace.len,
           plan->xds_namespace.data);
}

/* A resource for a first try, of a type that udpactl knows too, and what `get` calls the type. */
static const char *
first_resource(const udpai_schema *schema, const char **ret_type)
{
    bool knows_envoy =
        udpai_schema_has(schema, udpai_str_from(UDPAI_TYPE_NAME(UDPAI_TYPE_CLUSTER)));
    *ret_type = knows_envoy ? "cluster" : "google.protobuf.StringValue";
    return knows_envoy
               ? "{\"@type\": \"type.googleapis.com/envoy.config.cluster.v3.Cluster\", "
                 "\"name\": \"hello\", \"connect_timeout\": \"1s\"}"
               : "{\"name\": \"hello\", \"resource\": {\"@type\": "
                 "\"type.googleapis.com/google.protobuf.StringValue\", \"value\": \"world\"}}";
}

/* udpactl beside this program, as this program was called. */
static void
print_next(const udpai_plan *plan,
           const udpai_schema *schema,
           const udpai_options *options,
           int port)
{
    const char *slash = strrchr(options->program, '/');
    char ctl[PATH_MAX], address[300];
    snprintf(ctl, sizeof(ctl), "%.*sudpactl", slash ? (int)(slash + 1 - options->program) : 0,
             options->program);
    udpai_banner_address(address, sizeof(address), plan->sockets.items[0].address, port);
    char server[320] = "", name_space[UDPA_NAME_MAX + 8] = "";
    if (strcmp(address, DEFAULT_SERVER) != 0)
        snprintf(server, sizeof(server), " --server %s", address);
    if (!udpai_str_eq(plan->xds_namespace, UDPAI_STR("local")))
        snprintf(name_space, sizeof(name_space), " -n %.*s", (int)plan->xds_namespace.len,
                 plan->xds_namespace.data);
    const char *type, *resource = first_resource(schema, &type);
    printf("Try in another terminal:\n"
           "  echo '%s' | %s%s%s apply -f -\n"
           "  %s%s%s get %s hello -o yaml\n"
           "  %s%s status\n",
           resource, ctl, server, name_space, ctl, server, name_space, type, ctl, server);
}

void
udpai_banner_print(const udpai_plan *plan,
                   const udpai_schema *schema,
                   const udpai_options *options,
                   const udpai_ports *ports)
{
    printf("udpad %s, node '%.*s'\n", plan->settings.version, (int)plan->settings.node.id.len,
           plan->settings.node.id.data);
    print_sockets(plan, ports);
    print_data(plan);
    if (!plan->sockets.items[0].tls)
        print_next(plan, schema, options, ports->grpc[0]);
    fflush(stdout);
}
