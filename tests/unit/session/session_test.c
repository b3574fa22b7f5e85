/* SPDX-License-Identifier: Apache-2.0 */
#include "session_test.h"

#include <stdio.h>

#include "model/removal.h"
#include "udpa/event/v1/event.pb-c.h"
#include "udpa/service/discovery/v1/discovery.pb-c.h"
#include "wire/compose.h"

typedef Udpa__Service__Discovery__V1__UdpaMessage udpa_message;
typedef Udpa__Service__Discovery__V1__DeltaPublish delta_publish;
typedef Udpa__Service__Discovery__V1__Resource resource_message;

static const struct {
    const char *word, *url;
} types[] = {
    {"C", TEST_CDS}, {"E", TEST_EDS},  {"L", TEST_LDS},
    {"R", TEST_RDS}, {"T", TEST_TYPE}, {"V", UDPAI_TYPE_EVENT},
};

const char *
session_type_url(const char *word)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++)
        if (strcmp(types[i].word, word) == 0)
            return types[i].url;
    return word;
}

static const char *
word_of(const char *url)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++)
        if (strcmp(types[i].url, url) == 0)
            return types[i].word;
    return url;
}

/* Cuts the text at the first of these characters, which stays. */
static udpai_str
cut(udpai_str *text, const char *ends)
{
    udpai_str piece = {text->data, 0};
    while (piece.len < text->len && !strchr(ends, text->data[piece.len]))
        piece.len++;
    *text = (udpai_str){text->data + piece.len, text->len - piece.len};
    return piece;
}

static udpai_str
behind(udpai_str text, size_t n)
{
    n = udpai_min_size(n, text.len);
    return (udpai_str){text.data + n, text.len - n};
}

/* The next word; empty at the end. */
static udpai_str
next_word(udpai_str *text)
{
    while (text->len && *text->data == ' ')
        *text = behind(*text, 1);
    return cut(text, " ");
}

/* ---- the hub ---- */

void
session_hub_init_with(fake_hub *hub, udpai_hub_options *options)
{
    static const udpai_str features[] = {{UDPAI_FEATURE_EXTENSIONS, 11}, {UDPAI_FEATURE_NODE, 12}};
    const udpai_node_parts parts = {.id = UDPAI_STR("node"), .features = features, .n_features = 2};
    assert_ok(udpai_node_info_new(&options->info, &parts));
    fake_hub_init(hub, options);
    udpai_node_info_unref(options->info);
    session_settle(hub);
}

void
session_hub_init(fake_hub *hub)
{
    udpai_hub_options options = fake_hub_options();
    session_hub_init_with(hub, &options);
}

void
session_settle(fake_hub *hub)
{
    const udpai_settled_facts facts = {0};
    fake_hub_settle(hub, &facts);
}

void
session_settle_except(fake_hub *hub, const char *prefix, bool may_wait_for_us)
{
    const udpai_unsettled missing = {
        .prefix = udpai_str_from(prefix),
        .source = UDPAI_STR("s"),
        .may_wait_for_us = may_wait_for_us,
        .since_ms = hub->wheel.now_ms,
    };
    const udpai_settled_facts facts = {.missing = &missing, .n_missing = 1};
    fake_hub_settle(hub, &facts);
}

/* "C:com.acme/a=1%500" */
static udpa_resource *
parse_resource(udpai_str text)
{
    char type[256], name[UDPA_NAME_MAX + 1], version[64];
    udpai_str part = cut(&text, ":");
    snprintf(type, sizeof(type), "%.*s", (int)part.len, part.data);
    text = behind(text, 1);
    part = cut(&text, "=%");
    snprintf(name, sizeof(name), "%.*s", (int)part.len, part.data);
    part = (udpai_str){0};
    if (text.len && *text.data == '=') {
        text = behind(text, 1);
        part = cut(&text, "%");
    }
    snprintf(version, sizeof(version), "%.*s", (int)part.len, part.len ? part.data : "");
    udpa_resource *resource =
        RESOURCE(name, .type = session_type_url(type), .value = version, .version = version,
                 .ttl_ms = text.len ? strtoull(text.data + 1, NULL, 10) : 0);
    assert_non_null(resource);
    return resource;
}

