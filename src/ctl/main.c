/* SPDX-License-Identifier: Apache-2.0 */
/* udpactl: the command line of a node. It speaks UDPA, by the public library,
 * and for runtime HTTP; conform and bench are programs of their own. */
#include "cli/default_namespace.h"
#include "codec/suggest.h"
#include "ctl/commands.h"
#include "ctl/complete.h"
#include "ctl/options.h"
#include "ctl/rest.h"
#include "ctl/tool_run.h"
#include "ctl/verbs.h"

/* NULL: there is none that this program does itself. */
static const udpai_ctl_verb *
find_verb(const char *name)
{
    const udpai_ctl_verb *verb = udpai_ctl_verb_find(name);
    udpai_suggestion suggestion = udpai_suggest(udpai_str_from(name));
    char text[UDPAI_SUGGESTION_TEXT];
    if (verb && verb->run)
        return verb;
    for (size_t i = 0; (verb = udpai_ctl_verb_at(i)); i++)
        udpai_suggest_offer(&suggestion, verb->name);
    udpai_cli_complain("'%s' is no command%s ('udpactl help' lists them)", name,
                       udpai_suggestion_text(&suggestion, text));
    return NULL;
}

/* Does the node report where names lie that have no namespace? The first argument is a type; a name
 * with a slash may be an id, too. */
static bool
needs_namespace(const udpai_ctl_verb *verb, const udpai_ctl_options *options)
{
    bool has_names = options->common.arguments.n > 1 || options->files.n > 0 ||
                     verb->run == udpai_ctl_client; /* which reports them */
    return !options->common.is_xds && !options->common.name_space && has_names &&
           (verb->takes & UDPAI_CTL_TAKES_NAMES) && !options->origin;
}

static udpai_cli_exit
run_command(udpai_ctl_options *options)
{
    udpai_cli cli;
    udpai_ctl_rest rest = {0};
    const udpai_ctl_verb *verb = find_verb(options->common.command);
    if (!verb)
        return UDPAI_CLI_MISTAKE;
    udpai_cli_exit result = udpai_cli_begin(&cli, &options->common);
    if (result != UDPAI_CLI_GOOD)
        return result;
    if (needs_namespace(verb, options))
        result = udpai_cli_find_namespace(&cli, &options->common);
    if (options->is_rest) {
        result = udpai_ctl_rest_begin(&rest, options);
        cli.rest = &rest.server;
    }
    if (result == UDPAI_CLI_GOOD)
        result = verb->run(&cli);
    udpai_cli_end(&cli);
    udpai_ctl_rest_end(&rest);
    return result;
}

int
main(int argc, char **argv)
{
    udpai_ctl_options options;
    if (!udpai_cli_program_begin())
        return UDPAI_CLI_REFUSED; /* and there may be nowhere to print it */
    if (argc > 1 && strcmp(argv[1], "__complete") == 0)
        return udpai_ctl_complete(argc - 2, argv + 2);
    udpai_ctl_options_parse(&options, argc, argv);
    udpai_cli_exit result = options.tool
                                ? udpai_ctl_tool_run(options.tool, options.common.command, argv)
                                : run_command(&options);
    udpai_ctl_options_done(&options);
    return result;
}
