/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define LINE_MAX_BYTES 2048
#define LIMIT_BURST 10
#define LIMIT_INTERVAL_MS 10000

#define NO_LEVEL (-1)

/* A name never changes once it is counted, so that the writer of a line reads it without a lock. */
static struct {
    char name[UDPAI_LOG_COMPONENT_MAX];
    atomic_int level; /* NO_LEVEL: as all others */
} components[UDPAI_LOG_COMPONENTS_MAX];

static atomic_size_t n_components;

static struct {
    atomic_int threshold; /* the lowest level that somebody has */
    atomic_int level;     /* of components that have none of their own */
    udpa_log_fn sink;
    void *userdata;
} log_to = {.threshold = UDPA_LOG_SILENT, .level = UDPA_LOG_SILENT};

/* NULL: it was not seen yet, and there is no room. */
static atomic_int *
level_of(const char *component)
{
    size_t n = atomic_load(&n_components);
    for (size_t i = 0; i < n; i++)
        if (strcmp(components[i].name, component) == 0)
            return &components[i].level;
    size_t len = strlen(component);
    if (n == UDPAI_LOG_COMPONENTS_MAX || len >= UDPAI_LOG_COMPONENT_MAX)
        return NULL;
    memcpy(components[n].name, component, len + 1);
    atomic_store(&components[n].level, NO_LEVEL);
    atomic_store(&n_components, n + 1);
    return &components[n].level;
}

static void
forget_components(void)
{
    size_t n = atomic_load(&n_components);
    for (size_t i = 0; i < n; i++)
        atomic_store(&components[i].level, NO_LEVEL);
}

void
udpa_log_set_sink(udpa_log_level threshold, udpa_log_fn sink, void *userdata)
{
    log_to.sink = sink;
    log_to.userdata = userdata;
    forget_components();
    atomic_store(&log_to.level, sink ? (int)threshold : UDPA_LOG_SILENT);
    atomic_store(&log_to.threshold, sink ? (int)threshold : UDPA_LOG_SILENT);
}

void
udpai_log_set_threshold(udpa_log_level threshold, const udpai_log_component_level *levels, size_t n)
{
    int lowest = (int)threshold;
    if (!log_to.sink)
        return;
    forget_components();
    for (size_t i = 0; i < n; i++) {
        atomic_int *level = level_of(levels[i].component);
        if (!level)
            continue;
        atomic_store(level, (int)levels[i].level);
        lowest = (int)levels[i].level < lowest ? (int)levels[i].level : lowest;
    }
    atomic_store(&log_to.level, (int)threshold);
    atomic_store(&log_to.threshold, lowest);
}

const char *
udpa_log_level_name(udpa_log_level level)
{
    static const char *const names[] = {"debug", "info", "warning", "error", "silent"};
    return (unsigned)level < sizeof(names) / sizeof(names[0]) ? names[level] : "?";
}

int
udpai_log_enabled(udpa_log_level level)
{
    return (int)level >= atomic_load_explicit(&log_to.threshold, memory_order_relaxed);
}

static bool
is_enabled(udpa_log_level level, const char *component)
{
    size_t n = atomic_load_explicit(&n_components, memory_order_acquire);
    for (size_t i = 0; i < n; i++) {
        int own = atomic_load_explicit(&components[i].level, memory_order_relaxed);
        if (own != NO_LEVEL && strcmp(components[i].name, component) == 0)
            return (int)level >= own;
    }
    return (int)level >= atomic_load_explicit(&log_to.level, memory_order_relaxed);
}

void
udpai_log_write(udpa_log_level level, const char *component, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list arguments;
    if (!is_enabled(level, component))
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    udpai_utf8_mend(line);        /* the cut may fall into a character */
    for (char *c = line; *c; c++) /* a peer's text must not forge further lines */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    if (log_to.sink)
        log_to.sink(level, component, line, log_to.userdata);
}

int
udpai_log_allow(udpai_log_limit *limit, uint64_t now_ms, unsigned *ret_n_suppressed)
{
    return udpai_log_allow_burst(limit, LIMIT_BURST, now_ms, ret_n_suppressed);
}

int
udpai_log_allow_burst(udpai_log_limit *limit,
                      unsigned burst,
                      uint64_t now_ms,
                      unsigned *ret_n_suppressed)
{
    *ret_n_suppressed = 0;
    if (now_ms - limit->window_start_ms >= LIMIT_INTERVAL_MS) {
        limit->window_start_ms = now_ms;
        limit->n_in_window = 0;
    }
    if (limit->n_in_window >= burst) {
        limit->n_suppressed++;
        return 0;
    }
    limit->n_in_window++;
    *ret_n_suppressed = limit->n_suppressed;
    limit->n_suppressed = 0;
    return 1;
}
