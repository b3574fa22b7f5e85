/* SPDX-License-Identifier: Apache-2.0 */
/* What peers subscribe to of an endpoint's client resources, and the watches of that.
 *
 * The node notes changes whenever it finds them, also while the application calls it; they are
 * reported in the loop's next turn. A subscription that comes and ends in between is not
 * reported. */
#include <udpa/report.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "endpoint/host.h"
#include "endpoint/reporting.h"
#include "endpoint/type.h"
#include "model/name.h"

#define DEMAND_MAX 65536

typedef struct demand_item {
    udpai_list node;
    udpai_list changed; /* while it is not as it was reported */
    udpai_str key;      /* type URL, NUL, text; owned; with a NUL behind it */
    bool is_subscribed, is_reported;
} demand_item;

struct udpa_demand_watch {
    udpai_list node;
    udpa_endpoint *endpoint;
    udpa_demand_fn callback;
    void *userdata;
    bool is_new; /* it has not got what there is */
    bool is_ended;
};

typedef struct udpai_local_demand {
    udpai_service service;
    udpa_endpoint *endpoint;
    bool notes_it;
    udpai_map by_key;
    udpai_list all;
    udpai_list changed;
    udpai_list watches;
    bool has_new; /* a watch */
    udpai_log_limit refusals;
} udpai_local_demand;

static udpai_local_demand *
of(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, udpai_local_demand, service);
}

static udpai_local_demand *
of_endpoint(const udpa_endpoint *endpoint)
{
    return of(udpai_endpoint_service(endpoint, UDPAI_PLACE_LOCAL_DEMAND));
}

static udpai_str
item_key(const void *item)
{
    return ((const demand_item *)item)->key;
}

static void
free_item(udpai_local_demand *demand, demand_item *item)
{
    udpai_map_remove(&demand->by_key, item->key);
    udpai_list_remove(&item->node);
    udpai_list_remove(&item->changed);
    udpai_free((char *)(uintptr_t)item->key.data);
    udpai_free(item);
}

static void
free_watch(udpa_demand_watch *watch)
{
    udpai_list_remove(&watch->node);
    udpai_free(watch);
}

/* ---- noting ---- */

static void
put_key(udpai_strbuf *key, udpai_str type_url, const char *mark, udpai_str text)
{
    key->len = 0;
    udpai_strbuf_str(key, type_url);
    udpai_strbuf_putc(key, '\0');
    udpai_strbuf_puts(key, mark);
    udpai_strbuf_str(key, text);
}

/* Takes the key, unless there is no memory. */
static demand_item *
add_item(udpai_local_demand *demand, udpai_strbuf *key)
{
    demand_item *item = demand->by_key.n < DEMAND_MAX ? udpai_alloc(sizeof(*item)) : NULL;
    if (!item)
        return NULL;
    item->key = udpai_strbuf_view(key);
    if (!udpai_map_add(&demand->by_key, item)) {
        udpai_free(item);
        return NULL;
    }
    (void)udpai_strbuf_take(key);
    udpai_list_init(&item->changed);
    udpai_list_init(&item->node);
    udpai_list_append(&demand->all, &item->node);
    return item;
}

