/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/epoch.h"

#include <inttypes.h>
#include <stdio.h>

#include "federation/node_internal.h"

#define PAUSE_MS 1000

/* ---- telling the streams ---- */

/* Without memory it is not announced: then those below count what we do not name any more. */
static void
announce(udpai_node *node)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_EPOCH);
    if (!order)
        return;
    order->epoch = udpa_bytes_ref(node->epoch.name);
    udpai_node_order(node, order);
}

/* The order says how far. Without memory the next commit tells it. */
static void
tell(udpai_node *node)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_COMMIT);
    if (!order)
        return;
    node->epoch.n_told = node->epoch.n_commits;
    node->epoch.told_ms = udpai_node_now(node);
    udpai_node_order(node, order);
}

static void
on_later(udpai_timer *timer)
{
    tell(UDPAI_CONTAINER_OF(timer, udpai_node, epoch.later));
}

static void
tell_in_time(udpai_node *node)
{
    udpai_epoch *epoch = &node->epoch;
    uint64_t may_ms = epoch->told_ms + PAUSE_MS;
    if (epoch->n_told >= epoch->n_loud || epoch->n_loud > epoch->n_commits)
        return;
    if (epoch->n_told == epoch->n_before || udpai_node_now(node) >= may_ms)
        tell(node);
    else if (!udpai_timer_is_set(&epoch->later))
        udpai_timer_set(node->wheel, &epoch->later, may_ms);
}

/* ---- its life ---- */

void
udpai_epoch_init(udpai_node *node)
{
    udpai_timer_init(&node->epoch.later, on_later);
}

void
udpai_epoch_done(udpai_node *node)
{
    udpai_timer_cancel(&node->epoch.later);
    udpa_bytes_unref(node->epoch.name);
}

udpa_err
udpai_epoch_restore(udpai_node *node, const udpai_durable_op *op)
{
    udpai_epoch *epoch = &node->epoch;
    if (udpa_bytes_size(op->name) > UDPAI_EPOCH_MAX || node->is_endpoint)
        return UDPA_OK;
    udpa_bytes_unref(epoch->name);
    epoch->name = udpa_bytes_ref(op->name);
    epoch->n_commits = epoch->n_before = epoch->n_told = op->number;
    announce(node);
    return UDPA_OK;
}

void
udpai_epoch_start(udpai_node *node)
{
    char text[33];
    if (node->epoch.name || node->is_endpoint)
        return;
    uint64_t high = node->env.random(node->env.userdata);
    uint64_t low = node->env.random(node->env.userdata);
    int len = snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, high, low);
    if (udpa_bytes_new(&node->epoch.name, text, (size_t)len) == UDPA_OK)
        announce(node);
}

/* ---- commits ---- */

/* That others' stores were seen is nobody's news; nodes that are each other's sources would tell
 * each other so for ever. */
static bool
is_loud(const udpai_durable_batch *batch)
{
    for (size_t i = 0; i < batch->ops.n; i++)
        if (batch->ops.items[i].kind != UDPAI_DURABLE_SEEN)
            return true;
    return false;
}

void
udpai_epoch_commits(udpai_node *node, const udpai_durable_batch *batch, uint64_t ticket)
{
    if (is_loud(batch))
        node->epoch.n_loud = node->epoch.n_before + ticket;
}

void
udpai_epoch_committed(udpai_node *node, uint64_t ticket)
{
    udpai_epoch *epoch = &node->epoch;
    if (epoch->n_commits >= epoch->n_before + ticket)
        return;
    epoch->n_commits = epoch->n_before + ticket;
    if (epoch->name)
        tell_in_time(node);
}
