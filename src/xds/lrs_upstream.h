/* SPDX-License-Identifier: Apache-2.0 */
/* A server of LRS that this node reports to: of the clusters that it asks for, what has come to the
 * aggregates of this node since the last report to it. No I/O, like every session.
 *
 * What it asks for goes up (UDPAI_REPORT_DEMAND, prefixes of names of ClusterLoads); the aggregates
 * come as they change (UDPAI_ORDER_PUBLISH). */
#ifndef UDPAI_LRS_UPSTREAM_H
#define UDPAI_LRS_UPSTREAM_H

#include "session/hub.h"

/* Clusters of one server: by name, or in all. */
#define UDPAI_LRS_UPSTREAM_CLUSTERS_MAX 10000
/* More than so many names are asked for as the whole namespace, and picked from here. */
#define UDPAI_LRS_UPSTREAM_NAMES_MAX 100
/* Sums are made once a second. */
#define UDPAI_LRS_UPSTREAM_INTERVAL_MIN_MS 1000

typedef struct udpai_lrs_upstream_options {
    udpai_str source;     /* the name of the source, for people */
    udpai_str name_space; /* that the server's names are in */
    udpai_str node;       /* serialised: what the server takes us for */
} udpai_lrs_upstream_options;

/* What was reported to a server, across streams: the context of its streams, which it outlives.
 * Belongs to the stream thread while there are any. */
typedef struct udpai_lrs_upstream udpai_lrs_upstream;

/* Copies everything. */
udpa_err udpai_lrs_upstream_new(udpai_lrs_upstream **ret_upstream,
                                const udpai_lrs_upstream_options *options);
/* NULL is none. */
void udpai_lrs_upstream_drop(void *upstream);

/* ---- over a restart of this node: lrs_upstream_keep.c ---- */

/* Has the record kept before it returns, and before its contents are sent to the server, on the
 * stream thread. NULL: there is no memory for one. If it cannot, it forgets all records before,
 * because by those the server would be sent the same twice. */
typedef struct udpai_lrs_keeper {
    void (*keep)(void *userdata, udpa_bytes *record);
    void *userdata;
} udpai_lrs_keeper;

/* Before there are streams; NULL: nothing is kept from now on. */
void udpai_lrs_upstream_keep(udpai_lrs_upstream *upstream, const udpai_lrs_keeper *keeper);
/* All of it as one record; NULL without memory. */
udpa_bytes *udpai_lrs_upstream_state(const udpai_lrs_upstream *upstream);
/* The source that a record is of: a view. UDPA_ERR_MALFORMED */
udpa_err udpai_lrs_upstream_source(udpai_str record, udpai_str *ret_source);
/* Takes a record over, in the order in which they were kept, before there are streams. On failure
 * everything is forgotten. */
udpa_err udpai_lrs_upstream_restore(udpai_lrs_upstream *upstream, udpai_str record);
void udpai_lrs_upstream_forget(udpai_lrs_upstream *upstream);

/* Begins a session on a new stream, whose info->context is the udpai_lrs_upstream; reports it
 * opened. */
udpa_err udpai_lrs_upstream_session_new(udpai_session **ret_session,
                                        udpai_hub *hub,
                                        const udpai_stream_info *info);

#endif
