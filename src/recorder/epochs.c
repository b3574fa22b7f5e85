/* SPDX-License-Identifier: Apache-2.0 */
/* What was counted, moved about without a loss: to a new epoch, and from a target that goes to its
 * locality. */
#include "loop/clock.h"
#include "recorder/recorder_internal.h"

static void
subtract(udpai_load_figures *from, udpai_load_figures *said)
{
    for (size_t i = 0; i < UDPAI_LOAD_FIGURES; i++)
        from->n[i] -= said->n[i];
    *said = (udpai_load_figures){{0}};
}

static void
subtract_sum(udpai_load_sum *from, udpai_load_sum *said)
{
    from->n -= said->n;
    from->sum -= said->sum;
    *said = (udpai_load_sum){0, 0};
}

static void
begin_target(udpa_load_target *target)
{
    subtract(&target->start, &target->said);
    UDPAI_LIST_FOREACH (at, &target->metrics) {
        udpa_load_metric *metric = UDPAI_LIST_ENTRY(at, udpa_load_metric, node);
        subtract_sum(&metric->start, &metric->said);
    }
}

static void
begin_locality(udpai_load_locality *locality)
{
    subtract(&locality->forgotten, &locality->said);
    for (size_t i = 0; i < locality->n_metrics; i++)
        subtract_sum(&locality->metrics[i].forgotten, &locality->metrics[i].said);
    UDPAI_LIST_FOREACH (at, &locality->targets)
        begin_target(UDPAI_LIST_ENTRY(at, udpa_load_target, node));
}

void
udpai_load_epoch_begin(udpa_load_recorder *recorder, udpai_load_cluster *cluster)
{
    int64_t now_us = udpai_wall_us();
    uint64_t epoch = now_us > 0 ? (uint64_t)now_us : 0;
    /* Another one each time, whatever the clock does. */
    recorder->last_epoch = epoch > recorder->last_epoch ? epoch : recorder->last_epoch + 1;
    cluster->epoch = recorder->last_epoch;
    cluster->epoch_ms = udpai_monotonic_ms();
    cluster->has_said_endpoints = false;
    UDPAI_LIST_FOREACH (at, &cluster->localities)
        begin_locality(UDPAI_LIST_ENTRY(at, udpai_load_locality, node));
    UDPAI_LIST_FOREACH (at, &cluster->categories) {
        udpa_load_category *category = UDPAI_LIST_ENTRY(at, udpa_load_category, node);
        category->start -= category->said;
        category->said = 0;
    }
}

static void
fold_metric(udpai_load_locality *locality, const udpa_load_metric *metric)
{
    udpai_load_sum counted = udpai_load_sum_read(metric);
    udpai_load_sum *forgotten = &locality->metrics[metric->name].forgotten;
    udpai_load_sum *said = &locality->metrics[metric->name].said;
    forgotten->n += metric->start.n + counted.n;
    forgotten->sum += metric->start.sum + counted.sum;
    said->n += metric->said.n;
    said->sum += metric->said.sum;
}

void
udpai_load_target_fold(udpa_load_target *target)
{
    udpai_load_locality *locality = target->locality;
    udpai_load_figures counted;
    udpai_load_figures_read(target, &counted);
    for (size_t i = 0; i < UDPAI_LOAD_FIGURES; i++) {
        locality->forgotten.n[i] += target->start.n[i] + counted.n[i];
        locality->said.n[i] += target->said.n[i];
    }
    UDPAI_LIST_FOREACH (at, &target->metrics)
        fold_metric(locality, UDPAI_LIST_ENTRY(at, udpa_load_metric, node));
}
