/* SPDX-License-Identifier: Apache-2.0 */
/* The size of a terminal. */
#ifndef UDPAI_CLI_TERMINAL_H
#define UDPAI_CLI_TERMINAL_H

#include <stddef.h>

/* The columns of the terminal on this descriptor, or the value of COLUMNS; 0: it is no terminal, or
 * does not have them. */
size_t udpai_cli_terminal_columns(int descriptor);
/* Its lines; 0: it is no terminal, or does not have them. */
size_t udpai_cli_terminal_rows(int descriptor);

#endif
