/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/compose.h"

#include "base/utf8.h"
#include "model/name.h"

/* Receipts: of what there is for all texts, a quarter is for whole ones if not all can be whole. */
#define FULL_TEXT_MAX 4096
#define SHORT_TEXT_MAX 64

enum { /* field numbers of UdpaMessage and below */
    MESSAGE_SUBSCRIBE = 1,
    MESSAGE_UNSUBSCRIBE = 2,
    MESSAGE_PUBLISH = 3,
    MESSAGE_RECEIPT = 4,
    MESSAGE_SUBSCRIPTION_ERROR = 5,
    PUBLISH_DELTA = 2,
    PUBLISH_TRIAL = 3,
    DELTA_RESOURCES = 1,
    DELTA_REMOVED = 2,
    DELTA_RECEIPT_REQUIRED = 4,
    DELTA_TYPE_URL = 5,
    DELTA_COMPLETE = 6,
    DELTA_NAMESPACE = 7,
    DELTA_REMOVED_GENERATIONS = 9,
    DELTA_REMOVED_SIGNATURES = 11,
    DELTA_REMOVED_FROM = 12,
    DELTA_TRACE = 10,
    DELTA_COMMIT = 14,
    DELTA_WAITS_BEHIND = 15,
};

/* Counts, makes room, writes: a message that is one field of UdpaMessage. */
static udpa_bytes *
compose_field(uint32_t number, udpai_proto_put_fn put, const void *what)
{
    udpai_proto_writer inner = {0};
    put(&inner, what);
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(udpai_proto_bytes_size(number, inner.size), &room);
    if (bytes) {
        udpai_proto_writer writer = {room, 0};
        udpai_proto_put_head(&writer, number, inner.size);
        put(&writer, what);
    }
    return bytes;
}

void
udpai_nonce_format(uint64_t counter, char nonce[UDPAI_NONCE_LEN])
{
    for (int i = UDPAI_NONCE_LEN - 1; i >= 0; i--, counter >>= 4)
        nonce[i] = "0123456789abcdef"[counter & 15];
}

bool
udpai_nonce_parse(udpai_str nonce, uint64_t *ret_counter)
{
    uint64_t counter = 0;
    if (nonce.len != UDPAI_NONCE_LEN)
        return false;
    for (size_t i = 0; i < nonce.len; i++) {
        const char *digit = memchr("0123456789abcdef", nonce.data[i], 16);
        if (!digit)
            return false;
        counter =
            counter << 4 | (uint64_t)(strchr("0123456789abcdef", *digit) - "0123456789abcdef");
    }
    *ret_counter = counter;
    return true;
}

void
udpai_nonce_tail(uint64_t counter, uint32_t field, uint8_t tail[UDPAI_NONCE_TAIL_LEN])
{
    tail[0] = (uint8_t)(field << 3 | UDPAI_WIRE_BYTES);
    tail[1] = UDPAI_NONCE_LEN;
    udpai_nonce_format(counter, (char *)tail + 2);
}

/* ---- removals with a generation ---- */

static void
put_generations(udpai_proto_writer *writer, const udpai_publish_plan *plan)
{
    for (size_t i = 0; i < plan->n_removed; i++)
        udpai_proto_put_bare_number(
            writer, plan->removals[i] ? udpa_resource_generation(plan->removals[i]) : 0);
}

static void
put_signatures(udpai_proto_writer *writer, const udpai_publish_plan *plan)
{
    size_t n = 0; /* what comes behind the last one has none */
    for (size_t i = 0; i < plan->n_removed; i++)
        if (plan->removals[i] && udpai_resource_signature(plan->removals[i]))
            n = i + 1;
    for (size_t i = 0; i < n; i++)
        udpai_signature_put_field(writer, DELTA_REMOVED_SIGNATURES,
                                  plan->removals[i] ? udpai_resource_signature(plan->removals[i])
                                                    : NULL);
}

