/* SPDX-License-Identifier: Apache-2.0 */
/* A random federation: who is in it, what is true, what has come of it at the endpoints. The truth
 * is what files and publishers say; everything else must follow from it. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "reference.h"
#include "world.h"

enum {
    N_FILE_KEYS = 24,
    N_OPEN_KEYS = 32, /* from N_FILE_KEYS on they come from publishers */
    N_LINKS = 2,
    N_LINK_KEYS = 3,
    FORGED_KEY = N_OPEN_KEYS + N_LINKS * N_LINK_KEYS, /* said in a wrong name alone */
    N_KEYS,
    N_NAMESPACES = REF_NAMESPACES,
    N_OPEN_NAMESPACES = 3,
    N_COLOURS = REF_COLOURS,
    N_TYPES = 2,
    SOURCES_MAX = REF_SOURCES,
    PUBLISHERS_MAX = 8,
    FAIL_OVERS_MAX = 3,
    TTL_MS = 6000,
    LIMITED_NAMESPACE = 2, /* what some take of others is limited to */
    AUTHORITY_MAX = 32,
};

#define ALL_SPACES ((ref_spaces)((1 << N_OPEN_NAMESPACES) - 1))

/* How nodes hang together. */
typedef enum sim_shape {
    SIM_TANGLE, /* anybody takes from anybody */
    SIM_CHAIN,
    SIM_TREE,
    SIM_DIAMOND,  /* layers, each node takes from two above */
    SIM_TRIANGLE, /* three that take from each other, and so on */
    SIM_EXCHANGE, /* two that feed each other different name spaces, and so on */
    SIM_SHAPES,
} sim_shape;

typedef struct sim_truth {
    bool exists;
    int version;
    bool is_old;       /* it has been there since before anybody started */
    bool ever_removed; /* or may have been, by a crash that nobody can make good */
    int safe_version;  /* of a publisher: it was told that this is kept; 0: none */
} sim_truth;

/* What an endpoint has seen in one name. */
typedef struct sim_seen {
    char authority[AUTHORITY_MAX];
    uint64_t generation;
    int authority_of; /* whose name it is, among the members */
} sim_seen;

enum {
    SEEN_MAX = 3
}; /* so many may say one key */

typedef struct sim_copy {
    bool exists;
    int version;
    size_t n_aliases;
    char authority[AUTHORITY_MAX];
    uint64_t generation;
    uint64_t gone_since_us; /* though nobody removed it; 0: it has not */
    sim_seen seen[SEEN_MAX];
} sim_copy;

/* What somebody is told of a key. */
typedef struct sim_word {
    const char *authority;
    uint64_t generation;
    int version;
    size_t n_aliases;
} sim_word;

typedef struct sim_scenario sim_scenario;
typedef struct sim_reporter sim_reporter;
typedef struct sim_guest sim_guest;

/* How an endpoint asks for a key. */
typedef enum sim_wish {
    SIM_UNWANTED,
    SIM_BY_NAME,
    SIM_BY_ALIAS,
} sim_wish;

typedef struct sim_member {
    sim_scenario *scenario;
    sim_node *node;
    int index;
    char authority[AUTHORITY_MAX];
    int colour; /* what rules know it by */
    unsigned ever_colours;
    udpai_source_config sources[SOURCES_MAX];
    udpai_descriptor_config descriptors[SOURCES_MAX];
    int upstreams[SOURCES_MAX];
    int limits[SOURCES_MAX];         /* to a name space; -1: to none */
    ref_spaces refuses[SOURCES_MAX]; /* what the source may not say */
    char source_names[SOURCES_MAX][16];
    udpai_provider_config provider;
    udpai_str type_urls[N_TYPES];
    bool is_endpoint, on_demand, fails_over;
    bool is_dead;                        /* and never comes back */
    bool has_lost_memory;                /* it came back without something that it had told of */
    bool has_failed_over, first_counted; /* when it was last looked at */
    /* Of a management node: what rules let colours see and publish, now and ever. */
    udpai_acl *acl;
    ref_spaces shows[N_COLOURS], takes[N_COLOURS];
    ref_spaces ever_shows[N_COLOURS], ever_takes[N_COLOURS];
    /* Of an endpoint. */
    bool by_name, is_narrow, is_publisher, public_only;
    bool asks_type[N_TYPES];
    sim_wish wishes[N_KEYS];
    udpai_local_subscription *subscriptions[N_TYPES];
    sim_copy copies[N_KEYS];
    int acknowledged[N_KEYS];    /* the version that its node has confirmed; -1: none */
    uint64_t said_us;            /* when it last published to a node that was there */
    bool link_is_whole[N_LINKS]; /* a thing, and what it refers to, when it was last looked at */
    unsigned n_ticks;
    sim_truth truths[N_KEYS];
    uint64_t at_rest[N_KEYS]; /* what a management node had, when it was last looked at */
    /* Where clients report (clients.h); NULL: it does not. */
    sim_reporter *reporter;
    struct sim_taker *taker;
    struct sim_sums *sums;
    size_t n_workers;
    /* Where clients of xDS are (guest.h). */
    bool is_guest;
    sim_guest *guest;
    struct sim_host *host;        /* what a management node has for them; NULL: none has come */
    ref_spaces passes[N_COLOURS]; /* what nodes below may say of clients */
} sim_member;

