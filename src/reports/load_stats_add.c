/* SPDX-License-Identifier: Apache-2.0 */
/* Adding and subtracting load stats: what is never negative never becomes it, and nothing wraps. */
#include "reports/load_stats_internal.h"

uint64_t
udpai_load_epoch_next(uint64_t *last, int64_t wall_us)
{
    uint64_t now_us = wall_us > 0 ? (uint64_t)wall_us : 0;
    *last = now_us > *last ? now_us : *last + 1;
    return *last;
}

/* ---- room ---- */

static udpa_err
make_room_for_metrics(udpai_load_stats *to,
                      udpai_load_stats_figures *figures,
                      const udpai_load_stats_figures *from,
                      udpa_error **ret_error)
{
    udpai_load_stats_metric *metric;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < from->metrics.n && err == UDPA_OK; i++)
        err = udpai_load_stats_get_metric(to, figures, &from->metrics.items[i], &metric, ret_error);
    return err;
}

static udpa_err
make_room_for_locality(udpai_load_stats *to,
                       const udpai_load_stats_locality *from,
                       udpa_error **ret_error)
{
    udpai_load_stats_locality *locality = NULL;
    udpai_load_stats_endpoint *endpoint = NULL;
    udpa_err err = udpai_load_stats_get_locality(to, from, &locality, ret_error);
    if (err == UDPA_OK)
        err = make_room_for_metrics(to, &locality->figures, &from->figures, ret_error);
    for (size_t i = 0; i < from->endpoints.n && err == UDPA_OK; i++) {
        const udpai_load_stats_endpoint *like = &from->endpoints.items[i];
        err = udpai_load_stats_get_endpoint(to, locality, like, &endpoint, ret_error);
        if (err == UDPA_OK)
            err = make_room_for_metrics(to, &endpoint->figures, &like->figures, ret_error);
    }
    return err;
}

udpa_err
udpai_load_stats_make_room(udpai_load_stats *to,
                           const udpai_load_stats *from,
                           udpa_error **ret_error)
{
    udpai_load_stats_drop *drop;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < from->localities.n && err == UDPA_OK; i++)
        err = make_room_for_locality(to, &from->localities.items[i], ret_error);
    for (size_t i = 0; i < from->drops.n && err == UDPA_OK; i++)
        err = udpai_load_stats_get_drop(to, from->drops.items[i].category, &drop, ret_error);
    return err;
}

/* ---- growth ---- */

static const char *const count_names[UDPAI_LOAD_STATS_COUNTS] = {
    [UDPAI_LOAD_STATS_SUCCESSFUL] = "successful requests",
    [UDPAI_LOAD_STATS_ERROR] = "failed requests",
    [UDPAI_LOAD_STATS_ISSUED] = "issued requests",
    [UDPAI_LOAD_STATS_OPENED] = "new connections",
    [UDPAI_LOAD_STATS_FAILED] = "failed connections",
};

static udpa_err
check_count(uint64_t older, uint64_t newer, const char *what, udpa_error **ret_error)
{
    if (newer >= older)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "the count of %s shrinks from %llu to %llu within one epoch: where counts "
                      "begin again, another epoch must begin",
                      what, (unsigned long long)older, (unsigned long long)newer);
}

/* NULL: the newer one has nothing there. */
static udpa_err
check_figures(const udpai_load_stats_figures *older,
              const udpai_load_stats_figures *newer,
              udpa_error **ret_error)
{
    static const udpai_load_stats_figures nothing;
    udpa_err err = UDPA_OK;
    if (!newer)
        newer = &nothing;
    for (size_t i = 0; i < UDPAI_LOAD_STATS_COUNTS && err == UDPA_OK; i++)
        err = check_count(older->counts[i], newer->counts[i], count_names[i], ret_error);
    for (size_t i = 0; i < older->metrics.n && err == UDPA_OK; i++) {
        const udpai_load_stats_metric *metric = &older->metrics.items[i],
                                      *now = udpai_load_stats_find_metric(newer, metric);
        err = check_count(metric->n, now ? now->n : 0, "requests with a metric", ret_error);
    }
    return err;
}

static udpa_err
check_locality(const udpai_load_stats_locality *older,
               const udpai_load_stats *newer,
               udpa_error **ret_error)
{
    const udpai_load_stats_locality *now = udpai_load_stats_find_locality(newer, older);
    udpa_err err = check_figures(&older->figures, now ? &now->figures : NULL, ret_error);
    for (size_t i = 0; i < older->endpoints.n && err == UDPA_OK; i++) {
        const udpai_load_stats_endpoint *endpoint = &older->endpoints.items[i],
                                        *later = now ? udpai_load_stats_find_endpoint(now, endpoint)
                                                     : NULL;
        err = check_figures(&endpoint->figures, later ? &later->figures : NULL, ret_error);
    }
    return err;
}

