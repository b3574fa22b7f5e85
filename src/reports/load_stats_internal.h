/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of load stats, and writing them, for the files that do it. */
#ifndef UDPAI_LOAD_STATS_INTERNAL_H
#define UDPAI_LOAD_STATS_INTERNAL_H

#include <float.h>

#include "reports/load_stats.h"

/* ---- arithmetic of one number: nothing wraps, and no sum becomes infinite ---- */

static inline void
udpai_load_stats_subtract(uint64_t *from, uint64_t n)
{
    *from -= n < *from ? n : *from;
}

static inline double
udpai_load_stats_bound(double sum)
{
    return sum > DBL_MAX ? DBL_MAX : sum < -DBL_MAX ? -DBL_MAX : sum;
}

/* ---- writing ---- */

/* A message in a message. */
void udpai_load_stats_put_nested(udpai_proto_writer *writer,
                                 uint32_t number,
                                 udpai_proto_put_fn put,
                                 const void *what);
/* uint64_t: the fields of a google.protobuf.Duration. */
void udpai_load_stats_put_nanoseconds(udpai_proto_writer *writer, const void *what);
/* udpai_load_stats_drop: as both protocols have it. */
void udpai_load_stats_put_drop(udpai_proto_writer *writer, const void *what);

#endif
