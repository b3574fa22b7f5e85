/* SPDX-License-Identifier: Apache-2.0 */
/* Subscribers in the process: they are told of effective resources, may refuse them, and their
 * refusals become receipts. */
#include "federation/interest.h"
#include "federation/pending_publication.h"
#include "federation/reports.h"

#include <stdlib.h>

#include "base/alloc.h"
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

/* What a subscriber refuses, by name: thousands of publications may be judged in one turn. */
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

/* What the subscriber refuses, whoever published just that is told. */
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

/* The answer comes later: all publications whose effects it judges wait for it, for a time. */
void
udpai_local_update_defer(udpai_local_update *update)
{
    udpai_node *node = update->owner;
    if (update->is_deferred)
        return;
    update->is_deferred = true;
    udpai_list_append(&node->updates, &update->in_node);
    UDPAI_LIST_FOREACH (at, &node->undelivered) {
        udpai_pending_publication *pending = UDPAI_LIST_ENTRY(at, udpai_pending_publication, node);
        if (!udpai_vector_push(&update->publications, pending))
            continue;
        pending->n_deferred++;
        if (!udpai_timer_is_set(&pending->deadline))
            udpai_timer_set(node->context.wheel, &pending->deadline,
                            udpai_context_now(&node->context) +
                                node->context.timing.answer_timeout_ms);
    }
}

