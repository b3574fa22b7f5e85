/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/federation/clients_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

static const char *const urls[CW_TYPES_MAX] = {
    TEST_CDS,
    TEST_EDS,
    TEST_LDS,
    TEST_RDS,
    "type.googleapis.com/test.Five",
    "type.googleapis.com/test.Six",
    "type.googleapis.com/test.Seven",
    "type.googleapis.com/test.Eight",
};

/* Who is asked on a stream: what a source's target is. */
typedef struct target {
    size_t refs;
    unsigned node;
    char name_space[80];
} target;

static void *
ref_target(void *userdata)
{
    target *self = userdata;
    self->refs++;
    return self;
}

static void
release_target(void *userdata)
{
    target *self = userdata;
    if (--self->refs == 0)
        free(self);
}

static void *
target_for(void *userdata, udpai_str name_space, const udpai_node_info *client)
{
    (void)userdata;
    target *self = calloc(1, sizeof(*self));
    assert_non_null(self);
    self->refs = 1;
    self->node =
        client ? (unsigned)strtoul(udpai_node_info_parts(client)->cluster.data, NULL, 10) : 0;
    snprintf(self->name_space, sizeof(self->name_space), "%.*s", UDPAI_SHOWN(name_space));
    return self;
}

/* ---- the node's surroundings ---- */

static void
on_order(void *userdata, udpai_order *order)
{
    cw_world *world = userdata;
    udpai_list_append(&world->orders, &order->node);
}

/* A group that ends is as one that was never asked for. */
static void
note_forgotten(cw_world *world, udpai_str key)
{
    char room[100];
    for (size_t i = 0; i < world->n_groups; i++) {
        snprintf(room, sizeof(room), "source:a/%s", world->groups[i].name_space);
        if (udpai_str_eq(key, udpai_str_from(room)))
            memset(world->groups[i].has_answered, 0, sizeof(world->groups[i].has_answered));
    }
}

static void
note_op(cw_world *world, const udpai_durable_op *op)
{
    if (op->kind == UDPAI_DURABLE_FORGET_ORIGIN)
        note_forgotten(world, udpai_bytes_view(op->origin));
    fed_disk_do(&world->kept, op);
}

static void
on_commit(void *userdata, udpai_durable_batch *batch, uint64_t ticket)
{
    cw_world *world = userdata;
    for (size_t i = 0; i < batch->ops.n; i++)
        note_op(world, &batch->ops.items[i]);
    udpai_durable_batch_free(batch);
    world->committed = ticket;
}

static int64_t
wall_us(void *userdata)
{
    const cw_world *world = userdata;
    return (int64_t)1700000000 * 1000000 + (int64_t)world->wheel.now_ms * 1000;
}

static uint64_t
no_chance(void *userdata)
{
    (void)userdata;
    return 0;
}

/* ---- the world ---- */

static bool
is_on_demand(const cw_world *world, size_t type)
{
    return type + CW_ON_DEMAND >= world->n_types;
}

static void
configure(cw_world *world)
{
    world->source = (udpai_source_config){
        .name = UDPAI_STR("a"),
        .kind = UDPAI_SOURCE_XDS,
        .ref_target = ref_target,
        .release_target = release_target,
        .target_for = target_for,
    };
    for (size_t i = 0; i < 2; i++)
        world->descriptors[i] = (udpai_descriptor_config){
            UDPAI_STR("a"), UDPAI_STR(CW_PREFIX), UDPAI_STOP_ON_SUCCESS, .on_demand = i == 1};
    for (size_t i = 0; i < world->n_types; i++)
        world->types[i] = udpai_str_from(urls[i]);
    size_t n_mirrored = world->n_types - CW_ON_DEMAND;
    world->providers[0] =
        (udpai_provider_config){world->types, n_mirrored, &world->descriptors[0], 1};
    world->providers[1] =
        (udpai_provider_config){&world->types[n_mirrored], CW_ON_DEMAND, &world->descriptors[1], 1};
}

