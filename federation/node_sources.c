/* SPDX-License-Identifier: Apache-2.0 */
/* Sources and providers of the configuration that change while the node runs, or are left to
 * another process. */
#include "base/alloc.h"
#include "federation/clients.h"
#include "federation/dynamic.h"
#include "federation/node_internal.h"
#include "federation/provider_change.h"
#include "federation/source_change.h"
#include "federation/source_dynamic.h"

typedef struct changed {
    udpai_source *source;
    udpai_source_change *change;
} changed;

struct udpai_node_next {
    udpai_node *node;
    const udpai_node_config *config;
    UDPAI_VECTOR(udpai_source *) added; /* in the table already */
    UDPAI_VECTOR(changed) changes;
    UDPAI_VECTOR(udpai_dynamic_leaving *) leaving;
    udpai_providers_next *providers;
    udpai_node_next_facts facts;
};

/* ---- preparing ---- */

static udpa_err
add_source(udpai_node_next *next, const udpai_source_config *config, udpa_error **ret_error)
{
    udpai_sources *sources = next->node->parts.sources;
    if (!udpai_vector_reserve(&next->added, 1))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = udpai_sources_add(sources, config, true, ret_error);
    if (err == UDPA_OK)
        next->added.items[next->added.n++] = udpai_sources_get(sources, config->name);
    return err;
}

static udpa_err
change_source(udpai_node_next *next,
              udpai_source *source,
              const udpai_source_config *config,
              udpa_error **ret_error)
{
    changed made = {.source = source};
    if (!udpai_vector_reserve(&next->changes, 1))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = udpai_source_change_new(&made.change, source, config, ret_error);
    if (err == UDPA_OK)
        next->changes.items[next->changes.n++] = made;
    return err;
}

static bool
is_configured(const udpai_node_config *config, udpai_str name)
{
    for (size_t i = 0; i < config->n_sources; i++)
        if (udpai_str_eq(config->sources[i].name, name))
            return true;
    return false;
}

/* Those that are there and come by no resource. */
static udpa_err
find_leaving(udpai_node_next *next)
{
    const udpai_parts *parts = &next->node->parts;
    udpai_source *source = NULL;
    while ((source = udpai_sources_next_own(parts->sources, source))) {
        if (!udpai_source_serves_us(source) || udpai_source_dynamic(source) ||
            is_configured(next->config, udpai_source_name(source)))
            continue;
        udpai_dynamic_leaving *leaving = udpai_dynamic_leaving_new(parts->dynamic, source);
        if (!leaving || !udpai_vector_push(&next->leaving, leaving)) {
            udpai_dynamic_leaving_free(leaving);
            return UDPA_ERR_NOMEM;
        }
    }
    return UDPA_OK;
}

/* One that is there yet is none of the configuration any more. */
static udpa_err
check_provider(const udpai_node_next *next,
               const udpai_provider_config *provider,
               udpa_error **ret_error)
{
    if (udpai_dynamic_has_sources(next->node->parts.dynamic))
        return UDPA_OK;
    for (size_t i = 0; i < provider->n_descriptors; i++)
        if (!is_configured(next->config, provider->descriptors[i].source))
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "a provider names the ConfigSource '%.*s', which does not exist",
                              UDPAI_SHOWN(provider->descriptors[i].source));
    return UDPA_OK;
}

static udpa_err
prepare(udpai_node_next *next, udpa_error **ret_error)
{
    udpai_parts *parts = &next->node->parts;
    const udpai_node_config *config = next->config;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < config->n_providers && err == UDPA_OK; i++)
        err = check_provider(next, &config->providers[i], ret_error);
    for (size_t i = 0; i < config->n_sources && err == UDPA_OK; i++) {
        const udpai_source_config *from = &config->sources[i];
        udpai_source *source = udpai_sources_get(parts->sources, from->name);
        bool is_back = source && udpai_source_dynamic(source);
        err = source ? change_source(next, source, from, ret_error)
                     : add_source(next, from, ret_error);
        next->facts.n_added += !source || is_back;
    }
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, find_leaving(next));
    if (err == UDPA_OK)
        err = udpai_providers_prepare(&next->providers, parts->providers, config, ret_error);
    if (err != UDPA_OK)
        return err;
    next->facts.n_removed = next->leaving.n;
    next->facts.n_withdrawn = udpai_providers_n_withdrawn(next->providers);
    return UDPA_OK;
}

udpa_err
udpai_node_prepare(udpai_node *node,
                   const udpai_node_config *config,
                   udpai_node_next **ret_next,
                   udpa_error **ret_error)
{
    udpai_node_next *next = udpai_alloc(sizeof(*next));
    if (!next)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    next->node = node;
    next->config = config;
    udpa_err err = prepare(next, ret_error);
    if (err == UDPA_OK)
        *ret_next = next;
    else
        udpai_node_leave(next);
    return err;
}

const udpai_node_next_facts *
udpai_node_next_facts_of(const udpai_node_next *next)
{
    return &next->facts;
}

static void
next_free(udpai_node_next *next)
{
    udpai_vector_done(&next->added);
    udpai_vector_done(&next->changes);
    udpai_vector_done(&next->leaving);
    udpai_free(next);
}

void
udpai_node_leave(udpai_node_next *next)
{
    if (!next)
        return;
    udpai_providers_leave(next->providers);
    for (size_t i = 0; i < next->leaving.n; i++)
        udpai_dynamic_leaving_free(next->leaving.items[i]);
    for (size_t i = 0; i < next->changes.n; i++)
        udpai_source_change_free(next->changes.items[i].change);
    for (size_t i = 0; i < next->added.n; i++)
        udpai_source_end(next->added.items[i]);
    next_free(next);
}

/* ---- taking ---- */

/* A peer that a source has waited for since now may be here as a publisher: it comes again. */
static void
call_listeners(udpai_node *node)
{
    size_t at = 0;
    udpai_peer *peer;
    while ((peer = udpai_peers_next(node->parts.peers, &at)))
        udpai_node_recall_peer(node, peer);
}

void
udpai_node_take(udpai_node_next *next)
{
    udpai_node *node = next->node;
    const udpai_parts *parts = &node->parts;
    for (size_t i = 0; i < next->changes.n; i++) {
        const changed *at = &next->changes.items[i];
        bool moves = udpai_source_change_moves(at->change);
        udpai_dynamic_configure(parts->dynamic, at->source);
        udpai_source_change_apply(at->change);
        if (moves && udpai_source_is_template(at->source))
            udpai_groups_move(parts->groups, at->source);
    }
    for (size_t i = 0; i < next->leaving.n; i++)
        udpai_dynamic_leaving_apply(next->leaving.items[i]);
    udpai_providers_take(next->providers);
    udpai_dynamic_take_providers(parts->dynamic, next->config);
    node->context.peers_are_anonymous = next->config->peers_are_anonymous;
    call_listeners(node);
    udpai_context_touch(&node->context);
    next_free(next);
}

/* ---- another process ---- */

void
udpai_node_set_silent(udpai_node *node, bool is_silent)
{
    udpai_sources_set_silent(node->parts.sources, is_silent);
    udpai_context_touch(&node->context);
}
