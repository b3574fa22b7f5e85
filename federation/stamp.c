/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/stamp.h"

#include "base/map.h"
#include "certs/signature.h"
#include "model/client_type.h"

#define BACKDATED_US ((int64_t)UDPAI_SIGNATURE_BACKDATED_S * 1000000)

#define N_PLACES (UDPAI_REPLICAS_MAX + 1) /* with that of those that have none */

/* Replicas without a place, whose leases have ended or for which there is none, have one in common.
 * Each goes further, by up to half a second, and hardly two of them to the same. */
static uint64_t
spread_of(const udpai_context *context, uint64_t generation)
{
    uint64_t own = udpai_hash(udpai_bytes_view(context->reporter_instance));
    return N_PLACES * (own * (generation | 1) >> 48);
}

/* The first one from this on that is the replica's. */
static uint64_t
own_of(const udpai_context *context, uint64_t generation)
{
    uint64_t ahead = (N_PLACES + context->place - generation % N_PLACES) % N_PLACES;
    if (!context->place)
        ahead = context->is_of_set ? ahead + spread_of(context, generation) : 0;
    return generation <= UINT64_MAX - ahead ? generation + ahead : generation;
}

uint64_t
udpai_stamp_generation(const udpai_context *context, const udpa_resource *resource)
{
    uint64_t previous = udpai_store_highest_generation(
        context->store, udpai_resource_type_url(resource), udpai_resource_name(resource));
    int64_t wall = udpai_context_wall_us(context);
    uint64_t now = wall > 0 ? (uint64_t)wall : 1;
    return own_of(context, previous < now ? now : previous < UINT64_MAX ? previous + 1 : previous);
}

void
udpai_stamp_expiry(const udpai_context *context, udpai_durable_batch *batch)
{
    int64_t wall = udpai_context_wall_us(context), now = (int64_t)udpai_context_now(context);
    for (size_t i = 0; i < batch->ops.n; i++) {
        udpai_durable_op *op = &batch->ops.items[i];
        if (op->deadline_ms)
            op->expires_us = wall + ((int64_t)op->deadline_ms - now) * 1000;
    }
}

bool
udpai_stamp_is_of(const udpai_signature *signature, int64_t hop_time_us)
{
    int64_t made_us;
    return !__builtin_add_overflow(signature->not_before_us, BACKDATED_US, &made_us) &&
           made_us == hop_time_us;
}

/* It has a NUL behind it. */
static udpai_str
type_of(const udpai_resource_parts *parts)
{
    udpai_str type = parts->type ? udpai_bytes_view(parts->type) : (udpai_str){0};
    return (udpai_str){type.data, type.len ? type.len - 1 : 0};
}

void
udpai_stamp_hop(const udpai_context *context,
                udpai_resource_parts *parts,
                udpai_resource_room *room,
                udpai_str taken_from)
{
    udpai_hop *hop = &room->hops[parts->n_hops++];
    bool is_report = udpai_type_is_client(type_of(parts));
    *hop = (udpai_hop){
        .node_id = udpai_bytes_view(is_report ? context->reporter_id : context->id),
        .authority = taken_from,
        .time_us = udpai_context_wall_us(context),
        .instance = udpai_bytes_view(is_report ? context->reporter_instance : context->instance),
    };
    if (parts->signature.algorithm && udpai_stamp_is_of(&parts->signature, hop->time_us))
        hop->time_us++; /* this signature is not ours */
    parts->hops = room->hops;
}
