/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/options.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "cli/names.h"
#include "ctl/duration.h"
#include "ctl/help.h"
#include "ctl/resolve.h"
#include "ctl/verbs.h"
#include "model/name.h"

#define TIMEOUT_MS 5000
#define XDS_TIMEOUT_MS 20000 /* what is not there may be waited for */
#define RECEIPT_TIMEOUT_MS 15000

/* glibc looks for it among the program's symbols. */
extern const char *argp_program_version __attribute__((visibility("default")));
const char *argp_program_version = "udpactl " UDPAI_CLI_VERSION;

enum {
    STATE_OF_THE_WORLD = 256,

    REST,
    WAIT,
    REMOVED,
    RESOURCE_VERSION,
    AT_LEAST,
    DESPITE_REFUSALS,
    ALL_ORIGINS,
    ALL,
    WITH_SECRETS,
    FOLLOW,
    FOR,
    TREE,
    AS_SOURCE,
    ORIGIN,
    DRY_RUN,
    OVER,
    STATE,
};

#define WAIT_MS 60000 /* for acknowledgements */
#define OVER_MAX_S 3600

static const struct argp_option known_options[] = {
    {NULL, 0, NULL, 0, "What to do:", 1},
    {"filename", 'f', "FILE", 0,
     "apply, delete, sign, validate, verify, wait: resources of this file, or of the files of this "
     "directory; - "
     "is "
     "standard "
     "input, as YAML or JSON; may be given again",
     1},
    {"output", 'o', "FORMAT", 0,
     "get, watch, status, clients: table (default), wide, yaml, json, or name; get also path; "
     "sign: yaml (default) or json; wait, runtime, client, top, audit, thaw: table, wide, or json; "
     "check, "
     "bench: "
     "table or "
     "json; "
     "conform: table, tap, junit, or json; and jsonpath=EXPRESSION wherever there is json, such as "
     "jsonpath='{[*].name}'; bug-report: the archive to write",
     1},
    {"namespace", 'n', "NAME", 0,
     "Namespace of names that have none (default local); get and watch without names: this "
     "namespace alone (default all)",
     1},
    {"all", ALL, NULL, 0,
     "get: all resources with authority, version and generation, for apply --restore; yaml; "
     "status, "
     "clients: the session of this udpactl, too; client: what is as it should be, too; freeze: "
     "endpoints and secrets, too",
     1},
    {"with-secrets", WITH_SECRETS, NULL, 0, "get --all: the payloads of secrets, too; by TLS", 1},
    {"all-origins", ALL_ORIGINS, NULL, 0,
     "get: all contributions to each name, and which is effective; table, yaml, or json", 1},
    {"wait", WAIT, NULL, 0, "apply, delete: then wait until every subscriber has acknowledged it",
     1},
    {"gone", REMOVED, NULL, 0, "wait: until every subscriber has acknowledged its removal", 1},
    {"resource-version", RESOURCE_VERSION, "VERSION", 0,
     "wait: for this version of the one resource (default: of files, theirs; of names, whichever "
     "is "
     "there)",
     1},
    {"at-least", AT_LEAST, "N", 0, "wait: at least N clients must have acknowledged it (default 0)",
     1},
    {"despite-refusals", DESPITE_REFUSALS, NULL, 0,
     "wait: go on when a client rejects it, instead of ending at once", 1},
    {"follow", FOLLOW, NULL, 0, "audit, events: go on with what comes; explain: show each change",
     1},
    {"for", FOR, "CLIENT", 0,
     "explain: whether this client has it: its node id, identity, or address", 1},
    {"tree", TREE, NULL, 0, "clients: those of all downstream nodes, too", 1},
    {"as-source", AS_SOURCE, NULL, 0,
     "sources accept: at the source itself; NAME is its own node id, and all downstream nodes "
     "accept",
     1},
    {"origin", ORIGIN, "NODE", 0,
     "delete: what this node has read itself, and will not come back with, wherever it came to", 1},
    {"dry-run", DRY_RUN, NULL, 0,
     "delete --origin, store accept, store push: only show what would go; apply, reload: what "
     "would "
     "change",
     1},
    {"over", OVER, "TIME", 0,
     "replicas rebalance: in this time, such as 30s (default 10s) or 5m; at most 1h", 1},
    {"state", STATE, "DIR", 0, "restore: the state directory of a node that does not run", 1},
    {NULL, 0, NULL, 0, "The node (each command takes these options, before or after it):", 2},
    {"state-of-the-world", STATE_OF_THE_WORLD, NULL, 0,
     "xds: use the state of the world protocol (default: the delta protocol)", 2},
    {"rest", REST, NULL, 0, "xds: use REST and JSON (default: gRPC)", 2},
    {NULL, 0, NULL, 0, "And:", 3},
    {0},
};

