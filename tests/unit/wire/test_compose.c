/* SPDX-License-Identifier: Apache-2.0 */
/* What is composed by hand is what protobuf-c reads, and what our own decoder reads back. */
#include "wire/compose.h"

#include "model/removal.h"
#include "tests/harness/resources.h"
#include "udpa/service/discovery/v1/discovery.pb-c.h"
#include "wire_test.h"

typedef Udpa__Service__Discovery__V1__UdpaMessage pb_message;
typedef Udpa__Service__Discovery__V1__DeltaPublish pb_delta;

static udpai_decoder decoder;

static int
begin(void **state)
{
    (void)state;
    udpai_decoder_init(&decoder);
    return 0;
}

static int
end(void **state)
{
    udpai_decoder_done(&decoder);
    return free_wire(state);
}

/* Consumes the bytes. */
static pb_message *
unpack(udpa_bytes *bytes)
{
    assert_non_null(bytes);
    pb_message *message = udpa__service__discovery__v1__udpa_message__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(message);
    udpa_bytes_unref(bytes);
    return message;
}

static void
drop(pb_message *message)
{
    udpa__service__discovery__v1__udpa_message__free_unpacked(message, NULL);
}

/* ---- nonces ---- */

static void
nonces_have_one_length(void **state)
{
    (void)state;

    const struct {
        uint64_t counter;
        const char *nonce;
    } known[] = {
        {0, "000000000000"},
        {1, "000000000001"},
        {0xabcdef, "000000abcdef"},
        {0xffffffffffff, "ffffffffffff"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(known); i++) {
        char nonce[UDPAI_NONCE_LEN];
        uint64_t counter = 99;
        udpai_nonce_format(known[i].counter, nonce);
        assert_memory_equal(nonce, known[i].nonce, UDPAI_NONCE_LEN);
        assert_true(udpai_nonce_parse((udpai_str){nonce, UDPAI_NONCE_LEN}, &counter));
        assert_int_equal(counter, known[i].counter);
    }
}

static void
foreign_nonces_are_none(void **state)
{
    (void)state;
    static const udpai_str foreign[] = {
        {"", 0},
        {"00000000000", 11},
        {"0000000000000", 13},
        {"00000000000g", 12},
        {"00000000000A", 12},
        {" 00000000001", 12},
        {"00000000000\0", 12},
        {"-00000000001", 12},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(foreign); i++) {
        uint64_t counter = 99;
        if (udpai_nonce_parse(foreign[i], &counter))
            fail_msg("case %zu", i);
        assert_int_equal(counter, 99);
    }
}

static void
tail_is_a_field(void **state)
{
    (void)state;
    uint8_t tail[UDPAI_NONCE_TAIL_LEN];
    for (uint32_t field = 1; field < 16; field++) {
        udpai_nonce_tail(0x1234, field, tail);
        udpai_str expected = wire_bytes(field, UDPAI_STR("000000001234"));
        assert_int_equal(expected.len, sizeof(tail));
        assert_memory_equal(tail, expected.data, sizeof(tail));
    }
}

/* ---- publishes ---- */

static void
publish_has_all_its_fields(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *a = RESOURCE("com.acme/a", .value = "1", .version = "v1"),
                  *b = RESOURCE("com.acme/b", .value = "2", .version = "v2");
    const udpai_publish_item items[] = {{a, {.ttl_ms = 1500}}, {b, {.refresh = true}}};
    const udpai_str removed[] = {UDPAI_STR("com.acme/c"), UDPAI_STR("com.acme/d")};
    const udpai_publish_plan plan = {
        .items = items,
        .n_items = 2,
        .removed = removed,
        .n_removed = 2,
        .receipt_required = true,
        .type_url = UDPAI_STR(TEST_TYPE),
        .name_space = UDPAI_STR("com.acme"),
        .complete = true,
    };
    pb_message *message = unpack(udpai_publish_compose_whole(&plan, 0x2a));
    const pb_delta *delta = message->publish->delta;
    assert_int_equal(delta->n_resources, 2);
    assert_string_equal(delta->resources[0]->name, "com.acme/a");
    assert_string_equal(delta->resources[0]->version, "v1");
    assert_int_equal(delta->resources[0]->ttl->seconds, 1);
    assert_int_equal(delta->resources[0]->ttl->nanos, 500000000);
    assert_string_equal(delta->resources[0]->resource->type_url, TEST_TYPE);
    assert_memory_equal(delta->resources[0]->resource->value.data, "1", 1);
    assert_string_equal(delta->resources[1]->name, "com.acme/b");
    assert_int_equal(delta->n_removed_resources, 2);
    assert_string_equal(delta->removed_resources[1], "com.acme/d");
    assert_string_equal(delta->nonce, "00000000002a");
    assert_true(delta->receipt_required);
    assert_string_equal(delta->type_url, TEST_TYPE);
    assert_string_equal(delta->namespace_, "com.acme");
    assert_true(delta->complete);
    drop(message);
}

/* Its nonce is where that of a delta is. */
static void
a_trial_is_another_kind_of_publish(void **state)
{
    (void)state;
    const udpai_str removed[] = {UDPAI_STR("com.acme/c")};
    const udpai_publish_plan plan = {.removed = removed, .n_removed = 1, .is_trial = true};
    pb_message *message = unpack(udpai_publish_compose_whole(&plan, 0x2a));
    assert_int_equal(message->publish->kind_case,
                     UDPA__SERVICE__DISCOVERY__V1__PUBLISH__KIND_TRIAL);
    assert_string_equal(message->publish->trial->removed_resources[0], "com.acme/c");
    assert_string_equal(message->publish->trial->nonce, "00000000002a");
    drop(message);
}

static udpa_resource *
make_said(const char *name, uint64_t generation, bool is_signed, const char *node)
{
    const udpai_hop hop = {
        .node_id = udpai_str_from(node), .authority = UDPAI_STR("acme"), .time_us = 17};
    const udpai_resource_parts parts = {
        .name = udpai_str_from(name),
        .authority = UDPAI_STR("acme"),
        .generation = generation,
        .signature = {is_signed, UDPAI_STR("key"), 3000000, 4000000, UDPAI_STR("value")},
        .hops = &hop,
        .n_hops = *node ? 1 : 0,
    };
    udpa_resource *said = NULL;
    assert_ok(udpai_removal_make(&said, UDPAI_STR(TEST_TYPE), &parts));
    return said;
}

static void
assert_said(const udpa_resource *said, const udpa_resource *expected)
{
    if (!expected) {
        assert_null(said);
        return;
    }
    assert_non_null(said);
    assert_str(udpai_resource_name(said), udpa_resource_name(expected));
    assert_str(udpai_resource_type_url(said), TEST_TYPE);
    assert_true(udpai_resource_same_origin_info(said, expected));
}

static void
what_is_waited_for_comes_back(void **state)
{
    (void)state;
    const udpai_publish_plan plan = {
        .type_url = UDPAI_STR(TEST_TYPE),
        .name_space = UDPAI_STR("com.acme"),
        .waits = UDPAI_STR("\x6a\x08\x0a\x01"
                           "b\x12\x01"
                           "a\x18\x02"),
        .waits_behind = 300,
    };
    udpai_message message;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_publish_compose_whole(&plan, 1);
    assert_ok(decode(&decoder, udpai_bytes_view(bytes), true, &message));
    assert_true(udpai_str_eq(message.publication->waits, plan.waits));
    assert_int_equal(message.publication->waits_behind, 300);
    udpai_message_done(&message);
}

/* Removals of one authority and node stand together; between them one of which nothing is said. */
static void
what_is_said_of_removals_comes_back(void **state)
{
    (void)state;
    const udpai_str removed[] = {UDPAI_STR("com.acme/a"), UDPAI_STR("com.acme/b"),
                                 UDPAI_STR("com.acme/c"), UDPAI_STR("com.acme/d"),
                                 UDPAI_STR("com.acme/e")};
    udpa_resource *said[] = {
        make_said("com.acme/a", 7, false, "n1"), make_said("com.acme/b", UINT64_MAX, true, "n1"),
        NULL, make_said("com.acme/d", 9, false, "n2"), make_said("com.acme/e", 1, false, "")};
    udpai_publish_plan plan = {
        .removed = removed, .n_removed = 5, .removals = said, .type_url = UDPAI_STR(TEST_TYPE)};
    for (int with_type = 1; with_type >= 0; with_type--) {
        udpai_message message;
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_publish_compose_whole(&plan, 1);
        assert_ok(decode(&decoder, udpai_bytes_view(bytes), true, &message));
        assert_int_equal(message.publication->removals.n, 5);
        for (size_t i = 0; i < 5; i++)
            assert_said(message.publication->removals.items[i].statement,
                        with_type ? said[i] : NULL);
        udpai_message_done(&message);
        plan.type_url = (udpai_str){0}; /* a generation is that of one type */
    }
    for (size_t i = 0; i < 5; i++)
        udpa_resource_unref(said[i]);
}

/* The shared part and a stream's own tail make the same message as the whole. */
static void
body_and_tail_are_the_whole(void **state)
{
    (void)state;
    static char value[70000];
    memset(value, 'v', sizeof(value) - 1);
    for (size_t len = 0; len < sizeof(value); len = len * 2 + 1) {
        value[len] = '\0';
        UDPA_AUTO(udpa_resource_unref)
        udpa_resource *resource = RESOURCE("com.acme/a", .value = value, .version = "1");
        value[len] = 'v';
        const udpai_publish_item item = {resource, {.extended = true}};
        const udpai_publish_plan plan = {.items = &item, .n_items = 1, .complete = len & 1};
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *body = udpai_publish_compose(&plan);
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *whole = udpai_publish_compose_whole(&plan, len);
        uint8_t tail[UDPAI_NONCE_TAIL_LEN];
        udpai_nonce_tail(len, UDPAI_PUBLISH_NONCE_FIELD, tail);
        udpai_str joined =
            W_JOIN(udpai_bytes_view(body), ((udpai_str){(char *)tail, sizeof(tail)}));
        assert_true(udpai_str_eq(joined, udpai_bytes_view(whole)));
        udpai_message message;
        assert_int_equal(decode(&decoder, joined, true, &message), UDPA_OK);
        assert_int_equal(udpai_resource_value(message.publication->entries.items[0].resource).len,
                         len);
        udpai_message_done(&message);
    }
}

static void
empty_publish_has_a_nonce_only(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *bytes = udpai_publish_compose_whole(&(udpai_publish_plan){0}, 7);
    udpai_str expected = W_DELTA(W_TEXT(3, "000000000007"));
    assert_true(udpai_str_eq(udpai_bytes_view(bytes), expected));
}

/* Among so many that the lengths around them have two bytes already. */
static void
item_size_is_what_it_adds(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = RESOURCE("com.acme/a", .value = "0123456789", .authority = "acme",
                                       .aliases = {"com.acme/b"}, .generation = 5);
    for (int form = 0; form < 8; form++) {
        udpai_publish_item items[11];
        for (size_t i = 0; i < UDPAI_ARRAY_LEN(items); i++)
            items[i] = (udpai_publish_item){
                resource, {.refresh = form & 1, .extended = form & 2, .ttl_ms = form & 4 ? 5 : 0}};
        UDPA_AUTO(udpa_bytes_unref)
        udpa_bytes *ten =
            udpai_publish_compose(&(udpai_publish_plan){.items = items, .n_items = 10});
        UDPA_AUTO(udpa_bytes_unref)
        udpa_bytes *more =
            udpai_publish_compose(&(udpai_publish_plan){.items = items, .n_items = 11});
        assert_int_equal(udpa_bytes_size(more),
                         udpa_bytes_size(ten) + udpai_publish_item_size(&items[10]));
    }
}

/* ---- subscriptions ---- */

static const udpai_subscription_message full = {
    .type_url = {"t/T", 3},
    .name_space = {"com.acme", 8},
    .names = (const udpai_str[]){{"com.acme/a", 10}, {"", 0}},
    .n_names = 2,
    .versions = (const udpai_held_version[]){{{"com.acme/v", 10}, {"1", 1}}, {{"x/y", 3}, {"", 0}}},
    .n_versions = 2,
    .digests = (const udpai_held_digest[]){{{"com.acme/d", 10}, 0xfedcba9876543210}},
    .n_digests = 1,
    .paths = (const udpai_held_digest[]){{{"com.acme/w", 10}, 0}},
    .n_paths = 1,
    .distance = 3,
    .recovers = true,
    .status_code = 7,
    .status_text = {"because", 7},
};

static void
subscribe_is_what_protobuf_reads(void **state)
{
    (void)state;
    pb_message *message = unpack(udpai_subscribe_compose(&full));
    const Udpa__Service__Discovery__V1__Subscribe *subscribe = message->subscribe;
    assert_int_equal(message->message_case,
                     UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__MESSAGE_SUBSCRIBE);
    assert_string_equal(subscribe->type_url, "t/T");
    assert_string_equal(subscribe->namespace_, "com.acme");
    assert_int_equal(subscribe->n_resource_names, 2);
    assert_true(subscribe->recover);
    assert_string_equal(subscribe->resource_names[0], "com.acme/a");
    assert_string_equal(subscribe->resource_names[1], "");
    assert_int_equal(subscribe->n_initial_resource_versions, 2);
    assert_string_equal(subscribe->initial_resource_versions[0]->key, "com.acme/v");
    assert_string_equal(subscribe->initial_resource_versions[0]->value, "1");
    assert_int_equal(subscribe->n_initial_digests, 1);
    assert_true(subscribe->initial_digests[0]->value == 0xfedcba9876543210);
    assert_int_equal(subscribe->n_initial_ways, 1);
    assert_int_equal(subscribe->initial_ways[0]->value, 0);
    assert_int_equal(subscribe->distance, 3);
    drop(message);
}

static void
subscribe_reads_back(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_subscribe_compose(&full);
    udpai_message message;
    assert_int_equal(decode(&decoder, udpai_bytes_view(bytes), true, &message), UDPA_OK);
    assert_int_equal(message.kind, UDPAI_MESSAGE_SUBSCRIBE);
    assert_int_equal(message.subscription.n_versions, 2);
    assert_str(message.subscription.versions[1].name, "x/y");
    assert_str(message.subscription.paths[0].name, "com.acme/w");
    udpai_message_done(&message);
}

static void
unsubscribe_is_what_protobuf_reads(void **state)
{
    (void)state;
    pb_message *message = unpack(udpai_unsubscribe_compose(&full));
    assert_string_equal(message->unsubscribe->type_url, "t/T");
    assert_string_equal(message->unsubscribe->namespace_, "com.acme");
    assert_int_equal(message->unsubscribe->n_resource_names, 2);
    drop(message);
    /* Of all namespaces: without the field, for peers that know just the public protocol. */
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *bytes = udpai_unsubscribe_compose(&(udpai_subscription_message){
        .type_url = UDPAI_STR("t/T"), .names = &(udpai_str){"", 0}, .n_names = 1});
    udpai_str expected = W_MESSAGE(M_UNSUBSCRIBE, W_TEXT(1, "t/T"), W_EMPTY(2));
    assert_true(udpai_str_eq(udpai_bytes_view(bytes), expected));
}

static void
subscription_error_is_what_protobuf_reads(void **state)
{
    (void)state;
    pb_message *message = unpack(udpai_subscription_error_compose(&full));
    const Udpa__Service__Discovery__V1__SubscriptionError *error = message->subscription_error;
    assert_string_equal(error->type_url, "t/T");
    assert_string_equal(error->namespace_, "com.acme");
    assert_int_equal(error->n_resource_names, 2);
    assert_int_equal(error->status->code, 7);
    assert_string_equal(error->status->message, "because");
    drop(message);
}

/* ---- receipts ---- */

static udpai_publication *
make_publication(void)
{
    udpai_publication *publication = udpai_publication_new();
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = RESOURCE("com.acme/a");
    assert_ok(udpai_publication_set(&publication->nonce, UDPAI_STR("their nonce")));
    for (size_t i = 0; i < 3; i++)
        assert_ok(udpai_publication_add(publication, resource, false));
    assert_ok(udpai_publication_remove(publication, UDPAI_STR("com.acme/x")));
    assert_ok(udpai_publication_remove(publication, UDPAI_STR("com.acme/y")));
    return publication;
}

static void
receipt_of_what_was_applied_is_empty(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_publication_free) udpai_publication *publication = make_publication();
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *bytes = udpai_receipt_compose(publication, UDPAI_RECEIPT_TEXTS_MAX);
    udpai_str expected = W_MESSAGE(M_RECEIPT, W_TEXT(1, "their nonce"));
    assert_true(udpai_str_eq(udpai_bytes_view(bytes), expected));
}

