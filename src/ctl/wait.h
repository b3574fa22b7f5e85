/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting until everybody has acknowledged something: udpactl wait, and --wait of others. */
#ifndef UDPAI_CTL_WAIT_H
#define UDPAI_CTL_WAIT_H

#include "cli/awaited.h"
#include "cli/client.h"
#include "cli/found.h"

/* Until everybody has what was just published; connects anew. */
udpai_cli_exit
udpai_ctl_wait_for_applied(udpai_cli *cli, udpa_resource *const *resources, size_t n_resources);
/* Until everybody has dropped what was just deleted. */
udpai_cli_exit udpai_ctl_wait_for_deleted(udpai_cli *cli, const udpai_cli_found *deleted);

#endif