/* ---- help ---- */

static void
put_type(void *userdata, const char *name, const char *also, const char *full)
{
    udpai_strbuf_printf(userdata, "  %-12s %-5s %s\n", name, also, full);
}

/* argp prints what is behind a vertical tab at the end of its help. */
static char *
filter_help(int key, const char *text, void *input)
{
    (void)input;
    udpai_strbuf help = {0};
    if ((key != ARGP_KEY_HELP_PRE_DOC && key != ARGP_KEY_HELP_POST_DOC) || !text)
        return (char *)(uintptr_t)text;
    if (key == ARGP_KEY_HELP_PRE_DOC) {
        udpai_strbuf_puts(&help, text);
        udpai_ctl_help_put_forms(&help);
    } else {
        udpai_strbuf_puts(&help, "Short names of types:\n");
        udpai_cli_visit_types(put_type, &help);
        udpai_strbuf_putc(&help, '\n');
        udpai_strbuf_puts(&help, text);
    }
    /* argp frees it with free(), and our allocator may count. */
    char *made = udpai_strbuf_failed(&help) ? NULL : strdup(help.data);
    udpai_strbuf_done(&help);
    return made;
}

static const char doc[] =
    "Looks at a node of UDPA, and publishes to it.\n"
    "\n"
    "\v"
    "Exit status: 0 good; 1 refused, or not found; 2 an error in the command line or a file; 3 no "
    "connection; 4 no answer in time, or wait: a client has not acknowledged it in time; 5 wait: "
    "it "
    "was replaced meanwhile.";

/* ---- parsing ---- */

static void
set_at_least(udpai_ctl_options *given, const char *text, const struct argp_state *state)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || number > UINT32_MAX)
        argp_error(state, "--at-least %s: give a number of subscribers", text);
    given->at_least = number;
    given->at_least_text = text;
}

static void
set_over(udpai_ctl_options *given, const char *text, const struct argp_state *state)
{
    given->over_s = udpai_ctl_seconds_of(text, OVER_MAX_S);
    if (given->over_s == 0)
        argp_error(state, "--over %s: give a number and s or m, such as 30s; at most 1h", text);
}

static void
choose_command(udpai_ctl_options *given, const char *text)
{
    given->common.command = text;
    given->tool = udpai_cli_tool_find(text);
}

static void
add_argument(udpai_ctl_options *given, const char *text)
{
    if (!given->common.command && !given->common.is_xds && strcmp(text, "xds") == 0)
        given->common.is_xds = true;
    else if (!given->common.command)
        choose_command(given, text);
    else if (!udpai_vector_push(&given->common.arguments, text))
        abort();
}

/* What only waiting heeds; `is_waiting`: some of it, for another command. */
static void
check_not_wait(const udpai_ctl_options *given, const struct argp_state *state, bool is_waiting)
{
    if (given->is_removed || given->resource_version)
        argp_error(state, "--gone and --resource-version go with wait");
    if (!is_waiting && (given->at_least_text || given->despite_refusals))
        argp_error(state, "--at-least and --despite-refusals go with wait, or with --wait");
}

