/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "cli/table_internal.h"

/* ---- heads ---- */

void
udpai_cli_layout_done(udpai_cli_layout *layout)
{
    for (size_t i = 0; i < layout->heads.n; i++)
        udpai_free(layout->heads.items[i]);
    udpai_vector_done(&layout->heads);
}

char
udpai_cli_head_char(char c)
{
    if (c >= 'a' && c <= 'z')
        return (char)(c - 'a' + 'A');
    return c == '-' || c == '_' ? ' ' : c;
}

bool
udpai_cli_is_head(const char *written, const char *head)
{
    for (; *written && udpai_cli_head_char(*written) == udpai_cli_head_char(*head); written++)
        head++;
    return !*written && !*head;
}

static bool
has_head(const udpai_cli_layout *layout, const char *head)
{
    for (size_t i = 0; i < layout->heads.n; i++)
        if (strcmp(layout->heads.items[i], head) == 0)
            return true;
    return false;
}

/* Without memory a message names fewer columns. */
static void
note_heads(const udpai_cli_table *table)
{
    udpai_cli_layout *layout = table->layout;
    for (size_t i = 0; i < table->n_columns && i < table->cells.n; i++) {
        const char *head = table->cells.items[i].text;
        layout->is_sorted |= udpai_cli_is_head(layout->sort_by, head);
        char *kept = has_head(layout, head) ? NULL : udpai_strdup(head);
        if (kept && !udpai_vector_push(&layout->heads, kept))
            udpai_free(kept);
    }
}

/* ---- cells ---- */

void
udpai_cli_table_begin(udpai_cli_table *table,
                      udpai_cli_layout *layout,
                      const char *const *heads,
                      size_t n_columns)
{
    *table = (udpai_cli_table){.layout = layout, .n_columns = n_columns};
    for (size_t i = 0; heads && i < n_columns; i++)
        udpai_cli_table_add(table, udpai_str_from(heads[i]));
}

/* Takes the text. */
static void
push(udpai_cli_table *table, udpai_strbuf *text, udpai_cli_cell_kind kind, double number)
{
    udpai_cli_cell cell = {udpai_strbuf_take(text), number, kind};
    if (cell.text && udpai_vector_push(&table->cells, cell))
        return;
    udpai_free(cell.text);
    udpai_strbuf_done(text);
    table->failed = true;
}

static void
add(udpai_cli_table *table, udpai_str cell, udpai_cli_cell_kind kind, double number)
{
    udpai_strbuf text = {0};
    udpai_cli_put_text(&text, cell.len ? cell : UDPAI_STR("-"));
    push(table, &text, cell.len ? kind : UDPAI_CLI_CELL_EMPTY, number);
}

void
udpai_cli_table_add(udpai_cli_table *table, udpai_str cell)
{
    add(table, cell, UDPAI_CLI_CELL_TEXT, 0);
}

void
udpai_cli_table_add_text(udpai_cli_table *table, const char *cell)
{
    udpai_cli_table_add(table, udpai_str_from(cell));
}

void
udpai_cli_table_addf(udpai_cli_table *table, const char *format, ...)
{
    char room[256];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(room, sizeof(room), format, arguments);
    va_end(arguments);
    udpai_cli_table_add(table, (udpai_str){room, len < 0 ? 0 : strnlen(room, sizeof(room))});
}

void
udpai_cli_table_add_number(udpai_cli_table *table, uint64_t number)
{
    char room[24];
    snprintf(room, sizeof(room), "%" PRIu64, number);
    add(table, udpai_str_from(room), UDPAI_CLI_CELL_NUMBER, (double)number);
}

void
udpai_cli_table_add_quantity(udpai_cli_table *table, double number, udpai_str cell)
{
    add(table, cell, UDPAI_CLI_CELL_QUANTITY, number);
}

void
udpai_cli_table_add_version(udpai_cli_table *table, udpai_str version)
{
    udpai_strbuf text = {0};
    udpai_cli_put_version(&text, version, table->layout->is_wide);
    udpai_cli_table_add(table, udpai_strbuf_view(&text));
    udpai_strbuf_done(&text);
}

size_t
udpai_cli_table_n_rows(const udpai_cli_table *table)
{
    return table->cells.n / table->n_columns - (table->cells.n >= table->n_columns);
}

void
udpai_cli_table_done(udpai_cli_table *table)
{
    if (table->layout->sort_by)
        note_heads(table);
    for (size_t i = 0; i < table->cells.n; i++)
        udpai_free(table->cells.items[i].text);
    udpai_vector_done(&table->cells);
}
