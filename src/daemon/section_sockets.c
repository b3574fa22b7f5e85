/* SPDX-License-Identifier: Apache-2.0 */
/* The sections 'sockets' and 'http' of the bootstrap file: where this node listens, and for which
 * peers. */
#include "daemon/files.h"
#include "daemon/keepalive.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "endpoint/exposure.h"
#include "session/udpa_poll.h"
#include "transport/front/listen_place.h"
#include "transport/front/passed_socket.h"
#include "xds/csds.h"
#include "xds/left_out.h"
#include "xds/xds.h"

#define DEFAULT_ADDRESS "127.0.0.1:18000"
#define BODY_BYTES_MIN 4096
#define HOLD_MAX_MS 3600000

typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__Http http_message;
typedef Udpa__Config__V1__ServerTls tls_message;
typedef Udpa__Config__V1__Socket socket_message;

/* ---- tls ---- */

static const udpai_field tls_fields[] = {
    {.name = "certificate_file", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "private_key_file", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "client_ca_file", UDPAI_PUBLIC},
    {.name = "client_certificate_optional"},
    {.name = "crl_file", UDPAI_PUBLIC},
};

static void
check_tls_files(const udpai_value *value)
{
    const tls_message *tls = value->message;
    udpai_tls_check_files(value, "client_ca_file",
                          &(udpai_tls_paths){tls->certificate_file, tls->private_key_file,
                                             tls->client_ca_file, tls->crl_file});
}

const udpai_section udpai_section_server_tls = {
    UDPAI_SECTION(server_tls, tls_fields),
    .check_files = check_tls_files,
};

/* ---- proxy_protocol ---- */

static udpa_err
check_network(const char *text, udpa_error **ret_error)
{
    udpai_network network;
    return udpai_network_parse(text, &network, ret_error);
}

static const udpai_field proxy_protocol_fields[] = {
    {.name = "from", UDPAI_PUBLIC, UDPAI_REQUIRED, UDPAI_EACH_REQUIRED, .word = check_network},
};

static const udpai_section proxy_protocol = {
    UDPAI_SECTION(proxy_protocol, proxy_protocol_fields),
};

static udpa_err
use_proxies(udpai_plan *plan,
            const Udpa__Config__V1__ProxyProtocol *from,
            udpai_plan_socket *socket,
            udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    if (!from)
        return UDPA_OK;
    udpai_network *networks = udpai_plan_own(plan, udpai_alloc(from->n_from * sizeof(*networks)));
    if (!networks)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < from->n_from && err == UDPA_OK; i++)
        err = udpai_network_parse(from->from[i], &networks[i], ret_error);
    socket->proxies = networks;
    socket->n_proxies = from->n_from;
    return err;
}

/* ---- a socket ---- */

/* None of these may have this address. Port 0 is another one each time. */
static void
check_is_alone(const udpai_value *value, const char *list, socket_message *const *sockets, size_t n)
{
    const char *address = ((const socket_message *)value->message)->address;
    const char *colon = strrchr(address, ':');
    bool is_any =
        udpai_listen_place_of(address) == UDPAI_LISTEN_PLACE_PORT && strcmp(colon, ":0") == 0;
    for (size_t i = 0; i < n; i++)
        if (!is_any && strcmp(sockets[i]->address, address) == 0)
            udpai_value_error(value, "address", "'%s' is the address of %s[%zu] too", address, list,
                              i);
}

/* A peer that connects proves its identity, and may do what the rules allow. */
static bool
is_guarded(const bootstrap_message *bootstrap, const socket_message *socket)
{
    const Udpa__Config__V1__Acl *acl = bootstrap->acl;
    return acl && !acl->dry_run && socket->tls && *socket->tls->client_ca_file;
}

