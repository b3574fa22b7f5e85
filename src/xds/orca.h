/* SPDX-License-Identifier: Apache-2.0 */
/* ORCA: how loaded a backend is, in its own words. The value and its forms on the wire, and the
 * session of a caller that is sent it again and again. */
#ifndef UDPAI_ORCA_H
#define UDPAI_ORCA_H

#include "session/hub.h"

#define UDPAI_ORCA_PATH "/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics"
#define UDPAI_ORCA_V1_PATH "/udpa.service.orca.v1.OpenRcaService/StreamCoreMetrics"

/* What callers are sent, and what is reported to a configuration that asks for it, if this program
 * was built without ORCA; NULL: it has it. */
const char *udpai_orca_absent(void);

#define UDPAI_ORCA_NAMED_MAX 256 /* values of one kind */
#define UDPAI_ORCA_NAME_MAX 256
#define UDPAI_ORCA_INTERVAL_MIN_MS 100
#define UDPAI_ORCA_INTERVAL_MAX_MS 3600000
#define UDPAI_ORCA_INTERVAL_MS 10000 /* of callers that ask for none */

/* ---- the value ---- */

typedef enum udpai_orca_figure {
    UDPAI_ORCA_CPU,
    UDPAI_ORCA_MEM,
    UDPAI_ORCA_APPLICATION,
    UDPAI_ORCA_RPS,
    UDPAI_ORCA_EPS,
    UDPAI_ORCA_FIGURES,
} udpai_orca_figure;

typedef enum udpai_orca_kind {
    UDPAI_ORCA_REQUEST_COSTS,
    UDPAI_ORCA_UTILIZATIONS,
    UDPAI_ORCA_NAMED_METRICS,
    UDPAI_ORCA_KINDS,
} udpai_orca_kind;

typedef enum udpai_orca_form {
    UDPAI_ORCA_V3, /* xds.data.orca.v3.OrcaLoadReport */
    UDPAI_ORCA_V1, /* udpa.data.orca.v1.OrcaLoadReport, which has less */
    UDPAI_ORCA_FORMS,
} udpai_orca_form;

typedef struct udpai_orca_value {
    udpai_str name;
    double value;
} udpai_orca_value;

typedef struct udpai_orca_values {
    const udpai_orca_value *items;
    size_t n;
} udpai_orca_values;

typedef struct udpai_orca_parts {
    double figures[UDPAI_ORCA_FIGURES];
    udpai_orca_values values[UDPAI_ORCA_KINDS];
} udpai_orca_parts;

/* Immutable, counted atomically. */
typedef struct udpai_orca_metrics udpai_orca_metrics;

/* Copies the parts. What is not a number, or is out of its range, or has a name that may not be, is
 * refused. */
udpa_err udpai_orca_metrics_new(udpai_orca_metrics **ret_metrics,
                                const udpai_orca_parts *parts,
                                udpa_error **ret_error);
udpai_orca_metrics *udpai_orca_metrics_ref(udpai_orca_metrics *metrics);
udpai_orca_metrics *udpai_orca_metrics_unref(udpai_orca_metrics *metrics);
UDPA_DEFINE_CLEANUP(udpai_orca_metrics, udpai_orca_metrics_unref)
/* Borrowed; values with names are sorted by them. */
const udpai_orca_parts *udpai_orca_metrics_parts(const udpai_orca_metrics *metrics);

/* An OrcaLoadReport, which was encoded when the metrics were made; borrowed. */
udpa_bytes *udpai_orca_metrics_bytes(const udpai_orca_metrics *metrics, udpai_orca_form form);
/* The same with these request costs alone, sorted by name; NULL without memory. */
udpa_bytes *udpai_orca_metrics_encode(const udpai_orca_metrics *metrics,
                                      udpai_orca_form form,
                                      const udpai_str *cost_names,
                                      size_t n_cost_names);

/* ---- what peers send ---- */

/* An OrcaLoadReport of v3, or one of v1, which has nothing that the other has not. */
udpa_err udpai_orca_report_decode(udpai_decoder *decoder,
                                  udpai_str message,
                                  udpai_orca_metrics **ret_metrics,
                                  udpa_error **ret_error);

/* What a caller asks for; one piece of memory, to be freed with udpai_free(). */
typedef struct udpai_orca_request {
    uint64_t interval_ms;   /* within its bounds */
    size_t n_cost_names;    /* 0: all that there are */
    udpai_str cost_names[]; /* sorted */
} udpai_orca_request;

/* An OrcaLoadReportRequest of either version, which are the same. */
udpa_err udpai_orca_request_decode(udpai_decoder *decoder,
                                   udpai_str message,
                                   udpai_orca_request **ret_request,
                                   udpa_error **ret_error);

/* ---- the session of a caller ---- */

/* What a session is opened with: info->context. */
typedef struct udpai_orca_service {
    /* A new reference to what is known now; NULL: nothing. On the stream thread. */
    udpai_orca_metrics *(*get)(void *userdata);
    void *userdata;
} udpai_orca_service;

udpa_err
udpai_orca_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info);
udpa_err udpai_orca_v1_session_new(udpai_session **ret_session,
                                   udpai_hub *hub,
                                   const udpai_stream_info *info);

/* ---- the session of the caller ---- */

#define UDPAI_ORCA_TTL_SPARE_MS 10000

/* The backend that it asks, and what for. */
typedef struct udpai_orca_backend {
    udpai_str cluster;
    udpai_str address;
    uint32_t port;
    uint64_t interval_ms;
} udpai_orca_backend;

/* What a stream to a backend is opened with: info->context; immutable, and owned by its target. */
typedef struct udpai_orca_question udpai_orca_question;

/* Copies the texts; NULL without memory. */
udpai_orca_question *udpai_orca_question_new(const udpai_orca_backend *backend);
void udpai_orca_question_drop(void *question);

/* "<cluster>/<address>:<port>", the last as one segment; NULL without memory. Of a backend, the
 * name of what it reports. */
udpa_bytes *udpai_orca_report_name(const udpai_orca_backend *backend);

/* Each report of the backend is handed up as a publication of one OrcaReport, no more than two in
 * an interval: a backend that sends more is read late. What cannot be true ends the stream. */
udpa_err udpai_orca_collect_session_new(udpai_session **ret_session,
                                        udpai_hub *hub,
                                        const udpai_stream_info *info);

#endif
