/* SPDX-License-Identifier: Apache-2.0 */
/* What a node reports itself of what it sees, for subscribers, and which peers may do so beside it.
 */
#ifndef UDPAI_FEDERATION_REPORTING_H
#define UDPAI_FEDERATION_REPORTING_H

#include "federation/node.h"

/* The id with which this node reports: a replica has one of its own. The node's. */
udpai_str udpai_node_reporter_id(const udpai_node *node);

/* Makes or replaces it. It must have a ttl, and be reported again before that is over. An endpoint
 * offers its own reports to peers, and nothing else. */
udpa_err udpai_node_report_own(udpai_node *node, udpa_resource *resource, udpa_error **ret_error);
void udpai_node_withdraw_own_report(udpai_node *node, udpai_str type_url, udpai_str name);

/* The recipients of an own report of load now: the sources that it is for, as far as they have been
 * here; one that is lost is still counted, until another has replaced it. They are identified as
 * nodes, not as streams. */
typedef struct udpai_audience {
    size_t n;
    uint64_t digest; /* another one if they are others */
} udpai_audience;

/* By the name of the report, <cluster>/<client>. */
udpa_err
udpai_node_load_audience(const udpai_node *node, udpai_str name, udpai_audience *ret_audience);
/* As udpai_node_report_own(), for its audience now, and for no others: a later member gets it only
 * when it is reported by this again. So no source counts as its own what others have counted. */
udpa_err udpai_node_report_load(udpai_node *node, udpa_resource *resource, udpa_error **ret_error);
/* The name of the ConfigSource that a report of this name would be for, if it is just one; owned by
 * the node. */
bool
udpai_node_reports_to(const udpai_node *node, const udpa_resource *report, udpai_str *ret_name);
/* Calls back for each management node that is asked for what clients report, by its id; the same
 * may come twice. */
void udpai_node_visit_nodes_below(const udpai_node *node,
                                  void (*visit)(void *userdata, udpai_str id),
                                  void *userdata);
/* Each other replica of the set, from *at = 0 on: its id, a view, and its session, 0: it has none.
 * False: there are no more. */
bool udpai_node_next_replica(const udpai_node *node,
                             size_t *at,
                             udpai_str *ret_id,
                             uint64_t *ret_session);
/* Has another replica of the set sent this report? It is not this node's to add up. */
bool udpai_node_is_of_set(const udpai_node *node, const udpa_resource *report);
/* Since when a peer with this Node id is here, by the wheel, the first of its streams; false: it is
 * not. */
bool udpai_node_peer_since(const udpai_node *node, udpai_str id, uint64_t *ret_ms);

#endif
