/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/load_stats_cover.h"

/* A reporter that reports so much more seldom than others is not waited for. */
#define SELDOM 10

/* What comes by way of nodes has waited in them, now longer and now shorter. */
#define WAY_NS ((int64_t)2000000000)

static bool
is_about(int64_t off_ns, uint64_t interval_ns)
{
    int64_t most_ns = (int64_t)(interval_ns / 2) + WAY_NS;
    return off_ns <= most_ns && off_ns >= -most_ns;
}

/* A client that counts none of them one way counts them another. */
static uint64_t
requests_of(const udpai_load_stats *stats)
{
    uint64_t n = 0;
    for (size_t i = 0; stats && i < stats->localities.n; i++) {
        const uint64_t *counts = stats->localities.items[i].figures.counts;
        uint64_t n_done = counts[UDPAI_LOAD_STATS_SUCCESSFUL] + counts[UDPAI_LOAD_STATS_ERROR];
        n += counts[UDPAI_LOAD_STATS_ISSUED] > n_done ? counts[UDPAI_LOAD_STATS_ISSUED] : n_done;
    }
    return n;
}

/* For each second; what counts no requests has one in years. */
static double
rate_of(const udpai_load_stats *stats, const udpai_load_stats *known, uint64_t step_ns)
{
    uint64_t now = requests_of(stats), before = requests_of(known);
    return 1e-9 + (now > before ? (double)(now - before) * 1e9 / (double)step_ns : 0);
}

/* Times are bounded by UDPAI_LOAD_STATS_ELAPSED_MAX_NS. Its own clock measures how long counts
 * cover: how long reports are on the way varies. But one that has not counted for a while begins
 * anew. */
void
udpai_load_stats_span_take(udpai_load_stats_span *span,
                           const udpai_load_stats *stats,
                           const udpai_load_stats *known,
                           bool is_added)
{
    uint64_t before_ns = known ? known->covered_ns : 0;
    uint64_t step_ns = stats->covered_ns > before_ns ? stats->covered_ns - before_ns : 0;
    int64_t begin_ns = (int64_t)stats->at_ns - (int64_t)stats->covered_ns;
    if (stats->interval_ns)
        span->interval_ns = stats->interval_ns;
    else if (step_ns)
        span->interval_ns = step_ns;
    if (!span->has_begun)
        span->since_ns = is_added ? begin_ns : (int64_t)stats->at_ns;
    span->has_begun = true;
    if (!known || !is_about(begin_ns - span->begin_ns, span->interval_ns))
        span->begin_ns = begin_ns;
    span->covered_ns = stats->covered_ns;
    if (step_ns)
        span->rate = rate_of(stats, known, step_ns);
    span->is_there = true;
}

void
udpai_load_stats_spans_add(udpai_load_stats_spans *spans, const udpai_load_stats_span *span)
{
    if (!span->is_there || span->rate == 0)
        return;
    int64_t behind_ns = (int64_t)spans->now_ns - span->begin_ns - (int64_t)span->covered_ns;
    int64_t most_ns = (int64_t)(span->interval_ns + span->interval_ns / 2) + WAY_NS;
    if (behind_ns > most_ns) /* it is away, or counts nothing */
        behind_ns = most_ns;
    spans->rate += span->rate;
    spans->behind_ns += (double)behind_ns * span->rate;
    spans->since_ns += (double)span->since_ns * span->rate;
    if (spans->shortest_ns == 0 || span->interval_ns < spans->shortest_ns)
        spans->shortest_ns = span->interval_ns;
    if (span->interval_ns > spans->longest_ns)
        spans->longest_ns = span->interval_ns;
}

void
udpai_load_stats_cover_set(udpai_load_stats_cover *cover,
                           const udpai_load_stats_spans *spans,
                           udpai_load_stats *total)
{
    int64_t end_ns = (int64_t)spans->now_ns;
    if (spans->rate > 0) {
        end_ns -= (int64_t)(spans->behind_ns / spans->rate);
        if (!cover->has_begun)
            cover->begin_ns = (int64_t)(spans->since_ns / spans->rate);
        cover->has_begun = true;
    }
    if (cover->has_begun && end_ns - cover->begin_ns > (int64_t)cover->covered_ns)
        cover->covered_ns = (uint64_t)(end_ns - cover->begin_ns);
    bool is_mixed = spans->longest_ns / SELDOM > spans->shortest_ns;
    total->covered_ns = cover->covered_ns;
    total->interval_ns = is_mixed ? spans->shortest_ns : spans->longest_ns;
}

bool
udpai_load_stats_covers_all(const udpai_load_stats *sum, const udpai_load_stats *reported)
{
    uint64_t before_ns = reported && reported->epoch == sum->epoch ? reported->covered_ns : 0;
    uint64_t covered_ns = sum->covered_ns > before_ns ? sum->covered_ns - before_ns : 0;
    return covered_ns > 0 && covered_ns >= sum->interval_ns - sum->interval_ns / 20;
}
