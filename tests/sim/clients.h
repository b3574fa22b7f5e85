/* SPDX-License-Identifier: Apache-2.0 */
/* Client resources in a federation: endpoints that say how they are, those who want to know it, and
 * nodes that add it up. All its chance is its own, so that what happens besides is not another
 * thing because of it. */
#ifndef SIM_CLIENTS_H
#define SIM_CLIENTS_H

#include "endpoint/load_aggregates.h"
#include "federation/reporting.h"
#include "reports/load_stats.h"
#include "scenario.h"

enum {
    CLIENT_SPACES = N_OPEN_NAMESPACES,
    CLIENT_THINGS = 2,
    CLIENT_TTL_MS = 8000,
    CLIENT_INTERVAL_MS = 2000, /* that sums are made for */
    CLIENT_SLOTS = 2,          /* subscriptions of one member */
};

typedef enum sim_client_type {
    CLIENT_LOAD,
    CLIENT_STATE,
    CLIENT_SUM,
    CLIENT_TYPES,
    CLIENT_SHARED = CLIENT_TYPES, /* for sums alone: nobody chooses it */
    CLIENT_ALL_TYPES,
} sim_client_type;

extern const char *const sim_client_types[CLIENT_ALL_TYPES];

/* What is spoken of, and who speaks. */
typedef struct sim_client_key {
    int type, space, thing;
    int who; /* a member; -1: nobody that there is */
} sim_client_key;

/* What an endpoint says, if it does. */
typedef struct sim_statement {
    bool exists;
    int version;
    uint64_t last_said_us;
} sim_statement;

/* What is counted of one thing, as libudpa's recorder counts it. */
typedef struct sim_load {
    uint64_t epoch, began_us; /* 0: nobody has wanted anything in this life */
    uint64_t n, n_unsaid;     /* in the epoch; and since it was said last */
    udpai_audience audience;  /* to whom that was */
    bool is_said[2];          /* as ClientLoad, as SharedClientLoad */
    long n_wanted[2];         /* the same */
    uint64_t last_said_us;
} sim_load;

struct sim_reporter {
    uint64_t last_epoch; /* 0: nobody has wanted anything in this life */
    sim_load loads[CLIENT_SPACES];
    uint64_t total[CLIENT_SPACES]; /* in all its lives */
    uint64_t burst[CLIENT_SPACES]; /* what it has counted in the quiet */
    sim_statement states[CLIENT_SPACES][CLIENT_THINGS];
    unsigned n_ticks;
    long n_wanted; /* wishes that it knows */
    bool is_moved; /* it will say what it counts again, for others */
};

typedef enum sim_selection_kind {
    SELECT_ALL,
    SELECT_SPACE,
    SELECT_THING,
    SELECT_NAME,
    SELECT_KINDS,
} sim_selection_kind;

typedef struct sim_client_copy {
    bool exists;
    int version;       /* of a state */
    uint64_t epoch, n; /* of a load */
    uint64_t generation;
} sim_client_copy;

/* One subscription of somebody. */
typedef struct sim_slot {
    sim_member *member;
    bool is_taken;
    sim_selection_kind kind;
    sim_client_key key; /* as much of it as the kind has */
    udpai_local_subscription *subscription;
    sim_client_copy *copies; /* by sim_client_index() */
} sim_slot;

struct sim_taker {
    sim_slot slots[CLIENT_SLOTS];
};

/* What the sums of a node have said of each client, in all its lives. */
typedef struct sim_counted {
    uint64_t epoch;
    uint64_t *now, *before; /* by member; of this epoch, and of all before */
    uint64_t *marked;       /* what it was when the burst began */
    bool *is_in;            /* its nodes, when it was said last */
    bool is_there;
} sim_counted;

struct sim_sums {
    udpai_service *sums;
    udpai_local_subscription *watch; /* of all sums that come by */
    sim_counted counted[CLIENT_SPACES];
    long n_wanted;
};

/* ---- clients.c: what endpoints say ---- */

static inline sim_random *
sim_client_random(sim_scenario *scenario)
{
    return &scenario->client_random;
}

size_t sim_client_index(const sim_scenario *scenario, const sim_client_key *key);
size_t sim_client_n_keys(const sim_scenario *scenario);
sim_client_key sim_client_key_at(const sim_scenario *scenario, size_t index);
void sim_client_name(const sim_scenario *scenario, const sim_client_key *key, char name[96]);
/* False: it is no such name. */
bool
sim_client_parse(const sim_scenario *scenario, int type, const char *name, sim_client_key *ret_key);
/* What is true of it now. */
bool sim_client_is_said(const sim_scenario *scenario, const sim_client_key *key);
uint64_t sim_client_last_said_us(const sim_scenario *scenario, const sim_client_key *key);

/* Chooses who reports, who wants to know, and has it all begin. */
void sim_clients_build(sim_scenario *scenario);
void sim_clients_free(sim_scenario *scenario);
/* Around each life of a node. */
void sim_clients_started(sim_member *member);
void sim_clients_stopped(sim_member *member);
/* Everybody counts a little more. */
void sim_clients_burst(sim_scenario *scenario);

/* ---- takers.c: who wants to know ---- */

void sim_taker_choose(sim_member *member);
void sim_taker_started(sim_member *member);
void sim_taker_free(sim_member *member);
/* One subscription comes or goes. */
void sim_taker_change(sim_member *member);
void sim_takers_leave(sim_scenario *scenario);
bool sim_slot_wants(const sim_scenario *scenario, const sim_slot *slot, const sim_client_key *key);
/* What a client has not said for long must have gone. */
void sim_takers_check_expired(sim_scenario *scenario);
void sim_takers_check_quiet(sim_scenario *scenario);
/* When nobody wants anything, nobody is asked. */
void sim_takers_check_nobody_asked(sim_scenario *scenario);
_Noreturn void
sim_client_fail(const sim_member *member, const char *what, const sim_client_key *key);

/* ---- sums.c: what nodes add up ---- */

void sim_sums_started(sim_member *member);
void sim_sums_stopped(sim_member *member);
void sim_sums_free(sim_member *member);
/* From here on the difference must be what was counted since. */
void sim_sums_mark(sim_scenario *scenario);
void sim_sums_check(sim_scenario *scenario);

/* ---- reach.c: the reference ---- */

typedef enum sim_reach_case {
    REACH_MUST, /* over the sources that are in use when all is well */
    REACH_MAY,  /* over any */
    REACH_EVER, /* and by all rules that there ever were */
} sim_reach_case;

/* Does this, which a client or a node says, come to the member? */
bool sim_reach(sim_scenario *scenario, const sim_client_key *key, int member, sim_reach_case which);

#endif
