/* SPDX-License-Identifier: Apache-2.0 */
/* The network between simulated nodes; for world.c. */
#ifndef SIM_NETWORK_H
#define SIM_NETWORK_H

#include "world.h"

void sim_on_dial(void *node, udpai_order *order);
void sim_on_stop_dialling(void *node, uint64_t link);
/* The machine has gone: its ends are gone at once, the others learn of it. */
void sim_end_streams_of(sim_node *node);
void sim_report(sim_node *node, udpai_report *report);
void sim_hub_begin(sim_node *node);
void sim_hub_end(sim_node *node);

#endif
