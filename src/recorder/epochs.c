/* SPDX-License-Identifier: Apache-2.0 */
/* What was counted, moved about without a loss: to a new epoch, and from a target that goes to its
 * locality. */
#include "loop/clock.h"
#include "recorder/recorder_internal.h"

void
udpai_load_epoch_begin(udpa_load_recorder *recorder, udpai_load_cluster *cluster)
{
    cluster->epoch = udpai_load_epoch_next(&recorder->last_epoch, udpai_wall_us());
    cluster->epoch_ms = udpai_monotonic_ms();
    cluster->has_reported_endpoints = false;
    if (!cluster->reported)
        return;
    udpai_load_stats_free(cluster->before);
    cluster->before = UDPAI_TAKE(cluster->reported);
}

/* Should there be such an endpoint again, it counts from 0. */
static void
forget_endpoint(udpai_load_stats *of, const udpa_load_target *target)
{
    const udpai_load_locality *locality = target->locality;
    const udpai_load_stats_locality place = {
        .region = locality->region,
        .zone = locality->zone,
        .sub_zone = locality->sub_zone,
        .priority = locality->priority,
    };
    const udpai_load_stats_endpoint endpoint = {.address = target->address, .port = target->port};
    if (of)
        udpai_load_stats_forget_endpoint(of, &place, &endpoint);
}

void
udpai_load_target_fold(udpa_load_target *target)
{
    udpai_load_locality *locality = target->locality;
    udpai_load_figures counted;
    udpai_load_figures_read(target, &counted);
    for (size_t i = 0; i < UDPAI_LOAD_FIGURES; i++)
        locality->forgotten.n[i] += counted.n[i];
    UDPAI_LIST_FOREACH (at, &target->metrics) {
        const udpa_load_metric *metric = UDPAI_LIST_ENTRY(at, udpa_load_metric, node);
        udpai_load_sum sum = udpai_load_sum_read(metric);
        locality->metrics[metric->name].n += sum.n;
        locality->metrics[metric->name].sum += sum.sum;
    }
    forget_endpoint(locality->cluster->before, target);
    forget_endpoint(locality->cluster->reported, target);
}
