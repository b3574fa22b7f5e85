/* SPDX-License-Identifier: Apache-2.0 */
/* Subscribers in the process: they receive effective resources, may refuse them, and their refusals
 * become receipts. */
#include "federation/local_internal.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "federation/demand.h"
#include "federation/interest.h"
#include "federation/reports.h"
#include "federation/sync.h"
#include "model/name.h"

/* ---- updates ---- */

size_t
udpai_local_update_size(const udpai_local_update *update)
{
    return update->changes.n;
}

const udpai_local_change *
udpai_local_update_at(const udpai_local_update *update, size_t index)
{
    return &update->changes.items[index];
}

void
udpai_local_update_refuse(udpai_local_update *update, size_t index, udpa_error *error)
{
    update->n_refused++;
    udpai_publication_refuse(&update->changes.items[index].error, error);
}

bool
udpai_local_update_is_pending(const udpai_local_update *update)
{
    return update->is_deferred && !update->is_done;
}

void
udpai_local_update_set_holder(udpai_local_update *update, void *holder)
{
    update->holder = holder;
}

void *
udpai_local_update_holder(const udpai_local_update *update)
{
    return update->holder;
}

static void
free_update(udpai_local_update *update)
{
    for (size_t i = 0; i < update->changes.n; i++) {
        udpa_resource_unref(update->changes.items[i].resource);
        udpa_error_unref(update->changes.items[i].error);
    }
    udpai_list_remove(&update->in_node);
    udpai_vector_done(&update->changes);
    udpai_vector_done(&update->publications);
    udpai_free(update);
}

static bool
is_this(const udpai_publication_entry *entry, const udpa_resource *resource)
{
    const udpa_resource *published = entry->resource;
    return udpai_str_eq(udpai_resource_name(published), udpai_resource_name(resource)) &&
           udpai_str_eq(udpai_resource_type_url(published), udpai_resource_type_url(resource)) &&
           udpai_str_eq(udpai_resource_version(published), udpai_resource_version(resource));
}

/* What a subscriber refuses, by name: thousands of publications may be answered in one turn. */
typedef struct refusals {
    const udpai_local_update *update;
    udpai_map by_name;
    bool is_whole; /* else there was no memory, and all changes are looked at */
} refusals;

static udpai_str
refusal_name(const void *item)
{
    return udpai_resource_name(((const udpai_local_change *)item)->resource);
}

static void
refusals_begin(refusals *self, const udpai_local_update *update)
{
    *self = (refusals){.update = update, .is_whole = true};
    udpai_map_init(&self->by_name, refusal_name);
    for (size_t i = 0; update->n_refused && i < update->changes.n && self->is_whole; i++) {
        udpai_local_change *change = &update->changes.items[i];
        if (change->error && !udpai_map_get(&self->by_name, refusal_name(change)))
            self->is_whole = udpai_map_add(&self->by_name, change);
    }
}

static const udpai_local_change *
find_refusal(const refusals *self, const udpai_publication_entry *entry)
{
    if (self->is_whole) {
        const udpai_local_change *change =
            udpai_map_get(&self->by_name, udpai_resource_name(entry->resource));
        return change && is_this(entry, change->resource) ? change : NULL;
    }
    for (size_t i = 0; i < self->update->changes.n; i++) {
        const udpai_local_change *change = &self->update->changes.items[i];
        if (change->error && is_this(entry, change->resource))
            return change;
    }
    return NULL;
}

/* The publisher of exactly that resource gets the subscriber's refusal. */
static void
pass_refusals(const refusals *self, udpai_pending_publication *pending)
{
    udpai_publication *publication = pending->publication;
    for (size_t i = 0; self->update->n_refused && i < publication->entries.n; i++) {
        const udpai_local_change *change = find_refusal(self, &publication->entries.items[i]);
        if (change)
            udpai_publication_refuse(&publication->entries.items[i].error,
                                     udpa_error_ref(change->error));
    }
}

/* The answer comes later: all publications that depend on it wait for it, for a time. */
void
udpai_local_update_defer(udpai_local_update *update)
{
    udpai_local *local = update->owner;
    if (update->is_deferred)
        return;
    update->is_deferred = true;
    udpai_list_append(&local->updates, &update->in_node);
    UDPAI_LIST_FOREACH (at, &local->undelivered) {
        udpai_pending_publication *pending = UDPAI_LIST_ENTRY(at, udpai_pending_publication, node);
        if (!udpai_vector_push(&update->publications, pending))
            continue;
        pending->n_deferred++;
        if (!udpai_timer_is_set(&pending->deadline))
            udpai_timer_set(local->context->wheel, &pending->deadline,
                            udpai_context_now(local->context) +
                                local->context->timing.answer_timeout_ms);
    }
}

