/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options.h"

#include <argp.h>
#include <stdlib.h>

#define VERSION "0.1.0"
#define EXIT_USAGE 2

/* glibc looks for it among the program's symbols. */
extern const char *argp_program_version __attribute__((visibility("default")));
const char *argp_program_version = "udpad " VERSION;

enum {
    CHECK = 256,
    LISTEN,
    HTTP,
    RESOURCES,
    STATE,
    DESCRIPTORS,
    NAMESPACE,
    NODE_ID,
    LOG_LEVEL,
    WORKER,
    INSTANCE,
    RUN,
    REPLICA,
    LOCAL_SOCKETS,
    RESTORED,
    RESTORE_FROM,
    FORCE,
    NOT_DUMPABLE,
    TRANSPORT,
};

static const struct argp_option options[] = {
    {"config", 'c', "FILE", 0, "Bootstrap file, YAML or JSON (udpad.conf(5))", 0},
    {"check", CHECK, NULL, 0,
     "Check the bootstrap file and the files that it names, report every error, and exit", 0},
    {"listen", LISTEN, "ADDR:PORT", 0,
     "Serve UDPA and xDS v3 there (default 127.0.0.1:18000; port 0: any)", 0},
    {"http", HTTP, "ADDR:PORT", 0, "Serve xDS and UDPA by REST there (default: nowhere)", 0},
    {"resources", RESOURCES, "DIR", 0, "Serve the resource files of this directory", 0},
    {"state", STATE, "DIR", 0, "Keep what is received there (default ./udpa-data)", 0},
    {"restored", RESTORED, NULL, 0,
     "What is kept there comes from a backup, and is intended: nothing newer is recovered, until "
     "the next start",
     0},
    {"restore-from", RESTORE_FROM, "FILE", 0,
     "If nothing is kept there, begin with this backup ('udpactl backup')", 0},
    {"force", FORCE, NULL, 0,
     "Start although what was kept there seems to be lost, and go on with what there is", 0},
    {"descriptors", DESCRIPTORS, "FILE", 0,
     "Descriptor set of the types in resource files (default envoy-v3.descriptors beside the "
     "program)",
     0},
    {"namespace", NAMESPACE, "NAME", 0,
     "Namespace of resources in files that have none, and of plain names on xDS (default local)",
     0},
    {"node-id", NODE_ID, "ID", 0, "Who this node is (default: the host's name)", 0},
    /* For processes that udpad starts. */
    {"worker", WORKER, "NUMBER", OPTION_HIDDEN, NULL, 0},
    {"instance", INSTANCE, "TEXT", OPTION_HIDDEN, NULL, 0},
    {"run", RUN, "TEXT", OPTION_HIDDEN, NULL, 0},
    {"replica", REPLICA, "TEXT", OPTION_HIDDEN, NULL, 0},
    {"local-sockets", LOCAL_SOCKETS, "TEXT", OPTION_HIDDEN, NULL, 0},
    {"not-dumpable", NOT_DUMPABLE, NULL, 0,
     "Let no other process of this user look into the memory, and write no core: keys are there",
     0},
    {"transport", TRANSPORT, "NAME", 0,
     "What serves the sockets: own (default), the listener of udpad; or grpc_core, gRPC's C "
     "library",
     0},
    {"log-level", LOG_LEVEL, "LEVEL", 0, "debug, info (default), warning or error", 0},
    {0},
};

/* A variable of a script that was not set must not mean the default. */
static void
refuse_empty(int key, const char *argument, struct argp_state *state)
{
    for (const struct argp_option *option = options; option->name; option++)
        if (option->key == key && argument && !*argument)
            argp_error(state, "--%s has an empty value: omit the option, or give a value",
                       option->name);
}

/* Of what is kept. */
static error_t
parse_of_state(udpai_options *given, int key, const char *argument)
{
    switch (key) {
    case STATE:
        given->state = argument;
        return 0;
    case RESTORE_FROM:
        given->restore_from = argument;
        return 0;
    case RESTORED:
        given->is_restored = true;
        return 0;
    case FORCE:
        given->is_forced = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t
parse(int key, char *argument, struct argp_state *state)
{
    udpai_options *given = state->input;
    refuse_empty(key, argument, state);
    switch (key) {
    case 'c':
        given->config_file = argument;
        return 0;
    case CHECK:
        given->only_check = true;
        return 0;
    case LISTEN:
        given->listen = argument;
        return 0;
    case HTTP:
        given->http = argument;
        return 0;
    case RESOURCES:
        given->resources = argument;
        return 0;
    case NOT_DUMPABLE:
        given->not_dumpable = true;
        return 0;
    case DESCRIPTORS:
        given->descriptors = argument;
        return 0;
    case NAMESPACE:
        given->name_space = argument;
        return 0;
    case NODE_ID:
        given->node_id = argument;
        return 0;
    case TRANSPORT:
        given->transport = argument;
        return 0;
    case LOG_LEVEL:
        given->log_level = argument;
        return 0;
    case WORKER:
        given->worker = (unsigned)strtoul(argument, NULL, 10);
        return 0;
    case INSTANCE:
        given->instance = argument;
        return 0;
    case RUN:
        given->run = argument;
        return 0;
    case REPLICA:
        given->replica = argument;
        return 0;
    case LOCAL_SOCKETS:
        given->local_sockets = argument;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is not understood: udpad takes options alone", argument);
        return 0;
    default:
        return parse_of_state(given, key, argument);
    }
}

static const struct argp parser = {
    .options = options,
    .parser = parse,
    .doc =
        "Distributes configuration to data planes: a node of UDPA, which also serves xDS v3.\v"
        "Without any option it serves on loopback, open to every local client. SIGHUP has it read "
        "its certificates again; SIGTERM drains and ends it, SIGINT ends it at once. Exit status: "
        "0 it was ended; 1 it could not "
        "start; 2 the command line, the bootstrap file or a file that it names has an error.",
};

void
udpai_options_parse(udpai_options *ret_options, int argc, char **argv)
{
    *ret_options = (udpai_options){.program = argv[0], .arguments = argv};
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&parser, argc, argv, 0, NULL, ret_options) != 0)
        exit(EXIT_USAGE);
}