typedef struct sim_scenario {
    sim_world world;
    ref_model model;
    sim_shape shape;
    bool is_large;
    int n_management, n_endpoints, n_members, n_fail_overs, fail_overs_max;
    int publishers[PUBLISHERS_MAX];
    int n_publishers;
    sim_member **members;
    bool ever_removed[N_KEYS]; /* by anybody */
    bool is_changing, is_over;
    uint64_t tick_us;  /* between what a publisher says */
    uint64_t pause_us; /* between happenings, at most */
    bool has_tls;
    bool has_rules, rules_change;
    bool has_ring;         /* nodes that wait for each other */
    bool has_on_demand;    /* a management node that asks on demand */
    bool has_lost_commits; /* a node came back without what it had told of already */
    bool has_lost_state;   /* a management node came back without anything */
    bool has_long_outage;  /* management nodes were away from each other for long */
    bool has_losses;       /* of management nodes that never come back */
    bool is_calm;          /* nothing breaks */
    bool has_reports;      /* clients report */
    bool has_guests;       /* there are clients of xDS */
    sim_random client_random;
} sim_scenario;

static inline sim_random *
sim_random_of(sim_scenario *scenario)
{
    return &scenario->world.random;
}

/* ---- names.c: what is spoken of ---- */

extern const char *const sim_namespaces[N_NAMESPACES];
extern const char *const sim_types[N_TYPES];
extern const char *const sim_colours[N_COLOURS];

int sim_key_type(int key);
int sim_key_namespace(int key);
void sim_key_name(int key, char name[64]);
void sim_key_alias(int key, char alias[64]);
void sim_key_matched_alias(int key, char alias[64]);
int sim_key_of(const char *name);
bool sim_key_has_alias(int key);
bool sim_key_is_lazy(int key);
bool sim_key_expires(int key);
/* Whoever passes it on does not keep it over a restart. */
bool sim_key_is_uncached(int key);
/* Which version of the payload belongs to this version of the key. */
int sim_key_payload_version(int key, int version);
/* Management nodes do not take it from others. */
bool sim_key_is_refused(int key);
/* It stays for the whole run, once it is there. */
bool sim_key_is_stable(int key);
/* The endpoint that publishes it. */
int sim_key_publisher(const sim_scenario *scenario, int key);
/* says_authority: else whoever takes it in puts it. */
udpa_resource *sim_make_resource(int key, const char *authority, bool says_authority, int version);
int sim_version_of(const udpa_resource *resource);
/* The same of a value of this type: who says it and its version, and the latter alone. */
udpai_str sim_said_in(int type, udpai_str value);
int sim_version_in(int type, udpai_str value);

/* ---- shape.c: who takes from whom ---- */

void sim_shape_choose(sim_scenario *scenario, uint64_t seed);
/* The sources of a management node. */
void sim_shape_connect(sim_member *member);
/* limit: the name space that it is asked for; -1: all. */
void sim_add_source(sim_member *member, int upstream, int limit);

/* ---- members.c: who is there ---- */