static void
check_exposure(const udpai_value *value, const char *address)
{
    const socket_message *socket = value->message;
    if (!socket->insecure && !is_guarded(value->bootstrap, socket) &&
        !udpai_exposure_is_loopback(address))
        udpai_value_error(value, "address",
                          "'%s' is beyond loopback, where every peer may publish and subscribe to "
                          "everything: listen on 127.0.0.1, have a section 'acl' and client "
                          "certificates (tls.client_ca_file), or write 'insecure: true'",
                          address);
}

static void
check_service(const udpai_value *value)
{
    if (value->number == UDPA__CONFIG__V1__SOCKET__SERVICE__UNKNOWN)
        udpai_value_error(value, "", "is no service: write REST or PAGES");
    else if (value->number == UDPA__CONFIG__V1__SOCKET__SERVICE__PAGES && value->bootstrap->workers)
        udpai_value_error(value, "",
                          "is not available with workers, for pages are the node's: leave out "
                          "'workers', or list a socket of its own in 'http.sockets'");
}

static const udpai_field socket_fields[] = {
    {.name = "address", UDPAI_PUBLIC, UDPAI_REQUIRED, .word = udpai_listen_place_check},
    {.name = "max_message_bytes", UDPAI_MESSAGE_BYTES},
    {.name = "keepalive", .of = &udpai_section_keepalive},
    {.name = "tls", .of = &udpai_section_server_tls},
    {.name = "insecure"},
    {.name = "proxy_protocol", .of = &proxy_protocol},
    {.name = "also_serves", .check = check_service},
};

/* Where no network is, nothing of it is of use. */
static void
check_local(const udpai_value *value)
{
    const socket_message *socket = value->message;
    if (socket->tls)
        udpai_value_error(value, "tls",
                          "is not for unix sockets: the kernel proves which user connects");
    if (socket->proxy_protocol)
        udpai_value_error(value, "proxy_protocol", "is not for unix sockets");
}

static void
check_socket(const udpai_value *value)
{
    const socket_message *socket = value->message;
    if (udpai_listen_place_check(socket->address, NULL) != UDPA_OK)
        return; /* which was reported */
    udpai_listen_place place = udpai_listen_place_of(socket->address);
    if (place == UDPAI_LISTEN_PLACE_PATH)
        check_local(value);
    check_is_alone(value, "sockets", value->bootstrap->sockets, value->index);
    if (place != UDPAI_LISTEN_PLACE_PASSED)
        check_exposure(value, socket->address);
}

/* Where it listens is known once it is there; a check alone is mostly made where it is not. */
static void
check_passed(const udpai_value *value)
{
    const socket_message *socket = value->message;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_passed_socket passed;
    udpa_err err = udpai_passed_look(udpai_listen_place_name(socket->address), &passed, &error);
    if (err == UDPA_ERR_PRECONDITION && value->options && value->options->only_check)
        udpai_value_warn(value, "address", "%s", udpa_error_message(error));
    else if (err != UDPA_OK)
        udpai_value_error(value, "address", "%s", udpa_error_message(error));
    else
        check_exposure(value, passed.address);
    if (err == UDPA_OK && passed.is_local)
        check_local(value);
}

/* To which nothing is passed but by its node, which has checked it. */
static bool
is_worker(const udpai_value *value)
{
    return value->options && value->options->worker;
}

static void
check_transport(const udpai_value *value)
{
    const socket_message *socket = value->message;
    udpai_listen_place place = udpai_listen_place_of(socket->address);
    if (udpai_transport_is_own(value->bootstrap,
                               value->options ? value->options->transport : NULL)) {
        if (place == UDPAI_LISTEN_PLACE_PASSED && !is_worker(value))
            check_passed(value);
        return;
    }
    if (place != UDPAI_LISTEN_PLACE_PORT)
        udpai_value_error(value, "address",
                          "'%s' is not available with 'transport: GRPC_CORE': set 'transport: OWN'",
                          socket->address);
    if (socket->proxy_protocol)
        udpai_value_error(value, "proxy_protocol",
                          "is not available with 'transport: GRPC_CORE': set 'transport: OWN'");
    if (socket->n_also_serves)
        udpai_value_error(value, "also_serves",
                          "is not available with 'transport: GRPC_CORE': set 'transport: OWN', or "
                          "list a socket of its own in 'http.sockets'");
}

