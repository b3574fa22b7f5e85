/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/fullest.h"

#define FULL 100u

unsigned
udpai_percent_of(uint64_t used, uint64_t limit)
{
    if (limit == 0)
        return 0;
    return used >= limit ? FULL : (unsigned)((double)used * FULL / (double)limit);
}

void
udpai_fullest_note(udpai_fullest *fullest, unsigned *percent, unsigned now)
{
    if (*percent)
        fullest->n[*percent]--;
    if (now)
        fullest->n[now]++;
    *percent = now;
}

unsigned
udpai_fullest_percent(const udpai_fullest *fullest)
{
    unsigned percent = FULL;
    while (percent && !fullest->n[percent])
        percent--;
    return percent;
}
