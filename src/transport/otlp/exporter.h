/* SPDX-License-Identifier: Apache-2.0 */
/* Sends spans to a collector of OpenTelemetry, over gRPC, on a thread of its own. Callers
 * never wait: a span that does not fit into the queue is dropped and counted. */
#ifndef UDPAI_OTLP_EXPORTER_H
#define UDPAI_OTLP_EXPORTER_H

#include "base/error.h"
#include "model/span.h"
#include "transport/tls_files.h"

#define UDPAI_OTLP_QUEUE_BYTES ((size_t)4 << 20)
#define UDPAI_OTLP_BATCH_SPANS 512
/* So long the first span of a batch waits for others. */
#define UDPAI_OTLP_BATCH_MS 1000
#define UDPAI_OTLP_TIMEOUT_MS 10000
/* A collector that cannot take spans is asked again after this, then after twice as long, … */
#define UDPAI_OTLP_BACKOFF_MIN_MS 1000
#define UDPAI_OTLP_BACKOFF_MAX_MS 30000
/* At the end so long is given to what is queued. */
#define UDPAI_OTLP_LAST_MS 2000

typedef struct udpai_otlp_exporter udpai_otlp_exporter;

typedef struct udpai_otlp_options {
    const char *address;        /* HOST:PORT */
    const udpai_tls_files *tls; /* NULL: plaintext */
    const char *server_name;    /* that its certificate must have; NULL: the host */
    udpai_str node_id;
    const char *version;
} udpai_otlp_options;

typedef struct udpai_otlp_counts {
    uint64_t n_sent, n_dropped, n_rejected; /* spans: taken; of a full queue; by the collector */
    uint64_t n_failures;                    /* attempts to send some */
    size_t queued_bytes;
} udpai_otlp_counts;

/* Copies what it is given. Nothing is dialled before there is a span. */
udpa_err udpai_otlp_exporter_new(udpai_otlp_exporter **ret_exporter,
                                 const udpai_otlp_options *options,
                                 udpa_error **ret_error);
/* Waits for the thread. NULL does nothing. Returns NULL. */
udpai_otlp_exporter *udpai_otlp_exporter_free(udpai_otlp_exporter *exporter);
/* Takes it; any thread. */
void udpai_otlp_exporter_take(void *exporter, udpai_span *span);
/* Any thread. */
udpai_otlp_counts udpai_otlp_exporter_counts(udpai_otlp_exporter *exporter);
/* Other certificates for connections from now on; any thread. */
udpa_err udpai_otlp_exporter_replace_tls(udpai_otlp_exporter *exporter,
                                         const udpai_tls_files *files,
                                         udpa_error **ret_error);

#endif
