/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/utf8.h"

#define LINE_MAX_BYTES 2048
#define LIMIT_BURST 10
#define LIMIT_INTERVAL_MS 10000

static struct {
    atomic_int threshold;
    udpa_log_fn sink;
    void *userdata;
} log_to = {.threshold = UDPA_LOG_SILENT};

void
udpa_log_set_sink(udpa_log_level threshold, udpa_log_fn sink, void *userdata)
{
    log_to.sink = sink;
    log_to.userdata = userdata;
    atomic_store(&log_to.threshold, sink ? (int)threshold : UDPA_LOG_SILENT);
}

void
udpai_log_set_threshold(udpa_log_level threshold)
{
    if (log_to.sink)
        atomic_store(&log_to.threshold, (int)threshold);
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

void
udpai_log_write(udpa_log_level level, const char *component, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list arguments;
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
