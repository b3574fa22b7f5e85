/* SPDX-License-Identifier: Apache-2.0 */
#include "xds_test.h"

#include <stdio.h>

#include "envoy/service/discovery/v3/discovery.pb-c.h"
#include "words.h"
#include "xds/peek.h"

typedef Envoy__Service__Discovery__V3__Resource resource_message;
typedef Envoy__Service__Discovery__V3__DiscoveryResponse sotw_response;
typedef Envoy__Service__Discovery__V3__DeltaDiscoveryResponse delta_response;

#define NAMES_MAX 20000
#define CONTROL_PLANE "udpa-test"

static const struct {
    const char *word, *url;
} types[] = {
    {"CDS", UDPAI_TYPE_CLUSTER},
    {"EDS", UDPAI_TYPE_ENDPOINTS},
    {"LDS", UDPAI_TYPE_LISTENER},
    {"SRDS", UDPAI_TYPE_SCOPES},
    {"RDS", "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"},
    {"SDS", "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"},
    {"RTDS", "type.googleapis.com/envoy.service.runtime.v3.Runtime"},
    {"LEDS", "type.googleapis.com/envoy.config.endpoint.v3.LbEndpoint"},
    {"LISTS", "type.googleapis.com/envoy.config.listener.v3.ListenerCollection"},
    {"VHDS", "type.googleapis.com/envoy.config.route.v3.VirtualHost"},
};

const char *
xds_type_url(const char *type)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++)
        if (strcmp(types[i].word, type) == 0)
            return types[i].url;
    return type;
}

static const char *
word_of(const char *url)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++)
        if (strcmp(types[i].url, url) == 0)
            return types[i].word;
    return url;
}

static void
free_pieces(void)
{
    wire_free_all();
    words_free_all();
}

/* ---- the world ---- */

void
xds_world_init(xds_world *world)
{
    udpai_hub_options options = fake_hub_options();
    xds_world_init_with(world, &options);
}

void
xds_world_init_with(xds_world *world, const udpai_hub_options *options)
{
    static const udpai_str namespaces[] = {{"com.acme", 8}};
    memset(world, 0, sizeof(*world));
    fake_hub_init(&world->hub, options);
    world->audience.default_namespace = UDPAI_STR("local");
    world->audience.namespaces = namespaces;
    world->audience.n_namespaces = UDPAI_ARRAY_LEN(namespaces);
    world->audience.control_plane = UDPAI_STR(CONTROL_PLANE);
    world->xds_server.audiences = &world->audience;
    world->xds_server.n_audiences = 1;
    udpai_xds_server_init(&world->xds_server);
}

void
xds_world_done(xds_world *world)
{
    fake_hub_done(&world->hub);
    free_pieces();
}

void
xds_settle(xds_world *world)
{
    const udpai_settled_facts facts = {0};
    fake_hub_settle(&world->hub, &facts);
}

void
xds_settle_except(xds_world *world, const char *prefix)
{
    const udpai_unsettled missing = {
        .prefix = udpai_str_from(prefix),
        .source = UDPAI_STR("s"),
        .why = UDPAI_STR("not connected"),
        .missing_ms = world->hub.wheel.now_ms,
    };
    const udpai_settled_facts facts = {.missing = &missing, .n_missing = 1};
    fake_hub_settle(&world->hub, &facts);
}

/* ---- changes ---- */

/* A change, taken apart; each part is a view of the text. */
typedef struct change_text {
    udpai_str type, name, content, payload_name, service, alias, authority, tests, target;
    uint64_t ttl_ms;
    bool is_static, is_lazy;
} change_text;

static void
parse_option(change_text *change, char option, udpai_str value)
{
    switch (option) {
    case '=':
        change->content = value;
        break;
    case '!':
        change->payload_name = value;
        break;
    case '@':
        change->service = value;
        break;
    case '^':
        change->alias = value;
        break;
    case '&':
        change->authority = value;
        break;
    case '<':
        change->tests = value;
        break;
    case '>':
        change->target = value;
        break;
    case '%':
        change->ttl_ms = strtoull(value.data, NULL, 10);
        break;
    case '#':
        change->is_static = true;
        break;
    default:
        change->is_lazy = true;
        break;
    }
}