static bool
is_of_same(const udpa_resource *a, const udpa_resource *b)
{
    if (!a || !b || udpa_resource_n_hops(a) != udpa_resource_n_hops(b))
        return a == b;
    if (!udpai_str_eq(udpai_resource_authority(a), udpai_resource_authority(b)))
        return false;
    if (udpa_resource_n_hops(a) == 0)
        return true;
    udpai_hop x = udpai_resource_hop(a, 0), y = udpai_resource_hop(b, 0);
    return udpai_str_eq(x.node_id, y.node_id) && udpai_str_eq(x.authority, y.authority);
}

static void
put_from(udpai_proto_writer *writer, const udpa_resource *removal, size_t count)
{
    if (removal) {
        udpai_proto_put_bytes_opt(writer, 1, udpai_resource_authority(removal));
        if (udpa_resource_n_hops(removal)) {
            udpai_hop hop = udpai_resource_hop(removal, 0);
            udpai_hop_put_field(writer, 2, &hop);
        }
    }
    udpai_proto_put_varint(writer, 3, count);
}

/* One for all that are adjacent and of the same. */
static void
put_all_from(udpai_proto_writer *writer, const udpai_publish_plan *plan)
{
    for (size_t i = 0, end; i < plan->n_removed; i = end) {
        for (end = i + 1;
             end < plan->n_removed && is_of_same(plan->removals[i], plan->removals[end]);)
            end++;
        udpai_proto_writer size = {0};
        put_from(&size, plan->removals[i], end - i);
        udpai_proto_put_head(writer, DELTA_REMOVED_FROM, size.size);
        put_from(writer, plan->removals[i], end - i);
    }
}

static void
put_removals(udpai_proto_writer *writer, const udpai_publish_plan *plan)
{
    bool any = false;
    for (size_t i = 0; plan->removals && i < plan->n_removed && !any; i++)
        any = plan->removals[i] != NULL;
    if (!any)
        return;
    udpai_proto_writer size = {0};
    put_generations(&size, plan);
    udpai_proto_put_head(writer, DELTA_REMOVED_GENERATIONS, size.size);
    put_generations(writer, plan);
    put_signatures(writer, plan);
    put_all_from(writer, plan);
}

static void
put_delta(udpai_proto_writer *writer, const void *what)
{
    const udpai_publish_plan *plan = what;
    for (size_t i = 0; i < plan->n_items; i++)
        udpai_entry_put_field(writer, DELTA_RESOURCES, plan->items[i].resource,
                              plan->items[i].form);
    for (size_t i = 0; i < plan->n_removed; i++)
        udpai_proto_put_bytes(writer, DELTA_REMOVED, plan->removed[i]);
    udpai_proto_put_varint_opt(writer, DELTA_RECEIPT_REQUIRED, plan->receipt_required);
    udpai_proto_put_bytes_opt(writer, DELTA_TYPE_URL, plan->type_url);
    udpai_proto_put_varint_opt(writer, DELTA_COMPLETE, plan->complete);
    udpai_proto_put_bytes_opt(writer, DELTA_NAMESPACE, plan->name_space);
    put_removals(writer, plan);
    udpai_proto_put_raw(writer, plan->waits);
    if (plan->trace) {
        char room[UDPAI_TRACEPARENT_LEN];
        udpai_trace_write(plan->trace, room);
        udpai_proto_put_bytes(writer, DELTA_TRACE, (udpai_str){room, sizeof(room)});
    }
    udpai_proto_put_varint_opt(writer, DELTA_COMMIT, plan->commit);
    udpai_proto_put_varint_opt(writer, DELTA_WAITS_BEHIND, plan->waits_behind);
}

/* The lengths of all that encloses the delta count the tail that is still to come. */
static void
put_publish_up_to_nonce(udpai_proto_writer *writer, const udpai_publish_plan *plan, size_t delta)
{
    size_t with_nonce = delta + UDPAI_NONCE_TAIL_LEN;
    uint32_t kind = plan->is_trial ? PUBLISH_TRIAL : PUBLISH_DELTA;
    udpai_proto_put_head(writer, MESSAGE_PUBLISH, udpai_proto_bytes_size(kind, with_nonce));
    udpai_proto_put_head(writer, kind, with_nonce);
    put_delta(writer, plan);
}

