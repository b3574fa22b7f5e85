/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of clients that sources are asked for one by one, for the files of this folder. */
#ifndef UDPAI_CLIENTS_H
#define UDPAI_CLIENTS_H

#include "base/map.h"
#include "federation/scope.h"

typedef struct udpai_clients udpai_clients;

/* Clients that share a name space, in which sources are asked in their stead. */
struct udpai_clients {
    udpai_node *node;
    udpa_bytes *name_space;
    udpai_node_info *info; /* who stands for them; NULL: nobody has said who it is */
    bool have_come;        /* since the restart */
    bool are_expected;     /* they never go */
    bool is_ending;        /* nothing is known of them any more; what they have goes next */
    uint64_t ended_at;     /* by n_evaluations of the node */
    /* Who will stand for them when `change` fires, if it differs; NULL, too: nobody has said. */
    udpai_node_info *next;
    bool has_next, is_half_told;
    unsigned n_changes; /* in quick succession */
    uint64_t changed_ms;
    udpai_timer change;
    UDPAI_VECTOR(udpai_source *) sources;
    udpai_map providers; /* udpai_provider, by type */
    udpai_timer unused;  /* the end of asking for clients that have gone */
    udpai_list in_unused;
    udpai_list in_dirty; /* its providers must be looked at again */
};

/* ---- clients.c ---- */

void udpai_clients_init(udpai_node *node);
void udpai_clients_free_all(udpai_node *node);
/* Is anything asked for by clients in this name space? */
bool udpai_clients_are_foreseen(const udpai_node *node, udpai_str name_space);
/* NULL without memory. */
udpai_clients *udpai_clients_new(udpai_node *node, udpai_str name_space);
udpai_source *udpai_clients_source(const udpai_clients *clients, const udpai_source *template);
void udpai_clients_interest(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted);

/* ---- client_reports.c ---- */

void udpai_client_reports_init(udpai_node *node);
void udpai_client_reports_done(udpai_node *node);
void udpai_clients_meet_init(udpai_clients *clients);
void udpai_clients_meet_done(udpai_clients *clients);
/* UDPAI_REPORT_CLIENTS. True: the report is kept, for when there is memory. */
bool udpai_client_reports_receive(udpai_node *node, udpai_report *report);
/* *ret_source: that such an origin was of, before a restart; NULL: none is configured now. */
udpa_err udpai_clients_restore(udpai_node *node, udpai_str source_name, udpai_source **ret_source);

/* ---- unsettled.c ---- */

/* Notes what the sources of the group have said. False: without memory. */
bool udpai_clients_note_settled(udpai_clients *clients);
/* Of the group nothing is known any more. False: without memory. */
bool udpai_clients_forget_settled(udpai_clients *clients);

#endif
