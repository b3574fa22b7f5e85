/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing what nobody need have asked for, and waiting for the receipts. */
#include "federation/node_internal.h"

#include "base/alloc.h"

static udpai_publication *
copy_publication(const udpai_publication *from)
{
    udpai_publication *copy = udpai_publication_new();
    udpa_err err = copy ? udpai_publication_set(&copy->type_url, from->type_url) : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < from->entries.n && err == UDPA_OK; i++)
        err = udpai_publication_add(copy, from->entries.items[i].resource,
                                    from->entries.items[i].is_refresh);
    for (size_t i = 0; i < from->removals.n && err == UDPA_OK; i++)
        err = udpai_publication_remove_said(copy, from->removals.items[i].name,
                                            from->removals.items[i].said);
    if (err != UDPA_OK)
        return udpai_publication_free(copy);
    copy->receipt_required = from->receipt_required;
    return copy;
}

/* True: it is on its way. */
static bool
publish_to(udpai_node *node,
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
    udpai_list_append(&node->published, &published->node);
    udpai_context_order(&node->context, order);
    return true;
}

bool
udpai_node_has_source(const udpai_node *node, udpai_str name)
{
    const udpai_source *source = udpai_map_get(&node->sources, name);
    return source && !udpai_source_is_xds(source);
}

bool
udpai_node_only_source(const udpai_node *node, udpai_str *ret_name)
{
    size_t at = 0;
    const udpai_source *source = udpai_map_next(&node->sources, &at);
    if (!source || node->sources.n != 1)
        return false;
    *ret_name = udpai_bytes_view(source->name);
    return true;
}

const udpa_error *
udpai_node_source_error(const udpai_node *node, udpai_str name)
{
    const udpai_source *source = udpai_map_get(&node->sources, name);
    return source ? source->last_error : NULL;
}

/* A stream that gave way to a later one of the same peer: what went out on it is published again
 * when its end is reported, and nothing may overtake that. */
static bool
waits_for_an_end(const udpai_node *node)
{
    UDPAI_LIST_FOREACH (at, &node->published) {
        const udpai_published *published = UDPAI_LIST_ENTRY(at, udpai_published, node);
        const udpai_peer *peer = udpai_peers_find(node->peers, published->session);
        if (peer && !peer->source)
            return true;
    }
    return false;
}

bool
udpai_node_may_publish_to(const udpai_node *node, udpai_str source_name)
{
    const udpai_source *source = udpai_map_get(&node->sources, source_name);
    return source && source->may_ask && !udpai_source_is_xds(source) && !waits_for_an_end(node);
}

uint64_t
udpai_node_publish(udpai_node *node, udpai_str source_name, udpai_publication *publication)
{
    uint64_t ticket = ++node->last_publish;
    bool any = false;
    size_t at = 0;
    const udpai_source *source;
    publication->receipt_required = true;
    while ((source = udpai_map_next(&node->sources, &at)))
        if (source->may_ask && !udpai_source_is_xds(source) &&
            (source_name.len == 0 || udpai_str_eq(udpai_bytes_view(source->name), source_name)))
            any |= publish_to(node, source->session, publication, ticket);
    udpai_publication_free(publication);
    return any ? ticket : 0;
}

static udpai_published *
find_published(const udpai_node *node, uint64_t session, uint64_t ticket)
{
    UDPAI_LIST_FOREACH (at, &node->published) {
        udpai_published *published = UDPAI_LIST_ENTRY(at, udpai_published, node);
        if (published->session == session && published->ticket == ticket)
            return published;
    }
    return NULL;
}

static void
finish(udpai_node *node,
       udpai_published *published,
       const udpai_publication *publication,
       const udpa_error *error)
{
    uint64_t ticket = published->ticket;
    udpai_list_remove(&published->node);
    udpai_free(published);
    if (node->context.env.published)
        node->context.env.published(node->context.env.userdata, ticket, publication, error);
}

void
udpai_publishing_receipt(udpai_node *node, udpai_report *report)
{
    udpai_published *published = find_published(node, report->session, report->ticket);
    if (published && report->publication) {
        finish(node, published, report->publication, NULL);
    } else if (published) { /* it was forgotten at the request of who would be told */
        udpai_list_remove(&published->node);
        udpai_free(published);
    }
}

void
udpai_publishing_ended(udpai_node *node, uint64_t session, const udpa_error *why)
{
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error = udpa_error_new(UDPA_ERR_UNAVAILABLE, why,
                                       "the stream has ended before the receipt has come");
    UDPAI_LIST_FOREACH_SAFE (at, &node->published) {
        udpai_published *published = UDPAI_LIST_ENTRY(at, udpai_published, node);
        if (published->session == session)
            finish(node, published, NULL, error);
    }
}
