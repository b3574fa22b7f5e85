/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that resources are signed with: Ed25519, or ECDSA on P-256 with SHA-256.
 *
 * Pure: PEM bytes are handed in. No part of a private key gets into a message. */
#ifndef UDPAI_KEY_H
#define UDPAI_KEY_H

#include "base/strbuf.h"
#include "certs/certificate.h"

/* As Signature.algorithm has them; 0 is none. */
typedef enum udpai_key_algorithm {
    UDPAI_KEY_ED25519 = 1,
    UDPAI_KEY_ECDSA_P256_SHA256 = 2,
} udpai_key_algorithm;

/* A signature of either kind is no longer: 64 bytes, and at most 72 in DER form. */
#define UDPAI_SIGNATURE_MAX 80

/* Immutable; counted atomically. */
typedef struct udpai_key udpai_key;

/* A private key (PEM), which is not encrypted. UDPA_ERR_INVAL: it is none, or of another kind. */
udpa_err udpai_key_new_private(udpai_key **ret_key, udpai_pem pem, udpa_error **ret_error);
/* A public key, or that of the first certificate, which is valid as long as the certificate. */
udpa_err udpai_key_new_public(udpai_key **ret_key, udpai_pem pem, udpa_error **ret_error);
udpai_key *udpai_key_ref(udpai_key *key);
udpai_key *udpai_key_unref(udpai_key *key);
UDPA_DEFINE_CLEANUP(udpai_key, udpai_key_unref)

udpai_key_algorithm udpai_key_algorithm_of(const udpai_key *key);
/* Of a certificate: in seconds since 1970; else from INT64_MIN to INT64_MAX. */
int64_t udpai_key_not_before_s(const udpai_key *key);
int64_t udpai_key_not_after_s(const udpai_key *key);
/* Appends the public key, as DER. UDPA_ERR_NOMEM */
udpa_err udpai_key_put_public(const udpai_key *key, udpai_strbuf *to);
/* Do both verify the same signatures? A private key has its public one in it. */
bool udpai_key_equal(const udpai_key *a, const udpai_key *b);

/* @p key is a private one. */
udpa_err udpai_key_sign(const udpai_key *key,
                        udpai_str bytes,
                        char ret_value[UDPAI_SIGNATURE_MAX],
                        size_t *ret_len);
/* UDPA_OK; UDPA_ERR_DENIED: it is not this key's signature of these bytes; UDPA_ERR_NOMEM. */
udpa_err udpai_key_verify(const udpai_key *key, udpai_str bytes, udpai_str value);

/* "Ed25519"; NULL for a number that is none of ours. */
const char *udpai_key_algorithm_name(uint32_t algorithm);

#endif
