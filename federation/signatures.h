/* SPDX-License-Identifier: Apache-2.0 */
/* What the node makes of signatures: everything that it takes in is checked by its keyring, what it
 * takes in first of an authority of its own is signed, signed again before that ends, and what is
 * good no more is withdrawn (docs/design/trust.md). */
#ifndef UDPAI_SIGNATURES_H
#define UDPAI_SIGNATURES_H

#include "certs/keyring.h"
#include "federation/parts.h"

typedef struct udpai_signatures udpai_signatures;

udpa_err udpai_signatures_new(udpai_signatures **ret_signatures,
                              const udpai_parts *parts,
                              udpai_keyring *keyring);
/* NULL does nothing. */
void udpai_signatures_free(udpai_signatures *signatures);
/* Resources that were rejected or withdrawn for their signatures, and such that were signed here.
 */
uint64_t udpai_signatures_n_refused(const udpai_signatures *signatures);
uint64_t udpai_signatures_n_signed(const udpai_signatures *signatures);
/* While something is only tried, neither is counted. */
void udpai_signatures_set_trial(udpai_signatures *signatures, bool is_trial);
/* What was restored is checked, and signed where it must be. */
void udpai_signatures_start(udpai_signatures *signatures);
/* Would other keys, or requirements, make a difference? */
bool udpai_signatures_would_change(const udpai_signatures *signatures,
                                   const udpai_keyring *keyring);
/* They hold from now on, also for what is held. Takes a reference. */
void udpai_signatures_change(udpai_signatures *signatures, udpai_keyring *keyring);

/* What is held is checked anew: something was put that was checked by other keys. */
void udpai_signatures_review(udpai_signatures *signatures);

/* May what is taken in first from this origin be signed here? From sources that are nodes, never:
 * what they have taken from others without a signature is not for us to vouch for. */
bool udpai_signatures_may_sign(const udpai_signatures *signatures, const udpai_origin *origin);

/* To be called with a removal that has a generation, of what the origin holds (NULL: nothing):
 * signs it in the place of the one that it has none of, if that is the node's to do. False: it must
 * not end what others have. */
bool udpai_signatures_pass_removal(udpai_signatures *signatures,
                                   const udpai_origin *origin,
                                   const udpa_resource *held,
                                   udpa_resource **removal);

/* To be called with a resource as it will be held, before it is: signs it if it is the node's to
 * sign, and puts the signed one in its place; else checks it. UDPA_ERR_DENIED: it must not be taken
 * in, and ret_error has the reason. */
udpa_err udpai_signatures_pass(udpai_signatures *signatures,
                               udpai_origin *origin,
                               udpa_resource **resource,
                               udpa_error **ret_error);

/* Is the signature of what another replica has accepted good, or none required? */
bool udpai_signatures_allow(udpai_signatures *signatures,
                            const udpai_origin *origin,
                            const udpa_resource *resource);

/* It is refused for the time alone: what signs it has ended less than @p late_s ago, or has not
 * begun. So it may be good by the clock of another replica. */
bool udpai_signatures_is_matter_of_time(const udpai_signatures *signatures,
                                        const udpa_resource *resource,
                                        int64_t late_s);

/* What a publisher has published to a set of replicas, or one has read for all, is signed again by
 * the janitor, for all of them. */
typedef struct udpai_signed_anew {
    udpai_origin *origin;    /* a reference */
    udpa_resource *resource; /* a reference */
    uint64_t deadline_ms;
} udpai_signed_anew;

/* To be proposed; the caller's. False: nothing more. */
bool udpai_signatures_next_anew(udpai_signatures *signatures, udpai_signed_anew *ret_anew);

/* Was it signed here? */
bool udpai_signatures_is_own(const udpai_signatures *signatures, const udpa_resource *resource);

#endif
