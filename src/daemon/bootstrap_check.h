/* SPDX-License-Identifier: Apache-2.0 */
/* What the types of a bootstrap file cannot say: references, and fields that need each other. */
#ifndef UDPAI_BOOTSTRAP_CHECK_H
#define UDPAI_BOOTSTRAP_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* Of the values alone: no file is looked at. */
void udpai_bootstrap_check(const Udpa__Config__V1__Bootstrap *message,
                           udpai_diagnostics *diagnostics);

#endif
