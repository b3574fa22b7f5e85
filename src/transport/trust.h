/* SPDX-License-Identifier: Apache-2.0 */
/* What peers that come to one socket, or that are dialled at one address, must be signed by: a
 * store that may be replaced while it is used. Counted atomically; any thread. */
#ifndef UDPAI_TRUST_H
#define UDPAI_TRUST_H

#include "certs/trust_store.h"

typedef struct udpai_trust udpai_trust;

/* Takes a reference. A store that is NULL: the handshake's result is enough, once and for all. NULL
 * without memory. */
udpai_trust *udpai_trust_new(udpai_trust_store *store);
udpai_trust *udpai_trust_ref(udpai_trust *trust);
udpai_trust *udpai_trust_unref(udpai_trust *trust);
UDPA_DEFINE_CLEANUP(udpai_trust, udpai_trust_unref)
/* Takes a reference. Connected peers are verified again when the owner of the connections is asked
 * to. */
void udpai_trust_set(udpai_trust *trust, udpai_trust_store *store);
/* A reference; NULL: none. */
udpai_trust_store *udpai_trust_get(udpai_trust *trust);

#define UDPAI_TRUST_REMEMBERED 4096 /* a power of two */

/* As udpai_trust_store_verify(), for a store of udpai_trust_get(). What was found good is
 * remembered until another store is set, of so many chains at most: a handshake asks, then the
 * thread of its streams does, and peers come back. */
udpa_err udpai_trust_verify(udpai_trust *trust,
                            const udpai_trust_store *store,
                            const udpai_trust_question *question,
                            udpai_trust_answer *ret_answer,
                            udpa_error **ret_error);

#endif
