/* SPDX-License-Identifier: Apache-2.0 */
/* Load stats by hand, for the tests of this folder. */
#ifndef UDPAI_LOAD_STATS_TEST_H
#define UDPAI_LOAD_STATS_TEST_H

#include "reports/load_stats.h"
#include "tests/harness/test.h"

static inline udpai_load_stats *
stats_new(uint64_t epoch)
{
    udpai_load_stats *stats = udpai_load_stats_new(&udpai_load_stats_client_limits);
    assert_non_null(stats);
    stats->epoch = epoch;
    assert_ok(udpai_load_stats_set_text(&stats->cluster, UDPAI_STR("com.acme/a")));
    return stats;
}

static inline udpai_load_stats_locality *
stats_locality(udpai_load_stats *stats, const char *region, uint32_t priority)
{
    const udpai_load_stats_locality like = {.region = udpai_str_from(region), .priority = priority};
    udpai_load_stats_locality *locality = NULL;
    assert_ok(udpai_load_stats_get_locality(stats, &like, &locality, NULL));
    return locality;
}

static inline udpai_load_stats_figures *
stats_figures(udpai_load_stats *stats, const char *region)
{
    return &stats_locality(stats, region, 0)->figures;
}

static inline udpai_load_stats_endpoint *
stats_endpoint(udpai_load_stats *stats, const char *region, const char *address, uint32_t port)
{
    const udpai_load_stats_endpoint like = {.address = udpai_str_from(address), .port = port};
    udpai_load_stats_endpoint *endpoint = NULL;
    assert_ok(udpai_load_stats_get_endpoint(stats, stats_locality(stats, region, 0), &like,
                                            &endpoint, NULL));
    return endpoint;
}

static inline udpai_load_stats_metric *
stats_metric(udpai_load_stats *stats, const char *region, const char *name)
{
    const udpai_load_stats_metric like = {.name = udpai_str_from(name)};
    udpai_load_stats_metric *metric = NULL;
    assert_ok(
        udpai_load_stats_get_metric(stats, stats_figures(stats, region), &like, &metric, NULL));
    return metric;
}

static inline udpai_load_stats_drop *
stats_drop(udpai_load_stats *stats, const char *category)
{
    udpai_load_stats_drop *drop = NULL;
    assert_ok(udpai_load_stats_get_drop(stats, udpai_str_from(category), &drop, NULL));
    return drop;
}

/* What is not there counts 0. */
static inline uint64_t
stats_count(const udpai_load_stats *stats, const char *region, udpai_load_stats_count which)
{
    const udpai_load_stats_locality like = {.region = udpai_str_from(region)},
                                    *locality = udpai_load_stats_find_locality(stats, &like);
    return locality ? locality->figures.counts[which] : 0;
}

static inline uint64_t
stats_gauge(const udpai_load_stats *stats, const char *region, udpai_load_stats_gauge which)
{
    const udpai_load_stats_locality like = {.region = udpai_str_from(region)},
                                    *locality = udpai_load_stats_find_locality(stats, &like);
    return locality ? locality->figures.gauges[which] : 0;
}

/* They say the same, epoch and times included. */
static inline void
assert_same_stats(const udpai_load_stats *a, const udpai_load_stats *b)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *of_a = udpai_load_stats_encode(a);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *of_b = udpai_load_stats_encode(b);
    assert_non_null(of_a);
    assert_non_null(of_b);
    assert_int_equal(udpa_bytes_size(of_a), udpa_bytes_size(of_b));
    assert_memory_equal(udpa_bytes_data(of_a), udpa_bytes_data(of_b), udpa_bytes_size(of_a));
}

#endif
