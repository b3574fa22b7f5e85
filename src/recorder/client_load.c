/* SPDX-License-Identifier: Apache-2.0 */
/* What was counted of a cluster since its epoch began, reported as udpa.load.v1.ClientLoad. */
#include "recorder/recorder_internal.h"

/* ---- one report ---- */

/* Do its receivers accept so many? */
static bool
may_report_endpoints(const udpai_load_stats *report)
{
    size_t n_endpoints = 0, n_metrics = 0;
    for (size_t i = 0; i < report->localities.n; i++) {
        const udpai_load_stats_locality *locality = &report->localities.items[i];
        n_metrics += locality->figures.metrics.n;
        for (size_t k = 0; k < locality->endpoints.n; k++) {
            const udpai_load_stats_figures *figures = &locality->endpoints.items[k].figures;
            bool is_reported = !udpai_load_stats_figures_empty(figures);
            n_endpoints += is_reported;
            n_metrics += is_reported ? figures->metrics.n : 0;
        }
    }
    return n_endpoints <= UDPAI_LOAD_ENDPOINTS_MAX && n_metrics <= UDPAI_LOAD_METRICS_MAX;
}

static udpa_err
begin_report(const udpai_load_cluster *cluster,
             const udpai_load_reading *reading,
             const udpai_load_stats *total,
             udpai_load_stats **ret_report)
{
    uint64_t began_ms = cluster->epoch_ms;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *report = NULL;
    udpa_err err = udpai_load_stats_difference(total, cluster->before, &report, NULL);
    if (err != UDPA_OK)
        return err;
    report->epoch = cluster->epoch;
    report->elapsed_ns = reading->now_ms > began_ms ? (reading->now_ms - began_ms) * 1000000 : 0;
    report->covered_ns = report->elapsed_ns;
    udpai_load_stats_free(*ret_report);
    *ret_report = UDPAI_TAKE(report);
    return UDPA_OK;
}

static bool
is_per_endpoint(const udpai_load_cluster *cluster, const udpai_load_reading *reading)
{
    return reading->is_per_endpoint ? reading->is_per_endpoint(reading->userdata, cluster->name)
                                    : reading->per_endpoint;
}

static udpa_err
make_report(udpa_load_recorder *recorder,
            udpai_load_cluster *cluster,
            const udpai_load_reading *reading,
            const udpai_load_stats *total,
            udpai_load_stats **ret_report,
            bool *ret_with_endpoints)
{
    udpa_err err = begin_report(cluster, reading, total, ret_report);
    if (err != UDPA_OK)
        return err;
    bool with_endpoints = *ret_with_endpoints =
        is_per_endpoint(cluster, reading) && may_report_endpoints(*ret_report);
    if (cluster->has_reported_endpoints && !with_endpoints) {
        /* They would count 0 now, which is not credible within one epoch. */
        udpai_load_epoch_begin(recorder, cluster);
        err = begin_report(cluster, reading, total, ret_report);
    }
    if (err == UDPA_OK && !with_endpoints)
        udpai_load_stats_drop_endpoints(*ret_report);
    return err;
}

/* ---- a cluster ---- */

/* What was reported to one audience is not reported to another again. Of two readers, each has an
 * audience. */
static bool
is_for_others(const udpai_load_cluster *cluster,
              const udpai_load_reading *reading,
              const udpai_load_audience *audience)
{
    return cluster->was_reported && (!cluster->reader || (cluster->reader == reading->userdata &&
                                                          cluster->audience != audience->id));
}

static void
note_reported(udpai_load_cluster *cluster, udpai_load_stats *total)
{
    udpai_load_stats_free(cluster->reported);
    cluster->reported = total;
    cluster->was_reported = true;
}

/* In an epoch of the present audience. */
static udpa_err
read_cluster(udpa_load_recorder *recorder,
             udpai_load_cluster *cluster,
             const udpai_load_reading *reading,
             const udpai_load_audience *audience,
             udpai_load_stats **ret_total)
{
    if (reading->from_now && !cluster->was_reported) {
        udpai_load_stats *earlier = NULL;
        udpa_err err = udpai_load_total_read(cluster, &earlier);
        if (err != UDPA_OK)
            return err;
        note_reported(cluster, earlier);
        udpai_load_epoch_begin(recorder, cluster);
    } else if (is_for_others(cluster, reading, audience)) {
        udpai_load_epoch_begin(recorder, cluster);
    }
    return udpai_load_total_read(cluster, ret_total);
}

/* NULL: without memory, or too large. */
static udpa_bytes *
encode(const udpai_load_stats *report, size_t max_bytes)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_load_stats_encode(report);
    return bytes && udpa_bytes_size(bytes) <= max_bytes ? UDPAI_TAKE(bytes) : NULL;
}

static void
report_cluster(udpa_load_recorder *recorder,
               udpai_load_cluster *cluster,
               const udpai_load_reading *reading)
{
    udpai_load_audience audience = {0};
    bool with_endpoints = false;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *total = NULL, *report = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *load = NULL;
    if (reading->audience && !reading->audience(reading->userdata, cluster->name, &audience))
        return;
    udpa_err err = read_cluster(recorder, cluster, reading, &audience, &total);
    if (err == UDPA_OK)
        err = make_report(recorder, cluster, reading, total, &report, &with_endpoints);
    if (err == UDPA_OK) {
        report->is_shared = audience.is_shared;
        report->lasts_ns = audience.lasts_ms * 1000000;
        load = encode(report, reading->max_bytes);
    }
    if (!reading->take(reading->userdata, cluster->name, load) || !load)
        return;
    note_reported(cluster, UDPAI_TAKE(total));
    cluster->has_reported_endpoints = with_endpoints;
    cluster->reader = reading->userdata;
    cluster->audience = audience.id;
}

/* ---- all ---- */

void
udpai_load_recorder_read(udpa_load_recorder *recorder, const udpai_load_reading *reading)
{
    pthread_mutex_lock(&recorder->mutex);
    UDPAI_LIST_FOREACH (at, &recorder->all) {
        udpai_load_cluster *cluster = UDPAI_LIST_ENTRY(at, udpai_load_cluster, node);
        if (reading->selects(reading->userdata, cluster->name))
            report_cluster(recorder, cluster, reading);
    }
    pthread_mutex_unlock(&recorder->mutex);
}

void
udpai_load_recorder_leave(udpa_load_recorder *recorder, const void *userdata)
{
    pthread_mutex_lock(&recorder->mutex);
    UDPAI_LIST_FOREACH (at, &recorder->all) {
        udpai_load_cluster *cluster = UDPAI_LIST_ENTRY(at, udpai_load_cluster, node);
        if (cluster->reader == userdata)
            cluster->reader = NULL;
    }
    pthread_mutex_unlock(&recorder->mutex);
}
