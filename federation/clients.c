/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are asked for each group of clients by itself: a control plane that computes what it
 * says for the Node that asks must be asked in the stead of each. A group has sources and providers
 * of its own, made after the configured ones, for its name space alone; so one client's stream that
 * fails is that client's matter. */
#include "federation/node_internal.h"

#include "base/alloc.h"

/* After a restart clients come back at their own pace. */
#define RESTORED_MS ((uint64_t)5 * 60 * 1000)
/* Without memory for an end. */
#define AGAIN_MS 1000

static udpai_str
clients_key(const void *item)
{
    return udpai_bytes_view(((const udpai_clients *)item)->name_space);
}

void
udpai_clients_init(udpai_node *node)
{
    udpai_map_init(&node->clients, clients_key);
}

/* ---- making a group ---- */

static udpai_source *
find_source(const udpai_clients *clients, const udpai_source *template)
{
    for (size_t i = 0; i < clients->sources.n; i++)
        if (clients->sources.items[i]->template == template)
            return clients->sources.items[i];
    return NULL;
}

/* "istiod/com.acme/clients/a" */
static bool
put_name(udpai_strbuf *out, const udpai_clients *clients, const udpai_source *template)
{
    udpai_strbuf_str(out, udpai_bytes_view(template->name));
    udpai_strbuf_puts(out, "/");
    udpai_strbuf_str(out, udpai_bytes_view(clients->name_space));
    return !udpai_strbuf_failed(out);
}

static udpa_err
add_source(udpai_clients *clients, const udpai_source *template, udpai_source **ret_source)
{
    udpai_node *node = clients->node;
    udpai_strbuf name = {0};
    udpai_source *source = NULL;
    udpa_err err = put_name(&name, clients, template) ? UDPA_OK : UDPA_ERR_NOMEM;
    const udpai_source_config config = {
        .name = udpai_strbuf_view(&name),
        .kind = template->kind,
        .address = udpai_bytes_view(template->address),
        .ref_target = template->ref_target,
        .release_target = template->release_target,
    };
    if (err == UDPA_OK)
        err = udpai_source_new(node, &config, true, &source);
    udpai_strbuf_done(&name);
    if (err != UDPA_OK)
        return err;
    source->clients = clients;
    source->template = template;
    if (!udpai_vector_reserve(&clients->sources, 1) || !udpai_map_add(&node->links, source)) {
        udpai_source_free(source);
        return UDPA_ERR_NOMEM;
    }
    clients->sources.items[clients->sources.n++] = source;
    *ret_source = source;
    return UDPA_OK;
}

static udpa_err
add_descriptor(udpai_clients *clients, udpai_provider *provider, const udpai_descriptor *from)
{
    udpai_descriptor descriptor = {
        .source = find_source(clients, from->source),
        .continuation = from->continuation,
        .on_demand = from->on_demand,
        .position = from->position,
    };
    udpa_err err = UDPA_OK;
    if (!descriptor.source)
        err = add_source(clients, from->source, &descriptor.source);
    return err == UDPA_OK
               ? udpai_provider_add(provider, &descriptor, udpai_bytes_view(clients->name_space))
               : err;
}

static bool
is_for(const udpai_clients *clients, const udpai_descriptor *descriptor)
{
    return udpai_prefix_covers(udpai_bytes_view(descriptor->prefix), clients_key(clients));
}

static void
replay(void *provider, udpai_str text)
{
    udpai_provider_take_interest(provider, text, true);
}

static udpa_err
add_provider(udpai_clients *clients, const udpai_provider *from)
{
    udpai_str type_url = udpai_bytes_view(from->type);
    udpai_provider *provider = udpai_provider_new(clients->node, type_url);
    udpa_err err = provider ? UDPA_OK : UDPA_ERR_NOMEM;
    bool by_interest = false;
    for (size_t i = 0; i < from->per_clients.n && err == UDPA_OK; i++) {
        const udpai_descriptor *descriptor = &from->per_clients.items[i];
        if (!is_for(clients, descriptor))
            continue;
        by_interest |= descriptor->on_demand;
        err = add_descriptor(clients, provider, descriptor);
    }
    if (err != UDPA_OK || provider->descriptors.n == 0) {
        udpai_provider_free(provider);
        return err;
    }
    err = udpai_provider_activate(&clients->providers, provider);
    if (err != UDPA_OK)
        udpai_provider_free(provider);
    else if (by_interest)
        udpai_interests_visit(clients->node, type_url, replay, provider);
    return err;
}

/* ---- the end ---- */

