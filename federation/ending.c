/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/ending.h"

#include "federation/access.h"
#include "federation/difference.h"
#include "federation/outlived.h"
#include "federation/signatures.h"
#include "federation/stamp.h"
#include "federation/sync.h"
#include "federation/take_back.h"
#include "federation/traces.h"
#include "model/client_type.h"
#include "model/name.h"
#include "model/removal.h"

/* ---- giving generations ---- */

/* NULL: it is a removal of this hop alone. */
udpa_resource *
udpai_ending_stamp(udpai_receiver *receiver, const udpai_origin *origin, const udpa_resource *held)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(held, &room);
    udpa_resource *removal = NULL;
    parts.generation = udpai_stamp_generation(receiver->context, held);
    parts.signature = (udpai_signature){0};
    if (udpai_removal_make(&removal, udpai_resource_type_url(held), &parts) != UDPA_OK)
        return NULL;
    return udpai_signatures_pass_removal(receiver->signatures, origin, held, &removal)
               ? removal
               : udpa_resource_unref(removal);
}

/* What clients report flows up and ends with them: only nodes that were sent it pass it on. What a
 * node reports of itself comes from itself. */
static bool
is_followed(udpai_str type_url, udpai_str name)
{
    return !udpai_type_is_client(type_url) &&
           !udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), name);
}

/* An origin, and where what it does is staged; NULL: it is done at once. */
typedef struct ender {
    udpai_receiver *receiver;
    udpai_origin *origin;
    udpai_staging *staging;
} ender;

/* NULL: takes away what the origin has. */
static void
end(const ender *by, udpai_str type_url, udpai_str name, udpa_resource *removal)
{
    udpai_store *store = by->receiver->context->store;
    udpai_contribution held;
    if (udpai_traces_may_note(by->receiver->traces) &&
        udpai_store_get(store, by->origin, type_url, name, &held))
        udpai_traces_note(by->receiver->traces, type_url, name);
    if (removal)
        (void)udpai_staging_end(by->staging, store, removal, udpai_origin_node(by->origin));
    udpai_staging_leave(by->staging, store, by->origin, type_url, name);
}

static void
end_held(const ender *by, udpa_resource *held)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *kept = udpa_resource_ref(held);
    udpai_str type_url = udpai_resource_type_url(kept), name = udpai_resource_name(kept);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *removal =
        is_followed(type_url, name) ? udpai_ending_stamp(by->receiver, by->origin, held) : NULL;
    end(by, type_url, name, removal);
}

/* ---- what states leave out ---- */

typedef struct left_out {
    UDPAI_VECTOR(udpa_resource *) resources;
    udpai_str prefix;
    udpai_store_keep_fn keep;
    void *userdata;
    bool failed;
} left_out;

static bool
note_left_out(void *userdata, const udpai_contribution *contribution)
{
    left_out *all = userdata;
    udpa_resource *resource = contribution->resource;
    if (!udpai_prefix_covers(all->prefix, udpai_resource_name(resource)) ||
        (all->keep && all->keep(all->userdata, resource)))
        return true;
    if (udpai_vector_push(&all->resources, resource))
        udpa_resource_ref(resource);
    else
        all->failed = true;
    return !all->failed;
}

/* Without memory it is left to the caller to withdraw them. */
static void
end_all(const ender *by, udpai_str type_url, left_out *all)
{
    udpai_store_visit_origin(by->receiver->context->store, by->origin, type_url, note_left_out,
                             all);
    for (size_t i = 0; i < all->resources.n; i++) {
        end_held(by, all->resources.items[i]);
        udpa_resource_unref(all->resources.items[i]);
    }
    udpai_vector_done(&all->resources);
}

udpa_err
udpai_ending_own(udpai_receiver *receiver,
                 udpai_origin *origin,
                 const udpai_store_scope *scope,
                 udpai_staging *staging)
{
    left_out all = {.prefix = scope->prefix, .keep = scope->keep, .userdata = scope->userdata};
    end_all(&(ender){receiver, origin, staging}, scope->type_url, &all);
    if (all.failed && staging)
        return UDPA_ERR_NOMEM;
    if (all.failed)
        udpai_store_withdraw_all(receiver->context->store, origin, scope->type_url, scope->prefix,
                                 scope->keep, scope->userdata);
    return UDPA_OK;
}

/* ---- of peers ---- */

/* Is its removal the authority's? Nodes state that themselves. Of a server, a name that is not
 * there when its stream begins may merely have been forgotten. */
static bool
gives_generation(const udpai_intake *intake, udpai_str type_url, udpai_str name)
{
    if (intake->peer->is_node || !is_followed(type_url, name))
        return false;
    if (!udpai_intake_is_from_source(intake))
        return true;
    return udpai_source_has_sent_all(intake->peer->source, type_url, name);
}

void
udpai_ending_take_state(udpai_intake *intake,
                        udpai_str type_url,
                        udpai_str prefix,
                        udpai_store_keep_fn keep,
                        void *userdata)
{
    left_out all = {.prefix = prefix, .keep = keep, .userdata = userdata}, back = all;
    udpai_origin *taken_back = udpai_take_back_origin(intake);
    udpai_staging_note_unchanged(intake->staging); /* what is left out and not there */
    if (!intake->peer->is_node && !udpai_intake_is_from_source(intake))
        end_all(&(ender){intake->receiver, intake->origin, intake->staging}, type_url, &all);
    if (taken_back)
        end_all(&(ender){intake->receiver, taken_back, intake->staging}, type_url, &back);
    udpai_staging_leave_all(intake->staging, intake->receiver->context->store, intake->origin,
                            &(udpai_store_scope){type_url, prefix, keep, userdata});
}

