/* SPDX-License-Identifier: Apache-2.0 */
/* Counting. A thread has meters of its own and counts in them by plain additions; any thread may
 * read them meanwhile, and is not in the way. A meter is one series: a family and the value of its
 * label. It is found once, where something begins that will be counted, and lives as long as all of
 * them. */
#ifndef UDPAI_METRICS_METERS_H
#define UDPAI_METRICS_METERS_H

#include <stdatomic.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "metrics/families.h"

/* 0: nothing is counted, so that what counting costs can be measured (meson -Dmetrics=false). */
#ifndef UDPAI_MEASURES
#define UDPAI_MEASURES 1
#endif

typedef struct udpai_meters udpai_meters;

/* The numbers are udpai_metric_n_values(). */
typedef struct udpai_meter {
    struct udpai_meter *next;
    udpai_metric metric;
    udpai_str key;
    atomic_uint_fast64_t values[];
} udpai_meter;

/* What a meter reads. */
typedef struct udpai_reading {
    udpai_metric metric;
    udpai_str label; /* the value; empty: it has none */
    const uint64_t *values;
} udpai_reading;

typedef void (*udpai_reading_fn)(void *userdata, const udpai_reading *reading);

udpa_err udpai_meters_new(udpai_meters **ret_meters);
/* When nobody reads them any more. NULL-safe. */
udpai_meters *udpai_meters_free(udpai_meters *meters);
UDPA_DEFINE_CLEANUP(udpai_meters, udpai_meters_free)
/* For its owner. Of a family without a label that is empty. Never NULL: what there is no memory for
 * is counted nowhere. */
udpai_meter *udpai_meters_get(udpai_meters *meters, udpai_metric metric, udpai_str label);
/* The one that counts nowhere. */
udpai_meter *udpai_meters_lost(const udpai_meters *meters);
/* Any thread. Each meter, in no order. */
void udpai_meters_read(const udpai_meters *meters, udpai_reading_fn visit, void *userdata);

/* ---- for the owner ---- */

/* One thread writes, so nothing is lost by not doing it in one step. */
static inline void
udpai_meter_bump(atomic_uint_fast64_t *value, uint64_t n)
{
    if (UDPAI_MEASURES)
        atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + n,
                              memory_order_relaxed);
}

static inline void
udpai_meter_add(udpai_meter *meter, uint64_t n)
{
    udpai_meter_bump(&meter->values[0], n);
}

/* For any thread, of a meter to which its owner never adds otherwise. */
static inline void
udpai_meter_add_shared(udpai_meter *meter, uint64_t n)
{
    if (UDPAI_MEASURES)
        atomic_fetch_add_explicit(&meter->values[0], n, memory_order_relaxed);
}

static inline void
udpai_meter_set(udpai_meter *meter, uint64_t value)
{
    if (UDPAI_MEASURES)
        atomic_store_explicit(&meter->values[0], value, memory_order_relaxed);
}

#define UDPAI_METRIC_RATIO_ONE 1000000 /* what a meter of a ratio has for 1 */

/* Of a ratio: so many of so many; 0: there is no limit. */
static inline void
udpai_meter_set_ratio(udpai_meter *meter, uint64_t used, uint64_t limit)
{
    double ratio = limit ? (double)used / (double)limit : 0;
    udpai_meter_set(meter, (uint64_t)(ratio * UDPAI_METRIC_RATIO_ONE));
}

/* Of a gauge, which nobody takes more from than was added. */
static inline void
udpai_meter_subtract(udpai_meter *meter, uint64_t n)
{
    udpai_meter_bump(&meter->values[0], -n);
}

/* Of a histogram. */
void udpai_meter_observe(udpai_meter *meter, uint64_t us);
/* The same so often. */
void udpai_meter_observe_many(udpai_meter *meter, uint64_t us, uint64_t n);

/* ---- from one process to another of the same program ---- */

/* Appends it to a udpai_strbuf; a udpai_reading_fn. */
void udpai_reading_encode(void *bytes, const udpai_reading *reading);
/* UDPA_ERR_MALFORMED: what comes before that was visited. */
udpa_err udpai_readings_decode(udpai_str bytes, udpai_reading_fn visit, void *userdata);

#endif
