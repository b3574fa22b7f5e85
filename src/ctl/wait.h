/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting until everybody has acknowledged something: udpactl wait, and --wait of others. */
#ifndef UDPAI_CTL_WAIT_H
#define UDPAI_CTL_WAIT_H

#include "ctl/awaited.h"
#include "ctl/client.h"
#include "ctl/found.h"

/* Until everybody has what was just published; connects anew. */
udpai_ctl_exit
udpai_ctl_wait_for_applied(udpai_ctl *ctl, udpa_resource *const *resources, size_t n_resources);
/* Until everybody has dropped what was just deleted. */
udpai_ctl_exit udpai_ctl_wait_for_deleted(udpai_ctl *ctl, const udpai_ctl_found *deleted);

#endif