static void
receipt_names_each_entry_in_order(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_publication_free) udpai_publication *publication = make_publication();
    udpai_publication_refuse(&publication->entries.items[1].error,
                             udpa_error_new(UDPA_ERR_DENIED, NULL, "not yours"));
    pb_message *message = unpack(udpai_receipt_compose(publication, UDPAI_RECEIPT_TEXTS_MAX));
    const Udpa__Service__Discovery__V1__Receipt *receipt = message->receipt;
    assert_string_equal(receipt->nonce, "their nonce");
    assert_int_equal(receipt->n_error_detail, 3);
    assert_int_equal(receipt->error_detail[0]->code, 0);
    assert_string_equal(receipt->error_detail[0]->message, "");
    assert_int_equal(receipt->error_detail[1]->code, 7);
    assert_string_equal(receipt->error_detail[1]->message, "not yours");
    assert_int_equal(receipt->error_detail[2]->code, 0);
    drop(message);
}

/* After the entries, only those removals that were refused. */
static void
receipt_names_refused_removals(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_publication_free) udpai_publication *publication = make_publication();
    udpai_publication_refuse(&publication->removals.items[1].error,
                             udpa_error_new(UDPA_ERR_DENIED, NULL, "'com.acme/y' is not yours"));
    pb_message *message = unpack(udpai_receipt_compose(publication, UDPAI_RECEIPT_TEXTS_MAX));
    assert_int_equal(message->receipt->n_error_detail, 4);
    assert_int_equal(message->receipt->error_detail[2]->code, 0);
    assert_int_equal(message->receipt->error_detail[3]->code, 7);
    assert_string_equal(message->receipt->error_detail[3]->message, "'com.acme/y' is not yours");
    drop(message);
}

