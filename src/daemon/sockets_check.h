/* SPDX-License-Identifier: Apache-2.0 */
/* Where the node listens, by gRPC and by HTTP: can it, and may it be so open? */
#ifndef UDPAI_SOCKETS_CHECK_H
#define UDPAI_SOCKETS_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

void udpai_sockets_check(const Udpa__Config__V1__Bootstrap *message,
                         udpai_diagnostics *diagnostics);

#endif
