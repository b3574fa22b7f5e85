/* SPDX-License-Identifier: Apache-2.0 */
/* LRS: clients that report how many requests they have sent where. What has subscriptions is asked
 * of them, and becomes client resources, one for each cluster (udpa.load.v1.ClientLoad), which they
 * publish as any publisher does. No I/O, like every session. */
#ifndef UDPAI_LRS_H
#define UDPAI_LRS_H

#include "session/hub.h"
#include "xds/server.h"

#define UDPAI_LRS_PATH "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats"

/* In Node.client_features, of the first request: clusters need not be named. */
#define UDPAI_LRS_FEATURE_ALL "envoy.lrs.supports_send_all_clusters"

#define UDPAI_LRS_INTERVAL_MS 10000
#define UDPAI_LRS_INTERVAL_MIN_MS 100
#define UDPAI_LRS_INTERVAL_MAX_MS ((uint64_t)3600 * 1000)
/* What clients report is handed up in such steps, that of all of them together. */
#define UDPAI_LRS_GATHER_MS 20
/* What a client has reported holds for three intervals, and so much. */
#define UDPAI_LRS_GRACE_MS 10000

/* What resources set for that; lrs_policy.h. */
typedef struct udpai_lrs_policy udpai_lrs_policy;

/* The context of every such stream. Outlives the hub. Belongs to the stream thread. */
typedef struct udpai_lrs_service {
    udpai_xds_server *server; /* the audiences of these clients */
    /* How often they are to report, and if each endpoint by itself, too, where no resource sets it.
     */
    uint64_t interval_ms;
    bool per_endpoint;
    udpai_lrs_policy *policy; /* NULL: nobody is asked for anything */
    uint64_t gather_ms;       /* in which steps their reports are handed up; 0: at once */
    uint64_t last_epoch;      /* of whatever was counted here */
    udpai_log_limit refused;
} udpai_lrs_service;

/* Begins a session on a new stream. */
udpa_err
udpai_lrs_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info);

#endif
