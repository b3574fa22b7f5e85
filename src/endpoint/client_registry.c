/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/client_registry.h"
#include "federation/reporting.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "reports/client_names.h"
#include "session/status.h"
#include "session/worker_pool.h"

#define TURN_MS 1000
/* So many are reported again in one turn, and the turn after it comes sooner then. */
#define RENEWALS_MAX 500
#define RENEWAL_PAUSE_MS 20
/* Between two looks at which nodes are below, however many come and go. */
#define LOOK_PAUSE_MS 50
#define LOG "clients"

enum { /* fields of ClientStatus and NodeClients */
    NODE_ID = 1,
    NUMBER = 2,
    CLIENT_ID = 3,
    CONFIG = 8,
    EPOCH = 13,
    OF_NODE = 20,
    N_CLIENTS = 1,
    N_LEFT_OUT = 2,
    NODES_BELOW = 3,
};

typedef struct census_client {
    uint64_t number;
    udpa_resource *resource; /* NULL: it is left out */
    uint64_t reported_ms;
} census_client;

typedef struct udpai_client_registry {
    udpai_service service;
    udpai_client_registry_options options;
    udpa_bytes *node_id;
    size_t n_subscribed;
    uint64_t ticket; /* of the last order, and the epoch; never given twice */
    bool is_ordered; /* it was given; else there was no memory */
    uint64_t whole;  /* stream sides that have reported all, a bit for each */
    udpai_map clients;
    size_t n_left_out;
    udpa_resource *of_node; /* NULL: it was not reported yet */
    uint64_t of_node_ms;
    bool is_outdated;   /* a peer has come or gone since nodes below were looked at, … */
    uint64_t looked_ms; /* … which was then */
    udpai_timer timer;
    udpai_log_limit log;
} udpai_client_registry;

static udpai_str
client_key(const void *item)
{
    const census_client *client = item;
    return (udpai_str){(const char *)&client->number, sizeof(client->number)};
}

static census_client *
find(const udpai_client_registry *self, uint64_t number)
{
    return udpai_map_get(&self->clients, (udpai_str){(const char *)&number, sizeof(number)});
}

static uint64_t
now_ms(const udpai_client_registry *self)
{
    return self->options.wheel->now_ms;
}

static void
wake_in(udpai_client_registry *self, uint64_t ms)
{
    udpai_timer_set(self->options.wheel, &self->timer, now_ms(self) + ms);
}

/* ---- resources ---- */

/* NULL without memory, or if it cannot be one. */
static udpa_resource *
make_resource(const udpai_client_registry *self, udpai_strbuf *name, udpai_str body)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_CLIENT_STATUS), body);
    const udpai_resource_parts parts = {
        .name = udpai_strbuf_view(name), .any = any, .ttl_ms = self->options.ttl_ms};
    udpa_resource *resource = NULL;
    if (any && !udpai_strbuf_failed(name) && udpai_resource_parts_check(&parts, NULL) == UDPA_OK &&
        udpai_resource_make(&resource, &parts) != UDPA_OK)
        resource = NULL;
    udpai_strbuf_done(name);
    return resource;
}

static bool
report(udpai_client_registry *self, udpa_resource *resource)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    unsigned n_suppressed;
    if (udpai_node_report_own(self->options.node, resource, &error) == UDPA_OK)
        return true;
    if (udpai_log_allow(&self->log, now_ms(self), &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, LOG, "a client is not reported: %s (%u more not shown)",
                  udpa_error_message(error), n_suppressed);
    return false;
}

static void
withdraw(const udpai_client_registry *self, udpa_resource *resource)
{
    if (resource)
        udpai_node_withdraw_own_report(self->options.node, UDPAI_STR(UDPAI_TYPE_CLIENT_STATUS),
                                       udpai_resource_name(resource));
    udpa_resource_unref(resource);
}

/* ---- the node as a whole ---- */

struct of_node {
    const udpai_client_registry *self;
    udpai_proto_writer *writer;
    UDPAI_VECTOR(udpai_str) below;
    bool failed;
};

/* Of a node with two streams once. */
static void
add_below(void *userdata, udpai_str id)
{
    struct of_node *of = userdata;
    for (size_t i = 0; i < of->below.n; i++)
        if (udpai_str_eq(of->below.items[i], id))
            return;
    of->failed |= !udpai_vector_push(&of->below, id);
}

static void
put_fields(udpai_proto_writer *writer, const struct of_node *of)
{
    const udpai_client_registry *self = of->self;
    udpai_proto_put_varint_opt(writer, N_CLIENTS, self->clients.n - self->n_left_out);
    udpai_proto_put_varint_opt(writer, N_LEFT_OUT, self->n_left_out);
    for (size_t i = 0; i < of->below.n; i++)
        udpai_proto_put_bytes(writer, NODES_BELOW, of->below.items[i]);
}

static void
put_of_node(udpai_proto_writer *writer, const void *what)
{
    const struct of_node *of = what;
    udpai_proto_writer size = {0};
    udpai_proto_put_bytes(writer, NODE_ID, udpai_bytes_view(of->self->node_id));
    udpai_proto_put_varint(writer, EPOCH, of->self->ticket);
    put_fields(&size, of);
    udpai_proto_put_head(writer, OF_NODE, size.size);
    put_fields(writer, of);
}

