/* SPDX-License-Identifier: Apache-2.0 */
/* An aggregate, and what reporters say to it, for the tests of aggregates. */
#ifndef UDPAI_SUM_TEST_H
#define UDPAI_SUM_TEST_H

#include "load_stats_test.h"
#include "reports/load_aggregate.h"

static inline udpai_load_aggregate *
aggregate_new(uint64_t counts_from)
{
    const udpai_load_aggregate_options options = {
        .cluster = UDPAI_STR("com.acme/a"),
        .node_id = UDPAI_STR("node"),
        .epoch = 1,
        .counts_from = counts_from,
    };
    udpai_load_aggregate *aggregate = NULL;
    assert_ok(udpai_load_aggregate_new(&aggregate, &options));
    return aggregate;
}

static inline udpai_load_stats *
says(uint64_t epoch, uint64_t n_issued, uint64_t n_in_progress)
{
    udpai_load_stats *stats = stats_new(epoch);
    stats_figures(stats, "eu")->counts[UDPAI_LOAD_STATS_ISSUED] = n_issued;
    stats_figures(stats, "eu")->gauges[UDPAI_LOAD_STATS_IN_PROGRESS] = n_in_progress;
    return stats;
}

static inline void
take(udpai_load_aggregate *aggregate, const char *reporter, udpai_load_stats *stats)
{
    assert_ok(udpai_load_aggregate_take(aggregate, udpai_str_from(reporter), stats, NULL));
}

static inline void
refuse(udpai_load_aggregate *aggregate,
       const char *reporter,
       udpai_load_stats *stats,
       udpa_err expected,
       const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_load_aggregate_take(aggregate, udpai_str_from(reporter), stats, &error),
                     expected);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' is not in '%s'", words, udpa_error_message(error));
}

static inline void
expect(udpai_load_aggregate *aggregate,
       uint64_t n_issued,
       uint64_t n_in_progress,
       uint64_t n_clients)
{
    const udpai_load_stats *total = udpai_load_aggregate_total(aggregate, 5);
    assert_non_null(total);
    assert_int_equal(stats_count(total, "eu", UDPAI_LOAD_STATS_ISSUED), n_issued);
    assert_int_equal(stats_gauge(total, "eu", UDPAI_LOAD_STATS_IN_PROGRESS), n_in_progress);
    assert_int_equal(total->n_clients, n_clients);
}

static inline void
leave(udpai_load_aggregate *aggregate, const char *reporter)
{
    udpai_load_aggregate_leave(aggregate, udpai_str_from(reporter));
}

#endif