const udpai_section udpai_section_socket = {
    UDPAI_SECTION(socket, socket_fields),
    .check = check_socket,
    .check_files = check_transport,
};

/* ---- sockets ---- */

/* Where a source dials us, it is found hung as soon as one that we dial. */
static udpai_keepalive
keepalive_of_sockets(const bootstrap_message *message)
{
    const Udpa__Config__V1__StaticResources *all = message->static_resources;
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        if (all->config_sources[i]->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA_LISTEN)
            return UDPAI_KEEPALIVE_OF_NODES;
    return (udpai_keepalive){0};
}

bool
udpai_plan_socket_knows_peers(const udpai_plan_socket *socket)
{
    return socket->tls || socket->is_local;
}

/* One that was not passed is an error where it is to be used. */
static bool
is_local(const char *address)
{
    udpai_passed_socket passed;
    udpai_listen_place place = udpai_listen_place_of(address);
    if (place == UDPAI_LISTEN_PLACE_PASSED &&
        udpai_passed_look(udpai_listen_place_name(address), &passed, NULL) == UDPA_OK)
        return passed.is_local;
    return place == UDPAI_LISTEN_PLACE_PATH;
}

/* All are, unless a socket has TLS, or all that there are prove who connects. */
static bool
is_anonymous(const udpai_plan *plan)
{
    size_t n_known = 0;
    for (size_t i = 0; i < plan->sockets.n; i++) {
        if (plan->sockets.items[i].tls)
            return false;
        n_known += udpai_plan_socket_knows_peers(&plan->sockets.items[i]);
    }
    return n_known < plan->sockets.n;
}

static bool
also_serves(const socket_message *socket, Udpa__Config__V1__Socket__Service service)
{
    for (size_t i = 0; i < socket->n_also_serves; i++)
        if (socket->also_serves[i] == service)
            return true;
    return false;
}

