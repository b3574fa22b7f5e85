/* SPDX-License-Identifier: Apache-2.0 */
/* Changes as they are made. What members have done wrong is expected of them: history that comes
 * again, goes back, or has holes. */
#include <inttypes.h>

#include "etcd/mirror_internal.h"

/* ---- silence ---- */

static void
set_probe(udpai_mirror *mirror)
{
    udpai_timer_set(mirror->env.wheel, &mirror->probe,
                    mirror->env.wheel->now_ms + UDPAI_MIRROR_PROBE_MS);
}

static void
give_up_silent(udpai_mirror *mirror, uint64_t silent_ms)
{
    UDPA_AUTO(udpa_error_unref)
    udpa_error *why = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                                     "etcd has sent nothing for %" PRIu64 " ms", silent_ms);
    udpai_mirror_retry_later(mirror, why);
}

static void
on_probe(udpai_timer *timer)
{
    udpai_mirror *mirror = UDPAI_CONTAINER_OF(timer, udpai_mirror, probe);
    uint64_t silent_ms = mirror->env.wheel->now_ms - mirror->received_ms;
    if (silent_ms >= UDPAI_MIRROR_SILENCE_MS) {
        give_up_silent(mirror, silent_ms);
        return;
    }
    if (silent_ms >= UDPAI_MIRROR_PROBE_MS)
        mirror->env.etcd->ops->ask_progress(mirror->env.etcd, &mirror->watch);
    set_probe(mirror);
}

/* A member may have been stopped that was current: another one has what is waited for. */
static void
on_lag(udpai_timer *timer)
{
    udpai_mirror *mirror = UDPAI_CONTAINER_OF(timer, udpai_mirror, lag);
    uint64_t now = mirror->env.wheel->now_ms, lag_ms = mirror->lag_ms;
    uint64_t silent_ms = now - mirror->received_ms, waited_ms = now - mirror->waited_ms;
    bool is_watching = mirror->is_watching && mirror->state == UDPAI_MIRROR_CURRENT;
    if (udpai_list_empty(&mirror->waiters))
        return;
    if (is_watching && silent_ms >= 2 * lag_ms && waited_ms >= 2 * lag_ms) {
        mirror->lag_ms = 2 * lag_ms < UDPAI_MIRROR_SILENCE_MS ? 2 * lag_ms : lag_ms;
        give_up_silent(mirror, silent_ms);
    } else if (is_watching && silent_ms >= lag_ms) {
        mirror->env.etcd->ops->ask_progress(mirror->env.etcd, &mirror->watch);
    }
    udpai_mirror_set_lag(mirror);
}

/* Some may wait for what the etcd has done for which it has held. */
static void
note_received(udpai_mirror *mirror)
{
    bool was_held = mirror->state == UDPAI_MIRROR_HELD;
    mirror->received_ms = mirror->env.wheel->now_ms;
    mirror->retry_ms = UDPAI_MIRROR_RETRY_MS;
    udpai_mirror_set_state(mirror, UDPAI_MIRROR_CURRENT, NULL);
    if (was_held)
        udpai_mirror_end_waiting(mirror, mirror->seen);
}

/* ---- before it watches ---- */

/* That it was written just so by others is not to be expected. */
static bool
shows(const udpai_etcd_result *result, const udpai_mirror_key *newest)
{
    return !newest || (result->n_kvs == 1 && result->kvs[0].mod_revision == newest->mod_revision);
}

static void
on_history(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_mirror *mirror = UDPAI_CONTAINER_OF(call, udpai_mirror, page);
    mirror->is_paging = false;
    if (result->is_compacted)
        udpai_mirror_begin_list(mirror);
    else if (result->is_future)
        udpai_mirror_hold_for_history(mirror);
    else if (result->outcome != UDPAI_ETCD_DONE)
        udpai_mirror_retry_later(mirror, result->error);
    else if (!udpai_mirror_is_the_same(mirror, &result->header))
        return;
    else if (shows(result, udpai_mirror_newest_key(mirror)))
        udpai_mirror_begin_watch(mirror);
    else
        udpai_mirror_hold_for_history(mirror);
}

void
udpai_mirror_watch_again(udpai_mirror *mirror)
{
    const udpai_mirror_key *newest = udpai_mirror_newest_key(mirror);
    const udpai_etcd_range range = {
        .key = newest ? udpai_mirror_key_text(newest) : udpai_bytes_view(mirror->prefix),
        .revision = newest ? mirror->position.revision : 0,
        .keys_only = true,
    };
    mirror->page.done = on_history;
    mirror->is_paging =
        mirror->env.etcd->ops->range(mirror->env.etcd, &mirror->page, &range) == UDPA_OK;
    if (!mirror->is_paging)
        udpai_mirror_retry_without_memory(mirror);
}

