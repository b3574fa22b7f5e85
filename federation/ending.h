/* SPDX-License-Identifier: Apache-2.0 */
/* Removals with a generation (model/removal.h): which peers may give one, and which are believed.
 * What has none ends what came by one peer; what has one ends it everywhere. */
#ifndef UDPAI_ENDING_H
#define UDPAI_ENDING_H

#include "federation/intake.h"

/* The next generation of what is held, stamped as that was, and signed if that is ours to do. NULL:
 * it is not, or there is no memory. */
udpa_resource *
udpai_ending_stamp(udpai_receiver *receiver, const udpai_origin *origin, const udpa_resource *held);
/* The peer removes this; with a generation that may end what others have. */
void udpai_ending_take(udpai_intake *intake, udpai_str type_url, udpai_removal *received);
/* This replica cannot decrypt what the peer removes. */
void udpai_ending_refuse_locked(udpai_removal *received);
/* The peer's state leaves out what it has of the type (empty: any) below the prefix, but for what
 * `keep` returns true for. */
void udpai_ending_take_state(udpai_intake *intake,
                             udpai_str type_url,
                             udpai_str prefix,
                             udpai_store_keep_fn keep,
                             void *userdata);
/* The same of an origin that is this node's own: its removals are the authority's. UDPA_ERR_NOMEM:
 * only if it is staged, and then not all of it is. */
udpa_err udpai_ending_own(udpai_receiver *receiver,
                          udpai_origin *origin,
                          const udpai_store_scope *scope,
                          udpai_staging *staging);

#endif
