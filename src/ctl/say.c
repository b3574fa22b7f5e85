/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl/display.h"
#include "ctl/progress_line.h"

/* The text is composed by the C library: without memory of ours there is still something to say. */
static void
put_line(FILE *file, const char *head, const char *format, va_list arguments)
{
    char *text = NULL;
    udpai_strbuf line = {0};
    udpai_ctl_progress_line_clear();
    int len = vasprintf(&text, format, arguments);
    if (len >= 0)
        udpai_ctl_put_text(&line, (udpai_str){text, (size_t)len});
    bool has_failed = len < 0 || udpai_strbuf_failed(&line);
    fprintf(file, "%s%s\n", head,
            has_failed ? udpa_err_text(UDPA_ERR_NOMEM)
            : len      ? line.data
                       : "");
    udpai_strbuf_done(&line);
    free(text);
}

void
udpai_ctl_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_line(stdout, "", format, arguments);
    va_end(arguments);
}

void
udpai_ctl_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    put_line(stderr, "udpactl: ", format, arguments);
    va_end(arguments);
}

void
udpai_ctl_complain_of(const udpa_error *error)
{
    udpai_ctl_complain("%s", udpa_error_message(error));
}

void
udpai_ctl_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    put_line(stderr, "", format, arguments);
    va_end(arguments);
}
