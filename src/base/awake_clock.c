/* SPDX-License-Identifier: Apache-2.0 */
#include "base/awake_clock.h"

uint64_t
udpai_awake_now(udpai_awake_clock *clock, udpai_wheel *wheel, uint64_t monotonic_ms)
{
    uint64_t now_ms = monotonic_ms - clock->held_up_ms, wanted_ms = udpai_wheel_next(wheel);
    if (wanted_ms == UDPAI_WHEEL_NEVER)
        return now_ms;
    if (wanted_ms < wheel->now_ms)
        wanted_ms = wheel->now_ms;
    if (now_ms <= wanted_ms + UDPAI_HELD_UP_MS)
        return now_ms;
    clock->held_up_ms += now_ms - wanted_ms;
    return wanted_ms;
}

uint64_t
udpai_awake_next(const udpai_awake_clock *clock, udpai_wheel *wheel)
{
    uint64_t next_ms = udpai_wheel_next(wheel);
    return next_ms == UDPAI_WHEEL_NEVER ? next_ms : next_ms + clock->held_up_ms;
}
