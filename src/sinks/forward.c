/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "sinks/forward_internal.h"

#define LOG "sinks"
#define SWEEP_MS 60000
/* A stream that has stood so long was no failure. */
#define GOOD_MS 10000

static void pump(udpai_forward *self);

static udpai_str
lane_key(const void *item)
{
    const udpai_lane *lane = item;
    return (udpai_str){lane->key, lane->len};
}

static uint64_t
now_ms(const udpai_forward *self)
{
    return udpai_hub_wheel(self->hub)->now_ms;
}

/* ---- counting ---- */

static void
count(atomic_uint_fast64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

void
udpai_forward_facts_get(const udpai_forward *self, udpai_forward_facts *ret_facts)
{
    *ret_facts = (udpai_forward_facts){
        .n_streams = atomic_load_explicit(&self->n_streams, memory_order_relaxed),
        .n_sent = atomic_load_explicit(&self->n_sent, memory_order_relaxed),
        .n_missed = atomic_load_explicit(&self->n_missed, memory_order_relaxed),
    };
}

udpai_str
udpai_forward_to(const udpai_forward *self)
{
    return udpai_bytes_view(self->to);
}

/* ---- dialling ---- */

static void
fail(udpai_forward *self, const udpa_error *why, bool is_logged)
{
    unsigned n_suppressed;
    if (udpai_timer_is_set(&self->retry))
        return; /* it is the same failure */
    uint64_t wait = UDPAI_FORWARD_RETRY_MS;
    for (unsigned i = 0; i < self->n_failures && wait < UDPAI_FORWARD_RETRY_MAX_MS; i++)
        wait *= 2;
    if (wait > UDPAI_FORWARD_RETRY_MAX_MS)
        wait = UDPAI_FORWARD_RETRY_MAX_MS;
    self->n_failures++;
    udpai_timer_set(udpai_hub_wheel(self->hub), &self->retry, now_ms(self) + wait);
    if (is_logged && udpai_log_allow(&self->log, now_ms(self), &n_suppressed))
        udpai_log_about(
            UDPA_LOG_WARNING, LOG,
            UDPAI_ABOUT({UDPAI_LOG_ADDRESS, udpai_bytes_view(self->to)},
                        {UDPAI_LOG_CODE, udpai_log_code(why)}),
            "%s: what comes cannot be forwarded to %.*s: %s; the next attempt is in %g s (%u "
            "more not shown)",
            udpai_event_facts_of(udpai_topic_kind(self->topic))->word,
            UDPAI_SHOWN(udpai_bytes_view(self->to)),
            why ? udpa_error_message(why) : "it has ended the stream", (double)wait / 1000,
            n_suppressed);
}

static void
dial(udpai_lane *lane)
{
    udpai_forward *self = lane->owner;
    if (lane->session || lane->is_dialling || lane->n == 0 || udpai_timer_is_set(&self->retry))
        return;
    lane->is_dialling = true;
    udpa_err err = udpai_hub_dial(self->hub, &lane->link, self->options.ref_target(self->target),
                                  self->options.release_target);
    if (err == UDPA_OK)
        return;
    UDPA_AUTO(udpa_error_unref) udpa_error *why = udpa_error_new(err, NULL, "out of memory");
    lane->is_dialling = false;
    fail(self, why, true);
}

static void
on_retry(udpai_timer *timer)
{
    udpai_forward *self = UDPAI_CONTAINER_OF(timer, udpai_forward, retry);
    UDPAI_LIST_FOREACH_SAFE (node, &self->by_age)
        dial(UDPAI_LIST_ENTRY(node, udpai_lane, in_age));
    pump(self);
}

static void
on_not_opened(udpai_side_link *link, const udpa_error *why)
{
    udpai_lane *lane = UDPAI_CONTAINER_OF(link, udpai_lane, link);
    lane->is_dialling = false;
    fail(lane->owner, why, true);
}

udpai_lane *
udpai_lane_opened(udpai_forward *self, uint64_t link, udpai_session *session)
{
    udpai_side_link *found = udpai_hub_take_link(self->hub, link);
    if (!found)
        return NULL;
    udpai_lane *lane = UDPAI_CONTAINER_OF(found, udpai_lane, link);
    lane->is_dialling = false;
    lane->session = session;
    lane->opened_ms = now_ms(self);
    count(&self->n_streams, 1);
    return lane;
}

void
udpai_lane_closed(udpai_lane *lane, const udpa_error *why, bool is_logged)
{
    udpai_forward *self = lane->owner;
    count(&self->n_streams, (uint64_t)-1);
    lane->session = NULL;
    if (now_ms(self) - lane->opened_ms >= GOOD_MS)
        self->n_failures = 0;
    fail(self, why, is_logged);
}

/* ---- lanes ---- */

static void
free_lane(udpai_lane *lane)
{
    if (lane->is_dialling && lane->owner->hub)
        (void)udpai_hub_take_link(lane->owner->hub, lane->link.link);
    udpai_map_remove(&lane->owner->lanes, lane_key(lane));
    udpai_list_remove(&lane->in_age);
    for (size_t i = 0; i < lane->n; i++)
        udpai_event_unref(lane->waiting[i]);
    udpai_event_source_unref(lane->source);
    udpai_free(lane);
}

/* One of which nothing waits, and that nobody dials for. */
static bool
is_idle(const udpai_lane *lane)
{
    return lane->n == 0 && !lane->is_dialling && !lane->is_asking &&
           !(lane->session && lane->session->is_writing);
}

/* Its session, which has no lane from then on, ends. */
static void
end_lane(udpai_lane *lane)
{
    udpai_session *session = UDPAI_TAKE(lane->session);
    if (session) {
        count(&lane->owner->n_streams, (uint64_t)-1);
        udpai_forward_session_leave(session);
    }
    free_lane(lane);
}

static void
set_sweep(udpai_forward *self)
{
    udpai_timer_set(udpai_hub_wheel(self->hub), &self->sweep, now_ms(self) + SWEEP_MS);
}

static void
on_sweep(udpai_timer *timer)
{
    udpai_forward *self = UDPAI_CONTAINER_OF(timer, udpai_forward, sweep);
    UDPAI_LIST_FOREACH_SAFE (node, &self->by_age) {
        udpai_lane *lane = UDPAI_LIST_ENTRY(node, udpai_lane, in_age);
        if (lane->used_ms + UDPAI_FORWARD_IDLE_MS > now_ms(self))
            break;
        if (is_idle(lane))
            end_lane(lane);
    }
    if (!udpai_list_empty(&self->by_age))
        set_sweep(self);
}

/* False: all are in use. */
static bool
make_room(udpai_forward *self)
{
    if (self->lanes.n < self->options.max_streams)
        return true;
    UDPAI_LIST_FOREACH (node, &self->by_age) {
        udpai_lane *lane = UDPAI_LIST_ENTRY(node, udpai_lane, in_age);
        if (!is_idle(lane))
            continue;
        end_lane(lane);
        return true;
    }
    return false;
}

static udpai_lane *
make_lane(udpai_forward *self, udpai_event_source *source, udpai_str key)
{
    udpai_lane *lane = make_room(self) ? udpai_alloc(sizeof(*lane) + key.len) : NULL;
    if (!lane)
        return NULL;
    lane->owner = self;
    lane->link.not_opened = on_not_opened;
    lane->len = (uint32_t)key.len;
    memcpy(lane->key, key.data, key.len);
    if (!udpai_map_add(&self->lanes, lane)) {
        udpai_free(lane);
        return NULL;
    }
    lane->source = udpai_event_source_ref(source);
    udpai_list_init(&lane->in_age);
    if (!udpai_timer_is_set(&self->sweep))
        set_sweep(self);
    return lane;
}

/* A longer text would be a long id of a Node and a long name besides. */
#define KEY_MAX 4096

static udpai_str
write_key(const udpai_event_source *source, char room[KEY_MAX])
{
    const udpai_str parts[] = {source->node_id, source->identity, source->name};
    size_t len = 0;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(parts); i++) {
        size_t n = udpai_min_size(parts[i].len, KEY_MAX / 3 - 1);
        if (n)
            memcpy(room + len, parts[i].data, n);
        room[len + n] = '\0';
        len += n + 1;
    }
    return (udpai_str){room, len};
}

