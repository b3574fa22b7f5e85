/* SPDX-License-Identifier: Apache-2.0 */
/* What a node writes on a resource that it takes in: a generation, and its hop. */
#ifndef UDPAI_STAMP_H
#define UDPAI_STAMP_H

#include "federation/context.h"

/* The next one after all that is known of the name; of a replica, one that no other replica gives:
 * two of them may know the same, and be given other contents at once, while their clocks are behind
 * it. */
uint64_t udpai_stamp_generation(const udpai_context *context, const udpa_resource *resource);
/* Notes that the resource, taken from this one, has come to this node. */
void udpai_stamp_hop(const udpai_context *context,
                     udpai_resource_parts *parts,
                     udpai_resource_room *room,
                     udpai_str taken_from);
/* Deadlines as wall-clock times, which alone mean something after a restart, or to others. */
void udpai_stamp_expiry(const udpai_context *context, udpai_durable_batch *batch);
/* Does the hop's time show that its node made the signature? */
bool udpai_stamp_is_of(const udpai_signature *signature, int64_t hop_time_us);

#endif
