/* SPDX-License-Identifier: Apache-2.0 */
/* A server of ours, a client of ours, and a loop side that asks, refuses and forgets. Commands of
 * two bytes. Streams break, the client's memory of the last stream is lost, time passes; judgements
 * overtake each other; and somebody may say in the server's place what the server would never say.
 *
 * In the end the loop side holds what there is of all that it asks for, and of what is not there
 * any more nothing where the protocol can tell; and every question has had one answer. Unless there
 * were lies: then nothing is known but that all was freed. */
#include "base/alloc.h"
#include "base/proto.h"
#include "model/resource.h"
#include "model/types.h"
#include "tests/fuzz/fuzz.h"
#include "tests/harness/fake_stream.h"
#include "tests/harness/wire.h"
#include "xds/upstream.h"
#include "xds/xds_internal.h"

#define N_TYPES 3
#define N_NAMES 4
#define PATIENCE_MS 2000

enum { /* types */
    CLUSTERS,
    ENDPOINTS,
    SECRETS,
};

static const char *const urls[N_TYPES] = {
    UDPAI_TYPE_CLUSTER,
    UDPAI_TYPE_ENDPOINTS,
    UDPAI_TYPE_PREFIX "envoy.extensions.transport_sockets.tls.v3.Secret",
};
static const char *const names[N_NAMES] = {"local/a", "local/b", "local/c/d", "local/e"};

/* Contents are numbers, 0: nothing. */
typedef struct loop_type {
    bool asks_all;
    unsigned asked;
    unsigned content[N_NAMES + 1], refused[N_NAMES + 1]; /* the last one: of names of lies */
} loop_type;

typedef struct bed {
    fake_hub server, client;
    fake_stream served, dialled;
    udpai_xds_server xds_server;
    udpai_xds_audience audience;
    udpai_upstream *upstream;
    bool is_delta, has_asked_secrets, may_lie, has_lied;
    udpai_order *deferred; /* a judgement that later ones overtake */
    unsigned content[N_TYPES][N_NAMES];
    unsigned n_changes, n_questions;
    loop_type types[N_TYPES];
} bed;

/* ---- the server's world ---- */

/* Every cluster has endpoints by EDS, under its own name. */
static udpa_resource *
make(size_t type, size_t name, unsigned content)
{
    const char *plain = strchr(names[name], '/') + 1;
    const udpai_resource_parts parts = {
        .name = udpai_str_from(names[name]),
        .any = udpai_any_make(udpai_str_from(urls[type]),
                              W_JOIN(W_TEXT(1, plain), W_VARINT(2, 3), W_VARINT(1000, content))),
    };
    udpa_resource *resource = NULL;
    FUZZ_CHECK(parts.any && udpai_resource_make(&resource, &parts) == UDPA_OK);
    udpa_bytes_unref(parts.any);
    return resource;
}

static void
change(bed *self, size_t type, size_t name, bool is_removal)
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
    udpai_change_set *set = udpai_change_set_new();
    FUZZ_CHECK(set && udpai_change_set_add(set, &change) == UDPA_OK);
    udpa_resource_unref(change.resource);
    if (is_removal)
        *content = 0;
    fake_hub_apply(&self->server, set);
    wire_free_all();
}

/* ---- what passes between them ---- */

/* Whole messages, as they are; false: there were none. */
static bool
pass(fake_stream *from, fake_stream *to)
{
    udpa_bytes *message;
    bool any = false;
    if (from->is_writing)
        fake_stream_complete(from);
    while ((message = fake_stream_take(from))) {
        if (to->session)
            fake_stream_receive(to, udpa_bytes_data(message), udpa_bytes_size(message));
        udpa_bytes_unref(message);
        any = true;
    }
    return any;
}

static bool
pump(bed *self)
{
    udpai_hub_run(self->client.hub);
    bool any = pass(&self->dialled, &self->served);
    udpai_hub_run(self->server.hub);
    any = pass(&self->served, &self->dialled) || any;
    fake_hub_drop_reports(&self->server);
    return any;
}

/* ---- the loop side ---- */

static size_t
find_type(udpai_str url)
{
    size_t type = 0;
    while (type < N_TYPES && !udpai_str_eq(url, udpai_str_from(urls[type])))
        type++;
    FUZZ_CHECK(type < N_TYPES);
    return type;
}