static void
add_change(fake_hub *hub,
           udpai_change_set *set,
           udpai_change_kind kind,
           udpa_resource *resource,
           const char *node)
{
    udpai_change change = {.kind = kind, .resource = resource};
    uint64_t ttl_ms = udpa_resource_ttl_ms(resource);
    change.deadline_ms = ttl_ms ? hub->wheel.now_ms + ttl_ms : 0;
    if (node)
        assert_ok(udpa_bytes_new(&change.from_node, node, strlen(node)));
    assert_ok(udpai_change_set_add(set, &change));
    udpa_bytes_unref(change.from_node);
    udpa_resource_unref(resource);
}

void
session_set(fake_hub *hub, udpai_change_kind kind, udpa_resource *resource, const char *node)
{
    udpai_change_set *set = udpai_change_set_new();
    assert_non_null(set);
    assert_non_null(resource);
    add_change(hub, set, kind, resource, node);
    fake_hub_apply(hub, set);
}

void
session_end(fake_hub *hub, const char *name, uint64_t generation, const char *node)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = parse_resource(udpai_str_from(name));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *said = udpai_removal_of(resource, generation);
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *set = udpai_change_set_new();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *from = NULL;
    assert_true(said && set);
    if (node)
        assert_ok(udpa_bytes_new(&from, node, strlen(node)));
    const udpai_change change = {
        .kind = strchr(name, '=') ? UDPAI_CHANGE_REFRESH : UDPAI_CHANGE_REMOVE,
        .resource = resource,
        .removal = said,
        .from_node = from,
    };
    assert_ok(udpai_change_set_add(set, &change));
    fake_hub_apply(hub, UDPAI_TAKE(set));
}

void
session_change(fake_hub *hub, const char *changes)
{
    static const char kinds[] = "+~-";
    udpai_change_set *set = udpai_change_set_new();
    assert_non_null(set);
    udpai_str left = udpai_str_from(changes), word;
    while ((word = next_word(&left)).len) {
        const char *kind = strchr(kinds, *word.data);
        assert_non_null(kind);
        add_change(hub, set, (udpai_change_kind)(kind - kinds), parse_resource(behind(word, 1)),
                   NULL);
    }
    fake_hub_apply(hub, set);
}

/* ---- what a peer is sent ---- */

static void __attribute__((format(printf, 2, 3))) note(test_peer *peer, const char *format, ...)
{
    size_t len = strlen(peer->trace);
    va_list arguments;
    va_start(arguments, format);
    int added = vsnprintf(peer->trace + len, sizeof(peer->trace) - len, format, arguments);
    va_end(arguments);
    assert_true(added >= 0 && (size_t)added < sizeof(peer->trace) - len);
}

static void
note_name(test_peer *peer, const char *before, const char *name)
{
    note(peer, " %s%s", before, *name ? name : "''");
}

static void
note_scope(test_peer *peer, const char *kind, const char *type_url, const char *name_space)
{
    note(peer, "%s%s{%s%s%s", *peer->trace ? " " : "", kind, word_of(type_url),
         *name_space ? "@" : "", name_space);
}

static void
note_status(test_peer *peer, const Google__Rpc__Status *status)
{
    note(peer, " %d", status->code);
    if (*status->message)
        note(peer, "'%s'", status->message);
}

/* The message, as text, and how many were lost before it. */
static void
note_event(test_peer *peer, const ProtobufCBinaryData *value)
{
    Udpa__Event__V1__Event *event = udpa__event__v1__event__unpack(NULL, value->len, value->data);
    assert_non_null(event);
    assert_non_null(event->message);
    assert_true(event->time && event->time->seconds > 0);
    note(peer, "'%s %.*s'", event->node_id, (int)event->message->value.len,
         (const char *)event->message->value.data);
    if (event->n_lost)
        note(peer, "+%llu", (unsigned long long)event->n_lost);
    udpa__event__v1__event__free_unpacked(event, NULL);
}

