/* SPDX-License-Identifier: Apache-2.0 */
/* What the server has sent, so that only what has changed is handed up, and that the next stream
 * can state what is held. */
#include "xds/upstream_internal.h"

#include "base/alloc.h"

#define EXPIRY_MS 1000 /* at least so long between two looks */

udpai_str
udpai_upstream_held_key(const void *item)
{
    return udpai_bytes_view(((const udpai_upstream_held *)item)->name);
}

udpai_upstream_held *
udpai_upstream_hold(udpai_upstream_type *type, udpai_str name, size_t max_held)
{
    udpai_upstream_held *held = udpai_map_get(&type->held, name);
    if (held || type->held.n >= max_held)
        return held;
    held = udpai_alloc(sizeof(*held));
    if (!held)
        return NULL;
    if (udpa_bytes_new(&held->name, name.data, name.len) == UDPA_OK &&
        udpai_map_add(&type->held, held))
        return held;
    udpai_upstream_held_free(held);
    return NULL;
}

void
udpai_upstream_held_free(udpai_upstream_held *held)
{
    udpa_bytes_unref(held->name);
    udpa_bytes_unref(held->version);
    udpa_resource_unref(held->resource);
    udpai_free(held);
}

void
udpai_upstream_held_free_all(udpai_map *map)
{
    size_t at = 0;
    udpai_upstream_held *held;
    while ((held = udpai_map_next(map, &at)))
        udpai_upstream_held_free(held);
    udpai_map_done(map);
}

/* ---- letting go ---- */

udpa_err
udpai_upstream_hide(udpai_upstream_held *held, udpai_publication *publication)
{
    if (!held->is_published && !held->is_vouched)
        return UDPA_OK;
    held->is_published = held->is_vouched = false;
    return udpai_publication_remove(publication, udpai_bytes_view(held->name));
}

udpa_err
udpai_upstream_let_go(udpai_upstream_type *type,
                      udpai_upstream_held *held,
                      udpai_publication *publication)
{
    udpa_err err = UDPA_OK;
    if (publication)
        err = udpai_upstream_hide(held, publication);
    if (err == UDPA_OK)
        err = udpai_upstream_refer(type, udpai_upstream_known(held), NULL);
    udpai_map_remove(&type->held, udpai_bytes_view(held->name));
    udpai_upstream_held_free(held);
    return err;
}

udpa_err
udpai_upstream_let_go_of(udpai_upstream_type *type,
                         udpai_upstream_held_fn picks,
                         const void *userdata,
                         udpai_publication *publication)
{
    UDPAI_VECTOR(udpai_upstream_held *) picked = {0};
    udpa_err err = UDPA_OK;
    size_t at = 0;
    udpai_upstream_held *held;
    while (err == UDPA_OK && (held = udpai_map_next(&type->held, &at)))
        if (picks(held, userdata) && !udpai_vector_push(&picked, held))
            err = UDPA_ERR_NOMEM;
    for (size_t i = 0; i < picked.n && err == UDPA_OK; i++)
        err = udpai_upstream_let_go(type, picked.items[i], publication);
    udpai_vector_done(&picked);
    return err;
}

static bool
is_unrequested(const udpai_upstream_held *held, const void *what)
{
    const udpai_upstream_type *type = what;
    udpai_str name = udpai_bytes_view(held->name);
    if (udpai_upstream_has_wildcard(type) || udpai_upstream_requests_name(type, name))
        return false;
    const udpa_resource *resource = held->resource;
    bool is_covered = false;
    for (size_t i = 0; resource && i < udpa_resource_n_aliases(resource) && !is_covered; i++) {
        udpai_str alias = udpai_resource_alias(resource, i);
        is_covered = udpai_upstream_covers(type, name, &alias, 1);
    }
    return !is_covered && !udpai_upstream_compares_no_more(type);
}

/* The loop side gives it up itself, but may have to take in yet what was handed up before: what
 * ends that must come behind it. */
udpa_err
udpai_upstream_let_go_if_unrequested(udpai_upstream_type *type,
                                     udpai_upstream_held *held,
                                     udpai_publication *publication)
{
    return is_unrequested(held, type) ? udpai_upstream_let_go(type, held, publication) : UDPA_OK;
}

udpa_err
udpai_upstream_let_go_unrequested(udpai_upstream_type *type)
{
    udpai_publication *publication = udpai_publication_new();
    if (!publication)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_upstream_let_go_of(type, is_unrequested, type, publication);
    return udpai_upstream_publish_or_free(type, publication, err);
}

/* ---- what ends by itself ---- */

/* Not for each by itself: a server that gives ever other names a ttl of a moment has them looked at
 * once a second. */
void
udpai_upstream_expect_expiry(udpai_upstream_type *type, const udpai_upstream_held *held)
{
    uint64_t soonest_ms = udpai_upstream_now(type->session) + EXPIRY_MS;
    if (!held->deadline_ms)
        return;
    uint64_t at_ms = held->deadline_ms > soonest_ms ? held->deadline_ms : soonest_ms;
    if (udpai_timer_is_set(&type->expiry) && type->expiry_ms <= at_ms)
        return;
    type->expiry_ms = at_ms;
    udpai_timer_set(udpai_hub_wheel(type->session->session.hub), &type->expiry, at_ms);
}

