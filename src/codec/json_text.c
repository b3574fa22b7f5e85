/* SPDX-License-Identifier: Apache-2.0 */
/* The escapes that JSON requires and no others: everything else goes through as it is. */
#include "codec/json_text.h"

#include <math.h>
#include <stdlib.h>

void
udpai_json_put_string(udpai_strbuf *out, udpai_str text)
{
    size_t start = 0;
    udpai_strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        udpai_strbuf_append(out, text.data + start, i - start);
        start = i + 1;
        if (c < 0x20)
            udpai_strbuf_printf(out, "\\u%04x", c);
        else
            udpai_strbuf_printf(out, "\\%c", c);
    }
    if (start < text.len)
        udpai_strbuf_append(out, text.data + start, text.len - start);
    udpai_strbuf_putc(out, '"');
}

static void
put_triple(char *at, const unsigned char *bytes, size_t n)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = (uint32_t)bytes[0] << 16;
    bits |= n > 1 ? (uint32_t)bytes[1] << 8 : 0;
    bits |= n > 2 ? bytes[2] : 0;
    at[0] = alphabet[bits >> 18];
    at[1] = alphabet[bits >> 12 & 63];
    at[2] = n > 1 ? alphabet[bits >> 6 & 63] : '=';
    at[3] = n > 2 ? alphabet[bits & 63] : '=';
}

void
udpai_json_put_base64(udpai_strbuf *out, udpai_str bytes)
{
    udpai_strbuf_putc(out, '"');
    char *at = udpai_strbuf_extend(out, (bytes.len + 2) / 3 * 4);
    for (size_t i = 0; at && i < bytes.len; i += 3, at += 4)
        put_triple(at, (const unsigned char *)bytes.data + i, bytes.len - i);
    udpai_strbuf_putc(out, '"');
}

bool
udpai_json_number_overflows(const char *number)
{
    return isinf(strtod(number, NULL));
}

/* Behind the quote that ends it. */
static size_t
skip_string(udpai_str json, size_t at)
{
    for (; at < json.len && json.data[at] != '"'; at++)
        at += json.data[at] == '\\';
    return at + 1;
}

bool
udpai_json_exceeds(udpai_str json, size_t n_values)
{
    size_t n = 1;
    for (size_t at = 0; at < json.len && n <= n_values;) {
        char c = json.data[at++];
        if (c == '"')
            at = skip_string(json, at);
        else
            n += c == ',' || c == ':' || c == '[' || c == '{';
    }
    return n > n_values;
}
