/* SPDX-License-Identifier: Apache-2.0 */
/* A string goes without quotes only if nobody could take it for anything else; text of several
 * lines becomes a literal block if that keeps it whole; the rest is quoted the way JSON does it. */
#include "codec/yaml_writer.h"

#define INDENT 2

/* What is being written: where its lines begin, and whether its first one has begun already. */
struct position {
    unsigned indent;
    bool on_line;
};

static void write_block(udpai_strbuf *out, const udpai_tree *node, struct position position);

static bool
is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Words that some version of YAML reads as something else. */
static bool
is_reserved(udpai_str text)
{
    static const char *const words[] = {"true", "false", "null", "yes", "no",
                                        "on",   "off",   "y",    "n"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(words); i++)
        if (strlen(words[i]) == text.len && strncasecmp(words[i], text.data, text.len) == 0)
            return true;
    return false;
}

/* Digits, maybe with a fraction, and an 's': a duration, which no version of YAML takes for a
 * number. */
static bool
is_duration(udpai_str text)
{
    bool has_dot = false;
    for (size_t i = 0; i + 1 < text.len; i++) {
        bool is_dot = text.data[i] == '.' && i > 0 && !has_dot;
        if (!is_dot && (text.data[i] < '0' || text.data[i] > '9'))
            return false;
        has_dot |= is_dot;
    }
    return text.len > 1 && text.data[text.len - 1] == 's' && text.data[text.len - 2] != '.';
}

static bool
may_begin_plain(udpai_str text)
{
    char first = text.data[0];
    bool is_digit = first >= '0' && first <= '9';
    return (is_word_char(first) && !is_digit) || first == '/' || first == '_' || is_duration(text);
}

static bool
may_be_plain(udpai_str text)
{
    if (text.len == 0 || is_reserved(text) || !may_begin_plain(text))
        return false;
    char before = 0;
    for (size_t i = 0; i < text.len; before = text.data[i++]) {
        char c = text.data[i];
        if (!is_word_char(c) && (c == '\0' || !strchr("_-./@+=:,~()<>;$^%\\ ", c)))
            return false;
        if (c == ' ' && (before == ':' || before == ' '))
            return false;
    }
    return before != ':' && before != ' ';
}

/* U+0080 to U+009F, U+2028, U+2029 and U+FEFF break lines or are dropped somewhere; 0 for others,
 * else the length of the character. */
static size_t
odd_character(const char *at, size_t left, uint32_t *ret_code)
{
    const unsigned char *bytes = (const unsigned char *)at;
    if (left >= 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0) {
        *ret_code = bytes[1];
        return 2;
    }
    if (left >= 3 && bytes[0] == 0xe2 && bytes[1] == 0x80 && (bytes[2] & 0xfe) == 0xa8) {
        *ret_code = 0x2000u + (bytes[2] & 0x3fu);
        return 3;
    }
    if (left >= 3 && bytes[0] == 0xef && bytes[1] == 0xbb && bytes[2] == 0xbf) {
        *ret_code = 0xfeff;
        return 3;
    }
    return 0;
}

/* Lines of printable text that neither begin with white space nor end with empty lines. */
static bool
may_be_literal(udpai_str text)
{
    bool has_line_end = false;
    uint32_t code;
    if (text.len == 0 || text.data[0] == ' ' || text.data[0] == '\t' || text.data[0] == '\n')
        return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ||
            odd_character(text.data + i, text.len - i, &code))
            return false;
        has_line_end |= c == '\n';
        if (c == '\n' && text.data[i - 1] == '\n' && i + 1 == text.len)
            return false;
    }
    return has_line_end;
}

static void
put_escape(udpai_strbuf *out, uint32_t code)
{
    switch (code) {
    case '"':
        udpai_strbuf_puts(out, "\\\"");
        break;
    case '\\':
        udpai_strbuf_puts(out, "\\\\");
        break;
    case '\n':
        udpai_strbuf_puts(out, "\\n");
        break;
    case '\t':
        udpai_strbuf_puts(out, "\\t");
        break;
    default:
        udpai_strbuf_printf(out, "\\u%04x", code);
    }
}

static void
write_quoted(udpai_strbuf *out, udpai_str text)
{
    udpai_strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len;) {
        uint32_t code = (unsigned char)text.data[i];
        size_t len = odd_character(text.data + i, text.len - i, &code);
        if (len || code < 0x20 || code == 0x7f || code == '"' || code == '\\')
            put_escape(out, code);
        else
            udpai_strbuf_putc(out, text.data[i]);
        i += len ? len : 1;
    }
    udpai_strbuf_putc(out, '"');
}

/* A scalar, or what is empty. */
static void
write_inline(udpai_strbuf *out, const udpai_tree *node)
{
    if (node->kind != UDPAI_TREE_SCALAR)
        udpai_strbuf_puts(out, node->kind == UDPAI_TREE_MAP ? "{}" : "[]");
    else if (node->plain || may_be_plain(node->text)) /* plain: a number, a bool or null of JSON */
        udpai_strbuf_str(out, node->text);
    else
        write_quoted(out, node->text);
}

static void
put_indent(udpai_strbuf *out, unsigned indent)
{
    for (unsigned i = 0; i < indent; i++)
        udpai_strbuf_putc(out, ' ');
}

/* After "key: " or "- ". */
static void
write_literal(udpai_strbuf *out, udpai_str text, unsigned indent)
{
    bool ends_line = text.data[text.len - 1] == '\n';
    udpai_strbuf_puts(out, ends_line ? "|\n" : "|-\n");
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.data + at, '\n', text.len - at);
        size_t len = end ? (size_t)(end - text.data) - at : text.len - at;
        if (len) /* an empty line needs no white space */
            put_indent(out, indent);
        udpai_strbuf_append(out, text.data + at, len);
        udpai_strbuf_putc(out, '\n');
        at += len + 1;
    }
}

/* What is behind "key:" or "-", up to the end of its last line. */
static void
write_value(udpai_strbuf *out, const udpai_tree *node, unsigned indent, bool after_dash)
{
    bool is_scalar = node->kind == UDPAI_TREE_SCALAR;
    if (!is_scalar && node->n > 0) {
        udpai_strbuf_putc(out, after_dash ? ' ' : '\n');
        write_block(out, node, (struct position){indent, after_dash});
        return;
    }
    udpai_strbuf_putc(out, ' ');
    if (is_scalar && !node->plain && may_be_literal(node->text)) {
        write_literal(out, node->text, indent);
    } else {
        write_inline(out, node);
        udpai_strbuf_putc(out, '\n');
    }
}

/* A map or list that is not empty. */
static void
write_block(udpai_strbuf *out, const udpai_tree *node, struct position position)
{
    for (uint32_t i = 0; i < node->n; i++) {
        if (i > 0 || !position.on_line)
            put_indent(out, position.indent);
        if (node->kind == UDPAI_TREE_LIST) {
            udpai_strbuf_putc(out, '-');
            write_value(out, node->items[i], position.indent + INDENT, true);
        } else {
            write_inline(out, node->entries[i].key);
            udpai_strbuf_putc(out, ':');
            write_value(out, node->entries[i].value, position.indent + INDENT, false);
        }
    }
}

void
udpai_yaml_write(udpai_strbuf *out, const udpai_tree *node)
{
    if (node->kind != UDPAI_TREE_SCALAR && node->n > 0) {
        write_block(out, node, (struct position){0, false});
    } else {
        write_inline(out, node);
        udpai_strbuf_putc(out, '\n');
    }
}