static udpa_bytes *
compose_publish(const udpai_publish_plan *plan, size_t room_behind, uint8_t **ret_end)
{
    udpai_proto_writer delta = {0}, whole = {0};
    put_delta(&delta, plan);
    put_publish_up_to_nonce(&whole, plan, delta.size);
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(whole.size + room_behind, &room);
    if (bytes) {
        whole = (udpai_proto_writer){room, 0};
        put_publish_up_to_nonce(&whole, plan, delta.size);
        *ret_end = whole.at;
    }
    return bytes;
}

udpa_bytes *
udpai_publish_compose(const udpai_publish_plan *plan)
{
    uint8_t *end;
    return compose_publish(plan, 0, &end);
}

udpa_bytes *
udpai_publish_compose_whole(const udpai_publish_plan *plan, uint64_t nonce)
{
    uint8_t *end;
    udpa_bytes *bytes = compose_publish(plan, UDPAI_NONCE_TAIL_LEN, &end);
    if (bytes)
        udpai_nonce_tail(nonce, UDPAI_PUBLISH_NONCE_FIELD, end);
    return bytes;
}

size_t
udpai_publish_item_size(const udpai_publish_item *item)
{
    udpai_proto_writer writer = {0};
    udpai_entry_put_field(&writer, DELTA_RESOURCES, item->resource, item->form);
    return writer.size;
}

static void
put_version_entry(udpai_proto_writer *writer, const udpai_held_version *held)
{
    udpai_proto_put_bytes(writer, 1, held->name);
    udpai_proto_put_bytes(writer, 2, held->version);
}

static void
put_digest_entry(udpai_proto_writer *writer, const udpai_held_digest *held)
{
    udpai_proto_put_bytes(writer, 1, held->name);
    udpai_proto_put_fixed64(writer, 2, held->digest);
}

static void
put_digests(udpai_proto_writer *writer, uint32_t number, const udpai_held_digest *held, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        udpai_proto_writer size = {0};
        put_digest_entry(&size, &held[i]);
        udpai_proto_put_head(writer, number, size.size);
        put_digest_entry(writer, &held[i]);
    }
}

static void
put_held(udpai_proto_writer *writer, const udpai_subscription_message *subscription)
{
    for (size_t i = 0; i < subscription->n_versions; i++) {
        udpai_proto_writer size = {0};
        put_version_entry(&size, &subscription->versions[i]);
        udpai_proto_put_head(writer, 3, size.size);
        put_version_entry(writer, &subscription->versions[i]);
    }
    put_digests(writer, 5, subscription->digests, subscription->n_digests);
    put_digests(writer, 6, subscription->paths, subscription->n_paths);
}

static void
put_names(udpai_proto_writer *writer, uint32_t number, const udpai_subscription_message *message)
{
    for (size_t i = 0; i < message->n_names; i++)
        udpai_proto_put_bytes(writer, number, message->names[i]);
}

static void
put_subscribe(udpai_proto_writer *writer, const void *what)
{
    const udpai_subscription_message *subscription = what;
    udpai_proto_put_bytes_opt(writer, 1, subscription->type_url);
    put_names(writer, 2, subscription);
    put_held(writer, subscription);
    udpai_proto_put_bytes_opt(writer, 4, subscription->name_space);
    udpai_proto_put_varint_opt(writer, 7, subscription->distance);
    udpai_proto_put_varint_opt(writer, 8, subscription->recovers);
}

static void
put_unsubscribe(udpai_proto_writer *writer, const void *what)
{
    const udpai_subscription_message *subscription = what;
    udpai_proto_put_bytes_opt(writer, 1, subscription->type_url);
    put_names(writer, 2, subscription);
    udpai_proto_put_bytes_opt(writer, 3, subscription->name_space);
}

static void
put_subscription_error(udpai_proto_writer *writer, const void *what)
{
    const udpai_subscription_message *error = what;
    udpai_proto_put_bytes_opt(writer, 1, error->type_url);
    udpai_proto_put_bytes_opt(writer, 2, error->name_space);
    put_names(writer, 3, error);
    udpai_rpc_status_put(writer, 4, error->status_code, error->status_text);
}

