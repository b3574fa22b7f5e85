/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that wait until their names are thawed. What is served meanwhile is what was reported
 * last; after a restart it is what was kept as that. */
#include "store/freeze.h"

#include "model/removal.h"
#include "store/store_internal.h"

#define KEY_SERVED "frozen:served"
#define KEY_NOTHING "frozen:nothing" /* was served */

void
udpai_store_set_frozen(udpai_store *store, udpai_store_frozen_fn frozen, void *userdata)
{
    store->frozen = frozen;
    store->frozen_userdata = userdata;
}

void
udpai_store_thaw(udpai_store *store)
{
    udpai_list_splice(&store->marked, &store->waiting);
}

bool
udpai_store_is_frozen_key(udpai_str origin_key)
{
    return udpai_str_eq(origin_key, UDPAI_STR(KEY_SERVED)) ||
           udpai_str_eq(origin_key, UDPAI_STR(KEY_NOTHING));
}

/* It is none that contributes: what it has only stays. NULL without memory. */
static udpai_origin *
origin_of(udpai_store *store, bool is_served)
{
    udpai_origin *origin =
        udpai_store_origin(store, is_served ? UDPAI_STR(KEY_SERVED) : UDPAI_STR(KEY_NOTHING));
    if (origin)
        udpai_origin_set_rank(store, origin, UDPAI_ORIGIN_NODE, 0);
    return origin;
}

static bool
is_frozen(const udpai_store *store, const udpai_store_entry *entry)
{
    return store->frozen && store->frozen(store->frozen_userdata, udpai_store_type_url(entry->type),
                                          udpai_store_entry_name(entry));
}

/* ---- holding one, and letting it go ---- */

/* What is served, or NULL, while this waits. What is not to be on the disk is not kept here either:
 * after a restart nothing is known of it. */
static void
keep(udpai_store *store, udpa_resource *served, const udpa_resource *coming)
{
    const udpa_resource *like = served ? served : coming;
    if (udpai_resource_do_not_cache(like))
        return;
    udpai_origin *origin = origin_of(store, served != NULL);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *kept = served ? udpa_resource_ref(served)
                                 : udpai_removal_of(coming, udpa_resource_generation(coming));
    if (!origin || !kept)
        store->durable_incomplete = true;
    else
        udpai_store_add_durable(store, &(udpai_durable_op){
                                           .kind = UDPAI_DURABLE_PUT,
                                           .origin = origin->key,
                                           .resource = kept,
                                       });
}

static void
unkeep(udpai_store *store, const udpai_store_entry *entry, bool was_served)
{
    udpai_str text = udpai_store_entry_name(entry);
    udpai_origin *origin = origin_of(store, was_served);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *name = NULL;
    if (!origin || udpa_bytes_new(&name, text.data, text.len) != UDPA_OK) {
        store->durable_incomplete = true;
        return;
    }
    udpai_store_add_durable(store, &(udpai_durable_op){
                                       .kind = UDPAI_DURABLE_DELETE,
                                       .origin = origin->key,
                                       .type = entry->type->url,
                                       .name = name,
                                       .cause = UDPAI_CAUSE_STATED,
                                   });
}

static void
note_frozen(udpai_store *store, udpai_store_entry *entry)
{
    store->n_frozen += !entry->is_frozen;
    entry->is_frozen = true;
}

static void
let_go(udpai_store *store, udpai_store_entry *entry)
{
    udpa_resource *restored = entry->more ? UDPAI_TAKE(entry->more->restored) : NULL;
    unkeep(store, entry, entry->is_reported || restored);
    udpa_resource_unref(restored);
    entry->is_frozen = false;
    store->n_frozen--;
}

/* What is reported is accounted for, though nobody has it any more. */
static bool
hold(udpai_store *store, udpai_store_entry *entry)
{
    return !entry->is_reported || udpai_store_hold_reported(store, entry) == UDPA_OK;
}

/* Is this a publication, or the end of one, and nothing else was reported? */
static bool
passes(const udpai_store_entry *entry, const udpai_stored *now)
{
    return (!entry->is_reported || entry->reported_by->rank == UDPAI_ORIGIN_PUBLISHER) &&
           (!now || now->origin->rank == UDPAI_ORIGIN_PUBLISHER);
}

/* What was kept is served again, before anything is held. */
static bool
begins(const udpai_store *store, const udpai_store_entry *entry)
{
    return !entry->is_reported && !store->has_reported;
}

/* It was not kept, so it is not known whether it was served. */
static bool
comes_back(const udpai_store_entry *entry, const udpai_stored *now)
{
    return !entry->is_reported && now && udpai_resource_do_not_cache(now->resource);
}

static bool
must_wait(const udpai_store *store, const udpai_store_entry *entry)
{
    if (!is_frozen(store, entry))
        return false;
    const udpai_stored *now = udpai_store_select(entry);
    if (!udpai_store_would_change(entry, now))
        return false;
    return entry->is_frozen ||
           !(begins(store, entry) || comes_back(entry, now) || passes(entry, now));
}

/* Is what was kept not reported yet? */
static bool
is_restored(const udpai_store_entry *entry)
{
    return entry->more && entry->more->restored;
}