/* Of a program that is called, it knows its formats itself. */
static void
check_format(const udpai_ctl_options *given, const struct argp_state *state)
{
    bool is_of_conform =
        given->common.format == UDPAI_CLI_TAP || given->common.format == UDPAI_CLI_JUNIT;
    bool is_get = strcmp(given->common.command, "get") == 0;
    if (given->all_origins &&
        (!is_get || given->common.is_xds || given->common.format == UDPAI_CLI_NAME))
        argp_error(state, "--all-origins goes with get, of a node of UDPA, and has table, yaml and "
                          "json");
    if (given->tool)
        return;
    if (given->common.format == UDPAI_CLI_PATH &&
        (!is_get || given->common.is_xds || given->all_origins))
        argp_error(state,
                   "-o path goes with get, of a node of UDPA, and shows effective resources alone");
    if (is_of_conform)
        argp_error(state, "-o %s: %s has not this format", given->common.format_name,
                   given->common.command);
}

static void
check_of_tool(const char *option,
              const udpai_cli_tool *of,
              const udpai_cli_tool *called,
              const struct argp_state *state)
{
    if (option && of != called)
        argp_error(state, "--%s is for %s alone", option, of->word);
}

/* Of options that several verbs take. */
static void
check_shared(const udpai_ctl_options *given,
             const udpai_ctl_verb *verb,
             const struct argp_state *state)
{
    if (given->files.n && !(verb->takes & UDPAI_CTL_TAKES_FILES))
        argp_error(state, "-f %s: %s takes no files", given->files.items[0], verb->name);
    if (given->common.format_name && !(verb->takes & UDPAI_CTL_TAKES_FORMAT))
        argp_error(state, "-o %s: %s has one form of output", given->common.format_name,
                   verb->name);
    if (given->common.name_space && !(verb->takes & UDPAI_CTL_TAKES_NAMESPACE))
        argp_error(state, "-n %s: %s is of no namespace", given->common.name_space, verb->name);
    if (given->is_waiting && !(verb->takes & UDPAI_CTL_TAKES_WAIT))
        argp_error(state, "--wait goes with apply and delete");
}

/* Of options that one verb takes. */
static void
check_own(const udpai_ctl_options *given,
          const udpai_ctl_verb *verb,
          const struct argp_state *state)
{
    bool is_audit = strcmp(verb->name, "audit") == 0;
    if (given->is_following && !is_audit && strcmp(verb->name, "events") != 0 &&
        strcmp(verb->name, "explain") != 0)
        argp_error(state, "--follow goes with audit, events and explain");
    if (given->is_following && is_audit && given->common.output.sort_by)
        argp_error(state, "--follow shows records as they come: --sort-by cannot sort them");
    if (given->client && strcmp(verb->name, "explain") != 0)
        argp_error(state, "--for goes with explain");
    if (given->is_of_tree && strcmp(verb->name, "clients") != 0)
        argp_error(state, "--tree goes with clients");
    if (given->as_source && strcmp(verb->name, "sources") != 0)
        argp_error(state, "--as-source goes with sources accept");
    if (given->over_s && strcmp(verb->name, "replicas") != 0)
        argp_error(state, "--over goes with replicas rebalance");
    if (given->state && strcmp(verb->name, "restore") != 0)
        argp_error(state, "--state goes with restore");
    if (given->origin && strcmp(verb->name, "delete") != 0)
        argp_error(state, "--origin goes with delete");
    if (given->is_dry_run && !given->origin && strcmp(verb->name, "store") != 0 &&
        strcmp(verb->name, "reload") != 0 && strcmp(verb->name, "apply") != 0)
        argp_error(
            state,
            "--dry-run goes with apply, delete --origin, store accept, store push and reload");
    if (!(verb->takes & UDPAI_CTL_TAKES_ACKS))
        check_not_wait(given, state, given->is_waiting);
    if (!given->tool)
        udpai_cli_output_options_check(&given->common.output, verb->name, verb->tables,
                                       given->common.format == UDPAI_CLI_TABLE, state);
}

