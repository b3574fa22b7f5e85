/* SPDX-License-Identifier: Apache-2.0 */
#include "model/event_kind.h"

#include <assert.h>

#define TYPE(name) "type.googleapis.com/envoy.service." name

static const udpai_event_facts all[UDPAI_EVENT_KINDS] = {
    [UDPAI_EVENT_ACCESS_LOG] =
        {
            .word = "access-log",
            .path = "/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs",
            .type_url = TYPE("accesslog.v3.StreamAccessLogsMessage"),
            .name_field = 2, /* log_name */
            .entries =
                {
                    {2, 1, "envoy.data.accesslog.v3.HTTPAccessLogEntry"}, /* http_logs.log_entry */
                    {3, 1, "envoy.data.accesslog.v3.TCPAccessLogEntry"},  /* tcp_logs.log_entry */
                },
        },
    [UDPAI_EVENT_METRICS] =
        {
            .word = "metrics",
            .path = "/envoy.service.metrics.v3.MetricsService/StreamMetrics",
            .type_url = TYPE("metrics.v3.StreamMetricsMessage"),
            .entries = {{2, 0, "io.prometheus.client.MetricFamily"}}, /* envoy_metrics */
        },
    [UDPAI_EVENT_TRACE] =
        {
            .word = "trace",
            .path = "/envoy.service.trace.v3.TraceService/StreamTraces",
            .type_url = TYPE("trace.v3.StreamTracesMessage"),
            .entries = {{2, 0, "opencensus.proto.trace.v1.Span"}}, /* spans */
        },
    [UDPAI_EVENT_TAP] =
        {
            .word = "tap",
            .path = "/envoy.service.tap.v3.TapSinkService/StreamTaps",
            .type_url = TYPE("tap.v3.StreamTapsRequest"),
            .name_field = 2, /* tap_id */
        },
    [UDPAI_EVENT_REPORT] =
        {
            .word = "event",
            .path = "/envoy.service.event_reporting.v3.EventReportingService/StreamEvents",
            .type_url = TYPE("event_reporting.v3.StreamEventsRequest"),
            .entries = {{2, 0, "google.protobuf.Any"}}, /* events */
        },
    [UDPAI_EVENT_NODE] =
        {
            .word = "node",
            .type_url = "type.googleapis.com/udpa.event.v1.NodeEvent",
        },
};

const udpai_event_facts *
udpai_event_facts_of(udpai_event_kind kind)
{
    assert(kind < UDPAI_EVENT_KINDS);
    return &all[kind];
}

bool
udpai_event_kind_find(udpai_str word, udpai_event_kind *ret_kind)
{
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++) {
        if (!udpai_str_eq(word, udpai_str_from(all[i].word)))
            continue;
        *ret_kind = (udpai_event_kind)i;
        return true;
    }
    return false;
}
