/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads: each is judged by itself; what is good becomes a contribution of the peer's origin. */
#include "federation/access.h"
#include "federation/difference.h"
#include "federation/ending.h"
#include "federation/outlived.h"
#include "federation/recovery.h"
#include "federation/reports.h"
#include "federation/take_back.h"
#include "federation/twins.h"

#include "model/name.h"

#define FUTURE_MAX_US ((uint64_t)5 * 60 * 1000000)

/* ---- one contribution ---- */

uint64_t
udpai_intake_next_generation(const udpai_node *node, const udpa_resource *resource)
{
    uint64_t previous = udpai_store_highest_generation(
        node->context.store, udpai_resource_type_url(resource), udpai_resource_name(resource));
    int64_t wall = udpai_context_wall_us(&node->context);
    uint64_t now = wall > 0 ? (uint64_t)wall : 1;
    return previous < now ? now : previous < UINT64_MAX ? previous + 1 : previous;
}

void
udpai_intake_add_hop(const udpai_node *node,
                     udpai_resource_parts *parts,
                     udpai_resource_room *room,
                     udpai_str taken_from)
{
    udpai_hop *hop = &room->hops[parts->n_hops++];
    *hop = (udpai_hop){
        .node_id = udpai_bytes_view(node->context.id),
        .authority = taken_from,
        .time_us = udpai_context_wall_us(&node->context),
        .instance = udpai_bytes_view(node->context.instance),
    };
    if (parts->signature.algorithm && udpai_signatures_marks_own(&parts->signature, hop->time_us))
        hop->time_us++; /* this signature is not ours */
    parts->hops = room->hops;
}

/* What a publisher says again though the node has taken over something newer, it means. */
static bool
is_meant_anew(const udpai_node *node, const udpai_contribution *held)
{
    return udpai_origin_rank(held->origin) == UDPAI_ORIGIN_PUBLISHER &&
           udpai_recovery_replaces(node, udpai_resource_type_url(held->resource),
                                   udpai_resource_name(held->resource),
                                   udpa_resource_generation(held->resource));
}

/* An unchanged resource keeps its generation: only its ttl and its way are renewed. */
static void
choose_generation(const udpai_node *node,
                  const udpai_origin *origin,
                  const udpa_resource *resource,
                  udpai_resource_parts *parts)
{
    udpai_contribution held;
    bool same = udpai_store_get(node->context.store, origin, udpai_resource_type_url(resource),
                                parts->name, &held) &&
                udpai_resource_same_payload(held.resource, resource) &&
                udpai_str_eq(udpai_resource_authority(held.resource), parts->authority) &&
                !is_meant_anew(node, &held);
    parts->generation = same ? udpa_resource_generation(held.resource)
                             : udpai_intake_next_generation(node, resource);
}

/* One that we gave it would not be what was signed. */
static udpa_err
fail_bare_signature(const udpa_resource *resource, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "'%s' is signed, and has no generation: who signs must give one",
                      udpa_resource_name(resource));
}

static void
note_way(udpai_node *node, const udpa_resource *resource)
{
    udpai_way *way = udpai_way_ref(udpai_resource_way(resource));
    udpai_way_unref(node->last_way);
    node->last_way = way;
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
    if (parts.signature.algorithm && parts.generation == 0)
        return fail_bare_signature(resource, ret_error);
    if (!taking->keeps_generation || parts.generation == 0)
        choose_generation(node, origin, resource, &parts);
    udpai_intake_add_hop(node, &parts, &room, taking->from);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *stamped = NULL;
    parts.way = node->last_way;
    udpa_err err = udpai_resource_make(&stamped, &parts);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    note_way(node, stamped);
    err = udpai_signatures_pass(node, origin, &stamped, ret_error);
    if (err == UDPA_OK)
        err = udpai_ending_check(node, origin, stamped, ret_error);
    if (err != UDPA_OK)
        return err;
    uint64_t deadline_ms = parts.ttl_ms ? udpai_context_now(&node->context) + parts.ttl_ms : 0;
    return udpai_store_put(node->context.store, origin, stamped, deadline_ms, ret_error);
}

/* ---- judging ---- */

