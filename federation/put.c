/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken in becomes a contribution: it gets its generation, the hop of this node, and, where
 * that is to be made here, its signature. */
#include "federation/adoption.h"
#include "federation/intake.h"
#include "federation/shares.h"
#include "federation/signatures.h"
#include "federation/stamp.h"
#include "federation/stamps.h"
#include "federation/traces.h"
#include "model/client_type.h"
#include "model/name.h"

#define TTL_MIN_MS 10000

/* What a publisher sends again though the node has taken over something newer is meant. */
static bool
is_meant_anew(const udpai_receiver *receiver, const udpai_contribution *held)
{
    return udpai_origin_rank(held->origin) == UDPAI_ORIGIN_PUBLISHER &&
           udpai_recovery_replaces(receiver, udpai_resource_type_url(held->resource),
                                   udpai_resource_name(held->resource),
                                   udpa_resource_generation(held->resource));
}

/* ---- generations ---- */

/* Replicas read the same, each by itself, but for what one reads for all. Endpoints of xDS servers
 * change too often to be noted in etcd, and what is signed here has a generation of the signature.
 */
static bool
is_stamped_by_all(const udpai_receiver *receiver,
                  const udpai_origin *origin,
                  udpai_str type_url,
                  udpai_str name)
{
    if (!receiver->stamps || udpai_origin_rank(origin) == UDPAI_ORIGIN_PUBLISHER ||
        udpai_shares_find(receiver->shares, udpai_origin_key(origin)))
        return false;
    bool is_source = udpai_origin_rank(origin) == UDPAI_ORIGIN_SOURCE;
    bool is_endpoint = udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_ENDPOINTS)) ||
                       udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_MEMBER));
    return udpai_signatures_may_sign(receiver->signatures, origin) &&
           !udpai_type_is_client(type_url) &&
           !udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), name) &&
           !(is_source && is_endpoint);
}

/* @p held: of this origin; NULL: nothing. */
static uint64_t
new_generation(const udpai_receiver *receiver,
               const udpai_origin *origin,
               const udpa_resource *resource,
               const udpa_resource *held)
{
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    uint64_t candidate = udpai_stamp_generation(receiver->context, resource);
    if (!is_stamped_by_all(receiver, origin, type_url, name))
        return candidate;
    return udpai_stamps_choose(receiver->stamps, resource,
                               held ? udpa_resource_generation(held) : 0, candidate);
}

/* An unchanged resource keeps its generation: only its ttl and its path are renewed. */
static void
choose_generation(const udpai_receiver *receiver,
                  const udpai_origin *origin,
                  const udpa_resource *resource,
                  udpai_staging *staging,
                  udpai_resource_parts *parts)
{
    udpai_contribution held;
    udpai_str type_url = udpai_resource_type_url(resource);
    bool has = udpai_store_get(receiver->context->store, origin, type_url, parts->name, &held);
    bool same = has && !udpai_staging_takes(staging, origin, type_url, parts->name) &&
                udpai_resource_same_payload(held.resource, resource) &&
                udpai_str_eq(udpai_resource_authority(held.resource), parts->authority) &&
                !is_meant_anew(receiver, &held);
    parts->generation =
        same ? udpa_resource_generation(held.resource)
             : new_generation(receiver, origin, resource, has ? held.resource : NULL);
    uint64_t removed = udpai_staging_removal_generation(staging, type_url, parts->name);
    if (parts->generation <= removed)
        parts->generation = removed + 1;
}

/* What the set has stamped before it was removed here is stamped anew. */
static udpa_err
outlive_removal(const udpai_receiver *receiver,
                const udpai_origin *origin,
                udpai_resource_parts *parts,
                udpa_resource **stamped)
{
    udpai_str type_url = udpai_resource_type_url(*stamped);
    if (parts->signature.algorithm ||
        !is_stamped_by_all(receiver, origin, type_url, udpai_resource_name(*stamped)))
        return UDPA_OK;
    uint64_t removed = udpai_store_removal_generation(receiver->context->store, *stamped);
    if (parts->generation > removed)
        return UDPA_OK;
    parts->generation = udpai_stamps_choose(receiver->stamps, *stamped, removed,
                                            udpai_stamp_generation(receiver->context, *stamped));
    udpa_resource_unref(*stamped);
    *stamped = NULL;
    return udpai_resource_make(stamped, parts);
}

