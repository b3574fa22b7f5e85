/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/tool_run.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/messages.h"
#include "codec/schema.h"

static void
leave_out(char **argv, const char *word)
{
    while (*argv && *argv != word)
        argv++;
    for (; *argv; argv++)
        argv[0] = argv[1];
}

udpai_cli_exit
udpai_ctl_tool_run(const udpai_cli_tool *tool, const char *word, char **argv)
{
    char folder[PATH_MAX], path[PATH_MAX];
    bool has_folder = udpai_schema_program_folder(folder);
    int n = has_folder ? snprintf(path, sizeof(path), "%s%s", folder, tool->program) : 0;
    leave_out(argv, word);
    if (n > 0 && n < (int)sizeof(path))
        execv(path, argv);
    if (n <= 0 || n >= (int)sizeof(path) || errno == ENOENT)
        execvp(tool->program, argv);
    if (errno == ENOENT)
        udpai_cli_complain(
            "%s is a program of its own, %s, and it is neither in %s nor on PATH: install "
            "it beside udpactl",
            tool->word, tool->program, has_folder ? folder : "the folder of udpactl");
    else
        udpai_cli_complain("cannot run %s: %s", tool->program, strerror(errno));
    return UDPAI_CLI_REFUSED;
}
