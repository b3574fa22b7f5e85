/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/orca_collector.h"
#include "federation/reporting.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "federation/allowlist.h"
#include "model/name.h"
#include "xds/orca_collection.h"

/* A server that has no ORCA gets it with its next version, if ever. */
#define UNIMPLEMENTED_RETRY_MS 300000

typedef struct collection collection;

/* One that is, or may be, asked. */
typedef struct backend {
    collection *of;
    udpa_bytes *name;    /* of its reports */
    uint64_t link;       /* 0: it is not dialled */
    uint64_t session;    /* 0: there is no stream */
    size_t n_subscribed; /* by so many */
    unsigned n_failures;
    bool is_reported;
    udpai_timer retry;
    udpai_orca_backend what;
    char text[]; /* of its address */
} backend;

/* The contents of a resource. */
struct collection {
    struct udpai_orca_collector *owner;
    udpa_bytes *cluster, *credential;
    UDPAI_VECTOR(backend *) backends; /* sorted by address and port */
};

/* What is subscribed to: a name, or '*' and a prefix. */
typedef struct orca_subscription {
    uint32_t len;
    char text[];
} orca_subscription;

typedef struct udpai_orca_collector {
    udpai_service service;
    udpai_orca_collector_options options;
    udpai_allowlist allowlist;
    udpai_local_subscription *subscription;
    udpai_map collections; /* by cluster */
    udpai_map subscriptions;
    udpai_map links; /* backends that are dialled */
    size_t n_backends;
    uint64_t last_link;
    udpai_arena arena;
    udpai_log_limit log, rejected_log;
} udpai_orca_collector;

static udpai_orca_collector *
of_service(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, udpai_orca_collector, service);
}

static udpai_str
collection_key(const void *item)
{
    return udpai_bytes_view(((const collection *)item)->cluster);
}

static udpai_str
subscription_key(const void *item)
{
    const orca_subscription *one = item;
    return (udpai_str){one->text, one->len};
}

static udpai_str
link_key(const void *item)
{
    const backend *one = item;
    return (udpai_str){(const char *)&one->link, sizeof(one->link)};
}

/* ---- logging ---- */

static void
log_rejected(udpai_orca_collector *self, const udpa_resource *resource, const udpa_error *error)
{
    char more[UDPAI_LOG_MORE_MAX];
    unsigned n_suppressed;
    if (udpai_log_allow(&self->rejected_log, self->options.wheel->now_ms, &n_suppressed))
        udpai_log_about(UDPA_LOG_WARNING, "load",
                        UDPAI_ABOUT({UDPAI_LOG_TYPE, udpai_resource_type_url(resource)},
                                    {UDPAI_LOG_NAME, udpai_resource_name(resource)},
                                    {UDPAI_LOG_CODE, udpai_log_code(error)}),
                        "rejected: %s%s", error ? udpa_error_message(error) : "out of memory",
                        udpai_log_more(more, n_suppressed));
}

