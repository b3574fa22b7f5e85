/* SPDX-License-Identifier: Apache-2.0 */
/* Errors with a place in front; the place itself is cut where a hostile document made it long. */
#include "codec/place.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/strbuf.h"

#define PATH_PRINTED 200
#define SOURCE_PRINTED 250

static bool
is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Where to cut a text so that no character is split. */
static size_t
cut(udpai_str text, size_t max)
{
    size_t len = udpai_min_size(text.len, max);
    while (len < text.len && len > 0 && is_continuation(text.data[len]))
        len--;
    return len;
}

udpai_quoted
udpai_quote(udpai_str text)
{
    udpai_quoted quoted;
    size_t len = cut(text, UDPAI_QUOTED_MAX);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        quoted.text[i] = c < 0x20 || c == 0x7f ? ' ' : (char)c;
    }
    if (len < text.len)
        memcpy(quoted.text + len, "…", sizeof("…"));
    else
        quoted.text[len] = '\0';
    return quoted;
}

const char *
udpai_place_text(char text[UDPAI_PLACE_TEXT], const udpai_place *place)
{
    const char *source = place->source && place->source[0] ? place->source : "input";
    int len = (int)cut(udpai_str_from(source), SOURCE_PRINTED);
    if (place->line)
        snprintf(text, UDPAI_PLACE_TEXT, "%.*s:%u:%u", len, source, place->line, place->column);
    else
        snprintf(text, UDPAI_PLACE_TEXT, "%.*s", len, source);
    return text;
}

/* "where: path: "; a long path keeps its end, which has most. */
static void
put_place(udpai_strbuf *message, const udpai_place *place)
{
    char text[UDPAI_PLACE_TEXT];
    udpai_str path = place->path;
    if ((place->source && place->source[0]) || place->line)
        udpai_strbuf_printf(message, "%s: ", udpai_place_text(text, place));
    if (path.len > PATH_PRINTED) {
        size_t skip = path.len - PATH_PRINTED;
        while (skip < path.len && is_continuation(path.data[skip]))
            skip++;
        udpai_strbuf_puts(message, "…");
        path = (udpai_str){path.data + skip, path.len - skip};
    }
    if (path.len) {
        udpai_strbuf_str(message, path);
        udpai_strbuf_puts(message, ": ");
    }
}

udpa_err
udpai_fail_at(
    udpa_error **ret_error, udpa_err code, const udpai_place *place, const char *format, ...)
{
    if (!ret_error)
        return code;
    udpai_strbuf message = {0};
    char reason[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    put_place(&message, place);
    udpai_strbuf_puts(&message, reason);
    if (udpai_strbuf_failed(&message))
        udpai_fail(ret_error, code, "%s", reason);
    else
        udpai_fail(ret_error, code, "%s", message.data);
    udpai_strbuf_done(&message);
    return code;
}
