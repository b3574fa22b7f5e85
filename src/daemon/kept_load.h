/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of load beside the database: the sums of what clients have reported, and how much of
 * it servers of LRS have received. On the loop's thread. */
#ifndef UDPAI_DAEMON_KEPT_LOAD_H
#define UDPAI_DAEMON_KEPT_LOAD_H

#include "daemon/plan.h"
#include "daemon/reported_load.h"

/* In the state directory, which the engine has locked; before the endpoint starts. *ret_reported:
 * NULL if load is reported to no such server, or its file cannot be had. UDPA_ERR_NOMEM. */
udpa_err udpai_kept_load_open(udpai_reported_load **ret_reported,
                              udpa_endpoint *endpoint,
                              const udpai_plan *plan,
                              udpa_error **ret_error);

#endif
