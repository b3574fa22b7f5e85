/* SPDX-License-Identifier: Apache-2.0 */
/* A client of each protocol, and a world that changes under them. Commands of two bytes: a change
 * of what there is, a request, a write that is done, and so on.
 *
 * In the end, when everything is known and written, each client holds what there is of all that it
 * has asked for, and nothing else; whatever came between. And no response has a name twice. */
#include "base/alloc.h"
#include "base/proto.h"
#include "envoy/service/discovery/v3/discovery.pb-c.h"
#include "model/resource.h"
#include "model/types.h"
#include "session/acknowledgement.h"
#include "tests/fuzz/fuzz.h"
#include "tests/harness/fake_stream.h"
#include "tests/harness/wire.h"
#include "xds/xds_internal.h"

#define N_TYPES 3
#define N_NAMES 6
#define LAZY 5 /* this one comes by name only */
#define ALL_NAMES ((1u << N_NAMES) - 1)

static const char *const urls[N_TYPES] = {
    UDPAI_TYPE_CLUSTER,
    UDPAI_TYPE_ENDPOINTS,
    UDPAI_TYPE_PREFIX "envoy.config.route.v3.RouteConfiguration",
};
/* As clients spell them. */
static const char *const names[N_NAMES] = {
    "a", "b", "c/d", "com.acme/a", "com.acme.x/a", "lazy",
};

/* What a client asked for of a type, and what it holds. Contents are numbers, 0: nothing. */
typedef struct held_type {
    bool sent_first, is_named, is_all, is_answered;
    unsigned wanted; /* a bit for each name */
    unsigned content[N_NAMES];
    char nonce[16];
} held_type;

typedef struct client {
    fake_stream stream;
    bool is_delta;
    held_type types[N_TYPES];
} client;

typedef struct bed {
    fake_hub hub;
    udpai_xds_server xds_server;
    udpai_xds_audience audience;
    unsigned content[N_TYPES][N_NAMES];
    unsigned n_changes;
    client clients[2];
} bed;

/* ---- the world ---- */

static udpa_resource *
make(size_t type, size_t name, unsigned content)
{
    char room[UDPAI_NAME_MAX];
    udpai_str full = udpai_str_from(names[name]);
    if (!udpai_str_starts(full, UDPAI_STR("com.acme"))) {
        snprintf(room, sizeof(room), "local/%s", names[name]);
        full = udpai_str_from(room);
    }
    const udpai_resource_parts parts = {
        .name = full,
        .any =
            udpai_any_make(udpai_str_from(urls[type]),
                           W_JOIN(W_TEXT(1, names[name]), W_VARINT(2, 3), W_VARINT(1000, content))),
        .lazy = name == LAZY,
    };
    udpa_resource *resource = NULL;
    FUZZ_CHECK(parts.any && udpai_resource_make(&resource, &parts) == UDPA_OK);
    udpa_bytes_unref(parts.any);
    return resource;
}

/* Few contents, so that some come back. */
static void
change_one(bed *self, udpai_change_set *set, size_t type, size_t name, bool is_removal)
{
    unsigned *content = &self->content[type][name];
    if (is_removal && !*content)
        return;
    if (!is_removal)
        *content = 1 + ++self->n_changes % 5;
    const udpai_change change = {
        .kind = is_removal ? UDPAI_CHANGE_REMOVE : UDPAI_CHANGE_SET,
        .resource = make(type, name, *content),
    };
    FUZZ_CHECK(udpai_change_set_add(set, &change) == UDPA_OK);
    udpa_resource_unref(change.resource);
    if (is_removal)
        *content = 0;
}

/* One name of one type, or the same name of all types. */
static void
change(bed *self, uint8_t what)
{
    size_t type = what & 3, name = (what >> 2 & 7) % N_NAMES;
    udpai_change_set *set = udpai_change_set_new();
    FUZZ_CHECK(set);
    for (size_t i = 0; i < N_TYPES; i++)
        if (type == N_TYPES || i == type)
            change_one(self, set, i, name, what >> 5 & 1);
    fake_hub_apply(&self->hub, set);
    wire_free_all();
}

static void
settle(bed *self, uint8_t how)
{
    const udpai_unsettled missing = {
        .prefix = udpai_str_from(how & 1   ? "com.acme"
                                 : how & 2 ? "local"
                                           : ""),
        .source = UDPAI_STR("s"),
    };
    const udpai_settled_facts facts = {.missing = &missing, .n_missing = how & 4 ? 0 : 1};
    fake_hub_settle(&self->hub, &facts);
}

/* ---- requests ---- */

