/* SPDX-License-Identifier: Apache-2.0 */
/* ClientLoad and ClusterLoad, to bytes: places in their order, and none that counts 0; so equal
 * values are the same bytes, and of the same version. */
#include <math.h>

#include "reports/load_stats_internal.h"

enum { /* field numbers of ClientLoad and ClusterLoad */
    CLUSTER = 1,
    CLUSTER_SERVICE_NAME = 2,
    EPOCH = 3,
    ELAPSED = 4,
    LOCALITIES = 5,
    DROPPED = 6,
    TOTAL_DROPPED = 7,
    NODES = 8,
    N_CLIENTS = 9,
    N_FORGOTTEN_NODES = 10,
    SHARED_PART = 11,
    SUM_LASTS = 12,
    SUM_COVERED = 13,
    INTERVAL = 14,
};

enum { /* of CountedNode */
    NODE_ID = 1,
    SINCE = 2,
    UNTIL = 3,
    IS_GONE = 4,
};

enum { /* of ClientLoad and SharedClientLoad alone */
    SHARED = 8,
    LASTS = 9,
    COVERED = 10,
};

enum { /* of SharedPart */
    PART_LOCALITIES = 1,
    PART_DROPPED = 2,
    PART_TOTAL_DROPPED = 3,
    PART_N_CLIENTS = 4,
};

enum { /* of LocalityLoad */
    REGION = 1,
    ZONE = 2,
    SUB_ZONE = 3,
    PRIORITY = 4,
    REQUESTS = 5,
    CONNECTIONS = 6,
    METRICS = 7,
    ENDPOINTS = 8,
    CPU_UTILIZATION = 9,
    MEM_UTILIZATION = 10,
    APPLICATION_UTILIZATION = 11,
};

enum { /* of EndpointLoad */
    ADDRESS = 1,
    PORT = 2,
    ENDPOINT_REQUESTS = 3,
    ENDPOINT_CONNECTIONS = 4,
    ENDPOINT_METRICS = 5,
};

void
udpai_load_stats_put_nested(udpai_proto_writer *writer,
                            uint32_t number,
                            udpai_proto_put_fn put,
                            const void *what)
{
    udpai_proto_writer size = {0};
    put(&size, what);
    udpai_proto_put_head(writer, number, size.size);
    put(writer, what);
}

/* Nothing for what has no fields. */
static void
put_nested_opt(udpai_proto_writer *writer,
               uint32_t number,
               udpai_proto_put_fn put,
               const void *what)
{
    udpai_proto_writer size = {0};
    put(&size, what);
    if (size.size)
        udpai_load_stats_put_nested(writer, number, put, what);
}

void
udpai_load_stats_put_nanoseconds(udpai_proto_writer *writer, const void *what)
{
    const uint64_t *ns = what, billion = 1000000000;
    udpai_proto_put_varint_opt(writer, 1, *ns / billion);
    udpai_proto_put_varint_opt(writer, 2, *ns % billion);
}

static void
put_requests(udpai_proto_writer *writer, const void *what)
{
    const udpai_load_stats_figures *figures = what;
    udpai_proto_put_varint_opt(writer, 1, figures->counts[UDPAI_LOAD_STATS_SUCCESSFUL]);
    udpai_proto_put_varint_opt(writer, 2, figures->counts[UDPAI_LOAD_STATS_ERROR]);
    udpai_proto_put_varint_opt(writer, 3, figures->counts[UDPAI_LOAD_STATS_ISSUED]);
    udpai_proto_put_varint_opt(writer, 4, figures->gauges[UDPAI_LOAD_STATS_IN_PROGRESS]);
}

static void
put_connections(udpai_proto_writer *writer, const void *what)
{
    const udpai_load_stats_figures *figures = what;
    udpai_proto_put_varint_opt(writer, 1, figures->counts[UDPAI_LOAD_STATS_OPENED]);
    udpai_proto_put_varint_opt(writer, 2, figures->counts[UDPAI_LOAD_STATS_FAILED]);
    udpai_proto_put_varint_opt(writer, 3, figures->gauges[UDPAI_LOAD_STATS_ACTIVE]);
}

