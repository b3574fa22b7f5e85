/* SPDX-License-Identifier: Apache-2.0 */
/* The two clocks of a process. Everything below this folder is handed its time; here is where it
 * comes from. */
#ifndef UDPAI_CLOCK_H
#define UDPAI_CLOCK_H

#include <stdint.h>

/* Milliseconds that never go back. All wheels of a process run on them, so that a deadline means
 * the same on every thread, but that of etcd's client (base/awake_clock.h). */
uint64_t udpai_monotonic_ms(void);
/* The same clock, for measurements. */
uint64_t udpai_monotonic_ns(void);
/* Microseconds since 1970; may jump. */
int64_t udpai_wall_us(void);

#endif
