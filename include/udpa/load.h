/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file load.h
 * Counting the requests of a proxy, and reporting the counts to subscribers.
 */

/* A recorder holds the counts. A program gets a handle once, of a cluster, a locality and an
 * endpoint; counting on it then costs a few nanoseconds on any thread: each thread has counters of
 * its own, which no other thread writes. A thread that ends leaves its counts.
 *
 * All counts are cumulative and never decrease: a report may be lost or late, the next one contains
 * it. */
#ifndef UDPA_LOAD_H
#define UDPA_LOAD_H

#include <stdint.h>

#include <udpa/endpoint.h>

UDPA_BEGIN_DECLS

/** What is counted; counted atomically itself; any thread. */
typedef struct udpa_load_recorder udpa_load_recorder;

/** Where requests go: an endpoint, or a locality as a whole; counted; any thread. */
typedef struct udpa_load_target udpa_load_target;

/** Why requests of a cluster are dropped before they go anywhere; counted; any thread. */
typedef struct udpa_load_category udpa_load_category;

/** A metric with a name, such as the cost of requests; its target's; any thread. */
typedef struct udpa_load_metric udpa_load_metric;

/** How much a recorder may hold. */
typedef struct udpa_load_recorder_options {
    size_t struct_size; /**< sizeof(udpa_load_recorder_options) */
    /** 0: 4096. */
    size_t max_clusters;
    /** Targets, localities, categories and metrics together; 0: 16384. All recorders of a process
     * have at most 65536. */
    size_t max_handles;
} udpa_load_recorder_options;

/** Initialiser of udpa_load_recorder_options. */
#define UDPA_LOAD_RECORDER_OPTIONS_INIT                                                            \
    {                                                                                              \
        sizeof(udpa_load_recorder_options), 0, 0                                                   \
    }

/** Make a recorder, with nothing in it.
 * @param ret_recorder [out] new reference, release with udpa_load_recorder_unref(); untouched on
 *                     failure.
 * @param options      borrowed; NULL: the defaults.
 * @param ret_error    [out] what is wrong; may be NULL.
 * @return UDPA_OK; UDPA_ERR_INVAL an option that may not be; UDPA_ERR_NOMEM.
 * @thread any   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_load_recorder_new(udpa_load_recorder **ret_recorder,
                                                       const udpa_load_recorder_options *options,
                                                       udpa_error **ret_error);

/** Take a reference. @p recorder may be NULL.
 * @return @p recorder.
 * @thread any   @since 0.1
 */
UDPA_API udpa_load_recorder *udpa_load_recorder_ref(udpa_load_recorder *recorder);

/** Drop a reference. @p recorder may be NULL. Targets and categories hold one each.
 * @return NULL.
 * @thread any   @since 0.1
 */
UDPA_API udpa_load_recorder *udpa_load_recorder_unref(udpa_load_recorder *recorder);

/** Names a target. Each text is at most 256 bytes of UTF-8. */
typedef struct udpa_load_place {
    size_t struct_size; /**< sizeof(udpa_load_place) */
    /** The cluster's full name, such as "com.acme.foo/service-a"; required. */
    const char *cluster;
    /** What the cluster's endpoints are asked for by, if that is another name; NULL: not given. A
     * cluster has one. */
    const char *service_name;
    /** The locality; NULL: not given. */
    const char *region;
    const char *zone;
    const char *sub_zone;
    uint32_t priority;
    /** The endpoint; NULL: the locality as a whole. */
    const char *address;
    /** At most 65535; 0: not given. */
    uint32_t port;
} udpa_load_place;

/** Initialiser of udpa_load_place. */
#define UDPA_LOAD_PLACE_INIT                                                                       \
    {                                                                                              \
        sizeof(udpa_load_place), NULL, NULL, NULL, NULL, NULL, 0, NULL, 0                          \
    }

