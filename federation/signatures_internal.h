/* SPDX-License-Identifier: Apache-2.0 */
/* What signatures.c and signatures_watch.c share. */
#ifndef UDPAI_SIGNATURES_INTERNAL_H
#define UDPAI_SIGNATURES_INTERNAL_H

#include "federation/node_internal.h"

int64_t udpai_signatures_now_s(const udpai_node *node);
/* Everything must be looked at again then. */
void udpai_signatures_note(udpai_node *node, int64_t due_s);

/* NULL: a publisher, or a directory. */
udpai_source *udpai_signatures_source_of(const udpai_node *node, const udpai_origin *origin);
/* What nodes say of themselves is not signed: nobody forwards it. */
bool udpai_signatures_is_exempt(const udpa_resource *resource);
/* The key that the node signs this one with; NULL: it is not the node's to sign, or there is none.
 * Whether its origin is one to sign for is another question. */
const udpai_named_key *udpai_signatures_signer(const udpai_node *node,
                                               const udpa_resource *resource);
/* Must it be signed with this key, or again? */
bool udpai_signatures_is_due(const udpai_node *node,
                             const udpai_named_key *key,
                             const udpa_resource *resource,
                             int64_t now_s);
/* When what is signed is to be signed again. */
int64_t udpai_signatures_renewal_s(const udpa_resource *resource);

#endif
