/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/epoch.h"

#include "federation/accept.h"

#include <inttypes.h>
#include <stdio.h>

#include "federation/node_internal.h"
#include "model/lineage.h"

#define PAUSE_MS 1000

/* ---- telling the streams ---- */

/* Without memory it is not announced: then those below count what we do not name any more. */
static void
announce(udpai_node *node)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_EPOCH);
    if (!order)
        return;
    order->announced = udpa_bytes_ref(node->epoch.name);
    order->is_wanted = node->epoch.is_whole;
    udpai_context_order(&node->context, order);
}

/* The order says how far. Without memory the next commit tells it. */
static void
tell(udpai_node *node)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_COMMIT);
    if (!order)
        return;
    node->epoch.n_told = node->context.n_commits;
    node->epoch.n_loud = node->epoch.n_last_loud;
    node->epoch.told_ms = udpai_context_now(&node->context);
    udpai_context_order(&node->context, order);
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
    if (epoch->n_told >= epoch->n_loud || epoch->n_loud > node->context.n_commits)
        return;
    if (epoch->n_told == epoch->n_before || udpai_context_now(&node->context) >= may_ms)
        tell(node);
    else if (!udpai_timer_is_set(&epoch->later))
        udpai_timer_set(node->context.wheel, &epoch->later, may_ms);
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
    udpa_bytes_unref(node->epoch.next);
}

udpa_err
udpai_epoch_restore(udpai_node *node, const udpai_durable_op *op)
{
    udpai_epoch *epoch = &node->epoch;
    if (udpa_bytes_size(op->name) > UDPAI_EPOCH_MAX || node->context.is_endpoint)
        return UDPA_OK;
    udpa_bytes_unref(epoch->name);
    epoch->name = udpa_bytes_ref(op->name);
    node->context.n_commits = epoch->n_before = epoch->n_told = op->number;
    epoch->is_whole = op->is_whole;
    announce(node);
    return UDPA_OK;
}

static udpa_bytes *
draw(const udpai_node *node)
{
    char text[33];
    udpa_bytes *name = NULL;
    uint64_t high = udpai_context_random(&node->context);
    uint64_t low = udpai_context_random(&node->context);
    int len = snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, high, low);
    return udpa_bytes_new(&name, text, (size_t)len) == UDPA_OK ? name : NULL;
}

void
udpai_epoch_start(udpai_node *node)
{
    if (node->epoch.name || node->context.is_endpoint)
        return;
    node->epoch.name = draw(node);
    if (node->epoch.name)
        announce(node);
}

/* ---- what somebody has said of it ---- */

/* The next epoch goes on with the same openings. */
static udpa_bytes *
with_openings(const udpai_epoch *epoch)
{
    udpai_str before = epoch->name ? udpai_bytes_view(epoch->name) : (udpai_str){0};
    size_t len = udpai_lineage_epoch(before).len;
    udpai_strbuf text = {0};
    udpai_strbuf_str(&text, udpai_bytes_view(epoch->next));
    udpai_strbuf_str(&text, (udpai_str){before.data + len, before.len - len});
    return udpai_bytes_of(&text);
}

static void
begin_next(udpai_node *node)
{
    udpai_epoch *epoch = &node->epoch;
    udpa_bytes *name = with_openings(epoch);
    if (!name) /* it is announced when the store is opened next */
        return;
    udpa_bytes_unref(epoch->name);
    epoch->name = name;
    epoch->next = udpa_bytes_unref(epoch->next);
    epoch->next_ticket = 0;
    epoch->is_whole = true;
    announce(node);
    udpai_log(UDPA_LOG_WARNING, "federation",
              "it was accepted that what this node does not have has gone: nodes below it that "
              "hold what they had of it withdraw that");
}

/* Only if that is kept, is it announced: it must not be taken back by a crash. The id is there so
 * that nobody says it to another node than is meant. */
udpa_err
udpai_node_accept_as_source(udpai_node *node, udpai_str id, udpa_error **ret_error)
{
    udpai_str own = udpai_bytes_view(node->context.id);
    if (!udpai_str_eq(id, own))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "this node's id is '%.*s', not '%.*s': ask the node that is the source",
                          UDPAI_SHOWN(own), UDPAI_SHOWN(id));
    udpa_bytes *name = draw(node);
    if (!name)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_bytes_unref(node->epoch.next);
    node->epoch.next = name;
    node->epoch.next_ticket = 0;
    if (node->context.env.commit)
        udpai_store_note_epoch(node->context.store, name);
    else
        begin_next(node);
    return UDPA_OK;
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
    udpai_epoch *epoch = &node->epoch;
    if (is_loud(batch)) {
        epoch->n_last_loud = epoch->n_before + ticket;
        if (epoch->n_loud <= epoch->n_told)
            epoch->n_loud = epoch->n_last_loud;
    }
    for (size_t i = 0; i < batch->ops.n; i++)
        if (batch->ops.items[i].kind == UDPAI_DURABLE_EPOCH &&
            batch->ops.items[i].name == epoch->next)
            epoch->next_ticket = ticket;
}

static void
end_next(udpai_node *node, udpa_err result)
{
    if (result == UDPA_OK) {
        begin_next(node);
        return;
    }
    node->epoch.next = udpa_bytes_unref(node->epoch.next);
    node->epoch.next_ticket = 0;
    udpai_log(UDPA_LOG_ERROR, "federation",
              "that what this node does not have has gone could not be kept, and is not announced: "
              "accept it again");
}

void
udpai_epoch_committed(udpai_node *node, uint64_t ticket, udpa_err result)
{
    udpai_epoch *epoch = &node->epoch;
    if (result == UDPA_OK && node->context.n_commits < epoch->n_before + ticket)
        node->context.n_commits = epoch->n_before + ticket;
    if (epoch->next_ticket && epoch->next_ticket <= ticket)
        end_next(node, result);
    if (result == UDPA_OK && epoch->name)
        tell_in_time(node);
}