void
cw_init(cw_world *world, size_t n_groups, size_t n_types)
{
    *world = (cw_world){.n_groups = n_groups, .n_types = n_types};
    udpai_wheel_init(&world->wheel, 0);
    udpai_list_init(&world->orders);
    world->groups = calloc(n_groups, sizeof(*world->groups));
    assert_non_null(world->groups);
    for (size_t i = 0; i < n_groups; i++) {
        snprintf(world->groups[i].name_space, sizeof(world->groups[i].name_space), "%s/%zu",
                 CW_PREFIX, i);
        world->groups[i].content = 1;
        world->groups[i].node = 1;
    }
    configure(world);
    world->config = (udpai_node_config){
        .id = UDPAI_STR("node"),
        .authority = UDPAI_STR("files"),
        .timing = {2000, 15000, 5000, 250, 15000, 0, 10000, 30000, 1000, 5000, 30000},
        .store = {600000, 1000, 1000000, 1 << 30, 1000000, 1 << 30, 1000000, 1 << 30},
        .sources = &world->source,
        .n_sources = 1,
        .providers = world->providers,
        .n_providers = 2,
        .is_durable = true,
        .max_changes_ahead = SIZE_MAX,
    };
}

void
cw_start(cw_world *world)
{
    const udpai_node_env env = {
        .order = on_order,
        .commit = on_commit,
        .wall_us = wall_us,
        .random = no_chance,
        .userdata = world,
    };
    assert_ok(udpai_node_new(&world->node, &world->wheel, &world->config, &env, NULL));
    for (size_t i = 0; i < world->kept.n; i++)
        assert_ok(udpai_node_restore(world->node, &world->kept.items[i]));
    udpai_node_start(world->node);
    udpai_node_flush(world->node);
}

static void
stop(cw_world *world)
{
    world->node = udpai_node_free(world->node);
    udpai_list *at;
    while ((at = udpai_list_pop(&world->orders)))
        udpai_order_free(UDPAI_LIST_ENTRY(at, udpai_order, node));
    udpai_vector_done(&world->streams);
}

void
cw_restart(cw_world *world)
{
    stop(world);
    for (size_t i = 0; i < world->n_groups; i++) {
        world->groups[i].is_there = false;
        memset(world->groups[i].is_wanted, 0, sizeof(world->groups[i].is_wanted));
    }
    cw_start(world);
}

void
cw_done(cw_world *world)
{
    stop(world);
    fed_disk_done(&world->kept);
    free(world->groups);
}

/* ---- reports ---- */

static udpai_report *
new_report(udpai_report_kind kind, const cw_stream *stream)
{
    udpai_report *report = udpai_report_new(kind);
    assert_non_null(report);
    report->session = stream ? stream->session : 0;
    report->link = stream ? stream->link : 0;
    return report;
}

static void
report(cw_world *world, udpai_report *report)
{
    udpai_node_report(world->node, report);
    udpai_node_flush(world->node);
    udpai_node_committed(world->node, world->committed, UDPA_OK);
    udpai_node_flush(world->node);
}

static void
tell_clients(cw_world *world, size_t group, bool wanted)
{
    const cw_group *self = &world->groups[group];
    char cluster[20];
    udpai_report *clients = new_report(UDPAI_REPORT_CLIENTS, NULL);
    clients->subscribed = wanted;
    assert_ok(udpa_bytes_new(&clients->name_space, self->name_space, strlen(self->name_space)));
    snprintf(cluster, sizeof(cluster), "%u", self->node);
    const udpai_node_parts parts = {.id = udpai_str_from(self->name_space),
                                    .cluster = udpai_str_from(cluster)};
    if (wanted)
        assert_ok(udpai_node_info_new(&clients->info, &parts));
    report(world, clients);
}

void
cw_come(cw_world *world, size_t group)
{
    world->groups[group].is_there = true;
    tell_clients(world, group, true);
}

void
cw_go(cw_world *world, size_t group)
{
    world->groups[group].is_there = false;
    tell_clients(world, group, false);
}

static udpai_report *
interest_in(const cw_world *world, size_t type, const char *name, bool wanted)
{
    udpai_str text = udpai_str_from(name);
    const udpai_subscription_message message = {
        .type_url = world->types[type],
        .name_space = UDPAI_STR(""),
        .names = &text,
        .n_names = 1,
    };
    udpai_report *interest = new_report(UDPAI_REPORT_INTEREST, NULL);
    interest->subscription = udpai_subscription_message_copy(&message);
    assert_non_null(interest->subscription);
    interest->subscribed = wanted;
    return interest;
}

