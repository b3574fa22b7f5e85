/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/keepalive.h"

#include "daemon/sections.h"

#define DAY_MS ((uint64_t)24 * 3600 * 1000)
#define HOUR_MS ((uint64_t)3600 * 1000)
/* A node takes them 2 s apart. */
#define INTERVAL_MIN_MS 2000
#define TIMEOUT_MIN_MS 100

static const udpai_field fields[] = {
    {.name = "interval", .min = INTERVAL_MIN_MS, .max = DAY_MS},
    {.name = "timeout", .min = TIMEOUT_MIN_MS, .max = HOUR_MS},
};

const udpai_section udpai_section_keepalive = {UDPAI_SECTION(keepalive, fields)};

/* 0: below all bounds. */
static uint64_t
ms_of(const Google__Protobuf__Duration *time)
{
    if (time->seconds < 0 || time->nanos < 0)
        return 0;
    return (uint64_t)time->seconds > DAY_MS / 1000 ? UINT64_MAX : udpai_duration_ms(time);
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
