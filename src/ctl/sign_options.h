/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `udpactl sign` and `udpactl verify` alone. NULL or 0 anywhere: not given. */
#ifndef UDPAI_CTL_SIGN_OPTIONS_H
#define UDPAI_CTL_SIGN_OPTIONS_H

#include <argp.h>

#include "base/vector.h"

typedef struct udpai_ctl_sign_options {
    const char *key_id;
    const char *authority;
    int64_t validity_s;
    uint64_t generation;
    UDPAI_VECTOR(const char *) trusted; /* AUTHORITY/KEYID=FILE */
} udpai_ctl_sign_options;

/* Its input is a udpai_ctl_sign_options. */
extern const struct argp udpai_ctl_sign_parser;

/* At the end of the command line: what was given, to this command or to another. */
void udpai_ctl_sign_options_check(const udpai_ctl_sign_options *given,
                                  const char *command,
                                  const struct argp_state *state);

#endif
