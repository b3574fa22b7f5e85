/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of one component of the log, while a test looks at them. */
#ifndef UDPAI_TESTS_LOG_LINES_H
#define UDPAI_TESTS_LOG_LINES_H

#include <stdio.h>
#include <string.h>

#include <udpa/log.h>

#include "tests/harness/test.h"

typedef struct log_lines {
    const char *component;
    size_t n;
    char text[65536]; /* those that were not looked at yet, each with its newline */
} log_lines;

static inline void
log_lines_take(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    log_lines *self = userdata;
    size_t len = strlen(self->text);
    (void)level;
    if (strcmp(component, self->component) != 0)
        return;
    self->n++;
    snprintf(self->text + len, sizeof(self->text) - len, "%s\n", message);
}

static inline void
log_lines_begin(log_lines *self, udpa_log_level level, const char *component)
{
    *self = (log_lines){.component = component};
    udpa_log_set_sink(level, log_lines_take, self);
}

static inline void
log_lines_end(void)
{
    udpa_log_set_sink(UDPA_LOG_SILENT, NULL, NULL);
}

/* These were written since the last call, and no others. */
static inline void
log_lines_expect(log_lines *self, const char *lines)
{
    assert_string_equal(self->text, lines);
    self->text[0] = '\0';
}

#endif
