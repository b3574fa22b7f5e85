/* SPDX-License-Identifier: Apache-2.0 */
/* Public publications: each waits for a stream to its source and for those before it, then for the
 * receipt, and begins again when the stream ends between the two. */
#include <udpa/publish.h>

#include "base/alloc.h"
#include "endpoint/host.h"
#include "endpoint/local.h"
#include "endpoint/type.h"
#include "loop/clock.h"
#include "model/name.h"

#define TIMEOUT_MS 30000
#define TIMEOUT_MAX_MS ((uint64_t)1 << 40) /* for ever, in practice; a time can be added */
/* Listeners take in messages of 4 MiB; a part of that is left for what is around payloads. */
#define PUBLISH_MAX_BYTES ((size_t)3584 * 1024)
#define NAME_FIELD_BYTES 3 /* at most, around a name that is removed */
/* To one source, without a receipt yet. Ours take in as many before they stop reading; a session
 * could not queue any number. */
#define UNDER_WAY_MAX 64

/* What goes to one source, in the order in which it was begun: first what is under way. */
typedef struct udpai_outlet {
    udpai_list node;
    udpa_endpoint *endpoint;
    udpa_bytes *source;
    udpai_list publishings;
    size_t n_under_way;
} udpai_outlet;

typedef struct udpai_publishing {
    udpai_list node;
    udpai_outlet *outlet;
    udpai_publication *publication; /* what is to be published */
    uint64_t ticket;                /* 0: waits to be under way */
    udpai_order *forget;            /* made in time: the deadline must not need memory */
    uint64_t timeout_ms;
    udpai_timer deadline;
    udpa_receipt_fn receipt;
    void *userdata;
} udpai_publishing;

typedef struct publications {
    udpai_service service;
    udpa_endpoint *endpoint;
    udpai_list outlets;
} publications;

struct udpa_receipt {
    const udpai_publication *publication; /* as published, or as answered */
    const udpa_error *error;
};

static publications *
of(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, publications, service);
}

/* ---- receipts ---- */

const udpa_error *
udpa_receipt_error(const udpa_receipt *receipt)
{
    return receipt->error;
}

size_t
udpa_receipt_size(const udpa_receipt *receipt)
{
    return receipt->publication->entries.n + receipt->publication->removals.n;
}

const char *
udpa_receipt_name(const udpa_receipt *receipt, size_t index)
{
    const udpai_publication *publication = receipt->publication;
    if (index < publication->entries.n)
        return udpa_resource_name(publication->entries.items[index].resource);
    index -= publication->entries.n;
    return index < publication->removals.n ? publication->removals.items[index].name.data : NULL;
}

const udpa_error *
udpa_receipt_refusal(const udpa_receipt *receipt, size_t index)
{
    const udpai_publication *publication = receipt->publication;
    if (index < publication->entries.n)
        return publication->entries.items[index].error;
    index -= publication->entries.n;
    return index < publication->removals.n ? publication->removals.items[index].error : NULL;
}

static const udpai_effect *
effect_of(const udpa_receipt *receipt, size_t index)
{
    const udpai_publication *publication = receipt->publication;
    return index < publication->effects.n ? &publication->effects.items[index] : NULL;
}

udpa_effect
udpa_receipt_effect(const udpa_receipt *receipt, size_t index)
{
    const udpai_effect *effect = effect_of(receipt, index);
    return effect ? (udpa_effect)effect->kind : UDPA_EFFECT_NOTHING;
}

const char *
udpa_receipt_effective(const udpa_receipt *receipt, size_t index)
{
    const udpai_effect *effect = effect_of(receipt, index);
    return effect && effect->effective.len ? effect->effective.data : NULL;
}

/* ---- outlets ---- */

