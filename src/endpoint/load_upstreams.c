/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/load_upstreams.h"

#include "base/alloc.h"
#include "base/log.h"
#include "model/client_type.h"
#include "reports/load_stats.h"

/* What a server subscribes to goes on being counted for so long, if it is lost: it may come back.
 */
#define PATIENCE_MS 60000
/* A server that has no LRS gets it with its next version, if ever. */
#define UNIMPLEMENTED_RETRY_MS 300000

typedef struct udpai_load_upstreams udpai_load_upstreams;
typedef struct server server;

/* Aggregates below a prefix that a server subscribes to. */
typedef struct load_subscription {
    server *of;
    udpai_local_subscription *subscription;
    udpai_list node;
} load_subscription;

struct server {
    udpai_load_upstreams *owner;
    udpai_load_upstream_config config;
    uint64_t link;    /* 0: it is not dialled */
    uint64_t session; /* 0: there is no stream, or it has not subscribed yet */
    unsigned n_failures;
    udpai_timer retry, patience;
    udpai_list subscriptions;
};

struct udpai_load_upstreams {
    udpai_service service;
    udpai_load_upstreams_options options;
    size_t n;
    uint64_t last_link;
    udpai_log_limit log;
    bool is_leaving; /* nothing is reported any more */
    server servers[];
};

/* ---- dialling ---- */

static uint64_t
wait_ms(const server *one, const udpa_error *error)
{
    const udpai_load_upstreams_options *options = &one->owner->options;
    uint64_t wait = options->backoff_base_ms;
    for (unsigned i = 1; i < one->n_failures && wait < options->backoff_max_ms; i++)
        wait *= 2;
    if (wait > options->backoff_max_ms)
        wait = options->backoff_max_ms;
    if (error && udpa_error_code(error) == UDPA_ERR_UNIMPLEMENTED)
        wait = UNIMPLEMENTED_RETRY_MS;
    return wait / 2 + options->random(options->userdata) % (wait / 2 + 1);
}

static void
fail(server *one, const udpa_error *error)
{
    udpai_load_upstreams *self = one->owner;
    udpai_wheel *wheel = self->options.wheel;
    unsigned n_suppressed;
    one->n_failures++;
    if (udpai_log_allow(&self->log, wheel->now_ms, &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "load",
                  "source %.*s: load cannot be reported: %s (%u more not shown)",
                  UDPAI_SHOWN(one->config.source),
                  error ? udpa_error_message(error) : "it has ended the stream", n_suppressed);
    udpai_timer_set(wheel, &one->retry, wheel->now_ms + wait_ms(one, error));
}

/* Without memory it is tried again. */
static void
dial(server *one)
{
    udpai_load_upstreams *self = one->owner;
    udpai_order *order = udpai_order_new(UDPAI_ORDER_DIAL);
    if (!order) {
        fail(one, NULL);
        return;
    }
    order->target = one->config.ref_target(one->config.target);
    order->release_target = one->config.release_target;
    order->link = one->link = ++self->last_link;
    self->options.order(self->options.userdata, order);
}

static void
on_retry(udpai_timer *timer)
{
    dial(UDPAI_CONTAINER_OF(timer, server, retry));
}

/* ---- what it is sent ---- */

static udpa_err
add_change(udpai_publication *publication, const udpai_local_change *change)
{
    return change->is_removed
               ? udpai_publication_remove(publication, udpai_resource_name(change->resource))
               : udpai_publication_add(publication, change->resource, false);
}

/* The sums of this node alone: those of nodes below are in them. */
static udpai_publication *
pick_own(const server *one, udpai_local_update *update)
{
    UDPA_AUTO(udpai_publication_free) udpai_publication *picked = udpai_publication_new();
    for (size_t i = 0; picked && i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        udpai_str name = udpai_resource_name(change->resource);
        if (udpai_client_name_check(name, one->owner->options.node_id, NULL) == UDPA_OK &&
            add_change(picked, change) != UDPA_OK)
            return NULL;
    }
    return UDPAI_TAKE(picked);
}

/* Counts are cumulative: what there is no memory for comes with the next sum. */
static void
on_update(void *userdata, udpai_local_update *update)
{
    server *one = ((load_subscription *)userdata)->of;
    udpai_publication *picked = one->session ? pick_own(one, update) : NULL;
    bool any = picked && picked->entries.n + picked->removals.n;
    udpai_order *order = any ? udpai_order_new(UDPAI_ORDER_PUBLISH) : NULL;
    if (!order) {
        udpai_publication_free(picked);
        return;
    }
    order->session = one->session;
    order->publication = picked;
    one->owner->options.order(one->owner->options.userdata, order);
}

/* ---- its subscriptions ---- */

static void
end_subscriptions(server *one, udpai_list *subscriptions)
{
    UDPAI_LIST_FOREACH_SAFE (at, subscriptions) {
        load_subscription *each = UDPAI_LIST_ENTRY(at, load_subscription, node);
        udpai_list_remove(&each->node);
        udpai_node_unsubscribe(one->owner->options.node, each->subscription);
        udpai_free(each);
    }
}

static void
on_patience_end(udpai_timer *timer)
{
    server *one = UDPAI_CONTAINER_OF(timer, server, patience);
    end_subscriptions(one, &one->subscriptions);
}

static udpa_err
add_subscription(server *one, udpai_str prefix)
{
    load_subscription *made = udpai_alloc(sizeof(*made));
    if (!made)
        return UDPA_ERR_NOMEM;
    const udpai_local_ops ops = {.update = on_update, .userdata = made};
    const udpai_selection selection = {.type_url = UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD),
                                       .prefix = prefix};
    made->of = one;
    udpai_list_init(&made->node);
    udpa_err err =
        udpai_node_subscribe(one->owner->options.node, &selection, &ops, &made->subscription);
    if (err != UDPA_OK) {
        udpai_free(made);
        return err;
    }
    udpai_list_append(&one->subscriptions, &made->node);
    return UDPA_OK;
}

