/* SPDX-License-Identifier: Apache-2.0 */
/* The few fields that must be known of payloads of public types. The payload stays as it is: it is
 * scanned along fixed paths, never unpacked, with bounded depth and in time that grows with its
 * size alone. What is malformed is taken for something of which nothing is known. */
#ifndef UDPAI_XDS_PEEK_H
#define UDPAI_XDS_PEEK_H

#include "base/util.h"

/* The name that a payload gives itself, a view of it; false: its type has none, or it is empty. */
bool udpai_xds_peek_name(udpai_str type_url, udpai_str payload, udpai_str *ret_name);

/* Where a Cluster gets its endpoints from by EDS. */
typedef struct udpai_xds_eds {
    udpai_str name;    /* a view of the payload */
    bool is_elsewhere; /* they come by a file */
} udpai_xds_eds;

/* False: it does not get them by EDS. */
bool udpai_xds_peek_eds(udpai_str cluster, udpai_xds_eds *ret_eds);
/* The same, for callers that need the name only. */
bool udpai_xds_peek_endpoints_name(udpai_str cluster, udpai_str *ret_name);

/* Calls back with the name of every RouteConfiguration that this Listener gets by RDS, those of
 * scopes that are written in it as well. */
typedef void (*udpai_xds_name_fn)(void *userdata, udpai_str name);
void udpai_xds_peek_routes(udpai_str listener, udpai_xds_name_fn visit, void *userdata);
/* Does it get its scopes by SRDS? Their routes are named there. */
bool udpai_xds_peek_is_scoped(udpai_str listener);
/* The same as for a listener, for a ScopedRouteConfiguration. */
void udpai_xds_peek_scope(udpai_str scope, udpai_xds_name_fn visit, void *userdata);
/* The same with every Secret that this Cluster gets by SDS, and not by a file. */
void udpai_xds_peek_secrets(udpai_str cluster, udpai_xds_name_fn visit, void *userdata);
/* The same with every collection (LEDS) that the localities of a ClusterLoadAssignment have. */
void udpai_xds_peek_collections(udpai_str assignment, udpai_xds_name_fn visit, void *userdata);

#endif
