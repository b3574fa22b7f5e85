/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/janitor.h"

#include "base/alloc.h"
#include "model/digest.h"

struct udpai_janitor {
    udpai_context *context;
    bool is_known, is_on;
    bool is_alike;    /* all members have one configuration … */
    uint64_t configs; /* … and a digest of those that they have */
    udpai_places hidden, hidden_for_now;
    udpai_timer grace; /* set: what is hidden will be removed then */
    udpai_timer late;  /* set: all is listed again then, and judged anew */
    bool is_due;
    size_t next; /* of `hidden`, while it is due */
};

/* ---- when ---- */

static void
on_grace(udpai_timer *timer)
{
    udpai_janitor *janitor = UDPAI_CONTAINER_OF(timer, udpai_janitor, grace);
    janitor->is_due = true;
    janitor->next = 0;
    udpai_context_touch(janitor->context);
}

static void
on_late(udpai_timer *timer)
{
    udpai_context_list_again(UDPAI_CONTAINER_OF(timer, udpai_janitor, late)->context);
}

static bool
may_remove(const udpai_janitor *janitor)
{
    return janitor->is_on && janitor->is_alike && udpai_places_n(&janitor->hidden) > 0;
}

static void
plan_late(udpai_janitor *janitor)
{
    if (!udpai_places_n(&janitor->hidden_for_now))
        udpai_timer_cancel(&janitor->late);
    else if (!udpai_timer_is_set(&janitor->late))
        udpai_timer_set(janitor->context->wheel, &janitor->late,
                        udpai_context_now(janitor->context) + UDPAI_JANITOR_LATE_MS);
}

static void
plan(udpai_janitor *janitor)
{
    if (!may_remove(janitor)) {
        udpai_timer_cancel(&janitor->grace);
        janitor->is_due = false;
    } else if (!janitor->is_due && !udpai_timer_is_set(&janitor->grace)) {
        udpai_timer_set(janitor->context->wheel, &janitor->grace,
                        udpai_context_now(janitor->context) + UDPAI_JANITOR_GRACE_MS);
    }
}

static void
plan_anew(udpai_janitor *janitor)
{
    udpai_timer_cancel(&janitor->grace);
    janitor->is_due = false;
    plan(janitor);
}

/* ---- who ---- */

static void
look_at_configs(udpai_janitor *janitor, const udpai_replica_status *status)
{
    uint64_t configs = 0;
    bool is_alike = true;
    for (size_t i = 0; i < status->n_members; i++) {
        udpai_str config = udpai_bytes_view(status->members[i].config);
        configs = udpai_digest_behind(configs, config);
        is_alike = is_alike && udpai_str_eq(config, udpai_bytes_view(status->members[0].config));
    }
    bool is_same = configs == janitor->configs && is_alike == janitor->is_alike;
    janitor->configs = configs;
    janitor->is_alike = is_alike;
    if (!is_same)
        plan_anew(janitor);
}

void
udpai_janitor_take_members(udpai_janitor *janitor, const udpai_replica_status *status)
{
    const udpai_replica_member *first = udpai_replica_status_first(status);
    bool was_another = janitor->is_known && !janitor->is_on;
    janitor->is_known =
        udpai_replica_status_own(status) || status->membership != UDPAI_MEMBERSHIP_UNKNOWN;
    janitor->is_on = first && first->is_own;
    look_at_configs(janitor, status);
    if (janitor->is_on && was_another)
        udpai_context_list_again(janitor->context);
    plan(janitor);
    udpai_context_touch(janitor->context);
}

bool
udpai_janitor_is_on(const udpai_janitor *janitor)
{
    return janitor->is_on;
}

bool
udpai_janitor_is_known(const udpai_janitor *janitor)
{
    return janitor->is_known;
}

/* ---- what is hidden ---- */

void
udpai_janitor_show(udpai_janitor *janitor, const udpai_place *place)
{
    if (udpai_places_remove(&janitor->hidden, place))
        plan(janitor);
    if (udpai_places_remove(&janitor->hidden_for_now, place))
        plan_late(janitor);
}

