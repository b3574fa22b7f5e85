/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress_line.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/display.h"
#include "cli/terminal.h"

#define TO_THE_BEGINNING "\r\x1b[K" /* of an empty line */
#define COLUMNS_USUAL 80

/* Of the one terminal that a program has. */
static bool is_printed;

bool
udpai_cli_progress_line_is_enabled(void)
{
    return udpai_cli_terminal_obeys(STDERR_FILENO);
}

/* A line that fills the terminal would move the cursor to the next one. */
static size_t
room(void)
{
    size_t columns = udpai_cli_terminal_columns(STDERR_FILENO);
    return (columns ? columns : COLUMNS_USUAL) - 1;
}

void
udpai_cli_progress_line_show(udpai_str text)
{
    udpai_strbuf masked = {0}, line = {0};
    if (!udpai_cli_progress_line_is_enabled())
        return;
    udpai_strbuf_puts(&line, TO_THE_BEGINNING);
    udpai_cli_put_text(&masked, text);
    udpai_cli_put_cut(&line, udpai_strbuf_view(&masked), room());
    if (!udpai_strbuf_failed(&line) && !udpai_strbuf_failed(&masked)) {
        is_printed = true;
        fputs(line.data, stderr);
        fflush(stderr);
    }
    udpai_strbuf_done(&masked);
    udpai_strbuf_done(&line);
}

void
udpai_cli_progress_line_clear(void)
{
    if (is_printed)
        fputs(TO_THE_BEGINNING, stderr);
    is_printed = false;
}
