/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/timing.h"

#include <stdio.h>

enum {
    CONNECT_GRACE,
    SYNC_TIMEOUT,
    CYCLE_TIMEOUT,
    FIRST_ANSWER_TIMEOUT,
    HAND_BACK_DELAY,
    BACKOFF_BASE,
    BACKOFF_MAX,
    INTEREST_LINGER,
    FAIL_OVER_SPREAD,
    RECOVER_TIMEOUT,
    N_TIMES
};

/* Everything is counted in milliseconds. A wait may be half of the backoff, and a node must never
 * dial more than a hundred times a second. */
#define SHORTEST_MS 1
#define SHORTEST_BACKOFF_MS 20

static const struct rule {
    const char *field;
    size_t offset;
    uint64_t min_ms;
} rules[N_TIMES] = {

#define RULE(name, min_ms)                                                                         \
    {                                                                                              \
#name, offsetof(Udpa__Config__V1__Timing, name), min_ms                                    \
    }
    [CONNECT_GRACE] = RULE(connect_grace, SHORTEST_MS),
    [SYNC_TIMEOUT] = RULE(sync_timeout, SHORTEST_MS),
    [CYCLE_TIMEOUT] = RULE(cycle_timeout, SHORTEST_MS),
    [FIRST_ANSWER_TIMEOUT] = RULE(first_answer_timeout, 0),
    [HAND_BACK_DELAY] = RULE(hand_back_delay, SHORTEST_MS),
    [BACKOFF_BASE] = RULE(backoff_base, SHORTEST_BACKOFF_MS),
    [BACKOFF_MAX] = RULE(backoff_max, SHORTEST_BACKOFF_MS),
    [INTEREST_LINGER] = RULE(interest_linger, SHORTEST_MS),
    [FAIL_OVER_SPREAD] = RULE(fail_over_spread, 0),
    [RECOVER_TIMEOUT] = RULE(recover_timeout, SHORTEST_MS),
#undef RULE
};

static uint64_t *
time_of(udpai_endpoint_settings *settings, int which)
{
    udpai_node_timing *node = &settings->node.timing;
    uint64_t *const times[N_TIMES] = {
        [CONNECT_GRACE] = &node->connect_grace_ms,
        [SYNC_TIMEOUT] = &node->sync_timeout_ms,
        [CYCLE_TIMEOUT] = &settings->fanout.cycle_timeout_ms,
        [FIRST_ANSWER_TIMEOUT] = &settings->fanout.first_answer_timeout_ms,
        [HAND_BACK_DELAY] = &node->hand_back_delay_ms,
        [BACKOFF_BASE] = &node->backoff_base_ms,
        [BACKOFF_MAX] = &node->backoff_max_ms,
        [INTEREST_LINGER] = &node->interest_linger_ms,
        [FAIL_OVER_SPREAD] = &node->fail_over_spread_ms,
        [RECOVER_TIMEOUT] = &node->recover_timeout_ms,
    };
    return times[which];
}

/* NULL: not given. */
static const Google__Protobuf__Duration *
given(const Udpa__Config__V1__Timing *timing, int which)
{
    if (!timing)
        return NULL;
    const char *field = (const char *)timing + rules[which].offset;
    return *(const Google__Protobuf__Duration *const *)(const void *)field;
}

static bool
is_long_enough(const Google__Protobuf__Duration *duration, int which, uint64_t *ret_ms)
{
    if (duration->seconds < 0 || duration->nanos < 0)
        return false;
    *ret_ms = (uint64_t)duration->seconds * 1000 + (uint64_t)duration->nanos / 1000000;
    return *ret_ms >= rules[which].min_ms;
}

void
udpai_timing_set(udpai_endpoint_settings *settings, const Udpa__Config__V1__Timing *timing)
{
    for (int i = 0; i < N_TIMES; i++) {
        const Google__Protobuf__Duration *duration = given(timing, i);
        uint64_t ms;
        if (duration && is_long_enough(duration, i, &ms))
            *time_of(settings, i) = ms;
    }
}

/* ---- checking ---- */

static double
seconds(uint64_t ms)
{
    return (double)ms / 1000;
}

static void
check_length(const Udpa__Config__V1__Timing *timing, int which, udpai_diagnostics *diagnostics)
{
    const Google__Protobuf__Duration *duration = given(timing, which);
    char path[UDPAI_FIELD_PATH_MAX];
    uint64_t ms;
    if (duration && !is_long_enough(duration, which, &ms))
        udpai_diagnostics_error(diagnostics, udpai_path_field(path, "timing", rules[which].field),
                                "%gs is too short: it must be at least %gs",
                                (double)duration->seconds + (double)duration->nanos / 1e9,
                                seconds(rules[which].min_ms));
}

/* Told where the file has one of the two. */
static void
check_order(const Udpa__Config__V1__Timing *timing,
            int shorter,
            int longer,
            bool may_be_equal,
            udpai_diagnostics *diagnostics)
{
    udpai_endpoint_settings settings;
    char path[UDPAI_FIELD_PATH_MAX];
    udpai_endpoint_settings_init(&settings);
    udpai_timing_set(&settings, timing);
    uint64_t a = *time_of(&settings, shorter), b = *time_of(&settings, longer);
    if (a < b || (may_be_equal && a == b))
        return;
    udpai_path_field(path, "timing", rules[given(timing, longer) ? longer : shorter].field);
    udpai_diagnostics_error(diagnostics, path, "%s, %gs, must be %s %s, %gs", rules[longer].field,
                            seconds(b), may_be_equal ? "at least" : "above", rules[shorter].field,
                            seconds(a));
}

void
udpai_timing_check(const Udpa__Config__V1__Timing *timing, udpai_diagnostics *diagnostics)
{
    size_t n_before = diagnostics->n_mistakes;
    for (int i = 0; i < N_TIMES; i++)
        check_length(timing, i, diagnostics);
    if (diagnostics->n_mistakes > n_before)
        return;
    check_order(timing, BACKOFF_BASE, BACKOFF_MAX, true, diagnostics);
    check_order(timing, SYNC_TIMEOUT, CYCLE_TIMEOUT, false, diagnostics);
}
