/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/turn_meter.h"

/* Just before the loop waits. libuv knows how long it has waited so far, in this turn as well: what
 * it does while it polls is work. */
static void
on_prepare(uv_prepare_t *prepare)
{
    udpai_turn_meter *self = prepare->data;
    uint64_t now_ns = uv_hrtime(), idle_ns = uv_metrics_idle_time(prepare->loop);
    uint64_t passed_ns = now_ns - self->turn_ns, waited_ns = idle_ns - self->idle_ns;
    udpai_meter_observe(self->turns, passed_ns > waited_ns ? (passed_ns - waited_ns) / 1000 : 0);
    self->turn_ns = now_ns;
    self->idle_ns = idle_ns;
}

void
udpai_turn_meter_prepare(uv_loop_t *loop)
{
    if (UDPAI_MEASURES)
        (void)uv_loop_configure(loop, UV_METRICS_IDLE_TIME); /* cannot fail */
}

void
udpai_turn_meter_begin(udpai_turn_meter *self, uv_loop_t *loop, udpai_meter *turns)
{
    self->turns = turns;
    self->turn_ns = uv_hrtime();
    self->idle_ns = uv_metrics_idle_time(loop);
    uv_prepare_init(loop, &self->prepare); /* neither can fail */
    self->prepare.data = self;
    if (UDPAI_MEASURES)
        uv_prepare_start(&self->prepare, on_prepare);
    uv_unref((uv_handle_t *)&self->prepare);
}

void
udpai_turn_meter_end(udpai_turn_meter *self)
{
    uv_close((uv_handle_t *)&self->prepare, NULL);
}