/* What it says now is nobody's: the transport is asked to end it. */
static void
disown(udpai_source *source)
{
    udpai_peer *peer = udpai_peer_find(source->node, source->session);
    if (!peer)
        return;
    peer->source = NULL;
    peer->is_replaced = true;
}

static void
end_source(udpai_node *node, udpai_source *source)
{
    udpai_origin *origin = source->origin;
    disown(source);
    udpai_map_remove(&node->links, (udpai_str){(const char *)&source->link, sizeof(source->link)});
    udpai_source_free(source);
    udpai_store_withdraw_all(node->store, origin, (udpai_str){0}, (udpai_str){0}, NULL, NULL);
    udpai_origin_set_rank(node->store, origin, UDPAI_ORIGIN_PUBLISHER, 0); /* it may go */
}

static void
end_provider(udpai_provider *provider)
{
    udpai_str type_url = udpai_bytes_view(provider->type);
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        udpai_descriptor *descriptor = &provider->descriptors.items[i];
        udpai_provider_set_in_use(provider->node, descriptor->source->origin, type_url, false);
        if (descriptor->scope)
            udpai_scope_give_up(descriptor->scope);
    }
    udpai_provider_free(provider);
}

static void
free_clients(udpai_clients *clients)
{
    udpai_timer_cancel(&clients->unused);
    udpai_map_done(&clients->providers);
    udpai_vector_done(&clients->sources);
    udpai_node_info_unref(clients->info);
    udpa_bytes_unref(clients->name_space);
    udpai_free(clients);
}

static bool
is_dialled(const udpai_source *source)
{
    return source->state != UDPAI_SOURCE_IDLE && source->state != UDPAI_SOURCE_WAITING;
}

/* False: without memory for it, some stream would go on. */
static bool
hang_up(udpai_clients *clients)
{
    for (size_t i = 0; i < clients->sources.n; i++) {
        udpai_source *source = clients->sources.items[i];
        if (is_dialled(source) && !udpai_source_hang_up(source))
            return false;
    }
    return true;
}

static void
end(udpai_clients *clients)
{
    udpai_node *node = clients->node;
    size_t at = 0;
    udpai_provider *provider;
    while ((provider = udpai_map_next(&clients->providers, &at)))
        end_provider(provider);
    for (size_t i = 0; i < clients->sources.n; i++)
        end_source(node, clients->sources.items[i]);
    udpai_map_remove(&node->clients, clients_key(clients));
    free_clients(clients);
    udpai_node_touch(node);
}

static void
on_unused(udpai_timer *timer)
{
    udpai_clients *clients = UDPAI_CONTAINER_OF(timer, udpai_clients, unused);
    if (hang_up(clients))
        end(clients);
    else
        udpai_timer_set(clients->node->wheel, timer, udpai_node_now(clients->node) + AGAIN_MS);
}

void
udpai_clients_free_all(udpai_node *node)
{
    size_t at = 0;
    udpai_clients *clients;
    while ((clients = udpai_map_next(&node->clients, &at))) {
        size_t of = 0;
        udpai_provider *provider;
        while ((provider = udpai_map_next(&clients->providers, &of)))
            udpai_provider_free(provider);
        free_clients(clients);
    }
    udpai_map_done(&node->clients);
}

/* ---- finding one ---- */

static udpa_err
add_providers(udpai_clients *clients)
{
    size_t at = 0;
    const udpai_provider *provider;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && (provider = udpai_map_next(&clients->node->providers, &at)))
        err = add_provider(clients, provider);
    return err;
}

static udpai_clients *
new_clients(udpai_node *node, udpai_str name_space)
{
    udpai_clients *clients = udpai_alloc(sizeof(*clients));
    if (!clients)
        return NULL;
    clients->node = node;
    clients->is_dirty = true;
    udpai_map_init(&clients->providers, udpai_provider_key);
    udpai_timer_init(&clients->unused, on_unused);
    if (udpa_bytes_new(&clients->name_space, name_space.data, name_space.len) != UDPA_OK ||
        !udpai_map_add(&node->clients, clients)) {
        free_clients(clients);
        return NULL;
    }
    if (add_providers(clients) == UDPA_OK)
        return clients;
    end(clients);
    return NULL;
}

/* Is anything asked for by clients in this name space? */
static bool
is_foreseen(const udpai_node *node, udpai_str name_space)
{
    size_t at = 0;
    const udpai_provider *provider;
    while ((provider = udpai_map_next(&node->providers, &at)))
        for (size_t i = 0; i < provider->per_clients.n; i++)
            if (udpai_prefix_covers(udpai_bytes_view(provider->per_clients.items[i].prefix),
                                    name_space))
                return true;
    return false;
}

