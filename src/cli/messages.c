/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/messages.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/display.h"
#include "cli/progress_line.h"

static void
put_line(FILE *file, const char *program, const char *colon, const char *format, va_list arguments)
    UDPA_PRINTF(4, 0);

/* The text is composed by the C library: without memory of ours there is still something to print.
 */
static void
put_line(FILE *file, const char *program, const char *colon, const char *format, va_list arguments)
{
    char *text = NULL;
    udpai_strbuf line = {0};
    udpai_cli_progress_line_clear();
    int len = vasprintf(&text, format, arguments);
    if (len >= 0)
        udpai_cli_put_text(&line, (udpai_str){text, (size_t)len});
    bool has_failed = len < 0 || udpai_strbuf_failed(&line);
    fprintf(file, "%s%s%s\n", program, colon,
            has_failed ? udpa_err_text(UDPA_ERR_NOMEM)
            : len      ? line.data
                       : "");
    udpai_strbuf_done(&line);
    free(text);
}

void
udpai_cli_print_line(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_line(stdout, "", "", format, arguments);
    va_end(arguments);
}

void
udpai_cli_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    put_line(stderr, program_invocation_short_name, ": ", format, arguments);
    va_end(arguments);
}

void
udpai_cli_complain_of(const udpa_error *error)
{
    udpai_cli_complain("%s", udpa_error_message(error));
}

void
udpai_cli_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    put_line(stderr, "", "", format, arguments);
    va_end(arguments);
}