void
cw_want(cw_world *world, size_t group, size_t type, bool wanted)
{
    char name[100];
    cw_group *self = &world->groups[group];
    if (self->is_wanted[type] == wanted)
        return;
    self->is_wanted[type] = wanted;
    snprintf(name, sizeof(name), "%s/x", self->name_space);
    report(world, interest_in(world, type, name, wanted));
}

void
cw_want_many(cw_world *world, size_t group, size_t type, size_t n_names)
{
    char name[110];
    for (size_t i = 0; i < n_names; i++) {
        snprintf(name, sizeof(name), "%s/none-%zu", world->groups[group].name_space, i);
        udpai_node_report(world->node, interest_in(world, type, name, true));
    }
}

/* ---- the control plane ---- */

/* All it has of the type for the group. */
static void
answer(cw_world *world, size_t index, size_t type, bool is_complete)
{
    const cw_stream *stream = &world->streams.items[index];
    const cw_group *group = &world->groups[stream->group];
    char name[100], value[40];
    snprintf(name, sizeof(name), "%s/x", group->name_space);
    snprintf(value, sizeof(value), "%u %u", stream->node, group->content);
    udpai_report *published = new_report(UDPAI_REPORT_PUBLICATION, stream);
    published->link = 0;
    published->publication = udpai_publication_new();
    assert_non_null(published->publication);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = RESOURCE(name, .type = urls[type], .version = value, .value = value);
    assert_ok(udpai_publication_add(published->publication, resource, false));
    published->publication->complete = is_complete;
    assert_ok(udpai_publication_set(&published->publication->type_url, world->types[type]));
    assert_ok(udpai_publication_set(&published->publication->name_space,
                                    udpai_str_from(group->name_space)));
    if (is_complete)
        world->groups[stream->group].has_answered[type] = true;
    report(world, published);
}

void
cw_publish(cw_world *world, size_t group)
{
    world->groups[group].content++;
    for (size_t i = 0; i < world->streams.n; i++)
        for (size_t type = 0; type < world->n_types; type++)
            if (world->streams.items[i].group == group && world->streams.items[i].session &&
                (world->streams.items[i].asked[type] || world->streams.items[i].by_name[type]))
                answer(world, i, type, false);
}

void
cw_close(cw_world *world, size_t index)
{
    udpai_report *closed = new_report(UDPAI_REPORT_CLOSED, &world->streams.items[index]);
    udpai_vector_remove_unordered(&world->streams, index);
    report(world, closed);
}

static size_t
find_group(const cw_world *world, const char *name_space)
{
    return (size_t)strtoul(name_space + strlen(CW_PREFIX) + 1, NULL, 10) % world->n_groups;
}

static void
dial(cw_world *world, const udpai_order *order)
{
    const target *who = order->target;
    cw_stream stream = {
        .link = order->link,
        .group = find_group(world, who->name_space),
        .node = who->node,
    };
    world->n_dials++;
    assert_true(udpai_vector_push(&world->streams, stream));
    if (world->is_out) {
        cw_close(world, world->streams.n - 1);
        return;
    }
    size_t index = world->streams.n - 1;
    world->streams.items[index].session = ++world->last_session;
    report(world, new_report(UDPAI_REPORT_OPENED, &world->streams.items[index]));
    report(world, new_report(UDPAI_REPORT_ALIVE, &world->streams.items[index]));
}

static void
hang_up(cw_world *world, const udpai_order *order)
{
    for (size_t i = 0; i < world->streams.n; i++)
        if (world->streams.items[i].link == order->link) {
            cw_close(world, i);
            return;
        }
}

static void
subscribe(cw_world *world, const udpai_order *order, bool on)
{
    const udpai_subscription_message *message = order->subscription;
    size_t type = 0, i = 0;
    while (type < world->n_types && !udpai_str_eq(world->types[type], message->type_url))
        type++;
    while (i < world->streams.n && world->streams.items[i].session != order->session)
        i++;
    if (i == world->streams.n)
        return; /* it has ended */
    assert_true(type < world->n_types && message->n_names == 1);
    bool by_name = message->names[0].len > 0;
    (by_name ? world->streams.items[i].by_name : world->streams.items[i].asked)[type] = on;
    if (on)
        answer(world, i, type, true);
}

