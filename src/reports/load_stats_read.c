/* SPDX-License-Identifier: Apache-2.0 */
/* ClientLoad and ClusterLoad, from bytes: the fields that both have are the same. */
#include <math.h>

#include "model/name.h"
#include "model/resource.h"
#include "reports/load_stats.h"
#include "udpa/load/v1/load.pb-c.h"
#include "wire/scan.h"

typedef Udpa__Load__V1__ClusterLoad load_message;
typedef Udpa__Load__V1__ClientLoad client_message;
typedef Udpa__Load__V1__LocalityLoad locality_message;
typedef Udpa__Load__V1__MetricLoad metric_message;

udpa_err
udpai_load_stats_take_number(
    uint64_t *to, uint64_t value, uint64_t max, const char *what, udpa_error **ret_error)
{
    if (value > max)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%llu %s cannot be: at most %llu are taken for true",
                          (unsigned long long)value, what, (unsigned long long)max);
    *to = value;
    return UDPA_OK;
}

udpa_err
udpai_load_stats_take_elapsed(uint64_t *ret_ns,
                              const Google__Protobuf__Duration *duration,
                              udpa_error **ret_error)
{
    const int64_t billion = 1000000000;
    *ret_ns = 0;
    if (!duration)
        return UDPA_OK;
    if (duration->seconds < 0 || duration->nanos < 0 || duration->nanos >= billion ||
        duration->seconds >= (int64_t)(UDPAI_LOAD_STATS_ELAPSED_MAX_NS / (uint64_t)billion))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "counts cannot cover %lld seconds and %d nanoseconds",
                          (long long)duration->seconds, (int)duration->nanos);
    *ret_ns = (uint64_t)(duration->seconds * billion + duration->nanos);
    return UDPA_OK;
}

/* ---- figures ---- */

static udpa_err
read_requests(udpai_load_stats_figures *to,
              const Udpa__Load__V1__RequestLoad *from,
              udpa_error **ret_error)
{
    if (!from)
        return UDPA_OK;
    uint64_t *counts = to->counts;
    udpa_err err =
        udpai_load_stats_take_number(&counts[UDPAI_LOAD_STATS_SUCCESSFUL], from->successful,
                                     UDPAI_LOAD_STATS_COUNT_MAX, "successful requests", ret_error);
    if (err == UDPA_OK)
        err =
            udpai_load_stats_take_number(&counts[UDPAI_LOAD_STATS_ERROR], from->error,
                                         UDPAI_LOAD_STATS_COUNT_MAX, "failed requests", ret_error);
    if (err == UDPA_OK)
        err =
            udpai_load_stats_take_number(&counts[UDPAI_LOAD_STATS_ISSUED], from->issued,
                                         UDPAI_LOAD_STATS_COUNT_MAX, "issued requests", ret_error);
    if (err == UDPA_OK)
        err = udpai_load_stats_take_number(&to->gauges[UDPAI_LOAD_STATS_IN_PROGRESS],
                                           from->in_progress, UDPAI_LOAD_STATS_GAUGE_MAX,
                                           "requests in progress", ret_error);
    return err;
}

static udpa_err
read_connections(udpai_load_stats_figures *to,
                 const Udpa__Load__V1__ConnectionLoad *from,
                 udpa_error **ret_error)
{
    if (!from)
        return UDPA_OK;
    udpa_err err =
        udpai_load_stats_take_number(&to->counts[UDPAI_LOAD_STATS_OPENED], from->opened,
                                     UDPAI_LOAD_STATS_COUNT_MAX, "new connections", ret_error);
    if (err == UDPA_OK)
        err = udpai_load_stats_take_number(&to->counts[UDPAI_LOAD_STATS_FAILED], from->failed,
                                           UDPAI_LOAD_STATS_COUNT_MAX, "failed connections",
                                           ret_error);
    if (err == UDPA_OK)
        err = udpai_load_stats_take_number(&to->gauges[UDPAI_LOAD_STATS_ACTIVE], from->active,
                                           UDPAI_LOAD_STATS_GAUGE_MAX, "active connections",
                                           ret_error);
    return err;
}

static udpa_err
fail_twice(const char *what, udpai_str name, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s '%.*s' is there twice", what,
                      UDPAI_SHOWN(name));
}