static change_text
parse(udpai_str text)
{
    static const char options[] = "=!@^&%#$<>";
    change_text change = {0};
    change.type = words_cut(&text, "/");
    text = (udpai_str){text.data + 1, text.len - 1};
    change.name = words_cut(&text, options);
    while (text.len) {
        char option = *text.data;
        text = (udpai_str){text.data + 1, text.len - 1};
        parse_option(&change, option, words_cut(&text, options));
    }
    return change;
}

#define HTTP_CONNECTION_MANAGER                                                                    \
    "type.googleapis.com/"                                                                         \
    "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"

/* What a resource of this type has to refer to another by. */
static udpai_str
put_reference(const change_text *change, const char *url)
{
    if (strcmp(url, UDPAI_TYPE_CLUSTER) == 0 && !change->is_static)
        return W_JOIN(W_VARINT(2, 3), W_MESSAGE(3, wire_bytes(2, change->service)));
    if (strcmp(url, UDPAI_TYPE_ENDPOINTS) == 0 && change->service.len)
        return W_MESSAGE(2, W_MESSAGE(8, wire_bytes(2, change->service)));
    if (strcmp(url, UDPAI_TYPE_LISTENER) == 0 && change->service.len)
        return W_MESSAGE(19, W_MESSAGE(1, W_TEXT(1, HTTP_CONNECTION_MANAGER),
                                       W_MESSAGE(2, W_MESSAGE(3, wire_bytes(2, change->service)))));
    return W_NOTHING;
}

static udpai_str
payload_of(const change_text *change, const char *url, udpai_str name)
{
    udpai_str prefix = UDPAI_STR("local/"), shown = name;
    if (udpai_str_starts(name, prefix))
        shown = (udpai_str){name.data + prefix.len, name.len - prefix.len};
    if (change->payload_name.len)
        shown = change->payload_name;
    return W_JOIN(wire_bytes(1, shown), put_reference(change, url),
                  wire_bytes(1000, change->content));
}

/* What stands for what divides a change. */
static udpai_str
name_in(udpai_str text, char room[UDPAI_NAME_MAX])
{
    for (size_t i = 0; i < text.len; i++)
        room[i] = text.data[i] == '{' ? '=' : text.data[i] == ';' ? '&' : text.data[i];
    return (udpai_str){room, text.len};
}

static udpa_resource *
resource_of(udpai_str text)
{
    change_text change = parse(text);
    char rooms[3][UDPAI_NAME_MAX];
    change.name = name_in(change.name, rooms[0]);
    change.payload_name = name_in(change.payload_name, rooms[1]);
    change.service = name_in(change.service, rooms[2]);
    char type[128], name[UDPAI_NAME_MAX];
    snprintf(type, sizeof(type), "%.*s", (int)change.type.len, change.type.data);
    const char *url = xds_type_url(type);
    int len = snprintf(name, sizeof(name), "%s%.*s",
                       memchr(change.name.data, '/', change.name.len) ? "" : "local/",
                       (int)change.name.len, change.name.data);
    udpai_str full = {name, (size_t)len};
    bool is_redirect = change.target.len > 0;
    udpai_str payload = payload_of(&change, url, full), own_type = udpai_str_from(url);
    const udpai_resource_parts parts = {
        .name = full,
        .redirected_type = is_redirect ? own_type : (udpai_str){0},
        .authority = change.authority,
        .any = is_redirect
                   ? udpai_any_make(UDPAI_STR(UDPAI_TYPE_LOCATOR), wire_bytes(2, change.target))
                   : udpai_any_make(own_type, payload),
        .ttl_ms = change.ttl_ms,
        .lazy = change.is_lazy,
        .aliases = &change.alias,
        .n_aliases = change.alias.len > 0,
        .constraints = words_constraints(change.tests),
    };
    udpa_resource *resource = NULL;
    assert_ok(udpai_resource_make(&resource, &parts));
    udpa_bytes_unref(parts.any);
    return resource;
}