/* ---- the watch ---- */

/* A member that is behind is at a lower revision than the quorum, which was asked. */
static void
on_created(udpai_etcd_watch *watch, const udpai_etcd_header *header)
{
    udpai_mirror *mirror = UDPAI_CONTAINER_OF(watch, udpai_mirror, watch);
    if (udpai_mirror_is_its_cluster(mirror, header))
        note_received(mirror);
}

/* Every write of a key counts its version, so a gap is seen. */
static bool
follows(const udpai_mirror *mirror, const udpai_etcd_event *event)
{
    const udpai_mirror_key *key = udpai_map_get(&mirror->keys, event->kv.key);
    bool is_there = key && key->mod_revision;
    if (event->is_delete)
        return is_there;
    return event->kv.version == (is_there ? key->version : 0) + 1;
}

/* What was gathered is the whole of a revision. False: it was not handed on. */
static bool
end_revision(udpai_mirror *mirror)
{
    const udpai_etcd_changes_copy *gathered = &mirror->gathered;
    if (!gathered->events.n)
        return true;
    for (size_t i = 0; i < gathered->events.n; i++)
        if (!follows(mirror, &gathered->events.items[i])) {
            udpai_mirror_begin_list(mirror); /* something was left out */
            return false;
        }
    const udpai_mirror_position position = {
        mirror->position.cluster_id,
        gathered->events.items[0].kv.mod_revision,
    };
    if (udpai_mirror_hand_on(mirror, position, false) == UDPA_OK)
        return true;
    udpai_mirror_retry_without_memory(mirror);
    return false;
}

/* False: the watch has ended with it. */
static bool
take_event(udpai_mirror *mirror, const udpai_etcd_event *event)
{
    int64_t revision = event->kv.mod_revision;
    if (revision < mirror->highest) { /* back in time: who knows what else is wrong */
        udpai_mirror_begin_list(mirror);
        return false;
    }
    bool is_next =
        mirror->gathered.events.n && mirror->gathered.events.items[0].kv.mod_revision != revision;
    if (is_next && !end_revision(mirror))
        return false;
    mirror->highest = revision;
    if (revision <= mirror->position.revision) /* it was handed on before */
        return true;
    if (udpai_mirror_gather(mirror, event))
        return true;
    udpai_mirror_retry_without_memory(mirror);
    return false;
}

static void
on_changed(udpai_etcd_watch *watch,
           const udpai_etcd_header *header,
           const udpai_etcd_event *events,
           size_t n_events,
           bool is_part)
{
    udpai_mirror *mirror = UDPAI_CONTAINER_OF(watch, udpai_mirror, watch);
    mirror->seen = header->revision > mirror->seen ? header->revision : mirror->seen;
    mirror->received_ms = mirror->env.wheel->now_ms;
    bool goes_on = true;
    for (size_t i = 0; i < n_events && goes_on; i++)
        goes_on = take_event(mirror, &events[i]);
    if (goes_on && !is_part)
        goes_on = end_revision(mirror);
    if (goes_on)
        udpai_mirror_release_waiters(mirror);
}

static void
on_ended(udpai_etcd_watch *watch, int64_t compact_revision, const udpa_error *why)
{
    udpai_mirror *mirror = UDPAI_CONTAINER_OF(watch, udpai_mirror, watch);
    mirror->is_watching = false;
    udpai_timer_cancel(&mirror->probe);
    if (compact_revision)
        udpai_mirror_begin_list(mirror);
    else
        udpai_mirror_retry_later(mirror, why);
}

void
udpai_mirror_begin_watch(udpai_mirror *mirror)
{
    udpai_etcd *etcd = mirror->env.etcd;
    mirror->highest = 0;
    udpa_err err = etcd->ops->watch(etcd, &mirror->watch, udpai_bytes_view(mirror->prefix),
                                    udpai_bytes_view(mirror->end), mirror->position.revision + 1);
    if (err != UDPA_OK) {
        udpai_mirror_retry_without_memory(mirror);
        return;
    }
    mirror->is_watching = true;
    mirror->received_ms = mirror->env.wheel->now_ms;
    set_probe(mirror);
}

void
udpai_mirror_init_watch(udpai_mirror *mirror)
{
    mirror->watch = (udpai_etcd_watch){on_created, on_changed, on_ended, NULL};
    udpai_timer_init(&mirror->probe, on_probe);
    udpai_timer_init(&mirror->lag, on_lag);
    mirror->lag_ms = UDPAI_MIRROR_LAG_MS;
}
