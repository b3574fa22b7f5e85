/* SPDX-License-Identifier: Apache-2.0 */
/* A line on a terminal that says how far a load is, and is gone when it is over. */
#ifndef UDPAI_CTL_BENCH_PROGRESS_H
#define UDPAI_CTL_BENCH_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct udpai_bench_progress {
    bool is_shown; /* there is a line now */
} udpai_bench_progress;

/* Is there somebody who would see it? */
bool udpai_bench_progress_is_wanted(void);
/* A udpai_load_progress_fn; userdata: a udpai_bench_progress. */
void udpai_bench_progress_show(void *userdata, const char *step, size_t n, size_t n_all);
void udpai_bench_progress_end(udpai_bench_progress *progress);

#endif