/* NULL: it has to wait, for memory or for another's end. */
static udpai_lane *
get_lane(udpai_forward *self, udpai_event_source *source)
{
    char room[KEY_MAX];
    udpai_str key = write_key(source, room);
    udpai_lane *lane = udpai_map_get(&self->lanes, key);
    return lane ? lane : make_lane(self, source, key);
}

/* ---- events ---- */

/* From the topic to the lanes, in order, until one has to wait: then all do, for they go to the
 * same receiver. */
static bool
fetch(udpai_forward *self)
{
    uint64_t n_lost = 0;
    if (self->next)
        return true;
    const udpai_event *event = udpai_topic_next(self->topic, &self->follower, &n_lost);
    count(&self->n_missed, n_lost);
    if (event)
        self->next = udpai_event_ref((udpai_event *)(uintptr_t)event);
    return self->next != NULL;
}

static void
pump(udpai_forward *self)
{
    while (fetch(self)) {
        udpai_lane *lane = get_lane(self, self->next->source);
        if (!lane || lane->n == UDPAI_LANE_EVENTS)
            return;
        lane->waiting[lane->n++] = UDPAI_TAKE(self->next);
        lane->used_ms = now_ms(self);
        udpai_list_remove(&lane->in_age);
        udpai_list_append(&self->by_age, &lane->in_age);
        if (lane->session)
            udpai_session_ready(lane->session);
        else
            dial(lane);
    }
}

