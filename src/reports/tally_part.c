/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a sum that is of shared clients: checked, and taken out. */
#include "reports/tally_internal.h"

/* ---- checking ---- */

static udpa_err
check_gauges(const udpai_tally_figures *all,
             const udpai_tally_figures *part,
             udpa_error **ret_error)
{
    for (size_t i = 0; i < UDPAI_TALLY_GAUGES; i++)
        if (part->gauges[i] > (all ? all->gauges[i] : 0))
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "shared clients have %llu requests or connections now, and all %llu",
                              (unsigned long long)part->gauges[i],
                              (unsigned long long)(all ? all->gauges[i] : 0));
    return UDPA_OK;
}

static udpa_err
check_locality(const udpai_tally *tally, const udpai_tally_locality *part, udpa_error **ret_error)
{
    const udpai_tally_locality *all = udpai_tally_find_locality(tally, part);
    udpa_err err = check_gauges(all ? &all->figures : NULL, &part->figures, ret_error);
    for (size_t i = 0; i < part->endpoints.n && err == UDPA_OK; i++) {
        const udpai_tally_endpoint *endpoint = &part->endpoints.items[i],
                                   *of = all ? udpai_tally_find_endpoint(all, endpoint) : NULL;
        err = check_gauges(of ? &of->figures : NULL, &endpoint->figures, ret_error);
    }
    return err;
}

/* The counts as if all had come after the part. */
udpa_err
udpai_tally_check_shared(const udpai_tally *tally, udpa_error **ret_error)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    const udpai_tally *part = tally->shared;
    if (!part)
        return UDPA_OK;
    if (part->n_clients > tally->n_clients)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%llu clients are shared, of %llu in all",
                          (unsigned long long)part->n_clients,
                          (unsigned long long)tally->n_clients);
    udpa_err err = udpai_tally_check_growth(part, tally, &why);
    if (err != UDPA_OK)
        return udpai_fail(ret_error, err, "what is of shared clients is more than all: %s",
                          why ? udpa_error_message(why) : udpa_err_text(err));
    for (size_t i = 0; i < part->localities.n && err == UDPA_OK; i++)
        err = check_locality(tally, &part->localities.items[i], ret_error);
    return err;
}

/* ---- taking out ---- */

/* Of none there is no sum: what is left of it would be the fault of doubles. */
static void
subtract_metrics(udpai_tally_figures *from, const udpai_tally_figures *part)
{
    for (size_t i = 0; i < part->metrics.n; i++) {
        const udpai_tally_metric *shared = &part->metrics.items[i];
        udpai_tally_metric *metric = (udpai_tally_metric *)udpai_tally_find_metric(from, shared);
        if (!metric)
            continue;
        udpai_tally_subtract(&metric->n, shared->n);
        metric->sum = metric->n ? udpai_tally_bound(metric->sum - shared->sum) : 0;
    }
}

static void
subtract_figures(udpai_tally_figures *from, const udpai_tally_figures *part)
{
    for (size_t i = 0; i < UDPAI_TALLY_COUNTS; i++)
        udpai_tally_subtract(&from->counts[i], part->counts[i]);
    subtract_metrics(from, part);
}

static void
subtract_locality(udpai_tally_locality *from, const udpai_tally_locality *part)
{
    subtract_figures(&from->figures, &part->figures);
    for (size_t i = 0; i < part->endpoints.n; i++) {
        const udpai_tally_endpoint *shared = &part->endpoints.items[i];
        udpai_tally_endpoint *endpoint =
            (udpai_tally_endpoint *)udpai_tally_find_endpoint(from, shared);
        if (endpoint)
            subtract_figures(&endpoint->figures, &shared->figures);
    }
}

void
udpai_tally_leave_shared(udpai_tally *tally)
{
    UDPA_AUTO(udpai_tally_free) udpai_tally *part = UDPAI_TAKE(tally->shared);
    if (!part)
        return;
    udpai_tally_subtract(&tally->dropped, part->dropped);
    udpai_tally_subtract(&tally->n_clients, part->n_clients);
    udpai_tally_subtract_gauges(tally, part);
    for (size_t i = 0; i < part->localities.n; i++) {
        const udpai_tally_locality *shared = &part->localities.items[i];
        udpai_tally_locality *locality =
            (udpai_tally_locality *)udpai_tally_find_locality(tally, shared);
        if (locality)
            subtract_locality(locality, shared);
    }
    for (size_t i = 0; i < part->drops.n; i++) {
        const udpai_tally_drop *shared = &part->drops.items[i];
        udpai_tally_drop *drop = (udpai_tally_drop *)udpai_tally_find_drop(tally, shared->category);
        if (drop)
            udpai_tally_subtract(&drop->n, shared->n);
    }
}

/* ---- nothing ---- */

static void
clear_figures(udpai_tally_figures *figures)
{
    memset(figures->counts, 0, sizeof(figures->counts));
    memset(figures->gauges, 0, sizeof(figures->gauges));
    for (size_t i = 0; i < figures->metrics.n; i++) {
        figures->metrics.items[i].n = 0;
        figures->metrics.items[i].sum = 0;
    }
}

void
udpai_tally_clear(udpai_tally *tally)
{
    tally->dropped = 0;
    for (size_t i = 0; i < tally->localities.n; i++) {
        udpai_tally_locality *locality = &tally->localities.items[i];
        clear_figures(&locality->figures);
        for (size_t k = 0; k < locality->endpoints.n; k++)
            clear_figures(&locality->endpoints.items[k].figures);
    }
    for (size_t i = 0; i < tally->drops.n; i++)
        tally->drops.items[i].n = 0;
}
