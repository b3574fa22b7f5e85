/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'acl' of a bootstrap file: can its rules be used, and are they of use? */
#ifndef UDPAI_ACL_CHECK_H
#define UDPAI_ACL_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

void udpai_acl_check(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics);

#endif