static void
sift(udpai_store *store, udpai_store_entry *entry)
{
    udpai_list_remove(&entry->dirty);
    bool waits = must_wait(store, entry) && hold(store, entry);
    if (waits && !entry->is_frozen) {
        const udpai_stored *now = udpai_store_select(entry);
        keep(store, udpai_store_reported(entry), now ? now->resource : NULL);
        note_frozen(store, entry);
    } else if (!waits && entry->is_frozen && !(is_restored(entry) && is_frozen(store, entry))) {
        let_go(store, entry);
    }
    bool ends = entry->is_reported && udpai_store_reported_deadline(entry);
    bool is_quiet = waits && !is_restored(entry) && !ends;
    udpai_list_append(is_quiet ? &store->waiting : &store->dirty, &entry->dirty);
}

void
udpai_store_hold_frozen(udpai_store *store)
{
    if (!store->frozen && store->n_frozen == 0) {
        udpai_list_splice(&store->dirty, &store->marked);
        return;
    }
    while (!udpai_list_empty(&store->marked))
        sift(store, UDPAI_LIST_ENTRY(store->marked.next, udpai_store_entry, dirty));
}

/* ---- after a restart ---- */

static void
set_restored(udpai_store_more *more, udpa_resource *resource)
{
    udpa_resource_ref(resource);
    udpa_resource_unref(more->restored);
    more->restored = resource;
}

/* What was loaded is what was served, until something else comes before it could be reported. */
void
udpai_store_before_change(udpai_store *store, udpai_store_entry *entry, const udpa_resource *coming)
{
    if (!store->frozen || store->has_reported || store->loading || entry->is_frozen ||
        entry->is_reported || !is_frozen(store, entry))
        return;
    const udpai_stored *loaded = udpai_store_select(entry);
    udpa_resource *served = loaded ? loaded->resource : NULL;
    const udpa_resource *like = coming ? coming : served;
    if (!like || udpai_resource_do_not_cache(like) ||
        (served && coming && udpai_resource_same_payload(served, coming)) ||
        (served && !udpai_store_more_of(entry)))
        return;
    keep(store, served, coming);
    note_frozen(store, entry);
    if (served)
        set_restored(entry->more, served);
}

/* Is it a publisher's, before what is none? */
static bool
uncovers_other(const udpai_stored *stored)
{
    size_t at = 0;
    const udpai_stored *other;
    bool is_any = false;
    while ((other = udpai_store_next(stored->entry, &at)))
        if (other != stored && other->origin->rank == UDPAI_ORIGIN_PUBLISHER)
            return false;
        else
            is_any |= other != stored;
    return is_any && udpai_store_select(stored->entry) == stored;
}

void
udpai_store_before_end(udpai_store *store, const udpai_stored *stored)
{
    if (!store->has_reported &&
        (stored->origin->rank != UDPAI_ORIGIN_PUBLISHER || uncovers_other(stored)))
        udpai_store_before_change(store, stored->entry, NULL);
}

udpa_err
udpai_store_restore_frozen(udpai_store *store, udpai_str origin_key, udpa_resource *resource)
{
    udpai_store_entry *entry = udpai_store_make_entry(store, resource);
    bool is_served = udpai_str_eq(origin_key, UDPAI_STR(KEY_SERVED));
    if (!entry)
        return UDPA_ERR_NOMEM;
    if (is_served && (!udpai_store_more_of(entry) || !origin_of(store, true))) {
        udpai_store_release_entry(store, entry);
        return UDPA_ERR_NOMEM;
    }
    note_frozen(store, entry);
    if (is_served)
        set_restored(entry->more, resource);
    udpai_store_mark_dirty(store, entry);
    return UDPA_OK;
}

void
udpai_store_forget_frozen(udpai_store *store)
{
    store->frozen = NULL;
    udpai_list_splice(&store->marked, &store->dirty);
    udpai_list_splice(&store->marked, &store->waiting);
    UDPAI_LIST_FOREACH (node, &store->marked)
        UDPAI_LIST_ENTRY(node, udpai_store_entry, dirty)->is_frozen = false;
    store->n_frozen = 0;
}

udpai_origin *
udpai_store_frozen_origin(udpai_store *store)
{
    return origin_of(store, true);
}

/* ---- what waits ---- */

static bool
visit_list(const udpai_list *list, udpai_frozen_fn visit, void *userdata)
{
    UDPAI_LIST_FOREACH (node, list) {
        const udpai_store_entry *entry = UDPAI_LIST_ENTRY(node, udpai_store_entry, dirty);
        if (!entry->is_frozen)
            continue;
        const udpai_stored *now = udpai_store_select(entry);
        const udpai_frozen_change change = {
            .type_url = udpai_store_type_url(entry->type),
            .name = udpai_store_entry_name(entry),
            .served = is_restored(entry) ? entry->more->restored : udpai_store_reported(entry),
            .waiting = now ? now->resource : NULL,
        };
        if (!visit(userdata, &change))
            return false;
    }
    return true;
}

void
udpai_store_visit_frozen(const udpai_store *store, udpai_frozen_fn visit, void *userdata)
{
    (void)(visit_list(&store->waiting, visit, userdata) &&
           visit_list(&store->dirty, visit, userdata) &&
           visit_list(&store->marked, visit, userdata));
}

size_t
udpai_store_n_frozen(const udpai_store *store)
{
    return store->n_frozen;
}

bool
udpai_store_waits(const udpai_store *store, udpai_str type_url, udpai_str name)
{
    const udpai_store_entry *entry = udpai_store_find_entry(store, type_url, name);
    return entry && entry->is_frozen;
}