/* Management nodes take what others publish unasked; endpoints have sources alone. */
static udpa_err
check_publisher(const udpai_intake *intake, udpa_error **ret_error)
{
    udpai_str name = udpai_peer_name(intake->peer);
    if (!intake->node->context.is_endpoint)
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_DENIED,
        "'%.*s' is no source of this endpoint, which takes resources from its sources "
        "alone",
        (int)name.len, name.data);
}

static udpa_err
check_scope(const udpai_intake *intake, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    if (!udpai_intake_is_from_source(intake))
        return check_publisher(intake, ret_error);
    if (udpai_source_scope(intake->peer->source, type_url, name))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "'%.*s' lies outside the namespaces of type %.*s that this source is "
                      "configured for",
                      (int)name.len, name.data, (int)type_url.len, type_url.data);
}

udpa_err
udpai_intake_check_way(const udpai_intake *intake,
                       const udpa_resource *resource,
                       udpa_error **ret_error)
{
    if (udpa_resource_n_hops(resource) >= UDPAI_HOPS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%s' has passed %d nodes, which is the limit: is there a loop?",
                          udpa_resource_name(resource), UDPAI_HOPS_MAX);
    const udpai_node *node = intake->node;
    int64_t wall = udpai_context_wall_us(&node->context);
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
check_version(const udpai_intake *intake, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_contribution held;
    if (!udpai_store_get(intake->node->context.store, intake->origin,
                         udpai_resource_type_url(resource), udpai_resource_name(resource), &held))
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

/* ---- replays ---- */

static udpa_err
fail_replay(const udpa_resource *resource, udpa_error **ret_error)
{
    return udpai_fail(
        ret_error, UDPA_ERR_PRECONDITION,
        "'%s': generation %llu of authority '%s' is older than what is known here: an "
        "older signed state changes nothing; sign it anew, with a higher generation",
        udpa_resource_name(resource), (unsigned long long)udpa_resource_generation(resource),
        udpa_resource_authority(resource));
}

/* Sources may be behind, by longer ways. A publisher that shows an older signed state, by mistake
 * or to undo something, is told. */
static bool
is_judged_by_age(const udpai_intake *intake, const udpa_resource *resource)
{
    return udpai_resource_signature(resource) && !udpai_intake_is_from_source(intake);
}

struct age {
    const udpa_resource *resource;
    bool is_older;
};

static bool
compare_age(void *userdata, const udpai_contribution *held)
{
    struct age *age = userdata;
    age->is_older =
        udpai_resource_signature(held->resource) &&
        udpai_str_eq(udpai_resource_authority(held->resource),
                     udpai_resource_authority(age->resource)) &&
        udpa_resource_generation(held->resource) > udpa_resource_generation(age->resource);
    return !age->is_older;
}

/* Older than what anybody has published. */
static udpa_err
check_replay(const udpai_intake *intake, const udpa_resource *resource, udpa_error **ret_error)
{
    struct age age = {.resource = resource};
    if (is_judged_by_age(intake, resource))
        udpai_store_visit_name(intake->node->context.store, udpai_resource_type_url(resource),
                               udpai_resource_name(resource), compare_age, &age);
    return age.is_older ? fail_replay(resource, ret_error) : UDPA_OK;
}

/* It was taken in; is it older than what has gone? */
static udpa_err
check_outlived(const udpai_intake *intake, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_store *store = intake->node->context.store;
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    udpai_contribution held;
    if (!is_judged_by_age(intake, resource) ||
        !udpai_store_get(store, intake->origin, type_url, name, &held) || !held.superseded)
        return UDPA_OK;
    udpai_store_withdraw(store, intake->origin, type_url, name);
    return fail_replay(resource, ret_error);
}

/* What an xDS server has, nobody handed to it as a resource: like a file, it is taken from nobody.
 */
static udpai_str
taken_from(const udpai_peer *peer)
{
    bool is_xds = peer->source && udpai_source_is_xds(peer->source);
    return is_xds ? UDPAI_STR("") : udpai_peer_name(peer);
}

/* Is what the peer says of itself wanted here? */
static bool
is_status_of_source(const udpai_intake *intake)
{
    return intake->node->context.is_endpoint && udpai_intake_is_from_source(intake);
}

udpa_err
udpai_intake_judge(const udpai_intake *intake,
                   const udpa_resource *resource,
                   udpa_error **ret_error)
{
    udpa_err err = check_scope(intake, resource, ret_error);
    if (err == UDPA_OK && !is_status_of_source(intake) &&
        udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), udpai_resource_name(resource)))
        err = udpai_fail(ret_error, UDPA_ERR_DENIED,
                         "'%s' lies in the reserved namespace %s, where only the node itself "
                         "speaks: use another namespace",
                         udpa_resource_name(resource), UDPAI_NODE_NAMESPACE);
    if (err == UDPA_OK)
        err = udpai_intake_check_way(intake, resource, ret_error);
    if (err == UDPA_OK && !udpai_intake_is_from_source(intake))
        err = udpai_reports_check(intake, resource, ret_error);
    if (err == UDPA_OK)
        err = udpai_access_check_publication(intake->node, intake->peer, resource, ret_error);
    if (err == UDPA_OK)
        err = check_version(intake, resource, ret_error);
    if (err == UDPA_OK)
        err = check_replay(intake, resource, ret_error);
    return err;
}

