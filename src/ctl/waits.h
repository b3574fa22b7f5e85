/* SPDX-License-Identifier: Apache-2.0 */
/* A node that does not answer may itself wait for others. One that takes long is asked for whom, so
 * that whoever waits is told; not before, since a node that describes itself has some work. */
#ifndef UDPAI_CTL_WAITS_H
#define UDPAI_CTL_WAITS_H

#include <udpa/subscribe.h>

#include "ctl/client.h"
#include "ctl/wishes.h"

typedef struct udpai_ctl_waits {
    udpai_ctl *ctl;
    const udpai_ctl_wishes *wishes;  /* what the node is waited for with */
    udpa_subscription *subscription; /* to its status; NULL: none */
} udpai_ctl_waits;

/* The connection must be there; both are borrowed until the end. */
void udpai_ctl_waits_begin(udpai_ctl_waits *waits, udpai_ctl *ctl, const udpai_ctl_wishes *wishes);
/* Before the connection ends. */
void udpai_ctl_waits_end(udpai_ctl_waits *waits);

#endif