static udpai_outlet *
get_outlet(publications *all, udpai_str source)
{
    UDPAI_LIST_FOREACH (at, &all->outlets) {
        udpai_outlet *outlet = UDPAI_LIST_ENTRY(at, udpai_outlet, node);
        if (udpai_str_eq(udpai_bytes_view(outlet->source), source))
            return outlet;
    }
    udpai_outlet *outlet = udpai_alloc(sizeof(*outlet));
    if (!outlet || udpa_bytes_new(&outlet->source, source.data, source.len) != UDPA_OK) {
        udpai_free(outlet);
        return NULL;
    }
    outlet->endpoint = all->endpoint;
    udpai_list_init(&outlet->publishings);
    udpai_list_init(&outlet->node);
    udpai_list_append(&all->outlets, &outlet->node);
    return outlet;
}

static void
set_under_way(udpai_publishing *publishing, uint64_t ticket)
{
    udpai_outlet *outlet = publishing->outlet;
    outlet->n_under_way += (ticket != 0) - (publishing->ticket != 0);
    publishing->ticket = ticket;
}

static void
free_publishing(udpai_publishing *publishing)
{
    udpai_list_remove(&publishing->node);
    udpai_timer_cancel(&publishing->deadline);
    udpai_publication_free(publishing->publication);
    udpai_order_free(publishing->forget);
    udpai_free(publishing);
}

/* Calls back and frees. */
static void
finish(udpai_publishing *publishing, const udpai_publication *answered, const udpa_error *error)
{
    udpai_list_remove(&publishing->node);
    set_under_way(publishing, 0);
    const udpa_receipt receipt = {answered ? answered : publishing->publication, error};
    publishing->receipt(publishing->userdata, &receipt);
    free_publishing(publishing);
}

static udpai_publishing *
find_in(const udpai_outlet *outlet, uint64_t ticket)
{
    UDPAI_LIST_FOREACH (at, &outlet->publishings) {
        udpai_publishing *publishing = UDPAI_LIST_ENTRY(at, udpai_publishing, node);
        if (publishing->ticket == ticket)
            return publishing;
    }
    return NULL;
}

static udpai_publishing *
find(const publications *all, uint64_t ticket)
{
    UDPAI_LIST_FOREACH (at, &all->outlets) {
        udpai_publishing *found = find_in(UDPAI_LIST_ENTRY(at, udpai_outlet, node), ticket);
        if (found)
            return found;
    }
    return NULL;
}

/* The answer to a publication that nothing waits for any more is dropped. */
static void
on_event(udpai_service *service, const udpai_service_event *event)
{
    udpai_publishing *publishing =
        event->kind == UDPAI_SERVICE_RECEIPT ? find(of(service), event->ticket) : NULL;
    if (!publishing)
        return;
    if (event->error)
        set_under_way(publishing, 0); /* the stream has ended: again on the next */
    else
        finish(publishing, event->publication, NULL);
}

static void
on_deadline(udpai_timer *timer)
{
    udpai_publishing *publishing = UDPAI_CONTAINER_OF(timer, udpai_publishing, deadline);
    udpa_endpoint *endpoint = publishing->outlet->endpoint;
    udpai_str source = udpai_bytes_view(publishing->outlet->source);
    if (publishing->ticket) {
        publishing->forget->ticket = publishing->ticket;
        udpai_endpoint_order(endpoint, UDPAI_TAKE(publishing->forget));
    }
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error = udpa_error_new(
        UDPA_ERR_DEADLINE, udpai_node_source_error(udpai_endpoint_node(endpoint), source),
        "no receipt from source '%.*s' within %llu ms", (int)source.len, source.data,
        (unsigned long long)publishing->timeout_ms);
    finish(publishing, NULL, error);
}

/* ---- publishing ---- */

