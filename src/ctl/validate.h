/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of what was read, before it goes anywhere. */
#ifndef UDPAI_CTL_VALIDATE_H
#define UDPAI_CTL_VALIDATE_H

#include "ctl/input.h"

/* One resource, and where it was read: "file:line". */
typedef struct udpai_ctl_finding {
    const char *place;
    const udpa_resource *resource;
} udpai_ctl_finding;

/* A udpai_violation_fn with a udpai_ctl_finding as its userdata: a line on standard error. */
void udpai_ctl_print_finding(void *userdata, const char *path, const char *reason);

/* Prints every error with its place; UDPAI_CLI_MISTAKE if there is one. */
udpai_cli_exit udpai_ctl_validate_input(const udpai_ctl_input *input);

#endif
