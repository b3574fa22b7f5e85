/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include <string.h>

static void
put_usage(udpai_strbuf *out, const char *program, const char *usage)
{
    const char *head = "Usage: ";
    for (const char *end; (end = strchr(usage, '\n')); usage = end + 1) {
        udpai_strbuf_printf(out, "%s%s %.*s\n", head, program, (int)(end - usage), usage);
        head = "       ";
    }
    udpai_strbuf_printf(out, "%s%s %s\n", head, program, usage);
}

void
udpai_cli_help_put(udpai_strbuf *out, const char *program, const char *usage, const char *text)
{
    if (usage)
        put_usage(out, program, usage);
    else
        udpai_strbuf_printf(out, "Usage: %s\n", program);
    udpai_strbuf_printf(out, "\n%s", text);
    udpai_strbuf_puts(out, "\n--context, --server, --admin, --admin-token, --http, --ca, --cert, "
                           "--key,\n--server-name, --node-id, --timeout, -v are of the connection: "
                           "'udpactl --help'.\n");
}

bool
udpai_cli_help_is_requested(int argc, char *const *argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-?") == 0)
            return true;
    return false;
}