static void
log_failure(udpai_orca_collector *self, const backend *one, const udpa_error *error)
{
    unsigned n_suppressed;
    if (udpai_log_allow(&self->log, self->options.wheel->now_ms, &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "load",
                  "backend '%.*s' does not report its load: %s (%u more not shown)",
                  UDPAI_SHOWN(udpai_bytes_view(one->name)),
                  error ? udpa_error_message(error) : "it has ended the stream", n_suppressed);
}

/* ---- dialling ---- */

static uint64_t
wait_ms(const udpai_orca_collector *self, const backend *one, const udpa_error *error)
{
    const udpai_orca_collector_options *options = &self->options;
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
fail(backend *one, const udpa_error *error)
{
    udpai_orca_collector *self = one->of->owner;
    one->n_failures++;
    log_failure(self, one, error);
    udpai_timer_set(self->options.wheel, &one->retry,
                    self->options.wheel->now_ms + wait_ms(self, one, error));
}

static udpa_err
dial(backend *one, udpa_error **ret_error)
{
    udpai_orca_collector *self = one->of->owner;
    const udpai_orca_reach *reach = &self->options.rules.reach;
    UDPA_AUTO(udpai_order_free) udpai_order *order = udpai_order_new(UDPAI_ORDER_DIAL);
    if (!order)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err =
        reach->make_target(reach->userdata, &one->what, udpai_bytes_view(one->of->credential),
                           &order->target, ret_error);
    if (err != UDPA_OK)
        return err;
    order->release_target = reach->release_target;
    one->link = ++self->last_link;
    if (!udpai_map_add(&self->links, one)) {
        one->link = 0;
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    order->link = one->link;
    self->options.order(self->options.userdata, UDPAI_TAKE(order));
    return UDPA_OK;
}

static void
try_dial(backend *one)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (dial(one, &error) != UDPA_OK)
        fail(one, error);
}

static void
on_retry(udpai_timer *timer)
{
    try_dial(UDPAI_CONTAINER_OF(timer, backend, retry));
}

/* Later reports of the link are ignored. */
static void
forget_link(backend *one)
{
    udpai_map_remove(&one->of->owner->links, link_key(one));
    one->link = one->session = 0;
}

static void
hang_up(backend *one)
{
    const udpai_orca_collector_options *options = &one->of->owner->options;
    udpai_order *order = one->link ? udpai_order_new(UDPAI_ORDER_HANG_UP) : NULL;
    if (order) { /* else the stream goes on, and its reports are ignored */
        order->link = one->link;
        order->session = one->session;
        order->error =
            udpa_error_new(UDPA_ERR_CANCELLED, NULL, "no subscription needs it any more");
        options->order(options->userdata, order);
    }
    if (one->link)
        forget_link(one);
    udpai_timer_cancel(&one->retry);
    one->n_failures = 0;
    if (one->is_reported)
        udpai_node_withdraw_own_report(options->node, UDPAI_STR(UDPAI_TYPE_ORCA_REPORT),
                                       udpai_bytes_view(one->name));
    one->is_reported = false;
}

/* ---- demand ---- */

static bool
covers(udpai_str text, udpai_str name)
{
    return text.len && text.data[0] == '*'
               ? udpai_prefix_covers((udpai_str){text.data + 1, text.len - 1}, name)
               : udpai_str_eq(text, name);
}

static void
count(backend *one, bool subscribed)
{
    one->n_subscribed += subscribed ? 1 : (size_t)-1;
    if (subscribed && one->n_subscribed == 1)
        try_dial(one);
    else if (one->n_subscribed == 0)
        hang_up(one);
}

static void
count_all(udpai_orca_collector *self, udpai_str text, bool subscribed)
{
    size_t at = 0;
    const collection *each;
    while ((each = udpai_map_next(&self->collections, &at)))
        for (size_t i = 0; i < each->backends.n; i++)
            if (covers(text, udpai_bytes_view(each->backends.items[i]->name)))
                count(each->backends.items[i], subscribed);
}

static bool
add_subscription(udpai_orca_collector *self, udpai_str text)
{
    orca_subscription *one =
        udpai_map_get(&self->subscriptions, text) ? NULL : udpai_alloc(sizeof(*one) + text.len);
    if (!one)
        return false;
    one->len = (uint32_t)text.len;
    if (text.len)
        memcpy(one->text, text.data, text.len);
    if (udpai_map_add(&self->subscriptions, one))
        return true;
    udpai_free(one);
    return false;
}

static void
on_event(udpai_service *service, const udpai_service_event *event)
{
    udpai_orca_collector *self = of_service(service);
    if (event->kind != UDPAI_SERVICE_DEMAND ||
        !udpai_str_eq(event->type_url, UDPAI_STR(UDPAI_TYPE_ORCA_REPORT)))
        return;
    if (event->is_subscribed) {
        if (add_subscription(self, event->text))
            count_all(self, event->text, true);
        return;
    }
    orca_subscription *one = udpai_map_remove(&self->subscriptions, event->text);
    if (one) /* else there was no memory to note it */
        count_all(self, event->text, false);
    udpai_free(one);
}

/* ---- what comes ---- */

static void
take_report(backend *one, const udpai_publication *publication)
{
    udpai_node *node = one->of->owner->options.node;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    one->n_failures = 0;
    if (publication->entries.n == 0)
        return;
    if (udpai_node_report_own(node, publication->entries.items[0].resource, &error) == UDPA_OK)
        one->is_reported = true;
    else
        log_failure(one->of->owner, one, error);
}

static void
take(backend *one, const udpai_report *report)
{
    if (report->kind == UDPAI_REPORT_OPENED) {
        one->session = report->session;
    } else if (report->kind == UDPAI_REPORT_PUBLICATION) {
        take_report(one, report->publication);
    } else if (report->kind == UDPAI_REPORT_CLOSED) {
        forget_link(one);
        fail(one, report->error);
    }
}

static bool
on_report(udpai_service *service, udpai_report *report)
{
    const udpai_orca_collector *self = of_service(service);
    if (report->link < UDPAI_ORCA_LINKS)
        return false;
    backend *one =
        udpai_map_get(&self->links, (udpai_str){(const char *)&report->link, sizeof(report->link)});
    if (one)
        take(one, report);
    udpai_report_free(report);
    return true;
}

/* ---- collections ---- */

static void
free_backend(backend *one)
{
    udpai_timer_cancel(&one->retry);
    udpa_bytes_unref(one->name);
    udpai_free(one);
}

static void
end_backend(backend *one)
{
    one->of->owner->n_backends--;
    hang_up(one);
    free_backend(one);
}

static void
free_collection(collection *each)
{
    udpai_vector_done(&each->backends);
    udpa_bytes_unref(each->cluster);
    udpa_bytes_unref(each->credential);
    udpai_free(each);
}

/* With its backends, which are not in use yet. */
static void
discard(collection *each)
{
    for (size_t i = 0; i < each->backends.n; i++)
        free_backend(each->backends.items[i]);
    free_collection(each);
}

static void
end_collection(collection *each)
{
    udpai_map_remove(&each->owner->collections, collection_key(each));
    for (size_t i = 0; i < each->backends.n; i++)
        end_backend(each->backends.items[i]);
    free_collection(each);
}

static backend *
make_backend(collection *of, const udpai_orca_backend *what)
{
    backend *one = udpai_alloc(sizeof(*one) + what->address.len);
    char *at = one ? one->text : NULL;
    if (!one)
        return NULL;
    one->of = of;
    one->what = *what;
    one->what.cluster = udpai_bytes_view(of->cluster);
    one->what.address = udpai_str_put(&at, what->address);
    one->name = udpai_orca_report_name(&one->what);
    udpai_timer_init(&one->retry, on_retry);
    if (one->name)
        return one;
    free_backend(one);
    return NULL;
}

static collection *
make_collection(udpai_orca_collector *self,
                const udpa_resource *resource,
                const udpai_orca_collection *from)
{
    collection *made = udpai_alloc(sizeof(*made));
    udpai_str cluster = udpai_resource_name(resource);
    if (!made)
        return NULL;
    made->owner = self;
    bool is_whole =
        udpa_bytes_new(&made->cluster, cluster.data, cluster.len) == UDPA_OK &&
        udpa_bytes_new(&made->credential, from->credential.data, from->credential.len) == UDPA_OK &&
        udpai_vector_reserve(&made->backends, from->n_backends);
    for (size_t i = 0; i < from->n_backends && is_whole; i++) {
        backend *one = make_backend(made, &from->backends[i]);
        is_whole = one != NULL;
        if (one)
            made->backends.items[made->backends.n++] = one;
    }
    if (is_whole)
        return made;
    discard(made);
    return NULL;
}

static int
compare(const backend *a, const backend *b)
{
    int order = udpai_str_cmp(a->what.address, b->what.address);
    return order ? order : (a->what.port > b->what.port) - (a->what.port < b->what.port);
}

/* Both are sorted. What is the same in both goes on, and is the new one's then. */
static void
carry_over(collection *from, collection *to)
{
    size_t n_left = 0;
    bool is_same =
        udpai_str_eq(udpai_bytes_view(from->credential), udpai_bytes_view(to->credential));
    for (size_t i = 0, k = 0; i < from->backends.n; i++) {
        backend *old = from->backends.items[i], **new = to->backends.items;
        while (k < to->backends.n && compare(new[k], old) < 0)
            k++;
        if (!is_same || k == to->backends.n || compare(new[k], old) != 0 ||
            new[k]->what.interval_ms != old->what.interval_ms) {
            from->backends.items[n_left++] = old;
            continue;
        }
        free_backend(new[k]);
        new[k] = old;
        old->of = to;
        old->what.cluster = udpai_bytes_view(to->cluster);
    }
    from->backends.n = n_left;
}

static void
count_new(backend *one)
{
    udpai_orca_collector *self = one->of->owner;
    size_t at = 0;
    const orca_subscription *each;
    while ((each = udpai_map_next(&self->subscriptions, &at)))
        if (covers(subscription_key(each), udpai_bytes_view(one->name)))
            count(one, true);
}

/* In the place of what was there before; NULL: nothing was. */
static void
begin_collection(udpai_orca_collector *self, collection *made, collection *old)
{
    self->n_backends += made->backends.n;
    if (old) {
        size_t n = old->backends.n;
        carry_over(old, made);
        self->n_backends -= n - old->backends.n; /* those that were counted twice */
        for (size_t i = 0; i < old->backends.n; i++)
            end_backend(old->backends.items[i]);
        free_collection(old);
    }
    for (size_t i = 0; i < made->backends.n; i++)
        if (made->backends.items[i]->n_subscribed == 0)
            count_new(made->backends.items[i]);
}

/* ---- resources ---- */

static udpa_err
check_rules(const udpai_orca_collector *self, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_str authority = udpai_resource_authority(resource), name = udpai_resource_name(resource);
    if (!udpai_allowlist_has(&self->allowlist, authority))
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "the OrcaCollection '%.*s' is of '%.*s', from which this node takes "
                          "none: it is not among its orca_collections.authorities",
                          UDPAI_SHOWN(name), UDPAI_SHOWN(authority));
    if (!udpai_allowlist_covers(&self->allowlist, name))
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "the OrcaCollection '%.*s' lies outside orca_collections.namespaces",
                          UDPAI_SHOWN(name));
    return UDPA_OK;
}

