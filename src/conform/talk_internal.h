/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that make up a script's language. */
#ifndef UDPAI_CONFORM_TALK_INTERNAL_H
#define UDPAI_CONFORM_TALK_INTERNAL_H

#include "conform/script.h"

/* Is there a stream to speak on, in a script that still runs? */
bool udpai_talk_is_usable(const udpai_talk *talk);
/* Sends a request; puts the Node in if it is due. */
void udpai_talk_send(udpai_talk *talk, udpai_kind kind, udpai_xds_ask *ask);
/* The name on the wire; NULL: there is none, and the script has ended. */
const char *udpai_resolve(udpai_script *script, udpai_kind kind, const char *name);

#endif
