/* SPDX-License-Identifier: Apache-2.0 */
/* A sum, and what reporters say to it, for the tests of sums. */
#ifndef UDPAI_SUM_TEST_H
#define UDPAI_SUM_TEST_H

#include "reports/tally_sum.h"
#include "tally_test.h"

static inline udpai_tally_sum *
sum_new(uint64_t counts_from)
{
    const udpai_tally_sum_options options = {
        .cluster = UDPAI_STR("com.acme/a"),
        .node_id = UDPAI_STR("node"),
        .epoch = 1,
        .counts_from = counts_from,
    };
    udpai_tally_sum *sum = NULL;
    assert_ok(udpai_tally_sum_new(&sum, &options));
    return sum;
}

static inline udpai_tally *
says(uint64_t epoch, uint64_t n_issued, uint64_t n_in_progress)
{
    udpai_tally *tally = tally_new(epoch);
    tally_figures(tally, "eu")->counts[UDPAI_TALLY_ISSUED] = n_issued;
    tally_figures(tally, "eu")->gauges[UDPAI_TALLY_IN_PROGRESS] = n_in_progress;
    return tally;
}

static inline void
take(udpai_tally_sum *sum, const char *reporter, udpai_tally *tally)
{
    assert_ok(udpai_tally_sum_take(sum, udpai_str_from(reporter), tally, NULL));
}

static inline void
refuse(udpai_tally_sum *sum,
       const char *reporter,
       udpai_tally *tally,
       udpa_err expected,
       const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_tally_sum_take(sum, udpai_str_from(reporter), tally, &error), expected);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' is not in '%s'", words, udpa_error_message(error));
}

static inline void
expect(udpai_tally_sum *sum, uint64_t n_issued, uint64_t n_in_progress, uint64_t n_clients)
{
    const udpai_tally *total = udpai_tally_sum_total(sum, 5);
    assert_non_null(total);
    assert_int_equal(tally_count(total, "eu", UDPAI_TALLY_ISSUED), n_issued);
    assert_int_equal(tally_gauge(total, "eu", UDPAI_TALLY_IN_PROGRESS), n_in_progress);
    assert_int_equal(total->n_clients, n_clients);
}

static inline void
leave(udpai_tally_sum *sum, const char *reporter)
{
    udpai_tally_sum_leave(sum, udpai_str_from(reporter));
}

#endif
