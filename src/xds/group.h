/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that share a name space which is made of their Node: one for each node id, or for each
 * cluster. Such a name space is written with words in braces: {node_id}, {cluster}, {region},
 * {zone}, {sub_zone} of the Node, {identity} of the certificate. Which groups there are is reported
 * to the loop side, with the Node of one client of each: a control plane that computes its answers
 * for a Node is asked in its stead. Belongs to the stream thread. */
#ifndef UDPAI_XDS_GROUP_H
#define UDPAI_XDS_GROUP_H

#include <stdatomic.h>

#include "base/map.h"
#include "session/hub.h"
#include "xds/audience.h"

/* Of a name space with all words replaced: names have to fit behind it. */
#define UDPAI_XDS_GROUP_NAMESPACE_MAX 400

typedef struct udpai_xds_group udpai_xds_group;

/* The client that asks. */
typedef struct udpai_xds_client {
    const udpai_identity *identity; /* NULL: none was presented */
    udpai_node_info *node;          /* NULL: it has sent none */
} udpai_xds_client;

/* Has it words in braces? */
bool udpai_xds_template_is(udpai_str name_space);
/* May it be used? Reports why not. */
udpa_err udpai_xds_template_check(udpai_str name_space, udpa_error **ret_error);
/* Has it this word, such as "node_id"? */
bool udpai_xds_template_has(udpai_str name_space, udpai_str word);
/* Puts what the client's Node has for the words, so that it is one segment of a name;
 * *ret_name_space is a view of room. UDPA_ERR_DENIED: it has none; UDPA_ERR_LIMIT: it is too long.
 */
udpa_err udpai_xds_template_expand(udpai_str name_space,
                                   const udpai_xds_client *client,
                                   char room[UDPAI_XDS_GROUP_NAMESPACE_MAX],
                                   udpai_str *ret_name_space,
                                   udpa_error **ret_error);

typedef struct udpai_xds_groups {
    udpai_map by_name_space;
    uint64_t last_serial;
    size_t max, max_of_identity; /* as they are configured; 0: the defaults below */
    atomic_size_t most, most_of_identity;
} udpai_xds_groups;

#define UDPAI_XDS_GROUPS_MAX 4096
#define UDPAI_XDS_GROUPS_OF_IDENTITY_MAX 1024

void udpai_xds_groups_init(udpai_xds_groups *groups);
/* Other limits from now on; groups that there are stay. Any thread. */
void udpai_xds_groups_set_max(udpai_xds_groups *groups, size_t max, size_t max_of_identity);

/* One client more belongs to the group of this audience that its Node makes; the first one begins
 * it. */
udpa_err udpai_xds_group_join(udpai_xds_groups *groups,
                              udpai_hub *hub,
                              const udpai_xds_audience *audience,
                              const udpai_xds_client *client,
                              udpai_xds_group **ret_group,
                              udpa_error **ret_error);
/* The last one ends it. */
void udpai_xds_group_leave(udpai_xds_groups *groups, udpai_hub *hub, udpai_xds_group *group);
/* A client of the group changes its Node. *ret_stays false: it belongs to another group now. */
udpa_err udpai_xds_group_on_node_changed(udpai_xds_group *group,
                                         udpai_hub *hub,
                                         const udpai_xds_client *client,
                                         bool *ret_stays,
                                         udpa_error **ret_error);

/* The audience with the name space of the group. */
const udpai_xds_audience *udpai_xds_group_audience(const udpai_xds_group *group);
/* That it was made after. */
const udpai_xds_audience *udpai_xds_group_template(const udpai_xds_group *group);

#endif
