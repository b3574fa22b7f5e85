/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines of ours. Never a key, never a resource's body. Lines that a peer can provoke go through
 * udpai_log_allow(). */
#ifndef UDPAI_LOG_H
#define UDPAI_LOG_H

#include <stddef.h>
#include <stdint.h>

#include <udpa/log.h>

#define udpai_log(level, component, ...)                                                           \
    (udpai_log_enabled(level) ? udpai_log_write((level), (component), __VA_ARGS__) : (void)0)

int udpai_log_enabled(udpa_log_level level);
#define UDPAI_LOG_COMPONENT_MAX 24 /* with its NUL */
#define UDPAI_LOG_COMPONENTS_MAX 32

typedef struct udpai_log_component_level {
    char component[UDPAI_LOG_COMPONENT_MAX];
    udpa_log_level level;
} udpai_log_component_level;

/* Another level, while everything runs, and of some components levels of their own, in the place of
 * all that were set before; without a sink nothing is written all the same. One thread at a time.
 * More than UDPAI_LOG_COMPONENTS_MAX different ones, ever, are not heeded. */
void udpai_log_set_threshold(udpa_log_level threshold,
                             const udpai_log_component_level *components,
                             size_t n_components);
void udpai_log_write(udpa_log_level level, const char *component, const char *format, ...)
    UDPA_PRINTF(3, 4);

/* At most `burst` lines per `interval_ms`; how many were left out is in the next line. */
typedef struct udpai_log_limit {
    uint64_t window_start_ms;
    unsigned n_in_window, n_suppressed;
} udpai_log_limit;

/* May a line be written at @p now_ms? Counts it either way. */
int udpai_log_allow(udpai_log_limit *limit, uint64_t now_ms, unsigned *ret_n_suppressed);
/* The same with another burst than the usual one. */
int udpai_log_allow_burst(udpai_log_limit *limit,
                          unsigned burst,
                          uint64_t now_ms,
                          unsigned *ret_n_suppressed);

#endif
