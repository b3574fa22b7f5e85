/* SPDX-License-Identifier: Apache-2.0 */
/* What listing and watching share: the state, what is gathered, and who waits. */
#include <inttypes.h>

#include "etcd/mirror_internal.h"

udpai_str
udpai_mirror_key_text(const void *item)
{
    const udpai_mirror_key *key = item;
    return (udpai_str){key->data, key->len};
}

/* ---- state ---- */

void
udpai_mirror_set_state(udpai_mirror *mirror, udpai_mirror_state state, const udpa_error *why)
{
    bool is_same = state == mirror->state &&
                   strcmp(udpa_error_message(why), udpa_error_message(mirror->why)) == 0;
    if (is_same)
        return;
    mirror->state = state;
    udpa_error_unref(mirror->why);
    mirror->why = udpa_error_ref((udpa_error *)(uintptr_t)why);
    mirror->env.state_changed(mirror->env.userdata, state, why);
}

static void
forget_gathered(udpai_mirror *mirror)
{
    udpai_etcd_changes_copy_clear(&mirror->gathered);
    mirror->gathering++;
}

void
udpai_mirror_stop_watch(udpai_mirror *mirror)
{
    udpai_timer_cancel(&mirror->probe);
    if (mirror->is_watching)
        mirror->env.etcd->ops->unwatch(mirror->env.etcd, &mirror->watch);
    mirror->is_watching = false;
    forget_gathered(mirror);
}

void
udpai_mirror_stop_list(udpai_mirror *mirror)
{
    if (mirror->is_paging)
        mirror->env.etcd->ops->cancel(mirror->env.etcd, &mirror->page);
    mirror->is_paging = false;
    mirror->list_revision = 0;
    mirror->after = udpa_bytes_unref(mirror->after);
    forget_gathered(mirror);
}

void
udpai_mirror_retry_later(udpai_mirror *mirror, const udpa_error *why)
{
    uint64_t now = mirror->env.wheel->now_ms;
    bool is_recent = now - mirror->received_ms < UDPAI_MIRROR_SOON_MS;
    uint64_t max_ms = is_recent ? UDPAI_MIRROR_RETRY_SOON_MS : UDPAI_MIRROR_RETRY_MAX_MS;
    uint64_t ms = mirror->retry_ms < max_ms ? mirror->retry_ms : max_ms;
    udpai_mirror_stop_watch(mirror);
    udpai_mirror_stop_list(mirror);
    mirror->retry_ms = 2 * ms < max_ms ? 2 * ms : max_ms;
    ms = ms / 2 + mirror->env.random(mirror->env.userdata) % (ms / 2 + 1);
    udpai_timer_set(mirror->env.wheel, &mirror->retry, now + ms);
    if (mirror->state != UDPAI_MIRROR_HELD)
        udpai_mirror_set_state(mirror, mirror->has_all ? UDPAI_MIRROR_BEHIND : UDPAI_MIRROR_LISTING,
                               why);
}

void
udpai_mirror_retry_without_memory(udpai_mirror *mirror)
{
    UDPA_AUTO(udpa_error_unref)
    udpa_error *why = udpa_error_new(UDPA_ERR_NOMEM, NULL, "out of memory");
    udpai_mirror_retry_later(mirror, why);
}

void
udpai_mirror_hold(udpai_mirror *mirror, const udpa_error *why)
{
    udpai_mirror_stop_watch(mirror);
    udpai_mirror_stop_list(mirror);
    udpai_timer_set(mirror->env.wheel, &mirror->retry,
                    mirror->env.wheel->now_ms + UDPAI_MIRROR_RETRY_MAX_MS);
    udpai_mirror_set_state(mirror, UDPAI_MIRROR_HELD, why);
}

bool
udpai_mirror_is_its_cluster(udpai_mirror *mirror, const udpai_etcd_header *header)
{
    uint64_t cluster_id = mirror->position.cluster_id;
    mirror->seen = header->revision;
    if (!cluster_id || header->cluster_id == cluster_id)
        return true;
    UDPA_AUTO(udpa_error_unref)
    udpa_error *why =
        udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                       "etcd is another cluster (%" PRIx64 ") than before (%" PRIx64 ")",
                       header->cluster_id, cluster_id);
    udpai_mirror_hold(mirror, why);
    return false;
}

bool
udpai_mirror_is_the_same(udpai_mirror *mirror, const udpai_etcd_header *header)
{
    int64_t had = mirror->position.revision;
    if (!udpai_mirror_is_its_cluster(mirror, header))
        return false;
    if (header->revision >= had)
        return true;
    UDPA_AUTO(udpa_error_unref)
    udpa_error *why =
        udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                       "etcd is at revision %" PRId64 ", but was at %" PRId64
                       " before: it was restored from an older snapshot, or its data are lost",
                       header->revision, had);
    udpai_mirror_hold(mirror, why);
    return false;
}

