/* SPDX-License-Identifier: Apache-2.0 */
/* A line of the log as bytes: as text, as a JSON object, as logfmt, and as journald takes it. Pure.
 *
 * Values come from peers. In every form what a terminal must not be given is escaped (in the text
 * it was replaced before), and the result is valid UTF-8: '?' stands for a byte that is none. */
#ifndef UDPAI_LOG_FORMAT_H
#define UDPAI_LOG_FORMAT_H

#include <time.h>

#include "base/log.h"

typedef enum udpai_log_format {
    UDPAI_LOG_TEXT,
    UDPAI_LOG_JSON,
    UDPAI_LOG_LOGFMT,
    UDPAI_LOG_JOURNAL, /* fields as journald's socket takes them */
} udpai_log_format;

/* No line is longer in any form: text and values grow to at most six times their size. */
#define UDPAI_LOG_ENCODED_MAX ((size_t)64 << 10)

typedef struct udpai_log_encoded {
    size_t len;
    char data[UDPAI_LOG_ENCODED_MAX];
} udpai_log_encoded;

/* Each form ends with a line end. @p when: since 1970. */
void udpai_log_encode(udpai_log_encoded *ret_encoded,
                      udpai_log_format format,
                      const udpai_log_line *line,
                      const struct timespec *when);

#endif
