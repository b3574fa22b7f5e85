/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates of load over a restart: before one is sent, it is written what it has counted, of
 * which clients. A node that begins anew, however it ended, goes on with the same aggregates, and a
 * node that adds them up goes on where it was. On the loop; files are written there, and no disk is
 * waited for. */
#ifndef UDPAI_LOAD_STATE_H
#define UDPAI_LOAD_STATE_H

#include "reports/load_stats_state.h"

typedef struct udpai_load_state udpai_load_state;

/* Visits all aggregates there are, to write them anew. */
typedef udpa_err (*udpai_load_state_visit_fn)(void *userdata, udpai_load_state *state);

typedef struct udpai_load_state_options {
    const char *path;
    udpai_str owner; /* of the file: which node this is; while it is opened */
    udpai_str node_id;
    uint64_t lasts_ns;
    udpai_load_state_visit_fn visit;
    void *userdata;
} udpai_load_state_options;

/* *ret_state: NULL, and a warning, if the file cannot be had: then aggregates begin with the node.
 * UDPA_ERR_NOMEM */
udpa_err udpai_load_state_open(udpai_load_state **ret_state,
                               const udpai_load_state_options *options);
udpai_load_state *udpai_load_state_close(udpai_load_state *state);

/* The aggregate that there was of the cluster, and when; the caller has it then. NULL: none. The
 * state may be NULL in all of these. */
udpai_load_stats_split *
udpai_load_state_take(udpai_load_state *state, udpai_str cluster, udpai_load_stats_state *ret_of);
/* The name of a cluster below a prefix of which there is an aggregate that was not taken. */
udpa_bytes *udpai_load_state_find(udpai_load_state *state, udpai_str prefix);
/* Forgets aggregates that were not taken; returns whether there were any. */
bool udpai_load_state_forget(udpai_load_state *state);

void udpai_load_state_save(udpai_load_state *state,
                           const udpai_load_stats_state *of,
                           udpai_load_stats_split *split);
/* There is no such aggregate any more. */
void udpai_load_state_end(udpai_load_state *state, const udpai_load_stats_state *of);
/* While it is written anew. */
udpa_err udpai_load_state_save_all(udpai_load_state *state,
                                   const udpai_load_stats_state *of,
                                   udpai_load_stats_split *split);

#endif
