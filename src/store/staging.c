/* SPDX-License-Identifier: Apache-2.0 */
#include "store/staging.h"
#include "store/audit.h"

#include "base/alloc.h"
#include "model/client_type.h"
#include "store/store_internal.h"

typedef enum staged_kind {
    STAGED_PUT,
    STAGED_WITHDRAW,
    STAGED_LEAVE,
    STAGED_END
} staged_kind;

typedef struct staged {
    staged_kind kind;
    udpai_origin *origin;    /* a reference; END: NULL */
    udpa_resource *resource; /* PUT, END: it; else what is taken away */
    udpa_resource *before;   /* PUT: what it takes the place of; NULL: of nothing */
    uint64_t deadline_ms;    /* PUT */
    udpa_bytes *from_node;   /* END; NULL: of no node */
    udpai_staged_use use;    /* how it changes what is used, … */
    bool is_counted;         /* … while this is so */
    bool is_anew;            /* PUT: what was there goes first, and the engine is sent that again */
} staged;

/* What is staged to go: what an origin has of a name of a type, or, without an origin, all that the
 * authority's removal ends. */
typedef struct leaving_name {
    udpa_bytes *key;
    uint64_t generation; /* of the removal */
} leaving_name;

struct udpai_staging {
    udpai_store *store;
    UDPAI_VECTOR(staged) all;
    size_t n_applied;
    udpai_map leaving;
    bool is_trial;
    bool is_incomplete; /* without memory: it must not be carried out */
    bool has_unchanged;
};

static udpai_str
leaving_key(const void *item)
{
    return udpai_bytes_view(((const leaving_name *)item)->key);
}

udpai_staging *
udpai_staging_new(udpai_store *store)
{
    udpai_staging *staging = udpai_alloc(sizeof(*staging));
    if (!staging)
        return NULL;
    staging->store = store;
    udpai_map_init(&staging->leaving, leaving_key);
    return staging;
}

udpai_staging *
udpai_staging_new_trial(udpai_store *store)
{
    udpai_staging *staging = udpai_staging_new(store);
    if (staging)
        staging->is_trial = true;
    return staging;
}

static void
uncount(udpai_store *store, staged *one)
{
    if (one->is_counted)
        udpai_store_unstage(store, one->origin, one->resource, &one->use);
    one->is_counted = false;
}

static void
staged_done(udpai_store *store, staged *one)
{
    udpa_resource_unref(one->resource);
    udpa_resource_unref(one->before);
    udpa_bytes_unref(one->from_node);
    udpai_origin_unref(store, one->origin);
}

static void
forget_leaving(udpai_staging *staging)
{
    size_t at = 0;
    leaving_name *one;
    while ((one = udpai_map_next(&staging->leaving, &at))) {
        udpa_bytes_unref(one->key);
        udpai_free(one);
    }
    udpai_map_done(&staging->leaving);
}

udpai_staging *
udpai_staging_free(udpai_staging *staging)
{
    if (!staging)
        return NULL;
    for (size_t i = 0; i < staging->all.n; i++) {
        uncount(staging->store, &staging->all.items[i]);
        staged_done(staging->store, &staging->all.items[i]);
    }
    udpai_vector_done(&staging->all);
    forget_leaving(staging);
    udpai_free(staging);
    return NULL;
}

bool
udpai_staging_is_empty(const udpai_staging *staging)
{
    return staging->all.n == 0;
}

void
udpai_staging_note_unchanged(udpai_staging *staging)
{
    if (staging)
        staging->has_unchanged = true;
}

bool
udpai_staging_has_unchanged(const udpai_staging *staging)
{
    return staging->has_unchanged || udpai_staging_is_empty(staging);
}

bool
udpai_staging_is_scarce(const udpai_staging *staging, unsigned n_replicas)
{
    for (size_t i = 0; i < staging->all.n; i++) {
        const staged *one = &staging->all.items[i];
        bool grows = one->kind == STAGED_PUT && (one->use.n > 0 || one->use.bytes > 0);
        if (grows && udpai_store_is_scarce(staging->store, one->origin, one->resource, n_replicas))
            return true;
    }
    return false;
}

udpai_str
udpai_staging_next_name(const udpai_staging *staging, size_t *position)
{
    if (*position == staging->all.n)
        return (udpai_str){0};
    return udpai_resource_name(staging->all.items[(*position)++].resource);
}

