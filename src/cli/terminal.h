/* SPDX-License-Identifier: Apache-2.0 */
/* What a terminal can do: none of it is done without one. */
#ifndef UDPAI_CLI_TERMINAL_H
#define UDPAI_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Is there a terminal on this descriptor that obeys escape sequences? One with TERM=dumb does not.
 */
bool udpai_cli_terminal_obeys(int descriptor);
/* And are colours wanted there? Not with NO_COLOR (no-color.org). */
bool udpai_cli_terminal_has_colors(int descriptor);
/* The columns of the terminal on this descriptor, or the value of COLUMNS; 0: it is no terminal, or
 * does not have them. */
size_t udpai_cli_terminal_columns(int descriptor);
/* Its lines; 0: it is no terminal, or does not have them. */
size_t udpai_cli_terminal_rows(int descriptor);

#endif
