/* SPDX-License-Identifier: Apache-2.0 */
/* What a node says itself of what it sees, for whoever subscribes, and who may do so beside it. */
#ifndef UDPAI_FEDERATION_REPORTING_H
#define UDPAI_FEDERATION_REPORTING_H

#include "federation/node.h"

/* Makes or replaces it. It must have a ttl, and be said again before that is over. An endpoint
 * offers to peers what it says so, and nothing else. */
udpa_err udpai_node_report_own(udpai_node *node, udpa_resource *resource, udpa_error **ret_error);
void udpai_node_withdraw_own_report(udpai_node *node, udpai_str type_url, udpai_str name);

/* Who is told an own report of load now: the sources that it is for, as far as they have been here;
 * one that is lost still counts, until another has replaced it. They are the nodes that they are,
 * not streams. */
typedef struct udpai_audience {
    size_t n;
    uint64_t digest; /* another one if they are others */
} udpai_audience;

/* By the name of the report, <cluster>/<client>. */
udpa_err
udpai_node_load_audience(const udpai_node *node, udpai_str name, udpai_audience *ret_audience);
/* As udpai_node_report_own(), for who is its audience now, and for nobody else: whom it would be
 * for later is told it only when it is reported by this again. So nobody is told as his what others
 * have been told. */
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
/* Since when a peer whose Node has this id is here, by the wheel, the first of its streams; false:
 * it is not. */
bool udpai_node_peer_since(const udpai_node *node, udpai_str id, uint64_t *ret_ms);

#endif
