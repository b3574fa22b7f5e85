/* SPDX-License-Identifier: Apache-2.0 */
/* The help of a program or of one of its verbs, on one screen. Pure. */
#ifndef UDPAI_CLI_HELP_H
#define UDPAI_CLI_HELP_H

#include "base/strbuf.h"

/* Appends "Usage: udpactl delete TYPE NAME...", a line for each other form, and the text. @p usage:
 * the forms, a line each; NULL: the program has options alone. */
void
udpai_cli_help_put(udpai_strbuf *out, const char *program, const char *usage, const char *text);
/* Is --help or -? there before a "--"? */
bool udpai_cli_help_is_requested(int argc, char *const *argv);

#endif
