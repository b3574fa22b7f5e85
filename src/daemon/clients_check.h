/* SPDX-License-Identifier: Apache-2.0 */
/* Name spaces of groups of clients, and sources that are asked for each group by itself: do they
 * fit together? */
#ifndef UDPAI_CLIENTS_CHECK_H
#define UDPAI_CLIENTS_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

void udpai_clients_check(const Udpa__Config__V1__Bootstrap *message,
                         udpai_diagnostics *diagnostics);

#endif