static void
receipt_of_a_trial_has_its_effects(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_publication_free) udpai_publication *publication = make_publication();
    assert_ok(udpai_publication_add_effect(publication, UDPAI_EFFECT_NOTHING, (udpai_str){0}));
    assert_ok(udpai_publication_add_effect(publication, UDPAI_EFFECT_REMOVES, UDPAI_STR("bank")));
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *bytes = udpai_receipt_compose(publication, UDPAI_RECEIPT_TEXTS_MAX);
    udpai_str expected = W_MESSAGE(M_RECEIPT, W_TEXT(1, "their nonce"), W_EMPTY(3),
                                   W_MESSAGE(3, W_VARINT(1, 3), W_TEXT(2, "bank")));
    assert_true(udpai_str_eq(udpai_bytes_view(bytes), expected));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *least = udpai_receipt_compose(publication, 0);
    expected = W_MESSAGE(M_RECEIPT, W_TEXT(1, "their nonce"));
    assert_true(udpai_str_eq(udpai_bytes_view(least), expected));
}

/* So many entries and removals, all refused with a text of so many bytes; to be dropped. */
static pb_message *
refuse_all(size_t n_entries, size_t n_removals, size_t text_len, size_t *ret_size)
{
    UDPA_AUTO(udpai_publication_free) udpai_publication *publication = udpai_publication_new();
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = RESOURCE("com.acme/a");
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error = udpa_error_new(UDPA_ERR_DENIED, NULL, "%0*d", (int)text_len, 0);
    for (size_t i = 0; i < n_entries; i++) {
        assert_ok(udpai_publication_add(publication, resource, false));
        publication->entries.items[i].error = udpa_error_ref(error);
    }
    for (size_t i = 0; i < n_removals; i++) {
        assert_ok(udpai_publication_remove(publication, UDPAI_STR("com.acme/x")));
        publication->removals.items[i].error = udpa_error_ref(error);
    }
    udpa_bytes *bytes = udpai_receipt_compose(publication, UDPAI_RECEIPT_TEXTS_MAX);
    assert_non_null(bytes);
    *ret_size = udpa_bytes_size(bytes);
    return unpack(bytes);
}

