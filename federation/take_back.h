/* SPDX-License-Identifier: Apache-2.0 */
/* What this node has published itself and forgotten, because it was restored from a backup, comes
 * back from a source that it recovers from (docs/design/federation.md). For the files of this
 * folder. */
#ifndef UDPAI_FEDERATION_TAKE_BACK_H
#define UDPAI_FEDERATION_TAKE_BACK_H

#include "federation/intake.h"

/* Does the peer publish a contribution of this node's own, and is it asked to? */
bool udpai_take_back_concerns(const udpai_intake *intake,
                              udpai_str type_url,
                              const udpa_resource *resource);
/* Is that something that was lost? */
bool udpai_take_back_was_lost(const udpai_intake *intake,
                              udpai_str type_url,
                              const udpa_resource *resource);
void udpai_take_back(udpai_intake *intake, udpai_publication_entry *entry);
/* The peer's removal is not believed. */
void udpai_take_back_refuse(const udpai_intake *intake, const udpa_resource *removal);
/* What came back of a publisher with a node id that is not known any more; NULL: nothing, or it is
 * the origin of what the peer publishes now. */
udpai_origin *udpai_take_back_origin(const udpai_intake *intake);

/* Its backup is meant: what this node has of its own is stamped anew, so that it is effective
 * everywhere.
 */
void udpai_take_back_nothing(udpai_receiver *receiver);

#endif
