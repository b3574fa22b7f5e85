/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a peer: the names its certificate gives it, or, without TLS, the name it gave
 * itself. A value; what the names may do is decided elsewhere. */
#ifndef UDPAI_IDENTITY_H
#define UDPAI_IDENTITY_H

#include "base/error.h"
#include "base/util.h"

/* Immutable; counted atomically. */
typedef struct udpai_identity udpai_identity;

typedef struct udpai_identity_parts {
    udpai_str common_name; /* empty: none */
    const udpai_str *uris; /* SPIFFE IDs and other URIs, in the order of the certificate */
    size_t n_uris;
    const udpai_str *dns_names;
    size_t n_dns_names;
    bool authenticated; /* a certificate, or for a user of this machine the kernel, proves it;
                         * otherwise it is what the peer claims */
} udpai_identity_parts;

/* The name of a user of this machine is a URI, unix:UID; no certificate has such a name. */
#define UDPAI_IDENTITY_USER "unix:"

/* Copies everything. */
udpa_err udpai_identity_new(udpai_identity **ret_identity, const udpai_identity_parts *parts);
udpa_err udpai_identity_of_user(udpai_identity **ret_identity, uint32_t uid);
udpai_identity *udpai_identity_ref(udpai_identity *identity);
udpai_identity *udpai_identity_unref(udpai_identity *identity);
UDPA_DEFINE_CLEANUP(udpai_identity, udpai_identity_unref)

/* Was it proved to this node? NULL: there is none. */
bool udpai_identity_is_proven(const udpai_identity *identity);
/* Views owned by @p identity, each followed by a NUL. */
const udpai_identity_parts *udpai_identity_parts_of(const udpai_identity *identity);

/* The one name of the peer: its common name, else its first URI, else its first DNS name, else
 * empty. A NULL identity has no name. */
udpai_str udpai_identity_name(const udpai_identity *identity);

/* What a peer counts as where there is a limit for each: its name or, for lack of one, its address
 * (HOST:PORT) without the port. */
udpai_str udpai_peer_counts_as(const udpai_identity *identity, udpai_str address);

/* Is one of the names that its certificate proves as one of the patterns has it (base/pattern.h)?
 */
bool
udpai_identity_fits(const udpai_identity *identity, const udpai_str *patterns, size_t n_patterns);

/* Is @p text one of its names, byte for byte? Nobody is called by an empty text. */
bool udpai_identity_matches(const udpai_identity *identity, udpai_str text);

#endif
