/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/bench_options.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "tools/bench/contents.h"

#define STREAMS 100
#define RESOURCES 1000
#define SIZE 300
#define BATCH 100
#define CHANGES 200
#define CHANGES_S 30
#define RATE_MAX 1e6
#define SECONDS_MAX 86400.0

enum {
    PROTOCOL = 768,
    TYPE,
    STREAMS_OPTION,
    CONNECTIONS,
    RESOURCES_OPTION,
    SIZE_OPTION,
    NAMES,
    PUBLISH,
    PUBLISH_TO,
    BATCH_OPTION,
    CONTROL,
    CHANGES_OPTION,
    RATE,
    DEPTH,
    SECONDS,
    SLOW,
    SLOW_RATE,
    NAMESPACES,
    NAMESPACES_EACH,
    RECONNECT,
    IDLE,
    PID,
    PLAIN_NAMES,
    KEEP,
};

static const struct argp_option known_options[] = {
    {"protocol", PROTOCOL, "NAME", 0, "delta (default) or sotw, both of xDS, or udpa", 0},
    {"type", TYPE, "TYPE", 0, "What the streams ask for (default endpoint)", 0},
    {"streams", STREAMS_OPTION, "N", 0, "Streams (default 100)", 0},
    {"connections", CONNECTIONS, "N", 0, "Connections (default: one for each stream)", 0},
    {"resources", RESOURCES_OPTION, "N", 0,
     "How many the server has (default 1000 if we change them, else as many as come)", 0},
    {"size", SIZE_OPTION, "BYTES", 0, "Of each, with --publish (default 300)", 0},
    {"names", NAMES, "N", 0, "Each stream asks for so many by name (default: for all)", 0},
    {"plain-names", PLAIN_NAMES, NULL, 0,
     "Streams of xDS ask for names without the namespace (-n, default com.acme), as the default "
     "namespace of a node has them",
     0},
    {"namespaces", NAMESPACES, "N", 0,
     "UDPA: resources lie in so many namespaces, NAME.t0 and so on, by turns, and each stream asks "
     "for one of them (default: all for -n NAME itself)",
     0},
    {"namespaces-each", NAMESPACES_EACH, "N", 0,
     "With --namespaces: each stream asks for so many of them (default 1)", 0},
    {"publish", PUBLISH, NULL, 0,
     "Publish the resources to the server, which must be a node of UDPA, and change them", 0},
    {"publish-to", PUBLISH_TO, "HOST:PORT", 0, "The same, to another node", 0},
    {"keep", KEEP, NULL, 0, "Leave there what was published (default: it is removed at the end)",
     0},
    {"batch", BATCH_OPTION, "N", 0, "So many resources in a message (default 100)", 0},
    {"control", CONTROL, "HOST:PORT", 0,
     "Change them by records, as servers of tests/bench take them", 0},
    {"changes", CHANGES_OPTION, "N", 0, "Changes to be made (default 200; 0: none)", 0},
    {"rate", RATE, "N", 0,
     "So many a second (default: the next one when all streams have had the last)", 0},
    {"depth", DEPTH, "N", 0, "Without --rate: so many on the way (default 1)", 0},
    {"seconds", SECONDS, "SECONDS", 0, "No change after this time (default 30)", 0},
    {"slow", SLOW, "N", 0, "So many streams stop to read before the changes", 0},
    {"slow-rate", SLOW_RATE, "BYTES", 0, "They read on, so many bytes a second", 0},
    {"reconnect", RECONNECT, NULL, 0,
     "In the end connect all again, with what they hold, and make one more change", 0},
    {"idle", IDLE, NULL, 0, "Connections alone, without streams", 0},
    {"pid", PID, "PID[,PID...]", 0, "Processes whose CPU time and memory are measured", 0},
    {0},
};

static const char *
name_of(int key)
{
    for (const struct argp_option *at = known_options; at->name; at++)
        if (at->key == key)
            return at->name;
    return NULL;
}

static size_t
number_of(int key, const char *text, size_t min, size_t max, const struct argp_state *state)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || number < min || number > max)
        argp_error(state, "--%s %s: give a number from %zu to %zu", name_of(key), text, min, max);
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
        argp_error(state, "--%s %s: give a number above 0, at most %.0f, such as 0.5", name_of(key),
                   text, max);
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
        {STREAMS_OPTION, &load->n_streams, 1, 1000000},
        {CONNECTIONS, &load->n_connections, 1, 1000000},
        {RESOURCES_OPTION, &load->n_resources, 1, UDPAI_CONTENTS_NAMES_MAX},
        {SIZE_OPTION, &load->size, 1, 1 << 20},
        {NAMES, &load->n_names, 0, UDPAI_CONTENTS_NAMES_MAX},
        {BATCH_OPTION, &load->batch, 1, 10000},
        {CHANGES_OPTION, &load->n_changes, 0, 100000000},
        {DEPTH, &load->depth, 1, 100000},
        {SLOW, &load->n_slow, 0, 1000000},
        {SLOW_RATE, &load->slow_bytes_per_s, 0, 1000000000},
        {NAMESPACES, &load->n_namespaces, 1, 100000},
        {NAMESPACES_EACH, &load->n_of_a_stream, 1, 100},
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
    bool *flags[] = {&given->publishes, &given->load.reconnects, &given->load.is_idle,
                     &given->load.has_plain_names, &given->load.keeps};
    static const int keys[] = {PUBLISH, RECONNECT, IDLE, PLAIN_NAMES, KEEP};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(keys); i++)
        if (keys[i] == key)
            return *flags[i] = true;
    return false;
}

static error_t
take(int key, char *argument, struct argp_state *state)
{
    udpai_bench_options *given = state->input;
    given->has_changes |= key == CHANGES_OPTION;
    if (!given->first)
        given->first = name_of(key);
    switch (key) {
    case PROTOCOL:
        set_protocol(&given->load, argument, state);
        return 0;
    case TYPE:
        given->type = argument;
        return 0;
    case PUBLISH_TO:
        given->load.publish_to = argument;
        return 0;
    case CONTROL:
        given->load.control = argument;
        return 0;
    case RATE:
        given->load.per_second = positive_of(key, argument, RATE_MAX, state);
        return 0;
    case SECONDS:
        given->load.changes_ms =
            (uint64_t)ceil(positive_of(key, argument, SECONDS_MAX, state) * 1e3);
        return 0;
    case PID:
        set_processes(&given->load, argument, state);
        return 0;
    default:
        return take_flag(given, key) || take_number(&given->load, key, argument, state)
                   ? 0
                   : ARGP_ERR_UNKNOWN;
    }
}

const struct argp udpai_bench_parser = {.options = known_options, .parser = take};

static void
set_default(size_t *to, size_t value)
{
    if (*to == 0)
        *to = value;
}

void
udpai_bench_options_check(udpai_bench_options *given,
                          const char *command,
                          const struct argp_state *state)
{
    udpai_load_options *load = &given->load;
    bool can_change = given->publishes || load->publish_to || load->control;
    if (strcmp(command, "bench") != 0) {
        if (given->first)
            argp_error(state, "--%s is for bench alone", given->first);
        return;
    }
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
    if (load->changes_ms == 0)
        load->changes_ms = CHANGES_S * 1000;
}
