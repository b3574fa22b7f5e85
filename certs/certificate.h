/* SPDX-License-Identifier: Apache-2.0 */
/* X.509 certificates as they are configured or as a peer presents them: parsed, looked at, compared
 * with a key and with a time. Which to trust is decided elsewhere.
 *
 * Pure: bytes and times are handed in. Whatever the bytes hold, the work is bounded by their size
 * and by the limits below. Names with zero bytes, control characters or broken UTF-8 are refused,
 * because two readers of them may see two names. */
#ifndef UDPAI_CERTIFICATE_H
#define UDPAI_CERTIFICATE_H

#include "base/error.h"
#include "base/util.h"
#include "model/identity.h"

#define UDPAI_PEM_MAX (1 << 20) /* bytes */
#define UDPAI_CHAIN_MAX 512     /* certificates; bundles of authorities have a few hundred */
#define UDPAI_SANS_MAX 256      /* URIs and DNS names of one certificate */
#define UDPAI_SAN_MAX 2048      /* bytes of one */
#define UDPAI_COMMON_NAME_MAX 512

/* PEM bytes, and what messages call them: the file they came from. Both borrowed. */
typedef struct udpai_pem {
    const char *file;
    udpai_str bytes;
} udpai_pem;

/* One or more certificates, in the order of their file. Immutable; counted atomically. */
typedef struct udpai_chain udpai_chain;

/* Other PEM blocks among the certificates are passed over. UDPA_ERR_INVAL: there is no certificate,
 * or one is malformed. UDPA_ERR_LIMIT: too many, or too many bytes. */
udpa_err udpai_chain_new(udpai_chain **ret_chain, udpai_pem pem, udpa_error **ret_error);
struct x509_st; /* X509 */
/* The same of certificates that OpenSSL has parsed: of each a reference is taken. */
udpa_err udpai_chain_of(udpai_chain **ret_chain,
                        const char *label,
                        struct x509_st *const *certificates,
                        size_t n,
                        udpa_error **ret_error);
udpai_chain *udpai_chain_ref(udpai_chain *chain);
udpai_chain *udpai_chain_unref(udpai_chain *chain);
UDPA_DEFINE_CLEANUP(udpai_chain, udpai_chain_unref)

size_t udpai_chain_size(const udpai_chain *chain);
/* Distinguishes chains: those of the same certificates, in the same order, have the same.
 * UDPA_ERR_NOMEM. */
#define UDPAI_CHAIN_DIGEST_SIZE 32
udpa_err udpai_chain_digest(const udpai_chain *chain, uint8_t ret_digest[UDPAI_CHAIN_DIGEST_SIZE]);
/* When the first of them ends, in seconds since 1970. */
int64_t udpai_chain_not_after_s(const udpai_chain *chain);

/* The holder in the first certificate: the last, that is most specific, common name of the subject,
 * and the URIs and DNS names of the subjectAltName. An identity without any name is one too. It is
 * marked authenticated: the caller has verified the chain. UDPA_ERR_UNAUTHENTICATED: the names are
 * not to be relied on. */
udpa_err udpai_chain_identity(const udpai_chain *chain,
                              udpai_identity **ret_identity,
                              udpa_error **ret_error);

/* Is this the private key of the first certificate? No part of the key gets into a message. */
udpa_err udpai_chain_check_key(const udpai_chain *chain, udpai_pem key, udpa_error **ret_error);

/* Are all of them valid at this time? */
udpa_err udpai_chain_check_time(const udpai_chain *chain, int64_t now_s, udpa_error **ret_error);

/* Is at least one of them an authority that is valid at this time? */
udpa_err
udpai_chain_check_authorities(const udpai_chain *chain, int64_t now_s, udpa_error **ret_error);

#endif
