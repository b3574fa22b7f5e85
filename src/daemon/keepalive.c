/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/keepalive.h"

#include "daemon/option_rules.h"

#define DAY_MS ((uint64_t)24 * 3600 * 1000)
#define HOUR_MS ((uint64_t)3600 * 1000)
/* A node takes them 2 s apart. */
#define INTERVAL_MIN_MS 2000
#define TIMEOUT_MIN_MS 100

/* 0: below all bounds. */
static uint64_t
ms_of(const Google__Protobuf__Duration *time)
{
    if (time->seconds < 0 || time->nanos < 0)
        return 0;
    if ((uint64_t)time->seconds > DAY_MS / 1000)
        return UINT64_MAX;
    return (uint64_t)time->seconds * 1000 + (uint64_t)time->nanos / 1000000;
}

static void
check_time(const Google__Protobuf__Duration *time,
           uint64_t min_ms,
           uint64_t max_ms,
           const char *path,
           udpai_diagnostics *diagnostics)
{
    if (time && (ms_of(time) < min_ms || ms_of(time) > max_ms))
        udpai_diagnostics_error(diagnostics, path, "must lie between %g s and %g s",
                                (double)min_ms / 1000, (double)max_ms / 1000);
}

void
udpai_keepalive_check(const Udpa__Config__V1__Keepalive *from,
                      const char *path,
                      udpai_diagnostics *diagnostics)
{
    char room[UDPAI_FIELD_PATH_MAX], field[UDPAI_FIELD_PATH_MAX];
    if (!from)
        return;
    udpai_path_field(room, path, "keepalive");
    check_time(from->interval, INTERVAL_MIN_MS, DAY_MS, udpai_path_field(field, room, "interval"),
               diagnostics);
    check_time(from->timeout, TIMEOUT_MIN_MS, HOUR_MS, udpai_path_field(field, room, "timeout"),
               diagnostics);
}

static uint64_t
bounded(const Google__Protobuf__Duration *time,
        uint64_t min_ms,
        uint64_t max_ms,
        uint64_t otherwise_ms)
{
    uint64_t ms = time ? ms_of(time) : otherwise_ms;
    if (!time)
        return ms;
    return ms < min_ms ? min_ms : ms > max_ms ? max_ms : ms;
}

udpai_keepalive
udpai_keepalive_of(const Udpa__Config__V1__Keepalive *from, udpai_keepalive otherwise)
{
    if (!from)
        return otherwise;
    return (udpai_keepalive){
        .interval_ms = bounded(from->interval, INTERVAL_MIN_MS, DAY_MS, otherwise.interval_ms),
        .timeout_ms = bounded(from->timeout, TIMEOUT_MIN_MS, HOUR_MS, otherwise.timeout_ms),
    };
}