static void
refuse(udpai_local_demand *demand, udpai_str type_url, udpai_str text)
{
    unsigned n_suppressed;
    uint64_t now_ms = udpai_endpoint_wheel(demand->endpoint)->now_ms;
    if (udpai_log_allow(&demand->refusals, now_ms, &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "report",
                  "subscriptions of '%.*s' of type %.*s are not reported: out of memory, or there "
                  "are %d already (%u more not shown)",
                  UDPAI_SHOWN(text), UDPAI_SHOWN(type_url), DEMAND_MAX, n_suppressed);
}

static void
note(udpai_local_demand *demand, udpai_str type_url, udpai_str text, bool subscribed)
{
    udpai_strbuf key = {0};
    put_key(&key, type_url, "", text);
    demand_item *item =
        udpai_strbuf_failed(&key) ? NULL : udpai_map_get(&demand->by_key, udpai_strbuf_view(&key));
    if (!item && subscribed && !udpai_strbuf_failed(&key))
        item = add_item(demand, &key);
    udpai_strbuf_done(&key);
    if (!item && subscribed)
        refuse(demand, type_url, text);
    if (!item)
        return;
    item->is_subscribed = subscribed;
    if (!udpai_list_linked(&item->changed))
        udpai_list_append(&demand->changed, &item->changed);
    udpai_endpoint_touch(demand->endpoint);
}

static void
on_event(udpai_service *service, const udpai_service_event *event)
{
    udpai_local_demand *demand = of(service);
    if (event->kind == UDPAI_SERVICE_DEMAND && demand->notes_it)
        note(demand, event->type_url, event->text, event->is_subscribed);
}

/* ---- notifying ---- */

static void
notify(const udpa_demand_watch *watch, const demand_item *item)
{
    const char *type_url = item->key.data, *text = type_url + strlen(type_url) + 1;
    const udpa_demand demand = {
        .struct_size = sizeof(demand),
        .type_url = type_url,
        .name = *text == '*' ? NULL : text,
        .name_space = *text == '*' ? text + 1 : NULL,
        .has_subscribers = item->is_reported,
    };
    if (!watch->is_ended && !udpai_endpoint_is_closing(watch->endpoint))
        watch->callback(watch->userdata, &demand);
}

static void
notify_change(udpai_local_demand *demand, demand_item *item)
{
    if (item->is_reported != item->is_subscribed) {
        item->is_reported = item->is_subscribed;
        UDPAI_LIST_FOREACH (at, &demand->watches) {
            const udpa_demand_watch *watch = UDPAI_LIST_ENTRY(at, udpa_demand_watch, node);
            if (!watch->is_new)
                notify(watch, item);
        }
    }
    /* It may have been subscribed to again in a callback. */
    if (!item->is_subscribed && !udpai_list_linked(&item->changed))
        free_item(demand, item);
}

static void
notify_new(udpai_local_demand *demand)
{
    demand->has_new = false;
    UDPAI_LIST_FOREACH (in_watches, &demand->watches) {
        udpa_demand_watch *watch = UDPAI_LIST_ENTRY(in_watches, udpa_demand_watch, node);
        if (!watch->is_new)
            continue;
        watch->is_new = false;
        UDPAI_LIST_FOREACH (at, &demand->all) {
            const demand_item *item = UDPAI_LIST_ENTRY(at, demand_item, node);
            if (item->is_reported)
                notify(watch, item);
        }
    }
}

static void
run(udpai_service *service)
{
    udpai_local_demand *demand = of(service);
    UDPAI_LIST_FOREACH_SAFE (at, &demand->watches) {
        udpa_demand_watch *watch = UDPAI_LIST_ENTRY(at, udpa_demand_watch, node);
        if (watch->is_ended)
            free_watch(watch);
    }
    udpai_list *at;
    while ((at = udpai_list_pop(&demand->changed)))
        notify_change(demand, UDPAI_LIST_ENTRY(at, demand_item, changed));
    if (demand->has_new)
        notify_new(demand);
}

/* ---- watching ---- */

udpa_err
udpa_demand_watch_new(udpa_demand_watch **ret_watch,
                      udpa_endpoint *endpoint,
                      udpa_demand_fn callback,
                      void *userdata)
{
    if (udpai_endpoint_is_closing(endpoint))
        return UDPA_ERR_CLOSED;
    if (!callback)
        return UDPA_ERR_INVAL;
    udpa_demand_watch *watch = udpai_alloc(sizeof(*watch));
    if (!watch)
        return UDPA_ERR_NOMEM;
    watch->endpoint = endpoint;
    watch->callback = callback;
    watch->userdata = userdata;
    udpai_local_demand *demand = of_endpoint(endpoint);
    watch->is_new = demand->has_new = true;
    udpai_list_init(&watch->node);
    udpai_list_append(&demand->watches, &watch->node);
    udpai_endpoint_touch(endpoint);
    *ret_watch = watch;
    return UDPA_OK;
}

void
udpa_demand_watch_end(udpa_demand_watch *watch)
{
    if (!watch)
        return;
    watch->is_ended = true;
    udpai_endpoint_touch(watch->endpoint);
}

/* ---- asking ---- */

static bool
has(const udpai_local_demand *demand,
    udpai_strbuf *key,
    udpai_str type_url,
    const char *mark,
    udpai_str text)
{
    put_key(key, type_url, mark, text);
    const demand_item *item =
        udpai_strbuf_failed(key) ? NULL : udpai_map_get(&demand->by_key, udpai_strbuf_view(key));
    return item && item->is_subscribed;
}

/* Without memory it seems to have no subscription. */
bool
udpai_local_demand_have(const udpa_endpoint *endpoint, udpai_str type_url, udpai_str name)
{
    const udpai_local_demand *demand = of_endpoint(endpoint);
    udpai_strbuf key = {0};
    udpai_str prefix;
    size_t position = 0;
    if (demand->by_key.n == 0)
        return false;
    bool is_subscribed = has(demand, &key, type_url, "", name);
    while (!is_subscribed && udpai_name_next_prefix(name, &position, &prefix))
        is_subscribed = has(demand, &key, type_url, "*", prefix);
    udpai_strbuf_done(&key);
    return is_subscribed;
}

bool
udpa_has_demand(const udpa_endpoint *endpoint, const char *type_url, const char *about)
{
    UDPAI_AUTO_FREE char *type = udpai_type_url_complete(type_url);
    UDPAI_AUTO_FREE char *name = udpai_report_name(endpoint, udpai_str_from(about));
    return type && name &&
           udpai_local_demand_have(endpoint, udpai_str_from(type), udpai_str_from(name));
}

/* ---- coming and going ---- */

static void
free_demand(udpai_service *service)
{
    udpai_local_demand *demand = of(service);
    UDPAI_LIST_FOREACH_SAFE (at, &demand->all)
        free_item(demand, UDPAI_LIST_ENTRY(at, demand_item, node));
    UDPAI_LIST_FOREACH_SAFE (at, &demand->watches)
        free_watch(UDPAI_LIST_ENTRY(at, udpa_demand_watch, node));
    udpai_map_done(&demand->by_key);
    udpai_free(demand);
}

udpa_err
udpai_local_demand_new(udpai_service **ret_demand, udpa_endpoint *endpoint, bool notes_it)
{
    static const udpai_service_ops ops = {.on_event = on_event, .run = run, .free = free_demand};
    udpai_local_demand *demand = udpai_alloc(sizeof(*demand));
    if (!demand)
        return UDPA_ERR_NOMEM;
    demand->service.ops = &ops;
    demand->endpoint = endpoint;
    demand->notes_it = notes_it;
    udpai_map_init(&demand->by_key, item_key);
    udpai_list_init(&demand->all);
    udpai_list_init(&demand->changed);
    udpai_list_init(&demand->watches);
    *ret_demand = &demand->service;
    return UDPA_OK;
}
