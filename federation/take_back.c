/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/take_back.h"

#include "federation/access.h"
#include "federation/adoption.h"
#include "federation/difference.h"
#include "federation/lapse.h"
#include "federation/publishers.h"
#include "federation/signatures_internal.h"
#include "federation/stamp.h"

bool
udpai_take_back_concerns(const udpai_intake *intake,
                         udpai_str type_url,
                         const udpa_resource *resource)
{
    const udpai_source *source = intake->peer->source;
    return source && udpai_source_has_recovery(source) && udpa_resource_n_hops(resource) > 0 &&
           udpai_str_eq(udpai_resource_hop(resource, 0).node_id,
                        udpai_bytes_view(intake->receiver->context->id)) &&
           udpai_source_recovers(source, type_url, udpai_resource_name(resource));
}

/* ---- what there is ---- */

/* This node's own contribution to the name, as it was stamped in the same way. */
typedef struct own_contribution {
    const udpa_resource *resource;
    udpai_origin *origin; /* NULL: none */
    uint64_t generation;
} own_contribution;

static bool
is_same_path(const udpa_resource *a, const udpa_resource *b)
{
    return udpa_resource_n_hops(a) && udpa_resource_n_hops(b) &&
           udpai_str_eq(udpai_resource_authority(a), udpai_resource_authority(b)) &&
           udpai_str_eq(udpai_resource_hop(a, 0).authority, udpai_resource_hop(b, 0).authority);
}

static bool
find_own(void *userdata, const udpai_contribution *contribution)
{
    own_contribution *own = userdata;
    udpai_origin_class rank = udpai_origin_rank(contribution->origin);
    uint64_t generation = udpa_resource_generation(contribution->resource);
    if (rank == UDPAI_ORIGIN_SOURCE || !is_same_path(contribution->resource, own->resource))
        return true;
    if (generation > own->generation)
        own->generation = generation;
    if (rank != UDPAI_ORIGIN_ADOPTED && !own->origin)
        own->origin = contribution->origin;
    return true;
}

static own_contribution
own_contribution_of(const udpai_receiver *receiver,
                    udpai_str type_url,
                    const udpa_resource *resource)
{
    own_contribution own = {.resource = resource};
    udpai_store_visit_name(receiver->context->store, type_url, udpai_resource_name(resource),
                           find_own, &own);
    return own;
}

bool
udpai_take_back_was_lost(const udpai_intake *intake,
                         udpai_str type_url,
                         const udpa_resource *resource)
{
    const udpai_receiver *receiver = intake->receiver;
    bool is_published = udpai_resource_hop(resource, 0).authority.len > 0;
    if (!udpai_lapse_covers(receiver->lapse, resource) ||
        udpai_store_remembers(receiver->context->store, type_url, resource))
        return false;
    own_contribution own = own_contribution_of(receiver, type_url, resource);
    return own.generation < udpa_resource_generation(resource) && (own.origin || is_published);
}

/* ---- where it belongs ---- */

/* Without certificates a publisher's name is its node id; else that is not known any more. */
static udpai_origin *
publisher_of(const udpai_receiver *receiver, udpai_str name)
{
    const udpai_str none = {"", 0};
    return receiver->context->peers_are_anonymous
               ? udpai_publisher_origin(receiver->context, none, name)
               : udpai_publisher_origin(receiver->context, name, none);
}

udpai_origin *
udpai_take_back_origin(const udpai_intake *intake)
{
    const udpai_receiver *receiver = intake->receiver;
    const udpai_peer *peer = intake->peer;
    if (!receiver->context->recovers || receiver->context->peers_are_anonymous || peer->source ||
        peer->is_node)
        return NULL;
    const udpai_str none = {"", 0};
    udpai_origin *origin = udpai_publisher_find(receiver->context, udpai_peer_name(peer), none);
    return origin == intake->origin ? NULL : origin;
}

/* NULL without memory. */
static udpai_origin *
place_of(udpai_receiver *receiver, const own_contribution *own)
{
    if (own->origin && udpai_origin_rank(own->origin) != UDPAI_ORIGIN_PUBLISHER)
        return udpai_recovery_origin(receiver);
    udpai_origin *origin =
        own->origin ? own->origin
                    : publisher_of(receiver, udpai_resource_hop(own->resource, 0).authority);
    if (origin)
        udpai_origin_set_durable(origin, receiver->context->is_durable);
    return origin;
}

/* As it was when this node had it. */
static udpa_err
restore(const udpai_receiver *receiver, const udpa_resource *resource, udpa_resource **ret_restored)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    room.hops[0].instance = udpai_bytes_view(receiver->context->instance);
    parts.hops = room.hops;
    parts.n_hops = 1;
    parts.hop_path = NULL;
    return udpai_resource_make(ret_restored, &parts);
}

/* What this node signs, it had signed. Else a peer could take the signature off and have its
 * forgery signed. */
static udpa_err
check_signed(const udpai_receiver *receiver, const udpa_resource *restored, udpa_error **ret_error)
{
    if (udpai_resource_signature(restored) ||
        !udpai_signatures_signer(receiver->signatures, restored))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "'%s' is offered back without a signature, and this node signs what it has "
                      "in the name of '%s'",
                      udpa_resource_name(restored), udpa_resource_authority(restored));
}

static udpa_err
check_signature(const udpai_intake *intake,
                udpa_resource *resource,
                const udpa_resource *restored,
                udpa_error **ret_error)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *checked = udpa_resource_ref(resource);
    udpa_err err = check_signed(intake->receiver, restored, ret_error);
    return err == UDPA_OK ? udpai_signatures_pass(intake->receiver->signatures, intake->origin,
                                                  &checked, ret_error)
                          : err;
}

