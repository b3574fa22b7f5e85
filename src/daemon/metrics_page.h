/* SPDX-License-Identifier: Apache-2.0 */
/* The page /metrics. It is made of a snapshot that is at most a second old, however many ask, and
 * what that costs depends on the numbers of types and sources alone. On the loop. */
#ifndef UDPAI_DAEMON_METRICS_PAGE_H
#define UDPAI_DAEMON_METRICS_PAGE_H

#include "daemon/audit_output.h"
#include "daemon/certificates.h"
#include "daemon/effective.h"
#include "daemon/runtime.h"
#include "daemon/workers.h"
#include "transport/otlp/exporter.h"

typedef struct udpai_metrics_page udpai_metrics_page;

/* Everything is borrowed until the end. */
typedef struct udpai_metrics_page_env {
    udpa_endpoint *endpoint;
    const udpai_runtime *runtime;
    const udpai_plan *plan;
    const udpai_effective *effective;    /* what has become of its file since */
    udpai_workers *const *workers;       /* *workers NULL: there are none, or none any more */
    udpai_durable_engine *const *engine; /* *engine NULL: nothing is kept; else it is of SQLite */
    struct udpai_rest *const *admin;     /* *admin NULL: there are no admin sockets */
    const uint64_t *n_unauthenticated;   /* requests for pages */
    udpai_otlp_exporter *exporter;       /* NULL: nothing is traced */
    udpai_audit_output *const *audit;    /* *audit NULL: it is only kept */
} udpai_metrics_page_env;

udpa_err udpai_metrics_page_new(udpai_metrics_page **ret_page, const udpai_metrics_page_env *env);
udpai_metrics_page *udpai_metrics_page_free(udpai_metrics_page *page);
/* Those of the node, until others are set; NULL: none are known. */
void udpai_metrics_page_set_certificates(udpai_metrics_page *page,
                                         const udpai_certificates *certificates);
/* For a client that accepts this. *ret_type is static, *ret_text a reference. UDPA_ERR_NOMEM */
udpa_err udpai_metrics_page_read(udpai_metrics_page *page,
                                 udpai_str accept,
                                 const char **ret_type,
                                 udpa_bytes **ret_text);

#endif
