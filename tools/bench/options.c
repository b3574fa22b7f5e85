/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/options.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "cli/tool_bench.h"
#include "tools/bench/contents.h"

#define TIMEOUT_MS 20000
#define STREAMS 100
#define RESOURCES 1000
#define SIZE 300
#define BATCH 100
#define CHANGES 200
#define CHANGES_S 30
#define RATE_MAX 1e6
#define SECONDS_MAX 86400.0

static size_t
number_of(int key, const char *text, size_t min, size_t max, const struct argp_state *state)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || number < min || number > max)
        argp_error(state, "--%s %s: give a number from %zu to %zu",
                   udpai_cli_option_name(udpai_cli_bench_options, key), text, min, max);
    return number;
}

static void
set_protocol(udpai_load_options *load, const char *text, const struct argp_state *state)
{
    static const char *const names[] = {"delta", "sotw", "udpa"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        if (strcmp(text, names[i]) == 0) {
            load->protocol = (udpai_load_protocol)i;
            return;
        }
    argp_error(state, "--protocol %s: the protocols are delta, sotw and udpa", text);
}

/* More than nothing, with a fraction or without. */
static double
positive_of(int key, const char *text, double max, const struct argp_state *state)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !isfinite(number) || number <= 0 || number > max)
        argp_error(state, "--%s %s: give a number above 0, at most %.0f, such as 0.5",
                   udpai_cli_option_name(udpai_cli_bench_options, key), text, max);
    return number;
}

static void
set_processes(udpai_load_options *load, const char *text, const struct argp_state *state)
{
    const char *at = text;
    do {
        char *end;
        long number = strtol(at, &end, 10);
        if (end == at || number <= 0 || number > INT32_MAX || (*end && *end != ','))
            argp_error(state, "--pid %s: give ids of processes, with commas between", text);
        if (load->n_servers == UDPAI_LOAD_SERVERS_MAX)
            argp_error(state, "--pid: at most %d processes are measured", UDPAI_LOAD_SERVERS_MAX);
        load->servers[load->n_servers++] = (int)number;
        at = *end ? end + 1 : end;
    } while (*at);
}

static bool
take_number(udpai_load_options *load, int key, const char *text, const struct argp_state *state)
{
    const struct {
        int key;
        size_t *to, min, max;
    } numbers[] = {
        {UDPAI_BENCH_OPTION_STREAMS, &load->n_streams, 1, 1000000},
        {UDPAI_BENCH_OPTION_CONNECTIONS, &load->n_connections, 1, 1000000},
        {UDPAI_BENCH_OPTION_RESOURCES, &load->n_resources, 1, UDPAI_CONTENTS_NAMES_MAX},
        {UDPAI_BENCH_OPTION_SIZE, &load->size, 1, 1 << 20},
        {UDPAI_BENCH_OPTION_NAMES, &load->n_names, 0, UDPAI_CONTENTS_NAMES_MAX},
        {UDPAI_BENCH_OPTION_BATCH, &load->batch, 1, 10000},
        {UDPAI_BENCH_OPTION_CHANGES, &load->n_changes, 0, 100000000},
        {UDPAI_BENCH_OPTION_DEPTH, &load->depth, 1, 100000},
        {UDPAI_BENCH_OPTION_TOGETHER, &load->n_together, 1, 10000},
        {UDPAI_BENCH_OPTION_SLOW, &load->n_slow, 0, 1000000},
        {UDPAI_BENCH_OPTION_SLOW_RATE, &load->slow_bytes_per_s, 0, 1000000000},
        {UDPAI_BENCH_OPTION_ENVOY, &load->n_of_envoys, 2, UDPAI_CONTENTS_NAMES_MAX},
        {UDPAI_BENCH_OPTION_NAMESPACES, &load->n_namespaces, 1, 100000},
        {UDPAI_BENCH_OPTION_NAMESPACES_EACH, &load->n_of_a_stream, 1, 100},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(numbers); i++)
        if (numbers[i].key == key) {
            *numbers[i].to = number_of(key, text, numbers[i].min, numbers[i].max, state);
            return true;
        }
    return false;
}

static bool
take_flag(udpai_bench_options *given, int key)
{
    bool *flags[] = {&given->publishes,    &given->load.reconnects,
                     &given->load.is_idle, &given->load.has_plain_names,
                     &given->load.keeps,   &given->load.has_receipts};
    static const int keys[] = {UDPAI_BENCH_OPTION_PUBLISH, UDPAI_BENCH_OPTION_RECONNECT,
                               UDPAI_BENCH_OPTION_IDLE,    UDPAI_BENCH_OPTION_PLAIN_NAMES,
                               UDPAI_BENCH_OPTION_KEEP,    UDPAI_BENCH_OPTION_RECEIPTS};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(keys); i++)
        if (keys[i] == key)
            return *flags[i] = true;
    return false;
}

