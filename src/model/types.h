/* SPDX-License-Identifier: Apache-2.0 */
/* The types of resources that the program knows, and the facts of each: those that xDS serves,
 * those that clients report, and those that a node publishes of itself. Every other type is served
 * as well: of it no more is known than its URL.
 *
 * Facts are data: what a protocol does with one is that protocol's. */
#ifndef UDPAI_TYPES_H
#define UDPAI_TYPES_H

#include "model/type_url.h"

#define UDPAI_TYPE_PREFIX "type.googleapis.com/"

#define UDPAI_TYPE_LISTENER UDPAI_TYPE_PREFIX "envoy.config.listener.v3.Listener"
#define UDPAI_TYPE_ROUTES UDPAI_TYPE_PREFIX "envoy.config.route.v3.RouteConfiguration"
#define UDPAI_TYPE_SCOPES UDPAI_TYPE_PREFIX "envoy.config.route.v3.ScopedRouteConfiguration"
#define UDPAI_TYPE_VIRTUAL_HOST UDPAI_TYPE_PREFIX "envoy.config.route.v3.VirtualHost"
#define UDPAI_TYPE_CLUSTER UDPAI_TYPE_PREFIX "envoy.config.cluster.v3.Cluster"
#define UDPAI_TYPE_ENDPOINTS UDPAI_TYPE_PREFIX "envoy.config.endpoint.v3.ClusterLoadAssignment"
#define UDPAI_TYPE_MEMBER UDPAI_TYPE_PREFIX "envoy.config.endpoint.v3.LbEndpoint"
#define UDPAI_TYPE_SECRET UDPAI_TYPE_PREFIX "envoy.extensions.transport_sockets.tls.v3.Secret"
#define UDPAI_TYPE_RUNTIME UDPAI_TYPE_PREFIX "envoy.service.runtime.v3.Runtime"
#define UDPAI_TYPE_EXTENSION UDPAI_TYPE_PREFIX "envoy.config.core.v3.TypedExtensionConfig"

#define UDPAI_TYPE_CLIENT_LOAD UDPAI_TYPE_PREFIX "udpa.load.v1.ClientLoad"
#define UDPAI_TYPE_SHARED_CLIENT_LOAD UDPAI_TYPE_PREFIX "udpa.load.v1.SharedClientLoad"
#define UDPAI_TYPE_CLUSTER_LOAD UDPAI_TYPE_PREFIX "udpa.load.v1.ClusterLoad"
#define UDPAI_TYPE_ORCA_REPORT UDPAI_TYPE_PREFIX "udpa.load.v1.OrcaReport"
#define UDPAI_TYPE_ENDPOINT_HEALTH UDPAI_TYPE_PREFIX "udpa.health.v1.EndpointHealth"
#define UDPAI_TYPE_CHECKER UDPAI_TYPE_PREFIX "udpa.health.v1.Checker"
#define UDPAI_TYPE_RESOURCE_STATE UDPAI_TYPE_PREFIX "udpa.status.v1.ResourceState"
#define UDPAI_TYPE_CLIENT_STATUS UDPAI_TYPE_PREFIX "udpa.status.v1.ClientStatus"

#define UDPAI_TYPE_EVENT UDPAI_TYPE_PREFIX "udpa.event.v1.Event"
#define UDPAI_TYPE_NODE_STATUS UDPAI_TYPE_PREFIX "udpa.status.v1.NodeStatus"
#define UDPAI_TYPE_SOURCE_STATUS UDPAI_TYPE_PREFIX "udpa.status.v1.SourceStatus"
#define UDPAI_TYPE_REPLICA_STATUS UDPAI_TYPE_PREFIX "udpa.status.v1.ReplicaStatus"
#define UDPAI_TYPE_SESSION_STATUS UDPAI_TYPE_PREFIX "udpa.status.v1.SessionStatus"

/* The full name of the message, of a URL that is a literal. */
#define UDPAI_TYPE_NAME(url) (&(url)[sizeof(UDPAI_TYPE_PREFIX) - 1])

enum {
    UDPAI_TYPES_SERVED = 10, /* that xDS has a service for; they come first */
    UDPAI_TYPES_POLLED = 8,  /* of these, those with `rest` */
};

typedef struct udpai_type_info {
    udpai_str url, name;               /* the name is what is behind the prefix */
    const char *word, *discovery_word; /* "cluster", "cds"; NULL: it has none */

    /* Of those that are served: */
    unsigned rank;                        /* in the order in which types are sent */
    const char *package, *service, *what; /* "cluster", "Cluster", "Clusters": of its paths */
    /* "clusters": of its path in REST. NULL: it is served by the delta protocol alone, since whole
     * states cannot name what it is asked for: a piece of another resource. */
    const char *rest;
    const char *named_by; /* what a mirror finds its names in, "clusters"; NULL: in nothing */
    uint32_t name_field;  /* of the payload; 0: it has none with the resource's name */
    /* Its SotW responses hold the whole state: clusters and listeners by the protocol's text,
     * scopes of routes because Envoy takes what is not there for removed. */
    bool is_whole;
    bool is_leaf;            /* names no others: a client that is sent one asks for nothing new */
    bool waits_for_clusters; /* it may name them, and they are to be warm before it */
    bool is_secret;          /* its payload is */

    /* Of those that clients report: */
    bool is_client;     /* a client resource (model/client_type.h) */
    bool is_of_others;  /* its names end with its subject, not with the client that reports */
    bool is_of_cluster; /* what is before the client's id in its names is that of a cluster */
} udpai_type_info;

/* One after the other; NULL: there are no more. */
const udpai_type_info *udpai_type_at(size_t index);
/* By what is behind the last slash, whatever is before it. NULL: it is not known. */
const udpai_type_info *udpai_type_find(udpai_str type_url);
/* By its whole URL. */
const udpai_type_info *udpai_type_of_url(udpai_str type_url);

/* The order in which types are sent; of unknown ones UDPAI_TYPES_SERVED, which is last. */
unsigned udpai_type_rank(udpai_str type_url);
bool udpai_type_is_whole(udpai_str type_url);
bool udpai_type_is_leaf(udpai_str type_url);

#endif