/* Where the peer names no authority, it is that of the contribution that came by it. */
static udpa_err
complete(const udpai_intake *intake,
         const udpa_resource *stated,
         const udpa_resource *held,
         udpa_resource **ret_removal)
{
    udpai_resource_room room, of_held;
    udpai_resource_parts parts = udpai_resource_parts_of(stated, &room);
    bool is_publisher = !intake->peer->is_node && !intake->peer->source;
    if (parts.authority.len == 0 && held)
        parts.authority = udpai_resource_authority(held);
    if (parts.authority.len == 0 && is_publisher)
        parts.authority = udpai_peer_name(intake->peer);
    bool is_of_held = held && udpai_str_eq(parts.authority, udpai_resource_authority(held));
    if (parts.n_hops == 0 && is_of_held && udpa_resource_n_hops(held)) {
        const udpai_resource_parts from = udpai_resource_parts_of(held, &of_held);
        parts.hops = from.hops;
        parts.n_hops = 1;
    } else if (parts.n_hops == 0 && is_publisher) {
        udpai_stamp_hop(intake->receiver->context, &parts, &room, udpai_peer_name(intake->peer));
    }
    return udpai_removal_make(ret_removal, udpai_resource_type_url(stated), &parts);
}

/* May the peer remove this for that authority? Else it removes its own contribution alone. */
static bool
is_believed(const udpai_intake *intake, udpa_resource **removal)
{
    const udpa_resource *before = *removal;
    udpai_str type_url = udpai_resource_type_url(before), name = udpai_resource_name(before);
    if (udpai_resource_authority(before).len == 0 || udpa_resource_n_hops(before) == 0 ||
        !is_followed(type_url, name))
        return false;
    if (udpai_intake_is_from_source(intake) &&
        !udpai_source_covers(intake->peer->source, type_url, name))
        return false;
    return udpai_access_check_publication(intake->receiver->access, intake->peer, before, NULL) ==
               UDPA_OK &&
           udpai_signatures_pass_removal(intake->receiver->signatures, intake->origin, NULL,
                                         removal);
}

static udpa_resource *
removal_of(udpai_intake *intake, udpai_removal *received, const udpa_resource *held)
{
    udpa_resource *removal = NULL;
    udpa_error *error = NULL;
    if (complete(intake, received->statement, held, &removal) != UDPA_OK)
        return NULL;
    if (udpai_intake_check_path(intake, removal, &error) != UDPA_OK) {
        udpai_publication_refuse(&received->error, error);
        return udpa_resource_unref(removal);
    }
    if (is_believed(intake, &removal))
        return removal;
    udpai_take_back_refuse(intake, removal);
    return udpa_resource_unref(removal);
}

/* What a replica has is compared in etcd, what it cannot decrypt is not. */
static bool
is_locked(const udpai_intake *intake, udpai_str type_url, udpai_str name)
{
    return intake->staging && udpai_sync_is_locked(intake->receiver->sync, type_url, name) &&
           !udpai_staging_takes(intake->staging, intake->origin, type_url, name);
}

void
udpai_ending_refuse_locked(udpai_removal *received)
{
    udpai_publication_refuse(
        &received->error,
        udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                       "'%.*s': this replica does not have it, for it lacks a key of the others "
                       "(store.keys): remove it at another replica",
                       UDPAI_SHOWN(received->name)));
}

static void
refuse_frozen(const udpai_intake *intake, udpai_str type_url, udpai_removal *received)
{
    udpa_error *error = NULL;
    if (udpai_intake_check_frozen(intake, type_url, received->name, &error) != UDPA_OK)
        udpai_publication_refuse(&received->error, error);
}

void
udpai_ending_take(udpai_intake *intake, udpai_str type_url, udpai_removal *received)
{
    udpai_contribution held = {0};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *removal = NULL, *keep = NULL;
    const udpai_origin *taken_back = udpai_take_back_origin(intake);
    if (udpai_store_get(intake->receiver->context->store, intake->origin, type_url, received->name,
                        &held) ||
        (taken_back && udpai_store_get(intake->receiver->context->store, taken_back, type_url,
                                       received->name, &held)))
        keep = udpa_resource_ref(held.resource);
    else if (is_locked(intake, type_url, received->name))
        udpai_ending_refuse_locked(received);
    if (received->statement && !udpai_outlived_take(intake, received->statement))
        removal = removal_of(intake, received, keep);
    else if (!received->statement && keep && gives_generation(intake, type_url, received->name))
        removal = udpai_ending_stamp(intake->receiver, intake->origin, keep);
    if (keep || removal)
        refuse_frozen(intake, type_url, received);
    if (received->error && !udpai_intake_is_from_source(intake))
        return; /* the peer is notified of that; of a source the name is removed, whatever its clock
                   shows */
    if (!keep)
        udpai_staging_note_unchanged(intake->staging);
    if (intake->peer->source && (removal || keep))
        udpai_difference_end(intake->peer->source, type_url, received->name);
    end(&(ender){intake->receiver, intake->origin, intake->staging}, type_url, received->name,
        removal);
}