udpa_err
udpai_load_stats_check_growth(const udpai_load_stats *older,
                              const udpai_load_stats *newer,
                              udpa_error **ret_error)
{
    udpa_err err = check_count(older->dropped, newer->dropped, "dropped requests", ret_error);
    for (size_t i = 0; i < older->localities.n && err == UDPA_OK; i++)
        err = check_locality(&older->localities.items[i], newer, ret_error);
    for (size_t i = 0; i < older->drops.n && err == UDPA_OK; i++) {
        const udpai_load_stats_drop *drop = &older->drops.items[i],
                                    *now = udpai_load_stats_find_drop(newer, drop->category);
        err = check_count(drop->n, now ? now->n : 0, "requests dropped for one reason", ret_error);
    }
    return err;
}

static void
add_count(uint64_t *to, uint64_t newer, uint64_t older)
{
    uint64_t growth = newer > older ? newer - older : 0;
    uint64_t room = *to < UDPAI_LOAD_STATS_COUNT_MAX ? UDPAI_LOAD_STATS_COUNT_MAX - *to : 0;
    *to += growth < room ? growth : room;
}

static void
add_value(double *to, double newer, double older)
{
    *to = udpai_load_stats_bound(*to + (newer - older));
}

void
udpai_load_stats_metric_add(udpai_load_stats_metric *to,
                            const udpai_load_stats_metric *newer,
                            const udpai_load_stats_metric *older)
{
    add_count(&to->n, newer->n, older ? older->n : 0);
    add_value(&to->sum, newer->sum, older ? older->sum : 0);
}

void
udpai_load_stats_figures_add(udpai_load_stats_figures *to,
                             const udpai_load_stats_figures *newer,
                             const udpai_load_stats_figures *older)
{
    for (size_t i = 0; i < UDPAI_LOAD_STATS_COUNTS; i++)
        add_count(&to->counts[i], newer->counts[i], older ? older->counts[i] : 0);
    for (size_t i = 0; i < newer->metrics.n; i++) {
        const udpai_load_stats_metric *now = &newer->metrics.items[i],
                                      *then =
                                          older ? udpai_load_stats_find_metric(older, now) : NULL;
        udpai_load_stats_metric_add(
            (udpai_load_stats_metric *)udpai_load_stats_find_metric(to, now), now, then);
    }
}

static void
add_locality(udpai_load_stats_locality *to,
             const udpai_load_stats_locality *newer,
             const udpai_load_stats_locality *older)
{
    udpai_load_stats_figures_add(&to->figures, &newer->figures, older ? &older->figures : NULL);
    for (size_t i = 0; i < newer->endpoints.n; i++) {
        const udpai_load_stats_endpoint *now = &newer->endpoints.items[i],
                                        *then = older ? udpai_load_stats_find_endpoint(older, now)
                                                      : NULL;
        udpai_load_stats_endpoint *endpoint =
            (udpai_load_stats_endpoint *)udpai_load_stats_find_endpoint(to, now);
        udpai_load_stats_figures_add(&endpoint->figures, &now->figures,
                                     then ? &then->figures : NULL);
    }
}

void
udpai_load_stats_add_growth(udpai_load_stats *to,
                            const udpai_load_stats *newer,
                            const udpai_load_stats *older)
{
    add_count(&to->dropped, newer->dropped, older ? older->dropped : 0);
    for (size_t i = 0; i < newer->localities.n; i++) {
        const udpai_load_stats_locality *now = &newer->localities.items[i];
        add_locality((udpai_load_stats_locality *)udpai_load_stats_find_locality(to, now), now,
                     older ? udpai_load_stats_find_locality(older, now) : NULL);
    }
    for (size_t i = 0; i < newer->drops.n; i++) {
        const udpai_load_stats_drop *now = &newer->drops.items[i],
                                    *then = older ? udpai_load_stats_find_drop(older, now->category)
                                                  : NULL;
        udpai_load_stats_drop *drop =
            (udpai_load_stats_drop *)udpai_load_stats_find_drop(to, now->category);
        add_count(&drop->n, now->n, then ? then->n : 0);
    }
}

/* ---- gauges ---- */

typedef void (*gauge_fn)(uint64_t *to, uint64_t from);

static void
add_gauge(uint64_t *to, uint64_t from)
{
    add_count(to, from, 0);
}

static void
each_gauge(udpai_load_stats_figures *to, const udpai_load_stats_figures *from, gauge_fn change)
{
    for (size_t i = 0; i < UDPAI_LOAD_STATS_GAUGES; i++)
        change(&to->gauges[i], from->gauges[i]);
}

