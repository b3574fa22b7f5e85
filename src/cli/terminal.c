/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/util.h"

#define COLUMNS_MAX 10000

static size_t
columns_of_environment(void)
{
    const char *text = getenv("COLUMNS");
    uint64_t number = 0;
    if (!text || !udpai_str_number(udpai_str_from(text), &number) || number > COLUMNS_MAX)
        return 0;
    return (size_t)number;
}

bool
udpai_cli_terminal_obeys(int descriptor)
{
    const char *kind = getenv("TERM");
    return isatty(descriptor) && kind && *kind && strcmp(kind, "dumb") != 0;
}

bool
udpai_cli_terminal_has_colors(int descriptor)
{
    const char *unwanted = getenv("NO_COLOR");
    return !(unwanted && *unwanted) && udpai_cli_terminal_obeys(descriptor);
}

size_t
udpai_cli_terminal_columns(int descriptor)
{
    struct winsize size;
    if (!isatty(descriptor))
        return 0;
    size_t columns = columns_of_environment();
    if (columns == 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0)
        columns = size.ws_col;
    return columns;
}

size_t
udpai_cli_terminal_rows(int descriptor)
{
    struct winsize size;
    bool is_known = isatty(descriptor) && ioctl(descriptor, TIOCGWINSZ, &size) == 0;
    return is_known ? size.ws_row : 0;
}
