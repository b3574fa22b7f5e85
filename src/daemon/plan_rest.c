/* SPDX-License-Identifier: Apache-2.0 */
/* REST, from the bootstrap file and the command line. */
#include "daemon/plan_internal.h"
#include "session/udpa_poll.h"
#include "xds/csds.h"
#include "xds/left_out.h"
#include "xds/xds.h"

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
plan_routes(udpai_plan *plan)
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
        .method = {UDPAI_HDS_REST_PATH, udpai_hds_session_new, &plan->hds.methods[1]},
        .request_type = HEALTH "HealthCheckRequestOrEndpointHealthResponse",
        .response_type = HEALTH "HealthCheckSpecifier",
    };
}

/* Those of the store, and the one that always is one. */
static udpa_err
plan_secrets(udpai_plan *plan)
{
    const Udpa__Config__V1__Store *store = plan->bootstrap.message->store;
    plan->udpa_polls.n_secret_types = store ? store->n_secret_types : 0;
    return store ? udpai_plan_types(plan, store->secret_types, store->n_secret_types,
                                    &plan->udpa_polls.secret_types)
                 : UDPA_OK;
}

static udpa_err
plan_sockets(udpai_plan *plan, const udpai_options *options)
{
    const Udpa__Config__V1__Http *http = plan->bootstrap.message->http;
    if (options->http) {
        const udpai_plan_socket socket = {.address = options->http};
        return udpai_vector_push(&plan->http_sockets, socket) ? UDPA_OK : UDPA_ERR_NOMEM;
    }
    for (size_t i = 0; http && i < http->n_sockets; i++) {
        const Udpa__Config__V1__Socket *from = http->sockets[i];
        const udpai_plan_socket socket = {
            .address = from->address, .tls = from->tls, .insecure = from->insecure};
        if (!udpai_vector_push(&plan->http_sockets, socket))
            return UDPA_ERR_NOMEM;
    }
    return UDPA_OK;
}

udpa_err
udpai_plan_rest(udpai_plan *plan, const udpai_options *options)
{
    const Udpa__Config__V1__Http *http = plan->bootstrap.message->http;
    if (http) {
        plan->http_limits.max_connections = http->max_connections;
        plan->http_limits.max_connections_per_client = http->max_connections_per_client;
        plan->http_limits.max_body_bytes = http->max_body_bytes;
    }
    if (http && http->hold) {
        uint64_t ms = (uint64_t)http->hold->seconds * 1000 + (uint64_t)http->hold->nanos / 1000000;
        plan->http_limits.hold_ms = ms ? ms : 1; /* 0 is the default */
    }
    plan_routes(plan);
    udpa_err err = plan_secrets(plan);
    if (err == UDPA_OK && http) {
        err = udpai_plan_words(plan, http->hosts, http->n_hosts, &plan->http_hosts);
        plan->n_http_hosts = http->n_hosts;
    }
    return err == UDPA_OK ? plan_sockets(plan, options) : err;
}