void
udpai_local_update_done(udpai_local_update *update)
{
    update->is_done = true;
    if (update->is_being_told)
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

/* A pending goes: nobody may come back to it. */
void
udpai_local_updates_forget(udpai_node *node, const udpai_pending_publication *pending)
{
    UDPAI_LIST_FOREACH (at, &node->updates) {
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

/* Who asks for a name that a pattern matches is found among all. */
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
new_update(udpai_node *node)
{
    udpai_local_update *update = udpai_alloc(sizeof(*update));
    if (update) {
        update->owner = node;
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
tell_pendings(udpai_node *node, const udpai_local_update *update)
{
    refusals refused;
    if (!update->n_refused)
        return;
    refusals_begin(&refused, update);
    UDPAI_LIST_FOREACH (at, &node->undelivered)
        pass_refusals(&refused, UDPAI_LIST_ENTRY(at, udpai_pending_publication, node));
    udpai_map_done(&refused.by_name);
}

static void
give(udpai_local_subscription *subscription, udpai_local_update *update)
{
    udpai_node *node = subscription->owner;
    update->is_being_told = true;
    if (update->changes.n)
        subscription->ops.update(subscription->ops.userdata, update);
    update->is_being_told = false;
    if (update->is_deferred) {
        if (update->is_done)
            udpai_local_update_done(update);
        return;
    }
    tell_pendings(node, update);
    free_update(update);
}

/* Not of what was never here: that it is said to be gone is for other nodes. */
static bool
is_news(const udpai_change *change)
{
    bool was_here = change->kind != UDPAI_CHANGE_REMOVE || change->resource != change->said;
    return change->kind != UDPAI_CHANGE_REFRESH && was_here;
}

void
udpai_locals_tell(udpai_node *node, const udpai_change_set *changes)
{
    UDPAI_LIST_FOREACH_SAFE (at, &node->locals) {
        udpai_local_subscription *subscription =
            UDPAI_LIST_ENTRY(at, udpai_local_subscription, node);
        if (subscription->is_new)
            continue; /* it will see all there is */
        udpai_local_update *update = new_update(node);
        for (size_t i = 0; update && i < udpai_change_set_size(changes); i++) {
            const udpai_change *change = udpai_change_set_at(changes, i);
            if (is_news(change) && selects(subscription, change->resource))
                (void)add_change(update, change->resource, change->kind == UDPAI_CHANGE_REMOVE);
        }
        if (update)
            give(subscription, update);
    }
}

void
udpai_locals_tell_event(udpai_node *node, udpa_resource *event)
{
    UDPAI_LIST_FOREACH_SAFE (at, &node->locals) {
        udpai_local_subscription *subscription =
            UDPAI_LIST_ENTRY(at, udpai_local_subscription, node);
        udpai_local_update *update = selects(subscription, event) ? new_update(node) : NULL;
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
    const udpai_node *node = newcomer->subscription->owner;
    return !selects(newcomer->subscription, resource) ||
           add_change(newcomer->update,
                      node->health_overlay ? udpai_health_overlay_of(node->health_overlay, resource)
                                           : resource,
                      false);
}

void
udpai_locals_tell_new(udpai_node *node)
{
    UDPAI_LIST_FOREACH_SAFE (at, &node->locals) {
        udpai_local_subscription *subscription =
            UDPAI_LIST_ENTRY(at, udpai_local_subscription, node);
        struct newcomer newcomer = {subscription, NULL};
        if (!subscription->is_new || !(newcomer.update = new_update(node)))
            continue;
        subscription->is_new = false;
        /* What the others were told last: what has changed since, all are told next. */
        udpai_store_visit_told(node->context.store, udpai_bytes_view(subscription->type),
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
is_name_settled(const udpai_node *node, udpai_str type, udpai_str name)
{
    const udpai_str nobody = {0};
    bool is_there = false;
    udpai_store_visit_name(node->context.store, type, name, note_effective, &is_there);
    return (is_there
                ? udpai_settled_query_held(node->settled, type, name, nobody)
                : udpai_settled_query_name(node->settled, type, name, nobody)) == UDPAI_SETTLED;
}

static bool
is_settled(const udpai_node *node, const udpai_local_subscription *subscription)
{
    udpai_str type = udpai_bytes_view(subscription->type), nobody = {0};
    if (subscription->names.n == 0)
        return udpai_settled_query(node->settled, type, udpai_bytes_view(subscription->prefix),
                                   nobody) == UDPAI_SETTLED;
    for (size_t i = 0; i < subscription->names.n; i++)
        if (!is_name_settled(node, type, udpai_bytes_view(subscription->names.items[i])))
            return false;
    return true;
}

void
udpai_locals_tell_complete(udpai_node *node)
{
    UDPAI_LIST_FOREACH_SAFE (at, &node->locals) {
        udpai_local_subscription *subscription =
            UDPAI_LIST_ENTRY(at, udpai_local_subscription, node);
        if (subscription->is_new)
            continue;
        bool was_complete = subscription->is_complete;
        subscription->is_complete = is_settled(node, subscription);
        if (subscription->is_complete && !was_complete && subscription->ops.complete)
            subscription->ops.complete(subscription->ops.userdata);
    }
}

/* ---- coming and going ---- */

/* Tells the providers what the subscription wants, or no longer wants. */
static void
change_interest(udpai_node *node, const udpai_local_subscription *subscription, bool wanted)
{
    udpai_str type = udpai_bytes_view(subscription->type);
    void (*change)(udpai_node *, udpai_str, udpai_str, bool) =
        subscription->reach == UDPAI_REACH_CLIENTS ? udpai_reports_want_direct
                                                   : udpai_interest_want;
    if (subscription->reach == UDPAI_REACH_NOBODY)
        return;
    if (subscription->names.n == 0) {
        char room[UDPA_NAME_MAX + 1];
        change(node, type, udpai_wildcard_text(room, udpai_bytes_view(subscription->prefix)),
               wanted);
    }
    for (size_t i = 0; i < subscription->names.n; i++)
        change(node, type, udpai_bytes_view(subscription->names.items[i]), wanted);
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
udpai_node_subscribe(udpai_node *node,
                     const udpai_selection *selection,
                     const udpai_local_ops *ops,
                     udpai_local_subscription **ret_subscription)
{
    if (selection->prefix.len > UDPA_NAME_MAX || selection->type_url.len > UDPAI_TYPE_URL_MAX)
        return UDPA_ERR_INVAL;
    udpai_local_subscription *subscription = udpai_alloc(sizeof(*subscription));
    if (!subscription)
        return UDPA_ERR_NOMEM;
    subscription->owner = node;
    subscription->ops = *ops;
    subscription->is_new = true;
    subscription->reach = selection->reach;
    udpai_list_init(&subscription->node);
    udpa_err err = copy_selection(subscription, selection);
    if (err != UDPA_OK) {
        free_subscription(subscription);
        return err;
    }
    udpai_list_append(&node->locals, &subscription->node);
    change_interest(node, subscription, true);
    *ret_subscription = subscription;
    return UDPA_OK;
}

void
udpai_node_unsubscribe(udpai_node *node, udpai_local_subscription *subscription)
{
    change_interest(node, subscription, false);
    free_subscription(subscription);
}

bool
udpai_local_is_complete(const udpai_local_subscription *subscription)
{
    return subscription->is_complete;
}

void
udpai_locals_free(udpai_node *node)
{
    while (!udpai_list_empty(&node->locals))
        free_subscription(UDPAI_LIST_ENTRY(node->locals.next, udpai_local_subscription, node));
    while (!udpai_list_empty(&node->updates))
        free_update(UDPAI_LIST_ENTRY(node->updates.next, udpai_local_update, in_node));
}
