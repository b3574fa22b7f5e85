/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"

static bool
reserve(udpai_strbuf *buffer, size_t more)
{
    size_t needed;
    if (buffer->failed || __builtin_add_overflow(buffer->len, more, &needed) ||
        __builtin_add_overflow(needed, 1, &needed)) {
        buffer->failed = true;
        return false;
    }
    if (needed <= buffer->capacity)
        return true;
    size_t grown = udpai_max_size(udpai_max_size(buffer->capacity * 2, 64), needed);
    char *data = udpai_realloc_array(buffer->data, grown, 1);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = grown;
    return true;
}

void *
udpai_strbuf_extend(udpai_strbuf *buffer, size_t len)
{
    if (!reserve(buffer, len))
        return NULL;
    void *room = buffer->data + buffer->len;
    buffer->len += len;
    buffer->data[buffer->len] = '\0';
    return room;
}

void
udpai_strbuf_append(udpai_strbuf *buffer, const void *data, size_t len)
{
    void *room = udpai_strbuf_extend(buffer, len);
    if (room && len)
        memcpy(room, data, len);
}

void
udpai_strbuf_str(udpai_strbuf *buffer, udpai_str text)
{
    udpai_strbuf_append(buffer, text.data, text.len);
}

void
udpai_strbuf_puts(udpai_strbuf *buffer, const char *text)
{
    udpai_strbuf_append(buffer, text, strlen(text));
}

void
udpai_strbuf_putc(udpai_strbuf *buffer, char c)
{
    udpai_strbuf_append(buffer, &c, 1);
}

void
udpai_strbuf_printf(udpai_strbuf *buffer, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int len = vsnprintf(NULL, 0, format, arguments);
    if (len < 0) {
        buffer->failed = true;
    } else if (reserve(buffer, (size_t)len)) {
        vsnprintf(buffer->data + buffer->len, (size_t)len + 1, format, again);
        buffer->len += (size_t)len;
    }
    va_end(again);
    va_end(arguments);
}

bool
udpai_strbuf_failed(const udpai_strbuf *buffer)
{
    return buffer->failed;
}

char *
udpai_strbuf_take(udpai_strbuf *buffer)
{
    char *data = NULL;
    if (reserve(buffer, 0)) {
        data = buffer->data;
        data[buffer->len] = '\0';
        buffer->data = NULL;
    }
    udpai_strbuf_done(buffer);
    return data;
}

void
udpai_strbuf_done(udpai_strbuf *buffer)
{
    udpai_free(buffer->data);
    *buffer = (udpai_strbuf){0};
}
