/* SPDX-License-Identifier: Apache-2.0 */
/* Which signatures are trusted, where there must be one, and what to sign with
 * (docs/design/trust.md).
 *
 * A value: made whole, never changed, counted atomically; another one takes its place when keys
 * change. Pure: keys and time are handed in. */
#ifndef UDPAI_KEYRING_H
#define UDPAI_KEYRING_H

#include "certs/signature.h"

/* A key and its authority. */
typedef struct udpai_named_key {
    udpai_str authority;
    udpai_str key_id;
    udpai_key *key;
    /* When its signatures are valid, besides what a certificate states; 0: from ever, for ever. */
    int64_t not_before_s, not_after_s;
} udpai_named_key;

/* What must be signed by its authority: all of these types below one of these prefixes. Patterns
 * have stars (base/pattern.h). */
typedef struct udpai_signature_requirement {
    const udpai_str *prefixes; /* of names; none: all */
    size_t n_prefixes;
    const udpai_str *types; /* patterns for type URLs; none: all */
    size_t n_types;
    const udpai_str *authorities; /* patterns for those that may publish there; none: any trusted */
    size_t n_authorities;
} udpai_signature_requirement;

typedef struct udpai_keyring_options {
    const udpai_named_key *trusted; /* public keys */
    size_t n_trusted;
    /* Private keys; their public ones are trusted too. Of each authority, the first one signs. */
    const udpai_named_key *signing;
    size_t n_signing;
    const udpai_signature_requirement *required;
    size_t n_required;
    int64_t validity_s; /* of what is signed here */
    int64_t skew_s;     /* that the clocks of signer and verifier may differ by */
    const char *place;  /* where trusted keys are listed, for messages: a constant; NULL: in the
                         * section of udpad's configuration */
} udpai_keyring_options;

#define UDPAI_KEYRING_MAX 4096 /* keys, and requirements */

typedef struct udpai_keyring udpai_keyring;

/* Copies texts, and takes references to keys. UDPA_ERR_LIMIT: too many. Of two keys with one name
 * either may count: the caller has seen to that. */
udpa_err udpai_keyring_new(udpai_keyring **ret_keyring, const udpai_keyring_options *options);
udpai_keyring *udpai_keyring_ref(udpai_keyring *keyring);
udpai_keyring *udpai_keyring_unref(udpai_keyring *keyring);
UDPA_DEFINE_CLEANUP(udpai_keyring, udpai_keyring_unref)

size_t udpai_keyring_n_trusted(const udpai_keyring *keyring); /* with those that sign */
size_t udpai_keyring_n_signing(const udpai_keyring *keyring);

/* What resources of this authority are signed with here; NULL: they are not. */
const udpai_named_key *udpai_keyring_signer(const udpai_keyring *keyring, udpai_str authority);
int64_t udpai_keyring_validity_s(const udpai_keyring *keyring);

/* May the resource be taken in, as far as signatures are concerned? UDPA_OK, also for what need not
 * be signed and is not, or is by an authority of which nothing is known here. UDPA_ERR_DENIED, with
 * what is wrong and what to do. UDPA_ERR_NOMEM: not known.
 *
 * @p is_verified: the caller knows that the signature is right, for the key which the keyring has;
 * everything else is checked. NULL is a keyring without anything in it. */
udpa_err udpai_keyring_verify(const udpai_keyring *keyring,
                              const udpa_resource *resource,
                              int64_t now_s,
                              bool is_verified,
                              udpa_error **ret_error);

/* The same of a removal with a generation (model/removal.h): may it end what others have? */
udpa_err udpai_keyring_verify_removal(const udpai_keyring *keyring,
                                      const udpa_resource *removal,
                                      int64_t now_s,
                                      udpa_error **ret_error);

/* The first second in which the result for a resource that was good is another one; INT64_MAX:
 * never. */
int64_t udpai_keyring_end_s(const udpai_keyring *keyring, const udpa_resource *resource);

/* Appends the keys, those that verify and those that sign, with their names and times: the same
 * bytes for the same keys, whatever files they are from. NULL: nothing. UDPA_ERR_NOMEM */
udpa_err udpai_keyring_put_keys(const udpai_keyring *keyring, udpai_strbuf *to);
/* Do both check and sign alike? Either may be NULL. */
bool udpai_keyring_equal(const udpai_keyring *a, const udpai_keyring *b);

/* Was the resource, good by one keyring, verified there with the key that the other one has? */
bool udpai_keyring_verified_alike(const udpai_keyring *before,
                                  const udpai_keyring *now,
                                  const udpa_resource *resource);

#endif
