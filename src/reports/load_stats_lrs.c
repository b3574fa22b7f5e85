/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterStats of LRS: what has come since the report before. */
#include <math.h>

#include "reports/load_stats_internal.h"

typedef Envoy__Config__Endpoint__V3__ClusterStats stats_message;
typedef Envoy__Config__Endpoint__V3__UpstreamLocalityStats locality_message;
typedef Envoy__Config__Endpoint__V3__UpstreamEndpointStats endpoint_message;
typedef Envoy__Config__Endpoint__V3__EndpointLoadMetricStats metric_message;
typedef Envoy__Config__Endpoint__V3__UnnamedEndpointLoadMetricStats unnamed_message;

/* ---- from a message ---- */

typedef struct stats_number {
    uint64_t value, max;
    uint64_t *to;
    const char *what;
} stats_number;

/* What is there already, is added to: a client may report one place in pieces. */
static udpa_err
add_numbers(const stats_number *numbers, size_t n, udpa_error **ret_error)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t value;
        udpa_err err = udpai_load_stats_take_number(&value, numbers[i].value, numbers[i].max,
                                                    numbers[i].what, ret_error);
        if (err == UDPA_OK)
            err = udpai_load_stats_take_number(numbers[i].to, *numbers[i].to + value,
                                               numbers[i].max, numbers[i].what, ret_error);
        if (err != UDPA_OK)
            return err;
    }
    return UDPA_OK;
}

static udpa_err
add_metric(udpai_load_stats *report,
           udpai_load_stats_figures *to,
           const udpai_load_stats_metric *from,
           udpa_error **ret_error)
{
    udpai_load_stats_metric *metric = NULL;
    if (from->n == 0)
        return UDPA_OK;
    udpa_err err = udpai_load_stats_get_metric(report, to, from, &metric, ret_error);
    if (err != UDPA_OK)
        return err;
    double sum = metric->sum + from->sum;
    if (!isfinite(sum))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "the sum of metric '%.*s' is no number",
                          UDPAI_SHOWN(from->name));
    metric->sum = sum;
    const stats_number n = {from->n, UDPAI_LOAD_STATS_REPORT_MAX, &metric->n,
                            "requests with a metric"};
    return add_numbers(&n, 1, ret_error);
}

static udpa_err
add_metrics(udpai_load_stats *report,
            udpai_load_stats_figures *to,
            metric_message *const *from,
            size_t n,
            udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        const udpai_load_stats_metric metric = {
            .name = udpai_str_from(from[i]->metric_name),
            .n = from[i]->num_requests_finished_with_metric,
            .sum = from[i]->total_metric_value,
        };
        err = add_metric(report, to, &metric, ret_error);
    }
    return err;
}

static udpa_err
add_unnamed(udpai_load_stats *report,
            udpai_load_stats_figures *to,
            udpai_load_stats_metric_kind kind,
            const unnamed_message *from,
            udpa_error **ret_error)
{
    if (!from)
        return UDPA_OK;
    const udpai_load_stats_metric metric = {
        .kind = kind,
        .n = from->num_requests_finished_with_metric,
        .sum = from->total_metric_value,
    };
    return add_metric(report, to, &metric, ret_error);
}

/* An address that is neither an IP address nor a path cannot be reported: its figures are in those
 * of its locality. */
static bool
read_address(const Envoy__Config__Core__V3__Address *from, udpai_load_stats_endpoint *to)
{
    if (!from)
        return false;
    if (from->address_case == ENVOY__CONFIG__CORE__V3__ADDRESS__ADDRESS_PIPE)
        to->address = udpai_str_from(from->pipe->path);
    if (from->address_case == ENVOY__CONFIG__CORE__V3__ADDRESS__ADDRESS_SOCKET_ADDRESS) {
        const Envoy__Config__Core__V3__SocketAddress *address = from->socket_address;
        to->address = udpai_str_from(address->address);
        if (address->port_specifier_case ==
            ENVOY__CONFIG__CORE__V3__SOCKET_ADDRESS__PORT_SPECIFIER_PORT_VALUE)
            to->port = address->port_value;
    }
    return to->address.len > 0;
}

