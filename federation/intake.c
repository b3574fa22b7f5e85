/* SPDX-License-Identifier: Apache-2.0 */
/* Taking in what peers publish: every entry is judged by itself; what is good becomes a
 * contribution of the peer's origin. */
#include "federation/node_internal.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "model/name.h"

#define FUTURE_MAX_US ((uint64_t)5 * 60 * 1000000)

struct intake {
    udpai_node *node;
    udpai_peer *peer;
    udpai_origin *origin;
    udpai_publication *publication;
};

/* ---- one contribution ---- */

static uint64_t
next_generation(const udpai_node *node, const udpa_resource *resource)
{
    uint64_t previous = udpai_store_highest_generation(
        node->store, udpai_resource_type_url(resource), udpai_resource_name(resource));
    int64_t wall = node->env.wall_us(node->env.userdata);
    uint64_t now = wall > 0 ? (uint64_t)wall : 1;
    return previous >= now ? previous + 1 : now;
}

/* The way the resource came, with this node at its end. */
static void
add_hop(const udpai_node *node,
        udpai_resource_parts *parts,
        udpai_resource_room *room,
        udpai_str taken_from)
{
    room->hops[parts->n_hops++] = (udpai_hop){
        .node_id = udpai_bytes_view(node->id),
        .authority = taken_from,
        .time_us = node->env.wall_us(node->env.userdata),
    };
    parts->hops = room->hops;
}

/* An unchanged resource keeps its generation: only its ttl and its way are renewed. */
static void
choose_generation(const udpai_node *node,
                  const udpai_origin *origin,
                  const udpa_resource *resource,
                  udpai_resource_parts *parts)
{
    udpai_contribution held;
    bool same = udpai_store_get(node->store, origin, udpai_resource_type_url(resource), parts->name,
                                &held) &&
                udpai_resource_same_payload(held.resource, resource) &&
                udpai_str_eq(udpai_resource_authority(held.resource), parts->authority);
    parts->generation =
        same ? udpa_resource_generation(held.resource) : next_generation(node, resource);
}

udpa_err
udpai_intake_put(udpai_node *node,
                 udpai_origin *origin,
                 udpa_resource *resource,
                 const udpai_taking *taking,
                 udpa_error **ret_error)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    if (parts.authority.len == 0)
        parts.authority = taking->authority;
    if (!taking->keeps_generation || parts.generation == 0)
        choose_generation(node, origin, resource, &parts);
    add_hop(node, &parts, &room, taking->from);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *stamped = NULL;
    udpa_err err = udpai_resource_make(&stamped, &parts);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    uint64_t deadline_ms = parts.ttl_ms ? udpai_node_now(node) + parts.ttl_ms : 0;
    return udpai_store_put(node->store, origin, stamped, deadline_ms, ret_error);
}

/* ---- judging ---- */

/* Management nodes take what others publish unasked; endpoints have sources alone. */
static udpa_err
check_publisher(const struct intake *intake, udpa_error **ret_error)
{
    udpai_str name = udpai_peer_name(intake->peer);
    if (!intake->node->is_endpoint)
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_DENIED,
        "'%.*s' is no source of this endpoint, which takes resources from its sources "
        "alone",
        (int)name.len, name.data);
}

static udpa_err
check_scope(const struct intake *intake, const udpa_resource *resource, udpa_error **ret_error)
{
    const udpai_source *source = intake->peer->source;
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    if (!source || !source->serves_us)
        return check_publisher(intake, ret_error);
    if (udpai_source_scope(source, type_url, name))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "'%.*s' lies outside the namespaces of type %.*s that this source is "
                      "configured for",
                      (int)name.len, name.data, (int)type_url.len, type_url.data);
}

static udpa_err
check_generation(const struct intake *intake, const udpa_resource *resource, udpa_error **ret_error)
{
    const udpai_node *node = intake->node;
    int64_t wall = node->env.wall_us(node->env.userdata);
    uint64_t limit = (wall > 0 ? (uint64_t)wall : 0) + FUTURE_MAX_US;
    if (udpa_resource_generation(resource) <= limit)
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_INVAL,
        "'%s': generation %llu lies more than five minutes ahead of this node's clock: "
        "compare the clocks",
        udpa_resource_name(resource), (unsigned long long)udpa_resource_generation(resource));
}