static void
note_resource(test_peer *peer, const resource_message *resource)
{
    const Google__Protobuf__Any *any = resource->resource;
    bool has_payload = any && any->value.len;
    note(peer, " %s%s%s%s=%s", has_payload ? "" : "~", any ? word_of(any->type_url) : "",
         any ? ":" : "", resource->name, resource->version);
    if (has_payload && strcmp(any->type_url, UDPAI_TYPE_EVENT) == 0)
        note_event(peer, &any->value);
    else if (has_payload)
        assert_str(((udpai_str){(const char *)any->value.data, any->value.len}), resource->version);
    if (resource->ttl)
        note(peer, "%%%lld",
             (long long)resource->ttl->seconds * 1000 + resource->ttl->nanos / 1000000);
}

static void
note_delta(test_peer *peer, const delta_publish *delta)
{
    if (delta->n_resources == 1 && delta->resources[0]->resource &&
        strcmp(delta->resources[0]->resource->type_url, UDPAI_TYPE_NODE) == 0) {
        note(peer, "%snode{%s}", *peer->trace ? " " : "", delta->resources[0]->name);
        return;
    }
    note_scope(peer, "publish", delta->type_url, delta->namespace_);
    for (size_t i = 0; i < delta->n_resources; i++)
        note_resource(peer, delta->resources[i]);
    for (size_t i = 0; i < delta->n_removed_resources; i++) {
        note_name(peer, "-", delta->removed_resources[i]);
        if (i < delta->n_removed_generations && delta->removed_generations[i])
            note(peer, "!%llu", (unsigned long long)delta->removed_generations[i]);
    }
    if (delta->commit)
        note(peer, " #%llu", (unsigned long long)delta->commit);
    if (*delta->trace)
        note(peer, " ^%.5s", delta->trace);
    note(peer, "%s%s}", delta->receipt_required ? " ?" : "", delta->complete ? " !" : "");
    assert_int_equal(strlen(delta->nonce), UDPAI_NONCE_LEN);
    snprintf(peer->nonce, sizeof(peer->nonce), "%s", delta->nonce);
}

static void
note_subscribe(test_peer *peer, const Udpa__Service__Discovery__V1__Subscribe *subscribe)
{
    note_scope(peer, "subscribe", subscribe->type_url, subscribe->namespace_);
    for (size_t i = 0; i < subscribe->n_resource_names; i++)
        note_name(peer, "", subscribe->resource_names[i]);
    for (size_t i = 0; i < subscribe->n_initial_resource_versions; i++)
        note(peer, " %s=%s", subscribe->initial_resource_versions[i]->key,
             subscribe->initial_resource_versions[i]->value);
    note(peer, "}");
}

static void
note_unsubscribe(test_peer *peer, const Udpa__Service__Discovery__V1__Unsubscribe *unsubscribe)
{
    note_scope(peer, "unsubscribe", unsubscribe->type_url, unsubscribe->namespace_);
    for (size_t i = 0; i < unsubscribe->n_resource_names; i++)
        note_name(peer, "", unsubscribe->resource_names[i]);
    note(peer, "}");
}

static void
note_error(test_peer *peer, const Udpa__Service__Discovery__V1__SubscriptionError *error)
{
    note_scope(peer, "error", error->type_url, error->namespace_);
    for (size_t i = 0; i < error->n_resource_names; i++)
        note_name(peer, "", error->resource_names[i]);
    note_status(peer, error->status);
    note(peer, "}");
}

static void
note_receipt(test_peer *peer, const Udpa__Service__Discovery__V1__Receipt *receipt)
{
    note(peer, "%sreceipt{%s", *peer->trace ? " " : "", receipt->nonce);
    for (size_t i = 0; i < receipt->n_error_detail; i++)
        note_status(peer, receipt->error_detail[i]);
    note(peer, "}");
}

