/* SPDX-License-Identifier: Apache-2.0 */
/* What comes of a script: its verdict, with the reason, and its transcript. */
#include <stdarg.h>
#include <stdio.h>

#include "tools/conform/script.h"

#define TRANSCRIPT_MAX ((size_t)64 << 10) /* bytes; the rest is cut */
#define LINE_BYTES 1000

bool
udpai_is_running(const udpai_script *script)
{
    return script->verdict == UDPAI_RUNNING;
}

static void end(udpai_script *script, udpai_verdict verdict, const char *format, va_list arguments)
    UDPA_PRINTF(3, 0);

static void
end(udpai_script *script, udpai_verdict verdict, const char *format, va_list arguments)
{
    char line[LINE_BYTES];
    if (!udpai_is_running(script))
        return;
    vsnprintf(line, sizeof(line), format, arguments);
    script->verdict = verdict;
    udpai_strbuf_puts(&script->why, line);
}

void
udpai_fail_script(udpai_script *script, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end(script, UDPAI_FAILED, format, arguments);
    va_end(arguments);
}

void
udpai_skip_script(udpai_script *script, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end(script, UDPAI_SKIPPED, format, arguments);
    va_end(arguments);
}

void
udpai_transcribe(udpai_script *script, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    if (script->transcript.len > TRANSCRIPT_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    udpai_strbuf_puts(&script->transcript, line);
    udpai_strbuf_putc(&script->transcript, '\n');
    if (script->transcript.len > TRANSCRIPT_MAX)
        udpai_strbuf_puts(&script->transcript, "(the rest is left out)\n");
}
