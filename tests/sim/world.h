/* SPDX-License-Identifier: Apache-2.0 */
/* A world of nodes in one process: a virtual clock, a network that delays, cuts and loses, machines
 * that crash and come back. Each node is the real one, both halves of it; what is simulated is what
 * lies around them. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "base/list.h"
#include "base/vector.h"
#include "federation/node.h"
#include "model/lineage.h"
#include "random.h"
#include "session/transfer.h"
#include "session/udpa.h"
#include "session/worker_pool.h"

typedef struct sim_world sim_world;
typedef struct sim_node sim_node;
typedef struct sim_stream sim_stream;
typedef struct sim_side sim_side;

enum {
    SIM_FAIL_BACK_DELAY_MS = 5000,
    SIM_WORKERS_MAX = 3,
};

/* Of every node, unless its scene wants others. */
extern const udpai_node_timing sim_timing;

/* What happened how often; a run in which one stays zero has not tested what it claims to. */
#define SIM_COUNTS_TABLE(X)                                                                        \
    X(NODES, "nodes introduced")                                                                   \
    X(SUBSCRIBES, "subscribes")                                                                    \
    X(UNSUBSCRIBES, "unsubscribes")                                                                \
    X(SUBSCRIPTION_ERRORS, "subscription errors")                                                  \
    X(PUBLISHES, "publishes")                                                                      \
    X(REFRESHES, "refreshes")                                                                      \
    X(REMOVALS, "removals")                                                                        \
    X(COMPLETES, "completes")                                                                      \
    X(RECEIPTS_OK, "receipts: applied")                                                            \
    X(RECEIPTS_REFUSED, "receipts: refused")                                                       \
    X(CONNECTS, "connects")                                                                        \
    X(TO_WORKERS, "connects to workers")                                                           \
    X(DIALS_FAILED, "dials failed")                                                                \
    X(DELAYS, "messages delayed")                                                                  \
    X(REORDERS, "messages overtaken")                                                              \
    X(MESSAGES_LOST, "messages lost")                                                              \
    X(CUTS, "cuts")                                                                                \
    X(PARTITIONS, "partitions")                                                                    \
    X(SLOW_TIMES, "slow times")                                                                    \
    X(SLOW_LINKS, "slow links")                                                                    \
    X(CLOCKS_SET_BACK, "clocks set back")                                                          \
    X(PAUSES, "pauses")                                                                            \
    X(CRASHES, "crashes with state")                                                               \
    X(CRASHES_WITHOUT_STATE, "crashes without state")                                              \
    X(RESTARTS, "restarts")                                                                        \
    X(KEPT_FIRST, "what publishers have at crashes, and is kept")                                  \
    X(COMMITS, "commits")                                                                          \
    X(SLOW_COMMITS, "slow commits")                                                                \
    X(COMMITS_LOST, "commits lost")                                                                \
    X(ACCEPTED, "removals that nobody said, accepted")                                             \
    X(FILE_EDITS, "file edits")                                                                    \
    X(FILE_REMOVALS, "file removals")                                                              \
    X(EXPIRIES, "expiries")                                                                        \
    X(INTEREST_CHANGES, "changes of interest")                                                     \
    X(ALIASES, "resources by alias")                                                               \
    X(PATTERNS, "resources by an alias that is a pattern")                                         \
    X(LAZY, "lazy resources by name")                                                              \
    X(CHAINED, "resources over 3 hops")                                                            \
    X(LOOPS, "loops")                                                                              \
    X(PUBLISHED_OK, "publications applied")                                                        \
    X(PUBLISHED_REFUSED, "publications refused")                                                   \
    X(FORGERIES_REFUSED, "forgeries refused")                                                      \
    X(REFUSED_BY_ACL, "refused by rules")                                                          \
    X(RULE_CHANGES, "other rules")                                                                 \
    X(IDENTITY_CHANGES, "other certificates")                                                      \
    X(LINK_CHANGES, "changes of what is referred to")                                              \
    X(CONTENTS, "words compared whole")                                                            \
    X(DEADLINES, "deadlines compared")                                                             \
    X(GUESTS_RENAMED, "clients of xDS that change their Node")                                     \
    X(GUEST_DELTAS, "changes seen by delta xDS")                                                   \
    X(GUEST_STATES, "changes seen in states of the world")                                         \
    X(KEPT_CHECKED, "receipted and kept")                                                          \
    X(DEATHS, "members that never come back")                                                      \
    X(TWINS, "twins")                                                                              \
    X(TWINS_PASSED, "resources that have passed both twins")                                       \
    X(TWINS_TOLD, "twins that are told of each other")                                             \
    X(TANGLES, "tangles")                                                                          \
    X(CHAINS, "chains")                                                                            \
    X(TREES, "trees")                                                                              \
    X(DIAMONDS, "diamonds")                                                                        \
    X(TRIANGLES, "triangles")                                                                      \
    X(EXCHANGES, "exchanges")                                                                      \
    X(FAIL_OVERS, "fail-overs")                                                                    \
    X(HAND_BACKS, "hand-backs")                                                                    \
    X(PASSED_ON, "wishes passed on")                                                               \
    X(TAKER_CHANGES, "changes of who wants to know")                                               \
    X(REPORTS_SEEN, "words of clients seen")                                                       \
    X(REPORTS_FAR, "words of clients over 3 nodes")                                                \
    X(REPORTS_GONE, "words of clients gone")                                                       \
    X(REPORTS_FORGED, "forged words of clients refused")                                           \
    X(REPORTS_COMPARED, "words of clients compared")                                               \
    X(SUMS_SEEN, "sums seen")                                                                      \
    X(SUMS_COMPARED, "sums compared")                                                              \
    X(LOADS_SHARED, "loads of shared clients")                                                     \
    X(SHARED_COMPARED, "shared clients compared in sums")

