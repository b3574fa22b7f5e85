/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing without a request, and waiting for the receipts. */
#include "federation/egress_internal.h"

#include "base/alloc.h"
#include "federation/source.h"

udpa_err
udpai_egress_new(udpai_egress **ret_egress, const udpai_parts *parts)
{
    udpai_egress *egress = udpai_alloc(sizeof(*egress));
    if (!egress)
        return UDPA_ERR_NOMEM;
    egress->context = parts->context;
    egress->peers = parts->peers;
    egress->sources = parts->sources;
    egress->providers = parts->providers;
    egress->receiver = parts->receiver;
    udpai_list_init(&egress->published);
    udpa_err err = udpai_report_targets_new(&egress->targets, parts->context);
    if (err != UDPA_OK)
        udpai_egress_free(egress);
    else
        *ret_egress = egress;
    return err;
}

void
udpai_egress_free(udpai_egress *egress)
{
    udpai_list *at;
    if (!egress)
        return;
    while ((at = udpai_list_pop(&egress->published)))
        udpai_free(UDPAI_LIST_ENTRY(at, udpai_published, node));
    udpai_report_targets_free(egress->targets);
    udpai_free(egress);
}

static udpai_publication *
copy_publication(const udpai_publication *from)
{
    udpai_publication *copy = udpai_publication_new();
    udpa_err err = copy ? udpai_publication_set(&copy->type_url, from->type_url) : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < from->entries.n && err == UDPA_OK; i++)
        err = udpai_publication_add(copy, from->entries.items[i].resource,
                                    from->entries.items[i].is_refresh);
    for (size_t i = 0; i < from->removals.n && err == UDPA_OK; i++)
        err = udpai_publication_remove_stated(copy, from->removals.items[i].name,
                                              from->removals.items[i].statement);
    if (err != UDPA_OK)
        return udpai_publication_free(copy);
    copy->receipt_required = from->receipt_required;
    copy->is_trial = from->is_trial;
    return copy;
}

/* True: it is on its way. */
static bool
publish_to(udpai_egress *egress,
           uint64_t session,
           const udpai_publication *publication,
           uint64_t ticket)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_PUBLISH);
    udpai_published *published = udpai_alloc(sizeof(*published));
    if (order)
        order->publication = copy_publication(publication);
    if (!order || !published || !order->publication) {
        udpai_order_free(order);
        udpai_free(published);
        return false;
    }
    order->session = session;
    order->ticket = ticket;
    published->session = session;
    published->ticket = ticket;
    udpai_list_init(&published->node);
    udpai_list_append(&egress->published, &published->node);
    udpai_context_order(egress->context, order);
    return true;
}

bool
udpai_egress_has_source(const udpai_egress *egress, udpai_str name)
{
    const udpai_source *source = udpai_sources_get(egress->sources, name);
    return source && !udpai_source_is_xds(source);
}

bool
udpai_egress_only_source(const udpai_egress *egress, udpai_str *ret_name)
{
    size_t at = 0;
    const udpai_source *source = udpai_sources_next(egress->sources, &at);
    if (!source || udpai_sources_size(egress->sources) != 1)
        return false;
    *ret_name = udpai_source_name(source);
    return true;
}

const udpa_error *
udpai_egress_source_error(const udpai_egress *egress, udpai_str name)
{
    const udpai_source *source = udpai_sources_get(egress->sources, name);
    return source ? udpai_source_last_error(source) : NULL;
}

const udpa_error *
udpai_egress_source_fault(const udpai_egress *egress, udpai_str name)
{
    const udpai_source *source = udpai_sources_get(egress->sources, name);
    return source ? udpai_source_fault(source) : NULL;
}

const char *
udpai_egress_source_server(const udpai_egress *egress, udpai_str name)
{
    const udpai_source *source = udpai_sources_get(egress->sources, name);
    return source && udpai_source_is_active(source) ? udpai_source_server(source) : NULL;
}

/* A stream that gave way to a later one of the same peer: what went out on it is published again
 * when its end is reported, and nothing may overtake that. */
static bool
waits_for_an_end(const udpai_egress *egress)
{
    UDPAI_LIST_FOREACH (at, &egress->published) {
        const udpai_published *published = UDPAI_LIST_ENTRY(at, udpai_published, node);
        const udpai_peer *peer = udpai_peers_find(egress->peers, published->session);
        if (peer && !peer->source)
            return true;
    }
    return false;
}

bool
udpai_egress_may_publish_to(const udpai_egress *egress, udpai_str source_name)
{
    const udpai_source *source = udpai_sources_get(egress->sources, source_name);
    return source && udpai_source_may_be_published_to(source) && !waits_for_an_end(egress);
}

uint64_t
udpai_egress_publish(udpai_egress *egress, udpai_str source_name, udpai_publication *publication)
{
    uint64_t ticket = ++egress->last_publish;
    bool any = false;
    size_t at = 0;
    const udpai_source *source;
    publication->receipt_required = true;
    while ((source = udpai_sources_next(egress->sources, &at)))
        if (udpai_source_may_be_published_to(source) &&
            (source_name.len == 0 || udpai_str_eq(udpai_source_name(source), source_name)))
            any |= publish_to(egress, udpai_source_session(source), publication, ticket);
    udpai_publication_free(publication);
    return any ? ticket : 0;
}

static udpai_published *
find_published(const udpai_egress *egress, uint64_t session, uint64_t ticket)
{
    UDPAI_LIST_FOREACH (at, &egress->published) {
        udpai_published *published = UDPAI_LIST_ENTRY(at, udpai_published, node);
        if (published->session == session && published->ticket == ticket)
            return published;
    }
    return NULL;
}

static void
finish(udpai_egress *egress,
       udpai_published *published,
       const udpai_publication *publication,
       const udpa_error *error)
{
    uint64_t ticket = published->ticket;
    udpai_list_remove(&published->node);
    udpai_free(published);
    if (egress->context->env.published)
        egress->context->env.published(egress->context->env.userdata, ticket, publication, error);
}

void
udpai_publishing_receipt(udpai_egress *egress, udpai_report *report)
{
    udpai_published *published = find_published(egress, report->session, report->ticket);
    if (published && report->publication) {
        finish(egress, published, report->publication, NULL);
    } else if (published) { /* it was forgotten at the request of the caller */
        udpai_list_remove(&published->node);
        udpai_free(published);
    }
}

void
udpai_publishing_ended(udpai_egress *egress, uint64_t session, const udpa_error *why)
{
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error = udpa_error_new(UDPA_ERR_UNAVAILABLE, why,
                                       "the stream has ended before the receipt was received");
    UDPAI_LIST_FOREACH_SAFE (at, &egress->published) {
        udpai_published *published = UDPAI_LIST_ENTRY(at, udpai_published, node);
        if (published->session == session)
            finish(egress, published, NULL, error);
    }
}
