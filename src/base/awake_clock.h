/* SPDX-License-Identifier: Apache-2.0 */
/* Time in which a thread could run, for one whose timers wait for others. While the process is
 * stopped, or its machine is, nothing can be received: that this lasts is no silence of others, and
 * all timers of that time would fire before what has come meanwhile is read. Pure. */
#ifndef UDPAI_AWAKE_CLOCK_H
#define UDPAI_AWAKE_CLOCK_H

#include "base/wheel.h"

/* Later than it wanted to be woken by more than this, the thread was held up. */
#define UDPAI_HELD_UP_MS 500

typedef struct udpai_awake_clock {
    uint64_t held_up_ms; /* so far */
} udpai_awake_clock;

/* The time for the wheel, by a clock that never goes back, when the thread has waited.
 * Milliseconds.
 */
uint64_t udpai_awake_now(udpai_awake_clock *clock, udpai_wheel *wheel, uint64_t monotonic_ms);
/* Until when to wait by that clock; UDPAI_WHEEL_NEVER without timers. */
uint64_t udpai_awake_next(const udpai_awake_clock *clock, udpai_wheel *wheel);

#endif
