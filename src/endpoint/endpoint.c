/* SPDX-License-Identifier: Apache-2.0 */
/* Puts an endpoint together, and hands its node what it asks of its surroundings. */
#include <sys/random.h>

#include "base/alloc.h"
#include "endpoint/endpoint_internal.h"
#include "endpoint/load_aggregates.h"
#include "endpoint/note.h"
#include "endpoint/propagation.h"
#include "endpoint/reporting.h"
#include "loop/clock.h"

/* ---- what the node asks of its surroundings ---- */

static void
order(void *userdata, udpai_order *order)
{
    udpa_endpoint *endpoint = userdata;
    if (order->kind == UDPAI_ORDER_CHANGES) {
        udpai_services_notify(
            &endpoint->services,
            &(udpai_service_event){.kind = UDPAI_SERVICE_CHANGES, .changes = order->changes});
        udpai_propagation_mark(endpoint->services.at[UDPAI_PLACE_PROPAGATION], order);
    }
    udpai_endpoint_order(endpoint, order);
}

static void
commit(void *userdata, udpai_durable_batch *batch, uint64_t ticket)
{
    const udpa_endpoint *endpoint = userdata;
    udpai_durable_engine *engine = endpoint->engine;
    batch->begun_ns = udpai_monotonic_ns();
    if (endpoint->tap.begun)
        endpoint->tap.begun(endpoint->tap.userdata, batch, ticket);
    engine->ops->commit(engine, batch, ticket);
}

static void
propose(void *userdata, udpai_durable_batch *batch, uint64_t ticket)
{
    udpa_endpoint *endpoint = userdata;
    const udpai_proposed proposed = {ticket, udpai_monotonic_ns()};
    (void)udpai_vector_push(&endpoint->proposed, proposed); /* without memory it is not timed */
    endpoint->replication->ops->propose(endpoint->replication, batch, ticket);
}

static void
barrier(void *userdata, uint64_t ticket)
{
    udpai_replication *replication = ((udpa_endpoint *)userdata)->replication;
    replication->ops->barrier(replication, ticket);
}

static void
list_again(void *userdata)
{
    udpai_replication *replication = ((udpa_endpoint *)userdata)->replication;
    replication->ops->list_again(replication);
}

static void
hold(void *userdata, udpai_holdings *holdings)
{
    udpai_replication *replication = ((udpa_endpoint *)userdata)->replication;
    replication->ops->hold(replication, holdings);
}

static void
set_files(void *userdata, udpai_str files)
{
    udpai_replication *replication = ((udpa_endpoint *)userdata)->replication;
    if (replication && replication->ops->set_files)
        replication->ops->set_files(replication, files);
}

static int64_t
wall_us(void *userdata)
{
    (void)userdata;
    return udpai_wall_us();
}

static uint64_t
random_number(void *userdata)
{
    return udpai_endpoint_random(userdata);
}

static void
published(void *userdata,
          uint64_t ticket,
          const udpai_publication *publication,
          const udpa_error *error)
{
    udpai_services_notify(&((const udpa_endpoint *)userdata)->services,
                          &(udpai_service_event){.kind = UDPAI_SERVICE_RECEIPT,
                                                 .ticket = ticket,
                                                 .publication = publication,
                                                 .error = error});
}

static void
demand_changed(void *userdata, udpai_str type_url, udpai_str text, bool is_subscribed)
{
    udpai_services_notify(&((const udpa_endpoint *)userdata)->services,
                          &(udpai_service_event){.kind = UDPAI_SERVICE_DEMAND,
                                                 .type_url = type_url,
                                                 .text = text,
                                                 .is_subscribed = is_subscribed});
}

static void
audience_moved(void *userdata)
{
    udpai_services_notify(&((const udpa_endpoint *)userdata)->services,
                          &(udpai_service_event){.kind = UDPAI_SERVICE_AUDIENCE});
}

static void
note(void *userdata, const udpai_node_event *event)
{
    udpai_endpoint_note(userdata, event);
}

/* ---- making ---- */