void
udpai_local_update_done(udpai_local_update *update)
{
    update->is_done = true;
    if (update->is_being_notified)
        return;
    refusals refused;
    refusals_begin(&refused, update);
    for (size_t i = 0; i < update->publications.n; i++) {
        udpai_pending_publication *pending = update->publications.items[i];
        if (!pending)
            continue; /* it was answered without us */
        pass_refusals(&refused, pending);
        pending->n_deferred--;
        udpai_pending_publication_check(pending);
    }
    udpai_map_done(&refused.by_name);
    free_update(update);
}

/* A pending publication is freed: nothing may refer to it any more. */
void
udpai_local_updates_forget(udpai_local *local, const udpai_pending_publication *pending)
{
    UDPAI_LIST_FOREACH (at, &local->updates) {
        udpai_local_update *update = UDPAI_LIST_ENTRY(at, udpai_local_update, in_node);
        for (size_t i = 0; i < update->publications.n; i++)
            if (update->publications.items[i] == pending)
                update->publications.items[i] = NULL;
    }
}

/* ---- subscriptions ---- */

static int
compare_names(const void *a, const void *b)
{
    return udpai_str_cmp(udpai_bytes_view(*(udpa_bytes *const *)a),
                         udpai_bytes_view(*(udpa_bytes *const *)b));
}

static int
compare_with_name(const void *key, const void *item)
{
    return udpai_str_cmp(*(const udpai_str *)key, udpai_bytes_view(*(udpa_bytes *const *)item));
}

static bool
has_name(const udpai_local_subscription *subscription, udpai_str name)
{
    return bsearch(&name, subscription->names.items, subscription->names.n, sizeof(udpa_bytes *),
                   compare_with_name) != NULL;
}

/* A request for a name that a pattern matches is found among all. */
static bool
has_alias(const udpai_local_subscription *subscription, udpai_str alias)
{
    if (!udpai_alias_is_pattern(alias))
        return has_name(subscription, alias);
    for (size_t i = 0; i < subscription->names.n; i++)
        if (udpai_alias_matches(alias, udpai_bytes_view(subscription->names.items[i])))
            return true;
    return false;
}

static bool
selects(const udpai_local_subscription *subscription, const udpa_resource *resource)
{
    if (!udpai_str_eq(udpai_bytes_view(subscription->type), udpai_resource_type_url(resource)))
        return false;
    udpai_str name = udpai_resource_name(resource);
    if (subscription->names.n == 0)
        return !udpai_resource_is_lazy(resource) &&
               udpai_prefix_covers(udpai_bytes_view(subscription->prefix), name);
    if (has_name(subscription, name))
        return true;
    for (size_t i = 0; i < udpa_resource_n_aliases(resource); i++)
        if (has_alias(subscription, udpai_resource_alias(resource, i)))
            return true;
    return false;
}

static udpai_local_update *
new_update(udpai_local *local)
{
    udpai_local_update *update = udpai_alloc(sizeof(*update));
    if (update) {
        update->owner = local;
        udpai_list_init(&update->in_node);
    }
    return update;
}

static bool
add_change(udpai_local_update *update, udpa_resource *resource, bool is_removed)
{
    const udpai_local_change change = {udpa_resource_ref(resource), is_removed, NULL};
    if (udpai_vector_push(&update->changes, change))
        return true;
    udpa_resource_unref(resource);
    return false;
}

static void
notify_pendings(udpai_local *local, const udpai_local_update *update)
{
    refusals refused;
    if (!update->n_refused)
        return;
    refusals_begin(&refused, update);
    UDPAI_LIST_FOREACH (at, &local->undelivered)
        pass_refusals(&refused, UDPAI_LIST_ENTRY(at, udpai_pending_publication, node));
    udpai_map_done(&refused.by_name);
}

static void
give(udpai_local_subscription *subscription, udpai_local_update *update)
{
    udpai_local *local = subscription->owner;
    update->is_being_notified = true;
    if (update->changes.n)
        subscription->ops.update(subscription->ops.userdata, update);
    update->is_being_notified = false;
    if (update->is_deferred) {
        if (update->is_done)
            udpai_local_update_done(update);
        return;
    }
    notify_pendings(local, update);
    free_update(update);
}

/* Not of what was never here: its removal is for other nodes. */
static bool
is_update(const udpai_change *change)
{
    bool was_here = change->kind != UDPAI_CHANGE_REMOVE || change->resource != change->removal;
    return change->kind != UDPAI_CHANGE_REFRESH && was_here;
}

