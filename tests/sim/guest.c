/* SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "network.h"
#include "outbox.h"
#include "xds/xds.h"

#define CLUSTER sim_types[0]
#define REDIAL_US 500000
#define ANSWERED_US 5000000
/* It exists nowhere; who names nothing at all would ask for everything. */
#define NOBODY "nobody"

/* Numbers of fields. */
enum {
    ANY_VALUE = 2,
    RESOURCE_VERSION = 1,
    RESOURCE_ANY = 2,
    RESOURCE_NAME = 3,
    RESPONSE_VERSION = 1,
    RESPONSE_RESOURCES = 2,
    RESPONSE_NONCE = 5,
    DELTA_REMOVED = 6,
};

typedef struct guest_session guest_session;

struct sim_guest {
    sim_member *member;
    bool is_delta;
    guest_session *session; /* NULL: there is no stream */
    /* The state of the world that it has taken last, or, of delta, of each name. */
    char version[64], nonce[64];
    char versions[N_KEYS][64];
    bool is_asked[N_KEYS]; /* on this stream, by name */
    bool is_listed[N_KEYS];
    uint64_t asked_us; /* for other things than before */
};

/* What the other end of the stream of a management node is. */
struct guest_session {
    udpai_session session;
    sim_guest *guest;
    sim_outbox outbox;
};

/* ---- words of the protocol ---- */

static udpai_str
shown_name(int key, char name[64])
{
    sim_key_name(key, name);
    return udpai_str_from(sim_key_namespace(key) == 0 ? strrchr(name, '/') + 1 : name);
}

static bool
wants(const sim_guest *self, int key)
{
    return sim_key_type(key) == 0 && sim_endpoint_wants(self->member, key);
}

static void
put_node(udpai_proto_writer *writer, uint32_t number, const sim_guest *self)
{
    char id[32];
    const sim_member *member = self->member;
    if (member->scenario->has_tls)
        snprintf(id, sizeof(id), "%s", member->node->id);
    else
        snprintf(id, sizeof(id), "%s-g%d", sim_colours[member->colour], member->index);
    udpai_str text = udpai_str_from(id);
    udpai_proto_put_head(writer, number, udpai_proto_bytes_size(1, text.len));
    udpai_proto_put_bytes(writer, 1, text);
}

static void
put_names(udpai_proto_writer *writer, uint32_t number, const bool keys[N_KEYS])
{
    char name[64];
    for (int key = 0; key < N_KEYS; key++)
        if (keys[key])
            udpai_proto_put_bytes(writer, number, shown_name(key, name));
}

static void
put_error(udpai_proto_writer *writer, uint32_t number, bool is_refused)
{
    udpai_str text = UDPAI_STR("this client does not like it");
    if (!is_refused)
        return;
    udpai_proto_put_head(writer, number, 2 + udpai_proto_bytes_size(2, text.len));
    udpai_proto_put_varint(writer, 1, 3);
    udpai_proto_put_bytes(writer, 2, text);
}

typedef struct asking {
    bool is_first, is_answer, is_refused, says_node;
    bool more[N_KEYS], fewer[N_KEYS]; /* of delta */
} asking;

static void
put_delta(udpai_proto_writer *writer, const sim_guest *self, const asking *request)
{
    if (request->says_node)
        put_node(writer, 1, self);
    udpai_proto_put_bytes(writer, 2, udpai_str_from(CLUSTER));
    if (request->is_first && self->member->by_name)
        udpai_proto_put_bytes(writer, 3, UDPAI_STR(NOBODY));
    put_names(writer, 3, request->more);
    put_names(writer, 4, request->fewer);
    for (int key = 0; request->is_first && key < N_KEYS; key++) {
        char room[64];
        udpai_str name = shown_name(key, room), version = udpai_str_from(self->versions[key]);
        if (!version.len)
            continue;
        udpai_proto_put_head(writer, 5,
                             udpai_proto_bytes_size(1, name.len) +
                                 udpai_proto_bytes_size(2, version.len));
        udpai_proto_put_bytes(writer, 1, name);
        udpai_proto_put_bytes(writer, 2, version);
    }
    if (request->is_answer)
        udpai_proto_put_bytes(writer, 6, udpai_str_from(self->nonce));
    put_error(writer, 7, request->is_refused);
}

