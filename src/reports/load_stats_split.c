/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/load_stats_split_internal.h"

udpa_err
udpai_load_stats_split_new(udpai_load_stats_split **ret_split,
                           const udpai_load_aggregate_options *options)
{
    UDPA_AUTO(udpai_load_stats_split_free)
    udpai_load_stats_split *split = udpai_alloc(sizeof(*split));
    if (!split)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_load_stats_set_text(&split->cluster, options->cluster);
    if (err == UDPA_OK)
        err = udpai_load_stats_set_text(&split->node_id, options->node_id);
    split->options = *options;
    split->options.cluster = split->cluster;
    split->options.node_id = split->node_id;
    if (err == UDPA_OK)
        err = udpai_load_aggregate_new(&split->exclusive, &split->options);
    split->options.counted = NULL; /* nodes are in that part alone */
    if (err != UDPA_OK)
        return err;
    *ret_split = UDPAI_TAKE(split);
    return UDPA_OK;
}

udpai_load_stats_split *
udpai_load_stats_split_free(udpai_load_stats_split *split)
{
    if (!split)
        return NULL;
    udpai_load_aggregate_free(split->exclusive);
    udpai_load_aggregate_free(split->shared);
    udpai_load_stats_free(split->both);
    udpai_free((void *)(uintptr_t)split->cluster.data);
    udpai_free((void *)(uintptr_t)split->node_id.data);
    udpai_free(split);
    return NULL;
}

void
udpai_load_stats_split_end(udpai_load_stats_split *split, udpai_load_stats_nodes *ret_counted)
{
    udpai_load_aggregate_end(UDPAI_TAKE(split->exclusive), ret_counted);
    udpai_load_stats_split_free(split);
}

static udpai_load_aggregate *
part_of(const udpai_load_stats_split *split, udpai_load_stats_kind kind)
{
    return kind == UDPAI_LOAD_STATS_OF_SHARED ? split->shared : split->exclusive;
}

bool
udpai_load_stats_split_knows(const udpai_load_stats_split *split,
                             udpai_load_stats_kind kind,
                             udpai_str reporter,
                             uint64_t epoch)
{
    const udpai_load_aggregate *part = part_of(split, kind);
    return part && udpai_load_aggregate_knows(part, reporter, epoch);
}

void
udpai_load_stats_split_leave(udpai_load_stats_split *split,
                             udpai_load_stats_kind kind,
                             udpai_str reporter)
{
    udpai_load_aggregate *part = part_of(split, kind);
    if (part)
        udpai_load_aggregate_leave(part, reporter);
}

void
udpai_load_stats_split_rest(udpai_load_stats_split *split)
{
    udpai_load_aggregate_rest(split->exclusive);
    if (split->shared)
        udpai_load_aggregate_rest(split->shared);
}

/* ---- taking ---- */

/* The first shared client: what there is has its places already. */
udpa_err
udpai_load_stats_split_begin_shared(udpai_load_stats_split *split, udpa_error **ret_error)
{
    if (split->shared)
        return UDPA_OK;
    const udpai_load_stats *exclusive = udpai_load_aggregate_total(split->exclusive, 0);
    UDPA_AUTO(udpai_load_stats_free)
    udpai_load_stats *both = udpai_load_stats_new(&udpai_load_aggregate_limits);
    if (!exclusive || !both)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = udpai_load_stats_make_room(both, exclusive, ret_error);
    if (err == UDPA_OK)
        err = udpai_load_aggregate_new(&split->shared, &split->options);
    if (err == UDPA_OK)
        split->both = UDPAI_TAKE(both);
    return udpai_fail_code(ret_error, err);
}

/* Ways differ in how far they are behind: the longer counts cover, the later they are. */
static bool
is_late(const udpai_load_stats_split *split, udpai_str reporter, const udpai_load_stats *stats)
{
    const udpai_load_stats *known =
        udpai_load_aggregate_known(split->shared, reporter, stats->epoch);
    return known && stats->elapsed_ns < known->elapsed_ns;
}

static udpa_err
take(udpai_load_stats_split *split,
     udpai_load_stats_kind kind,
     udpai_str reporter,
     udpai_load_stats *stats,
     udpa_error **ret_error)
{
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *owned = stats;
    udpa_err err =
        split->both ? udpai_load_stats_make_room(split->both, stats, ret_error) : UDPA_OK;
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    return udpai_load_aggregate_take(part_of(split, kind), reporter, UDPAI_TAKE(owned), ret_error);
}

udpa_err
udpai_load_stats_split_take(udpai_load_stats_split *split,
                            udpai_load_stats_kind kind,
                            udpai_str reporter,
                            udpai_load_stats *stats,
                            udpa_error **ret_error)
{
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *owned = stats;
    if (kind == UDPAI_LOAD_STATS_OF_CLIENT && stats->is_shared) {
        udpai_load_aggregate_leave(split->exclusive, reporter);
        return UDPA_OK;
    }
    udpa_err err = kind == UDPAI_LOAD_STATS_OF_SHARED
                       ? udpai_load_stats_split_begin_shared(split, ret_error)
                       : UDPA_OK;
    if (err != UDPA_OK)
        return err;
    if (kind == UDPAI_LOAD_STATS_OF_SHARED && is_late(split, reporter, stats))
        return UDPA_OK;
    udpai_load_stats_leave_shared(stats);
    return take(split, kind, reporter, UDPAI_TAKE(owned), ret_error);
}

/* ---- the sum ---- */

/* What there is room for, it has. */
static void
add(udpai_load_stats *to, const udpai_load_stats *from)
{
    udpai_load_stats_add_growth(to, from, NULL);
    udpai_load_stats_add_gauges(to, from);
}

/* Of the clients of either kind. */
static void
set_covered(udpai_load_stats_split *split)
{
    udpai_load_stats_spans spans = {.now_ns = split->total.elapsed_ns};
    udpai_load_aggregate_spans(split->exclusive, &spans);
    if (split->shared)
        udpai_load_aggregate_spans(split->shared, &spans);
    udpai_load_stats_cover_set(&split->cover, &spans, &split->total);
}

/* False without memory. */
static bool
add_shared(udpai_load_stats_split *split, const udpai_load_stats *exclusive)
{
    const udpai_load_stats *shared =
        udpai_load_aggregate_total(split->shared, exclusive->elapsed_ns);
    udpai_load_stats *both = split->both, *total = &split->total;
    if (!shared)
        return false;
    udpai_load_stats_clear(both);
    add(both, exclusive);
    add(both, shared);
    total->localities = both->localities;
    total->drops = both->drops;
    total->dropped = both->dropped;
    total->n_endpoints = both->n_endpoints;
    total->n_metrics = both->n_metrics;
    total->n_clients = exclusive->n_clients + shared->n_clients;
    if (!total->service.len)
        total->service = shared->service;
    total->shared = (udpai_load_stats *)(uintptr_t)shared;
    return true;
}

const udpai_load_stats *
udpai_load_stats_split_total(udpai_load_stats_split *split, uint64_t elapsed_ns)
{
    const udpai_load_stats *exclusive = udpai_load_aggregate_total(split->exclusive, elapsed_ns);
    if (!exclusive)
        return NULL;
    split->total = *exclusive;
    if (split->shared && !add_shared(split, exclusive))
        return NULL;
    set_covered(split);
    return &split->total;
}