static udpa_err
put(const udpai_intake *intake, udpa_resource *resource, udpa_error **ret_error)
{
    udpai_receiver *receiver = intake->receiver;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *restored = NULL;
    udpa_err err = udpai_fail_code(ret_error, restore(receiver, resource, &restored));
    if (err == UDPA_OK)
        err = check_signature(intake, resource, restored, ret_error);
    if (err != UDPA_OK)
        return err;
    own_contribution own =
        own_contribution_of(receiver, udpai_resource_type_url(resource), resource);
    udpai_origin *origin = place_of(receiver, &own);
    uint64_t ttl_ms = udpa_resource_ttl_ms(restored);
    if (!origin)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    err = udpai_store_put(receiver->context->store, origin, restored,
                          ttl_ms ? udpai_context_now(receiver->context) + ttl_ms : 0, ret_error);
    if (err == UDPA_OK)
        udpai_source_note_adopted(intake->peer->source, restored);
    return err;
}

/* What is not newer is an echo: this node's own contribution comes back. */
void
udpai_take_back(udpai_intake *intake, udpai_publication_entry *entry)
{
    udpa_resource *resource = entry->resource;
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    udpa_error *error = NULL;
    udpa_err err = UDPA_OK;
    udpai_store_withdraw(intake->receiver->context->store, intake->origin, type_url, name);
    if (udpai_take_back_was_lost(intake, type_url, resource)) {
        err = udpai_intake_check(intake, resource, &error);
        if (err == UDPA_OK)
            err = put(intake, resource, &error);
    }
    if (err == UDPA_OK) {
        udpai_difference_end(intake->peer->source, type_url, name);
        return;
    }
    udpai_publication_refuse(&entry->error, error);
    if (err == UDPA_ERR_DENIED)
        udpai_intake_note_refused(intake);
    if (err != UDPA_ERR_NOMEM)
        udpai_difference_note(intake->peer->source, type_url, name);
}

void
udpai_take_back_refuse(const udpai_intake *intake, const udpa_resource *removal)
{
    udpai_str type_url = udpai_resource_type_url(removal);
    if (!udpai_take_back_concerns(intake, type_url, removal))
        return;
    own_contribution own = own_contribution_of(intake->receiver, type_url, removal);
    if (own.generation && own.generation < udpa_resource_generation(removal))
        udpai_difference_note(intake->peer->source, type_url, udpai_resource_name(removal));
}

/* ---- --restored ---- */

typedef struct own_contributions {
    const udpai_receiver *receiver;
    UDPAI_VECTOR(udpa_resource *) resources;
    UDPAI_VECTOR(udpai_origin *) origins;
    bool failed;
} own_contributions;

/* What another has stamped or signed cannot be stamped here. */
static bool
is_ours(const udpai_receiver *receiver, const udpai_contribution *contribution)
{
    const udpa_resource *resource = contribution->resource;
    udpai_origin_class rank = udpai_origin_rank(contribution->origin);
    return (rank == UDPAI_ORIGIN_PUBLISHER || rank == UDPAI_ORIGIN_FILES) &&
           udpa_resource_n_hops(resource) == 1 &&
           udpai_str_eq(udpai_resource_hop(resource, 0).node_id,
                        udpai_bytes_view(receiver->context->id)) &&
           (!udpai_resource_signature(resource) ||
            udpai_signatures_is_own(receiver->signatures, resource));
}

static bool
collect(void *userdata, const udpai_contribution *contribution)
{
    own_contributions *all = userdata;
    if (!is_ours(all->receiver, contribution))
        return true;
    if (!udpai_vector_reserve(&all->origins, 1) ||
        !udpai_vector_push(&all->resources, contribution->resource)) {
        all->failed = true;
        return false;
    }
    (void)udpai_vector_push(&all->origins, contribution->origin);
    udpa_resource_ref(contribution->resource);
    return true;
}

static udpa_err
stamp_anew(udpai_receiver *receiver, udpai_origin *origin, udpa_resource *held)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(held, &room);
    udpai_str taken_from = udpai_resource_hop(held, 0).authority;
    udpai_contribution before;
    if (!udpai_store_get(receiver->context->store, origin, udpai_resource_type_url(held),
                         udpai_resource_name(held), &before))
        return UDPA_OK;
    parts.generation = udpai_stamp_generation(receiver->context, held);
    parts.signature = (udpai_signature){0};
    parts.n_hops = 0;
    parts.hop_path = NULL;
    udpai_stamp_hop(receiver->context, &parts, &room, taken_from);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *stamped = NULL;
    udpa_err err = udpai_resource_make(&stamped, &parts);
    if (err == UDPA_OK)
        err = udpai_signatures_pass(receiver->signatures, origin, &stamped, NULL);
    if (err == UDPA_OK)
        err = udpai_store_put(receiver->context->store, origin, stamped, before.deadline_ms, NULL);
    return err;
}

void
udpai_take_back_nothing(udpai_receiver *receiver)
{
    own_contributions all = {.receiver = receiver};
    size_t n = 0;
    udpai_store_visit_all(receiver->context->store, collect, &all);
    for (size_t i = 0; i < all.resources.n; i++) {
        n += stamp_anew(receiver, all.origins.items[i], all.resources.items[i]) == UDPA_OK;
        udpa_resource_unref(all.resources.items[i]);
    }
    udpai_log(UDPA_LOG_WARNING, "federation",
              "started with --restored: nothing is recovered until the next start, and %zu "
              "resources of this node are published anew as they are in its store%s",
              n, all.failed || n != all.resources.n ? "; there was no memory for the rest" : "");
    udpai_vector_done(&all.resources);
    udpai_vector_done(&all.origins);
}
