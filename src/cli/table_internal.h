/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of tables: the order of rows. Pure. */
#ifndef UDPAI_CLI_TABLE_INTERNAL_H
#define UDPAI_CLI_TABLE_INTERNAL_H

#include "cli/table.h"

/* The rows behind the heads in the order that the layout has: the index of the first cell of each,
 * to be freed with udpai_free(); NULL without memory. */
size_t *udpai_cli_table_order(const udpai_cli_table *table);

#endif