void sim_build(sim_scenario *scenario);
void sim_free_members(sim_scenario *scenario);
void sim_print_topology(const sim_scenario *scenario);
void sim_set_files(sim_member *member);

/* ---- rules.c: who may see and say what ---- */

/* What the peers of a node may see and publish there, and what its sources may say. */
void sim_rules_choose(sim_member *member);
void sim_rules_apply(sim_member *member);
/* By other rules on some node from now on. */
void sim_rules_change(sim_scenario *scenario);
void sim_identity_choose(sim_member *member);
/* An endpoint gets another certificate. */
void sim_identity_change(sim_scenario *scenario);

/* ---- endpoint.c ---- */

void sim_endpoint_choose(sim_member *member);
void sim_endpoint_subscribe(sim_member *member, int type);
void sim_endpoint_change_interest(sim_member *member);
bool sim_endpoint_wants(const sim_member *member, int key);
/* It has been told. */
void sim_see(sim_member *member, const sim_word *word, int key);

/* ---- publisher.c ---- */

void sim_publisher_begin(sim_member *member);
void sim_publisher_started(sim_member *member);
/* It has removed the key, and that was confirmed. */
bool sim_publisher_has_taken_back(const sim_member *member, int key);
void sim_publisher_answered(sim_node *node,
                            uint64_t ticket,
                            const udpai_publication *publication,
                            const udpa_error *error);

/* ---- links.c: things that refer to clusters, and change from one to another ---- */

int sim_link_cluster(int link, int version);
int sim_link_thing(int link);
int sim_link_owner(const sim_scenario *scenario, int link);
void sim_link_begin(sim_scenario *scenario);
void sim_link_change(sim_scenario *scenario);
/* The endpoint has seen all that came together. */
void sim_link_check(sim_member *member);

/* ---- truth.c: what is true, and changes ---- */

void sim_change_truth(sim_scenario *scenario);
void sim_truth_removed(sim_member *member, int key);
void sim_truth_begin(sim_scenario *scenario);
/* So many state the key now. */
int sim_n_authorities(const sim_scenario *scenario, int key);

/* ---- happenings.c: what happens to them ---- */

void sim_happen(sim_world *world, void *scenario);
void sim_restart(sim_world *world, void *node);
void sim_die(sim_node *node);
/* Has the member failed over, or handed back? After each of its flushes. */
void sim_look_at_fail_over(sim_member *member);

/* ---- losses.c: who dies and never comes back ---- */

/* Within this time of the beginning. */
void sim_losses_choose(sim_scenario *scenario, uint64_t duration_us);
/* May the endpoint have its copy, which is not as the reference says, because nobody who lives
 * could tell it better? Never, if it has none. */
bool sim_losses_excuse(const sim_member *member, int key, bool is_missing);

/* ---- check.c: what must hold while things happen ---- */

void sim_fail(const sim_member *member, const char *what, int key);
void sim_check_removal(sim_member *member, int key);
void sim_check_gone(sim_scenario *scenario);
/* Before the copy is set to it. */
void sim_check_seen(sim_member *member, const sim_word *word, int key);
/* What was receipted is on the disk of who has receipted it; it has crashed, and not lost it. */
void sim_check_kept(const sim_member *member);

/* ---- quiet.c: what must hold when all is quiet ---- */

/* The truth, as the reference takes it. confirmed_only: of what is published, what has been
 * confirmed. */
ref_model *sim_tell_model(sim_scenario *scenario, bool confirmed_only);
/* The rules alone, as they ever were. */
ref_model *sim_tell_rules_of_all_times(sim_scenario *scenario);
void sim_describe_to_model(sim_scenario *scenario);
/* On a name with two authorities. */
bool sim_may_disagree(const sim_scenario *scenario);
void sim_check_quiet(sim_scenario *scenario);

/* ---- rest.c ---- */

/* Does any management node have something else than the last time? */
void sim_check_rest(sim_scenario *scenario, bool is_first);

/* ---- content.c ---- */

/* In the quiet: what the endpoint has of the key is the reference's word, whole. */
void sim_check_content(const sim_member *member, int key, const ref_word *word);

/* ---- twins.c ---- */

/* In the quiet: who has what passed another node of its id knows it, and so does that one. */
void sim_check_twins(sim_scenario *scenario);

#endif
