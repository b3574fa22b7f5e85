/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of text for people. Pure. */
#ifndef UDPAI_CTL_TABLE_H
#define UDPAI_CTL_TABLE_H

#include "base/strbuf.h"
#include "base/vector.h"

typedef struct udpai_ctl_table {
    size_t n_columns;
    UDPAI_VECTOR(char *) cells; /* row by row, the heads first */
    bool failed;                /* without memory */
} udpai_ctl_table;

/* @p heads: n_columns of them; copied. */
void udpai_ctl_table_begin(udpai_ctl_table *table, const char *const *heads, size_t n_columns);
/* The next cell of the row, or the first of the next one; an empty one is shown as "-". */
void udpai_ctl_table_add(udpai_ctl_table *table, udpai_str cell);
void udpai_ctl_table_add_text(udpai_ctl_table *table, const char *cell);
void udpai_ctl_table_addf(udpai_ctl_table *table, const char *format, ...) UDPA_PRINTF(2, 3);
size_t udpai_ctl_table_n_rows(const udpai_ctl_table *table); /* without the heads */
/* Appends the whole; an unfinished row is left out. */
void udpai_ctl_table_write(const udpai_ctl_table *table, udpai_strbuf *out);
void udpai_ctl_table_done(udpai_ctl_table *table);

/* Appends text of a peer: what a terminal would obey becomes '?'. */
void udpai_ctl_put_text(udpai_strbuf *out, udpai_str text);

#endif
