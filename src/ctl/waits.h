/* SPDX-License-Identifier: Apache-2.0 */
/* What the node itself waits for before what it has is all. */
#ifndef UDPAI_CTL_WAITS_H
#define UDPAI_CTL_WAITS_H

#include "cli/collect.h"

/* Of these types: "core, cloud". Empty, or NULL: nothing, or it does not report that. To be freed
 * with udpai_free(). */
char *udpai_ctl_find_waits(udpai_cli *cli, const udpai_cli_requests *requests);

#endif
