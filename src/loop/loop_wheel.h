/* SPDX-License-Identifier: Apache-2.0 */
/* A timer wheel that a libuv loop drives with one uv_timer. */
#ifndef UDPAI_LOOP_WHEEL_H
#define UDPAI_LOOP_WHEEL_H

#include <uv.h>

#include "base/error.h"
#include "base/wheel.h"

typedef struct udpai_loop_wheel udpai_loop_wheel;

/* On the loop's thread, as everything here. @p ticked (may be NULL) runs after timers may have
 * fired by themselves, to carry out what they have caused. The wheel keeps the loop alive only
 * while a timer is set. */
udpa_err udpai_loop_wheel_new(udpai_loop_wheel **ret_wheel,
                              uv_loop_t *loop,
                              void (*ticked)(void *userdata),
                              void *userdata,
                              udpa_error **ret_error);
udpai_wheel *udpai_loop_wheel_get(udpai_loop_wheel *self);
/* Brings the wheel to the present and fires what is due: before anything that looks at the time. */
void udpai_loop_wheel_advance(udpai_loop_wheel *self);
/* Has the loop wake for the next timer: after anything that may have set one. Cheap if nothing
 * changed. */
void udpai_loop_wheel_arm(udpai_loop_wheel *self);
/* No timer fires any more. The loop frees it in its next turn; the timers must be unset by then. */
void udpai_loop_wheel_close(udpai_loop_wheel *self);

#endif
