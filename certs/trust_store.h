/* SPDX-License-Identifier: Apache-2.0 */
/* What to trust: authorities, and what they have revoked. Checks whether a chain that a peer has
 * presented is good at some time, why not, and until when: what a handshake has found out once can
 * be asked again as long as the connection lasts.
 *
 * Pure: bytes and times are handed in. The handshake itself is TLS's matter; that the peer has the
 * key of its certificate, and is called as it should be, was seen there. */
#ifndef UDPAI_TRUST_STORE_H
#define UDPAI_TRUST_STORE_H

#include "certs/certificate.h"

#define UDPAI_CRLS_MAX 64
#define UDPAI_CRL_PEM_MAX (16 << 20) /* bytes of all of them */

/* Immutable; counted atomically; any thread. */
typedef struct udpai_trust_store udpai_trust_store;

/* @p revocations: revocation lists; of each, the authority that has issued it must be among the
 * authorities. NULL: none. UDPA_ERR_INVAL names the one that is malformed, of another authority, or
 * of a kind that is not understood. */
udpa_err udpai_trust_store_new(udpai_trust_store **ret_store,
                               udpai_pem authorities,
                               const udpai_pem *revocations,
                               udpa_error **ret_error);
udpai_trust_store *udpai_trust_store_ref(udpai_trust_store *store);
udpai_trust_store *udpai_trust_store_unref(udpai_trust_store *store);
UDPA_DEFINE_CLEANUP(udpai_trust_store, udpai_trust_store_unref)

/* Is there a newer list to be had, by what the lists state (nextUpdate)? Those that are late are
 * used all the same. */
udpa_err
udpai_trust_store_check_time(const udpai_trust_store *store, int64_t now_s, udpa_error **ret_error);

typedef enum udpai_trust_verdict {
    UDPAI_TRUST_GOOD,
    UDPAI_TRUST_REVOKED,
    UDPAI_TRUST_SUPERSEDED, /* revoked, because its holder has another one */
    UDPAI_TRUST_EXPIRED,    /* or not valid yet */
    UDPAI_TRUST_UNKNOWN,    /* it leads to none of the authorities */
    UDPAI_TRUST_UNFIT,      /* for what it is presented for, or altogether */
} udpai_trust_verdict;

typedef struct udpai_trust_answer {
    udpai_trust_verdict verdict;
    int64_t until_s; /* GOOD: when the first certificate of the chain ends */
} udpai_trust_answer;

/* Certificates that were found on the way from a peer's to an authority, as hints for others: a
 * peer that resumes a TLS session presents its own certificate alone. Believed is nothing of it:
 * each is checked whenever it is used. The last ones are kept. Belongs to one thread; all zeroes at
 * first. */
#define UDPAI_INTERMEDIATES_MAX 64

typedef struct udpai_intermediates {
    struct x509_st *items[UDPAI_INTERMEDIATES_MAX];
    size_t n, next;
} udpai_intermediates;

void udpai_intermediates_done(udpai_intermediates *intermediates);

typedef struct udpai_trust_question {
    const udpai_chain *chain; /* first the peer's, then those that may lead to an authority */
    bool is_server;           /* is it good for a server, or for a client? */
    int64_t now_s;
    udpai_intermediates *known; /* NULL: no others; learns of what is good */
} udpai_trust_question;

/* UDPA_ERR_UNAUTHENTICATED: it is not good, and @p ret_error has the reason. UDPA_ERR_NOMEM: it is
 * not known. */
udpa_err udpai_trust_store_verify(const udpai_trust_store *store,
                                  const udpai_trust_question *question,
                                  udpai_trust_answer *ret_answer,
                                  udpa_error **ret_error);

#endif
