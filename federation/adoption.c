/* SPDX-License-Identifier: Apache-2.0 */
/* What a standby has learned becomes the node's own; and what has become its own, the standby
 * lets go. */
#include "federation/adoption.h"
#include "federation/signatures.h"
#include "federation/stamp.h"

udpai_origin *
udpai_recovery_origin(udpai_receiver *receiver)
{
    udpai_origin *origin =
        udpai_store_origin(receiver->context->store, UDPAI_STR(UDPAI_ORIGIN_KEY_ADOPTED));
    if (origin) {
        udpai_origin_set_rank(receiver->context->store, origin, UDPAI_ORIGIN_ADOPTED, 0);
        udpai_origin_set_durable(origin, receiver->context->is_durable);
    }
    return origin;
}

/* ---- taking over ---- */

/* The node's own contributions to one name. */
struct own {
    udpai_str authority;
    udpa_resource *resource; /* NULL: none */
    uint64_t generation;     /* the highest, with what was taken over before */
};

static bool
find_own(void *userdata, const udpai_contribution *contribution)
{
    struct own *own = userdata;
    udpai_origin_class rank = udpai_origin_rank(contribution->origin);
    uint64_t generation = udpa_resource_generation(contribution->resource);
    if (rank == UDPAI_ORIGIN_SOURCE ||
        !udpai_str_eq(udpai_resource_authority(contribution->resource), own->authority))
        return true;
    if (generation > own->generation)
        own->generation = generation;
    if (rank != UDPAI_ORIGIN_ADOPTED && !own->resource) /* the best comes first */
        own->resource = contribution->resource;
    return true;
}

/* Its first hop is that of the own contribution whose place it takes: so it compares with what this
 * node has published of the name, here and wherever that was received. It is newer than the
 * standby's, so that the standby takes it back, but no newer than that: something else may have
 * been published there since. */
static udpa_err
adopt(udpai_receiver *receiver, const udpai_contribution *contribution, const udpa_resource *own)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(contribution->resource, &room);
    udpai_origin *origin = udpai_recovery_origin(receiver);
    if (!origin)
        return UDPA_ERR_NOMEM;
    parts.n_hops = 0;
    udpai_stamp_hop(receiver->context, &parts, &room, udpai_resource_hop(own, 0).authority);
    if (!udpai_resource_signature(contribution->resource))
        parts.generation++;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *adopted = NULL;
    udpa_err err = udpai_resource_make(&adopted, &parts);
    if (err == UDPA_OK)
        err = udpai_signatures_pass(receiver->signatures, origin, &adopted, NULL);
    if (err == UDPA_OK)
        err = udpai_store_put(receiver->context->store, origin, adopted, contribution->deadline_ms,
                              NULL);
    return err;
}

/* A standby changes what there is; it neither adds to it, nor publishes for another authority. */
static udpa_err
take_over(udpai_receiver *receiver, udpai_source *source, udpai_str type_url, udpai_str name)
{
    udpai_contribution contribution;
    if (!udpai_store_get(receiver->context->store, udpai_source_origin(source), type_url, name,
                         &contribution))
        return UDPA_OK;
    struct own own = {.authority = udpai_resource_authority(contribution.resource)};
    udpai_store_visit_name(receiver->context->store, type_url, name, find_own, &own);
    if (!own.resource || udpa_resource_generation(contribution.resource) <= own.generation)
        return UDPA_OK;
    udpa_err err = adopt(receiver, &contribution, own.resource);
    if (err == UDPA_OK)
        udpai_source_note_adopted(source, contribution.resource);
    return err;
}

/* ---- letting go ---- */

struct outdated {
    udpai_receiver *receiver;
    const udpa_resource *resource;
    UDPAI_VECTOR(udpai_origin *) origins;
    bool failed;
};

static bool
find_outdated(void *userdata, const udpai_contribution *contribution)
{
    struct outdated *outdated = userdata;
    if (udpai_origin_rank(contribution->origin) == UDPAI_ORIGIN_PUBLISHER &&
        udpai_str_eq(udpai_resource_authority(contribution->resource),
                     udpai_resource_authority(outdated->resource)) &&
        udpa_resource_generation(contribution->resource) <
            udpa_resource_generation(outdated->resource) &&
        !udpai_vector_push(&outdated->origins, contribution->origin))
        outdated->failed = true;
    return true;
}

/* What publishers have published here in the name of the same authority, before the node that has
 * this one as standby has stated its own. */
static udpa_err
let_go(udpai_receiver *receiver, const udpa_resource *resource)
{
    struct outdated outdated = {.receiver = receiver, .resource = resource};
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    udpai_store_visit_name(receiver->context->store, type_url, name, find_outdated, &outdated);
    for (size_t i = 0; i < outdated.origins.n; i++)
        udpai_store_withdraw(receiver->context->store, outdated.origins.items[i], type_url, name);
    udpai_vector_done(&outdated.origins);
    return outdated.failed ? UDPA_ERR_NOMEM : UDPA_OK;
}

/* ---- both ---- */

udpa_err
udpai_recovery_taken(const udpai_intake *intake,
                     const udpa_resource *resource,
                     udpa_error **ret_error)
{
    udpai_source *source = intake->peer->source;
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    udpai_contribution held;
    udpa_err err = UDPA_OK;
    if (!source)
        return UDPA_OK;
    if (udpai_source_recovers(source, type_url, name))
        err = take_over(intake->receiver, source, type_url, name);
    if (err == UDPA_OK && udpai_source_is_primary(source, type_url) &&
        udpai_store_get(intake->receiver->context->store, udpai_source_origin(source), type_url,
                        name, &held))
        err = let_go(intake->receiver, held.resource);
    return udpai_fail_code(ret_error, err);
}

bool
udpai_recovery_replaces(const udpai_receiver *receiver,
                        udpai_str type_url,
                        udpai_str name,
                        uint64_t generation)
{
    const udpai_origin *origin =
        udpai_store_find_origin(receiver->context->store, UDPAI_STR(UDPAI_ORIGIN_KEY_ADOPTED));
    udpai_contribution adopted;
    return origin && udpai_store_get(receiver->context->store, origin, type_url, name, &adopted) &&
           udpa_resource_generation(adopted.resource) > generation;
}