static udpai_str
put_names(uint32_t number, unsigned bits, bool with_wildcard)
{
    udpai_str all = with_wildcard ? W_TEXT(number, "*") : W_NOTHING;
    for (size_t i = 0; i < N_NAMES; i++)
        if (bits >> i & 1)
            all = W_JOIN(all, W_TEXT(number, names[i]));
    return all;
}

static void
send(client *self, size_t type, udpai_str nonce, udpai_str rest)
{
    uint32_t number = self->is_delta ? 2 : 4;
    udpai_str request =
        W_JOIN(W_TEXT(number, urls[type]), rest, wire_bytes(self->is_delta ? 6 : 5, nonce));
    fake_stream_receive(&self->stream, request.data, request.len);
    wire_free_all();
}

static udpai_str
refusal(const client *self, bool refuses)
{
    return refuses ? W_MESSAGE(self->is_delta ? 7 : 6, W_TEXT(2, "no")) : W_NOTHING;
}

static bool
is_asked_for(const held_type *held, size_t name)
{
    return held->wanted >> name & 1 || (held->is_all && name != LAZY);
}

/* Of what it holds, a client keeps what it still asks for. */
static void
forget_rest(held_type *held)
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (!is_asked_for(held, i) && !(held->is_all && held->content[i]))
            held->content[i] = 0;
}

/* From an earlier stream it may hold what there is, or something that is no more. */
static udpai_str
put_held(bed *self, held_type *held, size_t type, unsigned bits)
{
    udpai_str all = W_NOTHING;
    for (size_t i = 0; i < N_NAMES; i++) {
        char hash[UDPAI_CONTENT_HASH_HEX];
        if (!(bits >> i & 1) || !is_asked_for(held, i))
            continue;
        bool is_present = bits >> (i + 1) & 1 && self->content[type][i];
        held->content[i] = is_present ? self->content[type][i] : 99;
        udpa_resource *resource = make(type, i, held->content[i]);
        udpai_content_hash_hex(udpai_resource_content_hash(resource), hash);
        udpa_resource_unref(resource);
        all = W_JOIN(
            all, W_MESSAGE(5, W_TEXT(1, names[i]), wire_bytes(2, (udpai_str){hash, sizeof(hash)})));
    }
    return all;
}

static void
ask_delta(bed *self, client *from, size_t type, uint8_t what, udpai_str *input)
{
    held_type *held = &from->types[type];
    unsigned added = fuzz_take_byte(input) & ALL_NAMES, gone = fuzz_take_byte(input) & ALL_NAMES;
    bool adds_all = what & 1, ends_all = what & 2, is_first = !held->sent_first;
    if (is_first && !added && !gone && !adds_all && !ends_all)
        held->is_all = true;
    held->wanted &= ~gone;
    held->is_all &= !ends_all;
    forget_rest(held);
    held->wanted |= added;
    held->is_all |= adds_all;
    held->sent_first = true;
    udpai_str versions = is_first ? put_held(self, held, type, fuzz_take_byte(input)) : W_NOTHING;
    send(from, type, udpai_str_from(what & 4 ? held->nonce : ""),
         W_JOIN(put_names(3, added, adds_all), put_names(4, gone, ends_all), versions,
                refusal(from, what & 8)));
}

static void
ask_sotw(client *from, size_t type, uint8_t what, udpai_str *input)
{
    held_type *held = &from->types[type];
    bool has_wildcard = what & 1;
    held->wanted = fuzz_take_byte(input) & ALL_NAMES;
    held->is_named |= held->wanted || has_wildcard;
    held->is_all = has_wildcard || !held->is_named;
    held->sent_first = true;
    for (size_t i = 0; i < N_NAMES; i++)
        if (!is_asked_for(held, i))
            held->content[i] = 0;
    send(from, type, udpai_str_from(what & 4 ? held->nonce : ""),
         W_JOIN(put_names(3, held->wanted, has_wildcard), refusal(from, what & 8)));
}

/* The same once more, as an answer to the last response. */
static void
answer(client *from, size_t type, bool refuses)
{
    const held_type *held = &from->types[type];
    if (!held->is_answered)
        return;
    udpai_str list =
        from->is_delta ? W_NOTHING : put_names(3, held->wanted, held->is_all && held->is_named);
    send(from, type, udpai_str_from(held->nonce), W_JOIN(list, refusal(from, refuses)));
}

/* ---- responses ---- */

static size_t
find_type(const char *url)
{
    size_t type = 0;
    while (type < N_TYPES && strcmp(urls[type], url))
        type++;
    FUZZ_CHECK(type < N_TYPES);
    return type;
}

static size_t
find_name(udpai_str name)
{
    size_t i = 0;
    while (i < N_NAMES && !udpai_str_eq(name, udpai_str_from(names[i])))
        i++;
    FUZZ_CHECK(i < N_NAMES);
    return i;
}

