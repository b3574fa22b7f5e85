/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a UdpaMessage, as a stored Resource, and as a Node. What is taken in, we can say
 * again, and take in again as the same. */
#include "base/utf8.h"
#include "tests/fuzz/fuzz.h"
#include "wire/compose.h"

static void
check_error(udpa_err err, udpa_error *error)
{
    FUZZ_CHECK(udpa_error_code(error) == err);
    FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    udpa_error_unref(error);
}

/* ---- subscriptions ---- */

static void
check_same_digests(const udpai_held_digest *a, const udpai_held_digest *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(udpai_str_eq(a[i].name, b[i].name) && a[i].digest == b[i].digest);
}

static void
check_same(const udpai_subscription_message *a, const udpai_subscription_message *b)
{
    FUZZ_CHECK(udpai_str_eq(a->type_url, b->type_url));
    FUZZ_CHECK(udpai_str_eq(a->name_space, b->name_space));
    FUZZ_CHECK(a->n_names == b->n_names && a->n_versions == b->n_versions);
    FUZZ_CHECK(a->n_digests == b->n_digests && a->n_paths == b->n_paths);
    for (size_t i = 0; i < a->n_names; i++)
        FUZZ_CHECK(udpai_str_eq(a->names[i], b->names[i]));
    for (size_t i = 0; i < a->n_versions; i++)
        FUZZ_CHECK(udpai_str_eq(a->versions[i].name, b->versions[i].name) &&
                   udpai_str_eq(a->versions[i].version, b->versions[i].version));
    check_same_digests(a->digests, b->digests, a->n_digests);
    check_same_digests(a->paths, b->paths, a->n_paths);
    FUZZ_CHECK(a->distance == b->distance && a->status_code == b->status_code);
    FUZZ_CHECK(udpai_str_eq(a->status_text, b->status_text));
}

static void
check_subscription(const udpai_message *message)
{
    const udpai_subscription_message *subscription = &message->subscription;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *said = message->kind == UDPAI_MESSAGE_SUBSCRIBE
                           ? udpai_subscribe_compose(subscription)
                       : message->kind == UDPAI_MESSAGE_UNSUBSCRIBE
                           ? udpai_unsubscribe_compose(subscription)
                           : udpai_subscription_error_compose(subscription);
    FUZZ_CHECK(said);
    udpai_decoder decoder;
    udpai_decoder_init(&decoder);
    udpai_message again = {0};
    FUZZ_CHECK(udpai_message_decode(&decoder, udpai_bytes_view(said), true, &again, NULL) ==
               UDPA_OK);
    FUZZ_CHECK(again.kind == message->kind);
    check_same(subscription, &again.subscription);
    udpai_message_done(&again);
    udpai_decoder_done(&decoder);
}

/* ---- publications ---- */