void
udpai_load_stats_figures_add_gauges(udpai_load_stats_figures *to,
                                    const udpai_load_stats_figures *from)
{
    each_gauge(to, from, add_gauge);
}

/* What has no place counts nothing. */
static void
change_gauges(udpai_load_stats *to, const udpai_load_stats *from, gauge_fn change)
{
    for (size_t i = 0; i < from->localities.n; i++) {
        const udpai_load_stats_locality *other = &from->localities.items[i];
        udpai_load_stats_locality *locality =
            (udpai_load_stats_locality *)udpai_load_stats_find_locality(to, other);
        if (!locality)
            continue;
        each_gauge(&locality->figures, &other->figures, change);
        for (size_t k = 0; k < other->endpoints.n; k++) {
            udpai_load_stats_endpoint *endpoint =
                (udpai_load_stats_endpoint *)udpai_load_stats_find_endpoint(
                    locality, &other->endpoints.items[k]);
            if (endpoint)
                each_gauge(&endpoint->figures, &other->endpoints.items[k].figures, change);
        }
    }
}

void
udpai_load_stats_add_gauges(udpai_load_stats *to, const udpai_load_stats *from)
{
    change_gauges(to, from, add_gauge);
}

void
udpai_load_stats_subtract_gauges(udpai_load_stats *to, const udpai_load_stats *from)
{
    change_gauges(to, from, udpai_load_stats_subtract);
}

static bool
clear_figures(udpai_load_stats_figures *figures)
{
    bool any = false;
    for (size_t i = 0; i < UDPAI_LOAD_STATS_GAUGES; i++) {
        any |= figures->gauges[i] > 0;
        figures->gauges[i] = 0;
    }
    return any;
}

bool
udpai_load_stats_clear_gauges(udpai_load_stats *stats)
{
    bool any = false;
    for (size_t i = 0; i < stats->localities.n; i++) {
        udpai_load_stats_locality *locality = &stats->localities.items[i];
        any |= clear_figures(&locality->figures);
        for (size_t k = 0; k < locality->endpoints.n; k++)
            any |= clear_figures(&locality->endpoints.items[k].figures);
    }
    return any;
}

/* ---- reports ---- */

static void
add_time(uint64_t *to_ns, uint64_t ns)
{
    uint64_t room =
        *to_ns < UDPAI_LOAD_STATS_ELAPSED_MAX_NS ? UDPAI_LOAD_STATS_ELAPSED_MAX_NS - *to_ns : 0;
    *to_ns += ns < room ? ns : room;
}

void
udpai_load_stats_add_report(udpai_load_stats *to, const udpai_load_stats *report)
{
    udpai_load_stats_add_growth(to, report, NULL);
    add_time(&to->elapsed_ns, report->elapsed_ns);
    add_time(&to->covered_ns, report->elapsed_ns);
}

udpa_err
udpai_load_stats_take_report(udpai_load_stats *total,
                             const udpai_load_stats *report,
                             udpa_error **ret_error)
{
    udpa_err err = udpai_load_stats_make_room(total, report, ret_error);
    if (err == UDPA_OK && report->service.len)
        err = udpai_load_stats_set_text(&total->service, report->service);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    udpai_load_stats_clear_gauges(total);
    udpai_load_stats_add_gauges(total, report);
    udpai_load_stats_add_report(total, report);
    return UDPA_OK;
}

udpa_err
udpai_load_stats_difference(const udpai_load_stats *newer,
                            const udpai_load_stats *older,
                            udpai_load_stats **ret_report,
                            udpa_error **ret_error)
{
    if (older && older->epoch != newer->epoch)
        older = NULL;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *report = udpai_load_stats_new(newer->limits);
    udpa_err err = report ? UDPA_OK : UDPA_ERR_NOMEM;
    if (err == UDPA_OK && older)
        err = udpai_load_stats_check_growth(older, newer, ret_error);
    if (err == UDPA_OK)
        err = udpai_load_stats_set_text(&report->cluster, newer->cluster);
    if (err == UDPA_OK)
        err = udpai_load_stats_set_text(&report->service, newer->service);
    if (err == UDPA_OK)
        err = udpai_load_stats_make_room(report, newer, ret_error);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    udpai_load_stats_add_growth(report, newer, older);
    udpai_load_stats_add_gauges(report, newer);
    add_count(&report->elapsed_ns, newer->covered_ns, older ? older->covered_ns : 0);
    report->covered_ns = report->elapsed_ns;
    report->epoch = newer->epoch;
    *ret_report = UDPAI_TAKE(report);
    return UDPA_OK;
}
