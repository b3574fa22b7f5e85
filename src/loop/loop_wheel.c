/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/loop_wheel.h"

#include "base/alloc.h"
#include "loop/clock.h"

struct udpai_loop_wheel {
    udpai_wheel wheel;
    uv_timer_t timer;
    uint64_t armed_for_ms;
    void (*ticked)(void *userdata);
    void *userdata;
};

static void
on_timer(uv_timer_t *timer)
{
    udpai_loop_wheel *self = UDPAI_CONTAINER_OF(timer, udpai_loop_wheel, timer);
    self->armed_for_ms = UDPAI_WHEEL_NEVER;
    udpai_loop_wheel_advance(self);
    if (self->ticked)
        self->ticked(self->userdata);
    udpai_loop_wheel_arm(self);
}

udpa_err
udpai_loop_wheel_new(udpai_loop_wheel **ret_wheel,
                     uv_loop_t *loop,
                     void (*ticked)(void *userdata),
                     void *userdata,
                     udpa_error **ret_error)
{
    udpai_loop_wheel *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpai_wheel_init(&self->wheel, udpai_monotonic_ms());
    uv_timer_init(loop, &self->timer); /* cannot fail */
    self->armed_for_ms = UDPAI_WHEEL_NEVER;
    self->ticked = ticked;
    self->userdata = userdata;
    *ret_wheel = self;
    return UDPA_OK;
}

udpai_wheel *
udpai_loop_wheel_get(udpai_loop_wheel *self)
{
    return &self->wheel;
}

void
udpai_loop_wheel_advance(udpai_loop_wheel *self)
{
    udpai_wheel_advance(&self->wheel, udpai_monotonic_ms());
}

void
udpai_loop_wheel_arm(udpai_loop_wheel *self)
{
    uint64_t next_ms = udpai_wheel_next(&self->wheel);
    if (next_ms == self->armed_for_ms || uv_is_closing((uv_handle_t *)&self->timer))
        return;
    self->armed_for_ms = next_ms;
    if (next_ms == UDPAI_WHEEL_NEVER) {
        uv_timer_stop(&self->timer);
        return;
    }
    /* libuv counts from the start of the loop's turn, which lies before now: if it comes too early
     * for that, the wheel fires nothing and is armed again. */
    uint64_t now_ms = udpai_monotonic_ms();
    uv_timer_start(&self->timer, on_timer, next_ms > now_ms ? next_ms - now_ms : 0, 0);
}

static void
on_closed(uv_handle_t *handle)
{
    udpai_free(UDPAI_CONTAINER_OF(handle, udpai_loop_wheel, timer));
}

void
udpai_loop_wheel_close(udpai_loop_wheel *self)
{
    uv_close((uv_handle_t *)&self->timer, on_closed);
}