/* What was accepted passes the rules, and comes back from a store as it was. */
static void
check_entry(const udpai_publication_entry *entry)
{
    static udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(entry->resource, &room);
    FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(udpa_error_message(entry->error))));
    if (entry->error)
        return;
    FUZZ_CHECK(udpai_resource_parts_check(&parts, NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_resource_any_size(entry->resource) || entry->is_refresh);
    if (udpai_resource_any_size(entry->resource) == 0)
        return;
    udpai_decoder decoder;
    udpai_decoder_init(&decoder);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *again = NULL;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *stored = udpai_entry_encode(entry->resource, udpa_resource_ttl_ms(entry->resource));
    FUZZ_CHECK(stored);
    FUZZ_CHECK(udpai_resource_decode(&decoder, udpai_bytes_view(stored), &again, NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_resource_same_payload(entry->resource, again));
    FUZZ_CHECK(udpai_resource_same_origin_info(entry->resource, again));
    FUZZ_CHECK(udpa_resource_ttl_ms(entry->resource) == udpa_resource_ttl_ms(again));
    udpai_decoder_done(&decoder);
}

/* What is said of removals, we can pass on. */
static void
check_removals(const udpai_publication *publication)
{
    udpai_str removed[64];
    udpa_resource *said[64];
    const udpai_removal *removals = publication->removals.items;
    size_t n = publication->removals.n < 64 ? publication->removals.n : 64;
    for (size_t i = 0; i < n; i++) {
        removed[i] = removals[i].name;
        said[i] = removals[i].statement;
        FUZZ_CHECK(!said[i] || (udpa_resource_generation(said[i]) && publication->type_url.len));
    }
    const udpai_publish_plan plan = {
        .removed = removed, .n_removed = n, .removals = said, .type_url = publication->type_url};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_publish_compose_whole(&plan, 1);
    FUZZ_CHECK(bytes);
    udpai_decoder decoder;
    udpai_decoder_init(&decoder);
    udpai_message again = {0};
    FUZZ_CHECK(udpai_message_decode(&decoder, udpai_bytes_view(bytes), true, &again, NULL) ==
               UDPA_OK);
    FUZZ_CHECK(again.publication->removals.n == n);
    for (size_t i = 0; i < n; i++) {
        const udpa_resource *now = again.publication->removals.items[i].statement;
        FUZZ_CHECK((now != NULL) == (said[i] != NULL));
        FUZZ_CHECK(!now ||
                   udpai_str_eq(udpai_resource_authority(now), udpai_resource_authority(said[i])));
        FUZZ_CHECK(!now || udpa_resource_generation(now) == udpa_resource_generation(said[i]));
    }
    udpai_message_done(&again);
    udpai_decoder_done(&decoder);
}

static void
check_publication(const udpai_publication *publication, size_t size)
{
    FUZZ_CHECK(publication->size_bytes == size);
    FUZZ_CHECK(publication->entries.n + publication->removals.n <= size / 2);
    for (size_t i = 0; i < publication->entries.n; i++)
        check_entry(&publication->entries.items[i]);
    check_removals(publication);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *receipt = udpai_receipt_compose(publication, UDPAI_RECEIPT_TEXTS_MAX);
    FUZZ_CHECK(receipt);
    udpai_decoder decoder;
    udpai_decoder_init(&decoder);
    udpai_message again = {0};
    FUZZ_CHECK(udpai_message_decode(&decoder, udpai_bytes_view(receipt), true, &again, NULL) ==
               UDPA_OK);
    FUZZ_CHECK(again.kind == UDPAI_MESSAGE_RECEIPT);
    FUZZ_CHECK(udpai_str_eq(again.receipt.nonce, publication->nonce));
    bool refused = udpai_publication_has_errors(publication);
    FUZZ_CHECK(again.receipt.n_statuses == (refused ? publication->entries.n : 0));
    udpai_decoder_done(&decoder);
}

static void
check_message(udpai_str bytes, bool extended)
{
    udpai_decoder decoder;
    udpai_decoder_init(&decoder);
    udpai_message message = {.kind = UDPAI_MESSAGE_KINDS};
    udpa_error *error = NULL;
    udpa_err err = udpai_message_decode(&decoder, bytes, extended, &message, &error);
    check_error(err, error);
    FUZZ_CHECK((err == UDPA_OK) == (message.kind != UDPAI_MESSAGE_KINDS));
    if (err == UDPA_OK && message.publication)
        check_publication(message.publication, bytes.len);
    if (message.kind == UDPAI_MESSAGE_SUBSCRIBE || message.kind == UDPAI_MESSAGE_UNSUBSCRIBE ||
        message.kind == UDPAI_MESSAGE_SUBSCRIPTION_ERROR)
        check_subscription(&message);
    if (err == UDPA_OK)
        udpai_message_done(&message);
    udpai_decoder_done(&decoder);
}

/* ---- by themselves ---- */

static void
check_resource(udpai_str bytes)
{
    udpai_decoder decoder;
    udpai_decoder_init(&decoder);
    udpa_resource *resource = NULL;
    udpa_error *error = NULL;
    udpa_err err = udpai_resource_decode(&decoder, bytes, &resource, &error);
    check_error(err, error);
    FUZZ_CHECK((err == UDPA_OK) == (resource != NULL));
    udpa_resource_unref(resource);
    udpai_decoder_done(&decoder);
}

static void
check_node(udpai_str bytes)
{
    udpai_decoder decoder;
    udpai_decoder_init(&decoder);
    udpai_node_info *info = NULL;
    udpa_error *error = NULL;
    udpa_err err = udpai_node_info_decode(&decoder, bytes, &info, &error);
    check_error(err, error);
    FUZZ_CHECK((err == UDPA_OK) == (info != NULL));
    if (info) {
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *said = udpai_node_compose(info);
        udpai_message message = {0};
        FUZZ_CHECK(said);
        FUZZ_CHECK(udpai_message_decode(&decoder, udpai_bytes_view(said), true, &message, NULL) ==
                   UDPA_OK);
        FUZZ_CHECK(message.publication && message.publication->entries.n == 1);
        udpai_message_done(&message);
    }
    udpai_node_info_unref(info);
    udpai_decoder_done(&decoder);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str bytes = {(const char *)data, size};
    unsigned long before = udpai_alloc_live();
    check_message(bytes, false);
    check_message(bytes, true);
    check_resource(bytes);
    check_node(bytes);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
