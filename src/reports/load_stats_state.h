/* SPDX-License-Identifier: Apache-2.0 */
/* What an aggregate has counted, and of which reporters, as a record: so that it goes on over a
 * restart of its node as if there had been none. A record has the aggregate as it is, and those
 * reporters that have changed since the one before; the last record of an aggregate, with all
 * before it, is the aggregate.
 *
 * Reporters that begin anew with their node, as streams of LRS do, are not in it. Read by the
 * node that has written it, or a later version of it; what it cannot read it refuses. */
#ifndef UDPAI_LOAD_STATS_STATE_H
#define UDPAI_LOAD_STATS_STATE_H

#include "reports/load_stats_split.h"

typedef struct udpai_load_stats_state {
    udpai_str cluster; /* borrowed of the record */
    uint64_t epoch, elapsed_ns;
    bool has_ended; /* there is no such sum any more */
} udpai_load_stats_state;

/* What it contains before the aggregate itself. UDPA_ERR_MALFORMED */
udpa_err udpai_load_stats_state_read(udpai_str record, udpai_load_stats_state *ret_state);
/* @p all: also what has not changed. NULL without memory. The state's own record: NULL for
 * @p split, of a sum that has ended. */
udpa_bytes *udpai_load_stats_state_make(const udpai_load_stats_state *state,
                                        const udpai_load_stats_split *split,
                                        bool all);
/* What was made of it is written. */
void udpai_load_stats_state_made(udpai_load_stats_split *split);
/* Takes a record into a sum that was made for its cluster and epoch, and has taken nothing but
 * earlier ones. On failure the sum is good for nothing. */
udpa_err udpai_load_stats_state_take(udpai_load_stats_split *split,
                                     udpai_arena *arena,
                                     udpai_str record,
                                     udpa_error **ret_error);

#endif