static udpa_resource *
make_of_node(const udpai_client_registry *self)
{
    struct of_node of = {.self = self};
    udpai_strbuf name = {0};
    udpai_node_visit_nodes_below(self->options.node, add_below, &of);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *body = of.failed ? NULL : udpai_proto_encode(put_of_node, &of);
    udpai_vector_done(&of.below);
    udpai_client_names_put_node(&name, udpai_bytes_view(self->node_id));
    if (body)
        return make_resource(self, &name, udpai_bytes_view(body));
    udpai_strbuf_done(&name);
    return NULL;
}

static bool
is_due(const udpai_client_registry *self, uint64_t reported_ms)
{
    return now_ms(self) - reported_ms >= self->options.ttl_ms / 2;
}

/* When all have been reported; and again when it changes. */
static void
report_node(udpai_client_registry *self)
{
    uint64_t all = self->options.n_stream_sides < 64
                       ? (UINT64_C(1) << self->options.n_stream_sides) - 1
                       : UINT64_MAX;
    if (self->whole != all)
        return;
    self->is_outdated = false;
    self->looked_ms = now_ms(self);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *now = make_of_node(self);
    bool is_same = now && self->of_node && udpai_resource_same_payload(now, self->of_node);
    if (!now || (is_same && !is_due(self, self->of_node_ms)) || !report(self, now))
        return;
    udpa_resource_unref(self->of_node);
    self->of_node = UDPAI_TAKE(now);
    self->of_node_ms = now_ms(self);
}

/* ---- clients ---- */

static void
drop(udpai_client_registry *self, census_client *client)
{
    udpai_map_remove(&self->clients, client_key(client));
    self->n_left_out -= !client->resource;
    withdraw(self, client->resource);
    udpai_free(client);
}

static census_client *
get(udpai_client_registry *self, uint64_t number)
{
    census_client *client = find(self, number);
    if (client)
        return client;
    client = udpai_alloc(sizeof(*client));
    if (!client)
        return NULL;
    client->number = number;
    if (!udpai_map_add(&self->clients, client)) {
        udpai_free(client);
        return NULL;
    }
    self->n_left_out++; /* as yet */
    return client;
}

/* Takes the reference; NULL: it is left out. */
static void
put(udpai_client_registry *self, census_client *client, udpa_resource *resource)
{
    bool had = client->resource != NULL;
    udpa_resource *before = client->resource;
    client->resource = resource;
    self->n_left_out = self->n_left_out - !had + !resource;
    if (before && resource &&
        udpai_str_eq(udpai_resource_name(before), udpai_resource_name(resource)))
        udpa_resource_unref(before);
    else
        withdraw(self, before);
}

/* A client that is not reported is counted. */
static void
take_client(udpai_client_registry *self, uint64_t number, udpai_str client_id, udpai_str status)
{
    census_client *client = get(self, number);
    udpai_strbuf name = {0};
    udpa_resource *resource = NULL;
    if (!client)
        return;
    udpai_client_names_put_client(&name, udpai_bytes_view(self->node_id), client_id, number);
    if (client->resource || self->clients.n - self->n_left_out < UDPAI_CLIENT_CENSUS_MAX)
        resource = make_resource(self, &name, status);
    udpai_strbuf_done(&name);
    if (resource && !report(self, resource)) {
        udpa_resource_unref(resource);
        resource = NULL;
    }
    client->reported_ms = now_ms(self);
    put(self, client, resource);
}

/* Is it a client of this stream side? A worker may have been taken over. */
static bool
is_its_own(const udpai_client_registry *self, uint64_t side, uint64_t number)
{
    return number && (self->options.n_stream_sides == 1 || number % UDPAI_WORKER_POOL_STEP == side);
}

static void
take_status(udpai_client_registry *self, uint64_t side, udpai_str status)
{
    udpai_proto_reader reader = udpai_proto_read(status);
    udpai_proto_field field;
    udpai_str client_id = {0};
    uint64_t number = 0;
    bool is_there = false;
    while (udpai_proto_next(&reader, &field)) {
        if (field.number == NUMBER && field.type == UDPAI_WIRE_VARINT)
            number = field.value;
        if (field.number == CLIENT_ID && field.type == UDPAI_WIRE_BYTES)
            client_id = field.bytes;
        is_there |= field.number == CONFIG;
    }
    if (reader.failed || !is_its_own(self, side, number))
        return;
    census_client *client = find(self, number);
    if (is_there)
        take_client(self, number, client_id, status);
    else if (client)
        drop(self, client);
}

/* ---- turns ---- */

static void
give_order(udpai_client_registry *self)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_CENSUS);
    self->is_ordered = order != NULL;
    if (!order)
        return; /* with the next turn */
    order->ticket = self->n_subscribed ? self->ticket : 0;
    self->options.order(self->options.userdata, order);
}

