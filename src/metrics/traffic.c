/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/traffic.h"

#include "base/alloc.h"

/* Types that are "other" have one meter, and so one entry. */
static udpai_str
traffic_key(const void *item)
{
    return ((const udpai_traffic *)item)->deliveries->key;
}

void
udpai_traffic_table_init(udpai_traffic_table *table, udpai_meters *meters)
{
    udpai_meter *lost = udpai_meters_lost(meters);
    table->meters = meters;
    table->lost = (udpai_traffic){lost, lost, lost, lost};
    udpai_map_init(&table->by_type, traffic_key);
}

void
udpai_traffic_table_done(udpai_traffic_table *table)
{
    size_t at = 0;
    udpai_traffic *traffic;
    while ((traffic = udpai_map_next(&table->by_type, &at)))
        udpai_free(traffic);
    udpai_map_done(&table->by_type);
}

const udpai_traffic *
udpai_traffic_table_find(udpai_traffic_table *table, udpai_str type_url)
{
    udpai_meters *meters = table->meters;
    const udpai_traffic found = {
        .deliveries = udpai_meters_get(meters, UDPAI_METRIC_DELIVERIES, type_url),
        .bytes = udpai_meters_get(meters, UDPAI_METRIC_DELIVERY_BYTES, type_url),
        .acks = udpai_meters_get(meters, UDPAI_METRIC_ACKS, type_url),
        .nacks = udpai_meters_get(meters, UDPAI_METRIC_NACKS, type_url),
    };
    if (found.deliveries == table->lost.deliveries)
        return &table->lost;
    udpai_traffic *known = udpai_map_get(&table->by_type, found.deliveries->key);
    if (known)
        return known;
    udpai_traffic *made = udpai_memdup(&found, sizeof(found));
    if (made && udpai_map_add(&table->by_type, made))
        return made;
    udpai_free(made);
    return &table->lost;
}