static void
note_message(test_peer *peer, const udpa_message *message)
{
    switch (message->message_case) {
    case UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__MESSAGE_PUBLISH:
        assert_int_equal(message->publish->kind_case,
                         UDPA__SERVICE__DISCOVERY__V1__PUBLISH__KIND_DELTA);
        note_delta(peer, message->publish->delta);
        break;
    case UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__MESSAGE_SUBSCRIBE:
        note_subscribe(peer, message->subscribe);
        break;
    case UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__MESSAGE_UNSUBSCRIBE:
        note_unsubscribe(peer, message->unsubscribe);
        break;
    case UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__MESSAGE_RECEIPT:
        note_receipt(peer, message->receipt);
        break;
    case UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__MESSAGE_SUBSCRIPTION_ERROR:
        note_error(peer, message->subscription_error);
        break;
    default:
        fail_msg("a message without a kind was sent");
    }
}

/* ---- no field of ours reaches a peer that did not announce the extensions ---- */

/* The fields that the public protocol has, message by message; a letter leads to a message. */
static const struct public_message {
    struct {
        uint32_t number;
        char inside; /* an index into the table, as a letter from 'a'; 0: anything */
    } fields[6];
} public_messages[] = {
    {{{1, 'b'}, {2, 'c'}, {3, 'd'}, {4, 'h'}}},   /* a: UdpaMessage */
    {{{1, 0}, {2, 0}, {3, 0}, {4, 0}}},           /* b: Subscribe */
    {{{1, 0}, {2, 0}}},                           /* c: Unsubscribe */
    {{{1, 'e'}, {2, 'e'}}},                       /* d: Publish */
    {{{1, 'f'}, {2, 0}, {3, 0}, {4, 0}}},         /* e: DeltaPublish */
    {{{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 'g'}}}, /* f: Resource */
    {{{1, 0}}},                                   /* g: Provenance */
    {{{1, 0}, {2, 0}}},                           /* h: Receipt */
};

static void
assert_public(udpai_str bytes, char kind)
{
    const struct public_message *known = &public_messages[kind - 'a'];
    udpai_proto_reader reader = udpai_proto_read(bytes);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        size_t i = 0;
        while (i < UDPAI_ARRAY_LEN(known->fields) && known->fields[i].number != field.number)
            i++;
        if (i == UDPAI_ARRAY_LEN(known->fields))
            fail_msg("field %u of message '%c' is not public", field.number, kind);
        if (known->fields[i].inside)
            assert_public(field.bytes, known->fields[i].inside);
    }
    assert_false(reader.failed);
}

static void
read_message(test_peer *peer, const udpa_bytes *bytes)
{
    udpa_message *message = udpa__service__discovery__v1__udpa_message__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(message);
    if (peer->kind == PEER_PAPER)
        assert_public(udpai_bytes_view(bytes), 'a');
    note_message(peer, message);
    udpa__service__discovery__v1__udpa_message__free_unpacked(message, NULL);
}

static void
read_all(test_peer *peer)
{
    udpa_bytes *bytes;
    while ((bytes = fake_stream_take(&peer->stream))) {
        read_message(peer, bytes);
        udpa_bytes_unref(bytes);
    }
}

static void
compare_trace(test_peer *peer, const char *messages)
{
    read_all(peer);
    assert_string_equal(peer->trace, messages);
    *peer->trace = '\0';
}

void
peer_expect(test_peer *peer, const char *messages)
{
    fake_stream_run(&peer->stream, peer->hub);
    compare_trace(peer, messages);
}

void
peer_expect_one(test_peer *peer, const char *message)
{
    udpai_hub_run(peer->hub->hub);
    compare_trace(peer, message);
}

udpa_bytes *
peer_take_raw(test_peer *peer)
{
    fake_stream_run(&peer->stream, peer->hub);
    udpa_bytes *bytes = fake_stream_take(&peer->stream);
    assert_non_null(bytes);
    return bytes;
}

