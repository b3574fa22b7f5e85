/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of xDS that move between replicas, delta and state of the world, by wildcard, written
 * from the protocol alone. They take with them what xDS has for that: versions. R2, R3. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/proto.h"
#include "outbox.h"
#include "replicas.h"
#include "xds/xds.h"

#define REDIAL_US 300000

/* Numbers of fields. */
enum {
    ANY_VALUE = 2,
    RESOURCE_NAME = 3,
    RESOURCE_VERSION = 1,
    RESOURCE_ANY = 2,
    RESPONSE_VERSION = 1,
    RESPONSE_RESOURCES = 2,
    RESPONSE_NONCE = 5,
    DELTA_REMOVED = 6,
};

typedef struct guest_session guest_session;

/* What it has is by the names of xDS, of all that the set has. */
typedef struct held {
    char name[32], version[48];
    bool is_listed;
} held;

struct guest {
    view *view;
    bool is_delta;
    guest_session *session; /* NULL: there is no stream */
    char version[64], nonce[64];
    UDPAI_VECTOR(held) held;
    bool expects_nothing; /* that it has already */
};

struct guest_session {
    udpai_session session;
    guest *guest;
    sim_outbox outbox;
};

static void
fail(const guest *self, const char *what, const char *name)
{
    scene_fail(self->view->owner, what, self->view->node->id, name);
}

/* ---- what it has ---- */

static void
keep_text(char *room, size_t size, udpai_str text)
{
    if (text.len >= size)
        abort();
    memcpy(room, text.data, text.len);
    room[text.len] = '\0';
}

static held *
find(guest *self, udpai_str name)
{
    for (size_t i = 0; i < self->held.n; i++)
        if (udpai_str_eq(udpai_str_from(self->held.items[i].name), name))
            return &self->held.items[i];
    return NULL;
}

static int
at_of(const char *name)
{
    char full[64];
    snprintf(full, sizeof(full), SPACE "/%s", name);
    return scene_at(udpai_str_from(full));
}

static void
forget(guest *self, held *one)
{
    int at = at_of(one->name);
    if (at >= 0)
        view_gone(self->view, at);
    udpai_vector_remove_unordered(&self->held, (size_t)(one - self->held.items));
}

static void
take(guest *self, udpai_str name, udpai_str version, udpai_str cluster)
{
    held *one = find(self, name);
    if (!one) {
        const held new = {0};
        if (!udpai_vector_push(&self->held, new))
            abort();
        one = &self->held.items[self->held.n - 1];
        keep_text(one->name, sizeof(one->name), name);
    }
    keep_text(one->version, sizeof(one->version), version);
    one->is_listed = true;
    int at = at_of(one->name);
    if (at >= 0)
        view_see(self->view, at, scene_number(cluster));
}

/* ---- asking ---- */

static void
put_node(udpai_proto_writer *writer, uint32_t number, const guest *self)
{
    udpai_str id = udpai_str_from(self->view->node->id);
    udpai_proto_put_head(writer, number, udpai_proto_bytes_size(1, id.len));
    udpai_proto_put_bytes(writer, 1, id);
}

static void
put_delta(udpai_proto_writer *writer, const guest *self, bool is_first)
{
    if (is_first)
        put_node(writer, 1, self);
    udpai_proto_put_bytes(writer, 2, UDPAI_STR(CLUSTER));
    for (size_t i = 0; is_first && i < self->held.n; i++) {
        udpai_str name = udpai_str_from(self->held.items[i].name);
        udpai_str version = udpai_str_from(self->held.items[i].version);
        udpai_proto_put_head(writer, 5,
                             udpai_proto_bytes_size(1, name.len) +
                                 udpai_proto_bytes_size(2, version.len));
        udpai_proto_put_bytes(writer, 1, name);
        udpai_proto_put_bytes(writer, 2, version);
    }
    udpai_proto_put_bytes_opt(writer, 6, udpai_str_from(self->nonce));
}

static void
put_state(udpai_proto_writer *writer, const guest *self, bool is_first)
{
    udpai_proto_put_bytes_opt(writer, 1, udpai_str_from(self->version));
    if (is_first)
        put_node(writer, 2, self);
    udpai_proto_put_bytes(writer, 4, UDPAI_STR(CLUSTER));
    udpai_proto_put_bytes_opt(writer, 5, udpai_str_from(self->nonce));
}

static void
send_request(guest *self, bool is_first)
{
    void (*put)(udpai_proto_writer *, const guest *, bool) = self->is_delta ? put_delta : put_state;
    udpai_proto_writer writer = {0};
    uint8_t *at;
    put(&writer, self, is_first);
    udpa_bytes *bytes = udpai_bytes_make(writer.size, &at);
    writer = (udpai_proto_writer){.at = at};
    put(&writer, self, is_first);
    sim_outbox_put(&self->session->outbox, bytes);
    udpai_session_ready(&self->session->session);
}

/* ---- seeing ---- */

static void
see_resource(guest *self, udpai_str resource)
{
    udpai_str any = udpai_proto_last_bytes(resource, RESOURCE_ANY);
    udpai_str name = udpai_proto_last_bytes(resource, RESOURCE_NAME);
    udpai_str version = udpai_proto_last_bytes(resource, RESOURCE_VERSION);
    const held *before = find(self, name);
    if (self->expects_nothing)
        fail(self,
             before && udpai_str_eq(udpai_str_from(before->version), version)
                 ? "it is sent what it has"
                 : "another version at another replica",
             self->held.n ? self->held.items[0].name : "");
    take(self, name, version, udpai_proto_last_bytes(any, ANY_VALUE));
}