static udpa_err
read_metric(udpai_load_stats *stats,
            udpai_load_stats_figures *to,
            const metric_message *from,
            udpai_load_stats_metric_kind kind,
            udpa_error **ret_error)
{
    if (!from || from->n_finished == 0)
        return UDPA_OK;
    udpai_load_stats_metric like = {.kind = kind}, *metric = NULL;
    if (kind == UDPAI_LOAD_STATS_NAMED)
        like.name = udpai_str_from(from->name);
    if (!isfinite(from->sum))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "the sum of metric '%.*s' is no number",
                          UDPAI_SHOWN(like.name));
    udpa_err err = udpai_load_stats_get_metric(stats, to, &like, &metric, ret_error);
    if (err != UDPA_OK)
        return err;
    if (metric->n)
        return fail_twice("metric", like.name, ret_error);
    metric->sum = from->sum;
    return udpai_load_stats_take_number(&metric->n, from->n_finished, UDPAI_LOAD_STATS_COUNT_MAX,
                                        "requests with a metric", ret_error);
}

static udpa_err
read_metrics(udpai_load_stats *stats,
             udpai_load_stats_figures *to,
             metric_message *const *from,
             size_t n,
             udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        err = read_metric(stats, to, from[i], UDPAI_LOAD_STATS_NAMED, ret_error);
    return err;
}

/* ---- places ---- */

static udpa_err
read_endpoint(udpai_load_stats *stats,
              udpai_load_stats_locality *locality,
              const Udpa__Load__V1__EndpointLoad *from,
              udpa_error **ret_error)
{
    const udpai_load_stats_endpoint like = {.address = udpai_str_from(from->address),
                                            .port = from->port};
    udpai_load_stats_endpoint *endpoint = NULL;
    size_t n = stats->n_endpoints;
    udpa_err err = udpai_load_stats_get_endpoint(stats, locality, &like, &endpoint, ret_error);
    if (err != UDPA_OK)
        return err;
    if (stats->n_endpoints == n)
        return fail_twice("endpoint", like.address, ret_error);
    err = read_requests(&endpoint->figures, from->requests, ret_error);
    if (err == UDPA_OK)
        err = read_connections(&endpoint->figures, from->connections, ret_error);
    if (err == UDPA_OK)
        err = read_metrics(stats, &endpoint->figures, from->metrics, from->n_metrics, ret_error);
    return err;
}

static udpa_err
read_figures(udpai_load_stats *stats,
             udpai_load_stats_figures *to,
             const locality_message *from,
             udpa_error **ret_error)
{
    udpa_err err = read_requests(to, from->requests, ret_error);
    if (err == UDPA_OK)
        err = read_connections(to, from->connections, ret_error);
    if (err == UDPA_OK)
        err = read_metrics(stats, to, from->metrics, from->n_metrics, ret_error);
    if (err == UDPA_OK)
        err = read_metric(stats, to, from->cpu_utilization, UDPAI_LOAD_STATS_CPU, ret_error);
    if (err == UDPA_OK)
        err = read_metric(stats, to, from->mem_utilization, UDPAI_LOAD_STATS_MEMORY, ret_error);
    if (err == UDPA_OK)
        err = read_metric(stats, to, from->application_utilization, UDPAI_LOAD_STATS_APPLICATION,
                          ret_error);
    return err;
}

static udpa_err
read_locality(udpai_load_stats *stats, const locality_message *from, udpa_error **ret_error)
{
    const udpai_load_stats_locality like = {
        .region = udpai_str_from(from->region),
        .zone = udpai_str_from(from->zone),
        .sub_zone = udpai_str_from(from->sub_zone),
        .priority = from->priority,
    };
    udpai_load_stats_locality *locality = NULL;
    size_t n = stats->localities.n;
    udpa_err err = udpai_load_stats_get_locality(stats, &like, &locality, ret_error);
    if (err != UDPA_OK)
        return err;
    if (stats->localities.n == n)
        return fail_twice("locality", like.region, ret_error);
    err = read_figures(stats, &locality->figures, from, ret_error);
    for (size_t i = 0; i < from->n_endpoints && err == UDPA_OK; i++)
        err = read_endpoint(stats, locality, from->endpoints[i], ret_error);
    return err;
}