/* What a publisher says with a name and a generation that is newer than all that is known of it
 * here: it is restored from what another node had. */
static bool
is_restored(const udpai_intake *intake, const udpa_resource *resource)
{
    uint64_t generation = udpa_resource_generation(resource);
    return generation && udpai_resource_authority(resource).len &&
           generation > udpai_store_highest_generation(intake->node->context.store,
                                                       udpai_resource_type_url(resource),
                                                       udpai_resource_name(resource));
}

bool
udpai_intake_keeps_generation(const udpai_intake *intake, const udpa_resource *resource)
{
    return udpai_resource_signature(resource) || udpa_resource_n_hops(resource) > 0 ||
           (intake->peer->is_node && udpa_resource_generation(resource)) ||
           is_restored(intake, resource);
}

/* What is refused for where it comes from must not stay as it was before; nor what has come too far
 * now, for then it has gone where it came by before. */
static bool
withdraws_earlier(const udpa_resource *resource, udpa_err err)
{
    return err == UDPA_ERR_DENIED || udpa_resource_n_hops(resource) >= UDPAI_HOPS_MAX;
}

/* The publisher speaks of it again. */
static void
end_taken_back(const udpai_intake *intake, udpai_str type_url, udpai_str name)
{
    udpai_origin *origin = udpai_take_back_origin(intake);
    if (origin)
        udpai_store_withdraw(intake->node->context.store, origin, type_url, name);
}

void
udpai_intake_payload(udpai_intake *intake, udpai_publication_entry *entry)
{
    udpai_node *node = intake->node;
    udpa_resource *resource = entry->resource;
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    udpa_error *error = NULL;
    if (intake->peer->source && !is_status_of_source(intake) &&
        udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), name))
        return; /* what a source says of itself is to be had from itself */
    if (udpai_take_back_concerns(intake, type_url, resource)) {
        udpai_take_back(intake, entry);
        return;
    }
    if (udpai_twins_is_loop(node, resource)) {
        node->n_loops++; /* our own word has come back: no error, and nothing to learn */
        udpai_store_leave(node->context.store, intake->origin, type_url, name);
        return;
    }
    const udpai_taking taking = {
        .authority = udpai_peer_name(intake->peer),
        .from = taken_from(intake->peer),
        .keeps_generation = udpai_intake_keeps_generation(intake, resource),
    };
    udpa_err err = udpai_intake_judge(intake, resource, &error);
    if (err == UDPA_OK)
        err = udpai_intake_put(node, intake->origin, resource, &taking, &error);
    if (err == UDPA_OK)
        err = check_outlived(intake, resource, &error);
    if (err == UDPA_OK)
        err = udpai_recovery_taken(intake, resource, &error);
    if (err == UDPA_OK) {
        end_taken_back(intake, type_url, name);
        udpai_difference_look(intake, type_url, resource);
        udpai_outlived_look(intake, resource);
        return;
    }
    udpai_publication_refuse(&entry->error, error);
    if (withdraws_earlier(resource, err)) {
        udpai_intake_note_refused(intake);
        udpai_store_withdraw(node->context.store, intake->origin, type_url, name);
    }
}

void
udpai_intake_note_refused(const udpai_intake *intake)
{
    if (udpai_intake_is_from_source(intake))
        intake->peer->source->has_refused = true;
}
