/* SPDX-License-Identifier: Apache-2.0 */
/* All that was ever counted of a cluster, as one value: read of the accounts, and of what targets
 * that are no more have left. */
#include <math.h>
#include <stdlib.h>

#include "recorder/recorder_internal.h"

/* What is read is no more than a recorder takes in. */
static const udpai_load_stats_limits unlimited = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, 0};

/* ---- figures ---- */

/* Nothing is in flight of what was forgotten. */
static udpai_load_stats_figures
figures_of(const udpai_load_figures *read, bool is_forgotten)
{
    return (udpai_load_stats_figures){
        .counts =
            {
                [UDPAI_LOAD_STATS_SUCCESSFUL] = read->n[UDPAI_LOAD_SUCCEEDED],
                [UDPAI_LOAD_STATS_ERROR] = read->n[UDPAI_LOAD_FAILED],
                [UDPAI_LOAD_STATS_ISSUED] = read->n[UDPAI_LOAD_STARTED],
                [UDPAI_LOAD_STATS_OPENED] = read->n[UDPAI_LOAD_OPENED],
                [UDPAI_LOAD_STATS_FAILED] = read->n[UDPAI_LOAD_NOT_OPENED],
            },
        .gauges =
            {
                [UDPAI_LOAD_STATS_IN_PROGRESS] = is_forgotten ? 0 : udpai_load_in_flight(read),
                [UDPAI_LOAD_STATS_ACTIVE] = is_forgotten ? 0 : udpai_load_connected(read),
            },
    };
}

/* A sum that has become infinite is no number any more, and stays none. */
static udpa_err
add_metric(udpai_load_stats *total,
           udpai_load_stats_figures *to,
           udpai_str name,
           const udpai_load_sum *read,
           udpa_error **ret_error)
{
    const udpai_load_stats_metric metric = {
        .name = name,
        .n = read->n,
        .sum = isfinite(read->sum) ? read->sum : (double)NAN,
    };
    udpai_load_stats_metric *place = NULL;
    udpa_err err = udpai_load_stats_get_metric(total, to, &metric, &place, ret_error);
    if (err == UDPA_OK)
        udpai_load_stats_metric_add(place, &metric, NULL);
    return err;
}

/* ---- places ---- */

/* To the locality, and to the endpoint that it is; NULL: it is none. */
static udpa_err
add_target(udpai_load_stats *total,
           udpai_load_stats_locality *locality,
           udpai_load_stats_endpoint *endpoint,
           const udpa_load_target *target)
{
    udpai_load_figures read;
    udpa_err err = UDPA_OK;
    udpai_load_figures_read(target, &read);
    const udpai_load_stats_figures counted = figures_of(&read, false);
    udpai_load_stats_figures_add(&locality->figures, &counted, NULL);
    udpai_load_stats_figures_add_gauges(&locality->figures, &counted);
    if (endpoint) {
        udpai_load_stats_figures_add(&endpoint->figures, &counted, NULL);
        udpai_load_stats_figures_add_gauges(&endpoint->figures, &counted);
    }
    UDPAI_LIST_FOREACH (at, &target->metrics) {
        const udpa_load_metric *metric = UDPAI_LIST_ENTRY(at, udpa_load_metric, node);
        udpai_str name = target->locality->cluster->metric_names.items[metric->name];
        udpai_load_sum sum = udpai_load_sum_read(metric);
        if (err == UDPA_OK)
            err = add_metric(total, &locality->figures, name, &sum, NULL);
        if (err == UDPA_OK && endpoint)
            err = add_metric(total, &endpoint->figures, name, &sum, NULL);
    }
    return err;
}

static int
compare_targets(const void *of_a, const void *of_b)
{
    const udpa_load_target *a = *(udpa_load_target *const *)of_a,
                           *b = *(udpa_load_target *const *)of_b;
    int order = udpai_str_cmp(a->address, b->address);
    return order ? order : (a->port > b->port) - (a->port < b->port);
}

/* In the order of endpoints in the value, so that each is added behind those before. */
static udpa_err
add_targets(udpai_load_stats *total,
            udpai_load_stats_locality *to,
            const udpai_load_locality *locality)
{
    UDPAI_VECTOR(const udpa_load_target *) targets = {0};
    udpa_err err = UDPA_OK;
    UDPAI_LIST_FOREACH (at, &locality->targets)
        if (!udpai_vector_push(&targets, UDPAI_LIST_ENTRY(at, udpa_load_target, node)))
            err = UDPA_ERR_NOMEM;
    if (targets.n)
        qsort(targets.items, targets.n, sizeof(targets.items[0]), compare_targets);
    for (size_t i = 0; i < targets.n && err == UDPA_OK; i++) {
        const udpa_load_target *target = targets.items[i];
        const udpai_load_stats_endpoint like = {.address = target->address, .port = target->port};
        udpai_load_stats_endpoint *endpoint = NULL;
        if (target->address.len)
            err = udpai_load_stats_get_endpoint(total, to, &like, &endpoint, NULL);
        if (err == UDPA_OK)
            err = add_target(total, to, endpoint, target);
    }
    udpai_vector_done(&targets);
    return err;
}

static udpa_err
add_locality(udpai_load_stats *total, const udpai_load_locality *locality)
{
    const udpai_load_stats_locality like = {
        .region = locality->region,
        .zone = locality->zone,
        .sub_zone = locality->sub_zone,
        .priority = locality->priority,
    };
    const udpai_load_stats_figures forgotten = figures_of(&locality->forgotten, true);
    udpai_load_stats_locality *to = NULL;
    udpa_err err = udpai_load_stats_get_locality(total, &like, &to, NULL);
    if (err == UDPA_OK)
        udpai_load_stats_figures_add(&to->figures, &forgotten, NULL);
    for (size_t i = 0; i < locality->n_metrics && err == UDPA_OK; i++)
        err = add_metric(total, &to->figures, locality->cluster->metric_names.items[i],
                         &locality->metrics[i], NULL);
    return err == UDPA_OK ? add_targets(total, to, locality) : err;
}

static udpa_err
add_category(udpai_load_stats *total, const udpa_load_category *category)
{
    udpai_load_stats_drop *drop = NULL;
    udpa_err err = udpai_load_stats_get_drop(total, category->name, &drop, NULL);
    if (err != UDPA_OK)
        return err;
    udpai_counters_read(&category->account, UDPAI_LOAD_N, 1, &drop->n);
    total->dropped += drop->n;
    return UDPA_OK;
}

udpa_err
udpai_load_total_read(const udpai_load_cluster *cluster, udpai_load_stats **ret_total)
{
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *total = udpai_load_stats_new(&unlimited);
    udpa_err err =
        total ? udpai_load_stats_set_text(&total->cluster, cluster->name) : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = udpai_load_stats_set_text(&total->service, cluster->service_name);
    UDPAI_LIST_FOREACH (at, &cluster->localities)
        if (err == UDPA_OK)
            err = add_locality(total, UDPAI_LIST_ENTRY(at, udpai_load_locality, node));
    UDPAI_LIST_FOREACH (at, &cluster->categories)
        if (err == UDPA_OK)
            err = add_category(total, UDPAI_LIST_ENTRY(at, udpa_load_category, node));
    if (err == UDPA_OK)
        *ret_total = UDPAI_TAKE(total);
    return err;
}