/* Notes what a payload says, unless its name was in the response already. */
static void
take_payload(held_type *held, const Google__Protobuf__Any *any, unsigned *seen)
{
    udpai_str payload = {(const char *)any->value.data, any->value.len}, name = {0};
    unsigned content = 0;
    udpai_proto_reader reader = udpai_proto_read(payload);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (field.number == 1)
            name = field.bytes;
        else if (field.number == 1000)
            content = (unsigned)field.value;
    }
    size_t i = find_name(name);
    FUZZ_CHECK(content && !(*seen >> i & 1));
    *seen |= 1u << i;
    if (is_asked_for(held, i) || held->is_all)
        held->content[i] = content;
}

static void
note_nonce(held_type *held, const char *nonce)
{
    FUZZ_CHECK(strlen(nonce) < sizeof(held->nonce));
    memcpy(held->nonce, nonce, strlen(nonce) + 1);
    held->is_answered = true;
}

static void
read_delta(client *self, const udpa_bytes *bytes)
{
    Envoy__Service__Discovery__V3__DeltaDiscoveryResponse *response =
        envoy__service__discovery__v3__delta_discovery_response__unpack(
            NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    FUZZ_CHECK(response);
    held_type *held = &self->types[find_type(response->type_url)];
    unsigned seen = 0;
    note_nonce(held, response->nonce);
    for (size_t i = 0; i < response->n_resources; i++)
        take_payload(held, response->resources[i]->resource, &seen);
    for (size_t i = 0; i < response->n_removed_resources; i++) {
        size_t name = find_name(udpai_str_from(response->removed_resources[i]));
        FUZZ_CHECK(!(seen >> name & 1));
        seen |= 1u << name;
        held->content[name] = 0;
    }
    envoy__service__discovery__v3__delta_discovery_response__free_unpacked(response, NULL);
}

static void
read_sotw(client *self, const udpa_bytes *bytes)
{
    Envoy__Service__Discovery__V3__DiscoveryResponse *response =
        envoy__service__discovery__v3__discovery_response__unpack(NULL, udpa_bytes_size(bytes),
                                                                  udpa_bytes_data(bytes));
    FUZZ_CHECK(response);
    held_type *held = &self->types[find_type(response->type_url)];
    unsigned seen = 0;
    note_nonce(held, response->nonce);
    for (size_t i = 0; i < response->n_resources; i++)
        take_payload(held, response->resources[i], &seen);
    for (size_t i = 0; i < N_NAMES; i++)
        if (udpai_type_is_whole(udpai_str_from(response->type_url)) && !(seen >> i & 1))
            held->content[i] = 0;
    envoy__service__discovery__v3__discovery_response__free_unpacked(response, NULL);
}

static void
run(bed *self)
{
    udpai_hub_run(self->hub.hub);
    for (size_t i = 0; i < 2; i++) {
        client *one = &self->clients[i];
        udpa_bytes *message;
        while ((message = fake_stream_take(&one->stream))) {
            (one->is_delta ? read_delta : read_sotw)(one, message);
            udpa_bytes_unref(message);
        }
    }
}

/* ---- commands ---- */

static void
complete(bed *self, client *one)
{
    if (one->stream.is_writing)
        fake_stream_complete(&one->stream);
    run(self);
}

static void
command(bed *self, udpai_str *input)
{
    uint8_t which = fuzz_take_byte(input), what = fuzz_take_byte(input);
    client *one = &self->clients[which >> 7];
    size_t type = (which >> 4 & 7) % N_TYPES;
    switch (which & 15) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        change(self, what);
        break;
    case 5:
    case 6:
        if (one->is_delta)
            ask_delta(self, one, type, what, input);
        else
            ask_sotw(one, type, what, input);
        break;
    case 7:
        answer(one, type, what & 1);
        break;
    case 8:
        settle(self, what);
        break;
    case 9:
        fake_hub_advance(&self->hub, what * (uint64_t)50);
        break;
    default:
        complete(self, one);
        break;
    }
}

/* ---- the whole ---- */

static void
open_client(bed *self, size_t i, udpai_xds_variant variant)
{
    const udpai_stream_info info = {
        .context = udpai_xds_method_find(&self->xds_server, (udpai_str){0}, variant),
    };
    self->clients[i].is_delta = variant == UDPAI_XDS_STREAM_DELTA;
    fake_stream_open(&self->clients[i].stream, &self->hub, udpai_xds_session_new, &info);
}

