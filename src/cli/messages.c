/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/messages.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/display.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"

#define RED "\x1b[1;31m"
#define PLAIN "\x1b[0m"

static void put_line(FILE *file, const char *program, const char *format, va_list arguments)
    UDPA_PRINTF(3, 0);

/* Of a complaint, so that it is found among other lines. */
static void
put_program(FILE *file, const char *program)
{
    bool is_colored = udpai_cli_terminal_has_colors(fileno(file));
    fprintf(file, "%s%s:%s ", is_colored ? RED : "", program, is_colored ? PLAIN : "");
}

/* The text is composed by the C library: without memory of ours there is still something to print.
 */
static void
put_line(FILE *file, const char *program, const char *format, va_list arguments)
{
    char *text = NULL;
    udpai_strbuf line = {0};
    udpai_cli_progress_line_clear();
    int len = vasprintf(&text, format, arguments);
    if (len >= 0)
        udpai_cli_put_text(&line, (udpai_str){text, (size_t)len});
    bool has_failed = len < 0 || udpai_strbuf_failed(&line);
    if (program)
        put_program(file, program);
    fprintf(file, "%s\n", has_failed ? udpa_err_text(UDPA_ERR_NOMEM) : len ? line.data : "");
    udpai_strbuf_done(&line);
    free(text);
}

void
udpai_cli_print_line(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_line(stdout, NULL, format, arguments);
    va_end(arguments);
}

void
udpai_cli_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    put_line(stderr, program_invocation_short_name, format, arguments);
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
    put_line(stderr, NULL, format, arguments);
    va_end(arguments);
}
