/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the rows of a table, by the cells of one column (--sort-by). */
#include <stdlib.h>

#include "base/alloc.h"
#include "cli/order.h"
#include "cli/table_internal.h"

/* The cell that decides, and what it is compared with. */
typedef struct row {
    size_t first;
    const udpai_cli_cell *key; /* NULL: nothing is sorted */
    bool is_descending;
} row;

static bool
has_number(const udpai_cli_cell *cell)
{
    return cell->kind == UDPAI_CLI_CELL_NUMBER || cell->kind == UDPAI_CLI_CELL_QUANTITY;
}

/* Numbers come before texts. */
static int
compare_cells(const udpai_cli_cell *a, const udpai_cli_cell *b)
{
    if (has_number(a) != has_number(b))
        return has_number(a) ? -1 : 1;
    if (has_number(a) && a->number != b->number)
        return a->number > b->number ? 1 : -1;
    return udpai_cli_compare_names(udpai_str_from(a->text), udpai_str_from(b->text));
}

/* What is empty comes last in either direction; what is equal stays as it was. */
static int
compare(const void *one, const void *two)
{
    const row *a = one, *b = two;
    bool a_empty = !a->key || a->key->kind == UDPAI_CLI_CELL_EMPTY,
         b_empty = !b->key || b->key->kind == UDPAI_CLI_CELL_EMPTY;
    int order = (int)a_empty - (int)b_empty;
    if (order == 0 && !a_empty)
        order = a->is_descending ? compare_cells(b->key, a->key) : compare_cells(a->key, b->key);
    return order ? order : (a->first > b->first) - (a->first < b->first);
}

/* The column of this head; n_columns: there is none. */
static size_t
find_column(const udpai_cli_table *table, const char *head)
{
    size_t i = 0;
    while (i < table->n_columns && head && !udpai_cli_is_head(head, table->cells.items[i].text))
        i++;
    return head ? i : table->n_columns;
}

size_t *
udpai_cli_table_order(const udpai_cli_table *table)
{
    size_t n = udpai_cli_table_n_rows(table);
    size_t *order = udpai_alloc_array(n + 1, sizeof(*order));
    UDPAI_AUTO_FREE row *rows = udpai_alloc_array(n + 1, sizeof(*rows));
    if (!order || !rows) {
        udpai_free(order);
        return NULL;
    }
    size_t column = n ? find_column(table, table->layout->sort_by) : 0;
    bool is_descending = table->layout->is_descending && column < table->n_columns;
    if (n && column == table->n_columns)
        column = find_column(table, table->sorted_by);
    for (size_t i = 0; i < n; i++) {
        size_t first = (i + 1) * table->n_columns;
        bool is_sorted = column < table->n_columns;
        rows[i] =
            (row){first, is_sorted ? &table->cells.items[first + column] : NULL, is_descending};
    }
    if (n)
        qsort(rows, n, sizeof(*rows), compare);
    for (size_t i = 0; i < n; i++)
        order[i] = rows[i].first;
    return order;
}