/* One that we gave it would not be what was signed. */
static udpa_err
fail_bare_signature(const udpa_resource *resource, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "'%s' is signed, and has no generation: signed resources must have one",
                      udpa_resource_name(resource));
}

static void
note_path(udpai_receiver *receiver, const udpa_resource *resource)
{
    udpai_hop_path *path = udpai_hop_path_ref(udpai_resource_hop_path(resource));
    udpai_hop_path_unref(receiver->last_hop_path);
    receiver->last_hop_path = path;
}

/* Is the resource older than its removal by its authority? Then the peer that publishes it anew
 * receives an error. */
static udpa_err
check_removed(const udpai_receiver *receiver,
              const udpai_origin *origin,
              const udpa_resource *resource,
              udpai_staging *staging,
              udpa_error **ret_error)
{
    uint64_t generation = udpa_resource_generation(resource);
    uint64_t removed = udpai_store_removal_generation(receiver->context->store, resource);
    uint64_t staged = udpai_staging_removal_generation(staging, udpai_resource_type_url(resource),
                                                       udpai_resource_name(resource));
    removed = staged > removed ? staged : removed;
    if (udpai_origin_rank(origin) > UDPAI_ORIGIN_PUBLISHER || removed <= generation)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                      "'%s' was removed with generation %llu, and this has %llu: publish it with a "
                      "higher one, or with none",
                      udpa_resource_name(resource), (unsigned long long)removed,
                      (unsigned long long)generation);
}

/* Of what has a ttl, a third of it must be over: who refreshes it more often writes no more. */
static bool
is_fresh(const udpai_receiver *receiver, const udpai_origin *origin, const udpai_contribution *held)
{
    const udpa_resource *resource = held->resource;
    return udpa_resource_ttl_ms(resource) == 0 ||
           udpai_refreshes_have(&receiver->refreshes,
                                udpai_refresh_key(udpai_origin_key(origin),
                                                  udpai_resource_type_url(resource),
                                                  udpai_resource_name(resource)),
                                udpai_context_now(receiver->context));
}

/* Among replicas, what is published again as it is is not written again, but while nobody knows
 * whether etcd still has it, or has something newer that cannot be decrypted here. */
static bool
is_there(const udpai_receiver *receiver,
         const udpai_origin *origin,
         const udpa_resource *resource,
         udpai_staging *staging)
{
    udpai_contribution held;
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    return staging && udpai_context_is_replicated(receiver->context) &&
           receiver->context->is_current && !receiver->context->lacks_keys &&
           !udpai_staging_takes(staging, origin, type_url, name) &&
           udpai_store_get(receiver->context->store, origin, type_url, name, &held) &&
           udpai_resource_is_same(held.resource, resource) && is_fresh(receiver, origin, &held);
}

/* Each refresh is a write to etcd, and an election of etcd must not end what is refreshed. What is
 * read from files each replica renews by itself. */
static udpa_err
check_ttl(const udpai_receiver *receiver,
          const udpai_origin *origin,
          const udpa_resource *resource,
          const udpai_staging *staging,
          udpa_error **ret_error)
{
    uint64_t ttl_ms = udpa_resource_ttl_ms(resource);
    if (!staging || !udpai_context_is_replicated(receiver->context) || ttl_ms == 0 ||
        ttl_ms >= TTL_MIN_MS || udpai_origin_keeps_alive(origin) ||
        udpai_type_is_client(udpai_resource_type_url(resource)))
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_INVAL,
        "'%s' has a ttl of %llu ms: on a node with replicas at least %d ms are needed",
        udpa_resource_name(resource), (unsigned long long)ttl_ms, TTL_MIN_MS);
}

