/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/conform_options.h"

#include <errno.h>
#include <stdlib.h>

#define QUIET_MAX_MS 60000
#define LIMIT_MAX_S 86400
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

enum {
    RUN = 512,
    CHANGE,
    APPLY_TO,
    RESOURCE,
    QUIET,
    PREFIX,
    REST,
    STRICT,
    LIST,
    TIME_LIMIT,
};

static const struct argp_option known_options[] = {
    {"run", RUN, "REGEX", 0, "Only cases whose name matches, such as '^delta/' or nack", 0},
    {"list", LIST, NULL, 0, "Print the cases and what they rest on, and run none", 0},
    {"change", CHANGE, "COMMAND", 0,
     "Have this program change what the server serves; it reads requests from its standard input",
     0},
    {"apply-to", APPLY_TO, "HOST:PORT", 0,
     "Change what the server serves by publishing to this node of UDPA; it may be the server", 0},
    {"resource", RESOURCE, "TYPE=NAME", 0,
     "Without these two: the server has this, such as endpoint=backend; may be given again", 0},
    {"quiet-ms", QUIET, "MS", 0, "How long nothing must come where nothing may (default 200)", 0},
    {"time-limit", TIME_LIMIT, "SECONDS", 0,
     "Begin no case later than this (default 600); then not all is known, and the exit status is 1",
     0},
    {"prefix", PREFIX, "TEXT", 0, "Of names that are made up (default conform)", 0},
    {"rest-server", REST, "HOST:PORT", 0,
     "Where the server speaks REST, without TLS; else the cases of it are skipped", 0},
    {"strict", STRICT, NULL, 0, "What a server should do, it must", 0},
    {0},
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

void
udpai_conform_authority_take(udpai_conform_options *given,
                             const char *text,
                             const struct argp_state *state)
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
    case QUIET:
        given->quiet_ms = number_of("quiet-ms", argument, "milliseconds", QUIET_MAX_MS, state);
        return 0;
    case TIME_LIMIT:
        given->limit_ms = 1000 * number_of("time-limit", argument, "seconds", LIMIT_MAX_S, state);
        return 0;
    case PREFIX:
        set_prefix(given, argument, state);
        return 0;
    case REST:
        given->rest = argument;
        return 0;
    case RESOURCE:
        return udpai_vector_push(&given->resources, argument) ? 0 : ENOMEM;
    case STRICT:
        given->is_strict = true;
        return 0;
    case LIST:
        given->is_list = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *
name_of(int key)
{
    for (const struct argp_option *at = known_options; at->name; at++)
        if (at->key == key)
            return at->name;
    return NULL;
}

static error_t
take(int key, char *argument, struct argp_state *state)
{
    udpai_conform_options *given = state->input;
    if (!given->first)
        given->first = name_of(key);
    switch (key) {
    case RUN:
        given->run = argument;
        return 0;
    case CHANGE:
        given->change = argument;
        return 0;
    case APPLY_TO:
        given->apply_to = argument;
        return 0;
    default:
        return take_more(given, key, argument, state);
    }
}

const struct argp udpai_conform_parser = {.options = known_options, .parser = take};

void
udpai_conform_options_check(const udpai_conform_options *given,
                            const char *command,
                            const struct argp_state *state)
{
    if (given->first && strcmp(command, "conform") != 0)
        argp_error(state, "--%s is for conform alone", given->first);
    if (given->change && given->apply_to)
        argp_error(state, "--change and --apply-to: give one of them");
    if (given->resources.n && (given->change || given->apply_to))
        argp_error(state, "--resource is for servers that cannot be changed: with --change or "
                          "--apply-to the tests bring their own");
}