static void
receipt_is_short_where_it_would_be_long(void **state)
{
    (void)state;
    size_t size;
    pb_message *message = refuse_all(100, 100, 5000, &size); /* all that fits is said */
    assert_in_range(size, 200 * 4096, 1 << 20);
    assert_int_equal(strlen(message->receipt->error_detail[199]->message), 4096);
    drop(message);
    message = refuse_all(1000, 100, 5000, &size);
    assert_in_range(size, 64 * 4096, 1 << 20);
    assert_int_equal(message->receipt->n_error_detail, 1100);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(strlen(message->receipt->error_detail[i]->message), i < 64 ? 4096 : 64);
    for (size_t i = 1000; i < 1100; i++) /* known by their names */
        assert_string_equal(message->receipt->error_detail[i]->message, "com.acme/x");
    drop(message);
}

/* What 4 MiB can hold at most, if every field that the scan lets pass is an entry. */
static void
receipt_of_any_publish_stays_below_4_mib(void **state)
{
    (void)state;
    size_t size, n = 327680 + ((size_t)4 << 20) / 16;
    pb_message *message = refuse_all(n, 1, 100, &size);
    assert_in_range(size, 4 * n, 4 * n + 32);
    assert_true(4 * n + UDPAI_NONCE_MAX + 32 < (size_t)4 << 20);
    assert_int_equal(message->receipt->n_error_detail, n + 1);
    assert_int_equal(message->receipt->error_detail[n]->code, 7);
    assert_string_equal(message->receipt->error_detail[0]->message, "");
    drop(message);
}

