/* SPDX-License-Identifier: Apache-2.0 */
/* udpactl: the command line of a node. It speaks UDPA, by the public library,
 * for conform and bench xDS, and for runtime HTTP. */
#include <signal.h>

#include "codec/suggest.h"
#include "ctl/commands.h"
#include "ctl/default_namespace.h"
#include "loop/standard_streams.h"
#include "transport/grpc/stream_thread.h"
#include "transport/tls_program.h"

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
    {"conform", udpai_ctl_conform},
    {"auth", udpai_ctl_auth},
    {"sign", udpai_ctl_sign},
    {"verify", udpai_ctl_verify},
    {"bench", udpai_ctl_bench},
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
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(commands); i++) {
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run;
        udpai_suggest_offer(&suggestion, commands[i].name);
    }
    udpai_ctl_complain("'%s' is no command%s ('udpactl help' lists them)", name,
                       udpai_suggestion_text(&suggestion, text));
    return NULL;
}

int
main(int argc, char **argv)
{
    udpai_ctl_options options;
    udpai_ctl ctl;
    udpai_ctl_exit result = UDPAI_CTL_MISTAKE;
    if (!udpai_standard_streams_open())
        return UDPAI_CTL_REFUSED; /* and there may be nowhere to say so */
    udpai_tls_program_begin();
    udpai_ctl_options_parse(&options, argc, argv);
    signal(SIGPIPE, SIG_IGN);
    udpai_grpc_redirect_log();
    udpai_ctl_command_fn run = find_command(options.command);
    if (run)
        result = udpai_ctl_begin(&ctl, &options);
    if (run && result == UDPAI_CTL_GOOD) {
        result = udpai_ctl_find_namespace(&ctl, &options);
        if (result == UDPAI_CTL_GOOD)
            result = run(&ctl);
        udpai_ctl_end(&ctl);
    }
    udpai_ctl_options_done(&options);
    return result;
}