static void
put_metric(udpai_proto_writer *writer, const void *what)
{
    const udpai_load_stats_metric *metric = what;
    uint64_t bits;
    memcpy(&bits, &metric->sum, sizeof(bits));
    udpai_proto_put_bytes_opt(writer, 1, metric->name);
    udpai_proto_put_varint_opt(writer, 2, metric->n);
    if (bits && isfinite(metric->sum)) /* what has grown beyond all numbers is none */
        udpai_proto_put_fixed64(writer, 3, bits);
}

/* Of one kind. */
static void
put_metrics(udpai_proto_writer *writer,
            uint32_t number,
            const udpai_load_stats_figures *figures,
            udpai_load_stats_metric_kind kind)
{
    for (size_t i = 0; i < figures->metrics.n; i++)
        if (figures->metrics.items[i].kind == kind && figures->metrics.items[i].n)
            udpai_load_stats_put_nested(writer, number, put_metric, &figures->metrics.items[i]);
}

static void
put_endpoint(udpai_proto_writer *writer, const void *what)
{
    const udpai_load_stats_endpoint *endpoint = what;
    udpai_proto_put_bytes_opt(writer, ADDRESS, endpoint->address);
    udpai_proto_put_varint_opt(writer, PORT, endpoint->port);
    put_nested_opt(writer, ENDPOINT_REQUESTS, put_requests, &endpoint->figures);
    put_nested_opt(writer, ENDPOINT_CONNECTIONS, put_connections, &endpoint->figures);
    put_metrics(writer, ENDPOINT_METRICS, &endpoint->figures, UDPAI_LOAD_STATS_NAMED);
}

static void
put_locality(udpai_proto_writer *writer, const void *what)
{
    const udpai_load_stats_locality *locality = what;
    const udpai_load_stats_figures *figures = &locality->figures;
    udpai_proto_put_bytes_opt(writer, REGION, locality->region);
    udpai_proto_put_bytes_opt(writer, ZONE, locality->zone);
    udpai_proto_put_bytes_opt(writer, SUB_ZONE, locality->sub_zone);
    udpai_proto_put_varint_opt(writer, PRIORITY, locality->priority);
    put_nested_opt(writer, REQUESTS, put_requests, figures);
    put_nested_opt(writer, CONNECTIONS, put_connections, figures);
    put_metrics(writer, METRICS, figures, UDPAI_LOAD_STATS_NAMED);
    for (size_t i = 0; i < locality->endpoints.n; i++)
        if (!udpai_load_stats_figures_empty(&locality->endpoints.items[i].figures))
            udpai_load_stats_put_nested(writer, ENDPOINTS, put_endpoint,
                                        &locality->endpoints.items[i]);
    put_metrics(writer, CPU_UTILIZATION, figures, UDPAI_LOAD_STATS_CPU);
    put_metrics(writer, MEM_UTILIZATION, figures, UDPAI_LOAD_STATS_MEMORY);
    put_metrics(writer, APPLICATION_UTILIZATION, figures, UDPAI_LOAD_STATS_APPLICATION);
}

void
udpai_load_stats_put_drop(udpai_proto_writer *writer, const void *what)
{
    const udpai_load_stats_drop *drop = what;
    udpai_proto_put_bytes_opt(writer, 1, drop->category);
    udpai_proto_put_varint_opt(writer, 2, drop->n);
}

static void
put_node(udpai_proto_writer *writer, const void *what)
{
    const udpai_load_stats_node *node = what;
    udpai_proto_put_bytes_opt(writer, NODE_ID, node->id);
    udpai_proto_put_varint_opt(writer, SINCE, node->since_us);
    udpai_proto_put_varint_opt(writer, UNTIL, node->until_us);
    udpai_proto_put_varint_opt(writer, IS_GONE, node->is_gone);
}

