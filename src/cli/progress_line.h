/* SPDX-License-Identifier: Apache-2.0 */
/* One line on the terminal that standard error is, which reports how far something is and is
 * removed before anything else is printed. Without a terminal there is none. */
#ifndef UDPAI_CLI_PROGRESS_LINE_H
#define UDPAI_CLI_PROGRESS_LINE_H

#include "base/strbuf.h"

/* Is standard error a terminal that obeys? */
bool udpai_cli_progress_line_is_enabled(void);
/* Writes the line, in place of what it had before; masked, and cut so that it does not wrap. */
void udpai_cli_progress_line_show(udpai_str text);
/* Removes it, if there is one. */
void udpai_cli_progress_line_clear(void);

#endif
