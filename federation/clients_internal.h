/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of client groups: clients.c, clients_settled.c and client_reports.c. */
#ifndef UDPAI_CLIENTS_INTERNAL_H
#define UDPAI_CLIENTS_INTERNAL_H

#include "base/log.h"
#include "base/map.h"
#include "federation/clients.h"
#include "federation/mark.h"
#include "federation/provider_internal.h"

struct udpai_groups {
    udpai_context *context;
    struct udpai_sources *sources;
    struct udpai_providers *providers;
    const struct udpai_demand *demand;
    struct udpai_sync *sync;
    udpai_map by_name_space;
    udpai_list dirty;  /* marks */
    udpai_list unused; /* those that have left, longest first */
    size_t max;        /* 0: as many as come */
    udpai_list late;   /* udpai_report: there was no memory or room for their contents */
    udpai_timer late_timer;
    udpai_log_limit late_log;
};

/* Clients that share a name space, in which sources are asked in their stead. */
struct udpai_clients {
    udpai_groups *owner;
    udpa_bytes *name_space;
    udpai_node_info *info; /* the Node of the group; NULL: none was reported */
    bool have_come;        /* since the restart */
    bool are_expected;     /* they never go */
    bool is_ending;        /* nothing is known of them any more; what they have goes next */
    uint64_t ended_at;     /* by n_evaluations of the node */
    /* The Node of the group when `change` fires, if it differs; NULL, too: none was reported. */
    udpai_node_info *next;
    bool has_next, is_half_introduced;
    unsigned n_changes; /* in quick succession */
    uint64_t changed_ms;
    udpai_timer change;
    UDPAI_VECTOR(udpai_source *) sources;
    udpai_map providers; /* udpai_provider, by type */
    udpai_timer unused;  /* the end of asking for clients that have left */
    udpai_list in_unused;
    udpai_mark mark; /* its providers must be looked at again */
};

/* The providers of the group must be computed again. */
static inline void
udpai_clients_touch(udpai_clients *clients)
{
    udpai_mark_set(&clients->mark);
    udpai_context_touch(clients->owner->context);
}

/* ---- clients.c ---- */

/* Is anything asked for by clients in this name space? */
bool udpai_clients_are_foreseen(const udpai_groups *groups, udpai_str name_space);
/* NULL without memory. */
udpai_clients *udpai_clients_new(udpai_groups *groups, udpai_str name_space);
udpai_source *udpai_clients_source(const udpai_clients *clients, const udpai_source *template);

/* ---- client_reports.c ---- */

void udpai_client_reports_init(udpai_groups *groups);
void udpai_client_reports_done(udpai_groups *groups);
void udpai_clients_meet_init(udpai_clients *clients);
void udpai_clients_meet_done(udpai_clients *clients);

/* ---- clients_settled.c ---- */

/* Notes what the sources of the group have reported. False: without memory. */
bool udpai_clients_note_settled(udpai_clients *clients);
/* Of the group nothing is known any more. False: without memory. */
bool udpai_clients_forget_settled(udpai_clients *clients);

#endif
