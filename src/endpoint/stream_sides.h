/* SPDX-License-Identifier: Apache-2.0 */
/* The stream sides of an endpoint: the thread of this process, and those of its workers, which look
 * like one to the loop (session/worker_pool.h). On the loop. */
#ifndef UDPAI_STREAM_SIDES_H
#define UDPAI_STREAM_SIDES_H

#include "endpoint/endpoint.h"
#include "endpoint/stream_counts.h"

typedef struct udpai_stream_sides udpai_stream_sides;

typedef struct udpai_stream_sides_env {
    /* What this process's thread reports, to be brought to the loop; and that it has ended. On the
     * thread. */
    void (*report)(void *userdata, udpai_report *report);
    void (*stopped)(void *userdata);
    /* What all sides report as one. On the loop; takes it. */
    void (*take)(void *userdata, udpai_report *report);
    void *userdata;
} udpai_stream_sides_env;

udpa_err udpai_stream_sides_new(udpai_stream_sides **ret_sides,
                                const udpai_endpoint_settings *settings,
                                const udpai_stream_sides_env *env,
                                udpa_error **ret_error);
/* Ends the thread of this process, if it has not ended. */
void udpai_stream_sides_join(udpai_stream_sides *sides);
udpai_stream_sides *udpai_stream_sides_free(udpai_stream_sides *sides);

/* Of this process; NULL: it has ended. */
udpai_stream_thread *udpai_stream_sides_own(const udpai_stream_sides *sides);
/* Takes an order for all, or for that which it concerns. */
void udpai_stream_sides_order(udpai_stream_sides *sides, udpai_order *order);
/* The answer to health checks. False: out of memory. */
bool udpai_stream_sides_set_serving(udpai_stream_sides *sides, bool is_serving);
/* Takes what one of them reports: 0 is this process, workers are counted from 1. */
void udpai_stream_sides_report(udpai_stream_sides *sides, size_t side, udpai_report *report);
/* What a worker has counted, and what all have. */
void udpai_stream_sides_set_counts(udpai_stream_sides *sides,
                                   size_t worker,
                                   const udpai_stream_counts *counts);
udpai_stream_counts udpai_stream_sides_counts(const udpai_stream_sides *sides);

#endif
