/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file report.h
 * Client resources: what an endpoint reports about itself, or about other things as it sees them:
 * its load, the health of endpoints that it sends requests to, the state of resources.
 */

/* The report of the endpoint X on the thing "com.acme.foo/service-a" is the resource
 * "com.acme.foo/service-a/X" of some type. It is sent to peers that subscribe to it on a stream of
 * the endpoint, by its name or by a namespace above it, such as "com.acme.foo/service-a", which is
 * a subscription to the reports of all endpoints on the thing. No other peer receives it.
 * Management nodes subscribe, at the peers that have dialled them, to the client types that are in
 * demand: udpa.load.v1.ClientLoad, udpa.health.v1.EndpointHealth, udpa.status.v1.ResourceState and
 * udpa.status.v1.ClientStatus.
 *
 * Of several sources it is routed to those that have delivered what it describes, as far as that is
 * known: the one whose cluster, or endpoints, are effective now. When another one takes over, the
 * report is routed there, and removed at the one before. If no source has delivered it, it is
 * routed to those that are active for it in the provider of its type; and if there is none, to all.
 *
 * A report is newer than those before it, and replaces them; a slow peer is sent the newest one
 * alone. */
#ifndef UDPA_REPORT_H
#define UDPA_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <udpa/endpoint.h>
#include <udpa/publish.h>

UDPA_BEGIN_DECLS

/** What to report. */
typedef struct udpa_report_options {
    size_t struct_size; /**< sizeof(udpa_report_options) */
    /** Such as "type.googleapis.com/udpa.health.v1.EndpointHealth", or without the part before the
     * last slash; required. */
    const char *type_url;
    /** The full name of what it is about, such as "com.acme.foo/service-a"; required. The name of
     * the report is this, a slash, and the endpoint's node_id, percent-encoded. */
    const char *about;
    /** The serialised message; may be NULL iff payload_size is 0. */
    const void *payload;
    size_t payload_size;
    /** Milliseconds until its receivers forget it, if nothing more comes from the endpoint; at
     * least 1000; required. While it is reported it is renewed at half of that, without its
     * contents being sent again. */
    uint64_t ttl_ms;
    /** Not NULL: a receipt is asked for. The report goes to receipt_source at once, with or without
     * a subscription, and this is called once with the result there. */
    udpa_receipt_fn receipt;
    void *userdata; /**< Handed to it. */
    /** NULL: the only source, or the one that the report is for. */
    const char *receipt_source;
    /** What it is about, if that is known to be a resource that a source has delivered: its type,
     * as above. NULL: for udpa.load.v1.ClientLoad, udpa.health.v1.EndpointHealth and
     * udpa.status.v1.ResourceState the clusters or resources that these are about; for others,
     * nothing. */
    const char *subject_type_url;
    /** And its full name; NULL: `about`. */
    const char *subject_name;
} udpa_report_options;

/** Initialiser of udpa_report_options. */
#define UDPA_REPORT_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(udpa_report_options), NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL          \
    }

/** Report something, or replace what was reported of the same thing by the same type. It stays
 * until it is withdrawn, or the endpoint is closed.
 * @param endpoint  that reports.
 * @param options   borrowed; everything in it is copied.
 * @param ret_error [out] what is wrong; may be NULL.
 * @return UDPA_OK; UDPA_ERR_INVAL a type or name that may not be, no ttl, no such source, or none
 *         is named for the receipt and it is for several; UDPA_ERR_LIMIT more than 3.5 MiB, or
 *         more than 65536 reports at a time; UDPA_ERR_CLOSED the endpoint is being closed;
 *         UDPA_ERR_NOMEM. Then what was reported before stays.
 * @thread the loop's   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_report(udpa_endpoint *endpoint,
                                            const udpa_report_options *options,
                                            udpa_error **ret_error);

/** Report it no longer: subscribers to a namespace receive its removal; a subscriber to its name
 * forgets it when its ttl has passed. Nothing is done if it was not reported.
 * @param endpoint that reported it.
 * @param type_url as it was reported.
 * @param about    the same.
 * @thread the loop's   @since 0.1
 */
UDPA_API void
udpa_report_withdraw(udpa_endpoint *endpoint, const char *type_url, const char *about);

/** Demand for a report, or its end; see udpa_demand_fn. */
typedef struct udpa_demand {
    size_t struct_size; /**< sizeof(udpa_demand) of the library */
    const char *type_url;
    /** The full name of a report, such as "com.acme.foo/service-a/X"; NULL: it is a namespace. */
    const char *name;
    /** All reports below this; "": all there are; NULL: it is a name. */
    const char *name_space;
    bool has_subscribers;
} udpa_demand;

/** Called for each change of the demand, so that nothing need be made that is not read.
 * @param userdata of the watch.
 * @param demand   borrowed for the call.
 */
typedef void (*udpa_demand_fn)(void *userdata, const udpa_demand *demand);

/** Watches the demand; owned by its endpoint. */
typedef struct udpa_demand_watch udpa_demand_watch;

/** Watch the demand: what it is now, and each change. There may be several watches.
 * @param ret_watch [out] the endpoint's, until udpa_demand_watch_end(); untouched on failure.
 * @param endpoint  the one that reports.
 * @param callback  not called before this returns.
 * @param userdata  handed to @p callback.
 * @return UDPA_OK; UDPA_ERR_INVAL no callback; UDPA_ERR_CLOSED the endpoint is being closed;
 *         UDPA_ERR_NOMEM.
 * @thread the loop's   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_demand_watch_new(udpa_demand_watch **ret_watch,
                                                      udpa_endpoint *endpoint,
                                                      udpa_demand_fn callback,
                                                      void *userdata);

/** End a watch; nothing is called back for it any more. NULL does nothing. It may be called from
 * inside any callback.
 * @thread the loop's   @since 0.1
 */
UDPA_API void udpa_demand_watch_end(udpa_demand_watch *watch);

/** Has this report a subscription?
 * @param endpoint not one that is being closed.
 * @param type_url as it would be reported.
 * @param about    the same.
 * @return true or false.
 * @thread the loop's   @since 0.1
 */
UDPA_API bool
udpa_has_demand(const udpa_endpoint *endpoint, const char *type_url, const char *about);

UDPA_END_DECLS

#endif