static void
hang_up(server *one, udpa_error *why)
{
    udpai_order *order = one->link ? udpai_order_new(UDPAI_ORDER_HANG_UP) : NULL;
    if (!order) { /* what it subscribes to is not sent until its stream ends */
        udpa_error_unref(why);
        return;
    }
    order->session = one->session;
    order->link = one->link;
    order->error = why;
    one->owner->options.order(one->owner->options.userdata, order);
}

/* Everything is subscribed to anew, so that all comes that there is; the subscriptions of before
 * are given up behind that, so to clients nothing ends. */
static void
take_subscriptions(server *one, const udpai_report *report)
{
    const udpai_subscription_message *message = report->subscription;
    udpai_list before;
    udpa_err err = UDPA_OK;
    udpai_list_init(&before);
    UDPAI_LIST_FOREACH_SAFE (at, &one->subscriptions) {
        udpai_list_remove(at);
        udpai_list_append(&before, at);
    }
    one->session = report->session;
    one->n_failures = 0;
    udpai_timer_cancel(&one->patience);
    for (size_t i = 0; i < message->n_names && err == UDPA_OK; i++)
        err = add_subscription(one, message->names[i]);
    end_subscriptions(one, &before);
    if (err == UDPA_OK)
        return;
    hang_up(one, udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
}

static void
take_end(server *one, const udpa_error *error)
{
    udpai_wheel *wheel = one->owner->options.wheel;
    if (one->session)
        udpai_timer_set(wheel, &one->patience, wheel->now_ms + PATIENCE_MS);
    one->link = one->session = 0;
    if (!one->owner->is_leaving)
        fail(one, error);
}

static server *
find(udpai_load_upstreams *self, uint64_t link)
{
    for (size_t i = 0; i < self->n; i++)
        if (self->servers[i].link == link)
            return &self->servers[i];
    return NULL;
}

static udpai_load_upstreams *
of_service(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, udpai_load_upstreams, service);
}

static bool
on_report(udpai_service *service, udpai_report *report)
{
    if (report->link < UDPAI_LOAD_LINKS)
        return false;
    server *one = find(of_service(service), report->link);
    if (one && report->kind == UDPAI_REPORT_DEMAND)
        take_subscriptions(one, report);
    else if (one && report->kind == UDPAI_REPORT_CLOSED)
        take_end(one, report->error);
    udpai_report_free(report);
    return true;
}

static void
set_leaving(udpai_load_upstreams *self, bool is_leaving)
{
    self->is_leaving = is_leaving;
    for (size_t i = 0; i < self->n; i++) {
        server *one = &self->servers[i];
        udpai_timer_cancel(&one->retry);
        end_subscriptions(one, &one->subscriptions);
        if (is_leaving)
            hang_up(one, NULL);
        else if (!one->link)
            dial(one);
    }
}

static void
on_event(udpai_service *service, const udpai_service_event *event)
{
    udpai_load_upstreams *self = of_service(service);
    for (size_t i = 0; event->kind == UDPAI_SERVICE_STARTED && i < self->n; i++)
        dial(&self->servers[i]);
    if (event->kind == UDPAI_SERVICE_LEAVING)
        set_leaving(self, event->is_leaving);
}

/* ---- coming and going ---- */

static void
free_upstreams(udpai_service *service)
{
    udpai_load_upstreams *self = of_service(service);
    for (size_t i = 0; i < self->n; i++) {
        server *one = &self->servers[i];
        udpai_timer_cancel(&one->retry);
        udpai_timer_cancel(&one->patience);
        end_subscriptions(one, &one->subscriptions);
        one->config.release_target(one->config.target);
    }
    udpai_free(self);
}

udpa_err
udpai_load_upstreams_new(udpai_service **ret_upstreams, const udpai_load_upstreams_options *options)
{
    static const udpai_service_ops ops = {
        .on_report = on_report,
        .on_event = on_event,
        .free = free_upstreams,
    };
    if (options->n_servers == 0)
        return UDPA_OK;
    udpai_load_upstreams *self =
        udpai_alloc(sizeof(*self) + options->n_servers * sizeof(self->servers[0]));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->service.ops = &ops;
    self->options = *options;
    self->n = options->n_servers;
    self->last_link = UDPAI_LOAD_LINKS;
    for (size_t i = 0; i < self->n; i++) {
        server *one = &self->servers[i];
        one->owner = self;
        one->config = options->servers[i];
        one->config.target = one->config.ref_target(one->config.target);
        udpai_timer_init(&one->retry, on_retry);
        udpai_timer_init(&one->patience, on_patience_end);
        udpai_list_init(&one->subscriptions);
    }
    *ret_upstreams = &self->service;
    return UDPA_OK;
}
