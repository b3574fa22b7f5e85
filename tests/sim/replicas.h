/* SPDX-License-Identifier: Apache-2.0 */
/* The scene of replicas, for its files: what publishers publish, what its viewers see of that, and
 * what must hold (docs/design/simulation.md). */
#ifndef SIM_REPLICAS_H
#define SIM_REPLICAS_H

#include "base/map.h"
#include "replicated.h"

#define SECOND UINT64_C(1000000)
#define SPACE "com.acme"
#define CLUSTER "type.googleapis.com/envoy.config.cluster.v3.Cluster"
/* How far a clock may be ahead, or behind: what is ahead by more than five minutes is rejected. */
#define CLOCK_US (INT64_C(140) * 1000000)
#define ENDPOINT "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

enum {
    N_PUBLISHERS = 2,
    N_OWN = 6,   /* names of each publisher */
    N_BULK = 36, /* of the first one: published together, they need many transactions */
    N_NAMES = N_PUBLISHERS * N_OWN + N_BULK,
    N_COMMON = 2, /* that both publish; of these viewers are not checked */
    N_TTL = 2,    /* that end by themselves; nor of these */
    N_FILES = 4,  /* of the source upstream */
    N_OPS = 400,  /* of a name */
    N_ENDPOINTS = 2,
    N_GUESTS = 3,
    N_VIEWS = 1 + N_ENDPOINTS + N_GUESTS, /* the edge is the first */
};

typedef struct scene scene;
typedef struct publisher publisher;
typedef struct guest guest;

/* What a publisher has done to a name: its number is the value that it has published, or a removal.
 */
typedef struct op {
    bool is_removal;
    bool is_under_way, is_unknown, is_ok; /* of any attempt */
    bool is_seen;
} op;

/* Of a name. */
typedef struct story {
    op ops[N_OPS]; /* the first one is none */
    int n;
} story;

/* What somebody sees who moves between replicas. */
typedef struct view {
    scene *owner;
    sim_node *node;
    const sim_replica *at;       /* connected to that … */
    uint64_t since_us;           /* … since then */
    bool is_delta, takes_states; /* of the world: what is not in them is gone; neither: by UDPA */
    int values[N_NAMES];         /* 0: it is not there */
    int reached[N_NAMES];        /* the last op that it has seen, or a removal of which it has */
} view;

struct scene {
    sim_world world;
    uint64_t seed;
    sim_random chance; /* of what happens */
    sim_random clock_chance, ambush_chance;
    bool has_clocks; /* that are set; what ends by a time of the clock is left out then */
    sim_set set;
    sim_node *front; /* of the replicas */
    sim_node *upstream;
    publisher *publishers[N_PUBLISHERS];
    view views[N_VIEWS];
    guest *guests[N_GUESTS];
    story stories[N_NAMES];
    sim_replica *chosen; /* whoever dials reaches that; NULL: any */
    int n_files;         /* the version of those of the source upstream */
    bool is_quiet, is_over;
    bool is_frozen; /* nothing may change that a viewer sees */
    /* What replicas had at a revision. */
    UDPAI_VECTOR(struct digest) digests;
    udpai_map stamps; /* what replicas had with a generation */
    udpai_source_config sources[16];
    udpai_descriptor_config descriptors[16];
    udpai_provider_config providers[16];
};

_Noreturn void scene_fail(const scene *self, const char *what, const char *who, const char *name);
/* Of the set's names. */
void scene_name(int at, char name[32]);
int scene_at(udpai_str name); /* -1: of none that viewers are checked for */
udpai_str scene_cluster(char room[64], const char *name, int number);
int scene_number(udpai_str cluster);

/* ---- replicas_views.c ---- */

void view_moved(view *self, const sim_replica *to);
void view_see(view *self, int at, int number);
void view_gone(view *self, int at);
/* A replica that was behind had it not, so its absence is not believed. */
bool view_holds(const view *self, const char *name);
/* A node whose process has begun anew has seen nothing. */
void view_reset(view *self);
/* Of a node that subscribes to all. */
void view_subscribe(view *self);

