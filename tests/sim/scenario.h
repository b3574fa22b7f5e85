/* SPDX-License-Identifier: Apache-2.0 */
/* A random federation: who is in it, what is true, what has come of it at the endpoints. The truth
 * is what files and publishers say; everything else must follow from it. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "reference.h"
#include "world.h"

enum {
    N_FILE_KEYS = 24,
    N_KEYS = 32, /* the rest come from publishers */
    N_NAMESPACES = 4,
    N_TYPES = 2,
    MANAGEMENT_MAX = 6,
    ENDPOINTS_MAX = 8,
    MEMBERS_MAX = MANAGEMENT_MAX + ENDPOINTS_MAX,
    FAIL_OVERS_MAX = 3,
    TTL_MS = 6000,
    LIMITED_NAMESPACE = 2, /* what some take of others is limited to */
};

typedef struct sim_truth {
    bool exists;
    int version;
    bool ever_removed; /* or may have been, by a crash that nobody can make good */
} sim_truth;

typedef struct sim_copy {
    bool exists;
    int version;
    char authority[32];
    uint64_t generation;
    uint64_t gone_since_us; /* though nobody removed it; 0: it has not */
} sim_copy;

typedef struct sim_scenario sim_scenario;

/* How an endpoint asks for a key. */
typedef enum sim_wish {
    SIM_UNWANTED,
    SIM_BY_NAME,
    SIM_BY_ALIAS,
} sim_wish;

typedef struct sim_member {
    sim_scenario *scenario;
    sim_node *node;
    char authority[32];
    udpai_source_config sources[MANAGEMENT_MAX];
    udpai_descriptor_config descriptors[MANAGEMENT_MAX];
    int upstreams[MANAGEMENT_MAX];
    bool is_limited[MANAGEMENT_MAX]; /* to LIMITED_NAMESPACE */
    char source_names[MANAGEMENT_MAX][16];
    udpai_provider_config provider;
    udpai_str type_urls[N_TYPES];
    bool is_endpoint, on_demand, fails_over;
    bool has_failed_over; /* when it was last looked at */
    /* Of an endpoint. */
    bool by_name, is_narrow, is_publisher, public_only;
    bool asks_type[N_TYPES];
    sim_wish wishes[N_KEYS];
    udpai_local_subscription *subscriptions[N_TYPES];
    sim_copy copies[N_KEYS];
    int acknowledged[N_KEYS]; /* the version that its node has confirmed; -1: none */
    unsigned n_ticks;
} sim_member;

struct sim_scenario {
    sim_world world;
    ref_model model;
    int n_management, n_endpoints, n_members, n_fail_overs, fail_overs_max;
    int publishers[ENDPOINTS_MAX];
    int n_publishers;
    sim_member *members[MEMBERS_MAX];
    udpai_acl *acl; /* of management nodes */
    sim_truth truths[MEMBERS_MAX][N_KEYS];
    bool is_changing, is_over;
    bool has_on_demand;    /* a management node that asks on demand */
    bool has_lost_commits; /* a node came back without what it had told of already */
};

/* ---- names.c: what is spoken of ---- */

extern const char *const sim_namespaces[N_NAMESPACES];
extern const char *const sim_types[N_TYPES];

int sim_key_type(int key);
int sim_key_namespace(int key);
void sim_key_name(int key, char name[64]);
void sim_key_alias(int key, char alias[64]);
int sim_key_of(const char *name);
bool sim_key_has_alias(int key);
bool sim_key_is_lazy(int key);
bool sim_key_expires(int key);
/* Management nodes do not take it from others. */
bool sim_key_is_refused(int key);
/* It stays for the whole run, once it is there. */
bool sim_key_is_stable(int key);
/* The endpoint that publishes it. */
int sim_key_publisher(const sim_scenario *scenario, int key);
/* says_authority: else whoever takes it in puts it. */
udpa_resource *sim_make_resource(int key, const char *authority, bool says_authority, int version);
int sim_version_of(const udpa_resource *resource);

/* ---- members.c: who is there ---- */

void sim_build(sim_scenario *scenario);
void sim_free_members(sim_scenario *scenario);
void sim_print_topology(const sim_scenario *scenario);
void sim_set_files(sim_member *member);

/* ---- endpoint.c ---- */

void sim_endpoint_choose(sim_member *member);
void sim_endpoint_subscribe(sim_member *member, int type);
void sim_endpoint_change_interest(sim_member *member);
bool sim_endpoint_wants(const sim_member *member, int key);

/* ---- publisher.c ---- */

void sim_publisher_begin(sim_member *member);
void sim_publisher_started(sim_member *member);
void sim_publisher_answered(sim_node *node,
                            uint64_t ticket,
                            const udpai_publication *publication,
                            const udpa_error *error);

/* ---- happenings.c: what happens to them ---- */

void sim_change_truth(sim_scenario *scenario);
void sim_happen(sim_world *world, void *scenario);
void sim_restart(sim_world *world, void *node);
void sim_die(sim_node *node);
void sim_look_at_fail_overs(sim_scenario *scenario);

/* ---- check.c: what must hold ---- */

void sim_fail(const sim_member *member, const char *what, int key);
void sim_check_removal(sim_member *member, int key);
void sim_check_gone(sim_scenario *scenario);
void sim_check_quiet(sim_scenario *scenario);

#endif
