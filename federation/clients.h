/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of clients that sources are asked for one by one. */
#ifndef UDPAI_CLIENTS_H
#define UDPAI_CLIENTS_H

#include "federation/parts.h"
#include "federation/sources.h"

typedef struct udpai_groups udpai_groups;
typedef struct udpai_clients udpai_clients;

/* At most so many; 0: as many as come. */
udpa_err udpai_groups_new(udpai_groups **ret_groups, const udpai_parts *parts, size_t max_groups);
/* The same from now on; those that there are stay. */
void udpai_groups_set_max(udpai_groups *groups, size_t max_groups);
/* This source, which each group has one after, is reached otherwise. */
void udpai_groups_move(udpai_groups *groups, const udpai_source *template);
/* Before the sources. NULL does nothing. */
void udpai_groups_free(udpai_groups *groups);
/* Looks at the providers of those groups that have changed sources. */
void udpai_groups_evaluate(udpai_groups *groups);
/* The first subscription to a name, or to '*' and a prefix; or the last one has ended. */
void
udpai_clients_interest(udpai_groups *groups, udpai_str type_url, udpai_str text, bool subscribed);

/* ---- client_reports.c ---- */

/* Clients that never connect, because they read files: they never go. */
udpa_err udpai_groups_expect(udpai_groups *groups, udpai_str name_space, udpai_node_info *client);
/* UDPAI_REPORT_CLIENTS. True: the report is kept, for when there is memory. */
bool udpai_client_reports_receive(udpai_groups *groups, udpai_report *report);
/* *ret_source: that such an origin was of, before a restart; NULL: none is configured now. */
udpa_err
udpai_clients_restore(udpai_groups *groups, udpai_str source_name, udpai_source **ret_source);
/* What the group's source has of the type counted before a restart, so it does again. */
void udpai_clients_restore_use(const udpai_source *source, udpai_str type_url);

#endif