/* Else it is done at once; staging NULL: all is. */
static bool
is_staged(const udpai_staging *staging, const udpai_origin *origin, udpai_str type_url)
{
    return staging && (staging->is_trial ||
                       (udpai_origin_is_durable(origin) && !udpai_type_is_client(type_url)));
}

/* ---- what is staged to go ---- */

static udpa_bytes *
key_of(const udpai_origin *origin, udpai_str type_url, udpai_str name)
{
    const udpai_str end = {"", 1};
    udpai_strbuf key = {0};
    if (origin)
        udpai_strbuf_str(&key, udpai_origin_key(origin));
    udpai_strbuf_str(&key, end);
    udpai_strbuf_str(&key, type_url);
    udpai_strbuf_str(&key, end);
    udpai_strbuf_str(&key, name);
    return udpai_bytes_of(&key);
}

/* NULL: it does not go. */
static leaving_name *
find_leaving(udpai_staging *staging, const udpai_origin *origin, udpai_str type_url, udpai_str name)
{
    if (!staging || staging->leaving.n == 0)
        return NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = key_of(origin, type_url, name);
    if (!key)
        staging->is_incomplete = true;
    return key ? udpai_map_get(&staging->leaving, udpai_bytes_view(key)) : NULL;
}

/* One that is not there. NULL without memory. */
static leaving_name *
add_leaving(udpai_staging *staging, const udpai_origin *origin, udpai_str type_url, udpai_str name)
{
    leaving_name *one = udpai_alloc(sizeof(*one));
    if (one && (one->key = key_of(origin, type_url, name)) && udpai_map_add(&staging->leaving, one))
        return one;
    if (one)
        udpa_bytes_unref(one->key);
    udpai_free(one);
    return NULL;
}

bool
udpai_staging_has_failed(const udpai_staging *staging)
{
    return staging->is_incomplete;
}

bool
udpai_staging_takes(udpai_staging *staging,
                    const udpai_origin *origin,
                    udpai_str type_url,
                    udpai_str name)
{
    return find_leaving(staging, origin, type_url, name) != NULL;
}

uint64_t
udpai_staging_removal_generation(udpai_staging *staging, udpai_str type_url, udpai_str name)
{
    const leaving_name *one = find_leaving(staging, NULL, type_url, name);
    return one ? one->generation : 0;
}

/* ---- deciding ---- */

udpa_err
udpai_staging_put(udpai_staging *staging,
                  udpai_store *store,
                  udpai_origin *origin,
                  udpa_resource *resource,
                  uint64_t deadline_ms,
                  udpa_error **ret_error)
{
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    if (!is_staged(staging, origin, type_url))
        return udpai_store_put(store, origin, resource, deadline_ms, ret_error);
    bool goes = udpai_staging_takes(staging, origin, type_url, name);
    const udpai_stored *stored =
        goes ? NULL : udpai_store_find_stored(store, origin, type_url, name);
    if (stored && udpai_store_is_outdated(stored, resource)) {
        staging->has_unchanged = true;
        return UDPA_OK;
    }
    if (!udpai_vector_reserve(&staging->all, 1))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    staged one = {
        .kind = STAGED_PUT,
        .deadline_ms = deadline_ms,
        .is_counted = true,
        .is_anew = goes || udpai_staging_removal_generation(staging, type_url, name),
    };
    udpa_resource *before = stored ? stored->resource : NULL;
    udpa_err err = udpai_store_stage_put(store, origin, resource, before, &one.use, ret_error);
    if (err != UDPA_OK)
        return err;
    one.origin = udpai_origin_ref(origin);
    one.resource = udpa_resource_ref(resource);
    one.before = before ? udpa_resource_ref(before) : NULL;
    staging->all.items[staging->all.n++] = one;
    return UDPA_OK;
}

/* Nothing is taken away twice. */
static void
take_away(udpai_staging *staging, const udpai_stored *stored, staged_kind kind)
{
    if (!stored)
        return;
    udpai_str type_url = udpai_store_type_url(stored->entry->type);
    udpai_str name = udpai_store_entry_name(stored->entry);
    if (udpai_staging_takes(staging, stored->origin, type_url, name))
        return;
    if (!udpai_vector_reserve(&staging->all, 1) ||
        !add_leaving(staging, stored->origin, type_url, name)) {
        staging->is_incomplete = true;
        return;
    }
    staged one = {
        .kind = kind,
        .origin = udpai_origin_ref(stored->origin),
        .resource = udpa_resource_ref(stored->resource),
        .is_counted = true,
    };
    udpai_store_stage_removal(staging->store, one.origin, one.resource, &one.use);
    staging->all.items[staging->all.n++] = one;
}