static error_t
take_own(int key, char *argument, struct argp_state *state)
{
    udpai_bench_options *given = state->input;
    given->has_changes |= key == UDPAI_BENCH_OPTION_CHANGES;
    switch (key) {
    case UDPAI_BENCH_OPTION_PROTOCOL:
        set_protocol(&given->load, argument, state);
        return 0;
    case UDPAI_BENCH_OPTION_TYPE:
        given->type = argument;
        return 0;
    case UDPAI_BENCH_OPTION_PUBLISH_TO:
        given->load.publish_to = argument;
        return 0;
    case UDPAI_BENCH_OPTION_CONTROL:
        given->load.control = argument;
        return 0;
    case UDPAI_BENCH_OPTION_RATE:
        given->load.per_second = positive_of(key, argument, RATE_MAX, state);
        return 0;
    case UDPAI_BENCH_OPTION_SECONDS:
        given->load.changes_ms =
            (uint64_t)ceil(positive_of(key, argument, SECONDS_MAX, state) * 1e3);
        return 0;
    case UDPAI_BENCH_OPTION_REST:
        given->load.rest_ms = (uint64_t)ceil(positive_of(key, argument, SECONDS_MAX, state) * 1e3);
        return 0;
    case UDPAI_BENCH_OPTION_PID:
        set_processes(&given->load, argument, state);
        return 0;
    default:
        return take_flag(given, key) || take_number(&given->load, key, argument, state)
                   ? 0
                   : ARGP_ERR_UNKNOWN;
    }
}

static void
set_default(size_t *to, size_t value)
{
    if (*to == 0)
        *to = value;
}

static void
check(udpai_bench_options *given, const struct argp_state *state)
{
    udpai_load_options *load = &given->load;
    bool can_change = given->publishes || load->publish_to || load->control;
    if (given->publishes && load->publish_to)
        argp_error(state, "--publish and --publish-to: give one of them");
    if (can_change && given->type)
        argp_error(state,
                   "--type is for resources that are there: those of --publish are endpoints");
    set_default(&load->n_streams, STREAMS);
    set_default(&load->n_connections, load->n_streams);
    set_default(&load->size, SIZE);
    set_default(&load->batch, BATCH);
    set_default(&load->depth, 1);
    if (can_change) {
        set_default(&load->n_resources, RESOURCES);
        if (!given->has_changes && !load->is_idle)
            load->n_changes = CHANGES;
    }
    if (load->n_of_envoys)
        set_default(&load->n_names, load->n_resources);
    if (load->changes_ms == 0)
        load->changes_ms = CHANGES_S * 1000;
}

static void
check_common(udpai_cli_options *common, const struct argp_state *state)
{
    /* Names in a namespace are those of the command line: it is that of what is tested. */
    udpai_cli_options_resolve(common, UDPAI_CLI_ALL_SETTINGS & ~(1u << UDPAI_CLI_NAMESPACE), state);
    udpai_cli_connection_check(common, state);
    udpai_cli_names_check(common, state);
    udpai_cli_output_options_check(&common->output, "bench", UDPAI_CLI_HAS_TABLE, true, state);
    if (common->format != UDPAI_CLI_TABLE && common->format != UDPAI_CLI_JSON)
        argp_error(state, "-o %s: bench has table and json", common->format_name);
    if (common->timeout_ms == 0)
        common->timeout_ms = TIMEOUT_MS;
}

static error_t
take(int key, char *argument, struct argp_state *state)
{
    udpai_bench_options *given = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &given->common;
        return 0;
    case ARGP_KEY_END:
        check_common(&given->common, state);
        check(given, state);
        return 0;
    default:
        return take_own(key, argument, state);
    }
}

void
udpai_bench_options_parse(udpai_bench_options *options, int argc, char **argv)
{
    static const struct argp_child children[] = {{&udpai_cli_tool_parser, 0, NULL, 0}, {0}};
    static const struct argp parser = {
        .children = children,
        .options = udpai_cli_bench_options,
        .parser = take,
    };
    *options = (udpai_bench_options){0};
    udpai_cli_options_begin(&options->common, "udpactl");
    udpai_cli_tool_parse(&udpai_cli_bench, &parser, options, argc, argv);
}