/* An option that a command ignores is an error: the user expected something of it. */
static void
check_heeded(udpai_ctl_options *given, const struct argp_state *state)
{
    const udpai_ctl_verb *verb = udpai_ctl_verb_find(given->common.command);
    if (verb) {
        check_shared(given, verb, state);
        check_own(given, verb, state);
    }
    check_format(given, state);
    check_of_tool(given->conform_option, &udpai_cli_conform, given->tool, state);
    check_of_tool(given->bench_option, &udpai_cli_bench, given->tool, state);
    udpai_ctl_apply_options_check(given, state);
    udpai_ctl_bootstrap_options_check(&given->bootstrap, given->common.command, state);
    udpai_ctl_sign_options_check(&given->sign, given->common.command, state);
    udpai_ctl_validate_options_check(&given->validate, given->common.command, state);
    udpai_ctl_look_options_check(&given->look, given->common.command, state);
}

/* Such a server does not report which types it has. */
static void
check_xds(const udpai_ctl_options *given, const struct argp_state *state)
{
    bool looks =
        strcmp(given->common.command, "get") == 0 || strcmp(given->common.command, "watch") == 0;
    if (given->common.is_xds && (!looks || given->common.arguments.n == 0))
        argp_error(state, "write 'xds get TYPE [NAME...]', or 'xds watch TYPE [NAME...]'");
    if (given->common.is_state_of_the_world && !given->common.is_xds)
        argp_error(state, "--state-of-the-world goes with xds");
    if (given->is_rest && (!given->common.is_xds || given->common.is_state_of_the_world))
        argp_error(state, "--rest goes with xds, and is the state of the world in any case");
}

/* What is signed is a file, and so is the configuration: they have no table. */
static void
check_sign(udpai_ctl_options *given, const struct argp_state *state)
{
    bool signs = strcmp(given->common.command, "sign") == 0;
    bool is_file = signs || strcmp(given->common.command, "config") == 0;
    if (is_file && given->common.format != UDPAI_CLI_JSON &&
        given->common.format != UDPAI_CLI_YAML) {
        if (given->common.format_name)
            argp_error(state, "-o %s: %s has yaml and json", given->common.format_name,
                       given->common.command);
        given->common.format = UDPAI_CLI_YAML;
    }
    if (signs && (!given->common.key || !given->sign.key_id))
        argp_error(state, "sign needs --key FILE and --key-id ID");
}

/* Their table is not made of resources. */
static void
check_two_formats(const udpai_ctl_options *given, const struct argp_state *state)
{
    static const char *const verbs[] = {"wait", "runtime", "check", "client",
                                        "top",  "audit",   "thaw",  "context"};
    bool has_two = false;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(verbs); i++)
        has_two |= strcmp(given->common.command, verbs[i]) == 0;
    if (has_two && given->common.format != UDPAI_CLI_TABLE &&
        given->common.format != UDPAI_CLI_JSON)
        argp_error(state, "-o %s: %s has table and json", given->common.format_name,
                   given->common.command);
}

/* A file to restore from has all that there is, and has the authority of each. */
static void
check_restoring(udpai_ctl_options *given, const struct argp_state *state)
{
    bool is_get = strcmp(given->common.command, "get") == 0 && !given->common.is_xds;
    bool has_sessions = strcmp(given->common.command, "status") == 0 ||
                        strcmp(given->common.command, "clients") == 0;
    given->with_own_session = given->is_all && has_sessions;
    given->lists_all = given->is_all && strcmp(given->common.command, "client") == 0;
    given->freezes_all = given->is_all && strcmp(given->common.command, "freeze") == 0;
    given->is_all &= !has_sessions && !given->lists_all && !given->freezes_all;
    if (given->is_all && (!is_get || given->common.arguments.n || given->common.name_space ||
                          given->all_origins || given->common.format != UDPAI_CLI_YAML))
        argp_error(
            state,
            "--all goes with status, clients, client, freeze, and get -o yaml of a node of UDPA, "
            "which is of all types and namespaces");
    if (given->with_secrets && !given->is_all)
        argp_error(state, "--with-secrets goes with get --all");
    if (given->with_secrets && !given->common.ca)
        argp_error(state, "--with-secrets: secrets are not asked for in the clear: give --ca FILE");
}

