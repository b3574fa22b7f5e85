/* SPDX-License-Identifier: Apache-2.0 */
#include "base/percent.h"

bool
udpai_percent_decode(udpai_str text, char **at, udpai_str *ret_decoded)
{
    char *start = *at, *end = start;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] != '%') {
            *end++ = text.data[i];
            continue;
        }
        int high = i + 2 < text.len ? udpai_hex_value(text.data[i + 1]) : -1;
        int low = high >= 0 ? udpai_hex_value(text.data[i + 2]) : -1;
        if (low < 0)
            return false;
        *end++ = (char)(high * 16 + low);
        i += 2;
    }
    *ret_decoded = (udpai_str){start, (size_t)(end - start)};
    *at = end;
    return true;
}

static bool
is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~:@+=,!$", c));
}

void
udpai_percent_encode_segment(udpai_strbuf *buffer, udpai_str bytes)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        if (is_plain((char)c)) {
            udpai_strbuf_putc(buffer, (char)c);
            continue;
        }
        udpai_strbuf_putc(buffer, '%');
        udpai_strbuf_putc(buffer, digits[c >> 4]);
        udpai_strbuf_putc(buffer, digits[c & 15]);
    }
}
