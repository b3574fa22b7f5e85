/* SPDX-License-Identifier: Apache-2.0 */
/* What a publication would do, without any of it being done. */
#ifndef UDPAI_FEDERATION_TRIAL_H
#define UDPAI_FEDERATION_TRIAL_H

#include "federation/peers.h"
#include "federation/receiver.h"

/* Checks it as it would be taken in now, and notes its effects. What is on its way to the durable
 * engine is not waited for. Nothing is changed, and nothing of it is logged or counted. */
void udpai_trial_take(udpai_receiver *receiver, udpai_peer *peer, udpai_publication *publication);

#endif
