/* SPDX-License-Identifier: Apache-2.0 */
/* Events that a source sends: each is a version of the resource that is named after its topic, and
 * goes to the subscribers in the process. The store has none of them: the next one takes nothing of
 * the last one back. */
#ifndef UDPAI_FEDERATION_EVENTS_H
#define UDPAI_FEDERATION_EVENTS_H

#include "federation/intake.h"

bool udpai_resource_is_event(const udpa_resource *resource);
/* Passes it to its subscribers; one that was received before is left out. */
void udpai_events_take(udpai_intake *intake, udpai_publication_entry *entry);
void udpai_events_init(udpai_receiver *receiver);
void udpai_events_free(udpai_receiver *receiver);

#endif