/* What all have that count: clients, aggregates, and the part of an aggregate. */
typedef struct counting_message {
    size_t n_localities;
    locality_message *const *localities;
    size_t n_dropped;
    Udpa__Load__V1__DroppedLoad *const *dropped;
    uint64_t total_dropped;
} counting_message;

#define COUNTING(from)                                                                             \
    ((counting_message){(from)->n_localities, (from)->localities, (from)->n_dropped,               \
                        (from)->dropped, (from)->total_dropped})

static udpa_err
read_drops(udpai_load_stats *stats, const counting_message *from, udpa_error **ret_error)
{
    udpa_err err =
        udpai_load_stats_take_number(&stats->dropped, from->total_dropped,
                                     UDPAI_LOAD_STATS_COUNT_MAX, "dropped requests", ret_error);
    for (size_t i = 0; i < from->n_dropped && err == UDPA_OK; i++) {
        udpai_str category = udpai_str_from(from->dropped[i]->category);
        udpai_load_stats_drop *drop = NULL;
        size_t n = stats->drops.n;
        err = udpai_load_stats_get_drop(stats, category, &drop, ret_error);
        if (err == UDPA_OK && stats->drops.n == n)
            err = fail_twice("category", category, ret_error);
        if (err == UDPA_OK)
            err = udpai_load_stats_take_number(&drop->n, from->dropped[i]->n,
                                               UDPAI_LOAD_STATS_COUNT_MAX, "dropped requests",
                                               ret_error);
    }
    return err;
}

static udpa_err
take_name(udpai_str *to, const char *from, size_t max, const char *what, udpa_error **ret_error)
{
    udpai_str name = udpai_str_from(from);
    if (name.len <= max)
        return udpai_load_stats_set_text(to, name);
    return udpai_fail(ret_error, UDPA_ERR_LIMIT, "the %s '%.60s…' has %zu bytes, and may have %zu",
                      what, from, name.len, max);
}

static udpa_err
read_node(udpai_load_stats *stats, const Udpa__Load__V1__CountedNode *from, udpa_error **ret_error)
{
    udpai_load_stats_node node = {
        .since_us = from->since, .until_us = from->until, .is_gone = from->is_gone};
    if (node.since_us > node.until_us)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "it counts the clients of node '%.60s' since %llu, and until %llu, "
                          "which is before that",
                          from->id, (unsigned long long)node.since_us,
                          (unsigned long long)node.until_us);
    udpa_err err = take_name(&node.id, from->id, UDPAI_AUTHORITY_MAX, "id of a node", ret_error);
    if (err == UDPA_OK && !udpai_vector_push(&stats->nodes, node)) {
        udpai_free((void *)(uintptr_t)node.id.data);
        err = UDPA_ERR_NOMEM;
    }
    return err;
}

static udpa_err
check_nodes(udpai_load_stats *stats, udpa_error **ret_error)
{
    udpai_load_stats_sort_nodes(stats);
    for (size_t i = 1; i < stats->nodes.n; i++)
        if (udpai_str_eq(stats->nodes.items[i].id, stats->nodes.items[i - 1].id))
            return udpai_fail(ret_error, UDPA_ERR_INVAL, "it has node '%.*s' twice",
                              UDPAI_SHOWN(stats->nodes.items[i].id));
    return UDPA_OK;
}

static udpa_err
read_nodes(udpai_load_stats *stats, const load_message *from, udpa_error **ret_error)
{
    if (from->n_nodes > stats->limits->nodes)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "it counts the clients of %zu nodes, and may of %zu", from->n_nodes,
                          stats->limits->nodes);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < from->n_nodes && err == UDPA_OK; i++)
        err = read_node(stats, from->nodes[i], ret_error);
    if (err == UDPA_OK)
        err = check_nodes(stats, ret_error);
    if (err != UDPA_OK)
        return err;
    stats->n_forgotten_nodes = from->n_forgotten_nodes;
    return udpai_load_stats_take_number(&stats->n_clients, from->n_clients,
                                        UDPAI_LOAD_STATS_GAUGE_MAX, "clients", ret_error);
}

static udpa_err
read_counts(udpai_load_stats *stats, const counting_message *from, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < from->n_localities && err == UDPA_OK; i++)
        err = read_locality(stats, from->localities[i], ret_error);
    return err == UDPA_OK ? read_drops(stats, from, ret_error) : err;
}

