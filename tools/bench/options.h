/* SPDX-License-Identifier: Apache-2.0 */
/* What udpa-bench was called with. */
#ifndef UDPAI_BENCH_OPTIONS_H
#define UDPAI_BENCH_OPTIONS_H

#include "cli/options.h"
#include "tools/bench/load.h"

typedef struct udpai_bench_options {
    udpai_cli_options common;
    udpai_load_options load; /* but for what is common */
    const char *type;        /* as given; NULL: endpoint */
    bool publishes;          /* to the server that is measured */
    bool has_changes;        /* it was set how many, which may be none */
} udpai_bench_options;

/* Ends the program for --help, --version, and what cannot be understood; fills in the defaults. */
void udpai_bench_options_parse(udpai_bench_options *options, int argc, char **argv);

#endif