udpa_resource *
xds_resource(const char *change)
{
    return resource_of(udpai_str_from(change));
}

static void
add_change(udpai_change_set *set, udpai_str word, uint64_t now_ms)
{
    static const char kinds[] = "+~-";
    const char *kind = strchr(kinds, *word.data);
    assert_non_null(kind);
    udpai_change change = {
        .kind = (udpai_change_kind)(kind - kinds),
        .resource = resource_of((udpai_str){word.data + 1, word.len - 1}),
    };
    uint64_t ttl_ms = udpa_resource_ttl_ms(change.resource);
    change.deadline_ms = ttl_ms ? now_ms + ttl_ms : 0;
    assert_ok(udpai_change_set_add(set, &change));
    udpa_resource_unref(change.resource);
}

void
xds_change(xds_world *world, const char *changes)
{
    udpai_change_set *set = udpai_change_set_new();
    udpai_str left = udpai_str_from(changes);
    while (left.len) {
        udpai_str word = words_cut(&left, " ");
        left = (udpai_str){left.data + (left.len > 0), left.len - (left.len > 0)};
        if (word.len)
            add_change(set, word, world->hub.wheel.now_ms);
    }
    fake_hub_apply(&world->hub, set);
    free_pieces();
}

const char *
xds_hash(const char *resource, char room[UDPAI_CONTENT_HASH_HEX + 1])
{
    udpa_resource *made = xds_resource(resource);
    udpai_content_hash_hex(udpai_resource_content_hash(made), room);
    room[UDPAI_CONTENT_HASH_HEX] = '\0';
    udpa_resource_unref(made);
    return room;
}

/* ---- clients ---- */

void
xds_client_call(xds_client *client, xds_world *world, const char *type, udpai_xds_variant variant)
{
    const udpai_stream_info info = {
        .patience_ms = variant == UDPAI_XDS_POLL ? XDS_TEST_PATIENCE_MS : 0,
        .address = world->address,
        .context =
            udpai_xds_method_find(&world->xds_server, udpai_str_from(xds_type_url(type)), variant),
    };
    assert_non_null(info.context);
    memset(client, 0, sizeof(*client));
    client->world = world;
    client->is_delta = variant == UDPAI_XDS_STREAM_DELTA;
    fake_stream_open(&client->stream, &world->hub, udpai_xds_session_new, &info);
}

void
xds_client_open(xds_client *client, xds_world *world, bool is_delta)
{
    xds_client_call(client, world, "", is_delta ? UDPAI_XDS_STREAM_DELTA : UDPAI_XDS_STREAM_SOTW);
}

void
xds_client_close(xds_client *client)
{
    assert_string_equal(client->trace, ""); /* what was not looked at was not tested */
    fake_stream_close(&client->stream);
}

void
xds_client_reopen(xds_client *client)
{
    const xds_client before = *client;
    xds_client_close(client);
    xds_client_open(client, before.world, before.is_delta);
}

static xds_client_type *
type_of(const xds_client *client, const char *type)
{
    xds_client *self = (xds_client *)(uintptr_t)client;
    const char *url = xds_type_url(type);
    for (size_t i = 0; i < self->n_types; i++)
        if (strcmp(self->types[i].url, url) == 0)
            return &self->types[i];
    assert_true(self->n_types < XDS_TEST_TYPES_MAX);
    snprintf(self->types[self->n_types].url, sizeof(self->types[0].url), "%s", url);
    return &self->types[self->n_types++];
}

const char *
xds_version(const xds_client *client, const char *type)
{
    return type_of(client, type)->version;
}

const char *
xds_nonce(const xds_client *client, const char *type)
{
    return type_of(client, type)->nonce;
}

/* ---- requests ---- */