static udpai_publication *
copy_for_stream(const udpai_publication *from)
{
    UDPA_AUTO(udpai_publication_free) udpai_publication *copy = udpai_publication_new();
    udpa_err err = copy ? udpai_publication_set(&copy->type_url, from->type_url) : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < from->entries.n && err == UDPA_OK; i++)
        err = udpai_publication_add(copy, from->entries.items[i].resource, false);
    for (size_t i = 0; i < from->removals.n && err == UDPA_OK; i++)
        err = udpai_publication_remove_stated(copy, from->removals.items[i].name,
                                              from->removals.items[i].statement);
    if (copy)
        copy->is_trial = from->is_trial;
    return err == UDPA_OK ? UDPAI_TAKE(copy) : NULL;
}

/* False: without memory, or without a stream; it goes on waiting. */
static bool
publish(udpai_publishing *publishing)
{
    const udpai_outlet *outlet = publishing->outlet;
    udpai_publication *copy = copy_for_stream(publishing->publication);
    if (copy)
        set_under_way(publishing, udpai_node_publish(udpai_endpoint_node(outlet->endpoint),
                                                     udpai_bytes_view(outlet->source), copy));
    return publishing->ticket != 0;
}

static void
run(udpai_service *service)
{
    const publications *all = of(service);
    UDPAI_LIST_FOREACH (in_endpoint, &all->outlets) {
        const udpai_outlet *outlet = UDPAI_LIST_ENTRY(in_endpoint, udpai_outlet, node);
        if (!udpai_node_may_publish_to(udpai_endpoint_node(all->endpoint),
                                       udpai_bytes_view(outlet->source)))
            continue;
        UDPAI_LIST_FOREACH (at, &outlet->publishings) {
            udpai_publishing *publishing = UDPAI_LIST_ENTRY(at, udpai_publishing, node);
            if (outlet->n_under_way >= UNDER_WAY_MAX)
                break;
            if (!publishing->ticket && !publish(publishing))
                break; /* those behind it must not overtake it */
        }
    }
}

/* ---- taking one in ---- */

static udpa_err
check(const udpa_publish_options *options, udpa_error **ret_error)
{
    if (options->struct_size < sizeof(*options))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "udpa_publish_options: struct_size is %zu: begin with "
                          "UDPA_PUBLISH_OPTIONS_INIT",
                          options->struct_size);
    if (!options->receipt)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "a publication needs a receipt callback");
    if (options->n_resources + options->n_removed_names == 0)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "there is nothing to publish");
    if (options->n_removed_names && (!options->removed_type_url || !*options->removed_type_url))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "removing '%s' needs its type: set removed_type_url",
                          options->removed_names[0]);
    size_t size = 0;
    for (size_t i = 0; i < options->n_resources; i++)
        size += udpai_resource_footprint(options->resources[i]);
    for (size_t i = 0; i < options->n_removed_names; i++)
        size += strlen(options->removed_names[i]) + NAME_FIELD_BYTES;
    if (size > PUBLISH_MAX_BYTES)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "%zu bytes are more than the %zu that one publication may have: publish "
                          "in parts",
                          size, PUBLISH_MAX_BYTES);
    return UDPA_OK;
}

static udpa_err
add_removals(udpai_publication *publication,
             const udpa_publish_options *options,
             udpa_error **ret_error)
{
    if (!options->n_removed_names)
        return UDPA_OK;
    UDPAI_AUTO_FREE char *type_url = udpai_type_url_complete(options->removed_type_url);
    udpa_err err = type_url
                       ? udpai_publication_set(&publication->type_url, udpai_str_from(type_url))
                       : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < options->n_removed_names && err == UDPA_OK; i++) {
        udpai_str name = udpai_str_from(options->removed_names[i]);
        err = udpai_name_check(name, ret_error);
        if (err == UDPA_OK)
            err = udpai_publication_remove(publication, name);
    }
    return err;
}

static udpa_err
choose_outlet(udpa_endpoint *endpoint,
              const udpa_publish_options *options,
              udpai_outlet **ret_outlet,
              udpa_error **ret_error)
{
    udpai_str source = udpai_str_from(options->source);
    const udpai_node *node = udpai_endpoint_node(endpoint);
    if (!options->source && !udpai_node_only_source(node, &source))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the endpoint has not just one source: name the one to publish to");
    if (!udpai_node_has_source(node, source))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "there is no source '%.*s' to publish to",
                          (int)source.len, source.data);
    *ret_outlet =
        get_outlet(of(udpai_endpoint_service(endpoint, UDPAI_PLACE_PUBLICATIONS)), source);
    return *ret_outlet ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

