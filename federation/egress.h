/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing to sources: what the application publishes, and what the node reports itself. */
#ifndef UDPAI_FEDERATION_EGRESS_H
#define UDPAI_FEDERATION_EGRESS_H

#include "federation/parts.h"
#include "federation/reporting.h"

typedef struct udpai_egress udpai_egress;

udpa_err udpai_egress_new(udpai_egress **ret_egress, const udpai_parts *parts);
/* NULL does nothing. */
void udpai_egress_free(udpai_egress *egress);

/* ---- publish.c: as in node.h ---- */

bool udpai_egress_has_source(const udpai_egress *egress, udpai_str source);
bool udpai_egress_only_source(const udpai_egress *egress, udpai_str *ret_name);
const udpa_error *udpai_egress_source_error(const udpai_egress *egress, udpai_str source);
const udpa_error *udpai_egress_source_fault(const udpai_egress *egress, udpai_str source);
const char *udpai_egress_source_server(const udpai_egress *egress, udpai_str source);
bool udpai_egress_may_publish_to(const udpai_egress *egress, udpai_str source);
uint64_t
udpai_egress_publish(udpai_egress *egress, udpai_str source, udpai_publication *publication);
/* UDPAI_REPORT_RECEIPT. */
void udpai_publishing_receipt(udpai_egress *egress, udpai_report *report);
/* A stream has ended, and with it what waits for a receipt on it. */
void udpai_publishing_ended(udpai_egress *egress, uint64_t session, const udpa_error *why);

/* ---- reports.c: as in reporting.h ---- */

udpa_err
udpai_reports_publish_own(udpai_egress *egress, udpa_resource *resource, udpa_error **ret_error);
/* Not (may_bind) while what was taken of the store before has still to be sent: the audience would
 * be taken for that one's. */
udpa_err udpai_reports_publish_load(udpai_egress *egress,
                                    udpa_resource *resource,
                                    bool may_bind,
                                    udpa_error **ret_error);
void udpai_reports_withdraw_own(udpai_egress *egress, udpai_str type_url, udpai_str name);
/* Of an endpoint, which offers its own reports to peers, and nothing else: the changes that are
 * such reports. NULL: none. UDPA_ERR_NOMEM: they are lost. */
udpa_err udpai_reports_pick(const udpai_egress *egress,
                            const udpai_change_set *changes,
                            udpai_change_set **ret_picked);

/* ---- report_target_links.c: as in reporting.h ---- */

udpa_err udpai_report_targets_load_audience(const udpai_egress *egress,
                                            udpai_str name,
                                            udpai_audience *ret_audience);
bool udpai_report_targets_only(const udpai_egress *egress,
                               const udpa_resource *report,
                               udpai_str *ret_name);

#endif