/* Fields of a repeated string; "''" stands for an empty one. */
static udpai_str
put_names(uint32_t number, const char *names)
{
    static udpai_str fields[NAMES_MAX];
    size_t n = 0;
    udpai_str left = udpai_str_from(names);
    while (left.len) {
        udpai_str word = words_cut(&left, " ");
        left = (udpai_str){left.data + (left.len > 0), left.len - (left.len > 0)};
        if (word.len == 0 || memchr(word.data, '<', word.len))
            continue;
        if (udpai_str_eq(word, UDPAI_STR("''")))
            word.len = 0;
        assert_true(n < NAMES_MAX);
        fields[n++] = wire_bytes(number, word);
    }
    return wire_join(fields, n);
}

/* A map<string, string> of words "key=value". */
static udpai_str
put_held(uint32_t number, const char *held)
{
    udpai_str all = W_NOTHING, left = udpai_str_from(held);
    while (left.len) {
        udpai_str value = words_cut(&left, " "), key = words_cut(&value, "=");
        left = (udpai_str){left.data + (left.len > 0), left.len - (left.len > 0)};
        value = (udpai_str){value.data + 1, value.len - 1};
        all = W_JOIN(all, W_MESSAGE(number, wire_bytes(1, key), wire_bytes(2, value)));
    }
    return all;
}

/* A dynamic parameter, for clusters. */
static udpai_str
put_parameter(const char *text)
{
    return text ? W_MESSAGE(12, W_TEXT(1, xds_type_url("CDS")), W_MESSAGE(2, put_held(1, text)))
                : W_NOTHING;
}

static udpai_str
put_node(const xds_client *client, const xds_ask *ask)
{
    udpai_str features = W_NOTHING, padding = W_NOTHING;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(client->features) && client->features[i]; i++)
        features = W_JOIN(features, W_TEXT(10, client->features[i]));
    for (size_t i = 0; i < ask->node_padding; i += 88) /* as an Envoy lists its extensions */
        padding = W_JOIN(padding, W_MESSAGE(9, W_TEXT(1, "envoy.filters.http.something_or_other"),
                                            W_TEXT(2, "envoy.filters.http, and the text of it")));
    return W_JOIN(W_TEXT(1, ask->node_id ? ask->node_id : "client"), W_TEXT(2, "cluster"), features,
                  client->user_agent ? W_TEXT(6, client->user_agent) : W_NOTHING, padding,
                  put_parameter(ask->parameter));
}

static udpai_str
sotw_request(const xds_ask *ask, udpai_str node, udpai_str nonce, udpai_str error)
{
    return W_JOIN(node.len ? wire_bytes(2, node) : node, W_TEXT(4, xds_type_url(ask->type)),
                  W_TEXT(1, ask->version ? ask->version : ""), put_names(3, ask->names),
                  words_locators(7, ask->names), wire_bytes(5, nonce),
                  error.len ? wire_bytes(6, error) : error);
}

static udpai_str
delta_request(const xds_ask *ask, udpai_str node, udpai_str nonce, udpai_str error)
{
    return W_JOIN(node.len ? wire_bytes(1, node) : node, W_TEXT(2, xds_type_url(ask->type)),
                  put_names(3, ask->names), put_names(4, ask->unsubscribed), put_held(5, ask->held),
                  words_locators(8, ask->names), words_locators(9, ask->unsubscribed),
                  wire_bytes(6, nonce), error.len ? wire_bytes(7, error) : error);
}

void
xds_send(xds_client *client, const xds_ask *ask)
{
    bool says_node = !client->sent_first || ask->says_node;
    udpai_str node = says_node ? put_node(client, ask) : W_NOTHING, error = W_NOTHING;
    const char *nonce = ask->nonce ? ask->nonce : type_of(client, ask->type)->nonce;
    if (ask->error)
        error = W_JOIN(W_VARINT(1, 3), W_TEXT(2, ask->error));
    udpai_str request =
        (client->is_delta ? delta_request : sotw_request)(ask, node, udpai_str_from(nonce), error);
    client->sent_first = true;
    fake_stream_receive(&client->stream, request.data, request.len);
    free_pieces();
}

