/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/log_sink.h"

#include <stdio.h>
#include <time.h>

void
udpai_log_to_stderr(udpa_log_level level,
                    const char *component,
                    const char *message,
                    void *userdata)
{
    (void)userdata;
    struct timespec now;
    struct tm utc;
    char when[32] = "";
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &utc))
        strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc);
    /* One call, one line: threads do not mix theirs. */
    fprintf(stderr, "%s.%03ldZ %s %s: %s\n", when, now.tv_nsec / 1000000,
            udpa_log_level_name(level), component, message);
}