udpa_err
udpai_use_sockets(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const bootstrap_message *message = plan->bootstrap.message;
    const udpai_keepalive otherwise = keepalive_of_sockets(message);
    size_t n_told = options->local_sockets ? strlen(options->local_sockets) : message->n_sockets;
    if (!options->listen && message->n_sockets && n_told != message->n_sockets)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "the bootstrap file has changed");
    if (options->listen || message->n_sockets == 0) {
        const udpai_plan_socket socket = {
            .address = udpai_first_of(options->listen, NULL, DEFAULT_ADDRESS),
            .keepalive = otherwise,
        };
        if (!udpai_vector_push(&plan->sockets, socket))
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    for (size_t i = 0; !options->listen && i < message->n_sockets; i++) {
        const socket_message *from = message->sockets[i];
        udpai_plan_socket socket = {
            .address = from->address,
            .tls = from->tls,
            .insecure = from->insecure,
            .max_message_bytes = from->max_message_bytes,
            .keepalive = udpai_keepalive_of(from->keepalive, otherwise),
            .is_local =
                options->local_sockets ? options->local_sockets[i] == '1' : is_local(from->address),
            .has_rest = also_serves(from, UDPA__CONFIG__V1__SOCKET__SERVICE__REST),
            .has_pages = also_serves(from, UDPA__CONFIG__V1__SOCKET__SERVICE__PAGES),
        };
        udpa_err err = use_proxies(plan, from->proxy_protocol, &socket, ret_error);
        if (err != UDPA_OK)
            return err;
        if (!udpai_vector_push(&plan->sockets, socket))
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    plan->settings.node.peers_are_anonymous = is_anonymous(plan);
    return UDPA_OK;
}

udpai_listen_options
udpai_plan_listen_options(const udpai_plan_socket *socket,
                          const char *address,
                          udpai_server_tls *tls)
{
    return (udpai_listen_options){
        .address = address,
        .tls = tls,
        .max_message_bytes = socket->max_message_bytes,
        .keepalive = socket->keepalive,
        .proxies = socket->proxies,
        .n_proxies = socket->n_proxies,
    };
}

/* ---- http ---- */

static void
check_no_message_size(const udpai_value *value)
{
    udpai_value_error(value, "", "is of sockets of gRPC: set http.max_body_bytes");
}

static void
check_is_of_grpc(const udpai_value *value)
{
    udpai_value_error(value, "", "is of sockets of gRPC");
}

static void
check_has_all(const udpai_value *value)
{
    if (value->index == 0)
        udpai_value_error(value, "", "is of sockets of gRPC: those of http serve REST and pages");
}

/* Those of http have limits of their own. */
static const udpai_field http_socket_fields[] = {
    {.name = "address", UDPAI_PUBLIC, UDPAI_REQUIRED, .word = udpai_listen_address_check},
    {.name = "max_message_bytes", .check = check_no_message_size},
    {.name = "keepalive", .check = check_is_of_grpc},
    {.name = "proxy_protocol", .check = check_is_of_grpc},
    {.name = "also_serves", .check = check_has_all},
    {.name = "tls", .of = &udpai_section_server_tls},
    {.name = "insecure"},
};

static void
check_http_socket(const udpai_value *value)
{
    const bootstrap_message *bootstrap = value->bootstrap;
    const socket_message *socket = value->message;
    if (udpai_listen_address_check(socket->address, NULL) != UDPA_OK)
        return;
    check_is_alone(value, "http.sockets", bootstrap->http->sockets, value->index);
    check_is_alone(value, "sockets", bootstrap->sockets, bootstrap->n_sockets);
    check_exposure(value, socket->address);
}

static const udpai_section http_socket = {
    UDPAI_SECTION(socket, http_socket_fields),
    .check = check_http_socket,
};

/* As in Host: in small letters, and the port is left out. */
static udpa_err
check_host(const char *host, udpa_error **ret_error)
{
    if (*host && !host[strcspn(host, ":/ ABCDEFGHIJKLMNOPQRSTUVWXYZ")])
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' is no name of a host: write it in small letters, without a scheme and "
                      "a port, such as udpa.acme.com or *.acme.com",
                      host);
}

static void
check_open_page(const udpai_value *value)
{
    if (value->number == UDPA__CONFIG__V1__HTTP__PAGE__UNKNOWN)
        udpai_value_error(value, "", "is no page: write METRICS or HEALTH");
}

static bool
is_http_replaced(const udpai_options *options)
{
    return options->http;
}

static const udpai_field http_fields[] = {
    {.name = "sockets", .of = &http_socket, .is_replaced = is_http_replaced},
    {.name = "hold", .max = HOLD_MAX_MS, UDPAI_TO(http_limits.hold_ms)},
    {.name = "max_connections", UDPAI_TO(http_limits.max_connections)},
    {.name = "max_body_bytes",
     .min = BODY_BYTES_MIN,
     .bounds = "hardly a request could come in",
     UDPAI_TO(http_limits.max_body_bytes)},
    {.name = "hosts", UDPAI_PUBLIC, .word = check_host},
    {.name = "max_connections_per_client", UDPAI_TO(http_limits.max_connections_per_client)},
    {.name = "admin_pages", UDPAI_TO(has_admin_pages)},
    {.name = "open_pages", .check = check_open_page},
};

const udpai_section udpai_section_http = {UDPAI_SECTION(http, http_fields)};

#define DISCOVERY "envoy.service.discovery.v3."
#define STATUS "envoy.service.status.v3."
#define HEALTH "envoy.service.health.v3."

