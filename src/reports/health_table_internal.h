/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a table of what a checker was asked, for its two files: one reads what is asked,
 * the other takes answers. */
#ifndef UDPAI_HEALTH_TABLE_INTERNAL_H
#define UDPAI_HEALTH_TABLE_INTERNAL_H

#include "reports/health_table.h"

/* All texts are views of the specifier. */
typedef struct udpai_health_locality {
    udpai_str region, zone, sub_zone;
} udpai_health_locality;

/* An endpoint that is to be checked; those of one locality are adjacent. */
typedef struct udpai_health_asked {
    udpai_health_address address;
    size_t cluster, locality;
    bool is_reported;
    udpai_health_status status; /* if it is reported */
    int64_t since_us;
    uint64_t round; /* the answer that was about it last */
} udpai_health_asked;

typedef struct udpai_health_cluster {
    udpai_str name;
    size_t first, n; /* its endpoints */
    uint64_t round;  /* the answer that was about it last; 0: none was */
    bool is_changed; /* since it was passed on last, or it never was */
    bool is_renewed; /* there was an answer since */
    bool was_passed_on;
    uint64_t passed_on_ms;
} udpai_health_cluster;

struct udpai_health_table {
    udpa_bytes *specifier;
    uint64_t interval_ms;
    UDPAI_VECTOR(udpai_health_cluster) clusters;
    UDPAI_VECTOR(udpai_health_locality) localities;
    UDPAI_VECTOR(udpai_health_asked) asked;
    size_t *by_address; /* of asked */
    size_t *by_name;    /* of clusters */
    uint64_t round;     /* of answers, counted from 1 */
};

/* The first place in by_address that is not before this address. */
size_t udpai_health_table_lower(const udpai_health_table *table,
                                const udpai_health_address *address);

#endif
