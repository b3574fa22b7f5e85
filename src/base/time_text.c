/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time_text.h"

#include <stdio.h>

#define DAY_S 86400
#define LAST_S 253402300799 /* of the year 9999 */

/* Years begin in March here, so that a leap day is the last one of its year. */
#define DAYS_BEFORE_1970 719468 /* since the 1st of March of the year 0 */
#define ERA_DAYS 146097         /* of 400 years */

void
udpai_time_text(char room[UDPAI_TIME_TEXT_SIZE], int64_t time_us)
{
    int64_t seconds = time_us > 0 ? time_us / 1000000 : 0;
    seconds = seconds < LAST_S ? seconds : LAST_S;
    unsigned days = (unsigned)(seconds / DAY_S) + DAYS_BEFORE_1970;
    unsigned rest = (unsigned)(seconds % DAY_S);
    unsigned era = days / ERA_DAYS, in_era = days % ERA_DAYS;
    unsigned year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    unsigned in_year = in_era - (365 * year + year / 4 - year / 100);
    unsigned march_month = (5 * in_year + 2) / 153;
    unsigned day = in_year - (153 * march_month + 2) / 5 + 1;
    unsigned month = march_month < 10 ? march_month + 3 : march_month - 9;
    year += 400 * era + (month <= 2);
    snprintf(room, UDPAI_TIME_TEXT_SIZE, "%04u-%02u-%02uT%02u:%02u:%02uZ", year % 10000,
             month % 100, day % 100, rest / 3600 % 100, rest / 60 % 60, rest % 60);
}