/* False: there are more to be reported again. */
static bool
renew(udpai_client_registry *self)
{
    size_t at = 0, n = 0;
    census_client *client;
    while ((client = udpai_map_next(&self->clients, &at))) {
        if (!client->resource || !is_due(self, client->reported_ms))
            continue;
        if (n++ == RENEWALS_MAX)
            return false;
        client->reported_ms = now_ms(self);
        (void)report(self, client->resource);
    }
    return true;
}

static void
on_timer(udpai_timer *timer)
{
    udpai_client_registry *self = UDPAI_CONTAINER_OF(timer, udpai_client_registry, timer);
    if (!self->is_ordered)
        give_order(self);
    if (!self->n_subscribed) {
        if (!self->is_ordered)
            wake_in(self, TURN_MS);
        return;
    }
    bool is_done = renew(self);
    report_node(self);
    wake_in(self, is_done ? TURN_MS : RENEWAL_PAUSE_MS);
}

/* In the turn in which a node comes or goes: so the report of it, and what is forgotten of its
 * clients, are one change, and no subscriber misses these clients without being sent that it does.
 */
static void
run(udpai_service *service)
{
    udpai_client_registry *self = UDPAI_CONTAINER_OF(service, udpai_client_registry, service);
    uint64_t due = self->looked_ms + LOOK_PAUSE_MS;
    if (!self->is_outdated || !self->n_subscribed)
        return;
    if (now_ms(self) >= due)
        report_node(self);
    else if (!udpai_timer_is_set(&self->timer) || self->timer.due_ms > due)
        udpai_timer_set(self->options.wheel, &self->timer, due);
}

/* ---- demand ---- */

static void
begin(udpai_client_registry *self)
{
    uint64_t now_us = (uint64_t)self->options.wall_us(self->options.userdata);
    self->ticket = now_us > self->ticket ? now_us : self->ticket + 1;
    self->whole = 0;
    give_order(self);
    wake_in(self, TURN_MS);
}

static void
forget_clients(udpai_client_registry *self, bool withdraws)
{
    size_t at = 0;
    census_client *client;
    while ((client = udpai_map_next(&self->clients, &at))) {
        if (withdraws)
            withdraw(self, client->resource);
        else
            udpa_resource_unref(client->resource);
        udpai_free(client);
    }
    udpai_map_done(&self->clients);
    self->n_left_out = 0;
}

static void
end(udpai_client_registry *self)
{
    forget_clients(self, true);
    withdraw(self, UDPAI_TAKE(self->of_node));
    udpai_timer_cancel(&self->timer);
    give_order(self);
    if (!self->is_ordered)
        wake_in(self, TURN_MS);
}

static udpai_client_registry *
of_service(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, udpai_client_registry, service);
}

static void
on_event(udpai_service *service, const udpai_service_event *event)
{
    udpai_client_registry *self = of_service(service);
    if (event->kind != UDPAI_SERVICE_DEMAND ||
        !udpai_str_eq(event->type_url, UDPAI_STR(UDPAI_TYPE_CLIENT_STATUS)) ||
        !udpai_client_names_match(event->text, udpai_bytes_view(self->node_id)))
        return;
    if (event->is_subscribed && self->n_subscribed++ == 0)
        begin(self);
    else if (!event->is_subscribed && self->n_subscribed && --self->n_subscribed == 0)
        end(self);
}

static bool
on_report(udpai_service *service, udpai_report *report)
{
    udpai_client_registry *self = of_service(service);
    self->is_outdated |= report->kind == UDPAI_REPORT_NODE || report->kind == UDPAI_REPORT_CLOSED;
    if (report->kind != UDPAI_REPORT_CENSUS || !self->n_subscribed ||
        report->ticket != self->ticket)
        return false;
    uint64_t side =
        self->options.n_stream_sides == 1 ? 0 : report->session % UDPAI_WORKER_POOL_STEP;
    for (size_t i = 0; i < report->statuses.n; i++)
        take_status(self, side, udpai_bytes_view(report->statuses.items[i]));
    if (report->subscribed) {
        self->whole |= UINT64_C(1) << side;
        report_node(self);
    }
    return false; /* the node knows nothing of it */
}

/* ---- coming and going ---- */

static void
free_registry(udpai_service *service)
{
    udpai_client_registry *self = of_service(service);
    udpai_timer_cancel(&self->timer);
    forget_clients(self, false);
    udpa_resource_unref(self->of_node);
    udpa_bytes_unref(self->node_id);
    udpai_free(self);
}

udpa_err
udpai_client_registry_new(udpai_service **ret_registry,
                          const udpai_client_registry_options *options)
{
    static const udpai_service_ops ops = {
        .on_report = on_report,
        .on_event = on_event,
        .run = run,
        .free = free_registry,
    };
    udpai_client_registry *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->service.ops = &ops;
    self->options = *options;
    self->is_ordered = true; /* nothing */
    udpai_map_init(&self->clients, client_key);
    udpai_timer_init(&self->timer, on_timer);
    udpa_err err = udpa_bytes_new(&self->node_id, options->node_id.data, options->node_id.len);
    if (err != UDPA_OK) {
        free_registry(&self->service);
        return err;
    }
    *ret_registry = &self->service;
    return UDPA_OK;
}
