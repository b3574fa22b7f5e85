/* SPDX-License-Identifier: Apache-2.0 */
/* How what udpactl shows is to be written. */
#ifndef UDPAI_CLI_OUTPUT_OPTIONS_H
#define UDPAI_CLI_OUTPUT_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "cli/jsonpath.h"

typedef struct udpai_cli_output_options {
    bool is_wide; /* tables with nothing shortened */
    bool without_heads;
    const char *sort_by; /* a column, in any case; NULL: not given */
    bool is_descending;
    udpai_cli_jsonpath *jsonpath; /* owned; NULL: not given */
} udpai_cli_output_options;

/* Its input is a udpai_cli_output_options. */
extern const struct argp udpai_cli_output_parser;

/* Is it the name of a format of ours, wide or jsonpath=EXPRESSION? Then it is taken. */
bool udpai_cli_output_format_take(udpai_cli_output_options *given,
                                  const char *name,
                                  const struct argp_state *state);
void udpai_cli_output_options_done(udpai_cli_output_options *given);

/* What the tables of a command can do. */
enum {
    UDPAI_CLI_HAS_TABLE = 1,
    UDPAI_CLI_HAS_WIDE = 2,
    UDPAI_CLI_IS_SORTABLE = 4,
};

/* At the end of the command line: what was given, to this command or to another. @p is_table: that
 * is what it prints. */
void udpai_cli_output_options_check(const udpai_cli_output_options *given,
                                    const char *command,
                                    unsigned abilities,
                                    bool is_table,
                                    const struct argp_state *state);

#endif
