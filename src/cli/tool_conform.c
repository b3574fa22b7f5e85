/* SPDX-License-Identifier: Apache-2.0 */
/* What udpa-conform takes: udpactl, which calls it, lists it too. */
#include "cli/tool_conform.h"

const struct argp_option udpai_cli_conform_options[] = {
    {"run", UDPAI_CONFORM_OPTION_RUN, "REGEX", 0,
     "Only cases whose name matches, such as '^delta/' or nack", 0},
    {"list", UDPAI_CONFORM_OPTION_LIST, NULL, 0,
     "Print the cases and what they rest on, and run none", 0},
    {"change", UDPAI_CONFORM_OPTION_CHANGE, "COMMAND", 0,
     "Have this program change what the server serves; it reads requests from its standard input",
     0},
    {"apply-to", UDPAI_CONFORM_OPTION_APPLY_TO, "HOST:PORT", 0,
     "Change what the server serves by publishing to this node of UDPA; it may be the server", 0},
    {"resource", UDPAI_CONFORM_OPTION_RESOURCE, "TYPE=NAME", 0,
     "Without these two: the server has this, such as endpoint=backend; may be given again", 0},
    {"quiet-ms", UDPAI_CONFORM_OPTION_QUIET, "MS", 0,
     "How long nothing must come where nothing may (default 200)", 0},
    {"time-limit", UDPAI_CONFORM_OPTION_TIME_LIMIT, "SECONDS", 0,
     "Begin no case later than this (default 600); then not all is known, and the exit status is 1",
     0},
    {"prefix", UDPAI_CONFORM_OPTION_PREFIX, "TEXT", 0,
     "Of names that are made up (default conform)", 0},
    {"rest-server", UDPAI_CONFORM_OPTION_REST, "HOST:PORT", 0,
     "Where the server speaks REST, without TLS; else the cases of it are skipped", 0},
    {"strict", UDPAI_CONFORM_OPTION_STRICT, NULL, 0, "What a server should do, it must", 0},
    {0},
};

const udpai_cli_tool udpai_cli_conform = {
    .word = "conform",
    .program = "udpa-conform",
    .options = udpai_cli_conform_options,
    .help = "Run scripted conversations with any server of xDS v3.\n"
            "\n"
            "  --list                 print the cases, run none\n"
            "  --run REGEX            only these cases, such as '^delta/'\n"
            "  --apply-to HOST:PORT   change what it serves by publishing to this node\n"
            "  --change COMMAND       have this program change what it serves\n"
            "  --resource TYPE=NAME   without these two: it has this; may be given again\n"
            "  --rest-server HOST:PORT  where it speaks REST\n"
            "  --prefix TEXT          of names that are made up (default conform)\n"
            "  --authority NAME       of names xdstp://NAME/ that are made up\n"
            "  --quiet-ms MS          how long nothing must come where nothing may (200)\n"
            "  --strict               what a server should do, it must\n"
            "  -o, --output FORMAT    table, tap, junit, json, or jsonpath=EXPRESSION\n",
};
