/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `udpactl check`, `audit`, `top`, `bug-report`, `freeze`, `thaw` and `reload`
 * alone. */
#ifndef UDPAI_CTL_LOOK_OPTIONS_H
#define UDPAI_CTL_LOOK_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct udpai_ctl_audit_options {
    uint64_t since_s;            /* from so long ago; 0: not given */
    uint64_t limit;              /* 0: not given */
    const char *identity, *name; /* patterns; NULL: not given */
} udpai_ctl_audit_options;

typedef struct udpai_ctl_look_options {
    udpai_ctl_audit_options audit;
    bool is_strict;      /* check: warnings are failures, too */
    const char *file;    /* bug-report: to write; NULL: a new one in this folder */
    const char *log;     /* bug-report: a file of the log; NULL: none */
    bool is_once;        /* top: one block */
    const char *because; /* freeze: the reason; NULL: not given */
    bool is_confirmed;   /* thaw: and not only shown */
    bool is_forced;      /* reload: however much would go */
    uint64_t interval_s; /* top: between two blocks; 0: not given, before the check below */
} udpai_ctl_look_options;

/* Its input is a udpai_ctl_look_options. */
extern const struct argp udpai_ctl_look_parser;

/* At the end of the command line: what was given, to this command or to another. */
void udpai_ctl_look_options_check(udpai_ctl_look_options *given,
                                  const char *command,
                                  const struct argp_state *state);

#endif