static void
put_state(udpai_proto_writer *writer, const sim_guest *self, const asking *request)
{
    udpai_proto_put_bytes_opt(writer, 1, udpai_str_from(self->version));
    if (request->says_node)
        put_node(writer, 2, self);
    if (self->member->by_name)
        udpai_proto_put_bytes(writer, 3, UDPAI_STR(NOBODY));
    put_names(writer, 3, self->is_asked);
    udpai_proto_put_bytes(writer, 4, udpai_str_from(CLUSTER));
    udpai_proto_put_bytes_opt(writer, 5, udpai_str_from(self->nonce));
    put_error(writer, 6, request->is_refused);
}

static void
show_request(const sim_guest *self, const asking *request)
{
    const sim_member *member = self->member;
    fprintf(stderr, "%9llu %s (%s, %s) asks%s%s:", (unsigned long long)sim_ms(member->node->world),
            member->node->id, sim_colours[member->colour], self->is_delta ? "delta" : "states",
            request->is_answer ? " on, answering" : "", request->is_refused ? " with no" : "");
    for (int key = 0; key < N_KEYS; key++)
        if (self->is_delta ? request->more[key] || request->fewer[key] : self->is_asked[key])
            fprintf(stderr, " %sr%d", request->fewer[key] ? "-" : "", key);
    fprintf(stderr, "\n");
}

static void
show_seen(const sim_guest *self, const char *what, int key)
{
    const sim_member *member = self->member;
    if (member->node->world->trace)
        fprintf(stderr, "%9llu %s is told: %sr%d\n",
                (unsigned long long)sim_ms(member->node->world), member->node->id, what, key);
}

static void
send_request(sim_guest *self, const asking *request)
{
    if (self->member->node->world->trace)
        show_request(self, request);
    guest_session *session = self->session;
    udpai_proto_writer writer = {0};
    void (*put)(udpai_proto_writer *, const sim_guest *, const asking *) =
        self->is_delta ? put_delta : put_state;
    uint8_t *at;
    put(&writer, self, request);
    udpa_bytes *bytes = udpai_bytes_make(writer.size, &at);
    writer = (udpai_proto_writer){.at = at};
    put(&writer, self, request);
    sim_outbox_put(&session->outbox, bytes);
    udpai_session_ready(&session->session);
}

/* ---- asking ---- */

/* What is not wanted any more is dropped; what is, is to be answered. */
static asking
compare_wishes(sim_guest *self)
{
    asking request = {0};
    for (int key = 0; key < N_KEYS; key++) {
        bool wanted = self->member->by_name && wants(self, key);
        request.more[key] = wanted && !self->is_asked[key];
        request.fewer[key] = !wanted && self->is_asked[key];
        self->is_asked[key] = wanted;
    }
    return request;
}

static void
drop_unwanted(sim_guest *self)
{
    for (int key = 0; key < N_KEYS; key++)
        if (!wants(self, key)) {
            self->member->copies[key] = (sim_copy){0};
            self->versions[key][0] = '\0';
        }
}

bool
sim_guest_may_ask_again(const sim_member *member)
{
    return member->node->world->now_us > member->guest->asked_us + ANSWERED_US;
}

void
sim_guest_ask_again(sim_member *member)
{
    sim_guest *self = member->guest;
    self->asked_us = member->node->world->now_us;
    drop_unwanted(self);
    if (!self->session || !member->by_name)
        return;
    sim_hub_begin(&member->node->sides[0]);
    const asking request = compare_wishes(self);
    send_request(self, &request);
    sim_hub_end(&member->node->sides[0]);
}

void
sim_guest_rename(sim_member *member)
{
    sim_guest *self = member->guest;
    if (!self->session)
        return;
    const asking request = {.says_node = true};
    sim_hub_begin(&member->node->sides[0]);
    send_request(self, &request);
    sim_hub_end(&member->node->sides[0]);
    member->scenario->world.counts[SIM_GUESTS_RENAMED]++;
}

/* ---- seeing ---- */

static void
fail(const sim_guest *self, const char *what)
{
    sim_fail(self->member, what, -1);
}

static void
keep_text(char room[64], udpai_str text)
{
    if (text.len >= 64)
        abort();
    memcpy(room, text.data, text.len);
    room[text.len] = '\0';
}

/* What expires would have to be forgotten in time; and what it has given back may be under way. */
static bool
is_to_be_left(const sim_guest *self, int key)
{
    return sim_key_expires(key) || (self->member->by_name && !wants(self, key));
}