/* What is printed is for people. */
static void
choose_secrets(udpai_ctl_options *given)
{
    bool prints =
        strcmp(given->common.command, "get") == 0 || strcmp(given->common.command, "watch") == 0;
    given->common.secrets = given->with_secrets ? UDPA_SECRETS_COPIED
                            : prints            ? UDPA_SECRETS_REDACTED
                                                : UDPA_SECRETS_USED;
}

/* What all commands share; commands check the rest themselves. */
static void
check(udpai_ctl_options *given, const struct argp_state *state)
{
    if (!given->common.command)
        argp_error(state, "give a command: 'udpactl help' lists them");
    const udpai_ctl_verb *verb = udpai_ctl_verb_find(given->common.command);
    /* Each command takes the options of the connection, so that a shell can have them in an alias;
     * those that ask no node ignore them, and a program of its own checks them itself. */
    if (!given->tool && !(verb && verb->takes & UDPAI_CTL_TAKES_NO_NODE))
        udpai_cli_connection_check(&given->common, state);
    if (!verb || !(verb->takes & UDPAI_CTL_TAKES_NOTHING))
        udpai_cli_names_check(&given->common, state);
    check_heeded(given, state);
    check_two_formats(given, state);
    check_sign(given, state);
    check_restoring(given, state);
    check_xds(given, state);
    choose_secrets(given);
}

/* -o is a file of bug-report, which may stand before it. */
static bool
is_archive(const udpai_ctl_options *given, const char *argument)
{
    static const char end[] = ".tar";
    size_t len = strlen(argument);
    return (given->common.command && strcmp(given->common.command, "bug-report") == 0) ||
           (len > strlen(end) && strcmp(argument + len - strlen(end), end) == 0);
}

