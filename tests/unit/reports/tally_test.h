/* SPDX-License-Identifier: Apache-2.0 */
/* Tallies by hand, for the tests of this folder. */
#ifndef UDPAI_TALLY_TEST_H
#define UDPAI_TALLY_TEST_H

#include "reports/tally.h"
#include "tests/harness/test.h"

static inline udpai_tally *
tally_new(uint64_t epoch)
{
    udpai_tally *tally = udpai_tally_new(&udpai_tally_client_limits);
    assert_non_null(tally);
    tally->epoch = epoch;
    assert_ok(udpai_tally_set_text(&tally->cluster, UDPAI_STR("com.acme/a")));
    return tally;
}

static inline udpai_tally_locality *
tally_locality(udpai_tally *tally, const char *region, uint32_t priority)
{
    const udpai_tally_locality like = {.region = udpai_str_from(region), .priority = priority};
    udpai_tally_locality *locality = NULL;
    assert_ok(udpai_tally_get_locality(tally, &like, &locality, NULL));
    return locality;
}

static inline udpai_tally_figures *
tally_figures(udpai_tally *tally, const char *region)
{
    return &tally_locality(tally, region, 0)->figures;
}

static inline udpai_tally_endpoint *
tally_endpoint(udpai_tally *tally, const char *region, const char *address, uint32_t port)
{
    const udpai_tally_endpoint like = {.address = udpai_str_from(address), .port = port};
    udpai_tally_endpoint *endpoint = NULL;
    assert_ok(
        udpai_tally_get_endpoint(tally, tally_locality(tally, region, 0), &like, &endpoint, NULL));
    return endpoint;
}

static inline udpai_tally_metric *
tally_metric(udpai_tally *tally, const char *region, const char *name)
{
    const udpai_tally_metric like = {.name = udpai_str_from(name)};
    udpai_tally_metric *metric = NULL;
    assert_ok(udpai_tally_get_metric(tally, tally_figures(tally, region), &like, &metric, NULL));
    return metric;
}

static inline udpai_tally_drop *
tally_drop(udpai_tally *tally, const char *category)
{
    udpai_tally_drop *drop = NULL;
    assert_ok(udpai_tally_get_drop(tally, udpai_str_from(category), &drop, NULL));
    return drop;
}

/* What is not there counts 0. */
static inline uint64_t
tally_count(const udpai_tally *tally, const char *region, udpai_tally_count which)
{
    const udpai_tally_locality like = {.region = udpai_str_from(region)},
                               *locality = udpai_tally_find_locality(tally, &like);
    return locality ? locality->figures.counts[which] : 0;
}

static inline uint64_t
tally_gauge(const udpai_tally *tally, const char *region, udpai_tally_gauge which)
{
    const udpai_tally_locality like = {.region = udpai_str_from(region)},
                               *locality = udpai_tally_find_locality(tally, &like);
    return locality ? locality->figures.gauges[which] : 0;
}

/* They say the same, epoch and times included. */
static inline void
assert_same_tally(const udpai_tally *a, const udpai_tally *b)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *of_a = udpai_tally_encode(a);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *of_b = udpai_tally_encode(b);
    assert_non_null(of_a);
    assert_non_null(of_b);
    assert_int_equal(udpa_bytes_size(of_a), udpa_bytes_size(of_b));
    assert_memory_equal(udpa_bytes_data(of_a), udpa_bytes_data(of_b), udpa_bytes_size(of_a));
}

#endif
