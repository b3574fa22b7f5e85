/* SPDX-License-Identifier: Apache-2.0 */
/* Programs beside udpactl, and that it calls by a word. What they take is known here, so that
 * udpactl lists it and finds the word; what an option means is known to the program alone. */
#ifndef UDPAI_CLI_TOOL_H
#define UDPAI_CLI_TOOL_H

#include <argp.h>

#include "cli/options.h"

typedef struct udpai_cli_tool {
    const char *word;    /* of udpactl: "bench" */
    const char *program; /* "udpa-bench" */
    const char *help;    /* its options, for one screen */
    const struct argp_option *options;
} udpai_cli_tool;

extern const udpai_cli_tool udpai_cli_bench, udpai_cli_conform;
extern const struct argp_option udpai_cli_bench_options[], udpai_cli_conform_options[];

/* NULL: it is the word of none. */
const udpai_cli_tool *udpai_cli_tool_find(const char *word);
/* The name of an option; NULL: @p options have no such key. */
const char *udpai_cli_option_name(const struct argp_option *options, int key);

/* What every such program takes besides; its input is a udpai_cli_options. */
extern const struct argp udpai_cli_tool_parser;
/* Ends the program for --help, --version, and what cannot be understood. */
void udpai_cli_tool_parse(
    const udpai_cli_tool *tool, const struct argp *parser, void *input, int argc, char **argv);
/* Of a program's own main(), before anything else; false: there is nowhere to print why. */
bool udpai_cli_program_begin(void);

#endif
