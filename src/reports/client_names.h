/* SPDX-License-Identifier: Apache-2.0 */
/* How the resources of udpa.status.v1.ClientStatus are named: what nodes report of the clients that
 * they serve (docs/design/csds.md). Ids are percent-encoded, each as one segment. */
#ifndef UDPAI_CLIENT_NAMES_H
#define UDPAI_CLIENT_NAMES_H

#include "base/strbuf.h"
#include "model/types.h"

#define UDPAI_CLIENTS_NAMESPACE "udpa.clients"

typedef struct udpai_client_name {
    udpai_str node;  /* as it is in the name */
    uint64_t number; /* of the client at that node; 0: it is … */
    bool is_of_node; /* … of the node as a whole */
} udpai_client_name;

/* Views of the name. False: it is none of these. */
bool udpai_client_name_read(udpai_str name, udpai_client_name *ret_name);

/* Appends the prefix of all that a node reports: udpa.clients/<node>. */
void udpai_client_names_put_prefix(udpai_strbuf *out, udpai_str node_id);
/* Appends udpa.clients/<node>/<node>. */
void udpai_client_names_put_node(udpai_strbuf *out, udpai_str node_id);

/* Appends udpa.clients/<node>/<client>/<number>/<node>; of a client's id that is very long only the
 * beginning, for the number distinguishes clients. */
void udpai_client_names_put_client(udpai_strbuf *out,
                                   udpai_str node_id,
                                   udpai_str client_id,
                                   uint64_t number);

/* Is what this node reports covered by a subscription: a name, or '*' and a prefix? */
bool udpai_client_names_match(udpai_str subscription, udpai_str node_id);

#endif
