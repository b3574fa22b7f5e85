/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/bench_progress.h"

#include <stdio.h>
#include <unistd.h>

#define TO_THE_BEGINNING "\r\x1b[K" /* of an empty line */

bool
udpai_bench_progress_is_wanted(void)
{
    return isatty(STDERR_FILENO);
}

void
udpai_bench_progress_show(void *userdata, const char *step, size_t n, size_t n_all)
{
    udpai_bench_progress *progress = userdata;
    progress->is_shown = true;
    fprintf(stderr, TO_THE_BEGINNING "%s: %zu", step, n);
    if (n_all)
        fprintf(stderr, " of %zu", n_all);
    fflush(stderr);
}

void
udpai_bench_progress_end(udpai_bench_progress *progress)
{
    if (progress->is_shown)
        fputs(TO_THE_BEGINNING, stderr);
    progress->is_shown = false;
}
