/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/liveness.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "loop/clock.h"

typedef struct beat {
    atomic_uint_fast64_t last_ms;
    atomic_bool streams_hang;
} beat;

struct udpai_liveness {
    uv_timer_t timer;
    bool has_timer;
    _Atomic(udpai_stream_thread *) streams; /* NULL: not yet */
    beat loop;
    size_t n_workers;
    beat workers[];
};

udpa_err
udpai_liveness_new(udpai_liveness **ret_liveness, size_t n_workers)
{
    udpai_liveness *self = udpai_alloc(sizeof(*self) + n_workers * sizeof(self->workers[0]));
    if (!self)
        return UDPA_ERR_NOMEM;
    uint64_t now_ms = udpai_monotonic_ms();
    self->n_workers = n_workers;
    atomic_store(&self->loop.last_ms, now_ms);
    for (size_t i = 0; i < n_workers; i++) /* it has that long to begin */
        atomic_store(&self->workers[i].last_ms, now_ms);
    *ret_liveness = self;
    return UDPA_OK;
}

udpai_liveness *
udpai_liveness_free(udpai_liveness *self)
{
    udpai_free(self);
    return NULL;
}

static void
on_beat(uv_timer_t *timer)
{
    udpai_liveness *self = timer->data;
    atomic_store_explicit(&self->loop.last_ms, udpai_monotonic_ms(), memory_order_relaxed);
}

void
udpai_liveness_begin(udpai_liveness *self, uv_loop_t *loop, udpai_stream_thread *streams)
{
    uv_timer_init(loop, &self->timer); /* neither can fail */
    self->timer.data = self;
    uv_timer_start(&self->timer, on_beat, 0, UDPAI_LIVENESS_BEAT_MS);
    self->has_timer = true;
    atomic_store(&self->streams, streams);
}

void
udpai_liveness_end(udpai_liveness *self)
{
    if (!self || !self->has_timer)
        return;
    self->has_timer = false;
    uv_close((uv_handle_t *)&self->timer, NULL);
}

void
udpai_liveness_note_worker(udpai_liveness *self, size_t worker, bool streams_turn)
{
    if (worker == 0 || worker > self->n_workers)
        return;
    beat *of = &self->workers[worker - 1];
    atomic_store_explicit(&of->last_ms, udpai_monotonic_ms(), memory_order_relaxed);
    atomic_store_explicit(&of->streams_hang, !streams_turn, memory_order_relaxed);
}

/* ---- looking ---- */

static uint64_t
silent_ms(const beat *of, uint64_t now_ms)
{
    uint64_t last_ms = atomic_load_explicit(&of->last_ms, memory_order_relaxed);
    return now_ms > last_ms ? now_ms - last_ms : 0;
}

static void
put_hanging(udpai_strbuf *text, const char *what, size_t number, uint64_t ms)
{
    udpai_strbuf_puts(text, what);
    if (number)
        udpai_strbuf_printf(text, " %zu", number);
    udpai_strbuf_printf(text, " has not turned for %" PRIu64 " s\n", ms / 1000);
}

/* What workers send is received by the loop: if that hangs, nothing is known of them. */
static bool
look_at_workers(const udpai_liveness *self, uint64_t now_ms, udpai_strbuf *text)
{
    bool all = true;
    for (size_t i = 0; i < self->n_workers; i++) {
        const beat *of = &self->workers[i];
        uint64_t ms = silent_ms(of, now_ms);
        bool hangs = ms >= UDPAI_LIVENESS_MS;
        if (hangs)
            put_hanging(text, "worker", i + 1, ms);
        else if (atomic_load_explicit(&of->streams_hang, memory_order_relaxed))
            put_hanging(text, "the stream thread of worker", i + 1, UDPAI_LIVENESS_MS);
        else
            continue;
        all = false;
    }
    return all;
}

bool
udpai_liveness_streams_turn(const udpai_stream_thread *streams, uint64_t now_ms)
{
    uint64_t since_ms = udpai_stream_thread_busy_since_ms(streams);
    return since_ms == 0 || now_ms < since_ms + UDPAI_LIVENESS_MS;
}

bool
udpai_liveness_look(const udpai_liveness *self, uint64_t now_ms, udpai_strbuf *text)
{
    const udpai_stream_thread *streams = atomic_load(&self->streams);
    uint64_t loop_ms = silent_ms(&self->loop, now_ms);
    bool loop_turns = loop_ms < UDPAI_LIVENESS_MS;
    bool streams_turn = !streams || udpai_liveness_streams_turn(streams, now_ms);
    if (!loop_turns)
        put_hanging(text, "the loop", 0, loop_ms);
    if (!streams_turn)
        put_hanging(text, "the stream thread", 0,
                    now_ms - udpai_stream_thread_busy_since_ms(streams));
    bool all = loop_turns ? look_at_workers(self, now_ms, text) && streams_turn : false;
    if (all)
        udpai_strbuf_puts(text, "alive\n");
    return all;
}
