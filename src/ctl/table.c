/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/table.h"

#include <stdarg.h>
#include <stdio.h>

#define GAP 3

/* Of UTF-8: bytes that begin a character. */
static size_t
width(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* C0, DEL, and C1, which in UTF-8 is 0xc2 and a byte below 0xa0. */
static bool
is_control(const unsigned char *at, size_t left)
{
    return *at < 0x20 || *at == 0x7f || (*at == 0xc2 && left > 1 && at[1] < 0xa0);
}

void
udpai_ctl_put_text(udpai_strbuf *out, udpai_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char *at = (const unsigned char *)text.data + i;
        bool is_hidden = is_control(at, text.len - i);
        udpai_strbuf_putc(out, is_hidden ? '?' : (char)*at);
        i += is_hidden && *at == 0xc2;
    }
}

void
udpai_ctl_table_begin(udpai_ctl_table *table, const char *const *heads, size_t n_columns)
{
    *table = (udpai_ctl_table){.n_columns = n_columns};
    for (size_t i = 0; i < n_columns; i++)
        udpai_ctl_table_add(table, udpai_str_from(heads[i]));
}

void
udpai_ctl_table_add(udpai_ctl_table *table, udpai_str cell)
{
    udpai_strbuf text = {0};
    udpai_ctl_put_text(&text, cell.len ? cell : UDPAI_STR("-"));
    char *kept = udpai_strbuf_take(&text);
    if (kept && udpai_vector_push(&table->cells, kept))
        return;
    udpai_free(kept);
    table->failed = true;
}

void
udpai_ctl_table_add_text(udpai_ctl_table *table, const char *cell)
{
    udpai_ctl_table_add(table, udpai_str_from(cell));
}

void
udpai_ctl_table_addf(udpai_ctl_table *table, const char *format, ...)
{
    char room[256];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(room, sizeof(room), format, arguments);
    va_end(arguments);
    udpai_ctl_table_add(table, (udpai_str){room, len < 0 ? 0 : strnlen(room, sizeof(room))});
}

size_t
udpai_ctl_table_n_rows(const udpai_ctl_table *table)
{
    return table->cells.n / table->n_columns - (table->cells.n >= table->n_columns);
}

static size_t
column_width(const udpai_ctl_table *table, size_t column)
{
    size_t most = 0;
    for (size_t i = column; i < table->cells.n; i += table->n_columns)
        most = udpai_max_size(most, width(table->cells.items[i]));
    return most;
}

static void
write_cell(udpai_strbuf *out, const char *cell, size_t column_chars)
{
    udpai_strbuf_puts(out, cell);
    for (size_t i = width(cell); i < column_chars + GAP; i++)
        udpai_strbuf_putc(out, ' ');
}

void
udpai_ctl_table_write(const udpai_ctl_table *table, udpai_strbuf *out)
{
    size_t n = table->n_columns, *widths = udpai_alloc_array(n, sizeof(*widths));
    if (!widths || table->failed) {
        udpai_free(widths);
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        widths[i] = column_width(table, i);
    for (size_t row = 0; row + n <= table->cells.n; row += n) {
        for (size_t i = 0; i + 1 < n; i++)
            write_cell(out, table->cells.items[row + i], widths[i]);
        udpai_strbuf_puts(out, table->cells.items[row + n - 1]);
        udpai_strbuf_putc(out, '\n');
    }
    udpai_free(widths);
}

void
udpai_ctl_table_done(udpai_ctl_table *table)
{
    for (size_t i = 0; i < table->cells.n; i++)
        udpai_free(table->cells.items[i]);
    udpai_vector_done(&table->cells);
}