static void
put_localities(udpai_proto_writer *writer, uint32_t number, const udpai_load_stats *stats)
{
    for (size_t i = 0; i < stats->localities.n; i++)
        if (!udpai_load_stats_locality_empty(&stats->localities.items[i]))
            udpai_load_stats_put_nested(writer, number, put_locality, &stats->localities.items[i]);
}

static void
put_drops(udpai_proto_writer *writer, uint32_t number, const udpai_load_stats *stats)
{
    for (size_t i = 0; i < stats->drops.n; i++)
        if (stats->drops.items[i].n)
            udpai_load_stats_put_nested(writer, number, udpai_load_stats_put_drop,
                                        &stats->drops.items[i]);
}

static void
put_shared_part(udpai_proto_writer *writer, const void *what)
{
    const udpai_load_stats *shared = what;
    put_localities(writer, PART_LOCALITIES, shared);
    put_drops(writer, PART_DROPPED, shared);
    udpai_proto_put_varint_opt(writer, PART_TOTAL_DROPPED, shared->dropped);
    udpai_proto_put_varint_opt(writer, PART_N_CLIENTS, shared->n_clients);
}

/* A ClusterLoad, even if no node is counted in it; else a ClientLoad. As it is read. */
static bool
is_sum(const udpai_load_stats *stats)
{
    return stats->limits->nodes > 0;
}

/* That it is shared, and how much in it is. */
static void
put_shared(udpai_proto_writer *writer, const udpai_load_stats *stats)
{
    if (stats->shared)
        put_nested_opt(writer, SHARED_PART, put_shared_part, stats->shared);
    if (stats->is_shared)
        udpai_proto_put_varint(writer, SHARED, 1);
    if (stats->lasts_ns)
        udpai_load_stats_put_nested(writer, is_sum(stats) ? SUM_LASTS : LASTS,
                                    udpai_load_stats_put_nanoseconds, &stats->lasts_ns);
}

static void
put_covered(udpai_proto_writer *writer, const udpai_load_stats *stats)
{
    if (is_sum(stats))
        udpai_load_stats_put_nested(writer, SUM_COVERED, udpai_load_stats_put_nanoseconds,
                                    &stats->covered_ns);
    else if (stats->covered_ns > stats->elapsed_ns)
        udpai_load_stats_put_nested(writer, COVERED, udpai_load_stats_put_nanoseconds,
                                    &stats->covered_ns);
    if (stats->interval_ns)
        udpai_load_stats_put_nested(writer, INTERVAL, udpai_load_stats_put_nanoseconds,
                                    &stats->interval_ns);
}

static void
put_stats(udpai_proto_writer *writer, const void *what)
{
    const udpai_load_stats *stats = what;
    udpai_proto_put_bytes_opt(writer, CLUSTER, stats->cluster);
    udpai_proto_put_bytes_opt(writer, CLUSTER_SERVICE_NAME, stats->service);
    udpai_proto_put_varint_opt(writer, EPOCH, stats->epoch);
    if (stats->elapsed_ns)
        udpai_load_stats_put_nested(writer, ELAPSED, udpai_load_stats_put_nanoseconds,
                                    &stats->elapsed_ns);
    put_localities(writer, LOCALITIES, stats);
    put_drops(writer, DROPPED, stats);
    udpai_proto_put_varint_opt(writer, TOTAL_DROPPED, stats->dropped);
    for (size_t i = 0; i < stats->nodes.n; i++)
        udpai_load_stats_put_nested(writer, NODES, put_node, &stats->nodes.items[i]);
    udpai_proto_put_varint_opt(writer, N_CLIENTS, stats->n_clients);
    udpai_proto_put_varint_opt(writer, N_FORGOTTEN_NODES, stats->n_forgotten_nodes);
    put_shared(writer, stats);
    put_covered(writer, stats);
}

udpa_bytes *
udpai_load_stats_encode(const udpai_load_stats *stats)
{
    return udpai_proto_encode(put_stats, stats);
}
