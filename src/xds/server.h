/* SPDX-License-Identifier: Apache-2.0 */
/* The xDS side of a node: what clients may call, and what each sees. The hub's owner fills in the
 * audiences, initialises the rest, and passes the method that was called as the context of every
 * xDS stream. It outlives the hub. Belongs to the stream thread. */
#ifndef UDPAI_XDS_SERVER_H
#define UDPAI_XDS_SERVER_H

#include "base/log.h"
#include "model/types.h"
#include "xds/group.h"

typedef struct udpai_xds_server udpai_xds_server;

typedef enum udpai_xds_variant {
    UDPAI_XDS_STREAM_SOTW,
    UDPAI_XDS_STREAM_DELTA,
    UDPAI_XDS_FETCH, /* one request, one response: the state of the world */
    UDPAI_XDS_POLL,  /* the same when it is not what the client holds: REST */
} udpai_xds_variant;

/* What clients may call. */
typedef struct udpai_xds_method {
    char path[96]; /* "/package.Service/Method"; of REST "/v3/discovery:clusters" */
    udpai_xds_variant variant;
    udpai_str type_url; /* that the service is for; empty: each request has it */
    udpai_xds_server *server;
} udpai_xds_method;

#define UDPAI_XDS_REMOVAL_PATIENCE_MS 5000
#define UDPAI_XDS_ABSENT_ROUTE_DELAY_MS 20000
#define UDPAI_XDS_ABSENT_ROUTE_DELAY_MAX_MS 600000
#define UDPAI_XDS_WARM_TIMEOUT_MS 5000
#define UDPAI_XDS_WARM_TIMEOUT_MAX_MS 60000

#define UDPAI_XDS_POLLS UDPAI_TYPES_POLLED
/* Two of the aggregated service, three for each type that can be polled, one for each other. */
#define UDPAI_XDS_METHODS (2 + 2 * UDPAI_TYPES_POLLED + UDPAI_TYPES_SERVED)

struct udpai_xds_server {
    udpai_xds_audience *audiences; /* a client that matches none is rejected */
    size_t n_audiences;            /* at least one */
    /* Type URLs of which a request that names nothing asks for nothing. */
    const udpai_str *explicit_wildcards;
    size_t n_explicit_wildcards;
    /* What was removed is sent when what may refer to it was acknowledged, or after so long; 0: at
     * once. */
    uint64_t removal_patience_ms;
    /* An Envoy is sent only after so long that routes and extensions do not exist which it never
     * had; 0: at once. */
    uint64_t absent_route_delay_ms;
    /* What may refer to clusters that a client warms waits for them, at most so long; 0: it does
     * not. */
    uint64_t warm_timeout_ms;
    udpai_map siblings_by_client; /* of streams, by their client (siblings.h) */
    /* Of warnings about states of the world that have grown too large to send often, about clients
     * that nobody has foreseen, and about xdstp names that cannot be answered. */
    udpai_xds_groups groups; /* the limits are its owner's, 0: the defaults */
    udpai_log_limit large_states, unmatched_clients, bad_names;
    udpai_xds_method methods[UDPAI_XDS_METHODS];
    udpai_xds_method polls[UDPAI_XDS_POLLS]; /* their paths are those of REST */
};

/* To be called when the audiences are filled in, all but their renderers; fills in the rest. */
void udpai_xds_server_init(udpai_xds_server *server);

/* Does xDS have a service for this type, or for all (empty), in this way? */
bool udpai_xds_has_service(udpai_str type_url, udpai_xds_variant variant);

/* The place of a type among those that can be polled; UDPAI_XDS_POLLS: it cannot. */
size_t udpai_xds_rest_index(udpai_str type_url);
/* And back: the type, and its path. */
udpai_str udpai_xds_rest_type(size_t index);
void udpai_xds_rest_path(size_t index, char *room, size_t size);

/* What serves a type, or all types (empty), in this way; NULL: nothing does. */
udpai_xds_method *
udpai_xds_method_find(udpai_xds_server *server, udpai_str type_url, udpai_xds_variant variant);

#endif