static void
carry_out(cw_world *world, udpai_order *order)
{
    udpai_list_remove(&order->node);
    world->n_settled += order->kind == UDPAI_ORDER_SETTLED;
    world->n_changes += order->kind == UDPAI_ORDER_CHANGES;
    if (order->kind == UDPAI_ORDER_CHANGES || order->kind == UDPAI_ORDER_SETTLED)
        report(world, UDPAI_TAKE(order->answer));
    else if (order->kind == UDPAI_ORDER_DIAL)
        dial(world, order);
    else if (order->kind == UDPAI_ORDER_HANG_UP)
        hang_up(world, order);
    else if (order->kind == UDPAI_ORDER_SUBSCRIBE || order->kind == UDPAI_ORDER_UNSUBSCRIBE)
        subscribe(world, order, order->kind == UDPAI_ORDER_SUBSCRIBE);
    udpai_order_free(order);
}

bool
cw_step(cw_world *world)
{
    if (udpai_list_empty(&world->orders))
        return false;
    carry_out(world, UDPAI_LIST_ENTRY(world->orders.next, udpai_order, node));
    return true;
}

static udpai_order *
find_order(cw_world *world, udpai_order_kind kind)
{
    UDPAI_LIST_FOREACH (at, &world->orders) {
        udpai_order *order = UDPAI_LIST_ENTRY(at, udpai_order, node);
        if (order->kind == kind)
            return order;
    }
    return NULL;
}

void
cw_carry_out(cw_world *world, udpai_order_kind kind)
{
    udpai_order *order;
    while ((order = find_order(world, kind)))
        carry_out(world, order);
}

void
cw_settle(cw_world *world)
{
    while (cw_step(world))
        continue;
}

void
cw_advance(cw_world *world, uint64_t ms)
{
    uint64_t end = world->wheel.now_ms + ms;
    while (world->wheel.now_ms < end) {
        uint64_t next = udpai_wheel_next(&world->wheel);
        udpai_wheel_advance(&world->wheel, next < end ? next : end);
        udpai_node_flush(world->node);
    }
}

/* ---- looking ---- */

static bool
take_effective(void *userdata, const udpai_contribution *contribution)
{
    cw_value *value = userdata;
    if (contribution->effective) {
        udpai_str text = udpai_resource_value(contribution->resource);
        char room[40];
        snprintf(room, sizeof(room), "%.*s", UDPAI_SHOWN(text));
        assert_int_equal(sscanf(room, "%u %u", &value->node, &value->content), 2);
    }
    return true;
}

cw_value
cw_value_of(cw_world *world, size_t group, size_t type)
{
    cw_value value = {0};
    char name[100];
    snprintf(name, sizeof(name), "%s/x", world->groups[group].name_space);
    udpai_store_visit_name(udpai_node_store(world->node), world->types[type], udpai_str_from(name),
                           take_effective, &value);
    return value;
}

bool
cw_is_settled(const cw_world *world, size_t group, size_t type)
{
    char name[100];
    const udpai_settled *settled = udpai_node_settled(world->node);
    snprintf(name, sizeof(name), "%s/x", world->groups[group].name_space);
    return is_on_demand(world, type)
               ? udpai_settled_query_name(settled, world->types[type], udpai_str_from(name),
                                          (udpai_str){0}) == UDPAI_SETTLED
               : udpai_settled_query(settled, world->types[type],
                                     udpai_str_from(world->groups[group].name_space),
                                     (udpai_str){0}) == UDPAI_SETTLED;
}

size_t
cw_n_kept(const cw_world *world, size_t group)
{
    char key[100];
    size_t n = 0;
    snprintf(key, sizeof(key), "source:a/%s", world->groups[group].name_space);
    for (size_t i = 0; i < world->kept.n; i++)
        n += udpai_str_eq(udpai_bytes_view(world->kept.items[i].origin), udpai_str_from(key));
    return n;
}
