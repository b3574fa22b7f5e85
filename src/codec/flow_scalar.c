/* SPDX-License-Identifier: Apache-2.0 */
/* Folding (YAML 1.2.2, 6.5 and 7.3): white space around a line end goes; one line end becomes a
 * space, more of them one less; an escaped one goes altogether. */
#include "codec/scalar.h"

struct decoder {
    udpai_str left;
    udpai_strbuf *out;
    size_t kept; /* of the output so far: white space behind it goes with a line end */
};

static bool
is_white(char c)
{
    return c == ' ' || c == '\t';
}

static char
peek(const struct decoder *decoder)
{
    return decoder->left.len ? decoder->left.data[0] : '\0';
}

static void
skip(struct decoder *decoder, size_t n)
{
    decoder->left.data += n;
    decoder->left.len -= n;
}

static void
keep(struct decoder *decoder)
{
    decoder->kept = decoder->out->len;
}

/* Skips line ends and the white space around them; returns how many line ends. */
static size_t
skip_lines(struct decoder *decoder)
{
    size_t n = 0;
    for (;; skip(decoder, 1)) {
        if (peek(decoder) == '\n')
            n++;
        else if (!is_white(peek(decoder)))
            return n;
    }
}

static void
put_lines(struct decoder *decoder, size_t n)
{
    for (size_t i = 0; i < n; i++)
        udpai_strbuf_putc(decoder->out, '\n');
    keep(decoder);
}

static void
fold(struct decoder *decoder)
{
    decoder->out->len = decoder->kept;
    size_t n = skip_lines(decoder);
    if (n == 1)
        udpai_strbuf_putc(decoder->out, ' ');
    put_lines(decoder, n - 1);
}

static void
put_code(udpai_strbuf *out, uint32_t code)
{
    if (code < 0x80) {
        udpai_strbuf_putc(out, (char)code);
    } else if (code < 0x800) {
        udpai_strbuf_putc(out, (char)(0xc0 | code >> 6));
        udpai_strbuf_putc(out, (char)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        udpai_strbuf_putc(out, (char)(0xe0 | code >> 12));
        udpai_strbuf_putc(out, (char)(0x80 | (code >> 6 & 0x3f)));
        udpai_strbuf_putc(out, (char)(0x80 | (code & 0x3f)));
    } else {
        udpai_strbuf_putc(out, (char)(0xf0 | code >> 18));
        udpai_strbuf_putc(out, (char)(0x80 | (code >> 12 & 0x3f)));
        udpai_strbuf_putc(out, (char)(0x80 | (code >> 6 & 0x3f)));
        udpai_strbuf_putc(out, (char)(0x80 | (code & 0x3f)));
    }
}

static bool
take_hex(struct decoder *decoder, size_t digits, uint32_t *ret_code)
{
    static const char hex[] = "0123456789abcdef0123456789ABCDEF";
    uint32_t code = 0;
    for (size_t i = 0; i < digits; i++) {
        const char *digit = peek(decoder) ? strchr(hex, peek(decoder)) : NULL;
        if (!digit)
            return false;
        code = code << 4 | (uint32_t)((digit - hex) % 16);
        skip(decoder, 1);
    }
    *ret_code = code;
    return true;
}

/* The number behind \x, \u or \U; JSON writes what is above U+FFFF as two of \u. */
static bool
put_numbered(struct decoder *decoder, size_t digits)
{
    uint32_t code, low;
    if (!take_hex(decoder, digits, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00 && udpai_str_starts(decoder->left, UDPAI_STR("\\u"))) {
        skip(decoder, 2);
        if (!take_hex(decoder, 4, &low) || low < 0xdc00 || low > 0xdfff)
            return false;
        code = 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
    }
    if ((code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
        return false;
    put_code(decoder->out, code);
    return true;
}

static bool
put_named(struct decoder *decoder, char name)
{
    static const struct {
        char name;
        uint16_t code;
    } escapes[] = {
        {'0', 0},   {'a', 7},     {'b', 8},    {'t', 9},    {'\t', 9},     {'n', 10},
        {'v', 11},  {'f', 12},    {'r', 13},   {'e', 27},   {' ', ' '},    {'"', '"'},
        {'/', '/'}, {'\\', '\\'}, {'N', 0x85}, {'_', 0xa0}, {'L', 0x2028}, {'P', 0x2029},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(escapes); i++) {
        if (escapes[i].name == name) {
            put_code(decoder->out, escapes[i].code);
            return true;
        }
    }
    return false;
}

/* Behind a backslash. */
static bool
put_escape(struct decoder *decoder)
{
    char name = peek(decoder);
    if (decoder->left.len == 0)
        return false;
    if (name == '\n') {
        keep(decoder);
        put_lines(decoder, skip_lines(decoder) - 1);
        return true;
    }
    skip(decoder, 1);
    size_t digits = name == 'x' ? 2 : name == 'u' ? 4 : name == 'U' ? 8 : 0;
    bool right = digits ? put_numbered(decoder, digits) : put_named(decoder, name);
    keep(decoder);
    return right;
}

bool
udpai_flow_scalar_decode(udpai_flow_style style, udpai_str written, udpai_strbuf *out)
{
    struct decoder decoder = {.left = written, .out = out, .kept = out->len};
    while (decoder.left.len) {
        char c = peek(&decoder);
        if (c == '\n') {
            fold(&decoder);
            continue;
        }
        skip(&decoder, 1);
        if (c == '\\' && style == UDPAI_FLOW_DOUBLE_QUOTED) {
            if (!put_escape(&decoder))
                return false;
            continue;
        }
        if (c == '\'' && style == UDPAI_FLOW_SINGLE_QUOTED && peek(&decoder) == '\'')
            skip(&decoder, 1);
        udpai_strbuf_putc(out, c);
        if (!is_white(c))
            keep(&decoder);
    }
    return true;
}