static udpa_err
fill(udpai_publishing *publishing, const udpa_publish_options *options, udpa_error **ret_error)
{
    publishing->forget = udpai_order_new(UDPAI_ORDER_FORGET);
    publishing->publication = udpai_publication_new();
    udpa_err err = publishing->forget && publishing->publication ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < options->n_resources && err == UDPA_OK; i++)
        err = udpai_publication_add(publishing->publication, options->resources[i], false);
    if (err == UDPA_OK)
        err = add_removals(publishing->publication, options, ret_error);
    if (publishing->publication)
        publishing->publication->is_trial = options->is_trial;
    return udpai_fail_code(ret_error, err);
}

udpa_err
udpa_publish(udpa_endpoint *endpoint, const udpa_publish_options *options, udpa_error **ret_error)
{
    udpa_err err = check(options, ret_error);
    if (err == UDPA_OK && udpai_endpoint_is_closing(endpoint))
        err = udpai_fail(ret_error, UDPA_ERR_CLOSED, "the endpoint is being closed");
    udpai_outlet *outlet = NULL;
    if (err == UDPA_OK)
        err = choose_outlet(endpoint, options, &outlet, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_publishing *publishing = udpai_alloc(sizeof(*publishing));
    if (!publishing)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    publishing->outlet = outlet;
    publishing->timeout_ms = options->timeout_ms ? options->timeout_ms : TIMEOUT_MS;
    if (publishing->timeout_ms > TIMEOUT_MAX_MS)
        publishing->timeout_ms = TIMEOUT_MAX_MS;
    publishing->receipt = options->receipt;
    publishing->userdata = options->userdata;
    udpai_list_init(&publishing->node);
    udpai_timer_init(&publishing->deadline, on_deadline);
    err = fill(publishing, options, ret_error);
    if (err != UDPA_OK) {
        free_publishing(publishing);
        return err;
    }
    /* The wheel is not brought to the present here: that may call back. */
    udpai_timer_set(udpai_endpoint_wheel(endpoint), &publishing->deadline,
                    udpai_monotonic_ms() + publishing->timeout_ms);
    udpai_list_append(&outlet->publishings, &publishing->node);
    udpai_endpoint_touch(endpoint);
    return UDPA_OK;
}

/* ---- coming and going ---- */

static void
end(udpai_service *service)
{
    publications *all = of(service);
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error = udpa_error_new(UDPA_ERR_CLOSED, NULL,
                                       "the endpoint was closed before a receipt was received");
    udpai_list *at;
    while ((at = udpai_list_pop(&all->outlets))) {
        udpai_outlet *outlet = UDPAI_LIST_ENTRY(at, udpai_outlet, node);
        while (!udpai_list_empty(&outlet->publishings))
            finish(UDPAI_LIST_ENTRY(outlet->publishings.next, udpai_publishing, node), NULL, error);
        udpa_bytes_unref(outlet->source);
        udpai_free(outlet);
    }
}

static void
free_publications(udpai_service *service)
{
    udpai_free(of(service));
}

udpa_err
udpai_publications_new(udpai_service **ret_publications, udpa_endpoint *endpoint)
{
    static const udpai_service_ops ops = {
        .on_event = on_event,
        .run = run,
        .end = end,
        .free = free_publications,
    };
    publications *all = udpai_alloc(sizeof(*all));
    if (!all)
        return UDPA_ERR_NOMEM;
    all->service.ops = &ops;
    all->endpoint = endpoint;
    udpai_list_init(&all->outlets);
    *ret_publications = &all->service;
    return UDPA_OK;
}