/* Whose word it is stands in it; every byte must be what he has said. */
static void
see_cluster(sim_guest *self, udpai_str cluster)
{
    char text[64], name[64];
    sim_member *member = self->member;
    keep_text(name, udpai_proto_last_bytes(cluster, 1));
    int key = sim_key_of(name);
    udpai_str said = sim_said_in(0, cluster);
    udpai_str authority = {said.data, strcspn(said.data, " ")};
    if (is_to_be_left(self, key))
        return;
    keep_text(text, authority);
    const sim_word word = {text, 0, sim_version_in(0, cluster), 0};
    udpa_resource *expected = sim_make_resource(key, text, true, word.version);
    if (!udpai_str_eq(cluster, udpai_resource_value(expected)))
        sim_fail(member, "a client of xDS is sent other bytes", key);
    udpa_resource_unref(expected);
    self->is_listed[key] = true;
    bool is_new = !member->copies[key].exists || member->copies[key].version != word.version ||
                  strcmp(member->copies[key].authority, text) != 0;
    show_seen(self, is_new ? "+" : "~", key);
    if (is_new) /* a state of the world has all, again and again */
        sim_see(member, &word, key);
    member->scenario->world.counts[self->is_delta ? SIM_GUEST_DELTAS : SIM_GUEST_STATES] += is_new;
}

static void
see_resource(sim_guest *self, udpai_str resource)
{
    char name[64];
    keep_text(name, udpai_proto_last_bytes(resource, RESOURCE_NAME));
    int key = sim_key_of(name);
    udpai_str any = udpai_proto_last_bytes(resource, RESOURCE_ANY);
    if (is_to_be_left(self, key))
        return;
    char shown[64];
    if (!udpai_str_eq(udpai_str_from(name), shown_name(key, shown)))
        sim_fail(self->member, "a client of xDS is told another name", key);
    keep_text(self->versions[key], udpai_proto_last_bytes(resource, RESOURCE_VERSION));
    see_cluster(self, udpai_proto_last_bytes(any, ANY_VALUE));
}

static void
see_removal(sim_guest *self, udpai_str removed)
{
    char name[64];
    keep_text(name, removed);
    if (strcmp(name, NOBODY) == 0)
        return;
    int key = sim_key_of(name);
    show_seen(self, "-", key);
    self->versions[key][0] = '\0';
    if (!sim_key_expires(key) && (self->member->copies[key].exists || !self->member->by_name))
        sim_check_removal(self->member, key);
}

/* What a state does not list is not there. */
static void
see_the_rest(sim_guest *self)
{
    for (int key = 0; key < N_KEYS; key++)
        if (self->member->copies[key].exists && !self->is_listed[key])
            sim_check_removal(self->member, key);
}

static void
see(sim_guest *self, udpai_str message)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    memset(self->is_listed, 0, sizeof(self->is_listed));
    while (udpai_proto_next(&reader, &field)) {
        if (field.number == RESPONSE_RESOURCES && self->is_delta)
            see_resource(self, field.bytes);
        else if (field.number == RESPONSE_RESOURCES)
            see_cluster(self, udpai_proto_last_bytes(field.bytes, ANY_VALUE));
        else if (field.number == DELTA_REMOVED && self->is_delta)
            see_removal(self, field.bytes);
    }
    if (reader.failed)
        fail(self, "a client of xDS is sent what cannot be read");
    if (!self->is_delta)
        see_the_rest(self);
}

/* ---- the stream ---- */

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    (void)ret_error;
    sim_guest *self = ((guest_session *)session)->guest;
    see(self, message);
    /* Its opinion changes nothing; what it has refused it has all the same. */
    asking request = {.is_answer = true,
                      .is_refused = sim_once_in(sim_random_of(self->member->scenario), 20)};
    keep_text(self->nonce, udpai_proto_last_bytes(message, RESPONSE_NONCE));
    if (!request.is_refused)
        keep_text(self->version, udpai_proto_last_bytes(message, RESPONSE_VERSION));
    send_request(self, &request);
    return UDPA_OK;
}

static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    (void)ret_error;
    sim_outbox_next(&((guest_session *)session)->outbox, out, ret_any);
    return UDPA_OK;
}

static void
on_order(udpai_session *session, udpai_order *order)
{
    (void)session;
    udpai_order_free(order);
}

static void
dial(sim_node *node)
{
    sim_member *member = node->userdata;
    sim_dial(node, member->scenario->members[member->upstreams[0]]->node);
}

static void
dial_again(sim_node *node)
{
    sim_node_after(node, sim_below(&node->world->random, REDIAL_US), dial);
}

static void
free_session(udpai_session *session)
{
    guest_session *self = (guest_session *)session;
    sim_node *node = self->guest->member->node;
    self->guest->session = NULL;
    sim_outbox_done(&self->outbox);
    udpai_free(self);
    dial_again(node);
}

