/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `udpactl bootstrap` alone: what the client is called. */
#ifndef UDPAI_CTL_BOOTSTRAP_OPTIONS_H
#define UDPAI_CTL_BOOTSTRAP_OPTIONS_H

#include <argp.h>

/* NULL anywhere: not given. */
typedef struct udpai_ctl_bootstrap_options {
    const char *client_id, *client_cluster;
    const char *locality;    /* REGION[/ZONE[/SUB_ZONE]] */
    const char *envoy_admin; /* HOST:PORT; "": none */
} udpai_ctl_bootstrap_options;

/* Its input is a udpai_ctl_bootstrap_options. */
extern const struct argp udpai_ctl_bootstrap_parser;

/* At the end of the command line: what was given, to this command or to another. */
void udpai_ctl_bootstrap_options_check(const udpai_ctl_bootstrap_options *given,
                                       const char *command,
                                       const struct argp_state *state);

#endif