void
peer_expect_end(test_peer *peer, udpa_err code, const char *words)
{
    assert_true(peer->stream.is_finished);
    assert_int_equal(udpa_error_code(peer->stream.status), code);
    if (!strstr(udpa_error_message(peer->stream.status), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(peer->stream.status), words);
}

/* ---- opening and closing ---- */

void
peer_open_silent(test_peer *peer, fake_hub *hub, peer_kind kind, const udpai_stream_info *info)
{
    memset(peer, 0, sizeof(*peer));
    peer->hub = hub;
    peer->kind = kind;
    fake_stream_open(&peer->stream, hub, udpai_udpa_session_new, info);
}

static void
open_with(test_peer *peer, fake_hub *hub, peer_kind kind, const udpai_stream_info *info)
{
    peer_open_silent(peer, hub, kind, info);
    peer_expect(peer, "node{node}");
    peer_send_node(peer, "peer");
    assert_false(peer->stream.is_finished);
    session_drop(hub, UDPAI_REPORT_OPENED);
    session_drop(hub, UDPAI_REPORT_ALIVE);
    session_drop(hub, UDPAI_REPORT_NODE);
}

void
peer_open(test_peer *peer, fake_hub *hub, peer_kind kind)
{
    open_with(peer, hub, kind, NULL);
}

void
peer_open_dialled(test_peer *peer, fake_hub *hub, peer_kind kind, bool is_source)
{
    const udpai_stream_info info = {.link = 7, .is_source = is_source};
    open_with(peer, hub, kind, &info);
}

void
peer_close(test_peer *peer)
{
    read_all(peer);
    assert_string_equal(peer->trace, "");
    fake_stream_close(&peer->stream);
    session_drop(peer->hub, UDPAI_REPORT_CLOSED);
}

uint64_t
peer_session(const test_peer *peer)
{
    return peer->stream.session->id;
}

/* ---- what a peer sends ---- */

void
peer_send(test_peer *peer, udpai_str message)
{
    fake_stream_receive(&peer->stream, message.data, message.len);
    wire_free_all();
}

void
peer_send_node(test_peer *peer, const char *id)
{
    static const char *const besides[] = {
        [PEER_NODE] = UDPAI_FEATURE_NODE,
        [PEER_READER] = UDPAI_FEATURE_REDACTED,
        [PEER_COPIER] = UDPAI_FEATURE_SECRETS,
        [PEER_PAPER] = NULL,
    };
    const char *more = besides[peer->kind];
    udpai_str features =
        peer->kind == PEER_PAPER ? W_NOTHING : W_TEXT(10, UDPAI_FEATURE_EXTENSIONS);
    udpai_str node = W_JOIN(W_TEXT(1, id), features, more ? W_TEXT(10, more) : W_NOTHING);
    udpai_str any = W_JOIN(W_TEXT(1, UDPAI_TYPE_NODE), wire_bytes(2, node));
    peer_send(peer, W_MESSAGE(3, W_MESSAGE(2, W_MESSAGE(1, W_TEXT(1, id), wire_bytes(3, any)))));
}

/* A repeated string; '' is an empty one. */
static udpai_str
put_names(uint32_t number, const char *names)
{
    udpai_str left = udpai_str_from(names), word, all = W_NOTHING;
    while ((word = next_word(&left)).len) {
        if (udpai_str_eq(word, UDPAI_STR("''")))
            word.len = 0;
        all = W_JOIN(all, wire_bytes(number, word));
    }
    return all;
}

void
peer_subscribe(test_peer *peer, const char *type, const char *name_space, const char *names)
{
    peer_send(peer, W_MESSAGE(1, W_TEXT(1, session_type_url(type)), put_names(2, names),
                              *name_space ? W_TEXT(4, name_space) : W_NOTHING));
}

void
peer_unsubscribe(test_peer *peer, const char *type, const char *name_space, const char *names)
{
    peer_send(peer, W_MESSAGE(2, W_TEXT(1, session_type_url(type)), put_names(2, names),
                              *name_space ? W_TEXT(3, name_space) : W_NOTHING));
}

void
peer_receipt(test_peer *peer, const char *codes)
{
    udpai_str left = udpai_str_from(codes), word, statuses = W_NOTHING;
    while ((word = next_word(&left)).len) {
        uint64_t code = strtoull(word.data, NULL, 10);
        statuses =
            W_JOIN(statuses, W_MESSAGE(2, W_VARINT(1, code), code ? W_TEXT(2, "bad") : W_NOTHING));
    }
    peer_send(peer, W_MESSAGE(4, W_TEXT(1, peer->nonce), statuses));
}

/* A Resource message; a name without a type is a refresh without an Any. */
static udpai_str
put_resource(udpai_str word)
{
    if (!memchr(word.data, ':', word.len)) {
        udpai_str name = cut(&word, "=");
        return W_MESSAGE(1, wire_bytes(1, name), wire_bytes(2, behind(word, 1)));
    }
    udpa_resource *resource = parse_resource(word);
    udpai_str ttl = W_NOTHING;
    uint64_t ttl_ms = udpa_resource_ttl_ms(resource);
    if (ttl_ms)
        ttl = W_MESSAGE(4, W_VARINT(1, ttl_ms / 1000), W_VARINT(2, ttl_ms % 1000 * 1000000));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = test_any_of(resource);
    udpai_str message = W_MESSAGE(1, wire_bytes(1, udpai_resource_name(resource)),
                                  wire_bytes(2, udpai_resource_version(resource)),
                                  wire_bytes(3, udpai_bytes_view(any)), ttl);
    udpa_resource_unref(resource);
    return message;
}

void
peer_publish(test_peer *peer, const char *type, const char *nonce, const char *what)
{
    udpai_str left = udpai_str_from(what), word, fields = W_TEXT(3, nonce);
    if (*type && peer->kind != PEER_PAPER)
        fields = W_JOIN(fields, W_TEXT(5, session_type_url(type)));
    while ((word = next_word(&left)).len) {
        udpai_str field = *word.data == '?'   ? W_VARINT(4, 1)
                          : *word.data == '!' ? W_VARINT(6, 1)
                          : *word.data == '-' ? wire_bytes(2, behind(word, 1))
                                              : put_resource(word);
        fields = W_JOIN(fields, field);
    }
    peer_send(peer, W_MESSAGE(3, wire_bytes(2, fields)));
}

/* ---- orders and reports ---- */

udpai_report *
session_take(fake_hub *hub, udpai_report_kind kind)
{
    udpai_report *report = fake_hub_take_report(hub, kind);
    assert_non_null(report);
    return report;
}

void
session_drop(fake_hub *hub, udpai_report_kind kind)
{
    udpai_report *report;
    while ((report = fake_hub_take_report(hub, kind)))
        udpai_report_free(report);
}

void
session_expect_no(fake_hub *hub, udpai_report_kind kind)
{
    udpai_report *report = fake_hub_take_report(hub, kind);
    assert_null(report);
}

void
session_ask(
    test_peer *peer, udpai_order_kind kind, const char *type, const char *ns, const char *names)
{
    udpai_str list[16], left = udpai_str_from(names), word;
    udpai_subscription_message message = {
        .type_url = udpai_str_from(session_type_url(type)),
        .name_space = udpai_str_from(ns),
        .names = list,
    };
    while ((word = next_word(&left)).len) {
        if (udpai_str_eq(word, UDPAI_STR("''")))
            word.len = 0;
        assert_true(message.n_names < UDPAI_ARRAY_LEN(list));
        list[message.n_names++] = word;
    }
    udpai_order *order = udpai_order_new(kind);
    assert_non_null(order);
    order->session = peer_session(peer);
    order->subscription = udpai_subscription_message_copy(&message);
    assert_non_null(order->subscription);
    udpai_hub_order(peer->hub->hub, order);
}

void
session_judge(test_peer *peer, const char *codes)
{
    udpai_report *report = session_take(peer->hub, UDPAI_REPORT_PUBLICATION);
    udpai_publication *publication = UDPAI_TAKE(report->publication);
    assert_int_equal(report->session, peer_session(peer));
    udpai_str left = udpai_str_from(codes), word = {0};
    for (size_t i = 0; i < publication->entries.n; i++) {
        udpai_str next = next_word(&left);
        word = next.len ? next : word;
        int code = word.len ? (int)strtol(word.data, NULL, 10) : 0;
        if (code)
            udpai_publication_refuse(&publication->entries.items[i].error,
                                     udpa_error_new(udpa_err_from_grpc(code), NULL, "no"));
    }
    udpai_order *order = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
    assert_non_null(order);
    order->session = report->session;
    order->publication = publication;
    udpai_report_free(report);
    udpai_hub_order(peer->hub->hub, order);
}
