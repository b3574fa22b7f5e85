/* SPDX-License-Identifier: Apache-2.0 */
/* A replica that holds is known to the others that do, by a key with a lease. */
#include "base/log.h"
#include "replica/held_internal.h"

static void advance(udpai_held *held);

static void
again_in(udpai_held *held, uint64_t ms)
{
    udpai_timer_set(held->env.wheel, &held->presence.again, held->env.wheel->now_ms + ms);
}

static void
on_again(udpai_timer *timer)
{
    udpai_held *held = UDPAI_CONTAINER_OF(timer, udpai_held, presence.again);
    if (held->is_on && !held->presence.is_asking)
        advance(held);
}

static void
begun(udpai_held *held, udpa_err err)
{
    held->presence.is_asking = err == UDPA_OK;
    if (err != UDPA_OK)
        again_in(held, UDPAI_HELD_RETRY_MS);
}

/* ---- its end ---- */

static void
accept(udpai_held *held)
{
    udpai_log(UDPA_LOG_WARNING, "replicas",
              "what etcd has is accepted, %zu records of it as they "
              "were written back by this replica",
              held->n_all);
    udpai_mirror_accept(held->env.mirror); /* ends the hold */
}

/* If that has failed, etcd deletes the key when the lease ends. */
static void
on_revoked(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_held *held = UDPAI_CONTAINER_OF(call, udpai_held, presence.call);
    (void)result;
    held->presence.is_asking = false;
    held->presence.lease = 0;
    accept(held);
}

void
udpai_held_leave(udpai_held *held)
{
    udpai_held_presence *presence = &held->presence;
    udpai_etcd *etcd = held->env.etcd;
    held->is_leaving = true;
    if (presence->is_asking)
        etcd->ops->cancel(etcd, &presence->call);
    udpai_timer_cancel(&presence->again);
    presence->call.done = on_revoked;
    presence->is_asking = presence->lease && etcd->ops->lease_revoke(etcd, &presence->call,
                                                                     presence->lease) == UDPA_OK;
    if (!presence->is_asking)
        accept(held);
}

/* ---- its life ---- */

static void
on_granted(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_held *held = UDPAI_CONTAINER_OF(call, udpai_held, presence.call);
    bool is_done = result->outcome == UDPAI_ETCD_DONE;
    held->presence.is_asking = false;
    held->presence.lease = is_done ? result->lease : 0;
    again_in(held, is_done ? 0 : UDPAI_HELD_RETRY_MS);
}

static void
on_written(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_held *held = UDPAI_CONTAINER_OF(call, udpai_held, presence.call);
    held->presence.is_asking = false;
    held->presence.is_written = result->outcome == UDPAI_ETCD_DONE && !held->presence.is_outdated;
    again_in(held, held->presence.is_written ? UDPAI_HELD_KEEP_MS : UDPAI_HELD_RETRY_MS);
}

static void
on_kept(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_held *held = UDPAI_CONTAINER_OF(call, udpai_held, presence.call);
    bool is_done = result->outcome == UDPAI_ETCD_DONE, has_ended = is_done && !result->ttl_s;
    held->presence.is_asking = false;
    if (has_ended) {
        held->presence.lease = 0;
        held->presence.is_written = false;
    }
    again_in(held, is_done && !has_ended ? UDPAI_HELD_KEEP_MS : UDPAI_HELD_RETRY_MS);
}

static udpa_err
write_key(udpai_held *held)
{
    udpai_etcd *etcd = held->env.etcd;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *key = udpai_held_key(held, UDPAI_HOLD_KEY, udpai_bytes_view(held->own));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = udpai_hold_state_write(&held->state);
    if (!key || !value)
        return UDPA_ERR_NOMEM;
    const udpai_etcd_op put = {
        .kind = UDPAI_ETCD_OP_PUT,
        .key = udpai_bytes_view(key),
        .value = udpai_bytes_view(value),
        .lease = held->presence.lease,
    };
    const udpai_etcd_txn txn = {.ops = &put, .n_ops = 1};
    held->presence.is_outdated = false;
    return etcd->ops->txn(etcd, &held->presence.call, &txn);
}

static void
advance(udpai_held *held)
{
    udpai_held_presence *presence = &held->presence;
    udpai_etcd *etcd = held->env.etcd;
    if (!presence->lease) {
        presence->call.done = on_granted;
        begun(held, etcd->ops->lease_grant(etcd, &presence->call, UDPAI_HELD_LEASE_S));
    } else if (!presence->is_written) {
        presence->call.done = on_written;
        begun(held, write_key(held));
    } else {
        presence->call.done = on_kept;
        begun(held, etcd->ops->lease_keep_alive(etcd, &presence->call, presence->lease));
    }
}

void
udpai_held_presence_init(udpai_held *held)
{
    udpai_timer_init(&held->presence.again, on_again);
}

/* In an etcd of this set, or of none; not again while it is under way. */
void
udpai_held_presence_begin(udpai_held *held)
{
    if (!held->presence.is_asking && !udpai_timer_is_set(&held->presence.again))
        again_in(held, 0);
}

void
udpai_held_presence_renew(udpai_held *held)
{
    held->presence.is_written = false;
    held->presence.is_outdated = true;
    if (held->presence.lease && !held->presence.is_asking)
        again_in(held, 0);
}

/* Its key goes with its lease. */
void
udpai_held_presence_end(udpai_held *held)
{
    if (held->presence.is_asking)
        held->env.etcd->ops->cancel(held->env.etcd, &held->presence.call);
    udpai_timer_cancel(&held->presence.again);
    held->presence.is_asking = held->presence.is_written = false;
    held->presence.lease = 0;
}