/* A version stands for bytes: the same one with others, from the same mouth, is a mistake. */
static udpa_err
check_version(const struct intake *intake, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_contribution held;
    if (!udpai_store_get(intake->node->store, intake->origin, udpai_resource_type_url(resource),
                         udpai_resource_name(resource), &held))
        return UDPA_OK;
    udpai_str authority = udpai_resource_authority(resource);
    if (authority.len == 0)
        authority = udpai_peer_name(intake->peer);
    if (!udpai_str_eq(udpai_resource_version(held.resource), udpai_resource_version(resource)) ||
        !udpai_str_eq(udpai_resource_authority(held.resource), authority) ||
        udpai_resource_same_payload(held.resource, resource))
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_INVAL,
        "'%s': version '%s' was published before with other contents: give what changes "
        "another version",
        udpa_resource_name(resource), udpa_resource_version(resource));
}

/* Is what the peer says of itself wanted here? */
static bool
is_status_of_source(const struct intake *intake)
{
    return intake->node->is_endpoint && intake->peer->source && intake->peer->source->serves_us;
}

static udpa_err
judge(const struct intake *intake, const udpa_resource *resource, udpa_error **ret_error)
{
    const udpai_node *node = intake->node;
    udpa_err err = check_scope(intake, resource, ret_error);
    if (err == UDPA_OK && !is_status_of_source(intake) &&
        udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), udpai_resource_name(resource)))
        err = udpai_fail(ret_error, UDPA_ERR_DENIED,
                         "'%s' lies in the reserved namespace %s, where only the node itself "
                         "speaks: use another namespace",
                         udpa_resource_name(resource), UDPAI_NODE_NAMESPACE);
    if (err == UDPA_OK && udpa_resource_n_hops(resource) >= UDPAI_HOPS_MAX)
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "'%s' has passed %d nodes, which is the limit: is there a loop?",
                         udpa_resource_name(resource), UDPAI_HOPS_MAX);
    if (err == UDPA_OK)
        err = check_generation(intake, resource, ret_error);
    if (err == UDPA_OK && node->env.may_publish)
        err =
            node->env.may_publish(node->env.userdata, intake->peer->identity, resource, ret_error);
    if (err == UDPA_OK)
        err = check_version(intake, resource, ret_error);
    return err;
}

/* Has the generation been given by somebody whose word counts for it: the authority itself, by its
 * signature, or the first node on the way? */
static bool
has_own_generation(const struct intake *intake, const udpa_resource *resource)
{
    return udpai_resource_signature(resource) || udpa_resource_n_hops(resource) > 0 ||
           (intake->peer->is_node && udpa_resource_generation(resource));
}

/* What is refused for where it comes from must not stay as it was before. */
static bool
withdraws_earlier(udpa_err err)
{
    return err == UDPA_ERR_DENIED;
}

static void
take_payload(struct intake *intake, udpai_publication_entry *entry)
{
    udpai_node *node = intake->node;
    udpa_resource *resource = entry->resource;
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    udpa_error *error = NULL;
    if (intake->peer->source && !is_status_of_source(intake) &&
        udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), name))
        return; /* what a source says of itself is to be had from itself */
    if (udpai_resource_passed(resource, udpai_bytes_view(node->id))) {
        node->n_loops++; /* our own word has come back: no error, and nothing to learn */
        udpai_store_withdraw(node->store, intake->origin, type_url, name);
        return;
    }
    const udpai_taking taking = {
        .authority = udpai_peer_name(intake->peer),
        .from = udpai_peer_name(intake->peer),
        .keeps_generation = has_own_generation(intake, resource),
    };
    udpa_err err = judge(intake, resource, &error);
    if (err == UDPA_OK)
        err = udpai_intake_put(node, intake->origin, resource, &taking, &error);
    if (err == UDPA_OK)
        return;
    udpai_publication_refuse(&entry->error, error);
    if (withdraws_earlier(err))
        udpai_store_withdraw(node->store, intake->origin, type_url, name);
}

