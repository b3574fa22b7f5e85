/* SPDX-License-Identifier: Apache-2.0 */
/* What `udpactl bench` alone is told. */
#ifndef UDPAI_CTL_BENCH_OPTIONS_H
#define UDPAI_CTL_BENCH_OPTIONS_H

#include <argp.h>

#include "tools/bench/load.h"

typedef struct udpai_bench_options {
    udpai_load_options load; /* but for what other commands are told, too */
    const char *type;        /* as given; NULL: endpoint */
    bool publishes;          /* to the server that is measured */
    bool has_changes;        /* it was said how many, which may be none */
    const char *first;       /* the first option of these that was given */
} udpai_bench_options;

/* Its input is a udpai_bench_options. */
extern const struct argp udpai_bench_parser;

/* At the end of the command line: what was given, to this command or to another; and the defaults.
 */
void udpai_bench_options_check(udpai_bench_options *given,
                               const char *command,
                               const struct argp_state *state);

#endif