/** Get the target of a place: requests for one place get one target. To be done when an endpoint
 * comes, not for each request: it takes a lock.
 *
 * What was counted on a target stays when its last reference goes. When there is room for no more,
 * the counts of endpoints without a reference, and that have nothing in flight, become those of
 * their localities, and clusters without references are forgotten.
 * @param ret_target [out] new reference, release with udpa_load_target_unref(); untouched on
 *                   failure.
 * @param recorder   borrowed; the target takes a reference.
 * @param place      borrowed; copied.
 * @param ret_error  [out] what is wrong; may be NULL.
 * @return UDPA_OK; UDPA_ERR_INVAL a place that may not be; UDPA_ERR_LIMIT the recorder, or the
 *         process, has as many as it may have: count on the locality instead; or the cluster has
 *         128 localities; UDPA_ERR_NOMEM.
 * @thread any   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_load_target_get(udpa_load_target **ret_target,
                                                     udpa_load_recorder *recorder,
                                                     const udpa_load_place *place,
                                                     udpa_error **ret_error);

/** Drop a reference, after which nothing is counted on it, nor on its metrics. @p target may be
 * NULL.
 * @return NULL.
 * @thread any   @since 0.1
 */
UDPA_API udpa_load_target *udpa_load_target_unref(udpa_load_target *target);

/** A request was sent there: it is in flight.
 * @thread any   @since 0.1
 */
UDPA_API void udpa_load_request_started(udpa_load_target *target);

/** One that was started has been answered, well; on any thread.
 * @thread any   @since 0.1
 */
UDPA_API void udpa_load_request_succeeded(udpa_load_target *target);

/** One that was started has ended without an answer, or with one that is an error.
 * @thread any   @since 0.1
 */
UDPA_API void udpa_load_request_failed(udpa_load_target *target);

/** A connection to it was made.
 * @thread any   @since 0.1
 */
UDPA_API void udpa_load_connection_opened(udpa_load_target *target);

/** A connection to it could not be made.
 * @thread any   @since 0.1
 */
UDPA_API void udpa_load_connection_failed(udpa_load_target *target);

/** One that was opened has ended.
 * @thread any   @since 0.1
 */
UDPA_API void udpa_load_connection_closed(udpa_load_target *target);

/** What was counted on a target. */
typedef struct udpa_load_figures {
    size_t struct_size; /**< sizeof(udpa_load_figures) */
    uint64_t n_requests_started;
    uint64_t n_requests_succeeded;
    uint64_t n_requests_failed;
    uint64_t n_requests_in_flight;
    uint64_t n_connections_opened;
    uint64_t n_connections_failed;
    uint64_t n_connections_open;
} udpa_load_figures;

/** Initialiser of udpa_load_figures. */
#define UDPA_LOAD_FIGURES_INIT                                                                     \
    {                                                                                              \
        sizeof(udpa_load_figures), 0, 0, 0, 0, 0, 0, 0                                             \
    }

/** Read what was counted on a target by all threads: all that has happened before the call, and
 * perhaps some of what happens meanwhile. What has ended has begun: no figure contradicts another.
 * @param target      borrowed.
 * @param ret_figures begins with UDPA_LOAD_FIGURES_INIT; filled in.
 * @thread any   @since 0.1
 */
UDPA_API void udpa_load_target_read(const udpa_load_target *target, udpa_load_figures *ret_figures);

/** Get a category in which requests of a cluster are dropped, such as "throttle".
 * @param ret_category [out] new reference, release with udpa_load_category_unref(); untouched on
 *                     failure.
 * @param recorder     borrowed; the category takes a reference.
 * @param cluster      the cluster's full name; copied.
 * @param name         of the category; at most 256 bytes of UTF-8; copied.
 * @param ret_error    [out] what is wrong; may be NULL.
 * @return UDPA_OK; UDPA_ERR_INVAL a name that may not be; UDPA_ERR_LIMIT the cluster has 64, or see
 *         udpa_load_target_get(); UDPA_ERR_NOMEM.
 * @thread any   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_load_category_get(udpa_load_category **ret_category,
                                                       udpa_load_recorder *recorder,
                                                       const char *cluster,
                                                       const char *name,
                                                       udpa_error **ret_error);

/** Drop a reference, after which nothing is counted on it. @p category may be NULL.
 * @return NULL.
 * @thread any   @since 0.1
 */