static udpa_err
read_shared(udpai_load_stats *stats, const Udpa__Load__V1__SharedPart *from, udpa_error **ret_error)
{
    if (!from)
        return UDPA_OK;
    stats->shared = udpai_load_stats_new(stats->limits);
    if (!stats->shared)
        return UDPA_ERR_NOMEM;
    udpa_err err = read_counts(stats->shared, &COUNTING(from), ret_error);
    if (err == UDPA_OK)
        err = udpai_load_stats_take_number(&stats->shared->n_clients, from->n_clients,
                                           UDPAI_LOAD_STATS_GAUGE_MAX, "clients", ret_error);
    return err == UDPA_OK ? udpai_load_stats_check_shared(stats, ret_error) : err;
}

/* The node and cluster, and since when. */
typedef struct heading {
    const char *cluster, *service;
    uint64_t epoch;
    const Google__Protobuf__Duration *elapsed, *covered, *lasts;
} heading;

static udpa_err
read_heading(udpai_load_stats *stats, const heading *from, udpa_error **ret_error)
{
    stats->epoch = from->epoch;
    udpa_err err = udpai_load_stats_take_elapsed(&stats->elapsed_ns, from->elapsed, ret_error);
    if (err == UDPA_OK)
        err = udpai_load_stats_take_elapsed(
            &stats->covered_ns, from->covered ? from->covered : from->elapsed, ret_error);
    if (err == UDPA_OK)
        err = udpai_load_stats_take_elapsed(&stats->lasts_ns, from->lasts, ret_error);
    if (err == UDPA_OK)
        err = take_name(&stats->cluster, from->cluster, UDPAI_NAME_MAX, "cluster", ret_error);
    if (err == UDPA_OK)
        err = take_name(&stats->service, from->service, UDPAI_LOAD_STATS_SERVICE_MAX, "service",
                        ret_error);
    return err;
}

static udpa_err
read_sum(udpai_load_stats *stats, const load_message *from, udpa_error **ret_error)
{
    const heading of = {from->cluster, from->cluster_service_name,
                        from->epoch,   from->elapsed,
                        from->covered, from->lasts};
    udpa_err err = read_heading(stats, &of, ret_error);
    if (err == UDPA_OK)
        err = read_counts(stats, &COUNTING(from), ret_error);
    if (err == UDPA_OK)
        err = read_nodes(stats, from, ret_error);
    if (err == UDPA_OK)
        err = udpai_load_stats_take_elapsed(&stats->interval_ns, from->interval, ret_error);
    return err == UDPA_OK ? read_shared(stats, from->shared, ret_error) : err;
}

static udpa_err
read_client(udpai_load_stats *stats, const client_message *from, udpa_error **ret_error)
{
    const heading of = {from->cluster, from->cluster_service_name,
                        from->epoch,   from->elapsed,
                        from->covered, from->lasts};
    stats->is_shared = from->shared;
    udpa_err err = read_heading(stats, &of, ret_error);
    return err == UDPA_OK ? read_counts(stats, &COUNTING(from), ret_error) : err;
}

udpa_err
udpai_load_stats_decode(udpai_arena *arena,
                        udpai_str bytes,
                        const udpai_load_stats_limits *limits,
                        udpai_load_stats **ret_stats,
                        udpa_error **ret_error)
{
    bool is_sum = limits->nodes > 0;
    const ProtobufCMessageDescriptor *type = is_sum ? &udpa__load__v1__cluster_load__descriptor
                                                    : &udpa__load__v1__client_load__descriptor;
    udpa_err err = udpai_scan(type, bytes, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_arena_reset(arena);
    const void *message =
        protobuf_c_message_unpack(type, &arena->allocator, bytes.len, (const uint8_t *)bytes.data);
    UDPA_AUTO(udpai_load_stats_free)
    udpai_load_stats *stats = message ? udpai_load_stats_new(limits) : NULL;
    if (!message && !arena->failed) /* protobuf-c is stricter with tags */
        err = udpai_fail(ret_error, UDPA_ERR_MALFORMED, "malformed: it cannot be unpacked");
    else if (!stats)
        err = UDPA_ERR_NOMEM;
    else
        err = is_sum ? read_sum(stats, message, ret_error) : read_client(stats, message, ret_error);
    udpai_arena_reset(arena);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    *ret_stats = UDPAI_TAKE(stats);
    return UDPA_OK;
}
