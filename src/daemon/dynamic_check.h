/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with sources that come by resources, and with backends that do (ORCA). */
#ifndef UDPAI_DYNAMIC_CHECK_H
#define UDPAI_DYNAMIC_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

void udpai_dynamic_check(const Udpa__Config__V1__Bootstrap *message,
                         udpai_diagnostics *diagnostics);

#endif
