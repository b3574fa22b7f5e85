/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of load: their names, reporters, and age. */
#ifndef UDPAI_LOAD_NAMES_H
#define UDPAI_LOAD_NAMES_H

#include "model/name.h"
#include "model/resource.h"
#include "reports/load_stats_split.h"

/* <thing>/<id>; false: it is no such name. */
bool udpai_load_name_split(udpai_str name, udpai_str *ret_thing, udpai_str *ret_id);
/* Is the segment that id, percent-encoded? */
bool udpai_load_is_id(udpai_str segment, udpai_str id);
/* Its reporter: a client and a node may have one id. */
udpai_str
udpai_load_reporter(udpai_str id, udpai_load_stats_kind kind, char room[1 + UDPAI_NAME_MAX]);
/* Is it for this node to count it? */
bool
udpai_load_counts_here(const udpa_resource *resource, udpai_str id, udpai_load_stats_kind kind);
/* How long ago it began to count: so long before it was reported, and came here. @p wall_us: now,
 * by the clock of its last hop. */
uint64_t
udpai_load_age_ns(const udpa_resource *resource, const udpai_load_stats *stats, int64_t wall_us);

/* What a node reports of a cluster: <cluster>/<node>. NULL: it cannot be, or there is no memory. */
udpa_resource *
udpai_load_aggregate_resource(const udpai_load_stats *total, udpai_str node_id, uint64_t ttl_ms);

#endif