void
udpai_staging_withdraw(udpai_staging *staging,
                       udpai_store *store,
                       udpai_origin *origin,
                       udpai_str type_url,
                       udpai_str name)
{
    if (is_staged(staging, origin, type_url))
        take_away(staging, udpai_store_find_stored(store, origin, type_url, name), STAGED_WITHDRAW);
    else
        udpai_store_withdraw(store, origin, type_url, name);
}

void
udpai_staging_leave(udpai_staging *staging,
                    udpai_store *store,
                    udpai_origin *origin,
                    udpai_str type_url,
                    udpai_str name)
{
    if (is_staged(staging, origin, type_url))
        take_away(staging, udpai_store_find_stored(store, origin, type_url, name), STAGED_LEAVE);
    else
        udpai_store_leave(store, origin, type_url, name);
}

struct leaving {
    udpai_staging *staging;
    udpai_store *store;
    udpai_origin *origin;
    const udpai_store_scope *scope;
};

/* What is staged stays until it is applied. */
static bool
stays(void *userdata, const udpa_resource *resource)
{
    const struct leaving *leaving = userdata;
    const udpai_store_scope *scope = leaving->scope;
    udpai_str type_url = udpai_resource_type_url(resource);
    if (scope->keep && scope->keep(scope->userdata, resource))
        return true;
    if (!is_staged(leaving->staging, leaving->origin, type_url))
        return false;
    udpai_staging_leave(leaving->staging, leaving->store, leaving->origin, type_url,
                        udpai_resource_name(resource));
    return true;
}

void
udpai_staging_leave_all(udpai_staging *staging,
                        udpai_store *store,
                        udpai_origin *origin,
                        const udpai_store_scope *scope)
{
    struct leaving leaving = {staging, store, origin, scope};
    const udpai_store_scope staged_scope = {scope->type_url, scope->prefix, stays, &leaving};
    udpai_store_leave_all(store, origin, staging ? &staged_scope : scope);
}

udpa_err
udpai_staging_end(udpai_staging *staging,
                  udpai_store *store,
                  udpa_resource *removal,
                  udpa_bytes *from_node)
{
    bool is_kept = store->keeps_removals && !udpai_type_is_client(udpai_resource_type_url(removal));
    if (!staging || (!is_kept && !staging->is_trial))
        return udpai_store_end(store, removal, from_node);
    udpai_str type_url = udpai_resource_type_url(removal), name = udpai_resource_name(removal);
    leaving_name *removed = find_leaving(staging, NULL, type_url, name);
    if (!removed)
        removed = add_leaving(staging, NULL, type_url, name);
    if (!removed || !udpai_vector_reserve(&staging->all, 1)) {
        staging->is_incomplete = true;
        return UDPA_ERR_NOMEM;
    }
    if (removed->generation < udpa_resource_generation(removal))
        removed->generation = udpa_resource_generation(removal);
    staged one = {
        .kind = STAGED_END,
        .resource = udpa_resource_ref(removal),
        .from_node = udpa_bytes_ref(from_node),
    };
    staging->all.items[staging->all.n++] = one;
    return UDPA_OK;
}

/* ---- what the engine keeps ---- */

/* As a refresh, or what a publisher publishes again when it comes back. */
static bool
is_renewal(const staged *one)
{
    return one->before && !one->is_anew &&
           udpai_str_eq(udpai_resource_version(one->before),
                        udpai_resource_version(one->resource)) &&
           udpai_str_eq(udpai_resource_authority(one->before),
                        udpai_resource_authority(one->resource)) &&
           udpai_resource_same_aliases(one->before, one->resource) &&
           udpai_resource_same_payload(one->before, one->resource);
}

static udpa_err
add_put(const staged *one, udpai_durable_batch *batch)
{
    return udpai_durable_batch_add(batch, &(udpai_durable_op){
                                              .kind = UDPAI_DURABLE_PUT,
                                              .origin = one->origin->key,
                                              .resource = one->resource,
                                              .deadline_ms = one->deadline_ms,
                                              .is_same = is_renewal(one),
                                              .identity = one->origin->identity,
                                          });
}

