/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that a program prints. All of them are masked (display.h): what they have may come from a
 * peer or a file. */
#ifndef UDPAI_CLI_MESSAGES_H
#define UDPAI_CLI_MESSAGES_H

#include <udpa/error.h>

#include "base/util.h"

/* A line of the result, on standard output. */
void udpai_cli_print_line(const char *format, ...) UDPA_PRINTF(1, 2);
/* "udpactl: …" on standard error: the name that the program was called by. */
void udpai_cli_complain(const char *format, ...) UDPA_PRINTF(1, 2);
void udpai_cli_complain_of(const udpa_error *error);
/* The same without the program's name: a line that begins with a place, or goes on. */
void udpai_cli_note(const char *format, ...) UDPA_PRINTF(1, 2);

#endif
