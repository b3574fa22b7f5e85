/* SPDX-License-Identifier: Apache-2.0 */
/* What is held of what sources and directories do not name any more, for operators: how much it is,
 * and how to accept that it is removed. */
#ifndef UDPAI_ACCEPT_H
#define UDPAI_ACCEPT_H

#include "federation/node.h"

/* What this node, of that id, does not have is removed: each node that has it as a source, and
 * holds what it does not name any more, learns it as soon as it is kept. */
udpa_err udpai_node_accept_as_source(udpai_node *node, udpai_str id, udpa_error **ret_error);
/* What a source, or a directory of this root, does not name any more and is held, is removed: so
 * many. Of a source that is asked for groups of clients, for all of them. False: there is neither.
 */
bool udpai_node_accept_absences(udpai_node *node, udpai_str name, size_t *ret_n);

typedef struct udpai_held_count {
    udpai_str name;     /* of the source, or the root of the directory */
    udpai_str type_url; /* of which so many are held */
    size_t n;
} udpai_held_count;

typedef void (*udpai_held_count_fn)(void *userdata, const udpai_held_count *held);
void udpai_node_visit_held(const udpai_node *node, udpai_held_count_fn visit, void *userdata);

#endif
