/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an LRS session, for its files. */
#ifndef UDPAI_LRS_INTERNAL_H
#define UDPAI_LRS_INTERNAL_H

#include "base/map.h"
#include "envoy/service/load_stats/v3/lrs.pb-c.h"
#include "reports/load_stats.h"
#include "xds/lrs_policy.h"
#include "xds/names.h"
#include "xds/select_audience.h"

/* What one client may have counted here: clusters, and places in all of them. */
#define UDPAI_LRS_CLUSTERS_MAX 1024
#define UDPAI_LRS_PLACES_MAX 16384

/* What the client has reported of one cluster. */
typedef struct udpai_lrs_cluster {
    udpa_bytes *name; /* of the resource; the cluster's full name is before the last '/' */
    udpai_load_stats *total;
    udpa_resource *resource; /* as it was handed up last; NULL: it was not yet */
    uint64_t since_ms;       /* what was counted has come since then … */
    uint64_t before_ns; /* … or in so long a time before that, when nobody had asked for it */
    uint64_t handed_up_ms;
    bool has_changed; /* since then */
    bool is_in_report;
} udpai_lrs_cluster;

typedef Envoy__Service__LoadStats__V3__LoadStatsRequest udpai_lrs_request;

/* What the client has reported before it could be asked on this stream. */
typedef struct udpai_lrs_gap {
    udpa_bytes *message;         /* NULL: nothing */
    UDPAI_VECTOR(bool) is_taken; /* for each ClusterStats in it */
    udpai_timer patience;
} udpai_lrs_gap;

/* What is asked of the client. */
typedef struct udpai_lrs_selection {
    bool all;
    UDPAI_VECTOR(udpa_bytes *) clusters; /* as the client spells them, in order */
    udpai_load_setting setting;          /* the finest that is requested for any of them */
} udpai_lrs_selection;

typedef struct udpai_lrs {
    udpai_session session; /* first */
    udpai_lrs_service *service;
    udpai_xds_membership belonging;
    udpai_node_info *peer;        /* NULL until it has sent its Node */
    bool reports_all, reads_once; /* it can be asked for all; it reads one response, and no more */
    udpa_bytes *segment; /* its id, as the last segment of the names of what it publishes */
    /* What is subscribed of it. */
    UDPAI_VECTOR(udpa_bytes *) prefixes;
    udpai_map names; /* of udpa_bytes */
    udpai_lrs_selection asked;
    udpai_lrs_follower follower;
    uint64_t subscribed_ms; /* when the last subscription began */
    bool has_asked, is_due; /* something was sent; something else is to be */
    udpa_bytes *writing;
    /* What it reports. */
    udpai_lrs_gap gap;
    udpai_map clusters;   /* by the name of the resource */
    size_t n_places;      /* in all of them */
    udpai_report *closed; /* not NULL: it is known to the loop side, so its end must be reported */
    bool is_pending;      /* what was handed up … */
    bool is_held;         /* … and more is to be, then */
    udpai_timer gathering, renewal;
    /* For status. */
    uint64_t n_reports, n_received, n_refused, n_unasked;
    udpa_error *last_error;
    int64_t refused_us;
} udpai_lrs;

static inline udpai_lrs *
udpai_lrs_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, udpai_lrs, session);
}

/* lrs.c: a message, in the arena */
udpa_err udpai_lrs_unpack(udpai_arena *arena,
                          udpai_str bytes,
                          const udpai_lrs_request **ret_request,
                          udpa_error **ret_error);

/* lrs_gap.c: what it reports at first. UDPA_ERR_NOMEM */
void udpai_lrs_gap_init(udpai_lrs *lrs);
void udpai_lrs_gap_done(udpai_lrs *lrs);
udpa_err udpai_lrs_gap_hold(udpai_lrs *lrs, udpai_str message, size_t n_stats);
/* Of that, takes what is subscribed by now. */
udpa_err udpai_lrs_gap_take(udpai_lrs *lrs);

/* lrs_ask.c: what is asked of it */
void udpai_lrs_ask_init(udpai_lrs *lrs);
void udpai_lrs_ask_done(udpai_lrs *lrs);
/* Something is subscribed, or not any more; other types are ignored. UDPA_ERR_NOMEM */
udpa_err
udpai_lrs_subscribe(udpai_lrs *lrs, const udpai_subscription_message *message, bool subscribed);
/* Is there a subscription to this resource? */
bool udpai_lrs_is_subscribed(const udpai_lrs *lrs, udpai_str name);
udpa_err
udpai_lrs_next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error);

/* lrs_take.c: what it reports */
void udpai_lrs_take_init(udpai_lrs *lrs);
void udpai_lrs_take_done(udpai_lrs *lrs);
/* Takes clusters of a LoadStatsRequest: all that are in it, or some. What is refused of it is
 * noted. UDPA_ERR_NOMEM */
udpa_err udpai_lrs_take(udpai_lrs *lrs,
                        Envoy__Config__Endpoint__V3__ClusterStats *const *stats,
                        size_t n_stats,
                        bool is_all);
/* Is there a subscription for this cluster? */
bool udpai_lrs_asks_for(const udpai_lrs *lrs,
                        const Envoy__Config__Endpoint__V3__ClusterStats *stats);
/* It is asked at another interval: what it has reported holds for another time. */
void udpai_lrs_report_again(udpai_lrs *lrs);
/* Forgets what is not subscribed any more: what was reported of it holds until it expires. */
void udpai_lrs_forget_unsubscribed(udpai_lrs *lrs);
/* What was handed up is applied, or refused. */
void udpai_lrs_publication_done(udpai_lrs *lrs, const udpai_publication *publication);

/* lrs_status.c */
udpa_bytes *udpai_lrs_describe(const udpai_session *session);

#endif