void
udpai_locals_notify(udpai_local *local, const udpai_change_set *changes)
{
    UDPAI_LIST_FOREACH_SAFE (at, &local->subscriptions) {
        udpai_local_subscription *subscription =
            UDPAI_LIST_ENTRY(at, udpai_local_subscription, node);
        if (subscription->is_new)
            continue; /* it will see all there is */
        udpai_local_update *update = new_update(local);
        for (size_t i = 0; update && i < udpai_change_set_size(changes); i++) {
            const udpai_change *change = udpai_change_set_at(changes, i);
            if (is_update(change) && selects(subscription, change->resource))
                (void)add_change(update, change->resource, change->kind == UDPAI_CHANGE_REMOVE);
        }
        if (update)
            give(subscription, update);
    }
}

void
udpai_locals_notify_event(udpai_local *local, udpa_resource *event)
{
    UDPAI_LIST_FOREACH_SAFE (at, &local->subscriptions) {
        udpai_local_subscription *subscription =
            UDPAI_LIST_ENTRY(at, udpai_local_subscription, node);
        udpai_local_update *update = selects(subscription, event) ? new_update(local) : NULL;
        if (!update)
            continue;
        (void)add_change(update, event, false);
        give(subscription, update);
    }
}

struct newcomer {
    const udpai_local_subscription *subscription;
    udpai_local_update *update;
};

static bool
add_existing(void *userdata, udpa_resource *resource)
{
    struct newcomer *newcomer = userdata;
    const udpai_local *local = newcomer->subscription->owner;
    return !selects(newcomer->subscription, resource) ||
           add_change(newcomer->update,
                      local->overlay ? udpai_health_overlay_of(local->overlay, resource) : resource,
                      false);
}

void
udpai_locals_notify_new(udpai_local *local)
{
    UDPAI_LIST_FOREACH_SAFE (at, &local->subscriptions) {
        udpai_local_subscription *subscription =
            UDPAI_LIST_ENTRY(at, udpai_local_subscription, node);
        struct newcomer newcomer = {subscription, NULL};
        if (!subscription->is_new || !(newcomer.update = new_update(local)))
            continue;
        subscription->is_new = false;
        /* The state that was last sent to the others: what has changed since, all get next. */
        udpai_store_visit_reported(local->context->store, udpai_bytes_view(subscription->type),
                                   add_existing, &newcomer);
        give(subscription, newcomer.update);
    }
}

static bool
note_effective(void *userdata, const udpai_contribution *contribution)
{
    bool *is_there = userdata;
    *is_there |= contribution->effective;
    return !*is_there;
}

static bool
is_name_settled(const udpai_local *local, udpai_str type, udpai_str name)
{
    const udpai_str nobody = {0};
    const udpai_settled *settled = udpai_sync_settled(local->sync);
    bool is_there = false;
    udpai_store_visit_name(local->context->store, type, name, note_effective, &is_there);
    if (!is_there && !udpai_settled_knows_absence(settled, type, name))
        return false;
    return (is_there ? udpai_settled_query_held(settled, type, name, nobody)
                     : udpai_settled_query_name(settled, type, name, nobody)) == UDPAI_SETTLED;
}

static bool
is_settled(const udpai_local *local, const udpai_local_subscription *subscription)
{
    udpai_str type = udpai_bytes_view(subscription->type), nobody = {0};
    if (subscription->names.n == 0)
        return udpai_settled_query(udpai_sync_settled(local->sync), type,
                                   udpai_bytes_view(subscription->prefix), nobody) == UDPAI_SETTLED;
    for (size_t i = 0; i < subscription->names.n; i++)
        if (!is_name_settled(local, type, udpai_bytes_view(subscription->names.items[i])))
            return false;
    return true;
}

void
udpai_locals_notify_complete(udpai_local *local)
{
    UDPAI_LIST_FOREACH_SAFE (at, &local->subscriptions) {
        udpai_local_subscription *subscription =
            UDPAI_LIST_ENTRY(at, udpai_local_subscription, node);
        if (subscription->is_new)
            continue;
        bool was_complete = subscription->is_complete;
        subscription->is_complete = is_settled(local, subscription);
        if (subscription->is_complete && !was_complete && subscription->ops.complete)
            subscription->ops.complete(subscription->ops.userdata);
    }
}

/* ---- coming and going ---- */

/* Notifies the providers of what the subscription selects, or no longer selects. */
static void
change_interest(udpai_local *local, const udpai_local_subscription *subscription, bool subscribed)
{
    udpai_str type = udpai_bytes_view(subscription->type);
    void (*change)(udpai_interest *, udpai_str, udpai_str, bool) =
        subscription->reach == UDPAI_REACH_CLIENTS ? udpai_reports_subscribe_direct
                                                   : udpai_interest_subscribe;
    if (subscription->reach == UDPAI_REACH_NOBODY)
        return;
    if (subscription->names.n == 0) {
        char room[UDPA_NAME_MAX + 1];
        change(local->interest, type,
               udpai_wildcard_text(room, udpai_bytes_view(subscription->prefix)), subscribed);
    }
    for (size_t i = 0; i < subscription->names.n; i++)
        change(local->interest, type, udpai_bytes_view(subscription->names.items[i]), subscribed);
}

