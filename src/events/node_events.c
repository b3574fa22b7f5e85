/* SPDX-License-Identifier: Apache-2.0 */
#include "events/node_events.h"

#include "base/alloc.h"

#define OTHERS UDPAI_NOTE_SUBJECTS /* the place of all subjects that have none of their own */

typedef struct place {
    uint64_t subject;
    uint64_t window_ms; /* 0: it is free */
    uint64_t until_ms;
    uint64_t n_waiting;
    udpa_bytes *last; /* of these; NULL: none waits */
    int64_t time_us;
} place;

typedef struct kind_state {
    place places[UDPAI_NOTE_SUBJECTS + 1];
    uint64_t regained_ms;
    unsigned n_spent; /* of its burst */
} kind_state;

struct udpai_node_events {
    udpai_node_events_env env;
    udpai_timer timer;
    kind_state kinds[UDPAI_NOTE_KINDS];
};

/* ---- what passes ---- */

static void
emit(udpai_node_events *self, udpa_bytes *event, int64_t time_us)
{
    if (event)
        self->env.emit(self->env.userdata, event, time_us);
}

/* With the number of those before it. */
static void
emit_last(udpai_node_events *self, place *at)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *event = udpai_node_event_add_suppressed(at->last, at->n_waiting - 1);
    emit(self, event, at->time_us);
    at->last = udpa_bytes_unref(at->last);
    at->n_waiting = 0;
}

static bool
may_pass(kind_state *kind, uint64_t now_ms)
{
    uint64_t n_regained = (now_ms - kind->regained_ms) / UDPAI_NOTE_REGAIN_MS;
    kind->regained_ms += n_regained * UDPAI_NOTE_REGAIN_MS;
    kind->n_spent = kind->n_spent > n_regained ? kind->n_spent - (unsigned)n_regained : 0;
    if (kind->n_spent >= UDPAI_NOTE_BURST)
        return false;
    kind->n_spent++;
    return true;
}

/* ---- what waits ---- */

static void
set_timer(udpai_node_events *self, uint64_t until_ms)
{
    if (!udpai_timer_is_set(&self->timer) || self->timer.due_ms > until_ms)
        udpai_timer_set(self->env.wheel, &self->timer, until_ms);
}

static void
open_window(udpai_node_events *self, place *at, uint64_t window_ms)
{
    at->window_ms = window_ms;
    at->until_ms = self->env.wheel->now_ms + window_ms;
    set_timer(self, at->until_ms);
}

static void
keep_waiting(place *at, udpa_bytes *event, int64_t time_us)
{
    udpa_bytes_unref(at->last);
    at->last = udpa_bytes_ref(event);
    at->time_us = time_us;
    at->n_waiting++;
}

static void
end_window(udpai_node_events *self, place *at)
{
    if (at->n_waiting == 0) {
        *at = (place){0};
        return;
    }
    emit_last(self, at);
    open_window(self, at,
                at->window_ms < UDPAI_NOTE_WINDOW_MAX_MS ? 2 * at->window_ms : at->window_ms);
}

static void
on_timer(udpai_timer *timer)
{
    udpai_node_events *self = UDPAI_CONTAINER_OF(timer, udpai_node_events, timer);
    for (size_t kind = 0; kind < UDPAI_NOTE_KINDS; kind++)
        for (size_t i = 0; i <= OTHERS; i++) {
            place *at = &self->kinds[kind].places[i];
            if (at->window_ms && at->until_ms <= self->env.wheel->now_ms)
                end_window(self, at);
            else if (at->window_ms)
                set_timer(self, at->until_ms);
        }
}

/* ---- what is noted ---- */

/* Its own; else one that is free; else that of all others. */
static place *
find_place(kind_state *kind, uint64_t subject)
{
    place *found = &kind->places[OTHERS];
    for (size_t i = 0; i < OTHERS; i++) {
        place *at = &kind->places[i];
        if (at->window_ms && at->subject == subject)
            return at;
        if (!at->window_ms)
            found = at;
    }
    return found;
}

void
udpai_node_events_note(udpai_node_events *self, const udpai_node_event *event)
{
    if (!self || (unsigned)event->kind >= UDPAI_NOTE_KINDS)
        return;
    kind_state *kind = &self->kinds[event->kind];
    uint64_t subject = udpai_node_event_subject(event);
    place *at = find_place(kind, subject), *others = &kind->places[OTHERS];
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *encoded = udpai_node_event_encode(event);
    int64_t time_us = self->env.wall_us(self->env.userdata);
    if (!encoded)
        return;
    bool passes = at != others && !at->window_ms && may_pass(kind, self->env.wheel->now_ms);
    if (!passes && !at->window_ms) {
        at = others;
    } else if (passes) {
        at->subject = subject;
        emit(self, encoded, time_us);
    }
    if (!at->window_ms)
        open_window(self, at, UDPAI_NOTE_WINDOW_MS);
    if (!passes)
        keep_waiting(at, encoded, time_us);
}

/* ---- life ---- */

udpai_node_events *
udpai_node_events_new(const udpai_node_events_env *env)
{
    udpai_node_events *self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    self->env = *env;
    udpai_timer_init(&self->timer, on_timer);
    for (size_t kind = 0; kind < UDPAI_NOTE_KINDS; kind++)
        self->kinds[kind].regained_ms = env->wheel->now_ms;
    return self;
}

udpai_node_events *
udpai_node_events_free(udpai_node_events *self)
{
    if (!self)
        return NULL;
    udpai_timer_cancel(&self->timer);
    for (size_t kind = 0; kind < UDPAI_NOTE_KINDS; kind++)
        for (size_t i = 0; i <= OTHERS; i++)
            udpa_bytes_unref(self->kinds[kind].places[i].last);
    udpai_free(self);
    return NULL;
}
