/* SPDX-License-Identifier: Apache-2.0 */
/* Literal and folded scalars (YAML 1.2.2, 8.1). */
#include "codec/scalar.h"

typedef enum chomping {
    CLIP, /* the last line end stays */
    STRIP,
    KEEP, /* and so do empty lines behind it */
} chomping;

struct header {
    bool folded;
    chomping chomp;
    size_t indent; /* 0: that of the first line */
};

struct block {
    udpai_str left;
    size_t indent;
    udpai_strbuf *out;
};

static bool
is_white(char c)
{
    return c == ' ' || c == '\t';
}

/* The rest of a line from '|' or '>' on: at most one digit and one of '+' and '-', in any order;
 * then nothing but a comment. */
static bool
parse_header(udpai_str line, struct header *ret_header)
{
    struct header header = {.folded = line.data[0] == '>'};
    size_t at = 1;
    for (; at < line.len && at < 3; at++) {
        char c = line.data[at];
        if ((c == '+' || c == '-') && header.chomp == CLIP)
            header.chomp = c == '+' ? KEEP : STRIP;
        else if (c >= '1' && c <= '9' && header.indent == 0)
            header.indent = (size_t)(c - '0');
        else
            break;
    }
    while (at < line.len && is_white(line.data[at]))
        at++;
    *ret_header = header;
    return at == line.len || (line.data[at] == '#' && is_white(line.data[at - 1]));
}

static udpai_str
last_line(udpai_str text)
{
    while (text.len && text.data[text.len - 1] == '\n')
        text.len--;
    const char *end = text.len ? memrchr(text.data, '\n', text.len) : NULL;
    size_t skip = end ? (size_t)(end - text.data) + 1 : 0;
    return (udpai_str){text.data + skip, text.len - skip};
}

static bool
find_header(udpai_str before, struct header *ret_header)
{
    udpai_str line = last_line(before);
    for (; line.len; line = (udpai_str){line.data + 1, line.len - 1})
        if ((line.data[0] == '|' || line.data[0] == '>') && parse_header(line, ret_header))
            return true;
    return false;
}

static size_t
count_spaces(udpai_str text)
{
    size_t n = 0;
    while (n < text.len && text.data[n] == ' ')
        n++;
    return n;
}

/* Of the first line with anything else than spaces; of the longest one if there is none. */
static size_t
find_indent(udpai_str written)
{
    size_t longest = 0;
    while (written.len) {
        size_t n = count_spaces(written);
        if (n < written.len && written.data[n] != '\n')
            return n;
        longest = udpai_max_size(longest, n);
        n = n < written.len ? n + 1 : n;
        written = (udpai_str){written.data + n, written.len - n};
    }
    return longest;
}

static void
skip(struct block *block, size_t n)
{
    block->left = (udpai_str){block->left.data + n, block->left.len - n};
}

/* Skips empty lines and the indentation of the line behind them. Returns how many were empty;
 * *ret_more: is there a line of text? */
static size_t
skip_empty(struct block *block, bool *ret_more)
{
    for (size_t n = 0;; n++) {
        size_t spaces = udpai_min_size(count_spaces(block->left), block->indent);
        skip(block, spaces);
        if (block->left.len == 0 || block->left.data[0] != '\n') {
            *ret_more = block->left.len > 0 && spaces == block->indent;
            return n;
        }
        skip(block, 1);
    }
}

static void
put_line_ends(struct block *block, size_t n)
{
    for (size_t i = 0; i < n; i++)
        udpai_strbuf_putc(block->out, '\n');
}

/* Copies a line; is there a line end behind it? */
static bool
put_line(struct block *block)
{
    const char *end = memchr(block->left.data, '\n', block->left.len);
    size_t len = end ? (size_t)(end - block->left.data) : block->left.len;
    udpai_strbuf_append(block->out, block->left.data, len);
    skip(block, len + (end ? 1 : 0));
    return end != NULL;
}

/* All lines but for what is chomped. Returns how many empty lines there are at the end. */
static size_t
put_lines(struct block *block, bool folded, bool *ret_ends_line)
{
    bool more;
    size_t n_empty = skip_empty(block, &more);
    while (more) {
        put_line_ends(block, n_empty);
        bool starts_with_text = !is_white(block->left.data[0]);
        *ret_ends_line = put_line(block);
        n_empty = skip_empty(block, &more);
        if (!more)
            break;
        if (!folded || !starts_with_text || is_white(block->left.data[0]))
            udpai_strbuf_putc(block->out, '\n');
        else if (n_empty == 0)
            udpai_strbuf_putc(block->out, ' ');
    }
    return n_empty;
}

bool
udpai_block_scalar_decode(const udpai_block_scalar *scalar, udpai_strbuf *out)
{
    struct header header;
    bool ends_line = false;
    if (!find_header(scalar->before, &header))
        return false;
    struct block block = {scalar->written, find_indent(scalar->written), out};
    if (header.indent)
        block.indent = scalar->parent_indent + header.indent;
    size_t n_empty = put_lines(&block, header.folded, &ends_line);
    if (header.chomp != STRIP && ends_line)
        udpai_strbuf_putc(out, '\n');
    if (header.chomp == KEEP)
        put_line_ends(&block, n_empty);
    return true;
}
