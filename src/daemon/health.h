/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the health of endpoints, as the bootstrap file has them: what may they be, and what
 * becomes of them? */
#ifndef UDPAI_DAEMON_HEALTH_H
#define UDPAI_DAEMON_HEALTH_H

#include "daemon/diagnostics.h"
#include "daemon/plan.h"

void udpai_health_check(const Udpa__Config__V1__Health *message, udpai_diagnostics *diagnostics);
udpa_err udpai_plan_health(udpai_plan *plan);

#endif
