/* SPDX-License-Identifier: Apache-2.0 */
/* What the bootstrap file says of what clients report, looked at before it is used. */
#ifndef UDPAI_LOAD_CHECK_H
#define UDPAI_LOAD_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

void udpai_load_check(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics);

#endif