static udpa_err
add_delete(const udpai_origin *origin, const udpa_resource *resource, udpai_durable_batch *batch)
{
    udpai_str text = udpai_resource_name(resource);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *name = NULL;
    udpa_err err = udpa_bytes_new(&name, text.data, text.len);
    if (err != UDPA_OK)
        return err;
    return udpai_durable_batch_add(batch, &(udpai_durable_op){
                                              .kind = UDPAI_DURABLE_DELETE,
                                              .origin = origin->key,
                                              .type = udpai_resource_type(resource),
                                              .name = name,
                                          });
}

/* What it ends here would be back after a restart, when the removal is not remembered any more. */
static udpa_err
add_end(const udpai_store *store, const staged *one, udpai_durable_batch *batch)
{
    udpa_err err = udpai_store_add_removal(store, one->resource, batch);
    const udpai_store_entry *entry = udpai_store_find_entry(
        store, udpai_resource_type_url(one->resource), udpai_resource_name(one->resource));
    const udpai_floor floor = {.seen = one->resource, .is_removal = true};
    size_t at = 0;
    const udpai_stored *stored;
    while (err == UDPA_OK && entry && (stored = udpai_store_next(entry, &at)))
        if (udpai_origin_is_durable(stored->origin) && udpai_floor_ends(&floor, stored->resource))
            err = add_delete(stored->origin, stored->resource, batch);
    return err;
}

static udpa_err
add_all(const udpai_staging *staging, udpai_durable_batch *batch, bool has_uncached)
{
    udpa_err err = staging->is_incomplete ? UDPA_ERR_NOMEM : UDPA_OK;
    size_t n_before = batch->ops.n;
    for (size_t i = 0; i < staging->all.n && err == UDPA_OK; i++) {
        const staged *one = &staging->all.items[i];
        if (one->kind == STAGED_END)
            err = add_end(staging->store, one, batch);
        else if (one->kind == STAGED_PUT &&
                 (has_uncached || !udpai_resource_do_not_cache(one->resource)))
            err = add_put(one, batch);
        else
            err = add_delete(one->origin, one->resource, batch);
    }
    if (err != UDPA_OK)
        udpai_durable_batch_cut(batch, n_before);
    return err;
}

udpa_err
udpai_staging_commit(const udpai_staging *staging, udpai_durable_batch *batch)
{
    return add_all(staging, batch, false);
}

udpa_err
udpai_staging_propose(const udpai_staging *staging, udpai_durable_batch *batch)
{
    return add_all(staging, batch, true);
}

/* ---- applying ---- */

/* Has the engine what the store will have? Not if something was done to the name meanwhile. */
static bool
is_as_before(const udpai_store *store, const staged *one)
{
    const udpai_stored *stored =
        udpai_store_find_stored(store, one->origin, udpai_resource_type_url(one->resource),
                                udpai_resource_name(one->resource));
    return (stored ? stored->resource : NULL) == one->before;
}

static udpa_err
apply_put(udpai_store *store, const staged *one)
{
    bool is_kept_already = !one->is_anew && is_as_before(store, one);
    store->applying = is_kept_already ? UDPAI_APPLYING_KEPT : UDPAI_APPLYING_ANEW;
    udpa_err err = udpai_store_put(store, one->origin, one->resource, one->deadline_ms, NULL);
    store->applying = UDPAI_APPLYING_NONE;
    return err;
}

/* The use goes first: what is put, or taken away, is counted by itself. */
static udpa_err
apply_one(udpai_store *store, staged *one)
{
    udpai_str type_url = udpai_resource_type_url(one->resource);
    udpai_str name = udpai_resource_name(one->resource);
    if (one->kind == STAGED_END)
        return udpai_store_end(store, one->resource, one->from_node);
    uncount(store, one);
    if (one->kind == STAGED_PUT)
        return apply_put(store, one);
    if (one->kind == STAGED_LEAVE)
        udpai_store_leave(store, one->origin, type_url, name);
    else
        udpai_store_withdraw(store, one->origin, type_url, name);
    return UDPA_OK;
}

udpa_err
udpai_staging_apply(udpai_staging *staging)
{
    udpa_err err = UDPA_OK;
    udpai_cause before = udpai_store_set_cause(staging->store, UDPAI_CAUSE_STATED);
    while (staging->n_applied < staging->all.n && err == UDPA_OK) {
        err = apply_one(staging->store, &staging->all.items[staging->n_applied]);
        staging->n_applied += err == UDPA_OK;
    }
    (void)udpai_store_set_cause(staging->store, before);
    return err;
}
