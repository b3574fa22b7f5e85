/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `udpactl validate` alone. */
#ifndef UDPAI_CTL_VALIDATE_OPTIONS_H
#define UDPAI_CTL_VALIDATE_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "base/vector.h"

typedef struct udpai_ctl_validate_options {
    bool references;                  /* do names lead anywhere? */
    UDPAI_VECTOR(const char *) known; /* TYPE or TYPE/NAME: clients have it from elsewhere */
} udpai_ctl_validate_options;

/* Its input is a udpai_ctl_validate_options. */
extern const struct argp udpai_ctl_validate_parser;

/* At the end of the command line: what was given, to this command or to another. */
void udpai_ctl_validate_options_check(const udpai_ctl_validate_options *given,
                                      const char *command,
                                      const struct argp_state *state);

#endif