/* ---- waiting for a revision ---- */

void
udpai_mirror_release_waiters(udpai_mirror *mirror)
{
    udpai_list reached, *at;
    udpai_list_init(&reached);
    UDPAI_LIST_FOREACH_SAFE (node, &mirror->waiters) {
        udpai_mirror_waiter *waiter = UDPAI_LIST_ENTRY(node, udpai_mirror_waiter, node);
        if (waiter->revision > mirror->position.revision)
            continue;
        udpai_list_remove(node);
        udpai_list_append(&reached, node);
        mirror->lag_ms = UDPAI_MIRROR_LAG_MS;
    }
    while ((at = udpai_list_pop(&reached))) {
        udpai_mirror_waiter *waiter = UDPAI_LIST_ENTRY(at, udpai_mirror_waiter, node);
        waiter->reached(waiter);
    }
}

void
udpai_mirror_set_lag(udpai_mirror *mirror)
{
    udpai_timer_set(mirror->env.wheel, &mirror->lag, mirror->env.wheel->now_ms + mirror->lag_ms);
}

void
udpai_mirror_wait(udpai_mirror *mirror, udpai_mirror_waiter *waiter)
{
    udpai_list_init(&waiter->node);
    if (waiter->revision <= mirror->position.revision) {
        waiter->reached(waiter);
        return;
    }
    bool is_first = udpai_list_empty(&mirror->waiters);
    udpai_list_append(&mirror->waiters, &waiter->node);
    if (!is_first)
        return;
    mirror->waited_ms = mirror->env.wheel->now_ms;
    udpai_mirror_set_lag(mirror);
}

void
udpai_mirror_end_waiting(udpai_mirror *mirror, int64_t last)
{
    udpai_list ending, *at;
    udpai_list_init(&ending);
    UDPAI_LIST_FOREACH_SAFE (node, &mirror->waiters) {
        if (UDPAI_LIST_ENTRY(node, udpai_mirror_waiter, node)->revision <= last)
            continue;
        udpai_list_remove(node);
        udpai_list_append(&ending, node);
    }
    while ((at = udpai_list_pop(&ending))) {
        udpai_mirror_waiter *waiter = UDPAI_LIST_ENTRY(at, udpai_mirror_waiter, node);
        waiter->is_void = true;
        waiter->reached(waiter);
    }
}

void
udpai_mirror_wait_end(udpai_mirror_waiter *waiter)
{
    if (waiter->node.next)
        udpai_list_remove(&waiter->node);
}

/* ---- applying ---- */

/* NULL without memory. It has no revision yet. */
static udpai_mirror_key *
make_key(udpai_mirror *mirror, udpai_str text)
{
    udpai_mirror_key *key = udpai_alloc(sizeof(*key) + text.len);
    if (!key)
        return NULL;
    key->len = text.len;
    memcpy(key->data, text.data, text.len);
    if (udpai_map_add(&mirror->keys, key))
        return key;
    udpai_free(key);
    return NULL;
}

bool
udpai_mirror_gather(udpai_mirror *mirror, const udpai_etcd_event *event)
{
    udpai_mirror_key *key = udpai_map_get(&mirror->keys, event->kv.key);
    if (!key && !(key = make_key(mirror, event->kv.key)))
        return false;
    if (key->gathered == mirror->gathering)
        return true;
    if (!udpai_etcd_changes_copy_add(&mirror->gathered, event))
        return false;
    key->gathered = mirror->gathering;
    return true;
}

static void
note_events(udpai_mirror *mirror, const udpai_etcd_event *events, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        udpai_mirror_key *key = udpai_map_get(&mirror->keys, events[i].kv.key);
        if (events[i].is_delete) {
            udpai_map_remove(&mirror->keys, events[i].kv.key);
            udpai_free(key);
            continue;
        }
        key->mod_revision = events[i].kv.mod_revision;
        key->version = events[i].kv.version;
    }
}

udpa_err
udpai_mirror_hand_on(udpai_mirror *mirror, udpai_mirror_position position, bool is_all)
{
    const udpai_etcd_changes_copy *gathered = &mirror->gathered;
    const udpai_mirror_change change = {
        .position = position,
        .events = gathered->events.items,
        .n_events = gathered->events.n,
        .is_all = is_all,
    };
    bool is_news = is_all || change.n_events;
    if (is_news && mirror->env.changed(mirror->env.userdata, &change) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    note_events(mirror, change.events, change.n_events);
    mirror->position = position;
    mirror->has_all = true;
    forget_gathered(mirror);
    return UDPA_OK;
}