static const udpai_session_ops session_ops = {
    .name = "guest",
    .is_client = true,
    .receive = receive,
    .next = next,
    .order = on_order,
    .free = free_session,
};

/* The rules of a state are of its stream; nonces are, too. */
static void
greet(sim_guest *self)
{
    memset(self->is_asked, 0, sizeof(self->is_asked));
    self->nonce[0] = '\0';
    asking request = compare_wishes(self);
    request.is_first = request.says_node = true;
    send_request(self, &request);
}

static udpa_err
dialled(sim_side *side, udpai_session **ret_session, udpai_stream_info *info)
{
    sim_member *member = side->node->userdata;
    guest_session *self = udpai_alloc(sizeof(*self));
    if (!self || udpai_session_init(&self->session, side->hub, &session_ops, info) != UDPA_OK)
        abort();
    self->guest = member->guest;
    member->guest->session = self;
    *ret_session = &self->session;
    greet(member->guest);
    return UDPA_OK;
}

/* ---- who serves them ---- */

struct sim_host {
    udpai_xds_audience audience;
    udpai_xds_server xds_server;
    udpai_str namespaces[N_NAMESPACES];
};

static struct sim_host *
host_new(void)
{
    struct sim_host *host = udpai_alloc(sizeof(*host));
    if (!host)
        abort();
    for (int i = 0; i < N_NAMESPACES; i++)
        host->namespaces[i] = udpai_str_from(sim_namespaces[i]);
    host->audience.name = UDPAI_STR("everybody"); /* with a name, a Node that changes counts */
    host->audience.default_namespace = host->namespaces[0];
    host->audience.namespaces = host->namespaces + 1;
    host->audience.n_namespaces = N_NAMESPACES - 1;
    host->xds_server.audiences = &host->audience;
    host->xds_server.n_audiences = 1;
    udpai_xds_server_init(&host->xds_server);
    return host;
}

static udpa_err
accepted_by(sim_side *side,
            udpai_xds_variant variant,
            udpai_session **ret_session,
            udpai_stream_info *info)
{
    sim_member *member = side->node->userdata;
    if (!member->host)
        member->host = host_new();
    info->context = udpai_xds_method_find(&member->host->xds_server, (udpai_str){0}, variant);
    return udpai_xds_session_new(ret_session, side->hub, info);
}

static udpa_err
accepted_delta(sim_side *side, udpai_session **ret_session, udpai_stream_info *info)
{
    return accepted_by(side, UDPAI_XDS_STREAM_DELTA, ret_session, info);
}

static udpa_err
accepted_state(sim_side *side, udpai_session **ret_session, udpai_stream_info *info)
{
    return accepted_by(side, UDPAI_XDS_STREAM_SOTW, ret_session, info);
}

static const sim_protocol of_delta = {dialled, accepted_delta};
static const sim_protocol of_state = {dialled, accepted_state};

/* ---- the whole ---- */

bool
sim_guest_waits_for_all(const sim_member *member)
{
    const sim_guest *self = member->guest;
    return member->is_guest && !self->is_delta && (member->by_name || self->version[0]);
}

void
sim_guest_started(sim_member *member)
{
    sim_guest *self = member->guest;
    memset(self->versions, 0, sizeof(self->versions));
    self->version[0] = '\0';
    dial_again(member->node);
}

/* Where there are no certificates they become others. */
void
sim_guests_change(sim_scenario *scenario)
{
    for (int i = scenario->n_management; i < scenario->n_members; i++) {
        sim_member *member = scenario->members[i];
        if (!member->is_guest || scenario->has_tls)
            continue;
        member->colour = (int)sim_below(sim_random_of(scenario), N_COLOURS);
        sim_identity_choose(member);
        sim_guest_rename(member);
    }
}

void
sim_guests_build(sim_scenario *scenario)
{
    for (int i = scenario->n_management; i < scenario->n_members; i++) {
        sim_member *member = scenario->members[i];
        if (!member->is_guest)
            continue;
        member->guest = udpai_alloc(sizeof(*member->guest));
        if (!member->guest)
            abort();
        member->guest->member = member;
        member->guest->is_delta = sim_once_in(sim_random_of(scenario), 2);
        member->node->dials = member->guest->is_delta ? &of_delta : &of_state;
        member->node->not_reached = dial_again;
    }
}

void
sim_guests_free(sim_scenario *scenario)
{
    for (int i = 0; i < scenario->n_members; i++) {
        udpai_free(scenario->members[i]->guest);
        udpai_free(scenario->members[i]->host);
    }
}
