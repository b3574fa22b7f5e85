/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/duration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t
udpai_ctl_seconds_of(const char *text, uint64_t max_s)
{
    static const struct {
        char unit;
        uint64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};

    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || errno || number > max_s || strlen(end) != 1)
        return 0;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (*end == units[i].unit && number * units[i].seconds <= max_s)
            return number * units[i].seconds;
    return 0;
}
