/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd/barrier.h"

#include "base/alloc.h"

struct udpai_barrier {
    udpai_barrier_env env;
    udpa_bytes *key;
    udpai_list covered; /* by the write under way */
    udpai_list waiting; /* for the next one */
    udpai_etcd_call call;
    udpai_mirror_waiter reached;
    bool is_writing;   /* or waits for the mirror to show it */
    bool is_strange;   /* the last answer was of another etcd */
    bool is_late;      /* somebody has waited in vain */
    uint64_t begun_ms; /* the last write */
    int64_t seen;      /* the revision of etcd before it: it can only be done at a later one */
    udpai_timer next, patience;
};

static udpai_barrier_waiter *
waiter_of(udpai_list *node)
{
    return UDPAI_LIST_ENTRY(node, udpai_barrier_waiter, node);
}

static bool
has_waiters(const udpai_barrier *barrier)
{
    return !udpai_list_empty(&barrier->covered) || !udpai_list_empty(&barrier->waiting);
}

/* ---- the end of waiting ---- */

static void
pass_all(udpai_list *list, bool is_current)
{
    udpai_list passing, *at;
    udpai_list_init(&passing);
    udpai_list_splice(&passing, list);
    while ((at = udpai_list_pop(&passing))) {
        udpai_barrier_waiter *waiter = waiter_of(at);
        waiter->passed(waiter, is_current);
    }
}

/* Those that are covered came before the others. */
static void
set_patience(udpai_barrier *barrier)
{
    udpai_list *first =
        !udpai_list_empty(&barrier->covered) ? barrier->covered.next : barrier->waiting.next;
    if (has_waiters(barrier))
        udpai_timer_set(barrier->env.wheel, &barrier->patience,
                        waiter_of(first)->since_ms + UDPAI_BARRIER_PATIENCE_MS);
    else
        udpai_timer_cancel(&barrier->patience);
}

static void
set_late(udpai_barrier *barrier, bool is_late)
{
    if (barrier->is_late == is_late)
        return;
    barrier->is_late = is_late;
    barrier->env.late_changed(barrier->env.userdata, is_late);
}

static void
on_impatient(udpai_timer *timer)
{
    udpai_barrier *barrier = UDPAI_CONTAINER_OF(timer, udpai_barrier, patience);
    if (!has_waiters(barrier))
        return;
    set_late(barrier, true);
    pass_all(&barrier->covered, false);
    pass_all(&barrier->waiting, false);
    set_patience(barrier);
}

/* ---- writing ---- */

/* Goes on while somebody waits, and until one has come through if nobody may wait. */
static void
write_soon(udpai_barrier *barrier)
{
    bool is_needed = barrier->is_late || !udpai_list_empty(&barrier->waiting);
    if (is_needed && !barrier->is_writing && !udpai_timer_is_set(&barrier->next))
        udpai_timer_set(barrier->env.wheel, &barrier->next,
                        barrier->begun_ms + (barrier->is_strange ? UDPAI_BARRIER_PATIENCE_MS
                                                                 : UDPAI_BARRIER_INTERVAL_MS));
}

static void
on_reached(udpai_mirror_waiter *reached)
{
    udpai_barrier *barrier = UDPAI_CONTAINER_OF(reached, udpai_barrier, reached);
    barrier->is_writing = false;
    set_late(barrier, false);
    pass_all(&barrier->covered, !reached->is_void);
    set_patience(barrier);
    write_soon(barrier);
}

/* An etcd that was restored, or another, may lack what was committed before, whatever its mirror
 * shows of it. */
static bool
is_of_this_etcd(const udpai_barrier *barrier, const udpai_etcd_header *header)
{
    uint64_t cluster_id = udpai_mirror_get_position(barrier->env.mirror).cluster_id;
    return (!cluster_id || header->cluster_id == cluster_id) && header->revision > barrier->seen;
}

