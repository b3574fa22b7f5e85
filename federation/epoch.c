/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/epoch.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "model/lineage.h"

#define PAUSE_MS 1000

struct udpai_epoch {
    udpai_context *context;
    udpa_bytes *name;  /* the store's lineage (model/lineage.h); NULL: not known yet */
    uint64_t n_before; /* commits of processes before this one */
    /* Batches that changed what other nodes may be sent, by their numbers: the first that streams
     * are to be notified of when it is done, and the last. */
    uint64_t n_loud, n_last_loud;
    uint64_t n_sent;  /* that far was sent to streams by an order of its own … */
    uint64_t sent_ms; /* … then; not more often than once a second */
    udpai_timer later;
    bool is_whole;        /* its operator has confirmed that what it began with is complete */
    udpa_bytes *next;     /* the epoch that begins when … */
    uint64_t next_ticket; /* … this batch is safe; 0: it was not handed over yet */
};

/* ---- what streams are sent ---- */

/* Without memory it is not announced: then those below count what we do not name any more. */
static void
announce(udpai_epoch *epoch)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_EPOCH);
    if (!order)
        return;
    order->announced = udpa_bytes_ref(epoch->name);
    order->is_set = epoch->is_whole;
    udpai_context_order(epoch->context, order);
}

/* The order contains the number. Without memory the next commit sends it. */
static void
send_commit(udpai_epoch *epoch)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_COMMIT);
    if (!order)
        return;
    epoch->n_sent = epoch->context->n_commits;
    epoch->n_loud = epoch->n_last_loud;
    epoch->sent_ms = udpai_context_now(epoch->context);
    udpai_context_order(epoch->context, order);
}

static void
on_later(udpai_timer *timer)
{
    send_commit(UDPAI_CONTAINER_OF(timer, udpai_epoch, later));
}

static void
send_commit_in_time(udpai_epoch *epoch)
{
    uint64_t may_ms = epoch->sent_ms + PAUSE_MS;
    if (epoch->n_sent >= epoch->n_loud || epoch->n_loud > epoch->context->n_commits)
        return;
    if (epoch->n_sent == epoch->n_before || udpai_context_now(epoch->context) >= may_ms)
        send_commit(epoch);
    else if (!udpai_timer_is_set(&epoch->later))
        udpai_timer_set(epoch->context->wheel, &epoch->later, may_ms);
}

/* ---- its life ---- */

udpa_err
udpai_epoch_new(udpai_epoch **ret_epoch, udpai_context *context)
{
    udpai_epoch *epoch = udpai_alloc(sizeof(*epoch));
    if (!epoch)
        return UDPA_ERR_NOMEM;
    epoch->context = context;
    udpai_timer_init(&epoch->later, on_later);
    *ret_epoch = epoch;
    return UDPA_OK;
}

void
udpai_epoch_free(udpai_epoch *epoch)
{
    if (!epoch)
        return;
    udpai_timer_cancel(&epoch->later);
    udpa_bytes_unref(epoch->name);
    udpa_bytes_unref(epoch->next);
    udpai_free(epoch);
}

udpa_err
udpai_epoch_restore(udpai_epoch *epoch, const udpai_durable_op *op)
{
    if (udpa_bytes_size(op->name) > UDPAI_EPOCH_MAX || epoch->context->is_endpoint ||
        udpai_context_is_replicated(epoch->context))
        return UDPA_OK;
    udpa_bytes_unref(epoch->name);
    epoch->name = udpa_bytes_ref(op->name);
    epoch->context->n_commits = epoch->n_before = epoch->n_sent = op->number;
    epoch->is_whole = op->is_whole;
    announce(epoch);
    return UDPA_OK;
}

static udpa_bytes *
draw(const udpai_epoch *epoch)
{
    char text[33];
    udpa_bytes *name = NULL;
    uint64_t high = udpai_context_random(epoch->context);
    uint64_t low = udpai_context_random(epoch->context);
    int len = snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, high, low);
    return udpa_bytes_new(&name, text, (size_t)len) == UDPA_OK ? name : NULL;
}

udpa_err
udpai_epoch_set(udpai_epoch *epoch, udpai_str set_id)
{
    udpa_bytes *name;
    udpa_err err = udpa_bytes_new(&name, set_id.data, set_id.len);
    if (err != UDPA_OK)
        return err;
    udpa_bytes_unref(epoch->name);
    epoch->name = name;
    return UDPA_OK;
}