static error_t
parse_more(int key, char *argument, struct argp_state *state)
{
    udpai_ctl_options *given = state->input;
    switch (key) {
    case STATE_OF_THE_WORLD:
        given->common.is_state_of_the_world = true;
        return 0;
    case REST:
        given->is_rest = true;
        return 0;
    case AS_SOURCE:
        given->as_source = true;
        return 0;
    case ORIGIN:
        given->origin = argument;
        return 0;
    case DRY_RUN:
        given->is_dry_run = true;
        return 0;
    case STATE:
        given->state = argument;
        return 0;
    case OVER:
        set_over(given, argument, state);
        return 0;
    case TREE:
        given->is_of_tree = true;
        return 0;
    case 'n':
        given->common.name_space = argument;
        return 0;
    case 'o':
        if (is_archive(given, argument))
            given->look.file = argument;
        else
            udpai_cli_format_take(&given->common, argument, state);
        return 0;
    case 'f':
        return udpai_vector_push(&given->files, argument) ? 0 : ENOMEM;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &given->look;
        state->child_inputs[1] = &given->conform_option;
        state->child_inputs[2] = &given->sign;
        state->child_inputs[3] = &given->bench_option;
        state->child_inputs[4] = &given->validate;
        state->child_inputs[5] = &given->common.output;
        state->child_inputs[6] = &given->apply;
        state->child_inputs[7] = &given->bootstrap;
        state->child_inputs[8] = &given->common;
        return 0;
    case ARGP_KEY_ARG:
        add_argument(given, argument);
        return 0;
    case ARGP_KEY_END:
        udpai_ctl_resolve(given, state);
        given->wait_ms = given->common.timeout_ms ? given->common.timeout_ms : WAIT_MS;
        given->common.receipt_timeout_ms =
            given->common.timeout_ms ? given->common.timeout_ms : RECEIPT_TIMEOUT_MS;
        if (given->common.timeout_ms == 0)
            given->common.timeout_ms = given->common.is_xds ? XDS_TIMEOUT_MS : TIMEOUT_MS;
        check(given, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t
parse(int key, char *argument, struct argp_state *state)
{
    udpai_ctl_options *given = state->input;
    switch (key) {
    case WAIT:
        given->is_waiting = true;
        return 0;
    case REMOVED:
        given->is_removed = true;
        return 0;
    case RESOURCE_VERSION:
        given->resource_version = argument;
        return 0;
    case AT_LEAST:
        set_at_least(given, argument, state);
        return 0;
    case DESPITE_REFUSALS:
        given->despite_refusals = true;
        return 0;
    case ALL:
        given->is_all = true;
        return 0;
    case WITH_SECRETS:
        given->with_secrets = true;
        return 0;
    case ALL_ORIGINS:
        given->all_origins = true;
        return 0;
    case FOR:
        given->client = argument;
        return 0;
    case FOLLOW:
        given->is_following = true;
        return 0;
    default:
        return parse_more(key, argument, state);
    }
}

/* The first one that is given is kept: its value is for the program that has it. */
static error_t
keep_option(const struct argp_option *options, int key, struct argp_state *state)
{
    const char **first = state->input, *name = udpai_cli_option_name(options, key);
    if (!name)
        return ARGP_ERR_UNKNOWN;
    if (!*first)
        *first = name;
    return 0;
}

static error_t
keep_bench(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    return keep_option(udpai_cli_bench_options, key, state);
}

static error_t
keep_conform(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    return keep_option(udpai_cli_conform_options, key, state);
}

static const struct argp bench_parser = {.options = udpai_cli_bench_options, .parser = keep_bench};
static const struct argp conform_parser = {.options = udpai_cli_conform_options,
                                           .parser = keep_conform};

/* --strict is of check and of conform; the first parser takes it, and conform parses its own. */
static const struct argp_child children[] = {
    {&udpai_ctl_look_parser, 0, "Of check, top and bug-report:", 3},
    {&conform_parser, 0, "Of conform:", 3},
    {&udpai_ctl_sign_parser, 0, "Of sign and verify:", 3},
    {&bench_parser, 0, "Of bench:", 3},
    {&udpai_ctl_validate_parser, 0, "Of validate:", 3},
    {&udpai_cli_output_parser, 0, NULL, 0},
    {&udpai_ctl_apply_parser, 0, "Of apply:", 3},
    {&udpai_ctl_bootstrap_parser, 0, "Of bootstrap:", 3},
    {&udpai_cli_options_parser, 0, NULL, 0},
    {0},
};

const struct argp udpai_ctl_options_parser = {
    .children = children,
    .options = known_options,
    .parser = parse,
    .args_doc = "COMMAND [ARGUMENT...]",
    .doc = doc,
    .help_filter = filter_help,
};

/* Of a verb, or of none of them: all in groups. Ends the program. */
static void
print_help(const char *verb)
{
    udpai_strbuf out = {0};
    if (!verb || !udpai_ctl_help_put_verb(&out, verb))
        udpai_ctl_help_put_verbs(&out);
    if (!udpai_strbuf_failed(&out))
        fputs(out.data, stdout);
    udpai_strbuf_done(&out);
    exit(UDPAI_CLI_GOOD);
}

void
udpai_ctl_options_parse(udpai_ctl_options *options, int argc, char **argv)
{
    *options = (udpai_ctl_options){0};
    udpai_cli_options_begin(&options->common, "udpactl");
    const char *verb = udpai_ctl_help_requested(argc, argv);
    if (verb)
        print_help(verb);
    argp_err_exit_status = UDPAI_CLI_MISTAKE;
    if (argp_parse(&udpai_ctl_options_parser, argc, argv, 0, NULL, options) != 0)
        exit(UDPAI_CLI_MISTAKE);
    if (strcmp(options->common.command, "help") == 0) {
        verb = options->common.arguments.n ? options->common.arguments.items[0] : NULL;
        udpai_ctl_options_done(options);
        print_help(verb);
    }
}

void
udpai_ctl_options_done(udpai_ctl_options *options)
{
    udpai_vector_done(&options->files);
    udpai_vector_done(&options->sign.trusted);
    udpai_vector_done(&options->validate.known);
    udpai_cli_options_done(&options->common);
    udpai_free(options->http_of_server);
}
