/* SPDX-License-Identifier: Apache-2.0 */
/* Whom those must be vouched for by who come to one socket, or who are dialled at one address: a
 * store that may be replaced while it is used. Counted atomically; any thread. */
#ifndef UDPAI_TRUST_H
#define UDPAI_TRUST_H

#include "certs/trust_store.h"

typedef struct udpai_trust udpai_trust;

/* Takes a reference. A store that is NULL: what the handshake says is enough, once and for all.
 * NULL without memory. */
udpai_trust *udpai_trust_new(udpai_trust_store *store);
udpai_trust *udpai_trust_ref(udpai_trust *trust);
udpai_trust *udpai_trust_unref(udpai_trust *trust);
UDPA_DEFINE_CLEANUP(udpai_trust, udpai_trust_unref)
/* Takes a reference. Who is connected already is looked at again when whoever has the connections
 * is told to. */
void udpai_trust_set(udpai_trust *trust, udpai_trust_store *store);
/* A reference; NULL: none. */
udpai_trust_store *udpai_trust_get(udpai_trust *trust);

#endif
