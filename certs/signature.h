/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of resources: which bytes are signed (docs/design/trust.md), making one, and asking
 * whether one is right. Which key it must be is the keyring's matter.
 *
 * Pure: keys and times are handed in. */
#ifndef UDPAI_SIGNATURE_H
#define UDPAI_SIGNATURE_H

#include "base/strbuf.h"
#include "certs/key.h"
#include "model/resource.h"

/* What is signed now is valid from so long ago, so that a node with a clock that is late by less,
 * as generations may be, need not refuse it. */
#define UDPAI_SIGNATURE_BACKDATED_S 300

/* What a signature is made with. */
typedef struct udpai_signing {
    const udpai_key *key; /* a private one */
    udpai_str key_id;
    int64_t not_before_s, not_after_s; /* since 1970; it may be relied on at both and between */
} udpai_signing;

/* Appends what a signature of the resource that is valid at these times signs. */
void udpai_signed_bytes(udpai_strbuf *out,
                        const udpa_resource *resource,
                        int64_t not_before_s,
                        int64_t not_after_s);

/* Makes the same resource with a signature, in place of any that it has. It must have a generation
 * and an authority: both are signed. UDPA_ERR_NOMEM. */
udpa_err udpai_resource_sign(udpa_resource **ret_resource,
                             const udpa_resource *resource,
                             const udpai_signing *signing);

/* Is the signature that the resource has of this key? UDPA_OK; UDPA_ERR_DENIED; UDPA_ERR_NOMEM.
 * Neither the times nor the key's name are checked. */
udpa_err udpai_resource_verify(const udpa_resource *resource, const udpai_key *key);

/* The same of a removal (model/removal.h), of which other bytes are signed. */
udpa_err udpai_removal_sign(udpa_resource **ret_removal,
                            const udpa_resource *removal,
                            const udpai_signing *signing);
udpa_err udpai_removal_verify(const udpa_resource *removal, const udpai_key *key);

/* Are both the same in all that is signed? */
bool udpai_resource_signs_same(const udpa_resource *a, const udpa_resource *b);
/* And have they the same signature? If it is right for one of them it is for the other. */
bool udpai_resource_same_signed(const udpa_resource *a, const udpa_resource *b);

/* The times of a signature as they are signed: whole seconds. */
int64_t udpai_signature_not_before_s(const udpai_signature *signature);
int64_t udpai_signature_not_after_s(const udpai_signature *signature);

#endif
