/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of text for people. Pure. */
#ifndef UDPAI_CLI_TABLE_H
#define UDPAI_CLI_TABLE_H

#include "base/strbuf.h"
#include "base/vector.h"
#include "cli/display.h"

/* How tables are written: of all that one command prints. */
typedef struct udpai_cli_layout {
    bool is_wide; /* nothing is shortened */
    bool without_heads;
    size_t n_columns;    /* of the terminal; 0: lines may have any length */
    const char *sort_by; /* a head, in any case, with '-' or '_' for a blank; NULL: no sorting */
    bool is_descending;
    bool is_sorted;             /* a table had this column; written by udpai_cli_table_done() */
    UDPAI_VECTOR(char *) heads; /* of all tables, while sort_by is given; written by the same */
    size_t *widths; /* of columns at the least, if the terminal has room, and then those that they
                     * have: of rows that come below others; borrowed; NULL: none */
} udpai_cli_layout;

/* Frees what tables have written into it. */
void udpai_cli_layout_done(udpai_cli_layout *layout);
/* Is it how @p head may be written on a command line? */
bool udpai_cli_is_head(const char *written, const char *head);
/* A character of it as heads have it: in upper case, and a blank for '-' and '_'. */
char udpai_cli_head_char(char c);

typedef enum udpai_cli_cell_kind {
    UDPAI_CLI_CELL_EMPTY, /* printed as "-" */
    UDPAI_CLI_CELL_TEXT,
    UDPAI_CLI_CELL_NUMBER,   /* a column of such is aligned to the right, and never shortened */
    UDPAI_CLI_CELL_QUANTITY, /* a text that is sorted by a number, such as a duration */
} udpai_cli_cell_kind;

typedef struct udpai_cli_cell {
    char *text; /* owned */
    double number;
    udpai_cli_cell_kind kind;
} udpai_cli_cell;

typedef struct udpai_cli_table {
    udpai_cli_layout *layout; /* borrowed */
    size_t n_columns;
    const char *sorted_by;              /* a head; NULL: rows stay as they were added. The layout's
                                         * goes before it */
    UDPAI_VECTOR(udpai_cli_cell) cells; /* row by row, the heads first */
    bool failed;                        /* without memory */
} udpai_cli_table;

/* @p heads: n_columns of them; copied; NULL: the first cells that are added are the heads. The
 * layout is borrowed until udpai_cli_table_done(). */
void udpai_cli_table_begin(udpai_cli_table *table,
                           udpai_cli_layout *layout,
                           const char *const *heads,
                           size_t n_columns);
/* The next cell of the row, or the first of the next one; an empty one is printed as "-". */
void udpai_cli_table_add(udpai_cli_table *table, udpai_str cell);
void udpai_cli_table_add_text(udpai_cli_table *table, const char *cell);
void udpai_cli_table_addf(udpai_cli_table *table, const char *format, ...) UDPA_PRINTF(2, 3);
void udpai_cli_table_add_number(udpai_cli_table *table, uint64_t number);
void udpai_cli_table_add_quantity(udpai_cli_table *table, double number, udpai_str cell);
/* Short, unless the layout is wide. */
void udpai_cli_table_add_version(udpai_cli_table *table, udpai_str version);
size_t udpai_cli_table_n_rows(const udpai_cli_table *table); /* without the heads */
/* Appends the whole; an unfinished row is left out. */
void udpai_cli_table_write(const udpai_cli_table *table, udpai_strbuf *out);
/* Notes in the layout which columns there were. */
void udpai_cli_table_done(udpai_cli_table *table);

#endif