static void
begin(bed *self, uint8_t kind)
{
    static const udpai_str shown[] = {{"com.acme", 8}};
    udpai_hub_options options = fake_hub_options();
    options.fanout.tombstones_min = kind & 1 ? 64 : 4;
    options.fanout.response_bytes = kind & 2 ? 1 << 20 : 200;
    options.fanout.body_cache_bytes = kind & 4 ? 1 << 20 : 0;
    fake_hub_init(&self->hub, &options);
    self->audience.default_namespace = UDPAI_STR("local");
    self->audience.namespaces = shown;
    self->audience.n_namespaces = 1;
    self->xds_server.audiences = &self->audience;
    self->xds_server.n_audiences = 1;
    self->xds_server.removal_patience_ms = kind & 16 ? 1000 : 0;
    self->xds_server.warm_timeout_ms = kind & 32 ? 1000 : 0;
    udpai_xds_server_init(&self->xds_server);
    if (kind & 8)
        settle(self, 4);
    open_client(self, 0, UDPAI_XDS_STREAM_DELTA);
    open_client(self, 1, UDPAI_XDS_STREAM_SOTW);
}

/* A client of the state of the world cannot be told of the end of a resource of other types, nor of
 * what it has only by a name that it has given back. */
static void
check_client(const bed *self, const client *one)
{
    for (size_t type = 0; type < N_TYPES && !one->stream.is_finished; type++) {
        const held_type *held = &one->types[type];
        bool tells_ends = one->is_delta || udpai_type_is_whole(udpai_str_from(urls[type]));
        for (size_t i = 0; i < N_NAMES; i++) {
            unsigned there = is_asked_for(held, i) ? self->content[type][i] : 0;
            if (there)
                FUZZ_CHECK(held->content[i] == there);
            else if (tells_ends && (one->is_delta || i != LAZY))
                FUZZ_CHECK(held->content[i] == 0);
        }
    }
}

/* Everything was sent, so nobody can be behind. */
static void
check_acknowledgement(bed *self, size_t type, size_t name)
{
    char question[UDPAI_NAME_MAX];
    bool is_full = strncmp(names[name], "com.acme", 8) == 0;
    snprintf(question, sizeof(question), UDPAI_ACKNOWLEDGEMENT_PREFIX "t/%s/%s%s", urls[type],
             is_full ? "" : "local/", names[name]);
    udpa_bytes *status = udpai_acknowledgement_describe(self->hub.hub, udpai_str_from(question));
    FUZZ_CHECK(status);
    udpai_proto_reader reader = udpai_proto_read(udpai_bytes_view(status)), session;
    udpai_proto_field field, part;
    bool exists = false;
    while (udpai_proto_next(&reader, &field)) {
        exists |= field.number == 3;
        session = udpai_proto_read(field.number == 10 ? field.bytes : (udpai_str){0});
        while (udpai_proto_next(&session, &part))
            FUZZ_CHECK(part.number != 20 || part.value != UDPAI_ACKNOWLEDGEMENT_BEHIND);
    }
    FUZZ_CHECK(!reader.failed && exists == (self->content[type][name] != 0));
    udpa_bytes_unref(status);
}

/* The only end there may be: more was removed than is remembered. */
static void
check_end(const client *one)
{
    if (one->stream.is_finished)
        FUZZ_CHECK(one->is_delta && udpa_error_code(one->stream.status) == UDPA_ERR_ABORTED);
}

static void
come_to_rest(bed *self)
{
    run(self);
    for (int i = 0; self->clients[0].stream.is_writing || self->clients[1].stream.is_writing; i++) {
        FUZZ_CHECK(i < 10000);
        complete(self, &self->clients[i & 1]);
    }
}

static void
end(bed *self)
{
    settle(self, 4);
    come_to_rest(self);
    for (size_t type = 0; type < N_TYPES; type++) { /* what waits for answers */
        fake_hub_advance(&self->hub,
                         self->xds_server.removal_patience_ms + self->xds_server.warm_timeout_ms);
        come_to_rest(self);
    }
    for (size_t type = 0; type < N_TYPES; type++)
        for (size_t i = 0; i < N_NAMES; i++)
            check_acknowledgement(self, type, i);
    for (size_t i = 0; i < 2; i++) {
        check_end(&self->clients[i]);
        check_client(self, &self->clients[i]);
        udpai_session *session = self->clients[i].stream.session;
        udpa_bytes_unref(session->ops->describe(session));
        fake_stream_close(&self->clients[i].stream);
    }
    fake_hub_done(&self->hub);
    wire_free_all();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, udpai_min_size(size, 4096)};
    unsigned long before = udpai_alloc_live();
    bed self = {0};
    begin(&self, fuzz_take_byte(&input));
    while (input.len)
        command(&self, &input);
    end(&self);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
