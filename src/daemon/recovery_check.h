/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that stand in for this node, or it for them, or stand by: may that be said of them? */
#ifndef UDPAI_RECOVERY_CHECK_H
#define UDPAI_RECOVERY_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

void udpai_recovery_check_sources(const Udpa__Config__V1__Bootstrap *message,
                                  udpai_diagnostics *diagnostics);

#endif
