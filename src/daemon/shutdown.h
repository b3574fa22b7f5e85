/* SPDX-License-Identifier: Apache-2.0 */
/* How a node ends: it drains (docs/design/drain.md), hands on what clients have reported, and is
 * then over. Belongs to the loop's thread. */
#ifndef UDPAI_DAEMON_SHUTDOWN_H
#define UDPAI_DAEMON_SHUTDOWN_H

#include <uv.h>

#include "udpa/endpoint.h"

/* timing.drain_delay and timing.drain_time, unless the file has others. */
#define UDPAI_DRAIN_DELAY_MS 3000
#define UDPAI_DRAIN_TIME_MS 20000

typedef struct udpai_shutdown {
    /* The owner's: */
    udpa_endpoint *const *endpoint;
    uint64_t delay_ms, time_ms; /* of a drain: to be set before it */
    bool has_workers;
    void (*begun)(void *userdata); /* load balancers should send nobody any more */
    void (*over)(void *userdata);  /* all may be closed; it may come again */
    void *userdata;

    uv_timer_t timer;

    enum {
        UDPAI_RUNNING,
        UDPAI_DRAIN_WAITING, /* until load balancers know it */
        UDPAI_DRAINING,
        UDPAI_HANDING_ON,
        UDPAI_SHUT_DOWN,
    } stage;

    uint64_t begun_ms; /* draining, by udpai_monotonic_ms() */
} udpai_shutdown;

void udpai_shutdown_init(udpai_shutdown *self, uv_loop_t *loop);
/* Begins to drain; if that has begun, all is over at once. */
void udpai_shutdown_drain(udpai_shutdown *self);
/* Drains at once, for another process serves already: nobody has to know before. */
void udpai_shutdown_leave(udpai_shutdown *self);
/* Does not drain, or no longer; if it was called before, all is over at once. */
void udpai_shutdown_hurry(udpai_shutdown *self);
/* The loop runs on until it has closed. */
void udpai_shutdown_end(udpai_shutdown *self);

#endif
