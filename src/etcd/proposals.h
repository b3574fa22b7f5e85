/* SPDX-License-Identifier: Apache-2.0 */
/* Writes whose outcome is known: a proposal is committed as a whole or not at all, and which of the
 * two is found out, whatever is lost on the way.
 *
 * Several proposals share a transaction. Each lane has a key of its own, which every transaction on
 * it compares and writes. So of all attempts at one transaction at most one can ever be done, and
 * one whose answer was lost is simply attempted again: either it is done then, or the key of the
 * lane shows that it was. Proposals of one lane keep their order. Owned by the thread of its etcd.
 */
#ifndef UDPAI_ETCD_PROPOSALS_H
#define UDPAI_ETCD_PROPOSALS_H

#include "etcd/mirror.h"

#define UDPAI_PROPOSAL_LANES 4
/* What is certainly not done is attempted again for so long, … */
#define UDPAI_PROPOSAL_RETRY_MS 2000
/* … and what may have been done, until then: after that nobody knows. */
#define UDPAI_PROPOSAL_UNKNOWN_MS 5000
/* After an attempt that has failed etcd may be choosing a leader: what members that still believe
 * in the one before were asked is lost. So attempts are given up after this, or after twice what
 * answers have taken before, … */
#define UDPAI_PROPOSAL_HURRY_MS 75
/* … until one is answered, but no longer than for this, … */
#define UDPAI_PROPOSAL_HURRIES_MS 3000
/* … and none that has more than this. */
#define UDPAI_PROPOSAL_HURRY_BYTES ((size_t)64 * 1024)
/* Of one proposal. */
#define UDPAI_PROPOSAL_OPS_MAX (UDPAI_ETCD_TXN_OPS_MAX - 2)
#define UDPAI_PROPOSAL_BYTES_MAX ((size_t)1280 * 1024)
/* Of those that share a transaction. */
#define UDPAI_PROPOSALS_BYTES_MAX ((size_t)1024 * 1024)

typedef struct udpai_proposals udpai_proposals;

typedef enum udpai_proposal_outcome {
    UDPAI_PROPOSAL_COMMITTED, /* and the mirror has handed it on */
    UDPAI_PROPOSAL_LOST,      /* a key was written by somebody else; the same */
    UDPAI_PROPOSAL_REJECTED,  /* etcd does not take it as it is */
    UDPAI_PROPOSAL_NOT_DONE,  /* etcd is away, or full */
    UDPAI_PROPOSAL_UNKNOWN,   /* it may have been done, or may still be */
} udpai_proposal_outcome;

typedef struct udpai_proposal_result {
    udpai_proposal_outcome outcome;
    int64_t revision;        /* COMMITTED: at which; LOST: up to which the mirror is at least */
    const udpa_error *error; /* NULL: COMMITTED, LOST */
} udpai_proposal_result;

/* Owned by the caller, with all that it refers to, until it is done. No key twice in its ops. */
typedef struct udpai_proposal {
    const udpai_etcd_compare *compares; /* by mod revision */
    const udpai_etcd_op *ops;           /* PUT, DELETE of one key */
    size_t n_compares, n_ops;
    uint32_t order; /* those with the same number are attempted one after the other */
    /* It is the caller's again; also called from inside udpai_proposals_add(). */
    void (*done)(struct udpai_proposal *proposal, const udpai_proposal_result *result);
    /* For who works on it. */
    udpai_list node;
    bool is_alone; /* it shares no transaction any more */
    udpai_proposal_outcome outcome;
    udpai_mirror_waiter waiter;
} udpai_proposal;

typedef struct udpai_proposals_env {
    udpai_etcd *etcd;
    udpai_wheel *wheel;
    udpai_mirror *mirror; /* of a prefix that holds the keys of lanes */
    uint64_t (*random)(void *userdata);
    void *userdata;
} udpai_proposals_env;

/* The keys of its lanes are the prefix with a digit behind it, and with a digit and '!'; nobody
 * else writes them. */
udpa_err udpai_proposals_new(udpai_proposals **ret_proposals,
                             const udpai_proposals_env *env,
                             udpai_str lane_prefix);
/* Proposals that are not done are never; NULL does nothing. Returns NULL. Before the mirror. */
udpai_proposals *udpai_proposals_free(udpai_proposals *proposals);

void udpai_proposals_add(udpai_proposals *proposals, udpai_proposal *proposal);

#endif
