/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file orca.h
 * Reporting the load of this backend to load balancers by ORCA.
 */

/* An endpoint with a listen_address answers StreamCoreMetrics of
 * xds.service.orca.v3.OpenRcaService, and of its older name udpa.service.orca.v1.OpenRcaService: at
 * once, and then at the interval that the caller has requested, with the values that were set last.
 * An interval is at least 100 ms and at most an hour; without one it is 10 s. Until a value is set,
 * streams stay open and receive nothing: a backend without a report is not one without load. */
#ifndef UDPA_ORCA_H
#define UDPA_ORCA_H

#include <udpa/endpoint.h>

UDPA_BEGIN_DECLS

/** At most so many values of a kind may have names. */
#define UDPA_ORCA_NAMED_MAX 256

/** At most so long is a name, in bytes. */
#define UDPA_ORCA_NAME_MAX 256

/** A value with a name, which is not empty, is UTF-8, and is there once. */
typedef struct udpa_orca_value {
    const char *name;
    double value;
} udpa_orca_value;

/** How loaded it is. All values are finite, and none is negative but those of named_metrics; 0
 * means the same as nothing. */
typedef struct udpa_orca_metrics {
    size_t struct_size; /**< sizeof(udpa_orca_metrics) */
    /** Of the processors; more than 1 is beyond what the backend calls full. */
    double cpu_utilization;
    /** Of the memory, from 0 to 1. */
    double mem_utilization;
    /** What the application itself calls its utilisation; it comes before cpu_utilization for
     * clients that weigh backends by it. May be more than 1. */
    double application_utilization;
    double rps; /**< Requests per second. */
    double eps; /**< Errors per second. */
    /** Of other resources, each from 0 to 1. */
    const udpa_orca_value *utilizations;
    size_t n_utilizations;
    /** What one request costs, by kind of cost. A caller may ask for some of them alone. */
    const udpa_orca_value *request_costs;
    size_t n_request_costs;
    /** Whatever else the application and its balancer have agreed on: any finite number. */
    const udpa_orca_value *named_metrics;
    size_t n_named_metrics;
} udpa_orca_metrics;

/** Initialiser of udpa_orca_metrics. */
#define UDPA_ORCA_METRICS_INIT                                                                     \
    {                                                                                              \
        sizeof(udpa_orca_metrics), 0, 0, 0, 0, 0, NULL, 0, NULL, 0, NULL, 0                        \
    }

/** Set what is answered from now on; each stream gets it with its next report. Cheap enough for
 * every measurement, if not for every request: it copies.
 * @param endpoint  one that listens, and is not being closed.
 * @param metrics   borrowed; copied. NULL: nothing is known any more, and nothing is reported.
 * @param ret_error [out] what is wrong; may be NULL.
 * @return UDPA_OK; UDPA_ERR_INVAL a value or a name that may not be; UDPA_ERR_LIMIT more values
 *         with names than there may be; UDPA_ERR_PRECONDITION the endpoint does not listen;
 *         UDPA_ERR_UNIMPLEMENTED the library was built without ORCA; UDPA_ERR_NOMEM. On failure
 *         what was set before stays.
 * @thread any   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_orca_set(udpa_endpoint *endpoint,
                                              const udpa_orca_metrics *metrics,
                                              udpa_error **ret_error);

UDPA_END_DECLS

#endif
