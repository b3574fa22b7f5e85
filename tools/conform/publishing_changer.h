/* SPDX-License-Identifier: Apache-2.0 */
/* Changes made by publishing to a node by UDPA. */
#ifndef UDPAI_CONFORM_PUBLISHING_CHANGER_H
#define UDPAI_CONFORM_PUBLISHING_CHANGER_H

#include "cli/client.h"
#include "tools/conform/peer.h"

/* The client must be connected, and lasts as long as the changer. */
udpai_changer udpai_publishing_changer(udpai_cli *cli);

#endif
