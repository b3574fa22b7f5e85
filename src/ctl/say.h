/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that udpactl prints. All of them are masked (display.h): what they say may come from a peer
 * or a file. */
#ifndef UDPAI_CTL_SAY_H
#define UDPAI_CTL_SAY_H

#include <udpa/error.h>

#include "base/util.h"

/* A line of the result, on standard output. */
void udpai_ctl_say(const char *format, ...) UDPA_PRINTF(1, 2);
/* "udpactl: …" on standard error. */
void udpai_ctl_complain(const char *format, ...) UDPA_PRINTF(1, 2);
void udpai_ctl_complain_of(const udpa_error *error);
/* The same without the program's name: a line that begins with a place, or goes on. */
void udpai_ctl_note(const char *format, ...) UDPA_PRINTF(1, 2);

#endif
