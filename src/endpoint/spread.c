/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/spread.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/log.h"

#define LOG "replicas"

typedef struct spread {
    udpai_service service; /* first: callers hold a pointer to it */
    udpai_spread_options options;
    udpai_spread_plan plan;
    uint64_t n_rebalances; /* that were carried out */
    udpai_timer tick;
} spread;

static const udpai_service_ops ops;

static spread *
of(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, spread, service);
}

/* ---- what is known ---- */

typedef struct known {
    udpai_spread_replica replicas[UDPAI_REPLICAS_MAX];
    udpai_spread_view view;
} known;

/* One that does not state how many it has, because it is of a former release, is left out. */
static void
look(const spread *self, known *ret_known)
{
    const udpai_replica_status *status = udpai_node_replica_status(self->options.node);
    *ret_known = (known){.view = {
                             .replicas = ret_known->replicas,
                             .n_own = self->options.count(self->options.userdata),
                         }};
    if (!status)
        return;
    ret_known->view.is_current = status->state == UDPAI_REPLICATION_CURRENT;
    for (size_t i = 0; i < status->n_members; i++) {
        const udpai_replica_member *member = &status->members[i];
        if (member->has_streams || member->is_own)
            ret_known->replicas[ret_known->view.n_replicas++] = (udpai_spread_replica){
                member->n_streams,
                member->written,
                member->is_own,
            };
    }
}

udpai_spread_facts
udpai_spread_service_facts(const udpai_service *service)
{
    known now;
    if (!service)
        return (udpai_spread_facts){0};
    look(UDPAI_CONTAINER_OF(service, const spread, service), &now);
    return udpai_spread_facts_of(&now.view);
}

uint64_t
udpai_spread_service_count(const udpai_service *service)
{
    const spread *self = UDPAI_CONTAINER_OF(service, const spread, service);
    return service ? self->options.count(self->options.userdata) : 0;
}

/* ---- what is done ---- */

/* Without memory, nothing. */
static void
give(const spread *self, const udpai_spread_order *what)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_SPREAD);
    if (order && (order->announced = udpai_spread_encode(what)))
        self->options.order(self->options.userdata, order);
    else
        udpai_order_free(order);
}

static void
carry_out(spread *self, const udpai_spread_view *view, uint64_t now_ms)
{
    const udpai_replica_status *status = udpai_node_replica_status(self->options.node);
    udpai_spread_order order;
    if (!status || status->n_rebalances == self->n_rebalances)
        return;
    self->n_rebalances = status->n_rebalances;
    if (!udpai_spread_plan_rebalance(&self->plan, now_ms, view, status->over_ms, &order)) {
        udpai_log(UDPA_LOG_INFO, LOG,
                  "rebalancing: this replica has no more streams than its share: %" PRIu64,
                  view->n_own);
        return;
    }
    udpai_log(UDPA_LOG_INFO, LOG,
              "rebalancing: of %" PRIu64 " streams of clients all but %" PRIu64
              " are to go to other replicas within %g s",
              order.n_streams, order.share, (double)status->over_ms / 1000);
    give(self, &order);
}

static void
consider(spread *self, const udpai_spread_view *view, uint64_t now_ms)
{
    udpai_spread_order order;
    if (self->options.never_rejects || !udpai_spread_plan_tick(&self->plan, now_ms, view, &order))
        return;
    if (order.reject_ms)
        udpai_log(
            UDPA_LOG_INFO, LOG,
            "this replica has %" PRIu64 " streams of clients, and its share is %" PRIu64
            ": it rejects new ones for at most %g s, so that they go to others; to move more, "
            "run 'udpactl replicas rebalance'",
            order.n_streams, order.share, (double)order.reject_ms / 1000);
    give(self, &order);
}

static void
work(spread *self)
{
    known now;
    uint64_t now_ms = self->options.wheel->now_ms;
    look(self, &now);
    carry_out(self, &now.view, now_ms);
    consider(self, &now.view, now_ms);
}

/* In each turn, for what is received from others. */
static void
run(udpai_service *service)
{
    work(of(service));
}

static void
on_tick(udpai_timer *timer)
{
    spread *self = UDPAI_CONTAINER_OF(timer, spread, tick);
    udpai_timer_set(self->options.wheel, timer, self->options.wheel->now_ms + UDPAI_SPREAD_TICK_MS);
    self->options.set_streams(self->options.userdata, self->options.count(self->options.userdata));
}

static void
on_event(udpai_service *service, const udpai_service_event *event)
{
    spread *self = of(service);
    if (event->kind == UDPAI_SERVICE_STARTED)
        udpai_timer_set(self->options.wheel, &self->tick, self->options.wheel->now_ms);
}

/* ---- what is asked for ---- */

static void
put_plan(udpai_strbuf *text, const spread *self, const known *now, uint64_t share)
{
    const udpai_replica_status *status = udpai_node_replica_status(self->options.node);
    for (size_t i = 0; i < status->n_members; i++) {
        const udpai_replica_member *member = &status->members[i];
        uint64_t n = member->is_own ? now->view.n_own : member->n_streams;
        if (member->has_streams || member->is_own)
            udpai_strbuf_printf(text, "%.*s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                                UDPAI_SHOWN(udpai_bytes_view(member->id)), n, share,
                                n > share ? n - share : 0);
    }
}

udpa_err
udpai_spread_service_rebalance(udpai_service *service,
                               uint64_t over_ms,
                               udpai_strbuf *text,
                               udpa_error **ret_error)
{
    if (!service)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "this node has no replicas: its store has not engine ETCD");
    spread *self = of(service);
    known now;
    look(self, &now);
    const udpai_spread_facts facts = udpai_spread_facts_of(&now.view);
    if (!now.view.is_current)
        return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE,
                          "this replica is not current with etcd, and does not know how many "
                          "streams the others have: try again later");
    if (facts.n_replicas < 2)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "there is one replica only: streams have nowhere else to go");
    put_plan(text, self, &now, facts.share);
    self->options.rebalance(self->options.userdata, over_ms);
    return UDPA_OK;
}

/* ---- its life ---- */

udpa_err
udpai_spread_service_new(udpai_service **ret_service, const udpai_spread_options *options)
{
    spread *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->service.ops = &ops;
    self->options = *options;
    udpai_timer_init(&self->tick, on_tick);
    *ret_service = &self->service;
    return UDPA_OK;
}

static void
end(udpai_service *service)
{
    udpai_timer_cancel(&of(service)->tick);
}

static void
free_spread(udpai_service *service)
{
    end(service);
    udpai_free(of(service));
}

static const udpai_service_ops ops = {
    .on_event = on_event,
    .run = run,
    .end = end,
    .free = free_spread,
};
