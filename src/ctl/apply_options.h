/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `udpactl apply` alone. */
#ifndef UDPAI_CTL_APPLY_OPTIONS_H
#define UDPAI_CTL_APPLY_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

typedef struct udpai_ctl_apply_options {
    bool validates;  /* publish nothing that is invalid */
    bool is_pruning; /* remove what the files lack */
    bool is_restore; /* the file is one of get --all */
} udpai_ctl_apply_options;

struct udpai_ctl_options;

/* Its input is a udpai_ctl_apply_options. */
extern const struct argp udpai_ctl_apply_parser;

/* At the end of the command line: what was given, to this command or to another. */
void udpai_ctl_apply_options_check(const struct udpai_ctl_options *given,
                                   const struct argp_state *state);

#endif