static udpa_err
check_room(const udpai_orca_collector *self,
           udpai_str cluster,
           size_t n_backends,
           udpa_error **ret_error)
{
    const collection *old = udpai_map_get(&self->collections, cluster);
    size_t n_others = self->n_backends - (old ? old->backends.n : 0);
    if (n_backends <= self->options.rules.max_backends - n_others)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "the OrcaCollection '%.*s' has %zu backends, and those of others are %zu of "
                      "the %zu that this node asks at one time (orca_collections.max_backends)",
                      UDPAI_SHOWN(cluster), n_backends, n_others, self->options.rules.max_backends);
}

static udpa_err
check_reach(const udpai_orca_collector *self,
            const udpai_orca_collection *from,
            udpa_error **ret_error)
{
    const udpai_orca_reach *reach = &self->options.rules.reach;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < from->n_backends && err == UDPA_OK; i++)
        err = reach->check(reach->userdata, &from->backends[i], from->credential, ret_error);
    return err;
}

static udpa_err
set(udpai_orca_collector *self, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_orca_collection from;
    udpa_err err = check_rules(self, resource, ret_error);
    if (err == UDPA_OK)
        err = udpai_orca_collection_read(&self->arena, resource, &from, ret_error);
    if (err == UDPA_OK)
        err = check_room(self, udpai_resource_name(resource), from.n_backends, ret_error);
    if (err == UDPA_OK)
        err = check_reach(self, &from, ret_error);
    if (err != UDPA_OK)
        return err;
    collection *made = make_collection(self, resource, &from);
    collection *old = udpai_map_get(&self->collections, udpai_resource_name(resource));
    if (made && old) {
        (void)udpai_map_replace(&self->collections, made);
    } else if (made && !udpai_map_add(&self->collections, made)) {
        discard(made);
        made = NULL;
    }
    if (!made)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    begin_collection(self, made, old);
    return UDPA_OK;
}

