/* SPDX-License-Identifier: Apache-2.0 */
/* udpactl: the command line of a node. It speaks UDPA, by the public library,
 * and for runtime HTTP; conform and bench are programs of their own. */
#include "cli/default_namespace.h"
#include "codec/suggest.h"
#include "ctl/commands.h"
#include "ctl/help.h"
#include "ctl/rest.h"
#include "ctl/tool_run.h"

static const struct command {
    const char *name;
    udpai_ctl_command_fn run;
} commands[] = {
    {"apply", udpai_ctl_apply},
    {"delete", udpai_ctl_delete},
    {"get", udpai_ctl_get},
    {"watch", udpai_ctl_watch},
    {"status", udpai_ctl_status},
    {"validate", udpai_ctl_validate},
    {"wait", udpai_ctl_wait_command},
    {"auth", udpai_ctl_auth},
    {"sign", udpai_ctl_sign},
    {"verify", udpai_ctl_verify},
    {"clients", udpai_ctl_clients},
    {"events", udpai_ctl_events},
    {"runtime", udpai_ctl_runtime_command},
    {"sources", udpai_ctl_sources_command},
};

static udpai_ctl_command_fn
find_command(const char *name)
{
    udpai_suggestion suggestion = udpai_suggest(udpai_str_from(name));
    char text[UDPAI_SUGGESTION_TEXT];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(commands); i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run;
    for (size_t i = 0; udpai_ctl_help_verb(i); i++)
        udpai_suggest_offer(&suggestion, udpai_ctl_help_verb(i));
    udpai_cli_complain("'%s' is no command%s ('udpactl help' lists them)", name,
                       udpai_suggestion_text(&suggestion, text));
    return NULL;
}

/* Those that take names to a node of UDPA. */
static bool
takes_names(const udpai_ctl_options *options)
{
    static const char *const names[] = {"apply", "delete", "get", "verify", "wait", "watch"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        if (strcmp(options->common.command, names[i]) == 0)
            return !options->origin;
    return false;
}

/* Does the node say where names lie that have no namespace? The first argument is a type; a name
 * with a slash may be an id, too. */
static bool
needs_namespace(const udpai_ctl_options *options)
{
    bool has_names = options->common.arguments.n > 1 || options->files.n > 0;
    return !options->common.is_xds && !options->common.name_space && takes_names(options) &&
           has_names;
}

static udpai_cli_exit
run_command(udpai_ctl_options *options)
{
    udpai_cli cli;
    udpai_ctl_rest rest = {0};
    udpai_ctl_command_fn run = find_command(options->common.command);
    if (!run)
        return UDPAI_CLI_MISTAKE;
    udpai_cli_exit result = udpai_cli_begin(&cli, &options->common);
    if (result != UDPAI_CLI_GOOD)
        return result;
    if (needs_namespace(options))
        result = udpai_cli_find_namespace(&cli, &options->common);
    if (options->is_rest) {
        result = udpai_ctl_rest_begin(&rest, options);
        cli.rest = &rest.server;
    }
    if (result == UDPAI_CLI_GOOD)
        result = run(&cli);
    udpai_cli_end(&cli);
    udpai_ctl_rest_end(&rest);
    return result;
}

int
main(int argc, char **argv)
{
    udpai_ctl_options options;
    if (!udpai_cli_program_begin())
        return UDPAI_CLI_REFUSED; /* and there may be nowhere to say so */
    udpai_ctl_options_parse(&options, argc, argv);
    udpai_cli_exit result = options.tool
                                ? udpai_ctl_tool_run(options.tool, options.common.command, argv)
                                : run_command(&options);
    udpai_ctl_options_done(&options);
    return result;
}