static size_t
find_name(const bed *self, udpai_str name)
{
    size_t i = 0;
    while (i < N_NAMES && !udpai_str_eq(name, udpai_str_from(names[i])))
        i++;
    FUZZ_CHECK(i < N_NAMES || self->has_lied);
    return i;
}

static unsigned
content_of(const udpa_resource *resource)
{
    udpai_proto_reader reader = udpai_proto_read(udpai_resource_value(resource));
    udpai_proto_field field;
    unsigned content = 0;
    while (udpai_proto_next(&reader, &field))
        if (field.number == 1000)
            content = (unsigned)field.value;
    return content;
}

static bool
is_asked(const loop_type *type, size_t name)
{
    return type->asks_all || type->asked >> name & 1;
}

/* What was asked for when it was sent, and is not any more, is refused. */
static void
take_entry(bed *self, udpai_publication_entry *entry, bool refuses)
{
    loop_type *type = &self->types[find_type(udpai_resource_type_url(entry->resource))];
    size_t name = find_name(self, udpai_resource_name(entry->resource));
    unsigned content = content_of(entry->resource);
    if (refuses)
        type->refused[name] = content;
    else if (is_asked(type, name))
        type->content[name] = content;
    if (refuses || !is_asked(type, name))
        udpai_publication_refuse(&entry->error, udpa_error_new(UDPA_ERR_DENIED, NULL, "no"));
}

static void
take_publication(bed *self, udpai_publication *publication, bool refuses)
{
    size_t type = publication->type_url.len ? find_type(publication->type_url) : N_TYPES;
    for (size_t i = 0; i < publication->removals.n; i++)
        self->types[type].content[find_name(self, publication->removals.items[i].name)] = 0;
    for (size_t i = 0; i < publication->entries.n; i++)
        take_entry(self, &publication->entries.items[i], refuses);
    if (publication->complete)
        FUZZ_CHECK(self->n_questions-- > 0);
}

/* The next one; false: there is none. */
static bool
judge(bed *self, bool refuses, bool defers)
{
    udpai_report *report = fake_hub_take_report(&self->client, UDPAI_REPORT_PUBLICATION);
    udpai_order *order = report ? udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE) : NULL;
    if (!order)
        return false;
    take_publication(self, report->publication, refuses);
    order->session = report->session;
    order->publication = UDPAI_TAKE(report->publication);
    udpai_report_free(report);
    if (defers && !self->deferred)
        self->deferred = order;
    else
        udpai_hub_order(self->client.hub, order);
    return true;
}

static bool
judge_deferred(bed *self)
{
    bool any = self->deferred;
    if (any)
        udpai_hub_order(self->client.hub, UDPAI_TAKE(self->deferred));
    return any;
}

static void
order(bed *self, udpai_order_kind kind, const udpai_subscription_message *message)
{
    udpai_order *made = udpai_order_new(kind);
    FUZZ_CHECK(made);
    made->session = self->dialled.session->id;
    made->subscription = udpai_subscription_message_copy(message);
    udpai_hub_order(self->client.hub, made);
    self->n_questions += kind == UDPAI_ORDER_SUBSCRIBE;
}

/* With what is held of it. */
static void
subscribe(bed *self, size_t type, udpai_str name, unsigned bits)
{
    char hashes[N_NAMES][UDPAI_CONTENT_HASH_HEX];
    udpai_held_version versions[N_NAMES];
    size_t n = 0;
    for (size_t i = 0; i < N_NAMES; i++) {
        if (!(bits >> i & 1) || !self->types[type].content[i])
            continue;
        udpa_resource *resource = make(type, i, self->types[type].content[i]);
        udpai_content_hash_hex(udpai_resource_content_hash(resource), hashes[n]);
        udpa_resource_unref(resource);
        versions[n] =
            (udpai_held_version){udpai_str_from(names[i]), {hashes[n], sizeof(hashes[n])}};
        n++;
    }
    order(self, UDPAI_ORDER_SUBSCRIBE,
          &(udpai_subscription_message){.type_url = udpai_str_from(urls[type]),
                                        .names = &name,
                                        .n_names = 1,
                                        .versions = versions,
                                        .n_versions = n});
    wire_free_all();
}

static void
subscribe_all(bed *self, size_t type)
{
    self->types[type].asks_all = true;
    self->has_asked_secrets |= type == SECRETS;
    subscribe(self, type, (udpai_str){"", 0}, (1u << N_NAMES) - 1);
}

