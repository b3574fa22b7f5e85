/* SPDX-License-Identifier: Apache-2.0 */
/* What of a node its runtime can change, by keys below "udpa.": as in the bootstrap file, with the
 * values of the runtime in its place. Pure. */
#ifndef UDPAI_DAEMON_TUNABLES_H
#define UDPAI_DAEMON_TUNABLES_H

#include "base/log.h"
#include "daemon/plan.h"
#include "runtime/snapshot.h"

#define UDPAI_SWITCHES_PREFIX "udpa."

typedef struct udpai_tunables {
    udpa_log_level log_level;
    udpai_log_component_level log_levels[UDPAI_LOG_COMPONENTS_MAX]; /* by name */
    size_t n_log_levels;
    bool acl_dry_run; /* of no use without rules */
    udpai_policy_mode validation;
    size_t max_streams, max_streams_per_identity;
    size_t max_message_bytes, max_source_message_bytes;
    size_t max_groups, max_groups_of_identity, max_clients;
    uint64_t max_stream_age_ms;
    udpai_debounce_rules *debounce; /* the plan's */
    uint64_t drain_timeout_ms;
    uint64_t files_quiet_ms;
    udpai_node_timing timing;
    udpai_store_options store;
    udpai_fanout_options fanout;
} udpai_tunables;

/* As in the plan. */
void udpai_tunables_init(udpai_tunables *switches, const udpai_plan *plan);

/* A value that is ignored, or a key that no setting has, and why: one line, which names the key. */
typedef void (*udpai_tunables_complain_fn)(void *userdata, udpai_str key, const char *line);

/* Puts the values of the runtime in the place of what is there. A wrong value is reported, and what
 * was there stays. UDPA_ERR_NOMEM: nothing was put. */
udpa_err udpai_tunables_read(udpai_tunables *switches,
                             const udpai_runtime_snapshot *snapshot,
                             udpai_tunables_complain_fn complain,
                             void *userdata);

/* A line for each that is another than before: "udpa.acl.dry_run is true now". */
void udpai_tunables_report_changes(const udpai_tunables *before,
                                   const udpai_tunables *now,
                                   void (*report_line)(void *userdata, const char *line),
                                   void *userdata);

/* The values of the runtime for a node, as bytes for another process of it, and back: a snapshot,
 * for udpai_tunables_read(). UDPA_ERR_MALFORMED: these are none; UDPA_ERR_NOMEM. */
void udpai_tunables_encode(const udpai_runtime_snapshot *snapshot, udpai_strbuf *bytes);
udpa_err udpai_tunables_decode(udpai_str bytes, udpai_runtime_snapshot **ret_snapshot);

bool udpai_tunables_same_log(const udpai_tunables *a, const udpai_tunables *b);
void udpai_tunables_apply_log(const udpai_tunables *switches);
/* What stream sides go by. */
udpai_stream_switches udpai_tunables_of_streams(const udpai_tunables *switches);

#endif
