/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file log.h
 * Where the library's log lines go. Without a sink the library logs nothing.
 */
#ifndef UDPA_LOG_H
#define UDPA_LOG_H

#include <udpa/macros.h>

UDPA_BEGIN_DECLS

/** How much a line matters. */
typedef enum udpa_log_level {
    UDPA_LOG_DEBUG = 0,
    UDPA_LOG_INFO = 1,
    UDPA_LOG_WARNING = 2,
    UDPA_LOG_ERROR = 3,
    UDPA_LOG_SILENT = 4 /**< as a threshold: nothing */
} udpa_log_level;

/** Receives one line.
 * @param level     of the line.
 * @param component part of the library, such as "session"; static.
 * @param message   one line without a line end; borrowed.
 * @param userdata  as given to udpa_log_set_sink().
 * Runs on any thread, possibly on several at once; must not call the library.
 */
typedef void (*udpa_log_fn)(udpa_log_level level,
                            const char *component,
                            const char *message,
                            void *userdata);

/** Set the process's one sink. Call it before the first node is made.
 * @param threshold lines below it are not made at all.
 * @param sink      NULL for silence.
 * @param userdata  handed to @p sink.
 * @thread before any other call   @since 0.1
 */
UDPA_API void udpa_log_set_sink(udpa_log_level threshold, udpa_log_fn sink, void *userdata);

/** Name of a level: "debug", "info", "warning", "error", "silent".
 * @return a static string; "?" for a value that is no level.
 * @thread any   @since 0.1
 */
UDPA_API const char *udpa_log_level_name(udpa_log_level level);

UDPA_END_DECLS

#endif
