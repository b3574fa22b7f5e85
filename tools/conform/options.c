/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/conform/options.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/tool_conform.h"

#define TIMEOUT_MS 5000
#define QUIET_MAX_MS 60000
#define LIMIT_MAX_S 86400
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

enum {
    AUTHORITY = 544,
};

/* A whole number from 1 to @p max. */
static uint64_t
number_of(const char *option,
          const char *text,
          const char *unit,
          unsigned max,
          const struct argp_state *state)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (end == text || *end || *text == '-' || errno || number < 1 || number > max)
        argp_error(state, "--%s %s: give %s, from 1 to %u", option, text, unit, max);
    return number;
}

static void
set_prefix(udpai_conform_options *given, const char *text, const struct argp_state *state)
{
    if (!*text || text[strspn(text, NAME_CHARACTERS)] || strlen(text) > 100)
        argp_error(state, "--prefix %s: write up to 100 letters, digits, '-', '_' and '.'", text);
    given->prefix = text;
}

static void
set_authority(udpai_conform_options *given, const char *text, const struct argp_state *state)
{
    if (text[strspn(text, NAME_CHARACTERS)] || strlen(text) > 100)
        argp_error(state, "--authority %s: write up to 100 letters, digits, '-', '_' and '.'",
                   text);
    given->authority = text;
}

static error_t
take_more(udpai_conform_options *given,
          int key,
          const char *argument,
          const struct argp_state *state)
{
    switch (key) {
    case UDPAI_CONFORM_OPTION_QUIET:
        given->quiet_ms = number_of("quiet-ms", argument, "milliseconds", QUIET_MAX_MS, state);
        return 0;
    case UDPAI_CONFORM_OPTION_TIME_LIMIT:
        given->limit_ms = 1000 * number_of("time-limit", argument, "seconds", LIMIT_MAX_S, state);
        return 0;
    case UDPAI_CONFORM_OPTION_PREFIX:
        set_prefix(given, argument, state);
        return 0;
    case UDPAI_CONFORM_OPTION_REST:
        given->rest = argument;
        return 0;
    case UDPAI_CONFORM_OPTION_RESOURCE:
        return udpai_vector_push(&given->resources, argument) ? 0 : ENOMEM;
    case UDPAI_CONFORM_OPTION_STRICT:
        given->is_strict = true;
        return 0;
    case UDPAI_CONFORM_OPTION_LIST:
        given->is_list = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t
take_own(udpai_conform_options *given, int key, char *argument, const struct argp_state *state)
{
    switch (key) {
    case UDPAI_CONFORM_OPTION_RUN:
        given->run = argument;
        return 0;
    case UDPAI_CONFORM_OPTION_CHANGE:
        given->change = argument;
        return 0;
    case UDPAI_CONFORM_OPTION_APPLY_TO:
        given->apply_to = argument;
        return 0;
    default:
        return take_more(given, key, argument, state);
    }
}

/* ---- checking ---- */

static void
check(const udpai_conform_options *given, const struct argp_state *state)
{
    if (given->change && given->apply_to)
        argp_error(state, "--change and --apply-to: give one of them");
    if (given->resources.n && (given->change || given->apply_to))
        argp_error(state, "--resource is for servers that cannot be changed: with --change or "
                          "--apply-to the tests bring their own");
}

static void
check_common(udpai_cli_options *common, const struct argp_state *state)
{
    /* Names in a namespace are those of the command line: it is that of what is tested. */
    udpai_cli_options_resolve(common, UDPAI_CLI_ALL_SETTINGS & ~(1u << UDPAI_CLI_NAMESPACE), state);
    udpai_cli_connection_check(common, state);
    udpai_cli_names_check(common, state);
    if (strchr(common->server, ','))
        argp_error(state, "--server %s: conform tests one server: give one", common->server);
    if (common->format == UDPAI_CLI_YAML || common->format == UDPAI_CLI_NAME ||
        common->format == UDPAI_CLI_PATH)
        argp_error(state, "-o %s: conform has not this format", common->format_name);
    udpai_cli_output_options_check(&common->output, "conform", 0, false, state);
    if (common->timeout_ms == 0)
        common->timeout_ms = TIMEOUT_MS;
}

static error_t
take(int key, char *argument, struct argp_state *state)
{
    udpai_conform_options *given = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &given->common;
        state->child_inputs[1] = given;
        return 0;
    case ARGP_KEY_END:
        check_common(&given->common, state);
        check(given, state);
        return 0;
    default:
        return take_own(given, key, argument, state);
    }
}

/* udpactl lists it among those of sign. */
static const struct argp_option authority_options[] = {
    {"authority", AUTHORITY, "NAME", 0, "Of names xdstp://NAME/ that are made up", 0},
    {0},
};

static error_t
take_authority(int key, char *argument, struct argp_state *state)
{
    if (key != AUTHORITY)
        return ARGP_ERR_UNKNOWN;
    set_authority(state->input, argument, state);
    return 0;
}

void
udpai_conform_options_parse(udpai_conform_options *options, int argc, char **argv)
{
    static const struct argp authority = {.options = authority_options, .parser = take_authority};
    static const struct argp_child children[] = {
        {&udpai_cli_tool_parser, 0, NULL, 0},
        {&authority, 0, NULL, 0},
        {0},
    };
    static const struct argp parser = {
        .children = children,
        .options = udpai_cli_conform_options,
        .parser = take,
    };
    *options = (udpai_conform_options){0};
    udpai_cli_options_begin(&options->common, "udpactl");
    udpai_cli_tool_parse(&udpai_cli_conform, &parser, options, argc, argv);
}

void
udpai_conform_options_done(udpai_conform_options *options)
{
    udpai_vector_done(&options->resources);
    udpai_cli_options_done(&options->common);
}
