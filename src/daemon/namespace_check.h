/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces of providers that look like a slip of the pen. */
#ifndef UDPAI_DAEMON_NAMESPACE_CHECK_H
#define UDPAI_DAEMON_NAMESPACE_CHECK_H

#include "daemon/fields.h"

/* @p section: of the whole file. */
void udpai_namespace_check_typos(const udpai_section *section,
                                 const Udpa__Config__V1__Bootstrap *message,
                                 udpai_diagnostics *diagnostics);

#endif
