/* SPDX-License-Identifier: Apache-2.0 */
/* Hierarchical timer wheel: setting and cancelling cost O(1), whatever their number. It has no
 * clock: the owner hands in the time, in milliseconds that never go back. */
#ifndef UDPAI_WHEEL_H
#define UDPAI_WHEEL_H

#include "base/list.h"

#define UDPAI_WHEEL_NEVER UINT64_MAX
#define UDPAI_WHEEL_LEVELS 8
#define UDPAI_WHEEL_SLOTS 64

typedef struct udpai_timer udpai_timer;
/* Runs inside udpai_wheel_advance(); the timer is unset then and may be set again or freed. */
typedef void (*udpai_timer_fn)(udpai_timer *timer);

struct udpai_timer {
    udpai_list node;
    uint64_t due_ms;
    udpai_timer_fn fire;
};

typedef struct udpai_wheel {
    uint64_t now_ms;
    uint64_t occupied[UDPAI_WHEEL_LEVELS]; /* may have stale ones; corrected when met */
    udpai_list slots[UDPAI_WHEEL_LEVELS][UDPAI_WHEEL_SLOTS];
    udpai_list due; /* set for now or the past */
} udpai_wheel;

void udpai_wheel_init(udpai_wheel *wheel, uint64_t now_ms);
void udpai_timer_init(udpai_timer *timer, udpai_timer_fn fire);
/* (Re)sets the timer to fire once, not before due_ms; a past time fires at the next advance. */
void udpai_timer_set(udpai_wheel *wheel, udpai_timer *timer, uint64_t due_ms);
/* Harmless for a timer that is not set. */
void udpai_timer_cancel(udpai_timer *timer);
bool udpai_timer_is_set(const udpai_timer *timer);
/* When to call udpai_wheel_advance() next, at the latest; UDPAI_WHEEL_NEVER without timers. May be
 * earlier than the first timer. */
uint64_t udpai_wheel_next(udpai_wheel *wheel);
/* Moves the time forward and fires what is due, earlier milliseconds first. */
void udpai_wheel_advance(udpai_wheel *wheel, uint64_t now_ms);

#endif
