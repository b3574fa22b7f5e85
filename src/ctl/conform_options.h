/* SPDX-License-Identifier: Apache-2.0 */
/* What `udpactl conform` alone is told. NULL or 0 anywhere: not given. */
#ifndef UDPAI_CTL_CONFORM_OPTIONS_H
#define UDPAI_CTL_CONFORM_OPTIONS_H

#include <argp.h>

#include "base/vector.h"

typedef struct udpai_conform_options {
    const char *run;      /* a regular expression */
    const char *change;   /* a command */
    const char *apply_to; /* HOST:PORT */
    const char *prefix, *authority;
    const char *rest;                     /* HOST:PORT */
    UDPAI_VECTOR(const char *) resources; /* TYPE=NAME */
    uint64_t quiet_ms;
    uint64_t limit_ms; /* of all cases; 0: not given */
    bool is_strict, is_list;
    const char *first; /* the first option of these that was given */
} udpai_conform_options;

/* Its input is a udpai_conform_options. */
extern const struct argp udpai_conform_parser;

/* What --authority, which other commands have too, says. */
void udpai_conform_authority_take(udpai_conform_options *given,
                                  const char *text,
                                  const struct argp_state *state);
/* At the end of the command line: what was given, to this command or to another. */
void udpai_conform_options_check(const udpai_conform_options *given,
                                 const char *command,
                                 const struct argp_state *state);

#endif
