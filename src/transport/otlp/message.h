/* SPDX-License-Identifier: Apache-2.0 */
/* Spans as OpenTelemetry's protocol has them: opentelemetry.proto.collector.trace.v1. Pure. */
#ifndef UDPAI_OTLP_MESSAGE_H
#define UDPAI_OTLP_MESSAGE_H

#include "model/span.h"

/* Who sends them. */
typedef struct udpai_otlp_sender {
    udpai_str node_id, version;
} udpai_otlp_sender;

/* A Span; NULL without memory. */
udpa_bytes *udpai_otlp_span(const udpai_span *span);
/* An ExportTraceServiceRequest with these; NULL without memory. */
udpa_bytes *
udpai_otlp_request(const udpai_otlp_sender *sender, udpa_bytes *const *spans, size_t n_spans);
/* Of an ExportTraceServiceResponse: so many spans were not taken. One that cannot be read has taken
 * all. */
uint64_t udpai_otlp_n_rejected(udpai_str response);

#endif
