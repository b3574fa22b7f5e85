/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the session that reports to a server, for the files lrs_upstream*.c. */
#ifndef UDPAI_LRS_UPSTREAM_INTERNAL_H
#define UDPAI_LRS_UPSTREAM_INTERNAL_H

#include "base/map.h"
#include "reports/load_stats.h"
#include "xds/lrs_upstream.h"

/* What the server asks for, of one cluster, and was sent of it. */
typedef struct udpai_lrs_account {
    udpa_bytes *cluster;  /* full name */
    int64_t since_us;     /* when it was first asked for, since 1970 */
    uint64_t reported_ms; /* when it was reported last */
    bool is_named;        /* it is asked for by name; else with all */
    bool was_named;       /* while other names are taken over */
    bool has_begun;       /* an aggregate of it has come */
    bool is_restored;     /* it was kept: the aggregate may be behind what was reported, if that was
                             lost */
    bool has_changed;     /* the aggregate has, since it was reported */
    bool is_due;          /* for the report that is being written */
    udpa_resource *aggregate;   /* NULL: there is none now */
    udpai_load_stats *reported; /* the aggregate as it was reported; NULL: nothing of it */
    udpai_load_stats
        *pending; /* what aggregates that have ended have left to report; NULL: nothing */
} udpai_lrs_account;

struct udpai_lrs_upstream {
    udpai_lrs_upstream_options options;
    udpai_map accounts; /* by cluster */
    size_t n_named;
    bool subscribes_all;
    int64_t all_since_us;
    udpai_lrs_keeper keeper; /* keep NULL: nothing is kept */
    char texts[];
};

typedef struct udpai_lrs_upstream_session {
    udpai_session session; /* first */
    udpai_lrs_upstream *upstream;
    udpai_report *closed; /* made in time, for it must be given */
    bool is_introduced;   /* the Node was sent */
    bool is_asked;        /* the server has sent what it asks for, on this stream */
    bool is_due;          /* a report is to be written … */
    bool is_begun;        /* … and its first piece was */
    uint64_t interval_ms;
    bool per_endpoint;
    udpai_timer interval;
    udpai_timer rest; /* until it is read again */
    udpa_bytes *writing;
    /* For status. */
    uint64_t n_reports, n_refused;
    udpa_error *last_error;
    int64_t refused_us;
} udpai_lrs_upstream_session;

static inline udpai_lrs_upstream_session *
udpai_lrs_upstream_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, udpai_lrs_upstream_session, session);
}

static inline uint64_t
udpai_lrs_upstream_now(const udpai_lrs_upstream_session *self)
{
    return udpai_hub_wheel(self->session.hub)->now_ms;
}

/* ---- lrs_upstream.c ---- */

/* Something cannot be reported, or not be asked for; borrows the error, which may be NULL. */
void udpai_lrs_upstream_note_refused(udpai_lrs_upstream_session *self,
                                     udpai_str what,
                                     const udpa_error *why);

/* ---- lrs_upstream_account.c ---- */

udpai_str udpai_lrs_account_key(const void *item);
void udpai_lrs_accounts_free(udpai_lrs_upstream *upstream);
/* As the server calls it. */
udpai_str udpai_lrs_account_name(const udpai_lrs_upstream *upstream, const udpai_lrs_account *of);
/* Takes over what the server asks for; what it asked for before keeps its account. What cannot be
 * the name of a cluster is noted. UDPA_ERR_NOMEM: some of it may have been taken over. */
udpa_err udpai_lrs_accounts_select(udpai_lrs_upstream_session *self,
                                   char *const *names,
                                   size_t n_names,
                                   bool subscribes_all,
                                   bool *ret_changed);
/* A ClusterLoad of this node has come, or its aggregate has ended. */
udpa_err udpai_lrs_account_take(udpai_lrs_upstream_session *self,
                                udpa_resource *resource,
                                udpa_error **ret_error);
udpa_err
udpai_lrs_account_end(udpai_lrs_upstream_session *self, udpai_str name, udpa_error **ret_error);
/* One that nothing is known of yet. UDPA_ERR_LIMIT, UDPA_ERR_NOMEM */
udpa_err udpai_lrs_account_make(udpai_lrs_upstream *upstream,
                                udpai_str cluster,
                                udpai_lrs_account **ret_account,
                                udpa_error **ret_error);
/* If there is one. */
void udpai_lrs_account_forget(udpai_lrs_upstream *upstream, udpai_str cluster);
/* The aggregate that it has, decoded. */
udpa_err udpai_lrs_account_decode(udpai_lrs_upstream_session *self,
                                  const udpai_lrs_account *account,
                                  udpai_load_stats **ret_stats,
                                  udpa_error **ret_error);

/* ---- lrs_upstream_keep.c ---- */

/* What is to be kept of a cluster. Borrows everything. */
typedef struct udpai_lrs_kept {
    udpai_str cluster;
    bool is_known, has_begun;
    int64_t since_us;
    const udpai_load_stats *reported, *pending;
} udpai_lrs_kept;

udpai_lrs_kept udpai_lrs_kept_of(const udpai_lrs_account *account);
/* Before the accounts are so. */
void udpai_lrs_keep(const udpai_lrs_upstream *upstream, const udpai_lrs_kept *items, size_t n);

/* ---- lrs_upstream_report.c ---- */

/* Everything that is new is to be reported. */
void udpai_lrs_upstream_begin_report(udpai_lrs_upstream_session *self);
/* The next LoadStatsRequest of the report; NULL: there is none any more. What is in it counts as
 * reported. UDPA_ERR_NOMEM: nothing was reported. */
udpa_err udpai_lrs_upstream_next_piece(udpai_lrs_upstream_session *self, udpa_bytes **ret_piece);

/* ---- lrs_upstream_status.c ---- */

udpa_bytes *udpai_lrs_upstream_describe(const udpai_session *session);

#endif
