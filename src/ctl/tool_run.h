/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that are programs of their own. */
#ifndef UDPAI_CTL_TOOL_RUN_H
#define UDPAI_CTL_TOOL_RUN_H

#include "cli/tool.h"

/* Becomes the program, which lies beside this one or on PATH, with all arguments but @p word, one
 * of them. It is called by this one's name, so that its messages have it. Returns if there is none,
 * which was printed. */
udpai_cli_exit udpai_ctl_tool_run(const udpai_cli_tool *tool, const char *word, char **argv);

#endif