/* ---- refreshes ---- */

/* What the refresh says, upon what is held. */
static udpa_err
refresh(struct intake *intake, const udpa_resource *news, const udpai_contribution *held)
{
    udpai_node *node = intake->node;
    udpai_resource_room room, news_room;
    udpai_resource_parts parts = udpai_resource_parts_of(held->resource, &room);
    udpai_resource_parts said = udpai_resource_parts_of(news, &news_room);
    bool is_newer = said.generation > parts.generation ||
                    (said.generation == parts.generation && said.n_hops && parts.generation);
    if (is_newer && said.n_hops < UDPAI_HOPS_MAX) {
        parts.generation = said.generation;
        parts.signature = said.signature;
        parts.hops = said.hops;
        parts.n_hops = said.n_hops;
        add_hop(node, &parts, &news_room, udpai_peer_name(intake->peer));
    }
    uint64_t deadline_ms = held->deadline_ms;
    if (said.ttl_ms) {
        parts.ttl_ms = said.ttl_ms;
        deadline_ms = udpai_node_now(node) + said.ttl_ms;
    }
    UDPA_AUTO(udpa_resource_unref) udpa_resource *renewed = NULL;
    udpa_err err = udpai_resource_make(&renewed, &parts);
    if (err == UDPA_OK)
        err = udpai_store_put(node->store, intake->origin, renewed, deadline_ms, NULL);
    return err;
}

struct match {
    struct intake *intake;
    const udpa_resource *news;
    UDPAI_VECTOR(udpa_resource *) found; /* of which type; references */
};

static bool
find_match(void *userdata, udpai_str type_url, size_t n_effective)
{
    (void)n_effective;
    struct match *match = userdata;
    udpai_contribution held;
    if (udpai_store_get(match->intake->node->store, match->intake->origin, type_url,
                        udpai_resource_name(match->news), &held) &&
        udpai_str_eq(udpai_resource_version(held.resource), udpai_resource_version(match->news)) &&
        udpai_vector_push(&match->found, held.resource))
        udpa_resource_ref(held.resource);
    return true;
}

static void
take_refresh(struct intake *intake, udpai_publication_entry *entry)
{
    udpai_node *node = intake->node;
    udpai_str name = udpai_resource_name(entry->resource);
    udpai_str type_url = udpai_resource_type_url(entry->resource);
    struct match match = {.intake = intake, .news = entry->resource};
    bool is_loop = udpai_resource_passed(entry->resource, udpai_bytes_view(node->id));
    if (type_url.len == 0)
        type_url = intake->publication->type_url;
    if (type_url.len)
        find_match(&match, type_url, 0);
    else
        udpai_store_visit_types(node->store, find_match, &match);
    if (is_loop) {
        node->n_loops++;
    } else if (match.found.n == 0 && intake->peer->source) {
        udpai_source_ask_again(intake->peer->source, type_url, name);
    } else if (match.found.n == 0) {
        intake->publication->receipt_required = true;
        udpai_publication_refuse(
            &entry->error, udpa_error_new(UDPA_ERR_NOT_FOUND, NULL,
                                          "'%s': version '%s' is not held here: send its payload",
                                          udpa_resource_name(entry->resource),
                                          udpa_resource_version(entry->resource)));
    }
    for (size_t i = 0; i < match.found.n; i++) {
        udpa_resource *found = match.found.items[i];
        udpai_contribution held;
        if (is_loop)
            udpai_store_withdraw(node->store, intake->origin, udpai_resource_type_url(found), name);
        else if (udpai_store_get(node->store, intake->origin, udpai_resource_type_url(found), name,
                                 &held) &&
                 refresh(intake, entry->resource, &held) != UDPA_OK)
            udpai_publication_refuse(&entry->error,
                                     udpa_error_new(UDPA_ERR_NOMEM, NULL, "out of memory"));
        udpa_resource_unref(found);
    }
    udpai_vector_done(&match.found);
}

/* ---- removals and states ---- */