static udpa_err
make_node(udpa_endpoint *endpoint, const udpai_endpoint_settings *settings, udpa_error **ret_error)
{
    const udpai_node_env env = {
        .order = order,
        .commit = settings->node.is_durable ? commit : NULL,
        .propose = settings->has_replicas ? propose : NULL,
        .barrier = settings->has_replicas ? barrier : NULL,
        .list_again = settings->has_replicas ? list_again : NULL,
        .hold = settings->has_replicas ? hold : NULL,
        .set_files = settings->has_replicas ? set_files : NULL,
        .wall_us = wall_us,
        .random = random_number,
        .published = published,
        .demand_changed = demand_changed,
        .subject_of = udpai_report_subject_of,
        .audience_moved = audience_moved,
        .note = note,
        .userdata = endpoint,
    };
    return udpai_node_new(&endpoint->node, udpai_loop_wheel_get(endpoint->wheel), &settings->node,
                          &env, ret_error);
}

udpa_err
udpai_endpoint_new(udpa_endpoint **ret_endpoint,
                   uv_loop_t *loop,
                   const udpai_endpoint_settings *settings,
                   udpa_error **ret_error)
{
    udpa_endpoint *endpoint = udpai_alloc(sizeof(*endpoint));
    if (!endpoint)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    endpoint->loop = loop;
    if (getrandom(&endpoint->random, sizeof(endpoint->random), GRND_NONBLOCK) < 0)
        endpoint->random = (uint64_t)udpai_wall_us();
    udpa_err err = udpai_endpoint_turn_init(endpoint, ret_error);
    if (err == UDPA_OK)
        err = udpai_endpoint_notes_init(endpoint, settings);
    if (err == UDPA_OK)
        err = make_node(endpoint, settings, ret_error);
    if (err == UDPA_OK)
        err = udpai_endpoint_make_services(endpoint, settings);
    if (err == UDPA_OK)
        err = udpai_endpoint_turn_streams(endpoint, settings, ret_error);
    if (err != UDPA_OK) {
        udpai_endpoint_tear_down(endpoint);
        return udpai_fail_code(ret_error, err);
    }
    *ret_endpoint = endpoint;
    return UDPA_OK;
}

/* ---- beginning ---- */

udpa_err
udpai_endpoint_keep_load(udpa_endpoint *endpoint, const char *path, udpai_str owner)
{
    udpai_service *aggregates = udpai_endpoint_service(endpoint, UDPAI_PLACE_LOAD_AGGREGATES);
    return aggregates ? udpai_load_aggregates_keep(aggregates, path, owner) : UDPA_OK;
}

static udpa_err
restore(void *userdata, const udpai_durable_op *op)
{
    return udpai_node_restore(((udpa_endpoint *)userdata)->node, op);
}

udpa_err
udpai_endpoint_attach(udpa_endpoint *endpoint, udpai_durable_engine *engine, udpa_error **ret_error)
{
    engine->done = udpai_endpoint_committed;
    engine->userdata = endpoint;
    endpoint->engine = engine;
    udpai_loop_wheel_advance(endpoint->wheel);
    return engine->ops->load(engine, restore, endpoint, ret_error);
}

udpa_err
udpai_endpoint_replicate(udpa_endpoint *endpoint, udpai_replication *replication)
{
    replication->report = udpai_endpoint_replicated;
    replication->userdata = endpoint;
    endpoint->replication = replication;
    return replication->ops->start(replication, udpai_node_position(endpoint->node),
                                   udpai_node_position_proof(endpoint->node));
}

/* Whether it has a place it knows soon after etcd was read, or etcd does not answer any more. */
bool
udpai_endpoint_is_replicated(const udpa_endpoint *endpoint)
{
    const udpai_replica_status *status = udpai_node_replica_status(endpoint->node);
    return !status ||
           (udpai_node_position(endpoint->node).cluster_id &&
            (status->membership == UDPAI_MEMBERSHIP_JOINED ||
             status->state == UDPAI_REPLICATION_BEHIND || status->state == UDPAI_REPLICATION_HELD));
}

void
udpai_endpoint_assume_position(udpa_endpoint *endpoint)
{
    udpai_node_assume_position(endpoint->node);
}

bool
udpai_endpoint_has_position(const udpa_endpoint *endpoint)
{
    return udpai_node_position(endpoint->node).cluster_id != 0;
}