udpai_event *
udpai_lane_next(udpai_lane *lane)
{
    udpai_forward *self = lane->owner;
    udpai_event *event = NULL;
    lane->is_asking = true;
    if (lane->n == 0)
        pump(self);
    if (lane->n) {
        event = lane->waiting[0];
        memmove(lane->waiting, lane->waiting + 1, --lane->n * sizeof(*lane->waiting));
        count(&self->n_sent, 1);
        pump(self); /* there is room */
    }
    lane->is_asking = false;
    return event;
}

void
udpai_lane_missed(udpai_lane *lane)
{
    count(&lane->owner->n_sent, (uint64_t)-1);
    count(&lane->owner->n_missed, 1);
}

static void
on_wake(udpai_topic_follower *follower)
{
    pump(UDPAI_CONTAINER_OF(follower, udpai_forward, follower));
}

/* ---- life ---- */

udpa_err
udpai_forward_new(udpai_forward **ret_forward,
                  udpai_topic *topic,
                  const udpai_forward_options *options)
{
    udpai_forward *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->topic = topic;
    self->options = *options;
    if (self->options.max_streams == 0)
        self->options.max_streams = UDPAI_FORWARD_STREAMS_DEFAULT;
    self->follower.wake = on_wake;
    udpai_list_init(&self->by_age);
    udpai_map_init(&self->lanes, lane_key);
    udpai_timer_init(&self->retry, on_retry);
    udpai_timer_init(&self->sweep, on_sweep);
    udpa_err err = udpa_bytes_new(&self->to, options->to.data, options->to.len);
    if (err != UDPA_OK)
        udpai_free(self);
    else
        *ret_forward = self;
    return err;
}

void
udpai_forward_set_target(udpai_forward *self, void *target)
{
    self->target = target;
}

void
udpai_forward_begin(udpai_forward *self, udpai_hub *hub)
{
    if (self->hub)
        return;
    self->hub = hub;
    if (udpai_topic_follow(self->topic, &self->follower) == UDPA_OK)
        pump(self);
    else
        self->hub = NULL; /* too many others do; the next stream tries again */
}

void
udpai_forwards_begin(const udpai_topics *topics, udpai_hub *hub)
{
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        if (topics->forwards[i])
            udpai_forward_begin(topics->forwards[i], hub);
}

void
udpai_forward_forget_hub(udpai_forward *self)
{
    udpai_timer_init(&self->retry, on_retry);
    udpai_timer_init(&self->sweep, on_sweep);
    self->hub = NULL;
}

udpai_forward *
udpai_forward_free(udpai_forward *self)
{
    if (!self)
        return NULL;
    udpai_timer_cancel(&self->retry);
    udpai_timer_cancel(&self->sweep);
    udpai_topic_unfollow(self->topic, &self->follower);
    while (!udpai_list_empty(&self->by_age))
        free_lane(UDPAI_LIST_ENTRY(self->by_age.next, udpai_lane, in_age));
    udpai_map_done(&self->lanes);
    udpai_event_unref(self->next);
    if (self->target)
        self->options.release_target(self->target);
    udpa_bytes_unref(self->to);
    udpai_free(self);
    return NULL;
}
