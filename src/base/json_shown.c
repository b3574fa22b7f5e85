/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_shown.h"

#include "base/utf8.h"

static void
put_character(udpai_strbuf *out, udpai_str character, uint32_t point)
{
    if (point == '"' || point == '\\')
        udpai_strbuf_putc(out, '\\');
    if (udpai_utf8_is_hidden(point)) /* none lies above U+FFFF */
        udpai_strbuf_printf(out, "\\u%04x", (unsigned)point);
    else
        udpai_strbuf_str(out, character);
}

void
udpai_json_put_shown(udpai_strbuf *out, udpai_str text, size_t max)
{
    size_t at = 0;
    udpai_strbuf_putc(out, '"');
    while (at < text.len) {
        uint32_t point = 0;
        const udpai_str rest = {text.data + at, text.len - at};
        size_t len = udpai_utf8_decode(rest, &point);
        size_t taken = len ? len : 1;
        if (at + taken > max)
            break;
        if (len)
            put_character(out, (udpai_str){rest.data, len}, point);
        else
            udpai_strbuf_putc(out, '?');
        at += taken;
    }
    udpai_strbuf_putc(out, '"');
}
