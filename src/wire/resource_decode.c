/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/resource_decode.h"

#include "base/alloc.h"
#include "google/protobuf/any.pb-c.h"
#include "model/removal.h"

typedef Udpa__Service__Discovery__V1__Resource resource_message;

/* Milliseconds, rounded up, so that what lives for a microsecond does not live for ever. */
static bool
duration_to_ms(const Google__Protobuf__Duration *duration, uint64_t *ret_ms)
{
    if (duration->seconds < 0 || duration->nanos < 0 || duration->nanos > 999999999 ||
        (uint64_t)duration->seconds > UDPAI_TTL_MAX_MS / 1000)
        return false;
    *ret_ms = (uint64_t)duration->seconds * 1000 + ((uint64_t)duration->nanos + 999999) / 1000000;
    return *ret_ms > 0;
}

/* 0 for what is none. */
static int64_t
timestamp_to_us(const Google__Protobuf__Timestamp *time)
{
    const int64_t limit = INT64_MAX / 1000000 - 1;
    if (!time || time->seconds > limit || time->seconds < -limit || time->nanos < 0 ||
        time->nanos > 999999999)
        return 0;
    return time->seconds * 1000000 + time->nanos / 1000;
}

static udpai_hop
read_hop(const Udpa__Service__Discovery__V1__Hop *hop)
{
    return (udpai_hop){
        .node_id = udpai_str_from(hop->node_id),
        .authority = udpai_str_from(hop->authority),
        .time_us = timestamp_to_us(hop->time),
        .instance = udpai_str_from(hop->instance),
    };
}

static udpai_signature
read_signature(const Udpa__Service__Discovery__V1__Signature *signature)
{
    return (udpai_signature){
        .algorithm = (uint32_t)signature->algorithm,
        .key_id = udpai_str_from(signature->key_id),
        .not_before_us = timestamp_to_us(signature->not_before),
        .not_after_us = timestamp_to_us(signature->not_after),
        .value = {(const char *)signature->value.data, signature->value.len},
    };
}

static udpa_err
read_hops(const resource_message *message, udpai_resource_parts *parts, udpai_hop *hops)
{
    if (message->n_hops > UDPAI_HOPS_MAX)
        return UDPA_ERR_LIMIT;
    for (size_t i = 0; i < message->n_hops; i++)
        hops[i] = read_hop(message->hops[i]);
    parts->hops = hops;
    parts->n_hops = message->n_hops;
    return UDPA_OK;
}

static void
read_provenance(const Udpa__Service__Discovery__V1__Provenance *origin, udpai_resource_parts *parts)
{
    if (!origin)
        return;
    parts->authority = udpai_str_from(origin->authority);
    parts->generation = origin->generation;
    if (origin->signature)
        parts->signature = read_signature(origin->signature);
}

/* Resources of a publish mostly have one type: its text is shared with the one before. */
static void
share_type(udpai_decoder *decoder, udpai_str any, udpai_resource_parts *parts)
{
    udpai_str type_url, value;
    if (!udpai_any_parse(any, &type_url, &value))
        return;
    if (parts->redirected_type.len)
        type_url = parts->redirected_type;
    if (!decoder->last_type || udpa_bytes_size(decoder->last_type) != type_url.len + 1 ||
        memcmp(udpa_bytes_data(decoder->last_type), type_url.data ? type_url.data : "",
               type_url.len) != 0) {
        udpa_bytes *type = udpai_bytes_cstring(type_url);
        if (!type)
            return;
        udpa_bytes_unref(decoder->last_type);
        decoder->last_type = type;
    }
    parts->type = decoder->last_type;
}

void
udpai_decoder_share_path(udpai_decoder *decoder, const udpa_resource *resource)
{
    udpai_hop_path *path = udpai_hop_path_ref(udpai_resource_hop_path(resource));
    udpai_hop_path_unref(decoder->last_hop_path);
    decoder->last_hop_path = path;
}

/* Everything but the Any, the hops and the aliases. */
static udpa_err
read_plain_parts(const resource_message *message,
                 udpai_resource_parts *parts,
                 udpa_error **ret_error)
{
    parts->name = udpai_str_from(message->name);
    parts->version = udpai_str_from(message->version);
    parts->lazy = message->delivery == UDPA__SERVICE__DISCOVERY__V1__DELIVERY__LAZY;
    parts->do_not_cache = message->do_not_cache;
    parts->redirected_type = udpai_str_from(message->redirected_type);
    read_provenance(message->origin_info, parts);
    if (message->ttl && !duration_to_ms(message->ttl, &parts->ttl_ms))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "resource '%.200s': a ttl must be above zero and below ten years",
                          message->name);
    return UDPA_OK;
}

/* What is forwarded is what is checked here, whatever form it came in: written anew, in the one
 * form that constraints have then, so that they can be compared as bytes. */
static udpa_err
read_constraints(udpai_decoder *decoder,
                 const resource_message *message,
                 udpai_resource_parts *parts)
{
    if (!message->constraints)
        return UDPA_OK;
    size_t size = protobuf_c_message_get_packed_size(&message->constraints->base);
    uint8_t *room = udpai_arena_alloc(&decoder->arena, size);
    if (!room)
        return UDPA_ERR_NOMEM;
    protobuf_c_message_pack(&message->constraints->base, room);
    parts->constraints = (udpai_str){(const char *)room, size};
    return UDPA_OK;
}

