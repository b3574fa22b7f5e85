/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

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
    udpai_log_line_fn line_sink; /* of both at most one is set */
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

static bool
has_sink(void)
{
    return log_to.sink || log_to.line_sink;
}

static void
set_level(udpa_log_level threshold)
{
    forget_components();
    atomic_store(&log_to.level, has_sink() ? (int)threshold : UDPA_LOG_SILENT);
    atomic_store(&log_to.threshold, has_sink() ? (int)threshold : UDPA_LOG_SILENT);
}

void
udpa_log_set_sink(udpa_log_level threshold, udpa_log_fn sink, void *userdata)
{
    log_to.sink = sink;
    log_to.line_sink = NULL;
    log_to.userdata = userdata;
    set_level(threshold);
}

void
udpai_log_set_line_sink(udpa_log_level threshold, udpai_log_line_fn sink, void *userdata)
{
    log_to.sink = NULL;
    log_to.line_sink = sink;
    log_to.userdata = userdata;
    set_level(threshold);
}

void
udpai_log_set_threshold(udpa_log_level threshold, const udpai_log_component_level *levels, size_t n)
{
    int lowest = (int)threshold;
    if (!has_sink())
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

const char *
udpai_log_key_name(udpai_log_key key)
{
    static const char *const names[UDPAI_LOG_KEYS] = {
        [UDPAI_LOG_PEER] = "peer",       [UDPAI_LOG_IDENTITY] = "identity",
        [UDPAI_LOG_ADDRESS] = "address", [UDPAI_LOG_SOURCE] = "source",
        [UDPAI_LOG_TYPE] = "type",       [UDPAI_LOG_NAME] = "name",
        [UDPAI_LOG_VERSION] = "version", [UDPAI_LOG_CODE] = "code",
    };
    return (unsigned)key < UDPAI_LOG_KEYS ? names[key] : "?";
}

udpai_str
udpai_log_code_of(udpa_err err)
{
    static const char *const names[] = {
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    };
    int status = udpa_err_to_grpc(err);
    bool is_known = status >= 0 && (size_t)status < UDPAI_ARRAY_LEN(names);
    return udpai_str_from(is_known ? names[status] : "UNKNOWN");
}

udpai_str
udpai_log_code(const udpa_error *error)
{
    return error ? udpai_log_code_of(udpa_error_code(error)) : (udpai_str){0};
}

/* A peer's text must not forge further lines, nor do anything to a terminal. */
static void
mask_hidden(char *text)
{
    char *to = text;
    uint32_t point;
    udpai_utf8_mend(text); /* the cut may have fallen into a character */
    udpai_str rest = udpai_str_from(text);
    for (size_t len; rest.len; rest.data += len, rest.len -= len) {
        len = udpai_utf8_decode(rest, &point);
        bool is_hidden = udpai_utf8_is_hidden(point);
        memmove(to, rest.data, len);
        if (is_hidden)
            *to = point < 0xa0 ? ' ' : '?';
        to += is_hidden ? 1 : len;
    }
    *to = '\0';
}

static void write_line(const udpai_log_line *line, const char *format, va_list arguments)
    UDPA_PRINTF(2, 0);

static void
write_line(const udpai_log_line *line, const char *format, va_list arguments)
{
    char message[UDPAI_LOG_MESSAGE_MAX];
    udpai_log_line written = *line;
    vsnprintf(message, sizeof(message), format, arguments);
    mask_hidden(message);
    written.message = message;
    if (log_to.line_sink)
        log_to.line_sink(&written, log_to.userdata);
    else if (log_to.sink)
        log_to.sink(line->level, line->component, message, log_to.userdata);
}

void
udpai_log_write(udpa_log_level level, const char *component, const char *format, ...)
{
    const udpai_log_line line = {.level = level, .component = component};
    va_list arguments;
    if (!is_enabled(level, component))
        return;
    va_start(arguments, format);
    write_line(&line, format, arguments);
    va_end(arguments);
}

void
udpai_log_write_about(udpa_log_level level,
                      const char *component,
                      const udpai_log_field *fields,
                      size_t n_fields,
                      const char *format,
                      ...)
{
    const udpai_log_line line = {level, component, NULL, fields, n_fields};
    va_list arguments;
    if (!is_enabled(level, component))
        return;
    va_start(arguments, format);
    write_line(&line, format, arguments);
    va_end(arguments);
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

const char *
udpai_log_more(char room[UDPAI_LOG_MORE_MAX], unsigned n_suppressed)
{
    room[0] = '\0';
    if (n_suppressed)
        snprintf(room, UDPAI_LOG_MORE_MAX, " (%u more not shown)", n_suppressed);
    return room;
}
