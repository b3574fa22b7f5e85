/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/outbox.h"

#include <assert.h>

#include "base/alloc.h"
#include "federation/demand.h"
#include "federation/egress.h"
#include "federation/interest.h"
#include "federation/local.h"
#include "federation/report_targets.h"
#include "federation/sources.h"
#include "federation/sync.h"
#include "federation/traces.h"

struct udpai_outbox {
    udpai_context *context;
    udpai_traces *traces; /* NULL: nothing is traced */
    udpai_demand *demand;
    udpai_sync *sync;
    udpai_sources *sources;
    udpai_interest *interest;
    udpai_local *local;
    udpai_egress *egress;
    udpai_health_overlay *overlay; /* NULL: what checkers report changes nothing */
    udpai_change_set *late;        /* taken from the store, and not sent for want of memory … */
    udpai_change_set *unrouted;    /* … what is left to do being to route it */
    size_t n_changes_ahead, max_changes_ahead;
    uint64_t
        since_ms;     /* when the first of the changes came that were not sent; 0: there are none */
    bool has_lookups; /* what was removed may have to be asked for by name */
};

udpa_err
udpai_outbox_new(udpai_outbox **ret_outbox, const udpai_parts *parts, size_t max_changes_ahead)
{
    udpai_outbox *outbox = udpai_alloc(sizeof(*outbox));
    if (!outbox)
        return UDPA_ERR_NOMEM;
    outbox->context = parts->context;
    outbox->traces = parts->traces;
    outbox->demand = parts->demand;
    outbox->sync = parts->sync;
    outbox->sources = parts->sources;
    outbox->interest = parts->interest;
    outbox->local = parts->local;
    outbox->egress = parts->egress;
    outbox->overlay = udpai_local_overlay(parts->local);
    outbox->max_changes_ahead = max_changes_ahead;
    *ret_outbox = outbox;
    return UDPA_OK;
}

void
udpai_outbox_free(udpai_outbox *outbox)
{
    if (!outbox)
        return;
    udpai_change_set_unref(outbox->late);
    udpai_change_set_unref(outbox->unrouted);
    udpai_free(outbox);
}

bool
udpai_outbox_has_changes(const udpai_outbox *outbox)
{
    return outbox->late || outbox->unrouted || udpai_store_has_changes(outbox->context->store) ||
           udpai_report_targets_have_changes(outbox->egress) ||
           (outbox->overlay && udpai_health_overlay_have_changes(outbox->overlay));
}

/* It depends on what was sent before it, so all of that goes first. An endpoint sends no not-found
 * and no removal to peers: what it does not publish now it may have published before. One at a
 * time: with each, all subscribers that wait look again, and when thousands come at once, few must
 * do for all. */
void
udpai_outbox_send_settled(udpai_outbox *outbox)
{
    if (!udpai_sync_is_due(outbox->sync) || outbox->context->is_endpoint ||
        udpai_outbox_has_changes(outbox))
        return;
    udpai_order *order = udpai_order_new(UDPAI_ORDER_SETTLED);
    if (!order)
        return;
    order->settled = udpai_settled_ref(udpai_sync_settled(outbox->sync));
    udpai_sync_sent(outbox->sync);
    udpai_context_order(outbox->context, order);
}

/* With what checkers report of it. What the store has handed out is never given up: without memory
 * it is sent later. NULL: nothing is sent now. */
static udpai_change_set *
take_changes(udpai_outbox *outbox)
{
    if (outbox->unrouted)
        return UDPAI_TAKE(outbox->unrouted);
    udpai_change_set *changes = UDPAI_TAKE(outbox->late), *merged = NULL;
    if (!changes && udpai_store_take_changes(outbox->context->store, &changes) != UDPA_OK)
        return NULL;
    if (!outbox->overlay)
        return changes;
    if (udpai_health_overlay_apply(outbox->overlay, changes, udpai_context_wall_us(outbox->context),
                                   &merged) == UDPA_OK)
        udpai_change_set_unref(changes);
    else
        outbox->late = changes;
    return merged;
}

/* What peers are sent of the changes: of an endpoint's, what it reports itself. *ret_sent NULL:
 * nothing. After UDPA_ERR_NOMEM the next call is with the same changes. */
static udpa_err
route(udpai_outbox *outbox, udpai_change_set *changes, udpai_change_set **ret_sent)
{
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *picked = NULL;
    udpa_err err = UDPA_OK;
    if (!outbox->context->is_endpoint)
        return udpai_report_targets_apply(outbox->egress, changes, ret_sent);
    if (changes)
        err = udpai_reports_pick(outbox->egress, changes, &picked);
    return err == UDPA_OK ? udpai_report_targets_apply(outbox->egress, picked, ret_sent) : err;
}

/* The subscribers of a name get no removal before its sources are asked by name: it may be lazy
 * now. What comes of a later source instead may be what an earlier one has as a lazy one. The same
 * of names that led to it. */
static void
look_up_change(udpai_outbox *outbox, const udpai_change *change)
{
    bool is_removal = change->kind == UDPAI_CHANGE_REMOVE;
    udpa_resource *was = is_removal ? change->resource : change->before;
    if (change->resource && (is_removal || udpai_sources_size(outbox->sources) > 1))
        outbox->has_lookups |=
            udpai_interest_look_up(outbox->interest, udpai_resource_type_url(change->resource),
                                   udpai_resource_name(change->resource));
    if (was && udpa_resource_n_aliases(was))
        outbox->has_lookups |= udpai_interest_look_up_aliases(outbox->interest, was);
}

static void
look_up_changed(udpai_outbox *outbox, const udpai_change_set *changes)
{
    for (size_t i = 0; i < udpai_change_set_size(changes) && !udpai_demand_is_empty(outbox->demand);
         i++)
        look_up_change(outbox, udpai_change_set_at(changes, i));
}

/* While the stream side has enough before it, changes wait in the store, where those of one
 * resource become one. */
void
udpai_outbox_send_changes(udpai_outbox *outbox)
{
    if (!udpai_outbox_has_changes(outbox))
        return;
    if (outbox->since_ms == 0)
        outbox->since_ms = udpai_context_now(outbox->context);
    if (outbox->n_changes_ahead >= outbox->max_changes_ahead)
        return;
    UDPA_AUTO(udpai_order_free) udpai_order *order = udpai_order_new(UDPAI_ORDER_CHANGES);
    if (!order)
        return;
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *changes = take_changes(outbox);
    if (route(outbox, changes, &order->changes) != UDPA_OK) {
        outbox->unrouted = UDPAI_TAKE(changes);
        return;
    }
    order->since_ms = outbox->since_ms;
    outbox->since_ms = 0;
    if (changes) {
        look_up_changed(outbox, changes);
        udpai_locals_notify(outbox->local, changes);
    }
    if (!order->changes)
        return;
    udpai_traces_take(outbox->traces, order->changes, &order->spans);
    outbox->n_changes_ahead++;
    udpai_context_order(outbox->context, UDPAI_TAKE(order));
}

bool
udpai_outbox_is_late(const udpai_outbox *outbox)
{
    return outbox->late || outbox->unrouted;
}

void
udpai_outbox_applied(udpai_outbox *outbox)
{
    assert(outbox->n_changes_ahead > 0); /* each answers a CHANGES of this node */
    outbox->n_changes_ahead--;
}

bool
udpai_outbox_take_lookups(udpai_outbox *outbox)
{
    bool has_lookups = outbox->has_lookups;
    outbox->has_lookups = false;
    return has_lookups;
}