void
xds_ask_for(xds_client *client, const char *type, const char *names)
{
    xds_client_type *known = type_of(client, type);
    snprintf(known->names, sizeof(known->names), "%s", names);
    XDS_SEND(client, type, .names = names, .version = known->accepted);
}

void
xds_subscribe(xds_client *client, const char *type, const char *names)
{
    XDS_SEND(client, type, .names = names, .nonce = "");
}

void
xds_unsubscribe(xds_client *client, const char *type, const char *names)
{
    XDS_SEND(client, type, .unsubscribed = names, .nonce = "");
}

void
xds_ack(xds_client *client, const char *type)
{
    xds_client_type *known = type_of(client, type);
    snprintf(known->accepted, sizeof(known->accepted), "%s", known->version);
    XDS_SEND(client, type, .names = client->is_delta ? "" : known->names,
             .version = known->accepted);
}

void
xds_nack(xds_client *client, const char *type, const char *error)
{
    xds_client_type *known = type_of(client, type);
    XDS_SEND(client, type, .names = client->is_delta ? "" : known->names,
             .version = known->accepted, .error = error);
}

/* ---- responses ---- */

/* A response as words. */
typedef struct shown_words {
    char *words[NAMES_MAX];
    size_t n;
} shown_words;

static void
show(shown_words *shown, const char *before, const char *name, const char *behind)
{
    assert_true(shown->n < NAMES_MAX);
    size_t size = strlen(before) + strlen(name) + strlen(behind) + 1;
    char *word = malloc(size);
    assert_non_null(word);
    snprintf(word, size, "%s%s%s", before, name, behind);
    shown->words[shown->n++] = word;
}