/* ---- replicas_publish.c ---- */

typedef enum preference {
    PUBLISH_ANYTHING,
    PUBLISH_NEW,     /* a name that is not there … */
    PUBLISH_REMOVAL, /* … which is removed, and something else published */
} preference;

void publishers_begin(scene *self);
void publishers_free(scene *self);
/* Something new; true: it has begun. */
bool publisher_try(publisher *self);
bool publisher_is_idle(const publisher *self);
void publisher_prefer(publisher *self, preference preferred);
/* With a receipt, and it is not removed. */
bool publisher_has_published_new(const publisher *self);
/* Publications with a receipt. */
size_t publisher_n_committed(const publisher *self);
sim_node *publisher_node(const publisher *self);
/* All is answered that was published. */
bool publishers_are_done(const scene *self);
/* The value of a name, when all is answered; 0: it is not there. */
int story_value(const story *self);

/* ---- replicas_guests.c ---- */

void guests_begin(scene *self);
void guests_free(scene *self);
/* From now on nothing may be sent to any. */
void guests_expect_nothing(scene *self, bool is_nothing);
/* They all have a stream, on which they have subscribed. */
bool guests_are_connected(const scene *self);

/* ---- replicas_same.c ---- */

/* At equal revisions replicas have the same. */
void same_check(scene *self, const sim_replica *replica);
/* They must also have the files of the source; that of all names, and their versions. */
uint64_t same_digest(const sim_replica *replica, bool is_all);
/* What replicas have, on the standard error. */
void same_show(const scene *self);
void same_forget(scene *self);
void same_check_quiet(scene *self);

/* ---- replicas_stamps.c ---- */

void stamps_begin(scene *self);
void stamps_free(scene *self);
/* A clock may be set. */
void stamps_disturb(scene *self);
/* No replica ever has another content of a name with the same generation. */
void stamps_check(scene *self, const sim_node *node, const udpa_resource *resource);

/* ---- replicas_etcd.c ---- */

/* For all, or one. */
void scene_set_away(scene *self, bool is_away);
void scene_set_away_for(scene *self, sim_replica *replica, bool is_away);
/* All of them. */
void scene_lose_leases(scene *self);
void scene_compact(scene *self);

/* ---- replicas_ambush.c ---- */

void ambush_begin(scene *self);
/* It may be one; this takes a second or two. */
void ambush(scene *self);

#define SCENE_COUNTS(X)                                                                            \
    X(KILLS, "replicas killed")                                                                    \
    X(WIPES, "replicas wiped")                                                                     \
    X(AWAYS, "times without etcd")                                                                 \
    X(AWAYS_OF_ONE, "times without etcd for one")                                                  \
    X(COMPACTIONS, "compactions")                                                                  \
    X(LEASES_LOST, "times all leases were lost")                                                   \
    X(OLD_MEMBERS, "members with an old state")                                                    \
    X(RESTORED, "older states of etcd")                                                            \
    X(MOVES, "streams cut")                                                                        \
    X(AMBUSHES, "ambushes")                                                                        \
    X(CLOCKS, "clocks set")                                                                        \
    X(STALLS, "stalls")                                                                            \
    X(OK, "publications committed")                                                                \
    X(REFUSED, "publications refused")                                                             \
    X(UNKNOWN, "publications without a receipt")                                                   \
    X(SEEN, "values seen")                                                                         \
    X(GONE, "removals seen")                                                                       \
    X(STEPS_BACK, "steps back that nobody could prevent")                                          \
    X(SAME, "states compared at equal revisions")                                                  \
    X(RESUMED, "moves of clients of xDS that were sent nothing")                                   \
    X(HELD, "names held at a quiet time")                                                          \
    X(STARTS_WITHOUT, "starts without etcd")

enum scene_count {
#define SCENE_COUNT_ENUM(name, text) SCENE_##name,
    SCENE_COUNTS(SCENE_COUNT_ENUM)
#undef SCENE_COUNT_ENUM
    N_SCENE_COUNTS,
};

extern uint64_t scene_counts[N_SCENE_COUNTS];

#endif