static void
see_removal(guest *self, udpai_str name)
{
    held *one = find(self, name);
    if (one && self->expects_nothing)
        fail(self, "not there at another replica", one->name);
    if (one)
        forget(self, one);
}

static void
see_cluster(guest *self, udpai_str cluster)
{
    udpai_str full = udpai_proto_last_bytes(cluster, 1);
    udpai_str space = UDPAI_STR(SPACE "/");
    if (!udpai_str_starts(full, space))
        fail(self, "another name", "?");
    take(self, (udpai_str){full.data + space.len, full.len - space.len}, (udpai_str){"", 0},
         cluster);
}

static void
see_version(guest *self, udpai_str version)
{
    if (self->expects_nothing && !udpai_str_eq(version, udpai_str_from(self->version)))
        fail(self, "another version of the state at another replica", self->version);
    keep_text(self->version, sizeof(self->version), version);
}

static void
see(guest *self, udpai_str message)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    for (size_t i = 0; i < self->held.n; i++)
        self->held.items[i].is_listed = false;
    if (!self->is_delta)
        see_version(self, udpai_proto_last_bytes(message, RESPONSE_VERSION));
    while (udpai_proto_next(&reader, &field)) {
        if (field.number == RESPONSE_RESOURCES && self->is_delta)
            see_resource(self, field.bytes);
        else if (field.number == RESPONSE_RESOURCES)
            see_cluster(self, udpai_proto_last_bytes(field.bytes, ANY_VALUE));
        else if (field.number == DELTA_REMOVED && self->is_delta)
            see_removal(self, field.bytes);
    }
    for (size_t i = self->held.n; i-- > 0;)
        if (!self->is_delta && !self->held.items[i].is_listed)
            forget(self, &self->held.items[i]);
}

/* ---- the stream ---- */

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    (void)ret_error;
    guest *self = ((guest_session *)session)->guest;
    see(self, message);
    keep_text(self->nonce, sizeof(self->nonce), udpai_proto_last_bytes(message, RESPONSE_NONCE));
    send_request(self, false);
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
    guest *self = node->userdata;
    sim_dial(node, self->view->owner->front);
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
    sim_node *node = self->guest->view->node;
    self->guest->session = NULL;
    sim_outbox_done(&self->outbox);
    udpai_free(self);
    if (node->is_up)
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

static udpa_err
dialled(sim_side *side, udpai_session **ret_session, udpai_stream_info *info)
{
    guest *self = side->node->userdata;
    guest_session *session = udpai_alloc(sizeof(*session));
    if (!session || udpai_session_init(&session->session, side->hub, &session_ops, info) != UDPA_OK)
        abort();
    session->guest = self;
    self->session = session;
    *ret_session = &session->session;
    self->nonce[0] = '\0';
    send_request(self, true);
    return UDPA_OK;
}

/* ---- who serves them ---- */

/* By each replica. */
static struct host {
    udpai_xds_audience audience;
    udpai_xds_server server;
} hosts[SIM_REPLICAS_MAX];

static void
init_host(struct host *self)
{
    *self = (struct host){.audience.default_namespace = UDPAI_STR(SPACE)};
    self->server.audiences = &self->audience;
    self->server.n_audiences = 1;
    udpai_xds_server_init(&self->server);
}

static udpa_err
accepted_by(sim_side *side,
            udpai_xds_variant variant,
            udpai_session **ret_session,
            udpai_stream_info *info)
{
    const sim_replica *replica = sim_replica_of(side->node);
    udpai_xds_server *server = &hosts[replica - replica->set->replicas].server;
    info->context = udpai_xds_method_find(server, (udpai_str){0}, variant);
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

void
guests_expect_nothing(scene *self, bool is_nothing)
{
    for (int i = 0; i < N_GUESTS; i++)
        self->guests[i]->expects_nothing = is_nothing;
}

bool
guests_are_connected(const scene *self)
{
    for (int i = 0; i < N_GUESTS; i++)
        if (!self->guests[i]->session)
            return false;
    return true;
}

static void
plan(sim_node *node, sim_node_plan *plan)
{
    plan->config = (udpai_node_config){
        .id = udpai_str_from(node->id),
        .timing = sim_timing,
        .store = {600000, 1000, 1000000, 1 << 30, 1000000, 1 << 30, 1000000, 1 << 30},
        .peers_are_anonymous = true,
        .max_changes_ahead = 3,
    };
}

void
guests_begin(scene *self)
{
    char id[16];
    for (int i = 0; i < SIM_REPLICAS_MAX; i++)
        init_host(&hosts[i]);
    for (int i = 0; i < N_GUESTS; i++) {
        guest *one = calloc(1, sizeof(*one));
        if (!one)
            abort();
        snprintf(id, sizeof(id), "xds-%d", i);
        self->guests[i] = one;
        one->is_delta = i % 2 == 0;
        one->view = &self->views[1 + N_ENDPOINTS + i];
        *one->view = (view){.owner = self,
                            .node = sim_add_node(&self->world, id),
                            .is_delta = one->is_delta,
                            .takes_states = !one->is_delta};
        one->view->node->plan = plan;
        one->view->node->started = dial_again;
        one->view->node->not_reached = dial_again;
        one->view->node->dials = one->is_delta ? &of_delta : &of_state;
        one->view->node->userdata = one;
    }
}

void
guests_free(scene *self)
{
    for (int i = 0; i < N_GUESTS; i++) {
        udpai_vector_done(&self->guests[i]->held);
        free(self->guests[i]);
    }
}
