/* SPDX-License-Identifier: Apache-2.0 */
/* What signatures.c and signatures_watch.c share. */
#ifndef UDPAI_SIGNATURES_INTERNAL_H
#define UDPAI_SIGNATURES_INTERNAL_H

#include "base/vector.h"
#include "federation/signatures.h"
#include "federation/source.h"

/* What was good by its key's name, and is to be verified yet. Both are references. */
typedef struct udpai_unverified {
    udpai_origin *origin;
    udpa_resource *resource;
} udpai_unverified;

struct udpai_signatures {
    udpai_context *context;
    const struct udpai_sources *sources;
    const struct udpai_shares *shares; /* NULL: there are no replicas */
    udpai_keyring *keyring;            /* NULL: none */
    udpai_timer timer;
    int64_t due_s;    /* of the wall clock: something ends, or is to be signed; INT64_MAX: no */
    bool must_look;   /* the last look at everything was cut short */
    bool must_verify; /* and nothing that is held is known to be good */
    UDPAI_VECTOR(udpai_unverified) unverified;
    UDPAI_VECTOR(udpai_signed_anew) anew; /* to be proposed */
    bool is_trial;                        /* nothing is counted */
    uint64_t n_refused;                   /* and withdrawn */
    uint64_t n_signed;
};

int64_t udpai_signatures_now_s(const udpai_signatures *signatures);
/* Everything must be looked at again then. */
void udpai_signatures_note(udpai_signatures *signatures, int64_t due_s);

/* What nodes report of themselves is not signed: it is not forwarded. */
bool udpai_signatures_is_exempt(const udpa_resource *resource);
/* The key that the node signs this one with; NULL: it is not the node's to sign, or there is none.
 * Whether its origin is one to sign for is another question. */
const udpai_named_key *udpai_signatures_signer(const udpai_signatures *signatures,
                                               const udpa_resource *resource);
/* Must it be signed with this key, or again? */
bool udpai_signatures_is_due(const udpai_signatures *signatures,
                             const udpai_named_key *key,
                             const udpa_resource *resource,
                             int64_t now_s);
/* When what is signed is to be signed again. */
int64_t udpai_signatures_renewal_s(const udpa_resource *resource);

#endif
