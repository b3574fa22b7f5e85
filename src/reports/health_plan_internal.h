/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a plan, for its two files: one makes it, the other writes specifiers. */
#ifndef UDPAI_HEALTH_PLAN_INTERNAL_H
#define UDPAI_HEALTH_PLAN_INTERNAL_H

#include "reports/health_plan.h"

/* An endpoint; those of one locality are adjacent, and those of one cluster. */
typedef struct udpai_plan_subject {
    udpai_health_subject drawn;
    uint32_t cluster, locality;
    udpai_health_address address;
    udpai_str endpoint; /* Endpoint */
} udpai_plan_subject;

typedef struct udpai_plan_pair {
    uint32_t checker, subject;
} udpai_plan_pair;

/* Which checker was drawn for what: it outlives what the plan was made of. */
typedef struct udpai_plan_memory {
    uint64_t subject, checker; /* hashes */
} udpai_plan_memory;

struct udpai_health_plan {
    udpai_health_plan_input input; /* without the plan before */
    udpai_health_plan_counts counts;
    UDPAI_VECTOR(udpai_str) localities;
    UDPAI_VECTOR(udpai_plan_subject) subjects;
    UDPAI_VECTOR(udpai_plan_pair) pairs;      /* by checker, then by subject */
    UDPAI_VECTOR(udpai_plan_memory) memories; /* by subject */
    uint64_t *hashes;                         /* of the checkers */
};

/* Can Envoy use it? One that it refuses would cost all others that it is sent with. */
bool udpai_health_check_is_usable(udpai_str check);

#endif