/* ---- without memory ---- */

static udpa_err
compose_all(void *context)
{
    udpai_publication *publication = context;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *a = udpai_subscribe_compose(&full);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *b = udpai_unsubscribe_compose(&full);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *c = udpai_subscription_error_compose(&full);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *d = udpai_receipt_compose(publication, UDPAI_RECEIPT_TEXTS_MAX);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *e = udpai_publish_compose(&(udpai_publish_plan){0});
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *f = udpai_publish_compose_whole(&(udpai_publish_plan){0}, 1);
    return a && b && c && d && e && f ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_publication_free) udpai_publication *publication = make_publication();
    assert_int_equal(oom_torture(compose_all, publication), 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nonces_have_one_length),
        TEST(foreign_nonces_are_none),
        TEST(tail_is_a_field),
        TEST(publish_has_all_its_fields),
        TEST(a_trial_is_another_kind_of_publish),
        TEST(what_is_waited_for_comes_back),
        TEST(what_is_said_of_removals_comes_back),
        TEST(body_and_tail_are_the_whole),
        TEST(empty_publish_has_a_nonce_only),
        TEST(item_size_is_what_it_adds),
        TEST(subscribe_is_what_protobuf_reads),
        TEST(subscribe_reads_back),
        TEST(unsubscribe_is_what_protobuf_reads),
        TEST(subscription_error_is_what_protobuf_reads),
        TEST(receipt_of_what_was_applied_is_empty),
        TEST(receipt_names_each_entry_in_order),
        TEST(receipt_names_refused_removals),
        TEST(receipt_of_a_trial_has_its_effects),
        TEST(receipt_is_short_where_it_would_be_long),
        TEST(receipt_of_any_publish_stays_below_4_mib),
        TEST(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
