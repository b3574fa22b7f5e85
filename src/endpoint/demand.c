/* SPDX-License-Identifier: Apache-2.0 */
/* What peers want of an endpoint's client resources, and those who watch it.
 *
 * The node notes changes whenever it finds them, also while the application calls it; they are told
 * in the loop's next turn. A wish that comes and goes in between is told to nobody. */
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

#define WISHES_MAX 65536

typedef struct udpai_want {
    udpai_list node;
    udpai_list changed; /* while it is not as it was told */
    udpai_str key;      /* type URL, NUL, text; owned; with a NUL behind it */
    bool is_wanted, is_told;
} udpai_want;

struct udpa_wanted_watch {
    udpai_list node;
    udpa_endpoint *endpoint;
    udpa_wanted_fn wanted;
    void *userdata;
    bool is_new; /* has not been told of what there is */
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
wish_key(const void *item)
{
    return ((const udpai_want *)item)->key;
}

static void
free_wish(udpai_local_demand *wishes, udpai_want *wish)
{
    udpai_map_remove(&wishes->by_key, wish->key);
    udpai_list_remove(&wish->node);
    udpai_list_remove(&wish->changed);
    udpai_free((char *)(uintptr_t)wish->key.data);
    udpai_free(wish);
}

static void
free_watch(udpa_wanted_watch *watch)
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
static udpai_want *
add_wish(udpai_local_demand *wishes, udpai_strbuf *key)
{
    udpai_want *wish = wishes->by_key.n < WISHES_MAX ? udpai_alloc(sizeof(*wish)) : NULL;
    if (!wish)
        return NULL;
    wish->key = udpai_strbuf_view(key);
    if (!udpai_map_add(&wishes->by_key, wish)) {
        udpai_free(wish);
        return NULL;
    }
    (void)udpai_strbuf_take(key);
    udpai_list_init(&wish->changed);
    udpai_list_init(&wish->node);
    udpai_list_append(&wishes->all, &wish->node);
    return wish;
}

static void
refuse(udpai_local_demand *wishes, udpai_str type_url, udpai_str text)
{
    unsigned n_suppressed;
    uint64_t now_ms = udpai_endpoint_wheel(wishes->endpoint)->now_ms;
    if (udpai_log_allow(&wishes->refusals, now_ms, &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "report",
                  "subscriptions of '%.*s' of type %.*s are not reported: out of memory, or there "
                  "are %d already (%u more not shown)",
                  UDPAI_SHOWN(text), UDPAI_SHOWN(type_url), WISHES_MAX, n_suppressed);
}

static void
note(udpai_local_demand *wishes, udpai_str type_url, udpai_str text, bool wanted)
{
    udpai_strbuf key = {0};
    put_key(&key, type_url, "", text);
    udpai_want *wish =
        udpai_strbuf_failed(&key) ? NULL : udpai_map_get(&wishes->by_key, udpai_strbuf_view(&key));
    if (!wish && wanted && !udpai_strbuf_failed(&key))
        wish = add_wish(wishes, &key);
    udpai_strbuf_done(&key);
    if (!wish && wanted)
        refuse(wishes, type_url, text);
    if (!wish)
        return;
    wish->is_wanted = wanted;
    if (!udpai_list_linked(&wish->changed))
        udpai_list_append(&wishes->changed, &wish->changed);
    udpai_endpoint_touch(wishes->endpoint);
}

static void
on_event(udpai_service *service, const udpai_service_event *event)
{
    udpai_local_demand *wishes = of(service);
    if (event->kind == UDPAI_SERVICE_DEMAND && wishes->notes_it)
        note(wishes, event->type_url, event->text, event->is_wanted);
}

/* ---- telling ---- */

static void
tell(const udpa_wanted_watch *watch, const udpai_want *wish)
{
    const char *type_url = wish->key.data, *text = type_url + strlen(type_url) + 1;
    const udpa_wanted wanted = {
        .struct_size = sizeof(wanted),
        .type_url = type_url,
        .name = *text == '*' ? NULL : text,
        .name_space = *text == '*' ? text + 1 : NULL,
        .is_wanted = wish->is_told,
    };
    if (!watch->is_ended && !udpai_endpoint_is_closing(watch->endpoint))
        watch->wanted(watch->userdata, &wanted);
}

static void
tell_change(udpai_local_demand *wishes, udpai_want *wish)
{
    if (wish->is_told != wish->is_wanted) {
        wish->is_told = wish->is_wanted;
        UDPAI_LIST_FOREACH (at, &wishes->watches) {
            const udpa_wanted_watch *watch = UDPAI_LIST_ENTRY(at, udpa_wanted_watch, node);
            if (!watch->is_new)
                tell(watch, wish);
        }
    }
    /* It may have been wanted again in a callback. */
    if (!wish->is_wanted && !udpai_list_linked(&wish->changed))
        free_wish(wishes, wish);
}

static void
tell_new(udpai_local_demand *wishes)
{
    wishes->has_new = false;
    UDPAI_LIST_FOREACH (in_watches, &wishes->watches) {
        udpa_wanted_watch *watch = UDPAI_LIST_ENTRY(in_watches, udpa_wanted_watch, node);
        if (!watch->is_new)
            continue;
        watch->is_new = false;
        UDPAI_LIST_FOREACH (at, &wishes->all) {
            const udpai_want *wish = UDPAI_LIST_ENTRY(at, udpai_want, node);
            if (wish->is_told)
                tell(watch, wish);
        }
    }
}

static void
run(udpai_service *service)
{
    udpai_local_demand *wishes = of(service);
    UDPAI_LIST_FOREACH_SAFE (at, &wishes->watches) {
        udpa_wanted_watch *watch = UDPAI_LIST_ENTRY(at, udpa_wanted_watch, node);
        if (watch->is_ended)
            free_watch(watch);
    }
    udpai_list *at;
    while ((at = udpai_list_pop(&wishes->changed)))
        tell_change(wishes, UDPAI_LIST_ENTRY(at, udpai_want, changed));
    if (wishes->has_new)
        tell_new(wishes);
}

/* ---- watching ---- */

udpa_err
udpa_wanted_watch_new(udpa_wanted_watch **ret_watch,
                      udpa_endpoint *endpoint,
                      udpa_wanted_fn wanted,
                      void *userdata)
{
    if (udpai_endpoint_is_closing(endpoint))
        return UDPA_ERR_CLOSED;
    if (!wanted)
        return UDPA_ERR_INVAL;
    udpa_wanted_watch *watch = udpai_alloc(sizeof(*watch));
    if (!watch)
        return UDPA_ERR_NOMEM;
    watch->endpoint = endpoint;
    watch->wanted = wanted;
    watch->userdata = userdata;
    udpai_local_demand *wishes = of_endpoint(endpoint);
    watch->is_new = wishes->has_new = true;
    udpai_list_init(&watch->node);
    udpai_list_append(&wishes->watches, &watch->node);
    udpai_endpoint_touch(endpoint);
    *ret_watch = watch;
    return UDPA_OK;
}

void
udpa_wanted_watch_end(udpa_wanted_watch *watch)
{
    if (!watch)
        return;
    watch->is_ended = true;
    udpai_endpoint_touch(watch->endpoint);
}

/* ---- asking ---- */

static bool
has(const udpai_local_demand *wishes,
    udpai_strbuf *key,
    udpai_str type_url,
    const char *mark,
    udpai_str text)
{
    put_key(key, type_url, mark, text);
    const udpai_want *wish =
        udpai_strbuf_failed(key) ? NULL : udpai_map_get(&wishes->by_key, udpai_strbuf_view(key));
    return wish && wish->is_wanted;
}

/* Without memory nobody seems to want it. */
bool
udpai_local_demand_have(const udpa_endpoint *endpoint, udpai_str type_url, udpai_str name)
{
    const udpai_local_demand *wishes = of_endpoint(endpoint);
    udpai_strbuf key = {0};
    udpai_str prefix;
    size_t position = 0;
    if (wishes->by_key.n == 0)
        return false;
    bool is_wanted = has(wishes, &key, type_url, "", name);
    while (!is_wanted && udpai_name_next_prefix(name, &position, &prefix))
        is_wanted = has(wishes, &key, type_url, "*", prefix);
    udpai_strbuf_done(&key);
    return is_wanted;
}

bool
udpa_is_wanted(const udpa_endpoint *endpoint, const char *type_url, const char *about)
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
    udpai_local_demand *wishes = of(service);
    UDPAI_LIST_FOREACH_SAFE (at, &wishes->all)
        free_wish(wishes, UDPAI_LIST_ENTRY(at, udpai_want, node));
    UDPAI_LIST_FOREACH_SAFE (at, &wishes->watches)
        free_watch(UDPAI_LIST_ENTRY(at, udpa_wanted_watch, node));
    udpai_map_done(&wishes->by_key);
    udpai_free(wishes);
}

udpa_err
udpai_local_demand_new(udpai_service **ret_demand, udpa_endpoint *endpoint, bool notes_it)
{
    static const udpai_service_ops ops = {.on_event = on_event, .run = run, .free = free_demand};
    udpai_local_demand *wishes = udpai_alloc(sizeof(*wishes));
    if (!wishes)
        return UDPA_ERR_NOMEM;
    wishes->service.ops = &ops;
    wishes->endpoint = endpoint;
    wishes->notes_it = notes_it;
    udpai_map_init(&wishes->by_key, wish_key);
    udpai_list_init(&wishes->all);
    udpai_list_init(&wishes->changed);
    udpai_list_init(&wishes->watches);
    *ret_demand = &wishes->service;
    return UDPA_OK;
}