static void
subscribe_name(bed *self, size_t type, size_t name)
{
    self->types[type].asked |= 1u << name;
    subscribe(self, type, udpai_str_from(names[name]), 1u << name);
}

/* What nothing asks for any more, the loop side gives up itself. */
static void
unsubscribe(bed *self, size_t type, udpai_str name)
{
    order(self, UDPAI_ORDER_UNSUBSCRIBE,
          &(udpai_subscription_message){
              .type_url = udpai_str_from(urls[type]), .names = &name, .n_names = 1});
    for (size_t i = 0; i < N_NAMES; i++)
        if (!is_asked(&self->types[type], i))
            self->types[type].content[i] = 0;
}

/* ---- streams ---- */

static void
hang_up(bed *self)
{
    while (judge(self, false, false))
        ;
    (void)judge_deferred(self);
    fake_stream_close(&self->served);
    fake_stream_close(&self->dialled);
    fake_hub_drop_reports(&self->client);
    fake_hub_drop_reports(&self->server);
    self->n_questions = 0;
}

static void
dial(bed *self)
{
    fake_stream_open(
        &self->served, &self->server, udpai_xds_session_new,
        &(udpai_stream_info){.context = udpai_xds_method_find(
                                 &self->xds_server, (udpai_str){0},
                                 self->is_delta ? UDPAI_XDS_STREAM_DELTA : UDPAI_XDS_STREAM_SOTW)});
    fake_stream_open(&self->dialled, &self->client, udpai_upstream_session_new,
                     &(udpai_stream_info){.link = 1, .context = self->upstream});
    for (size_t type = 0; type < N_TYPES; type++) {
        if (self->types[type].asks_all)
            subscribe_all(self, type);
        for (size_t i = 0; i < N_NAMES; i++)
            if (self->types[type].asked >> i & 1)
                subscribe_name(self, type, i);
    }
}

static void
make_upstream(bed *self)
{
    const udpai_upstream_options options = {
        .is_delta = self->is_delta,
        .name_space = UDPAI_STR("local"),
        .authority = UDPAI_STR("server"),
        .node = UDPAI_STR("\x0a\x02me"),
        .patience_ms = PATIENCE_MS,
        .silence_ms = 500,
    };
    FUZZ_CHECK(udpai_upstream_new(&self->upstream, &options) == UDPA_OK);
}

static void
reconnect(bed *self, bool forgets)
{
    hang_up(self);
    if (forgets) {
        udpai_upstream_free(self->upstream);
        make_upstream(self);
    }
    dial(self);
}

/* ---- lies ---- */

static udpai_str
make_lie(const bed *self, const char *url, udpai_str *input)
{
    static const char *const called[] = {"a", "b", "c/d", "*", "", "xdstp://a/b/c", "//", "e"};
    uint8_t which = fuzz_take_byte(input), what = fuzz_take_byte(input);
    const char *name = called[which & 7];
    const udpai_str none = {"", 0};
    udpai_str any = W_JOIN(W_TEXT(1, which & 8 ? urls[what & 1] : url),
                           W_MESSAGE(2, W_TEXT(1, name), W_VARINT(2, 3), W_VARINT(1000, what)));
    udpai_str resource = W_JOIN(W_TEXT(3, name), W_TEXT(1, what & 8 ? "1" : ""),
                                which & 16 ? wire_bytes(2, any) : none,
                                which & 32 ? W_TEXT(4, called[what & 7]) : none,
                                which & 64 ? W_MESSAGE(6, W_VARINT(1, what >> 6)) : none,
                                which & 128 ? W_TEXT(4, "x/*") : none);
    if (self->is_delta)
        return what & 16 ? W_TEXT(6, name) : wire_bytes(2, resource);
    if (what & 16)
        return wire_bytes(2, any);
    return W_MESSAGE(2, W_TEXT(1, UDPAI_TYPE_PREFIX "envoy.service.discovery.v3.Resource"),
                     wire_bytes(2, resource));
}

static void
lie(bed *self, size_t type, uint8_t n, udpai_str *input)
{
    udpai_str response = W_JOIN(W_TEXT(4, urls[type]), W_TEXT(5, n & 8 ? "lie" : ""));
    for (unsigned i = 0; i < (n & 7); i++)
        response = W_JOIN(response, make_lie(self, urls[type], input));
    self->has_lied = true;
    if (self->dialled.session)
        fake_stream_receive(&self->dialled, response.data, response.len);
    wire_free_all();
}

