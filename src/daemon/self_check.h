/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are the node itself. */
#ifndef UDPAI_DAEMON_SELF_CHECK_H
#define UDPAI_DAEMON_SELF_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

void udpai_self_check(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics);

/* Does who dials the address come to this socket? Names of hosts are not looked up. */
bool udpai_self_is_led_to(const char *address, const char *socket);

#endif
