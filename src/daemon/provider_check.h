/* SPDX-License-Identifier: Apache-2.0 */
/* Providers that contradict themselves or each other, and delegations. */
#ifndef UDPAI_DAEMON_PROVIDER_CHECK_H
#define UDPAI_DAEMON_PROVIDER_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* Of this name in static_resources, or in place; NULL: there is none. */
const Udpa__Config__V1__ConfigSource *
udpai_source_of_descriptor(const Udpa__Config__V1__Bootstrap *message,
                           const Udpa__Config__V1__ConfigDescriptor *descriptor);
void udpai_provider_check(const Udpa__Config__V1__Bootstrap *message,
                          udpai_diagnostics *diagnostics);
void udpai_delegation_check(const Udpa__Config__V1__Bootstrap *message,
                            udpai_diagnostics *diagnostics);

#endif
