/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot as text, in the two formats that Prometheus reads: its own, 0.0.4, and OpenMetrics
 * 1.0. Which of them a client is sent it chooses by its Accept. */
#ifndef UDPAI_METRICS_TEXT_H
#define UDPAI_METRICS_TEXT_H

#include "base/strbuf.h"
#include "metrics/snapshot.h"

typedef enum udpai_metric_format {
    UDPAI_METRIC_PROMETHEUS,
    UDPAI_METRIC_OPENMETRICS,
    UDPAI_METRIC_FORMATS,
} udpai_metric_format;

/* Appends it. Families without a series are left out. */
void udpai_metric_text(const udpai_metric_snapshot *snapshot,
                       udpai_metric_format format,
                       udpai_strbuf *text);
/* For a Content-Type. */
const char *udpai_metric_content_type(udpai_metric_format format);
/* By the value of an Accept header (RFC 9110, 12.5.1); empty: there is none. What accepts neither
 * is sent the first. */
udpai_metric_format udpai_metric_negotiate(udpai_str accept);

#endif