bool
udpai_janitor_hide(udpai_janitor *janitor, const udpai_place *place)
{
    udpai_janitor_show(janitor, place);
    bool is_added = udpai_places_add(&janitor->hidden, place);
    plan(janitor);
    return is_added;
}

bool
udpai_janitor_hide_for_now(udpai_janitor *janitor, const udpai_place *place)
{
    udpai_janitor_show(janitor, place);
    bool is_added = udpai_places_add(&janitor->hidden_for_now, place);
    plan_late(janitor);
    return is_added;
}

udpa_err
udpai_janitor_ignore(udpai_janitor *janitor, const udpai_durable_op *op)
{
    const udpai_place place = udpai_place_of(op);
    if (op->kind == UDPAI_DURABLE_PUT)
        return udpai_janitor_hide(janitor, &place) ? UDPA_OK : UDPA_ERR_NOMEM;
    udpai_janitor_show(janitor, &place);
    return UDPA_OK;
}

void
udpai_janitor_show_all(udpai_janitor *janitor)
{
    udpai_places_clear(&janitor->hidden);
    udpai_places_clear(&janitor->hidden_for_now);
    plan(janitor);
    plan_late(janitor);
}

size_t
udpai_janitor_n_hidden(const udpai_janitor *janitor)
{
    return udpai_places_n(&janitor->hidden) + udpai_places_n(&janitor->hidden_for_now);
}

/* ---- removing it ---- */

static udpa_err
add(udpai_durable_batch *batch, const udpai_place *place)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = NULL, *name = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *type = udpai_bytes_cstring(place->type_url);
    if (!type || udpa_bytes_new(&origin, place->origin.data, place->origin.len) != UDPA_OK ||
        udpa_bytes_new(&name, place->name.data, place->name.len) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    return udpai_durable_batch_add(batch, &(udpai_durable_op){
                                              .kind = UDPAI_DURABLE_DELETE,
                                              .origin = origin,
                                              .type = type,
                                              .name = name,
                                          });
}

/* What is lost, or not committed, is hidden still, and proposed again after another while. */
udpai_durable_batch *
udpai_janitor_next_removals(udpai_janitor *janitor)
{
    if (!janitor->is_due)
        return NULL;
    udpai_place place;
    UDPA_AUTO(udpai_durable_batch_free) udpai_durable_batch *batch = udpai_durable_batch_new();
    bool has_memory = batch != NULL;
    while (has_memory && batch->ops.n < UDPAI_JANITOR_REMOVALS_MAX &&
           udpai_places_next(&janitor->hidden, &janitor->next, &place))
        has_memory = add(batch, &place) == UDPA_OK;
    if (has_memory && batch->ops.n) {
        batch->is_janitors = true;
        return UDPAI_TAKE(batch);
    }
    plan_anew(janitor);
    return NULL;
}

/* ---- its life ---- */

udpa_err
udpai_janitor_new(udpai_janitor **ret_janitor, udpai_context *context)
{
    udpai_janitor *janitor = udpai_alloc(sizeof(*janitor));
    if (!janitor)
        return UDPA_ERR_NOMEM;
    janitor->context = context;
    janitor->is_alike = true;
    udpai_places_init(&janitor->hidden);
    udpai_places_init(&janitor->hidden_for_now);
    udpai_timer_init(&janitor->grace, on_grace);
    udpai_timer_init(&janitor->late, on_late);
    *ret_janitor = janitor;
    return UDPA_OK;
}

void
udpai_janitor_free(udpai_janitor *janitor)
{
    if (!janitor)
        return;
    udpai_timer_cancel(&janitor->grace);
    udpai_timer_cancel(&janitor->late);
    udpai_places_done(&janitor->hidden);
    udpai_places_done(&janitor->hidden_for_now);
    udpai_free(janitor);
}
