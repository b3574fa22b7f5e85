/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/node_metrics.h"

#include "federation/accept.h"
#include "federation/freezes.h"
#include "federation/node_internal.h"
#include "federation/source.h"
#include "federation/source_dynamic.h"
#include "federation/sync.h"
#include "store/fill.h"
#include "store/freeze.h"

static const udpai_str none;

/* ---- sources ---- */

static udpai_str
kind_of(const udpai_source *source)
{
    if (!udpai_source_serves_us(source))
        return UDPAI_STR("dial");
    if (udpai_source_clients(source))
        return UDPAI_STR("client_group");
    return udpai_source_dynamic(source) ? UDPAI_STR("dynamic") : UDPAI_STR("configured");
}

/* One that others are made after, for each group of clients, has no stream itself. */
static void
put_source(udpai_metric_snapshot *snapshot, const udpai_source *source)
{
    udpai_str label = udpai_source_metric_label(source);
    bool is_active = udpai_source_is_active(source);
    udpai_metric_put(snapshot, UDPAI_METRIC_SOURCES, kind_of(source), 1);
    if (udpai_source_is_template(source) || !udpai_source_serves_us(source))
        return;
    udpai_metric_put(snapshot, UDPAI_METRIC_SOURCE_CONNECTED, label,
                     is_active || udpai_source_session(source) != 0);
    udpai_metric_put(snapshot, UDPAI_METRIC_SOURCE_ACTIVE, label, is_active);
    int64_t contact_us = udpai_source_last_contact_us(source);
    if (contact_us)
        udpai_metric_put(snapshot, UDPAI_METRIC_SOURCE_CONTACT, label, (double)contact_us / 1e6);
}

static void
put_sources(const udpai_node *node, udpai_metric_snapshot *snapshot)
{
    size_t at = 0;
    const udpai_source *source;
    while ((source = udpai_sources_next_link(node->parts.sources, &at)))
        put_source(snapshot, source);
}

struct held {
    const udpai_node *node;
    udpai_metric_snapshot *snapshot;
};

/* By the name of a source, or the path of a directory. */
static void
put_held(void *userdata, const udpai_held_count *count)
{
    const struct held *held = userdata;
    const udpai_source *source = udpai_sources_get(held->node->parts.sources, count->name);
    udpai_metric_put(held->snapshot, UDPAI_METRIC_SOURCE_HELD,
                     source ? udpai_source_metric_label(source) : count->name, (double)count->n);
}

/* ---- types ---- */

static bool
put_type(void *snapshot, udpai_str type_url, size_t n_effective)
{
    udpai_metric_put(snapshot, UDPAI_METRIC_RESOURCES, type_url, (double)n_effective);
    return true;
}

/* What the node reports of itself is not there before somebody subscribes to it. */
static bool
is_own_status(udpai_str type_url)
{
    return udpai_str_starts(type_url, UDPAI_STR(UDPAI_TYPE_PREFIX "udpa.status.v1."));
}

static void
put_unsynchronized(const udpai_node *node, udpai_metric_snapshot *snapshot)
{
    const udpai_settled *settled = udpai_sync_settled(node->parts.sync);
    const udpai_settled_facts *facts = settled ? udpai_settled_facts_of(settled) : NULL;
    uint64_t now_ms = udpai_context_now(&node->context), since_ms = now_ms;
    for (size_t i = 0; facts && i < facts->n_missing; i++) {
        const udpai_unsettled *missing = &facts->missing[i];
        if (missing->by_name || is_own_status(missing->type_url) ||
            !udpai_settled_is_waited_for(facts, missing))
            continue;
        udpai_metric_put(snapshot, UDPAI_METRIC_UNSYNCHRONIZED,
                         missing->type_url.len ? missing->type_url : UDPAI_STR("any"), 1);
        if (missing->missing_ms < since_ms)
            since_ms = missing->missing_ms;
    }
    udpai_metric_put(snapshot, UDPAI_METRIC_UNSYNCHRONIZED_TIME, none,
                     (double)(now_ms - since_ms) / 1000);
}

/* ---- the node ---- */

udpai_meters *
udpai_node_meters(const udpai_node *node)
{
    return node->context.meters;
}

void
udpai_node_put_metrics(const udpai_node *node, udpai_metric_snapshot *snapshot)
{
    struct held held = {node, snapshot};
    const udpai_store *store = node->context.store;
    udpai_meters_read(node->context.meters, udpai_metric_snapshot_take, snapshot);
    put_sources(node, snapshot);
    udpai_node_visit_held(node, put_held, &held);
    udpai_store_visit_types(store, put_type, snapshot);
    put_unsynchronized(node, snapshot);
    udpai_metric_put(snapshot, UDPAI_METRIC_FREEZES, none,
                     (double)udpai_freezes_n(node->parts.freezes));
    udpai_metric_put(snapshot, UDPAI_METRIC_FROZEN_CHANGES, none,
                     (double)udpai_store_n_frozen(store));
    udpai_metric_put(snapshot, UDPAI_METRIC_STORE_CONTRIBUTIONS, none,
                     (double)udpai_store_n_contributions(store));
    udpai_metric_put(snapshot, UDPAI_METRIC_MEMORY, UDPAI_STR("store"),
                     (double)udpai_store_memory(store));
    const udpai_store_fill fill = udpai_store_fill_of(store);
    udpai_metric_put(snapshot, UDPAI_METRIC_LIMIT_USED, UDPAI_STR("resources"), fill.resources);
    udpai_metric_put(snapshot, UDPAI_METRIC_LIMIT_USED, UDPAI_STR("bytes"), fill.bytes);
    udpai_metric_put(snapshot, UDPAI_METRIC_LIMIT_USED, UDPAI_STR("namespace"), fill.name_space);
    udpai_metric_put(snapshot, UDPAI_METRIC_LIMIT_USED, UDPAI_STR("publisher"), fill.publisher);
    udpai_metric_put(snapshot, UDPAI_METRIC_LOOPS, none, (double)udpai_node_n_loops(node));
    udpai_metric_put(snapshot, UDPAI_METRIC_ACL_DENIALS, none, (double)udpai_node_n_denied(node));
    udpai_metric_put(snapshot, UDPAI_METRIC_SIGNATURES_REJECTED, none,
                     (double)udpai_node_n_bad_signatures(node));
    udpai_metric_put(snapshot, UDPAI_METRIC_SIGNATURES_MADE, none,
                     (double)udpai_node_n_signed(node));
}
