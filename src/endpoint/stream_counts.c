/* SPDX-License-Identifier: Apache-2.0 */
/* What the streams of a node have counted, with those of its workers. */
#include "endpoint/stream_counts.h"

void
udpai_stream_counts_add(udpai_stream_counts *to, const udpai_stream_counts *counts)
{
    for (size_t i = 0; i < UDPAI_STREAM_COUNTERS; i++)
        to->n[i] += counts->n[i];
    to->n_clients += counts->n_clients;
    to->n_served += counts->n_served;
}

udpai_stream_counts
udpai_stream_counts_of(const udpai_stream_thread *streams)
{
    udpai_stream_thread_stats stats;
    udpai_stream_thread_stats_get(streams, &stats);
    return (udpai_stream_counts){
        .n =
            {
                [UDPAI_STREAMS_REFUSED] = stats.n_refused,
                [UDPAI_STREAMS_CUT_OFF] = stats.n_cut_off,
                [UDPAI_MESSAGES_TOO_LARGE] = stats.n_too_large,
                [UDPAI_MESSAGES_HELD_BACK] = stats.n_waited,
                [UDPAI_STREAMS_AGED] = stats.n_aged,
                [UDPAI_STREAMS_MOVED] = stats.n_moved,
                [UDPAI_STREAMS_ABOVE_SHARE] = stats.n_above_share,
                [UDPAI_CONNECTIONS_REFUSED] = stats.n_connections_refused,
                [UDPAI_CONNECTIONS_ENDED] = stats.n_floods,
                [UDPAI_HANDSHAKES_FAILED] = stats.n_handshakes_failed,
            },
        .n_clients = stats.n_clients,
        .n_served = stats.n_served,
    };
}

const char *
udpai_stream_counter_name(udpai_stream_counter counter)
{
    static const char *const names[UDPAI_STREAM_COUNTERS] = {
        [UDPAI_STREAMS_REFUSED] = "streams_refused",
        [UDPAI_STREAMS_CUT_OFF] = "streams_cut_off",
        [UDPAI_MESSAGES_TOO_LARGE] = "messages_too_large",
        [UDPAI_MESSAGES_HELD_BACK] = "messages_held_back",
        [UDPAI_STREAMS_AGED] = "streams_aged",
        [UDPAI_STREAMS_MOVED] = "streams_moved",
        [UDPAI_STREAMS_ABOVE_SHARE] = "streams_above_share",
        [UDPAI_CONNECTIONS_REFUSED] = "connections_refused",
        [UDPAI_CONNECTIONS_ENDED] = "connections_ended",
        [UDPAI_HANDSHAKES_FAILED] = "handshakes_failed",
    };
    return names[counter];
}
