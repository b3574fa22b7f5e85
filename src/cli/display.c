/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/display.h"

#include "base/utf8.h"
#include "cli/display_ranges.h"

#define ELLIPSIS "…"
#define DIGEST_MIN 16 /* hexadecimal digits; what is shorter need not be cut */
#define DIGEST_PRINTED 12

/* ---- characters ---- */

/* The first character of text that is not empty; a byte that begins none is one. */
static udpai_str
next(udpai_str text, uint32_t *ret_point)
{
    size_t len = udpai_utf8_decode(text, ret_point);
    if (len == 0)
        *ret_point = UINT32_MAX;
    return (udpai_str){text.data, len ? len : 1};
}

static bool
is_hidden(uint32_t point)
{
    return point == UINT32_MAX || udpai_utf8_is_hidden(point);
}

static size_t
width_of(uint32_t point)
{
    if (point < 0x80 || is_hidden(point))
        return 1;
    if (udpai_cli_is_zero_width(point))
        return 0;
    return udpai_cli_is_wide(point) ? 2 : 1;
}

static udpai_str
behind(udpai_str text, size_t n)
{
    return (udpai_str){text.data + n, text.len - n};
}

/* ---- masking ---- */

static void
put_masked(udpai_strbuf *out, udpai_str text, const char *allowed)
{
    while (text.len) {
        uint32_t point;
        udpai_str character = next(text, &point);
        bool is_printed =
            !is_hidden(point) || (point && point < 0x20 && strchr(allowed, (int)point));
        udpai_strbuf_str(out, is_printed ? character : UDPAI_STR("?"));
        text = behind(text, character.len);
    }
}

void
udpai_cli_put_text(udpai_strbuf *out, udpai_str text)
{
    put_masked(out, text, "");
}

void
udpai_cli_put_lines(udpai_strbuf *out, udpai_str text)
{
    put_masked(out, text, "\n\t");
}

/* ---- columns ---- */

size_t
udpai_cli_display_width(udpai_str text)
{
    size_t width = 0;
    while (text.len) {
        uint32_t point;
        size_t len = next(text, &point).len;
        width += width_of(point);
        text = behind(text, len);
    }
    return width;
}

/* The front of it that takes at most so many columns. */
static udpai_str
front(udpai_str text, size_t n_columns, size_t *ret_width)
{
    udpai_str rest = text;
    *ret_width = 0;
    while (rest.len) {
        uint32_t point;
        size_t len = next(rest, &point).len, width = width_of(point);
        if (*ret_width + width > n_columns)
            break;
        *ret_width += width;
        rest = behind(rest, len);
    }
    return (udpai_str){text.data, text.len - rest.len};
}

size_t
udpai_cli_put_cut(udpai_strbuf *out, udpai_str text, size_t n_columns)
{
    size_t width = udpai_cli_display_width(text);
    if (width <= n_columns) {
        udpai_strbuf_str(out, text);
        return width;
    }
    if (n_columns == 0)
        return 0;
    udpai_strbuf_str(out, front(text, n_columns - 1, &width));
    udpai_strbuf_puts(out, ELLIPSIS);
    return width + 1;
}

/* ---- versions ---- */

/* A number is none: its first digits have least. */
static bool
is_digest(udpai_str text)
{
    bool is_number = true;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && !((c | 0x20) >= 'a' && (c | 0x20) <= 'f'))
            return false;
        is_number &= is_digit;
    }
    return text.len >= DIGEST_MIN && !is_number;
}

/* "sha256:" stays, and so does whatever else is before the last colon. */
static size_t
prefix_len(udpai_str version)
{
    size_t at = version.len;
    while (at > 0 && version.data[at - 1] != ':')
        at--;
    return at;
}

void
udpai_cli_put_version(udpai_strbuf *out, udpai_str version, bool is_whole)
{
    size_t n = prefix_len(version);
    if (is_whole || !is_digest(behind(version, n))) {
        udpai_cli_put_text(out, version);
        return;
    }
    udpai_cli_put_text(out, (udpai_str){version.data, n + DIGEST_PRINTED});
    udpai_strbuf_puts(out, ELLIPSIS);
}