static const udpai_http_listing discovery_listing = {
    .resources = UDPAI_XDS_RESPONSE_RESOURCES,
    .errors = UDPAI_XDS_RESPONSE_ERRORS,
    .resource_type = "google.protobuf.Any",
    .put_error = udpai_xds_put_left_out,
};

static const udpai_http_listing fetch_listing = {
    .resources = UDPAI_UDPA_POLL_RESOURCES,
    .errors = UDPAI_UDPA_POLL_ERRORS,
    .resource_type = "udpa.service.discovery.v1.Resource",
    .put_error = udpai_udpa_poll_put_error,
};

static void
use_routes(udpai_plan *plan)
{
    for (size_t i = 0; i < UDPAI_XDS_POLLS; i++) {
        udpai_xds_method *method = &plan->xds.polls[i];
        plan->http_routes[i] = (udpai_http_route){
            .path = method->path,
            .method = {method->path, udpai_xds_session_new, method},
            .request_type = DISCOVERY "DiscoveryRequest",
            .response_type = DISCOVERY "DiscoveryResponse",
            .version_field = 1,
            .listing = &discovery_listing,
        };
    }
    plan->http_routes[UDPAI_XDS_POLLS] = (udpai_http_route){
        .path = UDPAI_UDPA_POLL_PATH,
        .method = {UDPAI_UDPA_POLL_PATH, udpai_udpa_poll_new, &plan->udpa_polls},
        .request_type = "udpa.service.discovery.v1.FetchRequest",
        .response_type = "udpa.service.discovery.v1.FetchResponse",
        .version_field = 4,
        .listing = &fetch_listing,
    };
    plan->http_routes[UDPAI_XDS_POLLS + 1] = (udpai_http_route){
        .path = UDPAI_CSDS_REST,
        .method = {UDPAI_CSDS_REST, udpai_csds_session_new, &plan->csds_methods[1]},
        .request_type = STATUS "ClientStatusRequest",
        .response_type = STATUS "ClientStatusResponse",
    };
    plan->http_routes[UDPAI_XDS_POLLS + 2] = (udpai_http_route){
        .path = UDPAI_HDS_REST_PATH,
        .method = udpai_plan_hds_method(plan, true, UDPAI_HDS_REST_PATH),
        .request_type = HEALTH "HealthCheckRequestOrEndpointHealthResponse",
        .response_type = HEALTH "HealthCheckSpecifier",
    };
}

udpa_err
udpai_use_http(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const http_message *http = plan->bootstrap.message->http;
    udpa_err err = UDPA_OK;
    use_routes(plan);
    if (http && http->hold && plan->http_limits.hold_ms == 0)
        plan->http_limits.hold_ms = 1; /* 0 is the default */
    for (size_t i = 0; http && i < http->n_open_pages; i++) {
        plan->has_open_metrics |= http->open_pages[i] == UDPA__CONFIG__V1__HTTP__PAGE__METRICS;
        plan->has_open_health |= http->open_pages[i] == UDPA__CONFIG__V1__HTTP__PAGE__HEALTH;
    }
    if (http) {
        err = udpai_plan_words(plan, http->hosts, http->n_hosts, &plan->http_hosts);
        plan->n_http_hosts = http->n_hosts;
    }
    const udpai_plan_socket given = {.address = options->http};
    if (err == UDPA_OK && options->http && !udpai_vector_push(&plan->http_sockets, given))
        err = UDPA_ERR_NOMEM;
    for (size_t i = 0; http && !options->http && i < http->n_sockets && err == UDPA_OK; i++) {
        const socket_message *from = http->sockets[i];
        const udpai_plan_socket socket = {
            .address = from->address, .tls = from->tls, .insecure = from->insecure};
        if (!udpai_vector_push(&plan->http_sockets, socket))
            err = UDPA_ERR_NOMEM;
    }
    return udpai_fail_code(ret_error, err);
}