udpa_err
udpai_resource_from_message(udpai_decoder *decoder,
                            const resource_message *message,
                            udpai_str any,
                            udpa_resource **ret_resource,
                            udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    udpai_hop hops[UDPAI_HOPS_MAX];
    udpai_str aliases[UDPAI_ALIASES_MAX];
    udpai_resource_parts parts = {0};
    udpa_err err = read_plain_parts(message, &parts, ret_error);
    share_type(decoder, any, &parts);
    udpa_err made = udpai_resource_parts_set_any(&parts, any, &bytes);
    if (made != UDPA_OK)
        return made;
    if ((made = read_constraints(decoder, message, &parts)) != UDPA_OK)
        return made;
    if (err == UDPA_OK && read_hops(message, &parts, hops) != UDPA_OK)
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "resource '%.200s' passed %zu nodes, more than %d: is there a loop?",
                         message->name, message->n_hops, UDPAI_HOPS_MAX);
    if (err == UDPA_OK && message->n_aliases > UDPAI_ALIASES_MAX)
        err =
            udpai_fail(ret_error, UDPA_ERR_LIMIT, "resource '%.200s' has %zu aliases, more than %d",
                       message->name, message->n_aliases, UDPAI_ALIASES_MAX);
    parts.n_aliases = udpai_min_size(message->n_aliases, UDPAI_ALIASES_MAX);
    for (size_t i = 0; i < parts.n_aliases; i++)
        aliases[i] = udpai_str_from(message->aliases[i]);
    parts.aliases = aliases;
    if (err == UDPA_OK)
        err = udpai_resource_parts_check(&parts, ret_error);
    parts.hop_path = decoder->last_hop_path;
    made = udpai_resource_make(ret_resource, &parts);
    if (made == UDPA_OK) {
        udpai_decoder_share_path(decoder, *ret_resource);
        return err;
    }
    if (err != UDPA_OK && ret_error) /* what is wrong with the Any is worse */
        *ret_error = udpa_error_unref(*ret_error);
    return udpai_fail(ret_error, made, "resource '%.200s' cannot be made of its Any: %s",
                      message->name, udpa_err_text(made));
}

/* ---- removals ---- */

typedef Udpa__Service__Discovery__V1__RemovedFrom removed_from;

/* What one removal is made of. */
struct removal_parts {
    uint64_t generation;
    const Udpa__Service__Discovery__V1__Signature *signature;
    const removed_from *from; /* NULL: not given */
};

static udpa_err
make_removal(udpai_decoder *decoder,
             udpai_str type_url,
             udpai_str name,
             const struct removal_parts *given,
             udpa_resource **ret_removal,
             udpa_error **ret_error)
{
    udpai_hop hop;
    udpai_resource_parts parts = {.name = name, .generation = given->generation};
    if (given->signature)
        parts.signature = read_signature(given->signature);
    if (given->from)
        parts.authority = udpai_str_from(given->from->authority);
    if (given->from && given->from->first_hop) {
        hop = read_hop(given->from->first_hop);
        parts.hops = &hop;
        parts.n_hops = 1;
    }
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(type_url, (udpai_str){0});
    if (!any)
        return UDPA_ERR_NOMEM;
    share_type(decoder, udpai_bytes_view(any), &parts);
    udpai_resource_parts checked = parts;
    checked.any = any;
    udpa_err err = udpai_resource_parts_check(&checked, ret_error);
    return err == UDPA_OK ? udpai_removal_make(ret_removal, type_url, &parts) : err;
}

static udpa_err
add_removal(udpai_decoder *decoder,
            udpai_publication *publication,
            udpai_str name,
            const struct removal_parts *given)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *removal = NULL;
    udpa_error *error = NULL;
    if (given->generation && publication->type_url.len) {
        udpa_err err = make_removal(decoder, publication->type_url, name, given, &removal, &error);
        if (err == UDPA_ERR_NOMEM) {
            udpa_error_unref(error);
            return err;
        }
    }
    udpa_err err = udpai_publication_remove_stated(publication, name, removal);
    if (err == UDPA_OK && error)
        udpai_publication_refuse(&publication->removals.items[publication->removals.n - 1].error,
                                 error);
    else
        udpa_error_unref(error);
    return err;
}

udpa_err
udpai_removals_from_message(udpai_decoder *decoder,
                            const Udpa__Service__Discovery__V1__DeltaPublish *delta,
                            udpai_publication *publication)
{
    size_t at_from = 0, n_left = 0;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < delta->n_removed_resources && err == UDPA_OK; i++) {
        while (n_left == 0 && at_from < delta->n_removed_from)
            n_left = delta->removed_from[at_from++]->count;
        const struct removal_parts given = {
            .generation = i < delta->n_removed_generations ? delta->removed_generations[i] : 0,
            .signature = i < delta->n_removed_signatures ? delta->removed_signatures[i] : NULL,
            .from = n_left ? delta->removed_from[at_from - 1] : NULL,
        };
        n_left -= n_left > 0;
        err =
            add_removal(decoder, publication, udpai_str_from(delta->removed_resources[i]), &given);
    }
    return err;
}
