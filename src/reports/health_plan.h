/* SPDX-License-Identifier: Apache-2.0 */
/* Which checkers check which endpoints, computed of clusters, of their endpoints, and of the
 * checkers that there are. Each endpoint has `redundancy` checkers of those that can do all checks
 * of its cluster: nearer ones first, and among those equally near the ones that it draws
 * (rendezvous hashing). So a checker that comes or goes moves no endpoint but those that it has
 * itself, and nodes that compute of the same compute the same. No clock, no state; belongs to its
 * maker.
 */
#ifndef UDPAI_HEALTH_PLAN_H
#define UDPAI_HEALTH_PLAN_H

#include "reports/health_table.h"

#define UDPAI_HEALTH_REDUNDANCY_MAX 16
/* Of one plan; so it is made in less than a second. */
#define UDPAI_HEALTH_CHECKERS_MAX 1024

typedef struct udpai_health_place {
    udpai_str region, zone, sub_zone;
} udpai_health_place;

/* Of an envoy.config.core.v3.Locality: views of it. */
udpai_health_place udpai_health_place_read(udpai_str locality);

typedef struct udpai_health_checker {
    udpai_str id; /* there is no other of this */
    udpai_health_place place;
    unsigned capability; /* udpai_health_protocol */
} udpai_health_checker;

/* The announcement of a checker (udpa.health.v1.Checker); views of it. False: it is malformed. The
 * id is not in it. */
bool udpai_health_checker_read(udpai_str payload, udpai_health_checker *ret_checker);

/* ---- drawing ---- */

/* Something to be checked. */
typedef struct udpai_health_subject {
    uint64_t hash;
    udpai_health_place place;
    unsigned protocols; /* all of them are needed */
} udpai_health_subject;

/* The checkers that are to check it, the best one first: as many as are capable, at most the
 * redundancy, which is at most UDPAI_HEALTH_REDUNDANCY_MAX. Returns how many. @p hashes: of the
 * checkers. */
size_t udpai_health_draw(const udpai_health_subject *subject,
                         const udpai_health_checker *checkers,
                         const uint64_t *hashes,
                         size_t n_checkers,
                         size_t redundancy,
                         uint32_t ret_drawn[UDPAI_HEALTH_REDUNDANCY_MAX]);
uint64_t udpai_health_checker_hash(udpai_str id);

/* ---- a plan ---- */

/* Has this Cluster checks that some checker can do? If it is malformed, too: a plan reports that.
 */
bool udpai_health_cluster_is_checked(udpai_str cluster);

/* A cluster, and the endpoints that it has by EDS. */
typedef struct udpai_health_cluster_input {
    udpai_str name;       /* in the specifiers: that of its endpoints */
    udpai_str cluster;    /* Cluster */
    udpai_str assignment; /* ClusterLoadAssignment */
} udpai_health_cluster_input;

typedef struct udpai_health_plan udpai_health_plan;

typedef struct udpai_health_plan_input {
    const udpai_health_checker *checkers; /* at most UDPAI_HEALTH_CHECKERS_MAX */
    size_t n_checkers;
    const udpai_health_cluster_input *clusters; /* each name once */
    size_t n_clusters;
    size_t redundancy; /* 1 … UDPAI_HEALTH_REDUNDANCY_MAX */
    uint64_t interval_ms;
    /* NULL, or the plan before: a checker that was to check an endpoint by that, and is there, goes
     * on for now, so that its replacement can find out first. */
    const udpai_health_plan *before;
} udpai_health_plan_input;

typedef struct udpai_health_plan_counts {
    size_t n_clusters;  /* that are checked */
    size_t n_left_out;  /* clusters with checks, but malformed, or with too many endpoints */
    size_t n_endpoints; /* that are to be checked … */
    size_t n_unchecked; /* … and of those the ones that no checker can check */
    size_t n_leaving;   /* pairs of an endpoint and a checker that checks it for now */
} udpai_health_plan_counts;

/* It refers to what it was made of; to the plan before it does not. */
udpa_err udpai_health_plan_new(udpai_health_plan **ret_plan, const udpai_health_plan_input *input);
udpai_health_plan *udpai_health_plan_free(udpai_health_plan *plan);
UDPA_DEFINE_CLEANUP(udpai_health_plan, udpai_health_plan_free)

const udpai_health_plan_counts *udpai_health_plan_counted(const udpai_health_plan *plan);
/* The HealthCheckSpecifier for a checker, by its number; NULL without memory. Only while what the
 * plan was made of is there. */
udpa_bytes *udpai_health_plan_specifier(const udpai_health_plan *plan, size_t checker);

#endif
