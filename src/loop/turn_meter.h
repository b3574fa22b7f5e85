/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how long a loop works between two waits. It does not keep the loop alive. */
#ifndef UDPAI_TURN_METER_H
#define UDPAI_TURN_METER_H

#include <uv.h>

#include "metrics/meters.h"

typedef struct udpai_turn_meter {
    uv_prepare_t prepare;
    udpai_meter *turns;
    uint64_t turn_ns, idle_ns; /* when the last turn ended, and how long it had waited by then */
} udpai_turn_meter;

/* Has the loop measure its waits: before it has any handle. */
void udpai_turn_meter_prepare(uv_loop_t *loop);
/* Observes each turn from now on with the meter, a histogram. */
void udpai_turn_meter_begin(udpai_turn_meter *self, uv_loop_t *loop, udpai_meter *turns);
/* The loop runs on until it has closed. */
void udpai_turn_meter_end(udpai_turn_meter *self);

#endif
