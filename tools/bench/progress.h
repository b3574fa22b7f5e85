/* SPDX-License-Identifier: Apache-2.0 */
/* How far a step is, for the progress line. Pure. */
#ifndef UDPAI_BENCH_PROGRESS_H
#define UDPAI_BENCH_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#define UDPAI_LOAD_PROGRESS_NS UINT64_C(500000000) /* at least, between two reports */

/* @p n_all of 0: it is not known. */
typedef void (*udpai_load_progress_fn)(void *userdata, const char *step, size_t n, size_t n_all);

typedef struct udpai_load_progress {
    udpai_load_progress_fn fn; /* NULL: no reports */
    void *userdata;
    uint64_t last_ns;
} udpai_load_progress;

/* Reports it, unless it has just been reported. */
void udpai_load_progress_report(
    udpai_load_progress *progress, uint64_t now_ns, const char *step, size_t n, size_t n_all);

#endif
