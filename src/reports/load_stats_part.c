/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a sum that is of shared clients: checked, and taken out. */
#include "reports/load_stats_internal.h"

/* ---- checking ---- */

static udpa_err
check_gauges(const udpai_load_stats_figures *all,
             const udpai_load_stats_figures *part,
             udpa_error **ret_error)
{
    for (size_t i = 0; i < UDPAI_LOAD_STATS_GAUGES; i++)
        if (part->gauges[i] > (all ? all->gauges[i] : 0))
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "shared clients have %llu requests or connections now, and all %llu",
                              (unsigned long long)part->gauges[i],
                              (unsigned long long)(all ? all->gauges[i] : 0));
    return UDPA_OK;
}

static udpa_err
check_locality(const udpai_load_stats *stats,
               const udpai_load_stats_locality *part,
               udpa_error **ret_error)
{
    const udpai_load_stats_locality *all = udpai_load_stats_find_locality(stats, part);
    udpa_err err = check_gauges(all ? &all->figures : NULL, &part->figures, ret_error);
    for (size_t i = 0; i < part->endpoints.n && err == UDPA_OK; i++) {
        const udpai_load_stats_endpoint *endpoint = &part->endpoints.items[i],
                                        *of = all ? udpai_load_stats_find_endpoint(all, endpoint)
                                                  : NULL;
        err = check_gauges(of ? &of->figures : NULL, &endpoint->figures, ret_error);
    }
    return err;
}

/* The counts as if all had come after the part. */
udpa_err
udpai_load_stats_check_shared(const udpai_load_stats *stats, udpa_error **ret_error)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    const udpai_load_stats *part = stats->shared;
    if (!part)
        return UDPA_OK;
    if (part->n_clients > stats->n_clients)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%llu clients are shared, of %llu in all",
                          (unsigned long long)part->n_clients,
                          (unsigned long long)stats->n_clients);
    udpa_err err = udpai_load_stats_check_growth(part, stats, &why);
    if (err != UDPA_OK)
        return udpai_fail(ret_error, err, "what is of shared clients is more than all: %s",
                          why ? udpa_error_message(why) : udpa_err_text(err));
    for (size_t i = 0; i < part->localities.n && err == UDPA_OK; i++)
        err = check_locality(stats, &part->localities.items[i], ret_error);
    return err;
}

/* ---- taking out ---- */

/* Of none there is no sum: what is left of it would be the fault of doubles. */
static void
subtract_metrics(udpai_load_stats_figures *from, const udpai_load_stats_figures *part)
{
    for (size_t i = 0; i < part->metrics.n; i++) {
        const udpai_load_stats_metric *shared = &part->metrics.items[i];
        udpai_load_stats_metric *metric =
            (udpai_load_stats_metric *)udpai_load_stats_find_metric(from, shared);
        if (!metric)
            continue;
        udpai_load_stats_subtract(&metric->n, shared->n);
        metric->sum = metric->n ? udpai_load_stats_bound(metric->sum - shared->sum) : 0;
    }
}

static void
subtract_figures(udpai_load_stats_figures *from, const udpai_load_stats_figures *part)
{
    for (size_t i = 0; i < UDPAI_LOAD_STATS_COUNTS; i++)
        udpai_load_stats_subtract(&from->counts[i], part->counts[i]);
    subtract_metrics(from, part);
}

static void
subtract_locality(udpai_load_stats_locality *from, const udpai_load_stats_locality *part)
{
    subtract_figures(&from->figures, &part->figures);
    for (size_t i = 0; i < part->endpoints.n; i++) {
        const udpai_load_stats_endpoint *shared = &part->endpoints.items[i];
        udpai_load_stats_endpoint *endpoint =
            (udpai_load_stats_endpoint *)udpai_load_stats_find_endpoint(from, shared);
        if (endpoint)
            subtract_figures(&endpoint->figures, &shared->figures);
    }
}

void
udpai_load_stats_leave_shared(udpai_load_stats *stats)
{
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *part = UDPAI_TAKE(stats->shared);
    if (!part)
        return;
    udpai_load_stats_subtract(&stats->dropped, part->dropped);
    udpai_load_stats_subtract(&stats->n_clients, part->n_clients);
    udpai_load_stats_subtract_gauges(stats, part);
    for (size_t i = 0; i < part->localities.n; i++) {
        const udpai_load_stats_locality *shared = &part->localities.items[i];
        udpai_load_stats_locality *locality =
            (udpai_load_stats_locality *)udpai_load_stats_find_locality(stats, shared);
        if (locality)
            subtract_locality(locality, shared);
    }
    for (size_t i = 0; i < part->drops.n; i++) {
        const udpai_load_stats_drop *shared = &part->drops.items[i];
        udpai_load_stats_drop *drop =
            (udpai_load_stats_drop *)udpai_load_stats_find_drop(stats, shared->category);
        if (drop)
            udpai_load_stats_subtract(&drop->n, shared->n);
    }
}

/* ---- nothing ---- */

static void
clear_figures(udpai_load_stats_figures *figures)
{
    memset(figures->counts, 0, sizeof(figures->counts));
    memset(figures->gauges, 0, sizeof(figures->gauges));
    for (size_t i = 0; i < figures->metrics.n; i++) {
        figures->metrics.items[i].n = 0;
        figures->metrics.items[i].sum = 0;
    }
}

void
udpai_load_stats_clear(udpai_load_stats *stats)
{
    stats->dropped = 0;
    for (size_t i = 0; i < stats->localities.n; i++) {
        udpai_load_stats_locality *locality = &stats->localities.items[i];
        clear_figures(&locality->figures);
        for (size_t k = 0; k < locality->endpoints.n; k++)
            clear_figures(&locality->endpoints.items[k].figures);
    }
    for (size_t i = 0; i < stats->drops.n; i++)
        stats->drops.items[i].n = 0;
}