static void
end(udpai_orca_collector *self, const udpa_resource *resource)
{
    collection *each = udpai_map_get(&self->collections, udpai_resource_name(resource));
    if (each)
        end_collection(each);
}

/* One that is not allowed ends what was there before; one that is merely wrong does not. */
static void
take_change(udpai_orca_collector *self, udpai_local_update *update, size_t index)
{
    const udpai_local_change *change = udpai_local_update_at(update, index);
    udpa_error *error = NULL;
    udpa_err err = UDPA_OK;
    if (change->is_removed)
        end(self, change->resource);
    else
        err = set(self, change->resource, &error);
    if (err == UDPA_ERR_DENIED)
        end(self, change->resource);
    if (err == UDPA_OK)
        return;
    log_rejected(self, change->resource, error);
    udpai_local_update_refuse(update, index, error);
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    for (size_t i = 0; i < udpai_local_update_size(update); i++)
        take_change(userdata, update, i);
}

/* ---- coming and going ---- */

static udpa_err
fill(udpai_orca_collector *self)
{
    const udpai_orca_rules *rules = &self->options.rules;
    const udpai_local_ops ops = {.update = on_update, .userdata = self};
    const udpai_selection all = {.type_url = UDPAI_STR(UDPAI_TYPE_ORCA_COLLECTION)};
    udpa_err err = udpai_allowlist_init(&self->allowlist, rules->authorities, rules->n_authorities,
                                        rules->prefixes, rules->n_prefixes);
    return err == UDPA_OK
               ? udpai_node_subscribe(self->options.node, &all, &ops, &self->subscription)
               : err;
}