struct removal {
    struct intake *intake;
    udpai_str name;
};

static bool
remove_in_type(void *userdata, udpai_str type_url, size_t n_effective)
{
    (void)n_effective;
    struct removal *removal = userdata;
    udpai_store_withdraw(removal->intake->node->store, removal->intake->origin, type_url,
                         removal->name);
    return true;
}

/* What came by an alias goes when the source says that the alias leads nowhere, unless something
 * else brings it too. */
static bool
is_left(void *userdata, const udpa_resource *resource)
{
    const struct intake *intake = userdata;
    const udpai_scope *scope = udpai_source_scope(
        intake->peer->source, udpai_resource_type_url(resource), udpai_resource_name(resource));
    if (udpa_resource_n_aliases(resource) == 0 || !scope || !scope->on_demand)
        return true;
    return udpai_scope_still_brings(scope, resource, intake->publication);
}

static void
take_removed_aliases(struct intake *intake)
{
    const udpai_publication *publication = intake->publication;
    if (publication->removals.n && intake->peer->source && intake->peer->source->serves_us)
        udpai_store_withdraw_all(intake->node->store, intake->origin, publication->type_url,
                                 (udpai_str){0}, is_left, intake);
}

static void
take_removals(struct intake *intake)
{
    const udpai_publication *publication = intake->publication;
    for (size_t i = 0; i < publication->removals.n; i++) {
        struct removal removal = {intake, publication->removals.items[i].name};
        if (publication->type_url.len)
            remove_in_type(&removal, publication->type_url, 0);
        else
            udpai_store_visit_types(intake->node->store, remove_in_type, &removal);
    }
    take_removed_aliases(intake);
}

/* Positions of a publication's entries, by name, then by type, then as they stand. */
typedef struct udpai_entry_index {
    const udpai_publication *publication;
    uint32_t *order;
    size_t n;
} udpai_entry_index;

static int
compare_entries(const void *a, const void *b, void *publication)
{
    const udpai_publication *owner = publication;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const udpa_resource *x = owner->entries.items[i].resource,
                        *y = owner->entries.items[k].resource;
    int order = udpai_str_cmp(udpai_resource_name(x), udpai_resource_name(y));
    if (order == 0)
        order = udpai_str_cmp(udpai_resource_type_url(x), udpai_resource_type_url(y));
    return order ? order : (i > k) - (i < k);
}

static bool
index_entries(udpai_entry_index *index, udpai_publication *publication)
{
    index->publication = publication;
    index->n = publication->entries.n;
    index->order = udpai_alloc_array(index->n, sizeof(*index->order));
    for (size_t i = 0; index->order && i < index->n; i++)
        index->order[i] = (uint32_t)i;
    if (index->order && index->n > 1)
        qsort_r(index->order, index->n, sizeof(*index->order), compare_entries, publication);
    return index->order != NULL;
}

static const udpai_publication_entry *
indexed(const udpai_entry_index *index, size_t at)
{
    return &index->publication->entries.items[index->order[at]];
}

