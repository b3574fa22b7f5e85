/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines of ours. Never a key, never a resource's body. Lines that a peer can provoke go through
 * udpai_log_allow(). */
#ifndef UDPAI_LOG_H
#define UDPAI_LOG_H

#include <stddef.h>
#include <stdint.h>

#include <udpa/error.h>
#include <udpa/log.h>

#include "base/util.h"

#define udpai_log(level, component, ...)                                                           \
    (udpai_log_enabled(level) ? udpai_log_write((level), (component), __VA_ARGS__) : (void)0)

int udpai_log_enabled(udpa_log_level level);

/* What a line is about, for programs that read the log: its only vocabulary, so that one search
 * finds all lines about one of them (docs/guide/logs.md). */
typedef enum udpai_log_key {
    UDPAI_LOG_PEER,     /* the node id of a client or node */
    UDPAI_LOG_IDENTITY, /* the name of its certificate */
    UDPAI_LOG_ADDRESS,  /* HOST:PORT, or HOST */
    UDPAI_LOG_SOURCE,   /* the name of a source */
    UDPAI_LOG_TYPE,     /* a type URL */
    UDPAI_LOG_NAME,     /* of a resource; else the file or directory that the line is about */
    UDPAI_LOG_VERSION,  /* of a resource */
    UDPAI_LOG_CODE,     /* udpai_log_code() */
    UDPAI_LOG_KEYS,
} udpai_log_key;

typedef struct udpai_log_field {
    udpai_log_key key;
    udpai_str value; /* as it came from a peer, so of any bytes; empty: not known, and left out */
} udpai_log_field;

/* A sink cuts a value to so many bytes; nothing longer need be kept for one. */
#define UDPAI_LOG_VALUE_MAX 1024

const char *udpai_log_key_name(udpai_log_key key);
/* The value of UDPAI_LOG_CODE: the name of the gRPC status, as the peer receives it; of no error it
 * is empty. */
udpai_str udpai_log_code(const udpa_error *error);
udpai_str udpai_log_code_of(udpa_err err);

/* udpai_log() with fields, which the text has as well as far as people need them:
 *
 *     udpai_log_about(UDPA_LOG_INFO, LOG, UDPAI_ABOUT({UDPAI_LOG_SOURCE, name}),
 *                     "source %.*s: connected", UDPAI_SHOWN(name)); */
#define udpai_log_about(level, component, about, ...)                                              \
    (udpai_log_enabled(level) ? udpai_log_write_about((level), (component), about, __VA_ARGS__)    \
                              : (void)0)
#define UDPAI_ABOUT(...)                                                                           \
    (const udpai_log_field[]){__VA_ARGS__},                                                        \
        sizeof((const udpai_log_field[]){__VA_ARGS__}) / sizeof(udpai_log_field)

/* A line for a sink that takes fields. */
typedef struct udpai_log_line {
    udpa_log_level level;
    const char *component; /* static */
    const char *message;   /* what a terminal may be given, below UDPAI_LOG_MESSAGE_MAX bytes */
    const udpai_log_field *fields;
    size_t n_fields;
} udpai_log_line;

#define UDPAI_LOG_MESSAGE_MAX 2048 /* with its NUL */

/* As udpa_log_fn: any thread, several at once. */
typedef void (*udpai_log_line_fn)(const udpai_log_line *line, void *userdata);
/* In place of udpa_log_set_sink(), on the same terms. */
void udpai_log_set_line_sink(udpa_log_level threshold, udpai_log_line_fn sink, void *userdata);

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
void udpai_log_write_about(udpa_log_level level,
                           const char *component,
                           const udpai_log_field *fields,
                           size_t n_fields,
                           const char *format,
                           ...) UDPA_PRINTF(5, 6);

/* At most `burst` lines per `interval_ms`; how many were left out is in the next line. */
typedef struct udpai_log_limit {
    uint64_t window_start_ms;
    unsigned n_in_window, n_suppressed;
} udpai_log_limit;

/* " (3 more not shown)" for the end of a line; "" for 0. */
#define UDPAI_LOG_MORE_MAX 40
const char *udpai_log_more(char room[UDPAI_LOG_MORE_MAX], unsigned n_suppressed);

/* May a line be written at @p now_ms? Counts it either way. */
int udpai_log_allow(udpai_log_limit *limit, uint64_t now_ms, unsigned *ret_n_suppressed);
/* The same with another burst than the usual one. */
int udpai_log_allow_burst(udpai_log_limit *limit,
                          unsigned burst,
                          uint64_t now_ms,
                          unsigned *ret_n_suppressed);

#endif