/* How much a receipt has of what it rejects. */
typedef enum receipt_detail {
    RECEIPT_CODES,
    RECEIPT_SHORT_TEXTS, /* but for the first ones */
    RECEIPT_FULL_TEXTS,
} receipt_detail;

typedef struct receipt_plan {
    const udpai_publication *publication;
    receipt_detail detail;
    size_t n_full_texts; /* if others are short */
} receipt_plan;

/* `in_short`: what is sent beyond the first ones, if not all can be. */
static void
put_error(udpai_proto_writer *writer,
          const udpa_error *error,
          udpai_str in_short,
          const receipt_plan *plan,
          size_t *n_texts)
{
    udpai_str text = {0};
    if (plan->detail == RECEIPT_FULL_TEXTS ||
        (plan->detail == RECEIPT_SHORT_TEXTS && *n_texts < plan->n_full_texts))
        text = udpai_utf8_cut(udpai_str_from(udpa_error_message(error)), FULL_TEXT_MAX);
    else if (plan->detail == RECEIPT_SHORT_TEXTS)
        text = in_short;
    ++*n_texts;
    udpai_rpc_status_put(writer, 2, udpa_err_to_grpc(udpa_error_code(error)), text);
}

static void
put_effect(udpai_proto_writer *writer, const udpai_effect *effect)
{
    udpai_proto_put_varint_opt(writer, 1, effect->kind);
    udpai_proto_put_bytes_opt(writer, 2, effect->effective);
}

static void
put_effects(udpai_proto_writer *writer, const udpai_publication *publication)
{
    for (size_t i = 0; i < publication->effects.n; i++) {
        udpai_proto_writer size = {0};
        put_effect(&size, &publication->effects.items[i]);
        udpai_proto_put_head(writer, 3, size.size);
        put_effect(writer, &publication->effects.items[i]);
    }
}

/* A removal is known by its name. */
static void
put_errors(udpai_proto_writer *writer, const receipt_plan *plan)
{
    const udpai_publication *publication = plan->publication;
    size_t n_texts = 0;
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpa_error *error = publication->entries.items[i].error;
        if (error)
            put_error(writer, error,
                      udpai_utf8_cut(udpai_str_from(udpa_error_message(error)), SHORT_TEXT_MAX),
                      plan, &n_texts);
        else
            udpai_rpc_status_put(writer, 2, 0, (udpai_str){0});
    }
    for (size_t i = 0; i < publication->removals.n; i++) {
        const udpai_removal *removal = &publication->removals.items[i];
        if (removal->error)
            put_error(writer, removal->error, udpai_utf8_cut(removal->name, UDPAI_NAME_MAX), plan,
                      &n_texts);
    }
}

static void
put_receipt(udpai_proto_writer *writer, const void *what)
{
    const receipt_plan *plan = what;
    udpai_proto_put_bytes_opt(writer, 1, plan->publication->nonce);
    if (udpai_publication_has_errors(plan->publication))
        put_errors(writer, plan);
    if (plan->detail > RECEIPT_CODES)
        put_effects(writer, plan->publication);
}

udpa_bytes *
udpai_subscribe_compose(const udpai_subscription_message *subscription)
{
    return compose_field(MESSAGE_SUBSCRIBE, put_subscribe, subscription);
}

udpa_bytes *
udpai_unsubscribe_compose(const udpai_subscription_message *subscription)
{
    return compose_field(MESSAGE_UNSUBSCRIBE, put_unsubscribe, subscription);
}

udpa_bytes *
udpai_subscription_error_compose(const udpai_subscription_message *subscription)
{
    return compose_field(MESSAGE_SUBSCRIPTION_ERROR, put_subscription_error, subscription);
}

udpa_bytes *
udpai_receipt_compose(const udpai_publication *publication, size_t texts_max)
{
    receipt_plan plan = {publication, RECEIPT_FULL_TEXTS, texts_max / 4 / FULL_TEXT_MAX};
    for (; plan.detail > RECEIPT_CODES; plan.detail--) {
        udpai_proto_writer size = {0};
        put_receipt(&size, &plan);
        if (size.size <= texts_max)
            break;
    }
    return compose_field(MESSAGE_RECEIPT, put_receipt, &plan);
}
