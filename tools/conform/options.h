/* SPDX-License-Identifier: Apache-2.0 */
/* What udpa-conform was called with. NULL or 0 anywhere: not given. */
#ifndef UDPAI_CONFORM_OPTIONS_H
#define UDPAI_CONFORM_OPTIONS_H

#include "cli/options.h"

typedef struct udpai_conform_options {
    udpai_cli_options common;
    const char *run;      /* a regular expression */
    const char *change;   /* a command */
    const char *apply_to; /* HOST:PORT */
    const char *prefix, *authority;
    const char *rest;                     /* HOST:PORT */
    UDPAI_VECTOR(const char *) resources; /* TYPE=NAME */
    uint64_t quiet_ms;
    uint64_t limit_ms; /* of all cases; 0: not given */
    bool is_strict, is_list;
} udpai_conform_options;

/* Ends the program for --help, --version, and what cannot be understood; fills in the defaults. */
void udpai_conform_options_parse(udpai_conform_options *options, int argc, char **argv);
void udpai_conform_options_done(udpai_conform_options *options);

#endif
