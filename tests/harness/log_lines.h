/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of one component of the log, while a test looks at them. */
#ifndef UDPAI_TESTS_LOG_LINES_H
#define UDPAI_TESTS_LOG_LINES_H

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "tests/harness/test.h"

typedef struct log_lines {
    const char *component;
    size_t n;
    char text[65536];   /* those that were not looked at yet, each with its newline */
    char fields[65536]; /* of the last one: "key=value key=value" */
} log_lines;

static inline void
log_lines_take(const udpai_log_line *line, void *userdata)
{
    log_lines *self = userdata;
    size_t len = strlen(self->text), at = 0;
    if (strcmp(line->component, self->component) != 0)
        return;
    self->n++;
    snprintf(self->text + len, sizeof(self->text) - len, "%s\n", line->message);
    self->fields[0] = '\0';
    for (size_t i = 0; i < line->n_fields; i++) {
        const udpai_log_field *field = &line->fields[i];
        if (field->value.len)
            at += (size_t)snprintf(self->fields + at, sizeof(self->fields) - at, "%s%s=%.*s",
                                   at ? " " : "", udpai_log_key_name(field->key),
                                   (int)field->value.len, field->value.data);
    }
}

static inline void
log_lines_begin(log_lines *self, udpa_log_level level, const char *component)
{
    *self = (log_lines){.component = component};
    udpai_log_set_line_sink(level, log_lines_take, self);
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

/* The last line had these fields. */
static inline void
log_lines_expect_fields(const log_lines *self, const char *fields)
{
    assert_string_equal(self->fields, fields);
}

#endif