bool
udpai_endpoint_has_listed(const udpa_endpoint *endpoint)
{
    const udpai_replica_status *status = udpai_node_replica_status(endpoint->node);
    return !status || status->has_listed;
}

udpai_membership
udpai_endpoint_membership(const udpa_endpoint *endpoint)
{
    const udpai_replica_status *status = udpai_node_replica_status(endpoint->node);
    return status ? status->membership : UDPAI_MEMBERSHIP_JOINED;
}

udpa_err
udpai_endpoint_answer_hold(udpa_endpoint *endpoint,
                           udpai_hold_answer answer,
                           udpa_error **ret_error)
{
    const udpai_replica_status *status = udpai_node_replica_status(endpoint->node);
    udpai_replication *replication = endpoint->replication;
    if (!status || !replication)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "this node has no replicas: its store is no etcd");
    if (status->state != UDPAI_REPLICATION_HELD)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "this replica does not hold, so there is nothing to decide: udpactl "
                          "store status shows its state");
    return udpai_fail_code(ret_error, replication->ops->answer_hold(replication, answer));
}

void
udpai_endpoint_start(udpa_endpoint *endpoint)
{
    udpai_node_start(endpoint->node);
    udpai_services_notify(&endpoint->services,
                          &(udpai_service_event){.kind = UDPAI_SERVICE_STARTED});
    udpai_endpoint_turn_start(endpoint);
}

/* ---- while it runs ---- */

udpa_err
udpai_endpoint_set_acl(udpa_endpoint *endpoint, udpai_acl *acl)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACL);
    if (!order)
        return UDPA_ERR_NOMEM;
    order->acl = udpai_acl_ref(acl);
    udpai_endpoint_order(endpoint, order);
    udpai_node_set_acl(endpoint->node, acl);
    udpai_services_notify(&endpoint->services,
                          &(udpai_service_event){.kind = UDPAI_SERVICE_ACL, .acl = acl});
    udpai_endpoint_touch(endpoint);
    return UDPA_OK;
}

void
udpai_endpoint_set_keyring(udpa_endpoint *endpoint, udpai_keyring *keyring)
{
    udpai_loop_wheel_advance(endpoint->wheel);
    udpai_node_set_keyring(endpoint->node, keyring);
    udpai_endpoint_touch(endpoint);
}

udpa_err
udpai_endpoint_drain(udpa_endpoint *endpoint, uint64_t over_ms)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_DRAIN);
    if (!order)
        return UDPA_ERR_NOMEM;
    order->ticket = over_ms;
    udpai_endpoint_order(endpoint, order);
    return UDPA_OK;
}

/* ---- another process takes its place (docs/design/restart.md) ---- */

void
udpai_endpoint_tap_commits(udpa_endpoint *endpoint, const udpai_commit_tap *tap)
{
    endpoint->tap = tap ? *tap : (udpai_commit_tap){0};
}

udpa_err
udpai_endpoint_follow(udpa_endpoint *endpoint, const udpai_durable_op *op)
{
    udpai_loop_wheel_advance(endpoint->wheel);
    udpa_err err = udpai_node_follow(endpoint->node, op);
    udpai_endpoint_touch(endpoint);
    return err;
}

udpa_err
udpai_endpoint_leave_peers(udpa_endpoint *endpoint, bool leaves)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_LEAVE);
    if (!order)
        return UDPA_ERR_NOMEM;
    order->ticket = leaves;
    endpoint->is_leaving = leaves;
    udpai_endpoint_order(endpoint, order);
    return UDPA_OK;
}

void
udpai_endpoint_leave_sources(udpa_endpoint *endpoint, bool leaves)
{
    udpai_loop_wheel_advance(endpoint->wheel);
    udpai_node_set_silent(endpoint->node, leaves);
    udpai_services_notify(&endpoint->services, &(udpai_service_event){.kind = UDPAI_SERVICE_LEAVING,
                                                                      .is_leaving = leaves});
    udpai_endpoint_touch(endpoint);
}

bool
udpai_endpoint_hand_on(udpa_endpoint *endpoint)
{
    bool any = endpoint && !endpoint->is_closing && udpai_services_flush(&endpoint->services);
    if (any)
        udpai_endpoint_touch(endpoint);
    return any;
}
