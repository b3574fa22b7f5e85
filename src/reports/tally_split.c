/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/tally_split_internal.h"

udpa_err
udpai_tally_split_new(udpai_tally_split **ret_split, const udpai_tally_sum_options *options)
{
    UDPA_AUTO(udpai_tally_split_free) udpai_tally_split *split = udpai_alloc(sizeof(*split));
    if (!split)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_tally_set_text(&split->cluster, options->cluster);
    if (err == UDPA_OK)
        err = udpai_tally_set_text(&split->node_id, options->node_id);
    split->options = *options;
    split->options.cluster = split->cluster;
    split->options.node_id = split->node_id;
    if (err == UDPA_OK)
        err = udpai_tally_sum_new(&split->exclusive, &split->options);
    split->options.counted = NULL; /* nodes are in that part alone */
    if (err != UDPA_OK)
        return err;
    *ret_split = UDPAI_TAKE(split);
    return UDPA_OK;
}

udpai_tally_split *
udpai_tally_split_free(udpai_tally_split *split)
{
    if (!split)
        return NULL;
    udpai_tally_sum_free(split->exclusive);
    udpai_tally_sum_free(split->shared);
    udpai_tally_free(split->both);
    udpai_free((void *)(uintptr_t)split->cluster.data);
    udpai_free((void *)(uintptr_t)split->node_id.data);
    udpai_free(split);
    return NULL;
}

void
udpai_tally_split_end(udpai_tally_split *split, udpai_tally_nodes *ret_counted)
{
    udpai_tally_sum_end(UDPAI_TAKE(split->exclusive), ret_counted);
    udpai_tally_split_free(split);
}

static udpai_tally_sum *
part_of(const udpai_tally_split *split, udpai_tally_kind kind)
{
    return kind == UDPAI_TALLY_OF_SHARED ? split->shared : split->exclusive;
}

bool
udpai_tally_split_knows(const udpai_tally_split *split,
                        udpai_tally_kind kind,
                        udpai_str reporter,
                        uint64_t epoch)
{
    const udpai_tally_sum *part = part_of(split, kind);
    return part && udpai_tally_sum_knows(part, reporter, epoch);
}

void
udpai_tally_split_leave(udpai_tally_split *split, udpai_tally_kind kind, udpai_str reporter)
{
    udpai_tally_sum *part = part_of(split, kind);
    if (part)
        udpai_tally_sum_leave(part, reporter);
}

void
udpai_tally_split_rest(udpai_tally_split *split)
{
    udpai_tally_sum_rest(split->exclusive);
    if (split->shared)
        udpai_tally_sum_rest(split->shared);
}

/* ---- taking ---- */

/* The first shared client: what there is has its places already. */
udpa_err
udpai_tally_split_begin_shared(udpai_tally_split *split, udpa_error **ret_error)
{
    if (split->shared)
        return UDPA_OK;
    const udpai_tally *exclusive = udpai_tally_sum_total(split->exclusive, 0);
    UDPA_AUTO(udpai_tally_free) udpai_tally *both = udpai_tally_new(&udpai_tally_sum_limits);
    if (!exclusive || !both)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = udpai_tally_make_room(both, exclusive, ret_error);
    if (err == UDPA_OK)
        err = udpai_tally_sum_new(&split->shared, &split->options);
    if (err == UDPA_OK)
        split->both = UDPAI_TAKE(both);
    return udpai_fail_code(ret_error, err);
}

/* Ways differ in how far they are behind: the longer counts cover, the later they are. */
static bool
is_late(const udpai_tally_split *split, udpai_str reporter, const udpai_tally *tally)
{
    const udpai_tally *known = udpai_tally_sum_known(split->shared, reporter, tally->epoch);
    return known && tally->elapsed_ns < known->elapsed_ns;
}

static udpa_err
take(udpai_tally_split *split,
     udpai_tally_kind kind,
     udpai_str reporter,
     udpai_tally *tally,
     udpa_error **ret_error)
{
    UDPA_AUTO(udpai_tally_free) udpai_tally *owned = tally;
    udpa_err err = split->both ? udpai_tally_make_room(split->both, tally, ret_error) : UDPA_OK;
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    return udpai_tally_sum_take(part_of(split, kind), reporter, UDPAI_TAKE(owned), ret_error);
}

udpa_err
udpai_tally_split_take(udpai_tally_split *split,
                       udpai_tally_kind kind,
                       udpai_str reporter,
                       udpai_tally *tally,
                       udpa_error **ret_error)
{
    UDPA_AUTO(udpai_tally_free) udpai_tally *owned = tally;
    if (kind == UDPAI_TALLY_OF_CLIENT && tally->is_shared) {
        udpai_tally_sum_leave(split->exclusive, reporter);
        return UDPA_OK;
    }
    udpa_err err =
        kind == UDPAI_TALLY_OF_SHARED ? udpai_tally_split_begin_shared(split, ret_error) : UDPA_OK;
    if (err != UDPA_OK)
        return err;
    if (kind == UDPAI_TALLY_OF_SHARED && is_late(split, reporter, tally))
        return UDPA_OK;
    udpai_tally_leave_shared(tally);
    return take(split, kind, reporter, UDPAI_TAKE(owned), ret_error);
}

/* ---- the sum ---- */

/* What there is room for, it has. */
static void
add(udpai_tally *to, const udpai_tally *from)
{
    udpai_tally_add_growth(to, from, NULL);
    udpai_tally_add_gauges(to, from);
}

/* Of the clients of either kind. */
static void
set_covered(udpai_tally_split *split)
{
    udpai_tally_spans spans = {.now_ns = split->total.elapsed_ns};
    udpai_tally_sum_spans(split->exclusive, &spans);
    if (split->shared)
        udpai_tally_sum_spans(split->shared, &spans);
    udpai_tally_cover_set(&split->cover, &spans, &split->total);
}

/* False without memory. */
static bool
add_shared(udpai_tally_split *split, const udpai_tally *exclusive)
{
    const udpai_tally *shared = udpai_tally_sum_total(split->shared, exclusive->elapsed_ns);
    udpai_tally *both = split->both, *total = &split->total;
    if (!shared)
        return false;
    udpai_tally_clear(both);
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
    total->shared = (udpai_tally *)(uintptr_t)shared;
    return true;
}

const udpai_tally *
udpai_tally_split_total(udpai_tally_split *split, uint64_t elapsed_ns)
{
    const udpai_tally *exclusive = udpai_tally_sum_total(split->exclusive, elapsed_ns);
    if (!exclusive)
        return NULL;
    split->total = *exclusive;
    if (split->shared && !add_shared(split, exclusive))
        return NULL;
    set_covered(split);
    return &split->total;
}
