/* SPDX-License-Identifier: Apache-2.0 */
/* How far a load is, as a line on the terminal that is removed when it is over. */
#ifndef UDPAI_BENCH_PROGRESS_LINE_H
#define UDPAI_BENCH_PROGRESS_LINE_H

#include <stddef.h>

/* A udpai_load_progress_fn without userdata. */
void udpai_bench_progress_show(void *userdata, const char *step, size_t n, size_t n_all);

#endif