udpai_str
udpai_epoch_name(const udpai_epoch *epoch)
{
    return epoch->name ? udpai_bytes_view(epoch->name) : (udpai_str){0};
}

void
udpai_epoch_reached(udpai_epoch *epoch, uint64_t revision, bool is_loud)
{
    epoch->context->n_commits = revision;
    if (is_loud)
        epoch->n_loud = epoch->n_last_loud = revision;
    if (epoch->name)
        send_commit_in_time(epoch);
}

void
udpai_epoch_start(udpai_epoch *epoch)
{
    bool is_replicated = udpai_context_is_replicated(epoch->context);
    if ((epoch->name && !is_replicated) || epoch->context->is_endpoint)
        return;
    if (!is_replicated)
        epoch->name = draw(epoch);
    if (epoch->name)
        announce(epoch);
}

/* ---- what operators confirm ---- */

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
begin_next(udpai_epoch *epoch)
{
    udpa_bytes *name = with_openings(epoch);
    if (!name) /* it is announced when the store is opened next */
        return;
    udpa_bytes_unref(epoch->name);
    epoch->name = name;
    epoch->next = udpa_bytes_unref(epoch->next);
    epoch->next_ticket = 0;
    epoch->is_whole = true;
    announce(epoch);
    udpai_log(UDPA_LOG_WARNING, "federation",
              "accepted: what this node does not have is removed; downstream nodes that hold "
              "resources of it withdraw them");
}

/* It is announced only if that is kept: a crash must not take it back. The id is there so that it
 * is not confirmed to the wrong node. */
udpa_err
udpai_epoch_accept(udpai_epoch *epoch, udpai_str id, udpa_error **ret_error)
{
    udpai_str own = udpai_bytes_view(epoch->context->id);
    if (udpai_context_is_replicated(epoch->context))
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "this node is one of several replicas: what etcd has is the whole of it, "
                          "and nothing need be accepted");
    if (!udpai_str_eq(id, own))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "this node's id is '%.*s', not '%.*s': ask the node that is the source",
                          UDPAI_SHOWN(own), UDPAI_SHOWN(id));
    udpa_bytes *name = draw(epoch);
    if (!name)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_bytes_unref(epoch->next);
    epoch->next = name;
    epoch->next_ticket = 0;
    if (epoch->context->env.commit)
        udpai_store_note_epoch(epoch->context->store, name);
    else
        begin_next(epoch);
    return UDPA_OK;
}

/* ---- commits ---- */

/* That other nodes' stores were seen is not sent: nodes that are each other's sources would send it
 * to each other for ever. Nor is what changes nothing. */
static bool
is_loud(const udpai_durable_batch *batch)
{
    for (size_t i = 0; i < batch->ops.n; i++)
        if (batch->ops.items[i].kind != UDPAI_DURABLE_SEEN &&
            batch->ops.items[i].kind != UDPAI_DURABLE_AUDIT)
            return true;
    return false;
}

void
udpai_epoch_commits(udpai_epoch *epoch, const udpai_durable_batch *batch, uint64_t ticket)
{
    if (udpai_context_is_replicated(epoch->context))
        return;
    if (is_loud(batch)) {
        epoch->n_last_loud = epoch->n_before + ticket;
        if (epoch->n_loud <= epoch->n_sent)
            epoch->n_loud = epoch->n_last_loud;
    }
    for (size_t i = 0; i < batch->ops.n; i++)
        if (batch->ops.items[i].kind == UDPAI_DURABLE_EPOCH &&
            batch->ops.items[i].name == epoch->next)
            epoch->next_ticket = ticket;
}

static void
end_next(udpai_epoch *epoch, udpa_err result)
{
    if (result == UDPA_OK) {
        begin_next(epoch);
        return;
    }
    epoch->next = udpa_bytes_unref(epoch->next);
    epoch->next_ticket = 0;
    udpai_log(UDPA_LOG_ERROR, "federation",
              "not accepted: the store could not keep it, so downstream nodes are not notified; "
              "run udpactl sources accept again");
}

void
udpai_epoch_committed(udpai_epoch *epoch, uint64_t ticket, udpa_err result)
{
    if (udpai_context_is_replicated(epoch->context))
        return;
    if (result == UDPA_OK && epoch->context->n_commits < epoch->n_before + ticket)
        epoch->context->n_commits = epoch->n_before + ticket;
    if (epoch->next_ticket && epoch->next_ticket <= ticket)
        end_next(epoch, result);
    if (result == UDPA_OK && epoch->name)
        send_commit_in_time(epoch);
}
