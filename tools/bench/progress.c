/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/progress.h"

void
udpai_load_progress_report(
    udpai_load_progress *progress, uint64_t now_ns, const char *step, size_t n, size_t n_all)
{
    if (!progress->fn || now_ns < progress->last_ns + UDPAI_LOAD_PROGRESS_NS)
        return;
    progress->last_ns = now_ns;
    progress->fn(progress->userdata, step, n, n_all);
}