UDPA_API udpa_load_category *udpa_load_category_unref(udpa_load_category *category);

/** A request was dropped.
 * @thread any   @since 0.1
 */
UDPA_API void udpa_load_request_dropped(udpa_load_category *category);

/** Get a metric of a target; requests for one name get one metric.
 * @param ret_metric [out] the target's: to be used only with a reference to it; untouched on
 *                   failure.
 * @param target     borrowed.
 * @param name       at most 256 bytes of UTF-8; copied.
 * @param ret_error  [out] what is wrong; may be NULL.
 * @return UDPA_OK; UDPA_ERR_INVAL a name that may not be; UDPA_ERR_LIMIT the cluster has 32
 *         different names, or see udpa_load_target_get(); UDPA_ERR_NOMEM.
 * @thread any   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_load_metric_get(udpa_load_metric **ret_metric,
                                                     udpa_load_target *target,
                                                     const char *name,
                                                     udpa_error **ret_error);

/** A request that has ended had this value: it is added to the sum, and one to the number.
 * @param metric borrowed.
 * @param value  what is no finite number is not counted.
 * @thread any   @since 0.1
 */
UDPA_API void udpa_load_measured(udpa_load_metric *metric, double value);

/** How a recorder is reported, where no resource of the type udpa.load.v1.LoadReporting that the
 * endpoint's sources have sets something else for a cluster. */
typedef struct udpa_load_report_options {
    size_t struct_size; /**< sizeof(udpa_load_report_options) */
    /** Between two reports of a cluster; at least 100; 0: 10000. */
    uint64_t interval_ms;
    /** With the figures of each endpoint, not of each locality alone. Of a cluster with more than
     * 4096 endpoints, or metrics, that have counted anything, the localities are reported. */
    bool per_endpoint;
} udpa_load_report_options;

/** Initialiser of udpa_load_report_options. */
#define UDPA_LOAD_REPORT_OPTIONS_INIT                                                              \
    {                                                                                              \
        sizeof(udpa_load_report_options), 0, false                                                 \
    }

/** Report what a recorder holds, as resources of the type udpa.load.v1.ClientLoad: of each cluster
 * with a subscription, at once and at each interval, until the last one ends. Without a
 * subscription nothing is read and nothing is sent. While they are for several sources they are
 * reported as udpa.load.v1.SharedClientLoad, too, to those that subscribe to that. They live for
 * three intervals and 10 s. What was counted before the first subscription to a cluster is not
 * reported.
 * @param endpoint  whose reports they are.
 * @param recorder  borrowed; a reference is taken until the end.
 * @param options   borrowed; NULL: the defaults.
 * @param ret_error [out] what is wrong; may be NULL.
 * @return UDPA_OK; UDPA_ERR_INVAL an option that may not be; UDPA_ERR_EXISTS a recorder is reported
 *         by this endpoint, which has one; UDPA_ERR_CLOSED the endpoint is being closed;
 *         UDPA_ERR_NOMEM.
 * @thread the loop's   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_load_report_begin(udpa_endpoint *endpoint,
                                                       udpa_load_recorder *recorder,
                                                       const udpa_load_report_options *options,
                                                       udpa_error **ret_error);

/** Report it no longer, and withdraw what was reported. Closing the endpoint does it, too. Without
 * such a report nothing is done.
 * @thread the loop's   @since 0.1
 */
UDPA_API void udpa_load_report_end(udpa_endpoint *endpoint);

UDPA_DEFINE_CLEANUP(udpa_load_recorder, udpa_load_recorder_unref)
UDPA_DEFINE_CLEANUP(udpa_load_target, udpa_load_target_unref)
UDPA_DEFINE_CLEANUP(udpa_load_category, udpa_load_category_unref)

UDPA_END_DECLS

#endif
