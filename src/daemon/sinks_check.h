/* SPDX-License-Identifier: Apache-2.0 */
/* Sinks of the bootstrap file: may that be said of them, and can their files be written? */
#ifndef UDPAI_SINKS_CHECK_H
#define UDPAI_SINKS_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

void udpai_sinks_check(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics);
/* Looks at the disk. */
void udpai_sinks_check_files(const Udpa__Config__V1__Bootstrap *message,
                             udpai_diagnostics *diagnostics);

#endif
