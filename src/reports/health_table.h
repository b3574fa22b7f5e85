/* SPDX-License-Identifier: Apache-2.0 */
/* What one checker was asked to check, by a HealthCheckSpecifier, and what it has answered of that.
 * No clock: the time is handed in. Belongs to its maker. */
#ifndef UDPAI_HEALTH_TABLE_H
#define UDPAI_HEALTH_TABLE_H

#include "reports/health.h"

#define UDPAI_HEALTH_SPECIFIER_TYPE                                                                \
    "type.googleapis.com/envoy.service.health.v3.HealthCheckSpecifier"

/* Above this, an interval is an error. */
#define UDPAI_HEALTH_INTERVAL_MAX_MS ((uint64_t)24 * 3600 * 1000)
#define UDPAI_HEALTH_INTERVAL_MS 1000 /* of a specifier that does not set one */

/* What a checker can do: a bit for each value of Capability.Protocol. */
typedef enum udpai_health_protocol {
    UDPAI_HEALTH_HTTP = 1 << 0, /* with checks by gRPC, for which there is no value */
    UDPAI_HEALTH_TCP = 1 << 1,
    UDPAI_HEALTH_REDIS = 1 << 2,
} udpai_health_protocol;

/* Of a Capability message. */
unsigned udpai_health_capability_read(udpai_str capability);
/* What a HealthCheck needs, if there is a value for that; 0: nothing that a checker could announce.
 */
unsigned udpai_health_check_protocol(udpai_str check);

/* ---- what it is sent ---- */

/* The specifier without the checks that are beyond the capability, and without clusters in which no
 * check is left: their endpoints would count as healthy unchecked. *ret_n_left_out: checks. */
udpa_err udpai_health_specifier_limit(udpai_str specifier,
                                      unsigned capability,
                                      udpa_bytes **ret_limited,
                                      size_t *ret_n_left_out,
                                      udpa_error **ret_error);

/* ---- the table ---- */

typedef struct udpai_health_table udpai_health_table;

/* Of a specifier as it is sent, of which it keeps a reference: views of it are valid as long as the
 * table. */
udpa_err udpai_health_table_new(udpai_health_table **ret_table,
                                udpa_bytes *specifier,
                                udpa_error **ret_error);
udpai_health_table *udpai_health_table_free(udpai_health_table *table);
UDPA_DEFINE_CLEANUP(udpai_health_table, udpai_health_table_free)

udpa_bytes *udpai_health_table_specifier(const udpai_health_table *table); /* borrowed */
uint64_t udpai_health_table_interval_ms(const udpai_health_table *table);
/* How long its reports hold without being renewed. */
uint64_t udpai_health_table_ttl_ms(const udpai_health_table *table);
size_t udpai_health_table_n_clusters(const udpai_health_table *table);
udpai_str udpai_health_table_cluster(const udpai_health_table *table, size_t index);
/* SIZE_MAX: it has no such cluster. */
size_t udpai_health_table_find(const udpai_health_table *table, udpai_str cluster);

/* What is still asked, and was answered, counts as answered. */
void udpai_health_table_inherit(udpai_health_table *table, const udpai_health_table *before);

/* What became of an answer. */
typedef struct udpai_health_taken {
    size_t n_taken, n_unasked, n_strange; /* endpoints */
    udpai_str cluster, address;           /* of the first that was not asked for; views of it */
    uint32_t port;
} udpai_health_taken;

/* Takes an EndpointHealthResponse in. Of a cluster that it is about, what it leaves out is not
 * reported any more; other clusters stay as they were. What was not asked of this checker, now or
 * in the table before (NULL: there was none), is counted; what was asked then, is late, and
 * ignored. */
udpa_err udpai_health_table_answer(udpai_health_table *table,
                                   const udpai_health_table *before,
                                   udpai_str message,
                                   int64_t now_us,
                                   udpai_health_taken *ret_taken,
                                   udpa_error **ret_error);

/* ---- what is to be passed on ---- */

/* Is there anything to report of a cluster, that was not passed on yet, or long enough ago? */
bool udpai_health_table_is_due(const udpai_health_table *table, size_t index, uint64_t now_ms);
/* Serialised udpa.health.v1.EndpointHealth, under this name of the cluster; NULL without memory. */
udpa_bytes *
udpai_health_table_compose(const udpai_health_table *table, size_t index, udpai_str full_name);
void udpai_health_table_passed_on(udpai_health_table *table, size_t index, uint64_t now_ms);
/* Was it ever, by this table or one that it has inherited from? */
bool udpai_health_table_was_passed_on(const udpai_health_table *table, size_t index);

#endif
