/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as text. On a terminal the widest columns become as narrow as is needed for a row to be
 * one line; if that is not enough, the row is cut. */
#include "base/alloc.h"
#include "cli/table_internal.h"

#define GAP 3
#define NARROWEST 8 /* what is shorter is of no use */

typedef struct column {
    size_t width;
    bool is_number; /* all of its cells */
} column;

static const udpai_cli_cell *
cell_at(const udpai_cli_table *table, size_t first, size_t index)
{
    return &table->cells.items[first + index];
}

/* ---- widths ---- */

static column
measure(const udpai_cli_table *table, size_t index)
{
    size_t n_texts = 0, n_numbers = 0, n = table->n_columns;
    column self = {.width = table->layout->widths ? table->layout->widths[index] : 0};
    for (size_t first = 0; first + n <= table->cells.n; first += n) {
        const udpai_cli_cell *cell = cell_at(table, first, index);
        bool is_head = first == 0;
        if (is_head && table->layout->without_heads)
            continue;
        size_t width = udpai_cli_display_width(udpai_str_from(cell->text));
        self.width = udpai_max_size(self.width, width);
        n_numbers += cell->kind == UDPAI_CLI_CELL_NUMBER;
        n_texts += !is_head &&
                   (cell->kind == UDPAI_CLI_CELL_TEXT || cell->kind == UDPAI_CLI_CELL_QUANTITY);
    }
    self.is_number = n_numbers && !n_texts;
    return self;
}

/* Of the column that can be made narrower; NULL: there is none. */
static column *
widest(column *columns, size_t n)
{
    column *found = NULL;
    for (size_t i = 0; i < n; i++)
        if (!columns[i].is_number && columns[i].width > NARROWEST &&
            (!found || columns[i].width > found->width))
            found = &columns[i];
    return found;
}

static void
fit(column *columns, size_t n, size_t n_columns)
{
    size_t total = (n - 1) * GAP;
    for (size_t i = 0; i < n; i++)
        total += columns[i].width;
    for (column *one; total > n_columns && (one = widest(columns, n)); total--)
        one->width--;
}

/* ---- rows ---- */

static void
put_blanks(udpai_strbuf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        udpai_strbuf_putc(out, ' ');
}

static void
put_cell(udpai_strbuf *out, const char *cell, column in, bool is_last)
{
    udpai_strbuf text = {0};
    size_t width = udpai_cli_put_cut(&text, udpai_str_from(cell), in.width);
    put_blanks(out, in.is_number ? in.width - width : 0);
    udpai_strbuf_str(out, udpai_strbuf_view(&text));
    put_blanks(out, is_last ? 0 : GAP + (in.is_number ? 0 : in.width - width));
    out->failed |= text.failed;
    udpai_strbuf_done(&text);
}

static void
put_row(udpai_strbuf *out, const udpai_cli_table *table, size_t first, const column *columns)
{
    const udpai_cli_layout *layout = table->layout;
    udpai_strbuf row = {0};
    for (size_t i = 0; i < table->n_columns; i++)
        put_cell(&row, cell_at(table, first, i)->text, columns[i], i + 1 == table->n_columns);
    if (layout->n_columns && !layout->is_wide)
        udpai_cli_put_cut(out, udpai_strbuf_view(&row), layout->n_columns);
    else
        udpai_strbuf_str(out, udpai_strbuf_view(&row));
    udpai_strbuf_putc(out, '\n');
    out->failed |= row.failed;
    udpai_strbuf_done(&row);
}

void
udpai_cli_table_write(const udpai_cli_table *table, udpai_strbuf *out)
{
    const udpai_cli_layout *layout = table->layout;
    UDPAI_AUTO_FREE column *columns = udpai_alloc_array(table->n_columns, sizeof(*columns));
    UDPAI_AUTO_FREE size_t *order = udpai_cli_table_order(table);
    if (!columns || !order || table->failed) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < table->n_columns; i++)
        columns[i] = measure(table, i);
    if (layout->n_columns && !layout->is_wide)
        fit(columns, table->n_columns, layout->n_columns);
    for (size_t i = 0; layout->widths && i < table->n_columns; i++)
        layout->widths[i] = columns[i].width;
    if (!layout->without_heads)
        put_row(out, table, 0, columns);
    for (size_t i = 0; i < udpai_cli_table_n_rows(table); i++)
        put_row(out, table, order[i], columns);
}
