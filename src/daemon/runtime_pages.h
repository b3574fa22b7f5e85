/* SPDX-License-Identifier: Apache-2.0 */
/* What the pages about the runtime have; by the forms that Envoy's have. Pure. */
#ifndef UDPAI_DAEMON_RUNTIME_PAGES_H
#define UDPAI_DAEMON_RUNTIME_PAGES_H

#include "base/strbuf.h"
#include "daemon/plan.h"
#include "runtime/layers.h"

/* /runtime: JSON of the layers that count, and of each key what each of them has of it and what
 * counts, as Envoy's. Besides, "errors" has why layers are left out, "configured" has all layers in
 * their order, with their kind, the number of their keys, and whether they count, and "ignored" has
 * the keys below "udpa." that have no effect on the node, with the reason. Without a plan nothing
 * is known of that, and there is no "ignored". */
void udpai_runtime_page(const udpai_runtime *runtime, const udpai_plan *plan, udpai_strbuf *text);
/* /stats, a line for each; /stats/prometheus. */
void udpai_runtime_stats_page(const udpai_runtime_statistics *statistics, udpai_strbuf *text);
void udpai_runtime_prometheus_page(const udpai_runtime_statistics *statistics, udpai_strbuf *text);

#define UDPAI_RUNTIME_CHANGES_MAX 1000 /* of one request */

/* /runtime_modify: "key=value&key=value", percent-encoded, '+' a blank. UDPA_ERR_INVAL: it is none,
 * or names nothing; else as udpai_runtime_modify(). */
udpa_err udpai_runtime_modify_page(udpai_runtime *runtime, udpai_str form, udpa_error **ret_error);

#endif