typedef enum sim_count {
#define SIM_COUNT_ENUM(name, text) SIM_##name,
    SIM_COUNTS_TABLE(SIM_COUNT_ENUM)
#undef SIM_COUNT_ENUM
    SIM_COUNTS,
} sim_count;

extern const char *const sim_count_names[SIM_COUNTS];

typedef struct sim_pair {
    const sim_node *a, *b;
} sim_pair;

/* A node that has said who it is on a stream that we dialled. */
typedef struct sim_acquaintance {
    const sim_node *node;
    uint64_t since_us;
} sim_acquaintance;

/* Fills in how a node is configured, each time it starts; the strings must outlive the call. */
typedef struct sim_node_plan {
    udpai_node_config config;
    udpai_str files; /* the directory that it will be given; empty: none */
    bool is_management;
    bool knows_public_protocol_only;
    bool has_reports; /* of clients */
    size_t n_workers; /* which accept all streams; 0: the node itself does */
} sim_node_plan;

/* Of a node's store (model/lineage.h). */
typedef struct sim_openings {
    unsigned ids[UDPAI_LINEAGE_OPENINGS];
    uint64_t numbers[UDPAI_LINEAGE_OPENINGS];
    size_t n;
} sim_openings;

/* Another protocol than UDPA: what begins the session at either end of a stream. Its messages are
 * not looked at. */
typedef struct sim_protocol {
    udpa_err (*dialled)(sim_side *side, udpai_session **ret_session, udpai_stream_info *info);
    udpa_err (*accepted)(sim_side *side, udpai_session **ret_session, udpai_stream_info *info);
} sim_protocol;

/* A stream side: the node's own, which dials, or a worker, to which everything crosses as bytes. */
struct sim_side {
    sim_node *node;
    size_t number; /* 0: its own */
    udpai_wheel wheel;
    udpai_hub *hub;
    udpai_list orders, reports;
    bool orders_due, reports_due, hub_due;
    uint64_t tick_us;
    size_t n_orders, n_reports;
    udpai_transfer down, up; /* of a worker: what it hears, and what is heard of it */
};

/* How a node is one of several replicas (replicated.h): all but start and stop as in
 * udpai_node_env, with the node. */
typedef struct sim_replication_ops {
    /* When it has what its disk holds; sim_serve() is to be called in time. */
    void (*start)(sim_node *node);
    void (*stop)(sim_node *node);
    void (*propose)(void *node, udpai_durable_batch *batch, uint64_t ticket);
    void (*barrier)(void *node, uint64_t ticket);
} sim_replication_ops;

typedef void (*sim_action_fn)(sim_world *world, void *userdata);