udpa_err
udpai_intake_stage(const udpai_receiver *receiver,
                   udpai_origin *origin,
                   udpa_resource *resource,
                   uint64_t deadline_ms,
                   udpai_staging *staging,
                   udpa_error **ret_error)
{
    udpa_err err = check_ttl(receiver, origin, resource, staging, ret_error);
    if (err != UDPA_OK)
        return err;
    if (is_there(receiver, origin, resource, staging)) {
        udpai_staging_note_unchanged(staging);
        return UDPA_OK;
    }
    return udpai_staging_put(staging, receiver->context->store, origin, resource, deadline_ms,
                             ret_error);
}

/* For its trace. */
static void
note_change(udpai_receiver *receiver, const udpai_origin *origin, const udpa_resource *resource)
{
    udpai_contribution held;
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    if (udpai_traces_may_note(receiver->traces) &&
        !(udpai_store_get(receiver->context->store, origin, type_url, name, &held) &&
          udpai_resource_same_payload(held.resource, resource)))
        udpai_traces_note(receiver->traces, type_url, name);
}

udpa_err
udpai_intake_put(udpai_receiver *receiver,
                 udpai_origin *origin,
                 udpa_resource *resource,
                 const udpai_put_options *options,
                 udpa_error **ret_error)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    if (parts.authority.len == 0)
        parts.authority = options->authority;
    if (parts.signature.algorithm && parts.generation == 0)
        return fail_bare_signature(resource, ret_error);
    if (!options->keeps_generation || parts.generation == 0)
        choose_generation(receiver, origin, resource, options->staging, &parts);
    if (!options->is_stamped)
        udpai_stamp_hop(receiver->context, &parts, &room, options->from);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *stamped = NULL;
    parts.hop_path = receiver->last_hop_path;
    udpa_err err = udpai_resource_make(&stamped, &parts);
    if (err == UDPA_OK)
        err = outlive_removal(receiver, origin, &parts, &stamped);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    note_path(receiver, stamped);
    note_change(receiver, origin, stamped);
    err = udpai_signatures_pass(receiver->signatures, origin, &stamped, ret_error);
    if (err == UDPA_OK)
        err = check_removed(receiver, origin, stamped, options->staging, ret_error);
    if (err != UDPA_OK)
        return err;
    uint64_t deadline_ms = parts.ttl_ms ? udpai_context_now(receiver->context) + parts.ttl_ms : 0;
    return udpai_intake_stage(receiver, origin, stamped, deadline_ms, options->staging, ret_error);
}

/* ---- generations that the set has given ---- */

struct restamp {
    udpai_receiver *receiver;
    udpai_contribution held; /* a reference to the resource */
};

/* One of a name: what else has the same content gets it when it is read the next time. */
static bool
look(void *userdata, const udpai_contribution *held)
{
    struct restamp *restamp = userdata;
    udpai_receiver *receiver = restamp->receiver;
    uint64_t generation = udpai_stamps_of(receiver->stamps, held->resource);
    bool is_another =
        generation > udpa_resource_generation(held->resource) &&
        !udpai_resource_signature(held->resource) &&
        is_stamped_by_all(receiver, held->origin, udpai_resource_type_url(held->resource),
                          udpai_resource_name(held->resource));
    if (is_another)
        restamp->held = *held;
    if (is_another)
        udpa_resource_ref(held->resource);
    return !is_another;
}

/* Without memory it keeps the one that it has. */
void
udpai_intake_restamp(udpai_receiver *receiver, udpai_str type_url, udpai_str name)
{
    struct restamp restamp = {.receiver = receiver};
    udpai_store *store = receiver->context->store;
    udpai_store_visit_name(store, type_url, name, look, &restamp);
    udpa_resource *held = restamp.held.resource;
    if (!held)
        return;
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(held, &room);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *stamped = NULL;
    parts.generation = udpai_stamps_of(receiver->stamps, held);
    parts.hop_path = udpai_resource_hop_path(held);
    bool is_newer = parts.generation > udpai_store_removal_generation(store, held);
    if (is_newer && udpai_resource_make(&stamped, &parts) == UDPA_OK)
        (void)udpai_store_put(store, restamp.held.origin, stamped, restamp.held.deadline_ms, NULL);
    udpa_resource_unref(held);
}
