/* SPDX-License-Identifier: Apache-2.0 */
/* The meters of what is sent of a type: found once for each subscription, in one place together.
 * Belongs to the thread of its meters. */
#ifndef UDPAI_METRICS_TRAFFIC_H
#define UDPAI_METRICS_TRAFFIC_H

#include "base/map.h"
#include "metrics/meters.h"

typedef struct udpai_traffic {
    udpai_meter *deliveries, *bytes, *acks, *nacks;
} udpai_traffic;

typedef struct udpai_traffic_table {
    udpai_meters *meters;
    udpai_map by_type;
    udpai_traffic lost; /* of what there is no memory for */
} udpai_traffic_table;

void udpai_traffic_table_init(udpai_traffic_table *table, udpai_meters *meters);
void udpai_traffic_table_done(udpai_traffic_table *table);
/* Never NULL; as long as the table. */
const udpai_traffic *udpai_traffic_table_find(udpai_traffic_table *table, udpai_str type_url);

#endif
