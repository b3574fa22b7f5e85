/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output_options.h"

#include <string.h>

#include "base/util.h"

enum {
    NO_HEADERS = 740,
    SORT_BY,
};

static const struct argp_option known_options[] = {
    {"no-headers", NO_HEADERS, NULL, 0,
     "get, watch, status, clients, wait, runtime, bench: tables without their heads", 1},
    {"sort-by", SORT_BY, "COLUMN", 0,
     "get, status, clients, wait, runtime: tables in the order of this column, numbers as numbers; "
     "-COLUMN or COLUMN:desc from the last to the first",
     1},
    {0},
};

/* ---- parsing ---- */

/* Cuts ":desc" or ":asc" off the argument, which is ours to change. */
static void
set_sort_by(udpai_cli_output_options *given, char *text, const struct argp_state *state)
{
    char *colon = strrchr(text, ':');
    given->is_descending = *text == '-' || (colon && strcmp(colon, ":desc") == 0);
    given->sort_by = text + (*text == '-');
    if (colon && strcmp(colon, ":desc") != 0 && strcmp(colon, ":asc") != 0)
        argp_error(state, "--sort-by %s: write COLUMN, COLUMN:asc, or COLUMN:desc", text);
    if (colon)
        *colon = '\0';
    if (!*given->sort_by)
        argp_error(state, "--sort-by: name a column, such as NAME");
}

static error_t
parse(int key, char *argument, struct argp_state *state)
{
    udpai_cli_output_options *given = state->input;
    switch (key) {
    case NO_HEADERS:
        given->without_heads = true;
        return 0;
    case SORT_BY:
        set_sort_by(given, argument, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp udpai_cli_output_parser = {.options = known_options, .parser = parse};

/* ---- formats ---- */

#define JSONPATH "jsonpath"

static void
set_jsonpath(udpai_cli_output_options *given, const char *text, const struct argp_state *state)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (*text != '=')
        argp_error(state, "-o jsonpath: give an expression: -o jsonpath='{[*].name}'");
    else if (udpai_cli_jsonpath_compile(&given->jsonpath, text + 1, &error) != UDPA_OK)
        argp_error(state, "-o jsonpath=%s: %s", text + 1, udpa_error_message(error));
}

bool
udpai_cli_output_format_take(udpai_cli_output_options *given,
                             const char *name,
                             const struct argp_state *state)
{
    size_t len = strlen(JSONPATH);
    bool is_jsonpath = strncmp(name, JSONPATH, len) == 0 && (name[len] == '=' || name[len] == '\0');
    given->is_wide = strcmp(name, "wide") == 0;
    given->jsonpath = udpai_cli_jsonpath_free(given->jsonpath);
    if (is_jsonpath)
        set_jsonpath(given, name + len, state);
    return given->is_wide || is_jsonpath;
}

void
udpai_cli_output_options_done(udpai_cli_output_options *given)
{
    given->jsonpath = udpai_cli_jsonpath_free(given->jsonpath);
}

/* ---- checking ---- */

void
udpai_cli_output_options_check(const udpai_cli_output_options *given,
                               const char *command,
                               unsigned abilities,
                               bool is_table,
                               const struct argp_state *state)
{
    if (given->without_heads && !(abilities & UDPAI_CLI_HAS_TABLE))
        argp_error(state, "--no-headers: %s has no table", command);
    if (given->is_wide && !(abilities & UDPAI_CLI_HAS_WIDE))
        argp_error(state, "-o wide: %s has not this format", command);
    if (given->sort_by && !(abilities & UDPAI_CLI_IS_SORTABLE))
        argp_error(state, "--sort-by: %s has no table to sort", command);
    if (given->sort_by && !is_table)
        argp_error(state, "--sort-by is of tables: leave -o out, or give -o wide");
}
