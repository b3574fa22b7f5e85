/* SPDX-License-Identifier: Apache-2.0 */
/* Counting, which is done for every request, and reading what was counted. */
#include <math.h>

#include "recorder/recorder_internal.h"

void
udpa_load_request_started(udpa_load_target *target)
{
    udpai_counters_count(&target->account, UDPAI_LOAD_STARTED);
}

void
udpa_load_request_succeeded(udpa_load_target *target)
{
    udpai_counters_count(&target->account, UDPAI_LOAD_SUCCEEDED);
}

void
udpa_load_request_failed(udpa_load_target *target)
{
    udpai_counters_count(&target->account, UDPAI_LOAD_FAILED);
}

void
udpa_load_connection_opened(udpa_load_target *target)
{
    udpai_counters_count(&target->account, UDPAI_LOAD_OPENED);
}

void
udpa_load_connection_failed(udpa_load_target *target)
{
    udpai_counters_count(&target->account, UDPAI_LOAD_NOT_OPENED);
}

void
udpa_load_connection_closed(udpa_load_target *target)
{
    udpai_counters_count(&target->account, UDPAI_LOAD_CLOSED);
}

void
udpa_load_request_dropped(udpa_load_category *category)
{
    udpai_counters_count(&category->account, UDPAI_LOAD_N);
}

void
udpa_load_measured(udpa_load_metric *metric, double value)
{
    if (!isfinite(value))
        return;
    udpai_counters_add(&metric->account, UDPAI_LOAD_SUM, value);
    udpai_counters_count(&metric->account, UDPAI_LOAD_N);
}

/* ---- reading ---- */

/* The ends first: then what has ended is seen to have begun. */
void
udpai_load_figures_read(const udpa_load_target *target, udpai_load_figures *ret_figures)
{
    *ret_figures = (udpai_load_figures){{0}};
    udpai_counters_read(&target->account, 0, UDPAI_LOAD_STARTED, ret_figures->n);
    udpai_counters_read(&target->account, UDPAI_LOAD_STARTED,
                        UDPAI_LOAD_FIGURES - UDPAI_LOAD_STARTED,
                        ret_figures->n + UDPAI_LOAD_STARTED);
}

udpai_load_sum
udpai_load_sum_read(const udpa_load_metric *metric)
{
    udpai_load_sum sum = {0, 0};
    udpai_counters_read(&metric->account, UDPAI_LOAD_N, 1, &sum.n);
    sum.sum = udpai_counters_read_sum(&metric->account, UDPAI_LOAD_SUM);
    return sum;
}

static uint64_t
less(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

uint64_t
udpai_load_in_flight(const udpai_load_figures *figures)
{
    return less(figures->n[UDPAI_LOAD_STARTED],
                figures->n[UDPAI_LOAD_SUCCEEDED] + figures->n[UDPAI_LOAD_FAILED]);
}

uint64_t
udpai_load_connected(const udpai_load_figures *figures)
{
    return less(figures->n[UDPAI_LOAD_OPENED], figures->n[UDPAI_LOAD_CLOSED]);
}

void
udpa_load_target_read(const udpa_load_target *target, udpa_load_figures *ret_figures)
{
    udpai_load_figures read;
    udpai_load_figures_read(target, &read);
    const udpa_load_figures figures = {
        .struct_size = ret_figures->struct_size,
        .n_requests_started = read.n[UDPAI_LOAD_STARTED],
        .n_requests_succeeded = read.n[UDPAI_LOAD_SUCCEEDED],
        .n_requests_failed = read.n[UDPAI_LOAD_FAILED],
        .n_requests_in_flight = udpai_load_in_flight(&read),
        .n_connections_opened = read.n[UDPAI_LOAD_OPENED],
        .n_connections_failed = read.n[UDPAI_LOAD_NOT_OPENED],
        .n_connections_open = udpai_load_connected(&read),
    };
    /* As much of it as the caller knows. */
    memcpy(ret_figures, &figures, udpai_min_size(figures.struct_size, sizeof(figures)));
}
