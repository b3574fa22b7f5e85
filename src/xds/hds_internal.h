/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an HDS session, for its files. */
#ifndef UDPAI_HDS_INTERNAL_H
#define UDPAI_HDS_INTERNAL_H

#include "reports/health_table.h"
#include "session/poll.h"
#include "xds/hds.h"
#include "xds/select_audience.h"

/* The names a specifier may have, in the order in which they count. */
enum {
    UDPAI_HDS_OWN_NAME,
    UDPAI_HDS_COMPUTED_NAME, /* its share, where a node divides what is to be checked */
    UDPAI_HDS_DEFAULT_NAME,
    UDPAI_HDS_NAMES,
};

typedef struct udpai_hds {
    udpai_session session; /* first */
    udpai_subscriber subscriber;
    udpai_hds_service *service;
    bool is_fetch;
    udpai_poll poll; /* of a fetch */
    udpai_xds_membership belonging;
    udpai_node_info *peer; /* NULL until it has sent its Node */
    udpa_bytes *segment;   /* its id, as the last segment of the names of what it publishes */
    unsigned capability;
    /* What it is to check. */
    udpai_subscription *subscription;
    udpa_bytes *names[UDPAI_HDS_NAMES];   /* NULL: not this one */
    udpa_resource *held[UDPAI_HDS_NAMES]; /* what there is of each; NULL: nothing … */
    bool is_missing[UDPAI_HDS_NAMES];     /* … which was certain once */
    udpa_resource *looked_at;             /* what was looked at last; NULL: there is none */
    bool has_looked;                      /* at `looked_at`, for this capability */
    udpai_health_table *table, *before;   /* as it is sent, and was before; NULL: nothing was */
    bool is_sent;                         /* the table */
    udpa_bytes *writing;
    size_t n_specifiers; /* sent */
    /* That it is there. */
    udpa_bytes *called; /* the name of that; NULL: it can have none */
    UDPAI_VECTOR(udpa_bytes *) subscriptions;
    bool has_more_subscriptions;
    unsigned announced; /* with this capability; 0: it is not, now */
    udpai_timer renewal;
    bool is_renewal_due;
    /* What it publishes. */
    udpai_report *closed; /* not NULL: it has begun to publish, so its end must be reported */
    UDPAI_VECTOR(udpa_bytes *) removed; /* names of what it does not check any more */
    bool is_pending;
    uint64_t handed_up_ms;
    uint64_t n_received; /* resources */
    uint64_t n_unasked;  /* endpoints, in answers */
    udpa_error *last_error;
} udpai_hds;

static inline udpai_hds *
udpai_hds_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, udpai_hds, session);
}

/* hds_specify.c: what it is to check */
/* Once its Node is known. */
udpa_err udpai_hds_subscribe(udpai_hds *hds, udpa_error **ret_error);
udpa_err
udpai_hds_next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error);

/* hds_announce.c: that it is there */
void udpai_hds_announce_setup(udpai_hds_service *service);
void udpai_hds_announce_init(udpai_hds *hds);
/* Once its Node is known. */
udpa_err udpai_hds_announce_begin(udpai_hds *hds);
/* Something subscribes to it, or does not any more. */
udpa_err
udpai_hds_demand(udpai_hds *hds, const udpai_subscription_message *message, bool subscribed);
/* Publishes it, or takes it back, as it has become. */
udpa_err udpai_hds_announce(udpai_hds *hds);
void udpai_hds_announce_end(udpai_hds *hds);

/* hds_report.c: what it publishes */
/* Takes an EndpointHealthResponse. */
udpa_err udpai_hds_answer(udpai_hds *hds, udpai_str message, udpa_error **ret_error);
/* Other things are to be checked: the results for those that are not any more are to be removed. */
udpa_err udpai_hds_note_removed(udpai_hds *hds, const udpai_health_table *next);
/* Hands up what is due, if nothing is on its way. */
udpa_err udpai_hds_publish(udpai_hds *hds, udpa_error **ret_error);
/* What was handed up is applied, or refused. */
void udpai_hds_publication_done(udpai_hds *hds, const udpai_publication *publication);
void udpai_hds_forget_removed(udpai_hds *hds);

/* hds_status.c */
udpa_bytes *udpai_hds_describe(const udpai_session *session);

#endif
