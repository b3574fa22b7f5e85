/* SPDX-License-Identifier: Apache-2.0 */
/* What udpa-bench takes: udpactl, which calls it, lists it too. */
#include "cli/tool_bench.h"

const struct argp_option udpai_cli_bench_options[] = {
    {"protocol", UDPAI_BENCH_OPTION_PROTOCOL, "NAME", 0,
     "delta (default) or sotw, both of xDS, or udpa", 0},
    {"type", UDPAI_BENCH_OPTION_TYPE, "TYPE", 0, "What the streams ask for (default endpoint)", 0},
    {"streams", UDPAI_BENCH_OPTION_STREAMS, "N", 0, "Streams (default 100)", 0},
    {"connections", UDPAI_BENCH_OPTION_CONNECTIONS, "N", 0,
     "Connections (default: one for each stream)", 0},
    {"resources", UDPAI_BENCH_OPTION_RESOURCES, "N", 0,
     "How many the server has (default 1000 if we change them, else as many as come)", 0},
    {"size", UDPAI_BENCH_OPTION_SIZE, "BYTES", 0, "Of each, with --publish (default 300)", 0},
    {"names", UDPAI_BENCH_OPTION_NAMES, "N", 0,
     "Each stream asks for so many by name (default: for all)", 0},
    {"plain-names", UDPAI_BENCH_OPTION_PLAIN_NAMES, NULL, 0,
     "Streams of xDS ask for names without the namespace (-n, default com.acme), as the default "
     "namespace of a node has them",
     0},
    {"namespaces", UDPAI_BENCH_OPTION_NAMESPACES, "N", 0,
     "UDPA: resources lie in so many namespaces, NAME.t0 and so on, by turns, and each stream asks "
     "for one of them (default: all for -n NAME itself)",
     0},
    {"namespaces-each", UDPAI_BENCH_OPTION_NAMESPACES_EACH, "N", 0,
     "With --namespaces: each stream asks for so many of them (default 1)", 0},
    {"envoy", UDPAI_BENCH_OPTION_ENVOY, "N", 0,
     "Streams subscribe as an Envoy does: to endpoints by name, all clusters and listeners, and a "
     "route configuration; of all but endpoints the server has N",
     0},
    {"publish", UDPAI_BENCH_OPTION_PUBLISH, NULL, 0,
     "Publish the resources to the server, which must be a node of UDPA, and change them", 0},
    {"publish-to", UDPAI_BENCH_OPTION_PUBLISH_TO, "HOST:PORT", 0, "The same, to another node", 0},
    {"keep", UDPAI_BENCH_OPTION_KEEP, NULL, 0,
     "Leave there what was published (default: it is removed at the end)", 0},
    {"batch", UDPAI_BENCH_OPTION_BATCH, "N", 0, "So many resources in a message (default 100)", 0},
    {"control", UDPAI_BENCH_OPTION_CONTROL, "HOST:PORT", 0,
     "Change them by records, as servers of tests/bench take them", 0},
    {"changes", UDPAI_BENCH_OPTION_CHANGES, "N", 0, "Changes to be made (default 200; 0: none)", 0},
    {"rate", UDPAI_BENCH_OPTION_RATE, "N", 0,
     "So many a second (default: the next one when all streams have had the last)", 0},
    {"depth", UDPAI_BENCH_OPTION_DEPTH, "N", 0, "Without --rate: so many on the way (default 1)",
     0},
    {"together", UDPAI_BENCH_OPTION_TOGETHER, "N", 0,
     "With --publish: each change replaces so many resources, in one message (default 1)", 0},
    {"receipts", UDPAI_BENCH_OPTION_RECEIPTS, NULL, 0,
     "With --publish: time the receipts of changes, too", 0},
    {"seconds", UDPAI_BENCH_OPTION_SECONDS, "SECONDS", 0, "No change after this time (default 30)",
     0},
    {"slow", UDPAI_BENCH_OPTION_SLOW, "N", 0, "So many streams stop to read before the changes", 0},
    {"slow-rate", UDPAI_BENCH_OPTION_SLOW_RATE, "BYTES", 0, "They read on, so many bytes a second",
     0},
    {"reconnect", UDPAI_BENCH_OPTION_RECONNECT, NULL, 0,
     "In the end connect all again, with what they hold, and make one more change", 0},
    {"idle", UDPAI_BENCH_OPTION_IDLE, NULL, 0, "Connections alone, without streams", 0},
    {"rest", UDPAI_BENCH_OPTION_REST, "SECONDS", 0,
     "In the end nothing happens for so long: what that costs the server", 0},
    {"pid", UDPAI_BENCH_OPTION_PID, "PID[,PID...]", 0,
     "Processes whose CPU time and memory are measured", 0},
    {0},
};

const udpai_cli_tool udpai_cli_bench = {
    .word = "bench",
    .program = "udpa-bench",
    .options = udpai_cli_bench_options,
    .help = "Open streams, wait until all have what there is, then time changes.\n"
            "\n"
            "  --protocol NAME        delta (default), sotw, or udpa\n"
            "  --streams N, --connections N, --resources N, --size BYTES, --names N,\n"
            "  --type TYPE, -n NAME, --namespaces N, --namespaces-each N, --plain-names,\n"
            "  --envoy N\n"
            "                         what is asked for, and how often\n"
            "  --publish, --publish-to HOST:PORT, --control HOST:PORT, --batch N\n"
            "                         who publishes and changes the resources\n"
            "  --changes N, --rate N, --depth N, --seconds SECONDS, --together N, --receipts\n"
            "                         how many changes, and how fast\n"
            "  --slow N, --slow-rate BYTES, --reconnect, --idle, --rest SECONDS\n"
            "                         slow readers; all come back; connections alone; nothing\n"
            "  --pid PID[,PID...]     measure CPU and memory of these processes\n"
            "  -o, --output FORMAT    table, json, or jsonpath=EXPRESSION; --no-headers\n",
};