static void
free_collector(udpai_service *service)
{
    udpai_orca_collector *self = of_service(service);
    size_t at = 0;
    collection *each;
    while ((each = udpai_map_next(&self->collections, &at)))
        discard(each);
    at = 0;
    orca_subscription *one;
    while ((one = udpai_map_next(&self->subscriptions, &at)))
        udpai_free(one);
    if (self->subscription)
        udpai_node_unsubscribe(self->options.node, self->subscription);
    udpai_map_done(&self->collections);
    udpai_map_done(&self->subscriptions);
    udpai_map_done(&self->links);
    udpai_allowlist_done(&self->allowlist);
    udpai_arena_done(&self->arena);
    udpai_free(self);
}

udpa_err
udpai_orca_collector_new(udpai_service **ret_collector, const udpai_orca_collector_options *options)
{
    static const udpai_service_ops ops = {
        .on_report = on_report,
        .on_event = on_event,
        .free = free_collector,
    };
    if (options->rules.n_authorities == 0)
        return UDPA_OK;
    udpai_orca_collector *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->service.ops = &ops;
    self->options = *options;
    self->last_link = UDPAI_ORCA_LINKS;
    udpai_map_init(&self->collections, collection_key);
    udpai_map_init(&self->subscriptions, subscription_key);
    udpai_map_init(&self->links, link_key);
    udpai_arena_init(&self->arena);
    udpa_err err = fill(self);
    if (err == UDPA_OK)
        *ret_collector = &self->service;
    else
        free_collector(&self->service);
    return err;
}
