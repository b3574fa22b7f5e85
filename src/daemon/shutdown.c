/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/shutdown.h"

#include <inttypes.h>

#include "base/log.h"
#include "endpoint/endpoint.h"
#include "endpoint/stream_counts.h"
#include "loop/clock.h"

#define LOG "daemon"
#define LOOK_MS 100
/* A stream that has been ended is over when its peer has taken that. */
#define LATE_MS 2000
/* Workers tell how many streams they have twice a second. */
#define WORKERS_MS 1500
/* What clients have reported goes to the nodes above in that time. */
#define HAND_ON_MS 500

static void on_timer(uv_timer_t *timer);

static void
wait_for(udpai_shutdown *self, uint64_t ms)
{
    uv_timer_start(&self->timer, on_timer, ms, 0); /* cannot fail: it has a callback */
}

static uint64_t
count_streams(const udpai_shutdown *self)
{
    return udpai_endpoint_stream_counts(*self->endpoint).n_served;
}

static void
shut_down(udpai_shutdown *self)
{
    self->stage = UDPAI_SHUT_DOWN;
    self->over(self->userdata);
}

static void
hand_on(udpai_shutdown *self)
{
    self->stage = UDPAI_HANDING_ON;
    if (udpai_endpoint_hand_on(*self->endpoint))
        wait_for(self, HAND_ON_MS);
    else
        shut_down(self);
}

static void
end_streams(udpai_shutdown *self)
{
    uint64_t n = count_streams(self);
    self->stage = UDPAI_DRAINING;
    self->begun_ms = udpai_monotonic_ms();
    if (n)
        udpai_log(UDPA_LOG_INFO, LOG, "draining: %" PRIu64 " streams are to end within %g s", n,
                  (double)self->time_ms / 1000);
    if (udpai_endpoint_drain(*self->endpoint, self->time_ms) == UDPA_OK)
        wait_for(self, LOOK_MS);
    else
        hand_on(self);
}

/* Workers count late: what they have said before they knew of it does not count. */
static void
look(udpai_shutdown *self)
{
    uint64_t n = count_streams(self), passed_ms = udpai_monotonic_ms() - self->begun_ms;
    bool is_late = passed_ms >= self->time_ms + LATE_MS;
    if (!is_late && (n || (self->has_workers && passed_ms < WORKERS_MS))) {
        wait_for(self, LOOK_MS);
        return;
    }
    if (n)
        udpai_log(UDPA_LOG_WARNING, LOG, "drained: %" PRIu64 " streams are left, and are cut off",
                  n);
    else
        udpai_log(UDPA_LOG_INFO, LOG, "drained: no stream is left");
    hand_on(self);
}

static void
on_timer(uv_timer_t *timer)
{
    udpai_shutdown *self = timer->data;
    if (self->stage == UDPAI_DRAIN_WAITING)
        end_streams(self);
    else if (self->stage == UDPAI_DRAINING)
        look(self);
    else
        shut_down(self);
}

void
udpai_shutdown_drain(udpai_shutdown *self)
{
    if (self->stage != UDPAI_RUNNING) {
        shut_down(self);
        return;
    }
    self->stage = UDPAI_DRAIN_WAITING;
    self->begun(self->userdata);
    udpai_log(UDPA_LOG_INFO, LOG,
              "SIGTERM: not ready any more; in %g s streams begin to end; another SIGTERM ends "
              "all at once",
              (double)self->delay_ms / 1000);
    wait_for(self, self->delay_ms);
}

void
udpai_shutdown_leave(udpai_shutdown *self)
{
    if (self->stage == UDPAI_RUNNING)
        end_streams(self);
}

void
udpai_shutdown_hurry(udpai_shutdown *self)
{
    if (self->stage >= UDPAI_HANDING_ON || !*self->endpoint) {
        shut_down(self);
        return;
    }
    self->begun(self->userdata);
    hand_on(self);
}

void
udpai_shutdown_init(udpai_shutdown *self, uv_loop_t *loop)
{
    uv_timer_init(loop, &self->timer); /* cannot fail */
    self->timer.data = self;
}

void
udpai_shutdown_end(udpai_shutdown *self)
{
    uv_close((uv_handle_t *)&self->timer, NULL);
}