static void
free_subscription(udpai_local_subscription *subscription)
{
    udpai_list_remove(&subscription->node);
    for (size_t i = 0; i < subscription->names.n; i++)
        udpa_bytes_unref(subscription->names.items[i]);
    udpai_vector_done(&subscription->names);
    udpa_bytes_unref(subscription->type);
    udpa_bytes_unref(subscription->prefix);
    udpai_free(subscription);
}

static udpa_err
copy_selection(udpai_local_subscription *subscription, const udpai_selection *selection)
{
    udpai_str type = selection->type_url, prefix = selection->prefix;
    udpa_err err = udpa_bytes_new(&subscription->type, type.data, type.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&subscription->prefix, prefix.data, prefix.len);
    for (size_t i = 0; i < selection->n_names && err == UDPA_OK; i++) {
        udpa_bytes *name = NULL;
        err = udpa_bytes_new(&name, selection->names[i].data, selection->names[i].len);
        if (err == UDPA_OK && !udpai_vector_push(&subscription->names, name)) {
            udpa_bytes_unref(name);
            err = UDPA_ERR_NOMEM;
        }
    }
    if (subscription->names.n > 1)
        qsort(subscription->names.items, subscription->names.n, sizeof(udpa_bytes *),
              compare_names);
    return err;
}

udpa_err
udpai_local_subscribe(udpai_local *local,
                      const udpai_selection *selection,
                      const udpai_local_ops *ops,
                      udpai_local_subscription **ret_subscription)
{
    if (selection->prefix.len > UDPA_NAME_MAX || selection->type_url.len > UDPAI_TYPE_URL_MAX)
        return UDPA_ERR_INVAL;
    udpai_local_subscription *subscription = udpai_alloc(sizeof(*subscription));
    if (!subscription)
        return UDPA_ERR_NOMEM;
    subscription->owner = local;
    subscription->ops = *ops;
    subscription->is_new = true;
    subscription->reach = selection->reach;
    udpai_list_init(&subscription->node);
    udpa_err err = copy_selection(subscription, selection);
    if (err != UDPA_OK) {
        free_subscription(subscription);
        return err;
    }
    udpai_list_append(&local->subscriptions, &subscription->node);
    change_interest(local, subscription, true);
    *ret_subscription = subscription;
    return UDPA_OK;
}

void
udpai_local_unsubscribe(udpai_local *local, udpai_local_subscription *subscription)
{
    change_interest(local, subscription, false);
    free_subscription(subscription);
}

bool
udpai_local_is_complete(const udpai_local_subscription *subscription)
{
    return subscription->is_complete;
}

/* ---- the whole ---- */

udpa_err
udpai_local_new(udpai_local **ret_local, const udpai_parts *parts, udpai_health_overlay *overlay)
{
    udpai_local *local = udpai_alloc(sizeof(*local));
    if (!local)
        return UDPA_ERR_NOMEM;
    local->context = parts->context;
    local->interest = parts->interest;
    local->sync = parts->sync;
    local->overlay = overlay;
    udpai_list_init(&local->subscriptions);
    udpai_list_init(&local->updates);
    udpai_list_init(&local->undelivered);
    udpai_list_init(&local->unsafe);
    udpai_list_init(&local->unanswered);
    *ret_local = local;
    return UDPA_OK;
}

static void
free_publications(udpai_list *list)
{
    while (!udpai_list_empty(list))
        udpai_pending_publication_free(
            UDPAI_LIST_ENTRY(list->next, udpai_pending_publication, node));
}

void
udpai_local_free(udpai_local *local)
{
    if (!local)
        return;
    while (!udpai_list_empty(&local->subscriptions))
        free_subscription(
            UDPAI_LIST_ENTRY(local->subscriptions.next, udpai_local_subscription, node));
    while (!udpai_list_empty(&local->updates))
        free_update(UDPAI_LIST_ENTRY(local->updates.next, udpai_local_update, in_node));
    free_publications(&local->undelivered);
    free_publications(&local->unsafe);
    free_publications(&local->unanswered);
    udpai_health_overlay_free(local->overlay);
    udpai_free(local);
}

udpai_health_overlay *
udpai_local_overlay(const udpai_local *local)
{
    return local->overlay;
}

bool
udpai_local_has_subscriptions(const udpai_local *local)
{
    return !udpai_list_empty(&local->subscriptions);
}
