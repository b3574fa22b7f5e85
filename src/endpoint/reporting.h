/* SPDX-License-Identifier: Apache-2.0 */
/* Client resources of an endpoint (udpa/report.h): the demand for them, what it reports, and those
 * that report by themselves: the load recorder and the states of resources. On the loop. */
#ifndef UDPAI_REPORTING_H
#define UDPAI_REPORTING_H

#include <udpa/load.h>
#include <udpa/report.h>
#include <udpa/resource_state.h>

#include "base/util.h"
#include "endpoint/host.h"

/* Listeners take in messages of 4 MiB; a part of that is left for what is around a payload. */
#define UDPAI_REPORT_MAX_BYTES ((size_t)3584 * 1024)

/* ---- demand.c ---- */

/* What peers ask of this node's client resources, for those in the process that watch it: they are
 * notified in each turn. @p notes_it: else nothing is noted. */
udpa_err udpai_local_demand_new(udpai_service **ret_demand, udpa_endpoint *endpoint, bool notes_it);
/* Is the report of this name subscribed to? */
bool udpai_local_demand_have(const udpa_endpoint *endpoint, udpai_str type_url, udpai_str name);

/* ---- report.c ---- */

/* When they are freed nothing is withdrawn: the node goes, too. */
udpa_err udpai_own_reports_new(udpai_service **ret_reports, udpai_str node_id);

/* The name of a report: what it is about, a slash, and the node id as one segment; to be freed with
 * udpai_free(); NULL without memory. */
char *udpai_report_name(const udpa_endpoint *endpoint, udpai_str about);
/* What a report of this name would be about; empty: it would not be ours. */
udpai_str udpai_report_about(const udpa_endpoint *endpoint, udpai_str name);

/* What it was stated to be about: views, until it is reported again. A udpai_node_env's, of an
 * endpoint. */
bool udpai_report_subject_of(void *endpoint,
                             const udpa_resource *report,
                             udpai_str *ret_type_url,
                             udpai_str *ret_name);

/* What udpa_report() does, with a full type URL, and without a receipt. */
udpa_err udpai_report_put(udpa_endpoint *endpoint,
                          const udpa_report_options *options,
                          udpa_error **ret_error);

/* The same of load, for its audience of now alone: see udpai_node_report_load(). */
udpa_err udpai_report_put_load(udpa_endpoint *endpoint,
                               const udpa_report_options *options,
                               udpa_error **ret_error);

#endif
