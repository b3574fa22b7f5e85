/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "cli/help.h"
#include "loop/standard_streams.h"
#include "transport/grpc/stream_thread.h"
#include "transport/tls_program.h"

const udpai_cli_tool *
udpai_cli_tool_find(const char *word)
{
    static const udpai_cli_tool *const tools[] = {&udpai_cli_bench, &udpai_cli_conform};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(tools); i++)
        if (strcmp(tools[i]->word, word) == 0)
            return tools[i];
    return NULL;
}

const char *
udpai_cli_option_name(const struct argp_option *options, int key)
{
    for (const struct argp_option *at = options; at->name; at++)
        if (at->key == key)
            return at->name;
    return NULL;
}

/* ---- parsing ---- */

static const struct argp_option shared_options[] = {
    {"output", 'o', "FORMAT", 0, "How the results are written", 1},
    {"namespace", 'n', "NAME", 0, "Namespace of names that have none", 1},
    {0},
};

static error_t
parse(int key, char *argument, struct argp_state *state)
{
    udpai_cli_options *given = state->input;
    switch (key) {
    case 'n':
        given->name_space = argument;
        return 0;
    case 'o':
        udpai_cli_format_take(given, argument, state);
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = given;
        state->child_inputs[1] = &given->output;
        return 0;
    case ARGP_KEY_ARG:
        return udpai_vector_push(&given->arguments, argument) ? 0 : ENOMEM;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {&udpai_cli_options_parser, 0, NULL, 0},
    {&udpai_cli_output_parser, 0, NULL, 0},
    {0},
};

const struct argp udpai_cli_tool_parser = {
    .children = children,
    .options = shared_options,
    .parser = parse,
};

static void
print_help(const udpai_cli_tool *tool)
{
    udpai_strbuf out = {0};
    udpai_cli_help_put(&out, tool->program, NULL, tool->help);
    if (!udpai_strbuf_failed(&out))
        fputs(out.data, stdout);
    udpai_strbuf_done(&out);
    exit(UDPAI_CLI_GOOD);
}

void
udpai_cli_tool_parse(
    const udpai_cli_tool *tool, const struct argp *parser, void *input, int argc, char **argv)
{
    static char version[64];
    snprintf(version, sizeof(version), "%s %s", tool->program, UDPAI_CLI_VERSION);
    argp_program_version = version;
    argp_err_exit_status = UDPAI_CLI_MISTAKE;
    if (udpai_cli_help_is_requested(argc, argv))
        print_help(tool);
    if (argp_parse(parser, argc, argv, 0, NULL, input) != 0)
        exit(UDPAI_CLI_MISTAKE);
}

/* ---- beginning ---- */

bool
udpai_cli_program_begin(void)
{
    if (!udpai_standard_streams_open())
        return false;
    udpai_tls_program_begin();
    signal(SIGPIPE, SIG_IGN);
    udpai_grpc_redirect_log();
    return true;
}