struct sim_node {
    sim_world *world;
    size_t index;
    char id[16];
    const char *said_id; /* that it says; two may say one */
    char instance[32];   /* another one when its disk is lost */
    unsigned n_disks;
    void (*plan)(sim_node *self, sim_node_plan *plan);
    void (*started)(sim_node *self); /* after each start: subscribe, publish */
    void (*stopped)(sim_node *self); /* before each crash */
    void (*published)(sim_node *self,
                      uint64_t ticket,
                      const udpai_publication *publication,
                      const udpa_error *error);
    /* As in udpai_node_env. */
    void (*wanted)(sim_node *self, udpai_str type_url, udpai_str text, bool wanted);
    void (*audience_moved)(sim_node *self);
    void (*flushed)(sim_node *self);     /* after everything that may have told subscribers */
    void (*not_reached)(sim_node *self); /* sim_dial() has failed */
    void (*dies)(sim_node *self);        /* crashes it; called while a commit is under way */
    /* It is never up: who dials it reaches this one. NULL: there is none at present. */
    sim_node *(*stands_for)(sim_node *self, sim_node *dialler);
    const sim_replication_ops *replication; /* NULL: it has no replicas */
    void *replica;
    const sim_protocol *dials;  /* NULL: UDPA, or what … */
    const sim_protocol *speaks; /* … the one that is dialled speaks; NULL: UDPA */
    void *userdata;
    udpai_identity *identity; /* what its certificate says from its next stream on; NULL: no TLS */
    int64_t clock_us;         /* how far it is ahead */
    uint64_t stalls_until_us; /* its loop side takes nothing in before that */
    uint64_t lost_us;         /* when it last lost its disk; 0: never */
    bool is_up, is_management;
    bool is_serving;      /* it is up, and has begun to listen */
    bool recovers;        /* what came from it may be offered to it: it may have lost it */
    bool has_restored;    /* in this life; it does not know from whom it had what it restored */
    bool dies_committing; /* in its next commit */
    unsigned epoch;       /* grows with each crash: what was meant for an earlier life is void */
    bool is_durable;      /* in this life, something is kept for the next */
    unsigned n_stores;    /* that it has lost: each has an epoch of its own … */
    uint64_t n_committed; /* … and numbers its commits */
    uint64_t n_committed_before;
    sim_openings openings;
    unsigned n_opened; /* ever, whatever becomes of the disk */
    udpai_wheel loop_wheel;
    udpai_node *node;
    sim_side sides[1 + SIM_WORKERS_MAX];
    size_t n_sides;          /* in this life */
    udpai_worker_pool *pool; /* NULL: it has no workers */
    uint64_t loop_tick_us;
    udpai_list streams; /* ends of streams */
    UDPAI_VECTOR(sim_acquaintance) known_sources;
    UDPAI_VECTOR(udpai_durable_op) kept; /* what its disk holds */
    uint64_t disk_busy_until_us;
    size_t most_orders, most_reports; /* under way to one side, or from it */
};

struct sim_world {
    sim_random random;
    uint64_t now_us;
    uint64_t n_events;
    uint64_t second, n_in_second, events_per_second_max;
    UDPAI_VECTOR(struct sim_event *) events; /* a heap */
    UDPAI_VECTOR(sim_node *) nodes;
    udpai_list streams;
    UDPAI_VECTOR(sim_pair) partitioned;
    uint64_t slow_until_us;
    uint64_t n_sent, latest_delivered; /* messages, in the order they were sent */
    udpai_decoder decoder;
    uint64_t counts[SIM_COUNTS];
    bool trace;
};

#define SIM_NODES_MAX 16384

void sim_world_init(sim_world *world, uint64_t seed);
void sim_world_done(sim_world *world);

/* A node that is not up yet. */
sim_node *sim_add_node(sim_world *world, const char *id);
void sim_start_node(sim_node *node);
/* A replica has what it may serve: it begins to. */
void sim_serve(sim_node *node);
/* Everything in memory is lost; with keep_state its disk is not. */
void sim_crash_node(sim_node *node, bool keep_state);
/* How the others reach it: what a source's config needs. */
void sim_target(sim_node *node, udpai_source_config *config);

/* Runs the action at a time from now. */
void sim_after(sim_world *world, uint64_t delay_us, sim_action_fn action, void *userdata);
/* Runs until nothing is left to happen before this time. */
void sim_run_until(sim_world *world, uint64_t time_us);

/* Cuts one random stream; false: there is none. */
bool sim_cut_something(sim_world *world);
/* Cuts all streams of a node, which goes on living. */
void sim_cut_streams_of(sim_node *node);
/* How long the oldest stream has been there that one has dialled to the other; 0: none. */
uint64_t sim_stream_age_us(const sim_node *from, const sim_node *to);
/* One random stream is slow for so long. */
bool sim_slow_something(sim_world *world, uint64_t duration_us);
void sim_set_partition(sim_world *world, const sim_node *a, const sim_node *b, bool partitioned);
/* What its clock says: microseconds since 1970. */
int64_t sim_wall_us(const sim_node *node);
/* From outside to its stream sides, in its turn. */
void sim_order(sim_node *node, udpai_order *order);
/* After calls into the node from outside: has it carry out what follows. */
void sim_touch(sim_node *node);

static inline uint64_t
sim_ms(const sim_world *world)
{
    return world->now_us / 1000;
}

#endif