/* ---- commands ---- */

static void
advance(bed *self, uint64_t ms)
{
    fake_hub_advance(&self->server, ms);
    fake_hub_advance(&self->client, ms);
}

static void
command(bed *self, udpai_str *input)
{
    uint8_t which = fuzz_take_byte(input), what = fuzz_take_byte(input);
    size_t type = (which >> 4 & 3) % N_TYPES, name = what % N_NAMES;
    switch (which & 15) {
    case 0:
    case 1:
    case 2:
        change(self, type, name, what & 64);
        break;
    case 3:
        subscribe_all(self, type);
        break;
    case 4:
        subscribe_name(self, type, name);
        break;
    case 5:
        self->types[type].asks_all = false;
        unsubscribe(self, type, (udpai_str){"", 0});
        break;
    case 6:
        self->types[type].asked &= ~(1u << name);
        unsubscribe(self, type, udpai_str_from(names[name]));
        break;
    case 7:
        reconnect(self, what & 1);
        break;
    case 8:
        advance(self, what * (uint64_t)20);
        break;
    case 9:
        (void)judge(self, true, what & 1);
        break;
    case 10:
        (void)judge(self, false, what & 1);
        break;
    case 11:
        if (!judge_deferred(self))
            (void)judge(self, false, false);
        break;
    case 12:
        if (self->may_lie)
            lie(self, type, what, input);
        else
            (void)pump(self);
        break;
    default:
        (void)pump(self);
        break;
    }
}

/* ---- the whole ---- */

static void
come_to_rest(bed *self)
{
    for (int i = 0; i < 5; i++) {
        for (int turn = 0; pump(self) || judge(self, false, false) || judge_deferred(self); turn++)
            FUZZ_CHECK(turn < 10000);
        advance(self, PATIENCE_MS + 1);
    }
}

/* Endpoints are known as clusters name them. */
static unsigned
wanted_content(const bed *self, size_t type, size_t name)
{
    const loop_type *loop = &self->types[type];
    bool is_followed = type == ENDPOINTS && loop->asks_all && self->content[CLUSTERS][name];
    bool wanted = type == ENDPOINTS ? is_followed || loop->asked >> name & 1 : is_asked(loop, name);
    return wanted ? self->content[type][name] : 0;
}

/* A state of the world that is not whole does not tell the end of what was there. */
static void
check(const bed *self)
{
    if (self->has_lied)
        return;
    FUZZ_CHECK(!self->served.is_finished && !self->dialled.is_finished);
    /* Of what is not there at all, and is not whole, a state of the world says nothing. */
    if (self->is_delta || !self->has_asked_secrets)
        FUZZ_CHECK(self->n_questions == 0);
    for (size_t type = 0; type < N_TYPES; type++) {
        const loop_type *loop = &self->types[type];
        for (size_t i = 0; i < N_NAMES; i++) {
            unsigned wanted = wanted_content(self, type, i);
            bool was_refused = loop->refused[i] && loop->refused[i] == self->content[type][i];
            if (wanted && !was_refused)
                FUZZ_CHECK(loop->content[i] == wanted);
            else if (!wanted && (self->is_delta || type == CLUSTERS))
                FUZZ_CHECK(loop->content[i] == 0);
        }
    }
}

static void
begin(bed *self, uint8_t kind)
{
    udpai_hub_options options = fake_hub_options();
    options.fanout.tombstones_min = 1024;
    fake_hub_init(&self->server, &options);
    options.max_pending = kind & 2 ? 1 : 64;
    fake_hub_init(&self->client, &options);
    self->audience.default_namespace = UDPAI_STR("local");
    self->xds_server.audiences = &self->audience;
    self->xds_server.n_audiences = 1;
    udpai_xds_server_init(&self->xds_server);
    self->is_delta = kind & 1;
    self->may_lie = kind >> 6 == 3; /* few of those that are tried: after a lie little is checked */
    fake_hub_settle(&self->server, &(udpai_settled_facts){0});
    make_upstream(self);
    dial(self);
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
    come_to_rest(&self);
    check(&self);
    udpa_bytes_unref(self.dialled.session->ops->describe(self.dialled.session));
    hang_up(&self);
    udpai_upstream_free(self.upstream);
    fake_hub_done(&self.client);
    fake_hub_done(&self.server);
    wire_free_all();
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
