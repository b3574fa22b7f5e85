/* SPDX-License-Identifier: Apache-2.0 */
/* Client resources of an endpoint (udpa/report.h): what is wanted of it, what it reports, and those
 * who report by themselves: the load recorder and the states of resources. On the loop. */
#ifndef UDPAI_REPORTING_H
#define UDPAI_REPORTING_H

#include <udpa/load.h>
#include <udpa/report.h>
#include <udpa/resource_state.h>

#include "base/util.h"

/* Listeners take in messages of 4 MiB; a part of that is left for what stands around a payload. */
#define UDPAI_REPORT_MAX_BYTES ((size_t)3584 * 1024)

typedef struct udpai_local_demand udpai_local_demand;
typedef struct udpai_own_reports udpai_own_reports;
typedef struct udpai_load_reporting udpai_load_reporting;
typedef struct udpai_states udpai_states;

/* ---- demand.c ---- */

udpai_local_demand *udpai_local_demand_new(void); /* NULL without memory */
void udpai_local_demand_free(udpai_local_demand *wishes);
/* From the node. The text is a name, or '*' and a prefix. Nobody is told before the next run. */
void
udpai_local_demand_note(udpa_endpoint *endpoint, udpai_str type_url, udpai_str text, bool wanted);
/* Tells those who watch of what has changed. */
void udpai_local_demand_run(udpa_endpoint *endpoint);
/* Does somebody want the report of this name? */
bool udpai_local_demand_have(const udpai_local_demand *wishes, udpai_str type_url, udpai_str name);

/* ---- report.c ---- */

/* NULL without memory. */
udpai_own_reports *udpai_own_reports_new(udpai_str node_id);
/* Nothing is withdrawn: the node goes, too. */
void udpai_own_reports_free(udpai_own_reports *reports);

/* The name of a report: what it speaks of, a slash, and the node id as one segment; to be freed
 * with udpai_free(); NULL without memory. */
char *udpai_report_name(const udpai_own_reports *reports, udpai_str about);
/* What a report of this name would speak of; empty: it would not be ours. */
udpai_str udpai_report_about(const udpai_own_reports *reports, udpai_str name);

/* What it was said to speak of: views, until it is reported again. A udpai_node_env's, of an
 * endpoint. */
bool udpai_report_speaks_of(void *endpoint,
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

/* ---- load_report.c ---- */

/* Load is for others than those who were told last. NULL does nothing. */
void udpai_load_reporting_moved(udpai_load_reporting *reporting);

/* Gives up what udpa_load_report_begin() has begun; NULL does nothing. */
void udpai_load_reporting_free(udpai_load_reporting *reporting);

/* ---- resource_state.c ---- */

void udpai_states_free(udpai_states *states);

#endif
