/* SPDX-License-Identifier: Apache-2.0 */
/* What a node has read itself, from a directory or a server of xDS or REST, and others have ended
 * while it was away: it is notified, and what it still reads takes the next generation. For the
 * files of this folder. */
#ifndef UDPAI_OUTLIVED_H
#define UDPAI_OUTLIVED_H

#include "federation/intake.h"

/* The resource was taken in. If the peer has read it itself, and it is below a removal that is
 * remembered here, the peer is notified when all of the publication is taken. */
void udpai_outlived_look(udpai_intake *intake, const udpa_resource *resource);
void udpai_outlived_send(udpai_intake *intake);

/* A peer publishes this removal. True: this node has read it itself, and looks whether it still
 * does. */
bool udpai_outlived_take(const udpai_intake *intake, udpa_resource *removal);
/* Gives the next generation to what is still read. */
void udpai_outlived_settle(udpai_receiver *receiver);
void udpai_outlived_free(udpai_receiver *receiver);

#endif
