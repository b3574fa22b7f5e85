/* SPDX-License-Identifier: Apache-2.0 */
/* What is amiss among nodes, for people. */
#ifndef UDPAI_NODE_PROBLEMS_H
#define UDPAI_NODE_PROBLEMS_H

#include "federation/node.h"

/* One line each. */
typedef void (*udpai_problem_fn)(void *userdata, const char *text);
void udpai_node_visit_problems(udpai_node *node, udpai_problem_fn visit, void *userdata);

#endif