static udpa_err
add_endpoint(udpai_load_stats *report,
             udpai_load_stats_locality *locality,
             const endpoint_message *from,
             udpa_error **ret_error)
{
    udpai_load_stats_endpoint like = {0}, *endpoint = NULL;
    if (!read_address(from->address, &like))
        return UDPA_OK;
    udpa_err err = udpai_load_stats_get_endpoint(report, locality, &like, &endpoint, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_load_stats_figures *to = &endpoint->figures;
    const stats_number numbers[] = {
        {from->total_successful_requests, UDPAI_LOAD_STATS_REPORT_MAX,
         &to->counts[UDPAI_LOAD_STATS_SUCCESSFUL], "successful requests"},
        {from->total_error_requests, UDPAI_LOAD_STATS_REPORT_MAX,
         &to->counts[UDPAI_LOAD_STATS_ERROR], "failed requests"},
        {from->total_issued_requests, UDPAI_LOAD_STATS_REPORT_MAX,
         &to->counts[UDPAI_LOAD_STATS_ISSUED], "issued requests"},
        {from->total_requests_in_progress, UDPAI_LOAD_STATS_GAUGE_MAX,
         &to->gauges[UDPAI_LOAD_STATS_IN_PROGRESS], "requests in progress"},
    };
    err = add_numbers(numbers, UDPAI_ARRAY_LEN(numbers), ret_error);
    if (err == UDPA_OK)
        err =
            add_metrics(report, to, from->load_metric_stats, from->n_load_metric_stats, ret_error);
    return err;
}

static udpa_err
add_figures(udpai_load_stats_figures *to, const locality_message *from, udpa_error **ret_error)
{
    const stats_number numbers[] = {
        {from->total_successful_requests, UDPAI_LOAD_STATS_REPORT_MAX,
         &to->counts[UDPAI_LOAD_STATS_SUCCESSFUL], "successful requests"},
        {from->total_error_requests, UDPAI_LOAD_STATS_REPORT_MAX,
         &to->counts[UDPAI_LOAD_STATS_ERROR], "failed requests"},
        {from->total_issued_requests, UDPAI_LOAD_STATS_REPORT_MAX,
         &to->counts[UDPAI_LOAD_STATS_ISSUED], "issued requests"},
        {from->total_new_connections, UDPAI_LOAD_STATS_REPORT_MAX,
         &to->counts[UDPAI_LOAD_STATS_OPENED], "new connections"},
        {from->total_fail_connections, UDPAI_LOAD_STATS_REPORT_MAX,
         &to->counts[UDPAI_LOAD_STATS_FAILED], "failed connections"},
        {from->total_requests_in_progress, UDPAI_LOAD_STATS_GAUGE_MAX,
         &to->gauges[UDPAI_LOAD_STATS_IN_PROGRESS], "requests in progress"},
        {from->total_active_connections, UDPAI_LOAD_STATS_GAUGE_MAX,
         &to->gauges[UDPAI_LOAD_STATS_ACTIVE], "active connections"},
    };
    return add_numbers(numbers, UDPAI_ARRAY_LEN(numbers), ret_error);
}

static udpa_err
add_locality_metrics(udpai_load_stats *report,
                     udpai_load_stats_figures *to,
                     const locality_message *from,
                     udpa_error **ret_error)
{
    udpa_err err =
        add_metrics(report, to, from->load_metric_stats, from->n_load_metric_stats, ret_error);
    if (err == UDPA_OK)
        err = add_unnamed(report, to, UDPAI_LOAD_STATS_CPU, from->cpu_utilization, ret_error);
    if (err == UDPA_OK)
        err = add_unnamed(report, to, UDPAI_LOAD_STATS_MEMORY, from->mem_utilization, ret_error);
    if (err == UDPA_OK)
        err = add_unnamed(report, to, UDPAI_LOAD_STATS_APPLICATION, from->application_utilization,
                          ret_error);
    return err;
}

static udpa_err
add_locality(udpai_load_stats *report, const locality_message *from, udpa_error **ret_error)
{
    udpai_load_stats_locality like = {.priority = from->priority}, *locality = NULL;
    if (from->locality) {
        like.region = udpai_str_from(from->locality->region);
        like.zone = udpai_str_from(from->locality->zone);
        like.sub_zone = udpai_str_from(from->locality->sub_zone);
    }
    udpa_err err = udpai_load_stats_get_locality(report, &like, &locality, ret_error);
    if (err == UDPA_OK)
        err = add_figures(&locality->figures, from, ret_error);
    if (err == UDPA_OK)
        err = add_locality_metrics(report, &locality->figures, from, ret_error);
    for (size_t i = 0; i < from->n_upstream_endpoint_stats && err == UDPA_OK; i++)
        err = add_endpoint(report, locality, from->upstream_endpoint_stats[i], ret_error);
    return err;
}

static udpa_err
add_drops(udpai_load_stats *report, const stats_message *from, udpa_error **ret_error)
{
    const stats_number total = {from->total_dropped_requests, UDPAI_LOAD_STATS_REPORT_MAX,
                                &report->dropped, "dropped requests"};
    udpa_err err = add_numbers(&total, 1, ret_error);
    for (size_t i = 0; i < from->n_dropped_requests && err == UDPA_OK; i++) {
        udpai_load_stats_drop *drop = NULL;
        err = udpai_load_stats_get_drop(report, udpai_str_from(from->dropped_requests[i]->category),
                                        &drop, ret_error);
        if (err != UDPA_OK)
            break;
        const stats_number dropped = {from->dropped_requests[i]->dropped_count,
                                      UDPAI_LOAD_STATS_REPORT_MAX, &drop->n, "dropped requests"};
        err = add_numbers(&dropped, 1, ret_error);
    }
    return err;
}

/* Pieces of one cluster, which may have two services, cover the same time. */
udpa_err
udpai_load_stats_add_message(udpai_load_stats *report,
                             const stats_message *stats,
                             udpa_error **ret_error)
{
    uint64_t elapsed_ns = 0;
    udpa_err err =
        udpai_load_stats_take_elapsed(&elapsed_ns, stats->load_report_interval, ret_error);
    if (elapsed_ns > report->elapsed_ns)
        report->elapsed_ns = elapsed_ns;
    udpai_str service = udpai_str_from(stats->cluster_service_name);
    if (err == UDPA_OK && service.len > UDPAI_LOAD_STATS_SERVICE_MAX)
        err = udpai_fail(ret_error, UDPA_ERR_LIMIT, "its service has a name of %zu bytes",
                         service.len);
    if (err == UDPA_OK && service.len)
        err = udpai_load_stats_set_text(&report->service, service);
    for (size_t i = 0; i < stats->n_upstream_locality_stats && err == UDPA_OK; i++)
        err = add_locality(report, stats->upstream_locality_stats[i], ret_error);
    if (err == UDPA_OK)
        err = add_drops(report, stats, ret_error);
    return udpai_fail_code(ret_error, err);
}

/* ---- to a message ---- */

static void
put_value(udpai_proto_writer *writer, uint32_t number, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    if (bits)
        udpai_proto_put_fixed64(writer, number, bits);
}

static void
put_metric(udpai_proto_writer *writer, const void *what)
{
    const udpai_load_stats_metric *metric = what;
    bool is_named = metric->kind == UDPAI_LOAD_STATS_NAMED;
    if (is_named)
        udpai_proto_put_bytes_opt(writer, 1, metric->name);
    udpai_proto_put_varint_opt(writer, is_named ? 2 : 1, metric->n);
    put_value(writer, is_named ? 3 : 2, metric->sum);
}

static void
put_metrics(udpai_proto_writer *writer, const udpai_load_stats_figures *figures)
{
    static const uint32_t numbers[] = {
        [UDPAI_LOAD_STATS_NAMED] = 5,
        [UDPAI_LOAD_STATS_CPU] = 12,
        [UDPAI_LOAD_STATS_MEMORY] = 13,
        [UDPAI_LOAD_STATS_APPLICATION] = 14,
    };
    for (size_t i = 0; i < figures->metrics.n; i++)
        if (figures->metrics.items[i].n)
            udpai_load_stats_put_nested(writer, numbers[figures->metrics.items[i].kind], put_metric,
                                        &figures->metrics.items[i]);
}

static void
put_locality_name(udpai_proto_writer *writer, const void *what)
{
    const udpai_load_stats_locality *locality = what;
    udpai_proto_put_bytes_opt(writer, 1, locality->region);
    udpai_proto_put_bytes_opt(writer, 2, locality->zone);
    udpai_proto_put_bytes_opt(writer, 3, locality->sub_zone);
}

static bool
is_path(const udpai_load_stats_endpoint *endpoint)
{
    char first = endpoint->address.len ? *endpoint->address.data : '\0';
    return endpoint->port == 0 && (first == '/' || first == '@');
}

static void
put_address_parts(udpai_proto_writer *writer, const void *what)
{
    const udpai_load_stats_endpoint *endpoint = what;
    udpai_proto_put_bytes_opt(writer, is_path(endpoint) ? 1 : 2, endpoint->address);
    if (!is_path(endpoint))
        udpai_proto_put_varint(writer, 3, endpoint->port);
}

static void
put_address(udpai_proto_writer *writer, const void *what)
{
    udpai_load_stats_put_nested(writer, is_path(what) ? 2 : 1, put_address_parts, what);
}

static void
put_endpoint(udpai_proto_writer *writer, const void *what)
{
    const udpai_load_stats_endpoint *endpoint = what;
    const udpai_load_stats_figures *figures = &endpoint->figures;
    udpai_load_stats_put_nested(writer, 1, put_address, endpoint);
    udpai_proto_put_varint_opt(writer, 2, figures->counts[UDPAI_LOAD_STATS_SUCCESSFUL]);
    udpai_proto_put_varint_opt(writer, 3, figures->gauges[UDPAI_LOAD_STATS_IN_PROGRESS]);
    udpai_proto_put_varint_opt(writer, 4, figures->counts[UDPAI_LOAD_STATS_ERROR]);
    put_metrics(writer, figures);
    udpai_proto_put_varint_opt(writer, 7, figures->counts[UDPAI_LOAD_STATS_ISSUED]);
}

static void
put_locality(udpai_proto_writer *writer, const void *what)
{
    const udpai_load_stats_locality *locality = what;
    const udpai_load_stats_figures *figures = &locality->figures;
    udpai_load_stats_put_nested(writer, 1, put_locality_name, locality);
    udpai_proto_put_varint_opt(writer, 2, figures->counts[UDPAI_LOAD_STATS_SUCCESSFUL]);
    udpai_proto_put_varint_opt(writer, 3, figures->gauges[UDPAI_LOAD_STATS_IN_PROGRESS]);
    udpai_proto_put_varint_opt(writer, 4, figures->counts[UDPAI_LOAD_STATS_ERROR]);
    put_metrics(writer, figures);
    udpai_proto_put_varint_opt(writer, 6, locality->priority);
    for (size_t i = 0; i < locality->endpoints.n; i++)
        if (!udpai_load_stats_figures_empty(&locality->endpoints.items[i].figures))
            udpai_load_stats_put_nested(writer, 7, put_endpoint, &locality->endpoints.items[i]);
    udpai_proto_put_varint_opt(writer, 8, figures->counts[UDPAI_LOAD_STATS_ISSUED]);
    udpai_proto_put_varint_opt(writer, 9, figures->gauges[UDPAI_LOAD_STATS_ACTIVE]);
    udpai_proto_put_varint_opt(writer, 10, figures->counts[UDPAI_LOAD_STATS_OPENED]);
    udpai_proto_put_varint_opt(writer, 11, figures->counts[UDPAI_LOAD_STATS_FAILED]);
}

void
udpai_load_stats_put_message(udpai_proto_writer *writer,
                             udpai_str name,
                             const udpai_load_stats *report)
{
    udpai_proto_put_bytes_opt(writer, 1, name);
    for (size_t i = 0; i < report->localities.n; i++)
        if (!udpai_load_stats_locality_empty(&report->localities.items[i]))
            udpai_load_stats_put_nested(writer, 2, put_locality, &report->localities.items[i]);
    udpai_proto_put_varint_opt(writer, 3, report->dropped);
    udpai_load_stats_put_nested(writer, 4, udpai_load_stats_put_nanoseconds, &report->elapsed_ns);
    for (size_t i = 0; i < report->drops.n; i++)
        if (report->drops.items[i].n)
            udpai_load_stats_put_nested(writer, 5, udpai_load_stats_put_drop,
                                        &report->drops.items[i]);
    udpai_proto_put_bytes_opt(writer, 6, report->service);
}