/* The first place whose name is not below this one. */
static size_t
find_name(const udpai_entry_index *index, udpai_str name)
{
    size_t low = 0, high = index->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (udpai_str_cmp(udpai_resource_name(indexed(index, middle)->resource), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool
is_in_publication(void *userdata, const udpa_resource *resource)
{
    const udpai_entry_index *index = userdata;
    udpai_str name = udpai_resource_name(resource);
    for (size_t at = find_name(index, name); at < index->n; at++) {
        const udpai_publication_entry *entry = indexed(index, at);
        if (!udpai_str_eq(udpai_resource_name(entry->resource), name))
            break;
        if (entry->is_refresh || udpai_str_eq(udpai_resource_type_url(entry->resource),
                                              udpai_resource_type_url(resource)))
            return true;
    }
    return false;
}

/* A state of the world speaks for its origin in its scope; without one, in the types it names. */
static void
take_state(struct intake *intake, udpai_entry_index *index)
{
    udpai_publication *publication = intake->publication;
    udpai_store *store = intake->node->store;
    if (publication->type_url.len) {
        udpai_store_withdraw_all(store, intake->origin, publication->type_url,
                                 publication->name_space, is_in_publication, index);
        return;
    }
    for (size_t i = 0; i < publication->entries.n; i++) {
        udpai_str type_url = udpai_resource_type_url(publication->entries.items[i].resource);
        if (type_url.len)
            udpai_store_withdraw_all(store, intake->origin, type_url, publication->name_space,
                                     is_in_publication, index);
    }
}

/* ---- the whole message ---- */

/* The first of two equal entries applies. */
static void
refuse_repeated(const udpai_entry_index *index, udpai_publication *publication)
{
    for (size_t at = 1; at < index->n; at++) {
        const udpa_resource *before = indexed(index, at - 1)->resource;
        udpai_publication_entry *entry = &publication->entries.items[index->order[at]];
        if (udpai_str_eq(udpai_resource_name(before), udpai_resource_name(entry->resource)) &&
            udpai_str_eq(udpai_resource_type_url(before), udpai_resource_type_url(entry->resource)))
            udpai_publication_refuse(
                &entry->error, udpa_error_new(UDPA_ERR_EXISTS, NULL,
                                              "'%s' stands in this message twice: the first one "
                                              "applies",
                                              udpa_resource_name(entry->resource)));
    }
}

static void
count(struct intake *intake)
{
    const udpai_publication *publication = intake->publication;
    if (!intake->peer->source)
        return;
    udpai_source_counters *counters = &intake->peer->source->counters;
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpai_publication_entry *entry = &publication->entries.items[i];
        if (entry->error)
            counters->n_refused++;
        else if (entry->is_refresh)
            counters->n_refreshes++;
        else
            counters->n_resources++;
    }
    counters->n_removals += publication->removals.n;
}

static void
log_refused(struct intake *intake)
{
    udpai_node *node = intake->node;
    unsigned n_suppressed;
    for (size_t i = 0; i < intake->publication->entries.n; i++) {
        const udpa_error *error = intake->publication->entries.items[i].error;
        if (!error || !udpai_log_allow(&node->refused_log, udpai_node_now(node), &n_suppressed))
            continue;
        udpai_str name = udpai_peer_name(intake->peer);
        udpai_log(UDPA_LOG_WARNING, "federation", "refused from %.*s: %s (%u more not shown)",
                  (int)name.len, name.data, udpa_error_message(error), n_suppressed);
    }
}

static void
note_spoken(struct intake *intake)
{
    udpai_source *source = intake->peer->source;
    const udpai_publication *publication = intake->publication;
    if (!source || !source->serves_us)
        return;
    for (size_t i = 0; i < publication->entries.n; i++)
        udpai_source_spoke(source, udpai_resource_type_url(publication->entries.items[i].resource));
    if (publication->complete)
        udpai_source_completed(source, publication->type_url, publication->name_space);
}

static void
take_entry(struct intake *intake, udpai_publication_entry *entry)
{
    if (entry->error)
        return;
    if (entry->is_refresh)
        take_refresh(intake, entry);
    else
        take_payload(intake, entry);
}

static void
refuse_all(udpai_publication *publication)
{
    for (size_t i = 0; i < publication->entries.n; i++)
        udpai_publication_refuse(&publication->entries.items[i].error,
                                 udpa_error_new(UDPA_ERR_NOMEM, NULL, "out of memory"));
}

void
udpai_intake(udpai_node *node, udpai_peer *peer, udpai_publication *publication)
{
    struct intake intake = {node, peer, udpai_peer_origin(node, peer), publication};
    udpai_entry_index index = {0};
    if (!intake.origin || !index_entries(&index, publication)) {
        refuse_all(publication);
        return;
    }
    refuse_repeated(&index, publication);
    take_removals(&intake);
    if (publication->state_of_the_world)
        take_state(&intake, &index);
    for (size_t i = 0; i < publication->entries.n; i++)
        take_entry(&intake, &publication->entries.items[i]);
    udpai_free(index.order);
    note_spoken(&intake);
    count(&intake);
    log_refused(&intake);
}