static int
compare_words(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
show_resource(shown_words *shown, const resource_message *resource, bool is_wrapped)
{
    assert_false(*resource->name && resource->resource_name);
    const char *name =
        resource->resource_name ? words_variant(resource->resource_name) : resource->name;
    bool has_ttl = resource->ttl != NULL, is_missing = !resource->resource && resource->n_aliases;
    assert_int_equal(strlen(resource->version), is_missing ? 0 : UDPAI_CONTENT_HASH_HEX);
    const char *kind = resource->resource ? "" : is_missing ? "?" : "~";
    bool is_redirect =
        resource->resource && strcmp(resource->resource->type_url, UDPAI_TYPE_LOCATOR) == 0;
    show(shown, kind, name, has_ttl ? "%" : is_redirect ? ">" : is_wrapped ? "=" : "");
}

static void
show_any(shown_words *shown, const Google__Protobuf__Any *any)
{
    udpai_str value = {(const char *)any->value.data, any->value.len}, name = UDPAI_STR("?");
    if (strstr(any->type_url, "envoy.service.discovery.v3.Resource")) {
        resource_message *resource =
            envoy__service__discovery__v3__resource__unpack(NULL, any->value.len, any->value.data);
        assert_non_null(resource);
        show_resource(shown, resource, true);
        envoy__service__discovery__v3__resource__free_unpacked(resource, NULL);
        return;
    }
    udpai_xds_peek_name(udpai_str_from(any->type_url), value, &name);
    char text[UDPAI_NAME_MAX + 1];
    snprintf(text, sizeof(text), "%.*s", (int)name.len, name.data);
    show(shown, "", text, "");
}

/* Sorts, refuses names that are there twice, appends to the trace, frees the words. */
static void
append(xds_client *client, const char *url, shown_words *shown, size_t n_removed)
{
    size_t n = shown->n - n_removed, len = strlen(client->trace);
    qsort(shown->words, n, sizeof(char *), compare_words);
    qsort(shown->words + n, n_removed, sizeof(char *), compare_words);
    for (size_t i = 1; i < n; i++)
        if (strcmp(shown->words[i - 1], shown->words[i]) == 0)
            fail_msg("'%s' is twice in one response", shown->words[i]);
    len += (size_t)snprintf(client->trace + len, sizeof(client->trace) - len, "%s%s[",
                            len ? " " : "", word_of(url));
    for (size_t i = 0; i < shown->n; free(shown->words[i++]))
        if (len < sizeof(client->trace))
            len += (size_t)snprintf(client->trace + len, sizeof(client->trace) - len, "%s%s",
                                    i ? " " : "", shown->words[i]);
    if (len < sizeof(client->trace))
        snprintf(client->trace + len, sizeof(client->trace) - len, "]");
}

static void
note_response(xds_client *client, const char *url, const char *version, const char *nonce)
{
    xds_client_type *known = type_of(client, url);
    assert_int_equal(strlen(nonce), 12);
    assert_true(strcmp(known->nonce, nonce) < 0); /* they grow */
    snprintf(known->nonce, sizeof(known->nonce), "%s", nonce);
    snprintf(known->version, sizeof(known->version), "%s", version);
}

static void
read_sotw(xds_client *client, const udpa_bytes *message, shown_words *shown)
{
    sotw_response *response = envoy__service__discovery__v3__discovery_response__unpack(
        NULL, udpa_bytes_size(message), udpa_bytes_data(message));
    assert_non_null(response);
    assert_string_equal(response->control_plane->identifier, CONTROL_PLANE);
    assert_int_equal(strlen(response->version_info), UDPAI_CONTENT_HASH_HEX);
    for (size_t i = 0; i < response->n_resources; i++)
        show_any(shown, response->resources[i]);
    note_response(client, response->type_url, response->version_info, response->nonce);
    append(client, response->type_url, shown, 0);
    envoy__service__discovery__v3__discovery_response__free_unpacked(response, NULL);
}

static void
read_delta(xds_client *client, const udpa_bytes *message, shown_words *shown)
{
    delta_response *response = envoy__service__discovery__v3__delta_discovery_response__unpack(
        NULL, udpa_bytes_size(message), udpa_bytes_data(message));
    assert_non_null(response);
    assert_string_equal(response->control_plane->identifier, CONTROL_PLANE);
    for (size_t i = 0; i < response->n_resources; i++)
        show_resource(shown, response->resources[i], false);
    for (size_t i = 0; i < response->n_removed_resources; i++)
        show(shown, "-", response->removed_resources[i], "");
    for (size_t i = 0; i < response->n_removed_resource_names; i++)
        show(shown, "-", words_variant(response->removed_resource_names[i]), "");
    note_response(client, response->type_url, response->system_version_info, response->nonce);
    append(client, response->type_url, shown,
           response->n_removed_resources + response->n_removed_resource_names);
    envoy__service__discovery__v3__delta_discovery_response__free_unpacked(response, NULL);
}

static void
read_written(xds_client *client)
{
    udpa_bytes *message;
    while ((message = fake_stream_take(&client->stream))) {
        static shown_words shown;
        shown.n = 0;
        (client->is_delta ? read_delta : read_sotw)(client, message, &shown);
        udpa_bytes_unref(message);
    }
}

void
xds_expect(xds_client *client, const char *responses)
{
    fake_stream_run(&client->stream, &client->world->hub);
    read_written(client);
    assert_string_equal(client->trace, responses);
    client->trace[0] = '\0';
}

void
xds_write_one(xds_client *client)
{
    if (client->stream.is_writing)
        fake_stream_complete(&client->stream);
    udpai_hub_run(client->world->hub.hub);
    read_written(client);
}

void
xds_ack_all(xds_client *client)
{
    bool any = true;
    while (any) {
        fake_stream_run(&client->stream, &client->world->hub);
        any = client->stream.written.n > 0;
        read_written(client);
        for (size_t i = 0; any && i < client->n_types; i++)
            if (*client->types[i].nonce)
                xds_ack(client, client->types[i].url);
    }
}

void
xds_expect_end(xds_client *client, udpa_err code, const char *words)
{
    assert_true(client->stream.is_finished);
    assert_int_equal(udpa_error_code(client->stream.status), code);
    if (!strstr(udpa_error_message(client->stream.status), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(client->stream.status), words);
}