/* ---- what is told of them ---- */

/* False: without memory. */
static bool
introduce(udpai_clients *clients, udpai_node_info *info)
{
    for (size_t i = 0; i < clients->sources.n; i++) {
        udpai_source *source = clients->sources.items[i];
        void *target =
            source->template->target_for(source->template->target, clients_key(clients), info);
        if (!target)
            return false;
        udpai_source_set_target(source, target);
    }
    udpai_node_info_unref(clients->info);
    clients->info = udpai_node_info_ref(info);
    clients->have_come = true;
    clients->is_dirty = true;
    udpai_node_touch(clients->node);
    return true;
}

static bool
is_news(const udpai_clients *clients, const udpai_node_info *info)
{
    bool is_same = info && clients->info && udpai_node_info_equal(clients->info, info);
    return !clients->have_come || (info && !is_same);
}

/* NULL: without memory. */
static udpai_clients *
come(udpai_node *node, udpai_str name_space, udpai_node_info *info)
{
    udpai_clients *clients = udpai_map_get(&node->clients, name_space);
    if (!clients)
        clients = new_clients(node, name_space);
    if (!clients)
        return NULL;
    udpai_timer_cancel(&clients->unused);
    return is_news(clients, info) && !introduce(clients, info) ? NULL : clients;
}

udpa_err
udpai_node_expect_clients(udpai_node *node, udpai_str name_space, udpai_node_info *client)
{
    if (!is_foreseen(node, name_space))
        return UDPA_OK;
    udpai_clients *clients = come(node, name_space, client);
    if (!clients)
        return UDPA_ERR_NOMEM;
    clients->are_expected = true;
    return UDPA_OK;
}

void
udpai_clients_told(udpai_node *node, const udpai_report *report)
{
    udpai_str name_space = udpai_bytes_view(report->name_space);
    udpai_clients *clients = udpai_map_get(&node->clients, name_space);
    if (report->wanted && is_foreseen(node, name_space) && !come(node, name_space, report->info))
        udpai_log(UDPA_LOG_ERROR, "federation",
                  "out of memory for the clients of '%.*s': sources are not asked for them",
                  UDPAI_SHOWN(name_space));
    else if (!report->wanted && clients && !clients->are_expected)
        udpai_timer_set(node->wheel, &clients->unused,
                        udpai_node_now(node) + node->timing.interest_linger_ms);
}

udpai_source *
udpai_clients_restore(udpai_node *node, udpai_str source_name)
{
    size_t at = 0;
    const udpai_source *template;
    while ((template = udpai_map_next(&node->sources, &at))) {
        udpai_str head = udpai_bytes_view(template->name);
        if (!template->target_for || !udpai_str_starts(source_name, head) ||
            source_name.len <= head.len + 1 || source_name.data[head.len] != '/')
            continue;
        const udpai_str name_space = {source_name.data + head.len + 1,
                                      source_name.len - head.len - 1};
        udpai_clients *clients = udpai_map_get(&node->clients, name_space);
        if (!clients && is_foreseen(node, name_space) && (clients = new_clients(node, name_space)))
            udpai_timer_set(node->wheel, &clients->unused, udpai_node_now(node) + RESTORED_MS);
        udpai_source *source = clients ? find_source(clients, template) : NULL;
        if (source)
            return source;
    }
    return NULL;
}

static void
take_interest(udpai_clients *clients, udpai_str type_url, udpai_str text, bool wanted)
{
    udpai_provider *provider = udpai_map_get(&clients->providers, type_url);
    if (!provider)
        return;
    udpai_provider_take_interest(provider, text, wanted);
    clients->is_dirty = true;
}

/* A name lies in one name space, a wildcard may be of several. */
void
udpai_clients_interest(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted)
{
    bool is_wildcard = text.data[0] == '*';
    const udpai_str subject = {text.data + is_wildcard, text.len - is_wildcard};
    size_t at = 0;
    udpai_str prefix;
    udpai_clients *clients;
    if (node->clients.n == 0)
        return;
    while (udpai_name_next_prefix(subject, &at, &prefix))
        if ((clients = udpai_map_get(&node->clients, prefix)))
            take_interest(clients, type_url, text, wanted);
    at = 0;
    while (is_wildcard && (clients = udpai_map_next(&node->clients, &at)))
        if (clients_key(clients).len > subject.len &&
            udpai_prefix_covers(subject, clients_key(clients)))
            take_interest(clients, type_url, text, wanted);
}