static void
on_written(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_barrier *barrier = UDPAI_CONTAINER_OF(call, udpai_barrier, call);
    if (result->outcome == UDPAI_ETCD_DONE && is_of_this_etcd(barrier, &result->header)) {
        barrier->reached.revision = result->header.revision;
        barrier->reached.is_void = false;
        udpai_mirror_wait(barrier->env.mirror, &barrier->reached);
        return;
    }
    barrier->is_strange = result->outcome == UDPAI_ETCD_DONE;
    udpai_list covered;
    udpai_list_init(&covered);
    udpai_list_splice(&covered, &barrier->covered);
    udpai_list_splice(&covered, &barrier->waiting);
    udpai_list_splice(&barrier->waiting, &covered);
    barrier->is_writing = false;
    write_soon(barrier);
}

/* Nothing is written to an etcd with another state: its revision would grow, and pass for ours. */
static void
on_next(udpai_timer *timer)
{
    udpai_barrier *barrier = UDPAI_CONTAINER_OF(timer, udpai_barrier, next);
    bool is_held = udpai_mirror_get_state(barrier->env.mirror) == UDPAI_MIRROR_HELD;
    udpai_etcd *etcd = barrier->env.etcd;
    const udpai_etcd_op put = {.kind = UDPAI_ETCD_OP_PUT, .key = udpai_bytes_view(barrier->key)};
    const udpai_etcd_txn txn = {.ops = &put, .n_ops = 1};
    barrier->begun_ms = barrier->env.wheel->now_ms;
    barrier->seen = udpai_mirror_get_position(barrier->env.mirror).revision;
    barrier->is_strange = false;
    barrier->is_writing = !is_held && etcd->ops->txn(etcd, &barrier->call, &txn) == UDPA_OK;
    if (barrier->is_writing)
        udpai_list_splice(&barrier->covered, &barrier->waiting);
    else
        write_soon(barrier);
}

/* ---- from outside ---- */

void
udpai_barrier_wait(udpai_barrier *barrier, udpai_barrier_waiter *waiter)
{
    udpai_list_init(&waiter->node);
    waiter->since_ms = barrier->env.wheel->now_ms;
    bool is_held = udpai_mirror_get_state(barrier->env.mirror) == UDPAI_MIRROR_HELD;
    if (is_held || barrier->is_late) {
        waiter->passed(waiter, false);
        return;
    }
    udpai_list_append(&barrier->waiting, &waiter->node);
    set_patience(barrier);
    write_soon(barrier);
}

void
udpai_barrier_wait_end(udpai_barrier_waiter *waiter)
{
    if (waiter->node.next)
        udpai_list_remove(&waiter->node);
}

udpa_err
udpai_barrier_new(udpai_barrier **ret_barrier, const udpai_barrier_env *env, udpai_str key)
{
    udpai_barrier *barrier = udpai_alloc(sizeof(*barrier));
    if (!barrier)
        return UDPA_ERR_NOMEM;
    barrier->env = *env;
    barrier->call.done = on_written;
    barrier->call.is_repeatable = true;
    barrier->reached.reached = on_reached;
    udpai_list_init(&barrier->covered);
    udpai_list_init(&barrier->waiting);
    udpai_timer_init(&barrier->next, on_next);
    udpai_timer_init(&barrier->patience, on_impatient);
    udpa_err err = udpa_bytes_new(&barrier->key, key.data, key.len);
    if (err == UDPA_OK)
        *ret_barrier = barrier;
    else
        udpai_free(barrier);
    return err;
}

udpai_barrier *
udpai_barrier_free(udpai_barrier *barrier)
{
    if (!barrier)
        return NULL;
    barrier->env.etcd->ops->cancel(barrier->env.etcd, &barrier->call);
    udpai_mirror_wait_end(&barrier->reached);
    udpai_timer_cancel(&barrier->next);
    udpai_timer_cancel(&barrier->patience);
    udpa_bytes_unref(barrier->key);
    udpai_free(barrier);
    return NULL;
}