static bool
has_expired(const udpai_upstream_held *held, const void *what)
{
    const uint64_t *now_ms = what;
    return held->deadline_ms && held->deadline_ms <= *now_ms;
}

/* The loop side ends it by itself. */
static udpa_err
let_go_expired(udpai_upstream_type *type)
{
    uint64_t now_ms = udpai_upstream_now(type->session);
    udpa_err err = udpai_upstream_let_go_of(type, has_expired, &now_ms, NULL);
    if (err == UDPA_OK && type->child)
        err = udpai_upstream_drop_orphans(type->child);
    return err == UDPA_OK && type->child ? udpai_upstream_answer(type->child) : err;
}

void
udpai_upstream_on_expiry(udpai_timer *timer)
{
    udpai_upstream_type *type = UDPAI_CONTAINER_OF(timer, udpai_upstream_type, expiry);
    udpai_upstream_check(type->session, let_go_expired(type));
    size_t at = 0;
    const udpai_upstream_held *held;
    while ((held = udpai_map_next(&type->held, &at)))
        udpai_upstream_expect_expiry(type, held);
}

/* ---- what the loop side holds ---- */

static bool
is_version_of(const udpa_resource *resource, udpai_str version)
{
    char hash[UDPAI_CONTENT_HASH_HEX];
    udpai_resource_content_hex(resource, hash);
    return udpai_str_eq(version, (udpai_str){hash, sizeof(hash)});
}

/* What the loop side has another version of must come again; unless it has come on this stream, and
 * is under way to it. */
static udpa_err
forget_payload(udpai_upstream_type *type, udpai_upstream_held *held)
{
    udpa_err err = udpai_upstream_refer(type, udpai_upstream_known(held), NULL);
    held->resource = udpa_resource_unref(held->resource);
    held->version = udpa_bytes_unref(held->version);
    return err;
}

udpa_err
udpai_upstream_note_holdings(udpai_upstream_type *type, const udpai_subscription_message *message)
{
    size_t max_held = udpai_upstream_options_of(type)->max_held;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < message->n_versions && err == UDPA_OK; i++) {
        const udpai_held_version *version = &message->versions[i];
        udpai_str server_name;
        if (!udpai_upstream_server_name(type, version->name, &server_name))
            continue;
        udpai_upstream_held *held = udpai_upstream_hold(type, version->name, max_held);
        if (!held && type->held.n >= max_held)
            break;
        if (!held)
            return UDPA_ERR_NOMEM;
        held->is_vouched = true;
        if (held->resource && !held->is_confirmed &&
            !is_version_of(held->resource, version->version))
            err = forget_payload(type, held);
    }
    return err;
}

/* ---- handing up what is held ---- */

static udpa_resource *
with_ttl(const udpa_resource *resource, uint64_t ttl_ms)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    udpa_resource *changed = NULL;
    parts.ttl_ms = ttl_ms;
    return udpai_resource_make(&changed, &parts) == UDPA_OK ? changed : NULL;
}

udpa_err
udpai_upstream_add_held(udpai_upstream_type *type,
                        udpai_upstream_held *held,
                        udpai_publication *publication)
{
    uint64_t now = udpai_upstream_now(type->session);
    if (!udpai_upstream_known(held) || (held->deadline_ms && held->deadline_ms <= now))
        return UDPA_OK;
    held->is_published = true;
    if (!held->deadline_ms)
        return udpai_publication_add(publication, held->resource, false);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = with_ttl(held->resource, held->deadline_ms - now);
    return resource ? udpai_publication_add(publication, resource, false) : UDPA_ERR_NOMEM;
}

/* ---- from stream to stream ---- */

/* What has a ttl may be removed before the next stream. */
static bool
is_not_resumable(const udpai_upstream_held *held, const void *userdata)
{
    (void)userdata;
    return !held->resource || !held->version || held->deadline_ms;
}

void
udpai_upstream_keep(udpai_upstream_type *type)
{
    udpai_upstream *upstream = type->session->upstream;
    udpai_upstream_kept *kept = udpai_map_get(&upstream->resumable, udpai_bytes_view(type->type));
    if (!kept) {
        kept = udpai_alloc(sizeof(*kept));
        if (!kept)
            return;
        kept->type = udpa_bytes_ref(type->type);
        if (!udpai_map_add(&upstream->resumable, kept)) {
            udpa_bytes_unref(kept->type);
            udpai_free(kept);
            return;
        }
    } else {
        udpai_upstream_held_free_all(&kept->held);
    }
    kept->held = type->held;
    udpai_map_init(&type->held, udpai_upstream_held_key);
}

void
udpai_upstream_resume(udpai_upstream_type *type)
{
    udpai_upstream_kept *kept =
        udpai_map_get(&type->session->upstream->resumable, udpai_bytes_view(type->type));
    if (!kept)
        return;
    type->held = kept->held;
    udpai_map_init(&kept->held, udpai_upstream_held_key);
    (void)udpai_upstream_let_go_of(type, is_not_resumable, NULL, NULL);
    size_t at = 0;
    udpai_upstream_held *held;
    while ((held = udpai_map_next(&type->held, &at))) {
        held->response = held->published_in = 0;
        held->is_confirmed = held->is_vouched = held->is_published = held->is_refused = false;
    }
}
